"""Moved to `hf_vqa_mc.benchmarks.options`."""

from hf_vqa_mc.benchmarks.options import BenchmarkOptions as BenchmarkOptions
