"""Pushing to the Hub: dataset folders, checkpoints, metrics as Spaces, results of evaluations."""

from typing import TYPE_CHECKING

from hf_vqa_mc.listing import Listing

if TYPE_CHECKING:
    from hf_vqa_mc.hub.shipment import Pushable

PUSHABLES: "Listing[Pushable]" = Listing(
    "kind of push",
    lazy={
        "dataset": "hf_vqa_mc.hub.dataset_folder:DATASET",
        "model": "hf_vqa_mc.hub.model_folder:MODEL",
        "metric": "hf_vqa_mc.hub.spaces:METRIC",
        "results": "hf_vqa_mc.hub.eval_results:RESULTS",
        "space": "hf_vqa_mc.hub.spaces:SPACE",
    },
)
