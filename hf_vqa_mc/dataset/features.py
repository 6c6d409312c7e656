"""The columns of each type of config as ``datasets.Features``."""

from typing import TYPE_CHECKING

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.schema import MULTIPLE_CHOICE

if TYPE_CHECKING:
    from datasets import Features


def multiple_choice_features() -> "Features":
    """The columns of every ``<source>_<variant>`` config."""
    import datasets

    List = getattr(datasets, "List", datasets.Sequence)  # datasets 3 has only Sequence
    features = datasets.Features.from_arrow_schema(MULTIPLE_CHOICE)
    return datasets.Features({**features, "choice_kinds": List(datasets.ClassLabel(names=list(CHOICE_KINDS)))})


def image_features() -> "Features":
    """The columns of every ``<source>_images`` config."""
    from datasets import Features, Image, Value

    return Features({"image_id": Value("string"), "image": Image()})


def embedded_features() -> "Features":
    """The columns of a ``<source>_<variant>`` config with the image in every row."""
    from datasets import Features, Image

    return Features({**multiple_choice_features(), "image": Image()})
