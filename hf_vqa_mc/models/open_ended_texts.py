"""What open-ended models read: words, vectors, captions and groups, as fitted to the training questions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.models.layouts import Layouts
from hf_vqa_mc.models.question_words import QuestionWords
from hf_vqa_mc.recipe import QuestionForm

GIVEN = {
    "question_indices": "questions",
    "question_bags": "questions",
    "question_vectors": "questions",
    "question_layouts": "questions",
    "caption_bags": "captions",
    "question_groups": "groups",
}
"""Inputs of open-ended models and what they are made of: words as indices, or counted; vectors of whole questions;
layouts of modules; counted words of captions; indices of question types or other groups."""

OTHER_GROUP = 0
"""Index of questions whose group does not occur in training; the groups follow."""


@dataclass(frozen=True)
class OpenEndedTexts:
    """Converts questions, captions and groups to a model's tensors."""

    words: QuestionWords
    """of the training questions"""
    vectors: TextFeatures | None = None
    """of whole questions"""
    captions: QuestionWords | None = None
    """of the captions of the training images"""
    groups: tuple[str, ...] = ()
    """groups of the training questions, such as question types"""
    form: QuestionForm = "text"
    """what is read as the question"""
    layouts: Layouts | None = None
    """of modules, for the questions"""

    def tensors(self, inputs: Collection[str], **given: Sequence[str] | None) -> dict[str, Tensor]:
        """The tensors of a model's ``inputs`` for a batch.

        Args:
            inputs: names of `GIVEN`; others are ignored.
            given: what they are made of: ``questions``, ``captions``, ``groups``.

        Raises:
            InputError: something is not given that is needed, or is no list of texts.
        """
        found = {}
        for name, convert in _CONVERTED.items():
            if name in inputs:
                texts = given.get(GIVEN[name])
                if texts is None and name == "question_groups":  # of unknown groups
                    texts = [""] * len(given["questions"] or ())
                found[name] = convert(self, checked_texts(texts, GIVEN[name]))
        return found

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by the names of models' settings; of what there is."""
        found = {
            "vocabulary_size": self.words.size,
            "bag_size": self.words.bag_size,
            "group_count": len(self.groups),
        }
        if self.vectors is not None:
            found["text_size"] = self.vectors.dim
        if self.captions is not None:
            found["caption_size"] = self.captions.bag_size
        if self.layouts is not None:
            found["layout_words"] = self.layouts.size
        return found

    def as_json(self) -> dict[str, Any]:
        """For processor_config.json."""
        found: dict[str, Any] = {"question_words": self.words.as_json()}
        if self.vectors is not None:
            found["word_vectors"] = self.vectors.as_json()
        if self.captions is not None:
            found["caption_words"] = self.captions.as_json()
        if self.form != "text":
            found["questions"] = self.form
        if self.layouts is not None:
            found["layouts"] = self.layouts.as_json()
        return found | ({"groups": list(self.groups)} if self.groups else {})

    @classmethod
    def stored(cls, folder: Path, given: Mapping[str, Any]) -> Self:
        """The opposite of `as_json`."""
        vectors = None
        if "word_vectors" in given:
            vectors = replace(TextFeatures.stored(folder, given["word_vectors"]), new_words="skip")
        captions = QuestionWords.from_json(given["caption_words"]) if "caption_words" in given else None
        groups, form = given.get("groups", []), given.get("questions", "text")
        layouts = Layouts.from_json(given["layouts"], form) if "layouts" in given else None
        return cls(QuestionWords.from_json(given["question_words"]), vectors, captions, tuple(groups), form, layouts)


def checked_texts(texts: object, what: str) -> Sequence[str]:
    """The texts; raises InputError unless they are a list of text."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise InputError(f"{what}: expected a list of texts, found {'none' if texts is None else shown(texts)}")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{what.removesuffix('s')} {number} is {shown(text)}; expected a string")
    return texts


def _known(part: Any, what: str) -> Any:  # noqa: ANN401  a part of `OpenEndedTexts`
    if part is None:
        raise InputError(f"the processor has no {what}; use that of the same checkpoint")
    return part


def _groups(of: OpenEndedTexts, groups: Sequence[str]) -> Tensor:
    index = {name: number for number, name in enumerate(of.groups, OTHER_GROUP + 1)}
    return torch.from_numpy(np.array([index.get(name, OTHER_GROUP) for name in groups], np.int64))


_CONVERTED: Mapping[str, Callable[[OpenEndedTexts, Sequence[str]], Tensor]] = {
    "question_indices": lambda of, questions: torch.from_numpy(of.words.indices(questions)),
    "question_bags": lambda of, questions: torch.from_numpy(of.words.bags(questions)),
    "question_vectors": lambda of, texts: torch.from_numpy(_known(of.vectors, "vectors of questions").encode(texts)),
    "question_layouts": lambda of, texts: torch.from_numpy(
        _known(of.layouts, "layouts of questions").tensor(texts)
    ).long(),
    "caption_bags": lambda of, texts: torch.from_numpy(_known(of.captions, "words of captions").bags(texts)),
    "question_groups": _groups,
}
