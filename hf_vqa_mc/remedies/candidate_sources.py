"""Candidates for decoys from elsewhere: other datasets, captions, scene graphs, a table, replies of a model."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.data.cells import as_text
from hf_vqa_mc.data.column_detection import ANSWERED
from hf_vqa_mc.data.files import file_form, read_file
from hf_vqa_mc.data.loading import NoChoices, open_tables
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.engines.complementary.premise import noun_phrases
from hf_vqa_mc.engines.gqa.scene_graph_files import RawGraph, read_gqa_graphs, read_visual_genome
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import first_character
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.sources.files import Folder, PublishedFile
from hf_vqa_mc.sources.vqa_files import ABSTRACT, V1, V2
from hf_vqa_mc.training.captions import captions_in

COLUMNS = ("question_id", "text", "source")
"""Columns of a table of candidates."""


class Candidate(NamedTuple):
    """A text that can become a decoy."""

    text: str
    source: str
    """value for the column choice_origins"""
    question: str | None = None
    """the question that it answers"""
    question_id: str | None = None
    """the only question of the benchmark whose decoy it may become"""
    image_id: str = ""
    """the image of which it is true"""


def read_candidates(
    benchmark: Benchmark,
    pool: str | None = None,
    captions: str | None = None,
    scene_graphs: Path | None = None,
    table: Path | None = None,
    progress: Progress = silent,
) -> list[Candidate]:
    """Read the candidates for a benchmark from each source that is given; see the reader of each.

    Raises:
        InputError: a source cannot be read.
    """
    found: list[Candidate] = []
    if table is not None:
        ids = {one for split in benchmark.splits.values() for one in split.rows["question_id"].to_pylist()}
        found += read_candidate_table(table, ids)
    if pool is not None:
        found += read_pool(pool, progress)
    if captions is not None:
        progress("captions: reading", 0, 1)
        found += read_captions(captions, image_ids(benchmark))
    if scene_graphs is not None:
        progress("scene graphs: reading", 0, 1)
        found += read_scene_graphs(scene_graphs, image_ids(benchmark))
    return found


def read_pool(pool: str, progress: Progress = silent) -> list[Candidate]:
    """Read the answers of another dataset, with their questions.

    Args:
        pool: multiple-choice or open-ended questions in any form that ``vqa-mc audit`` opens, the latter with the
            columns question_id, image_id, question and answer; or an annotation file of VQA with its questions file in
            the same folder.
        progress: called with (step, done, total).

    Raises:
        InputError: it cannot be read.
    """
    path = Path(pool)
    for release in (V1, V2, ABSTRACT):
        for subset in release.subsets:
            if path.is_file() and path.name.startswith(release.annotations_name(subset)):
                progress("pool: reading", 0, 1)
                return list(_from_open_ended(release.read(Folder(path.parent), subset), path.name))
    try:
        return from_questions(load(BenchmarkOptions(pool), prefixed(progress, "pool")))
    except NoChoices:
        opened = open_tables(pool, None, open_ended=True)
        if not all(ANSWERED.issubset(table.column_names) for table in opened.tables.values()):
            raise
        name = public_name(opened.name)
        return [one for split, table in opened.tables.items() for one in _from_open_ended(table, f"{name}, {split}")]


def from_questions(pool: Benchmark) -> list[Candidate]:
    """The targets of another dataset's questions."""
    found: list[Candidate] = []
    for split in pool.splits.values():
        images, questions, ids = (split.rows[name].to_pylist() for name in ("image_id", "question", "question_id"))
        choices, labels = split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()
        for image, question, number, texts, label in zip(images, questions, ids, choices, labels, strict=True):
            source = f"question {number} of {public_name(pool.dataset)}, {split.name}"
            found.append(Candidate(texts[label], source, question, image_id=image))
    return found


def _from_open_ended(table: pa.Table, location: str) -> Iterator[Candidate]:
    """The answers of open-ended questions; empty ones are left out."""
    names = ("image_id", "question", "answer", "question_id")
    columns = (pc.fill_null(as_text(table[name]), "").to_pylist() for name in names)
    for image, question, answer, question_id in zip(*columns, strict=True):
        if answer.strip():
            yield Candidate(answer, f"question {question_id} of {location}", question, image_id=image)


def read_captions(captions: str, images: Collection[str]) -> list[Candidate]:
    """Read the objects that captions name, alone and with the adjectives before them; see `noun_phrases`.

    Args:
        captions: a JSON file of COCO captions, or a table with the columns image_id and caption in any form that
            ``vqa-mc audit`` opens.
        images: of the benchmark; every other image gives only texts that occur nowhere before.

    Raises:
        InputError: it cannot be read.
    """
    path, name = Path(captions), public_name(captions)
    named = ((image, text) for image, caption in _captions(path, captions) for text in noun_phrases(caption))
    return list(_distinct(named, images, f"caption of image {{}} of {name}"))


def _captions(path: Path, captions: str) -> Iterator[tuple[str, ...]]:
    """Image ids and captions."""
    if path.is_file() and file_form(path) == "json" and first_character(path) == "{":
        yield from captions_in(path)
        return
    opened = open_tables(captions, None, open_ended=True)
    for split, table in opened.tables.items():
        yield from _rows(table, ("image_id", "caption"), opened.locations[split])


def read_scene_graphs(path: Path, images: Collection[str]) -> list[Candidate]:
    """Read the names and attributes of the objects of scene graphs.

    Args:
        path: a JSON file of GQA's, or a folder with Visual Genome's files.
        images: of the benchmark; every other image gives only texts that occur nowhere before.

    Raises:
        InputError: it cannot be read.
    """
    if not path.exists():
        raise InputError(f"{path}: no such file; expected GQA's scene graphs, or a folder with Visual Genome's")
    graphs: Iterable[RawGraph] = (
        read_visual_genome(Folder(path)) if path.is_dir() else read_gqa_graphs(PublishedFile(path.name, path))
    )
    named = (
        (graph.image_id, text)
        for graph in graphs
        for one in graph.objects.values()
        for text in (one.name, *one.attributes)
    )
    return list(_distinct(named, images, f"scene graph of image {{}} of {public_name(str(path))}"))


def _distinct(named: Iterable[tuple[str, str]], images: Collection[str], source: str) -> Iterator[Candidate]:
    """A candidate for each text, and one for each image of the benchmark that has it."""
    texts: set[str] = set()
    pairs: set[tuple[str, str]] = set()
    for image, written in named:
        text = written.strip()
        is_new = (image, text) not in pairs if image in images else text not in texts
        if text and is_new:
            texts.add(text)
            if image in images:
                pairs.add((image, text))
            yield Candidate(text, source.format(image), image_id=image)


def read_candidate_table(path: Path, question_ids: Collection[str]) -> list[Candidate]:
    """Read a table of candidates for certain questions: a Parquet, jsonl, json, csv or tsv file with `COLUMNS`.

    Raises:
        InputError: the file cannot be read, a column or a text is missing, or the benchmark lacks a question; names
            row and column.
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist; expected a table of candidates with {', '.join(COLUMNS)}")
    found = []
    for row, (question_id, text, source) in enumerate(_rows(read_file(path), COLUMNS, str(path))):
        if question_id not in question_ids:
            raise InputError(
                f"{path}, row {row}: question_id {shown(question_id)} is not in the benchmark, which has ids such as "
                f"{shown(min(question_ids, default=''))}"
            )
        if not text.strip():
            raise InputError(f"{path}, row {row}: text is empty; expected a text that is a wrong answer")
        found.append(Candidate(text, source, question_id=question_id))
    return found


def from_replies(replies: Mapping[str, Sequence[str]], model: str) -> list[Candidate]:
    """The wrong answers that a model wrote, by question id."""
    source = f"written by {public_name(model)}"
    return [Candidate(text, source, question_id=name) for name, texts in replies.items() for text in texts]


def _rows(table: pa.Table, columns: Sequence[str], location: str) -> Iterator[tuple[str, ...]]:
    """The cells of some columns as text, "" for null, row by row; InputError if a column is missing."""
    for name in columns:
        if name not in table.column_names:
            raise InputError(f"{location}: no column {name!r}; expected {', '.join(columns)}")
    cells = (pc.fill_null(as_text(table[name]), "").to_pylist() for name in columns)
    yield from zip(*cells, strict=True)


def images_in_common(candidates: Iterable[Candidate], benchmark: Benchmark) -> int:
    """Number of the benchmark's images about which there are candidates."""
    return len({one.image_id for one in candidates} & image_ids(benchmark))


def image_ids(benchmark: Benchmark) -> set[str]:
    """The images of all splits."""
    found = {one for split in benchmark.splits.values() for one in split.rows["image_id"].unique().to_pylist()}
    return found - {""}
