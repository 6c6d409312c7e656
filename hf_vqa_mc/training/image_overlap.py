"""Images that are both trained and tested on.

Visual Genome numbers images of COCO and Flickr anew; its ``image_data.json`` has their COCO ids (``coco_id``).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import PublishedFile, member_names, members_named
from hf_vqa_mc.sources.source import source_of

IMAGE_DATA = "image_data.json"
IMAGE_DATA_URL = f"https://homes.cs.washington.edu/~ranjay/visualgenome/data/dataset/{IMAGE_DATA}.zip"
VISUAL_GENOME, COCO = "Visual Genome", "COCO"  # values of ``Source.image_numbering``

ImageData = Mapping[str, str | None]  # Visual Genome's image_id to the COCO id, None if it is not an image of COCO


class QuestionImages(NamedTuple):
    """The image id of each question of a config's split."""

    config: str
    image_ids: Sequence[str]

    @property
    def numbering(self) -> str | None:
        """The dataset that the image ids are from; None if unknown."""
        source = source_of(self.config)
        return (SOURCES[source].image_numbering or None) if source else None

    def identities(self, image_data: ImageData | None) -> dict[str, set[tuple[str, str]]]:
        """All known ids of each image, as (dataset, id)."""
        coco = image_data if image_data and self.numbering == VISUAL_GENOME else {}
        known = {one: {(self.numbering or self.config, one)} for one in self.image_ids}
        return {one: ids | ({(COCO, found)} if (found := coco.get(one)) else set()) for one, ids in known.items()}


def overlap(
    trained: QuestionImages, tested: QuestionImages, image_data: ImageData | None
) -> tuple[dict[str, int] | None, str]:
    """Count the images of a test split that are also in a training split, with image data by their COCO ids.

    Returns ``images`` and ``questions`` of the test split, ``shared_images``, and ``shared_questions`` on these; None
    if unknown, and the reason why ("" if known).
    """
    numberings = {trained.numbering, tested.numbering}
    if None in numberings and trained.config != tested.config:
        config = trained.config if trained.numbering is None else tested.config
        return None, f"the source of {config}'s image_ids is not known; expected a config name <source>_<variant>"
    if numberings == {VISUAL_GENOME, COCO} and image_data is None:
        return None, f"needs --image-data {IMAGE_DATA}, which maps Visual Genome's images to COCO's ({IMAGE_DATA_URL})"
    distinct, seen = tested.identities(image_data), set[tuple[str, str]]()
    seen = seen.union(*trained.identities(image_data).values())
    shared = {image_id for image_id, ids in distinct.items() if not seen.isdisjoint(ids)}
    counts = {
        "images": len(distinct),
        "shared_images": len(shared),
        "questions": len(tested.image_ids),
        "shared_questions": sum(image_id in shared for image_id in tested.image_ids),
    }
    return counts, ""


def unlisted(trained: QuestionImages, image_data: ImageData) -> int:
    """Number of Visual Genome's training images that are not in the image data."""
    return len(set(trained.image_ids).difference(image_data)) if trained.numbering == VISUAL_GENOME else 0


def read_image_data(path: Path) -> dict[str, str | None]:
    """Read Visual Genome's ``image_data.json``, plain or compressed, or the published zip file."""
    if not path.is_file():
        raise InputError(f"--image-data {path}: no such file; {IMAGE_DATA} is in {IMAGE_DATA_URL}")
    member = None
    if path.suffix == ".zip":
        members = members_named(member_names(path), IMAGE_DATA)
        if not members:
            raise InputError(f"--image-data {path} has no {IMAGE_DATA}; it is in {IMAGE_DATA_URL}")
        member = members[0]
    found: dict[str, str | None] = {}
    for records in read_records(PublishedFile(IMAGE_DATA, path, member)):
        first = records.rows[0]
        of_first_release = isinstance(first, dict) and "image_id" not in first and "id" in first
        names = records.ids("id" if of_first_release else "image_id")
        for index, (name, coco_id) in enumerate(zip(names, records.column("coco_id"), strict=True)):
            if coco_id is not None and type(coco_id) is not int:
                raise records.unexpected(index, "coco_id", "a whole number or null", coco_id)
            found[name] = None if coco_id is None else str(coco_id)
    return found
