"""Targeted repair: keep people's decoys and replace the fewest by which a target can be told from them.

Adversarial filtering as in SWAG (Zellers et al. 2018), with neutrality as a constraint, a floor of plausibility and
held-out judges. In each round several cross-fitted probes are fought at once; of the rows whose target they rank first
only as many as exceed chance are changed, the largest lead first; a decoy is replaced by a choice of a similar
row that costs the target its first place by the smallest lead. Decoys and targets of other rows become decoys in
such shares that counts of texts in other rows do not reveal the target.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hf_vqa_mc.audits.rows import Rows, number_rows
from hf_vqa_mc.audits.shortcut import Prediction
from hf_vqa_mc.data import Benchmark, Split
from hf_vqa_mc.data.verdicts import Rejected
from hf_vqa_mc.decoys.candidates import Ints
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.remedies.candidate_pool import Candidate, CandidatePool, candidate_table, images_in_common
from hf_vqa_mc.remedies.cross_fitting import FOLDS, group_folds
from hf_vqa_mc.remedies.fought_probes import FoughtProbes
from hf_vqa_mc.remedies.judging_probes import SELECTION_PROBES, SELECTION_SEED, JudgingInputs, run_judging_probes
from hf_vqa_mc.remedies.plausibility import Plausibility
from hf_vqa_mc.remedies.remedied import Remedied, rejected_texts, with_new_columns, without_bad_questions
from hf_vqa_mc.remedies.replacement_filters import Refusal, ReplacementFilters
from hf_vqa_mc.remedies.replacements import ChangedDecoy, Replacements
from hf_vqa_mc.remedies.row_features import TextForms, TextSpace
from hf_vqa_mc.text.embeddings import EmbeddingFamily

ROUNDS = 3  # largest number of rounds
ALARM = 1.645
"""Standard errors above chance from which the probes' sum is a leak; with fewer, the rows stay as they are."""
_POOL = "\0pool"  # name of the candidates among the splits


class Repaired(NamedTuple):
    """The rows after a repair, and what was changed."""

    rows: Rows
    changes: tuple[ChangedDecoy, ...]
    rounds: int
    stopped: str  # why the loop ended
    refused: dict[str, int]  # number of candidates by the reason for which they were refused
    without_candidate: int  # largest number of rows of a round that should change and had no candidate
    floor: float  # log odds of plausibility that every new decoy reaches


def repair_benchmark(
    benchmark: Benchmark,
    families: Sequence[EmbeddingFamily],
    budget: float,
    seed: int = 0,
    candidates: Sequence[Candidate] = (),
    verdicts: Rejected | None = None,
    progress: Progress = silent,
) -> Remedied:
    """Repair each split from its own rows and from candidates from elsewhere; see `repair`.

    Questions, targets, labels and all other columns are unchanged; ``choice_origins`` names the donor of each new
    decoy. A split other than the evaluated one with too few groups of rows (images, videos) is unchanged.

    Raises:
        InputError: the evaluated split has too few groups of rows.
    """
    rejected: dict[str, int] = {}
    if verdicts is not None:
        benchmark, rejected = without_bad_questions(benchmark, verdicts)
    tables = {name: split.rows for name, split in benchmark.splits.items()}
    numbered = number_rows({**tables, **({_POOL: candidate_table(candidates)} if candidates else {})})
    splits: dict[str, Split] = {}
    figures: dict[str, Any] = {}
    changes: list[dict[str, Any]] = []
    for name, split in benchmark.splits.items():
        ids = split.rows["question_id"].to_pylist()
        images = split.rows["image_id"].to_pylist()
        try:
            found = repair(
                numbered[name],
                split.clusters,
                families,
                answers=split.rows["answers"].to_pylist(),
                rejected=() if verdicts is None else rejected_texts(verdicts, split.rows),
                pool=CandidatePool(candidates, numbered[_POOL], ids, images) if candidates else None,
                budget=budget,
                seed=seed,
                progress=prefixed(progress, name) if len(tables) > 1 else progress,
            )
        except InputError as error:
            if name == benchmark.evaluated:
                raise InputError(f"{split.location}: {error}") from error
            splits[name], figures[name] = split, {"unchanged": str(error)}
            continue
        described = [_described(one, split, ids, candidates) for one in found.changes]
        splits[name] = _with_changes(benchmark, split, found, [one["origin"] for one in described])
        changes += described
        figures[name] = {
            "rows": len(found.rows),
            "decoys": int(found.rows.valid[:, 1:].sum()),
            "changed": len(found.changes),
            "rounds": found.rounds,
            "stopped": found.stopped,
            "refused": {str(reason): count for reason, count in found.refused.items()},
            "rows_without_candidate": found.without_candidate,
        }
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
    if candidates:
        about_images = any(one.image_id for one in candidates)
        statistics["candidates"] = {
            "given": len(candidates),
            "images_in_common": images_in_common(candidates, benchmark) if about_images else None,
            "used": sum(not one["donor"] for one in changes),
        }
    if rejected:
        tested = sum(one.get("refused", {}).get(Refusal.VERDICT, 0) for one in figures.values())
        statistics["rejected"] = {**rejected, "candidates": tested}
    return Remedied(replace(benchmark, splits=splits), statistics)


def _described(one: ChangedDecoy, split: Split, ids: Sequence[str], candidates: Sequence[Candidate]) -> dict[str, Any]:
    """A change as `Remedied.statistics` lists it; ``ids`` are those of the split's questions."""
    inside = one.donor < len(ids)
    donor = ids[one.donor] if inside else ""
    question, choices, label = (split.rows[name][one.row].as_py() for name in ("question", "choices", "label"))
    return {
        "split": split.name,
        "question_id": ids[one.row],
        "question": question,
        "target": choices[label],
        "index": one.index,
        "old": one.old,
        "new": one.new,
        "origin": f"question {donor}, {split.name}" if inside else candidates[one.donor - len(ids)].source,
        "donor": donor,
        "reason": f"the target led by {one.lead:.1f} standard deviations and no longer leads (round {one.round})",
        "plausibility": one.plausibility,
    }


def _with_changes(benchmark: Benchmark, split: Split, found: Repaired, donors: Sequence[str]) -> Split:
    """A split with new decoys, in the benchmark's own columns with ``choice_origins``."""
    choices, labels = split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()
    origins = [
        ["target" if index == label else "published" for index in range(len(texts))]
        for texts, label in zip(choices, labels, strict=True)
    ]
    for change, origin in zip(found.changes, donors, strict=True):
        choices[change.row][change.index] = change.new
        origins[change.row][change.index] = origin
    texts = pa.list_(pa.string())
    columns = {
        "choices": pa.array(choices, texts),
        "label": split.rows["label"].combine_chunks(),
        "choice_origins": pa.array(origins, texts),
    }
    return with_new_columns(benchmark, split, columns, int(found.rows.sizes.max(initial=0)))


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

    Groups (rows,) are images, videos or contexts, such as `Split.clusters`; annotators' ``answers`` and ``rejected``
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
    state = Replacements(rows, groups, folds, plausibility, filters, spaces, pool)
    most, chance = int(budget * (rows.valid.sum() - len(rows))), float(rows.chance.mean())
    states: list[tuple[float, Rows, tuple[ChangedDecoy, ...]]] = []
    without_candidate = 0
    for number in range(1, rounds + 2):
        fought = FoughtProbes(state.rows, folds, spaces, forms, seed + number, progress)
        judged = JudgingInputs(state.rows, judge_folds, forms, spaces, seed, (rows, state.rows))
        selection = run_judging_probes(SELECTION_PROBES, judged, progress).values()
        distance = float(np.mean([abs(float(one.scores.mean()) - chance) for one in selection]))
        states.append((distance, state.rows, tuple(state.changes[key] for key in sorted(state.changes))))
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
    refused = dict(state.refused.most_common())
    return Repaired(kept, changes, len(states) - 1, stopped, refused, without_candidate, state.floor)
