"""Word vector files as they are published: word2vec binary and text, GloVe text, gensim's .kv; also packed.

gensim also reads the first three, but fails at words with spaces, which GloVe 840B has, and takes several times as
long; the values are the same. A .kv file (``KeyedVectors.save``) is a pickle, and unpickling can run any code: only
plain values and arrays of numbers are unpickled.
"""

import codecs
import hashlib
import io
import pickle
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy._core import multiarray, numeric  # type: ignore[attr-defined,unused-ignore]
from numpy.typing import NDArray
from pyarrow import csv

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.packed import unpacked

BLOCK = 1 << 24  # number of bytes of a file parsed together
LONGEST_LINE = 1 << 20  # bytes; the limit for a first line or a word of a vector file
_ROWS_PER_BLOCK = 1 << 16
_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")
_ANY_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
_PICKLE_STARTS = tuple(b"\x80" + bytes([protocol]) for protocol in (2, 3, 4, 5))


class VectorTable(NamedTuple):
    """The content of a vector file, in its order; lines of words with spaces come last."""

    words: list[str]  # the first of repeated words counts; bytes that are not UTF-8 are surrogate escapes
    vectors: NDArray[np.floating]  # float32 (words, dim), or the type of a memory-mapped array
    sha256: str  # of the unpacked bytes, so ``x.txt`` and ``x.txt.xz`` have the same; of .kv `table_checksum`


def read_vector_file(path: Path) -> VectorTable:
    """Read a word2vec, GloVe or .kv file, plain or packed; the format is detected from its bytes.

    Raises InputError, with file and line or vector, if it is empty, truncated, or malformed.
    """
    with unpacked(path) as file:
        if file.read(2) in _PICKLE_STARTS:
            return read_keyed_vectors(path)
    with unpacked(path) as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    with unpacked(path) as file:
        first, line = file.readline(LONGEST_LINE), file.readline(LONGEST_LINE)
    if not first:
        raise InputError(f"{path}: the file is empty, expected word vectors")
    header, parts = _HEADER.fullmatch(first), first.split()
    if header is None and (len(parts) < 2 or not all(map(_is_number, parts[1:]))):
        raise InputError(
            f"{path}, line 1: not a vector file; expected the header of a word2vec file (two counts) or a "
            f"line of a GloVe file (a word and its numbers), found {first[:40]!r}"
        )
    count, dim = (int(header[1]), int(header[2])) if header else (None, len(parts) - 1)
    with unpacked(path) as file:
        if count is not None:
            file.readline()
        if count is not None and not _is_text(line, dim):
            return VectorTable(*_read_binary(file, path, dim, count), digest)
        words, vectors = _read_text(file, path, dim, line if header else first, 2 if header else 1)
    if count is not None and len(words) != count:
        raise InputError(
            f"{path}: the header (line 1) declares {count} vectors, the file holds {len(words)}; is the file complete?"
        )
    return VectorTable(words, vectors, digest)


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_text(line: bytes, dim: int) -> bool:
    """Whether the line after a word2vec header is text; float32 numbers contain control bytes."""
    numbers = line.split()[1:]
    if len(numbers) == dim and all(map(_is_number, numbers)):
        return True
    try:
        line[:-4].decode()  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return not _ANY_CONTROL.search(line)


def _read_text(
    file: IO[bytes], path: Path, dim: int, line: bytes, number: int
) -> tuple[list[str], NDArray[np.float32]]:
    """Parse lines from a first one and its number on; numbers are rounded from float64, as by gensim."""
    irregular: list[Any] = []
    ends_in_space = line.rstrip(b"\r\n").endswith(b" ")  # as word2vec.c writes lines
    names = [str(column) for column in range(dim + 1 + ends_in_space)]
    types = {name: pa.float64() for name in names[1:]} | {"0": pa.string()}
    words, parts = list[str](), list[NDArray[np.float32]]()

    def kept_for_later(row: Any) -> str:  # noqa: ANN401  pyarrow.csv.InvalidRow
        irregular.append(row)
        return "skip"

    try:
        blocks = csv.open_csv(
            file,
            csv.ReadOptions(column_names=names, block_size=BLOCK, encoding="latin1"),  # of any bytes
            csv.ParseOptions(delimiter=" ", quote_char=False, invalid_row_handler=kept_for_later),
            csv.ConvertOptions(column_types=types, null_values=[], include_columns=names[: dim + 1]),
        )
        for block in blocks:
            words += block.column(0).to_pylist()
            with np.errstate(over="ignore"):
                columns = [column.to_numpy().astype(np.float32) for column in block.columns[1:]]
            parts.append(np.stack(columns, axis=1))
    except pa.ArrowInvalid as error:
        row = re.search(r"Row #(\d+): *(.*)", str(error))
        where = f"{path}, line {int(row[1]) + number - 1}" if row else str(path)
        raise InputError(f"{where}: expected a word and {dim} numbers: {row[2] if row else error}") from error
    for row in irregular:  # words with spaces
        pieces = row.text.rstrip().split(" ")
        word, numbers = pieces[:-dim], [piece.encode() for piece in pieces[-dim:]]
        if len(word) < 2 or not all(map(_is_number, numbers)) or all(_is_number(one.encode()) for one in word[1:]):
            where = f"{path}, line {row.number + number - 1}"
            raise InputError(f"{where}: expected a word and {dim} numbers, found {row.text[:80]!r}")
        words.append(" ".join(word))
        parts.append(np.array([[float(number) for number in numbers]], np.float32))
    words = [word.encode("latin1").decode("utf-8", "surrogateescape") for word in words]
    return words, np.concatenate([np.empty((0, dim), np.float32), *parts])


def _read_binary(file: IO[bytes], path: Path, dim: int, count: int) -> tuple[list[str], NDArray[np.float32]]:
    words, vectors, rest = list[str](), np.empty((count, dim), "<f4"), b""
    while len(words) < count and (block := file.read(BLOCK)):
        data, start = rest + block, 0
        while len(words) < count:
            space = data.find(b" ", start)
            end = space + 1 + 4 * dim
            if space < 0 or len(data) < end:
                break
            vectors[len(words)] = np.frombuffer(data, "<f4", dim, space + 1)
            # word2vec.c ends each vector with a line break
            words.append(data[start:space].lstrip(b"\n").decode("utf-8", "surrogateescape"))
            start = end
        rest = data[start:]
    if len(words) < count:
        raise InputError(
            f"{path}: the header (line 1) declares {count} vectors of {dim} numbers, the file ends inside vector "
            f"{len(words) + 1}; is it complete?"
        )
    return words, vectors.astype(np.float32, copy=False)


def table_checksum(words: Sequence[str], vectors: NDArray[np.floating]) -> str:
    """The SHA-256 of words and vectors, for vectors that are not in one file."""
    digest = hashlib.sha256("\n".join([str(vectors.shape), *words]).encode("utf-8", "surrogatepass"))
    for start in range(0, len(vectors), _ROWS_PER_BLOCK):
        digest.update(np.ascontiguousarray(vectors[start : start + _ROWS_PER_BLOCK], "<f4").data)
    return digest.hexdigest()


class _Attributes:
    """Replaces KeyedVectors (and the Vocab of gensim 3): the attributes of the file."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)


def _dtype(code: str, *options: Any) -> np.dtype[Any]:  # noqa: ANN401  as numpy.dtype
    """A NumPy type of numbers or texts; arrays of objects could hold anything."""
    found = np.dtype(code, *options)
    if found.kind not in "biufSU":
        raise pickle.UnpicklingError(f"the dtype {code!r}")
    return found


def _encoded(text: str, encoding: str) -> bytes:
    """Bytes as pickled by protocols before 3."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"the encoding {encoding}")
    return codecs.encode(text, encoding)


_ADMITTED: dict[str, Callable[..., Any]] = {
    "numpy ndarray": np.ndarray,
    "numpy dtype": _dtype,
    "numpy.core.multiarray _reconstruct": multiarray._reconstruct,
    "numpy.core.multiarray scalar": multiarray.scalar,
    "numpy.core.numeric _frombuffer": numeric._frombuffer,  # type: ignore[attr-defined]
    "_codecs encode": _encoded,
    **{f"{module} frozenset": frozenset for module in ("builtins", "__builtin__")},
    "__builtin__ bytes": bytes,
    **{
        f"gensim.models.keyedvectors {name}": _Attributes
        for name in ("KeyedVectors", "EuclideanKeyedVectors", "Word2VecKeyedVectors", "Vocab")
    },
}
"""The constructors that a .kv file may call."""


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401  a constructor
        found = _ADMITTED.get(f"{module.replace('numpy._core', 'numpy.core')} {name}")
        if found is None:
            raise pickle.UnpicklingError(f"{module}.{name}")
        return found


def read_keyed_vectors(path: Path) -> VectorTable:
    """Read a file of gensim's ``KeyedVectors.save``; large arrays, in a file next to it, are memory-mapped."""
    with unpacked(path) as file:
        data = file.read()
    try:
        saved = _Unpickler(io.BytesIO(data), encoding="latin1").load()
        attributes = vars(saved) if isinstance(saved, _Attributes) else {}
        words = attributes.get("index_to_key", attributes.get("index2word"))  # since gensim 4, before
        vectors = attributes.get("vectors", attributes.get("syn0"))  # since gensim 3.3, before
        if words is None:
            raise ValueError("there is no list of words in it")
        if not isinstance(vectors, np.ndarray):
            packed = Path(f"{path}.vectors.npz")
            if packed.exists():
                with np.load(packed, allow_pickle=False) as arrays:
                    vectors = np.asarray(arrays["val"])
            else:
                vectors = np.asarray(np.load(f"{path}.vectors.npy", mmap_mode="r", allow_pickle=False))
        if len(words) != len(vectors):
            raise ValueError(f"{len(words)} words, {len(vectors)} vectors")
        return VectorTable(words, vectors, table_checksum(words, vectors))
    except OSError:  # no file of vectors next to it
        raise
    except Exception as error:  # a pickle of something else, or a damaged one, may raise anything
        raise InputError(
            f"{path}: expected gensim KeyedVectors of plain words and numbers, found {error}; nothing else is loaded "
            "from a pickle. Save the vectors with gensim's save_word2vec_format instead"
        ) from error
