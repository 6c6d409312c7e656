"""TDIUC's question engine: Kafle and Kanan 2017, "An Analysis of Visual Question Answering Algorithms"."""

from hf_vqa_mc.engines.tdiuc.engine import TdiucInputs, generate_tdiuc
from hf_vqa_mc.engines.tdiuc.settings import TdiucSettings

__all__ = ["TdiucInputs", "TdiucSettings", "generate_tdiuc"]
