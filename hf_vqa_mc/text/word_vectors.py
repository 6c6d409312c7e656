"""Word vectors by name: a file, a name of gensim-data, or ``corpus``; never guessed."""

import contextlib
import logging
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.options import VECTORS
from hf_vqa_mc.text.vector_files import VectorTable, read_vector_file, table_checksum

CORPUS = "corpus"
DIM, WINDOW, EPOCHS = 100, 5, 5
"""Skip-gram with gensim's own defaults for vectors from the corpus; the paper has no vectors of this kind."""
MOST_TRAINED = 1_500_000  # sentences, counted once per epoch, above which a large corpus has fewer epochs
_TRAINING, _REPORTED = "training word vectors", 10_000
"""Name of the step, and sentences after which its progress is reported."""


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Word vectors with a name and a checksum."""

    name: str  # the file's name, the gensim-data name, or ``corpus``
    sha256: str  # checksum of the unpacked file; of words and vectors for .kv files and ``corpus``
    dim: int
    _vectors: NDArray[np.floating] = field(repr=False)
    _row: dict[str, int] = field(repr=False)

    @classmethod
    def of(cls, name: str, sha256: str, words: Sequence[str], vectors: NDArray[np.floating]) -> "WordVectors":
        """Vectors of some words, (words, dim); the first of equal words counts, as in gensim."""
        row = dict(zip(reversed(words), reversed(range(len(words))), strict=True))
        return cls(name, sha256, vectors.shape[1], vectors, row)

    def rows(self, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The vectors of words, float32 (words, dim), 0 without one; and whether there is one, bool (words,)."""
        row = np.array([self._row.get(word, -1) for word in words], np.int64)
        found = row >= 0
        vectors = np.zeros((len(row), self.dim), np.float32)
        vectors[found] = self._vectors[row[found]]
        if not (finite := np.isfinite(vectors).all(axis=1)).all():
            raise InputError(f"word vectors {self.name}: that of {words[int(finite.argmin())]!r} is not finite")
        return vectors, found


def load_word_vectors(
    name: str,
    corpus: Callable[[], Iterable[list[str]]] | None = None,
    seed: int = 0,
    progress: Progress = silent,
) -> WordVectors:
    """Load or train word vectors.

    Args:
        name: path of a word2vec (.bin, .txt), GloVe (.txt) or gensim (.kv, memory-mapped) file, each also packed
            with gzip, xz or zip; or a name of gensim-data (the paper's: ``word2vec-google-news-300``), fetched once;
            or ``corpus``, trained on ``corpus``.
        corpus: returns the sentences of a dataset as lists of words; called several times, for ``corpus`` only.
        seed: random seed for ``corpus``.
        progress: called with (step, done, total) while vectors are trained on ``corpus``.
    """
    if name == CORPUS:
        if corpus is None:
            raise InputError(f"word vectors {CORPUS!r} are trained on a dataset's text; give a file")
        table = _train_on_corpus(_Sentences(corpus, progress), seed)
        return WordVectors.of(CORPUS, table.sha256, table.words, table.vectors)
    if not VECTORS[1](name):
        raise InputError(f"word vectors {name}: expected {VECTORS[0]}")
    given = Path(name).expanduser()
    path = given if given.exists() else _from_gensim_data(name)
    table = read_vector_file(path)
    return WordVectors.of(given.name, table.sha256, table.words, table.vectors)


@contextlib.contextmanager
def _logging_only(level: int) -> Iterator[None]:
    """Suppress gensim's logs below a level."""
    log = logging.getLogger("gensim")
    before = log.level
    log.setLevel(level)
    try:
        yield
    finally:
        log.setLevel(before)


@dataclass
class _Sentences:
    """A corpus that gensim iterates over once to count and once per epoch."""

    corpus: Callable[[], Iterable[list[str]]]
    progress: Progress
    total: int = 0  # sentences of all epochs; 0 before they are counted
    done: int = 0

    def __iter__(self) -> Iterator[list[str]]:
        for sentence in self.corpus():
            yield sentence
            self.done += 1
            if self.total and (self.done % _REPORTED == 0 or self.done == self.total):
                self.progress(_TRAINING, self.done, self.total)


def _train_on_corpus(sentences: _Sentences, seed: int) -> VectorTable:
    """Train word2vec (skip-gram, gensim); the same sentences and seed give the same bytes."""
    from gensim.models import Word2Vec

    with _logging_only(logging.ERROR):  # it warns about small corpora
        model = Word2Vec(
            vector_size=DIM,
            window=WINDOW,
            sg=1,
            min_count=1,
            sorted_vocab=0,
            workers=1,
            seed=seed % 2**32,  # gensim's range of seeds
            hashfxn=lambda text: zlib.crc32(text.encode()),  # Python's own hash differs from process to process
        )
        model.build_vocab(sentences)
        words = list(model.wv.index_to_key)
        if not words:
            raise InputError("word vectors from the corpus: it has no words; give a vector file instead")
        epochs = max(1, min(EPOCHS, MOST_TRAINED // model.corpus_count))
        sentences.done, sentences.total = 0, epochs * model.corpus_count
        sentences.progress(_TRAINING, 0, sentences.total)
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    # after little training all point in about the same direction; searches are up to twice as fast if they are centred
    vectors = model.wv.vectors - model.wv.vectors.mean(axis=0)
    return VectorTable(words, vectors, table_checksum(words, vectors))


def _from_gensim_data(name: str) -> Path:
    """The vector file in the cache of gensim's downloader, downloaded if missing."""
    from gensim import downloader

    kept = Path(downloader.BASE_DIR, name, f"{name}.gz")  # complete if it exists: gensim moves it there
    if kept.exists():
        return kept
    try:
        # it prints a progress bar, and logs tracebacks without a network; the message below suffices
        with contextlib.redirect_stdout(sys.stderr), _logging_only(logging.CRITICAL):
            known = downloader.info()["models"]
            if name in known:
                return Path(downloader.load(name, return_path=True))
    except Exception as error:  # gensim raises bare exceptions
        raise InputError(
            f"word vectors {name}: there is no such file, and as a name of gensim-data it cannot be fetched ({error})"
            "; give the path of a vector file"
        ) from error
    raise unknown_name("word vectors (no such file, and no such name of gensim-data)", name, known)
