"""Kinds of things that might be called by one another's names, by our own lists, ``data/kinds.yaml``."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import permutations

from hf_vqa_mc.engines.gqa.ontology import Noun
from hf_vqa_mc.engines.vocabulary import vocabulary


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
    """Whether nobody is called both."""
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
