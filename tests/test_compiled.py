"""Kernels compile wherever the package is used from."""

import subprocess
import sys

USE = """
from numba.core import caching

for locator in caching.CacheImpl._locator_classes:  # as for users who can write neither to the package nor at home
    if "UserProvided" not in locator.__name__:
        locator.from_function = classmethod(lambda cls, *arguments: None)

import numpy as np
from hf_vqa_mc.decoys.rng import below

print(below(np.uint64(2**63), 6))
"""


def test_who_can_write_neither_beside_the_package_nor_at_home_can_use_it(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    done = subprocess.run([sys.executable, "-c", USE], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    assert not list(tmp_path.iterdir()), "what was compiled goes with the process"
