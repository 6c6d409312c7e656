"""Word vectors by name: a file, a name of gensim-data, or ``corpus``; never guessed."""

import contextlib
import logging
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.text.keyed_vectors import PICKLE_STARTS, read_keyed_vectors
from hf_vqa_mc.text.vector_files import VectorTable, read_vector_file, table_checksum

CORPUS = "corpus"
DIM, WINDOW, EPOCHS = 100, 5, 5
"""Skip-gram with gensim's own defaults for vectors from the corpus; the paper has no vectors of this kind."""
_FILE_ENDINGS = frozenset((".bin", ".txt", ".vec", ".kv", ".gz", ".xz", ".zip"))


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Word vectors with a name and a checksum."""

    name: str
    """the file's name, the gensim-data name, or ``corpus``"""
    sha256: str
    """of the unpacked file; of words and vectors for .kv files and ``corpus``"""
    dim: int
    _vectors: NDArray[np.floating] = field(repr=False)
    _row: dict[str, int] = field(repr=False)

    def rows(self, words: Sequence[str]) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
        """The vectors of words.

        Returns:
            float32 (words, dim), zero for words without a vector; and whether there is one, bool (words,).
        """
        row = np.array([self._row.get(word, -1) for word in words], np.int64)
        found = row >= 0
        vectors = np.zeros((len(row), self.dim), np.float32)
        vectors[found] = self._vectors[row[found]]
        return vectors, found


def load_word_vectors(
    name: str, corpus: Callable[[], Iterable[list[str]]] | None = None, seed: int = 0
) -> WordVectors:
    """Load or train word vectors.

    Args:
        name: path of a word2vec (.bin, .txt), GloVe (.txt) or gensim (.kv, memory-mapped) file, each also packed
            with gzip, xz or zip; or a name of gensim-data (the paper's: ``word2vec-google-news-300``), fetched once;
            or ``corpus``, trained on ``corpus``.
        corpus: returns the sentences of a dataset as lists of words; called several times, for ``corpus`` only.
        seed: random seed for ``corpus``.

    Raises:
        InputError: there is no such file or name, or it does not hold word vectors; names file and location.
    """
    if name == CORPUS:
        if corpus is None:
            raise InputError(f"word vectors {CORPUS!r} are trained on a dataset's text; name a file")
        return _indexed(CORPUS, _train_on_corpus(_Restartable(corpus), seed))
    path = Path(name).expanduser()
    if path.is_dir():
        raise InputError(f"word vectors {name}: expected a file, this is a folder")
    if path.exists():
        return _indexed(path.name, _read(path))
    if path.suffix in _FILE_ENDINGS or path.name != name:
        raise _missing_file(path)
    return _indexed(name, _read(_from_gensim_data(name)))


def _indexed(name: str, table: VectorTable) -> WordVectors:
    # the first of equal words counts, as in gensim
    row = dict(zip(reversed(table.words), reversed(range(len(table.words))), strict=True))
    return WordVectors(name, table.sha256, table.vectors.shape[1], table.vectors, row)


def _read(path: Path) -> VectorTable:
    with unpacked(path) as file:
        pickled = file.read(2) in PICKLE_STARTS
    return read_keyed_vectors(path) if pickled else read_vector_file(path)


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


@dataclass(frozen=True)
class _Restartable:
    """A corpus that gensim iterates over once to count and once per epoch."""

    corpus: Callable[[], Iterable[list[str]]]

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self.corpus())


def _train_on_corpus(sentences: _Restartable, seed: int) -> VectorTable:
    """Train word2vec (skip-gram, gensim); the same sentences and seed give the same bytes.

    Words are in the order of their first occurrence, since ties of frequency are not sorted deterministically. There
    is one worker, since the order of updates of several depends on scheduling.
    """
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
            raise InputError("word vectors from the corpus: it has no words; name a vector file instead")
        model.train(sentences, total_examples=model.corpus_count, epochs=EPOCHS)
    vectors = np.ascontiguousarray(model.wv.vectors, np.float32)
    return VectorTable(words, vectors, table_checksum(words, vectors))


def _missing_file(path: Path) -> InputError:
    if not path.parent.is_dir():
        return InputError(f"word vectors {path}: there is no folder {path.parent}")
    near = get_close_matches(path.name, [file.name for file in path.parent.iterdir()], n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else "expected a word2vec, GloVe or .kv file, or corpus"
    return InputError(f"word vectors {path}: no such file; {hint}")


def _from_gensim_data(name: str) -> Path:
    """The vector file in the cache of gensim's downloader, downloaded if missing.

    The Python module that gensim-data keeps next to the file is never run.
    """
    from gensim import downloader

    kept = Path(downloader.BASE_DIR, name, f"{name}.gz")  # complete if it exists: gensim moves it there
    if kept.exists():
        return kept
    try:
        # it prints a progress bar, and logs tracebacks without a network; the message below suffices
        with contextlib.redirect_stdout(sys.stderr), _logging_only(logging.CRITICAL):
            known = downloader.info()["models"]
            if name not in known:
                raise unknown_name("word vectors (no such file, and no such name of gensim-data)", name, known)
            return Path(downloader.load(name, return_path=True))
    except InputError:
        raise
    except Exception as error:  # gensim raises bare exceptions
        raise InputError(
            f"word vectors {name}: there is no such file, and as a name of gensim-data it cannot be fetched ({error})"
            "; give the path of a vector file"
        ) from error
