"""Inputs and options of TDIUC's engine (Kafle and Kanan 2017); light to import."""

from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.options import ADVANCED, SEED, check_options, option, settings


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
    absurd: int = option(
        "Absurd questions per image.", default=3, check=("0 or more", lambda value: value >= 0), panel=ADVANCED
    )
    seed: int = option("Random seed.", default=0, check=SEED)

    def __post_init__(self) -> None:
        """Convert and validate."""
        check_options(self)
