"""Features of the small models and of the networks: of each choice, relative to the others, to question and image."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.audits.closed_sets import Part
from hf_vqa_mc.audits.rows import ShuffledRows, Words
from hf_vqa_mc.audits.shortcut import ProbeInputs
from hf_vqa_mc.audits.similar_choices import trigram_codes
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.decoys.statistics import NEVER_SEEN
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, word_lists
from hf_vqa_mc.text.normalisation import SMALL_NUMBERS, words

if TYPE_CHECKING:
    from hf_vqa_mc.audits.probes.probe import Context

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


def compared(name: str, column: NDArray[np.float32], rows: ShuffledRows) -> Columns:
    """A feature's rank among the row's choices in [0, 1], of ties their mean, and indicators of highest and lowest.

    The latter are divided by the number of ties.
    """
    import pandas as pd

    by_row, sizes = pd.Series(column).groupby(rows.valid.nonzero()[0]), np.repeat(rows.sizes, rows.sizes)
    lowest, highest = (by_row.rank(method=one).to_numpy() for one in ("min", "max"))
    below, same = lowest - 1, highest - lowest + 1
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
    return {
        "words asked": np.log1p(len(question)),
        "asks how many": "how" in question and "many" in question[question.index("how") + 1 :][:1],
        "asks yes or no": bool(question) and question[0] in _YES_NO_VERBS,
        "asks for one or the other": "or" in question,
        "asks what not": "not" in question or "except" in question,
    }


def _stacked(found: Iterable[dict[str, float]], number: NDArray[np.int64]) -> Columns:
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
            # multiply-shift hashing (Dietzfelbinger 1996), the same on every machine
            mixed = of_choice[cell].astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= (of_row[cell].astype(np.uint64) + np.uint64(purpose << 48)) * np.uint64(0xC2B2AE3D27D4EB4F)
            mixed ^= mixed >> np.uint64(29)
            mixed *= np.uint64(0xBF58476D1CE4E5B9)
            columns.append((mixed >> np.uint64(64 - 18)).astype(np.int64))
            weights.append(np.ones(len(cell)) if values is None else values[cell, index])
    cell, column, weight = np.concatenate(cells), np.concatenate(columns), np.concatenate(weights).astype(np.float32)
    # Normalise by the number of crosses, so that long and short texts have the same weight.
    weight /= np.sqrt(np.bincount(cell, minlength=len(own)).astype(np.float32))[cell]
    return scipy.sparse.csr_matrix((weight, (cell, column)), shape=(len(own), COLUMNS))


FIRST_WORDS = 8  # number of beginnings of the question that are contexts; the last context is the whole question
SEEN_IN = 2  # minimum number of training choices, or of training questions, that have a sparse feature
MOST_TEXTS, MOST_GRAMS = 1 << 13, 1 << 14
"""Maximum number of features: choices as a whole, and words of choices, each; of questions. The most frequent ones
are used; this limits the time if all texts differ."""
BEGINNING = 6  # maximum length of the beginnings of questions that are features
TRIGRAMS = 1 << 14  # size of the hash table of character trigrams

Contexts = NDArray[np.integer]  # (rows,): index of the context in which each row is counted; MISSING without one
Values = NDArray[np.float64]  # (choices,)
Texts = NDArray[np.int64]
Bags = Any  # sparse float32 (texts, features): the weight of each feature in each text


class Features:
    """Features of the rows of the parts of a context; those that need no labels are computed once."""

    def __init__(self, context: "Context") -> None:
        self._context, self._rows = context, context.shuffled
        modelled = np.unique(np.concatenate([rows for one in context.parts for rows in (one.train, one.test)]))
        self._some = self._rows.take(modelled)
        self._row = modelled[self._some.valid.nonzero()[0]]

    def of(self, sees: ProbeInputs, part: Part, *, sparse: bool) -> tuple[Any, Any]:
        """Features of a part's training and test rows, two arrays float32 (choices, columns).

        With ``sparse`` two matrices with features of words, scaled for a linear model.
        """
        plain, both = self._own | (self._with_question if sees.question else {}), []
        for rows, of_rows in zip((part.train, part.test), self._counted(sees, part), strict=True):
            chosen = np.zeros(len(self._rows), np.bool_)
            chosen[rows] = True
            choices = chosen[self._row]  # the rows of a part are ascending
            dense = np.column_stack([*(column[choices] for column in plain.values()), *of_rows.values()])
            # The order of summation changes the last digits, at which trees would split.
            both.append(np.round(dense.astype(np.float64), 6).astype(np.float32))
        if not sparse:
            return both[0], both[1]
        fitted = self._rows.take(part.train)
        row = fitted.valid.nonzero()[0]
        means = np.column_stack([np.bincount(row, column) for column in both[0].T]) / fitted.sizes[:, None]
        spread = np.sqrt(np.mean((both[0] - means[row]) ** 2, axis=0))
        kept = spread > 1e-6  # features shared by all choices of a row cancel out in the linear model
        crossed = [self._crossed(sees, rows) for rows in (part.train, part.test)]
        often = np.flatnonzero(np.bincount(crossed[0].indices, minlength=crossed[0].shape[1]) >= SEEN_IN)
        train, test = (
            scipy.sparse.hstack([scipy.sparse.csr_matrix(one[:, kept] / spread[kept]), words[:, often]], format="csr")
            for one, words in zip(both, crossed, strict=True)
        )
        return train, test

    @cached_property
    def _own(self) -> Columns:
        """Features of the choices alone, of their frequencies, and of their positions, if these are ordered."""
        from sklearn.feature_extraction.text import HashingVectorizer

        rows, presented = self._some, np.bincount(self._rows.keys[self._rows.valid])
        used, number = np.unique(rows.texts[rows.valid], return_inverse=True)
        texts = _beginnings(rows.vocabulary.choices, used)
        lengths = [len(rows.vocabulary.choices[text]) for text in used.tolist()]
        columns = _stacked(map(_of_text, texts.to_pylist(), word_lists(texts), lengths), number)
        hashing = HashingVectorizer(analyzer="char_wb", ngram_range=(3, 3), binary=True, norm=None, dtype=np.float32,
                                    alternate_sign=False)  # fmt: skip
        columns["presented"] = np.log(presented[rows.keys[rows.valid]]).astype(np.float32)
        columns["trigrams shared"] = _shared_with_others(hashing.transform(texts.to_pylist()), number, rows)
        columns["words shared"] = _shared_with_others(_words(texts), number, rows)
        for name in ("characters", "words", "presented", "trigrams shared", "words shared"):
            columns |= compared(name, columns[name], rows)
        if self._context.split.ordered:
            position = np.minimum(rows.positions, POSITIONS)
            each = {f"position {index}": position == index for index in range(min(position.shape[1], POSITIONS))}
            each = {"position": position, **each, "last position": rows.positions == rows.sizes[:, None] - 1}
            columns |= {name: values[rows.valid].astype(np.float32) for name, values in each.items()}
        return columns

    @cached_property
    def _with_question(self) -> Columns:
        rows = self._some
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
            columns[f"{kind} where it {asks}"] = columns[asks] * self._own[kind]
        return columns

    @cached_property
    def _tokens(self) -> tuple[TextTokens, TextTokens]:
        """The first words of the choices and of the questions, as numbers."""
        rows = self._some
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

    def _crossed(self, sees: ProbeInputs, of_rows: NDArray[np.int64]) -> Any:  # noqa: ANN401  sparse
        """Words of the choices, crossed with those of the question and with the image, sparse (choices, COLUMNS).

        If choices are ordered, question and image are also crossed with the position of the choice.
        """
        rows, (choices, questions), ordered = self._rows.take(of_rows), self._tokens, self._context.split.ordered
        row = rows.valid.nonzero()[0]
        tokens = choices[1][np.searchsorted(choices[0], rows.texts[rows.valid])]
        # The whole text is one more token unless it is a single word; words have lower numbers.
        is_word = (tokens[:, 0] != MISSING) & (tokens[:, 1] == MISSING)
        whole = rows.keys[rows.valid].astype(np.int64) + (1 << 40)
        choice = np.column_stack([tokens, np.where(is_word, MISSING, whole)])
        position = np.minimum(rows.positions[rows.valid], POSITIONS)[:, None].astype(np.int64)
        parts = [_crosses(choice, 1)]
        if sees.question:
            question = questions[1][np.searchsorted(questions[0], rows.questions)][row]
            parts.append(_crosses(choice, 2, question))
            if ordered:  # independent of the text of the choice
                parts.append(_crosses(position, 3, np.maximum(question[:, :1], 0)))
        if sees.image:
            clusters, directions = self._image[0][of_rows][row], self._image[1][of_rows][row]
            components = np.broadcast_to(np.arange(directions.shape[1]), directions.shape)
            for purpose, names, values in ((4, clusters, None), (6, components, directions)):
                own = ((choice, purpose), (position, purpose + 1))[: 1 + ordered]
                parts += [_crosses(tokens, salt, names, values) for tokens, salt in own]
        return scipy.sparse.csr_matrix(sum(parts[1:], parts[0]))

    @cached_property
    def _image(self) -> ImageGroups:
        """Cluster the images of the used rows and compute principal components; their vectors may be NaN."""
        from sklearn.cluster import MiniBatchKMeans
        from sklearn.decomposition import PCA

        vectors, seed, n_rows = self._context.images[0], self._context.settings.seed, len(self._rows)
        assert vectors is not None  # noqa: S101  else no probe that sees images is run
        valid = np.isfinite(vectors).all(axis=1)
        rows, given = self._context.used[valid], vectors[valid].astype(np.float64)
        clusters = np.full((n_rows, len(CLUSTERS)), MISSING, np.int64)
        directions = np.zeros((n_rows, DIRECTIONS), np.float32)
        if not len(given) or not np.ptp(given, axis=0).any():
            return clusters, directions
        rng = np.random.default_rng(seed)
        some = given if len(given) <= FITTED_ON else given[rng.choice(len(given), FITTED_ON, replace=False)]
        n_directions = min(DIRECTIONS, *some.shape)
        main = PCA(n_directions, random_state=seed).fit(some)
        scale = np.sqrt(np.maximum(main.explained_variance_, 1e-12 * main.explained_variance_[0]))
        projected, near = main.transform(given), main.transform(some)
        directions[rows, :n_directions] = np.clip(projected / scale, -3, 3)
        distinct = len(np.unique(np.round(near, 6), axis=0))
        for index, most in enumerate(CLUSTERS):
            n_clusters = max(min(most, len(some) // ROWS_A_CLUSTER, distinct), 1)
            groups = MiniBatchKMeans(n_clusters, random_state=seed, n_init=3, batch_size=1024).fit(near)
            clusters[rows, index] = groups.predict(projected)
        return clusters, directions

    def _counted(self, sees: ProbeInputs, part: Part) -> tuple[Columns, Columns]:
        """Features counted from labels, of the training and of the test rows: log odds of P(correct | choice).

        They are by eq. 2, then by estimates in narrower and narrower contexts, each of which has that of the wider one
        as a prior with the weight of one row, as in `priors.question_answer_prior`. Counts of texts below
        `Context.least_counted` are 0: if decoys are targets of other rows, a rare text that was never correct in the
        training rows must be the target, a leak for models trained on the answers of the same split alone.
        """
        known, train, test = (self._rows.take(rows) for rows in (part.counted, part.train, part.test))
        chosen = np.repeat(np.isin(part.counted, part.train), known.sizes)
        decoys = max(float(np.median(known.sizes)) - 1, 1.0)
        right, count = _counts(known, part.inner, test, np.zeros(len(known), np.int64), np.zeros(len(test), np.int64))
        frequent = count >= max(self._context.least_counted, 1)
        right, count = right * frequent, count * frequent
        prior = np.where(count > 0, right * decoys / np.maximum(right * decoys + (count - right), 1), NEVER_SEEN)
        named = {"seen": np.log1p(count), "prior": _log_odds(prior)}
        for name, contexts in self._contexts(sees).items():
            steps = [prior]
            for context in contexts:
                found = _counts(known, part.inner, test, context[part.counted], context[part.test])
                right, count = (one * frequent for one in found)
                steps.append((right + steps[-1]) / (right + (count - right) / decoys + 1))
            named[f"prior by {name}"] = _log_odds(steps[-1])
            named[f"prior by {name}, roughly"] = _log_odds(steps[len(steps) // 2])
        columns: tuple[Columns, Columns] = ({}, {})
        for name, values in named.items():
            of_known, of_test = np.split(values.astype(np.float32), [len(chosen)])
            for rows, of_rows, own in zip((train, test), columns, (of_known[chosen], of_test), strict=True):
                of_rows |= {name: own} | compared(name, own, rows)
        return columns

    def _contexts(self, sees: ProbeInputs) -> dict[str, list[Contexts]]:
        """Contexts of all rows for counting choices, from the widest to the narrowest."""
        beginnings = self._rows.vocabulary.beginnings[:, :FIRST_WORDS]
        question = [*beginnings[self._rows.questions].T, self._rows.questions] if sees.question else []
        image = list(self._image[0].T) if sees.image else []
        both = [
            np.where((one == MISSING) | (other == MISSING), MISSING, one.astype(np.int64) * (other.max() + 1) + other)
            for one in question[:2]
            for other in image
        ]
        named = {"question": question, "image": image, "question and image": both}
        return {name: contexts for name, contexts in named.items() if contexts}


def _counts(
    train: ShuffledRows, folds: NDArray[np.integer], test: ShuffledRows, of_train: Contexts, of_test: Contexts
) -> tuple[Values, Values]:
    """(correct, presented) counts in the contexts, for the choices of the training and then of the test rows.

    Counts of a training row are of the other ``folds`` (training rows,), from 0: else they would contain its label.
    """
    codes, wanted = _codes(train, of_train), _codes(test, of_test)
    known, code = np.unique(codes, return_inverse=True)
    n_folds = int(folds.max()) + 1
    own = code, folds[train.valid.nonzero()[0]]
    cell, counted = code * n_folds + own[1], np.where(codes >= 0, 1.0, 0.0)
    count, right = (
        np.bincount(cell, weights, len(known) * n_folds).reshape(-1, n_folds)
        for weights in (counted, train.is_target[train.valid] * counted)
    )
    index = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found = (known[index] == wanted) & (wanted >= 0)
    rights, counts = (
        np.concatenate([one.sum(1)[code] - one[own], one.sum(1)[index] * found]) for one in (right, count)
    )
    return rights, counts


def _codes(rows: ShuffledRows, contexts: Contexts) -> NDArray[np.int64]:
    """An integer for each pair of context and choice text, negative without a context: (choices,)."""
    context = np.repeat(contexts.astype(np.int64), rows.sizes)
    return np.where(context == MISSING, MISSING, context * len(rows.vocabulary.key_texts) + rows.keys[rows.valid])


def _log_odds(likelihood: Values) -> Values:
    bounded = np.clip(likelihood, 0.02, 0.98)
    return np.log(bounded / (1 - bounded))


def choice_bags(train: ShuffledRows, used: Texts, least: int = 0) -> Bags:
    """Comparable texts (``used``, ascending) as the text itself, its words and its character trigrams.

    ``least`` is the minimum number of training choices with a text, below which the text itself is no feature.
    """
    counts = np.bincount(np.searchsorted(used, train.keys[train.valid]), minlength=len(used))
    itself = scipy.sparse.eye_array(len(used), dtype=np.float32, format="csr")
    codes, text = trigram_codes([train.vocabulary.key_texts[key] for key in used.tolist()])
    hashed = codes * np.uint64(0x9E3779B97F4A7C15) >> np.uint64(64 - 14)  # multiply-shift (Dietzfelbinger 1996)
    trigrams = _bags(text, hashed.astype(np.int64), len(used), TRIGRAMS)
    parts = [_frequent(one, counts, most) for one, most in ((train.vocabulary.worded.matrix[used], MOST_TEXTS),
                                                             (trigrams, TRIGRAMS))]  # fmt: skip
    for bags in parts:
        bags.data /= np.sqrt(np.repeat(np.diff(bags.indptr), np.diff(bags.indptr)))
    itself = _frequent(itself, counts, MOST_TEXTS, max(least, SEEN_IN))
    return scipy.sparse.hstack([itself, *parts], format="csr")


def question_bags(train: ShuffledRows, used: Texts) -> Bags:
    """Questions (``used``, ascending) as the mean of their words, bigrams and beginnings."""
    counts = np.bincount(np.searchsorted(used, train.questions), minlength=len(used))
    words = train.vocabulary.worded.matrix[used + len(train.vocabulary.key_texts)]
    text = np.repeat(np.arange(len(used)), np.diff(words.indptr))
    pair = words.indices[:-1].astype(np.int64) * words.shape[1] + words.indices[1:]
    inside = text[1:] == text[:-1]
    bigrams = _bags(text[1:][inside], np.unique(pair[inside], return_inverse=True)[1], len(used))
    beginnings = train.vocabulary.beginnings[used, :BEGINNING]
    row, length = (beginnings != MISSING).nonzero()
    begun = _bags(row, beginnings[row, length], len(used))
    bags = _frequent(scipy.sparse.hstack([words, bigrams, begun], format="csr"), counts, MOST_GRAMS)
    bags.data /= np.repeat(np.diff(bags.indptr), np.diff(bags.indptr))
    return bags


def _bags(text: Texts, feature: Texts, texts: int, features: int | None = None) -> Bags:
    size = int(feature.max(initial=0)) + 1 if features is None else features
    return scipy.sparse.csr_matrix((np.ones(len(text), np.float32), (text, feature)), shape=(texts, size))


def _frequent(bags: Bags, counts: NDArray[np.integer], most: int, least: int = SEEN_IN) -> Bags:
    """The most frequent features of at least ``least`` texts; ``counts`` (texts,) is the frequency of each text."""
    bags.sum_duplicates()
    bags.data[:] = 1
    frequency = counts @ bags
    kept = np.argsort(-frequency, kind="stable")[:most]
    return scipy.sparse.csr_matrix(bags[:, np.sort(kept[frequency[kept] >= least])])
