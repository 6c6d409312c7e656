"""Selects the questions of the balanced dataset (Hudson and Manning 2019, Sect. 3.5).

Redundant questions are removed, then answers are balanced globally and locally, then types are sampled. A question
belongs to a global and a local group, and removing it may change the order of answers in both. So after each step
questions are restored until the order is right at both levels. The result, compared with all questions:

- The answers of a group, global or local, keep their order of frequency; two answers may both keep no question.
- No answer of a global group vanishes. Local groups may vanish, or lose their rarest answers.
- No group's entropy is lower, except for groups that vanish.
- The bounds hold for each group when its level is balanced. The other level and restored questions may exceed them:
  ``Selected.beyond`` counts where.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.rng import GAMMA, SeededRng, mixed
from hf_vqa_mc.engines.gqa.balancing import (
    HEAD,
    THIN,
    AnswerCells,
    Bools,
    Ints,
    QuestionTable,
    entropies,
    out_of_order,
    smoothed,
)
from hf_vqa_mc.engines.gqa.settings import GqaSettings
from hf_vqa_mc.io.progress import Progress, silent

SMALL = 16  # local groups with fewer questions of a type are sampled as a whole
TINY = 1e-9
PATIENCE = 64  # rounds of restoring single questions, after which all questions of an answer are restored


@dataclass(frozen=True)
class Selected:
    """The selected questions, and how many were removed."""

    kept: Bools  # (questions,)
    removed: Mapping[str, int]  # step to questions removed and not restored
    restored: int  # questions restored to keep the order of answers
    beyond: Mapping[str, int]  # level to groups in which the most frequent of several answers exceeds its bound


def select_balanced(table: QuestionTable, settings: GqaSettings, progress: Progress = silent) -> Selected:
    """The questions of the balanced dataset.

    Which questions of an answer are kept depends on the seed, the image's id and the question's number, not on their
    order. Of an answer in a global group, the questions most over-represented in their local group are removed first.
    """
    bits = _random_bits(table, settings.seed)
    priority = _ranks(bits)
    order = np.lexsort((priority, table.content, table.image))
    image, content = table.image[order], table.content[order]
    redundant = np.zeros(table.count, np.bool_)  # all but one of the questions about an image with the same content
    redundant[order[1:]] = (image[1:] == image[:-1]) & (content[1:] == content[:-1])
    local = AnswerCells(table.local_group, table.answer, priority)
    excess = _excess(local, table.count)
    stays = _ranks(bits, excess, redundant)
    levels = {
        "global": AnswerCells(table.global_group, table.answer, stays),
        "local": AnswerCells(table.local_group, table.answer, _ranks(bits, redundant)),
    }
    kept = ~redundant
    last = np.zeros(table.count, np.int8)
    last[redundant] = 1
    steps: dict[str, Callable[[], None]] = {
        "redundant": lambda: None,
        "balanced globally": lambda: _balance(levels["global"], kept),
        "balanced locally": lambda: _balance(levels["local"], kept),
        "sampled by type": lambda: _sample_types(table, kept, settings, bits),
    }
    back = 0
    for number, (name, step) in enumerate(steps.items(), 1):
        progress(name, number - 1, len(steps))
        before = kept.copy()
        step()
        last[before & ~kept] = number
        back += _restore(levels["global"], levels["local"], kept, even=number == len(steps))
    progress("selected", len(steps), len(steps))
    removed = {name: int((last[~kept] == number).sum()) for number, name in enumerate(steps, 1)}
    return Selected(kept, removed, back, {name: _beyond(level, kept) for name, level in levels.items()})


def _random_bits(table: QuestionTable, seed: int) -> NDArray[np.uint64]:
    bases = np.array([SeededRng(seed, image, "selection").bits() for image in table.names["image"]], np.uint64)
    with np.errstate(over="ignore"):
        states: Any = bases[table.image] + table.number.astype(np.uint64) * np.uint64(GAMMA)
    return np.asarray(mixed(states))


def _ranks(bits: NDArray[np.uint64], *first: NDArray[np.generic]) -> Ints:
    order = np.lexsort((bits, *first))
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return ranks


def _excess(local: AnswerCells, count: int) -> NDArray[np.float64]:
    """How over-represented an answer is in its local group when a question is the next of that answer to be removed.

    1 means as many questions as the most frequent other answer.
    """
    excess = np.zeros(count)
    first, sizes = local.starts[:-1], np.diff(local.starts)
    others = np.repeat(local.counts[first], sizes)  # count of the most frequent answer
    others[first] = 1  # if there is no other answer
    several = first[sizes > 1]
    others[several] = local.counts[several + 1]
    in_cell = np.arange(len(local.questions)) - np.repeat(local.cell_starts[:-1], local.counts) + 1
    excess[local.questions] = in_cell / np.repeat(others, local.counts)
    return excess


def _balance(level: AnswerCells, kept: Bools) -> None:
    counts = level.kept_counts(kept)
    group = np.repeat(np.arange(len(level.groups)), np.diff(level.starts))
    order = np.lexsort((np.arange(len(counts)), -counts, group))  # equal counts may differ by now
    left = order[counts[order] > 0]
    starts = np.searchsorted(group[left], np.arange(len(level.groups) + 1)).astype(np.int64)
    most = counts.copy()
    most[left] = smoothed(counts[left], starts)
    level.drop_to(kept, most)


def _sample_types(table: QuestionTable, kept: Bools, settings: GqaSettings, bits: NDArray[np.uint64]) -> None:
    """Remove as few questions of the named types as possible until each type has its share."""
    names = table.names["structural"]
    shares = {name: share for name, share in settings.shares.items() if name in names}
    counts = np.bincount(table.structural[kept], minlength=len(names))
    named = [names.index(name) for name in shares]
    limits = [counts[code] / share for code, share in zip(named, shares.values(), strict=True) if counts[code]]
    free, others = 1 - sum(shares.values()), counts.sum() - counts[named].sum()
    if others and free > TINY:
        limits.append(others / free)
    if not named or not limits:
        return
    indices = np.flatnonzero(kept)
    turn = _turns(table, indices, bits, settings.seed)
    for code, share in zip(named, shares.values(), strict=True):
        of_type = np.flatnonzero(table.structural[indices] == code)
        of_type = of_type[np.lexsort((bits[indices[of_type]], turn[of_type]))]
        kept[indices[of_type[int(share * min(limits) + TINY) :]]] = False


def _turns(table: QuestionTable, indices: Ints, bits: NDArray[np.uint64], seed: int) -> NDArray[np.float64]:
    """Rank of questions, in [0, 1]: even within each answer of a large local group, one rank for a small group."""
    local = table.local_group[indices]
    order = np.lexsort((bits[indices], table.answer[indices], local))
    cell = np.stack((local[order], table.answer[indices][order]))
    fresh = np.append(True, (cell[:, 1:] != cell[:, :-1]).any(axis=0))
    first = np.flatnonzero(fresh)
    sizes = np.diff(np.append(first, len(order)))
    turn = np.empty(len(indices))
    turn[order] = (np.arange(len(order)) - np.repeat(first, sizes) + 0.5) / np.repeat(sizes, sizes)
    of_group = np.array(
        [SeededRng(seed, name, "type").bits() * 2.0**-64 for name in (*table.names["local_group"], "")]
    )
    small = np.bincount(local + 1, minlength=len(table.names["local_group"]) + 1)[local + 1] < SMALL
    return np.where(small & (local >= 0), of_group[local], turn)


def _restore(global_cells: AnswerCells, local_cells: AnswerCells, kept: Bools, even: bool) -> int:
    """Restore questions until the order of answers is right at both levels; returns how many."""
    total, rounds, evened = 0, 0, 0
    while True:
        back = 0
        for level, fewest in ((global_cells, 1), (local_cells, 0)):
            counts = level.kept_counts(kept)
            lacks = out_of_order(level.counts, counts, level.starts, fewest)
            if rounds >= PATIENCE:
                lacks = np.where(lacks > 0, level.counts, 0)
            back += level.restore(kept, lacks)
        if even and not back:
            for level in (global_cells, local_cells):
                lacks = _uneven(level, kept)
                back += level.restore(kept, lacks if evened < PATIENCE else np.where(lacks > 0, level.counts, 0))
            rounds, evened = 0, evened + 1
        total, rounds = total + back, rounds + 1
        if not back:
            return total


def _uneven(level: AnswerCells, kept: Bools) -> Ints:
    """For groups with reduced entropy: the number of questions that each answer lacks to its original share."""
    counts = level.kept_counts(kept)
    fell = entropies(counts, level.starts) < entropies(level.counts, level.starts) - TINY
    if not fell.any():
        return np.zeros(len(counts), np.int64)
    sizes = np.diff(level.starts)
    before = np.repeat(np.add.reduceat(level.counts, level.starts[:-1]), sizes)
    after = np.repeat(np.add.reduceat(counts, level.starts[:-1]), sizes)
    fair = -(-level.counts * after // before)  # its share of what is kept, rounded up
    return np.where(np.repeat(fell & (after[level.starts[:-1]] > 0), sizes), np.maximum(fair - counts, 0), 0)


def _beyond(level: AnswerCells, kept: Bools) -> int:
    counts = level.kept_counts(kept)
    if not len(counts):
        return 0
    totals = np.add.reduceat(counts, level.starts[:-1])
    first = np.maximum.reduceat(counts, level.starts[:-1])
    most = HEAD * np.maximum(totals - first, THIN * totals) + 1
    return int(((first > most) & (first < totals)).sum())
