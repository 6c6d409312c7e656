"""All features of one kind by the image's sha256, in append-only safetensors files that are written atomically.

Several processes may write to a store. Files are written under the store's lock, without images that another process
has stored meanwhile.
"""

import contextlib
import json
import os
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import FeatureKind
from hf_vqa_mc.io.atomic_file import in_plain_words

SHARD_IMAGES, SHARD_BYTES, SHARD_SECONDS = 4096, 256 << 20, 60.0
"""A file is written when one of these is reached; a killed process loses at most a minute of work."""
HASH_BYTES = 32

_NAME = re.compile(r"features-(\d{5,})\.safetensors")
_KIND, _FEATURES, _HASHES = "kind", "features", "sha256"

Location = tuple[int, int]
"""File number and row of an image's features."""


class FeatureStore:
    """A folder of features of one kind, created with the first file.

    Raises:
        InputError: a file has features of another kind, or is damaged.
    """

    def __init__(self, folder: Path, kind: FeatureKind) -> None:
        self.folder, self.kind = folder, kind
        self._files: dict[Path, torch.Tensor] = {}
        self._locations: dict[bytes, Location] = {}
        self._new: dict[bytes, torch.Tensor] = {}
        self._since = 0.0
        self.refresh()

    def __len__(self) -> int:
        return len(self._locations)

    def __contains__(self, image_hash: bytes) -> bool:
        return image_hash in self._locations

    def location(self, image_hash: bytes) -> Location:
        """The location of the features of the image with this sha256; raise KeyError if not stored."""
        return self._locations[image_hash]

    def refresh(self) -> None:
        """Read files that other processes have added."""
        for path in sorted(self.folder.glob("features-*.safetensors")):
            if path not in self._files and _NAME.fullmatch(path.name):
                features, hashes = _opened(path, self.kind)
                for row, image_hash in enumerate(hashes):
                    self._locations.setdefault(image_hash, (len(self._files), row))
                self._files[path] = features

    def take(self, locations: Sequence[Location]) -> NDArray[np.float32]:
        """The features at these locations: float32 (locations, *kind.shape)."""
        taken = np.empty((len(locations), *self.kind.shape), np.float32)
        files, rows = np.array(locations, np.int64).reshape(-1, 2).T
        mapped = list(self._files.values())
        for number in np.unique(files).tolist():
            here = files == number
            taken[here] = mapped[number][torch.from_numpy(rows[here])].float().numpy()
        return taken

    def add(self, image_hash: bytes, features: NDArray[np.float32]) -> None:
        """Add an image's features, float32 (*kind.shape), to the next file."""
        self._since = self._since if self._new else time.monotonic()
        self._new[image_hash] = row = torch.tensor(features, dtype=getattr(torch, self.kind.precision))
        full = len(self._new) >= SHARD_IMAGES or len(self._new) * row.nbytes >= SHARD_BYTES
        if full or time.monotonic() - self._since >= SHARD_SECONDS:
            self.commit()

    def commit(self) -> None:
        """Write the features added since the last file.

        Raises:
            OSError: the disk is full or read-only; existing files are unchanged.
        """
        if not self._new:
            return
        with locked(self.folder):
            self.refresh()
            new = {image_hash: row for image_hash, row in self._new.items() if image_hash not in self._locations}
            if new:
                last = max((int(path.name[9:].partition(".")[0]) for path in self._files), default=-1)
                hashes = torch.frombuffer(bytearray(b"".join(new)), dtype=torch.uint8).view(len(new), HASH_BYTES)
                tensors = {_FEATURES: torch.stack(list(new.values())), _HASHES: hashes}
                content = save(tensors, {_KIND: json.dumps(self.kind.as_json())})
                write_whole(self.folder / f"features-{last + 1:05d}.safetensors", content)
                self.refresh()
        self._new = {}


def _opened(path: Path, kind: FeatureKind) -> tuple[torch.Tensor, list[bytes]]:
    """The memory-mapped features of a file (rows, *kind.shape), and the sha256 of each row's image.

    Raises:
        InputError: it is damaged, or has features of another kind.
    """
    damaged = f"{path} is damaged; remove it and run vqa-mc features again"
    try:
        with safe_open(path, "pt") as file:
            stored = FeatureKind.from_json(json.loads(file.metadata()[_KIND]), str(path))
            features, hashes = file.get_tensor(_FEATURES), file.get_tensor(_HASHES)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(damaged) from error
    rows = len(features)
    if features.shape != (rows, *stored.shape) or features.dtype != getattr(torch, stored.precision):
        raise InputError(damaged)
    if hashes.shape != (rows, HASH_BYTES) or hashes.dtype != torch.uint8:
        raise InputError(damaged)
    if stored != kind:
        raise InputError(f"{path} has features of {stored}, expected {kind}; move it out of this folder")
    packed = hashes.numpy().tobytes()
    return features, [packed[first : first + HASH_BYTES] for first in range(0, len(packed), HASH_BYTES)]


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder, which is created if it does not exist.

    Raises:
        OSError: the folder is not writable.
    """
    with _one_sentence(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # in a read-only folder FileLock may wait forever
            pass
    with FileLock(folder / ".lock"):
        yield


def write_whole(path: Path, content: bytes) -> None:
    """Write a file atomically; the caller must hold the lock of its folder or of the parent folder.

    Raises:
        OSError: the disk is full or read-only; an existing file is unchanged.
    """
    partial = path.with_name(f".{path.name}.partial")  # overwrites the leftovers of a killed process
    with _one_sentence(path):
        try:
            with partial.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(path)
        except BaseException:  # Ctrl-C too
            with contextlib.suppress(OSError):
                partial.unlink()
            raise


@contextlib.contextmanager
def _one_sentence(path: Path) -> Iterator[None]:
    try:
        with in_plain_words(path):
            yield
    except FileExistsError as error:
        raise InputError(f"{error.filename} is a file; name another folder with --output") from error
    except NotADirectoryError as error:
        raise InputError(f"{path}: a parent is a file, not a folder; name another folder with --output") from error
