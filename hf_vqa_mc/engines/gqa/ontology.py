"""The vocabulary of scene graphs: what is a kind of what, which values exclude one another, how relations turn round.

Hudson and Manning 2019, Sect. 3.2. How an ontology is read from files or made is in ``ontology_files.py``.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import permutations

from hf_vqa_mc.engines.vocabulary import vocabulary

ANYTHING = "_"  # The noun that every object is, as GQA's programs spell it.


@dataclass(frozen=True, slots=True)
class Noun:
    """A name that objects may have; singular and plural are two names of one kind."""

    name: str  # as scene graphs have it, such as ``bananas``
    kind: str  # the singular, which all names of the kind share: ``banana``
    plural: bool = False  # it takes a plural verb: bananas, pants, glasses
    mass: bool = False  # it takes no article: water, grass
    parents: tuple[str, ...] = ()  # what it is a kind of, the nearest first and transitively whole: ("fruit", "food")
    singular: str = ""  # how one of it is called, "" where there is no such form (pants)
    plural_form: str = ""  # how several are called, "" where there is no such form (water)
    proper: bool = False  # it is a name of somebody or something, with a capital and no article
    vague: bool = False  # too amorphous to be asked about: thing, object, side, part


@dataclass(frozen=True, slots=True)
class Attribute:
    """A value that objects may have."""

    value: str  # as scene graphs have it, such as ``wood``
    types: tuple[str, ...]  # what it is a value of, the main one first; () where nothing can be asked about it
    adjective: str  # before a noun and after "is": wooden, red, made of nothing else than this word
    similar: frozenset[str] = frozenset()  # values that might mean the same: no decoys
    verb: bool = False  # it is a present participle that stands behind its noun: a man that is waiting
    before_only: bool = False  # it is a noun that stands before another, never after "is": a tennis racket
    after_only: bool = False  # it stands after "is", never before a noun: a lamp that is on; with all verbs


@dataclass(frozen=True, slots=True)
class RelationName:
    """A relation from a subject to an object: the girl (subject) is eating (relation) the cake (object)."""

    name: str  # as it stands after "is": to the left of, wearing, on top of
    inverse: str = ""  # the relation back, where it follows: to the right of for to the left of; "" where none does
    excludes: frozenset[str] = frozenset()  # relations that cannot hold as well between the same two
    spatial: bool = False  # it tells where the subject is
    one_subject: bool = False  # an object has only one such subject: what is worn is worn by one
    many: bool = False
    """a subject usually has several such objects, or an object several such subjects, annotated or not (on, near), so
    that asking which one is not safe"""
    related: frozenset[str] = frozenset()  # relations that might mean the same (on, on top of): no decoys


@dataclass(frozen=True)
class Ontology:
    """All nouns, attributes and relations that normalised scene graphs may hold."""

    nouns: Mapping[str, Noun]
    attributes: Mapping[str, Attribute]
    relations: Mapping[str, RelationName]
    exclusive: frozenset[str] = frozenset()
    """types of which an object has one value as a rule (color, size): another value then speaks against one"""
    name: str = ""  # where it comes from, for statistics
    similar_kinds: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """kinds that might be used for the same thing (cup, mug): none is a decoy, or a "no", for the other"""
    name_aliases: Mapping[str, str] = field(default_factory=dict)  # other names: "sea gull" for seagull
    value_aliases: Mapping[str, str] = field(default_factory=dict)  # other words: grey for gray, wooden for wood

    @cached_property
    def values(self) -> dict[str, tuple[str, ...]]:
        """The values of each attribute type, in the ontology's order."""
        found: dict[str, list[str]] = {}
        for attribute in self.attributes.values():
            for kind in attribute.types:
                found.setdefault(kind, []).append(attribute.value)
        return {kind: tuple(values) for kind, values in found.items()}

    @cached_property
    def _kinds(self) -> dict[str, str]:
        return {name: noun.kind for name, noun in self.nouns.items()}

    @cached_property
    def _above(self) -> dict[str, frozenset[str]]:
        return {name: frozenset((noun.kind, *noun.parents)) for name, noun in self.nouns.items()}

    def isa(self, name: str, category: str) -> bool:
        """Whether what is called ``name`` certainly is a ``category``: apples are fruit, and of an apple's kind."""
        above = self._above[name]
        return self._kinds.get(category, category) in above or category in (ANYTHING, self._kinds[name])

    def may_be(self, name: str, category: str) -> bool:
        """Whether what is called ``name`` could be a ``category``: a person may be a man, a couch a sofa."""
        if self.isa(name, category):
            return True
        noun, other = self.nouns[name], self.nouns.get(category)
        kind = other.kind if other else category
        return (
            (other is not None and noun.kind in other.parents)
            or noun.vague
            or kind in self.similar_kinds.get(noun.kind, ())
        )

    def mixed_up(self, name: str, other: str) -> bool:
        """Whether what is called by one of two names could be called by the other."""
        return self.may_be(name, other) or self.may_be(other, name)

    def alike(self, value: str, other: str) -> bool:
        """Whether two values might be used for the same thing."""
        one, two = self.attributes.get(value), self.attributes.get(other)
        return (
            value == other
            or (one is not None and other in one.similar)
            or (two is not None and value in two.similar)
            or (value in self.nouns and other in self.nouns and self.mixed_up(value, other))
        )


@dataclass(frozen=True)
class Kinds:
    """The schema of ``kinds.yaml``, which describes its keys."""

    alike: tuple[tuple[str, ...], ...]
    alike_one: dict[str, frozenset[str]]
    vague: frozenset[str]
    ambiguous: frozenset[str]
    no_head: frozenset[str]
    male: frozenset[str]
    female: frozenset[str]
    adults: frozenset[str]
    babies: frozenset[str]
    sports: tuple[frozenset[str], ...]
    groups_of_people: frozenset[str]


def both_ways(groups: Iterable[Iterable[str]], one_to_many: Mapping[str, Iterable[str]]) -> dict[str, frozenset[str]]:
    """Name to all that it is alike: any two of a group, and a name with each of its list."""
    near: dict[str, set[str]] = defaultdict(set)
    pairs = [pair for group in groups for pair in permutations(group, 2)]
    pairs += [(one, other) for one, others in one_to_many.items() for other in others]
    for one, other in pairs:
        near[one].add(other)
        near[other].add(one)
    return {name: frozenset(others) for name, others in near.items()}


KINDS = vocabulary("gqa/kinds", Kinds)
KINDS_ALIKE: Mapping[str, frozenset[str]] = both_ways(KINDS.alike, KINDS.alike_one)
"""Kind to those that might be meant by the same thing; both ways."""


def heads_alike(nouns: Mapping[str, Noun], aliases: Mapping[str, str]) -> dict[str, frozenset[str]]:
    """For kinds of several words, by whatever name, the kind that the last word is: a street lamp may be a lamp."""
    near: dict[str, set[str]] = {}
    for name, meant in [*((noun.name, noun.name) for noun in nouns.values()), *aliases.items()]:
        head = nouns.get(name.split()[-1]) if " " in name and name not in KINDS.no_head else None
        one = nouns[meant].kind if meant in nouns else ""
        if head is not None and one and head.kind != one and not head.vague:
            near.setdefault(one, set()).add(head.kind)
            near.setdefault(head.kind, set()).add(one)
    return {kind: frozenset(others) for kind, others in near.items()}


def people_alike(nouns: Iterable[Noun]) -> dict[str, frozenset[str]]:
    """For each kind of person those that the same person might be called: a skier may be a man, a man no woman."""
    kinds = {noun.kind for noun in nouns if "person" in noun.parents or noun.kind in KINDS.groups_of_people}
    return {
        kind: frozenset(other for other in kinds if other != kind and not _two_people(kind, other))
        for kind in sorted(kinds)
    }


def _two_people(one: str, other: str) -> bool:
    pair = {one, other}
    if pair & KINDS.groups_of_people:
        return False
    sports = [{at for at, names in enumerate(KINDS.sports) if name in names} for name in (one, other)]
    return (
        bool(pair & KINDS.male and pair & KINDS.female)
        or bool(pair & KINDS.babies and pair & KINDS.adults)
        or bool(pair & KINDS.babies and any(sports))
        or bool(all(sports) and sports[0] != sports[1])
    )
