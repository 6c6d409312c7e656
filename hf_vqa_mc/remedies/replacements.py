"""Which choices of similar rows, or candidates from elsewhere, replace the decoys of a row."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float32s, Int32s, Int64s, Ints
from hf_vqa_mc.remedies.candidate_pool import CandidatePool
from hf_vqa_mc.remedies.fought_probes import FoughtProbes
from hf_vqa_mc.remedies.plausibility import Plausibility
from hf_vqa_mc.remedies.replacement_filters import (
    Refusal,
    ReplacementFilters,
    TextCounts,
)
from hf_vqa_mc.remedies.row_features import BEGINNING, TextSpace, row_vectors, similar_rows

NEIGHBOURS = 20  # similar rows, whose choices are candidates; of the nearest, fewer choices are absurd
LEAST_SIMILAR, CHOICES_WEIGHT = 0.7, 3.0
"""Smallest similarity of a row whose choices are candidates, and weight of the choices in it; see `row_vectors`."""
MOST_SCORED = 60  # candidates of a row that the probes score, those that fit best first
SIMILARITY_WEIGHT, PLAUSIBILITY_WEIGHT = 3.0, 3.0
"""Weights of the rows' similarity and of plausibility (log odds); leads are in deviations of the scores."""
MARGIN = 0.3
"""Lead that the best candidate gives another choice; models of other rows find less of it (regression to the mean)."""
PLAUSIBLE, PREFERRED = 0.2, 0.7
"""Shares of the published choices that are less plausible than any new decoy, and than the candidates tried first."""
_UNKNOWN = MISSING - 1  # the neighbours of a row that was not yet searched
_CANDIDATES = np.dtype(
    [("row", np.int64), ("column", np.int64), ("text", np.int32), ("donor", np.int64), ("similarity", np.float32),
     ("odds", np.float64), ("lead", np.float64)]
)  # fmt: skip
Candidates = NDArray[np.void]  # texts that may replace the choice in a column of a row


@dataclass(frozen=True)
class ChangedDecoy:
    """A replaced decoy."""

    row: int
    index: int  # of the choice in the published order
    old: str
    new: str
    donor: int  # row whose choice it is; of the pool, counted from the number of rows on
    round: int
    lead: float
    """lead of the target over the next choice by the fought probes, in standard deviations of the stacked scores"""
    lead_after: float
    plausibility: float  # log odds that the new text is a published choice of the question


class Replacements:
    """The rows after some rounds, and what was changed."""

    def __init__(
        self,
        rows: Rows,
        groups: Ints,
        folds: Ints,
        plausibility: Plausibility,
        filters: ReplacementFilters,
        spaces: Sequence[TextSpace],
        pool: CandidatePool | None,
    ) -> None:
        self.published = self.rows = rows
        self.groups, self.folds, self.spaces, self.pool = groups, folds, spaces, pool
        self.plausibility, self.filters = plausibility, filters
        self.vectors = row_vectors(spaces, rows, CHOICES_WEIGHT)
        self._near = np.full((len(rows), NEIGHBOURS), _UNKNOWN, np.int64)
        self._similarity = np.full(self._near.shape, -1.0, np.float32)
        self.floor, self.preferred = np.nanquantile(plausibility.published, (PLAUSIBLE, PREFERRED)).tolist()
        self.donors = rows if pool is None else rows.followed_by(pool.rows)
        self.changes: dict[tuple[int, int], ChangedDecoy] = {}
        self.refused: Counter[str] = Counter()

    def change(self, fought: FoughtProbes, surplus: int, most: int, number: int) -> int:
        """Replace a decoy in up to ``surplus`` rows; return the number of rows that had no candidate."""
        leads = fought.sums[:, 0] - fought.sums[:, 1:].max(axis=1, initial=-np.inf)
        order = np.argsort(-leads, kind="stable")
        order = order[leads[order] > 0]
        counts, texts, words = TextCounts(self.rows), self.rows.texts.copy(), self.rows.vocabulary.choices
        done = missing = 0
        for first in range(0, len(order), surplus):  # rows with smaller leads follow where some have no candidate
            some = order[first : first + surplus]
            if done >= surplus or len(self.changes) >= most:
                break
            found = self._ranked(fought, np.sort(some), counts)
            for row in some.tolist():
                if done >= surplus or len(self.changes) >= most:
                    break
                of_row = found[found["row"] == row]
                allowed = np.flatnonzero(counts.may_add(of_row["text"]))
                if not len(allowed):
                    missing += 1
                    continue
                done += 1
                _, column, text, donor, _, odds, lead = of_row[allowed[0]].item()
                counts.move(int(texts[row, column]), text)
                texts[row, column] = text
                index, old = int(self.rows.positions[row, column]), words[self.published.texts[row, column]]
                change = ChangedDecoy(row, index, old, words[text], donor, number, float(leads[row]), lead, odds)
                self.changes[row, column] = change
        self.rows = replace(self.rows, texts=texts)
        return missing

    def _ranked(self, fought: FoughtProbes, some: Int64s, counts: TextCounts) -> Candidates:
        """The candidates of some rows that cost the target its first place, the best first."""
        decoys = np.where(self.rows.valid[some], fought.sums[some], np.inf)
        decoys[:, 0] = np.inf
        columns = decoys.argmin(axis=1).tolist()
        near = [self._neighbours(some)]
        if self.pool is not None:
            vectors = np.concatenate([self.vectors, row_vectors(self.spaces, self.pool.rows, CHOICES_WEIGHT)])
            numbers, similar = self.pool.near(self.spaces, vectors, self.rows, some, LEAST_SIMILAR)
            near.append((np.where(numbers == MISSING, MISSING, len(self.rows) + numbers), similar))
        donors, similarity = (np.concatenate([one[side] for one in near], axis=1) for side in (0, 1))
        given = zip(some.tolist(), columns, donors, similarity, strict=True)
        found = np.concatenate([self._candidates(*one, counts) for one in given])
        if not len(found):
            return found
        found["odds"] = self.plausibility.of(found["row"], found["column"], found["text"], self.rows.texts)
        plausible = found["odds"] >= self.floor
        self.refused[Refusal.IMPLAUSIBLE] += int((~plausible).sum())
        found = self._filtered(found[plausible])
        virtual = self.rows.texts[found["row"]].copy()
        virtual[np.arange(len(found)), found["column"]] = found["text"]
        for fold in np.unique(self.folds[found["row"]]).tolist():
            own = np.flatnonzero(self.folds[found["row"]] == fold)
            sums = fought.sums_of(fold, virtual[own], self.rows.questions[found["row"][own]])
            found["lead"][own] = sums[:, 0] - sums[:, 1:].max(axis=1)
        found = found[found["lead"] < 0]
        cost = np.abs(found["lead"] + MARGIN) - SIMILARITY_WEIGHT * found["similarity"]
        cost -= PLAUSIBILITY_WEIGHT * found["odds"]
        return found[np.lexsort((found["text"], cost, found["odds"] < self.preferred))]

    def _neighbours(self, some: Int64s) -> tuple[Int64s, Float32s]:
        """The similar rows of some rows; each is searched once, since no change of a decoy changes the vectors."""
        new = some[self._near[some, 0] == _UNKNOWN]
        begins, among = self.rows.beginning(BEGINNING), np.arange(len(self.rows))
        near, similarity = similar_rows(self.vectors, self.groups, new, among, NEIGHBOURS, begins, LEAST_SIMILAR)
        self._near[new] = MISSING
        self._near[new, : near.shape[1]], self._similarity[new, : near.shape[1]] = near, similarity
        return self._near[some], self._similarity[some]

    def _candidates(
        self, row: int, column: int, donors: Int64s, similarity: Float32s, counts: TextCounts
    ) -> Candidates:
        """Distinct choices of the donors that pass the cheap filters, each with its most similar row."""
        donors, similarity = donors[donors != MISSING], similarity[donors != MISSING]
        texts, own = self.donors.texts[donors], donors < len(self.rows)
        texts[own, : self.rows.texts.shape[1]] = self.rows.texts[donors[own]]
        at, column_of = (texts != MISSING).nonzero()
        text, keys = texts[at, column_of], self.rows.vocabulary.keys
        index = np.sort(np.unique(keys[text], return_index=True)[1])
        others = np.delete(self.rows.texts[row], column)
        in_row = keys[self.rows.texts[row][self.rows.valid[row]]]
        tests: tuple[tuple[Refusal, Callable[[Int32s], Bools]], ...] = (
            (Refusal.IN_ROW, lambda some: np.isin(keys[some], in_row)),
            (Refusal.POPULAR, lambda some: ~counts.may_add(some)),
            (Refusal.SIMILAR, lambda some: self.filters.near_target(some, self.published.texts[row])),
            (Refusal.DUPLICATE, lambda some: self.filters.near_duplicate(some, others[1:])),
        )
        for reason, test in tests:
            refused = test(text[index])
            self.refused[reason] += int(refused.sum())
            index = index[~refused]
        found = np.zeros(len(index), _CANDIDATES)
        found["row"], found["column"], found["text"] = row, column, text[index]
        found["donor"], found["similarity"] = donors[at[index]], similarity[at[index]]
        return found

    def _filtered(self, found: Candidates) -> Candidates:
        """Up to MOST_SCORED candidates of each row that pass the filters of meaning, those that fit best first."""
        kept: list[int] = []
        taken: Counter[int] = Counter()
        fit = SIMILARITY_WEIGHT * found["similarity"] + PLAUSIBILITY_WEIGHT * found["odds"]
        for one in np.lexsort((found["text"], -fit)).tolist():
            row, column, text = (int(found[name][one]) for name in ("row", "column", "text"))
            if taken[row] >= MOST_SCORED:
                continue
            reason = self.filters.refusal(row, column, text, self.rows.texts[row][self.rows.valid[row]])
            if reason is None:
                taken[row] += 1
                kept.append(one)
            else:
                self.refused[reason] += 1
        return found[np.array(kept, np.int64)]
