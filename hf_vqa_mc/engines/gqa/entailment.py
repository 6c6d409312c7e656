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


class Fact(NamedTuple):
    """One of these, of ``objects`` (ids, or `SCENE` for the image) and ``what``.

    - value, exact (the only value of the type): type, value; kind: kind; name: name
    - relation (subject, object): relation
    - some, none, only (the only object): Description
    - same: type, Description if it is about all of those; common: type; compare: type, values of the objects
    - or: facts; program: program
    """

    which: str
    objects: tuple[str, ...]  # sorted, if their order does not matter
    what: tuple[Any, ...]
    sign: str = YES


Way: TypeAlias = tuple[Fact, ...]  # Facts that together settle a question, those of its references last.
Claim: TypeAlias = tuple[list[Fact], list[Way]]  # Facts stated, and alternative facts that settle it.


class Description(NamedTuple):
    """All objects of a kind that satisfy some conditions."""

    kind: str
    conditions: frozenset[Fact] = frozenset()  # of value and relation, about `IT`

    def facts(self, object_id: str) -> Iterator[Fact]:
        """What it implies about an object."""
        yield Fact("kind", (object_id,), (self.kind,))
        yield from (_about(condition, IT, object_id) for condition in sorted(self.conditions))

    def others(self) -> Iterator[str]:
        """The objects of its relations."""
        return (key for condition in self.conditions for key in condition.objects if key != IT)


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
    settles: dict[int, list[tuple[int, frozenset[int]]]] = defaultdict(list)  # fact to questions, other facts needed
    for question, statement in enumerate(statements):
        for way in statement.ways(only):
            first, *others = (numbers.setdefault(fact, len(numbers)) for fact in way)
            settles[first].append((question, frozenset(others)))
    about: dict[object, list[Fact]] = defaultdict(list)
    for fact in numbers:
        about[_about_what(fact)].append(fact)

    @cache
    def implied(fact: Fact) -> list[int]:
        same = [fact]
        if fact.which == "relation" and (inverse := ontology.relations[fact.what[0]].inverse):
            same.append(fact._replace(objects=fact.objects[::-1], what=(inverse,)))
        pairs = ((one, other) for one in same for other in about.get(_about_what(one), ()))
        return [numbers.get(fact, -1), *(numbers[other] for one, other in pairs if _implies(ontology, one, other))]

    codes: dict[object, int] = {}
    contents = [codes.setdefault((one.question.answer, frozenset(one.facts)), len(codes)) for one in statements]
    keys = [(frozenset(one.references), content) for one, content in zip(statements, contents, strict=True)]
    alike: dict[object, list[int]] = defaultdict(list)
    for question, key in enumerate(keys):
        alike[key].append(question)
    entailed = []
    for question, statement in enumerate(statements):
        known = set(chain.from_iterable(map(implied, statement.all_facts())))
        settled = {other for fact in known for other, needed in settles.get(fact, ()) if needed <= known}
        entailed.append(sorted(settled.union(alike[keys[question]]) - {question}))
    return Entailments(entailed, [alike[key] for key in keys], contents)


def _is_kind(ontology: Ontology, kind: str, other: str) -> bool:
    return other in (ANYTHING, kind) or (kind in ontology.nouns and ontology.isa(kind, other))


def _includes(ontology: Ontology, wide: Description, narrow: Description) -> bool:
    """Whether a description fits all that another one fits: apples are fruit, red apples are apples."""
    return wide.conditions <= narrow.conditions and _is_kind(ontology, narrow.kind, wide.kind)


def _relation(ontology: Ontology, subject: str, relation: str, target: str) -> Fact:
    """That a relation holds; of `IT` as its subject if it has an inverse."""
    inverse = ontology.relations[relation].inverse
    if target == IT and inverse and ontology.relations[inverse].inverse == relation:
        return Fact("relation", (IT, subject), (inverse,))
    return Fact("relation", (subject, target), (relation,))


def _about(fact: Fact, one: str, other: str, opposite: bool = False) -> Fact:
    """A fact of value or relation, or its opposite, about another object."""
    objects = tuple(other if key == one else key for key in fact.objects)
    return fact._replace(objects=objects, sign=OPPOSITE[fact.sign] if opposite else fact.sign)


def _objects(fact: Fact) -> Iterator[str]:
    yield from fact.objects
    for part in fact.what:
        if isinstance(part, Description):
            yield from part.others()
        elif isinstance(part, frozenset):
            yield from (key for one in part for key in _objects(one))


def _about_what(fact: Fact) -> object:
    which = {"exact": "value", "name": "kind"}.get(fact.which, fact.which)
    return which, fact.objects, fact.what[:1] if which == "value" else ()


def _implies(ontology: Ontology, fact: Fact, other: Fact) -> bool:
    one, another = fact.what[-1], other.what[-1]
    match fact.which, other.which:
        case "some", "some":
            return _includes(ontology, another, one)
        case "none", "none":
            return _includes(ontology, one, another)
        case "relation", "relation":
            excluded = one in ontology.relations[another].excludes
            return fact.sign == YES and (another == one if other.sign == YES else excluded)
        case "exact", "value":
            exclusive = fact.objects == (SCENE,) or fact.what[0] in ontology.exclusive
            return one == another if other.sign == YES else exclusive and not ontology.alike(another, one)
        case "name", "kind":
            return ontology.isa(one, another) if other.sign == YES else not ontology.may_be(one, another)
        case "kind", "kind":
            ends = (one, another) if other.sign == YES else (another, one)
            return fact.sign == other.sign and _is_kind(ontology, *ends)
    return False


class Statement:
    """The facts that a question and its answer state, and those that settle it.

    A question that refers to an object in two ways, neither of which implies the other, states nothing that others
    settle, and only a question with the same program settles it.
    """

    def __init__(self, question: Question, graph: SceneGraph, ontology: Ontology) -> None:
        self.question, self.graph, self.ontology = question, graph, ontology
        self.references: list[tuple[Description, str]] = []  # presupposed: the only object of a description
        self.witnesses: dict[Description, tuple[str, ...]] = {}  # objects that fit the description
        self._described: dict[int, Description] = {}  # what each step selects; the scene is not described
        for index, step in enumerate(question.program):
            match step.operation, step.argument:
                case "select", (name,) if name != SCENE:
                    self._described[index] = Description(ontology.kind(name))
                case "filter", (kind, value, negated):
                    found = self._described[step.inputs[0]]
                    condition = Fact("value", (IT,), (kind, value), NO if negated else YES)
                    self._described[index] = found._replace(conditions=found.conditions | {condition})
                case "relate", (name, relation, side):
                    self._described[index] = self._related(step, name, relation, side)
        self.facts, self._settled_by = self._claim(len(question.program) - 1)
        for object_id in {key for _, key in self.references}:
            several = [described for described, key in self.references if key == object_id]
            if not any(all(_includes(ontology, other, one) for other in several) for one in several):
                self.references, self.witnesses = [], {}
                same = Fact("program", (), (question.program,), question.answer)
                self.facts, self._settled_by = [same], [(same,)]

    def _related(self, step: Step, name: str, relation: str, side: str) -> Description:
        other = self._only(step.inputs[0])
        ends = (IT, other) if side == "s" else (other, IT)
        condition = _relation(self.ontology, ends[0], relation, ends[1])
        return Description(self.ontology.kind(name), frozenset((condition,)))

    def _only(self, index: int) -> str:
        """The only object of a step, to which the question refers."""
        (object_id,) = self.question.found[index]
        if (reference := (self._described[index], object_id)) not in self.references:
            self.references.append(reference)
        return object_id

    def _subject(self, step: Step) -> str:
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
                either = Fact("or", (), (frozenset(chain(*needs)),))
                return [either], [(either,), *needs]
            case "verify", (kind, value) if self._subject(step) == SCENE and answer == YES:
                return [Fact("exact", (SCENE,), (kind, value))], [(Fact("value", (SCENE,), (kind, value)),)]
            case "common", _:
                fact = self._alike(step, answer, YES)
                return [fact._replace(which="common"), fact], [(fact,)]
        fact = self._verified(step, index, answer)
        return [fact], [(fact,)]

    def _verified(self, step: Step, index: int, answer: str) -> Fact:
        match step.operation, step.argument:
            case "verify", (kind, value):
                return Fact("value", (self._subject(step),), (kind, value), answer)
            case "exist", _:
                return self._exists(self._described[step.inputs[0]], step.inputs[0], answer)
            case "verify rel", (name, relation, side):
                return self._exists(self._related(step, name, relation, side), index, answer)
        return self._alike(step, step.argument[0], OPPOSITE[answer] if step.operation == "different" else answer)

    def _exists(self, described: Description, index: int, answer: str) -> Fact:
        if answer == NO:
            return Fact("none", (), (described,))
        self.witnesses[described] = self.question.found[index]
        return Fact("some", (), (described,))

    def _alike(self, step: Step, kind: str, sign: str) -> Fact:
        if len(step.inputs) == 1:
            return Fact("same", (), (kind, self._described[step.inputs[0]]), sign)
        return Fact("same", tuple(sorted(map(self._only, step.inputs))), (kind,), sign)

    def _chosen(self, key: str, kind: str, options: Sequence[str]) -> Claim:
        """What the scene or an object is, of all values or of some options."""
        if kind == NAME:
            name, ontology = self.graph.objects[key].name, self.ontology
            signs = {ontology.kind(one): YES if ontology.isa(name, one) else NO for one in options}
            stated = [Fact("kind", (key,), (of,), sign) for of, sign in signs.items()]
            stated = facts = stated or [Fact("name", (key,), (name,))]
        else:
            scene = self.graph.scene
            values = (scene[kind],) if key == SCENE else self.graph.objects[key].values.get(kind, ())
            facts = [Fact("value", (key,), (kind, one), YES if one in values else NO) for one in options or values[:1]]
            stated = facts if options and key != SCENE else [Fact("exact", (key,), (kind, values[0]))]
        return stated, [(fact,) for fact in facts]

    def _chosen_relation(self, step: Step, index: int, name: str, relations: Sequence[str], side: str) -> Claim:
        anchor, found = self._only(step.inputs[0]), self.question.found[index][0]
        subject, target = (found, anchor) if side == "s" else (anchor, found)
        signs = {one: YES if self.graph.related(subject, one, target) else NO for one in relations}
        facts = [self._exists(self._related(step, name, one, side), index, sign) for one, sign in signs.items()]
        return facts, [(fact,) for fact in facts]

    def _compared(self, step: Step, comparative: str) -> Claim:
        """The chosen object of two, and its name unless its reference states that."""
        kind, more, _ = COMPARATIVES[comparative]
        values = {key: self.graph.objects[key].values[kind] for key in map(self._only, step.inputs)}
        winner = next(key for key, of_one in values.items() if of_one == (more,))
        name = self.question.answer
        compared = Fact("compare", tuple(sorted(values)), (kind, *(values[key] for key in sorted(values))))
        facts = (compared, Fact("name", (winner,), (name,)))
        own = self.ontology.kind(name)
        called = any(key == winner and described.kind == own for described, key in self.references)
        clear = called and not any(own in noun.parents for noun in self.ontology.nouns.values())
        return list(facts), [facts[:1] if clear else facts]

    def all_facts(self) -> Iterator[Fact]:
        """The facts that it states and presupposes; also about an object that only its answer mentions."""
        yield from self.facts
        for described, object_id in self.references:
            yield Fact("only", (object_id,), (described,))
            yield from described.facts(object_id)
        existing = [one for one in self.witnesses if Fact("some", (), (one,)) in self.facts]
        often = Counter(chain.from_iterable(self.witnesses[one] for one in existing))
        often.update(object_id for _, object_id in self.references)
        for described in existing:
            witness, *others = self.witnesses[described]
            if not others and often[witness] == 1:
                yield from described.facts(witness)

    def ways(self, only: Sequence[tuple[Description, str]]) -> list[Way]:
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
                if fact in given:
                    continue
                options.append([(one,) for one in self._same(fact)])
                if fact.which == "some":
                    options[-1] += (tuple(fact.what[0].facts(one)) for one in self.witnesses.get(fact.what[0], ()))
                elif fact.which == "none":
                    options[-1] += self._excluded(fact.what[0], only)
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

    def _excluded(self, described: Description, only: Sequence[tuple[Description, str]]) -> Iterator[Way]:
        """Sets of facts by which no object fits: the only object of a wider description does not fit."""
        for wider, object_id in only:
            if not _includes(self.ontology, wider, described):
                continue
            is_own = (wider, object_id) in self.references
            seen = () if is_own else (Fact("only", (object_id,), (wider,)),)
            lacking = sorted(described.conditions - wider.conditions)
            fails = [_about(condition, IT, object_id, opposite=True) for condition in lacking]
            if described.kind != wider.kind:
                fails.append(Fact("kind", (object_id,), (described.kind,), NO))
            for failed in fails:
                yield from ((*seen, fact) for fact in self._same(failed))

    def _same(self, fact: Fact) -> list[Fact]:
        """A fact about an object and its equivalents: if there is no red apple, the apple is not red."""
        same = [fact]
        for (kind, conditions), object_id in self.references:
            if object_id not in fact.objects:
                continue
            match fact.which, fact.sign, fact.what:
                case "value", _, _:
                    conditions |= {_about(fact, object_id, IT, opposite=True)}
                case "relation", "no", (relation,):
                    subject, target = _about(fact, object_id, IT).objects
                    conditions |= {_relation(self.ontology, subject, relation, target)}
                case "kind", "no", (other,) if _is_kind(self.ontology, other, kind):
                    kind = other
                case _:
                    continue
            same.append(Fact("none", (), (Description(kind, conditions),)))
        return same
