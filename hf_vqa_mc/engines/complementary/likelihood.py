"""Probability that a question's answer differs for another image, estimated from the dataset's own questions.

For a question q with answer a and a candidate image c,

    P(a on c) = (sum of w(e) over the questions e whose answer is a + P(a | q)) / (sum of w(e) + 1)

over the questions e on c and on the images nearest to c, except q itself. The weight of a question is

    w(e) = cosine(words of q, words of e) ** SHARPNESS * exp(-(distance(c, image of e) / reach of c) ** 2)

on the images nearest to c, and ON_IMAGE * cosine ** SHARPNESS on c itself, if the cosine is LEAST_COSINE or more, else
0; the reach of c is its mean distance to its nearest images. P(a | q) is the frequency of answer a among the other
questions with the same words; its prior, with the weight of one question, is the frequency among those with the same
first two words, whose prior is the frequency among all. The probability that the answer differs is 1 - P(a on c).
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.decoys.word_bags import WordBags
from hf_vqa_mc.engines.complementary.nearest import Nearest
from hf_vqa_mc.text.normalisation import comparable, words

SHARPNESS = 8.0
"""Two questions of five words that differ in one (cosine 0.8) have weight 0.17; ours."""
ON_IMAGE = 10.0
"""Weight of the same question about the candidate itself; it outweighs questions about nearby images; ours."""
LEAST_COSINE = 0.5
"""Less similar questions share only words such as "what is the"; ours."""
_OPENING = 2
"""Number of first words that define a type of question, for the prior of questions that occur once; ours."""
_QUESTIONS_PER_TASK = 1024


def answer_differs(
    questions: Sequence[str],
    answers: Sequence[str],
    images: NDArray[np.int32],
    candidates: NDArray[np.int32],
    near: Nearest,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Estimate how likely the answers of questions differ for other images; the formula is in the module docstring.

    Args:
        questions: the texts of all questions.
        answers: their answers; those with the same comparable text are equal.
        images: int32 (questions,), the index of each question's image.
        candidates: int32 (questions, candidates), indices of images.
        near: the nearest images of all images.

    Returns:
        The probability that the answer differs, float64 (questions, candidates) in [0, 1]; and the evidence for it,
        the sum of w, from 0.
    """
    bags = WordBags.group(questions)
    numbers: dict[str, int] = {}
    keys = np.array([numbers.setdefault(comparable(text), len(numbers)) for text in answers], np.int32)
    differs, evidence = np.empty(candidates.shape), np.empty(candidates.shape)
    reach = near.distances.mean(axis=1) if near.distances.shape[1] else np.zeros(len(near.distances))
    over_ranges(
        _estimate,
        len(questions),
        _QUESTIONS_PER_TASK,
        candidates,
        near,
        reach,
        keys,
        np.argsort(images, kind="stable"),
        starts(np.bincount(images, minlength=len(near.images))),
        _priors(questions, bags, keys),
        (bags.of_question, bags.words, bags.word_starts, bags.squares),
        differs,
        evidence,
    )
    return differs, evidence


def _priors(questions: Sequence[str], bags: WordBags, answers: NDArray[np.int32]) -> NDArray[np.float64]:
    """P(a | q) of each question's own answer, float64 (questions,) in [0, 1]."""
    numbers: dict[tuple[str, ...], int] = {}
    openings = [numbers.setdefault(tuple(words(text)[:_OPENING]), len(numbers)) for text in questions]
    alone = np.arange(len(answers)) + bags.size  # a question without words is a group of its own
    same_words = np.where(bags.of_question >= 0, bags.of_question, alone)
    shares = np.zeros(len(answers))
    for groups in ([0] * len(answers), openings, same_words.tolist()):
        pairs = list(zip(groups, answers.tolist(), strict=True))
        of_pair, of_group = Counter(pairs), Counter(groups)
        same = np.array([of_pair[pair] for pair in pairs]) - 1
        others = np.array([of_group[group] for group in groups]) - 1
        shares = (same + shares) / (others + 1)
    return shares


@njit(cache=True)
def _cosine(
    one: int, other: int, words_of: NDArray[np.int32], word_starts: NDArray[np.int64], squares: NDArray[np.int64]
) -> float:
    """Cosine of the word counts of two bags, whose words are sorted."""
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
    """Fill in the rows of some questions; image i has the questions of_image[image_starts[i]:image_starts[i + 1]]."""
    bag_of, words_of, word_starts, squares = bags
    for question in range(first, last):
        for column in range(candidates.shape[1]):
            candidate = candidates[question, column]
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
            differs[question, column] = min(max(1.0 - (same + priors[question]) / (total + 1.0), 0.0), 1.0)
            evidence[question, column] = total
