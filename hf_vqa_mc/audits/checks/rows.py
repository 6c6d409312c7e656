"""Checks of rows: targets and labels, repeated rows, ids, images, texts, leaks between splits and of the answer."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import repeat

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.checks.check import ERROR, NOTE, WARNING, WHOLE, Check, Issues, Linted
from hf_vqa_mc.audits.figures.answers import position_test
from hf_vqa_mc.audits.rows import (
    BLOCKS,
    LEAST_ROWS,
    PERIODS,
    Column,
    grouped,
    official_texts,
    pairs,
    row_blocks,
    unpaired,
)
from hf_vqa_mc.data.cells import as_text, is_text
from hf_vqa_mc.data.names import ANSWERS, IMAGE_ID, IMAGE_PATH, QUESTION, QUESTION_ID, ROW_NUMBER, named
from hf_vqa_mc.data.questions import letter
from hf_vqa_mc.data.reading import ids_of_each_video, repeats
from hf_vqa_mc.errors import shown
from hf_vqa_mc.text.comparison import differ_in_case
from hf_vqa_mc.text.embeddings import embedding_families

UNBALANCED_P = 0.001
UNBALANCED_SHARE = 0.02
"""Smallest difference of a position's share from the expected one that is reported, since in a million rows any
difference is significant."""
SIMILAR_QUESTIONS = 0.85
"""Lowest cosine of the embeddings of similar questions about one image. The most similar pairs of
A-OKVQA and NExT-QA with equal targets, of which 60 were read, are paraphrases or differ in a detail."""
SIMILAR_ALONE = 0.95
"""The same without images: of templates, questions that differ in a word have more than 0.85."""
MOST_PAIRS = 1 << 24  # of questions, compared at a time
MOST_VALUES = 1000  # A column with more values is not searched for labels
PREDICTS_P, PREDICTS_GAIN = 1e-6, 0.1  # a column predicts the label at such p and gain, see `_predicted`
REPEATS = 0.9  # share of the rows in which a column that repeats the target equals it
SHORTEST = 3  # minimum number of letters of a target that is searched for in names
NAMED_GAIN = 0.05  # names give the target away if they have it in so many more rows than a decoy, as a fraction

NOT_AVAILABLE = ("#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A",
                 "NA", "NULL", "NaN", "None", "n/a", "nan", "null")  # fmt: skip
"""Texts that ``pandas.read_csv`` reads as missing by default."""
MISSING_TEXT = f"^(?:{'|'.join(map(re.escape, NOT_AVAILABLE))})$"
LETTER = r"^\s*\(?(?P<letter>[A-Za-z])[.):]\s*\S"
MARKUP = r"</?[A-Za-z][^<>]{0,200}>|&(?:[A-Za-z]{2,8}|#[0-9]{1,6}|#x[0-9A-Fa-f]{1,6});"
IMAGE_MARK = r"<image[^<>]{0,20}>"  # where the image belongs, as in MMMU; no HTML
CONTROL = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\u009f\u200b\u202a-\u202e\u2066-\u2069\ufeff]"
SPACES = r"^\s|\s$|\s\s"
Hits = Callable[[Column], NDArray[np.bool_]]


def _faulty(kind: str, linted: Linted) -> Issues:
    return [(one.row, one.message) for one in linted.faulty if one.kind == kind]


def _without_choices(linted: Linted) -> Issues:
    every = np.concatenate([linted.tables[split.name][ROW_NUMBER].to_numpy() for split in linted.splits])
    return [(row, "") for row in np.setdiff1d(every, [*linted.rows, *(one.row for one in linted.faulty)]).tolist()]


def _repeated_ids(linted: Linted) -> Issues:
    for table in linted.tables.values():
        for name in named(table.column_names, QUESTION_ID)[:1]:
            if pa.types.is_integer(table[name].type) or is_text(table[name].type):
                if ids_of_each_video(table, name, table[ROW_NUMBER].to_numpy()):
                    continue
                ids = as_text(table[name])
                for first, row in repeats(ids).tolist():
                    yield table[ROW_NUMBER][row].as_py(), f"{name} {shown(ids[row].as_py())}, as in row {first + 1}"


def _contradictory(linted: Linted) -> Issues:
    images, questions, targets = linted.data.images, linted.data.questions.comparable, linted.data.targets
    at = np.flatnonzero(images.valid & questions.valid)
    group = grouped(linted.data.splits.codes[at], images.codes[at], questions.codes[at])
    of_group, _ = unpaired(np.unique(pairs(group, targets.comparable.codes[at])))
    found = at[np.isin(group, np.flatnonzero(np.bincount(of_group) > 1))]
    return linted.issues(found, (f"target {shown(targets.texts[one])}" for one in targets.codes[found].tolist()))


def _repeated(are_rotated: bool, linted: Linted) -> Issues:
    """Rows that repeat an earlier row of the split, with its choices rotated or not."""
    codes, valid = linted.data.row_keys
    at, keys = np.flatnonzero(valid), grouped(codes, linted.data.targets.comparable.codes, linted.data.splits.codes)
    _, index, inverse = np.unique(keys[at], return_index=True, return_inverse=True)
    first = at[index[inverse]]
    first, at = first[first != at], at[first != at]
    of_kind = _rotated(linted, at, first) == are_rotated
    rows = linted.locations(linted.rows[first[of_kind]])["row"].to_pylist()
    return linted.issues(at[of_kind], (f"as in row {row}" for row in rows))


def _rotated(linted: Linted, rows: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Whether the choices of each row are those of the other one, all moved by the same number of positions."""
    listed, found = linted.data.choices, np.zeros(len(rows), bool)
    for size in np.unique(listed.lengths[rows]).tolist():
        at = np.flatnonzero((listed.lengths[rows] == size) & (listed.lengths[others] == size))
        one, other = (listed.flat.codes[listed.starts[some[at]][:, None] + np.arange(size)] for some in (rows, others))
        shift = (one == other[:, :1]).argmax(axis=1)
        back = np.take_along_axis(one, (np.arange(size) + shift[:, None]) % size, axis=1)
        found[at] = (shift > 0) & (back == other).all(axis=1)
    return found


def _unbalanced(linted: Linted) -> Issues:
    for name, rows in linted.rows_by_split.items() if linted.data.ordered else ():
        sizes, labels = linted.data.choices.lengths[rows], linted.data.labels[rows]
        expected, _, p = position_test(labels, sizes)
        shares = np.bincount(labels, minlength=len(expected)) / len(rows)
        apart = np.abs(shares - expected / len(rows))
        if p < UNBALANCED_P and apart.max() > UNBALANCED_SHARE:
            at = int(apart.argmax())
            share = f"{shares[at]:.1%} of the targets instead of {expected[at] / len(rows):.1%}"
            yield WHOLE, f"{name}: position {at + 1} has {share}"


def _images(is_missing: bool, linted: Linted) -> Issues:
    return _of_images(linted, {code: one.problem for code, one in linted.images.items()
                               if one.problem and one.is_missing == is_missing})  # fmt: skip


def _repeated_images(linted: Linted) -> Issues:
    firsts, names = dict[str, int](), linted.data.images.texts
    first = {code: firsts.setdefault(one.digest, code) for code, one in linted.images.items() if one.digest}
    return _of_images(linted, {code: f"image {shown(names[code])} is {shown(names[other])}"
                               for code, other in first.items() if code != other})  # fmt: skip


def _of_images(linted: Linted, details: dict[int, str]) -> Issues:
    codes = linted.data.images.codes
    rows = np.flatnonzero(np.isin(codes, list(details)))
    return linted.issues(rows, map(details.__getitem__, codes[rows].tolist()))


ROWS = (
    Check("missing_target", ERROR, "the row has no label", "add it, or remove the row",
          partial(_faulty, "missing_label")),
    Check("invalid_label", ERROR, "the label is none of the row's choices, or names several", "correct the label",
          partial(_faulty, "label")),
    Check("missing_question", ERROR, "the question is missing", "add it, or remove the row",
          partial(_faulty, "question")),
    Check("one_choice", ERROR, "the row's choices cannot be read, or it has one only",
          "correct them, or remove the row",
          partial(_faulty, "choices")),
    Check("no_choices", WARNING, "the row has no choices, others have", "remove open questions", _without_choices),
    Check("repeated_ids", WARNING, "the question id occurs in an earlier row of the split", "make the ids unique",
          _repeated_ids),
    Check("contradictory_targets", WARNING, "other rows have the same image and question, but another target",
          "check these targets: one of them is wrong, or several are correct", _contradictory),
    Check("repeated_rows", NOTE, "an earlier row of the split has the same image, question and target; without image, "
          "the same question, choices and target", "remove the row", partial(_repeated, False)),
    Check("rotated_rows", NOTE, "an earlier row of the split is the same except that its choices are rotated, as for "
          "circular evaluation", "keep the rows; count a question only if all its rotations are answered correctly",
          partial(_repeated, True)),
    Check("untyped", NOTE, "the row has no question type, others have", "add the type",
          lambda linted: linted.issues(~linted.data.types.valid & linted.data.types.valid.any())),
    Check("unbalanced_positions", WARNING, "the target is not equally often at each position (chi-square, p < 0.001)",
          "shuffle the choices; vqa-mc remedy does so", _unbalanced),
    Check("missing_images", ERROR, "the image is missing or cannot be read", "add it, or remove the row",
          partial(_images, True)),
    Check("damaged_images", ERROR, "the image cannot be decoded", "replace it", partial(_images, False)),
    Check("unread_images", NOTE, "images or videos that rows name were not read", "name the images' folder: --images",
          lambda linted: [(WHOLE, f"{split.name}: {split.images_missing}") for split in linted.splits
                          if split.images_missing]),
    Check("repeated_images", WARNING, "another image has the same content", "give both the same image id",
          _repeated_images),
)  # fmt: skip
"""In the order of the table."""


def matches(pattern: str, column: Column) -> NDArray[np.bool_]:
    """(distinct,): whether a regular expression is found in each text."""
    return np.array(pc.match_substring_regex(column.distinct, pattern), np.bool_)


def in_texts(hits: Hits, where: tuple[str, ...], linted: Linted) -> Issues:
    """The questions and choices whose text is hit."""
    data = linted.data
    columns = {"question": (data.questions, np.arange(len(data))), "choice": (data.choices.flat, data.choices.rows)}
    for what in where:
        column, of_rows = columns[what]
        at = np.flatnonzero(np.append(hits(column), False)[column.codes])
        names = {code: f"{what} {shown(column.texts[code])}" for code in np.unique(column.codes[at]).tolist()}
        yield from linted.issues(of_rows[at], map(names.__getitem__, column.codes[at].tolist()))


def _blank_texts(linted: Linted) -> Issues:
    yield from in_texts(partial(matches, r"^[\s\pZ]*$"), BOTH, linted)
    yield from linted.issues(linted.data.questions.codes < 0, repeat("question ''"))  # empty ones have no code


def _marked_up(column: Column) -> NDArray[np.bool_]:
    return matches(MARKUP, Column(pc.replace_substring_regex(column.distinct, IMAGE_MARK, ""), column.codes))


def is_mojibake(text: str) -> bool:
    """Whether a text is UTF-8 that was read as Windows-1252, or has replacement characters.

    >>> is_mojibake("cafÃ©"), is_mojibake("café")
    (True, False)
    """
    if "\ufffd" in text:
        return True
    try:
        return text.encode("cp1252").decode("utf-8") != text
    except UnicodeError:
        return False


def _empty_cells(linted: Linted) -> Issues:
    """Empty cells before a row's last choice."""
    for split in linted.splits:
        cells = linted.benchmark.spec.read(split.original, split.location).cells
        empty = np.flatnonzero(~cells.filled)
        position = empty - cells.starts[cells.rows[empty]]
        inside = position < cells.ends[cells.rows[empty]]
        rows = split.original[ROW_NUMBER].to_numpy()[cells.rows[empty[inside]]].tolist()
        yield from zip(rows, (f"choice {letter(index)}" for index in position[inside].tolist()), strict=True)


def _letters(linted: Linted) -> Issues:
    listed = linted.data.choices
    flat = listed.flat
    found = pc.struct_field(pc.extract_regex(flat.distinct, LETTER), "letter")
    numbers = np.array([-1 if letter is None else ord(letter.upper()) - ord("A") for letter in found.to_pylist()], int)
    position = np.arange(len(flat.codes)) - listed.starts[listed.rows]
    lettered = np.add.reduceat(numbers[flat.codes] == position, listed.starts)
    rows = np.flatnonzero(lettered == listed.lengths)
    return linted.issues(rows, (shown(flat.texts[code]) for code in flat.codes[listed.starts[rows]].tolist()))


def _equal(linted: Linted) -> Issues:
    flat, of_rows = linted.data.choices.flat, linted.data.choices.rows
    cells, keys = np.flatnonzero(flat.valid), official_texts(flat.distinct).dictionary_encode().indices.to_numpy()
    both = pairs(of_rows[cells], keys[flat.codes[cells]])
    _, inverse, counts = np.unique(both, return_inverse=True, return_counts=True)
    earlier: dict[int, list[str]] = {}  # texts of the row that are equal, apart from case
    several = counts[inverse] > 1
    for cell, group in zip(cells[several].tolist(), inverse[several].tolist(), strict=True):
        text, found = flat.texts[flat.codes[cell]], earlier.setdefault(group, [])
        if (one := next((one for one in found if not differ_in_case(one, text)), None)) is not None:
            yield int(linted.rows[of_rows[cell]]), f"{shown(one)} and {shown(text)}"
        found.append(text)


BOTH, CHOICE = ("question", "choice"), ("choice",)
TEXTS = (
    Check("equal_choices", ERROR,
          "two choices of a row are equal after the official VQA normalisation (punctuation, articles, numbers)",
          "remove one; vqa-mc remedy replaces decoys", _equal),
    Check("empty_choices", WARNING, "a choice is empty and others follow it; it keeps its letter",
          "write the choice, or remove it and correct the label", _empty_cells),
    Check("blank_texts", ERROR, "a question is empty, or a question or choice white space only", "write the text",
          _blank_texts),
    Check("read_as_missing", WARNING, "pandas.read_csv reads this text as missing",
          'read with keep_default_na=False, or write another word, such as "none"',
          partial(in_texts, partial(matches, MISSING_TEXT), BOTH)),
    Check("lettered_choices", WARNING, "choices contain their own letters, which prompts add again",
          "remove the letters from the texts", _letters),
    Check("markup", WARNING, "HTML tags or entities", "convert to plain text", partial(in_texts, _marked_up, BOTH)),
    Check("mojibake", WARNING, "UTF-8 text that was read in another encoding",
          'text.encode("cp1252").decode("utf-8") restores most',
          partial(in_texts, lambda column: np.array([*map(is_mojibake, column.texts)], np.bool_), BOTH)),
    Check("control_characters", WARNING, "control characters, zero-width spaces or bidirectional overrides",
          "remove them", partial(in_texts, partial(matches, CONTROL), BOTH)),
    Check("spaces", NOTE, "leading, trailing or double spaces, which may distinguish choices", "strip the texts",
          partial(in_texts, partial(matches, SPACES), CHOICE)),
)  # fmt: skip
"""In the order of the table."""


def _in_train(codes: NDArray[np.int64], valid: NDArray[np.bool_], linted: Linted) -> NDArray[np.int64]:
    """Rows of other splits with a code of the training split."""
    others = np.flatnonzero(valid & ~linted.in_train)
    return others[np.isin(codes[others], codes[valid & linted.in_train])]


def _questions_in_train(linted: Linted) -> Issues:
    (codes, valid), data = linted.data.row_keys, linted.data
    if data.images.valid.any():
        codes = pairs(linted.contents[data.images.codes], data.questions.comparable.codes)
    else:
        codes = pairs(np.unique(codes, return_inverse=True)[1], data.targets.comparable.codes)
    return linted.issues(_in_train(codes, valid, linted))


def _images_in_train(linted: Linted) -> Issues:
    """Rows whose image is in the training split: the same content, or the same id if images were not read."""
    images = linted.data.images
    rows = _in_train(linted.contents[images.codes], images.valid, linted)
    return linted.issues(rows, (f"image {shown(images.texts[code])}" for code in images.codes[rows].tolist()))


def _similar_images(linted: Linted) -> Issues:
    names, contents = linted.data.images.texts, linted.contents
    return _of_images(linted, {code: f"image {shown(names[code])} resembles {shown(names[one[0]])}, {one[1]:.3f}"
                               for code in range(len(names))
                               if (one := linted.similar_images.get(int(contents[code])))})  # fmt: skip


def _similar_questions(linted: Linted) -> Issues:
    """Rows with a similar question and the same target, about the same image or a similar one, if there are images."""
    images, questions, in_train = linted.data.images, linted.data.questions, linted.in_train
    about, valid = np.zeros(len(in_train), np.int64), questions.valid & linted.data.targets.valid
    least = SIMILAR_ALONE
    if images.valid.any():
        same = np.arange(len(linted.contents))
        same[list(linted.similar_images)] = [linted.contents[other] for other, _ in linted.similar_images.values()]
        about, valid, least = same[linted.contents][images.codes], valid & images.valid, SIMILAR_QUESTIONS
    group = grouped(about, linted.data.targets.comparable.codes)
    both = np.intersect1d(group[valid & in_train], group[valid & ~in_train])
    rows = np.flatnonzero(valid & np.isin(group, both))
    if not len(rows):
        return
    rows = rows[np.argsort(group[rows], kind="stable")]
    content = linted.contents[images.codes[rows]]
    used, text = np.unique(questions.codes[rows], return_inverse=True)
    texts, keys = [questions.texts[code] for code in used.tolist()], questions.comparable.codes[rows]
    vectors = embedding_families()[0].embed(texts)
    for some in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(group[rows])) + 1):
        train, others = some[in_train[rows[some]]], some[~in_train[rows[some]]]
        train = train[np.unique(text[train], return_index=True)[1]]  # of one content, since similar ones are of others
        for part in np.array_split(others, len(others) * len(train) // MOST_PAIRS + 1):
            cosines = vectors[text[part]] @ vectors[text[train]].T
            is_same = (keys[part][:, None] == keys[train]) & (content[part][:, None] == content[train])
            cosines[is_same] = 0  # of `_questions_in_train`
            for at in np.flatnonzero(cosines.max(axis=1, initial=0) >= least).tolist():
                most = cosines[at].argmax()
                question = shown(texts[text[train[most]]])
                yield linted.rows[rows[part[at]]].item(), f"similar to {question}, {cosines[at, most]:.2f}"


def _columns(linted: Linted) -> Iterator[tuple[str, Column]]:
    for name in linted.own_columns:
        parts = [split.original[name] for split in linted.splits]
        if all(is_text(one.type) or pa.types.is_integer(one.type) for one in parts) and not named(
            [name], (*QUESTION, *ANSWERS)
        ):
            yield name, Column.of(pa.chunked_array(map(as_text, parts)))


def _predictive(linted: Linted) -> Issues:
    for split, rows in linted.rows_by_split.items() if linted.data.ordered else ():
        labels = linted.data.labels[rows]
        for what, groups in _groupings(linted, rows):
            gain, p = _predicted(groups, labels)
            if p < PREDICTS_P and gain > PREDICTS_GAIN:
                yield WHOLE, f"{split}: {what} predicts the label in {gain:.1%} more rows than the most frequent label"


def _groupings(linted: Linted, rows: NDArray[np.int64]) -> Iterator[tuple[str, NDArray[np.int64]]]:
    yield from ((f"the row number (period {period})", np.arange(len(rows)) % period) for period in PERIODS)
    yield "the row number (blocks)", row_blocks(len(rows), BLOCKS[0])
    for name, column in _columns(linted):
        codes = column.codes[rows].astype(np.int64)
        if len(np.unique(codes)) <= MOST_VALUES:
            yield f"column {shown(name)}", codes
        else:
            digits = pc.struct_field(pc.extract_regex(column.distinct, r"(?P<number>[0-9]{1,15})$"), "number")
            numbers = np.append(pc.fill_null(digits.cast(pa.int64()), -1).to_numpy(), -1)[codes]
            if (numbers >= 0).mean() > REPEATS:
                yield from ((f"column {shown(name)} (period {period})", numbers % period) for period in PERIODS)


def _predicted(groups: NDArray[np.int64], labels: NDArray[np.int64]) -> tuple[float, float]:
    """The share of rows that the most frequent label of their group adds to that of all, and p by chi-square."""
    from scipy import stats

    _, codes, counts = np.unique(groups, return_inverse=True, return_counts=True)
    codes = np.unique(np.where(counts[codes] >= LEAST_ROWS, codes, -1), return_inverse=True)[1]
    table = np.zeros((int(codes.max()) + 1, int(labels.max()) + 1))
    np.add.at(table, (codes, labels), 1)
    table = table[:, table.sum(axis=0) > 0]
    if min(table.shape) < 2:
        return 0.0, 1.0
    gain = (table.max(axis=1).sum() - table.sum(axis=0).max()) / len(labels)
    return float(gain), float(stats.chi2_contingency(table, correction=False).pvalue)


def _repeating(linted: Linted) -> Issues:
    targets = linted.data.targets.comparable
    for name, column in _columns(linted):
        keys = column.comparable
        as_target = np.append(pc.fill_null(pc.index_in(keys.distinct, targets.distinct), -2).to_numpy(), -2)
        share = float((as_target[keys.codes] == targets.codes).mean())
        if share >= REPEATS:
            yield WHOLE, f"column {shown(name)} is the target in {share:.1%} of the rows"


def _named(linted: Linted) -> Issues:
    names = [*named(linted.own_columns, (*IMAGE_PATH, *IMAGE_ID, "image")), *named(linted.own_columns, QUESTION_ID)]
    choices, is_target = linted.data.choices, linted.data.is_target
    for name, column in _columns(linted):
        if name not in names or not matches("[A-Za-z]{3}", column).any():
            continue
        inside = _contained(choices.flat, choices.rows, column)
        of_target = inside[is_target]
        of_decoys = np.add.reduceat(inside & ~is_target, choices.starts, dtype=np.int64)
        gain = of_target.mean() - (of_decoys / np.maximum(choices.lengths - 1, 1)).mean()
        if gain > NAMED_GAIN:
            at = np.flatnonzero(of_target & (of_decoys == 0))
            yield from linted.issues(at, (f"{name} {shown(column.texts[code])}" for code in column.codes[at].tolist()))


def _contained(choices: Column, of_rows: NDArray[np.int64], names: Column) -> NDArray[np.bool_]:
    """(choices,): whether the comparable text, of `SHORTEST` letters or more, is in the row's name, letters alone."""
    plain = pc.utf8_lower(names.distinct)
    for pattern, new in ((r"[^a-z]+", " "), (r"^ ?(.*?) ?$", r" \1 ")):
        plain = pc.replace_substring_regex(plain, pattern, new)
    spelled = [*plain.to_pylist(), ""]  # the last for rows without a name
    keys = choices.comparable
    long = (f" {text.replace('-', ' ')} " if len(text) >= SHORTEST and text.isascii() else "\0" for text in keys.texts)
    texts = [*long, "\0"]  # for choices without words
    distinct, inverse = np.unique(pairs(names.codes[of_rows], keys.codes), return_inverse=True)
    which = zip(*(numbers.tolist() for numbers in unpaired(distinct)), strict=True)
    return np.array([texts[key] in spelled[name] for name, key in which], np.bool_)[inverse]


LEAKS = (
    Check("question_in_train", ERROR, "image and question are also in the training split; without images, question, "
          "choices and target", "remove the row from one", _questions_in_train),
    Check("image_in_train", WARNING, "the image is also in the training split", "split by image", _images_in_train),
    Check("target_in_name", WARNING, "the file name or id contains the target, and no decoy",
          "rename the images: names must not reach models", _named),
    Check("predictive_columns", WARNING, "a column or the order of rows predicts the position of the target",
          "shuffle the choices; do not give the column to models", _predictive),
    Check("similar_image_in_train", NOTE, "the training split has an image that looks nearly the same (similarity)",
          "look at both; if they show the same, split by image", _similar_images),
    Check("similar_question_in_train", NOTE, "the training split has a similar question (cosine) with the same "
          "target, about the same or a similar image", "read both; if they ask the same, remove one",
          _similar_questions),
    Check("repeated_target", NOTE, "a column repeats the target", "do not give it to models", _repeating),
)  # fmt: skip
"""In the order of the table."""
