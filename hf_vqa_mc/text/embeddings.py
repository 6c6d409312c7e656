"""Static sentence embeddings: averages of word vectors, or of the token vectors of the package ``wordllama``.

They need no model and no network. Two families are used where word vectors are given, because what one of them hides
the other may still show.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, Self

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


class EmbeddingFamily(Protocol):
    """A kind of text embeddings."""

    @property
    def name(self) -> str:
        """Name of the embeddings."""

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Embed texts, see `Embeddings`."""


@dataclass(frozen=True, eq=False)
class AveragedWordVectors:
    """The mean of a text's word vectors; words are those of `normalisation.words`."""

    vectors: WordVectors = field(repr=False)

    @property
    def name(self) -> str:
        """Name of the vectors."""
        return f"word vectors {self.vectors.name}"

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Embed texts, see `Embeddings`."""
        numbers, starts, words = numbered_words(*comparable_texts(pa.array(list(texts), pa.large_string())))
        table, _ = self.vectors.rows(texts_of(words))
        return _sums(table, numbers, starts)


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """The mean of a text's token vectors, as in wordllama, whose own offline loader needs the network."""

    name: str
    table: NDArray[np.float32] = field(repr=False)
    tokenizer: Any = field(repr=False)

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the two files of an unpacked ``wordllama`` package; raises InputError if they are not of this kind."""
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
        return cls("token vectors wordllama", table, tokenizer)

    def embed(self, texts: Sequence[str]) -> Embeddings:
        """Embed texts, see `Embeddings`."""
        parts: list[list[int]] = []
        for first in range(0, len(texts), _AT_A_TIME):
            batch = [text.strip().lower() for text in texts[first : first + _AT_A_TIME]]
            parts += [one.ids for one in self.tokenizer.encode_batch(batch, add_special_tokens=False)]
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
        numbers = np.fromiter((token for part in parts for token in part), np.int64, int(starts[-1]))
        return _sums(self.table, numbers, starts)


@lru_cache(maxsize=1)
def _token_vectors(folder: Path) -> TokenVectors:
    return TokenVectors.read(folder)


def embedding_families(vectors: WordVectors | None = None) -> list[EmbeddingFamily]:
    """The token vectors of the package ``wordllama``, and word vectors if they are given."""
    installed = find_spec("wordllama")
    if installed is None or not installed.submodule_search_locations:
        raise InputError("the package wordllama is not installed; pip install wordllama")
    families: list[EmbeddingFamily] = [_token_vectors(Path(installed.submodule_search_locations[0]))]
    return families if vectors is None else [AveragedWordVectors(vectors), *families]


def _sums(table: NDArray[np.float32], numbers: NDArray[np.integer], starts: NDArray[np.int64]) -> Embeddings:
    """The normalised sums of the vectors of each text's tokens, and a last row of zeros."""
    from scipy.sparse import csr_array

    counts = csr_array((np.ones(len(numbers), np.float32), numbers, starts), shape=(len(starts) - 1, len(table)))
    return normalised(np.vstack([counts @ table, np.zeros((1, table.shape[1]), np.float32)]))


def normalised(vectors: NDArray[np.floating]) -> Embeddings:
    """Rows with norm 1, rounded so that the order of summation does not change them; zeros stay zeros."""
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    found: Embeddings = np.round(vectors / np.maximum(norms, 1e-6), 6).astype(np.float32)
    return found
