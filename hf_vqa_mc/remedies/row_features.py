"""Features of a row's choices by which probes judge them: relations in an embedding, lengths, words.

All functions take rows that need not exist, so that a candidate for a decoy can be judged in its row: ``texts``
int32 (rows, choices) are numbers of texts, padded with MISSING, and ``asked`` (rows,) numbers of questions.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows, Vocabulary
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float32s, Int32s, Int64s, Ints
from hf_vqa_mc.decoys.rng import mixed
from hf_vqa_mc.text.embeddings import EmbeddingFamily, Embeddings

Columns = NDArray[np.float32]  # (rows, choices, columns)
AXES = 8  # principal components of an embedding that are features
BEGINNING = 2
"""First words that questions share, such as "Where is", so that a choice of the one can be one of the other."""
_PREFIXES = (1, 2)  # numbers of first words of the question that are crossed with the words of a choice
_AT_A_TIME = 512


@dataclass(frozen=True, eq=False)
class TextSpace:
    """The texts and questions of a vocabulary in one embedding."""

    name: str
    texts: Embeddings
    questions: Embeddings
    text_axes: Float32s = field(repr=False)  # (texts + 1, AXES): principal components
    question_axes: Float32s = field(repr=False)  # (questions + 1, AXES)

    @classmethod
    def of(cls, name: str, texts: Embeddings, questions: Embeddings, rows: Sequence[Rows]) -> Self:
        """A space with its principal components, found on the texts and questions of some rows of the vocabulary."""
        used, asked = texts_and_questions(rows)
        vectors = np.vstack([texts[used], questions[asked]])
        sample = vectors[:: max(len(vectors) // 20_000, 1)].astype(np.float64)
        centred = sample - sample.mean(axis=0)
        axes = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :AXES]
        signs = np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])  # fixes the signs
        axes = (axes * signs).astype(np.float32)
        return cls(name, texts, questions, np.round(texts @ axes, 5), np.round(questions @ axes, 5))

    @classmethod
    def embedded(cls, family: EmbeddingFamily, *rows: Rows) -> Self:
        """The vocabulary of some rows embedded by a family."""
        vocabulary = rows[0].vocabulary
        return cls.of(family.name, family.embed(vocabulary.choices), family.embed(vocabulary.questions), rows)

    def question_cosines(self, texts: Int32s, asked: Int32s) -> Float32s:
        """Cosine of each choice with its question, in [-1, 1]; 0 for padding."""
        found: Float32s = np.einsum("rcd,rd->rc", self.texts[texts], self.questions[asked])
        return found

    def centrality(self, texts: Int32s) -> tuple[Float32s, Float32s]:
        """Mean and largest cosine of each choice with the others of its row."""
        vectors = self.texts[texts]
        cosines = vectors @ vectors.transpose(0, 2, 1)
        valid = texts != MISSING
        others = valid[:, :, None] & valid[:, None, :] & ~np.eye(texts.shape[1], dtype=np.bool_)
        mean = (cosines * others).sum(axis=2) / np.maximum(others.sum(axis=2), 1)
        largest = np.where(others, cosines, -1).max(axis=2)
        return mean, np.where(others.any(axis=2), largest, 0)

    def relations(self, texts: Int32s, asked: Int32s, question: bool) -> Columns:
        """Relations of each choice to the other choices and, with ``question``, to the question."""
        valid = texts != MISSING
        columns = [one for values in self.centrality(texts) for one in relative_features(values, valid)]
        axes = self.text_axes[texts]
        some, others = np.where(valid[:, :, None], axes, 0), np.maximum(valid.sum(axis=1) - 1, 1)[:, None, None]
        blocks = [axes, axes - (some.sum(axis=1, keepdims=True) - some) / others]
        if question:
            columns += relative_features(self.question_cosines(texts, asked), valid)
            of_question = np.broadcast_to(self.question_axes[asked][:, None, :], axes.shape)
            blocks += [of_question, of_question * axes]
        return np.concatenate([np.stack(columns, axis=2), *blocks], axis=2).astype(np.float32)


def texts_and_questions(rows: Sequence[Rows]) -> tuple[Ints, Ints]:
    """The numbers of the texts and of the questions that some rows of one vocabulary have, ascending."""
    texts = np.unique(np.concatenate([one.texts[one.valid] for one in rows]))
    return texts, np.unique(np.concatenate([one.questions for one in rows]))


def relative_features(values: NDArray[np.floating], valid: Bools) -> list[NDArray[np.floating]]:
    """Values (rows, choices), their difference from the mean of the row's others, and their rank in [0, 1]."""
    others = np.maximum(valid.sum(axis=1, keepdims=True) - 1, 1)
    rest = (np.where(valid, values, 0).sum(axis=1, keepdims=True) - values) / others
    lower = (values[:, :, None] > values[:, None, :]) & valid[:, None, :]
    equal = (values[:, :, None] == values[:, None, :]) & valid[:, None, :]
    rank = (lower.sum(axis=2) + (equal.sum(axis=2) - 1) / 2) / others
    return [np.where(valid, one, 0) for one in (values, values - rest, rank)]


class TextForms:
    """Lengths and words of the texts and questions of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary
        self.lengths = np.array([*map(len, vocabulary.choices), 0], np.float32)  # (texts + 1,): characters
        upper = [float(text[:1].isupper()) for text in vocabulary.choices]
        digits = [float(any(sign.isdigit() for sign in text)) for text in vocabulary.choices]
        stops = [float(text.rstrip()[-1:] in ".!?") for text in vocabulary.choices]
        self._counted = (np.log1p(self.lengths), np.log1p(vocabulary.worded.lengths[np.append(vocabulary.keys, 0)]))
        self._flags = [np.array([*flags, 0], np.float32) for flags in (upper, digits, stops)]

    def columns(self, texts: Int32s, asked: Int32s, question: bool) -> Columns:
        """Lengths, capital letters, digits and closing marks; with ``question``, the share of its words."""
        valid = texts != MISSING
        values = [one for counted in self._counted for one in relative_features(counted[texts], valid)]
        values += [one for flags in self._flags for one in relative_features(flags[texts], valid)[:2]]
        if question:
            values += relative_features(self._vocabulary.question_overlap(texts, asked), valid)
        return np.stack(values, axis=2).astype(np.float32)

    def hashed_words(self, texts: Int32s, asked: Int32s, question: bool, size: int) -> list[tuple[Int64s, Int64s]]:
        """Hashed columns and choices (raveled) of words, bigrams and, with ``question``, words with its beginning."""
        words, choice = self._vocabulary.words_of(texts.ravel())
        bigram = (choice[1:] == choice[:-1]).nonzero()[0]
        found = [
            (_hashed(0, words, words * 0, size), choice),
            (_hashed(1, words[bigram], words[bigram + 1], size), choice[bigram]),
        ]
        beginnings = self._vocabulary.beginnings
        for length in _PREFIXES if question else ():
            begins = beginnings[asked, min(length, beginnings.shape[1]) - 1]
            found.append((_hashed(1 + length, words, begins[choice // texts.shape[1]], size), choice))
        return found

    def hashed_pairs(self, texts: Int32s, asked: Int32s, question: bool, size: int) -> tuple[Int64s, Int64s]:
        """As `hashed_words`, of pairs of a choice's word and one of the question, else of the row's other choices."""
        words, choice = self._vocabulary.words_of(texts.ravel())
        row = choice // texts.shape[1]
        partners, owner = self._vocabulary.question_words(asked) if question else (words, row)
        of_row = np.bincount(owner, minlength=len(texts))
        repeats = of_row[row]
        index = np.repeat(np.arange(len(words)), repeats)
        first = (np.cumsum(of_row) - of_row)[row][index]
        partner = first + np.arange(len(index)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        kept = np.ones(len(index), np.bool_) if question else choice[index] != choice[partner]
        index, partner = index[kept], partner[kept]
        return _hashed(5 + question, words[index], partners[partner], size), choice[index]


def _hashed(kind: int, one: Ints, other: Ints, size: int) -> Int64s:
    """A column in [0, size) for each pair of numbers of one kind."""
    of_kind = np.uint64(kind) << np.uint64(60)
    codes: Any = (one.astype(np.uint64) << np.uint64(32)) ^ (other + 2).astype(np.uint64) ^ of_kind
    hashed: Any = mixed(codes) % np.uint64(size)
    return np.asarray(hashed, np.int64)


def in_blocks(score: Callable[[Int64s], NDArray[Any]], size: int, block: int = 4096) -> NDArray[Any]:
    """Results of a function of row numbers, computed for some rows at a time to limit memory."""
    parts = [score(np.arange(first, min(first + block, size))) for first in range(0, max(size, 1), block)]
    return np.concatenate(parts)


def choice_columns(
    spaces: Sequence[TextSpace], forms: TextForms, texts: Int32s, asked: Int32s, question: bool
) -> Columns:
    """Relations of each choice in every space, and lengths; with ``question``, also to the question."""

    def block(some: Int64s) -> Columns:
        parts = [one.relations(texts[some], asked[some], question) for one in spaces]
        return np.concatenate([*parts, forms.columns(texts[some], asked[some], question)], axis=2)

    return in_blocks(block, len(texts))


def row_vectors(spaces: Sequence[TextSpace], rows: Rows, choices_weight: float = 0.0) -> Float32s:
    """Vectors (rows, dimensions) whose products are the similarities of rows, in the mean over the spaces.

    The similarity is the cosine of the questions plus ``choices_weight`` times the mean cosine between their choices.
    """
    parts = [space.questions[rows.questions] for space in spaces]
    if choices_weight:
        scale = np.sqrt(choices_weight) / rows.sizes[:, None]
        parts += [sum(space.texts[column] for column in rows.texts.T) * scale for space in spaces]
    found: Float32s = (np.concatenate(parts, axis=1) / np.sqrt(len(spaces))).astype(np.float32)
    return found


def similar_rows(
    vectors: Float32s,
    groups: Ints,
    of: Ints,
    among: Ints,
    most: int,
    kinds: Ints | None = None,
    least: float = -np.inf,
) -> tuple[Int64s, Float32s]:
    """For each of the rows ``of``, up to ``most`` similar ones ``among`` rows (ascending) of other groups.

    ``vectors`` are `row_vectors`; ``groups`` (image, video or context) and ``kinds``, in which neighbours are equal,
    are (rows,); ``least`` is the smallest similarity. Returns row numbers int64 (of, most), padded with MISSING, the
    most similar first, and similarities.
    """
    most = min(most, len(among))
    found, similarity = np.full((len(of), most), MISSING, np.int64), np.full((len(of), most), -1.0, np.float32)
    kind_of, kind_among = (np.zeros(len(some)) if kinds is None else kinds[some] for some in (of, among))
    for kind in np.unique(kind_of):
        rows, others = np.flatnonzero(kind_of == kind), among[kind_among == kind]
        count = min(most, len(others))
        for first in range(0, len(rows) if count else 0, _AT_A_TIME):
            at = rows[first : first + _AT_A_TIME]
            products = np.round(vectors[of[at]] @ vectors[others].T, 5)
            products[groups[of[at]][:, None] == groups[others]] = -np.inf
            best = np.sort(np.argpartition(-products, count - 1, axis=1)[:, :count], axis=1)
            values = np.take_along_axis(products, best, axis=1)
            order = np.argsort(-values, axis=1, kind="stable")
            best, values = (np.take_along_axis(one, order, axis=1) for one in (best, values))
            valid = np.isfinite(values) & (values >= least)
            found[at, :count] = np.where(valid, others[best], MISSING)
            similarity[at, :count] = np.where(valid, values, -1)
    return found, similarity
