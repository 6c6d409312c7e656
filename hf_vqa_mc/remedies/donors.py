"""Additional candidates for decoys: answers from another dataset, captions or scene graphs."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.progress import Progress, prefixed, silent
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.text.normalisation import comparable, words

LONGEST_ANSWER = 4
"""Maximum number of words of an answer that is searched in captions."""
_NAME_FIELDS = ("name", "names", "label", "category", "object")


class Donor(NamedTuple):
    """An answer that can become a decoy."""

    image_id: str
    """the image for which it is correct"""
    question: str
    """the question that it answers; "" for captions and scene graphs, which give only IoU decoys"""
    answer: str
    origin: str
    """value for the column choice_origins"""


def read_donors(
    benchmark: Benchmark,
    pool: str | None = None,
    pool_config: str | None = None,
    captions: str | None = None,
    scene_graphs: str | None = None,
    progress: Progress = silent,
) -> list[Donor]:
    """Read all donors of a remedy: another dataset, a column of captions, and a column of objects.

    Raises:
        InputError: the pool cannot be read, or a column is missing or not valid.
    """
    found: list[Donor] = []
    splits = list(benchmark.splits.values())
    if pool is not None:
        found += from_questions(BenchmarkOptions(pool, pool_config).read(prefixed(progress, "pool")))
    if captions is not None:
        answers = [answer for split in splits for answer in _targets(split)]
        found += [donor for split in splits for donor in from_captions(captions, split, answers)]
    if scene_graphs is not None:
        found += [donor for split in splits for donor in from_scene_graphs(scene_graphs, split)]
    return found


def from_questions(pool: Benchmark) -> list[Donor]:
    """The targets of another dataset's questions."""
    found: list[Donor] = []
    for split in pool.splits.values():
        images, questions, ids = (split.rows[name].to_pylist() for name in ("image_id", "question", "question_id"))
        origins = [f"question {name} of {public_name(pool.dataset)}, {split.name}" for name in ids]
        found += map(Donor, images, questions, _targets(split), origins)
    return found


def _targets(split: Split) -> list[str]:
    choices, labels = split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()
    return [texts[label] for texts, label in zip(choices, labels, strict=True)]


def from_captions(column: str, split: Split, answers: Iterable[str]) -> list[Donor]:
    """The benchmark's own answers that occur in a caption of an image; the column has strings or lists of strings.

    Raises:
        InputError: the column is missing or not valid.
    """
    known = {comparable(answer): answer for answer in answers}
    found = []
    for row, (image_id, value) in enumerate(_distinct_cells(column, split)):
        captions = [value] if isinstance(value, str) else value
        if not isinstance(captions, list) or not all(isinstance(one, str) for one in captions):
            raise InputError(
                f"{split.location}, row {row}: {column} is {shown(value)}; expected text or a list of text"
            )
        phrases = dict.fromkeys(
            known.get(" ".join(tokens[start:end]))
            for tokens in map(words, captions)
            for start in range(len(tokens))
            for end in range(start + 1, min(start + LONGEST_ANSWER, len(tokens)) + 1)
        )
        found += [Donor(image_id, "", answer, f"caption of image {image_id}") for answer in phrases if answer]
    return found


def from_scene_graphs(column: str, split: Split) -> list[Donor]:
    """The names and attributes of the objects in an image.

    The column has lists of names or of objects, or ``{"objects": {...}}`` as in GQA; also as JSON strings.

    Raises:
        InputError: the column is missing or not valid.
    """
    return [
        Donor(image_id, "", name, f"scene graph of image {image_id}")
        for row, (image_id, value) in enumerate(_distinct_cells(column, split))
        for name in dict.fromkeys(_names(value, f"{split.location}, row {row}: {column}"))
    ]


def _distinct_cells(column: str, split: Split) -> Iterator[tuple[str, Any]]:
    """The distinct pairs of image_id and value of the column."""
    if column not in split.original.column_names:
        raise InputError(f"{split.location}: no column {column!r}; columns: {', '.join(split.original.column_names)}")
    images = split.rows["image_id"].to_pylist()
    if not any(images):
        raise InputError(
            f"{split.location} has no images, which IoU decoys from {column} need; give them with --image"
        )
    seen = set()
    for image_id, value in zip(images, split.original[column].to_pylist(), strict=True):
        pair = (image_id, str(value))
        if value and pair not in seen:
            seen.add(pair)
            yield image_id, value


def _names(value: Any, location: str) -> Iterator[str]:  # noqa: ANN401  any json value
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise InputError(f"{location} is {shown(value)}; expected objects or JSON") from None
    if isinstance(value, Mapping):
        value = value.get("objects", value)
    objects = list(value.values()) if isinstance(value, Mapping) else value
    if not isinstance(objects, list):
        raise InputError(f"{location} is {shown(value)}; expected a list of objects")
    for one in objects:
        texts = [one]
        if isinstance(one, Mapping):
            name = next((one[field] for field in _NAME_FIELDS if one.get(field)), None)
            texts = [*_listed(name), *_listed(one.get("attributes"))]
        for text in texts:
            if not isinstance(text, str) or not text.isprintable():
                expected = f"a name, or {_NAME_FIELDS[0]} and attributes as strings"
                raise InputError(f"{location} has the object {shown(one)}; expected {expected}")
            if text.strip():
                yield text


def _listed(value: Any) -> list[Any]:  # noqa: ANN401  any json value
    if value is None:
        return []
    return list(value.values()) if isinstance(value, Mapping) else value if isinstance(value, list) else [value]


def images_in_common(donors: Iterable[Donor], benchmark: Benchmark) -> int:
    """Number of the benchmark's images that have donors."""
    images = {one for split in benchmark.splits.values() for one in split.rows["image_id"].unique().to_pylist()}
    return len({donor.image_id for donor in donors} & images - {""})
