"""One file of features: safetensors with the images' sha256 and a row of numbers each, read where it lies."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import FeatureKind

HASH_BYTES = 32
_NUMBERS: dict[str, tuple[str, np.dtype[Any]]] = {
    "float32": ("F32", np.dtype("<f4")),
    "bfloat16": ("BF16", np.dtype("<u2")),
}
"""Precision to its name in safetensors, and what numpy reads it as (it has no bfloat16)."""
_LONGEST_HEADER = 100_000
_KIND, _FEATURES, _HASHES = "kind", "features", "sha256"


def shard_bytes(kind: FeatureKind, hashes: list[bytes], features: list[torch.Tensor]) -> bytes:
    """A file with these rows."""
    tensors = {
        _FEATURES: torch.stack(features),
        _HASHES: torch.frombuffer(bytearray(b"".join(hashes)), dtype=torch.uint8).view(len(hashes), HASH_BYTES),
    }
    return save(tensors, {_KIND: json.dumps(kind.as_json())})


class Shard:
    """A file of features; what is in memory of it is where its rows are.

    Args:
        path: the file.
        kind: of the features that it must hold; None takes any.

    Raises:
        InputError: it is no whole file of ours, or holds other features.
        FileNotFoundError: there is none.
    """

    def __init__(self, path: Path, kind: FeatureKind | None = None) -> None:
        self.path = path
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            length = int.from_bytes(file.read(8), "little")
            try:
                header = json.loads(file.read(min(length, _LONGEST_HEADER)))
                stored = FeatureKind.from_json(json.loads(header["__metadata__"][_KIND]), str(path))
                rows = int(header[_HASHES]["shape"][0])
                code, self._type = _NUMBERS[stored.precision]
                self._shape = (rows, *stored.shape)
                features, hashes = header[_FEATURES], header[_HASHES]
                starts = {8 + length + part["data_offsets"][0] for part in (features, hashes)}
                whole = (
                    features["dtype"] == code
                    and tuple(features["shape"]) == self._shape
                    and _span(features) == rows * stored.dim * (stored.grid or 1) ** 2 * self._type.itemsize
                    and hashes["dtype"] == "U8"
                    and _span(hashes) == rows * HASH_BYTES
                    and min(starts) == 8 + length
                    and max(8 + length + part["data_offsets"][1] for part in (features, hashes)) == size
                )
            except (ValueError, KeyError, TypeError, IndexError) as error:
                raise _damaged(path) from error
            if not whole:
                raise _damaged(path)
            if kind is not None and stored != kind:
                raise InputError(f"{path} holds features of {stored}, expected {kind}; move it out of this folder")
            self.kind = stored
            self._start = 8 + length + features["data_offsets"][0]
            file.seek(8 + length + hashes["data_offsets"][0])
            packed = file.read(rows * HASH_BYTES)
        self.hashes = [packed[at : at + HASH_BYTES] for at in range(0, len(packed), HASH_BYTES)]

    def rows(self, opened: NDArray[Any], which: NDArray[np.int64]) -> NDArray[np.float32]:
        """Rows of the file, float32 (rows, *kind.shape).

        Args:
            opened: what ``open`` gave.
            which: their numbers.
        """
        chosen = opened[which]
        if self.kind.precision == "float32":
            return chosen.astype(np.float32, copy=False)
        return (chosen.astype(np.uint32) << 16).view(np.float32)  # bfloat16 is the upper half of a float32

    def open(self) -> NDArray[Any]:
        """The features, mapped into memory: the system reads what is looked at, and drops it when it needs room."""
        return np.memmap(self.path, dtype=self._type, mode="r", offset=self._start, shape=self._shape)


def _span(part: dict[str, list[int]]) -> int:
    first, last = part["data_offsets"]
    return last - first


def _damaged(path: Path) -> InputError:
    return InputError(f"{path} is no whole file of features; remove it, and vqa-mc features computes its images again")
