"""Word vector files as they are published: word2vec binary and text, GloVe text; plain or packed with gzip, xz or zip.

gensim also reads them, but does not report the malformed line, and is several times slower on text; the values are
the same.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import csv

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.packed import unpacked

BLOCK = 1 << 24  # number of bytes of a file parsed together
LONGEST_LINE = 1 << 20  # bytes; the limit for a first line or a word of a vector file
_ROWS_PER_BLOCK = 1 << 16
_HEADER = re.compile(rb"\s*(\d{1,18})\s+(\d{1,18})\s*")
_ANY_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")

Vectors = tuple[list[str], NDArray[np.float32]]


class VectorTable(NamedTuple):
    """The content of a vector file, in its order."""

    words: list[str]  # the first of repeated words counts; bytes that are not UTF-8 are surrogate escapes
    vectors: NDArray[np.floating]  # float32 (words, dim), or the type of a memory-mapped array
    sha256: str


def read_vector_file(path: Path) -> VectorTable:
    """Read a word2vec (.bin or .txt) or GloVe file, plain or packed; the format is detected from its bytes.

    The checksum is that of the unpacked bytes, so ``x.txt`` and ``x.txt.xz`` have the same. Raises InputError, with
    file and line or vector, if it is empty, truncated, or malformed.
    """
    digest = hashlib.sha256()
    with unpacked(path) as file:
        first, start = file.readline(LONGEST_LINE), file.read(1 << 16)
        if not first:
            raise InputError(f"{path}: the file is empty, expected word vectors")
        chunks = _blocks(file, start, digest)
        digest.update(first)
        if header := _HEADER.fullmatch(first):
            read = _read_text if _is_text(start, int(header[2])) else _read_binary
            words, vectors = read(chunks, path, int(header[2]), int(header[1]))
        else:
            parts = first.split()
            if len(parts) < 2 or not all(map(_is_number, parts[1:])):
                raise InputError(
                    f"{path}, line 1: not a vector file; expected the header of a word2vec file (two counts) or a "
                    f"line of a GloVe file (a word and its numbers), found {first[:40]!r}"
                )
            words, vectors = _read_text(chain([first], chunks), path, len(parts) - 1, None)
    return VectorTable(words, vectors, digest.hexdigest())


def _blocks(file: IO[bytes], start: bytes, digest: "hashlib._Hash") -> Iterator[bytes]:
    """The start and the rest of a file, which are hashed."""
    while start:
        digest.update(start)
        yield start
        start = file.read(BLOCK)


def _is_number(text: bytes) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_text(start: bytes, dim: int) -> bool:
    """Whether the content after a word2vec header is text; float32 numbers contain control bytes."""
    numbers = start.split(b"\n", 1)[0].split()[1:]
    if len(numbers) == dim and all(map(_is_number, numbers)):
        return True
    try:
        start[:-4].decode()  # the last character may be cut
    except UnicodeDecodeError:
        return False
    return not _ANY_CONTROL.search(start)


def _read_text(blocks: Iterator[bytes], path: Path, dim: int, count: int | None) -> Vectors:
    """Parse lines; ``count`` is that of the header, if there is one."""
    words, matrices, line = list[str](), list[NDArray[np.float32]](), 1 if count is None else 2
    for block in _whole_lines(blocks):
        names, matrix = _parsed_fast(block, dim) or _parsed_line_by_line(block, dim, path, line)
        words += names
        matrices.append(matrix)
        line += block.count(b"\n")
    if count is not None and len(words) != count:
        raise InputError(
            f"{path}: the header (line 1) declares {count} vectors, the file holds {len(words)}; is the file complete?"
        )
    return words, np.concatenate(matrices)


def _whole_lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Blocks of whole lines, without empty lines at the end."""
    rest = b""
    for chunk in blocks:
        block = rest + chunk
        end = block.rfind(b"\n", 0, len(block.rstrip(b"\r\n"))) + 1  # empty lines that may be the end wait
        rest = block[end:]
        if end:
            yield block[:end]
    if rest.strip():
        yield rest.rstrip(b"\r\n")


def _parsed_fast(block: bytes, dim: int) -> Vectors | None:
    """Words and vectors of regular lines; None if a line is irregular or malformed."""
    names = [str(column) for column in range(dim + 1)]
    types = {name: pa.float64() for name in names[1:]} | {"0": pa.binary()}
    try:
        table = csv.read_csv(
            pa.BufferReader(block.replace(b" \n", b"\n").rstrip(b" ")),  # word2vec.c ends each line with a space
            csv.ReadOptions(column_names=names),
            csv.ParseOptions(delimiter=" ", quote_char=False, ignore_empty_lines=False),
            csv.ConvertOptions(column_types=types, null_values=[]),
        )
    except pa.ArrowInvalid:
        return None
    # numbers are read as float64 and rounded to float32, as gensim does
    vectors = np.empty((table.num_rows, dim), np.float32)
    with np.errstate(over="ignore"):
        for column in range(dim):
            vectors[:, column] = table.column(column + 1).to_numpy()
    return [word.decode("utf-8", "surrogateescape") for word in table.column(0).to_pylist()], vectors


def _parsed_line_by_line(block: bytes, dim: int, path: Path, first_line: int) -> Vectors:
    """Slow parser: accepts words with spaces (GloVe 840B has some) and names the malformed line."""
    words, rows = [], []
    for number, line in enumerate(block.removesuffix(b"\n").split(b"\n"), first_line):
        parts = line.rstrip().split(b" ")
        word, numbers = parts[:-dim], parts[-dim:]
        if len(parts) <= dim or (len(word) > 1 and all(map(_is_number, word[1:]))):
            raise InputError(f"{path}, line {number}: expected a word and {dim} numbers, found {len(parts) - 1}")
        wrong = next((text for text in numbers if not _is_number(text)), None)
        if wrong is not None:
            raise InputError(f"{path}, line {number}: expected a number, found {wrong[:40]!r}")
        words.append(b" ".join(word).decode("utf-8", "surrogateescape"))
        rows.append(list(map(float, numbers)))
    with np.errstate(over="ignore"):
        return words, np.array(rows).astype(np.float32)


def table_checksum(words: Sequence[str], vectors: NDArray[np.floating]) -> str:
    """The SHA-256 of words and vectors, for vectors that are not in one file."""
    digest = hashlib.sha256("\n".join([str(vectors.shape), *words]).encode("utf-8", "surrogatepass"))
    for start in range(0, len(vectors), _ROWS_PER_BLOCK):
        digest.update(np.ascontiguousarray(vectors[start : start + _ROWS_PER_BLOCK], "<f4").data)
    return digest.hexdigest()


def _read_binary(blocks: Iterator[bytes], path: Path, dim: int, count: int) -> Vectors:
    words, vectors, rest = list[str](), np.empty((count, dim), "<f4"), b""
    for block in blocks:
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
        rest = data[start:] if len(words) < count else b""
    if len(words) < count:
        raise InputError(
            f"{path}: the header (line 1) declares {count} vectors of {dim} numbers, the file ends inside vector "
            f"{len(words) + 1}; is it complete?"
        )
    return words, vectors.astype(np.float32, copy=False)
