"""Questions about what is in the image: is there an apple, a red one, one on the table."""

from collections.abc import Iterator, Mapping, Sequence

from hf_vqa_mc.engines.gqa.executor import NO, YES
from hf_vqa_mc.engines.gqa.patterns import Pattern, wordings
from hf_vqa_mc.engines.gqa.program import Part, Question, then
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, selected
from hf_vqa_mc.engines.gqa.reference import Fact
from hf_vqa_mc.engines.gqa.references import side_by_side
from hf_vqa_mc.engines.gqa.scene_graph import LEFT, RIGHT
from hf_vqa_mc.engines.gqa.spoken_of import MENTIONS
from hf_vqa_mc.engines.gqa.untold import UNTOLD
from hf_vqa_mc.engines.gqa.wording import (
    MATERIAL,
    NOT_UNIQUE,
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
)
from hf_vqa_mc.engines.rng import Chance

WORN = {"wearing", "worn by", "dressed in"}
EXIST, EXIST_RELATION = wordings("exist"), wordings("exist relation")
_SCENERY = MENTIONS.background | MENTIONS.scenery


class _Form:
    """What is looked for: one, several or some of it, with words before and behind."""

    def __init__(self, asking: Asking, name: str, chance: Chance, before: str = "") -> None:
        single, many = one(asking.ontology, name), several(asking.ontology, name)
        before = f"{before} " if before else ""
        self.many = many
        is_place = any(asking.ontology.isa(name, category) for category in ("place", "room"))
        self.number: Said = single if single is not None and (is_place or chance.happens(0.5)) else many
        self.some = f"{before}{many.text}"
        self.a = with_article(f"{before}{single.text}") if single is not None else self.some
        self.is_one = self.number is single
        self.mass = many.mass

    def wordings(self, variants: Mapping[str, Sequence[Pattern]]) -> Sequence[Pattern]:
        return variants["one" if self.is_one else "mass" if self.mass else "several"]

    @property
    def text(self) -> str:
        return self.a if self.is_one else self.some


def exist(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Is there an apple in the picture? Is there one that is red, or that is not?"""
    for key in chance.shuffled([*asking.objects, *asking.objects, *asking.objects]):
        way = chance.below(4)
        if way == 0:
            yield from _there(asking, asking.name(key), chance)
        elif way == 1:
            absent = asking.decoys.absent(asking.graph, chance, near=key)
            if absent is not None:
                yield from _there(asking, absent, chance)
        else:
            yield from _there_with(asking, key, way == 3 and chance.happens(0.4), chance)


def _there(asking: Asking, name: str, chance: Chance) -> Iterator[Question]:
    noun = asking.ontology.nouns[name]
    there = asking.is_there(name)
    if there is None or noun.vague or cannot_be_missing(asking, name):
        return
    form = _Form(asking, name, chance)
    yield from asking.question(
        "exist",
        "exist" if there == YES else "existC",
        then(selected(name), "exist"),
        there,
        form.wordings(EXIST),
        {"a": form.a, "several": form.some, "more": ""},
        [("Yes ,", ""), *there_is(asking, name)] if there == YES else [("No ,", ""), *there_is_no(asking, name)],
        ("", f"03-{noun.kind}"),
        chance,
    )


def cannot_be_missing(asking: Asking, name: str) -> bool:
    """Whether nobody asks if there is one (the sky, people by name), or its plural means something else (glasses)."""
    said, noun = called(asking.ontology, name), asking.ontology.nouns[name]
    plural = asking.ontology.nouns.get(noun.plural_form, noun)
    is_place = said.mass and any(asking.ontology.isa(name, category) for category in ("place", "room"))
    return said.proper or said.unique or is_place or name in NOT_UNIQUE or plural.kind != noun.kind


def there_is(asking: Asking, name: str) -> list[Part]:
    """There is a door, with the objects; there are doors."""
    keys = asking.all_of(name)
    said = asking.said(keys[0])
    if len(keys) > 1 and not said.mass and not said.plural:
        said = several(asking.ontology, asking.name(keys[0]))
        return [("there are", ""), (said.text, keys[0])]
    return [(f"there {said.be}", ""), *asking.a(keys[0])]


def there_is_no(asking: Asking, name: str) -> list[Part]:
    """There are no phones; there is no grass."""
    said = several(asking.ontology, name)
    return [(f"there {said.be} no {said.text}", "")]


def _there_with(asking: Asking, key: str, negated: bool, chance: Chance) -> Iterator[Question]:
    pairs = [pair for pair in asking.value_kinds(key) if pair[0] in asking.ontology.exclusive]
    name = asking.name(key)
    if not pairs or cannot_be_missing(asking, name):
        return
    kind, value = chance.pick(pairs)
    asked: str | None = value
    if chance.happens(0.5):
        asked = asking.decoys.attribute(asking.graph, key, kind, chance)
    if asked is None or not asking.can_be_said(kind, asked):
        return
    keys = asking.all_of(name)
    wanted = NO if negated else YES
    there = YES if any(asking.settles(other, kind, asked) == wanted for other in keys) else NO
    before = None if negated else stands_before(asking.ontology, kind, asked)
    behind = before is None or (kind == MATERIAL and chance.happens(0.5)) or chance.happens(0.3)
    form = _Form(asking, name, chance, "" if behind else before or "")
    more = stands_behind(asking.ontology, kind, asked, form.number, negated, chance) if behind else ""
    detailed = "existMaterial" if kind == MATERIAL else "existThat" if behind else "existAttr"
    yield from asking.question(
        "exist",
        f"{detailed}{'Not' if negated else ''}{'' if there == YES else 'C'}",
        then(then(selected(name), "filter", kind, asked, "not" if negated else ""), "exist"),
        there,
        form.wordings(EXIST),
        {"a": form.a, "several": form.some, "more": more},
        _with_or_without(asking, keys, kind, asked, negated, there),
        ("", f"04-{name}_{'n#' if negated else ''}{asked}"),
        chance,
    )


def _with_or_without(asking: Asking, keys: Sequence[str], kind: str, value: str, negated: bool, there: str) -> Phrase:
    """Yes, there is a red apple; no, there is an apple but it is green."""
    wanted = NO if negated else YES
    key = next((key for key in keys if asking.settles(key, kind, value) == wanted), keys[0])
    own = asking.thing(key).values.get(kind, (value,))[0]
    said = asking.said(key)
    if there == YES:
        before = stands_before(asking.ontology, kind, own)
        text = f"{before} {said.text}" if before else f"{said.text} that {said.be} {asking.predicate(kind, own)}"
        article = "" if said.plural or said.mass else with_article(text).split(" ")[0]
        return [(f"Yes , there {said.be} {article}", ""), (text, key)]
    if len(keys) > 1:
        many = several(asking.ontology, asking.name(keys[0]))
        none = (
            f"they are all {asking.predicate(kind, value)}"
            if negated
            else (f"they are not {asking.predicate(kind, value)}")
        )
        if many.plural:
            return [("No , there are", ""), (many.text, keys[0]), (f"but {none}", "")]
    it = "they are" if said.plural else "he or she is" if asking.isa(key, "person") else "it is"
    if asking.isa(key, "person") and not said.plural:
        it = f"the {said.text} is"
    return [(f"No , there {said.be}", ""), *asking.a(key), (f"but {it} {asking.predicate(kind, own)}", "")]


def exist_relation(asking: Asking, chance: Chance) -> Iterator[Question]:
    """Is there an apple on the black table?"""
    for subject, relation, target in triples(asking, chance):
        way = chance.below(4)
        if way < 2:
            name, asked, detailed = asking.name(subject), relation, "existRelS"
            if chance.happens(0.2) and (wider := asking.kinds_asked(name)):
                name = chance.pick(wider)
            if as_category(asking.ontology, name, False) is None and name != asking.name(subject):
                continue
        elif way == 2 or relation in WORN:
            decoy = nobody_at(asking, target, relation, "s", chance)
            if decoy is None:
                continue
            name, asked, detailed = decoy, relation, "existRelSC"
        else:
            other = other_relation(asking, subject, relation, target, chance)
            if other is None or _holds(asking, asking.name(subject), other, target):
                continue
            name, asked, detailed = asking.name(subject), other, "existRelSRC"
        hidden: set[Fact] = {(subject,), (subject, target), (target, subject)}
        reference = asking.refer(target, chance, hidden, depth_of_relations(chance))
        noun = asking.ontology.nouns.get(name)
        if reference is None or noun is None or noun.vague or cannot_be_missing(asking, name):
            continue
        if noun.kind == asking.kind(target):
            continue  # a bike near the bike
        form = _Form(asking, name, chance)
        right = way < 2
        yield from asking.question(
            "exist relation",
            detailed,
            then(then(reference.program, "relate", name, asked, "s"), "exist"),
            YES if right else NO,
            form.wordings(EXIST_RELATION),
            {"a": form.a, "several": form.some, "relation": asked, "the": reference.the},
            _near(asking, subject, relation, target, detailed),
            ("", f"13-{asking.name(target)}_{name}"),
            chance,
        )


def depth_of_relations(chance: Chance) -> int | None:
    """Modifiers in references of questions that have a relation anyway: mostly one."""
    return 1 if chance.happens(0.75) else None


def nobody_at(asking: Asking, object_id: str, relation: str, side: str, chance: Chance) -> str | None:
    """The name of something that would suit the other end of a relation but is not in the image."""
    if relation in (LEFT, RIGHT):
        absent = asking.decoys.absent(asking.graph, chance, near=object_id)
        return absent if absent is not None and asking.references.name_has_sides(absent) else None
    return asking.decoys.related(asking.graph, object_id, relation, side, chance)


def other_relation(asking: Asking, subject: str, relation: str, target: str, chance: Chance) -> str | None:
    """A relation that does not hold instead of one that does, if people might mix them up."""
    if relation in WORN:
        return None
    other = asking.decoys.relation(asking.graph, subject, relation, target, chance)
    if other is None or other in WORN or relation_form(other) is None:
        return None
    is_part = not UNTOLD.parts.isdisjoint(asking.ontology.nouns[asking.name(subject)].parents)
    if {relation, other} & MENTIONS.under and (is_part or asking.kind(target) in MENTIONS.background):
        return None
    return other


def _holds(asking: Asking, name: str, relation: str, target: str) -> bool:
    return any(asking.graph.related(key, relation, target) for key in asking.all_of(name))


def _near(asking: Asking, subject: str, relation: str, target: str, detailed: str) -> Phrase:
    said = asking.said(subject)
    if detailed == "existRelSRC":
        return [("No ,", ""), *asking.the(subject), (f"{said.be} {relation}", ""), *asking.the(target)]
    yes = "Yes" if detailed == "existRelS" else "No"
    return [(f"{yes} , there {said.be}", ""), *asking.a(subject), (relation, ""), *asking.the(target)]


def triples(asking: Asking, chance: Chance) -> list[tuple[str, str, str]]:
    """Subject, relation and object of what people would tell, in random order; left and right less often."""
    told, sides = [], []
    askable = set(asking.objects)
    for subject in asking.objects:
        for relation, target in sorted(asking.thing(subject).relations):
            if target not in askable or relation_form(relation) is None or asking.name(subject) == asking.name(target):
                continue
            if relation in MENTIONS.within and asking.kind(target) in MENTIONS.pictures:
                continue
            if relation in MENTIONS.nearby and asking.kind(subject) in (
                _SCENERY if asking.lives(target) else MENTIONS.background
            ):
                continue
            if relation not in (LEFT, RIGHT):
                told.append((subject, relation, target))
            elif side_by_side(asking.graph, subject, target) and asking.references.has_sides(subject, target):
                sides.append((subject, relation, target))
    order = chance.shuffled(sides)[: max(12, 2 * len(told))]
    return [*chance.shuffled(told), *order, *chance.shuffled(told), *chance.shuffled(sides)[: len(told)]]
