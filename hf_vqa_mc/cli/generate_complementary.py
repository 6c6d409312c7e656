"""``vqa-mc generate complementary``: for each question, similar images on which its answer is likely another."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hf_vqa_mc.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from hf_vqa_mc.extraction.image_features import ImageFeatures

KNOWLEDGE, PAGE = "What is known of the images", "A page to look at"
FORMATS = (".jsonl", ".parquet")
_ANSWERS = ("target", "answer", "multiple_choice_answer")


def generate_complementary(
    dataset: Annotated[
        str, typer.Argument(help="A folder of vqa-mc build, or a dataset on the Hub.", show_default=False)
    ],
    config: Annotated[
        str, typer.Argument(help="Whose questions; candidates are the images of all its splits.", show_default=False)
    ],
    features: Annotated[
        Path, typer.Option(help="Folder of image features, as vqa-mc features names it.", show_default=False)
    ],
    output: Annotated[Path, typer.Option(help="File to write: .jsonl or .parquet.")] = Path("complementary.jsonl"),
    nearest: Annotated[
        int, typer.Option(min=1, max=1000, help="Candidates a question; Goyal et al. 2017 showed 24.")
    ] = 24,
    captions: Annotated[
        list[Path] | None,
        typer.Option(help="COCO's captions_*.json; may be repeated.", rich_help_panel=KNOWLEDGE, show_default=False),
    ] = None,
    coco: Annotated[
        list[Path] | None,
        typer.Option(help="COCO's instances_*.json; may be repeated.", rich_help_panel=KNOWLEDGE, show_default=False),
    ] = None,
    answers: Annotated[
        Path | None,
        typer.Option(
            help="A model's answers, taken instead of our estimate: lines of "
            '{"question_id", "image_id", "answers": {answer: probability}}.',
            rich_help_panel=KNOWLEDGE,
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Also show some questions as this html file.", rich_help_panel=PAGE, show_default=False),
    ] = None,
    images: Annotated[
        Path | None,
        typer.Option(
            help="Folder with the image files; by default the images built into the dataset.",
            rich_help_panel=PAGE,
            show_default=False,
        ),
    ] = None,
    questions: Annotated[
        int, typer.Option(min=1, max=200, help="How many are drawn for the page.", rich_help_panel=PAGE)
    ] = 12,
    seed: Annotated[int, typer.Option(min=0, help="Of that draw.", rich_help_panel=PAGE)] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Tell the figures as JSON.")] = False,
) -> None:
    """Find images that look alike but call for another answer, as VQA2's makers did: people then pick among them.

    Example: vqa-mc generate complementary vqa_mc vqa_iou_qou --features vqa_mc_features/resnet-152/vqa

    A line a question: candidate images, the likeliest to have another answer first; distances; that probability; and
    whether the premise, what the question takes for granted, is known to be there (holds) or not to be (fails), is
    unknown, or there is none, as in "is there a dog?". Candidates whose premise fails go last, however likely.
    """
    import pyarrow as pa

    from hf_vqa_mc.engines.complementary import complementary, read_answer_probabilities
    from hf_vqa_mc.extraction.image_features import ImageFeatures
    from hf_vqa_mc.io.atomic_file import check_place, write_bytes
    from hf_vqa_mc.io.progress import steps_on_stderr

    _check_around(output, "--output")
    if page is not None:
        _check_around(page, "--page")
    inputs = [Path(dataset), features, *(captions or ()), *(coco or ()), *([answers] if answers else [])]
    check_place(output, "--output", inputs)
    if output.suffix not in FORMATS:
        raise InputError(f"--output {output}: expected a name ending in {' or '.join(FORMATS)}")
    if page is not None:
        check_place(page, "--page", inputs)
        if page.absolute() == output.absolute():
            raise InputError(f"--page {page} and --output {output} are the same file; name two")
    with steps_on_stderr() as progress:
        known = _known(captions or [], coco or [])
        given = read_answer_probabilities(answers) if answers else None
        opened = ImageFeatures.open(features)
        triplets, split_of = _triplets(dataset, config)
        image_ids = [one for one in dict.fromkeys(triplets["image_id"].to_pylist()) if one in opened]
        numbers = _vectors(opened, image_ids)
        found, told = complementary(
            numbers, image_ids, triplets, k=nearest, known=known, given=given, progress=progress
        )
        names = pa.array([split_of[one] for one in found["question_id"].to_pylist()])
        found = found.set_column(found.column_names.index("split"), "split", names)
        write_bytes(output, _content(found, output.suffix))
        if page is not None:
            _write_page(page, found, dataset, config, images, questions, seed)
    if as_json:
        sys.stdout.write(json.dumps({"output": str(output), **told}, indent=1) + "\n")
    else:
        sys.stdout.write("".join(f"{line}\n" for line in _lines(told, output, page)))


def _check_around(path: Path, option: str) -> None:
    """Nothing, if the folder is there in which a file is to be written; as the other generators, none is made."""
    folder = path.absolute().parent
    if not folder.exists():
        raise InputError(f"{option} {path}: there is no folder {folder}; create it first")


def _known(captions: list[Path], coco: list[Path]) -> Any:  # noqa: ANN401  a Known, which is not imported yet
    from hf_vqa_mc.engines.complementary import Known, read_captions, read_instances

    instances, categories = read_instances(coco)
    return Known(read_captions(captions), instances, categories)


def _vectors(opened: "ImageFeatures", image_ids: list[str]) -> "NDArray[np.float32]":
    if opened.grid is not None:
        raise InputError(
            f"--features {opened.folder}: they are of {opened.grid}x{opened.grid} cells; expected one vector an "
            "image, which vqa-mc features makes without --grid"
        )
    return opened.take(image_ids)


def _triplets(dataset: str, config: str) -> tuple["pa.Table", dict[str, str]]:
    """The questions of all splits with their answers, and each one's split, whatever its name."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from hf_vqa_mc.dataset.loading import load_splits
    from hf_vqa_mc.sources.table import triplet_table

    config, splits = load_splits(dataset, config)
    tables, split_of = [], {}
    for split, rows in splits.items():
        columns = {"question_id", "image_id", "question"}
        answer = next((name for name in _ANSWERS if name in rows.column_names), None)
        needed = columns | ({answer} if answer else {"choices", "label"})
        if lacking := sorted(needed - set(rows.column_names)):
            raise InputError(
                f"{dataset}, {config}, {split}: no column {', '.join(lacking)}; expected question_id, image_id, "
                f"question and choices with label, or one of {', '.join(_ANSWERS)}"
            )
        table: Any = rows.select_columns(sorted(needed)).with_format("arrow")[:]
        texts = {name: pc.cast(table[name], pa.string()).to_pylist() for name in columns}
        if answer:
            targets = table[answer].to_pylist()
        else:
            pairs = zip(table["choices"].to_pylist(), table["label"].to_pylist(), strict=True)
            targets = [choices[label] for choices, label in pairs]
        split_of.update(dict.fromkeys(texts["question_id"], split))
        blank = [""] * len(targets)
        tables.append(triplet_table(**texts, split=["test"] * len(targets), target=targets, image_file=blank))
    return pa.concat_tables(tables), split_of


def _content(found: "pa.Table", suffix: str) -> bytes:
    if suffix == ".jsonl":
        rows = (row for batch in found.to_batches(1024) for row in batch.to_pylist())
        return "".join(json.dumps(_plain(row), allow_nan=False) + "\n" for row in rows).encode()
    import io

    from pyarrow import parquet

    stream = io.BytesIO()
    parquet.write_table(found, stream)
    return stream.getvalue()


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """A row as json has it: no evidence is null where a model was asked; numbers to six places."""
    rounded = {name: [round(number, 6) for number in row[name]] for name in ("distances", "differs")}
    evidence = [None if number != number else round(number, 6) for number in row["evidence"]]
    return {**row, **rounded, "evidence": evidence}


def _write_page(
    page: Path, found: "pa.Table", dataset: str, config: str, images: Path | None, questions: int, seed: int
) -> None:
    from hf_vqa_mc.engines.rng import Chance
    from hf_vqa_mc.extraction.dataset_images import find_images
    from hf_vqa_mc.report.complementary_images import write_complementary_images
    from hf_vqa_mc.report.plain_text import shown_name

    source = find_images(dataset, config, images).source

    def image(image_id: str) -> bytes | None:
        return source.read(image_id) if image_id in source else None

    drawn = Chance(seed, "complementary page").shuffled(range(found.num_rows))[:questions]
    rows = [found.slice(row, 1).to_pylist()[0] for row in sorted(drawn)]
    write_complementary_images(page, f"{shown_name(dataset)}, {config}", rows, image)


def _lines(told: dict[str, Any], output: Path, page: Path | None) -> Iterator[str]:
    """What was done, for people."""
    premise, by = told["premise"], told["estimates"]
    candidates = max(sum(premise.values()), 1)
    each = f"{told['candidates_per_question']} candidates each"
    yield f"{told['questions']:,} questions, {each} of {told['images']:,} images"
    if told["left_out"]["no features of the image"]:
        yield f"left out, as their images have no features: {told['left_out']['no features of the image']:,} questions"
    if told["candidates_missing"]:
        yield f"fewer candidates than asked for, as there are not so many images: {told['candidates_missing']:,} short"
    shares = {name: f"{count / candidates:.1%}" for name, count in premise.items()}
    nothing = shares.pop("none")
    told_of = ", ".join(f"{name} on {share}" for name, share in shares.items())
    yield f"what the question takes for granted: {told_of} of the candidates; nothing is on {nothing}"
    yield "estimates " + ", ".join(f"{name} {count / candidates:.1%}" for name, count in by.items())
    yield f"wrote {output}"
    if page is not None:
        yield f"wrote {page}"
