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
"""After this many draws the rest is taken from the distinct answers, in cyclic order from a random one."""
_TARGET, _REPEATED, _HUMAN = 0, 1, 2
GIVEN_REASONS = ("the correct answer", "repeated", "another human answer", "more than wanted")
"""Reasons why an answer of a plausible file is not taken; the first three are indexed by the constants above."""


class Asked(NamedTuple):
    """The questions of a pool, and the keys of all texts."""

    keys: NDArray[np.int32]  # (texts,)
    targets: NDArray[np.int32]  # (questions,): text numbers
    hashes: NDArray[np.uint64]  # (questions,): of the question ids
    humans: NDArray[np.int32]  # the text numbers of all human answers, one question after the other
    human_starts: NDArray[np.int64]  # (questions + 1,)
    avoid_humans: bool  # whether plausible and random answers that another annotator gave are rejected


class Picks(NamedTuple):
    """The decoys of each question; changed in place."""

    texts: NDArray[np.int32]  # (questions, decoys): text numbers, MISSING at the end
    kinds: NDArray[np.int8]  # (questions, decoys): PLAUSIBLE, POPULAR, RANDOM, MISSING at the end
    found: NDArray[np.int64]  # (questions,)


def no_picks(questions: int, decoys: int) -> Picks:
    """Nothing picked yet."""
    return Picks(
        np.full((questions, decoys), MISSING, np.int32),
        np.full((questions, decoys), MISSING, np.int8),
        np.zeros(questions, np.int64),
    )


@njit(cache=True)
def _why_not(question: int, text: int, asked: Asked, picks: Picks, avoid_humans: bool) -> int:
    """The index in GIVEN_REASONS of why a text is no new decoy, or MISSING if it is one."""
    key = asked.keys[text]
    if key == asked.keys[asked.targets[question]]:
        return _TARGET
    for decoy in range(picks.found[question]):
        if asked.keys[picks.texts[question, decoy]] == key:
            return _REPEATED
    if avoid_humans:
        for i in range(asked.human_starts[question], asked.human_starts[question + 1]):
            if asked.keys[asked.humans[i]] == key:
                return _HUMAN
    return MISSING


@njit(cache=True)
def _add(question: int, text: int, kind: int, asked: Asked, picks: Picks) -> int:
    reason = _why_not(question, text, asked, picks, asked.avoid_humans and kind != POPULAR)
    if reason == MISSING:
        decoy = picks.found[question]
        picks.texts[question, decoy] = text
        picks.kinds[question, decoy] = kind
        picks.found[question] = decoy + 1
    return reason


@njit(cache=True, nogil=True)
def take_given(
    given: NDArray[np.int32], given_starts: NDArray[np.int64], most: int, asked: Asked, picks: Picks
) -> NDArray[np.int64]:
    """Take answers given without the image; return the number of answers not taken, by GIVEN_REASONS."""
    not_taken = np.zeros(len(GIVEN_REASONS), np.int64)
    for question in range(len(asked.targets)):
        for i in range(given_starts[question], given_starts[question + 1]):
            if picks.found[question] == most:
                not_taken[-1] += 1
                continue
            reason = _add(question, given[i], PLAUSIBLE, asked, picks)
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
    asked: Asked,
    picks: Picks,
) -> None:
    """Take the answers of questions with exactly the same words, in cyclic order from a random one."""
    for question in range(len(asked.targets)):
        bag = of_question[question]
        if bag < 0:
            continue
        start, size = member_starts[bag], member_starts[bag + 1] - member_starts[bag]
        n_answers = answer_starts[bag + 1] - answer_starts[bag]
        first = below(draw(rng, asked.hashes[question], 0), size)
        own = picks.found[question]
        for step in range(size):
            if picks.found[question] >= min(most, own + n_answers):
                break
            other = members[start + (first + step) % size]
            _add(question, asked.targets[other], PLAUSIBLE, asked, picks)


@njit(cache=True, nogil=True)
def take_neighbours(
    of_question: NDArray[np.int32],
    row_of_bag: NDArray[np.int64],
    donors: NDArray[np.int32],
    most: int,
    asked: Asked,
    picks: Picks,
) -> None:
    """Take the answers of the most similar other questions, as `nearest_answers` found them for some bags."""
    for question in range(len(asked.targets)):
        if of_question[question] < 0 or row_of_bag[of_question[question]] < 0:
            continue
        for donor in donors[row_of_bag[of_question[question]]]:
            if donor < 0 or picks.found[question] >= most:
                break
            _add(question, asked.targets[donor], PLAUSIBLE, asked, picks)


@njit(cache=True, nogil=True)
def take_popular_and_random(
    popular: NDArray[np.int32], distinct: NDArray[np.int32], rng: np.uint64, asked: Asked, picks: Picks
) -> None:
    """Complete the candidates.

    Args:
        popular: text numbers of the most popular answers.
        distinct: one text number of each distinct answer of the pool.
        rng: hash that starts the draws.
        asked: the questions, whose answers are also drawn.
        picks: changed in place.
    """
    wanted = picks.texts.shape[1]
    for question in range(len(asked.targets)):
        for text in popular:
            if picks.found[question] < wanted:
                _add(question, text, POPULAR, asked, picks)
        for number in range(_MOST_DRAWS):
            if picks.found[question] == wanted:
                break
            other = below(draw(rng, asked.hashes[question], number), len(asked.targets))
            _add(question, asked.targets[other], RANDOM, asked, picks)
        if picks.found[question] == wanted:
            continue
        first = below(draw(rng, asked.hashes[question], _MOST_DRAWS), len(distinct))
        for step in range(len(distinct)):
            if picks.found[question] == wanted:
                break
            _add(question, distinct[(first + step) % len(distinct)], RANDOM, asked, picks)


@njit(cache=True, nogil=True)
def count_humans(asked: Asked, picks: Picks) -> NDArray[np.int32]:
    """Number of annotators who gave each decoy as their answer, int32 (questions, decoys)."""
    times = np.zeros(picks.texts.shape, np.int32)
    for question in range(len(asked.targets)):
        for decoy in range(picks.found[question]):
            key = asked.keys[picks.texts[question, decoy]]
            for i in range(asked.human_starts[question], asked.human_starts[question + 1]):
                times[question, decoy] += asked.keys[asked.humans[i]] == key
    return times
