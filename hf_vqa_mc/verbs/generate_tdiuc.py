"""``hf_vqa_mc.generate_tdiuc`` and ``vqa-mc generate tdiuc``: TDIUC's question types from annotations of images."""

from pathlib import Path

from hf_vqa_mc.engines.settings import GeneratedResult, TdiucInputs, TdiucSettings
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import option, overwrite_option, settings, subset, verb
from hf_vqa_mc.result import Frame, Report, frame_of
from hf_vqa_mc.text.tables import TextTable


@settings
class GenerateTdiucSettings(TdiucSettings, TdiucInputs):
    """Generate TDIUC's twelve types of questions from annotations of your own images.

    What COCO's files do not annotate is taken as absent: they must be complete for the images they list. Questions on
    sentiment and object utility come from people only (`--annotated`, and sentiment from imported questions).
    """

    output: Path = option("Folder to write, in TDIUC's layout.")
    overwrite: bool = overwrite_option()

    def __post_init__(self) -> None:
        """Convert and validate; names the option in an InputError."""
        TdiucInputs.__post_init__(self)


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

    statistics = generate(
        subset(settings, TdiucInputs), settings.output, subset(settings, TdiucSettings), progress, settings.overwrite
    )
    return GenerateTdiucResult(settings.output.resolve(), statistics)
