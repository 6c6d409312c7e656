"""Candidates for decoys from elsewhere: other datasets, captions, scene graphs, a table, replies of a model.

And which of them suit a row: by its question, its image and its choices.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.data.cells import as_text
from hf_vqa_mc.data.column_detection import ANSWERED
from hf_vqa_mc.data.files import file_form, read_file
from hf_vqa_mc.data.loading import NoChoices, open_tables
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.decoys.candidates import MISSING, Float32s, Int64s, Ints
from hf_vqa_mc.engines.complementary.premise import captions_in, noun_phrases
from hf_vqa_mc.engines.gqa.scene_graph import read_graphs
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import first_character
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.remedies.row_features import BEGINNING, TextSpace, similar_rows
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.vqa_files import ABSTRACT, V1, V2

COLUMNS = ("question_id", "text", "source")  # columns of a table of candidates
NEIGHBOURS = 1000
"""Candidates of a row, by question and by text each; similar ones of a large pool mostly have the same few texts."""
_AT_A_TIME = 256


class Candidate(NamedTuple):
    """A text that can become a decoy."""

    text: str
    source: str  # value for the column choice_origins
    question: str | None = None  # the question that it answers
    question_id: str | None = None  # the only question of the benchmark whose decoy it may become
    image_id: str = ""  # the image of which it is true


def read_candidates(
    benchmark: Benchmark,
    pool: str | None = None,
    captions: str | None = None,
    scene_graphs: Path | None = None,
    table: Path | None = None,
    progress: Progress = silent,
) -> list[Candidate]:
    """Read the candidates for a benchmark from each source that is given; see the reader of each."""
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

    It is multiple-choice or open-ended questions in any form that ``vqa-mc audit`` opens, the latter with the columns
    question_id, image_id, question and answer; or an annotation file of VQA next to its questions file.
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
        pairs = zip(split.rows["choices"].to_pylist(), split.rows["label"].to_pylist(), strict=True)
        targets = pa.array([texts[label] for texts, label in pairs], pa.string())
        rows = split.rows.append_column("answer", targets)
        found += _from_open_ended(rows, f"{public_name(pool.dataset)}, {split.name}")
    return found


def _from_open_ended(table: pa.Table, location: str) -> Iterator[Candidate]:
    """The answers of open-ended questions; empty ones are left out."""
    for image, question, answer, number in _rows(table, ("image_id", "question", "answer", "question_id"), location):
        if answer.strip():
            yield Candidate(answer, f"question {number} of {location}", question, image_id=image)


def read_captions(captions: str, images: Collection[str]) -> list[Candidate]:
    """Read the objects that captions name, alone and with the adjectives before them; see `noun_phrases`.

    They are a JSON file of COCO captions, or a table with the columns image_id and caption in any form that
    ``vqa-mc audit`` opens. Images other than ``images`` give only texts that occur nowhere before.
    """

    def read() -> Iterator[tuple[str, ...]]:
        path = Path(captions)
        if path.is_file() and file_form(path) == "json" and first_character(path) == "{":
            yield from captions_in(path)
            return
        opened = open_tables(captions, None, open_ended=True)
        for split, table in opened.tables.items():
            yield from _rows(table, ("image_id", "caption"), opened.locations[split])

    named = ((image, text) for image, caption in read() for text in noun_phrases(caption))
    return _distinct(named, images, f"caption of image {{}} of {public_name(captions)}")


def read_scene_graphs(path: Path, images: Collection[str]) -> list[Candidate]:
    """Read the names and attributes of the objects of scene graphs: a JSON file of GQA's, or Visual Genome's folder.

    Images other than ``images`` give only texts that occur nowhere before.
    """
    named = (
        (graph.image_id, text)
        for graph in read_graphs(path, Counter())
        for one in graph.objects.values()
        for text in (one.name, *one.attributes)
    )
    return _distinct(named, images, f"scene graph of image {{}} of {public_name(str(path))}")


def _distinct(named: Iterable[tuple[str, str]], images: Collection[str], source: str) -> list[Candidate]:
    """A candidate for each text, and one for each image of the benchmark that has it."""
    import pandas as pd

    found = pd.DataFrame(((image, text.strip()) for image, text in named), columns=["image", "text"])
    found = found[found["text"] != ""]
    is_new = np.where(found["image"].isin(images), ~found.duplicated(), ~found["text"].duplicated())
    chosen = found[is_new].itertuples(index=False)
    return [Candidate(text, source.format(image), image_id=image) for image, text in chosen]


def read_candidate_table(path: Path, question_ids: Collection[str]) -> list[Candidate]:
    """Read a table of candidates for certain questions: a Parquet, jsonl, json, csv or tsv file with `COLUMNS`."""
    if not path.is_file():
        raise InputError(f"{path} does not exist; expected a table of candidates with {', '.join(COLUMNS)}")
    found = []
    for row, (question_id, text, source) in enumerate(_rows(read_file(path), COLUMNS, str(path)), 1):
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


def candidate_table(candidates: Sequence[Candidate]) -> pa.Table:
    """Candidates as rows with one choice, to be numbered with those of a benchmark, see `number_rows`."""
    return pa.table(
        {
            "question": pa.array([one.question or "" for one in candidates], pa.string()),
            "choices": pa.array([[one.text] for one in candidates], pa.list_(pa.string())),
            "label": np.zeros(len(candidates), np.int64),
        }
    )


class CandidatePool:
    """Candidates for the rows of a split; ``rows`` are the candidates of `candidate_table` numbered with them."""

    def __init__(
        self, candidates: Sequence[Candidate], rows: Rows, question_ids: Sequence[str], image_ids: Sequence[str]
    ) -> None:
        self.rows = rows
        row_of = {name: row for row, name in enumerate(question_ids)}
        self._written_for: dict[int, list[int]] = {}
        for number, one in enumerate(candidates):
            if one.question_id in row_of:
                self._written_for.setdefault(row_of[one.question_id], []).append(number)
        is_free = np.array([one.question_id is None for one in candidates], np.bool_)
        has_question = np.array([one.question is not None for one in candidates], np.bool_)
        self._with_question = np.flatnonzero(is_free & has_question)
        self._without_question = np.flatnonzero(is_free & ~has_question)
        number_of = {name: number for number, name in enumerate(dict.fromkeys(image_ids)) if name}
        self._images = np.array([number_of.get(name, MISSING) for name in image_ids], np.int64)
        named = (candidates[one].image_id for one in self._without_question.tolist())
        self._true_of = np.array([number_of.get(name, MISSING - 1) for name in named], np.int64)

    def near(
        self, spaces: Sequence[TextSpace], vectors: Float32s, rows: Rows, some: Ints, least: float
    ) -> tuple[Int64s, Float32s]:
        """The candidates that suit some of the split's rows.

        These are the ones for its question alone (similarity 1), those that answer a similar question (at ``least``
        that similar by the ``vectors`` of the rows and the candidates, see `row_vectors`), and of the others those
        about the same image and those that are most like the row's choices (cosine with their mean).

        Returns:
            Numbers int64 (some, candidates), padded with MISSING, and similarities.
        """
        own = [self._written_for.get(row, []) for row in some.tolist()]
        numbers = np.full((len(own), max(map(len, own), default=0)), MISSING, np.int64)
        for at, of_row in enumerate(own):
            numbers[at, : len(of_row)] = of_row
        found = [(numbers, np.ones(numbers.shape, np.float32))]
        if len(self._with_question):
            begins = np.concatenate([rows.beginning(BEGINNING), self.rows.beginning(BEGINNING)])
            among, groups = len(rows) + self._with_question, np.arange(len(vectors))
            near, similarity = similar_rows(vectors, groups, some, among, NEIGHBOURS, begins, least)
            found.append((np.where(near == MISSING, MISSING, near - len(rows)), similarity))
        if len(self._without_question):
            found.append(self._by_text(spaces, rows, some))
        numbers, similarity = (np.concatenate([one[side] for one in found], axis=1) for side in (0, 1))
        return numbers, similarity

    def _by_text(self, spaces: Sequence[TextSpace], rows: Rows, some: Ints) -> tuple[Int64s, Float32s]:
        vectors = np.concatenate([space.texts for space in spaces], axis=1) / np.sqrt(len(spaces))
        text = self.rows.texts[self._without_question, 0]
        repeated = np.ones(len(text), np.bool_)
        repeated[np.unique(self.rows.vocabulary.keys[text], return_index=True)[1]] = False
        most = min(NEIGHBOURS, len(text))
        numbers, similarity = np.zeros((len(some), most), np.int64), np.zeros((len(some), most), np.float32)
        for first in range(0, len(some), _AT_A_TIME):
            block = slice(first, first + _AT_A_TIME)
            mean = vectors[rows.texts[some[block]]].sum(axis=1)
            mean /= np.maximum(np.linalg.norm(mean, axis=1, keepdims=True), 1e-6)
            cosines = np.round(mean @ vectors[text].T, 5)
            same_image = self._images[some[block]][:, None] == self._true_of[None, :]
            order = np.where(same_image, 2 + cosines, np.where(repeated, -2, cosines))
            best = np.argsort(-order, axis=1, kind="stable")[:, :most]
            kept = np.take_along_axis(order, best, axis=1) > -2
            numbers[block] = np.where(kept, self._without_question[best], MISSING)
            similarity[block] = np.take_along_axis(cosines, best, axis=1)
        return numbers, similarity
