"""What a user waits for before anything happens."""

import statistics
import subprocess
import sys
import time


def seconds(code: str) -> float:
    """Median wall time of a fresh Python that runs this code."""
    times = []
    for _ in range(7):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def rows() -> list[tuple[str, float, str, str]]:
    """Start-up times less those of a bare Python."""
    bare = seconds("")
    return [
        ("`import hf_vqa_mc`", seconds("import hf_vqa_mc") - bare, "s", "< 0.2"),
        ("`vqa-mc -h`", seconds("from hf_vqa_mc.cli import app; app(['-h'])") - bare, "s", ""),
    ]
