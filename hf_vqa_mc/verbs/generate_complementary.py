"""``hf_vqa_mc.generate_complementary`` and ``vqa-mc generate complementary``: similar images, other answers."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import FOLDER, option, overwrite_option, settings, verb
from hf_vqa_mc.result import Frame, Report, Result
from hf_vqa_mc.text.tables import check_suffix

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = (".jsonl", ".parquet")


@settings
class GenerateComplementarySettings:
    """Find similar images with a different answer, as for VQA2: candidates for annotators to choose from.

    One record per question: candidate images, sorted by the probability of a different answer; their distances; that
    probability; and the premise, which is what the question presupposes: holds, fails, unknown, or none, as for "is
    there a dog?". Candidates whose premise fails are last.
    """

    dataset: str = option("Folder of vqa-mc build, or dataset on the Hub.", kw_only=False)
    config: str = option("Config with the questions; candidates are the images of all its splits.", kw_only=False)
    features: Path = option("Folder of image features written by vqa-mc features.", check=FOLDER)
    output: Path | None = option(
        "File to write: .jsonl or .parquet.", default=None, cli_default=Path("complementary.jsonl")
    )
    overwrite: bool = overwrite_option()
    nearest: int = option(
        "Candidates per question; 24 in Goyal et al. 2017.", default=24, check=("1 to 1000", lambda n: 1 <= n <= 1000)
    )
    captions: tuple[Path, ...] = option("COCO's captions_*.json; may be repeated.", default=())
    coco: tuple[Path, ...] = option("COCO's instances_*.json; may be repeated.", default=())


@dataclass(frozen=True, eq=False, repr=False)
class GenerateComplementaryResult(Result):
    """The candidates of each question."""

    candidates: "pa.Table"  #: one row per question, columns ``engines.complementary.COMPLEMENTARY``
    figures: Mapping[str, Any]
    output: Path | None = None

    def report(self) -> Report:
        """Counts, the states of the premises, the sources of estimates, and the files written, in sentences."""
        figures, each = self.figures, self.figures["candidates_per_question"]
        yield (
            f"{figures['questions']:,} questions, each with the {each} most similar of {figures['images']:,} images, "
            "sorted by the estimated probability that the answer is different."
        )
        if left_out := figures["left_out"]["no features of the image"]:
            yield f"{left_out:,} more questions are left out: their images have no features."
        if missing := figures["candidates_missing"]:
            wanted = each + missing // max(figures["questions"], 1)
            yield f"The dataset has too few images for the requested {wanted} candidates."
        total = max(sum(figures["premise"].values()), 1)
        premise, estimates = (
            ", ".join(f"{name} {count / total:.0%}" for name, count in figures[counts].items())
            for counts in ("premise", "estimates")
        )
        yield (
            f'The premise is what a question presupposes, a ball in "What color is the ball?": {premise} of the '
            "images. Those for which it fails are listed last."
        )
        yield f"The probability is estimated {estimates}."
        if self.output:
            yield f"wrote {self.output}"

    def to_dict(self) -> dict[str, Any]:
        """All figures."""
        return {"output": str(self.output) if self.output else None, **self.figures}

    def to_pandas(self) -> Frame:
        """One row per question and candidate image."""
        lists = ["candidates", "distances", "differs", "premise", "evidence"]
        frame = self.candidates.to_pandas()
        return frame.explode([name for name in lists if name in frame], ignore_index=True)

    def _content(self, path: Path) -> bytes:
        """The candidates as .jsonl or .parquet."""
        return _content(self.candidates, check_suffix(path, "path", FORMATS))


@verb(
    GenerateComplementarySettings,
    "vqa-mc generate complementary vqa_mc vqa_iou_qou --features vqa_mc_features/resnet-152/vqa",
)
def generate_complementary(settings: GenerateComplementarySettings, progress: Progress) -> GenerateComplementaryResult:
    """Find complementary images.

    Returns:
        The candidates of each question and their figures; written to ``output`` if given.

    Raises:
        InputError: an input cannot be used; nothing was written.
    """
    import pyarrow as pa

    from hf_vqa_mc.io.atomic import write_bytes
    from hf_vqa_mc.io.outputs import check_output_file

    if (output := settings.output) is not None:
        if not output.absolute().parent.exists():
            raise InputError(f"--output {output}: folder {output.absolute().parent} does not exist; create it first")
        inputs = [Path(settings.dataset), settings.features, *settings.captions, *settings.coco]
        check_output_file(output, "--output", inputs, settings.overwrite)
        check_suffix(output, "--output", FORMATS)
    from hf_vqa_mc.engines.complementary.complementary import complementary
    from hf_vqa_mc.engines.complementary.premise import ImageFacts, captions_in
    from hf_vqa_mc.engines.tdiuc.coco import coco_files, read_coco
    from hf_vqa_mc.engines.tdiuc.questions import QuestionCollection
    from hf_vqa_mc.engines.tdiuc.words import COCO_OBJECTS
    from hf_vqa_mc.extraction.store import ImageFeatures

    captions = [caption for path in settings.captions for caption in captions_in(path)]
    images = read_coco(coco_files(settings.coco), QuestionCollection(0))
    categories = frozenset(COCO_OBJECTS if images else ()).intersection(*(one.annotated for one in images))
    known = ImageFacts(captions, {str(one.image_id): one.present for one in images}, categories)
    features = ImageFeatures(settings.features)
    triplets, splits = _triplets(settings.dataset, settings.config)
    image_ids = [one for one in dict.fromkeys(triplets["image_id"].to_pylist()) if one in features]
    if features.kind.grid is not None:
        raise InputError(
            f"--features {features.folder}: found a grid of {features.kind.grid}x{features.kind.grid} cells; expected "
            "one vector per image; run vqa-mc features without --grid"
        )
    found, figures = complementary(
        features.take(image_ids), image_ids, triplets, k=settings.nearest, known=known, progress=progress
    )
    split_of = dict(zip(triplets["question_id"].to_pylist(), splits, strict=True))
    names = pa.array([split_of[one] for one in found["question_id"].to_pylist()])
    found = found.set_column(found.column_names.index("split"), "split", names)
    if settings.output is not None:
        write_bytes(settings.output, _content(found, settings.output.suffix), settings.overwrite)
    return GenerateComplementaryResult(found, figures, settings.output)


def _triplets(dataset: str, config: str) -> tuple["pa.Table", list[str]]:
    """The questions of all splits with their answers, and each question's split."""
    import pyarrow as pa

    from hf_vqa_mc.sources.table import triplet_table
    from hf_vqa_mc.training.questions import read_questions

    read, tables, splits = read_questions(dataset, config, open_ended=True), [], list[str]()
    for split, one in read.splits.items():
        splits += [split] * len(one)
        texts = [read.texts[number] for number in one.texts]
        ids = {"question_id": one.question_ids, "image_id": one.image_ids}
        blank = {"split": ["test"] * len(one), "image_file": [""] * len(one)}
        tables.append(triplet_table(**ids, **blank, question=texts, target=one.targets))
    return pa.concat_tables(tables), splits


def _content(found: "pa.Table", suffix: str) -> bytes:
    """A file's content; in JSON missing evidence (NaN) is null, and numbers are rounded to six digits."""
    import io

    from pyarrow import parquet

    if suffix == ".parquet":
        stream = io.BytesIO()
        parquet.write_table(found, stream)
        return stream.getvalue()
    lines = []
    for row in (row for batch in found.to_batches(1024) for row in batch.to_pylist()):
        for name in ("distances", "differs", "evidence"):
            row[name] = [None if number != number else round(number, 6) for number in row[name]]
        lines.append(json.dumps(row, allow_nan=False) + "\n")
    return "".join(lines).encode()
