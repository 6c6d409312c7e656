"""How likely an answer differs on another image, from the questions that the dataset asks there and nearby.

Of a question q with answer a, and a candidate image c:

    P(a on c) = (sum of w(e) over the questions e whose answer is a + P(a | q)) / (sum of w(e) + 1)

over the questions e on c and on the images nearest to c, q itself left out. A question counts by

    w(e) = cosine(words of q, words of e) ** SHARPNESS * exp(-(distance(c, image of e) / reach of c) ** 2)

on the images nearest to c, and ON_IMAGE * cosine ** SHARPNESS on c itself, if the cosine is LEAST_COSINE or more, else
by 0; the reach of c is its mean distance to its nearest images. P(a | q) is how often other questions with the same
words have that answer, smoothed by how often those with the same first two words have, that by how often all have:
each as one more question. The answer differs with 1 - P(a on c).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.decoys.word_bags import WordBags
from hf_vqa_mc.engines.complementary.nearest import Nearest
from hf_vqa_mc.text.normalisation import comparable, words

SHARPNESS = 8.0
"""Two questions of five words that differ in one (cosine 0.8) count 0.17; ours."""
ON_IMAGE = 10.0
"""The same question on the candidate itself, whose answer is known there, outweighs what is asked nearby; ours."""
LEAST_COSINE = 0.5
"""Questions less alike share words such as "what is the" only; ours."""
_OPENING = 2
"""Words of a question that tell its kind, for answers to questions that are not asked elsewhere; ours."""
_QUESTIONS_AT_A_GO = 1024


@dataclass(frozen=True, eq=False)
class Asked:
    """The questions of a dataset."""

    bags: WordBags
    answers: NDArray[np.int32]
    """(questions,): the key of each answer; those that count as the same share one"""
    images: NDArray[np.int32]
    """(questions,): the place of each one's image"""
    of_image: NDArray[np.int64]
    """the questions of all images, one image after the other"""
    image_starts: NDArray[np.int64]
    """(images + 1,)"""
    priors: NDArray[np.float64]
    """(questions,): P(a | q) of each one's own answer, in [0, 1]"""

    @classmethod
    def of(cls, questions: Sequence[str], answers: Sequence[str], images: NDArray[np.int32], n_images: int) -> "Asked":
        """Makes them ready; images: the place of each question's image."""
        bags = WordBags.group(questions)
        numbers: dict[str, int] = {}
        keys = np.array([numbers.setdefault(comparable(text), len(numbers)) for text in answers], np.int32)
        return cls(
            bags=bags,
            answers=keys,
            images=images,
            of_image=np.argsort(images, kind="stable"),
            image_starts=starts(np.bincount(images, minlength=n_images)),
            priors=_priors(questions, bags, keys),
        )


def _priors(questions: Sequence[str], bags: WordBags, answers: NDArray[np.int32]) -> NDArray[np.float64]:
    numbers: dict[tuple[str, ...], int] = {}
    openings = [numbers.setdefault(tuple(words(text)[:_OPENING]), len(numbers)) for text in questions]
    alone = np.arange(len(answers)) + bags.size  # questions without words have none like them
    same_words = np.where(bags.of_question >= 0, bags.of_question, alone)
    shares = np.zeros(len(answers))
    for groups in (np.zeros(len(answers), np.int64), np.array(openings), same_words):
        given = Counter(zip(groups.tolist(), answers.tolist(), strict=True))
        sizes = Counter(groups.tolist())
        same = np.array([given[pair] for pair in zip(groups.tolist(), answers.tolist(), strict=True)]) - 1
        others = np.array([sizes[group] for group in groups.tolist()]) - 1
        shares = (same + shares) / (others + 1)
    return shares


def answer_differs(
    asked: Asked, rows: NDArray[np.int64], candidates: NDArray[np.int32], near: Nearest
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How likely the answers of some questions differ on other images; see the top of this file.

    Args:
        asked: all questions.
        rows: some of them.
        candidates: int32 (rows, any number), places of images.
        near: the nearest images of all images.

    Returns:
        The probability that the answer differs, float64 (rows, candidates) in [0, 1]; and on how much that rests, the
        sum of w, from 0.
    """
    differs, evidence = np.empty(candidates.shape), np.empty(candidates.shape)
    reach = near.distances.mean(axis=1) if near.distances.shape[1] else np.zeros(len(near.distances))
    bags = asked.bags
    over_ranges(
        _estimate,
        len(rows),
        _QUESTIONS_AT_A_GO,
        rows,
        candidates,
        near,
        reach,
        asked.answers,
        asked.of_image,
        asked.image_starts,
        asked.priors,
        (bags.of_question, bags.words, bags.word_starts, bags.squares),
        differs,
        evidence,
    )
    return differs, evidence


@njit(cache=True)
def _cosine(
    one: int,
    other: int,
    words_of: NDArray[np.int32],
    word_starts: NDArray[np.int64],
    squares: NDArray[np.int64],
) -> float:
    """Of the word counts of two bags, whose words stand sorted."""
    if one < 0 or other < 0:
        return 0.0
    if one == other:
        return 1.0
    a, a_end, b, b_end = word_starts[one], word_starts[one + 1], word_starts[other], word_starts[other + 1]
    product = 0
    while a < a_end and b < b_end:
        if words_of[a] < words_of[b]:
            a += 1
        elif words_of[a] > words_of[b]:
            b += 1
        else:
            word, mine, theirs = words_of[a], 0, 0
            while a < a_end and words_of[a] == word:
                a, mine = a + 1, mine + 1
            while b < b_end and words_of[b] == word:
                b, theirs = b + 1, theirs + 1
            product += mine * theirs
    return float(product / np.sqrt(np.float64(squares[one]) * np.float64(squares[other])))


@njit(cache=True, nogil=True)
def _estimate(
    first: int,
    last: int,
    rows: NDArray[np.int64],
    candidates: NDArray[np.int32],
    near: Nearest,
    reach: NDArray[np.float64],
    answers: NDArray[np.int32],
    of_image: NDArray[np.int64],
    image_starts: NDArray[np.int64],
    priors: NDArray[np.float64],
    bags: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int64], NDArray[np.int64]],
    differs: NDArray[np.float64],
    evidence: NDArray[np.float64],
) -> None:
    bag_of, words_of, word_starts, squares = bags
    for row in range(first, last):
        question = rows[row]
        for place in range(candidates.shape[1]):
            candidate = candidates[row, place]
            total, same = 0.0, 0.0
            for step in range(-1, near.images.shape[1]):
                image, nearness = candidate, ON_IMAGE
                if step >= 0:
                    image, distance = near.images[candidate, step], near.distances[candidate, step]
                    nearness = np.exp(-((distance / reach[candidate]) ** 2)) if reach[candidate] > 0.0 else 1.0
                for i in range(image_starts[image], image_starts[image + 1]):
                    other = of_image[i]
                    if other == question:
                        continue
                    cosine = _cosine(bag_of[question], bag_of[other], words_of, word_starts, squares)
                    if cosine < LEAST_COSINE:
                        continue
                    weight = nearness * cosine**SHARPNESS
                    total += weight
                    if answers[other] == answers[question]:
                        same += weight
            differs[row, place] = min(max(1.0 - (same + priors[question]) / (total + 1.0), 0.0), 1.0)
            evidence[row, place] = total
