"""The engine's numbers: the paper's where it names them, our own where it says "small threshold"."""

from dataclasses import dataclass

from hf_vqa_mc.errors import InputError, shown

TRAIN_SHARE = 0.7
"""of the images whose split COCO does not tell; Kafle and Kanan 2017, appendix "Train and Test Split"."""


@dataclass(frozen=True)
class TdiucSettings:
    """How TDIUC's questions are made."""

    min_area: float = 2000.0
    """pixels of an object from which on it is asked about; Kafle and Kanan 2017, "Generating Questions"."""
    vertical_threshold: float = 0.1
    """How far apart the middles of two boxes may be vertically, as part of the image's height; ours: the paper says
    "within a small threshold"."""
    overlap_threshold: float = 0.5
    """The part of either box's width that may overlap; the paper's "half the length of its counterpart"."""
    horizontal_threshold: float = 0.15
    """The gap between two boxes, as part of the image's width; ours: the paper's was "subjectively" judged."""
    duplicate_overlap: float = 0.5
    """Intersection over union from which on two boxes of Visual Genome may be one object; ours."""
    absurd: int = 3
    """absurd questions an image; the paper's, "Generating Questions"."""
    agreement: int = 5
    """annotators who must agree on the answer of an imported question; the paper's, "Importing Questions"."""
    min_answers: int = 2
    """questions that must have the same answer for it to stay; the paper's, "Post Processing"."""
    seed: int = 0

    def __post_init__(self) -> None:
        """Checks the numbers.

        Raises:
            InputError: one is out of its range.
        """
        for name in ("vertical_threshold", "overlap_threshold", "horizontal_threshold", "duplicate_overlap"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} is {shown(getattr(self, name))}, expected a number from 0 to 1")
        if not 0 <= self.min_area < float("inf"):
            raise InputError(f"min_area is {shown(self.min_area)}, expected pixels, 0 or more")
        for name, least in (("absurd", 0), ("agreement", 1), ("min_answers", 1)):
            if getattr(self, name) < least:
                raise InputError(f"{name} is {shown(getattr(self, name))}, expected a whole number, {least} or more")
