"""``hf_vqa_mc.generate_tdiuc`` and ``vqa-mc generate tdiuc``: TDIUC's question types from annotations of images."""

from pathlib import Path

from hf_vqa_mc.engines.settings import ABSURD
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, AT_LEAST_ZERO, SEED, check_options, option, overwrite_option, settings, verb
from hf_vqa_mc.result import Frame, Report, frame_of
from hf_vqa_mc.text.tables import TextTable
from hf_vqa_mc.verbs.generate_gqa import GeneratedResult


@settings
class GenerateTdiucSettings:
    """Generate TDIUC's twelve types of questions from annotations of your own images.

    What COCO's files do not annotate is taken as absent: they must be complete for the images they list. Questions on
    sentiment and object utility come from people only (`--annotated`, and sentiment from imported questions).
    """

    coco: tuple[Path, ...] = option(
        "COCO instances file (.json, .gz, .xz or .zip), complete for its images; may be repeated.", default=()
    )
    visual_genome: Path | None = option(
        "Folder with Visual Genome's objects, attributes, relationships, image_data, question_answers.json.",
        default=None,
    )
    vqa: Path | None = option("Folder with COCO-VQA's questions and annotations, to import.", default=None)
    annotated: tuple[Path, ...] = option(
        "Hand-annotated questions on sentiment and utility: JSON lines with image_id, question, answer and "
        "question_type, or a folder of TDIUC's files; may be repeated.",
        default=(),
    )
    output: Path = option("Folder to write, in TDIUC's layout.")
    overwrite: bool = overwrite_option()
    absurd: int = option("Absurd questions per image.", default=ABSURD, check=AT_LEAST_ZERO, panel=ADVANCED)
    seed: int = option("Random seed.", default=0, check=SEED)

    def __post_init__(self) -> None:
        check_options(self)
        if not (self.coco or self.visual_genome or self.vqa or self.annotated):
            add = "add --coco FILE, --visual-genome DIR, --vqa DIR or --annotated FILE"
            raise InputError(f"no annotations given: {add}")


class GenerateTdiucResult(GeneratedResult):
    """The generated dataset."""

    engine = "tdiuc"

    def report(self) -> Report:
        """Questions of each type, and the command that adds decoys."""
        lines = []
        for name, one in self.statistics["types"].items():
            counts = [f"{count:,}" for count in (one["questions"], *one["splits"].values(), one["unique_answers"])]
            lines.append((name, *counts, f"{one['entropy_bits']:.2f}", next(iter(one["answers"]), "")))
        headings = ("type", "questions", "train", "test", "answers", "bits", "top answer")
        yield TextTable.of(headings, lines)._replace(texts=("type", "top answer"))
        yield f"{self.statistics['questions']:,} questions on {self.statistics['images']:,} images"
        yield from self.next_steps()

    def to_pandas(self) -> Frame:
        """One row per question type: questions, images, per split, distinct answers, their entropy in bits."""
        keys = ("questions", "images", "unique_answers", "entropy_bits")
        types = self.statistics["types"].items()
        rows = [{"type": name, **{key: one[key] for key in keys}, **one["splits"]} for name, one in types]
        return frame_of(rows)


@verb(
    GenerateTdiucSettings,
    "vqa-mc generate tdiuc --coco instances_val2014.json --output my_tdiuc",
    "vqa-mc generate tdiuc --coco instances_val2014.json --visual-genome vg --vqa vqa --output my_tdiuc",
)
def generate_tdiuc(settings: GenerateTdiucSettings, progress: Progress) -> GenerateTdiucResult:
    """Generate TDIUC's types of questions.

    Returns:
        The folder that was written, in TDIUC's layout, and its statistics.

    Raises:
        InputError: an input is missing or malformed, or nothing can be asked; nothing was written.
    """
    from hf_vqa_mc.engines.tdiuc.generate import generate

    return GenerateTdiucResult(settings.output.resolve(), generate(**vars(settings), progress=progress))
