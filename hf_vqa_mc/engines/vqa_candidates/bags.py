"""Questions grouped by their bag of words: those of a group have similarity 1 with one another."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.text.normalisation import words

NO_BAG = -1
"""Of a question without words: it is similar to none."""


@dataclass(frozen=True, eq=False)
class Bags:
    """The different bags of words of some questions, numbered in their order."""

    of_question: NDArray[np.int32]
    """(questions,): the bag of each, or NO_BAG"""
    members: NDArray[np.int64]
    """the questions of all bags, one bag after the other, in their order"""
    member_starts: NDArray[np.int64]
    """(bags + 1,)"""
    words: NDArray[np.int32]
    """the words of all bags, each as often as it occurs, the more frequent words first"""
    word_starts: NDArray[np.int64]
    """(bags + 1,)"""
    squares: NDArray[np.int64]
    """(bags,): the square of the length of each vector of counts"""
    n_words: int

    @property
    def size(self) -> int:
        """How many bags there are."""
        return len(self.squares)


def bags_of_words(questions: Sequence[str]) -> Bags:
    """Groups questions by how often each word occurs in them.

    Counts that are multiples of others point the same way, so they make one bag: "ha ha" is "ha".
    """
    of_text = {text: Counter(words(text)) for text in dict.fromkeys(questions)}
    counts = Counter(word for bag in of_text.values() for word in bag.elements())
    number = {word: place for place, word in enumerate(sorted(counts, key=lambda word: (-counts[word], word)))}
    key_of_text = {text: _in_lowest_terms(bag, number) for text, bag in of_text.items()}
    keys = sorted({key for key in key_of_text.values() if key})
    place = {key: bag for bag, key in enumerate(keys)}
    of_question = np.fromiter((place.get(key_of_text[text], NO_BAG) for text in questions), np.int32, len(questions))
    grouped = np.argsort(of_question, kind="stable")[np.count_nonzero(of_question == NO_BAG) :]
    squares = [sum(count * count for count in Counter(key).values()) for key in keys]
    return Bags(
        of_question=of_question,
        members=grouped,
        member_starts=starts(np.bincount(of_question[grouped], minlength=len(keys))),
        words=np.array([word for key in keys for word in key], np.int32),
        word_starts=starts([len(key) for key in keys]),
        squares=np.array(squares, np.int64),
        n_words=len(number),
    )


def _in_lowest_terms(bag: Counter[str], number: dict[str, int]) -> tuple[int, ...]:
    if not bag:
        return ()
    divisor = 1 if 1 in bag.values() else math.gcd(*bag.values())
    return tuple(sorted(number[word] for word, count in bag.items() for _ in range(count // divisor)))
