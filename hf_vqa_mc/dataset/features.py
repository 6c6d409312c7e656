"""The columns of each kind of config as ``load_dataset`` gives them."""

import datasets
import pyarrow as pa
from datasets import ClassLabel, Features, Image, Value

from hf_vqa_mc.decoys import CHOICE_KINDS


def multiple_choice_features() -> Features:
    """The columns of every ``<source>_<variant>`` config."""
    List = getattr(datasets, "List", datasets.Sequence)  # datasets 3 has only Sequence
    return Features(
        {
            "question_id": Value("string"),
            "image_id": Value("string"),
            "question": Value("string"),
            "choices": List(Value("string")),
            "label": Value("int64"),
            "choice_kinds": List(ClassLabel(names=list(CHOICE_KINDS))),
            "choice_fallback": List(Value("bool")),
            "answers": List(Value("string")),
            "question_type": Value("string"),
            "answer_type": Value("string"),
        }
    )


def image_features() -> Features:
    """The columns of every ``<source>_images`` config."""
    return Features({"image_id": Value("string"), "image": Image()})


def embedded_features() -> Features:
    """The columns of a ``<source>_<variant>`` config with the image in every row."""
    return Features({**multiple_choice_features(), "image": Image()})


def features_of(schema: pa.Schema) -> Features:
    """The columns of an open-ended config."""
    return Features.from_arrow_schema(schema)
