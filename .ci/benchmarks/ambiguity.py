"""Possibly correct decoys, against our labels: `python .ci/benchmarks/ambiguity.py`.

Precision and recall of the audit's estimate and of the filters on the labelled choices of COCO-QA and VQA v1, and the
fraction of the remedied decoys of the labelled questions that are possibly correct. Needs the publishers' files.
"""

import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from datasets import Dataset, DatasetDict

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from hf_vqa_mc.audits.findings import possibly_correct  # noqa: E402
from hf_vqa_mc.audits.rows import number_rows  # noqa: E402
from hf_vqa_mc.data.options import BenchmarkOptions  # noqa: E402
from hf_vqa_mc.data.reading import load  # noqa: E402
from hf_vqa_mc.decoys.candidates import ACCEPTED, NumberedTexts, Reason, filter_tables, reason_against  # noqa: E402
from hf_vqa_mc.decoys.settings import Settings  # noqa: E402
from hf_vqa_mc.io.progress import silent  # noqa: E402
from hf_vqa_mc.remedies.new_decoys import give_new_decoys  # noqa: E402
from tests.audits.ambiguity_labels import (  # noqa: E402
    DATASETS,
    POSSIBLE,
    Question,
    choice_hash,
    is_held_out,
    labels,
    published,
    with_texts,
)

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""
REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or ROOT.parent / "shared" / "data")
GLOVE = REAL_DATA / "word_vectors" / "glove.6B.100d.subset.txt.xz"
FOUND = "all"
Flags = dict[str, list[bool]]
"""Reason to a flag for each labelled choice."""


def audited(labelled: list[tuple[Question, dict[str, str]]]) -> Flags:
    """What the audit finds possibly correct, by reason."""
    table = pa.table(
        {
            "question": [one.question for one, _ in labelled],
            "choices": [[one.target, *texts] for one, texts in labelled],
            "label": pa.array([0] * len(labelled), pa.int64()),
        }
    )
    rows = number_rows({"test": table})["test"]
    answers = pa.array([list(one.answers) for one, _ in labelled], pa.list_(pa.string()))
    masks = possibly_correct(rows, answers)
    masks[FOUND] = np.logical_or.reduce([*masks.values()])
    decoys = rows.valid.copy()
    decoys[:, 0] = False
    return {reason: mask[decoys].tolist() for reason, mask in masks.items()}


def filtered(labelled: list[tuple[Question, dict[str, str]]], preset: str) -> Flags:
    """What the filters of a preset reject, by reason; annotators' answers are rejected by ``plausible``."""
    texts = [text for one, verdicts in labelled for text in (one.target, *verdicts)]
    numbered, (numbers,) = NumberedTexts.number([pa.array(texts, pa.string())])
    tables = filter_tables(numbered, 0.9, True, all_pairs=preset == "plausible")
    key = dict(zip(texts, numbered.keys[numbers].tolist(), strict=True))
    nothing = np.empty(1, np.int32)
    reasons = []
    for one, verdicts in labelled:
        named = {key.get(text) for text in one.answers} if preset == "plausible" else set()
        for text in verdicts:
            reason = reason_against(key[text], key[one.target], nothing, 0, True, tables)
            reasons.append(Reason.NAMED if reason == ACCEPTED and key[text] in named else reason)
    flags = {why.name.lower(): [reason == why for reason in reasons] for why in Reason if why in reasons}
    return {**flags, "all filters": [reason != ACCEPTED for reason in reasons]}


def remedied(questions: list[Question], named: dict[str, dict[str, str]]) -> Counter[str]:
    """Number of decoys of the labelled questions after a remedy, by verdict; "" for those without one."""
    made = DatasetDict({name: Dataset.from_list(rows) for name, rows in published(questions).items()})
    settings = Settings(preset="plausible", decoys_per_set=3)
    found = give_new_decoys(load(BenchmarkOptions(made), silent), "iou_qou", str(GLOVE), settings)
    counts: Counter[str] = Counter()
    for row in found.benchmark.test.rows.to_pylist():
        if row["question_id"] in named:
            decoys = [text for index, text in enumerate(row["choices"]) if index != row["label"]]
            verdicts = named[row["question_id"]]
            counts.update(verdicts.get(choice_hash(row["question_id"], text), "") for text in decoys)
    return counts


def rows() -> Iterator[Row]:
    """The figures, as they come; nothing without the files."""
    for name, read in DATASETS.items() if GLOVE.is_file() else ():
        questions = list(read(REAL_DATA))
        named = labels()[name]
        labelled = with_texts(questions, named)
        truth = np.array([verdict in POSSIBLE for _, texts in labelled for verdict in texts.values()])
        held_out = np.array([is_held_out(one.question_id) for one, texts in labelled for _ in texts])
        for what, flags in (
            ("audit", audited(labelled)),
            ("filters of paper", filtered(labelled, "paper")),
            ("filters of plausible", filtered(labelled, "plausible")),
        ):
            for reason, one in flags.items():
                for half, rows_of_half in (("tuning half", ~held_out), ("held-out half", held_out)):
                    flagged, true = np.array(one) & rows_of_half, truth & rows_of_half
                    both = int((flagged & true).sum())
                    where = f"{name}, {what}, {reason}, {half}"
                    if flagged.any():
                        yield f"{where}: precision of {int(flagged.sum())}", 100 * both / flagged.sum(), "%", ""
                        yield f"{where}: recall of {int(true.sum())}", 100 * both / true.sum(), "%", ""
        counts = remedied(questions, named)
        for verdict, count in sorted(counts.items()):
            what = verdict or "without a verdict"
            yield f"{name}, remedied decoys: {what} of {counts.total()}", 100 * count / counts.total(), "%", ""


def main() -> None:
    """Print the figures."""
    for what, value, unit, _ in rows():
        print(f"{what}: {value:.1f}{unit}", flush=True)


if __name__ == "__main__":
    main()
