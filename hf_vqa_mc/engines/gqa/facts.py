"""The facts about objects that a question and its answer state, and the facts that settle a question.

Hudson and Manning 2019, Sect. 3.4. Within a question an object id represents the object that the question refers to.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, NAME, NO, OPPOSITE, YES
from hf_vqa_mc.engines.gqa.ontology import ANYTHING, Ontology
from hf_vqa_mc.engines.gqa.program import Question, Step
from hf_vqa_mc.engines.gqa.scene_graph import SCENE, SceneGraph

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


@dataclass(slots=True)
class Statement:
    """The facts that a question and its answer state."""

    references: list[tuple[Described, str]] = field(default_factory=list)
    """presupposed: the only object of a description"""
    facts: list[Fact] = field(default_factory=list)  # stated by the answer
    settled_by: list[tuple[Fact, ...]] = field(default_factory=list)
    """alternatives; all facts of one settle the question, if it has an answer at all"""
    witnesses: dict[Described, tuple[str, ...]] = field(default_factory=dict)  # objects that fit the description


def kind_of(ontology: Ontology, name: str) -> str:
    """The kind by which a name selects: a noun's kind, or the category itself."""
    noun = ontology.nouns.get(name)
    return noun.kind if noun else name


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


def read_question(question: Question, graph: SceneGraph, ontology: Ontology) -> Statement:
    """The facts that a question states, and those that settle it.

    A question of an unknown form states only its references; one that refers to an object in two ways, neither of
    which implies the other, states nothing. Both are settled only by a question with the same program.
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
                one = self._there(self._described(step.inputs[0]), step.inputs[0], answer)
            case "verify rel", (name, relation, side):
                one = self._there(self._related(step, name, relation, side), index, answer)
            case "same", (kind,):
                one = ("same", kind, self._several(step), answer)
            case "different", (kind,):
                one = ("same", kind, self._several(step), OPPOSITE[answer])
            case _:
                raise _Unknown
        return [one], [(one,)]

    def _there(self, described: Described, index: int, answer: str) -> Fact:
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
            facts.append(self._there(self._related(step, name, relation, side), index, sign))
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
