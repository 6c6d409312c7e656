"""Problems of rows other than shortcuts: odd choices, duplicates, leaks between splits, predictive texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.gains import ALARM_LEVEL
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.similar_choices import Letters, containing, words_in_question
from hf_vqa_mc.audits.texts import pairs
from hf_vqa_mc.data.benchmark import Split
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.text.many_texts import texts_of
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS

MIN_ROWS = 20
"""Minimum number of rows that present a text; at least a fifth of it must be expected targets, and as many decoys."""
MIN_IMAGES = 10
"""Minimum number of images with which a text is presented; a text with fewer images may be specific to them."""
MAX_CHARACTERS = 120
"""Characters of a text in the result."""


@dataclass(frozen=True, eq=False)
class Finding:
    """A problem and the rows that have it."""

    name: str
    """unique name, such as ``duplicate choices``"""
    template: str
    """description with {} for each share"""
    shares: tuple[tuple[int, int], ...]
    """numerator and denominator of each share; the first one is of the affected rows or decoys"""
    rows: NDArray[np.int64] = field(repr=False)
    """affected rows, ascending"""
    unit: Literal["rows", "decoys"] = "rows"
    compares: bool = False
    """whether it is a problem only if the first share is above the second"""

    @property
    def count(self) -> int:
        """Number of rows or decoys affected."""
        return self.shares[0][0]

    @property
    def total(self) -> int:
        """Number of rows or decoys searched."""
        return self.shares[0][1]

    @property
    def sentence(self) -> str:
        """Description with figures."""
        text = self.template.format(*(percent(*share) for share in self.shares))
        return f"{text[0].upper()}{text[1:]}"

    @property
    def is_problem(self) -> bool:
        """Whether it is to be reported."""
        shares = [count / max(total, 1) for count, total in self.shares]
        return bool(self.count) and not (self.compares and shares[0] <= shares[1])


def percent(count: float, of: float) -> str:
    """A fraction as text in percent.

    >>> percent(1, 8), percent(3, 100_000), percent(0, 5)
    ('12.5%', 'under 0.1%', 'none')
    """
    if not count:
        return "none"
    share = 100 * count / of
    return "under 0.1%" if share < 0.1 else f"{share:.1f}%"


def findings(splits: Mapping[str, Split], numbered: Mapping[str, Rows], audited: str) -> list[Finding]:
    """Search for odd choices, duplicate rows, and leaks to other splits; some findings may be no problem.

    ``numbered`` has the rows of ``splits``, from one call of `number_rows`.
    """
    rows = numbered[audited]
    named = words_in_question(rows) == 1.0
    where = np.flatnonzero(named[:, 0])
    of_decoys = int(named[:, 1:].sum()), int(rows.valid[:, 1:].sum())
    template = "In {} of the rows the question contains all words of the target, compared with {} of the decoys."
    overlaps = np.flatnonzero(containing(rows.keys, Letters.of(rows.vocabulary.key_texts)))
    found = [
        Finding("target in the question", template, ((len(where), len(rows)), of_decoys), where, compares=True),
        _repeating(rows),
        _of_rows("overlapping choices", "In {} of the rows one choice contains another.", overlaps, rows),
        _never_correct(rows, numbered),
    ]
    found += _duplicates(splits[audited], rows)
    for name, other in splits.items():
        if name != audited:
            found += _leaks(splits[audited], rows, other, numbered[name])
    return found


def _of_rows(name: str, template: str, where: NDArray[np.int64], rows: Rows) -> Finding:
    return Finding(name, template, ((len(where), len(rows)),), where)


def _repeating(rows: Rows) -> Finding:
    keys = np.sort(rows.keys, axis=1)
    where = np.flatnonzero(((keys[:, 1:] == keys[:, :-1]) & (keys[:, 1:] >= 0)).any(axis=1))
    targets = int(((rows.keys[where, 1:] == rows.keys[where, :1]) & rows.valid[where, 1:]).any(axis=1).sum())
    template = (
        "In {} of the rows two choices differ only in case, punctuation or possessive 's (one of them is the target "
        "in {})."
    )
    return Finding("duplicate choices", template, ((len(where), len(rows)), (targets, len(rows))), where)


def _never_correct(audited: Rows, splits: Mapping[str, Rows]) -> Finding:
    correct = np.zeros(len(audited.vocabulary.key_texts), np.bool_)
    for rows in splits.values():
        correct[rows.keys[:, 0]] = True
    decoys = audited.valid & (np.arange(audited.valid.shape[1]) > 0)
    never = decoys & ~correct[audited.keys]
    return Finding(
        "decoys that are never correct",
        "{} of the decoys are the target of no row; a model that has learned the targets can exclude them without "
        "reading the question.",
        ((int(never.sum()), int(decoys.sum())),),
        np.flatnonzero(never.any(axis=1)),
        "decoys",
    )


def _duplicates(split: Split, rows: Rows) -> list[Finding]:
    """Duplicate rows, and the same question and choices (in any order) on several images."""
    (images,) = _images(split)
    texts = np.unique(_questions_and_choices(rows), return_inverse=True)[1]
    both = np.unique(pairs(texts, images), return_inverse=True)[1]
    with_image = np.flatnonzero(images != MISSING)
    first = with_image[np.unique(both[with_image], return_index=True)[1]]  # a row for each text and image
    several = np.bincount(texts[first], minlength=len(texts)) > 1
    where = with_image[several[texts[with_image]]]
    targets = np.unique(pairs(texts[where], rows.keys[where, 0]), return_index=True)[1]
    one_target = np.bincount(texts[where][targets], minlength=len(texts)) == 1
    later = np.delete(np.arange(len(both)), np.unique(both, return_index=True)[1])
    repeated = "{} of the rows have image, question and choices of an earlier row."
    shares = (len(where), len(rows)), (int(one_target[texts[where]].sum()), len(where))
    template = (
        "In {} of the rows another image has the same question and choices; in {} of these the target is the same for "
        "all images."
    )
    return [
        _of_rows("duplicate rows", repeated, later, rows),
        Finding("same question on several images", template, shares, where),
    ]


def _leaks(audited: Split, rows: Rows, other: Split, other_rows: Rows) -> list[Finding]:
    """Rows whose image, image and question, or question and choices also occur in another split."""
    images, other_images = _images(audited, other)
    has_image, other_has = images != MISSING, other_images != MISSING
    image_question, other_image_question = pairs(images, rows.questions), pairs(other_images, other_rows.questions)
    shared = {
        "image": has_image & np.isin(images, other_images[other_has]),
        "image and question": has_image & np.isin(image_question, other_image_question[other_has]),
        "question and choices": np.isin(_questions_and_choices(rows), _questions_and_choices(other_rows)),
    }
    found = []
    name = other.name.replace("{", "{{").replace("}", "}}")
    for what, where in shared.items():
        verb = "occur" if " and " in what else "occurs"
        template = f"In {{}} of the rows, the {what} also {verb} in the split {name}."
        found.append(_of_rows(f"{what} also in {other.name}", template, np.flatnonzero(where), rows))
    return found


def _images(*splits: Split) -> list[NDArray[np.int64]]:
    """Image number of each row, shared by all splits; MISSING where there is none."""
    columns = [split.rows["image_id"].combine_chunks() for split in splits]
    names = pa.concat_arrays([column.cast(pa.large_string()) for column in columns]).dictionary_encode()
    numbers = names.indices.to_numpy().astype(np.int64)
    numbers[numbers == pc.index(names.dictionary, "").as_py()] = MISSING
    return np.split(numbers, np.cumsum([len(column) for column in columns])[:-1])


def _questions_and_choices(rows: Rows) -> NDArray[np.uint64]:
    """A 64-bit hash of each row's question and choices in any order; 1e-7 collisions expected in a million rows."""
    draws = np.random.default_rng(1).integers(2**63, size=len(rows.vocabulary.questions), dtype=np.uint64)
    return rows.choice_sets + draws[rows.questions]


def predictive_texts(
    rows: Rows, most: int = 30, clusters: NDArray[np.integer] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """The words and choices that are in the target significantly more or less often than by chance.

    A row with a word in 2 of its 4 choices counts as an expected 0.5 targets. The variance is the larger of the
    binomial one and that of the sums over images, since rows of one image are not independent. Significance is
    corrected for all texts compared (Bonferroni).

    Args:
        rows: of the audited split.
        most: maximum number of words, and of choices.
        clusters: (rows,): image number of each row, from 0; by default each row has its own image.

    Returns:
        ``words`` and ``choices``, largest abs(z) first, each with ``text``, ``target`` (rows whose target has it),
        ``presented`` (rows with it in any choice), ``expected`` (value of target by chance), ``z``, and ``predicts``
        ("target" or "decoy").
    """
    images = np.arange(len(rows)) if clusters is None else clusters
    worded, n_keys = rows.vocabulary.worded, len(rows.vocabulary.key_texts)
    tokens, starts = np.array(worded.numbers[: worded.starts[n_keys]]), worded.starts[: n_keys + 1]
    has_word = scipy.sparse.csr_matrix((np.ones(len(tokens)), tokens, starts), shape=(n_keys, len(worded.words)))
    has_word.sum_duplicates()
    has_word.data[:] = 1
    words = _significant(rows, has_word, texts_of(worded.words), images, most)
    choices = _significant(rows, scipy.sparse.eye_array(n_keys, format="csr"), range(n_keys), images, most)
    published = rows.vocabulary.choices
    counts = np.bincount(rows.texts[rows.valid], minlength=len(published))
    order = np.argsort(-counts, kind="stable")
    most_frequent = order[np.unique(rows.vocabulary.keys[order], return_index=True)[1]]
    for one in choices:
        one["text"] = published[most_frequent[one["text"]]].strip()[:MAX_CHARACTERS]
    texts = pa.array(published, pa.large_string())
    for one in words:
        if one["text"] in SMALL_NUMBERS:
            forms = (str(SMALL_NUMBERS.index(one["text"])), one["text"])
            found = [pc.match_substring_regex(texts, rf"(?i)\b{form}\b").to_numpy(False) for form in forms]
            one["text"] = forms[int(np.argmax([counts[mask].sum() for mask in found]))]
        one["text"] = one["text"][:MAX_CHARACTERS]
    return {"words": words, "choices": choices}


def _significant(
    rows: Rows,
    has: Any,  # noqa: ANN401  a sparse matrix
    names: Sequence[Any],
    images: NDArray[np.integer],
    most: int,
) -> list[dict[str, Any]]:
    """The significant names; ``has`` (keys, names) is 1 where a comparable text has a name, such as a word."""
    row, number = rows.valid.nonzero()[0], rows.keys[rows.valid]
    often = np.flatnonzero(np.bincount(number, minlength=has.shape[0]) @ has >= MIN_ROWS)
    has, names = scipy.sparse.csr_matrix(has)[:, often], [names[name] for name in often.tolist()]
    member = scipy.sparse.csr_matrix((rows.chance[row], (row, np.arange(len(row)))))
    share = scipy.sparse.csr_matrix(member @ has[number])  # of the row's choices, (rows, names)
    first = np.flatnonzero(np.diff(row, prepend=-1))  # the target is the first of each row
    target = scipy.sparse.csr_matrix(has[number[first]])
    presented = np.bincount(share.indices, minlength=len(names))
    expected, right = share.sum(axis=0).A1, target.sum(axis=0).A1
    variance = expected - share.multiply(share).sum(axis=0).A1
    by_image, n_images = _variance_by_image(target - share, share, images)
    variance = np.maximum(variance, by_image)
    fewest = np.minimum(expected, presented - expected)
    compared = np.flatnonzero((presented >= MIN_ROWS) & (fewest >= MIN_ROWS / 5) & (n_images >= MIN_IMAGES))
    if not len(compared):
        return []
    z = (right - expected)[compared] / np.sqrt(variance[compared])
    significant = np.abs(z) > -scipy.special.ndtri(ALARM_LEVEL / len(compared))
    z_of = dict(zip(compared[significant].tolist(), z[significant].tolist(), strict=True))
    order = sorted(z_of, key=lambda name: (-abs(z_of[name]), names[name]))
    return [
        {
            "text": names[name],
            "target": int(right[name]),
            "presented": int(presented[name]),
            "expected": round(float(expected[name]), 2),
            "z": round(z_of[name], 2),
            "predicts": "target" if z_of[name] > 0 else "decoy",
        }
        for name in order[:most]
    ]


def _variance_by_image(
    beyond: Any,  # noqa: ANN401  a sparse matrix
    share: Any,  # noqa: ANN401
    images: NDArray[np.integer],
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """For each name, the variance of its sum with rows clustered by image, and its number of images."""
    of_image = scipy.sparse.csr_matrix((np.ones(len(images)), (images, np.arange(len(images)))))
    sums, rows = (scipy.sparse.csr_matrix(of_image @ one) for one in (beyond, (share > 0).astype(np.float64)))
    n_rows = rows.sum(axis=0).A1
    mean = sums.sum(axis=0).A1 / np.maximum(n_rows, 1)
    squares = sums.multiply(sums).sum(axis=0).A1 - 2 * mean * sums.multiply(rows).sum(axis=0).A1
    squares += mean**2 * rows.multiply(rows).sum(axis=0).A1
    n_images = np.bincount(rows.indices, minlength=share.shape[1])
    return np.maximum(squares, 0) * n_images / np.maximum(n_images - 1, 1), n_images
