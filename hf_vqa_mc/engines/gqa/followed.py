"""From facts to the facts that follow, among those that are asked for, and to the questions that they settle."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from hf_vqa_mc.engines.gqa.described import DescribedIndex
from hf_vqa_mc.engines.gqa.executor import NO, YES
from hf_vqa_mc.engines.gqa.facts import Described, Fact, is_kind
from hf_vqa_mc.engines.gqa.ontology import Ontology


class Followed:
    """What questions about one image need, by fact.

    First ``need`` for every way to settle every question, then ``complete``, then ``settled``.
    """

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._wanted: dict[Fact, int] = {}
        self._settles: dict[int, list[int]] = defaultdict(list)
        """questions that one fact settles"""
        self._partly: dict[int, list[tuple[int, frozenset[int]]]] = defaultdict(list)
        """questions that one fact settles together with others, and these"""
        self._about: dict[object, list[tuple[Fact, int]]] = defaultdict(list)
        self._some, self._none = DescribedIndex(ontology), DescribedIndex(ontology)
        self._memory: dict[Fact, tuple[int, ...]] = {}

    def need(self, question: int, facts: tuple[Fact, ...]) -> None:
        """All of these facts settle a question; best the one first that fewest questions need."""
        first, *others = (self._wanted.setdefault(fact, len(self._wanted)) for fact in facts)
        if others:
            self._partly[first].append((question, frozenset(others)))
        else:
            self._settles[first].append(question)

    def complete(self) -> None:
        """All needs are told."""
        for fact, number in self._wanted.items():
            match fact:
                case "some", Described() as described:
                    self._some.add(described, "")
                case "none", Described() as described:
                    self._none.add(described, "")
                case "relation", subject, _, target, _:
                    self._about["relation", subject, target].append((fact, number))
                case "value", object_id, kind, *_:
                    self._about["value", object_id, kind].append((fact, number))
                case "kind", object_id, *_:
                    self._about["kind", object_id].append((fact, number))
                case "scene", kind, *_:
                    self._about["scene", kind].append((fact, number))

    def settled(self, facts: Iterable[Fact]) -> set[int]:
        """The questions that facts settle."""
        known: set[int] = set()
        for fact in facts:
            if fact not in self._memory:
                self._memory[fact] = tuple(self._following(fact))
            known.update(self._memory[fact])
        found: set[int] = set()
        for number in known:
            found.update(self._settles.get(number, ()))
            for question, others in self._partly.get(number, ()):
                if others <= known:
                    found.add(question)
        return found

    def _following(self, fact: Fact) -> Iterator[int]:
        """The wanted facts that follow from one fact, by number."""
        if fact in self._wanted:
            yield self._wanted[fact]
        match fact:
            case "some", Described() as described:
                yield from (self._wanted["some", wider] for wider, _ in self._some.wider(described))
            case "none", Described() as described:
                yield from (self._wanted["none", narrower] for narrower, _ in self._none.narrower(described))
            case "relation", str(subject), str(relation), str(target), sign if sign == YES:
                yield from self._from_relation(subject, relation, target)
                if inverse := self._ontology.relations[relation].inverse:
                    yield from self._from_relation(target, inverse, subject)
            case _:
                yield from self._from_values(fact)

    def _from_values(self, fact: Fact) -> Iterator[int]:
        """What follows from a value or a name."""
        match fact:
            case "exact", object_id, str(kind), str(value):
                for wanted, number in self._about.get(("value", object_id, kind), ()):
                    if self._says_of_value(kind, value, str(wanted[3])) == wanted[4]:
                        yield number
            case "scene exact", kind, str(value):
                for wanted, number in self._about.get(("scene", kind), ()):
                    if self._says_of_scene(value, str(wanted[2])) == wanted[3]:
                        yield number
            case (("name" | "kind"), object_id, *_):
                for wanted, number in self._about.get(("kind", object_id), ()):
                    if self._says_of_kind(fact, str(wanted[2])) == wanted[3]:
                        yield number

    def _says_of_value(self, kind: str, value: str, other: str) -> str | None:
        """Whether an object with a value of a type, and no other of the type, has another."""
        if value == other:
            return YES
        return NO if kind in self._ontology.exclusive and not self._ontology.alike(other, value) else None

    def _says_of_scene(self, value: str, other: str) -> str | None:
        """Whether the image as a whole, of which a value is told, has another."""
        return YES if value == other else None if self._ontology.alike(other, value) else NO

    def _says_of_kind(self, fact: Fact, kind: str) -> str | None:
        """Whether an object whose name or kind is told, or a kind that it is not, is of a kind."""
        told = str(fact[2])
        if fact[0] == "name":
            return YES if self._ontology.isa(told, kind) else None if self._ontology.may_be(told, kind) else NO
        if fact[3] == YES:
            return YES if is_kind(self._ontology, told, kind) else None
        return NO if is_kind(self._ontology, kind, told) else None

    def _from_relation(self, subject: str, relation: str, target: str) -> Iterator[int]:
        for wanted, number in self._about.get(("relation", subject, target), ()):
            other, sign = str(wanted[2]), wanted[4]
            if sign == YES and other == relation:
                yield number
            elif sign == NO and relation in self._ontology.relations[other].excludes:
                yield number
