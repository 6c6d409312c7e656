"""Which candidates from elsewhere suit a row: by its question, its image and its choices."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.decoys.candidates import MISSING, Float32s, Int64s, Ints
from hf_vqa_mc.remedies.candidate_sources import Candidate
from hf_vqa_mc.remedies.row_features import TextSpace
from hf_vqa_mc.remedies.similar_rows import BEGINNING, similar_rows

NEIGHBOURS = 1000
"""Candidates of a row, by question and by text each; similar ones of a large pool mostly have the same few texts."""
_AT_A_TIME = 256


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
    """Candidates for the rows of a split.

    Args:
        candidates: from any source.
        rows: of `candidate_table`, numbered with the split's rows.
        question_ids: (split rows,).
        image_ids: (split rows,): "" where there is no image.
    """

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

    def near(self, spaces: Sequence[TextSpace], rows: Rows, some: Ints) -> tuple[Int64s, Float32s]:
        """The candidates that suit some of the split's rows.

        These are the ones for its question alone (similarity 1), those that answer a similar question (cosine of the
        questions), and of the others those about the same image and those that are most like the row's choices (cosine
        with their mean).

        Returns:
            Numbers int64 (some, candidates), padded with MISSING, and similarities in [-1, 1].
        """
        found = [self._of_row(some), self._by_question(spaces, rows, some), self._by_text(spaces, rows, some)]
        numbers, similarity = (np.concatenate([one[side] for one in found], axis=1) for side in (0, 1))
        return numbers, similarity

    def _of_row(self, some: Ints) -> tuple[Int64s, Float32s]:
        own = [self._written_for.get(row, []) for row in some.tolist()]
        numbers = np.full((len(own), max(map(len, own), default=0)), MISSING, np.int64)
        for at, of_row in enumerate(own):
            numbers[at, : len(of_row)] = of_row
        return numbers, np.ones(numbers.shape, np.float32)

    def _by_question(self, spaces: Sequence[TextSpace], rows: Rows, some: Ints) -> tuple[Int64s, Float32s]:
        if not len(self._with_question):
            return _none(len(some))
        asked = np.concatenate([rows.questions, self.rows.questions])
        among, groups = len(rows) + self._with_question, np.arange(len(asked))
        begins = np.concatenate([rows.beginning(BEGINNING), self.rows.beginning(BEGINNING)])
        numbers, similarity = similar_rows(spaces, asked, groups, some, among, NEIGHBOURS, begins)
        return np.where(numbers == MISSING, MISSING, numbers - len(rows)), similarity

    def _by_text(self, spaces: Sequence[TextSpace], rows: Rows, some: Ints) -> tuple[Int64s, Float32s]:
        if not len(self._without_question):
            return _none(len(some))
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


def _none(rows: int) -> tuple[Int64s, Float32s]:
    return np.zeros((rows, 0), np.int64), np.zeros((rows, 0), np.float32)
