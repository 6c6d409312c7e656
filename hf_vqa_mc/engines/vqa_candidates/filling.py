"""Kernels that fill the candidates of each question: plausible, then popular, then random answers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.rng import below, draw

PLAUSIBLE, POPULAR, RANDOM = 0, 1, 2
KINDS = ("plausible", "popular", "random")
_MOST_DRAWS = 200
"""Maximum number of random draws; then the distinct answers are taken in cyclic order from a random one."""
GIVEN_REASONS = ("the correct answer", "repeated", "another human answer", "more than wanted")
"""Reasons why an answer of a plausible file is not taken, as `_add` numbers them; other human answers are taken."""


class Questions(NamedTuple):
    """The questions of a pool, and the keys of all texts."""

    keys: NDArray[np.int32]  # (texts,)
    targets: NDArray[np.int32]  # (questions,): text numbers
    hashes: NDArray[np.uint64]  # (questions,): of the question ids


class Picks(NamedTuple):
    """The decoys of each question; changed in place."""

    texts: NDArray[np.int32]  # (questions, decoys): text numbers, MISSING at the end
    kinds: NDArray[np.int8]  # (questions, decoys): PLAUSIBLE, POPULAR, RANDOM, MISSING at the end
    found: NDArray[np.int64]  # (questions,)


@njit(cache=True)
def _add(question: int, text: int, kind: int, questions: Questions, picks: Picks) -> int:
    """Add a text as a decoy and return MISSING; if it is not added, return the reason's index in GIVEN_REASONS."""
    key, decoy = questions.keys[text], picks.found[question]
    if key == questions.keys[questions.targets[question]]:
        return 0
    for taken in picks.texts[question, :decoy]:
        if questions.keys[taken] == key:
            return 1
    picks.texts[question, decoy] = text
    picks.kinds[question, decoy] = kind
    picks.found[question] = decoy + 1
    return MISSING


@njit(cache=True, nogil=True)
def take_given(
    given: NDArray[np.int32], given_starts: NDArray[np.int64], most: int, questions: Questions, picks: Picks
) -> NDArray[np.int64]:
    """Take answers given without the image; return the number of answers not taken, by GIVEN_REASONS."""
    not_taken = np.zeros(len(GIVEN_REASONS), np.int64)
    for question in range(len(questions.targets)):
        for i in range(given_starts[question], given_starts[question + 1]):
            if picks.found[question] == most:
                not_taken[-1] += 1
                continue
            reason = _add(question, given[i], PLAUSIBLE, questions, picks)
            if reason != MISSING:
                not_taken[reason] += 1
    return not_taken


@njit(cache=True, nogil=True)
def take_same_bag(
    of_question: NDArray[np.int32],
    members: NDArray[np.int64],
    member_starts: NDArray[np.int64],
    answer_starts: NDArray[np.int64],
    most: int,
    rng: np.uint64,
    questions: Questions,
    picks: Picks,
) -> None:
    """Take the answers of questions with exactly the same words, in cyclic order from a random one."""
    for question in range(len(questions.targets)):
        bag = of_question[question]
        if bag < 0:
            continue
        start, size = member_starts[bag], member_starts[bag + 1] - member_starts[bag]
        n_answers = answer_starts[bag + 1] - answer_starts[bag]
        first = below(draw(rng, questions.hashes[question], 0), size)
        own = picks.found[question]
        for step in range(size):
            if picks.found[question] >= min(most, own + n_answers):
                break
            other = members[start + (first + step) % size]
            _add(question, questions.targets[other], PLAUSIBLE, questions, picks)


@njit(cache=True, nogil=True)
def take_neighbours(
    of_question: NDArray[np.int32],
    row_of_bag: NDArray[np.int64],
    donors: NDArray[np.int32],
    most: int,
    questions: Questions,
    picks: Picks,
) -> None:
    """Take the answers of the most similar other questions, as `nearest_answers` found them for some bags."""
    for question in range(len(questions.targets)):
        if of_question[question] < 0 or row_of_bag[of_question[question]] < 0:
            continue
        for donor in donors[row_of_bag[of_question[question]]]:
            if donor < 0 or picks.found[question] >= most:
                break
            _add(question, questions.targets[donor], PLAUSIBLE, questions, picks)


@njit(cache=True, nogil=True)
def take_popular_and_random(
    popular: NDArray[np.int32], distinct: NDArray[np.int32], rng: np.uint64, questions: Questions, picks: Picks
) -> None:
    """Complete the candidates.

    Args:
        popular: text numbers of the most popular answers.
        distinct: one text number of each distinct answer of the pool.
        rng: hash that starts the draws.
        questions: the questions, whose answers are also drawn.
        picks: changed in place.
    """
    wanted = picks.texts.shape[1]
    for question in range(len(questions.targets)):
        for text in popular:
            if picks.found[question] < wanted:
                _add(question, text, POPULAR, questions, picks)
        for number in range(_MOST_DRAWS):
            if picks.found[question] == wanted:
                break
            other = below(draw(rng, questions.hashes[question], number), len(questions.targets))
            _add(question, questions.targets[other], RANDOM, questions, picks)
        if picks.found[question] == wanted:
            continue
        first = below(draw(rng, questions.hashes[question], _MOST_DRAWS), len(distinct))
        for step in range(len(distinct)):
            if picks.found[question] == wanted:
                break
            _add(question, distinct[(first + step) % len(distinct)], RANDOM, questions, picks)


@njit(cache=True, nogil=True)
def count_humans(
    humans: NDArray[np.int32], human_starts: NDArray[np.int64], questions: Questions, picks: Picks
) -> NDArray[np.int32]:
    """Number of annotators who gave each decoy as their answer, int32 (questions, decoys).

    ``humans``: the text numbers of all human answers; question i has ``humans[human_starts[i]:human_starts[i + 1]]``.
    """
    times = np.zeros(picks.texts.shape, np.int32)
    for question in range(len(questions.targets)):
        own = questions.keys[humans[human_starts[question] : human_starts[question + 1]]]
        for decoy in range(picks.found[question]):
            times[question, decoy] = (own == questions.keys[picks.texts[question, decoy]]).sum()
    return times
