"""How long `vqa-mc describe` and `vqa-mc lint` take for a million rows: `.ci/bench describe`."""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pyarrow import parquet

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).parent)]

from audit import KINDS, MILLION, million_rows  # noqa: E402

Row = tuple[str, float, str, str]
VERBS = ("describe", "lint")
LIMIT = "< 60"
"""Seconds of wall time on 2 cores without other work."""


def rows() -> Iterator[Row]:
    """The figures, as they come."""
    for kind, words in KINDS.items():
        for verb in VERBS:
            done = subprocess.run([sys.executable, __file__, verb, kind], capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"describe: {verb} {kind} failed\n{done.stderr}")
            figures = json.loads(done.stdout)
            what = f"{verb}, {MILLION:,} rows of 4 choices, {words}"
            yield what, figures["seconds"], "s", LIMIT
            yield f"{what}: CPU time", figures["cpu"], "s", ""
            yield f"{what}: peak memory", figures["gib"], "GiB", "< 5.59"  # 6 GB


def run(verb: str, kind: str) -> dict[str, float]:
    """Wall and CPU seconds of a command from file to files, and its peak memory."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        path, output = root / "rows.parquet", root / ("issues.csv" if verb == "lint" else "description")
        parquet.write_table(million_rows(kind).drop_columns(["choice_kinds", "question_type"]), path)
        command = [sys.executable, "-m", "hf_vqa_mc", verb, str(path), "--output", str(output)]
        start = time.perf_counter()
        done = subprocess.run(command, stdout=sys.stderr, cwd=ROOT)
        seconds = time.perf_counter() - start
        if not output.exists():
            raise SystemExit(f"{verb} failed with {done.returncode}")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"seconds": seconds, "cpu": used.ru_utime + used.ru_stime, "gib": used.ru_maxrss / 2**20}


if __name__ == "__main__":
    if sys.argv[1:]:
        print(json.dumps(run(*sys.argv[1:3])))
    else:
        for row in rows():
            print(*row, sep="\t")
