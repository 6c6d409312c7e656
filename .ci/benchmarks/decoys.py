"""How fast decoys are made, beside the method taken literally: `python .ci/benchmarks/decoys.py [cocoqa|synthetic]`.

COCO-QA, VQA v1's questions, GloVe and WordNet come from the real data; without them nothing is measured.
"""

import json
import os
import re
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from random import Random
from typing import TypeVar

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.decoys import kind_number
from hf_vqa_mc.decoys.rng import purpose_hash, shuffled, text_hashes
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.similar_questions import QuestionGroups, SimilarQuestions
from hf_vqa_mc.decoys.variants import BuiltVariant, build_variants
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.sources.source import read_triplets
from hf_vqa_mc.sources.table import triplet_table
from hf_vqa_mc.text.normalisation import comparable, words
from hf_vqa_mc.text.word_vectors import WordVectors, load_word_vectors

T = TypeVar("T")
Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

ROOT = Path(__file__).resolve().parents[2]
REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or ROOT.parent / "shared" / "data")
GLOVE = REAL_DATA / "word_vectors" / "glove.6B.100d.subset.txt.xz"
VQA = REAL_DATA / "vqa_v1" / "vqacp_v1_test_question_new.json.xz"
THREADS = 2
N_SIMILAR, K, THRESHOLD = 10_000, 3, 0.9
N_LITERAL_ROWS = 256
N_NLTK_PAIRS = 120  # plain NLTK does about 45 a second
N_SYNTHETIC = 1_400_000
QUESTIONS_AN_IMAGE = 14  # as in Visual Genome
N_QUERIES = 200


def rows(parts: Sequence[str] = ("cocoqa", "synthetic")) -> list[Row]:
    """The figures; none without the real data."""
    if not GLOVE.is_file():
        print(f"decoys: skipped, no {GLOVE}")
        return []
    found: list[Row] = []
    if "cocoqa" in parts:
        found += cocoqa_rows()
    if "synthetic" in parts:
        done = subprocess.run([sys.executable, __file__, "synthetic-process"], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"decoys: the synthetic triplets failed\n{done.stderr}")
        found += [(what, value, unit, required) for what, value, unit, required in json.loads(done.stdout)]
    return found


def cocoqa_rows() -> list[Row]:
    """All decoys of a real dataset, ours and the literal method's."""
    triplets, vectors = read_triplets("cocoqa", REAL_DATA / "cocoqa"), load_word_vectors(str(GLOVE))
    seconds, variant = timed_build(triplets, vectors)
    matrix, walk, pairs, nltk = literal_seconds(triplets, vectors, variant)
    literal = matrix + walk + pairs * nltk
    n = triplets.num_rows
    return [
        (f"IoU and QoU decoys of COCO-QA ({n:,} triplets), {threads()} threads", seconds, "s", "< 20"),
        (f"the literal method: the {N_SIMILAR:,} most similar of each, by torch", matrix, "s", ""),
        ("the literal method: offering them, similarities known", walk, "s", ""),
        (f"the literal method: {pairs:,} similarities by NLTK, each once", pairs * nltk, "s", ""),
        ("the literal method as a whole, to ours", literal / seconds, "times", ">= 50"),
        wrong_neighbours(triplets["question"].to_pylist(), vectors, "COCO-QA"),
    ]


def synthetic_rows() -> list[Row]:
    """As many triplets as Visual Genome has, in this process, which does nothing else."""
    vectors = load_word_vectors(str(GLOVE))
    triplets = synthetic_triplets()
    seconds, _ = timed_build(triplets, vectors)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    n = triplets.num_rows
    return [
        (f"IoU and QoU decoys of {n:,} synthetic triplets, {threads()} threads", seconds, "s", "< 120"),
        ("peak memory of that", peak, "GB", "< 6"),
        wrong_neighbours(triplets["question"].to_pylist(), vectors, "the synthetic triplets"),
    ]


def timed_build(triplets: pa.Table, vectors: WordVectors) -> tuple[float, BuiltVariant]:
    """Seconds from triplets to the rows of iou_qou and their statistics; everything is compiled before."""
    numba.set_num_threads(threads())
    list(build_variants(triplets.slice(0, 2_000), ["iou_qou"], vectors, Settings()))
    start = time.perf_counter()
    (variant,) = build_variants(triplets, ["iou_qou"], vectors, Settings())
    return time.perf_counter() - start, variant


def threads() -> int:
    """Two, or one where there are no more."""
    return min(THREADS, os.cpu_count() or 1)


# the literal method --------------------------------------------------------------------------------------------------


def literal_seconds(
    triplets: pa.Table, vectors: WordVectors, variant: BuiltVariant
) -> tuple[float, float, int, float]:
    """What a plain programme needs at least for all triplets, from some of them.

    Its similarities are kept: NLTK is asked once for each pair of texts that stand in one row of the result, as target
    and decoy or as decoys of one kind, which have passed the filter; rejected ones cost nothing.

    Returns:
        Seconds for the most similar triplets, seconds for offering their targets, pairs, seconds a pair.
    """
    import torch

    targets, images = triplets["target"].to_pylist(), triplets["image_id"].to_pylist()
    of_image: dict[str, list[int]] = defaultdict(list)
    for place, image in enumerate(images):
        of_image[image].append(place)
    hashes = text_hashes(triplets["question_id"].to_pylist())
    embedding, vectors_of = timed(lambda: average_vectors(triplets["question"].to_pylist(), vectors))
    averages = torch.from_numpy(vectors_of.astype(np.float32))
    sample = np.random.default_rng(0).choice(len(targets), N_LITERAL_ROWS, replace=False).tolist()
    matrix, most_similar = timed(lambda: (averages @ averages[sample].T).T.topk(N_SIMILAR + 1).indices.tolist())

    known: dict[tuple[str, str], float] = defaultdict(float)  # as fast as a cache can be
    start = time.perf_counter()
    for place, similar in zip(sample, most_similar, strict=True):
        others = of_image[images[place]]
        order = shuffled(purpose_hash(0, "iou"), hashes[place], hashes[others])
        for candidates in ([others[n] for n in order], similar):
            offer(targets[place], (targets[n] for n in candidates if n != place), known)
    walk = time.perf_counter() - start

    pairs = sorted(accepted_pairs(variant))
    wordnet = runpy.run_path(str(Path(__file__).with_name("wordnet.py")))
    with tempfile.TemporaryDirectory() as scratch:
        reader = wordnet["nltk_reader"](Path(scratch))
        some = [(tuple(words(a)), tuple(words(b))) for a, b in Random(0).sample(pairs, N_NLTK_PAIRS)]
        for word in {word for pair in some for phrase in pair for word in phrase}:
            wordnet["nltk_synsets"](reader, word)  # NLTK reads a synset from its files once; that is not measured
        nltk, _ = timed(lambda: [wordnet["nltk_phrase_wup"](reader, a, b) for a, b in some])
    share = len(targets) / N_LITERAL_ROWS
    return embedding + matrix * share, walk * share, len(pairs), nltk / N_NLTK_PAIRS


def offer(target: str, candidates: Iterable[str], known: dict[tuple[str, str], float]) -> list[str]:
    """The first candidates that pass the filters."""
    taken: list[str] = []
    for candidate in candidates:
        if len(taken) == K:
            break
        if comparable(candidate) in map(comparable, (target, *taken)):
            continue
        a, b = (re.sub(r"[-'’\s]+", "", comparable(text)) for text in (candidate, target))
        if a in b or b in a or any(known[candidate, text] >= THRESHOLD for text in (target, *taken)):
            continue
        taken.append(candidate)
    return taken


def accepted_pairs(variant: BuiltVariant) -> set[tuple[str, str]]:
    """Pairs of texts whose similarity was looked at, each once: those that stand side by side."""
    found: set[tuple[str, str]] = set()
    for table in variant.splits.values():
        columns = (table[name].to_pylist() for name in ("choices", "choice_kinds", "choice_fallback", "label"))
        for choices, kinds, fallback, label in zip(*columns, strict=True):
            for kind in ("iou", "qou"):
                number = kind_number(kind)
                texts = [t for t, k, f in zip(choices, kinds, fallback, strict=True) if k == number and not f]
                texts.append(choices[label])
                found.update((min(a, b), max(a, b)) for n, a in enumerate(texts) for b in texts[:n])
    return found


# exactness -----------------------------------------------------------------------------------------------------------


def average_vectors(questions: Sequence[str], vectors: WordVectors) -> NDArray[np.float64]:
    """The unit vector along each question's average word vector; zero without words."""
    bags = [words(question) for question in questions]
    vocabulary = list(dict.fromkeys(word for bag in bags for word in bag))
    number = {word: place for place, word in enumerate(vocabulary)}
    of_word = vectors.rows(vocabulary)[0].astype(np.float64)
    averages: NDArray[np.float64] = np.array([of_word[[number[word] for word in bag]].sum(axis=0) for bag in bags])
    lengths = np.linalg.norm(averages, axis=1, keepdims=True)
    np.divide(averages, lengths, out=averages, where=lengths > 0)
    return averages


def wrong_neighbours(questions: Sequence[str], vectors: WordVectors, where: str) -> Row:
    """How many of some lists of neighbours are not those of brute force in float64."""
    groups = QuestionGroups(questions, vectors)
    averages = average_vectors([questions[index] for index in groups.arrays.first], vectors)
    queries = np.sort(np.random.default_rng(0).choice(groups.size, N_QUERIES, replace=False)).astype(np.int32)
    wrong, k = 0, 64
    for some, found in SimilarQuestions(groups).nearest(queries, k):
        for query, mine in zip(some.tolist(), found.cosines, strict=True):
            cosines = averages @ averages[query]
            cosines[query] = -np.inf
            wrong += not np.allclose(mine, -np.sort(-cosines)[:k], rtol=0, atol=1e-12)
    return (f"of {N_QUERIES} lists of neighbours differ from brute force, {where}", float(wrong), "", "<= 0")


# synthetic triplets --------------------------------------------------------------------------------------------------


def synthetic_triplets() -> pa.Table:
    """Questions of a trigram model of VQA v1's, each with an answer to a real question of the same first two words."""
    with unpacked(VQA) as file:
        records = json.load(file)
    following: dict[tuple[str, str], list[str]] = defaultdict(list)
    answers: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for record in records:
        question = words(record["question"])
        answers[tuple(question[:2])].append(record["multiple_choice_answer"])
        for a, b, c in zip(["", "", *question], ["", *question, "?"], [*question, "?", ""], strict=True):
            following[a, b].append(c)
    chance = Random(0)
    questions = [made_up_question(following, chance) for _ in range(N_SYNTHETIC)]
    return triplet_table(
        question_id=[f"q{n}" for n in range(N_SYNTHETIC)],
        image_id=[f"image {n // QUESTIONS_AN_IMAGE}" for n in range(N_SYNTHETIC)],
        split=["train" if n % 2 else "test" for n in range(N_SYNTHETIC)],
        question=[" ".join(question) for question in questions],
        target=[chance.choice(answers[tuple(question[:2])]) for question in questions],
        image_file=[""] * N_SYNTHETIC,
    )


def made_up_question(following: dict[tuple[str, str], list[str]], chance: Random) -> list[str]:
    """Word after word by the two before it."""
    question = ["", ""]
    while len(question) < 28 and (word := chance.choice(following[question[-2], question[-1]])) != "?":
        question.append(word)
    return question[2:]


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds taken, and what came out."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    if sys.argv[1:] == ["synthetic-process"]:
        print(json.dumps(synthetic_rows()))
    else:
        for what, value, unit, required in rows(sys.argv[1:] or ("cocoqa", "synthetic")):
            print(f"{what:90} {value:12,.2f} {unit:6} {required}")
