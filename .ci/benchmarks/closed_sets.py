"""Coverage and leak of closed answer sets, their time and memory: `.ci/bench closed_sets`.

COCO-QA, VQA v1, easy-VQA (as in remedies.py) and questions generated from GQA's scene graphs, all rows.
"""

import json
import os
import resource
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from datasets import DatasetDict

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import hf_vqa_mc as vm  # noqa: E402
from hf_vqa_mc.decoys.settings import Settings  # noqa: E402
from hf_vqa_mc.decoys.variants import build_variants  # noqa: E402
from hf_vqa_mc.sources.source import read_triplets  # noqa: E402

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

REAL_DATA = Path(os.environ.get("VQA_MC_REAL_DATA") or ROOT.parent / "shared" / "data")
GRAPHS = [REAL_DATA / "gqa" / f"minyus100__{split}_sceneGraphs.json.xz" for split in ("train", "val")]
KINDS = ("sets", "sets_same_question", "sets_same_image", "sets_similar_question", "sets_latin", "sets_grid")
INPUTS = {"choices": "choices alone", "question": "question + choices", "image": "image + choices"}
MINUTES = {"cocoqa": 5, "synthetic": 30}


def rows() -> Iterator[Row]:
    """The figures, as they come; datasets whose files are not at hand are left out."""
    decoys = runpy.run_path(str(Path(__file__).with_name("decoys.py")))
    parts = {"cocoqa": REAL_DATA / "cocoqa", "synthetic": decoys["VQA"]}
    for part in (name for name, file in parts.items() if file.exists()):
        done = subprocess.run([sys.executable, __file__, part], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"closed_sets: {part} failed\n{done.stderr}")
        found = json.loads(done.stdout)
        what = f"closed sets of {found['rows']:,} triplets ({part})"
        yield what, found["seconds"] / 60, "min", f"< {MINUTES[part]}"
        yield f"{what}: CPU time", found["cpu"] / 60, "min", ""
        yield f"{what}: peak memory", found["gb"], "GB", "< 6"
        yield f"{what}: rows in sets", 100 * found["kept"], "%", ""
    remedies = runpy.run_path(str(Path(__file__).with_name("remedies.py")))
    for name in remedies["at_hand"]():
        if not name.startswith("made up"):
            yield from kinds(name, remedies["BENCHMARKS"][name](), remedies["_strongest"])
    if GRAPHS[0].exists():
        yield from kinds("generated GQA", generated_gqa(), remedies["_strongest"])


def generated_gqa() -> DatasetDict:
    """Questions about the scene graphs at hand with decoys drawn by frequency."""
    with tempfile.TemporaryDirectory() as folder:
        vm.generate_gqa(GRAPHS, splits={"train": 0.5, "test": 0.5}, output=Path(folder) / "gqa")
        made = vm.build("gqa", variants=["random_frequency"], data_dir=Path(folder) / "gqa").load()
    columns = ["question_id", "image_id", "question", "choices", "label"]
    return DatasetDict({split: made[split].select_columns(columns) for split in ("train", "test")})


def kinds(name: str, published: DatasetDict, strongest: Callable[..., Any]) -> Iterator[Row]:
    """Test rows kept and accuracy of the strongest shortcut of each kind of inputs, for each kind of sets."""
    of = len(published["test"])
    for kind in KINDS:
        try:
            fixed = vm.remedy(published, variant=kind, coverage=1.0).dataset
            report = vm.audit(fixed)
        except vm.InputError as error:
            print(f"{name}, {kind}: {error}", file=sys.stderr)
            continue
        found = strongest(name, kind, report.to_dict()["rows"], of, report.to_pandas())
        yield f"{name}, {kind}: rows kept", 100 * found.rows / of, f"% of {of:,}", ""
        for inputs, best in found.shortcuts.items():
            chance = 100 * (best["accuracy"] - best["gain"])
            what = f"{name}, {kind}: {INPUTS[inputs]}"
            yield f"{what} (chance {chance:.1f})", 100 * best["accuracy"], "%", ""
            if inputs == "choices":  # exactly chance in whole sets; probes are evaluated on a sample of many rows
                yield f"{what}, lower bound of the gain", 100 * best["low"], "points", "<= 0"


def formed(part: str) -> dict[str, float]:
    """Seconds, memory and coverage of forming the sets of all triplets, in this process, which does nothing else."""
    if part == "cocoqa":
        triplets = read_triplets("cocoqa", REAL_DATA / "cocoqa")
    else:
        triplets = runpy.run_path(str(Path(__file__).with_name("decoys.py")))["synthetic_triplets"]()
    start, cpu = time.perf_counter(), time.process_time()
    (variant,) = build_variants(triplets, ["sets"], None, Settings(coverage=1.0))
    kept = sum(table.num_rows for table in variant.splits.values())
    return {
        "rows": triplets.num_rows,
        "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu,
        "gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9,
        "kept": kept / triplets.num_rows,
    }


if __name__ == "__main__":
    print(json.dumps(formed(sys.argv[1])))
