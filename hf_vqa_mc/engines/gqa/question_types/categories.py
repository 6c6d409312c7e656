"""Questions that ask which of a category something is: what kind of fruit is on the left, who is playing."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.patterns import wordings
from hf_vqa_mc.engines.gqa.program import Part, Question, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, kind_of
from hf_vqa_mc.engines.gqa.reference import NAMED, Reference
from hf_vqa_mc.engines.gqa.spoken_of import PEOPLE
from hf_vqa_mc.engines.gqa.wording import POSITIONS, Phrase, called, predicate
from hf_vqa_mc.engines.rng import Chance

QUERY, CHOOSE = wordings("query category"), wordings("choose category")


def query(asking: Asking, chance: Chance) -> Iterator[Question]:
    """What kind of fruit is on the left? Who is playing?"""
    for category, reference in references(asking, chance):
        name = asking.name(reference.object_id)
        said, filtered = reference.said, reference.program[1:]
        slots = _slots(asking, category, reference)
        if not filtered:
            this = chance.happens(0.6)
            detailed, form = ("categoryThis", "this") if this else ("category", "it")
            local = f"11q-{category}"
        else:
            kind, value, negated = filtered[0].argument
            if not asking.can_be_said(kind, value):  # a pepper plant is not pepper
                continue
            detailed, form = ("categoryThat", "that") if chance.happens(0.6) else ("categoryAttr", "called")
            if category == PEOPLE:
                if said.plural:
                    continue
                detailed, form = "activityWho", "who"
            local = f"12q-{category}_{'n#' if negated else ''}{value}" if category != PEOPLE else value
        yield from asking.question(
            "query category",
            detailed,
            then(reference.program, "query", "name"),
            name,
            QUERY[form],
            slots,
            _full(asking, reference, detailed),
            (asking.category(name), local),
            chance,
        )


def references(asking: Asking, chance: Chance) -> list[tuple[str, Reference]]:
    """Clear references by category, without the name, in random order; people only by what sets them apart."""
    found = [
        (reference.program[0].argument[0], reference)
        for key in asking.objects
        for reference in asking.references.plain(key)
        if (key, NAMED) not in reference.facts and reference.determiner == "the"
        if reference.program[0].argument[0] in asking.kinds_asked(asking.name(key))
    ]
    found = [
        (category, reference)
        for category, reference in found
        if asking.name(reference.object_id) != category and not (category == PEOPLE and len(reference.program) < 2)
    ]
    return chance.shuffled(found)


def _slots(asking: Asking, category: str, reference: Reference) -> dict[str, str | Phrase]:
    said = reference.said
    kind, be = kind_of(asking.ontology, category, said.plural or asking.said(reference.object_id).plural)
    slots: dict[str, str | Phrase] = {
        "kind": kind,
        "be": be,
        "cat": said.text,
        "is": said.be,
        "it": "it" if not said.plural else "they",
        "this": "these" if said.plural else "this",
        "the": reference.the,
        "value": "",
    }
    if len(reference.program) > 1:
        kind, value, negated = reference.program[1].argument
        text = predicate(asking.ontology, kind, value)
        slots["value"] = f"not {text}" if negated else text
    return slots


def _full(asking: Asking, reference: Reference, detailed: str) -> list[Part]:
    key = reference.object_id
    said = asking.said(key)
    if detailed == "activityWho":
        kind, value, negated = reference.program[1].argument
        text = predicate(asking.ontology, kind, value) + (" of the image" if (kind, value) in POSITIONS else "")
        return [*asking.the(key), (f"{said.be} {'not ' if negated else ''}{text}", "")]
    if detailed == "categoryThis":
        return [("These are" if said.plural else "This is", ""), *asking.a(key)]
    return [("The", ""), (reference.said.text, key), (reference.said.be, ""), *asking.a(key)]


def choose(asking: Asking, chance: Chance) -> Iterator[Question]:
    """What kind of fruit is it, an apple or a banana?"""
    for category, reference in references(asking, chance):
        name = asking.name(reference.object_id)
        decoy = asking.decoys.sibling(name, category, chance, asking.graph)
        if decoy is None:
            continue
        options = chance.shuffled((name, decoy))
        texts = [called(asking.ontology, option).some for option in options]
        filtered = len(reference.program) > 1
        if filtered and not asking.can_be_said(*reference.program[1].argument[:2]):
            continue
        detailed, form = ("categoryThatChoose", "that") if filtered else ("categoryThisChoose", "this")
        if category == PEOPLE:
            if reference.said.plural:
                continue
            form = "who"
        yield from asking.question(
            "choose category",
            detailed,
            then(reference.program, "choose", "name", *options),
            name,
            CHOOSE[form],
            _slots(asking, category, reference) | {"one": texts[0], "other": texts[1]},
            _full(asking, reference, "categoryThis" if not filtered else detailed),
            (asking.category(name), f"{'12c' if filtered else '11c'}-{category}"),
            chance,
        )
