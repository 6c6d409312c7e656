"""The variants of the paper; other packages add one with ``decoys.VARIANTS.add(Variant(...))``."""

from hf_vqa_mc.decoys.kind import Variant

PUBLISHED = "the decoys published with the source"
PAPER_VARIANTS = (
    Variant("orig", ("orig",), f"{PUBLISHED} (or made as VQA's were, see below)", "Sect. 5.2"),
    Variant("iou", ("iou",), "IoU decoys", "Sect. 5.2", remedies=True),
    Variant("qou", ("qou",), "QoU decoys", "Sect. 5.2", remedies=True),
    Variant("iou_qou", ("iou", "qou"), "IoU and QoU decoys", "Sect. 5.2", remedies=True),
    Variant("all", ("orig", "iou", "qou"), "the published decoys, IoU and QoU decoys", "Sect. 5.2", remedies=True),
    Variant("random_uniform", ("random_uniform",), "answers drawn uniformly from the distinct ones", "Supplement G"),
    Variant("random_frequency", ("random_frequency",), "answers drawn by frequency", "Supplement G"),
    Variant(
        "orig_random_uniform",
        ("orig", "random_uniform"),
        "the published decoys and uniformly drawn answers",
        "Supplement G, Table 12 (A)",
    ),
    Variant(
        "orig_random_frequency",
        ("orig", "random_frequency"),
        "the published decoys and answers drawn by frequency",
        "Supplement G, Table 12 (B)",
    ),
)
