"""The columns of each type of config as ``datasets.Features``."""

import datasets
from datasets import ClassLabel, Features, Image, Value

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.schema import MULTIPLE_CHOICE


def multiple_choice_features() -> Features:
    """The columns of every ``<source>_<variant>`` config."""
    List = getattr(datasets, "List", datasets.Sequence)  # datasets 3 has only Sequence
    features = Features.from_arrow_schema(MULTIPLE_CHOICE)
    return Features({**features, "choice_kinds": List(ClassLabel(names=list(CHOICE_KINDS)))})


def image_features() -> Features:
    """The columns of every ``<source>_images`` config."""
    return Features({"image_id": Value("string"), "image": Image()})


def embedded_features() -> Features:
    """The columns of a ``<source>_<variant>`` config with the image in every row."""
    return Features({**multiple_choice_features(), "image": Image()})
