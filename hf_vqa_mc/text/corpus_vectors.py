"""Word vectors trained on a dataset's own text, for datasets whose words no published vectors are needed for."""

import logging
import zlib
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError

DIM = 100
WINDOW = 5
EPOCHS = 5
"""Skip-gram with gensim's own defaults; the paper has no vectors of this kind."""


class _Restartable:
    """A corpus that gensim can walk once to count and once an epoch."""

    def __init__(self, corpus: Callable[[], Iterable[list[str]]]) -> None:
        self._corpus = corpus

    def __iter__(self) -> Iterator[list[str]]:
        return iter(self._corpus())


def train_on_corpus(
    corpus: Callable[[], Iterable[list[str]]], seed: int = 0, dim: int = DIM, epochs: int = EPOCHS
) -> tuple[list[str], NDArray[np.float32]]:
    """Trains word2vec (skip-gram, gensim) on sentences; the same sentences and seed give the same bytes.

    Args:
        corpus: called before each pass; gives sentences as lists of words.
        seed: taken modulo 2**32, all that gensim knows.
        dim: numbers a word.
        epochs: passes over the sentences.

    Returns:
        The words in the order they first occur, and their vectors, float32 (words, dim).

    Raises:
        InputError: the corpus has no words.
    """
    from gensim.models import Word2Vec

    gensim_log = logging.getLogger("gensim")
    level = gensim_log.level
    gensim_log.setLevel(logging.ERROR)  # it warns of small corpora, which is no concern here
    try:
        # One worker: with more, the order of updates is up to the operating system. Words stay in the order they
        # occur: sorting by frequency leaves the order of ties to the processor.
        model = Word2Vec(
            vector_size=dim,
            window=WINDOW,
            sg=1,
            min_count=1,
            sorted_vocab=0,
            workers=1,
            seed=seed % 2**32,
            hashfxn=_hash,
        )
        sentences = _Restartable(corpus)
        model.build_vocab(sentences)
        if not len(model.wv):
            raise InputError("word vectors from the corpus: there is not one word in it; name a vector file instead")
        model.train(sentences, total_examples=model.corpus_count, epochs=epochs)
    finally:
        gensim_log.setLevel(level)
    return list(model.wv.index_to_key), np.ascontiguousarray(model.wv.vectors, np.float32)


def _hash(text: str) -> int:
    """Python's own hash of a text differs from process to process."""
    return zlib.crc32(text.encode())
