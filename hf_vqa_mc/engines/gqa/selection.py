"""Selects the questions of the balanced dataset (Hudson and Manning 2019, Sect. 3.5 and Appendix B).

Redundant questions are removed, then answers are balanced globally and locally, then types are sampled. A question
belongs to a global and a local group, and removing it may change the order of answers in both. So after each step
questions are restored until the order is right at both levels. The result, compared with all questions:

- The answers of a group, global or local, keep their order of frequency; two answers may both keep no question.
- No answer of a global group vanishes. Local groups may vanish, or lose their rarest answers.
- No group's entropy is lower, except for groups that vanish.
- The bounds hold for each group when its level is balanced. The other level and restored questions may exceed them:
  ``SelectionResult.beyond`` counts where.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from hf_vqa_mc.compiled import njit
from hf_vqa_mc.decoys.rng import GAMMA, SeededRng, mixed
from hf_vqa_mc.engines.settings import SHARES
from hf_vqa_mc.io.progress import Progress, silent

# Ours, since the paper (Sect. 3.5, appendix B) gives no numbers:
HEAD = 1.0  # maximum ratio of questions with the more frequent answers of a group to questions with the others
MIN_RATIO, MAX_RATIO = 1.05, 1.5  # of questions with an answer to those with the next; not raised to the lower one
THIN = 0.1  # rare answers with less than this fraction of a group's questions do not limit the frequent ones
SMALL = 16  # local groups with fewer questions of a type are sampled as a whole
TINY = 1e-9
PATIENCE = 64  # rounds of restoring single questions, after which all questions of an answer are restored

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]

ROW = np.dtype(
    [
        ("image", np.int32),
        ("number", np.int32),  # of the question, in its image
        ("structural", np.int8),
        ("semantic", np.int8),
        ("detailed", np.int16),
        ("global_group", np.int32),  # -1 for none
        ("local_group", np.int32),  # -1 for none
        ("answer", np.int32),
        ("content", np.int32),  # equal for questions about an image with the same content
        ("words", np.int16),
        ("steps", np.int16),  # steps of the program
        ("entailed", np.int32),  # number of entailed questions
    ]
)


class QuestionTable(NamedTuple):
    """All questions: 40 bytes each."""

    rows: NDArray[np.void]  # of ROW
    names: Mapping[str, Sequence[str]]  # column to the names of its values
    vocabulary: int  # distinct words of questions and answers, in lower case


class AnswerCells:
    """The answers of each group of one level, global or local, most frequent first."""

    def __init__(self, groups: NDArray[Any], answers: NDArray[Any], *order: NDArray[Any]) -> None:
        """Sort questions into cells by group (negative: none) and answer, in a cell by the last of ``order`` first."""
        n_answers = int(answers.max(initial=0)) + 1
        keys = np.where(groups >= 0, groups.astype(np.int64) * n_answers + answers, -1)
        by_cell = np.lexsort((*order, keys))
        by_cell = by_cell[np.searchsorted(keys[by_cell], 0) :]
        found, first, counts = np.unique(keys[by_cell], return_index=True, return_counts=True)
        group = found // n_answers
        by_count = np.lexsort((found, -counts, group))
        self.counts: Ints = counts[by_count].astype(np.int64)  # questions of each cell
        self.cell_starts: Ints = np.concatenate(([0], np.cumsum(self.counts)))
        moved = np.repeat(first[by_count] - self.cell_starts[:-1], self.counts)
        self.questions: Ints = by_cell[np.arange(len(by_cell)) + moved]
        """indices of questions by cell, in reverse order of their removal"""
        self.groups, starts = np.unique(group[by_count], return_index=True)
        self.starts: Ints = np.append(starts, len(found)).astype(np.int64)
        """index of each group's first cell, and the number of cells"""
        self.group_of: Ints = np.repeat(np.arange(len(self.groups)), np.diff(self.starts))
        """index of each cell's group"""

    def totals(self, counts: Ints) -> Ints:
        """Sums over the cells of each group, int64 (groups,)."""
        return np.add.reduceat(counts, self.starts[:-1])

    def entropies(self, counts: Ints) -> NDArray[np.float64]:
        """The entropy of the answers of each group in bits, float64 (groups,); 0 for a group without questions."""
        shares = counts / np.maximum(self.totals(counts), 1)[self.group_of]
        terms = np.where(shares > 0, -shares * np.log2(np.where(shares > 0, shares, 1.0)), 0.0)
        return np.asarray(np.add.reduceat(terms, self.starts[:-1]))

    def kept_counts(self, kept: Bools) -> Ints:
        """Number of kept questions of each cell, int64 (cells,)."""
        return np.add.reduceat(kept[self.questions].astype(np.int64), self.cell_starts[:-1])

    def rank(self, chosen: Bools) -> Ints:
        """The number of chosen ones before each question of a cell, by position in ``questions``."""
        before: Ints = np.cumsum(chosen) - chosen
        return before - np.repeat(before[self.cell_starts[:-1]], self.counts)

    def restore(self, kept: Bools, more: Ints) -> int:
        """Restore up to ``more`` questions of each cell; returns how many."""
        gone = ~kept[self.questions]
        back = self.questions[gone & (self.rank(gone) < np.repeat(more, self.counts))]
        kept[back] = True
        return len(back)


@njit(cache=True)
def out_of_order(counts: Ints, kept: Ints, starts: Ints, fewest: int) -> Ints:
    """Number of questions to restore so that each answer stays above all that were less frequent, int64 (cells,).

    ``counts``: of all questions, descending in each group; ``kept``: of the kept ones; ``starts``: first cell of each
    group, and the end; ``fewest``: minimum number of kept questions of each answer.
    """
    lacks = np.zeros(len(counts), np.int64)
    for group in range(len(starts) - 1):
        below, of_tier, tier = 0, 0, -1
        for cell in range(starts[group + 1] - 1, starts[group] - 1, -1):
            if counts[cell] != tier:
                below, tier = max(below, of_tier), counts[cell]
            wanted = max(fewest, below + 1 if below > 0 else 0)
            if kept[cell] < wanted:
                lacks[cell] = wanted - kept[cell]
            of_tier = max(of_tier, kept[cell] + lacks[cell])
    return lacks


@njit(cache=True)
def smoothed(counts: Ints, starts: Ints) -> Ints:
    """The number of questions to keep of each answer, from 1 to ``counts``, int64 (cells,).

    From the most to the least frequent answer, the answers so far (the head) are scaled down together until they hold
    at most `HEAD` times the questions of the others (the tail) and the last of them is at most `MAX_RATIO` times
    as frequent as the next, but not below `MIN_RATIO` times the next. The order of answers, and ties, do not change;
    no answer vanishes; the entropy never decreases. Not idempotent: `THIN` is relative to the group.

    ``counts``: by group, descending, all above 0; ``starts``: first cell of each group, and the end.
    """
    kept = counts.copy()
    scales = np.ones(len(counts))
    for group in range(len(starts) - 1):
        first, end = starts[group], starts[group + 1]
        total = counts[first:end].sum()
        head, tail = 0.0, float(total)
        for cell in range(first, end - 1):
            here, following = float(counts[cell]), float(counts[cell + 1])
            head, tail = head + here, tail - here
            if cell > first and tail < THIN * total:
                break
            reach = max(tail, THIN * total)
            scale = min(1.0, HEAD * reach / head)
            scale = min(scale, MAX_RATIO * max(following, THIN * reach, reach / (end - 1 - cell)) / here)
            scale = max(scale, min(MIN_RATIO * following / here, 1.0))
            scales[cell] = scale
            head *= scale
        product, before, entropy = 1.0, 0.0, 0.0
        for cell in range(end - 1, first - 1, -1):
            product *= scales[cell]
            fewest = 1
            if cell < end - 1:
                fewest = kept[cell + 1] + (counts[cell] > counts[cell + 1])
            kept[cell] = min(counts[cell], max(int(counts[cell] * product + 0.5), fewest))
            if cell < end - 1 and counts[cell] == counts[cell + 1]:
                kept[cell] = kept[cell + 1]
        left = kept[first:end].sum()
        for cell in range(first, end):
            before -= counts[cell] / total * np.log(counts[cell] / total)
            entropy -= kept[cell] / left * np.log(kept[cell] / left)
        if entropy < before:  # rounding, in groups of a few questions
            kept[first:end] = counts[first:end]
    return kept


class SelectionResult(NamedTuple):
    """The selected questions, and how many were removed."""

    kept: Bools  # (questions,)
    removed: Mapping[str, int]  # step to questions removed and not restored
    restored: int  # questions restored to keep the order of answers
    beyond: Mapping[str, int]  # level to groups in which the most frequent of several answers exceeds its bound


def select_balanced(
    table: QuestionTable, shares: Mapping[str, float] = SHARES, seed: int = 0, progress: Progress = silent
) -> SelectionResult:
    """The questions of the balanced dataset.

    Which questions of an answer are kept depends on the seed, the image's id and the question's number, not on their
    order. Of an answer in a global group, the questions most over-represented in their local group are removed first.
    """
    rows = table.rows
    bases = np.array([SeededRng(seed, one, "selection").bits() for one in table.names["image"]], np.uint64)
    with np.errstate(over="ignore"):
        states: Any = bases[rows["image"]] + rows["number"].astype(np.uint64) * np.uint64(GAMMA)
    bits = np.asarray(mixed(states))
    contents = pd.DataFrame({name: rows[name] for name in ("image", "content")})
    # all but one of the questions about an image with the same content
    redundant = contents.iloc[bits.argsort()].duplicated().sort_index().to_numpy()
    # how over-represented an answer is in its local group when a question is the next of that answer to be removed: 1
    # means as many questions as the most frequent other answer
    local = AnswerCells(rows["local_group"], rows["answer"], bits)
    excess, first = np.zeros(len(rows)), local.starts[:-1]
    others = local.counts[first][local.group_of]
    others[first] = 1  # if there is no other answer
    several = first[np.diff(local.starts) > 1]
    others[several] = local.counts[several + 1]
    in_cell = np.arange(len(local.questions)) - np.repeat(local.cell_starts[:-1], local.counts) + 1
    excess[local.questions] = in_cell / np.repeat(others, local.counts)
    levels = {"global": AnswerCells(rows["global_group"], rows["answer"], bits, excess, redundant)}
    levels["local"] = AnswerCells(rows["local_group"], rows["answer"], bits, redundant)
    kept = ~redundant
    last = np.zeros(len(rows), np.int8)
    last[redundant] = 1
    steps: dict[str, Callable[[], None]] = {
        "redundant": lambda: None,
        "balanced globally": lambda: _balance(levels["global"], kept),
        "balanced locally": lambda: _balance(levels["local"], kept),
        "sampled by type": lambda: _sample_types(table, kept, shares, seed, bits),
    }
    back = 0
    for number, (name, step) in enumerate(steps.items(), 1):
        progress(name, number - 1, len(steps))
        before = kept.copy()
        step()
        last[before & ~kept] = number
        back += _restore(list(levels.values()), kept, even=number == len(steps))
    progress("selected", len(steps), len(steps))
    removed = {name: int((last[~kept] == number).sum()) for number, name in enumerate(steps, 1)}
    beyond = {}
    for name, level in levels.items():
        counts = level.kept_counts(kept)
        largest, totals = np.maximum.reduceat(counts, level.starts[:-1]), level.totals(counts)
        most = HEAD * np.maximum(totals - largest, THIN * totals) + 1
        beyond[name] = int(((largest > most) & (largest < totals)).sum())
    return SelectionResult(kept, removed, back, beyond)


def _balance(level: AnswerCells, kept: Bools) -> None:
    counts = level.kept_counts(kept)
    order = np.lexsort((np.arange(len(counts)), -counts, level.group_of))  # equal counts may differ by now
    left = order[counts[order] > 0]
    starts = np.searchsorted(level.group_of[left], np.arange(len(level.groups) + 1)).astype(np.int64)
    most = counts.copy()
    most[left] = smoothed(counts[left], starts)
    chosen = kept[level.questions]
    kept[level.questions[chosen & (level.rank(chosen) >= np.repeat(most, level.counts))]] = False


def _sample_types(
    table: QuestionTable, kept: Bools, wanted: Mapping[str, float], seed: int, bits: NDArray[np.uint64]
) -> None:
    """Remove as few questions of the named types as possible until each type has its share."""
    rows = table.rows
    names = table.names["structural"]
    shares = {names.index(name): share for name, share in wanted.items() if name in names}
    counts = np.bincount(rows["structural"][kept], minlength=len(names))
    limits = [counts[code] / share for code, share in shares.items() if counts[code]]
    free, others = 1 - sum(shares.values()), counts.sum() - counts[[*shares]].sum()
    if others and free > TINY:
        limits.append(others / free)
    if not shares or not limits:
        return
    indices = np.flatnonzero(kept)
    turn = _turns(table, indices, bits, seed)
    for code, share in shares.items():
        of_type = np.flatnonzero(rows["structural"][indices] == code)
        of_type = of_type[np.lexsort((bits[indices[of_type]], turn[of_type]))]
        kept[indices[of_type[int(share * min(limits) + TINY) :]]] = False


def _turns(table: QuestionTable, indices: Ints, bits: NDArray[np.uint64], seed: int) -> NDArray[np.float64]:
    """Rank of questions, in [0, 1]: even within each answer of a large local group, one rank for a small group."""
    local, answer = (table.rows[name][indices] for name in ("local_group", "answer"))
    cells = pd.Series(bits[indices]).groupby([local, answer])
    turn: NDArray[np.float64] = ((cells.rank(method="first") - 0.5) / cells.transform("size")).to_numpy()
    groups = (*table.names["local_group"], "")
    of_group = np.array([SeededRng(seed, name, "type").bits() * 2.0**-64 for name in groups])
    small = np.bincount(local + 1, minlength=len(groups))[local + 1] < SMALL
    return np.where(small & (local >= 0), of_group[local], turn)


def _restore(levels: Sequence[AnswerCells], kept: Bools, even: bool) -> int:
    """Restore questions until the order of answers is right at both levels; returns how many."""
    total, rounds, evened = 0, 0, 0
    while True:
        back = 0
        for level, fewest in zip(levels, (1, 0), strict=True):
            counts = level.kept_counts(kept)
            lacks = out_of_order(level.counts, counts, level.starts, fewest)
            if rounds >= PATIENCE:
                lacks = np.where(lacks > 0, level.counts, 0)
            back += level.restore(kept, lacks)
        if even and not back:
            for level in levels:  # in groups with less entropy, to the original share
                counts = level.kept_counts(kept)
                fell = level.entropies(counts) < level.entropies(level.counts) - TINY
                before, after = (level.totals(one)[level.group_of] for one in (level.counts, counts))
                fair = -(-level.counts * after // before)  # its share of what is kept, rounded up
                lacks = np.where(fell[level.group_of] & (after > 0), np.maximum(fair - counts, 0), 0)
                back += level.restore(kept, lacks if evened < PATIENCE else np.where(lacks > 0, level.counts, 0))
            rounds, evened = 0, evened + 1
        total, rounds = total + back, rounds + 1
        if not back:
            return total
