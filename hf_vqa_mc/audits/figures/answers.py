"""Figures of answers and choices: lengths, agreement, coverage, answers by type; positions, kinds, repeated rows."""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.figures.figure import (
    Data,
    Figure,
    Found,
    Number,
    Share,
    Table,
    distribution,
    figure,
    share,
    table,
    value_counts,
)
from hf_vqa_mc.audits.figures.questions import by_beginning, lengths
from hf_vqa_mc.audits.rows import Column, pairs, unpaired
from hf_vqa_mc.sources.open_ended import entropy
from hf_vqa_mc.text.normalisation import YES_NO
from hf_vqa_mc.text.wordnet import load_wordnet

STEPS = (1, 2, 5)
TOP = 1000  # answers of the baselines (Antol et al. 2015, section 5)
AGREE, DISAGREE = 7, 3  # bounds of the groups of Antol et al. 2015, Figure 6
GROUPS = (f"fewer than {DISAGREE} agree", f"{DISAGREE} to {AGREE - 1} agree", f"{AGREE} or more agree")
NUMBER = r"^(\d+|zero|one|two|three|four|five|six|seven|eight|nine|ten)$"
REASONING = {
    "relation": r"^(relate|verify rel|choose rel)",
    "spatial": r"^(relate|verify rel|choose rel).*\b(left|right|above|below|behind|front|under)\b|^\w+ [hv]position",
    "logical": r"^(and|or)\b",
    "comparative": r"^(same|different|common|choose (more |less |\w+er\b))",
}
"""Kinds of reasoning to the operations, and arguments, of GQA's programs."""
SHOWN = 10  # answers of a type (Hudson and Manning 2019, Figure 11: "the top 10 answers")
MOST_TYPES = 200  # maximum number of types in a table; the largest
FREQUENT = 50  # answers whose share is reported (Kafle and Kanan 2017, "Answer Distribution")
TYPE_COLUMNS = ("type", "questions", "share", "different answers", "most frequent answer", "its share",
                f"share of top {FREQUENT}", "entropy")  # fmt: skip


@figure("Words per answer", "Antol et al. 2015, section 4.2", ("bars", "words", "share"), ("answers",))
def answer_lengths(data: Data) -> Found:
    """Share of all human answers, else of the correct ones, by their number of words, separated by spaces."""
    answers = data.all_answers
    words = pc.count_substring_regex(answers.distinct, r"\S+").to_numpy(zero_copy_only=False).astype(np.int64)
    found = lengths(words, answers.counts, "answers")
    shares = dict(zip(found.table["words"], found.table["share"], strict=True))
    names = {"one word": 1, "two words": 2, "three words": 3}
    numbers = {name: shares.get(count, share(0, 1)) for name, count in names.items()}
    one_word = int(((words == 1) & (answers.counts > 0)).sum())
    return Found({**numbers, "different one-word answers": one_word, **found.numbers}, found.table)


def _per_question(data: Data) -> tuple[NDArray[np.int64], ...]:
    """For each question with answers: its row, number of different answers, of the most frequent one, and of all.

    The last is the number of annotators who are right by the others' answers: each counts min(1, equal others / 3).
    """
    valid = data.answers.flat.valid
    codes, counts = np.unique(pairs(data.answers.rows[valid], data.answers.flat.codes[valid]), return_counts=True)
    rows, _ = unpaired(codes)
    different = np.bincount(rows, minlength=len(data))
    most = np.zeros(len(data), np.int64)
    np.maximum.at(most, rows, counts)
    answered = np.flatnonzero(different)
    given = np.bincount(rows, counts, len(data)).astype(np.int64)
    right = np.bincount(rows, counts * np.minimum((counts - 1) / 3, 1), len(data))
    return answered, different[answered], most[answered], given[answered], right[answered]


@figure("Different answers per question", "Antol et al. 2015, section 4.2", ("bars", "different answers", "share"),
        ("annotators",))  # fmt: skip
def unique_answers(data: Data) -> Found:
    """Share of the questions by their number of different answers; answers are different if their texts are."""
    _, different, _, given, _ = _per_question(data)
    numbers = {"mean": float(different.mean()), "annotators per question": float(given.mean())}
    return Found(numbers, value_counts("different answers", different))


@figure("Agreement of annotators by their confidence", "Antol et al. 2015, Figure 6",
        ("stacked", "mean confidence", "agreement", "share"), ("annotators", "confidences"))  # fmt: skip
def confidence(data: Data) -> Found:
    """Questions by the mean confidence of their annotators (no 0, maybe 0.5, yes 1): how many give the same answer."""
    answered, _, most, _, _ = _per_question(data)
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


@figure("Agreement of annotators", "Antol et al. 2015, Figure 6", ("bars", "annotators", "share"), ("annotators",))
def agreement(data: Data) -> Found:
    """Number of annotators who give the most frequent answer; texts must be equal.

    Human accuracy, each annotator by the others' answers, is made as that of Antol et al. 2015, Table 1 (83.30% of
    test-standard, which has no published answers), also by answer type.
    """
    answered, _, most, given, right = _per_question(data)
    groups = np.bincount(np.digitize(most, (DISAGREE, AGREE)), minlength=len(GROUPS))
    shares = {name: share(count, len(most)) for name, count in zip(GROUPS[::-1], groups[::-1], strict=True)}
    numbers: dict[str, Number] = {**shares, "mean": float(most.mean()), "annotators, at most": int(given.max())}
    if len(several := np.flatnonzero(given > 1)):
        accuracy = right[several] / given[several]
        numbers["human accuracy"] = Share(accuracy.mean())
        if (types := data.named_types.get("answer type")) is not None:
            codes = types.codes[answered[several]]
            for code in np.unique(codes[codes >= 0]).tolist():
                numbers[f"human accuracy, {types.texts[code]}"] = Share(accuracy[codes == code].mean())
    return Found(numbers, value_counts("annotators", most))


@figure("Yes, no and numbers", "Antol et al. 2015, section 4.2", ("bars", "answer", "share"), ("answers",))
def answer_kinds(data: Data) -> Found:
    """Questions by their correct answer, punctuation and case ignored."""
    answers = data.targets.comparable
    yes, no = (int(answers.counts[pc.equal(answers.distinct, word).to_numpy(zero_copy_only=False)].sum())
               for word in YES_NO)  # fmt: skip
    is_number = pc.match_substring_regex(answers.distinct, NUMBER).to_numpy(zero_copy_only=False)
    numbers = answers.take(np.append(is_number, False)[answers.codes])
    total, n_numbers = int(answers.counts.sum()), len(numbers.codes)
    counts = {"yes": yes, "no": no, "number": n_numbers, "other": total - yes - no - n_numbers}
    found: dict[str, Any] = {"yes or no": share(yes + no, total)}
    if yes + no:
        found["yes, of yes or no"] = share(yes, yes + no)
    found["number"] = share(n_numbers, total)
    if n_numbers:
        (best,) = numbers.most_frequent(1)
        found["most frequent number"] = numbers.texts[best]
        found["its share of the numbers"] = share(numbers.counts[best], n_numbers)
    return Found(found, distribution("answer", counts, counts.values()))


@figure("Coverage by the most frequent answers", "Antol et al. 2015, section 5",
        ("lines", "answers", "questions", "K most frequent answers", True, float("inf")), ("answers",))  # fmt: skip
def coverage(data: Data) -> Found:
    """Share of the correct answers, and of all human answers, that the K most frequent ones are."""
    columns = {"questions": data.targets.counts}
    if len(data.answers.lengths):
        columns["human answers"] = data.answers.flat.counts
    sums = {name: np.cumsum(np.sort(counts)[::-1]) for name, counts in columns.items()}
    most = max(int((counts > 0).sum()) for counts in columns.values())
    ranks = [step * 10**power for power in range(8) for step in STEPS]
    ranks = [*(rank for rank in ranks if rank < most), most]

    def covered(name: str, rank: int) -> float:
        return share(sums[name][min(rank, len(sums[name])) - 1], sums[name][-1])

    numbers = {f"{rank:,} most frequent, of {name}": covered(name, rank)
               for name in sums for rank in (10, TOP) if rank <= most}  # fmt: skip
    return Found(numbers, {"answers": ranks, **{name: [covered(name, rank) for rank in ranks] for name in sums}})


@figure("Most frequent answers", "Antol et al. 2015, section 3", ("bars", "answer", "share"), ("answers",))
def most_frequent_answers(data: Data) -> Found:
    """Share of the questions whose correct answer it is."""
    top = data.targets.most_frequent(20)
    counts = data.targets.counts
    rows = ([data.targets.texts[index], int(counts[index]), share(counts[index], counts.sum())] for index in top)
    return Found({}, table(["answer", "questions", "share"], rows))


def _grouped(groups: Column, answers: Column) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The answers (indices) and their counts of each group, the most frequent first; the largest groups first."""
    both = groups.valid & answers.valid
    codes, counts = np.unique(pairs(groups.codes[both], answers.codes[both]), return_counts=True)
    of_group, answer = unpaired(codes)
    order = np.lexsort((answers.ranks[answer], -counts, of_group))
    starts = np.searchsorted(of_group[order], np.arange(len(groups.texts) + 1))
    found = {}
    for index in groups.most_frequent(MOST_TYPES):
        rows = order[starts[index] : starts[index + 1]]
        if len(rows):
            found[groups.texts[index]] = answer[rows], counts[rows]
    return found


def types(column: Column, data: Data) -> Found:
    """Questions, different answers, the most frequent answer and the entropy of answers of each type."""
    answered = _grouped(column, data.targets)
    total, rows = int(column.counts.sum()), list[list[Any]]()
    for index in column.most_frequent(MOST_TYPES):
        name, questions = column.texts[index], int(column.counts[index])
        of_answers: list[Any] = [0, None, None, None, None]
        if name in answered:
            answers, counts = answered[name]
            best = data.targets.texts[answers[0]]
            shares = [share(counts[:most].sum(), counts.sum()) for most in (1, FREQUENT)]
            of_answers = [len(answers), best, *shares, entropy(counts.tolist())]
        rows.append([name, questions, share(questions, total), *of_answers])
    numbers: dict[str, Any] = {"types": column.different}
    bits_of = [(row[-1], row[1]) for row in rows if row[-1] is not None]
    if bits_of:
        bits, sizes = np.array(bits_of).T
        numbers["entropy, mean of types"] = float(bits.mean())
        numbers["entropy, mean of questions"] = float(np.average(bits, weights=sizes))
        numbers["entropy of all answers"] = entropy(data.targets.counts.tolist())
    return Found(numbers, table(TYPE_COLUMNS, rows))


def _parts(groups: Column, answers: Column, names: Sequence[str], most: int | None = None) -> Table:
    """A table of the most frequent answers of each group, with their share of it."""
    rows = (
        [name, answers.texts[index], count, share(count, counts.sum())]
        for name, (of_group, counts) in _grouped(groups, answers).items()
        for index, count in zip(of_group[:most], counts[:most].tolist(), strict=True)
    )
    return table(names, rows)


@figure("Steps of reasoning", "Hudson and Manning 2019, Figure 14", ("bars", "steps", "share"), ("programs",))
def steps(data: Data) -> Found:
    """Operations of each question's program."""
    counts = np.concatenate([pc.list_value_length(one).to_numpy() for one in data.programs])
    return Found({"mean": float(counts.mean())}, value_counts("steps", counts))


@figure("Kinds of reasoning", "Hudson and Manning 2019, Table 1", ("bars", "reasoning", "share"), ("programs",))
def reasoning(data: Data) -> Found:
    """Share of the questions whose program has such an operation; the rules are ours, the paper's are not published.

    The paper counts 51.6% relation, 22.4% spatial, 19% logical and 3% comparative questions. Its compositional
    questions (52%) are left out: no rule that was tried counts as many.
    """
    total, counts = sum(map(len, data.programs)), dict.fromkeys(REASONING, 0)
    for programs in data.programs:
        rows, flat = pc.list_parent_indices(programs), programs.flatten()
        texts = pc.binary_join_element_wise(flat.field("operation"), flat.field("argument"), ": ")
        for name, pattern in REASONING.items():
            counts[name] += pc.count_distinct(rows.filter(pc.match_substring_regex(texts, pattern))).as_py()
    return Found(
        {},
        table(
            ["reasoning", "questions", "share"], ((name, count, share(count, total)) for name, count in counts.items())
        ),
    )


def _crossed(name: str, title: str, source: str, sentence: str, kinds: tuple[str, str], *chart: str) -> Figure:

    def compute(data: Data) -> Found:
        if not data.named_types.keys() >= {*kinds}:
            return Found(why=f"there are no {kinds[0]}s and {kinds[1]}s")
        first, second = (data.named_types[one] for one in kinds)
        return Found({f"{kinds[0]}s": first.different, f"{kinds[1]}s": second.different},
                     _parts(first, second, [*kinds, "questions", "share"]))  # fmt: skip

    return Figure(name, title, source, sentence, compute, chart)


def _answers_by(what: str, column: Callable[[Data], Column], *needs: str) -> Figure:
    names = ("type", "answer", "questions", "share")
    return Figure(
        f"answers_by_{what.replace(' ', '_')}", f"Answers by {what}",
        "Antol et al. 2015, Figure 5; Goyal et al. 2017, section 3; Kafle and Kanan 2017, Figure 3",
        f"The {SHOWN} most frequent answers of each; the empty rest are others. Equal colors are equal answers, but "
        "for gray: all others.", lambda data: Found({}, _parts(column(data), data.targets, names, SHOWN)),
        ("stacked", "type", "answer", "share"), ("answers", *needs),
    )  # fmt: skip


def _of_types(what: str, source: str) -> tuple[Figure, Figure]:
    return Figure(
        f"{what.replace(' ', '_')}s", f"{what.capitalize()}s", source,
        "Questions, different answers, most frequent answer and entropy of the answers (bits) of each.",
        lambda data: types(data.named_types[what], data), ("bars", "type", "share"), (what,),
    ), _answers_by(what, lambda data: data.named_types[what], what)  # fmt: skip


@figure("Entropy of the answers by beginning", "Goyal et al. 2017, section 3", ("bars", "type", "entropy"),
        ("answers",))  # fmt: skip
def entropy_by_beginning(data: Data) -> Found:
    """Bits; the higher, the more even are the answers of questions that begin alike."""
    return types(by_beginning(data), data)


ANSWERS = (
    answer_kinds, answer_lengths, most_frequent_answers, coverage, unique_answers, agreement, confidence,
    entropy_by_beginning,
    _answers_by("beginning", by_beginning),
    *_of_types("question type", "Kafle and Kanan 2017, Table 2"),
    *_of_types("answer type", "Antol et al. 2015, section 4.2"),
    *_of_types("group", "Hudson and Manning 2019, section 3.5 and Figure 5"),
    _crossed("structural_types", "Structural and semantic types", "Hudson and Manning 2019, Figure 6 and Table 3",
             "GQA's types: what the program does last, and what it is about.", ("structural type", "semantic type"),
             "stacked", "structural type", "semantic type", "share"),
    steps,
    reasoning,
    _crossed("origins", "Question types by origin", "Kafle and Kanan 2017, Table 4",
             "TDIUC's types: imported, generated, or asked by people.", ("question type", "origin")),
)  # fmt: skip


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
    found = stats.chisquare(np.bincount(labels, minlength=most), expected)
    return expected, float(found.statistic), float(found.pvalue)


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
