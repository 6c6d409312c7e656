"""Entailments among the questions about an image (Hudson and Manning 2019, Sect. 3.4, Fig. 15).

A question with its answer states facts about objects, which imply more facts. These entail another question if they
settle it (`_Ways`), given that its references are unambiguous and it has an answer. Which object a reference means is
not given: that the vehicle is an airplane does not imply that the white vehicle is one. Facts are closed under
implication, so chains of entailments are found at once, except those that rest on what a question in between
presupposes. Within a question an object id represents the object that the question refers to.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations, product
from typing import NamedTuple, TypeAlias

from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, NAME, NO, OPPOSITE, YES
from hf_vqa_mc.engines.gqa.ontology import ANYTHING, Ontology
from hf_vqa_mc.engines.gqa.program import Question, Step
from hf_vqa_mc.engines.gqa.scene_graph import SCENE, SceneGraph

MANY_WAYS = 64  # Ways to settle a question that are considered; entailments by other ways are not found.

Condition: TypeAlias = tuple[str, str, str, str]
"""("value", type, value, yes or no), or ("relation", side, relation, id of the object at its other end)"""


class Described(NamedTuple):
    """All objects of a kind that satisfy some conditions."""

    kind: str
    conditions: frozenset[Condition] = frozenset()


Fact: TypeAlias = tuple[object, ...]
"""One of
- ("value", id, type, value, yes or no), ("exact", id, type, value): the only value of the type
- ("kind", id, kind, yes or no), ("name", id, name)
- ("relation", subject, relation, id, yes or no)
- ("some", Described), ("none", Described), ("only", Described, id)
- ("scene", type, value, yes or no), ("scene exact", type, value)
- ("same", type, ids or Described, yes or no), ("common", ids, type), ("compare", type, ids with their values)
- ("or", facts), ("program", program, answer)
"""
Claim: TypeAlias = tuple[list[Fact], list[tuple[Fact, ...]]]  # Facts stated, and alternative facts that settle it.
Way: TypeAlias = tuple[Fact, ...]  # Facts that together settle a question, those of its references last.


@dataclass(slots=True)
class Statement:
    """The facts that a question and its answer state."""

    references: list[tuple[Described, str]] = field(default_factory=list)
    """presupposed: the only object of a description"""
    facts: list[Fact] = field(default_factory=list)  # stated by the answer
    settled_by: list[tuple[Fact, ...]] = field(default_factory=list)
    """alternatives; all facts of one settle the question, if it has an answer at all"""
    witnesses: dict[Described, tuple[str, ...]] = field(default_factory=dict)  # objects that fit the description


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
    statements = [_read_question(question, graph, ontology) for question in questions]
    only, index = _DescribedIndex(ontology), _Implied(ontology)
    for statement in statements:
        for described, object_id in statement.references:
            only.add(described, object_id)
    ways = _Ways(ontology, only)
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


def kind_of(ontology: Ontology, name: str) -> str:
    """The kind by which a name selects: a noun's kind, or the category itself."""
    return ontology.nouns[name].kind if name in ontology.nouns else name


def is_kind(ontology: Ontology, kind: str, other: str) -> bool:
    """Whether all objects of one kind are of another."""
    return other in (ANYTHING, kind) or (kind in ontology.nouns and ontology.isa(kind, other))


def relation_condition(ontology: Ontology, side: str, relation: str, other: str) -> Condition:
    """A relation as a condition on its subject (``side`` "s") or object ("o"); the same for its inverse."""
    if side == "o":
        inverse = ontology.relations[relation].inverse
        if inverse and ontology.relations[inverse].inverse == relation:
            return ("relation", "s", inverse, other)
    return ("relation", side, relation, other)


def condition_fact(object_id: str, condition: Condition, holds: bool = True) -> Fact:
    """The fact that a condition holds, or does not hold, for an object."""
    what, one, two, three = condition
    if what == "value":
        return ("value", object_id, one, two, three if holds else OPPOSITE[three])
    sign = YES if holds else NO
    return ("relation", object_id, two, three, sign) if one == "s" else ("relation", three, two, object_id, sign)


def described_facts(described: Described, object_id: str) -> list[Fact]:
    """The facts that a description implies about an object."""
    kind: Fact = ("kind", object_id, described.kind, YES)
    return [kind, *(condition_fact(object_id, condition) for condition in sorted(described.conditions))]


def _read_question(question: Question, graph: SceneGraph, ontology: Ontology) -> Statement:
    """The facts that a question states, and those that settle it.

    A question of an unknown form states only its references; one that refers to an object in two ways, neither of
    which implies the other, nothing. Both are settled only by a question with the same program.
    """
    statement = _Reader(question, graph, ontology).statement
    same: Fact = ("program", question.program, question.answer)
    for object_id in {key for _, key in statement.references}:
        ways = [described for described, key in statement.references if key == object_id]
        if not any(
            all(is_kind(ontology, one.kind, other.kind) and other.conditions <= one.conditions for other in ways)
            for one in ways
        ):
            return Statement(facts=[same], settled_by=[(same,)])
    if not statement.facts:
        statement.facts, statement.settled_by = [same], [(same,)]
    return statement


class _Unknown(Exception):
    """The program has an unknown form."""


class _Reader:
    def __init__(self, question: Question, graph: SceneGraph, ontology: Ontology) -> None:
        self.question, self.graph, self.ontology = question, graph, ontology
        self.statement = Statement()
        self.values: list[Described | str | None] = []
        with suppress(_Unknown):  # then it states nothing but its references
            for index in range(len(question.program)):
                self.values.append(self._selection(index))
            self.statement.facts, self.statement.settled_by = self._claim(len(question.program) - 1, question.answer)

    def _selection(self, index: int) -> Described | str | None:
        step = self.question.program[index]
        match step.operation, step.argument:
            case "select", (name,):
                return SCENE if name == SCENE else Described(kind_of(self.ontology, name))
            case "filter", (kind, value, negated):
                found = self._described(step.inputs[0])
                condition: Condition = ("value", kind, value, NO if negated else YES)
                return found._replace(conditions=found.conditions | {condition})
            case "relate", (name, relation, side):
                return self._related(step, name, relation, side)
        return None

    def _described(self, index: int) -> Described:
        value = self.values[index]
        if not isinstance(value, Described):
            raise _Unknown
        return value

    def _related(self, step: Step, name: str, relation: str, side: str) -> Described:
        condition = relation_condition(self.ontology, side, relation, self._only(step.inputs[0]))
        return Described(kind_of(self.ontology, name), frozenset((condition,)))

    def _only(self, index: int) -> str:
        ids = self.question.found[index]
        if len(ids) != 1:
            raise _Unknown
        reference = (self._described(index), ids[0])
        if reference not in self.statement.references:
            self.statement.references.append(reference)
        return ids[0]

    def _claim(self, index: int, answer: str) -> Claim:
        step = self.question.program[index]
        match step.operation, step.argument:
            case "query", (kind,):
                return self._queried(step, kind)
            case "choose", (kind, *options):
                return self._chosen(step, kind, options)
            case "choose rel", _:
                return self._chosen_relation(step, index)
            case "common", _:
                return self._in_common(step, answer)
            case "compare", (comparative,):
                return self._compared(step, comparative, answer)
            case (("and" | "or"), _) if answer in OPPOSITE:
                return self._joined(step, answer)
        if answer not in OPPOSITE:
            raise _Unknown
        return self._verified(step, index, answer)

    def _verified(self, step: Step, index: int, answer: str) -> Claim:
        match step.operation, step.argument:
            case "verify", (kind, value) if self.values[step.inputs[0]] == SCENE:
                one: Fact = ("scene", kind, value, answer)
                return [("scene exact", kind, value) if answer == YES else one], [(one,)]
            case "verify", (kind, value):
                one = ("value", self._only(step.inputs[0]), kind, value, answer)
            case "exist", _:
                one = self._exists(self._described(step.inputs[0]), step.inputs[0], answer)
            case "verify rel", (name, relation, side):
                one = self._exists(self._related(step, name, relation, side), index, answer)
            case "same", (kind,):
                one = ("same", kind, self._several(step), answer)
            case "different", (kind,):
                one = ("same", kind, self._several(step), OPPOSITE[answer])
            case _:
                raise _Unknown
        return [one], [(one,)]

    def _exists(self, described: Described, index: int, answer: str) -> Fact:
        if answer == NO:
            return ("none", described)
        self.statement.witnesses[described] = self.question.found[index]
        return ("some", described)

    def _several(self, step: Step) -> frozenset[str] | Described:
        if len(step.inputs) == 1:
            return self._described(step.inputs[0])
        return frozenset(map(self._only, step.inputs))

    def _queried(self, step: Step, kind: str) -> Claim:
        if self.values[step.inputs[0]] == SCENE:
            value = self.graph.scene[kind]
            return [("scene exact", kind, value)], [(("scene", kind, value, YES),)]
        key = self._only(step.inputs[0])
        if kind == NAME:
            name: Fact = ("name", key, self.graph.objects[key].name)
            return [name], [(name,)]
        value = self.graph.objects[key].values[kind][0]
        return [("exact", key, kind, value)], [(("value", key, kind, value, YES),)]

    def _chosen(self, step: Step, kind: str, options: Sequence[str]) -> Claim:
        if self.values[step.inputs[0]] == SCENE:
            actual = self.graph.scene[kind]
            facts: list[Fact] = [("scene", kind, value, YES if value == actual else NO) for value in options]
            return [("scene exact", kind, actual)], [(fact,) for fact in facts]
        key = self._only(step.inputs[0])
        thing, ontology = self.graph.objects[key], self.ontology
        if kind == NAME:
            is_one = [YES if ontology.isa(thing.name, name) else NO for name in options]
            facts = [("kind", key, kind_of(ontology, name), sign) for name, sign in zip(options, is_one, strict=True)]
        else:
            values = thing.values.get(kind, ())
            facts = [("value", key, kind, value, YES if value in values else NO) for value in options]
        return facts, [(fact,) for fact in facts]

    def _chosen_relation(self, step: Step, index: int) -> Claim:
        name, *relations, side = step.argument
        anchor, found = self._only(step.inputs[0]), self.question.found[index]
        subject, target = (found[0], anchor) if side == "s" else (anchor, found[0])
        facts: list[Fact] = []
        for relation in relations:
            sign = YES if self.graph.related(subject, relation, target) else NO
            facts.append(self._exists(self._related(step, name, relation, side), index, sign))
        return facts, [(fact,) for fact in facts]

    def _in_common(self, step: Step, answer: str) -> Claim:
        several = self._several(step)
        if any(isinstance(of_one, str) and answer not in self.graph.objects[of_one].values for of_one in several):
            raise _Unknown
        shared: Fact = ("same", answer, several, YES)
        return [("common", several, answer), shared], [(shared,)]

    def _compared(self, step: Step, comparative: str, answer: str) -> Claim:
        """The chosen object of two, and its name unless its reference states that."""
        kind, more, _ = COMPARATIVES[comparative]
        values = {key: self.graph.objects[key].values[kind] for key in map(self._only, step.inputs)}
        winner = next(key for key, of_one in values.items() if of_one == (more,))
        facts: tuple[Fact, ...] = (("compare", kind, frozenset(values.items())), ("name", winner, answer))
        own = kind_of(self.ontology, answer)
        called = any(key == winner and described.kind == own for described, key in self.statement.references)
        clear = called and not any(own in noun.parents for noun in self.ontology.nouns.values())
        return list(facts), [facts[:1] if clear else facts]

    def _joined(self, step: Step, answer: str) -> Claim:
        parts = [self._claim(index, answer) for index in step.inputs]
        if any(len(settled_by) != 1 or len(settled_by[0]) != 1 for _, settled_by in parts):
            raise _Unknown
        if (answer == YES) == (step.operation == "and"):
            facts = [fact for stated, _ in parts for fact in stated]
            return facts, [tuple(alternative[0][0] for _, alternative in parts)]
        needs = [alternative[0] for _, alternative in parts]
        either: Fact = ("or", frozenset(of_one[0] for of_one in needs))
        return [either], [(either,), *needs]


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


class _DescribedIndex:
    """Descriptions, each with an object or other text, to find those that are wider or narrower than another one.

    Fruit is wider than apples, apples are wider than red apples.
    """

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._by_conditions: dict[frozenset[Condition], dict[tuple[str, str], None]] = defaultdict(dict)
        self._by_fewer: dict[frozenset[Condition], dict[tuple[Described, str], None]] = {}

    def add(self, described: Described, belonging: str) -> None:
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


class _Ways:
    """The sets of facts that settle a question; ``only``: all descriptions by which a question refers to an object.

    The question's references are assumed to be unambiguous, but it is not known which objects they mean. So a fact
    about an object counts only together with everything that the question's reference to it says, also about other
    objects: the object for which all this holds is the one referred to.
    """

    def __init__(self, ontology: Ontology, only: _DescribedIndex) -> None:
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
                return [(fact,), *(tuple(described_facts(described, one)) for one in witnesses)]
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
        self._described = {"some": _DescribedIndex(ontology), "none": _DescribedIndex(ontology)}
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
                self._memory[fact] = (self._wanted.get(fact, -1), *self._implied(fact))
            known.update(self._memory[fact])
        return {question for number in known for question, others in self._settles.get(number, ()) if others <= known}

    def _implied(self, fact: Fact) -> Iterator[int]:
        match fact:
            case "some", Described() as described:
                yield from (self._wanted["some", one] for one, _ in self._described["some"].wider(described))
            case "none", Described() as described:
                yield from (self._wanted["none", one] for one, _ in self._described["none"].narrower(described))
            case "relation", str(subject), str(relation), str(target), sign if sign == YES:
                yield from self._from_relation(subject, relation, target)
                if inverse := self._ontology.relations[relation].inverse:
                    yield from self._from_relation(target, inverse, subject)
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
