"""Reading a GloVe file of 100,000 words, beside gensim."""

import tempfile
import time
from pathlib import Path

import numpy as np

WORDS = 100_000


def rows() -> list[tuple[str, float, str, str]]:
    """Words read in a second by us and by gensim."""
    from gensim.models import KeyedVectors

    from hf_vqa_mc.text.word_vectors import load_word_vectors

    numbers = np.random.default_rng(0).normal(scale=0.4, size=(WORDS, 100)).round(5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "glove.txt")
        with path.open("w") as file:
            file.writelines(f"word{n} {' '.join(map(str, row))}\n" for n, row in enumerate(numbers.tolist()))
        start = time.perf_counter()
        ours, _ = load_word_vectors(str(path)).rows([f"word{n}" for n in range(WORDS)])
        middle = time.perf_counter()
        theirs = KeyedVectors.load_word2vec_format(str(path), no_header=True).vectors
        end = time.perf_counter()
    if not np.array_equal(ours, theirs):
        raise ValueError("gensim reads other numbers from the file")
    return [
        ("GloVe text, 100 numbers a word, read", WORDS / (middle - start), "words/s", ""),
        ("as many times as gensim reads", (end - middle) / (middle - start), "x", ""),
    ]
