"""What was seen with what in all scene graphs, and what may be in an image though nobody named it (Sect. 3.2).

The paper confirms absence with object detectors; without any, annotated objects speak for what is not annotated: a
wheel for a car, a man for a shirt, and anything for walls and skies, which few annotators name.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Self

from hf_vqa_mc.engines.gqa.ontology import ANYTHING, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, VERTICAL, SceneGraph, SceneObject
from hf_vqa_mc.engines.vocabulary import vocabulary


@dataclass(frozen=True)
class Untold:
    """The schema of ``untold.yaml``, which describes its keys."""

    category_suggests: dict[str, tuple[str, ...]]
    kind_suggests: dict[str, tuple[str, ...]]
    has: dict[str, tuple[str, ...]]
    any_of: dict[str, tuple[str, ...]]
    rarely_annotated: frozenset[str]
    wide_words: frozenset[str]
    parts: frozenset[str]


UNTOLD = vocabulary("gqa/untold", Untold)


class Told(NamedTuple):
    """What an image's objects tell of kinds."""

    kinds: frozenset[str]  # those of the objects
    might_be: frozenset[str]  # what the objects are, with what is above, and what they might be called
    untold: frozenset[str]  # kinds and categories of what may be there though nobody named it
    context: Mapping[str, float] = MappingProxyType({})  # how likely kinds are in such an image, the likeliest first


def told_by(graph: SceneGraph, ontology: Ontology) -> Told:
    """What an image's objects tell; ``context`` is left empty."""
    kinds = {ontology.nouns[thing.name].kind for thing in graph.objects.values()} | graph.unclear
    might_be, untold = set(kinds), set[str]()
    for kind in kinds:
        parents = ontology.nouns[kind].parents
        might_be.update(parents, ontology.similar_kinds.get(kind, ()))
        untold.update(UNTOLD.kind_suggests.get(kind, ()), UNTOLD.any_of.get(kind, ()))
        for above in (kind, *parents):
            untold.update(UNTOLD.category_suggests.get(above, ()), UNTOLD.has.get(above, ()))
    return Told(frozenset(kinds), frozenset(might_be), frozenset(untold))


def _counters() -> defaultdict[Any, Counter[str]]:
    return defaultdict(Counter)


@dataclass
class Observed:
    """Counts over graphs: of images, objects (names, values) or relations.

    The keys of ``values`` are (kind or category, type), of ``objects_of`` and ``subjects_of`` (kind or category of the
    other end, relation), of ``relations`` kinds or categories of subject and object.
    """

    ontology: Ontology
    images: int = 0
    kinds: Counter[str] = field(default_factory=Counter)  # kind to images with one
    together: dict[str, Counter[str]] = field(default_factory=_counters)  # kind to the kinds in the same image
    names: dict[str, Counter[str]] = field(default_factory=_counters)  # kind to the names that it had, in objects
    values: dict[tuple[str, str], Counter[str]] = field(default_factory=_counters)
    objects_of: dict[tuple[str, str], Counter[str]] = field(default_factory=_counters)
    subjects_of: dict[tuple[str, str], Counter[str]] = field(default_factory=_counters)
    relations: dict[tuple[str, str], Counter[str]] = field(default_factory=_counters)
    scenes: dict[str, Counter[str]] = field(default_factory=_counters)  # weather, location, place to values, in images
    _usual: dict[str, str] = field(default_factory=dict)  # kind to its commonest name, until the next graph

    @classmethod
    def learn(cls, graphs: Iterable[SceneGraph], ontology: Ontology) -> Self:
        """The counts of all graphs, in one pass; memory grows with the vocabulary, not with the graphs."""
        learned = cls(ontology)
        for graph in graphs:
            learned.see(graph)
        return learned

    def see(self, graph: SceneGraph) -> None:
        """Takes one more graph into the counts."""
        self._usual.clear()
        self.images += 1
        kinds = sorted({self._kind(thing) for thing in graph.objects.values()})
        self.kinds.update(kinds)
        for kind in kinds:
            self.together[kind].update(other for other in kinds if other != kind)
        for scene_kind, value in graph.scene.items():
            self.scenes[scene_kind][value] += 1
        for thing in graph.objects.values():
            self.names[self._kind(thing)][thing.name] += 1
            self._see_object(graph, thing)

    def _see_object(self, graph: SceneGraph, thing: SceneObject) -> None:
        own = self._kinds_of(thing.name)
        for kind, values in thing.values.items():
            if kind and kind not in (HORIZONTAL, VERTICAL):
                for name in own:
                    self.values[name, kind].update(values)
        for relation, target in thing.relations:
            if relation in (LEFT, RIGHT):
                continue
            others = self._kinds_of(graph.objects[target].name)
            for name in (*own, ANYTHING):
                self.objects_of[name, relation][others[0]] += 1
            for name in own:
                for other in others:
                    self.relations[name, other][relation] += 1
            for other in (*others, ANYTHING):
                self.subjects_of[other, relation][own[0]] += 1

    def usual_name(self, kind: str) -> str:
        """The commonest name of a kind that was seen."""
        if kind not in self._usual:
            counts = self.names[kind]
            self._usual[kind] = min(counts, key=lambda name: (-counts[name], name))
        return self._usual[kind]

    def _kind(self, thing: SceneObject) -> str:
        return self.ontology.nouns[thing.name].kind

    def _kinds_of(self, name: str) -> tuple[str, ...]:
        noun = self.ontology.nouns[name]
        return (noun.kind, *noun.parents)
