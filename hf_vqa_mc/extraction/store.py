"""All features of one kind, by what the images hold: files that are only ever added, each whole.

Processes may add to a store at once. Each file is written under the store's lock, and an image that another process
has added meanwhile is left out, so an image is computed twice at worst, never stored twice.
"""

import contextlib
import errno
import os
import re
import tempfile
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import FeatureKind
from hf_vqa_mc.extraction.shard import Shard, shard_bytes

SHARD_IMAGES, SHARD_BYTES, SHARD_SECONDS = 4096, 256 << 20, 60.0
"""A file is written when one of these is full: whoever is killed loses the work of a minute at most."""
MAPPED = 128
"""Files that are mapped into memory at a time; each takes one of the process's open files."""

_NAME = re.compile(r"features-(\d{5,})\.safetensors")
_ENVIRONMENT = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EPERM, errno.EROFS}

Place = tuple[int, int]
"""File and row of an image's features."""


class FeatureStore:
    """A folder of features of one kind.

    Args:
        folder: where they lie; made when the first are added.
        kind: what they are.

    Raises:
        InputError: what is there is of another kind, or damaged.
    """

    def __init__(self, folder: Path, kind: FeatureKind) -> None:
        self.folder, self.kind = folder, kind
        self._shards: list[Shard] = []
        self._places: dict[bytes, Place] = {}
        self._mapped: OrderedDict[int, NDArray[Any]] = OrderedDict()
        self._hashes: list[bytes] = []
        self._features: list[torch.Tensor] = []
        self._since = 0.0
        self.refresh()

    def __len__(self) -> int:
        """Images whose features are stored."""
        return len(self._places)

    def __contains__(self, image_hash: bytes) -> bool:
        """Whether the features of the image with this sha256 are stored."""
        return image_hash in self._places

    def place(self, image_hash: bytes) -> Place:
        """Where the features of the image with this sha256 are.

        Raises:
            KeyError: they are not stored.
        """
        return self._places[image_hash]

    def refresh(self) -> None:
        """See what other processes have added."""
        known = {shard.path for shard in self._shards}
        for path in sorted(self.folder.glob("features-*.safetensors")):
            if path not in known and _NAME.fullmatch(path.name):
                shard = Shard(path, self.kind)
                for row, image_hash in enumerate(shard.hashes):
                    self._places.setdefault(image_hash, (len(self._shards), row))
                shard.hashes.clear()
                self._shards.append(shard)

    def take(self, places: Sequence[Place]) -> NDArray[np.float32]:
        """The features at these places: float32 (places, *kind.shape)."""
        taken = np.empty((len(places), *self.kind.shape), np.float32)
        files, rows = np.array(places, np.int64).reshape(-1, 2).T
        for number in np.unique(files).tolist():
            here = files == number
            taken[here] = self._shards[number].rows(self._opened(number), rows[here])
        return taken

    def _opened(self, number: int) -> NDArray[Any]:
        mapped = self._mapped.pop(number, None)
        self._mapped[number] = mapped = self._shards[number].open() if mapped is None else mapped
        while len(self._mapped) > MAPPED:
            self._mapped.popitem(last=False)
        return mapped

    def add(self, image_hash: bytes, features: NDArray[np.float32]) -> None:
        """Take an image's features, to be stored with the next file.

        Args:
            image_hash: sha256 of the image's bytes.
            features: float32 (*kind.shape).
        """
        self._since = self._since if self._hashes else time.monotonic()
        self._hashes.append(image_hash)
        self._features.append(torch.tensor(features, dtype=getattr(torch, self.kind.precision)))
        size = len(self._features) * self._features[0].nbytes
        if len(self._hashes) >= SHARD_IMAGES or size >= SHARD_BYTES or time.monotonic() - self._since >= SHARD_SECONDS:
            self.commit()

    def commit(self) -> None:
        """Store what was taken since the last file.

        Raises:
            OSError: the disk is full or closed to us; the files that are there stay as they are.
        """
        if not self._hashes:
            return
        with locked(self.folder):
            self.refresh()
            new = [at for at, image_hash in enumerate(self._hashes) if image_hash not in self._places]
            if new:
                names = (_NAME.fullmatch(shard.path.name) for shard in self._shards)
                last = max((int(name[1]) for name in names if name), default=-1)
                content = shard_bytes(self.kind, [self._hashes[at] for at in new], [self._features[at] for at in new])
                write_whole(self.folder / f"features-{last + 1:05d}.safetensors", content)
                self.refresh()
        self._hashes, self._features = [], []


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Alone with what is written in a folder, which is made if there is none.

    Raises:
        OSError: nothing can be written there.
    """
    with _in_plain_words(folder):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):  # where nothing can be written FileLock may wait for ever
            pass
    with FileLock(folder / ".lock"):
        yield


def write_whole(path: Path, content: bytes) -> None:
    """A file that appears whole or not at all; only for who holds the lock of its folder or of the one around it.

    Raises:
        OSError: the disk is full or closed to us; what was there before still is.
    """
    partial = path.with_name(f".{path.name}.partial")  # what a killed process left of it is written over
    with _in_plain_words(path):
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
def _in_plain_words(path: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise InputError(f"{error.filename} is a file; name another folder with --output") from error
    except NotADirectoryError as error:
        raise InputError(f"{path}: there is a file where a folder should be; name another with --output") from error
    except OSError as error:
        if error.errno not in _ENVIRONMENT:
            raise
        reason = os.strerror(error.errno).lower()
        raise OSError(error.errno, f"cannot write {path}: {reason}; what is there already was not changed") from error
