"""Example questions of open-ended configs, whose only choice is the answer."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.data.loading import chosen_split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.report.examples import UNREADABLE, Example, attentions_of, drawn_rows
from hf_vqa_mc.scoring.predictions import read_predictions

if TYPE_CHECKING:
    from numpy.typing import NDArray

UNPUBLISHED = "(answer not published)"


def answered_examples(dataset: str, config: str, shown: Any) -> tuple[str, list[Example]]:  # noqa: ANN401
    """The name of the split and a sample of its questions, with a model's answer and attention if they are given.

    ``shown`` are PreviewSettings. Raises InputError if a file or the dataset cannot be used, or lacks a question.
    """
    from hf_vqa_mc.training.questions import read_questions

    read, location = read_questions(dataset, config, open_ended=True), f"{dataset}, {config}"
    name = chosen_split(list(read.splits), shown.split, location)
    questions = read.splits[name]
    drawn = drawn_rows(len(questions.question_ids), shown.rows, shown.seed)
    names = [questions.question_ids[row] for row in drawn]
    maps: Mapping[str, NDArray[Any]] = {}
    if shown.attentions is not None:
        maps = attentions_of(names, f"{location}, {name}", shown.attentions)
    notes = _notes(names, f"{location}, {name}", shown.predictions) if shown.predictions is not None else {}
    image = _images(dataset, config, shown)
    return name, [
        Example(
            question_id=questions.question_ids[row],
            question=read.texts[questions.texts[row]],
            question_type=questions.types[row] if questions.types else "",
            choices=[questions.targets[row] or UNPUBLISHED],
            label=0,
            kinds=[],
            origins=[],
            picked=None,
            bias=None,
            note=notes.get(questions.question_ids[row], ""),
            attention=maps.get(questions.question_ids[row]),
            **image(questions.image_ids[row]),
        )
        for row in drawn
    ]


def _notes(names: list[str], location: str, path: Path) -> dict[str, str]:
    """The model's answers by question id."""
    answers = read_predictions(path).answers
    for name in names:
        if not isinstance(answers.get(name), str):
            raise InputError(
                f"--predictions {path}: no answer text for question {name!r} of {location}; expected all shown"
            )
    return {name: f"model’s answer: {answers[name]}" for name in names}


def _images(dataset: str, config: str, shown: Any) -> Callable[[str], dict[str, Any]]:  # noqa: ANN401
    """Image id to the image, or why there is none; raises InputError if the given folder has none."""
    from hf_vqa_mc.data.dataset_images import find_images

    try:
        source = find_images(dataset, config, shown.images).source
    except InputError as error:
        if shown.images is not None or shown.attentions is not None:
            raise
        reason = str(error)
        return lambda _: {"images": (), "unreadable": reason}

    def read(image_id: str) -> dict[str, Any]:
        try:
            return {"images": (source.read(image_id),) if image_id in source else ()}
        except (InputError, OSError):
            return {"images": (UNREADABLE,)}

    return read
