"""The rows of a dataset with each distinct text once, as integers, so that figures are computed per distinct text."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy
from numpy.typing import NDArray

from hf_vqa_mc.data.cells import as_array, as_lists, as_mask
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.schema import checked_rows
from hf_vqa_mc.scoring.vqa_normalisation import ARTICLES, CONTRACTIONS, NUMBERS, normalised
from hf_vqa_mc.text.comparison import differ_in_case
from hf_vqa_mc.text.many_texts import comparable_keys, comparable_texts, numbered_words, texts_of

PADDING, LEAST_CELLS = 10, 10_000_000  # maximum size of (rows, choices): relative to the choices, or in cells
PERIODS = range(2, 13)  # periods of labels that are searched for
BLOCKS, LEAST_ROWS = (20, 5, 100), 20
"""Maximum numbers of blocks of rows whose labels are compared (the linter: the first), and minimum rows of each."""
MOST_WORDS = 40  # maximum length of a question's beginning, which limits memory if one question is very long

Codes = NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class Words:
    """The words of each text, see `text.normalisation.words`."""

    numbers: Codes  # (all words,): number of each word, concatenated
    starts: NDArray[np.int64]  # (texts + 1,): start of each text's words
    words: pa.Array  # large_string: the distinct words

    @cached_property
    def vocabulary(self) -> list[str]:
        """The distinct words as a list."""
        return texts_of(self.words)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(texts,): number of words."""
        return np.diff(self.starts)

    @cached_property
    def matrix(self) -> Any:  # noqa: ANN401  sparse
        """Sparse float32 (texts, words): the words of each text in their order, repeated words several times."""
        ones, shape = np.ones(len(self.numbers), np.float32), (len(self.lengths), max(len(self.words), 1))
        return scipy.sparse.csr_matrix((ones, self.numbers.copy(), self.starts), shape=shape)

    @property
    def texts(self) -> NDArray[np.int64]:
        """(all words,): index of each word's text."""
        return np.repeat(np.arange(len(self.lengths)), self.lengths)

    def of(self, texts: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The words of some texts, concatenated, and the index of the text of each; MISSING has none."""
        lengths = np.where(texts == MISSING, 0, self.lengths[texts])
        owner = np.repeat(np.arange(len(texts)), lengths)
        within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.numbers[self.starts[:-1][texts][owner] + within].astype(np.int64), owner

    def at(self, position: int) -> Codes:
        """(texts,): number of the word at a position; MISSING in shorter texts."""
        longer = self.lengths > position
        found = np.full(len(longer), MISSING, np.int32)
        found[longer] = self.numbers[self.starts[:-1][longer] + position]
        return found


class Tree:
    """The first ``depth`` words of texts, such as questions, as a tree."""

    def __init__(self, words: Words, depth: int) -> None:
        nodes = np.full((len(words.lengths), depth + 1), MISSING, np.int32)  # the last column is before the first word
        levels, size = [], 0
        for position in range(depth):
            word = words.at(position)
            longer = np.flatnonzero(word != MISSING)
            codes, found = np.unique(pairs(nodes[longer, position - 1], word[longer]), return_inverse=True)
            nodes[longer, position] = found + size
            levels.append(codes)
            size += len(codes)
        self.nodes: Codes = nodes[:, :depth]
        """(texts, depth): node of each distinct text's first word, first two words and so on; else MISSING"""
        self.parents, self.words = unpaired(np.concatenate(levels))
        """(nodes,): MISSING for a first word; number of the last word"""

    def counts(self, of_texts: NDArray[np.int64]) -> NDArray[np.int64]:
        """(nodes,): number of texts that begin so, from (texts,) that of each distinct text."""
        rows, columns = np.nonzero(self.nodes != MISSING)
        return np.bincount(self.nodes[rows, columns], of_texts[rows], len(self.words)).astype(np.int64)

    def path(self, node: int, vocabulary: Sequence[str]) -> list[str]:
        """The words that lead to a node."""
        if node == MISSING:
            return []
        return [*self.path(int(self.parents[node]), vocabulary), vocabulary[self.words[node]]]


@dataclass(frozen=True, eq=False, repr=False)
class Column:
    """Texts by number; empty texts are missing."""

    distinct: pa.Array  # large_string: distinct texts; some may occur in no row
    codes: Codes  # (rows,): index of each row's text, MISSING without one

    @classmethod
    def of(cls, texts: pa.Array | pa.ChunkedArray) -> Self:
        """Number texts; null and "" are missing."""
        joined = as_array(texts.cast(pa.large_string()))
        encoded = pc.if_else(pc.equal(joined, ""), None, joined).dictionary_encode()
        codes = encoded.indices.fill_null(MISSING).to_numpy(zero_copy_only=False)
        return cls(encoded.dictionary, codes.astype(np.int32))

    def take(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> "Column":
        """Some of the rows."""
        return Column(self.distinct, self.codes[rows])

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """(rows,): whether the row has a text."""
        return np.asarray(self.codes != MISSING)

    @cached_property
    def counts(self) -> NDArray[np.int64]:
        """(distinct,): number of rows with each text."""
        return np.bincount(self.codes[self.valid], minlength=len(self.distinct))

    @property
    def different(self) -> int:
        """Number of distinct texts in the rows."""
        return int((self.counts > 0).sum())

    @cached_property
    def ranks(self) -> NDArray[np.int64]:
        """(distinct,): rank of each text in alphabetical order."""
        return np.asarray(pc.rank(self.distinct), np.int64)

    @cached_property
    def texts(self) -> list[str]:
        """(distinct,): the texts."""
        return texts_of(self.distinct)

    @cached_property
    def comparable(self) -> "Column":
        """The texts in the form in which they count as equal: lower case, no punctuation, numbers as words."""
        found = Column.of(comparable_texts(self.distinct)[0])
        return Column(found.distinct, np.append(found.codes, MISSING)[self.codes].astype(np.int32))

    @cached_property
    def words(self) -> Words:
        """The words of the distinct texts."""
        return Words(*numbered_words(*comparable_texts(self.distinct)))

    def most_frequent(self, most: int) -> list[int]:
        """Indices of the most frequent texts; of equally frequent ones the first in alphabetical order."""
        order = np.lexsort((self.ranks, -self.counts))[:most]
        return [index for index in order.tolist() if self.counts[index]]


class Lists:
    """A column of lists: several texts per row."""

    def __init__(self, lists: pa.Array | pa.ChunkedArray) -> None:
        texts, self.lengths = as_lists(lists)  # (rows,)
        self.flat = Column.of(texts)  # the texts of all rows, concatenated
        self.starts = np.cumsum(self.lengths) - self.lengths  # (rows,): index of each row's first text
        self.rows = np.repeat(np.arange(len(self.lengths)), self.lengths)  # (texts,): row of each text


@cache
def no_lists() -> Lists:
    """The column of a dataset without lists; pyarrow imports pandas to make it."""
    return Lists(pa.array([], pa.list_(pa.string())))


def pairs(one: NDArray[np.integer], other: NDArray[np.integer]) -> NDArray[np.int64]:
    """A number for each pair of numbers in [-1, 2**31)."""
    return (one.astype(np.int64) + 1) * 2**32 + other + 1


def unpaired(codes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Both numbers of each pair.

    >>> [numbers.tolist() for numbers in unpaired(pairs(np.array([-1, 7]), np.array([5, -1])))]
    [[-1, 7], [5, -1]]
    """
    return codes // 2**32 - 1, codes % 2**32 - 1


def grouped(codes: NDArray[np.integer], *others: NDArray[np.integer]) -> NDArray[np.int64]:
    """A number from 0 for each combination of codes."""
    for other in others:
        codes = pairs(np.unique(codes, return_inverse=True)[1], other)
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def official_texts(texts: pa.Array) -> pa.Array:
    """Texts normalised as in the official evaluation; those with operators, which it removes, are `comparable`.

    A text of articles only is its own key. Most need only lower case, which Arrow does for all at once.
    """
    changed = [*ARTICLES, *NUMBERS, *(word for word in CONTRACTIONS if word.isalnum())]
    lower = pc.ascii_lower(texts)
    same = pc.match_substring_regex(lower, "^[a-z0-9]+( [a-z0-9]+)*$")
    others = pc.invert(pc.and_not(same, pc.match_substring_regex(lower, rf"\b({'|'.join(changed)})\b")))
    slow = [unicodedata.normalize("NFC", text) for text in texts_of(texts.filter(others))]
    made = pa.array([normalised(text) or text.strip().lower() for text in slow], pa.large_string())
    keys, signed, _ = comparable_keys(texts)
    return pc.if_else(pa.array(signed), keys, pc.replace_with_mask(lower, others, made))


@dataclass(frozen=True, eq=False, repr=False)
class Vocabulary:
    """All distinct texts of the splits of a dataset; a text's number is its index."""

    choices: list[str]  # distinct choices, as published
    keys: NDArray[np.int32]  # (choices,): number of the comparable text, shared by choices that count as the same text
    key_texts: list[str]  # (keys,): the comparable texts
    questions: list[str]  # distinct questions, as published
    signed: NDArray[np.bool_]  # (choices,): whether operators or case make it different from all texts with other keys
    tuples: NDArray[np.bool_]  # (choices,): whether it is a tuple, which differs from tuples with other keys

    @cached_property
    def trimmed(self) -> pa.Array:
        """The choices without surrounding white space, large_string."""
        return pc.utf8_trim_whitespace(pa.array(self.choices, pa.large_string()))

    @cached_property
    def worded(self) -> Words:
        """The words of all comparable texts, and then of the questions."""
        written = self.key_texts.copy()
        for key, choice in zip(*np.unique(self.keys, return_index=True), strict=True):
            written[key] = self.choices[choice]
        (keys, has_words), (questions, have_words) = comparable_texts(written), comparable_texts(self.questions)
        return Words(*numbered_words(pa.concat_arrays([keys, questions]), np.concatenate([has_words, have_words])))

    @cached_property
    def beginnings(self) -> NDArray[np.int32]:
        """(questions, words): number of each question's first word, first two words and so on, up to MOST_WORDS.

        MISSING where a question has fewer words.
        """
        questions = replace(self.worded, starts=self.worded.starts[len(self.key_texts) :])
        return Tree(questions, max(min(int(questions.lengths.max()), MOST_WORDS), 1)).nodes

    def words_of(self, texts: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The words of some choices, concatenated, and the index of the choice of each; MISSING has none."""
        return self.worded.of(np.append(self.keys, MISSING)[texts])

    def question_words(self, questions: NDArray[np.integer]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """As `words_of`, of some questions."""
        return self.worded.of(questions.astype(np.int64) + len(self.key_texts))

    def question_overlap(self, texts: NDArray[np.integer], questions: NDArray[np.integer]) -> NDArray[np.float64]:
        """Share of each choice's words that occur in the row's question: texts and result (rows, choices)."""
        words, choice = self.words_of(texts.ravel())
        in_question, row = self.question_words(questions)
        base = int(max(words.max(initial=0), in_question.max(initial=0))) + 1
        # by hashes, several times faster than np.isin
        found = pc.is_in(pa.array(choice // texts.shape[1] * base + words), pa.array(row * base + in_question))
        lengths = np.maximum(np.bincount(choice, minlength=texts.size), 1)
        return np.asarray(np.bincount(choice, as_mask(found), minlength=texts.size) / lengths).reshape(texts.shape)


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """The rows of a split with the target in column 0, which probes must not exploit."""

    texts: NDArray[np.int32]  # (rows, choices): index of each choice in ``vocabulary.choices``, padded with MISSING
    positions: NDArray[np.int32]  # (rows, choices): index of each choice in the published order, padded with MISSING
    questions: NDArray[np.int32]  # (rows,): index of each question in ``vocabulary.questions``
    vocabulary: Vocabulary  # shared by all splits of the dataset

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.positions)

    @cached_property
    def valid(self) -> NDArray[np.bool_]:
        """(rows, choices): mask, False for padding."""
        return np.asarray(self.positions != MISSING)

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """(rows,): number of choices."""
        return np.asarray(self.valid.sum(axis=1))

    @cached_property
    def chance(self) -> NDArray[np.float64]:
        """(rows,): accuracy of random guessing."""
        return 1.0 / self.sizes

    @cached_property
    def keys(self) -> NDArray[np.int32]:
        """(rows, choices): number of each choice's comparable text, padded with MISSING."""
        return np.where(self.valid, self.vocabulary.keys[self.texts], MISSING).astype(np.int32)

    @cached_property
    def different(self) -> NDArray[np.bool_]:
        """(rows, choices): whether a sign, an operator or the order of a tuple makes it another text than the target.

        So do letters of another case, see `differ_in_case`.
        """
        signed, tuples = (table[self.texts] for table in (self.vocabulary.signed, self.vocabulary.tuples))
        both = signed | signed[:, :1] | (tuples & tuples[:, :1])
        return np.asarray((self.keys != self.keys[:, :1]) & both)

    @cached_property
    def choice_sets(self) -> NDArray[np.uint64]:
        """(rows,): 64-bit hash of each row's comparable texts in any order; equal in all splits."""
        return self.hashed(self.keys, len(self.vocabulary.key_texts))

    @cached_property
    def question_overlap(self) -> NDArray[np.float64]:
        """(rows, choices): see `Vocabulary.question_overlap`; a finding and two heuristics use it."""
        return self.vocabulary.question_overlap(self.texts, self.questions)

    def hashed(self, numbers: NDArray[np.int32], size: int) -> NDArray[np.uint64]:
        """(rows,): 64-bit hash of numbers (rows, choices) below ``size``, in any order."""
        draws = np.random.default_rng(0).integers(2**63, size=size, dtype=np.uint64)
        return np.asarray(np.where(self.valid, draws[numbers], np.uint64(0)).sum(axis=1, dtype=np.uint64))

    def beginning(self, length: int) -> NDArray[np.int32]:
        """Number of each row's first ``length`` words, int32 (rows,); MISSING where there are fewer."""
        beginnings = self.vocabulary.beginnings
        return np.asarray(beginnings[self.questions, min(length, beginnings.shape[1]) - 1])

    def take(self, rows: "NDArray[np.integer] | NDArray[np.bool_] | slice") -> Self:
        """A selection of the rows, with the same vocabulary."""
        names = (one.name for one in fields(self) if one.name != "vocabulary")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def followed_by(self, other: Self) -> Self:
        """These rows followed by others with the same vocabulary."""
        most = max(self.texts.shape[1], other.texts.shape[1])
        texts, positions = (
            np.concatenate([np.pad(p, ((0, 0), (0, most - p.shape[1])), constant_values=MISSING) for p in parts])
            for parts in ((self.texts, other.texts), (self.positions, other.positions))
        )
        questions = np.concatenate([self.questions, other.questions])
        return replace(self, texts=texts, positions=positions, questions=questions)


@dataclass(frozen=True, eq=False, repr=False)
class ShuffledRows(Rows):
    """Rows with shuffled choices, so that features of ``texts`` cannot leak the target."""

    target: NDArray[np.int64]  # (rows,): column of each row's target; only for fitting
    came_from: NDArray[np.int64]  # (rows, choices): original column of each choice in `Rows`

    @cached_property
    def is_target(self) -> NDArray[np.bool_]:
        """(rows, choices): mask of the targets; only for fitting."""
        return np.asarray(np.arange(self.texts.shape[1]) == self.target[:, None])


def shuffle(rows: Rows, rng: np.random.Generator) -> ShuffledRows:
    """Shuffle the choices of each row."""
    order = np.argsort(np.where(rows.valid, rng.random(rows.texts.shape), 2.0), axis=1, kind="stable")
    texts, own = (np.take_along_axis(array, order, axis=1) for array in (rows.texts, rows.positions))
    return ShuffledRows(texts, own, rows.questions, rows.vocabulary, (order == 0).argmax(axis=1), order)


def number_rows(splits: Mapping[str, pa.Table]) -> dict[str, Rows]:
    """Replace the texts of a dataset's splits by integers.

    Columns other than ``question`` (string), ``choices`` (list of string) and ``label`` (index) are ignored. Raises
    InputError as `schema.checked_rows` does, and if matrices (rows, choices) would be huge due to few long rows.
    """
    tables = {name: checked_rows(table, name) for name, table in splits.items()}
    choices, of_choices = _numbers([pc.list_flatten(table["choices"]) for table in tables.values()])
    questions, of_questions = _numbers([table["question"] for table in tables.values()])
    texts, (comparable, signed, tuples) = texts_of(choices), comparable_keys(choices)
    keys = comparable.dictionary_encode()
    key_texts, numbers = texts_of(keys.dictionary), keys.indices.to_numpy().copy()
    sizes = np.concatenate([pc.list_value_length(table["choices"]).to_numpy() for table in tables.values()])
    # Texts that a row presents together with one that differs from them in case alone.
    used = np.concatenate(of_choices)
    both = np.repeat(np.arange(len(sizes)), sizes) * np.int64(len(texts)) + numbers[used]
    order = np.argsort(both, kind="stable")
    again = np.flatnonzero(both[order][1:] == both[order][:-1])
    pairs = np.unique(np.stack([used[order[again]], used[order[again + 1]]], axis=1), axis=0).tolist()
    for text in sorted({text for pair in pairs if differ_in_case(*(texts[text] for text in pair)) for text in pair}):
        numbers[text], signed[text] = len(key_texts), True
        key_texts.append(texts[text].strip())
    vocabulary = Vocabulary(texts, numbers, key_texts, texts_of(questions), signed, tuples)
    numbered = {}
    for (name, table), flat, asked in zip(tables.items(), of_choices, of_questions, strict=True):
        lengths = pc.list_value_length(table["choices"]).to_numpy()
        if lengths.max() * len(lengths) > max(PADDING * lengths.sum(), LEAST_CELLS):
            longest = f"{name}, row {lengths.argmax() + 1}: {lengths.max():,} choices"
            raise InputError(f"{longest}, most rows have {np.median(lengths):.0f}; correct or remove the row")
        valid = np.arange(int(lengths.max())) < lengths[:, None]
        positions = np.where(valid, np.arange(valid.shape[1]), MISSING).astype(np.int32)
        of_rows = np.full(valid.shape, MISSING, np.int32)
        of_rows[valid] = flat
        every, labels = np.arange(len(valid)), table["label"].to_numpy()
        for array in (of_rows, positions):  # the target to column 0
            array[every, labels], array[:, 0] = array[:, 0], array[every, labels]
        numbered[name] = Rows(of_rows, positions, asked, vocabulary)
    return numbered


def _numbers(columns: list[pa.ChunkedArray]) -> tuple[pa.Array, list[NDArray[np.int32]]]:
    """The distinct texts of several columns, and each column as indices into them."""
    parts = [column.cast(pa.large_string()).combine_chunks() for column in columns]
    encoded = pa.concat_arrays(parts).dictionary_encode()
    return encoded.dictionary, np.split(encoded.indices.to_numpy(), np.cumsum([len(part) for part in parts])[:-1])


def row_blocks(rows: int, most: int) -> NDArray[np.int64]:
    """(rows,): the block of consecutive rows, of at most ``most`` blocks of at least LEAST_ROWS."""
    return np.arange(rows) * min(most, rows // LEAST_ROWS) // max(rows, 1)
