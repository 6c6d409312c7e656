"""Inputs and thresholds of TDIUC's engine; those marked "ours" differ or are missing in Kafle and Kanan 2017."""

from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.options import ADVANCED, SEED, Check, check_options, option, settings

VERTICAL_THRESHOLD = 0.1
"""Left of: maximum vertical distance, as a fraction of the image height; ours, the paper says "a small threshold"."""
OVERLAP_THRESHOLD = 0.5
"""Left of: maximum overlap, as a fraction of either width ("half the length of its counterpart")."""
HORIZONTAL_THRESHOLD = 0.15
"""Left of: maximum gap, as a fraction of the image width; ours, the paper's was "subjectively" judged."""
DUPLICATE_OVERLAP = 0.5
"""Minimum intersection over union of two Visual Genome boxes that may be one object; ours."""
AGREEMENT = 5
"""Minimum number of annotators who agree on an imported answer ("Importing Questions")."""
MIN_AREA = 2000
"""Minimum area in pixels of an object in a question ("Generating Questions")."""
MIN_ANSWERS = 2
"""Minimum number of questions per answer; rarer answers are dropped ("Post Processing")."""
_COUNT: Check = ("0 or more", lambda value: value >= 0)


@settings
class TdiucInputs:
    """Files with annotations, at least one."""

    coco: tuple[Path, ...] = option(
        "COCO instances file (.json, .gz, .xz or .zip), complete for its images; may be repeated.",
        default=(),
    )
    visual_genome: Path | None = option(
        "Folder with Visual Genome's objects, attributes, relationships, image_data, question_answers.json.",
        default=None,
    )
    vqa: Path | None = option("Folder with COCO-VQA's questions and annotations, to import.", default=None)
    annotated: tuple[Path, ...] = option(
        "Hand-annotated questions on sentiment and utility: JSON lines with image_id, question, answer and "
        "question_type, or TDIUC's own files; may be repeated.",
        default=(),
    )

    def __post_init__(self) -> None:
        """Convert and validate."""
        check_options(self)
        if not (self.coco or self.visual_genome or self.vqa or self.annotated):
            raise InputError(
                "no annotations given: add --coco FILE, --visual-genome DIR, --vqa DIR or --annotated FILE"
            )


@settings
class TdiucSettings:
    """Options of the generation (Kafle and Kanan 2017)."""

    # "Generating Questions"
    absurd: int = option("Absurd questions per image.", default=3, check=_COUNT, panel=ADVANCED)
    seed: int = option("Random seed.", default=0, check=SEED)

    def __post_init__(self) -> None:
        """Convert and validate."""
        check_options(self)
