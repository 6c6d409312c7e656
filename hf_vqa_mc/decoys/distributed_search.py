"""The exact search for similar questions on several machines: each answers some queries with the whole index.

::

    WORK/questions-<hash>.npz                 the groups of questions, with the vectors of their words
    WORK/questions-<hash>-<hash>/queries.npy  the queries of a search
    WORK/questions-<hash>-<hash>/00000.npz    the neighbours of some of them (`answer`)

The result is that of `SimilarQuestions`, whatever the number of workers.
"""

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.similar_questions import Neighbours, SimilarQuestions
from hf_vqa_mc.decoys.word_bags import QuestionGroups, WordBags
from hf_vqa_mc.io.executors import Executor
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.storage import Storage

QUESTIONS = "questions-"
"""Beginning of the names of all files."""
QUERIES = 2**15
"""Queries of a call; fewer if each has many neighbours."""
_MOST_NEIGHBOURS = 2**22
"""Neighbours found by a call."""
_BAGS = ("of_question", "members", "member_starts", "words", "word_starts")


@dataclass(frozen=True)
class DistributedSearch:
    """Searches with an executor; files stay in the work folder, so that an interrupted search resumes."""

    work: Storage
    executor: Executor
    progress: Progress

    def index(self, groups: QuestionGroups) -> "DistributedIndex":
        """An index as `SimilarQuestions`, for all workers."""
        arrays = {name: getattr(groups.bags, name) for name in _BAGS}
        arrays |= {"first": groups.first, "vectors": groups.vectors, "lengths": groups.lengths}
        name = f"{QUESTIONS}{_hash(*arrays.values())}"
        if not self.work.exists(f"{name}.npz"):
            self.work.write(f"{name}.npz", _npz(**arrays))
        return DistributedIndex(self, name)


@dataclass(frozen=True)
class DistributedIndex:
    """An index that is stored for all workers."""

    search: DistributedSearch
    name: str

    def nearest(self, queries: NDArray[np.int32], k: int) -> Iterator[tuple[NDArray[np.int32], Neighbours]]:
        """See `SimilarQuestions.nearest`."""
        work = self.search.work
        folder = f"{self.name}-{_hash(queries, np.array(k))}"
        if not work.exists(f"{folder}/queries.npy"):
            file = io.BytesIO()
            np.save(file, queries, allow_pickle=False)
            work.write(f"{folder}/queries.npy", file.getvalue())
        step = max(1, min(QUERIES, _MOST_NEIGHBOURS // k))
        numbers = range(-(-len(queries) // step))
        calls = {
            f"questions {number * step:,} to {min((number + 1) * step, len(queries)):,} of {work.path(folder)}": (
                work.location, self.name, folder, number, step, k,
            )
            for number in numbers
        }  # fmt: skip
        self.search.executor.run(answer, calls, f"searching the {k:,} most similar questions", self.search.progress)
        for number in numbers:
            found = _arrays(work, f"{folder}/{number:05d}.npz")
            yield queries[number * step : (number + 1) * step], Neighbours(found["groups"], found["cosines"])


def answer(location: str, index: str, folder: str, number: int, step: int, k: int) -> None:
    """Write the neighbours of ``step`` queries; those that are written already stay."""
    work = Storage(location)
    name = f"{folder}/{number:05d}.npz"
    if work.exists(name):
        return
    queries = np.load(io.BytesIO(work.read(f"{folder}/queries.npy")), allow_pickle=False)
    found = [found for _, found in _index(location, index).nearest(queries[number * step : (number + 1) * step], k)]
    groups, cosines = (np.concatenate(parts) for parts in zip(*found, strict=True))
    work.write(name, _npz(groups=groups, cosines=cosines))


@lru_cache(maxsize=1)
def _index(location: str, name: str) -> SimilarQuestions:
    """The index, made once per process."""
    arrays = _arrays(Storage(location), f"{name}.npz")
    bags = WordBags(**{field: arrays[field] for field in _BAGS}, vocabulary=[])
    return SimilarQuestions(QuestionGroups(bags, arrays["first"], arrays["vectors"], arrays["lengths"]))


def _hash(*arrays: NDArray[Any]) -> str:
    state = hashlib.sha256()
    for array in arrays:
        state.update(f"{array.dtype} {array.shape}".encode())
        state.update(np.ascontiguousarray(array).data)
    return state.hexdigest()[:16]


def _npz(**arrays: NDArray[Any]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type,unused-ignore]
    return file.getvalue()


def _arrays(work: Storage, name: str) -> dict[str, NDArray[Any]]:
    with np.load(io.BytesIO(work.read(name)), allow_pickle=False) as stored:
        return dict(stored)
