"""Candidates for decoys from elsewhere, and which of them suit a row.

They come from other datasets, captions, scene graphs, a table, or replies of a model.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

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
from hf_vqa_mc.remedies.row_features import BEGINNING, similar_rows
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.vqa_files import ABSTRACT, V1, V2

COLUMNS = ("question_id", "text", "source")  # columns of a table of candidates
NEIGHBOURS = 1000
"""Candidates of a row by its question, and by its choices; similar ones of a large pool mostly have the same texts."""

CANDIDATES = pa.schema(
    [
        ("text", pa.string()),
        ("source", pa.string()),  # value for the column choice_origins
        ("question", pa.string()),  # the question that it answers, or null
        ("image_id", pa.string()),  # the image of that question, or of which the text is true; or ""
        ("question_id", pa.string()),  # the only question of the benchmark whose decoy it may become, or null
    ]
)
NONE = CANDIDATES.empty_table()


def candidate_table(text: Sequence[str] | pa.Array, source: pa.Array, **columns: Sequence[str] | pa.Array) -> pa.Table:
    """A table of `CANDIDATES`."""
    none = pa.nulls(len(text), pa.string())
    others = {"question": none, "image_id": pa.repeat("", len(text)), "question_id": none}
    return pa.table({"text": text, "source": source, **others, **columns}, CANDIDATES)


def read_candidates(
    benchmark: Benchmark,
    candidates: Path | None,
    pool: str | None,
    captions: str | None,
    scene_graphs: Path | None,
    progress: Progress,
) -> pa.Table:
    """Read the candidates for a benchmark from the files that are given; see the reader of each."""
    parts = [NONE]
    if candidates is not None:
        ids = {one for split in benchmark.splits.values() for one in split.rows["question_id"].to_pylist()}
        parts.append(read_candidate_table(candidates, ids))
    if pool is not None:
        parts.append(read_pool(pool, progress))
    if captions is not None:
        progress("captions: reading", 0, 1)
        parts.append(read_captions(captions, _image_ids(benchmark)))
    if scene_graphs is not None:
        progress("scene graphs: reading", 0, 1)
        parts.append(read_scene_graphs(scene_graphs, _image_ids(benchmark)))
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


def read_captions(captions: str, images: Collection[str]) -> pa.Table:
    """Read the objects that captions name, alone and with the adjectives before them; see `noun_phrases`.

    They are a JSON file of COCO captions, or a table with the columns image_id and caption in any form that
    ``vqa-mc audit`` opens. Images other than ``images`` give only texts that occur nowhere before.
    """

    def read() -> Iterator[tuple[str, str]]:
        path = Path(captions)
        if path.is_file() and file_form(path) == "json" and first_character(path) == "{":
            yield from captions_in(path)
            return
        opened = open_tables(captions, None, open_ended=True)
        for split, table in opened.tables.items():
            ids, texts = _columns(table, ("image_id", "caption"), opened.locations[split])
            yield from zip(ids.to_pylist(), texts.to_pylist(), strict=True)

    named = ((image, text) for image, caption in read() for text in noun_phrases(caption))
    return _about_images(named, images, f"caption of image {{}} of {public_name(captions)}")


def read_scene_graphs(path: Path, images: Collection[str]) -> pa.Table:
    """Read the names and attributes of the objects of scene graphs: a JSON file of GQA's, or Visual Genome's folder.

    Images other than ``images`` give only texts that occur nowhere before.
    """
    objects = ((graph.image_id, one) for graph in read_graphs(path, Counter()) for one in graph.objects.values())
    named = ((image, text) for image, one in objects for text in (one.name, *one.attributes))
    return _about_images(named, images, f"scene graph of image {{}} of {public_name(str(path))}")


def _about_images(named: Iterable[tuple[str, str]], images: Collection[str], source: str) -> pa.Table:
    """A candidate for each new text, and one for each image of the benchmark that has it."""
    found, known = dict[tuple[str, str], None](), set[str]()
    for image, text in ((image, text.strip()) for image, text in named):
        if text and (image in images or text not in known):
            found[image, text] = None
            known.add(text)
    ids = [image for image, _ in found]
    sources = pa.array([source.format(image) for image in ids], pa.string())
    return candidate_table([text for _, text in found], sources, image_id=ids)


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
    return len({*candidates["image_id"].unique().to_pylist()} & _image_ids(benchmark))


def _image_ids(benchmark: Benchmark) -> set[str]:
    """The images of all splits."""
    found = {one for split in benchmark.splits.values() for one in split.rows["image_id"].unique().to_pylist()}
    return found - {""}


def as_questions(candidates: pa.Table) -> pa.Table:
    """Candidates as rows with one choice, to be numbered with those of a benchmark, see `number_rows`."""
    choices = pa.array([[text] for text in candidates["text"].to_pylist()], pa.list_(pa.string()))
    questions = pc.fill_null(candidates["question"], "")
    return pa.table({"question": questions, "choices": choices, "label": np.zeros(len(choices), np.int64)})


class CandidatePool:
    """Candidates for the rows of a split; ``rows`` are those of `as_questions`, numbered together with them."""

    def __init__(self, candidates: pa.Table, rows: Rows, question_ids: pa.Array, image_ids: pa.Array) -> None:
        self.rows = rows
        only = pc.index_in(candidates["question_id"], question_ids).combine_chunks()
        self._only_row = pc.fill_null(only, MISSING).to_numpy()  # (candidates,): MISSING for no or another row
        has_question = pc.is_valid(candidates["question"]).to_numpy()
        self._with_question = np.flatnonzero(has_question)
        is_text = ~has_question & pc.is_null(candidates["question_id"]).to_numpy()  # of captions or scene graphs
        texts = np.flatnonzero(is_text)
        keys = rows.vocabulary.keys[rows.texts[texts, 0]]
        self._distinct = texts[np.sort(np.unique(keys, return_index=True)[1])]
        images = image_ids.filter(pc.not_equal(image_ids, "")).unique()
        self._image = pc.fill_null(pc.index_in(image_ids, images), MISSING).to_numpy()  # (rows of the split,)
        about = pc.fill_null(pc.index_in(candidates["image_id"].combine_chunks(), images), MISSING).to_numpy()
        self._true_of = np.where(is_text & (about != MISSING), about, MISSING - 1)  # (candidates,): numbers of images

    def near(self, vectors: Float32s, rows: Rows, some: Ints, least: float) -> tuple[Int64s, Float32s]:
        """The candidates that suit some of the split's rows.

        These are the ones for its question alone (similarity 1), the texts about its image, those that answer a
        similar question (at ``least`` that similar by the ``vectors`` of the rows and the candidates, see
        `row_vectors`), and of the texts without a question those most like its choices.

        Returns:
            Numbers int64 (some, candidates), counted from the number of rows on and padded with MISSING; similarities.
        """
        own = [np.flatnonzero((self._only_row == row) | (self._true_of == self._image[row])) for row in some.tolist()]
        numbers = np.full((len(own), max(map(len, own), default=0)), MISSING, np.int64)
        similarity = np.ones(numbers.shape, np.float32)
        for at, (row, of_row) in enumerate(zip(some.tolist(), own, strict=True)):
            numbers[at, : len(of_row)] = len(rows) + of_row
            products = np.round(vectors[len(rows) + of_row] @ vectors[row], 5)
            similarity[at, : len(of_row)] = np.where(self._only_row[of_row] == row, 1, products)
        begins = np.concatenate([rows.beginning(BEGINNING), self.rows.beginning(BEGINNING)])
        among, groups = len(rows) + self._with_question, np.arange(len(vectors))
        answers = similar_rows(vectors, groups, some, among, NEIGHBOURS, begins, least)
        texts = similar_rows(vectors, groups, some, len(rows) + self._distinct, NEIGHBOURS)
        parts = [(numbers, similarity), answers, texts]
        return np.concatenate([one for one, _ in parts], axis=1), np.concatenate([one for _, one in parts], axis=1)
