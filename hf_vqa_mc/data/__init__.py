"""Read multiple-choice benchmarks of any layout as rows with one schema.

Names are imported on first use.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.data.benchmark import Benchmark as Benchmark
    from hf_vqa_mc.data.benchmark import Split as Split
    from hf_vqa_mc.data.reading import read_benchmark as read_benchmark

__all__ = ["Benchmark", "Split", "read_benchmark"]

__getattr__, __dir__ = lazy_names(
    __name__, {"Benchmark": "benchmark", "Split": "benchmark", "read_benchmark": "reading"}
)
