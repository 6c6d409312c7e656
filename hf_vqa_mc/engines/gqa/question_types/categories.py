"""Questions for the name of a member of a category: what kind of fruit is on the left, who is playing."""

from collections.abc import Iterator

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.program import Part, then
from hf_vqa_mc.engines.gqa.question_types.context import Draft, ImageContext, kind_of
from hf_vqa_mc.engines.gqa.references import NAMED, Reference
from hf_vqa_mc.engines.gqa.wording import PEOPLE, POSITIONS, Phrase, called, wordings

QUERY, CHOOSE = wordings("query category"), wordings("choose category")


def query(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "What kind of fruit is on the left?" and "Who is playing?"."""
    for category, reference in _references(image, rng):
        name, filtered = image.name(reference.object_id), reference.program[1:]
        if not filtered:
            detailed, form = ("categoryThis", "this") if rng.happens(0.6) else ("category", "it")
            local = f"11q-{category}"
        else:
            kind, value, negated = filtered[0].argument
            if not image.can_be_said(kind, value):  # a pepper plant "is not pepper"
                continue
            detailed, form = ("categoryThat", "that") if rng.happens(0.6) else ("categoryAttr", "called")
            local = f"12q-{category}_{'n#' if negated else ''}{value}"
            if category == PEOPLE:
                if reference.head.plural:
                    continue
                detailed, form, local = "activityWho", "who", value
        slots, full = _slots(image, category, reference), _full(image, reference, detailed)
        program = then(reference.program, "query", "name")
        yield Draft(detailed, program, name, QUERY[form], slots, full, local, image.category(name))


def _references(image: ImageContext, rng: SeededRng) -> list[tuple[str, Reference]]:
    """Unambiguous references by category instead of name, in random order; for people only with a modifier."""
    return rng.shuffled(
        (category, reference)
        for key in image.objects
        for reference in image.references.plain(key)
        if (key, NAMED) not in reference.facts and reference.determiner == "the"
        if (category := reference.program[0].argument[0]) in image.kinds_asked(image.name(key))
        if image.name(key) != category and not (category == PEOPLE and len(reference.program) < 2)
    )


def _value(image: ImageContext, reference: Reference) -> str:
    kind, value, negated = reference.program[1].argument
    return f"{'not ' if negated else ''}{image.predicate(kind, value)}"


def _slots(image: ImageContext, category: str, reference: Reference) -> dict[str, str | Phrase]:
    phrase = reference.head
    kind, be = kind_of(image.ontology, category, phrase.plural or image.phrase(reference.object_id).plural)
    return {
        "kind": kind,
        "be": be,
        "cat": phrase.text,
        "is": phrase.be,
        "it": "they" if phrase.plural else "it",
        "this": "these" if phrase.plural else "this",
        "the": reference.the,
        "value": _value(image, reference) if len(reference.program) > 1 else "",
    }


def _full(image: ImageContext, reference: Reference, detailed: str) -> list[Part]:
    key = reference.object_id
    phrase = image.phrase(key)
    if detailed == "activityWho":
        where = " of the image" if reference.program[1].argument[:2] in POSITIONS else ""
        return [*image.the(key), (f"{phrase.be} {_value(image, reference)}{where}", "")]
    if detailed.startswith("categoryThis"):
        return [("These are" if phrase.plural else "This is", ""), *image.a(key)]
    return [("The", ""), (reference.head.text, key), (reference.head.be, ""), *image.a(key)]


def choose(image: ImageContext, rng: SeededRng) -> Iterator[Draft]:
    """Drafts such as "What kind of fruit is it, an apple or a banana?"."""
    for category, reference in _references(image, rng):
        name = image.name(reference.object_id)
        decoy = image.decoys.sibling(name, category, rng, image.graph)
        if decoy is None:
            continue
        options = rng.shuffled((name, decoy))
        one, other = (called(image.ontology, option).some for option in options)
        filtered = len(reference.program) > 1
        if filtered and not image.can_be_said(*reference.program[1].argument[:2]):
            continue
        if category == PEOPLE and reference.head.plural:
            continue
        detailed, form = ("categoryThatChoose", "that") if filtered else ("categoryThisChoose", "this")
        if category == PEOPLE:
            form = "who"
        program = then(reference.program, "choose", "name", *options)
        slots = _slots(image, category, reference) | {"one": one, "other": other}
        full, local = _full(image, reference, detailed), f"{'12c' if filtered else '11c'}-{category}"
        yield Draft(detailed, program, name, CHOOSE[form], slots, full, local, image.category(name))
