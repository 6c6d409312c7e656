"""Problems of rows other than shortcuts: odd choices, duplicates, leaks, predictive texts, possibly correct decoys."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Column, Rows, grouped, official_texts, pairs, unpaired
from hf_vqa_mc.audits.shortcut import ALARM_LEVEL
from hf_vqa_mc.audits.similar_choices import containing
from hf_vqa_mc.compiled import in_python
from hf_vqa_mc.data.benchmark import Split
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.text.counted import percent
from hf_vqa_mc.text.many_texts import squeezed_texts
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS, unaccented
from hf_vqa_mc.text.relations import Relations, exclusive, related
from hf_vqa_mc.text.wu_palmer import WordScores, phrase_score, reading, word_scores

MIN_ROWS = 20  # minimum rows that present a text, of them a fifth expected targets, and as many decoys
MIN_IMAGES = 10  # minimum number of images with which a text is presented; with fewer it may be specific to them
Images = NDArray[np.int64]  # (rows,): image number of each row, MISSING without one
MAX_CHARACTERS = 120  # characters of a text in the result
WUP_THRESHOLD = 0.9  # Chao et al. 2018, Sect. 4.1: decoys at or above it are rejected
FEW = 2_000  # distinct words, and a tenth of the pairs of words, that are compared without numba
MOST_WORDS = 400  # maximum number of words of a choice that are compared with those of the target

Numbers = NDArray[np.int32]
Starts = NDArray[np.int64]
Mask = NDArray[np.bool_]

SAME, NAMED, WUP, GENERAL = REASONS = (
    "same after normalisation",
    "named by an annotator",
    f"WordNet similarity {WUP_THRESHOLD} or more",
    "the same, a more general or more special word",
)


@dataclass(frozen=True, eq=False)
class Finding:
    """A problem and the rows that have it."""

    name: str  # unique name, such as ``duplicate choices``
    sentence: str  # description with figures
    count: int  # number of rows or decoys affected
    total: int  # number of rows or decoys searched
    rows: NDArray[np.int64]  # affected rows, ascending
    unit: Literal["rows", "decoys"] = "rows"


def share_of(count: float, of: float) -> str:
    """A fraction in percent.

    >>> share_of(1, 8), share_of(3, 100_000), share_of(0, 5)
    ('12.5%', 'under 0.1%', 'none')
    """
    if not count:
        return "none"
    return "under 0.1%" if count / of < 0.001 else percent(count / of)


def findings(splits: Mapping[str, Split], numbered: Mapping[str, Rows], audited: str) -> list[Finding]:
    """Odd choices, duplicate rows, and leaks to other splits; ``numbered`` is of `number_rows`."""
    rows, found = numbered[audited], list[Finding]()
    decoys = rows.valid & (np.arange(rows.valid.shape[1]) > 0)
    n_decoys = int(decoys.sum())

    def add(name: str, where: NDArray[np.bool_], sentence: str) -> None:
        """A problem of rows (rows,); the sentence has {} for their share."""
        if count := int(where.sum()):
            text = sentence.replace("{}", share_of(count, len(rows)), 1)
            found.append(Finding(name, f"{text[0].upper()}{text[1:]}", count, len(rows), np.flatnonzero(where)))

    named = rows.question_overlap == 1.0
    if named[:, 0].mean() > named[decoys].sum() / max(n_decoys, 1):
        of_decoys = share_of(int(named[decoys].sum()), n_decoys)
        add("target in the question", named[:, 0],
            f"In {{}} of the rows the question contains all words of the target, compared with {of_decoys} of the "
            "decoys.")  # fmt: skip
    keys = np.sort(rows.keys, axis=1)
    of_target = share_of(int(((rows.keys == rows.keys[:, :1]) & decoys).any(axis=1).sum()), len(rows))
    add("duplicate choices", ((keys[:, 1:] == keys[:, :-1]) & (keys[:, 1:] >= 0)).any(axis=1),
        "In {} of the rows two choices differ only in case, punctuation or possessive 's (one of them is the target "
        f"in {of_target}).")  # fmt: skip
    add("overlapping choices", containing(rows), "In {} of the rows one choice contains another.")
    correct = np.zeros(len(rows.vocabulary.key_texts), np.bool_)
    correct[np.concatenate([one.keys[:, 0] for one in numbered.values()])] = True
    never = decoys & ~correct[rows.keys]
    if count := int(never.sum()):
        sentence = (f"{share_of(count, n_decoys)} of the decoys are the target of no row; a model that has learned "
                    "the targets can exclude them without reading the question.")  # fmt: skip
        with_some = np.flatnonzero(never.any(axis=1))
        found.append(Finding("decoys that are never correct", sentence, count, n_decoys, with_some, "decoys"))
    ids = Column.of(pa.chunked_array(one.rows["image_id"].combine_chunks() for one in splits.values())).codes
    ends = np.cumsum([one.rows.num_rows for one in splits.values()])
    images = dict(zip(splits, np.split(ids.astype(np.int64), ends[:-1]), strict=True))
    several, later, one_target = _repeated(images[audited], rows)
    add("duplicate rows", later, "{} of the rows have image, question and choices of an earlier row.")
    same = share_of(int(one_target.sum()), int(several.sum()))
    add("same question on several images", several, "In {} of the rows another image has the same question and "
        f"choices; in {same} of these the target is the same for all images.")  # fmt: skip
    for name in splits:
        if name != audited:
            own, others = images[audited], images[name]
            known, both = others != MISSING, pairs(others, numbered[name].questions)
            shared = {
                "image": (own != MISSING) & np.isin(own, others[known]),
                "image and question": (own != MISSING) & np.isin(pairs(own, rows.questions), both[known]),
                "question and choices": np.isin(_questions_and_choices(rows), _questions_and_choices(numbered[name])),
            }
            for what, where in shared.items():
                occurs = f"{what} also {'occur' if ' and ' in what else 'occurs'} in the split {name}"
                add(f"{what} also in {name}", where, f"In {{}} of the rows, the {occurs}.")
    return found


def _repeated(images: Images, rows: Rows) -> list[NDArray[np.bool_]]:
    """(rows,): question and choices on several images; a repeated row; the former where all have the same target."""
    texts = np.unique(_questions_and_choices(rows), return_inverse=True)[1]
    both = grouped(texts, images)
    later, has_image = np.ones(len(rows), np.bool_), images != MISSING
    later[np.unique(both, return_index=True)[1]] = False
    of_image = unpaired(np.unique(pairs(texts, images)[has_image]))[0]  # a text for each of its images
    several = has_image & (np.bincount(of_image, minlength=len(texts)) > 1)[texts]
    of_target = unpaired(np.unique(pairs(texts, rows.keys[:, 0])[several]))[0]
    return [several, later, several & (np.bincount(of_target, minlength=len(texts)) == 1)[texts]]


def _questions_and_choices(rows: Rows) -> NDArray[np.uint64]:
    """A 64-bit hash of each row's question and choices in any order; 1e-7 collisions expected in a million rows."""
    draws = np.random.default_rng(1).integers(2**63, size=len(rows.vocabulary.questions), dtype=np.uint64)
    return rows.choice_sets + draws[rows.questions]


def predictive_texts(
    rows: Rows, most: int = 30, clusters: NDArray[np.integer] | None = None
) -> dict[str, list[dict[str, Any]]]:
    """The ``words`` and ``choices`` that are in the target significantly more or less often than by chance.

    A row with a word in 2 of its 4 choices counts as an expected 0.5 targets. The variance is the larger of the
    binomial one and that of the sums over images, since rows of one image are not independent; ``clusters`` (rows,)
    are image numbers, by default each row has its own. Significance is corrected for all texts compared (Bonferroni).
    """
    images = np.arange(len(rows)) if clusters is None else clusters
    worded, n_keys = rows.vocabulary.worded, len(rows.vocabulary.key_texts)
    has_word = worded.matrix[:n_keys].astype(np.float64)
    has_word.sum_duplicates()
    has_word.data[:] = 1
    words = _significant(rows, has_word, worded.vocabulary, images, most)
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
    # The variance of each sum with rows clustered by image.
    of_image = scipy.sparse.csr_matrix((np.ones(len(images)), (images, np.arange(len(images)))))
    has_share = (share > 0).astype(np.float64)
    sums, n_rows = (scipy.sparse.csr_matrix(of_image @ one) for one in (target - share, has_share))
    mean = sums.sum(axis=0).A1 / np.maximum(n_rows.sum(axis=0).A1, 1)
    squares = sums.multiply(sums).sum(axis=0).A1 - 2 * mean * sums.multiply(n_rows).sum(axis=0).A1
    squares += mean**2 * n_rows.multiply(n_rows).sum(axis=0).A1
    n_images = np.bincount(n_rows.indices, minlength=len(names))
    by_image = np.maximum(squares, 0) * n_images / np.maximum(n_images - 1, 1)
    variance = np.maximum(expected - share.multiply(share).sum(axis=0).A1, by_image)
    fewest = np.minimum(expected, presented - expected)
    compared = np.flatnonzero((presented >= MIN_ROWS) & (fewest >= MIN_ROWS / 5) & (n_images >= MIN_IMAGES))
    if not len(compared):
        return []
    z = (right - expected)[compared] / np.sqrt(variance[compared])
    significant = np.abs(z) > -scipy.special.ndtri(ALARM_LEVEL / len(compared))
    z_of = dict(zip(compared[significant].tolist(), z[significant].tolist(), strict=True))
    return [
        {
            "text": names[name],
            "target": int(right[name]),
            "presented": int(presented[name]),
            "expected": round(float(expected[name]), 2),
            "z": round(z_of[name], 2),
            "predicts": "target" if z_of[name] > 0 else "decoy",
        }
        for name in sorted(z_of, key=lambda name: (-abs(z_of[name]), names[name]))[:most]
    ]


def possibly_correct(rows: Rows, answers: pa.Array) -> dict[str, Mask]:
    """Find possibly correct decoys by four heuristics; a decoy may have several reasons.

    - SAME: the official VQA evaluation normalises target and decoy to the same answer, or they differ in spaces,
      hyphens and accents only.
    - NAMED: it normalises the decoy to an answer of an annotator.
    - WUP: the phrase similarity of target and decoy (Chao et al. 2018, eq. 4), of their first MOST_WORDS words, is at
      least WUP_THRESHOLD (for example, cap and hat), and they do not exclude one another as two numbers do.
    - GENERAL: one of them, in any sense, is the most frequent sense of the other in WordNet, a hypernym (dog, animal)
      or an adjective of its cluster (cloudless, clear).

    Returns reason to mask (rows, choices), False for targets and padding; ``answers`` (rows,) are the annotators',
    lists of texts.
    """
    decoys = rows.valid & (np.arange(rows.valid.shape[1]) > 0)
    both = np.broadcast_to(rows.keys[:, :1], decoys.shape)[decoys], rows.keys[decoys]
    similar, general = np.zeros((2, len(both[0])), np.bool_)
    worded, relations = rows.vocabulary.worded, Relations.of(rows.vocabulary.key_texts)
    used = int(worded.numbers[: worded.starts[len(rows.vocabulary.key_texts)]].max(initial=-1)) + 1  # not of questions
    n_pairs = int(worded.lengths[both[0]] @ worded.lengths[both[1]])
    with in_python(max(used, n_pairs // 10) <= FEW):
        scores = word_scores(worded.vocabulary[:used], WUP_THRESHOLD)
        _compare(*both, worded.numbers, worded.starts, scores, relations, similar, general)
    # what the official evaluation treats as the target, and as an annotator's answer
    choices, of_rows = pa.array(rows.vocabulary.choices, pa.large_string()), answers.flatten().dictionary_encode()
    plain = official_texts(pa.concat_arrays([choices, of_rows.dictionary.cast(pa.large_string())]))
    numbers = plain.dictionary_encode().indices.to_numpy()
    official = np.where(rows.valid, numbers[rows.texts], MISSING)
    answered = numbers[len(choices) :][of_rows.indices.to_numpy()] if len(of_rows) else np.zeros(0, np.int32)
    of_answers = np.repeat(np.arange(len(rows)), answers.value_lengths().to_numpy())
    named = np.isin(pairs(np.arange(len(rows))[:, None], official), pairs(of_answers, answered))
    letters = squeezed_texts(list(map(unaccented, rows.vocabulary.key_texts))).dictionary_encode().indices.to_numpy()
    equal = (official == official[:, :1])[decoys] | (letters[both[0]] == letters[both[1]])
    may_be = ~rows.different[decoys]
    found = {SAME: equal & may_be, NAMED: named[decoys], WUP: similar & may_be, GENERAL: general & may_be}
    masks = {reason: np.zeros(decoys.shape, np.bool_) for reason in found}
    for reason, flags in found.items():
        masks[reason][decoys] = flags
    return masks


@reading
def _compare(
    targets: Numbers,
    others: Numbers,
    tokens: Numbers,
    token_starts: Starts,
    scores: WordScores,
    relations: Relations,
    similar: Mask,
    general: Mask,
) -> None:
    """Set ``similar`` unless two texts exclude one another, and ``general``."""
    for pair in range(len(targets)):
        start, end = token_starts[targets[pair]], token_starts[targets[pair] + 1]
        other, other_end = token_starts[others[pair]], token_starts[others[pair] + 1]
        if targets[pair] == others[pair]:
            similar[pair] = True
            continue
        general[pair] = related(targets[pair], others[pair], relations)
        if end > start and other_end > other and not exclusive(targets[pair], others[pair], relations):
            end, other_end = min(end, start + MOST_WORDS), min(other_end, other + MOST_WORDS)
            similar[pair] = phrase_score(tokens, start, end, other, other_end, scores) >= WUP_THRESHOLD
