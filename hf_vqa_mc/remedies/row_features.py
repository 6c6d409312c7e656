"""Features of a row's choices by which probes judge them: relations in an embedding, lengths, words.

All functions take rows that need not exist, so that a candidate for a decoy can be judged in its row: ``texts``
int32 (rows, choices) are numbers of texts, padded with MISSING, and ``asked`` (rows,) numbers of questions.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Rows, Vocabulary
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Float32s, Float64s, Int32s, Int64s, Ints
from hf_vqa_mc.decoys.rng import mixed
from hf_vqa_mc.text.embeddings import EmbeddingFamily, Embeddings

Texts = Int32s
"""(rows, choices): number of each text, padded with MISSING"""
QuestionNumbers = Int32s
"""(rows,): number of each row's question"""
Columns = Float32s
"""(rows, choices, columns)"""
AXES = 8
"""Principal components of an embedding that are features."""
_PREFIXES = (1, 2)
"""Numbers of first words of the question that are crossed with the words of a choice."""


@dataclass(frozen=True, eq=False)
class TextSpace:
    """The texts and questions of a vocabulary in one embedding."""

    name: str
    texts: Embeddings
    questions: Embeddings
    text_axes: Float32s = field(repr=False)
    """(texts + 1, AXES)"""
    question_axes: Float32s = field(repr=False)
    """(questions + 1, AXES)"""

    @classmethod
    def of(cls, name: str, texts: Embeddings, questions: Embeddings, rows: Sequence[Rows]) -> Self:
        """A space with its principal components, found on the texts and questions of some rows of the vocabulary."""
        used, asked = texts_and_questions(rows)
        axes = _principal_axes(np.vstack([texts[used], questions[asked]]))
        return cls(name, texts, questions, np.round(texts @ axes, 5), np.round(questions @ axes, 5))

    @classmethod
    def embedded(cls, family: EmbeddingFamily, *rows: Rows) -> Self:
        """The vocabulary of some rows embedded by a family."""
        vocabulary = rows[0].vocabulary
        return cls.of(family.name, family.embed(vocabulary.choices), family.embed(vocabulary.questions), rows)

    def question_cosines(self, texts: Texts, asked: QuestionNumbers) -> Float32s:
        """Cosine of each choice with its question, in [-1, 1]; 0 for padding."""
        found: Float32s = np.einsum("rcd,rd->rc", self.texts[texts], self.questions[asked])
        return found

    def centrality(self, texts: Texts) -> tuple[Float32s, Float32s]:
        """Mean and largest cosine of each choice with the others of its row."""
        vectors = self.texts[texts]
        cosines = vectors @ vectors.transpose(0, 2, 1)
        valid = texts != MISSING
        others = valid[:, :, None] & valid[:, None, :] & ~np.eye(texts.shape[1], dtype=np.bool_)
        mean = (cosines * others).sum(axis=2) / np.maximum(others.sum(axis=2), 1)
        largest = np.where(others, cosines, -1).max(axis=2)
        return mean, np.where(others.any(axis=2), largest, 0)


def texts_and_questions(rows: Sequence[Rows]) -> tuple[Ints, Ints]:
    """The numbers of the texts and of the questions that some rows of one vocabulary have, ascending."""
    texts = np.unique(np.concatenate([one.texts[one.valid] for one in rows]))
    return texts, np.unique(np.concatenate([one.questions for one in rows]))


def relation_columns(space: TextSpace, texts: Texts, asked: QuestionNumbers, question: bool) -> Columns:
    """Relations of each choice to the other choices and, with ``question``, to the question, in one embedding."""
    valid = texts != MISSING
    columns = [one for values in space.centrality(texts) for one in relative_features(values, valid)]
    axes = space.text_axes[texts]
    blocks = [axes, axes - _mean_of_others(axes, valid)]
    if question:
        columns += relative_features(space.question_cosines(texts, asked), valid)
        of_question = np.broadcast_to(space.question_axes[asked][:, None, :], axes.shape)
        blocks += [of_question, of_question * axes]
    return np.concatenate([np.stack(columns, axis=2), *blocks], axis=2).astype(np.float32)


def relative_features(values: NDArray[np.floating], valid: Bools) -> list[NDArray[np.floating]]:
    """Values (rows, choices), their difference from the mean of the row's others, and their rank in [0, 1]."""
    others = np.maximum(valid.sum(axis=1, keepdims=True) - 1, 1)
    rest = (np.where(valid, values, 0).sum(axis=1, keepdims=True) - values) / others
    lower = (values[:, :, None] > values[:, None, :]) & valid[:, None, :]
    equal = (values[:, :, None] == values[:, None, :]) & valid[:, None, :]
    rank = (lower.sum(axis=2) + (equal.sum(axis=2) - 1) / 2) / others
    return [np.where(valid, one, 0) for one in (values, values - rest, rank)]


def _mean_of_others(values: Float32s, valid: Bools) -> Float32s:
    """(rows, choices, columns): the mean over the other choices of the row."""
    some = np.where(valid[:, :, None], values, 0)
    others = np.maximum(valid.sum(axis=1) - 1, 1)[:, None, None]
    mean: Float32s = (some.sum(axis=1, keepdims=True) - some) / others
    return mean


def _principal_axes(vectors: Float32s) -> Float32s:
    """(dimensions, AXES): the first principal components, each with a fixed sign."""
    sample = vectors[:: max(len(vectors) // 20_000, 1)].astype(np.float64)
    centred = sample - sample.mean(axis=0)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :AXES]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    found: Float32s = axes.astype(np.float32)
    return found


class TextForms:
    """Lengths and words of the texts and questions of a vocabulary."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        worded = vocabulary.worded
        keys = np.append(vocabulary.keys, 0)
        self.numbers, self.starts, self.word_count = worded.numbers, worded.starts, worded.lengths
        self._of_text = keys.astype(np.int64)
        self._first_question = len(vocabulary.key_texts)
        self._beginnings = vocabulary.beginnings
        characters = np.array([*map(len, vocabulary.choices), 0], np.float32)
        upper = [float(text[:1].isupper()) for text in vocabulary.choices]
        digits = [float(any(sign.isdigit() for sign in text)) for text in vocabulary.choices]
        stops = [float(text.rstrip()[-1:] in ".!?") for text in vocabulary.choices]
        self._counted = (np.log1p(characters), np.log1p(self.word_count[self._of_text]))
        self._flags = [np.array([*flags, 0], np.float32) for flags in (upper, digits, stops)]

    def words_of(self, texts: Ints) -> tuple[Int64s, Int64s]:
        """The word numbers of some texts, concatenated, and the index of the text of each; MISSING has none."""
        return self._words(self._of_text[texts], texts != MISSING)

    def question_words(self, asked: Ints) -> tuple[Int64s, Int64s]:
        """The word numbers of some questions, concatenated, and the index of the question of each."""
        return self._words(asked.astype(np.int64) + self._first_question, np.ones(len(asked), np.bool_))

    def _words(self, index: Int64s, valid: Bools) -> tuple[Int64s, Int64s]:
        lengths = np.where(valid, self.word_count[index], 0)
        owner = np.repeat(np.arange(len(index)), lengths)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.numbers[self.starts[index][owner] + within].astype(np.int64), owner

    def columns(self, texts: Texts, asked: QuestionNumbers, question: bool) -> Columns:
        """Lengths, capital letters, digits and closing marks; with ``question``, the share of its words."""
        valid = texts != MISSING
        values = [one for counted in self._counted for one in relative_features(counted[texts], valid)]
        values += [one for flags in self._flags for one in relative_features(flags[texts], valid)[:2]]
        if question:
            values += relative_features(self.question_overlap(texts, asked), valid)
        return np.stack(values, axis=2).astype(np.float32)

    def question_overlap(self, texts: Texts, asked: QuestionNumbers) -> Float64s:
        """(rows, choices): share of each choice's words that occur in the question."""
        words, choice = self.words_of(texts.ravel())
        in_question, row = self.question_words(asked)
        base = int(max(words.max(initial=0), in_question.max(initial=0))) + 1
        known = np.unique(row * base + in_question)
        found = np.isin(choice // texts.shape[1] * base + words, known)
        lengths = np.maximum(np.bincount(choice, minlength=texts.size), 1)
        share: Float64s = np.bincount(choice, found, minlength=texts.size) / lengths
        return share.reshape(texts.shape)

    def hashed_words(
        self, texts: Texts, asked: QuestionNumbers, question: bool, size: int
    ) -> Sequence[tuple[Int64s, Int64s]]:
        """Hashed columns and choices (raveled) of words, bigrams and, with ``question``, words with its beginning."""
        words, choice = self.words_of(texts.ravel())
        bigram = (choice[1:] == choice[:-1]).nonzero()[0]
        found = [
            (_hashed(0, words, words * 0, size), choice),
            (_hashed(1, words[bigram], words[bigram + 1], size), choice[bigram]),
        ]
        for length in _PREFIXES if question else ():
            begins = self._beginnings[asked, min(length, self._beginnings.shape[1]) - 1]
            found.append((_hashed(1 + length, words, begins[choice // texts.shape[1]], size), choice))
        return found


def _hashed(kind: int, one: Ints, other: Ints, size: int) -> Int64s:
    """A column in [0, size) for each pair of numbers of one kind."""
    of_kind = np.uint64(kind) << np.uint64(60)
    codes: Any = (one.astype(np.uint64) << np.uint64(32)) ^ (other + 2).astype(np.uint64) ^ of_kind
    hashed: Any = mixed(codes) % np.uint64(size)
    return np.asarray(hashed, np.int64)


def pair_columns(
    forms: TextForms, texts: Texts, asked: QuestionNumbers, question: bool, size: int
) -> tuple[Int64s, Int64s]:
    """Hashed pairs of a word of each choice with a word of the question, else with a word of the row's other choices.

    Returns:
        Columns in [0, size) and the index of each one's choice (raveled).
    """
    width = texts.shape[1]
    words, choice = forms.words_of(texts.ravel())
    if question:
        partners, owner = forms.question_words(asked)
    else:
        partners, owner = words, choice // width
    of_row = np.bincount(owner, minlength=len(texts))
    first = np.cumsum(of_row) - of_row
    row = choice // width
    repeats = of_row[row]
    index = np.repeat(np.arange(len(words)), repeats)
    partner = first[row][index] + np.arange(len(index)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    kept = np.ones(len(index), np.bool_) if question else choice[index] != choice[partner]
    index, partner = index[kept], partner[kept]
    return _hashed(5 + question, words[index], partners[partner], size), choice[index]
