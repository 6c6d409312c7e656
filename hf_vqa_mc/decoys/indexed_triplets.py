"""The input of all methods: a dataset's triplets with every text numbered."""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.decoys import methods
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Candidates, Int32s, Int64s, KeyLists, NumberedTexts, starts
from hf_vqa_mc.decoys.plausible_answers import PlausibleAnswers, plausible_answers
from hf_vqa_mc.decoys.rng import text_hashes
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.text.many_texts import comparable_texts
from hf_vqa_mc.text.word_vectors import WordVectors

if TYPE_CHECKING:
    from hf_vqa_mc.decoys.similar_questions import SimilarQuestions
    from hf_vqa_mc.decoys.word_bags import QuestionGroups

N_FREQUENT = 10  # fallbacks come from the 10 most frequent targets (Sect. 5.1)


class Triplets(NamedTuple):
    """The triplets as arrays for kernels, (triplets,) each except `keys`."""

    targets: Int32s  # text numbers
    keys: Int32s  # (texts,): the key of each text
    hashes: NDArray[np.uint64]  # of the question ids
    images: Int32s  # image numbers
    questions: Int32s  # question numbers; equal ones of the same image are no donors for one another
    named: KeyLists  # annotators' answers, which are no decoys; empty with ``preset="paper"``
    rejected: KeyLists  # texts that verdicts reject as decoys


class IndexedTriplets:
    """A dataset with numbered texts, divided into pools.

    Args:
        table: ``schema.TRIPLETS``.
        settings: parameters of the method.
        vectors: word vectors for the similarity of questions; required by some methods.
        published: the choices of a benchmark are replaced; then, other than in the paper, answers to the same
            question about the same image are excluded, and texts with other signs and operators are different.
        largest_pool: larger pools are divided by image into random parts of about equal size, at most this on
            average: the search for similar questions takes time in proportion to the square of a pool's size.
        n_decoys: (triplets,): number of decoys of a row, divided among its sets; None for ``decoys_per_set`` in each.
        rejected: texts that never become a triplet's decoys, list of string (triplets,).
        search: makes the index of similar questions; by default in this process.
    """

    def __init__(
        self,
        table: pa.Table,
        settings: Settings,
        vectors: WordVectors | None = None,
        *,
        published: bool = False,
        largest_pool: int | None = None,
        n_decoys: Int32s | None = None,
        rejected: pa.ListArray | None = None,
        search: "Callable[[QuestionGroups], SimilarQuestions] | None" = None,
    ) -> None:
        self.table, self.settings, self.vectors = table.combine_chunks(), settings, vectors
        self.n_decoys, self.search = n_decoys, search
        declared = [method.column for _, method in methods().values() if method.column]
        columns = [column for column in declared if column in table.column_names]
        lists = {name: self.table[name].combine_chunks() for name in columns}
        texts = [self.table["target"].combine_chunks(), *map(pc.list_flatten, lists.values())]
        numbered, parts = NumberedTexts.number(texts, signs=published)
        plausible, reject = settings.preset == "plausible", settings.wup_boundary == "reject"
        self.candidates = Candidates.of(numbered, settings.wup_threshold, reject, all_pairs=plausible)
        self.published_texts = pa.array(self.candidates.texts, pa.string())
        none = pa.nulls(table.num_rows, pa.list_(pa.string()))
        self.triplets = Triplets(
            targets=parts[0],
            keys=self.candidates.keys,
            hashes=text_hashes(table["question_id"].to_pylist()),
            images=self.table["image_id"].combine_chunks().dictionary_encode().indices.to_numpy(),
            questions=_numbered(self.table["question"]) if published else np.arange(table.num_rows, dtype=np.int32),
            named=KeyLists.of(self.table["answers"].combine_chunks() if plausible else none, self.candidates),
            rejected=KeyLists.of(none if rejected is None else rejected, self.candidates),
        )
        self.lists = {
            name: (part, starts(pc.list_value_length(column).to_numpy()))
            for (name, column), part in zip(lists.items(), parts[1:], strict=True)
        }
        """text numbers of each list column, concatenated, and the start of each triplet's"""
        splits = table["split"].to_numpy()
        training = splits == "train"
        self.training: Bools = training if training.any() else np.ones(len(training), np.bool_)
        """(triplets,): whether in the training split; all if there is none"""
        self.pools: list[Int64s] = [np.arange(table.num_rows)]
        """triplets that are donors for one another: all, or those of each split"""
        if settings.decoys_from == "split":
            self.pools = [np.flatnonzero(splits == split) for split in dict.fromkeys(splits.tolist())]
        if largest_pool is not None:
            self.pools = _divided(self.pools, table["image_id"], largest_pool)

    @property
    def size(self) -> int:
        """Number of triplets."""
        return len(self.triplets.targets)

    @cached_property
    def frequent(self) -> Int32s:
        """The most frequent targets of the training split."""
        return self.candidates.most_frequent(self.triplets.targets[self.training])[:N_FREQUENT]

    @cached_property
    def plausible(self) -> PlausibleAnswers | None:
        """Answers that fit the questions, for ``preset="plausible"``."""
        if self.settings.preset != "plausible":
            return None
        questions = comparable_texts(self.table["question"].combine_chunks())[0]
        return plausible_answers(self.candidates, self.triplets.targets, questions, self.training)

    @cached_property
    def text_hashes(self) -> NDArray[np.uint64]:
        """The hash of every text."""
        return text_hashes(self.candidates.texts)

    def padded(self, column: str) -> Int32s:
        """Text numbers of a list column, int32 (triplets, longest list), padded with MISSING."""
        numbers, list_starts = self.lists[column]
        lengths = np.diff(list_starts)
        rows = np.full((self.size, int(lengths.max(initial=0))), MISSING, np.int32)
        rows[np.arange(rows.shape[1]) < lengths[:, None]] = numbers
        return rows

    def keys_of(self, texts: Int32s) -> Int32s:
        """The keys of text numbers; MISSING stays MISSING."""
        return np.where(texts == MISSING, MISSING, self.candidates.keys[texts]).astype(np.int32)


def _divided(pools: list[Int64s], image_ids: pa.ChunkedArray, largest: int) -> list[Int64s]:
    """Pools of more triplets than ``largest`` in random parts; all triplets of an image are in the same part."""
    images = image_ids.combine_chunks().dictionary_encode()
    hashes = text_hashes(images.dictionary.to_pylist())[images.indices.to_numpy()]
    numbers = [-(-len(pool) // largest) for pool in pools]
    return [
        pool[hashes[pool] % np.uint64(number) == part]
        for pool, number in zip(pools, numbers, strict=True)
        for part in range(number)
    ]


def _numbered(questions: pa.ChunkedArray) -> Int32s:
    """Equal numbers for equivalent questions; empty ones have a number each."""
    texts = comparable_texts(questions.combine_chunks())[0]
    positions = pa.array([f"\0{position}" for position in range(len(texts))], pa.large_string())
    names = pc.if_else(pc.equal(texts, ""), positions, texts)
    return np.array(names.dictionary_encode().indices)
