"""Reading a model's questions: of all splits, with what the model needs, on images that have features and captions."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.models.model import model_of
from hf_vqa_mc.recipe import QuestionForm
from hf_vqa_mc.training.answered_questions import read_answered
from hf_vqa_mc.training.candidates import Candidates
from hf_vqa_mc.training.captions import Captions
from hf_vqa_mc.training.questions import Splits, on_images, read_splits

if TYPE_CHECKING:
    from transformers import PreTrainedConfig


def read_questions(
    dataset: str,
    config: str,
    model: "PreTrainedConfig",
    form: QuestionForm = "text",
    rows: Mapping[str, pa.Table] | None = None,
) -> Splits[Any]:
    """The questions of a config, as a model needs them; raises InputError if columns are missing or not valid.

    ``rows`` are its splits if they were read already.
    """
    if model_of(model).open_ended:
        return read_answered(dataset, config, getattr(model, "group", None), form, rows)
    return read_splits(dataset, config, rows)


def open_captions(path: Path | None, model: "PreTrainedConfig") -> Captions | None:
    """A model's captions, None if it reads none; raises InputError if they are missing or not needed."""
    declared = model_of(model)
    reads = "caption_bags" in declared.inputs
    if reads != (path is not None):
        fault = "reads captions: add --captions FILE" if reads else "reads no captions: remove --captions"
        raise InputError(f"{declared.name} {fault}")
    return None if path is None else Captions(path)


def open_candidates(
    path: Path | None, model: "PreTrainedConfig", images: ImageFeatures | None, count: int | None = None
) -> Candidates | None:
    """A model's candidate images, None if it ranks none; ``count`` per question if given.

    Raises InputError if they are missing or not needed, or do not fit.
    """
    declared = model_of(model)
    if declared.explains != (path is not None):
        fault = "ranks candidate images: add --candidates FILE of vqa-mc generate complementary"
        raise InputError(f"{declared.name} {fault if declared.explains else 'ranks no images: remove --candidates'}")
    if path is None or images is None:
        return None
    candidates = Candidates(path)
    candidates.check_images(images, images.folder)
    if count is not None:
        candidates.check_count(count)
    return candidates


def with_inputs(
    questions: Any,  # noqa: ANN401  of a split
    images: ImageFeatures | None,
    captions: Captions | None,
    skip: bool,
    candidates: Candidates | None = None,
) -> tuple[Any, int]:
    """The questions on images with features and captions, with captions and candidates; the number of the others.

    Raises InputError if all lack one of them, or if some do and ``skip`` is false.
    """
    lost = 0
    if images is not None:
        what = f"features in {images.folder}"
        questions, lost = on_images(questions, images, skip, what, "run vqa-mc features for this dataset")
    if captions is not None:
        what = f"a caption in {captions.path}"
        questions, more = on_images(questions, captions, skip, what, "give a file with all")
        questions, lost = replace(questions, captions=[captions[one] for one in questions.image_ids]), lost + more
    if candidates is not None:
        questions, more = candidates.of(questions, skip)
        lost += more
    return questions, lost
