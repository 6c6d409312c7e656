"""Large builds: triplets are divided by image into parts, each part is built like a dataset of its own.

::

    WORK/state.json                                settings; hashes of inputs and code
    WORK/part-00000/triplets-00000.parquet ...     the triplets of some images (`divide`)
    WORK/plan.json                                 settings and sizes; the division is complete (`plan_parts`)
    WORK/vectors.npz                               vectors of the words of the questions
    WORK/part-00000/CONFIG/train-00000-....parquet the rows of a part (`build_part`)
    WORK/part-00000/built.json                     statistics; the part is complete
    WORK/priors.parquet                            eq. 2, fitted on the training rows of all parts
    WORK/upload.json                               upload of the dataset folder to an object store has begun
    WORK/part-00000/measured.json                  accuracy of eq. 2 on the part's other rows (`measure_part`)

Each file appears in one step, so an interrupted build resumes. Memory depends on the size of a part, time on the
number of parts. The bytes of the result do not depend on the number of workers or on interruptions.
"""

import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.storage import Storage
from hf_vqa_mc.schema import SPLITS
from hf_vqa_mc.sources.source import Stream
from hf_vqa_mc.sources.table import in_split_order
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, texts_of
from hf_vqa_mc.text.word_vectors import WordVectors

STATE, PLAN, VECTORS, UPLOAD = "state.json", "plan.json", "vectors.npz", "upload.json"
PRIORS, BUILT, MEASURED = "priors.parquet", "built.json", "measured.json"
BUFFER_BYTES = 10**9
"""Triplets, as Arrow data, that are divided at a time."""
BASE_BYTES, BYTES_PER_TRIPLET = 700_000_000, 1_500
"""Memory of a worker, and of each triplet of its part: more than `.ci/bench parts` measures, with 300 dimensions."""


@dataclass(frozen=True)
class Plan:
    """What all parts are built with."""

    variants: list[str]
    settings: dict[str, Any]
    """of `Settings`"""
    rows: list[int]
    """triplets of each part; parts without triplets are not built"""
    splits: list[str]
    """splits of the dataset, in order"""
    has_vectors: bool = False

    @property
    def parts(self) -> list[int]:
        """The numbers of the parts that hold triplets."""
        return [number for number, rows in enumerate(self.rows) if rows]

    @property
    def counted(self) -> str | None:
        """The split on which frequencies are counted; None for all rows, where there is no training split."""
        return "train" if "train" in self.splits else None

    @property
    def memory(self) -> int:
        """Estimated bytes that the build of the largest part takes."""
        return BASE_BYTES + BYTES_PER_TRIPLET * max(self.rows)


def folder_of(part: int) -> str:
    """The folder of a part."""
    return f"part-{part:05d}"


# dividing -----------------------------------------------------------------------------------------------------------


def divide(stream: Stream, n_parts: int, work: Storage, progress: Progress) -> tuple[list[Counter[str]], set[str]]:
    """Write the triplets into the folders of ``n_parts`` parts; all triplets of an image are in the same part.

    Returns:
        The number of triplets of each part by split, and the words of all questions.

    Raises:
        InputError: a question_id occurs twice, or a part lacks a training split that others have.
    """
    counts: list[Counter[str]] = [Counter() for _ in range(n_parts)]
    words: set[str] = set()
    ids: list[NDArray[np.uint64]] = []
    waiting: list[pa.Table] = []
    done = n_files = waiting_bytes = 0

    def write() -> None:
        nonlocal n_files
        table = pa.concat_tables(waiting).combine_chunks()
        waiting.clear()
        images = table["image_id"].combine_chunks().dictionary_encode()
        of_image = text_hashes(texts_of(images.dictionary)) % np.uint64(n_parts)
        part_of = of_image.astype(np.int64)[images.indices.to_numpy()]
        order = np.argsort(part_of, kind="stable")
        bounds = np.searchsorted(part_of[order], np.arange(n_parts + 1))
        for part in np.flatnonzero(np.diff(bounds)).tolist():
            own = table.take(pa.array(order[bounds[part] : bounds[part + 1]]))
            work.write(f"{folder_of(part)}/triplets-{n_files:05d}.parquet", parquet(own))
            for found in pc.value_counts(own["split"]).to_pylist():
                counts[part][found["values"]] += found["counts"]
        n_files += 1

    progress("dividing triplets", 0, stream.rows)
    for table in stream.tables:
        ids.append(text_hashes(texts_of(table["question_id"].combine_chunks())))
        questions = table["question"].combine_chunks().dictionary_encode().dictionary
        words.update(texts_of(numbered_words(*comparable_texts(questions))[2]))
        waiting.append(table)
        waiting_bytes += table.nbytes
        done += table.num_rows
        if waiting_bytes > BUFFER_BYTES:
            write()
            waiting_bytes = 0
        progress("dividing triplets", done, stream.rows)
    if waiting:
        write()
    _check_parts(counts, np.concatenate(ids) if ids else np.empty(0, np.uint64))
    return counts, words


def _check_parts(counts: Sequence[Counter[str]], ids: NDArray[np.uint64]) -> None:
    if not len(ids):
        raise InputError("triplets: the files have no rows")
    repeated = len(ids) - len(np.unique(ids))
    if repeated:
        raise InputError(f"triplets: {repeated:,} rows repeat the question_id of another row; it must be unique")
    without = [part for part, found in enumerate(counts) if found and not found["train"]]
    if without and any(found["train"] for found in counts):
        raise InputError(
            f"{len(without)} of {len(counts)} parts have no training rows; use larger parts (--largest-part)"
        )


def parquet(table: pa.Table) -> bytes:
    """A table as the content of a Parquet file."""
    file = io.BytesIO()
    pq.write_table(table, file, compression="ZSTD")
    return file.getvalue()


def read_part(work: Storage, part: int) -> pa.Table:
    """The triplets of a part: train, validation, test, each in the order of the dataset."""
    files = map(PurePosixPath, work.names(folder_of(part)))  # a killed command may leave triplets-....partial
    names = [str(file) for file in files if file.name.startswith("triplets-") and file.suffix == ".parquet"]
    return in_split_order([pq.read_table(io.BytesIO(work.read(f"{folder_of(part)}/{name}"))) for name in names])


def put_vectors(work: Storage, vectors: WordVectors, words: Iterable[str]) -> None:
    """Write the vectors of some words for all workers."""
    listed = sorted(words)
    rows, found = vectors.rows(listed)
    known = np.frombuffer("\n".join(word for word, has in zip(listed, found, strict=True) if has).encode(), np.uint8)
    file = io.BytesIO()
    np.savez(file, words=known, vectors=rows[found], name=vectors.name, sha256=vectors.sha256)
    work.write(VECTORS, file.getvalue())


@cache
def stored_vectors(location: str, state: bytes) -> WordVectors:
    """The word vectors of a build, read once per process; its ``state`` distinguishes builds at one location."""
    with np.load(io.BytesIO(Storage(location).read(VECTORS)), allow_pickle=False) as stored:
        text = stored["words"].tobytes().decode()  # an array of texts would give each the space of the longest
        words = text.split("\n") if text else []
        return WordVectors.of(str(stored["name"]), str(stored["sha256"]), words, stored["vectors"])


def make_plan(variants: Sequence[str], settings: Settings, counts: Sequence[Counter[str]], has_vectors: bool) -> Plan:
    """The plan of a divided dataset."""
    splits = [split for split in SPLITS if any(found[split] for found in counts)]
    rows = [sum(found.values()) for found in counts]
    return Plan(list(variants), asdict(settings), rows, splits, has_vectors)
