"""Decoys for questions whose answer is no, and for choices (Hudson and Manning 2019, Sect. 3.3).

A decoy is plausible where it would stand, by what was seen in all graphs, and certainly wrong: nothing that might be
called what is there, by ``Ontology.alike`` and ``Ontology.may_be``.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from hf_vqa_mc.engines.gqa.observed import UNTOLD, Observed, Told, told_by
from hf_vqa_mc.engines.gqa.ontology import ANYTHING, Noun
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, SCENE, VERTICAL, SceneGraph
from hf_vqa_mc.engines.rng import SeededRng

LIKELIEST = 12  # Out of so many of the likeliest a decoy is drawn, each as likely as its weight says.
_SMOOTHING = 2.0  # Added to the images with a kind before a share of them is taken, against what was seen once.

_PLAIN = frozenset({"under", "below", "above", "behind", "in front of", "on top of", "on"})
"""Relations that are plausible between any two things."""
_POSITIONS = {HORIZONTAL: ("left", "right"), VERTICAL: ("top", "bottom")}


@dataclass(eq=False)
class Distractors(Observed):
    """Decoys by what was seen; what is worked out for one graph is kept until the next is asked about."""

    _last: tuple[SceneGraph, Told] | None = field(default=None, repr=False)
    _absent: dict[str, bool] = field(default_factory=dict, repr=False)  # by kind, of the last graph
    _likeliest: dict[tuple[str, str], dict[str, float]] = field(default_factory=dict, repr=False)
    """(kind nearby, category)"""
    _siblings_of: dict[tuple[str, str], tuple[tuple[str, float], ...]] = field(default_factory=dict, repr=False)
    _orders: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False)  # kinds in the same image
    _excluded: dict[str, list[str]] = field(default_factory=dict, repr=False)

    def see(self, graph: SceneGraph) -> None:
        """Takes one more graph into the counts; what was worked out from them is forgotten."""
        super().see(graph)
        self._last = None
        self._siblings_of.clear()
        self._orders.clear()

    def attribute(self, graph: SceneGraph, object_id: str, kind: str, chance: SeededRng) -> str | None:
        """A value of a type that an object does not have and nobody would say it has, but others of its kind do.

        ``object_id`` is "scene" for weather, location and place. None where there is none: no exclusive type, no value
        known of the object, nothing seen that would do.
        """
        if object_id == SCENE:
            there = graph.scene.get(kind)
            values: tuple[str, ...] = (there,) if there else ()
            seen = [self.scenes[kind]] if kind in self.scenes else []
        else:
            thing = graph.objects[object_id]
            values = thing.values.get(kind, ())
            own = [name for name in self._kinds_of(thing.name) if (name, kind) in self.values]
            seen = [self.values[name, kind] for name in own]
            if kind in _POSITIONS:
                seen = [Counter(dict.fromkeys(_POSITIONS[kind], 1))]
        if not values or kind not in self.ontology.exclusive:
            return None
        rivals = self.ontology.values.get(kind, ())
        for counts in seen:
            wanted = {
                value: float(count)
                for value, count in counts.items()
                if value in rivals and not any(self.ontology.alike(value, other) for other in values)
            }
            if wanted:
                return _drawn(wanted, chance)
        return None

    def absent(
        self, graph: SceneGraph, chance: SeededRng, near: str | None = None, category: str | None = None
    ) -> str | None:
        """The name of something that certainly is not in the image but often where such things are.

        ``near``: an object whose company counts alone; ``category``: what it must be a kind of.
        """
        kind = "" if near is None else self._kind(graph.objects[near])
        told, asked = self._told(graph), (kind, category or "")
        wanted = self._likeliest.get(asked)
        if wanted is None:
            wanted = self._absent_from(graph, self._beside(kind) if kind else told.context.items(), category)
            self._likeliest[asked] = wanted
        return _drawn(wanted, chance) if wanted else None

    def related(self, graph: SceneGraph, object_id: str, relation: str, side: str, chance: SeededRng) -> str | None:
        """A name that would suit the other end of a relation, of something that certainly is not in the image.

        ``side``: "s" for a subject of the relation to the object, "o" for an object of it, as in programs.
        """
        counts = self.subjects_of if side == "s" else self.objects_of
        context = self._told(graph).context
        for name in (*self._kinds_of(graph.objects[object_id].name), ANYTHING):
            seen = counts.get((name, relation))
            if seen:
                weights = [(kind, count * (0.005 + context.get(kind, 0.0))) for kind, count in seen.items()]
                weights.sort(key=lambda weighed: (-weighed[1], weighed[0]))
                wanted = self._absent_from(graph, weights)
                if wanted:
                    return _drawn(wanted, chance)
        return None

    def sibling(self, name: str, category: str, chance: SeededRng, graph: SceneGraph | None = None) -> str | None:
        """Another kind of a category, in the same number and not in the graph, which nobody would take for it."""
        weights: dict[str, float] = {}
        for other, weight in self._siblings(name, category):
            if graph is None or self.certainly_absent(graph, other):
                weights[other] = weight
                if len(weights) == LIKELIEST:
                    break
        return _drawn(weights, chance) if weights else None

    def _siblings(self, name: str, category: str) -> tuple[tuple[str, float], ...]:
        if (name, category) in self._siblings_of:
            return self._siblings_of[name, category]
        nouns, isa = self.ontology.nouns, self.ontology.isa
        noun = nouns[name]
        found: list[tuple[str, float]] = []
        for kind, count in self.kinds.items():
            if kind == category or not isa(self.usual_name(kind), category):
                continue
            other = self._named(kind, plural=noun.plural, mass=noun.mass)
            if other is not None and not self.ontology.mixed_up(name, other):
                found.append((other, count * (1.0 + len(set(noun.parents) & set(nouns[other].parents)))))
        found.sort(key=lambda weighed: (-weighed[1], weighed[0]))
        return self._siblings_of.setdefault((name, category), tuple(found))

    def relation(self, graph: SceneGraph, subject: str, relation: str, target: str, chance: SeededRng) -> str | None:
        """Another relation that might be between such things, but certainly is not between these two."""
        relations = self.ontology.relations
        if relation in (LEFT, RIGHT):
            return RIGHT if relation == LEFT else LEFT
        told = {name for name, other in graph.objects[subject].relations if other == target}
        barred = {relation, *relations[relation].related, *told}
        if relation not in self._excluded:
            own = relations[relation].excludes
            self._excluded[relation] = [
                name for name in relations if name in own or relation in relations[name].excludes
            ]
        excluded = [name for name in self._excluded[relation] if name not in barred]
        ones, others = self._kinds_of(graph.objects[subject].name), self._kinds_of(graph.objects[target].name)
        for one in ones:
            for other in others:
                seen = self.relations.get((one, other), Counter())
                weights = {name: float(seen[name]) for name in excluded if seen[name]}
                if weights:
                    return _drawn(weights, chance)
        usual = {
            name: 1.0
            for name in excluded
            if name in _PLAIN
            or (
                any((one, name) in self.objects_of for one in ones)
                and any((o, name) in self.subjects_of for o in others)
            )
        }
        return _drawn(usual, chance) if usual else None

    def _in_context(self, kinds: list[str]) -> dict[str, float]:
        weights: dict[str, float] = defaultdict(float)
        for kind in kinds:
            images = self.kinds[kind] + _SMOOTHING
            for other, count in self.together.get(kind, Counter()).items():
                weights[other] += count / images / len(kinds)
        return weights

    def _beside(self, kind: str) -> Iterator[tuple[str, float]]:
        counts, total = self.together.get(kind, Counter()), self.kinds[kind] + _SMOOTHING
        if kind not in self._orders:
            self._orders[kind] = tuple(sorted(counts, key=lambda other: (-counts[other], other)))
        return ((other, counts[other] / total) for other in self._orders[kind])

    def _absent_from(
        self, graph: SceneGraph, weighed: Iterable[tuple[str, float]], category: str | None = None
    ) -> dict[str, float]:
        """The likeliest kinds, which come first, that certainly are not in the image."""
        wanted: dict[str, float] = {}
        for kind, weight in weighed:
            name = self.usual_name(kind)
            if category and (not self.ontology.isa(name, category) or kind == category):
                continue
            if self.certainly_absent(graph, name):
                wanted[name] = weight
                if len(wanted) == LIKELIEST:
                    break
        return wanted

    def certainly_absent(self, graph: SceneGraph, name: str) -> bool:
        """Whether nothing in the image might be called so, and nothing that is there tells of one."""
        there = self._told(graph)
        kind = self.ontology.nouns[name].kind
        if kind not in self._absent:
            self._absent[kind] = self._is_absent(self.ontology.nouns[name], there)
        return self._absent[kind]

    def _is_absent(self, noun: Noun, there: Told) -> bool:
        if (
            noun.vague
            or noun.kind in UNTOLD.rarely_annotated
            or noun.kind in UNTOLD.wide_words
            or not UNTOLD.parts.isdisjoint(noun.parents)
        ):
            return False
        own = {noun.kind, *noun.parents}
        return (
            noun.kind not in there.might_be
            and own.isdisjoint(there.kinds)
            and own.isdisjoint(there.untold)
            and there.kinds.isdisjoint(self.ontology.similar_kinds.get(noun.kind, ()))
        )

    def _told(self, graph: SceneGraph) -> Told:
        if self._last is None or self._last[0] is not graph:
            told = told_by(graph, self.ontology)
            context = self._in_context(sorted({self._kind(thing) for thing in graph.objects.values()}))
            likeliest = sorted(context.items(), key=lambda weighed: (-weighed[1], weighed[0]))
            self._last = (graph, told._replace(context=dict(likeliest)))
            self._absent.clear()
            self._likeliest.clear()
        return self._last[1]

    def _named(self, kind: str, *, plural: bool, mass: bool) -> str | None:
        usual = self.ontology.nouns[self.usual_name(kind)]
        if usual.plural == plural and (usual.mass == mass or plural):
            return usual.name
        if usual.mass or mass:
            return None
        other = usual.plural_form if plural else usual.singular
        return other if other and other in self.ontology.nouns else None


def _drawn(weights: Mapping[str, float], chance: SeededRng) -> str:
    names = sorted(weights, key=lambda name: (-weights[name], name))[:LIKELIEST]
    parts = [max(1, round(1_000 * weights[name] / weights[names[0]])) for name in names]
    at = chance.below(sum(parts))
    for name, part in zip(names, parts, strict=True):
        if at < part:
            return name
        at -= part
    return names[-1]
