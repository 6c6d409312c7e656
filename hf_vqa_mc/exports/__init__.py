"""Export of benchmarks as tasks of other evaluation harnesses."""

from typing import TYPE_CHECKING

from hf_vqa_mc.listing import Listing

if TYPE_CHECKING:
    from hf_vqa_mc.exports.harness import Harness

HARNESSES: "Listing[Harness]" = Listing(
    "harness",
    lazy={
        "lm-eval": "hf_vqa_mc.exports.task_folders:LM_EVAL",
        "lmms-eval": "hf_vqa_mc.exports.task_folders:LMMS_EVAL",
        "inspect": "hf_vqa_mc.exports.hub_benchmark:INSPECT",
        "vlmevalkit": "hf_vqa_mc.exports.vlmevalkit:VLMEVALKIT",
    },
)
