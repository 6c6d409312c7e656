"""Unambiguous references to objects (Hudson and Manning 2019, Sect. 3.3).

Direct if the name or category alone is unambiguous (the bear, this animal), else with a modifier: an attribute (the
white bear), a position (the bear on the left), a relation (the bear that is wearing the coat), a negation (the bear
that is not white), also nested. A reference is unambiguous if its program finds that object and no other possible one.
"""

from collections.abc import Iterator, Set
from functools import cache
from typing import NamedTuple, TypeAlias

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.executor import Executor, Part, Program, Step, then
from hf_vqa_mc.engines.gqa.ontology import BODY_PART, LIVING, PEOPLE, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, VERTICAL, SceneGraph
from hf_vqa_mc.engines.gqa.wording import DOING, MATERIAL, WORDS, NounPhrase, Wording, relation_form

INDIRECT = 0.45  # Fraction of references with a modifier where the name alone is unambiguous.
BY_CATEGORY = 0.25  # Fraction of references by category (this animal) where the name is unambiguous.
LARGEST_SIDE = 0.6  # Objects wider than this fraction of the image are not to the left or right of anything.
PROMINENT = 0.1  # Objects that cover this fraction of the image may be called "this".
NEAREST = 4  # How many of the nearest objects to the left and right may be used in references.

Fact: TypeAlias = tuple[str, ...]
"""A fact that a reference mentions: (object,) itself, (object, "name"), (object, type), (subject, object)."""
NO_FACTS: frozenset[Fact] = frozenset()
NAMED = "name"
_NO_SIDES = WORDS["background"] | WORDS["on others"]
_DOING = frozenset(DOING)


class Reference(NamedTuple):
    """One way to refer to an object."""

    object_id: str
    head: NounPhrase  # its noun in the reference
    program: Program
    words: tuple[Part, ...]  # without the article
    facts: frozenset[Fact]
    depth: int  # nested modifiers: 0 for the bear
    determiner: str = "the"

    @property
    def with_that(self) -> "Reference":
        """With "that is" after its noun, so that more words may follow: the cup that is on the left."""
        if len(self.words) < 2 or self.words[1][0].startswith("that"):
            return self
        head, (behind, key), *more = self.words
        if not behind and (not more or not more[0][0] or relation_form(more[0][0]) is None):  # the hat the man has on
            return self
        return self._replace(words=(head, (f"that {self.head.be} {behind}".strip(), key), *more))

    @property
    def the(self) -> tuple[Part, ...]:
        """With the article."""
        return ((self.determiner, ""), *self.words)


class References(Executor, Wording):
    """The references to the objects of one image, with ``depth`` nested modifiers at most."""

    def __init__(self, graph: SceneGraph, ontology: Ontology, depth: int) -> None:
        super().__init__(graph, ontology)
        self.depth, self.things = depth, graph.objects
        self.names = {key: thing.name for key, thing in graph.objects.items()}
        self.nouns = {key: ontology.nouns[name] for key, name in self.names.items()}
        self.kinds = {key: noun.kind for key, noun in self.nouns.items()}
        self.heads, self.links = cache(self._heads), cache(self._links)
        self.plain = cache(lambda object_id: tuple(self._plain(object_id)))

    def _heads(self, object_id: str) -> tuple[tuple[str, NounPhrase], ...]:
        """The names of an object, its own first, then two categories, with their words."""
        noun = self.nouns[object_id]
        wider = [
            (category, phrase)
            for category in self.categories(noun.name)
            if category not in WORDS["too wide"] and category != noun.kind and noun.name not in WORDS["own name only"]
            if (phrase := self.as_category(category, noun.plural)) is not None
        ]
        return ((noun.name, self.called(noun.name)), *wider[:2])

    def categories(self, name: str) -> tuple[str, ...]:
        """Categories by which an object can be referred to; not of clothes, as people wear more than is annotated."""
        parents = () if self.graph.nameless else self.ontology.nouns[name].parents
        return tuple(category for category in parents if category not in WORDS["worn categories"])

    def _plain(self, object_id: str) -> Iterator[Reference]:
        """All unambiguous references without another object."""
        rng = SeededRng(0, self.graph.image_id, object_id, "references")
        for index, (name, phrase) in enumerate(self.heads(object_id)):
            select: Program = (Step("select", (name,)),)
            named: set[Fact] = {(object_id,)} if index else {(object_id,), (object_id, NAMED)}
            direct = self.is_clear(select, object_id)
            if direct:
                reference = Reference(object_id, phrase, select, ((phrase.text, object_id),), frozenset(named), 0)
                yield reference
                _, _, width, height = self.things[object_id].box
                if index and not phrase.proper and width * height >= PROMINENT * self.graph.width * self.graph.height:
                    yield reference._replace(determiner="these" if phrase.plural else "this")
            for kind, value, negated in self._modifiers(object_id, name, direct):
                program = then(select, "filter", kind, value, negated)
                if not self.is_clear(program, object_id):
                    continue
                before = None if negated else self.stands_before(kind, value)
                facts = frozenset({*named, (object_id, kind)})
                if before is not None:
                    words: tuple[Part, ...] = ((f"{before} {phrase.text}", object_id),)
                    yield Reference(object_id, phrase, program, words, facts, 1)
                if before is None or kind == MATERIAL:
                    behind = self.stands_behind(kind, value, phrase, bool(negated), rng)
                    words = ((phrase.text, object_id), (behind, ""))
                    yield Reference(object_id, phrase, program, words, facts, 1)

    def _modifiers(self, object_id: str, name: str, direct: bool) -> list[tuple[str, str, str]]:
        values, own_name = self.things[object_id].values, self.names[object_id]
        attributes = self.ontology.attributes
        unique = self.called(name).unique if name in self.ontology.nouns else False
        own = [
            (kind, value, "")
            for kind, several in values.items()
            for value in several
            if (kind in (HORIZONTAL, VERTICAL) or value in attributes) and value not in name.split()
            if not (unique and kind in (HORIZONTAL, VERTICAL)) and self.can_have(own_name, kind)
            if kind or _DOING.isdisjoint(attributes[value].types)  # a disc that is sitting
            if value != "middle" or (kind == HORIZONTAL and values.get(VERTICAL, ()) in ((), ("middle",)))
        ]
        if direct or unique:
            return own
        others = {
            (kind, value, "not")
            for key, other in self.things.items()
            if key != object_id and self.ontology.may_be(other.name, name)
            for kind, several in other.values.items()
            if kind in values and kind not in ("", HORIZONTAL, VERTICAL)
            for value in several
            if value in attributes
        }
        return own + sorted(others)

    def is_clear(self, program: Program, object_id: str) -> bool:
        """Whether a program finds this object and no other possible one."""
        found = self.find(program)
        return found is not None and found.only == object_id

    def has_sides(self, *names: str) -> bool:
        """Whether left and right are natural for such objects."""
        nouns = map(self.ontology.nouns.__getitem__, names)
        return all(noun.kind not in _NO_SIDES and BODY_PART not in noun.parents for noun in nouns)

    def side_by_side(self, one: str, other: str) -> bool:
        """Whether left and right are natural, neither is wide, and they overlap by half of the narrower at most."""
        (x, _, width, _), (x2, _, width2, _) = (self.things[key].box for key in (one, other))
        return (
            self.has_sides(self.names[one], self.names[other])
            and max(width, width2) <= LARGEST_SIDE * self.graph.width
            and min(x + width, x2 + width2) - max(x, x2) <= 0.5 * min(width, width2)
        )

    def can_have(self, name: str, kind: str) -> bool:
        """Whether a thing can have a value of a type: a man has activities but no material, a room no color."""
        noun = self.ontology.nouns[name]
        if kind in WORDS["types of surfaces"] and (noun.kind in WORDS["whole places"] or "room" in noun.parents):
            return False
        if kind in WORDS["types of people"]:
            return self.ontology.isa(name, PEOPLE)
        if kind in WORDS["types of things"] and self.ontology.isa(name, PEOPLE):
            return False
        if kind not in DOING and kind != MATERIAL:
            return True
        return any(self.ontology.isa(name, category) for category in LIVING) == (kind in DOING)

    def _links(self, object_id: str) -> tuple[tuple[NounPhrase, str, str, str, str], ...]:
        """Relations that identify an object: its noun and name, the relation, "s" (subject) or "o", other object."""
        ends = [(relation, "s", target) for relation, target in sorted(self.things[object_id].relations)]
        relations = self.ontology.relations
        edges = ((key, *edge) for key, thing in self.things.items() for edge in sorted(thing.relations))
        directed = ((name, key) for key, name, target in edges if target == object_id)
        ends += [(name, "o", key) for name, key in directed if not relations[name].inverse]
        center = {key: thing.box[0] + thing.box[2] / 2 for key, thing in self.things.items()}
        sides = [end for end in ends if end[0] in (LEFT, RIGHT) and self.side_by_side(object_id, end[2])]
        nearest = sorted(sides, key=lambda end: abs(center[object_id] - center[end[2]]))
        return tuple(
            (phrase, name, relation, side, other)
            for relation, side, other in [*(end for end in ends if end[0] not in (LEFT, RIGHT)), *nearest[:NEAREST]]
            if relation_form(relation) is not None
            and self.askable(other)
            and not (relation in WORDS["within"] and self.kinds[other] in WORDS["pictures"])
            and self.kinds[object_id] != self.kinds[other]
            for name, phrase in self.heads(object_id)
            if (anchor := self.plain(other)[:1])
            and self.is_clear(then(anchor[0].program, "relate", name, relation, side), object_id)
        )

    def askable(self, object_id: str) -> bool:
        """Whether people would refer to an object by itself."""
        noun = self.nouns[object_id]
        return not noun.vague and (noun.plural or noun.kind not in WORDS["several each"])

    def pick(
        self, object_id: str, rng: SeededRng, hidden: Set[Fact] = NO_FACTS, depth: int | None = None
    ) -> Reference | None:
        """An unambiguous reference without ``hidden`` facts, of ``depth`` nested modifiers at most; or None."""
        if not self.askable(object_id):
            return None
        depth = self.depth if depth is None else depth
        plain = [one for one in self.plain(object_id) if one.depth <= depth and one.facts.isdisjoint(hidden)]
        direct, modified = ([one for one in plain if (one.depth > 0) == deep] for deep in (False, True))
        if not direct or (depth > 0 and rng.happens(INDIRECT)):
            related = depth > 0 and not self.heads(object_id)[0][1].unique and bool(self.links(object_id))
            if related and (not modified or rng.happens(0.5)):
                reference = self._by_relation(object_id, rng, hidden, depth)
                if reference is not None:
                    return reference
            if modified:
                return rng.pick(modified)
        own, wider = ([one for one in direct if ((object_id, NAMED) in one.facts) == named] for named in (True, False))
        if not direct:
            return None
        return rng.pick(wider if wider and (not own or rng.happens(BY_CATEGORY)) else own)

    def _by_relation(self, object_id: str, rng: SeededRng, hidden: Set[Fact], depth: int) -> Reference | None:
        for head, name, relation, side, other in rng.shuffled(self.links(object_id))[:3]:
            own: set[Fact] = {(object_id,), (object_id, other), (other, object_id)}
            if name == self.names[object_id]:
                own.add((object_id, NAMED))
            if not own.isdisjoint(hidden) or (other,) in hidden:
                continue
            anchor = self.pick(other, rng, {*hidden, (object_id,)}, depth - 1)
            if anchor is None or any(step.argument[-1:] == ("not",) for step in anchor.program):
                continue  # not "the man wearing the hat that is not tan"
            if side == "s":
                nested = len(anchor.words) > 1 or (relation in (LEFT, RIGHT) and rng.happens(0.5))
                that = f"that {head.be}" if nested or rng.happens(0.3) else ""
                behind = [(that, ""), (relation, ""), *anchor.the]
            elif len(anchor.words) == 1:
                short = anchor.depth == 0 and relation_form(relation) == "verb" and rng.happens(0.5)
                behind = [("" if short else "that", ""), *anchor.the, (f"{anchor.head.be} {relation}", "")]
            else:
                continue
            program = then(anchor.program, "relate", name, relation, side)
            words = ((head.text, object_id), *behind)
            return Reference(object_id, head, program, words, anchor.facts | own, anchor.depth + 1)
        return None
