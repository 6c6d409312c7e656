"""Inputs and thresholds: the paper's where it names them, our own where it says "small threshold"."""

from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.options import AT_LEAST_ONE, FRACTION, SEED, Check, check_options, option, settings

SOURCES, THRESHOLDS = "Annotations, at least one source", "Thresholds"
_AREA: Check = ("pixels, 0 or more", lambda value: 0 <= value < float("inf"))
_COUNT: Check = ("0 or more", lambda value: value >= 0)


@settings
class TdiucInputs:
    """Where the annotations are; at least one source."""

    coco: tuple[Path, ...] = option(
        "COCO instances file (.json, .gz, .xz or .zip), complete for its images; may be repeated.",
        default=(),
        panel=SOURCES,
    )
    visual_genome: Path | None = option(
        "Folder with Visual Genome's objects, attributes, relationships, image_data, question_answers.json.",
        default=None,
        panel=SOURCES,
    )
    vqa: Path | None = option(
        "Folder with COCO-VQA's questions and annotations, to import.", default=None, panel=SOURCES
    )
    annotated: tuple[Path, ...] = option(
        "Hand-annotated questions on sentiment and utility: json lines with image_id, question, answer and "
        "question_type, or TDIUC's own files; may be repeated.",
        default=(),
        panel=SOURCES,
    )

    def __post_init__(self) -> None:
        """Convert and validate; names the option in an InputError."""
        check_options(self)
        if not (self.coco or self.visual_genome or self.vqa or self.annotated):
            raise InputError(
                "no annotations given: add --coco FILE, --visual-genome DIR, --vqa DIR or --annotated FILE"
            )


@settings
class TdiucSettings:
    """How TDIUC's questions are made (Kafle and Kanan 2017)."""

    # "Generating Questions"
    min_area: float = option("Pixels of an object that is asked about.", default=2000.0, panel=THRESHOLDS, check=_AREA)
    # ours: the paper says "within a small threshold"
    vertical_threshold: float = option(
        "Left of: largest vertical distance, as part of the image's height.",
        default=0.1,
        panel=THRESHOLDS,
        check=FRACTION,
    )
    # "half the length of its counterpart"
    overlap_threshold: float = option(
        "Left of: largest overlap, as part of either width.", default=0.5, panel=THRESHOLDS, check=FRACTION
    )
    # ours: the paper's was "subjectively" judged
    horizontal_threshold: float = option(
        "Left of: largest gap, as part of the image's width.", default=0.15, panel=THRESHOLDS, check=FRACTION
    )
    # ours
    duplicate_overlap: float = option(
        "Intersection over union from which two boxes of Visual Genome may be one object.",
        default=0.5,
        panel=THRESHOLDS,
        check=FRACTION,
    )
    # "Generating Questions"
    absurd: int = option("Absurd questions per image.", default=3, check=_COUNT)
    # "Importing Questions"
    agreement: int = option(
        "Annotators who agree on an imported answer.", default=5, panel=THRESHOLDS, check=AT_LEAST_ONE
    )
    # "Post Processing"
    min_answers: int = option(
        "Questions with the same answer for it to stay.", default=2, panel=THRESHOLDS, check=AT_LEAST_ONE
    )
    seed: int = option("Random seed.", default=0, check=SEED)

    def __post_init__(self) -> None:
        """Convert and validate; names the option in an InputError."""
        check_options(self)
