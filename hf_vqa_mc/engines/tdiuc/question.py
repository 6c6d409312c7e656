"""A question of TDIUC with its answer, its type and where it is from."""

from typing import Literal, NamedTuple

from hf_vqa_mc.scoring.tdiuc_types import SENTIMENT, UTILITY

Origin = Literal["coco_generated", "genome_generated", "vqa_imported", "genome_imported", "annotated"]
"""Where a question is from: the columns of Kafle and Kanan 2017, Table 4."""
ORIGINS: tuple[Origin, ...] = (
    "annotated",
    "coco_generated",
    "genome_generated",
    "vqa_imported",
    "genome_imported",
)
"""Of equal questions on an image the first origin's is kept."""

HAND_ANNOTATED = (SENTIMENT, UTILITY)
"""What no template can make: section "Manual Annotation"."""

YES, NO = "yes", "no"
DOES_NOT_APPLY = "does not apply"


class Question(NamedTuple):
    """One question on one image."""

    image_id: int
    question: str
    answer: str
    question_type: str
    origin: Origin
