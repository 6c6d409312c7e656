"""IoU decoys: targets of other questions about the same image (Chao et al. 2018, Sect. 4.1).

From the image alone one cannot tell which of them is correct.
"""

from hf_vqa_mc.decoys.kind import ChoiceKind, Method

IMAGE_ONLY_UNRESOLVABLE = ChoiceKind(
    name="iou",
    label="IoU",
    colour="#2d66b1",
    dark_colour="#7fb0f0",
    definition="correct answers to other questions about the same image",
    caption="answers to other questions about the image",
    card="**IoU**, image only unresolvable: correct answers to *other questions about the same image*. To "
    "reject\n  them, one has to read the question.",
    shortage="the images have too few questions. Donors about them (a pool, captions, scene graphs) may help.",
    methods=(
        Method(
            name="iou", label="IoU", take="hf_vqa_mc.decoys.image_only_candidates:take_iou_decoys", column="iou_decoys"
        ),
    ),
)
