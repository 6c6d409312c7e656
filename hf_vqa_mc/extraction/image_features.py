"""The stored features of a dataset's images, by image_id, memory-mapped."""

import json
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import FeatureKind
from hf_vqa_mc.extraction.store import FeatureStore, locked, write_whole

INDEX = "index.json"


class ImageFeatures:
    """The features of a dataset's images; unpickling opens the folder again.

    Args:
        folder: printed by ``vqa-mc features``: a dataset's index, inside the folder of the features.
        kind: of the features.
        hashes: image_id to sha256 of the image.
        missing: image_ids that were skipped because the image was missing.
        broken: image_id of skipped broken images to the reason.
    """

    def __init__(
        self,
        folder: Path,
        kind: FeatureKind,
        hashes: dict[str, str],
        missing: Sequence[str] = (),
        broken: Mapping[str, str] | None = None,
    ) -> None:
        self.folder, self.kind = folder, kind
        self.missing, self.broken = list(missing), dict(broken or {})
        self._store = FeatureStore(folder.parent, kind)
        lost = [image_id for image_id, one in hashes.items() if bytes.fromhex(one) not in self._store]
        if lost:
            raise InputError(
                f"{folder.parent} lacks the features of {len(lost)} of {len(hashes)} images, the first with image_id "
                f"{lost[0]!r}; run vqa-mc features again to compute them"
            )
        self.hashes = hashes
        self.checksum = sha256(json.dumps(hashes, sort_keys=True).encode()).hexdigest()
        """checksum of image ids and images"""
        self._locations = {image_id: self._store.location(bytes.fromhex(one)) for image_id, one in hashes.items()}

    @classmethod
    def open(cls, folder: str | Path) -> "ImageFeatures":
        """Open a folder of image features.

        Raises:
            InputError: it is not one, or features are missing.
        """
        folder = Path(folder).expanduser()
        path = folder / INDEX
        try:
            index = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            inside = sorted(str(found.parent) for found in [*folder.glob(f"*/{INDEX}"), *folder.glob(f"*/*/{INDEX}")])
            near = f"; did you mean {' or '.join(inside)}?" if inside else "; create one with vqa-mc features"
            raise InputError(f"{folder} is not a folder of image features{near}") from None
        except ValueError as error:
            raise InputError(f"{path} is not valid JSON; run vqa-mc features again") from error
        try:
            kind = FeatureKind.from_json(index["kind"], str(path))
            return cls(folder, kind, index["images"], index["missing"], index["broken"])
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} is not an index of image features; run vqa-mc features again") from error

    def __reduce__(self) -> tuple[Callable[[Path], "ImageFeatures"], tuple[Path]]:
        return ImageFeatures.open, (self.folder,)

    def __len__(self) -> int:
        return len(self._locations)

    def __contains__(self, image_id: object) -> bool:
        return image_id in self._locations

    def take(self, image_ids: Sequence[str]) -> NDArray[np.float32]:
        """Features of images in this order: float32 (images, dim), or (images, cells, dim) in row-major order.

        Raises:
            InputError: an image has no features.
        """
        try:
            locations = [self._locations[image_id] for image_id in image_ids]
        except KeyError as error:
            raise self._unknown(error.args[0]) from None
        return self._store.take(locations)

    def copy_to(self, folder: Path) -> list[Path]:
        """Copy these features to a folder inside the folder of another store; return the files.

        Raises:
            InputError: the store has features of another kind.
            OSError: the disk is full or read-only.
        """
        store = FeatureStore(folder.parent, self.kind)
        for image_id, image_hash in self.hashes.items():
            if bytes.fromhex(image_hash) not in store:
                store.add(bytes.fromhex(image_hash), self.take([image_id])[0])
        store.commit()
        about = {"missing": self.missing, "broken": self.broken}
        write_index(folder, self.kind, {name: bytes.fromhex(one) for name, one in self.hashes.items()}, about)
        return [folder / INDEX, *sorted(folder.parent.glob("features-*.safetensors"))]

    def _unknown(self, image_id: object) -> InputError:
        if image_id in self.missing:
            return InputError(f"{self.folder}: the image with image_id {image_id!r} was missing and skipped")
        if image_id in self.broken:
            reason = self.broken[str(image_id)]
            return InputError(f"{self.folder}: the image with image_id {image_id!r} was skipped: {reason}")
        near = get_close_matches(str(image_id), self._locations, n=1) if len(self._locations) < 1000 else []
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        return InputError(
            f"{self.folder} has no features of an image with image_id {image_id!r}{hint}; run vqa-mc features for "
            "this dataset"
        )


def write_index(folder: Path, kind: FeatureKind, images: Mapping[str, bytes], about: Mapping[str, Any]) -> None:
    """Write the index (image_id to sha256) atomically; ``about`` has at least ``missing`` and ``broken``."""
    hashes = {image_id: image_hash.hex() for image_id, image_hash in images.items()}
    text = json.dumps({"kind": kind.as_json(), **about, "images": hashes}, indent=0)
    with locked(folder.parent):
        folder.mkdir(exist_ok=True)
        write_whole(folder / INDEX, text.encode())
