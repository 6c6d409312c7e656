"""Static sentence embeddings: averages of word vectors, or of the token vectors of the package ``wordllama``.

They need no model and no network. Two families are used where word vectors are given, because what one of them hides
the other may still show.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, texts_of
from hf_vqa_mc.text.word_vectors import WordVectors

Embeddings = NDArray[np.float32]
"""(texts + 1, dimensions): rows of norm 1, or 0 for texts without a known word; the last row is 0, for MISSING."""
WEIGHTS, TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
"""Files of wordllama 0.4 (MIT licence): vectors of 32,000 tokens with 256 dimensions, and their tokenizer."""
TABLE = "embedding.weight"
_AT_A_TIME = 10_000


class EmbeddingFamily(NamedTuple):
    """A kind of text embeddings."""

    name: str
    embed: Callable[[Sequence[str]], Embeddings]


def _by_words(vectors: WordVectors, texts: Sequence[str]) -> Embeddings:
    """The mean of each text's word vectors; words are those of `normalisation.words`."""
    numbers, starts, words = numbered_words(*comparable_texts(pa.array(list(texts), pa.large_string())))
    return _embeddings(sums(vectors.rows(texts_of(words))[0], numbers, starts))


def _by_tokens(table: NDArray[np.float32], tokenizer: Any, texts: Sequence[str]) -> Embeddings:  # noqa: ANN401
    """The mean of each text's token vectors."""
    parts: list[list[int]] = []
    for first in range(0, len(texts), _AT_A_TIME):
        batch = [text.strip().lower() for text in texts[first : first + _AT_A_TIME]]
        parts += [one.ids for one in tokenizer.encode_batch(batch, add_special_tokens=False)]
    starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    return _embeddings(sums(table, np.fromiter(chain.from_iterable(parts), np.int64, int(starts[-1])), starts))


@lru_cache(maxsize=1)
def token_vectors(folder: Path) -> EmbeddingFamily:
    """The token vectors of an unpacked package ``wordllama``, whose own offline loader needs the network.

    Raises InputError if its two files are not of this kind.
    """
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer

    try:
        table = load_file(folder / WEIGHTS)[TABLE].astype(np.float32)
        tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))
    except Exception as error:  # both libraries raise bare exceptions
        raise InputError(
            f"{folder}: expected the package wordllama with {WEIGHTS} and {TOKENIZER} ({error})"
        ) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return EmbeddingFamily("token vectors wordllama", partial(_by_tokens, table, tokenizer))


def embedding_families(vectors: WordVectors | None = None) -> list[EmbeddingFamily]:
    """The token vectors of the package ``wordllama``, and word vectors if they are given."""
    installed = find_spec("wordllama")
    if installed is None or not installed.submodule_search_locations:
        raise InputError("the package wordllama is not installed; pip install wordllama")
    families = (
        [] if vectors is None else [EmbeddingFamily(f"word vectors {vectors.name}", partial(_by_words, vectors))]
    )
    return [*families, token_vectors(Path(installed.submodule_search_locations[0]))]


def sums(table: NDArray[np.float32], numbers: NDArray[np.integer], starts: NDArray[np.int64]) -> NDArray[np.float32]:
    """The sums of the vectors of each text's tokens, float32 (texts, dimensions)."""
    from scipy.sparse import csr_array

    counts = csr_array((np.ones(len(numbers), np.float32), numbers, starts), shape=(len(starts) - 1, len(table)))
    return np.asarray(counts @ table)


def _embeddings(totals: NDArray[np.float32]) -> Embeddings:
    return normalised(np.vstack([totals, np.zeros((1, totals.shape[1]), np.float32)]))


def normalised(vectors: NDArray[np.floating]) -> Embeddings:
    """Rows with norm 1, rounded so that the order of summation does not change them; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Embeddings = np.round(vectors / np.maximum(norms, 1e-6), 6).astype(np.float32)
    return found
