"""Readers of additional information about images: COCO's captions and instances."""

from collections.abc import Sequence
from pathlib import Path

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import read_lists


def read_captions(paths: Sequence[Path]) -> dict[str, list[str]]:
    """Read the captions of each image, by image_id, from COCO's ``captions_*.json``.

    Raises:
        InputError: a file is not of that form; names file, record and field.
    """
    captions: dict[str, list[str]] = {}
    for path in paths:
        for _, records in read_lists(path, ("annotations",)):
            for image_id, caption in zip(records.ids("image_id"), records.texts("caption"), strict=True):
                captions.setdefault(image_id, []).append(caption)
    return captions


def read_instances(paths: Sequence[Path]) -> tuple[dict[str, set[str]], frozenset[str]]:
    """Read the categories of the objects in each image, by image_id, from COCO's ``instances_*.json``.

    Images without objects have an empty set. All files must have the same categories and list the images of all their
    annotations, since objects that are missing from a truncated file would count as absent.

    Returns:
        The categories of each image, and all categories.

    Raises:
        InputError: a file is not of that form, is truncated, or has other categories; names file, record and field.
    """
    objects: dict[str, set[str]] = {}
    known: frozenset[str] | None = None
    for path in paths:
        names: dict[str, str] = {}
        listed: set[str] = set()
        annotated: list[tuple[str, str]] = []
        for field, records in read_lists(path, ("categories", "images", "annotations")):
            if field == "categories":
                names |= zip(records.ids("id"), records.texts("name"), strict=True)
            elif field == "images":
                listed.update(records.ids("id"))
            else:
                annotated += zip(records.ids("image_id"), records.ids("category_id"), strict=True)
        categories = frozenset(names.values())
        if known is not None and categories != known:
            raise InputError(
                f"{path}: its {len(categories)} categories are not the {len(known)} of {paths[0]}; use files "
                "of the same release"
            )
        known = categories
        objects |= {image_id: set() for image_id in sorted(listed - objects.keys())}
        if unlisted := {image_id for image_id, _ in annotated} - listed:
            raise InputError(
                f"{path}: image {min(unlisted)} is annotated, but not in the list 'images': the file is truncated; "
                "use the whole file"
            )
        for image_id, category in annotated:
            objects[image_id].add(names[category])
    return objects, known or frozenset()
