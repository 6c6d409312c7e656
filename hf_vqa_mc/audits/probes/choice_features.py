"""Features of the choices that need no labels: of each choice, relative to the others, to question and image."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import ShuffledRows
from hf_vqa_mc.audits.texts import Words
from hf_vqa_mc.decoys.candidates import MISSING, starts
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, word_lists
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS, words

READ = 400  # maximum number of characters read of a text; limits the time for huge cells
AT_ONCE = 20_000  # rows whose texts are compared at a time
POSITIONS = 10  # positions with a column each; later positions share one
COLUMNS = 1 << 18  # size of the hash table; of 100,000 distinct crosses a third collide
CHOICE_WORDS, QUESTION_WORDS = 8, 24  # maximum number of words of each text
CLUSTERS = (8, 64)  # numbers of coarse and of fine image clusters
ROWS_A_CLUSTER = 20  # minimum number of rows per cluster
DIRECTIONS = 16  # number of principal components
FITTED_ON = 20_000  # maximum number of rows that clusters and components are fitted on

_NUMBERS = frozenset((*SMALL_NUMBERS, "many", "several", "dozen", "hundred", "thousand"))
_ABOVE = ("of the above", "of these", "of them", "both ", "all of", "none of", "neither")
_YES_NO_VERBS = frozenset(
    "is are was were am do does did can could has have had will would should may might isn't aren't doesn't".split()
)

Columns = dict[str, NDArray[np.float32]]  # feature name to values (choices,), in the order of ``valid.nonzero()``
Tokens = NDArray[np.int64]  # (items, tokens): token numbers of each item, padded with MISSING
TextTokens = tuple[Tokens, Tokens]  # (texts,): text numbers, ascending; (texts, most): the words of each
ImageGroups = tuple[Tokens, NDArray[np.float32]]
"""(rows, granularities): cluster number of the image, MISSING without an image; (rows, DIRECTIONS): principal
components with unit variance, 0 without an image"""


def own_columns(rows: ShuffledRows, ordered: bool, presented: NDArray[np.int64]) -> Columns:
    """Features of the choices alone, of their frequencies, and of their positions, if these are ``ordered``.

    ``presented`` (keys,) is the frequency of each comparable text in all rows.
    """
    from sklearn.feature_extraction.text import HashingVectorizer

    used, number = np.unique(rows.texts[rows.valid], return_inverse=True)
    texts = _beginnings(rows.vocabulary.choices, used)
    lengths = [len(rows.vocabulary.choices[text]) for text in used.tolist()]
    columns = _stacked(map(_of_text, texts.to_pylist(), word_lists(texts), lengths), number)
    trigrams = HashingVectorizer(
        analyzer="char_wb", ngram_range=(3, 3), binary=True, norm=None, alternate_sign=False, dtype=np.float32
    ).transform(texts.to_pylist())
    columns["presented"] = np.log(presented[rows.keys[rows.valid]]).astype(np.float32)
    columns["trigrams shared"] = _shared_with_others(trigrams, number, rows)
    columns["words shared"] = _shared_with_others(_words(texts), number, rows)
    for name in ("characters", "words", "presented", "trigrams shared", "words shared"):
        columns |= compared(name, columns[name], rows)
    if ordered:
        position = np.minimum(rows.positions, POSITIONS)
        each = {f"position {index}": position == index for index in range(min(position.shape[1], POSITIONS))}
        each = {"position": position, **each, "last position": rows.positions == rows.sizes[:, None] - 1}
        columns |= {name: values[rows.valid].astype(np.float32) for name, values in each.items()}
    return columns


def question_columns(rows: ShuffledRows, own: Columns) -> Columns:
    """Features of question and choice together; ``own`` is from `own_columns`."""
    row = rows.valid.nonzero()[0]
    used, number = np.unique(rows.texts[rows.valid], return_inverse=True)
    asked, question = np.unique(rows.questions, return_inverse=True)
    questions = _beginnings(rows.vocabulary.questions, asked)
    both = _words(pa.concat_arrays([_beginnings(rows.vocabulary.choices, used), questions]))
    common = np.empty(len(number), np.float32)
    for part in _blocks(row):
        of_questions = both[len(used) + question[row[part]]]
        common[part] = both[number[part]].multiply(of_questions).sum(axis=1).A1
    share = common / np.maximum(np.diff(both.indptr)[number], 1).astype(np.float32)
    columns: Columns = {"words of the question": common, "share of its words in the question": share}
    columns |= compared("share of its words in the question", share, rows)
    columns |= _stacked(map(_of_question, word_lists(questions)), question[row])
    for asks, kind in (("asks how many", "number"), ("asks yes or no", "yes or no")):
        columns[f"{kind} where it {asks}"] = columns[asks] * own[kind]
    return columns


def compared(name: str, column: NDArray[np.float32], rows: ShuffledRows) -> Columns:
    """A feature's rank among the row's choices in [0, 1], of ties their mean, and indicators of highest and lowest.

    The latter are divided by the number of ties.
    """
    row, sizes = rows.valid.nonzero()[0], np.repeat(rows.sizes, rows.sizes)
    order = np.lexsort((column, row))
    is_first = np.append(True, (np.diff(row[order]) > 0) | (np.diff(column[order]) > 0))  # of equal values of a row
    first = np.flatnonzero(is_first)
    ties, (below, same) = np.diff(first, append=len(row)), np.empty((2, len(row)), np.int64)
    below[order] = np.repeat(first, ties) - starts(rows.sizes)[row]
    same[order] = np.repeat(ties, ties)
    found = {
        f"rank of {name}": (below + (same - 1) / 2) / np.maximum(sizes - 1, 1),
        f"highest {name}": (below + same == sizes) / same,
        f"lowest {name}": (below == 0) / same,
    }
    return {name: one.astype(np.float32) for name, one in found.items()}


def _beginnings(texts: Sequence[str], used: NDArray[np.integer]) -> pa.Array:
    return pa.array([texts[text][:READ] for text in used.tolist()], pa.large_string())


def _words(texts: pa.Array) -> Any:  # noqa: ANN401  a sparse matrix
    """Binary bags of words: sparse float32 (texts, distinct words)."""
    matrix = Words(*numbered_words(*comparable_texts(texts))).matrix
    matrix.sum_duplicates()
    matrix.data[:] = 1
    return matrix


def _of_text(text: str, found: Sequence[str], length: int) -> dict[str, float]:
    """Features of a choice from its beginning, the words of it, and the length of the whole text."""
    start = text.strip()
    lower, letters = start.lower(), [sign for sign in start if sign.isalpha()]
    return {
        "characters": np.log1p(length),
        "words": np.log1p(len(found)),
        "digits": sum(sign.isdigit() for sign in start) / max(len(start), 1),
        "number": any(word in _NUMBERS or word[0].isdigit() for word in found),
        "yes or no": found[:1] in (["yes"], ["no"]),
        "of the above": lower in ("all", "none", "both") or any(part in lower for part in _ABOVE),
        "article": found[:1] in (["a"], ["an"], ["the"]),
        "capital": start[:1].isupper(),
        "all capitals": bool(letters) and all(sign.isupper() for sign in letters),
        "capital inside a word": any(one.islower() and other.isupper() for one, other in pairwise(start)),
        "unusual spaces": text != " ".join(text.split()),
        "full stop": start.endswith("."),
        "comma": "," in start,
        "other signs": any(not (sign.isalnum() or sign.isspace() or sign in ".,'’-") for sign in start),
    }


def _of_question(question: Sequence[str]) -> dict[str, float]:
    """Features of a question from its words."""
    return {
        "words asked": np.log1p(len(question)),
        "asks how many": "how" in question and "many" in question[question.index("how") + 1 :][:1],
        "asks yes or no": bool(question) and question[0] in _YES_NO_VERBS,
        "asks for one or the other": "or" in question,
        "asks what not": "not" in question or "except" in question,
    }


def _stacked(found: Iterable[dict[str, float]], number: NDArray[np.int64]) -> Columns:
    """The features of texts as columns of the texts with these numbers."""
    listed = list(found)
    return {name: np.array([one[name] for one in listed], np.float32)[number] for name in listed[0]}


def _shared_with_others(matrix: Any, number: NDArray[np.int64], rows: ShuffledRows) -> NDArray[np.float32]:  # noqa: ANN401
    """Fraction of a choice's features that another choice of the row has, averaged over the others: (choices,)."""
    row = rows.valid.nonzero()[0]
    shared = np.empty(len(row))
    for part in _blocks(row):
        choices, of_row = matrix[number[part]], row[part] - row[part.start]
        members = scipy.sparse.csr_matrix((np.ones(len(of_row), np.float32), (of_row, np.arange(len(of_row)))))
        own = choices.sum(axis=1).A1
        total = choices.multiply((members @ choices)[of_row]).sum(axis=1).A1 - own
        shared[part] = total / np.maximum(own * (rows.sizes[row[part]] - 1), 1)
    return shared.astype(np.float32)


def _blocks(row: NDArray[np.int64]) -> list[slice]:
    """Slices of the choices of at most AT_ONCE rows."""
    bounds = np.searchsorted(row, np.arange(0, int(row.max(initial=0)) + 1 + AT_ONCE, AT_ONCE))
    return [slice(int(low), int(high)) for low, high in pairwise(bounds) if high > low]


def image_groups(vectors: NDArray[np.float32], seed: int) -> ImageGroups:
    """Cluster images and compute principal components; vectors (rows, dimensions) are NaN in rows without an image."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import PCA

    valid = np.isfinite(vectors).all(axis=1)
    clusters = np.full((len(vectors), len(CLUSTERS)), MISSING, np.int64)
    directions = np.zeros((len(vectors), DIRECTIONS), np.float32)
    given = vectors[valid].astype(np.float64)
    if not len(given) or not np.ptp(given, axis=0).any():
        return clusters, directions
    rng = np.random.default_rng(seed)
    some = given if len(given) <= FITTED_ON else given[rng.choice(len(given), FITTED_ON, replace=False)]
    n_directions = min(DIRECTIONS, *some.shape)
    main = PCA(n_directions, random_state=seed).fit(some)
    scale = np.sqrt(np.maximum(main.explained_variance_, 1e-12 * main.explained_variance_[0]))
    projected, near = main.transform(given), main.transform(some)
    directions[valid, :n_directions] = np.clip(projected / scale, -3, 3)
    distinct = len(np.unique(np.round(near, 6), axis=0))
    for index, most in enumerate(CLUSTERS):
        n_clusters = max(min(most, len(some) // ROWS_A_CLUSTER, distinct), 1)
        groups = MiniBatchKMeans(n_clusters, random_state=seed, n_init=3, batch_size=1024).fit(near)
        clusters[valid, index] = groups.predict(projected)
    return clusters, directions


def crossed_texts(
    rows: ShuffledRows, choices: TextTokens, questions: TextTokens | None, image: ImageGroups | None, ordered: bool
) -> Any:  # noqa: ANN401  sparse
    """Words of the choices of rows, crossed with those of the question and with the image, sparse (choices, COLUMNS).

    If choices are ``ordered``, question and image are also crossed with the position of the choice.
    """
    row = rows.valid.nonzero()[0]
    tokens = choices[1][np.searchsorted(choices[0], rows.texts[rows.valid])]
    # The whole text is one more token unless it is a single word; words have lower numbers.
    is_word = (tokens[:, 0] != MISSING) & (tokens[:, 1] == MISSING)
    whole = rows.keys[rows.valid].astype(np.int64) + (1 << 40)
    choice = np.column_stack([tokens, np.where(is_word, MISSING, whole)])
    position = np.minimum(rows.positions[rows.valid], POSITIONS)[:, None].astype(np.int64)
    parts = [_crosses(choice, 1)]
    if questions is not None:
        question = questions[1][np.searchsorted(questions[0], rows.questions)][row]
        parts.append(_crosses(choice, 2, question))
        if ordered:  # independent of the text of the choice
            parts.append(_crosses(position, 3, np.maximum(question[:, :1], 0)))
    if image is not None:
        clusters, directions = image[0][row], image[1][row]
        components = np.broadcast_to(np.arange(directions.shape[1]), directions.shape)
        for purpose, names, values in ((4, clusters, None), (6, components, directions)):
            own = ((choice, purpose), (position, purpose + 1))[: 1 + ordered]
            parts += [_crosses(tokens, salt, names, values) for tokens, salt in own]
    return scipy.sparse.csr_matrix(sum(parts[1:], parts[0]))


def _crosses(
    own: Tokens, purpose: int, others: Tokens | None = None, values: NDArray[np.float32] | None = None
) -> Any:  # noqa: ANN401  sparse
    """Cross the tokens of each choice with those of its row; ``purpose`` salts the hash, ``values`` default to 1."""
    others = np.zeros((len(own), 1), np.int64) if others is None else others
    cells, columns, weights = [], [], []
    for of_choice in own.T:
        for index, of_row in enumerate(others.T):
            cell = np.flatnonzero((of_choice != MISSING) & (of_row != MISSING))
            cells.append(cell)
            columns.append(_column(of_choice[cell], of_row[cell], purpose))
            weights.append(np.ones(len(cell)) if values is None else values[cell, index])
    cell, column, weight = np.concatenate(cells), np.concatenate(columns), np.concatenate(weights).astype(np.float32)
    # Normalise by the number of crosses, so that long and short texts have the same weight.
    weight /= np.sqrt(np.bincount(cell, minlength=len(own)).astype(np.float32))[cell]
    return scipy.sparse.csr_matrix((weight, (cell, column)), shape=(len(own), COLUMNS))


def row_tokens(rows: ShuffledRows) -> tuple[TextTokens, TextTokens]:
    """The first words of the choices and of the questions of rows, as numbers."""
    numbers: dict[str, int] = {}

    def of(texts: Sequence[str], used: NDArray[np.int32], most: int) -> TextTokens:
        distinct = np.unique(used)
        tokens = np.full((len(distinct), most), MISSING, np.int64)
        for index, text in enumerate(distinct):
            found = dict.fromkeys(words(texts[text][:READ]))
            known = [numbers.setdefault(word, len(numbers)) for word in list(found)[:most]]
            tokens[index, : len(known)] = known
        return distinct.astype(np.int64), tokens

    choices = of(rows.vocabulary.choices, rows.texts[rows.valid], CHOICE_WORDS)
    return choices, of(rows.vocabulary.questions, rows.questions, QUESTION_WORDS)


def _column(own: Tokens, other: Tokens, purpose: int) -> Tokens:
    """A column for each pair of tokens: multiply-shift hashing (Dietzfelbinger 1996), the same on every machine."""
    mixed = own.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= (other.astype(np.uint64) + np.uint64(purpose << 48)) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(64 - 18)).astype(np.int64)
