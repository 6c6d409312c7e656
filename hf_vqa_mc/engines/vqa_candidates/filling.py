"""Kernels that fill the candidates of each question: plausible, then popular, then random answers."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.rng import below, draw

N_PLAUSIBLE = 3
"""Answers given without the image (Antol et al. 2015, Sect. 3)."""
PLAUSIBLE, POPULAR, RANDOM = 0, 1, 2
KINDS = ("plausible", "popular", "random")
_MOST_DRAWS = 200
"""Maximum number of random draws; then the distinct answers are taken in cyclic order from a random one."""
GIVEN_REASONS = ("the correct answer", "repeated", "another human answer", "more than wanted")
"""Reasons why an answer of a plausible file is not taken, as `_add` numbers them; other human answers are taken."""


class Questions(NamedTuple):
    """The questions of a dataset, and the keys of all texts."""

    keys: NDArray[np.int32]  # (texts,)
    targets: NDArray[np.int32]  # (questions,): text numbers
    hashes: NDArray[np.uint64]  # (questions,): of the question ids


class Pool(NamedTuple):
    """Questions whose answers are candidates of each other, by their bags of words."""

    questions: NDArray[np.int64]  # (pool,)
    bags: NDArray[np.int32]  # (pool,): NO_BAG for a question without words
    members: NDArray[np.int64]  # (pool,): indices into ``questions``, by bag
    member_starts: NDArray[np.int64]  # (bags + 1,)
    answer_starts: NDArray[np.int64]  # (bags + 1,): of distinct answers


class Picks(NamedTuple):
    """The decoys of each question; changed in place."""

    texts: NDArray[np.int32]  # (questions, decoys): text numbers, MISSING at the end
    kinds: NDArray[np.int8]  # (questions, decoys): PLAUSIBLE, POPULAR, RANDOM, MISSING at the end
    found: NDArray[np.int64]  # (questions,)


@njit(cache=True)
def _add(question: int, text: int, kind: int, questions: Questions, picks: Picks) -> int:
    """Add a text as a decoy and return MISSING; if it is not added, return the reason's index in GIVEN_REASONS."""
    key, decoy = questions.keys[text], picks.found[question]
    if decoy == picks.texts.shape[1]:
        return len(GIVEN_REASONS) - 1
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
def take_plausible(
    pool: Pool,
    given: NDArray[np.int32],
    given_starts: NDArray[np.int64],
    rng: np.uint64,
    questions: Questions,
    picks: Picks,
    not_taken: NDArray[np.int64],
) -> None:
    """Take answers given without the image, then those of questions with exactly the same words.

    The latter in cyclic order from a random one. ``not_taken``: counts given answers that are not taken, by
    GIVEN_REASONS.
    """
    for row, question in enumerate(pool.questions):
        for i in range(given_starts[question], given_starts[question + 1]):
            if picks.found[question] == N_PLAUSIBLE:
                not_taken[-1] += 1
                continue
            reason = _add(question, given[i], PLAUSIBLE, questions, picks)
            if reason != MISSING:
                not_taken[reason] += 1
        bag = pool.bags[row]
        if bag < 0:
            continue
        start, size = pool.member_starts[bag], pool.member_starts[bag + 1] - pool.member_starts[bag]
        first = below(draw(rng, questions.hashes[question], 0), size)
        most = min(N_PLAUSIBLE, picks.found[question] + pool.answer_starts[bag + 1] - pool.answer_starts[bag])
        for step in range(size):
            if picks.found[question] >= most:
                break
            other = pool.questions[pool.members[start + (first + step) % size]]
            _add(question, questions.targets[other], PLAUSIBLE, questions, picks)


@njit(cache=True, nogil=True)
def take_others(
    pool: Pool,
    donors: NDArray[np.int32],
    donors_of_bag: NDArray[np.int64],
    popular: NDArray[np.int32],
    distinct: NDArray[np.int32],
    rng: np.uint64,
    questions: Questions,
    picks: Picks,
) -> None:
    """Complete the candidates: answers of the most similar questions, popular ones, random ones.

    Args:
        pool: its questions.
        donors: questions of the pool as `nearest_answers` found them for some bags.
        donors_of_bag: row of each bag in ``donors``, or MISSING; MISSING at the end, for questions without a bag.
        popular: text numbers of the most popular answers.
        distinct: one text number of each distinct answer of the pool.
        rng: hash that starts the draws.
        questions: of the dataset.
        picks: changed in place.
    """
    for row, question in enumerate(pool.questions):
        of_bag = donors_of_bag[pool.bags[row]]
        if of_bag != MISSING:
            for donor in donors[of_bag]:
                if donor != MISSING and picks.found[question] < N_PLAUSIBLE:
                    _add(question, questions.targets[pool.questions[donor]], PLAUSIBLE, questions, picks)
        for text in popular:
            _add(question, text, POPULAR, questions, picks)
        first = below(draw(rng, questions.hashes[question], _MOST_DRAWS), len(distinct))
        for number in range(_MOST_DRAWS + len(distinct)):
            if picks.found[question] == picks.texts.shape[1]:
                break
            text = distinct[(first + number - _MOST_DRAWS) % len(distinct)]
            if number < _MOST_DRAWS:
                drawn = below(draw(rng, questions.hashes[question], number), len(pool.questions))
                text = questions.targets[pool.questions[drawn]]
            _add(question, text, RANDOM, questions, picks)


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
