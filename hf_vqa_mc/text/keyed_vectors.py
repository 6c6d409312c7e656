"""Safe reader of gensim's own format for word vectors (``KeyedVectors.save``).

A .kv file is a pickle, and unpickling can run any code. This reader resolves no class or function but the substitutes
below: plain attributes of a ``KeyedVectors``, and arrays of plain numbers.
"""

import codecs
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.packed import unpacked
from hf_vqa_mc.text.vector_files import VectorTable, check_finite, table_checksum

PICKLE_STARTS = tuple(b"\x80" + bytes([protocol]) for protocol in (2, 3, 4, 5))
"""The first two bytes of a pickle."""
_NUMBERS = {kind: f"<{kind}" for kind in ("f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1")}


class _Attributes:
    """Replaces KeyedVectors (and the Vocab of gensim 3): the attributes of the file."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


class _Dtype:
    """Replaces a numpy dtype: little-endian numbers only."""

    def __init__(self, kind: str, *_: object) -> None:
        if kind not in _NUMBERS:
            raise pickle.UnpicklingError(f"an array of {kind!r}")
        self.code = _NUMBERS[kind]

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        if state[1] not in ("<", "|"):
            raise pickle.UnpicklingError(f"an array of byte order {state[1]!r}")


class _Array:
    """Replaces a numpy array; its bytes are converted on demand."""

    def __init__(self, *_: object) -> None:
        self._state: tuple[Any, ...] = ()

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self._state = state

    def numbers(self) -> NDArray[Any]:
        _, shape, dtype, fortran, data = self._state
        return np.frombuffer(data, dtype.code).reshape(shape, order="F" if fortran else "C")


def _encode(text: str, encoding: str) -> bytes:
    """Replaces ``codecs.encode``, by which pickles of protocol 2 store bytes."""
    if codecs.lookup(encoding).name != "iso8859-1":
        raise pickle.UnpicklingError(f"text in {encoding!r}")
    return text.encode("latin-1")


_KNOWN = {
    **{
        ("gensim.models.keyedvectors", name): _Attributes
        for name in ("KeyedVectors", "EuclideanKeyedVectors", "Word2VecKeyedVectors", "Vocab")
    },
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("_codecs", "encode"): _encode,
    ("builtins", "frozenset"): frozenset,
    ("__builtin__", "frozenset"): frozenset,
}


class _PlainUnpickler(pickle._Unpickler):
    """Builds the substitutes and refuses everything else.

    Based on the pure Python unpickler: five bytes of a file can make the one in C allocate 64 GB.
    """

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 the base class says so
        if (module, name) not in _KNOWN:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return _KNOWN[module, name]


def read_keyed_vectors(path: Path) -> VectorTable:
    """Read a file of gensim's ``KeyedVectors.save``; large arrays, in a file next to it, are memory-mapped.

    The checksum is that of words and vectors, since a .kv file also holds the time of saving.

    Raises:
        InputError: the file is truncated, not KeyedVectors, or holds anything but plain attributes and numbers; the
            array file is missing or of another shape; a number is not finite.
    """
    with unpacked(path) as file:
        data = file.read()
    try:
        saved = _PlainUnpickler(io.BytesIO(data), encoding="latin-1").load()
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{path}: expected gensim KeyedVectors of plain words and numbers, found {error}; nothing else is loaded "
            "from a pickle. Save the vectors with gensim's save_word2vec_format instead"
        ) from error
    except Exception as error:  # a damaged pickle may raise anything
        raise InputError(f"{path}: not a whole gensim KeyedVectors file ({error})") from error
    attributes = vars(saved) if isinstance(saved, _Attributes) else {}
    words = attributes.get("index_to_key", attributes.get("index2word"))  # since gensim 4, before
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{path}: not gensim KeyedVectors, there is no list of words in it")
    vectors = _vectors(attributes, path)
    if vectors.ndim != 2 or not vectors.size or vectors.dtype.kind != "f" or len(words) != len(vectors):
        raise InputError(
            f"{path}: expected one vector per word, found {len(words)} words and an array {vectors.shape}"
        )
    check_finite(words, vectors, f"{path}, vector")
    return VectorTable(words, vectors, table_checksum(words, vectors))


def _vectors(attributes: dict[str, Any], path: Path) -> NDArray[Any]:
    vectors = attributes.get("vectors", attributes.get("syn0"))  # since gensim 3.3, before
    try:
        if isinstance(vectors, _Array):
            return vectors.numbers()
        packed = Path(f"{path}.vectors.npz")
        if packed.exists():
            with np.load(packed, allow_pickle=False) as arrays:
                return np.asarray(arrays["val"])
        return np.asarray(np.load(f"{path}.vectors.npy", mmap_mode="r", allow_pickle=False))
    except FileNotFoundError as error:
        raise InputError(f"{path}: its vectors are in {path.name}.vectors.npy, which is not next to it") from error
    except Exception as error:  # a damaged array may raise anything
        raise InputError(f"{path}: its vectors cannot be read ({error})") from error
