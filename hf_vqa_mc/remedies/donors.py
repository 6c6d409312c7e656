"""What gives decoys beside a benchmark's own questions: another dataset's, captions, scene graphs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.text.normalisation import comparable, words

LONGEST_ANSWER = 4
"""Words of the longest answer that is looked for in captions."""
_NAME_FIELDS = ("name", "names", "label", "category", "object")


@dataclass(frozen=True, eq=False)
class Donors:
    """Answers that may become decoys; they get none themselves."""

    image_ids: list[str]
    """of the image that each is correct about"""
    questions: list[str]
    """that each answers; "" where it answers none, as a caption's, so that it gives IoU decoys alone"""
    answers: list[str]
    origins: list[str]
    """where each is from, as the column choice_origins tells it"""

    @classmethod
    def none(cls) -> "Donors":
        """Nobody."""
        return cls([], [], [], [])

    def and_(self, other: "Donors") -> "Donors":
        """Both."""
        return Donors(
            self.image_ids + other.image_ids,
            self.questions + other.questions,
            self.answers + other.answers,
            self.origins + other.origins,
        )


def from_questions(pool: Benchmark) -> Donors:
    """The targets of another dataset's questions, on the same images or others."""
    found = Donors.none()
    for split in pool.splits.values():
        rows = split.rows
        choices, labels = rows["choices"].to_pylist(), rows["label"].to_pylist()
        ids = rows["question_id"].to_pylist()
        found = found.and_(
            Donors(
                rows["image_id"].to_pylist(),
                rows["question"].to_pylist(),
                [texts[label] for texts, label in zip(choices, labels, strict=True)],
                [f"question {name} of {pool.dataset}, {split.name}" for name in ids],
            )
        )
    return found


def from_captions(column: str, split: Split, answers: Iterable[str]) -> Donors:
    """The benchmark's own answers, as far as they occur in a caption of an image.

    So a decoy is neutral, correct for another question, and fits the image.

    Args:
        column: of the split, text or lists of text.
        split: with images.
        answers: those that are looked for.

    Raises:
        InputError: there is no such column, or it holds something else.
    """
    known = {comparable(answer): answer for answer in answers}
    found = Donors.none()
    for row, (image_id, value) in enumerate(_told(column, split)):
        captions = [value] if isinstance(value, str) else value
        if not isinstance(captions, list) or not all(isinstance(one, str) for one in captions):
            raise InputError(f"{split.place}, row {row}: {column} is {shown(value)}; expected text or a list of text")
        named = dict.fromkeys(
            known[phrase] for caption in captions for phrase in _phrases(words(caption)) if phrase in known
        )
        _add(found, image_id, named, f"caption of image {image_id}")
    return found


def from_scene_graphs(column: str, split: Split) -> Donors:
    """The names and attributes of the objects of an image.

    Args:
        column: of the split: a list of names or of objects, or ``{"objects": {...}}`` as GQA has them, as such or in
            json text.
        split: with images.

    Raises:
        InputError: there is no such column, or it holds something else.
    """
    found = Donors.none()
    for row, (image_id, value) in enumerate(_told(column, split)):
        named = dict.fromkeys(_names(value, f"{split.place}, row {row}: {column}"))
        _add(found, image_id, named, f"scene graph of image {image_id}")
    return found


def _told(column: str, split: Split) -> Iterator[tuple[str, Any]]:
    """Each image with what the column says of it; rows that repeat what an earlier one said are passed over."""
    if column not in split.original.column_names:
        raise InputError(f"{split.place}: no column {column!r}; columns: {', '.join(split.original.column_names)}")
    images = split.rows["image_id"].to_pylist()
    if not any(images):
        raise InputError(f"{split.place} has no images, so {column} cannot give IoU decoys; name them with --image")
    seen = set()
    for image_id, value in zip(images, split.original[column].to_pylist(), strict=True):
        once = (image_id, str(value))
        if value and once not in seen:
            seen.add(once)
            yield image_id, value


def _add(found: Donors, image_id: str, named: Iterable[str], origin: str) -> None:
    for name in named:
        found.image_ids.append(image_id)
        found.questions.append("")
        found.answers.append(name)
        found.origins.append(origin)


def _phrases(of: list[str]) -> Iterator[str]:
    for start in range(len(of)):
        for end in range(start + 1, min(start + LONGEST_ANSWER, len(of)) + 1):
            yield " ".join(of[start:end])


def _names(value: Any, place: str) -> Iterator[str]:  # noqa: ANN401  any json value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            raise InputError(f"{place} is {shown(value)}; expected objects, or json text with them") from None
    if isinstance(value, Mapping):
        value = value.get("objects", value)
    objects = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(objects, list):
        raise InputError(f"{place} is {shown(value)}; expected a list of objects")
    for one in objects:
        yield from _names_of(one, place)


def _names_of(one: Any, place: str) -> Iterator[str]:  # noqa: ANN401  any json value
    if isinstance(one, Mapping):
        name = next((one[field] for field in _NAME_FIELDS if one.get(field)), None)
        told = [*_listed(name), *_listed(one.get("attributes"))]
    else:
        told = [one]
    for text in told:
        if not isinstance(text, str) or not text.isprintable():
            raise InputError(
                f"{place} has the object {shown(one)}; expected a name, or a {_NAME_FIELDS[0]} and attributes as text"
            )
        if text.strip():
            yield text


def _listed(value: Any) -> list[Any]:  # noqa: ANN401  any json value
    if value is None:
        return []
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else [value]


def images_in_common(donors: Donors, image_ids: pa.ChunkedArray) -> int:
    """How many of the benchmark's images the donors know."""
    return len(set(donors.image_ids) & set(image_ids.to_pylist()) - {""})
