"""Entailments among the questions about an image (Hudson and Manning 2019, Sect. 3.4, Fig. 15).

A question with its answer states facts about objects, which imply more facts. These entail another question if they
settle it (`Statement.ways`), given that its references are unambiguous and it has an answer. Which object a reference
means is not given: that the vehicle is an airplane does not imply that the white vehicle is one. Facts are closed
under implication, so chains of entailments are found at once, except those that rest on what a question in between
presupposes. Within a question an object id represents the object that the question refers to.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import chain, product
from typing import Any, NamedTuple, TypeAlias

from hf_vqa_mc.engines.gqa.executor import COMPARATIVES, NAME, NO, OPPOSITE, YES, Question, Step
from hf_vqa_mc.engines.gqa.ontology import ANYTHING, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import SCENE, SceneGraph

MANY_WAYS = 64  # Ways to settle a question that are considered; entailments by other ways are not found.
IT = ""  # The described object, in the conditions of a description.

Fact: TypeAlias = tuple[Any, ...]
"""One of
- ("value", id or `SCENE`, type, value, yes or no), ("exact", id or `SCENE`, type, value): the only value of the type
- ("kind", id, kind, yes or no), ("name", id, name)
- ("relation", subject, relation, id, yes or no)
- ("some", Described), ("none", Described), ("only", Described, id)
- ("same", type, ids or Described, yes or no), ("common", ids, type), ("compare", type, ids with their values)
- ("or", facts), ("program", program, answer)
"""
Way: TypeAlias = tuple[Fact, ...]  # Facts that together settle a question, those of its references last.
Claim: TypeAlias = tuple[list[Fact], list[Way]]  # Facts stated, and alternative facts that settle it.


class Described(NamedTuple):
    """All objects of a kind that satisfy some conditions."""

    kind: str
    conditions: frozenset[Fact] = frozenset()  # of "value" and "relation", about `IT`

    def facts(self, object_id: str) -> Iterator[Fact]:
        """What it implies about an object."""
        yield ("kind", object_id, self.kind, YES)
        yield from (_about(condition, IT, object_id) for condition in sorted(self.conditions))

    def others(self) -> Iterator[str]:
        """The objects of its relations."""
        return (key for condition in self.conditions for key in _objects(condition) if key != IT)


class Entailments(NamedTuple):
    """For each question about an image, indices of other questions."""

    entailed: list[list[int]]  # the entailed ones, including the equivalent ones, in order
    equivalent: list[list[int]]  # those with the same statement and references, including the question itself
    content: list[int]  # equal for questions that state the same facts, in any words and with any references


def entailments(questions: Sequence[Question], graph: SceneGraph, ontology: Ontology) -> Entailments:
    """The entailments among the questions about one image.

    They are sound, not complete: in every image in which the first question has the same answer, whatever objects it
    refers to, the second one has the same answer too, if its references are unambiguous in that image and it has an
    answer.
    """
    statements = [Statement(question, graph, ontology) for question in questions]
    only = list(dict.fromkeys(chain.from_iterable(statement.references for statement in statements)))
    numbers: dict[Fact, int] = {}  # of the facts that settle questions
    about: dict[Fact, list[Fact]] = defaultdict(list)
    settles: dict[int, list[tuple[int, frozenset[int]]]] = defaultdict(list)  # fact to questions, other facts needed
    for question, statement in enumerate(statements):
        for way in statement.ways(only):
            for fact in way:
                if fact not in numbers:
                    numbers[fact] = len(numbers)
                    about[_about_what(fact)].append(fact)
            first, *others = (numbers[fact] for fact in way)
            settles[first].append((question, frozenset(others)))

    @cache
    def implied(fact: Fact) -> list[int]:
        same = [fact]
        if fact[0] == "relation" and (inverse := ontology.relations[fact[2]].inverse):
            same.append(("relation", fact[3], inverse, fact[1], fact[4]))
        pairs = ((one, other) for one in same for other in about.get(_about_what(one), ()))
        return [numbers.get(fact, -1), *(numbers[other] for one, other in pairs if _implies(ontology, one, other))]

    contents = [(statement.question.answer, frozenset(statement.facts)) for statement in statements]
    keys = [(frozenset(one.references), content) for one, content in zip(statements, contents, strict=True)]
    alike: dict[object, list[int]] = defaultdict(list)
    for question, key in enumerate(keys):
        alike[key].append(question)
    entailed = []
    for question, statement in enumerate(statements):
        known = set(chain.from_iterable(map(implied, statement.all_facts())))
        settled = {other for fact in known for other, needed in settles.get(fact, ()) if needed <= known}
        entailed.append(sorted(settled.union(alike[keys[question]]) - {question}))
    codes = {content: code for code, content in enumerate(dict.fromkeys(contents))}
    return Entailments(entailed, [alike[key] for key in keys], [codes[content] for content in contents])


def _is_kind(ontology: Ontology, kind: str, other: str) -> bool:
    """Whether all objects of one kind are of another."""
    return other in (ANYTHING, kind) or (kind in ontology.nouns and ontology.isa(kind, other))


def _includes(ontology: Ontology, wide: Described, narrow: Described) -> bool:
    """Whether a description fits all that another one fits: apples are fruit, red apples are apples."""
    return wide.conditions <= narrow.conditions and _is_kind(ontology, narrow.kind, wide.kind)


def _relation(ontology: Ontology, subject: str, relation: str, target: str) -> Fact:
    """That a relation holds; of `IT` as its subject if it has an inverse."""
    inverse = ontology.relations[relation].inverse
    if target == IT and inverse and ontology.relations[inverse].inverse == relation:
        return ("relation", IT, inverse, subject, YES)
    return ("relation", subject, relation, target, YES)


def _about(fact: Fact, one: str, other: str, opposite: bool = False) -> Fact:
    """A "value" or "relation" fact, or its opposite, about another object."""
    ends = (1, 3) if fact[0] == "relation" else (1,)
    *parts, sign = (other if index in ends and part == one else part for index, part in enumerate(fact))
    return (*parts, OPPOSITE[sign] if opposite else sign)


def _objects(fact: Fact) -> Iterator[str]:
    match fact:
        case (("value" | "exact" | "kind" | "name"), key, *_):
            yield key
        case "relation", subject, _, target, _:
            yield from (subject, target)
        case "only", Described() as described, key:
            yield from (key, *described.others())
        case (("some" | "none"), Described() as described) | ("same", _, Described() as described, _):
            yield from described.others()
        case ("same", _, several, _) | ("common", several, _):
            yield from several
        case "compare", _, pairs:
            yield from (key for key, _ in pairs)
        case "or", facts:
            yield from (key for one in facts for key in _objects(one))


def _about_what(fact: Fact) -> Fact:
    """What a fact and those that it may imply have in common."""
    match fact:
        case (("some" | "none") as what, _):
            return (what,)
        case "relation", subject, _, target, _:
            return ("relation", subject, target)
        case (("value" | "exact"), key, kind, *_):
            return ("value", key, kind)
        case (("kind" | "name"), key, *_):
            return ("kind", key)
    return ()


def _implies(ontology: Ontology, fact: Fact, other: Fact) -> bool:
    """Whether a fact implies another one about the same."""
    match fact[0], other[0]:
        case "some", "some":
            return _includes(ontology, other[1], fact[1])
        case "none", "none":
            return _includes(ontology, fact[1], other[1])
        case "relation", "relation":
            excluded = fact[2] in ontology.relations[other[2]].excludes
            return fact[4] == YES and (other[2] == fact[2] if other[4] == YES else excluded)
        case "exact", "value":
            value, (*_, another, sign) = fact[-1], other
            exclusive = fact[1] == SCENE or fact[2] in ontology.exclusive
            return value == another if sign == YES else exclusive and not ontology.alike(another, value)
        case "name", "kind":
            name, (*_, kind, sign) = fact[-1], other
            return ontology.isa(name, kind) if sign == YES else not ontology.may_be(name, kind)
        case "kind", "kind":
            ends = (fact[2], other[2]) if other[3] == YES else (other[2], fact[2])
            return bool(fact[3] == other[3]) and _is_kind(ontology, *ends)
    return False


class Statement:
    """The facts that a question and its answer state, and those that settle it.

    A question that refers to an object in two ways, neither of which implies the other, states nothing that others
    settle, and only a question with the same program settles it.
    """

    def __init__(self, question: Question, graph: SceneGraph, ontology: Ontology) -> None:
        self.question, self.graph, self.ontology = question, graph, ontology
        self.references: list[tuple[Described, str]] = []  # presupposed: the only object of a description
        self.witnesses: dict[Described, tuple[str, ...]] = {}  # objects that fit the description
        self._described: dict[int, Described] = {}  # what each step selects; the scene is not described
        for index, step in enumerate(question.program):
            match step.operation, step.argument:
                case "select", (name,) if name != SCENE:
                    self._described[index] = Described(ontology.kind(name))
                case "filter", (kind, value, negated):
                    found = self._described[step.inputs[0]]
                    condition = ("value", IT, kind, value, NO if negated else YES)
                    self._described[index] = found._replace(conditions=found.conditions | {condition})
                case "relate", (name, relation, side):
                    self._described[index] = self._related(step, name, relation, side)
        self.facts, self._settled_by = self._claim(len(question.program) - 1)
        for object_id in {key for _, key in self.references}:
            several = [described for described, key in self.references if key == object_id]
            if not any(all(_includes(ontology, other, one) for other in several) for one in several):
                self.references, self.witnesses = [], {}
                same: Fact = ("program", question.program, question.answer)
                self.facts, self._settled_by = [same], [(same,)]

    def _related(self, step: Step, name: str, relation: str, side: str) -> Described:
        other = self._only(step.inputs[0])
        ends = (IT, other) if side == "s" else (other, IT)
        condition = _relation(self.ontology, ends[0], relation, ends[1])
        return Described(self.ontology.kind(name), frozenset((condition,)))

    def _only(self, index: int) -> str:
        """The only object of a step, to which the question refers."""
        (object_id,) = self.question.found[index]
        if (reference := (self._described[index], object_id)) not in self.references:
            self.references.append(reference)
        return object_id

    def _subject(self, step: Step) -> str:
        """The scene or the only object of a step's input."""
        return self._only(step.inputs[0]) if step.inputs[0] in self._described else SCENE

    def _claim(self, index: int) -> Claim:
        step, answer = self.question.program[index], self.question.answer
        match step.operation, step.argument:
            case (("query" | "choose"), (kind, *options)):
                return self._chosen(self._subject(step), kind, options)
            case "choose rel", (name, *relations, side):
                return self._chosen_relation(step, index, name, relations, side)
            case "compare", (comparative,):
                return self._compared(step, comparative)
            case (("and" | "or"), _):
                stated, settled_by = zip(*map(self._claim, step.inputs), strict=True)
                needs = [way for (way,) in settled_by]
                if (answer == YES) == (step.operation == "and"):
                    return [*chain(*stated)], [tuple(chain(*needs))]
                either: Fact = ("or", frozenset(chain(*needs)))
                return [either], [(either,), *needs]
            case "verify", (kind, value) if self._subject(step) == SCENE and answer == YES:
                return [("exact", SCENE, kind, value)], [(("value", SCENE, kind, value, YES),)]
            case "common", _:
                several = self._several(step)
                fact: Fact = ("same", answer, several, YES)
                return [("common", several, answer), fact], [(fact,)]
        fact = self._verified(step, index, answer)
        return [fact], [(fact,)]

    def _verified(self, step: Step, index: int, answer: str) -> Fact:
        match step.operation, step.argument:
            case "verify", (kind, value):
                return ("value", self._subject(step), kind, value, answer)
            case "exist", _:
                return self._exists(self._described[step.inputs[0]], step.inputs[0], answer)
            case "verify rel", (name, relation, side):
                return self._exists(self._related(step, name, relation, side), index, answer)
        sign = OPPOSITE[answer] if step.operation == "different" else answer
        return ("same", step.argument[0], self._several(step), sign)

    def _exists(self, described: Described, index: int, answer: str) -> Fact:
        if answer == NO:
            return ("none", described)
        self.witnesses[described] = self.question.found[index]
        return ("some", described)

    def _several(self, step: Step) -> frozenset[str] | Described:
        return self._described[step.inputs[0]] if len(step.inputs) == 1 else frozenset(map(self._only, step.inputs))

    def _chosen(self, key: str, kind: str, options: Sequence[str]) -> Claim:
        """What the scene or an object is, of all values or of some options."""
        facts: list[Fact]
        if kind == NAME:
            name, ontology = self.graph.objects[key].name, self.ontology
            facts = [("kind", key, ontology.kind(one), YES if ontology.isa(name, one) else NO) for one in options]
            facts = facts or [("name", key, name)]
            return facts, [(fact,) for fact in facts]
        scene = self.graph.scene
        values = (scene[kind],) if key == SCENE else self.graph.objects[key].values.get(kind, ())
        facts = [("value", key, kind, one, YES if one in values else NO) for one in options or values[:1]]
        stated = facts if options and key != SCENE else [("exact", key, kind, values[0])]
        return stated, [(fact,) for fact in facts]

    def _chosen_relation(self, step: Step, index: int, name: str, relations: Sequence[str], side: str) -> Claim:
        anchor, found = self._only(step.inputs[0]), self.question.found[index][0]
        subject, target = (found, anchor) if side == "s" else (anchor, found)
        signs = [YES if self.graph.related(subject, relation, target) else NO for relation in relations]
        related = [self._related(step, name, relation, side) for relation in relations]
        facts = [self._exists(one, index, sign) for one, sign in zip(related, signs, strict=True)]
        return facts, [(fact,) for fact in facts]

    def _compared(self, step: Step, comparative: str) -> Claim:
        """The chosen object of two, and its name unless its reference states that."""
        kind, more, _ = COMPARATIVES[comparative]
        values = {key: self.graph.objects[key].values[kind] for key in map(self._only, step.inputs)}
        winner = next(key for key, of_one in values.items() if of_one == (more,))
        name = self.question.answer
        facts: Way = (("compare", kind, frozenset(values.items())), ("name", winner, name))
        own = self.ontology.kind(name)
        called = any(key == winner and described.kind == own for described, key in self.references)
        clear = called and not any(own in noun.parents for noun in self.ontology.nouns.values())
        return list(facts), [facts[:1] if clear else facts]

    def all_facts(self) -> Iterator[Fact]:
        """The facts that it states and presupposes; also about an object that only its answer mentions."""
        yield from self.facts
        for described, object_id in self.references:
            yield ("only", described, object_id)
            yield from described.facts(object_id)
        referred = {object_id for _, object_id in self.references}
        existing = [described for described in self.witnesses if ("some", described) in self.facts]
        often = Counter(chain.from_iterable(self.witnesses[described] for described in existing))
        for described in existing:
            witness, *others = self.witnesses[described]
            if not others and often[witness] == 1 and witness not in referred:
                yield from described.facts(witness)

    def ways(self, only: Sequence[tuple[Described, str]]) -> list[Way]:
        """At most MANY_WAYS sets of facts, each of which settles the question.

        The references are assumed to be unambiguous, but it is not known which objects they mean. So a fact about an
        object counts only together with everything that the reference to it says, also about other objects: the object
        for which all this holds is the one referred to.

        ``only``: all descriptions by which a question refers to an object.
        """
        given = {fact for described, key in self.references for fact in described.facts(key)}
        ways: dict[Way, None] = {}
        for facts in self._settled_by:
            options: list[list[Way]] = []
            for fact in facts:
                match fact:
                    case _ if fact in given:
                        continue
                    case "some", Described() as described:
                        witnesses = self.witnesses.get(described, ())
                        options.append([(fact,), *(tuple(described.facts(one)) for one in witnesses)])
                    case "none", Described() as described:
                        options.append([(fact,), *self._excluded(described, only)])
                    case _:
                        options.append([(one,) for one in self._same(fact)])
            for choice in product(*options):
                if way := dict.fromkeys(chain(*choice)):
                    mentioned = {key for fact in way for key in _objects(fact)}
                    for described, object_id in reversed(self.references):  # what one mentions comes before it
                        mentioned.update(described.others() if object_id in mentioned else ())
                    meant = (one.facts(object_id) for one, object_id in self.references if object_id in mentioned)
                    ways[(*way, *chain(*meant))] = None
                if len(ways) == MANY_WAYS:
                    return list(ways)
        return list(ways)

    def _excluded(self, described: Described, only: Sequence[tuple[Described, str]]) -> Iterator[Way]:
        """Sets of facts by which no object fits: the only object of a wider description does not fit."""
        for wider, object_id in only:
            if not _includes(self.ontology, wider, described):
                continue
            seen: Way = () if (wider, object_id) in self.references else (("only", wider, object_id),)
            lacking = sorted(described.conditions - wider.conditions)
            fails = [_about(condition, IT, object_id, opposite=True) for condition in lacking]
            if described.kind != wider.kind:
                fails.append(("kind", object_id, described.kind, NO))
            for failed in fails:
                yield from ((*seen, fact) for fact in self._same(failed))

    def _same(self, fact: Fact) -> list[Fact]:
        """A fact about an object and its equivalents: if there is no red apple, the apple is not red."""
        same = [fact]
        for (kind, conditions), object_id in self.references:
            match fact:
                case "value", key, _, _, _ if key == object_id:
                    condition = _about(fact, object_id, IT, opposite=True)
                    same.append(("none", Described(kind, conditions | {condition})))
                case "relation", subject, relation, target, sign if object_id in (subject, target) and sign == NO:
                    _, subject, relation, target, _ = _about(fact, object_id, IT)
                    condition = _relation(self.ontology, subject, relation, target)
                    same.append(("none", Described(kind, conditions | {condition})))
                case "kind", key, other, sign if key == object_id and sign == NO:
                    if _is_kind(self.ontology, other, kind):
                        same.append(("none", Described(other, conditions)))
        return same
