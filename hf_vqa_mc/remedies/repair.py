"""Targeted repair: keep people's decoys and replace the fewest by which a target can be told from them.

Adversarial filtering as in SWAG (Zellers et al. 2018), with neutrality as a constraint, a floor of plausibility and
held-out judges. In each round several cross-fitted probes are fought at once; of the rows whose target they rank first
only as many as exceed chance are changed, the largest lead first; a decoy is replaced by a choice of a similar
question that costs the target its first place by the smallest lead. Decoys and targets of other rows become decoys in
such shares that counts of texts in other rows do not reveal the target.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import Prediction
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float32s, Float64s, Int32s, Int64s, Ints
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.remedies.candidate_pool import CandidatePool
from hf_vqa_mc.remedies.cross_fitting import FOLDS, group_folds
from hf_vqa_mc.remedies.fought_probes import ChoiceFeatures, FoughtProbes
from hf_vqa_mc.remedies.judging_probes import SELECTION_PROBES, JudgingInputs, run_judging_probes, selection_folds
from hf_vqa_mc.remedies.plausibility import Plausibility
from hf_vqa_mc.remedies.replacement_filters import MOST_SIMILAR, NEAR_DUPLICATE, Refusal, ReplacementFilters
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace
from hf_vqa_mc.remedies.similar_rows import BEGINNING, similar_rows
from hf_vqa_mc.text.embeddings import EmbeddingFamily

BUDGET, ROUNDS = 0.2, 3
"""Default largest share of decoys that are changed, and largest number of rounds."""
NEIGHBOURS = 80
"""Rows with similar questions, whose choices are candidates."""
MOST_SCORED = 60
"""Candidates of a row that the probes score, the most plausible of the most similar questions first."""
SIMILARITY_WEIGHT, PLAUSIBILITY_WEIGHT = 1.0, 3.0
"""Weights of the questions' cosine and of plausibility (log odds); leads are in standard deviations of the scores."""
MARGIN = 0.3
"""Lead that the best candidate gives another choice; models of other rows find less of it (regression to the mean)."""
PLAUSIBLE = 0.7
"""Share of the published choices that are less plausible than any new decoy."""
UNBALANCED = 0.01
"""Targets above or below their share among the texts that occur twice, per row, from which such texts are refused."""
ALARM = 1.645
"""Standard errors above chance from which the probes' sum is a leak; with fewer, the rows stay as they are."""


@dataclass(frozen=True)
class ChangedDecoy:
    """A replaced decoy."""

    row: int
    index: int
    """of the choice in the published order"""
    old: str
    new: str
    donor: int
    """row whose choice it is; of the pool, counted from the number of rows on"""
    round: int
    lead: float
    """lead of the target over the next choice by the fought probes, in standard deviations of the stacked scores"""
    lead_after: float
    plausibility: float
    """log odds that the new text is a published choice of the question"""

    @property
    def reason(self) -> str:
        """Why the decoy was replaced."""
        return f"the target led by {self.lead:.1f}, now by {self.lead_after:.1f} (round {self.round})"


@dataclass(frozen=True)
class Round:
    """Figures of a round, of the rows before it."""

    first: float
    """share of rows whose target the fought probes' sum ranks first"""
    fought: dict[str, float]
    """accuracy of each fought probe"""
    selection: dict[str, float]
    """accuracy of each selection probe"""
    distance: float
    """mean |accuracy - chance| of the selection probes"""
    changed: int
    """decoys changed so far"""
    without_candidate: int = 0
    """rows that should change and have no candidate"""


@dataclass(frozen=True, eq=False)
class Repaired:
    """The rows after the repair, and what was changed."""

    rows: Rows
    changes: tuple[ChangedDecoy, ...]
    rounds: tuple[Round, ...]
    kept_round: int
    """index in ``rounds`` of the state that is kept"""
    refused: dict[str, int] = field(default_factory=dict)
    """number of candidates by the reason for which they were refused"""
    stopped: str = ""
    """why the loop ended"""
    floor: float = 0.0
    """log odds of plausibility that every new decoy reaches"""

    def donor_groups(self, groups: Ints) -> Int64s:
        """(rows,): the group of the donor of each changed row, else its own; each question of a pool is one group."""
        found = np.asarray(groups, np.int64).copy()
        first_of_pool = int(found.max(initial=0)) + 1 - len(groups)
        for one in self.changes:
            found[one.row] = groups[one.donor] if one.donor < len(groups) else first_of_pool + one.donor
        return found


def repair(
    rows: Rows,
    groups: Ints,
    families: Sequence[EmbeddingFamily],
    *,
    answers: Sequence[Collection[str]] = (),
    rejected: Sequence[Collection[str]] = (),
    pool: CandidatePool | None = None,
    budget: float = BUDGET,
    rounds: int = ROUNDS,
    seed: int = 0,
    progress: Progress = silent,
) -> Repaired:
    """Replace the fewest decoys so that probes without the image no longer find the target.

    Args:
        rows: of one split, with the target in column 0, see `audits.rows.number_rows`.
        groups: (rows,): image, video or context of each row, as numbers, such as `Split.clusters`.
        families: text embeddings, see `embeddings.embedding_families`; at least one.
        answers: (rows,): annotators' answers, which never become decoys.
        rejected: (rows,): texts that never become decoys of a row.
        pool: candidates from elsewhere, for every fold.
        budget: largest share of the decoys that are changed, in [0, 1].
        rounds: largest number of rounds.
        seed: random seed.
        progress: called with (step, done, total).

    Raises:
        InputError: there are fewer groups than folds.
    """
    state = _Repair(rows, np.asarray(groups), families, answers, rejected, pool, seed, progress)
    return state.run(int(budget * (rows.valid.sum() - len(rows))), rounds)


class _Repair:
    """The state of a repair."""

    def __init__(
        self,
        rows: Rows,
        groups: Ints,
        families: Sequence[EmbeddingFamily],
        answers: Sequence[Collection[str]],
        rejected: Sequence[Collection[str]],
        pool: CandidatePool | None,
        seed: int,
        progress: Progress,
    ) -> None:
        if not families:
            raise ValueError("repair needs at least one family of embeddings")
        self.published = self.rows = rows
        self.folds, self.seed, self.progress = group_folds(groups, seed), seed, progress
        progress("embedding texts", 0, len(families))
        self.spaces = [TextSpace.embedded(family, rows) for family in families]
        self.forms = TextForms(rows.vocabulary)
        self.features = ChoiceFeatures(self.spaces, self.forms, np.append(rows.vocabulary.keys, 0))
        progress("learning plausibility", 0, 1)
        self.plausibility = Plausibility(rows, groups, self.folds, self.spaces, self.forms, seed)
        self.floor = self.plausibility.floor(PLAUSIBLE)
        self.filters = ReplacementFilters(rows, self.spaces, answers, rejected)
        self.groups, self.pool = groups, pool
        self.donors = rows if pool is None else rows.followed_by(pool.rows)
        self.changes: dict[tuple[int, int], ChangedDecoy] = {}
        self.refused: Counter[str] = Counter()
        self.judge_folds = selection_folds(groups, seed)

    def run(self, most: int, rounds: int) -> Repaired:
        """Change decoys round by round; keep the state that the selection probes find best."""
        found: list[Round] = []
        states: list[tuple[Rows, tuple[ChangedDecoy, ...]]] = []
        stopped = ""
        for number in range(1, rounds + 2):
            fought = FoughtProbes(self.rows, self.folds, self.features, self.seed + number, self.progress)
            found.append(self._round(fought))
            states.append((self.rows, tuple(self.changes[key] for key in sorted(self.changes))))
            surplus, error = _surplus(fought.sums, self.rows)
            if number == 1 and surplus <= ALARM * error:
                stopped = "the probes find no leak"
            elif surplus < 1:
                stopped = "the fought probes are at chance"
            elif number > rounds:
                stopped = "all rounds are done"
            elif len(self.changes) >= most:
                stopped = "the budget is spent"
            else:
                missing = self._change(fought, int(surplus), most, number)
                found[-1] = replace(found[-1], without_candidate=missing)
                continue
            break
        best = int(np.argmin([one.distance for one in found])) if stopped != "the probes find no leak" else 0
        rows, changes = states[best]
        return Repaired(rows, changes, tuple(found), best, dict(self.refused.most_common()), stopped, self.floor)

    def _round(self, fought: FoughtProbes) -> Round:
        judged = JudgingInputs(
            self.rows, self.judge_folds, self.forms, self.spaces, self.seed, (self.published, self.rows)
        )
        accuracy = {
            name: float(one.scores.mean())
            for name, one in run_judging_probes(SELECTION_PROBES, judged, self.progress).items()
        }
        chance = float(self.rows.chance.mean())
        distance = float(np.mean([abs(one - chance) for one in accuracy.values()]))
        first = float((fought.sums.argmax(axis=1) == 0).mean())
        return Round(first, fought.accuracy, accuracy, distance, len(self.changes))

    def _change(self, fought: FoughtProbes, surplus: int, most: int, number: int) -> int:
        """Replace a decoy in up to ``surplus`` rows; return the number of rows that had no candidate."""
        leads = fought.sums[:, 0] - fought.sums[:, 1:].max(axis=1, initial=-np.inf)
        order = np.argsort(-leads, kind="stable")
        order = order[leads[order] > 0]
        counts = _Counts(self.rows)
        done = missing = 0
        texts = self.rows.texts.copy()
        for first in range(0, len(order), surplus):  # rows with smaller leads follow where some have no candidate
            if done >= surplus or len(self.changes) >= most:
                break
            some = np.sort(order[first : first + surplus])
            ranked = self._ranked(fought, some, counts)
            for row in order[first : first + surplus].tolist():
                if done >= surplus or len(self.changes) >= most:
                    break
                taken = next((one for one in ranked.get(row, ()) if counts.may_add(one.text)), None)
                if taken is None:
                    missing += 1
                    continue
                done += 1
                self._take(row, taken, float(leads[row]), texts, counts, number)
        self.rows = replace(self.rows, texts=texts)
        return missing

    def _take(self, row: int, taken: "_Scored", lead: float, texts: Int32s, counts: "_Counts", number: int) -> None:
        counts.move(int(texts[row, taken.column]), taken.text)
        texts[row, taken.column] = taken.text
        words, published = self.rows.vocabulary.choices, self.published.texts[row, taken.column]
        self.changes[row, taken.column] = ChangedDecoy(
            row,
            int(self.rows.positions[row, taken.column]),
            words[published],
            words[taken.text],
            taken.donor,
            number,
            lead,
            taken.lead,
            taken.plausibility,
        )

    def _ranked(self, fought: FoughtProbes, some: Int64s, counts: "_Counts") -> dict[int, list["_Scored"]]:
        """The candidates of some rows that cost the target its first place, the best first."""
        decoys = np.where(self.rows.valid[some], fought.sums[some], np.inf)
        decoys[:, 0] = np.inf
        columns = decoys.argmin(axis=1)
        ranked: dict[int, list[_Scored]] = {}
        asked, begins, among = self.rows.questions, self.rows.beginning(BEGINNING), np.arange(len(self.rows))
        for fold in np.unique(self.folds[some]).tolist():
            own = np.flatnonzero(self.folds[some] == fold)
            near = [similar_rows(self.spaces, asked, self.groups, some[own], among, NEIGHBOURS, begins)]
            if self.pool is not None:
                numbers, similarity = self.pool.near(self.spaces, self.rows, some[own])
                near.append((np.where(numbers == MISSING, MISSING, len(self.rows) + numbers), similarity))
            donors, similarity = (np.concatenate([one[side] for one in near], axis=1) for side in (0, 1))
            candidates = [
                self._candidates(int(some[one]), int(columns[one]), donors[at], similarity[at], counts)
                for at, one in enumerate(own.tolist())
            ]
            found = np.concatenate(candidates)
            if not len(found):
                continue
            row, column, text = found["row"], found["column"], found["text"]
            odds = self.plausibility.of(row, column, text, self.rows.texts)
            plausible = odds >= self.floor
            self.refused[Refusal.IMPLAUSIBLE] += int((~plausible).sum())
            found, odds = found[plausible], odds[plausible]
            kept = self._filtered(found, odds)
            found, odds = found[kept], odds[kept]
            if not len(found):
                continue
            virtual = self.rows.texts[found["row"]].copy()
            virtual[np.arange(len(found)), found["column"]] = found["text"]
            sums = fought.sums_of(fold, virtual, self.rows.questions[found["row"]])
            lead = sums[:, 0] - sums[:, 1:].max(axis=1)
            cost = np.abs(lead + MARGIN) - SIMILARITY_WEIGHT * found["similarity"] - PLAUSIBILITY_WEIGHT * odds
            for one in np.lexsort((found["text"], cost)).tolist():
                if lead[one] < 0:
                    scored = _Scored(
                        int(found["column"][one]),
                        int(found["text"][one]),
                        int(found["donor"][one]),
                        float(lead[one]),
                        float(odds[one]),
                    )
                    ranked.setdefault(int(found["row"][one]), []).append(scored)
        return ranked

    def _candidates(
        self, row: int, column: int, donors: Int64s, similarity: Float32s, counts: "_Counts"
    ) -> NDArray[np.void]:
        """Distinct choices of the donors that pass the cheap filters, each with its most similar question."""
        donors, similarity = donors[donors != MISSING], similarity[donors != MISSING]
        texts, own = self.donors.texts[donors], donors < len(self.rows)
        texts[own, : self.rows.texts.shape[1]] = self.rows.texts[donors[own]]
        at, column_of = (texts != MISSING).nonzero()
        text = texts[at, column_of]
        keys = self.rows.vocabulary.keys
        _, index = np.unique(keys[text], return_index=True)
        index = np.sort(index)
        in_row = np.isin(keys[text[index]], keys[self.rows.texts[row][self.rows.valid[row]]])
        self.refused[Refusal.IN_ROW] += int(in_row.sum())
        index = index[~in_row]
        popular = ~counts.may_add(text[index])
        self.refused[Refusal.POPULAR] += int(popular.sum())
        index = index[~popular]
        others = np.delete(self.rows.texts[row], column)
        target = np.broadcast_to(others[:1], (len(index), 1))
        near = self.filters.near(text[index], target, MOST_SIMILAR)
        self.refused[Refusal.SIMILAR] += int(near.sum())
        index = index[~near]
        decoys = np.broadcast_to(others[1:], (len(index), len(others) - 1))
        duplicate = self.filters.near(text[index], decoys, NEAR_DUPLICATE)
        self.refused[Refusal.DUPLICATE] += int(duplicate.sum())
        index = index[~duplicate]
        found = np.zeros(len(index), _CANDIDATE)
        found["row"], found["column"], found["text"] = row, column, text[index]
        found["donor"], found["similarity"] = donors[at[index]], similarity[at[index]]
        return found

    def _filtered(self, found: NDArray[np.void], odds: Float64s) -> Int64s:
        """Up to MOST_SCORED candidates of each row that pass the filters of meaning, those that fit best first."""
        fit = SIMILARITY_WEIGHT * found["similarity"] + PLAUSIBILITY_WEIGHT * odds
        kept: list[int] = []
        taken: Counter[int] = Counter()
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
        return np.array(kept, np.int64)


_CANDIDATE = np.dtype(
    [("row", np.int64), ("column", np.int64), ("text", np.int32), ("donor", np.int64), ("similarity", np.float32)]
)


@dataclass(frozen=True)
class _Scored:
    """A candidate that costs the target its first place."""

    column: int
    text: int
    donor: int
    lead: float
    plausibility: float


class _Counts:
    """How often each text is a decoy and a target.

    Counts of texts reveal the target where frequent texts are targets too often or too seldom. A text that
    occurs often must have its share of targets itself; of the texts that occur twice, all together.
    """

    def __init__(self, rows: Rows) -> None:
        self._keys, size = rows.vocabulary.keys, len(rows.vocabulary.key_texts)
        self._targets = np.bincount(rows.keys[:, 0], minlength=size)
        self._decoys = np.bincount(rows.keys[rows.valid], minlength=size) - self._targets
        self._per_target = max(float(np.median(rows.sizes)) - 1, 1.0)
        self._most_surplus = UNBALANCED * len(rows)
        twice = self._targets + self._decoys == 2
        self._surplus = float(self._targets[twice].sum() - 2 * twice.sum() / (self._per_target + 1))

    def may_add(self, text: Ints | int) -> Bools:
        """Whether each text may become a decoy once more."""
        targets, decoys = self._targets[self._keys[text]], self._decoys[self._keys[text]]
        below, above = self._surplus < self._most_surplus, self._surplus > -self._most_surplus
        own_share = decoys < np.maximum(self._per_target * targets, 1)
        return np.where(targets + decoys == 1, np.where(targets > 0, below, above), own_share)

    def move(self, old: int, new: int) -> None:
        """Count a replacement."""
        for text, change in ((old, -1), (new, 1)):
            self._surplus -= self._surplus_of(text)
            self._decoys[self._keys[text]] += change
            self._surplus += self._surplus_of(text)

    def _surplus_of(self, text: int) -> float:
        """Targets above their share, if the text occurs twice."""
        key = self._keys[text]
        targets, decoys = int(self._targets[key]), int(self._decoys[key])
        return targets - 2 / (self._per_target + 1) if targets + decoys == 2 else 0.0


def _surplus(sums: Float64s, rows: Rows) -> tuple[float, float]:
    """How many more targets rank first than chance, and the standard error of that number by chance."""
    first = Prediction(scores=(sums.argmax(axis=1) == 0).astype(np.float64), folds=FOLDS)
    error = first.inflation * float(np.sqrt((rows.chance * (1 - rows.chance)).sum()))
    return float(first.scores.sum() - rows.chance.sum()), error
