"""Entailments among the questions about an image (Hudson and Manning 2019, Sect. 3.4, Fig. 15).

A question with its answer states facts about objects (``facts.py``), which imply more facts. These entail another
question if they settle it (`Ways`), given that its references are unambiguous and it has an answer. Which object a
reference means is not given: that the vehicle is an airplane does not imply that the white vehicle is one. Facts are
closed under implication, so chains of entailments are found at once, except those that rest on what a question in
between presupposes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from hf_vqa_mc.engines.gqa.executor import NO, OPPOSITE, YES
from hf_vqa_mc.engines.gqa.facts import (
    Condition,
    Described,
    Fact,
    Statement,
    condition_fact,
    described_facts,
    is_kind,
    read_question,
    relation_condition,
)
from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.program import Question
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph

MANY_WAYS = 64  # Ways to settle a question that are considered; entailments by other ways are not found.

Way: TypeAlias = tuple[Fact, ...]  # Facts that together settle a question, those of its references last.


class Entailments(NamedTuple):
    """For each question about an image, indices of other questions."""

    entailed: list[list[int]]  # the entailed ones, including the equivalent ones, in order
    equivalent: list[list[int]]  # those with the same statement and references, including the question itself
    content: list[int]  # equal for questions that state the same facts, in any words and with any references


def entailments(questions: Sequence[Question], graph: SceneGraph, ontology: Ontology) -> Entailments:
    """The entailments among the questions about one image.

    They are sound, not complete: in every image in which the first question has the same answer, whatever objects it
    refers to, the second one has the same answer too, if its references are unambiguous in that image and it has an
    answer. The answers of the questions must be correct.
    """
    statements = [read_question(question, graph, ontology) for question in questions]
    only, index = DescribedIndex(ontology), _Implied(ontology)
    for statement in statements:
        for described, object_id in statement.references:
            only.add(described, object_id)
    ways = Ways(ontology, only)
    for number, statement in enumerate(statements):
        for way in ways.of(statement):
            index.need(number, way)
    keys = [
        (frozenset(statement.references), question.answer, frozenset(statement.facts))
        for statement, question in zip(statements, questions, strict=True)
    ]
    alike: dict[object, list[int]] = defaultdict(list)
    contents: dict[object, int] = {}
    for number, key in enumerate(keys):
        alike[key].append(number)
        contents.setdefault(key[1:], len(contents))
    settled = (index.settled(_all_facts(statement)) for statement in statements)
    entailed = [sorted(found.union(alike[keys[number]]) - {number}) for number, found in enumerate(settled)]
    return Entailments(entailed, [alike[key] for key in keys], [contents[key[1:]] for key in keys])


def _all_facts(statement: Statement) -> Iterable[Fact]:
    """The facts that a question states and presupposes; also about an object that only its answer mentions."""
    yield from statement.facts
    for described, object_id in statement.references:
        yield ("only", described, object_id)
        yield from described_facts(described, object_id)
    referred = {object_id for _, object_id in statement.references}
    existing = [described for described in statement.witnesses if ("some", described) in statement.facts]
    often = Counter(witness for described in existing for witness in statement.witnesses[described])
    for described in existing:
        witness, *others = statement.witnesses[described]
        if not others and often[witness] == 1 and witness not in referred:
            yield from described_facts(described, witness)


class DescribedIndex:
    """Descriptions, each with an object or other text, to find those that are wider or narrower than another one.

    Fruit is wider than apples, apples are wider than red apples.
    """

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._by_conditions: dict[frozenset[Condition], dict[tuple[str, str], None]] = defaultdict(dict)
        self._by_fewer: dict[frozenset[Condition], dict[tuple[Described, str], None]] = {}

    def add(self, described: Described, belonging: str) -> None:
        """Add a description."""
        self._by_conditions[described.conditions][described.kind, belonging] = None
        self._by_fewer = {}

    def wider(self, described: Described) -> Iterator[tuple[Described, str]]:
        """The description and wider ones."""
        for conditions in _subsets(described.conditions):
            for kind, belonging in self._by_conditions.get(conditions, ()):
                if is_kind(self._ontology, described.kind, kind):
                    yield Described(kind, conditions), belonging

    def narrower(self, described: Described) -> Iterator[tuple[Described, str]]:
        """The description and narrower ones."""
        if not self._by_fewer:
            for conditions, kinds in self._by_conditions.items():
                for fewer in _subsets(conditions):
                    added = {(Described(kind, conditions), belonging): None for kind, belonging in kinds}
                    self._by_fewer.setdefault(fewer, {}).update(added)
        for one, belonging in self._by_fewer.get(described.conditions, ()):
            if is_kind(self._ontology, one.kind, described.kind):
                yield one, belonging


def _subsets(conditions: frozenset[Condition]) -> Iterator[frozenset[Condition]]:
    if len(conditions) == 1:
        yield conditions  # a fast path: most have one condition or none
        yield frozenset()
        return
    listed = list(conditions)
    for size in range(len(listed) + 1):
        yield from map(frozenset, combinations(listed, size))


class Ways:
    """The sets of facts that settle a question.

    The question's references are assumed to be unambiguous, but it is not known which objects they mean. So a fact
    about an object counts only together with everything that the question's reference to it says, also about other
    objects: the object for which all this holds is the one referred to.
    """

    def __init__(self, ontology: Ontology, only: DescribedIndex) -> None:
        """``only``: all descriptions by which some question about the image refers to an object."""
        self._ontology, self._only = ontology, only

    def of(self, statement: Statement) -> list[Way]:
        """At most MANY_WAYS sets of facts, each of which settles the question."""
        given = {fact for described, key in statement.references for fact in described_facts(described, key)}
        ways: dict[Way, None] = {}
        for facts in statement.settled_by:
            options = [self._options(fact, statement) for fact in facts if fact not in given]
            for choice in product(*options):
                way = dict.fromkeys(fact for part in choice for fact in part)
                if way:
                    ways[(*way, *_meant(way, statement))] = None
                if len(ways) == MANY_WAYS:
                    return list(ways)
        return list(ways)

    def _options(self, fact: Fact, statement: Statement) -> list[Way]:
        match fact:
            case "some", Described() as described:
                witnesses = statement.witnesses.get(described, ())
                return [(fact,), *(tuple(described_facts(described, witness)) for witness in witnesses)]
            case "none", Described() as described:
                return [(fact,), *self._excluded(described, statement)]
        return [(one,) for one in self._same(fact, statement)]

    def _excluded(self, described: Described, statement: Statement) -> Iterator[Way]:
        """Sets of facts by which no object fits: the only object of a wider description does not fit."""
        for wider, object_id in self._only.wider(described):
            seen: Way = () if (wider, object_id) in statement.references else (("only", wider, object_id),)
            fails = [condition_fact(object_id, one, False) for one in sorted(described.conditions - wider.conditions)]
            if described.kind != wider.kind:
                fails.append(("kind", object_id, described.kind, NO))
            for failed in fails:
                yield from ((*seen, fact) for fact in self._same(failed, statement))

    def _same(self, fact: Fact, statement: Statement) -> list[Fact]:
        """A fact about an object and its equivalents: if there is no red apple, the apple is not red."""
        same = [fact]
        for (kind, conditions), object_id in statement.references:
            condition = self._condition(fact, object_id)
            if condition is not None:
                what, one, two, sign = condition
                if what == "value":
                    condition = (what, one, two, OPPOSITE[sign])
                if what == "value" or fact[-1] == NO:
                    same.append(("none", Described(kind, conditions | {condition})))
            elif fact[0] == "kind" and fact[1:] == (object_id, fact[2], NO):
                if is_kind(self._ontology, str(fact[2]), kind):
                    same.append(("none", Described(str(fact[2]), conditions)))
        return same

    def _condition(self, fact: Fact, object_id: str) -> Condition | None:
        match fact:
            case "value", str(key), str(kind), str(value), str(sign) if key == object_id:
                return ("value", kind, value, sign)
            case "relation", str(subject), str(relation), str(target), str(_) if subject == object_id:
                return relation_condition(self._ontology, "s", relation, target)
            case "relation", str(subject), str(relation), str(target), str(_) if target == object_id:
                return relation_condition(self._ontology, "o", relation, subject)
        return None


def _meant(facts: Iterable[Fact], statement: Statement) -> Iterator[Fact]:
    """All facts that a question's references state about the objects of some facts."""
    mentioned = {key for fact in facts for key in _objects(fact)}
    for described, object_id in reversed(statement.references):  # what a reference mentions comes before it
        if object_id in mentioned:
            mentioned.update(_others(described))
    for described, object_id in statement.references:
        if object_id in mentioned:
            yield from described_facts(described, object_id)


def _objects(fact: Fact) -> Iterator[str]:
    match fact:
        case (("value" | "exact" | "kind" | "name"), str(key), *_):
            yield key
        case "relation", str(subject), _, str(target), _:
            yield from (subject, target)
        case "only", Described() as described, str(key):
            yield from (key, *_others(described))
        case (("some" | "none" | "common"), Described() as described, *_) | ("same", _, Described() as described, _):
            yield from _others(described)
        case ("same", _, frozenset() as several, _) | ("common", frozenset() as several, _):
            yield from several
        case "compare", _, frozenset() as pairs:
            yield from (key for key, _ in pairs)
        case "or", frozenset() as facts:
            yield from (key for one in facts for key in _objects(one))


def _others(described: Described) -> Iterator[str]:
    return (condition[3] for condition in described.conditions if condition[0] == "relation")


class _Implied:
    """Maps facts to the questions about one image that they settle: call `need` for all questions, then `settled`."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._wanted: dict[Fact, int] = {}
        self._settles: dict[int, list[tuple[int, frozenset[int]]]] = defaultdict(list)
        """fact to the questions that it settles, each with the other facts needed"""
        self._about: dict[object, list[tuple[Fact, int]]] = defaultdict(list)
        self._described = {"some": DescribedIndex(ontology), "none": DescribedIndex(ontology)}
        self._memory: dict[Fact, tuple[int, ...]] = {}

    def need(self, question: int, facts: Way) -> None:
        """Add facts that together settle a question; it is fastest if the rarest fact comes first."""
        first, *others = map(self._number, facts)
        self._settles[first].append((question, frozenset(others)))

    def _number(self, fact: Fact) -> int:
        if fact in self._wanted:
            return self._wanted[fact]
        number = self._wanted[fact] = len(self._wanted)
        match fact:
            case ("some" | "none") as sign, Described() as described:
                self._described[sign].add(described, "")
            case "relation", subject, _, target, _:
                self._about["relation", subject, target].append((fact, number))
            case "value", object_id, kind, *_:
                self._about["value", object_id, kind].append((fact, number))
            case (("kind" | "scene") as what, one, *_):
                self._about[what, one].append((fact, number))
        return number

    def settled(self, facts: Iterable[Fact]) -> set[int]:
        """The questions that facts settle."""
        known: set[int] = set()
        for fact in facts:
            if fact not in self._memory:
                self._memory[fact] = tuple(self._implied(fact))
            known.update(self._memory[fact])
        return {question for number in known for question, others in self._settles.get(number, ()) if others <= known}

    def _implied(self, fact: Fact) -> Iterator[int]:
        if fact in self._wanted:
            yield self._wanted[fact]
        match fact:
            case "some", Described() as described:
                yield from (self._wanted["some", one] for one, _ in self._described["some"].wider(described))
            case "none", Described() as described:
                yield from (self._wanted["none", one] for one, _ in self._described["none"].narrower(described))
            case "relation", str(subject), str(relation), str(target), sign if sign == YES:
                yield from self._from_relation(subject, relation, target)
                if inverse := self._ontology.relations[relation].inverse:
                    yield from self._from_relation(target, inverse, subject)
            case _:
                yield from self._from_values(fact)

    def _from_values(self, fact: Fact) -> Iterator[int]:
        match fact:
            case "exact", object_id, str(kind), str(value):
                exclusive = kind in self._ontology.exclusive
                yield from self._from_value(("value", object_id, kind), value, exclusive)
            case "scene exact", kind, str(value):
                yield from self._from_value(("scene", kind), value, True)
            case (("name" | "kind"), object_id, *_):
                for wanted, number in self._about.get(("kind", object_id), ()):
                    if self._kind_sign(fact, str(wanted[2])) == wanted[3]:
                        yield number

    def _from_value(self, about: object, value: str, exclusive: bool) -> Iterator[int]:
        """Facts implied by a value: the object has no other value of an exclusive type."""
        for wanted, number in self._about.get(about, ()):
            other, sign = str(wanted[-2]), wanted[-1]
            if value == other:
                if sign == YES:
                    yield number
            elif sign == NO and exclusive and not self._ontology.alike(other, value):
                yield number

    def _kind_sign(self, fact: Fact, kind: str) -> str | None:
        """Whether an object is of a kind, by its name, its kind or a kind that it is not of."""
        known = str(fact[2])
        if fact[0] == "name":
            return YES if self._ontology.isa(known, kind) else None if self._ontology.may_be(known, kind) else NO
        if fact[3] == YES:
            return YES if is_kind(self._ontology, known, kind) else None
        return NO if is_kind(self._ontology, kind, known) else None

    def _from_relation(self, subject: str, relation: str, target: str) -> Iterator[int]:
        for wanted, number in self._about.get(("relation", subject, target), ()):
            other, sign = str(wanted[2]), wanted[4]
            if sign == YES and other == relation:
                yield number
            elif sign == NO and relation in self._ontology.relations[other].excludes:
                yield number
