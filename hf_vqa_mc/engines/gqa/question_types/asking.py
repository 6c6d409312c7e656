"""Asking about one image: what all question types share. No question leaves that its program answers otherwise."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Protocol

from hf_vqa_mc.engines.gqa.executor import NO, YES, Executor
from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.patterns import Pattern
from hf_vqa_mc.engines.gqa.program import Part, Program, Question, sentence, then
from hf_vqa_mc.engines.gqa.reference import NO_FACTS, Fact, Reference
from hf_vqa_mc.engines.gqa.references import References
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, VERTICAL, SceneGraph, SceneObject
from hf_vqa_mc.engines.gqa.settings import GqaSettings
from hf_vqa_mc.engines.gqa.spoken_of import LIVING, MENTIONS, PEOPLE
from hf_vqa_mc.engines.gqa.wording import PARTITIVES, POSITIONS, Phrase, Said, as_category, called, predicate
from hf_vqa_mc.engines.rng import Chance

_TWICE = re.compile(r"\b([\w'-]+) \1\b", re.IGNORECASE)
_WORDS = re.compile(r"[a-z0-9'-]+")


class Decoys(Protocol):
    """Where wrong values and names come from; None where there is no safe one."""

    def attribute(self, graph: SceneGraph, object_id: str, kind: str, chance: Chance, /) -> str | None:
        """A value of a type that the object does not have."""

    def absent(
        self, graph: SceneGraph, chance: Chance, /, near: str | None = None, category: str | None = None
    ) -> str | None:
        """A name of something that is not in the image."""

    def related(self, graph: SceneGraph, object_id: str, relation: str, side: str, chance: Chance, /) -> str | None:
        """A name of something that is not at the other end of an object's relation."""

    def sibling(self, name: str, category: str, chance: Chance, graph: SceneGraph | None = None, /) -> str | None:
        """Another name of a category."""

    def relation(self, graph: SceneGraph, subject: str, relation: str, target: str, chance: Chance, /) -> str | None:
        """A relation that excludes one that holds."""


class Asking:
    """One image while it is asked about."""

    def __init__(
        self,
        graph: SceneGraph,
        ontology: Ontology,
        decoys: Decoys,
        settings: GqaSettings,
        left_out: Counter[str] | None = None,
    ) -> None:
        """left_out: counts the questions that were not asked, by reason."""
        self.graph, self.ontology, self.decoys, self.seed = graph, ontology, decoys, settings.seed
        self.executor = Executor(graph, ontology)
        self.left_out: Counter[str] = Counter() if left_out is None else left_out
        self._all_of: dict[str, tuple[str, ...]] = {}
        self._kinds_asked: dict[str, list[str]] = {}
        pictures = {self.kind(key) for key in graph.objects} | graph.unclear
        self._not_said = frozenset(MENTIONS.pictures if not pictures.isdisjoint(MENTIONS.pictures) else ())
        """words for the image that one of its objects is called by"""
        self.references = References(self.executor, settings)
        self.objects = [key for key in graph.objects if self.references.askable(key)]
        """of what can be asked about by itself"""

    def chance(self, purpose: str) -> Chance:
        """The random choices for a purpose, which depend on the seed and the image."""
        return Chance(self.seed, self.graph.image_id, purpose)

    def name(self, object_id: str) -> str:
        """An object's name."""
        return self.graph.objects[object_id].name

    def kind(self, object_id: str) -> str:
        """An object's kind."""
        return self.ontology.nouns[self.graph.objects[object_id].name].kind

    def thing(self, object_id: str) -> SceneObject:
        """An object."""
        return self.graph.objects[object_id]

    def said(self, object_id: str) -> Said:
        """What an object is called."""
        return called(self.ontology, self.name(object_id))

    def the(self, object_id: str) -> list[Part]:
        """An object by its name with the article, as full answers speak of it."""
        said = self.said(object_id)
        return [(said.the, ""), (said.text, object_id)]

    def a(self, object_id: str) -> list[Part]:
        """An object by its name with the indefinite article where it takes one."""
        article, _, words = self.said(object_id).some.rpartition(self.said(object_id).text)
        return [(article + words, ""), (self.said(object_id).text, object_id)]

    def isa(self, object_id: str, category: str) -> bool:
        """Whether an object is of a category."""
        return self.ontology.isa(self.name(object_id), category)

    def lives(self, object_id: str) -> bool:
        """Whether an object is a person or an animal."""
        return any(self.isa(object_id, category) for category in LIVING)

    def all_of(self, name: str) -> tuple[str, ...]:
        """The objects that certainly are of a name or category."""
        keys = self._all_of.get(name)
        if keys is None:
            keys = tuple(key for key in self.graph.objects if self.isa(key, name))
            self._all_of[name] = keys
        return keys

    def category(self, name: str) -> str:
        """What kind of thing a name is, as GQA's global groups tell it: animal, bird, person; object for all else."""
        noun = self.ontology.nouns[name]
        return next((parent for parent in noun.parents if parent != noun.kind), noun.kind)

    def kinds_asked(self, name: str) -> list[str]:
        """The categories by which people would ask what something is."""
        known = self._kinds_asked.get(name)
        if known is None:
            known = self._kinds_asked[name] = self._make_kinds_asked(name)
        return known

    def _make_kinds_asked(self, name: str) -> list[str]:
        noun = self.ontology.nouns[name]
        return [
            category
            for category in self.references.categories(name)
            if category not in MENTIONS.too_wide
            and not (noun.kind in MENTIONS.young and self._is_one_of_more(category))
            and name not in MENTIONS.own_name_only
            and category not in name
            and category != noun.kind
            and (category == PEOPLE or PEOPLE not in noun.parents)
        ]

    def _is_one_of_more(self, category: str) -> bool:
        """Whether a category is of another one: dogs are animals, so that a puppy is no type of them."""
        return category in self.ontology.nouns and bool(self.ontology.nouns[category].parents)

    def predicate(self, kind: str, value: str) -> str:
        """A value after "is"."""
        return predicate(self.ontology, kind, value)

    def settles(self, object_id: str, kind: str, value: str) -> str | None:
        """Whether an object has a value: yes, no, or None where it is not told."""
        return self.executor.has_value(object_id, kind, value)

    def is_plural(self, object_id: str) -> bool:
        """Whether an object is several things."""
        return self.said(object_id).plural

    def is_there(self, name: str) -> str | None:
        """Whether there is such an object: yes, no, or None where there might be."""
        found = self.executor.find(selected(name))
        if found is None or (found.possible and not found.certain):
            return None
        return YES if found.certain else NO

    def value_kinds(self, object_id: str) -> list[tuple[str, str]]:
        """An object's (type, value) where it has one value of the type, without places and what has no type."""
        return [
            (kind, values[0])
            for kind, values in self.thing(object_id).values.items()
            if kind not in ("", HORIZONTAL, VERTICAL) and len(values) == 1 and self.can_be_said(kind, values[0])
            if self.can_have(object_id, kind)
        ]

    def can_have(self, object_id: str, kind: str) -> bool:
        """As ``References.can_have``."""
        return self.references.can_have(object_id, kind)

    def can_be_said(self, kind: str, value: str) -> bool:
        """Whether a value can stand after "is": tennis in tennis racket cannot."""
        if (kind, value) in POSITIONS:
            return True
        attribute = self.ontology.attributes.get(value)
        return attribute is not None and not attribute.before_only

    def refer(
        self, object_id: str, chance: Chance, hidden: Set[Fact] = NO_FACTS, depth: int | None = None
    ) -> Reference | None:
        """A clear reference that tells none of the hidden facts."""
        return self.references.pick(object_id, chance, hidden, depth)

    def question(
        self,
        row: str,
        detailed: str,
        program: Program,
        expected: str,
        wording: Pattern | Sequence[Pattern],
        slots: Mapping[str, str | Phrase],
        full: Phrase,
        groups: tuple[str, str],
        chance: Chance,
    ) -> Iterable[Question]:
        """The question, if the graph settles it.

        Args:
            row: a key of ``ROWS``.
            detailed: type.
            program: of the question.
            expected: the answer; a program that gives another is counted under "mismatch".
            wording: patterns of which one is taken.
            slots: of the patterns.
            full: the full answer.
            groups: global and local.
            chance: for the wording.
        """
        result = self.executor.run(program)
        if result.answer != expected:
            self.left_out["not settled by the graph" if result.answer is None else f"mismatch: {row}"] += 1
            return ()
        pattern = wording if isinstance(wording, Pattern) else chance.pick(wording)
        asked = sentence(pattern.fill(chance, slots, self._not_said), "?")
        if row.startswith(("query", "common")) and discloses(asked.text, expected):
            self.left_out["tells its answer"] += 1
            return ()
        if _TWICE.search(asked.text):  # the windows that are not red red or white
            self.left_out["a word twice"] += 1
            return ()
        question = Question(
            row, detailed, program, result.found, asked, expected, sentence(full, "."), groups[0], groups[1]
        )
        return (question,)


def discloses(text: str, answer: str) -> bool:
    """Whether a question has its answer among its words, also as the beginning of one (horse in horses)."""
    words = " ".join(_WORDS.findall(text.lower()))
    return f" {answer.lower()}" in f" {words}"


def kind_of(ontology: Ontology, category: str, plural: bool) -> tuple[str, str]:
    """A category after "what kind of", with its verb: devices are, clothing is."""
    said = as_category(ontology, category, plural)
    if said is None or said.mass or category in PARTITIVES:
        return category, "is"
    return said.text, said.be


def slots_of(reference: Reference) -> dict[str, str | Phrase]:
    """What patterns may say of a reference: {the}, {is}, {do}, {have}."""
    said = reference.said
    return {"the": reference.the, "is": said.be, "do": said.do, "have": said.have}


def selected(name: str) -> Program:
    """The program that selects a name."""
    return then((), "select", name)
