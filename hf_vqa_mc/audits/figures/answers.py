"""Figures of answers: lengths, agreement of annotators, yes and no, coverage."""

from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.figures.charts import Bars, Lines, Stacked
from hf_vqa_mc.audits.figures.figure import Found, Number, Share, distribution, figure, share, table
from hf_vqa_mc.audits.figures.questions import lengths
from hf_vqa_mc.audits.texts import pairs, unpaired
from hf_vqa_mc.text.normalisation import YES_NO

STEPS = (1, 2, 5)
TOP = 1000
"""Answers of the baselines (Antol et al. 2015, section 5)."""
AGREE, DISAGREE = 7, 3
"""Bounds of the groups of Antol et al. 2015, Figure 6."""
GROUPS = (f"fewer than {DISAGREE} agree", f"{DISAGREE} to {AGREE - 1} agree", f"{AGREE} or more agree")
NUMBER = r"^(\d+|zero|one|two|three|four|five|six|seven|eight|nine|ten)$"


def needs_answers(data: Data) -> str:
    """Why figures of answers do not apply."""
    return "" if data.targets.different else "no row has an answer"


def needs_annotators(data: Data) -> str:
    """Why figures of several annotators do not apply."""
    several = data.answers is not None and data.answers.flat.valid.any()
    return "" if several else "questions do not have answers of several people"


@figure("Words per answer", "Antol et al. 2015, section 4.2", Bars("words", "share"), needs_answers)
def answer_lengths(data: Data) -> Found:
    """Share of all human answers, else of the correct ones, by their number of words, separated by spaces."""
    answers = data.all_answers
    words = pc.count_substring_regex(answers.distinct, r"\S+").to_numpy(zero_copy_only=False).astype(np.int64)
    found = lengths(words, answers.counts, "answers")
    shares = dict(zip(found.table["words"], found.table["share"], strict=True))
    names = {"one word": 1, "two words": 2, "three words": 3}
    numbers: dict[str, Number] = {name: shares.get(count, Share(0)) for name, count in names.items()}
    one_word = int(((words == 1) & (answers.counts > 0)).sum())
    return Found({**numbers, "different one-word answers": one_word, **found.numbers}, found.table)


def _per_question(data: Data) -> tuple[NDArray[np.int64], ...]:
    """For each question with answers: its row, number of different answers, of the most frequent one, and of all."""
    answers = data.answers
    assert answers is not None  # noqa: S101  see needs_annotators
    valid = answers.flat.valid
    codes, counts = np.unique(pairs(answers.rows[valid], answers.flat.codes[valid]), return_counts=True)
    rows, _ = unpaired(codes)
    different = np.bincount(rows, minlength=len(data))
    most = np.zeros(len(data), np.int64)
    np.maximum.at(most, rows, counts)
    answered = np.flatnonzero(different)
    given = np.bincount(rows, counts, len(data)).astype(np.int64)
    return answered, different[answered], most[answered], given[answered]


@figure(
    "Different answers per question",
    "Antol et al. 2015, section 4.2",
    Bars("different answers", "share"),
    needs_annotators,
)
def unique_answers(data: Data) -> Found:
    """Share of the questions by their number of different answers; answers are different if their texts are."""
    _, different, _, given = _per_question(data)
    values, counts = np.unique(different, return_counts=True)
    return Found(
        {"mean": float(different.mean()), "annotators per question": float(given.mean())},
        distribution("different answers", values.tolist(), counts),
    )


@figure(
    "Agreement of annotators by their confidence",
    "Antol et al. 2015, Figure 6",
    Stacked("mean confidence", "agreement", "share"),
    lambda data: needs_annotators(data) or ("" if data.confidences is not None else "answers have no confidences"),
)
def confidence(data: Data) -> Found:
    """Questions by the mean confidence of their annotators (no 0, maybe 0.5, yes 1): how many give the same answer."""
    assert data.confidences is not None  # noqa: S101
    answered, _, most, _ = _per_question(data)
    means = data.confidences[answered]
    rows, known = list[list[Any]](), ~np.isnan(means)
    tenths = np.minimum(10 * means[known] + 1e-9, 9).astype(np.int64)
    agreed = np.digitize(most[known], (DISAGREE, AGREE))
    for tenth in np.unique(tenths).tolist():
        counts = np.bincount(agreed[tenths == tenth], minlength=3)
        for group in (2, 1, 0):
            name = f"{tenth / 10:.1f} to {tenth / 10 + 0.1:.1f}"
            rows.append([name, GROUPS[group], int(counts[group]), share(counts[group], counts.sum())])
    return Found(
        {"questions with a confidence": int(known.sum()), "mean confidence": float(means[known].mean())},
        table(["mean confidence", "agreement", "questions", "share"], rows),
    )


@figure("Agreement of annotators", "Antol et al. 2015, Figure 6", Bars("annotators", "share"), needs_annotators)
def agreement(data: Data) -> Found:
    """Number of annotators who give the most frequent answer; texts must be equal."""
    _, _, most, given = _per_question(data)
    groups = np.bincount(np.digitize(most, (DISAGREE, AGREE)), minlength=len(GROUPS))
    shares = {name: share(count, len(most)) for name, count in zip(GROUPS[::-1], groups[::-1], strict=True)}
    numbers: dict[str, Number] = {**shares, "mean": float(most.mean()), "annotators, at most": int(given.max())}
    values, counts = np.unique(most, return_counts=True)
    return Found(numbers, distribution("annotators", values.tolist(), counts))


@figure("Yes, no and numbers", "Antol et al. 2015, section 4.2", Bars("answer", "share"), needs_answers)
def answer_kinds(data: Data) -> Found:
    """Questions by their correct answer, punctuation and case ignored."""
    answers = data.targets.comparable
    yes, no = (int(answers.counts[pc.equal(answers.distinct, word).to_numpy(zero_copy_only=False)].sum())
               for word in YES_NO)  # fmt: skip
    is_number = pc.match_substring_regex(answers.distinct, NUMBER).to_numpy(zero_copy_only=False)
    numbers = answers.take(np.append(is_number, False)[answers.codes])
    total, n_numbers = int(answers.counts.sum()), len(numbers.codes)
    counts = {"yes": yes, "no": no, "number": n_numbers, "other": total - yes - no - n_numbers}
    found: dict[str, Number] = {"yes or no": share(yes + no, total)}
    if yes + no:
        found["yes, of yes or no"] = share(yes, yes + no)
    found["number"] = share(n_numbers, total)
    if n_numbers:
        (best,) = numbers.most_frequent(1)
        found["most frequent number"] = numbers.texts[best]
        found["its share of the numbers"] = share(numbers.counts[best], n_numbers)
    return Found(found, distribution("answer", counts, counts.values()))


@figure(
    "Coverage by the most frequent answers",
    "Antol et al. 2015, section 5",
    Lines("answers", "questions", "K most frequent answers", logarithmic=True, until=float("inf")),
    needs_answers,
)
def coverage(data: Data) -> Found:
    """Share of the correct answers, and of all human answers, that the K most frequent ones are."""
    columns = {"questions": data.targets.counts}
    if data.answers is not None:
        columns["human answers"] = data.answers.flat.counts
    sums = {name: np.cumsum(np.sort(counts)[::-1]) for name, counts in columns.items()}
    most = max(int((counts > 0).sum()) for counts in columns.values())
    ranks = [step * 10**power for power in range(8) for step in STEPS]
    ranks = [*(rank for rank in ranks if rank < most), most]

    def covered(name: str, rank: int) -> Share:
        return share(sums[name][min(rank, len(sums[name])) - 1], sums[name][-1])

    numbers: dict[str, Number] = {
        f"{rank:,} most frequent, of {name}": covered(name, rank)
        for name in sums
        for rank in (10, TOP)
        if rank <= most
    }
    return Found(numbers, {"answers": ranks, **{name: [covered(name, rank) for rank in ranks] for name in sums}})


@figure("Most frequent answers", "Antol et al. 2015, section 3", Bars("answer", "share"), needs_answers)
def most_frequent_answers(data: Data) -> Found:
    """Share of the questions whose correct answer it is."""
    top = data.targets.most_frequent(20)
    counts = data.targets.counts
    rows = ([data.targets.texts[index], int(counts[index]), share(counts[index], counts.sum())] for index in top)
    return Found({}, table(["answer", "questions", "share"], rows))


ANSWERS = (answer_kinds, answer_lengths, most_frequent_answers, coverage, unique_answers, agreement, confidence)
