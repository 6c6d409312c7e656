"""Asking about one image: what all question types share. No question leaves that its program answers otherwise."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import NamedTuple

from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.executor import NO, YES, Executor
from hf_vqa_mc.engines.gqa.ontology import Noun, Ontology
from hf_vqa_mc.engines.gqa.program import Part, Program, Question, sentence, then
from hf_vqa_mc.engines.gqa.references import Reference, References
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, VERTICAL, SceneGraph, SceneObject
from hf_vqa_mc.engines.gqa.settings import GqaSettings
from hf_vqa_mc.engines.gqa.wording import (
    MENTIONS,
    PARTITIVES,
    PEOPLE,
    POSITIONS,
    Pattern,
    Phrase,
    Said,
    as_category,
    called,
    predicate,
)
from hf_vqa_mc.engines.rng import SeededRng

_TWICE = re.compile(r"\b([\w'-]+) \1\b", re.IGNORECASE)
_WORDS = re.compile(r"[a-z0-9'-]+")


class Draft(NamedTuple):
    """A question before it is checked and worded."""

    detailed: str  # type, as GQA's files call it
    program: Program
    answer: str  # expected; a program that gives another is counted under "mismatch"
    wordings: Sequence[Pattern]  # of which one is drawn
    slots: Mapping[str, str | Phrase]
    full: Phrase  # the full answer
    local_group: str
    global_group: str = ""


def yes_no(
    detailed: str,
    program: Program,
    right: bool,
    wordings: Sequence[Pattern],
    slots: Mapping[str, str | Phrase],
    full: Phrase,
    local_group: str,
) -> Draft:
    """A question whose answer is yes or no; GQA's detailed types end in C where it is no."""
    answer, begin = (YES, "Yes ,") if right else (NO, "No ,")
    suffix = "" if right else "C"
    return Draft(detailed + suffix, program, answer, wordings, slots, [(begin, ""), *full], local_group)


class Asking:
    """One image while it is asked about."""

    def __init__(
        self,
        graph: SceneGraph,
        ontology: Ontology,
        decoys: Distractors,
        settings: GqaSettings,
        left_out: Counter[str] | None = None,
    ) -> None:
        """``left_out``: counts the questions that were not asked, by reason."""
        self.graph, self.ontology, self.decoys, self.seed = graph, ontology, decoys, settings.seed
        self.executor = Executor(graph, ontology)
        self.left_out: Counter[str] = Counter() if left_out is None else left_out
        self.all_of, self.kinds_asked = cache(self._all_of), cache(self._kinds_asked)
        self.references = References(self.executor, settings)
        self.objects = [key for key in graph.objects if self.references.askable(key)]
        """of what can be asked about by itself"""

    @cached_property
    def _not_said(self) -> frozenset[str]:
        """Words for the image that one of its objects is called by."""
        kinds = {self.kind(key) for key in self.graph.objects} | self.graph.unclear
        return frozenset() if kinds.isdisjoint(MENTIONS.pictures) else MENTIONS.pictures

    def name(self, object_id: str) -> str:
        """An object's name."""
        return self.graph.objects[object_id].name

    def noun(self, object_id: str) -> Noun:
        """An object's noun."""
        return self.ontology.nouns[self.graph.objects[object_id].name]

    def kind(self, object_id: str) -> str:
        """An object's kind."""
        return self.noun(object_id).kind

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
        said = self.said(object_id)
        article, _, words = said.some.rpartition(said.text)
        return [(article + words, ""), (said.text, object_id)]

    def isa(self, object_id: str, *categories: str) -> bool:
        """Whether an object is of one of the categories."""
        return self.is_any(self.name(object_id), *categories)

    def is_any(self, name: str, *categories: str) -> bool:
        """Whether what is called so is of one of the categories."""
        return any(self.ontology.isa(name, category) for category in categories)

    def _all_of(self, name: str) -> tuple[str, ...]:
        """The objects that certainly are of a name or category."""
        return tuple(key for key in self.graph.objects if self.isa(key, name))

    def category(self, name: str) -> str:
        """What kind of thing a name is, as GQA's global groups have it: animal, bird, person; object for all else."""
        noun = self.ontology.nouns[name]
        return next((parent for parent in noun.parents if parent != noun.kind), noun.kind)

    def _kinds_asked(self, name: str) -> list[str]:
        """The categories by which people would ask what something is."""
        noun, nouns = self.ontology.nouns[name], self.ontology.nouns
        young = noun.kind in MENTIONS.young  # dogs are animals, so that a puppy is no type of them
        return [
            category
            for category in self.references.categories(name)
            if category not in MENTIONS.too_wide
            and not (young and category in nouns and nouns[category].parents)
            and name not in MENTIONS.own_name_only
            and category not in name
            and category != noun.kind
            and (category == PEOPLE or PEOPLE not in noun.parents)
        ]

    def predicate(self, kind: str, value: str) -> str:
        """A value after "is"."""
        return predicate(self.ontology, kind, value)

    def is_there(self, name: str) -> str | None:
        """Whether there is such an object: yes, no, or None where there might be."""
        found = self.executor.find(selected(name))
        if found is None or (found.possible and not found.certain):
            return None
        return YES if found.certain else NO

    def value_kinds(self, object_id: str) -> list[tuple[str, str]]:
        """An object's (type, value) where it has one value of the type, without positions and what has no type."""
        return [
            (kind, values[0])
            for kind, values in self.thing(object_id).values.items()
            if kind not in ("", HORIZONTAL, VERTICAL) and len(values) == 1 and self.can_be_said(kind, values[0])
            if self.references.can_have(object_id, kind)
        ]

    def can_be_said(self, kind: str, value: str) -> bool:
        """Whether a value can stand after "is": tennis in tennis racket cannot."""
        if (kind, value) in POSITIONS:
            return True
        attribute = self.ontology.attributes.get(value)
        return attribute is not None and not attribute.before_only

    def absent(self, rng: SeededRng, near: str) -> str | None:
        """The name of something that is not in the image, but often where such an object is."""
        return self.decoys.absent(self.graph, rng, near=near)

    def decoy_value(self, object_id: str, kind: str, rng: SeededRng) -> str | None:
        """A value of a type that an object does not have and that can be said."""
        decoy = self.decoys.attribute(self.graph, object_id, kind, rng)
        return decoy if decoy is not None and self.can_be_said(kind, decoy) else None

    def question(self, row: str, draft: Draft, rng: SeededRng) -> Question | None:
        """The question, if the graph settles it and its text is in order; else the reason is counted."""
        result = self.executor.run(draft.program)
        text = None
        if result.answer is None:
            reason = "not settled by the graph"
        elif result.answer != draft.answer:
            reason = f"mismatch: {row}"
        else:
            text = sentence(rng.pick(draft.wordings).fill(rng, draft.slots, self._not_said), "?")
            if row.startswith(("query", "common")) and discloses(text.text, draft.answer):
                reason = "tells its answer"
            elif _TWICE.search(text.text):  # the windows that are not red red or white
                reason = "a word twice"
            else:
                full = sentence(draft.full, ".")
                groups = draft.global_group, draft.local_group
                return Question(row, draft.detailed, draft.program, result.found, text, draft.answer, full, *groups)
        self.left_out[reason] += 1
        return None


def discloses(text: str, answer: str) -> bool:
    """Whether a question has its answer among its words, also as the beginning of one (horse in horses)."""
    return f" {answer.lower()}" in f" {' '.join(_WORDS.findall(text.lower()))}"


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
