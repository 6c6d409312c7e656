"""How fast VQA's 18 candidates are made, beside the paper taken literally: `python .ci/benchmarks/vqa_candidates.py`.

VQA v1's questions come from the real data; without them nothing is measured.
"""

import json
import os
import resource
import sys
import time
from collections import Counter
from pathlib import Path

import numba
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.decoys.rng import below, draw, purpose_hash, text_hashes
from hf_vqa_mc.engines.vqa_candidates import vqa_candidates
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.sources.table import text_lists, triplet_table
from hf_vqa_mc.text.normalisation import comparable, words

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

ROOT = Path(__file__).resolve().parents[2]
REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or ROOT.parent / "shared" / "data")
VQA = REAL_DATA / "vqa_v1" / "vqacp_v1_test_question_new.json.xz"
N_LITERAL = 200
N_PLAUSIBLE = 3


def rows() -> list[Row]:
    """The figures; none without the real data."""
    if not VQA.is_file():
        print(f"vqa_candidates: skipped, no {VQA}")
        return []
    triplets = real_triplets()
    vqa_candidates(triplets.slice(0, 500))  # which compiles
    threads = numba.get_num_threads()
    numba.set_num_threads(1)
    start = time.perf_counter()
    table, told = vqa_candidates(triplets)
    seconds = time.perf_counter() - start
    numba.set_num_threads(threads)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
    literal, differ = beside_literal(triplets, table)
    n = triplets.num_rows
    if differ or told["candidates"] != {"18": n}:
        raise SystemExit(f"vqa_candidates: {differ:.0f} of {N_LITERAL} questions have wrong plausible answers")
    return [
        (f"18 candidates of {n:,} VQA v1 questions, 1 thread", seconds, "s", "< 60"),
        ("peak memory of that", peak, "GB", "< 2"),
        ("the literal search for plausible answers, from some questions", literal, "s", ""),
        ("the literal search alone, to ours as a whole", literal / seconds, "times", ">= 50"),
        (f"of {N_LITERAL} questions have other plausible answers than by the literal search", differ, "", "<= 0"),
    ]


def real_triplets() -> pa.Table:
    """VQA v1 as VQA-CP's test file has it."""
    with unpacked(VQA) as file:
        records = json.load(file)
    return triplet_table(
        question_id=[str(record["question_id"]) for record in records],
        image_id=[str(record["image_id"]) for record in records],
        split=["train" if record["coco_split"] == "train2014" else "validation" for record in records],
        question=[record["question"] for record in records],
        target=[record["multiple_choice_answer"] for record in records],
        answers=text_lists([record["answer"] for record in records]),
        image_file=[""] * len(records),
    )


def beside_literal(triplets: pa.Table, table: pa.Table) -> tuple[float, float]:
    """Seconds that a plain programme needs for all plausible answers, and how many of some questions' are not ours."""
    questions, targets = triplets["question"].to_pylist(), triplets["target"].to_pylist()
    hashes = text_hashes(triplets["question_id"].to_pylist())
    counts, lengths = sparse_counts(questions)
    sample = np.random.default_rng(0).choice(len(questions), N_LITERAL, replace=False).tolist()
    decoys = table["orig_decoys"]
    differ, start = 0, time.perf_counter()
    for place in sample:
        shared = np.asarray((counts @ counts[place].T).todense()).ravel()
        found = first_answers(place, shared.astype(np.int64), lengths, targets, hashes)
        differ += decoys[place].as_py()[:N_PLAUSIBLE] != found
    return (time.perf_counter() - start) * len(questions) / N_LITERAL, float(differ)


def sparse_counts(questions: list[str]) -> tuple["object", NDArray]:
    """How often each word occurs in each question, scipy's sparse matrix, and the squares of the rows' lengths."""
    from scipy.sparse import csr_array

    bags = [Counter(words(question)) for question in questions]
    number = {word: place for place, word in enumerate(dict.fromkeys(word for bag in bags for word in bag))}
    columns = [number[word] for bag in bags for word in bag]
    values = [count for bag in bags for count in bag.values()]
    starts = np.cumsum([0, *map(len, bags)])
    lengths = np.array([sum(count * count for count in bag.values()) for bag in bags])
    return csr_array((values, columns, starts), shape=(len(bags), len(number))), lengths


def first_answers(place: int, shared: NDArray, lengths: NDArray, targets: list[str], hashes: NDArray) -> list[str]:
    """The first answers of the most similar questions that differ from the target and from one another."""
    same = np.flatnonzero((shared * shared == lengths * lengths[place]) & (shared > 0))
    first = below(np.uint64(draw(purpose_hash(0, "plausible"), hashes[place], 0)), len(same))
    cosines = shared / np.sqrt(lengths)
    cosines[same] = 0.0
    order = np.argsort(-np.round(cosines, 12), kind="stable")  # equal ones are equal but for rounding
    found: list[str] = []
    for other in [*same[first:], *same[:first], *order]:
        taken = {comparable(targets[place]), *map(comparable, found)}
        if comparable(targets[other]) not in taken and shared[other]:
            found.append(targets[other])
        if len(found) == N_PLAUSIBLE:
            break
    return found


if __name__ == "__main__":
    for what, value, unit, required in rows(*sys.argv[1:]):
        print(f"{what:90} {value:12,.2f} {unit:6} {required}")
