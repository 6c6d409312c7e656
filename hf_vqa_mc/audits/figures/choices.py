"""Figures of choices: number, positions of the label, lengths, kinds, WordNet."""

from itertools import permutations
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.described_rows import Data
from hf_vqa_mc.audits.figures.figure import Found, Number, distribution, figure, share, table, value_counts
from hf_vqa_mc.audits.texts import pairs
from hf_vqa_mc.text.wordnet import load_wordnet


@figure("Choices per question", "Chao et al. 2018, Table 2", ("bars", "choices", "share"), ("choices",))
def choices(data: Data) -> Found:
    """Share of the questions by their number of choices."""
    chance = float((1 / data.choices.lengths).mean())
    return Found({"random guessing": share(chance, 1), "different choices": data.choices.flat.different},
                 value_counts("choices", data.choices.lengths))  # fmt: skip


def position_test(labels: NDArray[np.int64], sizes: NDArray[np.int64]) -> tuple[NDArray[np.float64], float, float]:
    """Expected labels per position (largest size,) if all of a row's are equally likely; Pearson's statistic and p."""
    from scipy import stats

    most = int(sizes.max())
    by_size = np.bincount(sizes, minlength=most + 1)[1:] / np.arange(1, most + 1)
    expected: NDArray[np.float64] = np.cumsum(by_size[::-1])[::-1]
    counts = np.bincount(labels, minlength=most)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return expected, statistic, float(stats.chi2.sf(statistic, most - 1))


@figure("Positions of the target", "Pearson's chi-square test", ("bars", "position", "share"), ("choices", "order"))
def label_positions(data: Data) -> Found:
    """If all positions are equally likely, p is below 0.001 in one of 1,000 benchmarks."""
    labels = data.labels
    expected, statistic, p = position_test(labels, data.choices.lengths)
    counts = np.bincount(labels, minlength=len(expected))
    found = distribution("position", range(1, len(expected) + 1), counts)
    found["expected"] = [share(count, len(data)) for count in expected]
    return Found({"chi-square": statistic, "degrees of freedom": len(expected) - 1, "p": p}, found)


@figure("Lengths of targets and decoys", "Chao et al. 2018, section 3", needs=("choices",))
def choice_lengths(data: Data) -> Found:
    """If targets are longer or shorter than decoys, the length is a shortcut."""
    listed, is_target = data.choices, data.is_target
    of_text = {
        "words": listed.flat.words.lengths,
        "characters": pc.utf8_length(listed.flat.distinct).to_numpy(zero_copy_only=False).astype(np.int64),
    }
    table: dict[str, list[Any]] = {"choices": ["target", "decoys"]}
    for name, values in of_text.items():
        per_choice = values[listed.flat.codes]
        table[f"mean {name}"] = [float(per_choice[mask].mean()) if mask.any() else None
                                 for mask in (is_target, ~is_target)]  # fmt: skip
    longest = np.maximum.reduceat(per_choice, listed.starts)
    is_longest = per_choice == longest[listed.rows]
    ties = np.add.reduceat(is_longest, listed.starts)
    numbers = {
        "target is the longest (ties share)": share((is_longest[is_target] / ties).sum(), len(data)),
        "expected": share((1 / listed.lengths).mean(), 1),
    }
    return Found(numbers, table)


@figure("Kinds of choices", "Chao et al. 2018, section 4", ("bars", "kind", "share"), ("kinds",))
def choice_kinds(data: Data) -> Found:
    """Which procedure made the choices."""
    column = data.choice_kinds.flat
    order = column.most_frequent(len(column.texts))
    return Found({}, distribution("kind", [column.texts[at] for at in order], column.counts[order], "choices"))


@figure("Coverage by WordNet", "Chao et al. 2018, Supplement B.1", needs=("answers",))
def wordnet(data: Data) -> Found:
    """Share of the targets, and of the decoys, with a noun or adjective of WordNet."""
    column, masks = data.targets, {"targets": data.targets.valid}
    if len(data.labels):
        column, masks = data.choices.flat, {"targets": data.is_target, "decoys": ~data.is_target}
    # (distinct,): whether WordNet covers any of the text's words; each distinct word is looked up once.
    words, lexicons = column.words, (load_wordnet().nouns, load_wordnet().adjectives)
    known = np.array([any(one.base_forms(word) for one in lexicons) for word in words.vocabulary], bool)
    covered = np.bincount(words.texts[known[words.numbers]], minlength=len(column.texts)) > 0
    shares = {name: share(covered[column.codes[mask]].sum(), mask.sum()) for name, mask in masks.items()}
    return Found(shares, {"choices": list(shares), "covered": list(shares.values())})


@figure("Questions per image", "Chao et al. 2018, Table 2", ("bars", "questions per image", "share"), ("images",))
def image_reuse(data: Data) -> Found:
    """Share of the images by their number of questions."""
    per_image = data.images.counts[data.images.counts > 0]
    return Found({"mean": float(per_image.mean()), "most": int(per_image.max())},
                 value_counts("questions per image", per_image, "images"))  # fmt: skip


def _keys(data: Data) -> dict[str, tuple[NDArray[np.int64], NDArray[np.bool_]]]:
    """The comparable question, with answer, image, or both: a number for each row, and whether the row has it."""
    questions, answers, images = data.questions.comparable, data.targets.comparable, data.images
    with_answer = pairs(questions.codes, answers.codes)
    both = np.unique(with_answer, return_inverse=True)[1]
    has_question, has_image = questions.valid, images.valid
    return {
        "question": (questions.codes.astype(np.int64), has_question),
        "question and answer": (with_answer, has_question & answers.valid),
        "image": (images.codes.astype(np.int64), has_image),
        "image and question": (pairs(questions.codes, images.codes), has_question & has_image),
        "image, question and answer": (pairs(both, images.codes), has_question & has_image & answers.valid),
    }


@figure(
    "Repeated rows", "Kafle and Kanan 2017, section 3 (post processing)", ("bars", "same", "share"), ("questions",)
)
def duplicates(data: Data) -> Found:
    """Rows that repeat an earlier row of any split; case and punctuation are ignored."""
    rows: list[list[Any]] = []
    for name, (keys, valid) in _keys(data).items():
        if name != "image" and valid.any():
            repeated = int(valid.sum()) - len(np.unique(keys[valid]))
            rows.append([name, repeated, share(repeated, len(data))])
    return Found({f"same {name}": part for name, _, part in rows}, table(["same", "rows", "share"], rows))


@figure("Overlap of splits", "Kafle and Kanan 2017, appendix (train and test split)", needs=("splits",))
def overlap(data: Data) -> Found:
    """Share of a split's rows that have the same in another split; case and punctuation are ignored."""
    keys, rows, numbers = _keys(data), list[list[Any]](), dict[str, Number]()
    for (number, name), (other, other_name) in permutations(enumerate(data.splits.texts), 2):
        rows.append([name, other_name])
        mine, others = (data.splits.codes == one for one in (number, other))
        for what, (codes, valid) in keys.items():
            found = np.isin(codes[mine & valid], codes[others & valid])
            rows[-1].append(share(found.sum(), mine.sum()) if valid.any() else None)
            if other_name == "train" and valid.any():
                numbers[f"{what} of {name} also in train"] = rows[-1][-1]
    return Found(numbers, table(["split", "also in", *keys], rows))


CHOICES = (choices, choice_kinds, label_positions, choice_lengths, wordnet, image_reuse, duplicates, overlap)
