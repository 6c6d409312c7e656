"""Candidates for decoys from elsewhere: other datasets, a table, replies of a model; and which of them suit a row."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.data.cells import as_text
from hf_vqa_mc.data.column_detection import ANSWERED
from hf_vqa_mc.data.files import read_file
from hf_vqa_mc.data.loading import NoChoices, open_tables
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.decoys.candidates import MISSING, Float32s, Int64s, Ints
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.remedies.row_features import BEGINNING, similar_rows
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.vqa_files import ABSTRACT, V1, V2

COLUMNS = ("question_id", "text", "source")  # columns of a table of candidates
NEIGHBOURS = 1000
"""Candidates of a row by its question; similar questions of a large pool mostly have the same few answers."""

CANDIDATES = pa.schema(
    [
        ("text", pa.string()),
        ("source", pa.string()),  # value for the column choice_origins
        ("question", pa.string()),  # the question that it answers; null for a candidate of one row
        ("image_id", pa.string()),  # the image of that question, or ""
        ("question_id", pa.string()),  # the only question of the benchmark whose decoy it may become, or null
    ]
)
NONE = CANDIDATES.empty_table()


def candidate_table(text: Sequence[str] | pa.Array, source: pa.Array, **columns: Sequence[str] | pa.Array) -> pa.Table:
    """A table of `CANDIDATES`."""
    none = pa.nulls(len(text), pa.string())
    others = {"question": none, "image_id": pa.repeat("", len(text)), "question_id": none}
    return pa.table({"text": text, "source": source, **others, **columns}, CANDIDATES)


def read_candidates(benchmark: Benchmark, pool: str | None, table: Path | None, progress: Progress) -> pa.Table:
    """Read the candidates for a benchmark from the sources that are given; see the reader of each."""
    parts = [NONE]
    if table is not None:
        ids = {one for split in benchmark.splits.values() for one in split.rows["question_id"].to_pylist()}
        parts.append(read_candidate_table(table, ids))
    if pool is not None:
        parts.append(read_pool(pool, progress))
    return pa.concat_tables(parts)


def read_pool(pool: str, progress: Progress = silent) -> pa.Table:
    """Read the answers of another dataset, with their questions.

    It is multiple-choice or open-ended questions in any form that ``vqa-mc audit`` opens, the latter with the columns
    question_id, image_id, question and answer; or an annotation file of VQA next to its questions file.
    """
    path = Path(pool)
    for release in (V1, V2, ABSTRACT):
        for subset in release.subsets:
            if path.is_file() and path.name.startswith(release.annotations_name(subset)):
                progress("pool: reading", 0, 1)
                return _answers(release.read(Folder(path.parent), subset), path.name)
    try:
        return from_questions(load(BenchmarkOptions(pool), prefixed(progress, "pool")))
    except NoChoices:
        opened = open_tables(pool, None, open_ended=True)
        if not all(ANSWERED.issubset(table.column_names) for table in opened.tables.values()):
            raise
        name = public_name(opened.name)
        return pa.concat_tables(_answers(table, f"{name}, {split}") for split, table in opened.tables.items())


def from_questions(pool: Benchmark) -> pa.Table:
    """The targets of another dataset's questions."""
    splits, name = pool.splits.values(), public_name(pool.dataset)
    answered = [(split.rows.append_column("answer", split.targets), split.name) for split in splits]
    return pa.concat_tables(_answers(rows, f"{name}, {split}") for rows, split in answered)


def _answers(table: pa.Table, location: str) -> pa.Table:
    """The answers of open-ended questions; empty ones are left out."""
    text, question, image, number = _columns(table, ("answer", "question", "image_id", "question_id"), location)
    sources = pc.binary_join_element_wise("question ", number, f" of {location}", "")
    found = candidate_table(text, sources, question=question, image_id=image)
    return found.filter(pc.not_equal(pc.utf8_trim_whitespace(text), ""))


def read_candidate_table(path: Path, question_ids: Collection[str]) -> pa.Table:
    """Read a table of candidates for certain questions: a Parquet, jsonl, json, csv or tsv file with `COLUMNS`."""
    if not path.is_file():
        raise InputError(f"{path} does not exist; expected a table of candidates with {', '.join(COLUMNS)}")
    ids, texts, sources = _columns(read_file(path), COLUMNS, str(path))
    for row, (question_id, text) in enumerate(zip(ids.to_pylist(), texts.to_pylist(), strict=True), 1):
        if question_id not in question_ids:
            raise InputError(
                f"{path}, row {row}: question_id {shown(question_id)} is not in the benchmark, which has ids such as "
                f"{shown(min(question_ids, default=''))}"
            )
        if not text.strip():
            raise InputError(f"{path}, row {row}: text is empty; expected a text that is a wrong answer")
    return candidate_table(texts, sources, question_id=ids)


def from_replies(replies: Mapping[str, Sequence[str]], model: str) -> pa.Table:
    """The wrong answers that a model wrote, by question id."""
    pairs = [(name, text) for name, texts in replies.items() for text in texts]
    sources = pa.repeat(f"written by {public_name(model)}", len(pairs))
    return candidate_table([text for _, text in pairs], sources, question_id=[name for name, _ in pairs])


def _columns(table: pa.Table, columns: Sequence[str], location: str) -> Iterator[pa.Array]:
    """Some columns as text, "" for null; raises InputError if one is missing."""
    for name in columns:
        if name not in table.column_names:
            raise InputError(f"{location}: no column {name!r}; expected {', '.join(columns)}")
    return (pc.fill_null(as_text(table[name]), "") for name in columns)


def images_in_common(candidates: pa.Table, benchmark: Benchmark) -> int:
    """Number of the benchmark's images about which there are candidates."""
    images = {one for split in benchmark.splits.values() for one in split.rows["image_id"].unique().to_pylist()}
    return len({*candidates["image_id"].unique().to_pylist()} & images - {""})


def as_questions(candidates: pa.Table) -> pa.Table:
    """Candidates as rows with one choice, to be numbered with those of a benchmark, see `number_rows`."""
    choices = pa.array([[text] for text in candidates["text"].to_pylist()], pa.list_(pa.string()))
    questions = pc.fill_null(candidates["question"], "")
    return pa.table({"question": questions, "choices": choices, "label": np.zeros(len(choices), np.int64)})


class CandidatePool:
    """Candidates for the rows of a split; ``rows`` are those of `as_questions`, numbered together with them."""

    def __init__(self, candidates: pa.Table, rows: Rows, question_ids: pa.Array) -> None:
        self.rows = rows
        only = pc.index_in(candidates["question_id"], question_ids).combine_chunks()
        self._only_row = pc.fill_null(only, MISSING).to_numpy()  # (candidates,): MISSING for no or another row
        self._with_question = np.flatnonzero(pc.is_valid(candidates["question"]).to_numpy())

    def near(self, vectors: Float32s, rows: Rows, some: Ints, least: float) -> tuple[Int64s, Float32s]:
        """The candidates that suit some of the split's rows.

        These are the ones for its question alone (similarity 1) and those that answer a similar question (at ``least``
        that similar by the ``vectors`` of the rows and the candidates, see `row_vectors`).

        Returns:
            Numbers int64 (some, candidates), counted from the number of rows on and padded with MISSING; similarities.
        """
        own = [len(rows) + np.flatnonzero(self._only_row == row) for row in some.tolist()]
        numbers = np.full((len(own), max(map(len, own), default=0)), MISSING, np.int64)
        for at, of_row in enumerate(own):
            numbers[at, : len(of_row)] = of_row
        begins = np.concatenate([rows.beginning(BEGINNING), self.rows.beginning(BEGINNING)])
        among, groups = len(rows) + self._with_question, np.arange(len(vectors))
        near, similarity = similar_rows(vectors, groups, some, among, NEIGHBOURS, begins, least)
        ones = np.ones(numbers.shape, np.float32)
        return np.concatenate([numbers, near], axis=1), np.concatenate([ones, similarity], axis=1)
