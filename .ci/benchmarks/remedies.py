"""The strategies of a remedy: rows kept, shortcuts and report probes: `python .ci/benchmarks/remedies.py [--rows N]`.

Random decoys of COCO-QA, VQA v1 and easy-VQA, and two made-up benchmarks with one planted shortcut each, after each
remedy. Prints a Markdown table: accuracy of the strongest shortcut of each kind of inputs, with its 95% interval, and
the change of the report probes' mean distance from chance, with the probe that is harmed most.
"""

import argparse
import json
import lzma
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from datasets import Dataset, DatasetDict

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import hf_vqa_mc as vm  # noqa: E402
from hf_vqa_mc.audits.closed_sets import ASSIGNED  # noqa: E402
from hf_vqa_mc.audits.probes.priors import ORDERS  # noqa: E402
from hf_vqa_mc.remedies.judgement import Comparison  # noqa: E402
from hf_vqa_mc.sources.easyvqa import package_folder  # noqa: E402
from tests.audits.planted import planted  # noqa: E402

FIGURES = ["accuracy", "gain", "low", "high"]
Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or ROOT.parent / "shared" / "data")
GLOVE = REAL_DATA / "word_vectors" / "glove.6B.100d.subset.txt.xz"
VQA = REAL_DATA / "vqa_v1" / "vqacp_v1_test_question_new.json.xz"
N_ROWS = 3_000
"""Rows of each split."""
DECOYS = 3
STRENGTH = 0.6
"""Fraction of the rows of a made-up benchmark that its shortcut solves."""
REMOVED = 0.5
"""Fraction of the rows that random removal removes: the maximum of pruning."""
TO_GAIN = 0.05
"""Of pruning."""
INPUTS = {"choices": "choices alone", "question": "question + choices", "image": "image + choices"}
ALL_ROWS = (ASSIGNED, *(probe.name for probe in ORDERS))
"""Strategies that use more than the inputs of one row, or its position, left out here."""
REMEDIES: dict[str, dict[str, Any]] = {
    f"pruning to +{100 * TO_GAIN:g} points": {"prune": TO_GAIN},
    "repair": {},
    "IoU and QoU decoys": {"strategy": "iou_qou", "word_vectors": str(GLOVE) if GLOVE.is_file() else "corpus"},
    "closed sets, choices": {"guarantee": "choices"},
    "closed sets, choices, coverage 0.5": {"guarantee": "choices", "coverage": 0.5},
    "closed sets, question": {"guarantee": "question"},
    "best": {"strategy": "best"},
}
"""Name of a remedy to its options; see `vqa-mc remedy`."""


class Measured(NamedTuple):
    """A benchmark after a remedy."""

    benchmark: str
    remedy: str
    rows: int
    of: int
    shortcuts: dict[str, dict[str, Any]]
    """kind of inputs to the strongest shortcut's name, accuracy, gain, low and high"""
    judged: Comparison | None = None
    """report probes before and after"""


def cocoqa() -> DatasetDict:
    """COCO-QA with decoys drawn by frequency."""
    return _built("cocoqa", data_dir=REAL_DATA / "cocoqa")


def easyvqa() -> DatasetDict:
    """easy-VQA with decoys drawn by frequency, and images."""
    return _built("easyvqa", embed_images=True, images=package_folder())


def _built(source: str, **options: Any) -> DatasetDict:  # noqa: ANN401
    made = vm.build(source, variants=["random_frequency"], **options).load()
    columns = ["question_id", "image_id", "question", "choices", "label", "image"]
    names = [name for name in columns if name in made["test"].column_names]
    return DatasetDict({name: made[name].select_columns(names) for name in ("train", "test")})


def vqa() -> DatasetDict:
    """VQA v1's val2014 questions at hand with decoys drawn by frequency; no decoy is a human answer.

    A third of the images is the test split.
    """
    rows = [row for row in json.loads(lzma.decompress(VQA.read_bytes())) if row["coco_split"] == "val2014"]
    targets = [row["multiple_choice_answer"] for row in rows]
    rng = np.random.default_rng(0)
    made: dict[str, list[dict[str, Any]]] = {"train": [], "test": []}
    for row in rows:
        decoys: dict[str, None] = {}
        while len(decoys) < DECOYS:
            drawn = targets[rng.integers(len(targets))]
            if drawn not in row["answer"] and drawn != row["multiple_choice_answer"]:
                decoys[drawn] = None
        label = int(rng.integers(DECOYS + 1))
        choices = [*list(decoys)[:label], row["multiple_choice_answer"], *list(decoys)[label:]]
        image = row["image_id"]
        given = {"image_id": str(image), "question": row["question"], "choices": choices, "label": label}
        made["train" if image % 3 else "test"].append(given)
    return DatasetDict({name: Dataset.from_list(given) for name, given in made.items()})


def made_up(bias: str) -> Callable[[], DatasetDict]:
    """A benchmark in which one shortcut solves `STRENGTH` of the rows."""
    columns = ["question_id", "image_id", "question", "choices", "label"]
    seeds = {"train": 1, "test": 0}
    return lambda: DatasetDict(
        {name: Dataset(planted(bias, STRENGTH, N_ROWS, seed)[0].select(columns)) for name, seed in seeds.items()}
    )


BENCHMARKS: dict[str, Callable[[], DatasetDict]] = {
    "COCO-QA": cocoqa,
    "VQA v1 (a part)": vqa,
    "easy-VQA": easyvqa,
    "made up, target longest": made_up("length"),
    "made up, question's first word": made_up("question cue"),
}


def _sample(split: Dataset, n_rows: int) -> Dataset:
    """The rows of random images, ``n_rows`` at most."""
    _, image = np.unique(split["image_id"], return_inverse=True)
    order = np.argsort(np.random.default_rng(0).permutation(image.max() + 1)[image], kind="stable")
    return split.select(order[:n_rows])


def measured(name: str, n_rows: int) -> Iterator[Measured]:
    """A benchmark as published, after random removal, and after each remedy."""
    published = DatasetDict({split: _sample(rows, n_rows) for split, rows in BENCHMARKS[name]().items()})
    of = len(published["test"])

    def audited(remedy: str, rows: DatasetDict) -> Measured:
        report = vm.audit(rows)
        return _strongest(name, remedy, report.to_dict()["rows"], of, report.to_pandas())

    yield audited("none", published)
    kept = np.random.default_rng(0).permutation(of)[: int(of * (1 - REMOVED))]
    yield audited("random removal", DatasetDict(train=published["train"], test=published["test"].select(kept)))
    for remedy, given in REMEDIES.items():
        try:
            fixed = vm.remedy(published, **given)
        except vm.InputError as error:
            print(f"{name}, {remedy}: {error}", file=sys.stderr)
            continue
        yield audited(remedy, fixed.dataset)._replace(judged=fixed.comparison)


def _strongest(benchmark: str, remedy: str, rows: int, of: int, gains: pd.DataFrame) -> Measured:
    """Of each kind of inputs, learned from the training split or from other test rows, whichever is stronger."""
    learned = [gains[FIGURES], gains[[f"cross_fitted_{name}" for name in FIGURES]].set_axis(FIGURES, axis=1)]
    both = pd.concat([figures.assign(name=gains["name"], inputs=gains["inputs"]) for figures in learned])
    alone = both[~both["name"].str.startswith(ALL_ROWS)].dropna(subset="gain").reset_index(drop=True)
    best = {
        inputs: of_inputs.loc[of_inputs["gain"].idxmax()].to_dict()
        for inputs in INPUTS
        if len(of_inputs := alone[alone["inputs"] == inputs])
    }
    return Measured(benchmark, remedy, rows, of, best)


def rows(n_rows: int = N_ROWS) -> Iterator[Row]:
    """The figures, as they come; benchmarks whose files are not at hand are left out."""
    for name in at_hand():
        for one in measured(name, n_rows):
            yield f"{name}, {one.remedy}: rows kept", 100 * one.rows / one.of, "%", ""
            for inputs, best in one.shortcuts.items():
                yield f"{name}, {one.remedy}: {INPUTS[inputs]}", 100 * best["accuracy"], "%", ""
            if one.judged is not None:
                yield f"{name}, {one.remedy}: distance from chance", 100 * one.judged.mean.change, "points", ""


def at_hand() -> list[str]:
    """The benchmarks whose files are present."""
    needed = {"COCO-QA": REAL_DATA / "cocoqa", "VQA v1 (a part)": VQA}
    return [name for name in BENCHMARKS if name not in needed or needed[name].exists()]


def line(one: Measured) -> str:
    """A row of the Markdown table."""
    chances = {best["accuracy"] - best["gain"] for best in one.shortcuts.values()}
    cells = []
    for best in map(one.shortcuts.get, INPUTS):
        half = f"± {50 * (best['high'] - best['low']):.1f}" if best and best["high"] > best["low"] else "(exact)"
        cells.append(f"{100 * best['accuracy']:.1f} {half}" if best else "–")
    kept = f"{100 * one.rows / one.of:.0f}% of {one.of:,}"
    judged = "–"
    if one.judged is not None:
        mean = one.judged.mean
        judged = f"{100 * mean.change:+.1f} ({100 * mean.low:+.1f} to {100 * mean.high:+.1f})"
        if one.judged.harmed:
            worst = max(one.judged.harmed, key=lambda probe: probe.change)
            judged += f"; {worst.name} {100 * worst.before:.1f} → {100 * worst.after:.1f}"
    return " | ".join(["", one.benchmark, one.remedy, kept, f"{100 * min(chances):.1f}", *cells, judged, ""]).strip()


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=N_ROWS, help="Rows per split, at most.")
    parser.add_argument("--benchmarks", nargs="*", choices=at_hand(), default=at_hand(), help="By default all.")
    given = parser.parse_args()
    print(
        f"| benchmark | remedy | rows kept | chance | {' | '.join(INPUTS.values())} | distance from chance |\n"
        "|---|---|--:|--:|--:|--:|--:|---|"
    )
    for name in given.benchmarks:
        for one in measured(name, given.rows):
            print(line(one), flush=True)


if __name__ == "__main__":
    main()
