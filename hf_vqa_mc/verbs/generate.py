"""``vqa-mc generate``: questions from scene graphs (GQA) and annotations (TDIUC), and complementary images (VQA2)."""

import io
import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.engines.settings import ABSURD, SHARES, SPLITS
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import (
    ADVANCED,
    AT_LEAST_ZERO,
    FOLDER,
    SEED,
    check_options,
    option,
    output_file,
    overwrite_option,
    settings,
)
from hf_vqa_mc.result import Frame, OutputResult, Report, TableResult, verb
from hf_vqa_mc.text.tables import TextTable

if TYPE_CHECKING:
    import pyarrow as pa


@settings
class GenerateGqaSettings:
    """Generate questions from scene graphs: with programs, references, entailment and balanced answers.

    Then `vqa-mc build gqa --data-dir OUTPUT --word-vectors corpus` gives each question decoys, or with
    `--variants sets_latin` and others closed answer sets.

    Raises:
        InputError: an option is out of range; names it.
    """

    scene_graphs: tuple[Path, ...] = option(
        "Files in the layout of GQA's train_sceneGraphs.json, or folders with Visual Genome's scene_graphs.json (or "
        "objects, attributes, relationships) and image_data.json; packed or not.",
        kw_only=False,
    )
    output: Path = option("Folder to write.")
    overwrite: bool = overwrite_option()
    objects: Path | None = option("GQA's ontology of objects (objects.txt); by default our own words.", default=None)
    attributes: Path | None = option("GQA's ontology of attributes (attributes.txt), with --objects.", default=None)
    splits: Mapping[str, float] = option(
        "Fraction of the images per split: train, val, test, challenge.", factory=lambda: dict(SPLITS), separator=","
    )
    keep_splits: bool = option(
        "Use the split in each file's name, such as train in train_sceneGraphs.json.", default=False
    )
    shares: Mapping[str, float] = option(
        "Fraction of the balanced questions per structural type, such as query=0.4,verify=0.3; others have no limit.",
        factory=lambda: dict(SHARES),
        separator=",",
        panel=ADVANCED,
    )
    seed: int = option("Random seed.", default=0, check=SEED)

    def __post_init__(self) -> None:
        from hf_vqa_mc.scoring.gqa_types import STRUCTURAL_TYPES

        check_options(self)
        _check_fractions("--splits", "split", self.splits, SPLITS)
        if abs(sum(self.splits.values()) - 1) > 1e-6:
            listed = ", ".join(f"{name} {share:g}" for name, share in self.splits.items()) or "none"
            raise InputError(f"--splits: {listed}; expected fractions that add up to 1")
        _check_fractions("--shares", "structural type", self.shares, STRUCTURAL_TYPES)
        if (total := sum(self.shares.values())) > 1 + 1e-9:
            raise InputError(f"--shares: they add up to {total:g}, expected 1 at most")


def _check_fractions(flag: str, what: str, given: Mapping[str, float], known: Iterable[str]) -> None:
    for name, fraction in given.items():
        if name not in known:
            raise unknown_name(what, name, known)
        if not 0 < fraction <= 1:
            raise InputError(f"{flag}: {name} is {fraction}, expected above 0 and up to 1")


def _result(engine: str, folder: Path, statistics: Mapping[str, Any], table: TextTable, notes: list[str],
            rows: list[Any], columns: list[str] | None = None) -> TableResult:  # fmt: skip
    """The result of a generated dataset, with the command that adds decoys."""
    folder = folder.resolve()
    lines = [
        table,
        *notes,
        f"wrote {folder}; statistics.json has all counts. Add decoys to each question with",
        f"\n  vqa-mc build {engine} --data-dir {shlex.quote(str(folder))} --word-vectors corpus",
    ]
    return TableResult(lines, {**statistics, "output": str(folder)}, rows, columns)


@verb(
    GenerateGqaSettings,
    "vqa-mc generate gqa train_sceneGraphs.json --output my_gqa",
    "vqa-mc generate gqa train_sceneGraphs.json val_sceneGraphs.json --keep-splits --output my_gqa",
)
def generate_gqa(settings: GenerateGqaSettings, progress: Progress) -> TableResult:
    """The folder that was written, in the layout of GQA's files, and its statistics; entropies in bits.

    `to_pandas` has a row per structural type, semantic type and split: number of questions, all and balanced.

    Raises:
        InputError: an input cannot be used; nothing was written.
    """
    from hf_vqa_mc.engines.gqa.generate import generate
    from hf_vqa_mc.engines.gqa.ontology_files import read_ontology

    given = dict(vars(settings))
    ontology = read_ontology(given.pop("objects"), given.pop("attributes"))
    statistics = generate(**given, ontology=ontology, progress=progress)
    everything, balanced = statistics["all"], statistics["balanced"]
    keys = {"structural": "per_structural_type", "semantic": "per_semantic_type", "split": "per_split"}
    rows = [(part, name, count, balanced[key].get(name, 0))
            for part, key in keys.items() for name, count in everything[key].items()]  # fmt: skip
    cells = [(name if part == "split" else f"{part}: {name}", *counts) for part, name, *counts in rows]
    cells.append(("all", everything["questions"], balanced["questions"]))
    lines = [(name, f"{count:,}", f"{kept:,}") for name, count, kept in cells]
    entropy = statistics["entropy"]["global_groups"]
    lines.append(("entropy of a group's answers, bits", f"{entropy['before']:.2f}", f"{entropy['after']:.2f}"))
    notes = [f"left out: {reason}: {count:,}" for reason, count in statistics["problems"].items() if count]
    table = TextTable.of(("questions", "all", "balanced"), lines)
    return _result("gqa", settings.output, statistics, table, notes, rows, ["by", "name", "all", "balanced"])


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


@verb(
    GenerateTdiucSettings,
    "vqa-mc generate tdiuc --coco instances_val2014.json --output my_tdiuc",
    "vqa-mc generate tdiuc --coco instances_val2014.json --visual-genome vg --vqa vqa --output my_tdiuc",
)
def generate_tdiuc(settings: GenerateTdiucSettings, progress: Progress) -> TableResult:
    """The folder that was written, in TDIUC's layout, and its statistics.

    `to_pandas` has a row per question type: questions, images, per split, distinct answers, their entropy in bits.

    Raises:
        InputError: an input is missing or malformed, or nothing can be asked; nothing was written.
    """
    from hf_vqa_mc.engines.tdiuc.generate import generate

    statistics = generate(**vars(settings), progress=progress)
    keys, lines, rows = ("questions", "images", "unique_answers", "entropy_bits"), [], []
    for name, one in statistics["types"].items():
        counts = [f"{count:,}" for count in (one["questions"], *one["splits"].values(), one["unique_answers"])]
        lines.append((name, *counts, f"{one['entropy_bits']:.2f}", next(iter(one["answers"]), "")))
        rows.append({"type": name, **{key: one[key] for key in keys}, **one["splits"]})
    headings = ("type", "questions", "train", "test", "answers", "bits", "top answer")
    table = TextTable.of(headings, lines)._replace(texts=("type", "top answer"))
    notes = [f"{statistics['questions']:,} questions on {statistics['images']:,} images"]
    return _result("tdiuc", settings.output, statistics, table, notes, rows)


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
    output: Path | None = output_file(
        "File to write: .jsonl or .parquet.", ".jsonl", ".parquet", cli_default=Path("complementary.jsonl")
    )
    overwrite: bool = overwrite_option()
    nearest: int = option(
        "Candidates per question; 24 in Goyal et al. 2017.", default=24, check=("1 to 1000", lambda n: 1 <= n <= 1000)
    )
    captions: tuple[Path, ...] = option("COCO's captions_*.json; may be repeated.", default=())
    coco: tuple[Path, ...] = option("COCO's instances_*.json; may be repeated.", default=())


@dataclass(frozen=True, eq=False, repr=False)
class GenerateComplementaryResult(OutputResult):
    """The candidates of each question."""

    candidates: "pa.Table"  #: one row per question, columns ``engines.complementary.COMPLEMENTARY``
    figures: Mapping[str, Any]

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
        yield from (f"wrote {path}" for path in self.written)

    def to_dict(self) -> dict[str, Any]:
        """All figures."""
        output = self.settings.output
        return {"output": None if output is None else str(output), **self.figures}

    def to_pandas(self) -> Frame:
        """One row per question and candidate image."""
        lists = ["candidates", "distances", "differs", "premise", "evidence"]
        frame = self.candidates.to_pandas()
        return frame.explode([name for name in lists if name in frame], ignore_index=True)

    def _content(self, suffix: str) -> bytes:
        """The candidates; in JSON missing evidence (NaN) is null, and numbers are rounded to six digits."""
        from pyarrow import parquet

        if suffix == ".parquet":
            stream = io.BytesIO()
            parquet.write_table(self.candidates, stream)
            return stream.getvalue()
        lines = []
        for row in (row for batch in self.candidates.to_batches(1024) for row in batch.to_pylist()):
            for name in ("distances", "differs", "evidence"):
                row[name] = [None if number != number else round(number, 6) for number in row[name]]
            lines.append(json.dumps(row, allow_nan=False) + "\n")
        return "".join(lines).encode()


@verb(
    GenerateComplementarySettings,
    "vqa-mc generate complementary vqa_mc vqa_iou_qou --features vqa_mc_features/resnet-152/vqa",
)
def generate_complementary(settings: GenerateComplementarySettings, progress: Progress) -> GenerateComplementaryResult:
    """The candidates of each question and their figures; written to ``output`` if given.

    Raises:
        InputError: an input cannot be used; nothing was written.
    """
    import pyarrow as pa

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
    return GenerateComplementaryResult(settings, found, figures)


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
