"""Files that tell more of images: captions and instances as COCO publishes them, and a model's answers."""

import json
from collections.abc import Iterator, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.packed import unpacked

Probabilities = dict[tuple[str, str], dict[str, float]]
"""(question_id, image_id) to the probability of each answer."""


def read_captions(paths: Sequence[Path]) -> dict[str, list[str]]:
    """The captions of each image, by image_id, from files as COCO's ``captions_*.json``.

    Raises:
        InputError: a file is not of that form; names file, record and field.
    """
    captions: dict[str, list[str]] = {}
    for path in paths:
        for location, record in _records(_object(path), "annotations", path):
            text = record.get("caption")
            if not isinstance(text, str):
                raise InputError(f"{location}, field 'caption': expected text, found {shown(text)}")
            captions.setdefault(_id(record, "image_id", location), []).append(text)
    return captions


def read_instances(paths: Sequence[Path]) -> tuple[dict[str, set[str]], frozenset[str]]:
    """The categories of the objects on each image, by image_id, from files as COCO's ``instances_*.json``.

    Images without any object are there, too, with none. All files must have the same categories, and list the images
    of all their annotations: what a cut file lacks would count as absent.

    Raises:
        InputError: a file is not of that form, is cut, or has other categories; names file, record and field.
    """
    there: dict[str, set[str]] = {}
    known: frozenset[str] | None = None
    for path in paths:
        file = _object(path)
        names = {}
        for location, record in _records(file, "categories", path):
            if not isinstance(record.get("name"), str):
                raise InputError(f"{location}, field 'name': expected text, found {shown(record.get('name'))}")
            names[_id(record, "id", location)] = record["name"]
        categories = frozenset(names.values())
        if known is not None and categories != known:
            raise InputError(f"{path}: its {len(categories)} categories are not those of {paths[0]} ({len(known)})")
        known = categories
        listed = {_id(record, "id", location) for location, record in _records(file, "images", path)}
        for image_id in sorted(listed):
            there.setdefault(image_id, set())
        for location, record in _records(file, "annotations", path):
            category = _id(record, "category_id", location)
            if category not in names:
                raise InputError(f"{location}, field 'category_id': expected one of the categories, not {category}")
            image_id = _id(record, "image_id", location)
            if image_id not in listed:
                raise InputError(
                    f"{location}, field 'image_id': expected one of {len(listed):,} listed images, found {image_id}: "
                    "the file is cut, and what it lacks would count as absent; use the whole file"
                )
            there[image_id].add(names[category])
    return there, known or frozenset()


def read_answer_probabilities(path: Path) -> Probabilities:
    """A model's answers to questions about other images: json lines of {question_id, image_id, answers}.

    ``answers`` is an object, answer to probability; what is left to 1 is that of all other answers.

    Raises:
        InputError: names the line and the field.
    """
    found: Probabilities = {}
    with unpacked(_file(path)) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            location = f"{path}, line {number}"
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                raise InputError(f"{location}: not json; expected {{question_id, image_id, answers}} a line") from None
            if not isinstance(record, dict):
                raise InputError(f"{location}: expected a json object, found {shown(record)}")
            pair = _id(record, "question_id", location), _id(record, "image_id", location)
            if pair in found:
                raise InputError(
                    f"{location}: question_id {pair[0]!r} with image_id {pair[1]!r} occurs twice; leave one"
                )
            found[pair] = _distribution(record.get("answers"), location)
    if not found:
        raise InputError(f"{path}: no answers at all; expected lines of {{question_id, image_id, answers}}")
    return found


def _distribution(answers: object, location: str) -> dict[str, float]:
    if not isinstance(answers, dict):
        raise InputError(f"{location}, field 'answers': expected answers with probabilities, found {shown(answers)}")
    for answer, share in answers.items():
        if isinstance(share, bool) or not isinstance(share, int | float) or not 0.0 <= share <= 1.0:
            raise InputError(f"{location}, answer {answer!r}: expected a number from 0 to 1, found {shown(share)}")
    total = sum(answers.values())
    if not isfinite(total) or total > 1.001:
        raise InputError(f"{location}, field 'answers': probabilities add up to {total:.4g}, expected 1 at most")
    return {answer: float(share) for answer, share in answers.items()}


def _file(path: Path) -> Path:
    if not path.is_file():
        raise InputError(f"{path} {'is a folder' if path.is_dir() else 'does not exist'}; name a file")
    return path


def _object(path: Path) -> Mapping[str, Any]:
    with unpacked(_file(path)) as stream:
        try:
            value = json.loads(stream.read())
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}: not json ({shown(str(error))}); download it again") from None
    if not isinstance(value, dict):
        raise InputError(f"{path}: expected a json object as COCO publishes it, found {shown(value)}")
    return value


def _records(file: Mapping[str, Any], key: str, path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    records = file.get(key)
    if not isinstance(records, list):
        listed = ", ".join(map(repr, list(file)[:20])) or "none"
        raise InputError(f"{path}: expected a list {key!r} as COCO publishes it; its fields are {listed}")
    for position, record in enumerate(records):
        location = f"{path}, {key}[{position}]"
        if not isinstance(record, dict):
            raise InputError(f"{location}: expected a json object, found {shown(record)}")
        yield location, record


def _id(record: Mapping[str, Any], field: str, location: str) -> str:
    value = record.get(field)
    if type(value) not in (int, str) or value == "":
        raise InputError(f"{location}, field {field!r}: expected a whole number or text, found {shown(value)}")
    return str(value)
