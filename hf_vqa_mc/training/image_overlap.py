"""How many of the images that a model is tested on another dataset's training has shown it.

Visual Genome's images are COCO's and Flickr's under numbers of their own; its ``image_data.json`` tells of each which
image of COCO it is (``coco_id``), if it is one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import PublishedFile, member_names, members_named

IMAGE_DATA = "image_data.json"
IMAGE_DATA_URL = f"https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/{IMAGE_DATA}.zip"

VISUAL_GENOME, COCO = "Visual Genome", "COCO"
"""Values of ``Source.image_numbering``."""

ImageData = Mapping[str, str | None]
"""Visual Genome's images: image_id to COCO's id of the same, if it is one of COCO's."""


@dataclass(frozen=True)
class Overlap:
    """Images of a split that another's training part has, too."""

    images: int
    """of the split"""
    shared_images: int
    questions: int
    """of the split"""
    shared_questions: int
    """those on shared images"""


@dataclass(frozen=True)
class Asked:
    """On which images questions are."""

    config: str
    image_ids: Sequence[str]
    """of each question"""

    @property
    def numbering(self) -> str | None:
        """Whose numbers the image_ids are; None if that is not known."""
        source = source_of(self.config)
        return (SOURCES[source].image_numbering or None) if source else None


def source_of(config: str) -> str | None:
    """The source that a config is made of, by its name.

    >>> source_of("vqa_minus_iou_qou"), source_of("vqa_orig"), source_of("mine")
    ('vqa_minus', 'vqa', None)
    """
    found = [name for name in SOURCES if config.startswith(f"{name}_")]
    return max(found, key=len, default=None)


def overlap(trained: Asked, tested: Asked, image_data: ImageData | None) -> Overlap | None:
    """Which of a split's images are among those of a training part; None if that cannot be known.

    With image data, images of Visual Genome are also the same if they are the same image of COCO.
    """
    if why_unknown(trained, tested, image_data):
        return None
    seen = {identity for image_id in set(trained.image_ids) for identity in _identities(trained, image_id, image_data)}
    distinct = set(tested.image_ids)
    shared = {image_id for image_id in distinct if not seen.isdisjoint(_identities(tested, image_id, image_data))}
    on_shared = sum(image_id in shared for image_id in tested.image_ids)
    return Overlap(len(distinct), len(shared), len(tested.image_ids), on_shared)


def why_unknown(trained: Asked, tested: Asked, image_data: ImageData | None) -> str:
    """Why it cannot be known which images are the same, and what is needed; empty if it can be."""
    numberings = {trained.numbering, tested.numbering}
    if None in numberings and trained.config != tested.config:
        strange = trained.config if trained.numbering is None else tested.config
        return f"whose image_ids {strange} has is not known; name configs <source>_<variant> as vqa-mc build does"
    if numberings == {VISUAL_GENOME, COCO} and image_data is None:
        return f"it takes --image-data {IMAGE_DATA}, which maps Visual Genome's images to COCO's ({IMAGE_DATA_URL})"
    return ""


def unlisted(trained: Asked, image_data: ImageData) -> int:
    """How many images of Visual Genome that were trained on the file says nothing of."""
    return len(set(trained.image_ids).difference(image_data)) if trained.numbering == VISUAL_GENOME else 0


def read_image_data(path: Path) -> dict[str, str | None]:
    """What ``image_data.json`` says.

    Args:
        path: the file, plain or packed, or the publisher's zip file that holds it.

    Raises:
        InputError: there is no such file, or it holds something else.
    """
    if not path.is_file():
        raise InputError(f"--image-data {path}: no such file; {IMAGE_DATA} is in {IMAGE_DATA_URL}")
    member = None
    if path.suffix == ".zip":
        members = members_named(member_names(path), IMAGE_DATA)
        if not members:
            raise InputError(f"--image-data {path} holds no {IMAGE_DATA}; it is in {IMAGE_DATA_URL}")
        member = members[0]
    found: dict[str, str | None] = {}
    for records in read_records(PublishedFile(IMAGE_DATA, path, member)):
        first = records.rows[0]
        of_first_release = isinstance(first, dict) and "image_id" not in first and "id" in first
        names = records.ids("id" if of_first_release else "image_id")
        for place, (name, coco_id) in enumerate(zip(names, records.column("coco_id"), strict=True)):
            if coco_id is not None and type(coco_id) is not int:
                raise records.unexpected(place, "coco_id", "a whole number or null", coco_id)
            found[name] = None if coco_id is None else str(coco_id)
    return found


def _identities(asked: Asked, image_id: str, image_data: ImageData | None) -> set[tuple[str, str]]:
    """The image under all ids that are known of it."""
    found = {(asked.numbering or asked.config, image_id)}
    coco_id = (image_data or {}).get(image_id) if asked.numbering == VISUAL_GENOME else None
    return found if coco_id is None else {*found, (COCO, coco_id)}
