"""Targeted repair: keep people's decoys and replace the fewest by which a target can be told from them.

Adversarial filtering as in SWAG (Zellers et al. 2018), with neutrality as a constraint, a floor of plausibility and
held-out judges. In each round several cross-fitted probes are fought at once; of the rows whose target they rank first
only as many as exceed chance are changed, the largest lead first; a decoy is replaced by a choice of a similar row, or
a candidate from elsewhere, that costs the target its first place by the smallest lead. Decoys and targets of other
rows become decoys in such shares that counts of texts in other rows do not reveal the target.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows, number_rows
from hf_vqa_mc.audits.shortcut import Prediction
from hf_vqa_mc.data import Benchmark, Split
from hf_vqa_mc.data.verdicts import Rejected
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float32s, Int32s, Int64s, Ints
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.remedies.candidate_pool import NONE, CandidatePool, as_questions, images_in_common
from hf_vqa_mc.remedies.fought_probes import FOLDS, FoughtProbes, group_folds
from hf_vqa_mc.remedies.judging_probes import SELECTION_PROBES, SELECTION_SEED, JudgingInputs, run_judging_probes
from hf_vqa_mc.remedies.remedied import Remedied, rejected_texts, with_new_columns, without_bad_questions
from hf_vqa_mc.remedies.replacement_filters import Plausibility, Refusal, ReplacementFilters, TextCounts
from hf_vqa_mc.remedies.row_features import BEGINNING, TextForms, TextSpace, row_vectors, similar_rows
from hf_vqa_mc.text.embeddings import EmbeddingFamily

ROUNDS = 3  # largest number of rounds
ALARM = 1.645
"""Standard errors above chance from which the probes' sum is a leak; with fewer, the rows stay as they are."""
_POOL = "\0pool"  # name of the candidates among the splits
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
_CANDIDATES = np.dtype(
    [("row", np.int64), ("column", np.int64), ("text", np.int32), ("donor", np.int64), ("similarity", np.float32),
     ("odds", np.float64), ("lead", np.float64)]
)  # fmt: skip
Candidates = NDArray[np.void]  # texts that may replace the choice in a column of a row


class ChangedDecoy(NamedTuple):
    """A replaced decoy."""

    row: int
    column: int  # of `Rows.texts`
    text: int  # number of the new text
    donor: int  # row whose choice it is; of the pool, counted from the number of rows on
    round: int
    lead: float
    """lead of the target over the next choice by the fought probes, in standard deviations of the stacked scores"""
    plausibility: float  # log odds that the new text is a published choice of the question


class Repaired(NamedTuple):
    """The rows after a repair, and what was changed."""

    rows: Rows
    changes: list[ChangedDecoy]
    figures: dict[str, Any]  # JSON values
    floor: float  # log odds of plausibility that every new decoy reaches


def repair_benchmark(
    benchmark: Benchmark,
    families: Sequence[EmbeddingFamily],
    budget: float,
    seed: int = 0,
    candidates: pa.Table = NONE,
    verdicts: Rejected | None = None,
    progress: Progress = silent,
) -> Remedied:
    """Repair each split from its own rows and from candidates from elsewhere; see `repair`.

    Questions, targets, labels and all other columns are unchanged; ``choice_origins`` names the donor of each new
    decoy. A split other than the evaluated one with too few groups of rows (images, videos) is unchanged.

    Raises:
        InputError: the evaluated split has too few groups of rows.
    """
    benchmark, rejected = without_bad_questions(benchmark, verdicts)
    tables = {name: split.rows for name, split in benchmark.splits.items()}
    numbered = number_rows({**tables, **({_POOL: as_questions(candidates)} if len(candidates) else {})})
    splits: dict[str, Split] = {}
    figures: dict[str, Any] = {}
    changes: list[dict[str, Any]] = []
    for name, split in benchmark.splits.items():
        ids, images = (split.rows[column].combine_chunks() for column in ("question_id", "image_id"))
        try:
            found = repair(
                numbered[name],
                split.clusters,
                families,
                answers=benchmark.known_answers[name].to_pylist(),
                rejected=rejected_texts(verdicts, split.rows),
                pool=CandidatePool(candidates, numbered[_POOL], ids, images) if len(candidates) else None,
                budget=budget,
                seed=seed,
                progress=prefixed(progress, name) if len(tables) > 1 else progress,
            )
        except InputError as error:
            if name == benchmark.evaluated:
                raise InputError(f"{split.location}: {error}") from error
            splits[name], figures[name] = split, {"unchanged": str(error)}
            continue
        splits[name], described = _with_changes(benchmark, split, numbered[name], found.changes, candidates)
        changes += described
        figures[name] = found.figures
    statistics: dict[str, Any] = {
        "strategy": "repair",
        "budget": budget,
        "embeddings": [family.name for family in families],
        "rows": sum(split.rows.num_rows for split in splits.values()),
        "decoys": sum(one.get("decoys", 0) for one in figures.values()),
        "changed": len(changes),
        "splits": figures,
        "changes": changes,
    }
    if len(candidates):
        about_images = pc.any(pc.not_equal(candidates["image_id"], "")).as_py()
        statistics["candidates"] = {
            "given": len(candidates),
            "images_in_common": images_in_common(candidates, benchmark) if about_images else None,
            "used": sum(not one["donor"] for one in changes),
        }
    if rejected:
        tested = sum(one.get("refused", {}).get(Refusal.VERDICT, 0) for one in figures.values())
        statistics["rejected"] = {**rejected, "candidates": tested}
    return Remedied(replace(benchmark, splits=splits), statistics)


def _with_changes(
    benchmark: Benchmark, split: Split, rows: Rows, changes: Sequence[ChangedDecoy], candidates: pa.Table
) -> tuple[Split, list[dict[str, Any]]]:
    """A split with new decoys and ``choice_origins``, and its changes as `Remedied.statistics` lists them."""
    ids, questions, choices, labels = (
        split.rows[name].to_pylist() for name in ("question_id", "question", "choices", "label")
    )
    origins = [
        ["target" if index == label else "published" for index in range(len(texts))]
        for texts, label in zip(choices, labels, strict=True)
    ]
    described = []
    for row, column, text, donor, number, lead, plausibility in changes:
        index, new = int(rows.positions[row, column]), rows.vocabulary.choices[text]
        donor_id = ids[donor] if donor < len(ids) else ""
        origin = f"question {donor_id}, {split.name}" if donor_id else candidates["source"][donor - len(ids)].as_py()
        described.append(
            {
                "split": split.name,
                "question_id": ids[row],
                "question": questions[row],
                "target": choices[row][labels[row]],
                "index": index,
                "old": choices[row][index],
                "new": new,
                "origin": origin,
                "donor": donor_id,
                "reason": f"the target led by {lead:.1f} standard deviations and no longer leads (round {number})",
                "plausibility": plausibility,
            }
        )
        choices[row][index], origins[row][index] = new, origin
    columns = {
        name: pa.array(one, pa.list_(pa.string())) for name, one in (("choices", choices), ("choice_origins", origins))
    }
    columns["label"] = split.rows["label"].combine_chunks()
    return with_new_columns(benchmark, split, columns, int(rows.sizes.max(initial=0))), described


def repair(
    rows: Rows,
    groups: Ints,
    families: Sequence[EmbeddingFamily],
    *,
    answers: Sequence[Collection[str]] = (),
    rejected: Sequence[Collection[str]] = (),
    pool: CandidatePool | None = None,
    budget: float,
    rounds: int = ROUNDS,
    seed: int = 0,
    progress: Progress = silent,
) -> Repaired:
    """Replace the fewest decoys so that probes without the image no longer find the target.

    Of the states after each round the one is kept that the selection probes find nearest to chance.

    Groups (rows,) are images, videos or contexts, such as `Split.clusters`; known ``answers`` and ``rejected``
    texts (rows,) never become decoys of a row; ``budget`` is the largest share of the decoys that are changed.

    Raises:
        InputError: there are fewer groups than folds.
    """
    folds, judge_folds = group_folds(groups, seed), group_folds(groups, seed + SELECTION_SEED)
    progress("embedding texts", 0, len(families))
    spaces, forms = [TextSpace.embedded(family, rows) for family in families], TextForms(rows.vocabulary)
    progress("learning plausibility", 0, 1)
    plausibility = Plausibility(rows, groups, folds, spaces, forms, seed)
    filters = ReplacementFilters(rows, spaces, answers, rejected)
    state = _Replacements(rows, groups, folds, plausibility, filters, spaces, pool)
    decoys, chance = int(rows.valid.sum()) - len(rows), float(rows.chance.mean())
    most, states, without_candidate = int(budget * decoys), list[tuple[float, Rows, list[ChangedDecoy]]](), 0
    for number in range(1, rounds + 2):
        fought = FoughtProbes(state.rows, folds, spaces, forms, seed + number, progress)
        judged = JudgingInputs(state.rows, judge_folds, forms, spaces, seed, (rows, state.rows))
        selection = run_judging_probes(SELECTION_PROBES, judged, progress).values()
        distance = float(np.mean([abs(float(one.scores.mean()) - chance) for one in selection]))
        states.append((distance, state.rows, [state.changes[key] for key in sorted(state.changes)]))
        first = Prediction(scores=(fought.sums.argmax(axis=1) == 0).astype(np.float64), folds=FOLDS)
        surplus = float(first.scores.sum() - rows.chance.sum())  # targets that rank first, more than by chance
        error = first.inflation * float(np.sqrt((rows.chance * (1 - rows.chance)).sum()))
        if number == 1 and surplus <= ALARM * error:
            stopped = "the probes find no leak"
        elif surplus < 1:
            stopped = "the probes that it works against are at chance"
        elif number > rounds:
            stopped = "all rounds are done"
        elif len(state.changes) >= most:
            stopped = "the budget is spent"
        else:
            without_candidate = max(without_candidate, state.change(fought, int(surplus), most, number))
            continue
        break
    _, kept, changes = min(states, key=lambda one: one[0])
    figures = {
        "rows": len(rows),
        "decoys": decoys,
        "changed": len(changes),
        "rounds": len(states) - 1,
        "stopped": stopped,
        "refused": {str(reason): count for reason, count in state.refused.most_common()},
        "rows_without_candidate": without_candidate,  # of the round with most of them
    }
    return Repaired(kept, changes, figures, state.floor)


class _Replacements:
    """The rows after some rounds, and what was changed."""

    def __init__(self, rows: Rows, groups: Ints, folds: Ints, plausibility: Plausibility, filters: ReplacementFilters,
                 spaces: Sequence[TextSpace], pool: CandidatePool | None) -> None:  # fmt: skip
        self.published = self.rows = rows
        self.groups, self.folds, self.pool = groups, folds, pool
        self.plausibility, self.filters = plausibility, filters
        self.donors = rows if pool is None else rows.followed_by(pool.rows)
        parts = [rows] if pool is None else [rows, pool.rows]
        self.vectors = np.concatenate([row_vectors(spaces, one, CHOICES_WEIGHT) for one in parts])  # of all donors
        self.floor, self.preferred = np.nanquantile(plausibility.published, (PLAUSIBLE, PREFERRED)).tolist()
        self.changes: dict[tuple[int, int], ChangedDecoy] = {}  # by row and column
        self.refused: Counter[str] = Counter()

    def change(self, fought: FoughtProbes, surplus: int, most: int, number: int) -> int:
        """Replace a decoy in up to ``surplus`` rows; return the number of rows that had no candidate."""
        leads = fought.sums[:, 0] - fought.sums[:, 1:].max(axis=1, initial=-np.inf)
        order = np.argsort(-leads, kind="stable")
        order = order[leads[order] > 0]
        counts, texts = TextCounts(self.rows), self.rows.texts.copy()
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
                _, column, text, donor, _, odds, _ = of_row[allowed[0]].item()
                counts.move(int(texts[row, column]), text)
                texts[row, column] = text
                self.changes[row, column] = ChangedDecoy(row, column, text, donor, number, float(leads[row]), odds)
        self.rows = replace(self.rows, texts=texts)
        return missing

    def _ranked(self, fought: FoughtProbes, some: Int64s, counts: TextCounts) -> Candidates:
        """The candidates of some rows that cost the target its first place, the best first."""
        decoys = np.where(self.rows.valid[some], fought.sums[some], np.inf)
        decoys[:, 0] = np.inf
        begins, among = self.rows.beginning(BEGINNING), np.arange(len(self.rows))
        own = self.vectors[: len(self.rows)]
        near = [similar_rows(own, self.groups, some, among, NEIGHBOURS, begins, LEAST_SIMILAR)]
        if self.pool is not None:
            near.append(self.pool.near(self.vectors, self.rows, some, LEAST_SIMILAR))
        donors, similarity = (np.concatenate([one[side] for one in near], axis=1) for side in (0, 1))
        given = zip(some.tolist(), decoys.argmin(axis=1).tolist(), donors, similarity, strict=True)
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
        valid = self.rows.valid[row]
        in_row = keys[np.append(self.rows.texts[row][valid], self.published.texts[row][valid])]
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
