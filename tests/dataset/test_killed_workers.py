"""Workers of a Ray cluster are killed at random while a build runs: each kill costs the part being built only."""

import os
import random
import signal
import threading
import time
from pathlib import Path

import psutil
import pytest

import hf_vqa_mc as vm
from tests.dataset.fixtures import tree_bytes
from tests.dataset.own_triplets import write_inputs

pytestmark = pytest.mark.slow

KILLS = 10
PARTS = 6
OTHERS = ("ray::IDLE", "ray::DashboardAgent", "ray::RuntimeEnvAgent")
"""Processes of a node that run no task; without its agents a node ends."""


def busy_workers() -> list[psutil.Process]:
    """The workers of this test's cluster that run a task; other clusters of this machine are left alone."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            title = " ".join(process.cmdline())
        except psutil.Error:
            continue
        if title.startswith("ray::") and not title.startswith(OTHERS):
            found.append(process)
    return found


class Killer(threading.Thread):
    """Kills random workers, spread over a build in parts, and watches the completion markers of its work folder."""

    def __init__(self, work: Path) -> None:
        super().__init__()
        self.work = work
        self.over = threading.Event()
        self.kills = 0
        self.finished: dict[Path, int] = {}
        """completion markers with their times of change"""
        self.built_again: set[Path] = set()

    def run(self) -> None:
        rng = random.Random(0)
        while not self.over.is_set():
            for marker in self.work.glob("part-*/built.json"):
                try:
                    written = marker.stat().st_mtime_ns
                except FileNotFoundError:  # the build is complete, and its work folder is being removed
                    continue
                if self.finished.setdefault(marker, written) != written:
                    self.built_again.add(marker)
            workers = busy_workers()
            if workers and self.kills < min(KILLS, 3 * len(self.finished) + 2):
                os.kill(rng.choice(workers).pid, signal.SIGKILL)
                self.kills += 1
            time.sleep(rng.uniform(0.05, 0.3))


@pytest.mark.usefixtures("cluster")
def test_killed_workers_cost_their_parts_only(tmp_path):
    inputs = write_inputs(tmp_path / "inputs", images=PARTS * 1_000 // 3)
    vm.build("triplets", output=tmp_path / "local", **inputs)
    killer = Killer(tmp_path / "vqa_mc.work")
    killer.start()
    try:
        vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=1, **inputs)
    finally:
        killer.over.set()
        killer.join()
    assert killer.kills == KILLS
    assert len(killer.finished) > PARTS // 2
    assert not killer.built_again
    assert tree_bytes(tmp_path / "vqa_mc") == tree_bytes(tmp_path / "local")
