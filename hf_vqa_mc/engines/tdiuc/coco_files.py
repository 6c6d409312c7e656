"""COCO's instance annotations: files that list their images and all annotated objects on them."""

import zipfile
from array import array
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from hf_vqa_mc.engines.tdiuc.question import Images, subset_in
from hf_vqa_mc.engines.tdiuc.words import COCO_OBJECTS
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.records import Records, read_lists
from hf_vqa_mc.sources.files import PublishedFile, member_names

NAMES = tuple(COCO_OBJECTS)
_NUMBERS = {name: number for number, name in enumerate(NAMES)}


class Instance(NamedTuple):
    """One annotated object."""

    name: str  # COCO's, of its category
    area: float  # pixels
    left: float
    top: float
    width: float
    height: float
    crowd: bool  # a region of many, not one


class CocoImage(NamedTuple):
    """One image with all its annotated objects."""

    image_id: int
    width: int
    height: int
    annotated: frozenset[str]  # names of objects that would be annotated if the image showed them
    instances: list[Instance]

    @property
    def present(self) -> frozenset[str]:
        """The names of all objects, of any size."""
        return frozenset(one.name for one in self.instances)


class CocoAnnotations:
    """The annotations of all files in columns: each of 860,000 objects takes about fifty bytes."""

    def __init__(self, images: Images) -> None:
        self.left_out = Counter[str]()
        self._images = images
        self._sizes: dict[int, tuple[int, int, frozenset[str]]] = {}
        self._stems: dict[int, str] = {}
        self._numbers = array("q")  # annotation id, image id, category, crowd
        self._boxes = array("d")  # area, left, top, width, height

    def __len__(self) -> int:
        """The number of images."""
        return len(self._sizes)

    def read(self, file: PublishedFile) -> None:
        """Add a file's images and objects; count those that another file listed before.

        Raises:
            InputError: the file is not as COCO's are, is truncated, or has another image under a known id.
        """
        part = _FilePart(file)
        names = part.category_names()
        annotated = frozenset(names.values())
        for image_id, (width, height, name) in part.images.items():
            known = self._sizes.get(image_id)
            stem = PurePosixPath(name).stem.rpartition("_")[2]  # later releases have no COCO_val2014_ in it
            if known and (known[:2] != (width, height) or self._stems[image_id] != stem):
                raise InputError(f"{file.location}: image {image_id} is another image in another file; renumber it")
            self._stems[image_id] = stem
            self.left_out["images listed in another file too"] += known is not None
            self._sizes[image_id] = (width, height, annotated | (known[2] if known else frozenset()))
            self._images.add(image_id, "coco", subset_in(name) or subset_in(file.name), file.location)
        for what, used, listed in (("image", part.image_ids, part.images), ("category", part.category_ids, names)):
            if unlisted := set(used) - listed.keys():
                raise InputError(
                    f"{file.location}: {what} {min(unlisted)} is annotated, but not listed; use a whole file"
                )
        categories = [_NUMBERS[names[one]] for one in part.category_ids]
        numbers = np.column_stack([part.ids, part.image_ids, categories, part.crowds]).astype(np.int64)
        self._numbers.frombytes(numbers.tobytes())
        self._boxes.extend(part.boxes)

    def __iter__(self) -> Iterator[CocoImage]:
        """The images that have objects, sorted by id, each with its objects sorted by id."""
        numbers = np.frombuffer(self._numbers, np.int64).reshape(-1, 4)
        boxes = np.frombuffer(self._boxes, np.float64).reshape(-1, 5)
        order = np.lexsort((numbers[:, 0], numbers[:, 1]))
        again = np.append(False, numbers[order[1:], 0] == numbers[order[:-1], 0])[: len(order)]
        self.left_out["objects listed in another file too"] = int(again.sum())
        order = order[~again]
        ids = np.array(sorted(self._sizes), np.int64)
        starts = np.searchsorted(numbers[order, 1], ids)
        ends = np.searchsorted(numbers[order, 1], ids, "right")
        self.left_out["images without any annotated object"] = int((starts == ends).sum())
        for image_id, start, end in zip(ids.tolist(), starts.tolist(), ends.tolist(), strict=True):
            if start < end:
                rows = order[start:end]
                pairs = zip(numbers[rows, 2:].tolist(), boxes[rows].tolist(), strict=True)
                instances = [Instance._make((NAMES[name], *box, bool(crowd))) for (name, crowd), box in pairs]
                yield CocoImage(image_id, *self._sizes[image_id], instances)


class _FilePart:
    """The columns of one file."""

    def __init__(self, file: PublishedFile) -> None:
        self.file = file
        self.images: dict[int, tuple[int, int, str]] = {}
        """width, height and the last part of the file name"""
        self.ids, self.image_ids, self.category_ids, self.crowds = (array("q") for _ in range(4))
        self.boxes = array("d")
        self._categories: list[Records] = []
        readers = {
            "images": self._read_images,
            "annotations": self._read_annotations,
            "categories": self._categories.append,
        }
        for field, records in read_lists(file, tuple(readers)):
            readers[field](records)

    def _read_images(self, records: Records) -> None:
        names = [PurePosixPath(name).name for name in records.filled_texts("file_name")]
        sizes = zip(records.whole_numbers("width"), records.whole_numbers("height"), names, strict=True)
        self.images.update(zip(records.whole_numbers("id"), sizes, strict=True))

    def _read_annotations(self, records: Records) -> None:
        self.ids.extend(records.whole_numbers("id"))
        self.image_ids.extend(records.whole_numbers("image_id"))
        self.category_ids.extend(records.whole_numbers("category_id"))
        self.crowds.extend(records.whole_numbers("iscrowd"))
        for area, box in zip(records.column("area"), records.lists("bbox", 4), strict=True):
            self.boxes.extend((area, *box))

    def category_names(self) -> dict[int, str]:
        """The name of each category id.

        Raises:
            InputError: a category is not one of COCO's 80.
        """
        names: dict[int, str] = {}
        for records in self._categories:
            for one, name in zip(records.whole_numbers("id"), records.texts("name"), strict=True):
                if name not in COCO_OBJECTS:
                    raise InputError(f"{self.file.location}: {unknown_name('category', name, COCO_OBJECTS)}")
                names[one] = name
        if not names:
            raise InputError(f"{self.file.location}: field 'categories': expected a list of categories, found none")
        return names


def coco_files(paths: Sequence[Path]) -> list[PublishedFile]:
    """The instance files at paths: plain, .gz or .xz; for a .zip, all members called instances*.json.

    Raises:
        InputError: a path is not a file, or a zip file has no such member.
    """
    found = []
    for path in paths:
        if not path.is_file():
            raise InputError(f"COCO file {path}: {'it is a folder' if path.is_dir() else 'no such file'}; give a file")
        if not zipfile.is_zipfile(path):
            found.append(PublishedFile(path.name, path))
            continue
        members = member_names(path)
        wanted = sorted(
            one for one in members if PurePosixPath(one).match("instances*.json") and "__MACOSX" not in one
        )
        if not wanted:
            raise InputError(f"COCO file {path}: expected a file instances*.json in it, found none")
        found += [PublishedFile(PurePosixPath(one).name, path, one) for one in wanted]
    return found
