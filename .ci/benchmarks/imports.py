"""What a user waits for before anything happens, in times of ``import pandas`` measured in the same run."""

import csv
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

RUNS = 7
COMMANDS = {
    "`import hf_vqa_mc`": ("import hf_vqa_mc", "< 1"),
    "`vqa-mc -h`": ("-h", "< 1"),
    "`vqa-mc audit` of no file": ("audit nofile.csv", "<= 2"),
    "`vqa-mc audit` of a file without such a column": ("audit rows.csv --question nothing", "<= 2"),
    "`vqa-mc train` of no file": ("train nofile.csv --output run", "<= 2"),
    "`vqa-mc evaluate` with a wrong option": ("evaluate rows.csv --model m --method nothing", "<= 2"),
    "`vqa-mc audit --no-probes` of 400 rows": ("audit rows.csv --no-probes --overwrite --output audit", "<= 5"),
}


def seconds(code: str, folder: Path) -> float:
    """Wall time of a fresh Python that imports a module, or runs a command."""
    program = ["-c", code] if "import" in code else ["-m", "hf_vqa_mc", *code.split()]
    start = time.perf_counter()
    subprocess.run([sys.executable, *program], cwd=folder, capture_output=True)
    return time.perf_counter() - start


def rows() -> list[tuple[str, float, str, str]]:
    """Medians of the ratios; a command and ``import pandas`` run in turns."""
    with tempfile.TemporaryDirectory() as name:
        with Path(name, "rows.csv").open("w", newline="") as file:
            lines = [(f"What is in box {row}?", f"a{row % 7}", f"b{row % 5}", "AB"[row % 3 % 2]) for row in range(400)]
            csv.writer(file).writerows([("question", "A", "B", "answer"), *lines])
        ratios: dict[str, list[float]] = {what: [] for what in COMMANDS}
        for _ in range(RUNS):
            for what, (code, _) in COMMANDS.items():
                ratios[what].append(seconds(code, Path(name)) / seconds("import pandas", Path(name)))
    return [(what, statistics.median(of), "x pandas", COMMANDS[what][1]) for what, of in ratios.items()]
