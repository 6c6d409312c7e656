"""Candidates for complementary images: near images, ranked by how likely the answer differs.

Goyal et al. 2017, Sect. 3: workers saw a question's 24 nearest images and picked one that the question makes sense
for and whose answer differs. Here every candidate has an estimated probability instead; candidates that lack an object
that the question presupposes come last.

For a question q with answer a and a candidate image c,

    P(a on c) = (sum of w(e) over the questions e whose answer is a + P(a | q)) / (sum of w(e) + 1)

over the questions e on c and on the images nearest to c, except q itself. The weight of a question is

    w(e) = cosine(words of q, words of e) ** SHARPNESS * exp(-(distance(c, image of e) / reach of c) ** 2)

on the images nearest to c, and ON_IMAGE * cosine ** SHARPNESS on c itself, if the cosine is LEAST_COSINE or more, else
0; the reach of c is its mean distance to its nearest images. P(a | q) is the frequency of answer a among the other
questions with the same words; its prior, with the weight of one question, is the frequency among those with the same
first two words, whose prior is the frequency among all. The probability that the answer differs is 1 - P(a on c).

The nearest images are exact: a float32 matrix product selects candidates, float64 decides.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit, over_ranges
from hf_vqa_mc.decoys.candidates import Float32s, Float64s, Int32s, Int64s, starts
from hf_vqa_mc.decoys.similar_questions import WordBags
from hf_vqa_mc.engines.complementary.premise import FAILS, PREMISES, ImageFacts, Premises
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.schema import check_triplets
from hf_vqa_mc.text.normalisation import comparable, words

_QUERIES = 128  # rows of the matrix of distances that are in memory at once
_ROUNDING = 2.0**-24
"""Unit roundoff of float32 (Higham 2002, Sect. 3.1: the error of a dot product of n pairs is about n times this)."""


class Nearest(NamedTuple):
    """The k images nearest to each image, nearest first; ties in the order of the images."""

    images: Int32s  # (images, k)
    distances: Float64s  # (images, k): Euclidean


def nearest_images(features: Float32s, k: int, progress: Callable[[int], None] = lambda done: None) -> Nearest:
    """Find the k other images nearest to each image by Euclidean distance of finite features (images, dim)."""
    n, k = len(features), min(k, max(len(features) - 1, 0))
    found = Nearest(np.full((n, k), -1, np.int32), np.full((n, k), np.inf))
    # centred, and scaled to a largest value of 1, against cancellation and overflow
    centred = features - features.mean(axis=0, dtype=np.float64).astype(np.float32)
    centred /= np.abs(centred).max(initial=0.0) or 1.0
    lengths = np.sqrt(np.einsum("ij,ij->i", centred, centred, dtype=np.float64))
    slack = (features.shape[1] + 16) * _ROUNDING
    for start in range(0, n if k else 0, _QUERIES):
        own = np.arange(start, min(start + _QUERIES, n))
        about = lengths[own, None] ** 2 + lengths**2 - 2.0 * (centred[own] @ centred.T)
        about[own - start, own] = np.inf
        error = slack * (lengths[own, None] + lengths) ** 2
        upper = np.partition(about + error, k - 1)[:, k - 1 : k]
        for image, is_near in zip(own.tolist(), about - error <= upper, strict=True):
            near = np.flatnonzero(is_near)
            differences = features[image].astype(np.float64) - features[near]
            exact = np.cumsum(differences * differences, axis=1)[:, -1]
            best = np.argsort(exact, kind="stable")[:k]
            found.images[image], found.distances[image] = near[best], np.sqrt(exact[best])
        progress(int(own[-1]) + 1)
    return found


N_CANDIDATES = 24  # nearest images shown to a worker (Goyal et al. 2017, Sect. 3)

COMPLEMENTARY = pa.schema(
    [
        ("question_id", pa.string()),
        ("image_id", pa.string()),
        ("split", pa.string()),
        ("question", pa.string()),
        ("answer", pa.string()),
        ("candidates", pa.list_(pa.string())),  # image ids, best first; premise "fails" last
        ("distances", pa.list_(pa.float64())),  # Euclidean, between the features
        ("differs", pa.list_(pa.float64())),  # probability in [0, 1] that the answer differs
        ("evidence", pa.list_(pa.float64())),  # of the estimate: the sum of w
        ("premise", pa.list_(pa.string())),  # whether the question's premise holds: one of PREMISES
    ]
)
"""One row per question."""

# Ours:
SHARPNESS = 8.0  # two questions of five words that differ in one (cosine 0.8) have weight 0.17
ON_IMAGE = 10.0  # weight of the same question about the candidate itself, which outweighs those about nearby images
LEAST_COSINE = 0.5  # less similar questions share only words such as "what is the"
_OPENING = 2  # first words that define a type of question, for the prior of questions that occur once
_QUESTIONS_PER_TASK = 1024


def complementary(
    features: Float32s,
    image_ids: Sequence[str],
    triplets: pa.Table,
    *,
    k: int = N_CANDIDATES,
    known: ImageFacts | None = None,
    progress: Progress = silent,
) -> tuple[pa.Table, dict[str, Any]]:
    """Rank the images nearest to each question's image by how likely the question's answer differs there.

    Candidates whose premise is known to fail come last, whatever the estimate; ties are in the order of nearness.
    ``premise`` is one of PREMISES: the objects that the question presupposes are all known to be in the candidate
    image (holds), one is known to be absent (fails), neither is known (unknown), or the question presupposes nothing,
    like "is there a dog?" (none).

    ``features``: float32 (images, dim), may be memory-mapped; ``triplets``: a table ``schema.TRIPLETS``, of which
    questions about images without features are left out and counted. Returns a table ``COMPLEMENTARY``, in the order
    of the triplets, and statistics for JSON.
    """
    if len(broken := np.flatnonzero(~np.isfinite(features).all(axis=1))):
        what = f"the features of the image with image_id {image_ids[broken[0]]!r} are not finite (NaN or infinity)"
        raise InputError(f"{what}; run vqa-mc features again")
    given = check_triplets(triplets, "triplets")["image_id"].to_pylist()
    images = pd.Index(list(image_ids), dtype=object).get_indexer(pd.Index(given, dtype=object)).astype(np.int32)
    if not (images >= 0).any():
        mine, others = triplets["image_id"][0].as_py(), f", such as {image_ids[0]!r}" if image_ids else ""
        raise InputError(
            f"no question is about an image with features: questions have image ids such as {mine!r}, and there are "
            f"features of {len(image_ids):,} images{others}; extract features from this dataset's images"
        )
    table, images = triplets.filter(pa.array(images >= 0)).combine_chunks(), images[images >= 0]
    questions, answers = table["question"].to_pylist(), table["target"].to_pylist()
    near = nearest_images(features, k, lambda done: progress("nearest images", done, len(image_ids)))
    candidates = near.images[images]  # int32 (questions, candidates)
    differs, evidence = _estimates(questions, answers, images, near)
    premises = Premises(image_ids, zip(questions, answers, images.tolist(), strict=True), known or ImageFacts())
    judged = np.zeros(candidates.shape, np.int8)
    for row, (question, row_images) in enumerate(zip(questions, candidates.tolist(), strict=True)):
        judged[row] = premises.judge(question, row_images)
        if not row % 4096:
            progress("premises", row, len(questions))
    progress("premises", len(questions), len(questions))
    width = candidates.shape[1]
    order = np.lexsort((-differs, judged == FAILS))
    parts: tuple[NDArray[Any], ...] = (candidates, near.distances[images], differs, evidence, judged)
    candidates, distances, differs, evidence, judged = (np.take_along_axis(part, order, axis=1) for part in parts)
    lists: list[pa.Array] = [pa.array(image_ids, pa.string()).take(pa.array(candidates.ravel()))]
    lists += [pa.array(part.ravel()) for part in (distances, differs, evidence)]
    lists.append(pa.array(PREMISES, pa.string()).take(pa.array(judged.ravel())))
    offsets = pa.array(starts([width] * len(candidates)).astype(np.int32))
    columns = [table[name] for name in ("question_id", "image_id", "split", "question", "target")]
    columns += [pa.ListArray.from_arrays(offsets, values) for values in lists]
    figures = {
        "questions": table.num_rows,
        "left_out": {"no features of the image": triplets.num_rows - table.num_rows},
        "images": len(near.images),
        "candidates_per_question": width,
        "candidates_missing": (k - width) * table.num_rows,
        "premise": {name: int((judged == number).sum()) for number, name in enumerate(PREMISES)},
        "estimates": {
            "by questions on or near the candidate": int((evidence > 0).sum()),
            "by the question alone": int((evidence == 0).sum()),
        },
        "first_candidate": {
            "is_the_nearest": int((order[:, 0] == 0).sum()) if width else 0,
            "mean_probability": float(differs[:, 0].mean()) if width else None,
        },
    }
    return pa.Table.from_arrays(columns, schema=COMPLEMENTARY), figures


def _estimates(questions: list[str], answers: list[str], images: Int32s, near: Nearest) -> tuple[Float64s, Float64s]:
    """The probability that the answer differs, and the evidence of the estimate, float64 (questions, candidates)."""
    candidates, bags = near.images[images], WordBags(questions)
    keys = pd.factorize(np.array([comparable(text) for text in answers], object))[0].astype(np.int32)
    reach = near.distances.mean(axis=1) if near.distances.shape[1] else np.zeros(len(near.distances))
    of_image, image_starts = np.argsort(images, kind="stable"), starts(np.bincount(images, minlength=len(near.images)))
    words_of = bags.of_question, bags.words, bags.word_starts, bags.squares
    found = np.empty(candidates.shape), np.empty(candidates.shape)
    given = candidates, near, reach, keys, of_image, image_starts, _priors(questions, bags, keys), words_of
    over_ranges(_estimate, len(questions), _QUESTIONS_PER_TASK, *given, *found)
    return found


def _priors(questions: Sequence[str], bags: WordBags, answers: Int32s) -> Float64s:
    """P(a | q) of each question's own answer, float64 (questions,) in [0, 1]."""
    openings = [" ".join(words(text)[:_OPENING]) for text in questions]
    alone = np.arange(len(answers)) + bags.size  # a question without words is a group of its own
    same_words = np.where(bags.of_question >= 0, bags.of_question, alone)
    shares = np.zeros(len(answers))
    for groups in (np.zeros(len(answers)), openings, same_words):
        rows = pd.DataFrame({"group": groups, "answer": answers})
        same, others = (rows.groupby(by)["answer"].transform("size") - 1 for by in (["group", "answer"], "group"))
        shares = ((same + shares) / (others + 1)).to_numpy()
    return shares


@njit(cache=True)
def _cosine(one: int, other: int, words_of: Int32s, word_starts: Int64s, squares: Int64s) -> float:
    if one < 0 or other < 0:
        return 0.0
    if one == other:
        return 1.0
    product = 0
    for a in range(word_starts[one], word_starts[one + 1]):
        for b in range(word_starts[other], word_starts[other + 1]):
            product += words_of[a] == words_of[b]
    return float(product / np.sqrt(np.float64(squares[one]) * np.float64(squares[other])))


@njit(cache=True, nogil=True)
def _estimate(
    first: int,
    last: int,
    candidates: Int32s,
    near: Nearest,
    reach: Float64s,
    answers: Int32s,
    of_image: Int64s,
    image_starts: Int64s,
    priors: Float64s,
    bags: tuple[Int32s, Int32s, Int64s, Int64s],
    differs: Float64s,
    evidence: Float64s,
) -> None:
    """Fill in the rows of some questions; image i has ``of_image[image_starts[i] : image_starts[i + 1]]``."""
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
