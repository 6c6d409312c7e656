"""``README.md`` of a checkpoint, all of it from ``training.json``.

``python -m hf_vqa_mc.hub.model_card FOLDER`` prints it.
"""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_vqa_mc.dataset.inventory import WRITTEN_BY
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.hub.markdown import one_line
from hf_vqa_mc.hub.model_card_text import Record, dataset_name, paragraphs
from hf_vqa_mc.hub.shipment import check_name
from hf_vqa_mc.schema import SPLITS

if TYPE_CHECKING:
    from huggingface_hub import EvalResult

TEMPLATE = Path(__file__).parent / "model_card_template.md"
TASK, TEXT_TASK = "visual-question-answering", "multiple-choice"
"""The Hub's names for tasks: of models that see the image, and of those that do not."""
USAGE = "python -m hf_vqa_mc.hub.model_card FOLDER [NAMESPACE/NAME]\n"
RECORD = "training.json"
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


def model_card(record: Record, name: str) -> str:
    """The card: the metadata that the Hub reads, and the page that people read.

    Args:
        record: of ``read_record``.
        name: NAMESPACE/NAME of the repository.
    """
    from huggingface_hub import ModelCard, ModelCardData

    results = eval_results(record)
    data = ModelCardData(
        library_name="hf_vqa_mc",
        pipeline_tag=TASK if "image_features" in record else TEXT_TASK,
        tags=["hf_vqa_mc", "vqa", "multiple-choice"],
        datasets=_on_the_hub(dataset_name(record)),
        metrics=["accuracy"] if results else None,
        model_name=name.split("/")[1],
        eval_results=results or None,
    )
    return f"{ModelCard.from_template(data, template_path=str(TEMPLATE), **paragraphs(record, name))}\n"


def default_name(record: Record) -> str:
    """What a repository with the checkpoint could be called.

    >>> default_name({"model": "mlp-qa", "config": "cocoqa_iou_qou"})
    'NAMESPACE/vqa-mc-mlp-qa-cocoqa_iou_qou'
    """
    parts = (record.get("model"), record.get("config"))
    return _on_the_hub("-".join(["NAMESPACE/vqa-mc", *filter(None, parts)])) or "NAMESPACE/NAME"


def eval_results(record: Record) -> "list[EvalResult]":
    """The accuracies on splits of the dataset; that on held-out training images is on no split that others have."""
    from huggingface_hub import EvalResult

    config, dataset = one_line(record.get("config", "")), dataset_name(record)
    title = one_line(record.get("source", {}).get("title", ""))
    named = f"{title} ({config})" if title and config else title or config or dataset
    figures: dict[str, Any] = record.get("results", {})
    return [
        EvalResult(
            task_type=TASK,
            task_name="Multiple-choice visual question answering",
            dataset_type=dataset,
            dataset_name=named,
            dataset_config=config or None,
            dataset_split=split,
            metric_type="accuracy",
            metric_name="accuracy",
            metric_value=figures[split]["accuracy"],
        )
        for split in SPLITS
        if dataset and "accuracy" in figures.get(split, {})
    ]


def _on_the_hub(name: str) -> str | None:
    try:
        return check_name(name)
    except InputError:
        return None


def main(arguments: list[str]) -> int:
    """Print a checkpoint's card.

    Args:
        arguments: its folder and, optionally, the name of the repository.

    Returns:
        The exit code.
    """
    if len(arguments) not in (1, 2) or arguments[0].startswith("-"):
        sys.stderr.write(USAGE)
        return 2
    try:
        record = read_record(Path(arguments[0]))
        name = check_name(arguments[1]) if len(arguments) == 2 else default_name(record)
        sys.stdout.write(model_card(record, name))
    except InputError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
