"""IoU decoys: the targets of other questions on the same image (Chao et al. 2018, Sect. 4.1).

The image alone does not tell which of them is correct.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hf_vqa_mc.decoys.kind import ChoiceKind, Method

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from hf_vqa_mc.decoys.decoy_set import DecoySet
    from hf_vqa_mc.decoys.material import Material


def _take(
    decoys: "DecoySet", pool: "NDArray[np.int64]", material: "Material", progress: Callable[[int], None]
) -> None:
    from hf_vqa_mc.decoys.same_image import take_image_decoys

    take_image_decoys(decoys, pool, material.triplets, material.candidates.tables, material.settings.seed)


IMAGE_ONLY_UNRESOLVABLE = ChoiceKind(
    name="iou",
    label="IoU",
    colour="#2d66b1",
    dark_colour="#7fb0f0",
    definition="correct answers to other questions about the same image",
    fits="they fit the image",
    card="**IoU**, image only unresolvable: correct answers to *other questions about the same image*. They all fit "
    "the image;\n  one has to read the question.",
    shortage="its images have too few questions. Donors about them (a pool, captions, scene graphs) may help.",
    methods=(Method(name="iou", label="IoU", take=_take, column="iou_decoys"),),
)
