"""Questions about what is in the image: is there an apple, a red one, one on the table."""

from collections.abc import Iterator, Mapping, Sequence

from hf_vqa_mc.engines.gqa.executor import NO, YES
from hf_vqa_mc.engines.gqa.observed import UNTOLD
from hf_vqa_mc.engines.gqa.program import Part, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, Draft, selected, yes_no
from hf_vqa_mc.engines.gqa.references import Fact, side_by_side
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT
from hf_vqa_mc.engines.gqa.wording import (
    LIVING,
    MATERIAL,
    MENTIONS,
    NOT_UNIQUE,
    PEOPLE,
    Pattern,
    Phrase,
    Said,
    as_category,
    called,
    one,
    relation_form,
    several,
    stands_before,
    stands_behind,
    with_article,
    wordings,
)
from hf_vqa_mc.engines.rng import SeededRng

WORN = {"wearing", "worn by", "dressed in"}
PLACES = ("place", "room")
EXIST, EXIST_RELATION = wordings("exist"), wordings("exist relation")
_SCENERY = MENTIONS.background | MENTIONS.scenery


class _Form:
    """What is looked for: one, several or some of it, with words before and behind."""

    def __init__(self, asking: Asking, name: str, rng: SeededRng, before: str = "") -> None:
        single, many = one(asking.ontology, name), several(asking.ontology, name)
        before = f"{before} " if before else ""
        is_one = single is not None and (asking.is_any(name, *PLACES) or rng.happens(0.5))
        self.number: Said = single if is_one and single is not None else many
        self.variant = "one" if is_one else "mass" if many.mass else "several"
        some = f"{before}{many.text}"
        self.slots = {"a": with_article(f"{before}{single.text}") if single is not None else some, "several": some}

    def wordings(self, variants: Mapping[str, Sequence[Pattern]]) -> Sequence[Pattern]:
        return variants[self.variant]


def exist(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Is there an apple in the picture? Is there one that is red, or that is not?"""
    for key in rng.shuffled([*asking.objects, *asking.objects, *asking.objects]):
        way = rng.below(4)
        if way == 0:
            yield from _there(asking, asking.name(key), rng)
        elif way == 1:
            absent = asking.absent(rng, key)
            if absent is not None:
                yield from _there(asking, absent, rng)
        else:
            yield from _there_with(asking, key, way == 3 and rng.happens(0.4), rng)


def _there(asking: Asking, name: str, rng: SeededRng) -> Iterator[Draft]:
    noun, there = asking.ontology.nouns[name], asking.is_there(name)
    if there is None or noun.vague or cannot_be_missing(asking, name):
        return
    form, program = _Form(asking, name, rng), then(selected(name), "exist")
    said = several(asking.ontology, name)
    full = there_is(asking, name) if there == YES else [(f"there {said.be} no {said.text}", "")]
    slots = {**form.slots, "more": ""}
    yield yes_no("exist", program, there == YES, form.wordings(EXIST), slots, full, f"03-{noun.kind}")


def cannot_be_missing(asking: Asking, name: str) -> bool:
    """Whether nobody asks if there is one (the sky, people by name), or its plural means something else (glasses)."""
    said, noun = called(asking.ontology, name), asking.ontology.nouns[name]
    plural = asking.ontology.nouns.get(noun.plural_form, noun)
    is_place = said.mass and asking.is_any(name, *PLACES)
    return said.proper or said.unique or is_place or name in NOT_UNIQUE or plural.kind != noun.kind


def there_is(asking: Asking, name: str) -> list[Part]:
    """There is a door, with the objects; there are doors."""
    keys = asking.all_of(name)
    said = asking.said(keys[0])
    if len(keys) > 1 and not said.mass and not said.plural:
        return [("there are", ""), (several(asking.ontology, asking.name(keys[0])).text, keys[0])]
    return [(f"there {said.be}", ""), *asking.a(keys[0])]


def is_a(said: Said, text: str, key: str) -> list[Part]:
    """Is a red apple, are red apples: with the object."""
    article = "" if said.plural or said.mass else with_article(text).split(" ")[0]
    return [(f"{said.be} {article}", ""), (text, key)]


def _there_with(asking: Asking, key: str, negated: bool, rng: SeededRng) -> Iterator[Draft]:
    pairs = [pair for pair in asking.value_kinds(key) if pair[0] in asking.ontology.exclusive]
    name = asking.name(key)
    if not pairs or cannot_be_missing(asking, name):
        return
    kind, value = rng.pick(pairs)
    asked = asking.decoy_value(key, kind, rng) if rng.happens(0.5) else value
    if asked is None:
        return
    wanted = NO if negated else YES
    there = [other for other in asking.all_of(name) if asking.executor.has_value(other, kind, asked) == wanted]
    before = None if negated else stands_before(asking.ontology, kind, asked)
    behind = before is None or (kind == MATERIAL and rng.happens(0.5)) or rng.happens(0.3)
    form = _Form(asking, name, rng, "" if behind else before or "")
    more = stands_behind(asking.ontology, kind, asked, form.number, negated, rng) if behind else ""
    detailed = "existMaterial" if kind == MATERIAL else "existThat" if behind else "existAttr"
    yield yes_no(
        f"{detailed}{'Not' if negated else ''}",
        then(then(selected(name), "filter", kind, asked, "not" if negated else ""), "exist"),
        bool(there),
        form.wordings(EXIST),
        {**form.slots, "more": more},
        _with(asking, there[0], kind, asked) if there else _without(asking, name, kind, asked, negated),
        f"04-{name}_{'n#' if negated else ''}{asked}",
    )


def _with(asking: Asking, key: str, kind: str, value: str) -> Phrase:
    own, said = asking.thing(key).values.get(kind, (value,))[0], asking.said(key)
    before = stands_before(asking.ontology, kind, own)
    text = f"{before} {said.text}" if before else f"{said.text} that {said.be} {asking.predicate(kind, own)}"
    return [("there", ""), *is_a(said, text, key)]


def _without(asking: Asking, name: str, kind: str, value: str, negated: bool) -> Phrase:
    key, *others = asking.all_of(name)
    if others:
        many = several(asking.ontology, asking.name(key))
        if many.plural:
            none = f"but they are {'all' if negated else 'not'} {asking.predicate(kind, value)}"
            return [("there are", ""), (many.text, key), (none, "")]
    said, own = asking.said(key), asking.thing(key).values.get(kind, (value,))[0]
    it = "they are" if said.plural else f"the {said.text} is" if asking.isa(key, PEOPLE) else "it is"
    return [(f"there {said.be}", ""), *asking.a(key), (f"but {it} {asking.predicate(kind, own)}", "")]


def exist_relation(asking: Asking, rng: SeededRng) -> Iterator[Draft]:
    """Is there an apple on the black table?"""
    for subject, relation, target in triples(asking, rng):
        way = rng.below(4)
        name: str | None = asking.name(subject)
        asked: str | None = relation
        if way < 2:
            detailed = "existRelS"
            if rng.happens(0.2) and (wider := asking.kinds_asked(asking.name(subject))):
                name = rng.pick(wider)
                if as_category(asking.ontology, name, False) is None and name != asking.name(subject):
                    continue
        elif way == 2 or relation in WORN:
            name, detailed = nobody_at(asking, target, relation, "s", rng), "existRelSC"
        else:
            asked, detailed = other_relation(asking, subject, relation, target, rng), "existRelSRC"
            others = asking.all_of(asking.name(subject))
            if asked is not None and any(asking.graph.related(key, asked, target) for key in others):
                continue
        if name is None or asked is None:
            continue
        hidden: set[Fact] = {(subject,), (subject, target), (target, subject)}
        reference = asking.references.pick(target, rng, hidden, depth_of_relations(rng))
        noun = asking.ontology.nouns.get(name)
        if reference is None or noun is None or noun.vague or cannot_be_missing(asking, name):
            continue
        if noun.kind == asking.kind(target):
            continue  # a bike near the bike
        form = _Form(asking, name, rng)
        yield Draft(
            detailed,
            then(then(reference.program, "relate", name, asked, "s"), "exist"),
            YES if way < 2 else NO,
            form.wordings(EXIST_RELATION),
            {**form.slots, "relation": asked, "the": reference.the},
            _near(asking, subject, relation, target, detailed),
            f"13-{asking.name(target)}_{name}",
        )


def _near(asking: Asking, subject: str, relation: str, target: str, detailed: str) -> Phrase:
    said = asking.said(subject)
    if detailed == "existRelSRC":
        return [("No ,", ""), *asking.the(subject), (f"{said.be} {relation}", ""), *asking.the(target)]
    yes = "Yes" if detailed == "existRelS" else "No"
    return [(f"{yes} , there {said.be}", ""), *asking.a(subject), (relation, ""), *asking.the(target)]


def depth_of_relations(rng: SeededRng) -> int | None:
    """Modifiers in references of questions that have a relation anyway: mostly one."""
    return 1 if rng.happens(0.75) else None


def nobody_at(asking: Asking, object_id: str, relation: str, side: str, rng: SeededRng) -> str | None:
    """The name of something that would suit the other end of a relation but is not in the image."""
    if relation in (LEFT, RIGHT):
        absent = asking.absent(rng, object_id)
        return absent if absent is not None and asking.references.name_has_sides(absent) else None
    return asking.decoys.related(asking.graph, object_id, relation, side, rng)


def other_relation(asking: Asking, subject: str, relation: str, target: str, rng: SeededRng) -> str | None:
    """A relation that does not hold instead of one that does, if people might mix them up."""
    if relation in WORN:
        return None
    other = asking.decoys.relation(asking.graph, subject, relation, target, rng)
    if other is None or other in WORN or relation_form(other) is None:
        return None
    is_part = not UNTOLD.parts.isdisjoint(asking.noun(subject).parents)
    if {relation, other} & MENTIONS.under and (is_part or asking.kind(target) in MENTIONS.background):
        return None
    return other


def triples(asking: Asking, rng: SeededRng) -> list[tuple[str, str, str]]:
    """Subject, relation and object of what people would mention, in random order; left and right less often."""
    told, sides = [], []
    askable = set(asking.objects)
    for subject in asking.objects:
        for relation, target in sorted(asking.thing(subject).relations):
            if target not in askable or relation_form(relation) is None or asking.name(subject) == asking.name(target):
                continue
            if relation in MENTIONS.within and asking.kind(target) in MENTIONS.pictures:
                continue
            scenery = _SCENERY if asking.isa(target, *LIVING) else MENTIONS.background
            if relation in MENTIONS.nearby and asking.kind(subject) in scenery:
                continue
            if relation not in (LEFT, RIGHT):
                told.append((subject, relation, target))
            elif side_by_side(asking.graph, subject, target) and asking.references.has_sides(subject, target):
                sides.append((subject, relation, target))
    order = rng.shuffled(sides)[: max(12, 2 * len(told))]
    return [*rng.shuffled(told), *order, *rng.shuffled(told), *rng.shuffled(sides)[: len(told)]]
