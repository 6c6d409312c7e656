"""Average word vectors of texts; the vectors of the training vocabulary are part of a checkpoint."""

import json
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save
from torch.nn import functional

from hf_vqa_mc.errors import InputError, listed, shown, unknown_name
from hf_vqa_mc.io.atomic import write_bytes
from hf_vqa_mc.text.normalisation import words as words_of
from hf_vqa_mc.text.word_vectors import CORPUS, WordVectors

NewWords = Literal["refuse", "warn", "skip"]
"""Handling of words that are not in the training vocabulary if no file of word vectors is given: raise InputError,
skip them with a warning unless a text has no other words with vectors, or skip them."""

WORDS_FILE = "words.safetensors"
_ABOUT = "text_features"


@dataclass(frozen=True, eq=False)
class TextFeatures:
    """Average word vectors of texts, with the vectors of the training vocabulary."""

    name: str  # name of the word vectors: a file name, a gensim-data name, or ``corpus``
    sha256: str  # checksum, see `WordVectors`
    dim: int
    words: tuple[str, ...] = field(repr=False)  # training vocabulary with vectors, sorted
    vectors: NDArray[np.float32] = field(repr=False)  # float32 (words, dim)
    without: frozenset[str] = field(repr=False)  # training vocabulary without vectors
    file: WordVectors | None = field(default=None, repr=False)  # file of the word vectors, for new words
    new_words: NewWords = "refuse"
    _row: dict[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.new_words not in get_args(NewWords):
            raise unknown_name("new_words", self.new_words, get_args(NewWords))
        row = {word: number for number, word in enumerate(self.words)}
        object.__setattr__(self, "_row", row)

    @classmethod
    def of(cls, vectors: WordVectors, texts: Iterable[str]) -> "TextFeatures":
        """The vectors of the words in the training texts."""
        empty = np.zeros((0, vectors.dim), np.float32)
        text = cls(vectors.name, vectors.sha256, vectors.dim, (), empty, frozenset(), file=vectors).with_texts(texts)
        return replace(text, file=None)

    def as_json(self) -> dict[str, Any]:
        """Name, checksum and size of the word vectors."""
        return {"name": self.name, "sha256": self.sha256, "dim": self.dim}

    def with_file(self, vectors: WordVectors) -> "TextFeatures":
        """These features with the file of their word vectors, for new words; raises InputError if it is another."""
        if vectors.sha256 != self.sha256:
            given = f"word vectors {vectors.name} (sha256 {vectors.sha256})"
            mine = f"{self.name} (sha256 {self.sha256})"
            raise InputError(f"{given} are not those that the model was trained with, {mine}; give that file")
        return replace(self, file=vectors)

    def with_texts(self, texts: Iterable[str]) -> "TextFeatures":
        """These features with the vocabulary of more training texts, looked up in the file; unchanged without one."""
        if self.file is None:
            return self
        new = sorted(self._new_words(texts))
        rows, found = self.file.rows(new)
        words = np.array([*self.words, *(word for word, known in zip(new, found, strict=True) if known)], object)
        order = np.argsort(words, kind="stable")
        vectors = np.concatenate([self.vectors, rows[found]])[order]
        without = self.without | frozenset(new).difference(words)
        return replace(self, words=tuple(words[order]), vectors=vectors, without=without)

    def check_words(self, texts: Iterable[str]) -> None:
        """Warn about new words that `encode` skips; raise InputError if it refuses them."""
        if self.file is None and (new := self._new_words(texts)):
            self._report_new(new, self.new_words != "refuse")

    def _new_words(self, texts: Iterable[str]) -> set[str]:
        """Words that are not in the training vocabulary."""
        return {word for text in dict.fromkeys(texts) for word in words_of(text)} - self.without - self._row.keys()

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The mean vector of each text's words, float32 (texts, dim); raises InputError for new words."""
        distinct = {text: index for index, text in enumerate(dict.fromkeys(texts))}
        table, ids, starts = self._looked_up(list(distinct), warns=True)
        means = np.zeros((len(distinct), self.dim), np.float32)
        if ids.size:
            given = torch.from_numpy(ids), torch.from_numpy(table), torch.from_numpy(starts)
            means = functional.embedding_bag(*given, mode="mean", include_last_offset=True).numpy()
        return means if len(means) == len(texts) else means[[distinct[text] for text in texts]]

    def encode_words(self, texts: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The vectors of each text's words in order, float32 (texts, words, dim), and their mask; only `encode` warns.

        They are right-padded with 0. A text without any vector has one valid word with a vector of 0.
        """
        table, ids, starts = self._looked_up(texts)
        counts = np.diff(starts)
        positions = np.arange(max(counts.max(initial=0), 1))
        vectors = np.zeros((len(counts), len(positions), self.dim), np.float32)
        vectors[positions < counts[:, None]] = table[ids]
        return vectors, positions < np.maximum(counts, 1)[:, None]

    def _looked_up(
        self, texts: Sequence[str], warns: bool = False
    ) -> tuple[NDArray[np.float32], NDArray[np.int64], NDArray[np.int64]]:
        """Vectors of the distinct words, the words of all texts as rows of that table, and offsets (texts + 1,)."""
        in_texts = [words_of(text) for text in texts]
        distinct = list(dict.fromkeys(chain.from_iterable(in_texts)))
        row = np.array([self._row.get(word, -1) for word in distinct], np.int64)
        found, vectors = row >= 0, np.zeros((len(distinct), self.dim), np.float32)
        vectors[found] = self.vectors[row[found]]
        unknown = [index for index in np.flatnonzero(~found).tolist() if distinct[index] not in self.without]
        new = {distinct[index] for index in unknown}
        if unknown and self.file is not None:
            vectors[unknown], found[unknown] = self.file.rows([distinct[index] for index in unknown])
            new = set()
        ids = np.where(found, np.cumsum(found) - 1, -1).tolist()
        id_of = {word: number for word, number in zip(distinct, ids, strict=True) if number >= 0}
        by_text = [[id_of[word] for word in words if word in id_of] for words in in_texts]
        if new and self.new_words != "skip":
            lost = any(not ids and not new.isdisjoint(words) for words, ids in zip(in_texts, by_text, strict=True))
            skipped = self.new_words == "warn" and not lost
            if warns or not skipped:
                self._report_new(new, skipped)
        starts = np.cumsum([0, *map(len, by_text)])
        return vectors[found], np.fromiter(chain.from_iterable(by_text), np.int64, int(starts[-1])), starts

    def _report_new(self, new: set[str], skipped: bool) -> None:
        """Warn about new words if they are skipped, else raise InputError."""
        found = f"{len(new)} words are not in the model's training texts"
        names = listed([repr(word) for word in sorted(new)], 10)
        file = f"; give the file of its word vectors, {self.name} (sha256 {self.sha256[:12]}), as word_vectors"
        file = "" if self.name == CORPUS else file
        if skipped:
            warnings.warn(f"{found} and were skipped: {names}{file}", stacklevel=6)
        else:
            skip = f"{file}, or skip" if file else "; skip"
            raise InputError(f'{found}: {names}{skip} such words with the processor\'s new_words="skip"')

    def save(self, folder: Path) -> None:
        """Write the vectors to a checkpoint, atomically and deterministically."""
        tensors: dict[str, NDArray[Any]] = {"vectors": np.ascontiguousarray(self.vectors, np.float32)}
        for name, words in (("words", self.words), ("without", sorted(self.without))):  # none has a line break
            tensors[name] = np.frombuffer("\n".join(words).encode(), np.uint8)
        folder.mkdir(parents=True, exist_ok=True)
        write_bytes(folder / WORDS_FILE, save(tensors, {_ABOUT: json.dumps(self.as_json())}))

    @classmethod
    def stored(cls, folder: Path, expected: object) -> "TextFeatures":
        """Read the output of ``save``; raises InputError if it is missing, damaged, or its `as_json` is another."""
        path = folder / WORDS_FILE
        if not path.is_file():
            raise InputError(f"{folder} has no {WORDS_FILE}; expected a checkpoint as vqa-mc train writes it")
        try:
            with safe_open(path, "np") as file:
                about = json.loads(file.metadata()[_ABOUT])
                tensors = {name: file.get_tensor(name) for name in file.keys()}
        except SafetensorError as error:
            raise InputError(f"{path} is damaged; copy or download the checkpoint again") from error
        texts = (tensors[part].tobytes().decode() for part in ("words", "without"))
        words, without = (text.split("\n") if text else [] for text in texts)
        if about != expected:
            differ = f"the word vectors are {shown(expected)}, those of {WORDS_FILE} {shown(about)}"
            raise InputError(f"{differ}; use both files of one checkpoint")
        return cls(**about, words=tuple(words), vectors=tensors["vectors"], without=frozenset(without))
