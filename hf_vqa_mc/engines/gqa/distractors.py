"""Decoys for questions whose answer is no, and for choices (Hudson and Manning 2019, Sect. 3.3).

A decoy is plausible, by what occurs together in all graphs, and certainly wrong: no name for anything in the image, by
``Ontology.alike`` and ``Ontology.may_be``. The paper confirms absence with object detectors; without any, annotated
objects suggest what is not annotated (Sect. 3.2): a wheel suggests a car, a shirt a person.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from itertools import accumulate, islice, product
from typing import NamedTuple

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.ontology import ANYTHING, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, SCENE, VERTICAL, SceneGraph
from hf_vqa_mc.engines.vocabulary import Vocabulary

LIKELIEST = 12  # A decoy is drawn from this many of the most likely ones, each with its weight.
_SMOOTHING = 2.0  # added to the number of images with a kind, which divides co-occurrences

_PLAIN = frozenset({"under", "below", "above", "behind", "in front of", "on top of", "on"})
"""Relations that are plausible between any two objects."""
_POSITIONS = {HORIZONTAL: ("left", "right"), VERTICAL: ("top", "bottom")}

UNANNOTATED = Vocabulary("gqa/unannotated")
_CATEGORY_SUGGESTS, _KIND_SUGGESTS, _HAS, _ANY_OF = (
    UNANNOTATED.read(key, dict[str, frozenset[str]]) for key in ("category suggests", "kind suggests", "has", "any of")
)
_NEVER_ABSENT = UNANNOTATED["rarely annotated"] | UNANNOTATED["wide words"]


class _Image(NamedTuple):
    """The objects of one image, and values computed for it."""

    kinds: set[str]  # of its objects
    might_be: set[str]  # these, the kinds above, and those that the objects might be called
    suggested: set[str]  # kinds and categories that may be there unannotated
    context: Mapping[str, float]  # how likely kinds are in such an image
    absent: dict[str, bool]  # by kind, as far as known


class Distractors:
    """Decoys by counts over all graphs; what is computed for one graph is kept until the next one is passed."""

    def __init__(self, graphs: Iterable[SceneGraph], ontology: Ontology) -> None:
        """Count in one pass; memory grows with the vocabulary, not with the graphs."""
        self.ontology = ontology
        self._kinds: Counter[str] = Counter()  # kind to images that show it
        self._counts: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        """- ("together", kind): kinds in the same image; ("names", kind): its names, in objects
        - ("values", kind or category, type); ("scenes", type): weather, location, place, in images
        - ("objects", subject, relation), ("subjects", object, relation): kinds, by kind or category at the other end
        - ("relations", subject, object): by their kinds or categories
        """
        self._image, self._siblings = lru_cache(maxsize=1)(self._examined), cache(self._all_siblings)
        for graph in graphs:
            self._count(graph)
        self._usual_name = {kind: _sorted(self._counts["names", kind])[0] for kind in self._kinds}
        self._likely_near = cache(lambda kind: _sorted(self._counts.get(("together", kind), {})))

    def _count(self, graph: SceneGraph) -> None:
        kinds = sorted({self.ontology.kind(thing.name) for thing in graph.objects.values()})
        self._kinds.update(kinds)
        for kind in kinds:
            self._counts["together", kind].update(other for other in kinds if other != kind)
        for scene_kind, value in graph.scene.items():
            self._counts["scenes", scene_kind][value] += 1
        for thing in graph.objects.values():
            own = self.ontology.above(thing.name)
            self._counts["names", own[0]][thing.name] += 1
            for kind, name in product(thing.values.keys() - _POSITIONS.keys() - {""}, own):
                self._counts["values", name, kind].update(thing.values[kind])
            for relation, target in thing.relations:
                if relation in (LEFT, RIGHT):
                    continue
                others = self.ontology.above(graph.objects[target].name)
                for name in (*own, ANYTHING):
                    self._counts["objects", name, relation][others[0]] += 1
                for one, other in product(own, others):
                    self._counts["relations", one, other][relation] += 1
                for other in (*others, ANYTHING):
                    self._counts["subjects", other, relation][own[0]] += 1

    def attribute(self, graph: SceneGraph, object_id: str, kind: str, rng: SeededRng) -> str | None:
        """A value of an exclusive type that an object or SCENE certainly lacks, but that others of its kind have."""
        if object_id == SCENE:
            values, seen = (*filter(None, [graph.scene.get(kind)]),), [self._counts.get(("scenes", kind), Counter())]
        else:
            thing = graph.objects[object_id]
            values, above = thing.values.get(kind, ()), self.ontology.above(thing.name)
            seen = [self._counts.get(("values", name, kind), Counter(_POSITIONS.get(kind, ()))) for name in above]
        if not values or kind not in self.ontology.exclusive:
            return None
        rivals, alike = self.ontology.values.get(kind, ()), self.ontology.alike
        lacking = ({one: float(n) for one, n in of.items() if one in rivals} for of in seen)
        unlike = ({one: of[one] for one in of if not any(alike(one, value) for value in values)} for of in lacking)
        return _drawn(next(filter(None, unlike), {}), rng)

    def absent(self, graph: SceneGraph, near: str, rng: SeededRng) -> str | None:
        """The name of an object that is certainly absent, but frequent in images with an object like ``near``."""
        kind = self.ontology.kind(graph.objects[near].name)
        counts, total = self._counts.get(("together", kind), Counter()), self._kinds[kind] + _SMOOTHING
        weights = ((self._usual_name[other], counts[other] / total) for other in self._likely_near(kind))
        return _drawn(self._absent_from(graph, weights), rng)

    def related(self, graph: SceneGraph, object_id: str, relation: str, side: str, rng: SeededRng) -> str | None:
        """A plausible name for the end ``side`` ("s": subject) of a relation, of what the image certainly lacks."""
        context = self._image(graph).context
        for name in (*self.ontology.above(graph.objects[object_id].name), ANYTHING):
            seen = self._counts.get(("subjects" if side == "s" else "objects", name, relation), Counter())
            weights = {kind: count * (0.005 + context.get(kind, 0.0)) for kind, count in seen.items()}
            names = ((self._usual_name[kind], weights[kind]) for kind in _sorted(weights))
            if wanted := self._absent_from(graph, names):
                return _drawn(wanted, rng)
        return None

    def sibling(self, name: str, category: str, rng: SeededRng, graph: SceneGraph) -> str | None:
        """Another kind of a category, in the same number, not in the graph and not confusable with the name."""
        return _drawn(self._absent_from(graph, self._siblings(name, category).items()), rng)

    def _all_siblings(self, name: str, category: str) -> dict[str, float]:
        nouns, noun = self.ontology.nouns, self.ontology.nouns[name]
        found: dict[str, float] = {}
        for kind, count in self._kinds.items():
            usual = nouns[self._usual_name[kind]]
            if kind == category or not self.ontology.isa(usual.name, category):
                continue
            other = usual.name
            if usual.plural != noun.plural or (usual.mass != noun.mass and not noun.plural):  # in the other number
                other = "" if usual.mass or noun.mass else usual.plural_form if noun.plural else usual.singular
            if other in nouns and not self.ontology.mixed_up(name, other):
                found[other] = count * (1.0 + len(set(noun.parents) & set(nouns[other].parents)))
        return {other: found[other] for other in _sorted(found)}

    def relation(self, graph: SceneGraph, subject: str, relation: str, target: str, rng: SeededRng) -> str | None:
        """Another relation that is plausible between such objects but certainly does not hold between these two."""
        if relation in (LEFT, RIGHT):
            return RIGHT if relation == LEFT else LEFT
        words = self.ontology.relations
        barred = {relation, *words[relation].related}
        barred |= {name for name, other in graph.objects[subject].relations if other == target}
        rivals = {name: words[name].excludes for name in words if name not in barred}
        excluded = [one for one, those in rivals.items() if one in words[relation].excludes or relation in those]
        ones, others = (self.ontology.above(graph.objects[key].name) for key in (subject, target))
        for one, other in product(ones, others):
            seen = self._counts.get(("relations", one, other), Counter())
            if weights := {name: float(seen[name]) for name in excluded if seen[name]}:
                return _drawn(weights, rng)
        for name in excluded:
            is_of_one = any(("objects", one, name) in self._counts for one in ones)
            if name in _PLAIN or (is_of_one and any(("subjects", other, name) in self._counts for other in others)):
                weights[name] = 1.0
        return _drawn(weights, rng)

    def _absent_from(self, graph: SceneGraph, weighted: Iterable[tuple[str, float]]) -> dict[str, float]:
        absent = ((name, weight) for name, weight in weighted if self.certainly_absent(graph, name))
        return dict(islice(absent, LIKELIEST))

    def certainly_absent(self, graph: SceneGraph, name: str) -> bool:
        """Whether no object in the image can have this name, and none suggests such an object."""
        image, noun = self._image(graph), self.ontology.nouns[name]
        if noun.kind not in image.absent:
            own = {noun.kind, *noun.parents}
            image.absent[noun.kind] = (
                not noun.vague
                and noun.kind not in _NEVER_ABSENT
                and noun.kind not in image.might_be
                and UNANNOTATED["parts"].isdisjoint(noun.parents)
                and own.isdisjoint(image.kinds)
                and own.isdisjoint(image.suggested)
                and image.kinds.isdisjoint(self.ontology.similar_kinds.get(noun.kind, ()))
            )
        return image.absent[noun.kind]

    def _examined(self, graph: SceneGraph) -> _Image:
        annotated = {self.ontology.kind(thing.name) for thing in graph.objects.values()}
        kinds = annotated | graph.unclear
        might_be, suggested = set(kinds), set[str]()
        for kind in kinds:
            parents = self.ontology.nouns[kind].parents
            might_be.update(parents, self.ontology.similar_kinds.get(kind, ()))
            suggested.update(_KIND_SUGGESTS.get(kind, ()), _ANY_OF.get(kind, ()))
            for above in (kind, *parents):
                suggested.update(_CATEGORY_SUGGESTS.get(above, ()), _HAS.get(above, ()))
        context: dict[str, float] = defaultdict(float)
        for kind in sorted(annotated):
            images = self._kinds[kind] + _SMOOTHING
            for other, count in self._counts.get(("together", kind), Counter()).items():
                context[other] += count / images / len(annotated)
        return _Image(kinds, might_be, suggested, context, {})


def _sorted(weights: Mapping[str, float]) -> list[str]:
    return sorted(weights, key=lambda name: (-weights[name], name))


def _drawn(weights: Mapping[str, float], rng: SeededRng) -> str | None:
    """One of the likeliest names, by weight; None if there are none."""
    if not weights:
        return None
    names = _sorted(weights)[:LIKELIEST]
    bounds = list(accumulate(max(1, round(1_000 * weights[name] / weights[names[0]])) for name in names))
    return names[bisect_right(bounds, rng.below(bounds[-1]))]
