"""Captions of images, for models that read a caption instead of seeing the image."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.json_stream import list_items
from hf_vqa_mc.text.normalisation import is_unicode


def captions_in(path: Path) -> Iterator[tuple[str, str]]:
    """The image ids and captions of a file of COCO captions; raises as `Captions`."""
    number = 0
    for records in list_items(path, "annotations"):
        for record in records:
            image = record.get("image_id") if isinstance(record, dict) else None
            caption = record.get("caption") if isinstance(record, dict) else None
            if isinstance(image, bool) or not isinstance(image, int | str) or not isinstance(caption, str):
                raise InputError(
                    f"{path}, annotations, record {number}: {shown(record)}; expected image_id and caption"
                )
            if not is_unicode(caption):
                raise InputError(
                    f"{path}, annotations, record {number}: the caption has half a surrogate pair: "
                    f"{shown(caption)}; correct or remove it"
                )
            yield str(image), caption
            number += 1


class Captions(dict[str, str]):
    """The first caption of each image in a file of COCO captions: ``{"annotations": [{"image_id", "caption"}]}``.

    Antol et al. 2015 (section 5.1) give their models a human caption; which of the five is not reported.

    Raises:
        InputError: the file is not one of captions.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        for image, caption in captions_in(path):
            self.setdefault(image, caption)
        if not self:
            raise InputError(f"{path} has no captions; expected annotations with image_id and caption")

    @property
    def checksum(self) -> str:
        """Checksum of the captions and their image ids."""
        return hashlib.sha256(repr(list(self.items())).encode()).hexdigest()
