"""Read multiple-choice benchmarks of any layout as rows with one schema, and write them back.

Names are imported on first use.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.benchmarks.benchmark import Benchmark as Benchmark
    from hf_vqa_mc.benchmarks.benchmark import Split as Split
    from hf_vqa_mc.benchmarks.reading import read_benchmark as read_benchmark
    from hf_vqa_mc.benchmarks.writing import check_output as check_output
    from hf_vqa_mc.benchmarks.writing import write_benchmark as write_benchmark

__all__ = ["Benchmark", "Split", "check_output", "read_benchmark", "write_benchmark"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Benchmark": "benchmark",
        "Split": "benchmark",
        "check_output": "writing",
        "read_benchmark": "reading",
        "write_benchmark": "writing",
    },
)
