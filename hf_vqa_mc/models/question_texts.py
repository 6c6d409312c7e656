"""What models read, fitted to the training questions: words, vectors, layouts, captions and groups."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.extraction.text_features import NewWords, TextFeatures
from hf_vqa_mc.models.layouts import MODULES, layouts, rules
from hf_vqa_mc.recipe import QuestionForm
from hf_vqa_mc.text.many_texts import word_lists

PADDING, UNKNOWN = 0, 1  # indices after the last word of a question, and of words outside the vocabulary
FEWEST = 2  # fewest training questions with a word of the vocabulary; rarer words teach the vector of unknown words
BAG_WORDS = 1000  # words of the bag (Antol et al. 2015, section 5.1)
FIRST_WORDS, STARTS = 3, 10  # first words that are counted separately (Antol et al. 2015, section 5.1)
NODE = 5  # columns of a layout's node: module, word, first input, second input, depth
OTHER_GROUP = 0  # index of questions whose group does not occur in training; the groups follow
CHOICES = "choice_vectors"  # input of multiple-choice models
TEXT_INPUTS = {
    "question_indices": "questions",
    "question_bags": "questions",
    "question_vectors": "questions",
    "question_tokens": "questions",
    "question_layouts": "questions",
    "caption_bags": "captions",
    "question_groups": "groups",
}
"""Other inputs of models and what they are made of: words as indices, or counted; average word vectors; a vector per
word (with ``question_mask``); layouts of modules; counted words of captions; indices of question types or groups."""


@dataclass(frozen=True)
class QuestionWords:
    """The vocabulary of the training questions."""

    words: tuple[str, ...] = field(repr=False)  # the most frequent in training first; index + 2 is the word's index
    starts: tuple[tuple[str, ...], ...] = field(repr=False)  # most frequent first, second and third words

    @classmethod
    def of(cls, questions: Iterable[str], starts: int = STARTS) -> Self:
        """The vocabulary of training questions, each counted as often as it is given, with so many ``starts``."""
        counts = Counter(questions)
        in_questions: Counter[str] = Counter()
        first: list[Counter[str]] = [Counter() for _ in range(FIRST_WORDS)]
        for words, times in zip(word_lists(list(counts)), counts.values(), strict=True):
            in_questions.update(dict.fromkeys(words, times))
            for counted, word in zip(first, words, strict=False):
                counted[word] += times
        vocabulary = most_frequent(in_questions, FEWEST)
        kept = set(vocabulary)
        return cls(vocabulary, tuple(tuple(filter(kept.__contains__, most_frequent(one)))[:starts] for one in first))

    @property
    def size(self) -> int:
        """Number of indices."""
        return len(self.words) + 2

    @property
    def bag_size(self) -> int:
        """Length of a bag."""
        return min(BAG_WORDS, len(self.words)) + sum(map(len, self.starts))

    def indices(self, questions: Sequence[str]) -> NDArray[np.int64]:
        """The words of each question, int64 (questions, words), right-padded; one unknown word if there are none."""
        index = {word: number for number, word in enumerate(self.words, 2)}
        found = [[index.get(word, UNKNOWN) for word in one] or [UNKNOWN] for one in word_lists(questions)]
        lengths = np.array([len(one) for one in found], np.int64)
        padded = np.full((len(found), lengths.max(initial=1)), PADDING, np.int64)
        padded[np.arange(padded.shape[1]) < lengths[:, None]] = np.fromiter(chain.from_iterable(found), np.int64)
        return padded

    def bags(self, questions: Sequence[str]) -> scipy.sparse.csr_array:
        """Counts of the most frequent words, and of ``starts`` in their positions: float32 (questions, bag_size)."""
        indices, offset = self.indices(questions), min(BAG_WORDS, len(self.words))
        at, position = np.nonzero((indices > UNKNOWN) & (indices < offset + 2))
        rows, columns = [at], [indices[at, position] - 2]
        index = {word: number for number, word in enumerate(self.words, 2)}
        for of_position, starts in zip(indices.T, self.starts, strict=False):
            column = np.full(self.size, -1)
            column[[index[word] for word in starts]] = offset + np.arange(len(starts))
            rows.append(np.flatnonzero(column[of_position] >= 0))
            columns.append(column[of_position][rows[-1]])
            offset += len(starts)
        places = np.concatenate(rows), np.concatenate(columns)
        ones = np.ones(len(places[0]), np.float32)
        return scipy.sparse.coo_array((ones, places), shape=(len(questions), self.bag_size)).tocsr()

    def as_json(self) -> dict[str, Any]:
        """For processor_config.json."""
        return {"words": list(self.words), "starts": [list(one) for one in self.starts]}


NO_WORDS = QuestionWords((), ())


def layout_words(questions: Sequence[str], form: QuestionForm) -> tuple[str, ...]:
    """The words in the layouts of at least `FEWEST` training questions, the most frequent first."""
    counts, times = Counter[str](), Counter(questions)
    for layout, count in zip(layouts(list(times), form), times.values(), strict=True):
        counts.update(dict.fromkeys((node.word for node in layout), count))
    return most_frequent(counts, FEWEST)


def layout_tensor(questions: Sequence[str], form: QuestionForm, words: Sequence[str]) -> NDArray[np.int32]:
    """The nodes of each question's layout: int32 (questions, nodes, `NODE`), right-padded with 0.

    Words that are not in the training layouts share an index. Raises InputError as `program_layout`.
    """
    index = {word: number for number, word in enumerate(words, 2)}
    given = layouts(questions, form)
    found = np.zeros((len(given), max(map(len, given), default=1), NODE), np.int32)
    for rows, layout in zip(found, given, strict=True):
        for at, node in enumerate(layout):
            depth = max((rows[one, -1] + 1 for one in node.inputs), default=0)
            first, second = (*node.inputs, 0, 0)[:2]
            rows[at] = MODULES.index(node.module) + 1, index.get(node.word, UNKNOWN), first, second, depth
    return found


@dataclass(frozen=True)
class QuestionTexts:
    """Converts questions, captions and groups to a model's tensors."""

    words: QuestionWords = NO_WORDS  # of the training questions
    vectors: TextFeatures | None = None  # word vectors, of questions or choices
    captions: QuestionWords | None = None  # of the captions of the training images
    groups: tuple[str, ...] = ()  # groups of the training questions, such as question types
    form: QuestionForm = "text"  # what is read as the question
    layout_words: tuple[str, ...] | None = None  # of the training questions' layouts, the most frequent first

    def array(self, name: str, texts: Sequence[str]) -> Any:  # noqa: ANN401  an array, of bags a sparse one
        """An input of `TEXT_INPUTS` for texts; raises InputError if there is nothing to convert them with."""
        index = {group: number for number, group in enumerate(self.groups, OTHER_GROUP + 1)}
        layouts_of = partial(layout_tensor, form=self.form, words=self.layout_words or ())
        convert: dict[str, Callable[[Sequence[str]], Any] | None] = {
            "question_indices": self.words.indices,
            "question_bags": self.words.bags,
            "question_vectors": self.vectors.encode if self.vectors else None,
            "question_layouts": None if self.layout_words is None else layouts_of,
            "caption_bags": self.captions.bags if self.captions else None,
            "question_groups": lambda groups: np.array([index.get(group, OTHER_GROUP) for group in groups], np.int64),
        }
        if (converter := convert[name]) is None:
            raise InputError(f"the processor has nothing for {name}; use that of the same checkpoint")
        return converter(texts)

    def tensors(self, inputs: Collection[str], **given: Sequence[str] | None) -> dict[str, Tensor]:
        """The tensors of those ``inputs`` that are in `TEXT_INPUTS`, of ``questions``, ``captions`` and ``groups``."""
        found: dict[str, Tensor] = {}
        for name in (one for one in TEXT_INPUTS if one in inputs):
            texts = given.get(TEXT_INPUTS[name])
            if texts is None and name == "question_groups":  # of unknown groups
                texts = [""] * len(given["questions"] or ())
            texts = checked_texts(texts, TEXT_INPUTS[name])
            if name == "question_tokens" and self.vectors is not None:
                words = map(torch.from_numpy, self.vectors.encode_words(texts))
                found |= zip((name, "question_mask"), words, strict=True)
            else:
                found[name] = tensor_of(self.array(name, texts))
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
            "layout_words": None if self.layout_words is None else len(self.layout_words) + 2,
        }
        return {name: size for name, size in found.items() if size is not None}

    def as_json(self) -> dict[str, Any]:
        """For processor_config.json."""
        words = self.layout_words
        found = {
            "question_words": None if self.words == NO_WORDS else self.words.as_json(),
            "word_vectors": self.vectors.as_json() if self.vectors else None,
            "caption_words": self.captions.as_json() if self.captions else None,
            "questions": None if self.form == "text" else self.form,
            "layouts": None if words is None else {"rules": rules().version, "words": list(words)},
            "groups": list(self.groups) or None,
        }
        return {name: value for name, value in found.items() if value is not None}

    @classmethod
    def stored(cls, folder: Path, given: Mapping[str, Any], new_words: NewWords = "skip") -> Self:
        """The opposite of `as_json`."""
        vectors = None
        if "word_vectors" in given:
            vectors = replace(TextFeatures.stored(folder, given["word_vectors"]), new_words=new_words)
        words, captions = (
            QuestionWords(tuple(given[name]["words"]), tuple(map(tuple, given[name]["starts"])))
            if name in given
            else None
            for name in ("question_words", "caption_words")
        )
        of_layouts = tuple(given["layouts"]["words"]) if "layouts" in given else None
        groups, form = tuple(given.get("groups", ())), given.get("questions", "text")
        return cls(words or NO_WORDS, vectors, captions, groups, form, of_layouts)


def checked_texts(texts: object, what: str) -> Sequence[str]:
    """The texts; raises InputError unless they are a list of text."""
    if isinstance(texts, str) or not isinstance(texts, Sequence):
        raise InputError(f"{what}: expected a list of texts, found {'none' if texts is None else shown(texts)}")
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"{what.removesuffix('s')} {number} is {shown(text)}; expected a string")
    return texts


def tensor_of(array: Any) -> Tensor:  # noqa: ANN401  as `QuestionTexts.array` returns it
    """The tensor of an input: dense, indices as int64."""
    found = torch.from_numpy(array.toarray() if scipy.sparse.issparse(array) else array)
    return found.long() if found.dtype == torch.int32 else found


def packed(vectors: Tensor, indices: Tensor) -> PackedSequence:
    """Vectors of the words of questions for recurrent networks: (batch, words, size), whose ``indices`` are padded."""
    lengths = (indices != PADDING).sum(1).cpu()
    return pack_padded_sequence(vectors[:, : int(lengths.max())], lengths, batch_first=True, enforce_sorted=False)


def most_frequent(counts: Mapping[str, int], fewest: int = 1) -> tuple[str, ...]:
    """The words with ``fewest`` or more counts, the most frequent first, ties by name."""
    return tuple(sorted((one for one in counts if counts[one] >= fewest), key=lambda word: (-counts[word], word)))
