"""Finds descriptions that are wider or narrower than another: all apples are fruit, all red apples are apples."""

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

from hf_vqa_mc.engines.gqa.facts import Condition, Described, is_kind
from hf_vqa_mc.engines.gqa.ontology import Ontology


class DescribedIndex:
    """Descriptions, each with an object or another text that belongs to it."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._by_conditions: dict[frozenset[Condition], dict[tuple[str, str], None]] = defaultdict(dict)
        self._by_fewer: dict[frozenset[Condition], dict[tuple[Described, str], None]] | None = None

    def add(self, described: Described, belonging: str) -> None:
        """Put in a description."""
        self._by_conditions[described.conditions][described.kind, belonging] = None
        self._by_fewer = None

    def wider(self, described: Described) -> Iterable[tuple[Described, str]]:
        """Those that hold on all that is described, with the description itself."""
        for conditions in subsets(described.conditions):
            for kind, belonging in self._by_conditions.get(conditions, ()):
                if is_kind(self._ontology, described.kind, kind):
                    yield Described(kind, conditions), belonging

    def narrower(self, described: Described) -> Iterable[tuple[Described, str]]:
        """Those all of whose objects are described, with the description itself."""
        if self._by_fewer is None:
            self._by_fewer = defaultdict(dict)
            for conditions, kinds in self._by_conditions.items():
                for kind, belonging in kinds:
                    for fewer in subsets(conditions):
                        self._by_fewer[fewer][Described(kind, conditions), belonging] = None
        for one, belonging in self._by_fewer.get(described.conditions, ()):
            if is_kind(self._ontology, one.kind, described.kind):
                yield one, belonging


def subsets(conditions: frozenset[Condition]) -> Iterable[frozenset[Condition]]:
    """All sets of some of the conditions, with all and none."""
    if len(conditions) < 2:
        yield conditions
        if conditions:
            yield frozenset()
        return
    listed = list(conditions)
    for size in range(len(listed) + 1):
        for some in combinations(listed, size):
            yield frozenset(some)
