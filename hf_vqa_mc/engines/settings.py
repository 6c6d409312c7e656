"""Defaults of the engines of GQA (Hudson and Manning 2019) and TDIUC (Kafle and Kanan 2017); their output folders."""

from collections.abc import Mapping

from hf_vqa_mc.io.outputs import FolderKind

SPLITS: Mapping[str, float] = {"train": 0.7, "val": 0.1, "test": 0.1, "challenge": 0.1}
"""Sect. 3.5, but challenge has 10%: with the "19%" of the paper the sum would be 109%."""
SHARES: Mapping[str, float] = {"verify": 0.25, "logical": 0.12}
"""Ours, since the paper gives no numbers: without sampling most questions would be yes/no questions."""
DEPTH = 2  # nested modifiers of a reference
ABSURD = 3  # absurd questions per image of TDIUC ("Generating Questions")

FOLDERS = {engine: FolderKind(f"vqa-mc generate {engine}") for engine in ("gqa", "tdiuc")}
"""The outputs, each with ``statistics.json`` with ``"engine"`` and ``"version"``."""
