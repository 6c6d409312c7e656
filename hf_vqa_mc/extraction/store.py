"""Stored image features: a store of all features of one kind, and in it an index of each dataset's images.

A store maps an image's sha256 to its features, in append-only safetensors files. Several processes may write to it:
files are written atomically under its lock, without images that another process has stored meanwhile.

A file has the tensors ``features`` (images, *shape) and ``sha256`` (images, 32). Of regions it has ``features``
(regions of all images, dim), ``boxes`` float32 (regions, 6) as in `Regions`, and ``counts`` int64 (images,), the
number of regions of each image; imported regions are identified by the sha256 of their features and boxes.
"""

import json
import re
import time
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import save

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import WHOLE, FeatureKind, Regions, image_tensors
from hf_vqa_mc.io.atomic import locked, write_bytes
from hf_vqa_mc.io.json_stream import read_json

SHARD_IMAGES, SHARD_BYTES, SHARD_SECONDS = 4096, 256 << 20, 60.0  # a file is written at one of these
HASH_BYTES = 32
INDEX = "index.json"

_NAME = re.compile(r"features-(\d{5,})\.safetensors")
_KIND, _FEATURES, _HASHES, _BOXES, _COUNTS = "kind", "features", "sha256", "boxes", "counts"

Location = tuple[int, int]  # file number and row of an image's features


class _File(NamedTuple):
    features: torch.Tensor  # memory-mapped, (images, *shape) or (regions, dim)
    boxes: torch.Tensor | None = None  # (regions, 6)
    starts: NDArray[np.int64] | None = None  # (images + 1,): index of each image's first region


class FeatureStore:
    """A folder of features of one kind."""

    def __init__(self, folder: Path, kind: FeatureKind) -> None:
        self.folder, self.kind = folder, kind
        self._files: dict[Path, _File] = {}
        self.locations: dict[bytes, Location] = {}  # sha256 of each stored image to the location of its features
        self._new: dict[bytes, dict[str, torch.Tensor]] = {}
        self._bytes, self._since = 0, 0.0
        self.refresh()

    def refresh(self) -> None:
        """Read files that other processes have added."""
        for path in sorted(self.folder.glob("features-*.safetensors")):
            if path not in self._files and _NAME.fullmatch(path.name):
                file, hashes = _opened(path, self.kind)
                for row, image_hash in enumerate(hashes):
                    self.locations.setdefault(image_hash, (len(self._files), row))
                self._files[path] = file

    def take(self, locations: Sequence[Location]) -> NDArray[np.float32]:
        """The features at these locations: float32 (locations, *kind.shape)."""
        taken = np.empty((len(locations), *self.kind.shape), np.float32)
        files, rows = np.array(locations, np.int64).reshape(-1, 2).T
        mapped = list(self._files.values())
        for number in np.unique(files).tolist():
            here = files == number
            taken[here] = mapped[number].features[torch.from_numpy(rows[here])].float().numpy()
        return taken

    def regions(self, locations: Sequence[Location]) -> list[Regions]:
        """The regions of the images at these locations, of a kind with regions."""
        files, found = list(self._files.values()), []
        for number, row in locations:
            features, boxes, starts = files[number]
            if boxes is not None and starts is not None:
                part = slice(starts[row], starts[row + 1])
                found.append(Regions(features[part].float().numpy(), boxes[part].numpy()))
        return found

    def add(self, image_hash: bytes, features: NDArray[np.float32] | Regions) -> None:
        """Add an image's features, float32 (*kind.shape), or its regions, to the next file."""
        self._since = self._since if self._new else time.monotonic()
        precision = getattr(torch, self.kind.precision)
        if isinstance(features, Regions):
            boxes, count = torch.tensor(features.boxes), torch.tensor([len(features.boxes)])
            new = {_FEATURES: torch.tensor(features.features, dtype=precision), _BOXES: boxes, _COUNTS: count}
        else:
            new = {_FEATURES: torch.tensor(features, dtype=precision)[None]}
        self._new[image_hash] = new
        self._bytes += new[_FEATURES].nbytes
        full = len(self._new) >= SHARD_IMAGES or self._bytes >= SHARD_BYTES
        if full or time.monotonic() - self._since >= SHARD_SECONDS:
            self.commit()

    def commit(self) -> None:
        """Write the features added since the last file; existing files are never changed."""
        if not self._new:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with locked(self.folder / ".lock"):
            self.refresh()
            new = {image_hash: row for image_hash, row in self._new.items() if image_hash not in self.locations}
            if new:
                last = max((int(path.name[9:].partition(".")[0]) for path in self._files), default=-1)
                hashes = torch.frombuffer(bytearray(b"".join(new)), dtype=torch.uint8).view(len(new), HASH_BYTES)
                names = next(iter(new.values()))
                tensors = {name: torch.cat([row[name] for row in new.values()]) for name in names}
                content = save(tensors | {_HASHES: hashes}, {_KIND: json.dumps(self.kind.as_json())})
                write_bytes(self.folder / f"features-{last + 1:05d}.safetensors", content)
                self.refresh()
        self._new, self._bytes = {}, 0


class ImageFeatures:
    """The features of a dataset's images by image_id, memory-mapped; unpickling opens the folder again.

    ``folder`` is printed by ``vqa-mc features``: a dataset's index, inside the folder of the store. Raises InputError
    if it is not such a folder, or lacks features.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder).expanduser()
        try:
            index = read_json(self.folder / INDEX)
        except (FileNotFoundError, NotADirectoryError):
            found = [path.parent for depth in ("*", "*/*") for path in self.folder.glob(f"{depth}/{INDEX}")]
            near = " or ".join(sorted(map(str, found)))
            hint = f"did you mean {near}?" if near else "create one with vqa-mc features"
            raise InputError(f"{self.folder} is not a folder of image features; {hint}") from None
        self.kind = FeatureKind.from_json(index["kind"])
        self.missing, self.broken = list(index["missing"]), dict(index["broken"])
        self.labels = [str(label) for label in index.get("labels", [])]  # of regions
        self._views = {str(image_id): tuple(map(float, box)) for image_id, box in index.get("views", {}).items()}
        self.hashes = {image_id: bytes.fromhex(one) for image_id, one in index["images"].items()}
        self.checksum = sha256(json.dumps(index["images"], sort_keys=True).encode()).hexdigest()
        """checksum of image ids and images"""
        self._store = FeatureStore(self.folder.parent, self.kind)

    def __reduce__(self) -> tuple[type["ImageFeatures"], tuple[Path]]:
        return ImageFeatures, (self.folder,)

    def __len__(self) -> int:
        return len(self.hashes)

    def __contains__(self, image_id: object) -> bool:
        return image_id in self.hashes

    def take(self, image_ids: Sequence[str]) -> NDArray[np.float32]:
        """Features of images, float32 (images, *kind.shape); raises InputError without such features."""
        if self.kind.regions is not None:
            raise InputError(f"{self.folder} has features of regions; expected one vector or a grid per image")
        return self._store.take(self._locations(image_ids))

    def regions(self, image_ids: Sequence[str]) -> list[Regions]:
        """The regions of images, if the features are of regions; raises InputError if an image has none."""
        return self._store.regions(self._locations(image_ids))

    def tensors(self, image_ids: Sequence[str]) -> dict[str, torch.Tensor]:
        """The model inputs of images, see `image_tensors`; raises as `take`."""
        return image_tensors(self.kind, self.take(image_ids) if self.kind.regions is None else self.regions(image_ids))

    def views(self, image_ids: Sequence[str]) -> NDArray[np.float64] | None:
        """(images, 4): the part of each image that its grid covers, see `Box`; None if it is always the whole."""
        return np.array([self._views.get(image_id, WHOLE) for image_id in image_ids]) if self._views else None

    def _locations(self, image_ids: Sequence[str]) -> list[Location]:
        try:
            return [self._store.locations[self.hashes[image_id]] for image_id in image_ids]
        except KeyError:
            unknown = next(one for one in image_ids if self.hashes.get(one, b"") not in self._store.locations)
            skipped = {**dict.fromkeys(self.missing, "it was missing"), **self.broken}
            why = f", which was skipped: {skipped[unknown]}" if unknown in skipped else "; run vqa-mc features for it"
            raise InputError(f"{self.folder} has no features of the image with image_id {unknown!r}{why}") from None


def write_index(folder: Path, kind: FeatureKind, images: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
    """Write the index (image_id to sha256) atomically; ``about`` has at least ``missing`` and ``broken``."""
    hashes = {image_id: image_hash.hex() for image_id, image_hash in images.items()}
    text = json.dumps({"kind": kind.as_json(), **about, "images": hashes}, indent=0)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with locked(folder.parent / ".lock"):
        write_bytes(folder / INDEX, text.encode())


def _opened(path: Path, kind: FeatureKind) -> tuple[_File, list[bytes]]:
    """A file, and the sha256 of each row's image."""
    with safe_open(path, "pt") as file:
        found, packed = _File(file.get_tensor(_FEATURES)), file.get_tensor(_HASHES).numpy().tobytes()
        if kind.regions is not None:
            counts: NDArray[np.int64] = file.get_tensor(_COUNTS).numpy()
            found = _File(found.features, file.get_tensor(_BOXES), np.concatenate([[0], np.cumsum(counts)]))
    return found, [packed[first : first + HASH_BYTES] for first in range(0, len(packed), HASH_BYTES)]
