"""What open-ended models read: words, vectors, captions and groups, as fitted to the training questions."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
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

NO_WORDS = QuestionWords((), ())
OTHER_GROUP = 0  # index of questions whose group does not occur in training; the groups follow


@dataclass(frozen=True)
class OpenEndedTexts:
    """Converts questions, captions and groups to a model's tensors."""

    words: QuestionWords = NO_WORDS  # of the training questions
    vectors: TextFeatures | None = None  # of whole questions
    captions: QuestionWords | None = None  # of the captions of the training images
    groups: tuple[str, ...] = ()  # groups of the training questions, such as question types
    form: QuestionForm = "text"  # what is read as the question
    layouts: Layouts | None = None  # of modules, for the questions

    def tensors(self, inputs: Collection[str], **given: Sequence[str] | None) -> dict[str, Tensor]:
        """The tensors of those ``inputs`` that are in `GIVEN`, from ``questions``, ``captions`` and ``groups``."""
        index = {name: number for number, name in enumerate(self.groups, OTHER_GROUP + 1)}
        convert: dict[str, Callable[[Sequence[str]], NDArray[Any]] | None] = {
            "question_indices": self.words.indices,
            "question_bags": self.words.bags,
            "question_vectors": self.vectors.encode if self.vectors else None,
            "question_layouts": self.layouts.tensor if self.layouts else None,
            "caption_bags": self.captions.bags if self.captions else None,
            "question_groups": lambda texts: np.array([index.get(text, OTHER_GROUP) for text in texts], np.int64),
        }
        found = {}
        for name in GIVEN:
            if name in inputs:
                texts = given.get(GIVEN[name])
                if texts is None and name == "question_groups":  # of unknown groups
                    texts = [""] * len(given["questions"] or ())
                converter = convert[name]
                if converter is None:
                    raise InputError(f"the processor has nothing for {name}; use that of the same checkpoint")
                found[name] = torch.from_numpy(converter(checked_texts(texts, GIVEN[name])))
        if "question_layouts" in found:
            found["question_layouts"] = found["question_layouts"].long()
        return found

    @property
    def sizes(self) -> dict[str, int]:
        """Sizes by the names of models' settings; of what there is."""
        found = {
            "vocabulary_size": self.words.size,
            "bag_size": self.words.bag_size,
            "group_count": len(self.groups),
            "text_size": self.vectors.dim if self.vectors else None,
            "caption_size": self.captions.bag_size if self.captions else None,
            "layout_words": self.layouts.size if self.layouts else None,
        }
        return {name: size for name, size in found.items() if size is not None}

    def as_json(self) -> dict[str, Any]:
        """For processor_config.json."""
        found = {
            "question_words": None if self.words == NO_WORDS else self.words.as_json(),
            "word_vectors": self.vectors.as_json() if self.vectors else None,
            "caption_words": self.captions.as_json() if self.captions else None,
            "questions": None if self.form == "text" else self.form,
            "layouts": self.layouts.as_json() if self.layouts else None,
            "groups": list(self.groups) or None,
        }
        return {name: value for name, value in found.items() if value is not None}

    @classmethod
    def stored(cls, folder: Path, given: Mapping[str, Any]) -> Self:
        """The opposite of `as_json`."""
        vectors = None
        if "word_vectors" in given:
            vectors = replace(TextFeatures.stored(folder, given["word_vectors"]), new_words="skip")
        of_words = (given.get(name) for name in ("question_words", "caption_words"))
        words, captions = (None if one is None else QuestionWords.from_json(one) for one in of_words)
        groups, form = given.get("groups", []), given.get("questions", "text")
        layouts = Layouts.from_json(given["layouts"], form) if "layouts" in given else None
        return cls(words or NO_WORDS, vectors, captions, tuple(groups), form, layouts)


def checked_texts(texts: object, what: str) -> Sequence[str]:
    """The texts; raises InputError unless they are a list of text."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise InputError(f"{what}: expected a list of texts, found {'none' if texts is None else shown(texts)}")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{what.removesuffix('s')} {number} is {shown(text)}; expected a string")
    return texts
