"""Questions for the name of a member of a category: what kind of fruit is on the left, who is playing."""

from collections.abc import Iterator

from hf_vqa_mc.engines.gqa.program import Part, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, Draft, kind_of
from hf_vqa_mc.engines.gqa.references import NAMED, Reference
from hf_vqa_mc.engines.gqa.wording import PEOPLE, POSITIONS, Phrase, called, wordings
from hf_vqa_mc.engines.rng import SeededRng

QUERY, CHOOSE = wordings("query category"), wordings("choose category")


def query(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """What kind of fruit is on the left? Who is playing?"""
    for category, reference in _references(asking, rng):
        name, filtered = asking.name(reference.object_id), reference.program[1:]
        if not filtered:
            detailed, form = ("categoryThis", "this") if rng.happens(0.6) else ("category", "it")
            local = f"11q-{category}"
        else:
            kind, value, negated = filtered[0].argument
            if not asking.can_be_said(kind, value):  # a pepper plant "is not pepper"
                continue
            detailed, form = ("categoryThat", "that") if rng.happens(0.6) else ("categoryAttr", "called")
            local = f"12q-{category}_{'n#' if negated else ''}{value}"
            if category == PEOPLE:
                if reference.said.plural:
                    continue
                detailed, form, local = "activityWho", "who", value
        slots, full = _slots(asking, category, reference), _full(asking, reference, detailed)
        program = then(reference.program, "query", "name")
        yield Draft(detailed, program, name, QUERY[form], slots, full, local, asking.category(name))


def _references(asking: Asking, rng: SeededRng) -> list[tuple[str, Reference]]:
    """Unambiguous references by category instead of name, in random order; for people only with a modifier."""
    return rng.shuffled(
        (category, reference)
        for key in asking.objects
        for reference in asking.references.plain(key)
        if (key, NAMED) not in reference.facts and reference.determiner == "the"
        if (category := reference.program[0].argument[0]) in asking.kinds_asked(asking.name(key))
        if asking.name(key) != category and not (category == PEOPLE and len(reference.program) < 2)
    )


def _value(asking: Asking, reference: Reference) -> str:
    kind, value, negated = reference.program[1].argument
    return f"{'not ' if negated else ''}{asking.predicate(kind, value)}"


def _slots(asking: Asking, category: str, reference: Reference) -> dict[str, str | Phrase]:
    said = reference.said
    kind, be = kind_of(asking.ontology, category, said.plural or asking.said(reference.object_id).plural)
    return {
        "kind": kind,
        "be": be,
        "cat": said.text,
        "is": said.be,
        "it": "they" if said.plural else "it",
        "this": "these" if said.plural else "this",
        "the": reference.the,
        "value": _value(asking, reference) if len(reference.program) > 1 else "",
    }


def _full(asking: Asking, reference: Reference, detailed: str) -> list[Part]:
    key = reference.object_id
    said = asking.said(key)
    if detailed == "activityWho":
        where = " of the image" if reference.program[1].argument[:2] in POSITIONS else ""
        return [*asking.the(key), (f"{said.be} {_value(asking, reference)}{where}", "")]
    if detailed.startswith("categoryThis"):
        return [("These are" if said.plural else "This is", ""), *asking.a(key)]
    return [("The", ""), (reference.said.text, key), (reference.said.be, ""), *asking.a(key)]


def choose(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """What kind of fruit is it, an apple or a banana?"""
    for category, reference in _references(asking, rng):
        name = asking.name(reference.object_id)
        decoy = asking.decoys.sibling(name, category, rng, asking.graph)
        if decoy is None:
            continue
        options = rng.shuffled((name, decoy))
        one, other = (called(asking.ontology, option).some for option in options)
        filtered = len(reference.program) > 1
        if filtered and not asking.can_be_said(*reference.program[1].argument[:2]):
            continue
        if category == PEOPLE and reference.said.plural:
            continue
        detailed, form = ("categoryThatChoose", "that") if filtered else ("categoryThisChoose", "this")
        if category == PEOPLE:
            form = "who"
        program = then(reference.program, "choose", "name", *options)
        slots = _slots(asking, category, reference) | {"one": one, "other": other}
        full, local = _full(asking, reference, detailed), f"{'12c' if filtered else '11c'}-{category}"
        yield Draft(detailed, program, name, CHOOSE[form], slots, full, local, asking.category(name))
