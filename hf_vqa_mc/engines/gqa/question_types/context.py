"""Shared parts of all question types. A draft is rejected if its program gives another answer."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.executor import NO, YES, Part, Program, Question, sentence, then
from hf_vqa_mc.engines.gqa.ontology import PEOPLE, Ontology
from hf_vqa_mc.engines.gqa.references import POSITIONS, WORDS, NounPhrase, Pattern, Phrase, Reference, References
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, VERTICAL, SceneGraph

_WORD = re.compile(r"[a-z0-9'-]+")
_TWICE = re.compile(r"\b([\w'-]+) \1\b", re.IGNORECASE)


class Draft(NamedTuple):
    """A question before it is checked and worded."""

    detailed: str  # type, as GQA's files call it
    program: Program
    answer: str  # expected; if the program gives another one, the question is rejected as a "mismatch"
    wordings: Sequence[Pattern]  # one is drawn
    slots: Mapping[str, str | Phrase]
    full: Phrase  # the full answer
    local_group: str
    global_group: str = ""

    def yes_no(self, right: bool) -> "Draft":
        """As a yes/no question; GQA's detailed types end in C where the answer is no."""
        answer, begin, suffix = (YES, "Yes ,", "") if right else (NO, "No ,", "C")
        return self._replace(detailed=self.detailed + suffix, answer=answer, full=[(begin, ""), *self.full])


class ImageContext(References):
    """One image with its references and decoys, the input of all question types; objects are given by id."""

    def __init__(
        self, graph: SceneGraph, ontology: Ontology, decoys: Distractors, depth: int, left_out: Counter[str]
    ) -> None:
        """``left_out`` counts rejected questions by reason."""
        super().__init__(graph, ontology, depth)
        self.decoys, self.left_out = decoys, left_out
        self.all_of = cache(lambda name: tuple(key for key in graph.objects if ontology.isa(self.names[key], name)))
        """the objects that certainly are of a name or category"""
        self.kinds_asked = cache(self._kinds_asked)
        self.objects = [key for key in graph.objects if self.askable(key)]
        kinds = {*self.kinds.values(), *graph.unclear}
        self._avoided = frozenset[str]() if kinds.isdisjoint(WORDS["pictures"]) else WORDS["pictures"]
        """words for the image that are also names of its objects"""

    def phrase(self, object_id: str) -> NounPhrase:
        """The noun phrase for an object."""
        return self.called(self.names[object_id])

    def the(self, object_id: str) -> list[Part]:
        """An object by its name with the definite article, as in full answers."""
        phrase = self.phrase(object_id)
        return [("" if phrase.proper else "the", ""), (phrase.text, object_id)]

    def a(self, object_id: str) -> list[Part]:
        """An object by its name with the indefinite article if it takes one."""
        phrase = self.phrase(object_id)
        article, _, words = phrase.some.rpartition(phrase.text)
        return [(article + words, ""), (phrase.text, object_id)]

    def is_any(self, name: str, *categories: str) -> bool:
        """Whether a name is of one of the categories."""
        return any(self.ontology.isa(name, category) for category in categories)

    def category(self, name: str) -> str:
        """The category of a name in GQA's global groups: animal, bird, person; its kind if it has none."""
        noun = self.ontology.nouns[name]
        return next((parent for parent in noun.parents if parent != noun.kind), noun.kind)

    def _kinds_asked(self, name: str) -> list[str]:
        noun, nouns = self.ontology.nouns[name], self.ontology.nouns
        young = noun.kind in WORDS["young"]  # dogs are animals; a puppy is no type of dog
        return [
            category
            for category in self.categories(name)
            if category not in WORDS["too wide"]
            and not (young and category in nouns and nouns[category].parents)
            and name not in WORDS["own name only"]
            and category not in name
            and category != noun.kind
            and (category == PEOPLE or PEOPLE not in noun.parents)
        ]

    def exists(self, name: str) -> str | None:
        """Whether there is such an object: yes, no, or None if the graph does not settle it."""
        return self.run(then(selected(name), "exist")).answer

    def value_kinds(self, object_id: str) -> list[tuple[str, str]]:
        """An object's (type, value) for the types of which it has one value; no positions."""
        return [
            (kind, values[0])
            for kind, values in self.things[object_id].values.items()
            if kind not in ("", HORIZONTAL, VERTICAL) and len(values) == 1 and self.can_be_said(kind, values[0])
            if self.can_have(self.names[object_id], kind)
        ]

    def can_be_said(self, kind: str, value: str) -> bool:
        """Whether a value can follow "is"; not so "tennis" of a tennis racket."""
        attribute = self.ontology.attributes.get(value)
        return (kind, value) in POSITIONS or (attribute is not None and not attribute.before_only)

    def decoy_value(self, object_id: str, kind: str, rng: SeededRng) -> str | None:
        """A value of a type that an object does not have and that can follow "is"."""
        decoy = self.decoys.attribute(self.graph, object_id, kind, rng)
        return decoy if decoy is not None and self.can_be_said(kind, decoy) else None

    def question(self, row: str, draft: Draft, rng: SeededRng) -> Question | None:
        """The question, if the graph settles it and its text is acceptable; otherwise the reason is counted."""
        result = self.run(draft.program)
        if result.answer != draft.answer:
            self.left_out["not settled by the graph" if result.answer is None else f"mismatch: {row}"] += 1
            return None
        text = sentence(rng.pick(draft.wordings).fill(rng, draft.slots, self._avoided), "?")
        said = " ".join(["", *_WORD.findall(text.text.lower())])
        if row.startswith(("query", "common")) and f" {draft.answer.lower()}" in said:  # also the horse in horses
            self.left_out["tells its answer"] += 1
            return None
        if _TWICE.search(text.text):  # the windows that are not red red or white
            self.left_out["a word twice"] += 1
            return None
        groups, full = (draft.global_group, draft.local_group), sentence(draft.full, ".")
        return Question(row, draft.detailed, draft.program, result.found, text, draft.answer, full, *groups)


def selected(name: str) -> Program:
    """The program that selects a name."""
    return then((), "select", name)


def slots_of(reference: Reference) -> dict[str, str | Phrase]:
    """The slots of patterns that a reference fills: {the}, {is}, {do}, {have}."""
    do, have = ("do", "have") if reference.head.plural else ("does", "has")
    return {"the": reference.the, "is": reference.head.be, "do": do, "have": have}
