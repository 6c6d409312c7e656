"""What was seen with what in all scene graphs: which things, values and relations are usual where."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Self

from hf_vqa_mc.engines.gqa.ontology import ANYTHING, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, VERTICAL, SceneGraph, SceneObject


@dataclass
class Observed:
    """Counts over graphs, in images where nothing else is said."""

    ontology: Ontology
    images: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    """kind to images with one"""
    together: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """kind to the kinds in the same image"""
    names: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """kind to the names that it had, in objects"""
    values: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """(kind or category, type) to values, in objects"""
    of_type: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """type to values, in objects"""
    objects_of: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """(kind or category of the subject, relation) to kinds of objects, in relations"""
    subjects_of: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """(kind or category of the object, relation) to kinds of subjects, in relations"""
    relations: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """(kind or category of the subject, kind or category of the object) to relations"""
    scenes: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """weather, location, place to values, in images"""
    _usual: dict[str, str] = field(default_factory=dict, repr=False, compare=False)
    """kind to its commonest name, as far as asked for since the last graph"""

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
                self.of_type[kind].update(values)
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
        name = self._usual.get(kind)
        if name is None:
            counts = self.names[kind]
            name = self._usual[kind] = min(counts, key=lambda name: (-counts[name], name))
        return name

    def _kind(self, thing: SceneObject) -> str:
        return self.ontology.nouns[thing.name].kind

    def _kinds_of(self, name: str) -> tuple[str, ...]:
        """A name's kind, then what that is a kind of."""
        noun = self.ontology.nouns[name]
        return (noun.kind, *noun.parents)
