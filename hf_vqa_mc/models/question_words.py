"""The words of questions as indices and as bags of words, for models that learn their own word vectors."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from hf_vqa_mc.text.many_texts import word_lists

PADDING, UNKNOWN = 0, 1  # indices after the last word of a question, and of words outside the vocabulary
FEWEST = 2  # fewest training questions with a word of the vocabulary; rarer words teach the vector of unknown words
BAG_WORDS = 1000  # words of the bag (Antol et al. 2015, section 5.1)
FIRST_WORDS, STARTS = 3, 10  # first words that are counted separately (Antol et al. 2015, section 5.1)


@dataclass(frozen=True)
class QuestionWords:
    """The vocabulary of the training questions."""

    words: tuple[str, ...] = field(repr=False)  # the most frequent in training first; index + 2 is the word's index
    starts: tuple[tuple[str, ...], ...] = field(repr=False)  # most frequent first, second and third words

    @classmethod
    def of(cls, questions: Iterable[str], starts: int = STARTS) -> Self:
        """The vocabulary of training questions, each counted as often as it is given, with so many ``starts``."""
        counts = Counter(questions)
        lists = dict(zip(counts, word_lists(list(counts)), strict=True))
        in_questions: Counter[str] = Counter()
        first: list[Counter[str]] = [Counter() for _ in range(FIRST_WORDS)]
        for text, times in counts.items():
            in_questions.update(dict.fromkeys(lists[text], times))
            for position, word in enumerate(lists[text][:FIRST_WORDS]):
                first[position][word] += times
        words = most_frequent(in_questions, FEWEST)
        kept = set(words)
        return cls(words, tuple(tuple(filter(kept.__contains__, most_frequent(one)))[:starts] for one in first))

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

    def bags(self, questions: Sequence[str]) -> NDArray[np.float32]:
        """Counts of the most frequent words, and of ``starts`` in their positions: float32 (questions, bag_size)."""
        found = np.zeros((len(questions), self.bag_size), np.float32)
        np.add.at(found, self.bag_positions(questions), 1)
        return found

    def bag_positions(self, questions: Sequence[str]) -> tuple[list[int], list[int]]:
        """The rows and columns of `bags` that count 1 each."""
        indices = self.indices(questions)
        most = min(BAG_WORDS, len(self.words))
        found_rows, words = np.nonzero((indices > UNKNOWN) & (indices < most + 2))
        rows, columns = found_rows.tolist(), (indices[found_rows, words] - 2).tolist()
        offset, index = most, {word: number for number, word in enumerate(self.words, 2)}
        for position, starts in enumerate(self.starts):
            for number, word in enumerate(starts if position < indices.shape[1] else ()):
                found = np.flatnonzero(indices[:, position] == index[word])
                rows += found.tolist()
                columns += [offset + number] * len(found)
            offset += len(starts)
        return rows, columns

    def as_json(self) -> dict[str, Any]:
        """For processor_config.json."""
        return {"words": list(self.words), "starts": [list(one) for one in self.starts]}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The opposite of `as_json`."""
        return cls(tuple(given["words"]), tuple(map(tuple, given["starts"])))


def sparse_bags(words: QuestionWords, questions: Sequence[str]) -> scipy.sparse.csr_array:
    """`QuestionWords.bags` of many questions, of which most counts are 0."""
    rows, columns = words.bag_positions(questions)
    shape = (len(questions), words.bag_size)
    return scipy.sparse.coo_array((np.ones(len(rows), np.float32), (rows, columns)), shape=shape).tocsr()


def packed(vectors: Tensor, indices: Tensor) -> PackedSequence:
    """Vectors of the words of questions for recurrent networks: (batch, words, size), whose ``indices`` are padded."""
    lengths = (indices != PADDING).sum(1).cpu()
    return pack_padded_sequence(vectors[:, : int(lengths.max())], lengths, batch_first=True, enforce_sorted=False)


def most_frequent(counts: Mapping[str, int], fewest: int = 1) -> tuple[str, ...]:
    """The words with ``fewest`` or more counts, the most frequent first, ties by name."""
    return tuple(sorted((one for one in counts if counts[one] >= fewest), key=lambda word: (-counts[word], word)))
