"""Decoys for questions whose answer is no, and for choices (Hudson and Manning 2019, Sect. 3.3).

A decoy is plausible where it would stand, by what was seen in all graphs, and certainly wrong: nothing that might be
called what is there, by ``Ontology.alike`` and ``Ontology.may_be``.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from hf_vqa_mc.engines.chance import Chance
from hf_vqa_mc.engines.gqa.ontology import ANYTHING, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, SCENE, VERTICAL, SceneGraph, SceneObject
from hf_vqa_mc.engines.gqa.untold import ALWAYS_PARTS, RARELY_TOLD, Told, told_by

LIKELIEST = 12
"""Out of so many of the likeliest a decoy is drawn, each as likely as its weight says."""
_SMOOTHING = 2.0
"""Added to the images with a kind before a share of them is taken, so that what was seen once does not win."""

_PLAIN = frozenset({"under", "below", "above", "behind", "in front of", "inside", "on top of", "on"})
"""Relations that are plausible between any two things."""
_POSITIONS = {HORIZONTAL: ("left", "right"), VERTICAL: ("top", "bottom")}


@dataclass
class Distractors:
    """What was seen with what: counts over all graphs, in images where nothing else is said."""

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
    _last: tuple[SceneGraph, Told] | None = field(default=None, repr=False, compare=False)
    _excluded: dict[str, tuple[str, ...]] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def learn(cls, graphs: Iterable[SceneGraph], ontology: Ontology) -> "Distractors":
        """The counts of all graphs, in one pass; memory grows with the vocabulary, not with the graphs."""
        learned = cls(ontology)
        for graph in graphs:
            learned.see(graph)
        return learned

    def see(self, graph: SceneGraph) -> None:
        """Takes one more graph into the counts."""
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
            if kind and kind not in _POSITIONS:
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

    def attribute(self, graph: SceneGraph, object_id: str, kind: str, chance: Chance) -> str | None:
        """A value of a type that an object does not have and nobody would say it has, but others of its kind do.

        Args:
            graph: the image.
            object_id: of the object, or "scene" for weather, location and place.
            kind: the attribute type.
            chance: what to draw with.

        Returns:
            None where there is none: no exclusive type, no value known of the object, nothing seen that would do.
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
                if value in rivals and not any(self._alike(value, other) for other in values)
            }
            if wanted:
                return _drawn(wanted, chance)
        return None

    def absent(
        self, graph: SceneGraph, chance: Chance, near: str | None = None, category: str | None = None
    ) -> str | None:
        """The name of something that certainly is not in the image but often where such things are.

        Args:
            graph: the image.
            chance: what to draw with.
            near: an object whose company counts alone.
            category: what it must be a kind of.
        """
        weights = self._told(graph).context if near is None else self._in_context([self._kind(graph.objects[near])])
        return self._absent_from(graph, weights, chance, category)

    def related(self, graph: SceneGraph, object_id: str, relation: str, side: str, chance: Chance) -> str | None:
        """A name that would suit the other end of a relation, of something that certainly is not in the image.

        Args:
            graph: the image.
            object_id: of one end.
            relation: its name.
            side: "s" for a subject of the relation to the object, "o" for an object of it, as in programs.
            chance: what to draw with.
        """
        counts = self.subjects_of if side == "s" else self.objects_of
        context = self._told(graph).context
        for name in (*self._kinds_of(graph.objects[object_id].name), ANYTHING):
            seen = counts.get((name, relation))
            if seen:
                weights = {kind: count * (0.05 + context.get(kind, 0.0)) for kind, count in seen.items()}
                found = self._absent_from(graph, weights, chance, None)
                if found:
                    return found
        return None

    def sibling(self, name: str, category: str, chance: Chance, graph: SceneGraph | None = None) -> str | None:
        """Another kind of a category, which nobody would take for the first, in the same number.

        Args:
            name: such as apple, apples.
            category: of both, such as fruit.
            chance: what to draw with.
            graph: in which it must not be either.
        """
        nouns = self.ontology.nouns
        noun = nouns[name]
        weights: dict[str, float] = {}
        for kind, count in self.kinds.items():
            other = self._named(kind, plural=noun.plural, mass=noun.mass)
            if other is None or not self.ontology.isa(other, category) or nouns[other].kind == category:
                continue
            if self._mixed_up(name, other) or (graph is not None and not self.certainly_absent(graph, other)):
                continue
            shared = len(set(noun.parents) & set(nouns[other].parents))
            weights[other] = count * (1.0 + shared)
        return _drawn(weights, chance) if weights else None

    def relation(self, graph: SceneGraph, subject: str, relation: str, target: str, chance: Chance) -> str | None:
        """Another relation that might be between such things, but certainly is not between these two."""
        relations = self.ontology.relations
        if relation in (LEFT, RIGHT):
            return RIGHT if relation == LEFT else LEFT
        told = {name for name, other in graph.objects[subject].relations if other == target}
        barred = {relation, *relations[relation].related, *told}
        excluded = [name for name in self._excluded_by(relation) if name not in barred]
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

    def _excluded_by(self, relation: str) -> tuple[str, ...]:
        """The listed relations that cannot hold as well."""
        if relation not in self._excluded:
            relations = self.ontology.relations
            self._excluded[relation] = tuple(
                name
                for name in relations
                if name in relations[relation].excludes or relation in relations[name].excludes
            )
        return self._excluded[relation]

    def _in_context(self, kinds: list[str]) -> dict[str, float]:
        """How likely kinds are beside these: the mean share of the images with one of these that have them."""
        weights: dict[str, float] = defaultdict(float)
        for kind in kinds:
            for other, count in self.together.get(kind, Counter()).items():
                weights[other] += count / (self.kinds[kind] + _SMOOTHING) / len(kinds)
        return weights

    def _absent_from(
        self, graph: SceneGraph, weights: Mapping[str, float], chance: Chance, category: str | None
    ) -> str | None:
        wanted: dict[str, float] = {}
        ordered = (
            weights
            if weights is self._told(graph).context
            else sorted(weights, key=lambda kind: (-weights[kind], kind))
        )
        for kind in ordered:
            name = self._usual_name(kind)
            noun = self.ontology.nouns[name]
            if noun.vague or (category and (not self.ontology.isa(name, category) or kind == category)):
                continue
            if self.certainly_absent(graph, name):
                wanted[name] = weights[kind]
                if len(wanted) == LIKELIEST:
                    break
        return _drawn(wanted, chance) if wanted else None

    def certainly_absent(self, graph: SceneGraph, name: str) -> bool:
        """Whether nothing in the image might be called so, and nothing that is there tells of one."""
        noun = self.ontology.nouns[name]
        if noun.vague or noun.kind in RARELY_TOLD or not ALWAYS_PARTS.isdisjoint(noun.parents):
            return False
        there = self._told(graph)
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
        return self._last[1]

    def _mixed_up(self, name: str, other: str) -> bool:
        return self.ontology.may_be(name, other) or self.ontology.may_be(other, name)

    def _alike(self, value: str, other: str) -> bool:
        return self.ontology.alike(value, other) or self.ontology.alike(other, value)

    def _usual_name(self, kind: str) -> str:
        counts = self.names[kind]
        return min(counts, key=lambda name: (-counts[name], name))

    def _named(self, kind: str, *, plural: bool, mass: bool) -> str | None:
        """The name of a kind in a number: that which was seen, else its plural or singular."""
        usual = self.ontology.nouns[self._usual_name(kind)]
        if usual.plural == plural and (usual.mass == mass or plural):
            return usual.name
        if usual.mass or mass:
            return None
        other = usual.plural_form if plural else usual.singular
        return other if other and other in self.ontology.nouns else None

    def _kind(self, thing: SceneObject) -> str:
        return self.ontology.nouns[thing.name].kind

    def _kinds_of(self, name: str) -> tuple[str, ...]:
        """A name's kind, then what that is a kind of."""
        noun = self.ontology.nouns[name]
        return (noun.kind, *noun.parents)


def _drawn(weights: Mapping[str, float], chance: Chance) -> str:
    """One of the names, as likely as its weight says; the order of the mapping does not matter."""
    names = sorted(weights, key=lambda name: (-weights[name], name))[:LIKELIEST]
    parts = [max(1, round(1_000 * weights[name] / weights[names[0]])) for name in names]
    at = chance.below(sum(parts))
    for name, part in zip(names, parts, strict=True):
        if at < part:
            return name
        at -= part
    return names[-1]
