"""Targeted repair of benchmarks with decoys by people: `.ci/bench targeted_repair`, or with --changed for the texts.

A-OKVQA val (groups: images) and NExT-QA val (groups: videos): report probes before and after, decoys changed, time and
memory. Needs the publishers' files, and the package wordllama for the second family of embeddings.
"""

import argparse
import csv
import io
import json
import lzma
import os
import resource
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from hf_vqa_mc.audits.rows import Rows, number_rows  # noqa: E402
from hf_vqa_mc.remedies.candidate_pool import CandidatePool, candidate_table  # noqa: E402
from hf_vqa_mc.remedies.candidate_sources import Candidate  # noqa: E402
from hf_vqa_mc.remedies.harm import Comparison, compare_probes  # noqa: E402
from hf_vqa_mc.remedies.judging_probes import (  # noqa: E402
    REPORT_PROBES,
    JudgingInputs,
    report_folds,
    run_judging_probes,
)
from hf_vqa_mc.remedies.repair import Repaired, repair  # noqa: E402
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace  # noqa: E402
from hf_vqa_mc.text.embeddings import embedding_families  # noqa: E402
from hf_vqa_mc.text.word_vectors import load_word_vectors  # noqa: E402

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""
REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or ROOT.parent / "shared" / "data")
GLOVE = REAL_DATA / "word_vectors" / "glove.6B.100d.subset.txt.xz"
AOKVQA = REAL_DATA / "aokvqa" / "aokvqa_v1p0_val.json.xz"
NEXTQA = REAL_DATA / "nextqa" / "val.csv.xz"
VQA = REAL_DATA / "vqa_v1" / "vqacp_v1_test_question_new.json.xz"
POOLED = 40_000
"""VQA v1 questions in the pool."""
MOST_CHANGED = {"A-OKVQA": 6, "NExT-QA": 20}
"""Percent of the decoys."""


class Published(NamedTuple):
    """A benchmark as published."""

    table: pa.Table
    groups: np.ndarray
    answers: list[list[str]]


def aokvqa() -> Published:
    """A-OKVQA val; the row with an empty choice is left out."""
    rows = [row for row in json.loads(lzma.decompress(AOKVQA.read_bytes())) if all(map(str.strip, row["choices"]))]
    table = _table([row["question"] for row in rows], [row["choices"] for row in rows])
    labels = pa.array([row["correct_choice_idx"] for row in rows], pa.int64())
    groups = np.unique([row["image_id"] for row in rows], return_inverse=True)[1]
    return Published(table.append_column("label", labels), groups, [row["direct_answers"] for row in rows])


def nextqa() -> Published:
    """NExT-QA val."""
    rows = list(csv.DictReader(io.StringIO(lzma.decompress(NEXTQA.read_bytes()).decode())))
    table = _table([row["question"] for row in rows], [[row[f"a{index}"] for index in range(5)] for row in rows])
    labels = pa.array([int(row["answer"]) for row in rows], pa.int64())
    groups = np.unique([row["video"] for row in rows], return_inverse=True)[1]
    return Published(table.append_column("label", labels), groups, [])


def _table(questions: list[str], choices: list[list[str]]) -> pa.Table:
    return pa.table({"question": questions, "choices": choices})


def vqa_candidates() -> list[Candidate]:
    """Questions and most frequent answers of VQA v1."""
    rows = json.loads(lzma.decompress(VQA.read_bytes()))
    some = np.random.default_rng(0).permutation(len(rows))[:POOLED].tolist()
    return [Candidate(rows[one]["multiple_choice_answer"], "VQA v1", rows[one]["question"]) for one in some]


BENCHMARKS: dict[str, tuple[Path, Callable[[], Published]]] = {
    "A-OKVQA": (AOKVQA, aokvqa),
    "NExT-QA": (NEXTQA, nextqa),
}


class Measured(NamedTuple):
    """A repair and its judgement."""

    rows: Rows
    published: Published
    repaired: Repaired
    compared: Comparison
    seconds: float
    cpu_seconds: float


def measured(name: str, with_pool: bool = False, seed: int = 0) -> Measured:
    """Repair a benchmark, then run the report probes once on the rows before and after."""
    published = BENCHMARKS[name][1]()
    families = embedding_families(load_word_vectors(str(GLOVE)))
    candidates = vqa_candidates() if with_pool else []
    tables = {"rows": published.table} | ({"pool": candidate_table(candidates)} if with_pool else {})
    numbered = number_rows(tables)
    rows, none = numbered["rows"], [""] * published.table.num_rows
    pool = CandidatePool(candidates, numbered["pool"], none, none) if with_pool else None
    started, cpu = time.monotonic(), time.process_time()
    repaired = repair(rows, published.groups, families, answers=published.answers, pool=pool, seed=seed)
    seconds, cpu = time.monotonic() - started, time.process_time() - cpu
    spaces = [TextSpace.embedded(family, rows) for family in families]
    forms, folds = TextForms(rows.vocabulary), report_folds(published.groups, seed)
    before, after = (
        run_judging_probes(REPORT_PROBES, JudgingInputs(one, folds, forms, spaces, seed, (rows, repaired.rows)))
        for one in (rows, repaired.rows)
    )
    compared = compare_probes(
        {key: one.scores for key, one in before.items()},
        {key: one.scores for key, one in after.items()},
        (rows.chance, rows.chance),
        published.groups,
        repaired.donor_groups(published.groups),
        {key: one.inflation for key, one in before.items()},
    )
    return Measured(rows, published, repaired, compared, seconds, cpu)


def figures(name: str, found: Measured, what: str) -> Iterator[Row]:
    """The figures of a repair."""
    n_decoys = found.rows.valid.sum() - len(found.rows)
    changed = 100 * len(found.repaired.changes) / n_decoys
    yield f"{what}: decoys changed", changed, f"% of {n_decoys:,}", f"<= {MOST_CHANGED[name]}"
    yield f"{what}: rounds kept of {len(found.repaired.rounds) - 1}", found.repaired.kept_round, "", ""
    for one in (*found.compared.probes, found.compared.mean):
        yield f"{what}: {one.name}, before (chance {100 * one.chance:.1f})", 100 * one.before, "%", ""
        yield f"{what}: {one.name}, after", 100 * one.after, "%", ""
    mean = found.compared.mean
    yield f"{what}: distance from chance, change of the mean", 100 * mean.change, "points", "< 0"
    yield f"{what}: distance from chance, upper bound", 100 * mean.high, "points", "< 0"
    yield f"{what}: probes harmed", len(found.compared.harmed), "", "0"
    yield f"{what}: time", found.seconds, "s", ""
    yield f"{what}: CPU time", found.cpu_seconds, "s", ""
    yield f"{what}: peak memory", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, "GB", "< 4"


def rows() -> Iterator[Row]:
    """The figures, as they come; benchmarks whose files are not at hand are left out."""
    for name, (file, _) in BENCHMARKS.items():
        if file.exists() and GLOVE.exists():
            yield from figures(name, measured(name), name)
    if AOKVQA.exists() and VQA.exists() and GLOVE.exists():
        yield from figures("A-OKVQA", measured("A-OKVQA", with_pool=True), f"A-OKVQA, {POOLED:,} VQA v1 answers")


def changed_rows(found: Measured) -> Iterator[dict[str, Any]]:
    """The changed decoys with their rows, to be read by people."""
    questions, choices = (found.published.table[name].to_pylist() for name in ("question", "choices"))
    labels = found.published.table["label"].to_pylist()
    for one in found.repaired.changes:
        yield {
            "question": questions[one.row],
            "target": choices[one.row][labels[one.row]],
            "choices": choices[one.row],
            "old": one.old,
            "new": one.new,
            "reason": one.reason,
        }


def main() -> None:
    """Print the figures, or the changed rows as JSON lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--benchmarks", nargs="*", choices=list(BENCHMARKS), help="By default all figures.")
    parser.add_argument("--pool", action="store_true", help="Take candidates from VQA v1, too.")
    parser.add_argument("--seed", type=int, default=0, help="Random seed.")
    parser.add_argument("--changed", type=Path, help="File for the changed rows (JSON lines).")
    given = parser.parse_args()
    if not given.benchmarks:
        for what, value, unit, required in rows():
            print(f"{what}: {value:.1f} {unit} {required}".rstrip(), flush=True)
        return
    for name in given.benchmarks:
        found = measured(name, given.pool, given.seed)
        for what, value, unit, required in figures(name, found, name):
            print(f"{what}: {value:.1f} {unit} {required}".rstrip(), flush=True)
        for number, one in enumerate(found.repaired.rounds):
            print(f"{name}, round {number}: {one}")
        print(f"{name}: {found.repaired.stopped}; refused: {found.repaired.refused}")
        if given.changed:
            given.changed.write_text("".join(json.dumps(one) + "\n" for one in changed_rows(found)))


if __name__ == "__main__":
    main()
