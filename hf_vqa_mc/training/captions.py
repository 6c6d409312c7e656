"""Captions of images, for models that read a caption instead of seeing the image."""

from collections.abc import Iterator
from pathlib import Path

from hf_vqa_mc.io.records import read_lists


def captions_in(path: Path) -> Iterator[tuple[str, str]]:
    """The image ids and captions of COCO's ``captions_*.json``; raises InputError if the file is not of that form."""
    for _, records in read_lists(path, ("annotations",)):
        yield from zip(records.ids("image_id"), records.texts("caption"), strict=True)
