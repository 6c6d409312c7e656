"""How far one gets blind: two rules that count a training set's choices and look at no image.

Both answer for every row how often they pick the target, in [0, 1] (choices that tie are picked as often as one
another), so that a mean over any of the rows is an accuracy.
"""

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audit.rows import NO_BEGINNING, Rows
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.variants.prior_rule import PriorRule, decoys_per_row, target_picked


def answer_prior(train: Rows, asked: Rows) -> NDArray[np.float64]:
    """Knows the answers alone: picks the choice that is most often correct for how often it is offered.

    Chao et al. 2018, eq. 2; what their MLP-A learns.

    Args:
        train: rows to count.
        asked: rows to answer, numbered together with them.

    Returns:
        float64 (rows asked,).
    """
    return target_picked(_of_answers(train, asked), asked.keys)


def question_answer_prior(train: Rows, asked: Rows) -> NDArray[np.float64]:
    """Knows question and answers: eq. 2 counted among the training questions that begin as this one does.

    First among all of them, which is eq. 2 itself, then among those with the same first word, the same first two and
    so on to the whole question. Each step adds to its own counts what the step before gave, with the weight of one
    row; so a choice that was never offered under the longer beginning keeps what the shorter one says::

        P_n(correct | C) = (#(C target) + P_n-1(correct | C)) / (#(C target) + #(C decoy) / K + 1)

    The definition is ours; on COCO-QA it comes within 3 points of the paper's trained MLP-QA (Table 8).

    Args:
        train: rows to count.
        asked: rows to answer, numbered together with them.

    Returns:
        float64 (rows asked,).
    """
    likelihood, decoys = _of_answers(train, asked), decoys_per_row(train.keys)
    longest = min(train.beginnings.shape[1], asked.beginnings.shape[1])
    for length in range(1, longest + 1):
        as_target, as_decoy = _counts(train, asked, length)
        likelihood = (as_target + likelihood) / (as_target + as_decoy / decoys + 1.0)
    return target_picked(likelihood, asked.keys)


def _of_answers(train: Rows, asked: Rows) -> NDArray[np.float64]:
    """P(correct | C) of every choice, (rows asked, places)."""
    rule = PriorRule.learn(train.keys, _n_keys(train, asked), decoys_per_row(train.keys))
    return rule.likelihood[asked.keys]


def _counts(train: Rows, asked: Rows, length: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How often each choice asked about is target, and how often decoy, where a question begins with the same words.

    Returns:
        Two arrays (rows asked, places); zero for questions that are shorter.
    """
    begun, begin = train.beginning(length), asked.beginning(length)
    alike = np.isin(begun, begin[begin != NO_BEGINNING])
    n_keys = _n_keys(train, asked)
    offered, pairs = train.keys[alike], _pairs(begun[alike], train.keys[alike], n_keys)
    known = np.unique(pairs[offered != MISSING])
    counts = [
        np.bincount(np.searchsorted(known, of), minlength=len(known) + 1)
        for of in (pairs[:, 0], pairs[:, 1:][offered[:, 1:] != MISSING])
    ]
    wanted = _pairs(begin, asked.keys, n_keys)
    place = np.searchsorted(known, wanted)
    place[np.append(known, -1)[place] != wanted] = len(known)  # where the counts are zero
    return counts[0][place], counts[1][place]


def _pairs(beginnings: NDArray[np.int32], keys: NDArray[np.int32], n_keys: int) -> NDArray[np.int64]:
    """A number for each pair of a row's beginning and one of its choices, negative for questions that are shorter."""
    return beginnings.astype(np.int64)[:, None] * n_keys + keys


def _n_keys(*rows: Rows) -> int:
    return 1 + max(int(part.keys.max()) for part in rows)
