"""What the scores of several models say about each question: difficulty, discrimination, labels that may be wrong.

Classical item statistics, without a model of item responses (IRT).
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hf_vqa_mc.evaluation.shares import Floats, Ints
from hf_vqa_mc.text.counted import counted, percent

FEWEST = 4  # runs from which discrimination and suspicion are computed
ALIKE = 0.8
"""Share of the questions that two models answer wrongly with the same choice, from which they are relatives: on the
answers of `tests.evaluation.test_question_statistics`, diverse models have 0.6, relatives 0.9."""
SUSPECTED = 0.2  # suspicion from which a label is on the reading list


@dataclass(frozen=True, eq=False)
class Items:
    """The questions of a comparison."""

    table: pd.DataFrame
    """by question id, most suspected first: accuracy, discrimination (NaN with fewer than `FEWEST` runs), kind
    (saturated, unsolved, negative or ""), suspicion in [-1, 1] and suspected_choice (NaN without picks), short_form"""
    alike: float | None  # mean over pairs of runs of the share of common errors with the same choice; None if unknown

    def sentences(self) -> list[str]:
        """How many questions of each kind there are, and how far the reading list can be trusted."""
        kinds, size = self.table["kind"].value_counts(), len(self.table)
        said = {
            "saturated": "every run is correct",
            "unsolved": "no run is correct",
            "negative": "better runs are less often correct",
        }
        parts = [f"{why} in {percent(kinds.get(name, 0) / size)} ({name})" for name, why in said.items()]
        found = [f"Of {counted(size, 'question')}, {', '.join(parts)}."]
        if self.table["short_form"].any():
            short = counted(int(self.table["short_form"].sum()), "question")
            found.append(f"The {short} with the highest discrimination (short_form) rank these runs as all do.")
        if (suspected := int((self.table["suspicion"] > SUSPECTED).sum())) and self.alike is not None:
            found.append(
                f"Reading list: in {counted(suspected, 'question')} the better runs agree on another choice than the "
                f"label (suspicion above {SUSPECTED}); read them, they are no verdict."
            )
            if self.alike > ALIKE:
                found.append(
                    f"The runs are relatives: of the questions that two of them answer wrongly, they pick the same "
                    f"choice in {percent(self.alike, 0)}, so the reading list mostly shows what misleads them all."
                )
        return found


def item_table(scores: pd.DataFrame, picks: pd.DataFrame | None, labels: pd.Series | None, chance: float) -> Items:
    """The statistics of each question.

    Args:
        scores: of each run (columns) for each question id (index), in [0, 1].
        picks: index of the choice that each run picked, NaN for none; None if unknown.
        labels: index of the correct choice; None if unknown.
        chance: accuracy of random guessing.
    """
    values = scores.to_numpy(np.float64)
    accuracy, runs = values.mean(axis=1), values.shape[1]
    discrimination = _item_rest(values) if runs >= FEWEST else np.full(len(values), np.nan)
    kinds = np.select([accuracy == 1, accuracy == 0, discrimination < 0], ["saturated", "unsolved", "negative"], "")
    table = pd.DataFrame({"accuracy": accuracy, "discrimination": discrimination, "kind": kinds}, scores.index)
    table["suspicion"], table["suspected_choice"], alike = np.nan, np.nan, None
    if picks is not None and labels is not None and runs >= FEWEST:
        chosen, label = picks.fillna(-1).to_numpy(np.int64), labels.to_numpy(np.int64)
        table["suspicion"], table["suspected_choice"] = _suspicion(chosen, label, values.mean(axis=0), chance)
        alike = _alike(chosen, label)
    table["short_form"] = _short_form(values, discrimination)
    return Items(table.sort_values("suspicion", ascending=False, kind="stable"), alike)


def _item_rest(values: Floats) -> Floats:
    """(questions,): correlation over runs of a question's score and the mean of the others; 0 for equal scores."""
    rest = (values.sum(axis=0) - values) / max(len(values) - 1, 1)
    own, others = (one - one.mean(axis=1, keepdims=True) for one in (values, rest))
    scale = np.sqrt((own**2).sum(axis=1) * (others**2).sum(axis=1))
    found: Floats = np.where(scale > 1e-12, (own * others).sum(axis=1) / np.where(scale > 1e-12, scale, 1), 0)
    return found


def _suspicion(picks: Ints, labels: Ints, accuracy: Floats, chance: float) -> tuple[Floats, Ints]:
    """(questions,): weighted share of the most frequent other choice minus that of the label, and that choice.

    A run has the weight of its accuracy in log odds above chance; one at chance or below has none.
    """
    limited = np.clip(np.append(accuracy, chance), 0.02, 0.98)
    odds = np.log(limited / (1 - limited))
    weights = np.maximum(odds[:-1] - odds[-1], 0)
    votes = np.stack([(picks == choice) @ weights for choice in range(max(picks.max(), labels.max()) + 1)], axis=1)
    rows, others = np.arange(len(labels)), votes.copy()
    others[rows, labels] = -1
    best = others.argmax(axis=1)
    return (others[rows, best] - votes[rows, labels]) / max(weights.sum(), 1e-12), best


def _alike(picks: Ints, labels: Ints) -> float | None:
    """Mean over pairs of runs of the share of the questions, among those both answer wrongly, with the same choice."""
    wrong, shares = (picks != labels[:, None]) & (picks >= 0), []
    for one, other in combinations(range(picks.shape[1]), 2):
        both = wrong[:, one] & wrong[:, other]
        shares += [float((picks[both, one] == picks[both, other]).mean())] if both.any() else []
    return float(np.mean(shares)) if shares else None


def _short_form(values: Floats, discrimination: Floats) -> NDArray[np.bool_]:
    """(questions,): the fewest with the highest discrimination on which the runs have the same order as on all."""
    order = np.argsort(-discrimination, kind="stable")
    is_same, total = np.ones(len(values), np.bool_), values.sum(axis=0)
    for one, other in combinations(range(values.shape[1]), 2):
        sums = np.cumsum(values[order, one] - values[order, other])
        is_same &= np.sign(sums) == np.sign(total[one] - total[other])
    kept = np.zeros(len(values), np.bool_)
    if not np.isnan(discrimination).any() and is_same.any():
        kept[order[: is_same.argmax() + 1]] = True
    return kept
