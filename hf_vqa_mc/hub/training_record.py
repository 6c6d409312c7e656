"""``training.json`` of a checkpoint: how it was trained and what was measured, all that its card may say."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from hf_vqa_mc.dataset.inventory import WRITTEN_BY
from hf_vqa_mc.errors import InputError, shown

RECORD = "training.json"
Record = dict[str, Any]
"""The file's content without its nulls: what is not known is not there."""

MOST = 2**53


class Value(NamedTuple):
    """What stands in a field."""

    expected: str
    fits: Callable[[Any], bool]


def _is_number(value: object) -> bool:
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < MOST
    )


TEXT = Value("text", lambda value: isinstance(value, str))
FLAG = Value("true or false", lambda value: isinstance(value, bool))
NUMBER = Value("a number", _is_number)
COUNT = Value("a whole number from 0", lambda value: isinstance(value, int) and _is_number(value) and value >= 0)
SHARE = Value("a number from 0 to 1", lambda value: _is_number(value) and 0 <= value <= 1)
ANYTHING = Value("anything", lambda value: True)

EACH = "*"
"""Stands for every field that is not named."""
_RESULT = {
    "accuracy": SHARE, "stderr": SHARE, "chance": SHARE, "questions": COUNT,
    "chosen_kinds": {EACH: SHARE}, "offered_kinds": {EACH: SHARE}, "per_question_type": {EACH: SHARE},
}  # fmt: skip
_FILE: dict[str, object] = {"name": TEXT, "sha256": TEXT, "dim": COUNT}
_FIELDS: dict[str, object] = {
    **dict.fromkeys(("version", "dataset", "config", "model", "command", "device"), TEXT),
    **dict.fromkeys(("processes", "steps", "best_step", "skipped"), COUNT),
    "seconds": NUMBER,
    "finished": FLAG,
    "versions": {EACH: TEXT},
    "source": dict.fromkeys(("title", "homepage", "licence", "citation"), TEXT),
    "made_with": {
        "version": TEXT, "decoys": TEXT, "triplets": COUNT, "settings": {EACH: ANYTHING}, "word_vectors": _FILE,
    },
    "settings": {EACH: ANYTHING},
    "init_from": {"name": TEXT, "config": TEXT},
    "rows": {EACH: COUNT},
    "word_vectors": {**_FILE, "centred": FLAG},
    "image_features": {"backbone": TEXT, "revision": TEXT, "grid": COUNT, "dim": COUNT, "precision": TEXT},
    "results": {EACH: _RESULT},
}  # fmt: skip


def read_record(folder: Path) -> Record:
    """What a checkpoint's ``training.json`` says.

    Raises:
        InputError: there is none, vqa-mc train did not write it, or a field holds something else than it should.
    """
    place = folder / RECORD
    try:
        found = json.loads(place.read_text("utf-8"))
    except FileNotFoundError:
        raise InputError(f"{folder}: {RECORD} is missing; name the checkpoint that vqa-mc train wrote") from None
    except (ValueError, RecursionError):
        raise InputError(f"{place} is no JSON; train again, or take another checkpoint") from None
    if not isinstance(found, dict) or found.get("written_by") != WRITTEN_BY:
        raise InputError(f"{place}: vqa-mc train did not write this; name a checkpoint that it wrote")
    record: Record = _checked(found, _FIELDS, str(place), "")
    return record


def _checked(value: object, expected: object, place: str, field: str) -> Any:  # noqa: ANN401  whatever stands there
    """The value without its nulls and the fields that nobody asked for."""
    if isinstance(expected, Value):
        if not expected.fits(value):
            raise InputError(f"{place}: {field} is {shown(value)}; expected {expected.expected}")
        return value
    assert isinstance(expected, dict)  # noqa: S101  the table above
    if not isinstance(value, dict):
        raise InputError(f"{place}: {field} is {shown(value)}; expected fields with values")
    wanted = {key: expected.get(key, expected.get(EACH)) for key in value if value[key] is not None}
    return {key: _checked(value[key], one, place, f"{field}.{key}".lstrip(".")) for key, one in wanted.items() if one}
