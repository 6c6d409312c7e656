"""Source datasets: where each is published and how its files become triplets.

Importing this package loads no source; ``SOURCES`` imports a source's module on first use.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.listing import Listing

if TYPE_CHECKING:
    from hf_vqa_mc.sources.source import Source

SOURCES: "Listing[Source]" = Listing(
    "source",
    lazy={
        "visual7w": "hf_vqa_mc.sources.visual7w:VISUAL7W",
        "vqa": "hf_vqa_mc.sources.vqa:VQA",
        "vqa_minus": "hf_vqa_mc.sources.vqa:VQA_MINUS",
        "vqa_abstract": "hf_vqa_mc.sources.vqa:VQA_ABSTRACT",
        "vqa2": "hf_vqa_mc.sources.vqa2:VQA2",
        "vqa2_minus": "hf_vqa_mc.sources.vqa2:VQA2_MINUS",
        "cocoqa": "hf_vqa_mc.sources.cocoqa:COCOQA",
        "qavg": "hf_vqa_mc.sources.qavg:QAVG",
        "easyvqa": "hf_vqa_mc.sources.easyvqa:EASYVQA",
        "tdiuc": "hf_vqa_mc.sources.tdiuc:TDIUC",
        "gqa": "hf_vqa_mc.sources.gqa:GQA",
        "triplets": "hf_vqa_mc.sources.own_triplets:TRIPLETS_SOURCE",
    },
)
