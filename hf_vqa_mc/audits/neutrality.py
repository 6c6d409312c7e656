"""What the choices of a benchmark's rows show by themselves: which decoys no one would take for the target."""

from collections.abc import Mapping

import numpy as np

from hf_vqa_mc.audits.finding import Finding, percent
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.similar_choices import Letters, containing, words_in_question


def choice_findings(asked: Rows, splits: Mapping[str, Rows]) -> list[Finding]:
    """What the choices of the rows show.

    Args:
        asked: the rows that are audited.
        splits: all splits of the benchmark with labels, ``asked`` among them, numbered together.

    Returns:
        Those that occur: targets that the question names, choices that repeat or contain one another, decoys that are
        never right.
    """
    found = [
        _named_in_question(asked),
        _repeating(asked),
        _containing(asked),
        _never_right(asked, splits),
    ]
    return [finding for finding in found if finding.count]


def _named_in_question(rows: Rows) -> Finding:
    named = words_in_question(rows) == 1.0
    where = np.flatnonzero(named[:, 0])
    decoys = rows.there[:, 1:]
    if len(where) / len(rows) <= int(named[:, 1:].sum()) / max(int(decoys.sum()), 1):
        where = where[:0]  # as often as decoys, or less: nothing to tell
    return Finding(
        "target in the question",
        f"In {percent(len(where), len(rows))} of the rows the question holds all words of the target; so it does of "
        f"{percent(int(named[:, 1:].sum()), max(int(decoys.sum()), 1))} of the decoys.",
        where,
        len(rows),
        "rows",
        len(where),
    )


def _repeating(rows: Rows) -> Finding:
    keys = np.sort(rows.keys, axis=1)
    where = np.flatnonzero(((keys[:, 1:] == keys[:, :-1]) & (keys[:, 1:] >= 0)).any(axis=1))
    also_right = int(((rows.keys[where, 1:] == rows.keys[where, :1]) & rows.there[where, 1:]).any(axis=1).sum())
    of_target = f", in {percent(also_right, len(rows))} the target itself" if also_right else ""
    return Finding(
        "choices that repeat",
        f"In {percent(len(where), len(rows))} of the rows two choices read the same but for case, punctuation and "
        f"possessive 's{of_target}.",
        where,
        len(rows),
        "rows",
        len(where),
    )


def _containing(rows: Rows) -> Finding:
    where = np.flatnonzero(containing(rows, Letters.of(rows.vocabulary)))
    return Finding(
        "choices that contain one another",
        f"In {percent(len(where), len(rows))} of the rows one choice holds all of another.",
        where,
        len(rows),
        "rows",
        len(where),
    )


def _never_right(asked: Rows, splits: Mapping[str, Rows]) -> Finding:
    right = np.zeros(len(asked.vocabulary.key_texts), np.bool_)
    for rows in splits.values():
        right[rows.keys[:, 0]] = True
    decoys = asked.there.copy()
    decoys[:, 0] = False
    never = decoys & ~right[asked.keys]
    count, of = int(never.sum()), int(decoys.sum())
    return Finding(
        "decoys that are never right",
        f"Of the decoys, {percent(count, of)} have a text that is the target of no row; who knows the targets turns "
        "them away unread.",
        np.flatnonzero(never.any(axis=1)),
        of,
        "decoys",
        count,
    )
