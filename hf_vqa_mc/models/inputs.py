"""Which inputs a model takes besides its choices' vectors."""

from transformers import PreTrainedConfig

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.hie_co_attention import HieCoAttentionVqaConfig
from hf_vqa_mc.models.mlp import MlpVqaConfig
from hf_vqa_mc.models.spatial_attention import SpatialAttentionVqaConfig

IMAGE_INPUTS = ("image_features", "image_grid")
"""Pooled features, or those of a grid's cells; a model takes one of them at most."""
QUESTION_INPUTS = ("question_vectors", "question_tokens")
"""The average word vector, or the words' own (with ``question_mask``)."""

_OF_MLP = {"image": "image_features", "question": "question_vectors"}


def needed(config: PreTrainedConfig) -> frozenset[str]:
    """The inputs of `IMAGE_INPUTS` and `QUESTION_INPUTS` that the model of this config takes.

    Raises:
        InputError: it is none of our models' configs.
    """
    if isinstance(config, MlpVqaConfig):
        return frozenset(_OF_MLP[name] for name in config.inputs if name != "answer")
    if isinstance(config, SpatialAttentionVqaConfig):
        return frozenset(("image_grid", "question_vectors"))
    if isinstance(config, HieCoAttentionVqaConfig):
        return frozenset(("image_grid", *QUESTION_INPUTS))
    known = ", ".join(kind.model_type for kind in (MlpVqaConfig, SpatialAttentionVqaConfig, HieCoAttentionVqaConfig))
    raise InputError(f"model_type is {config.model_type!r}, which is no multiple-choice VQA model; expected {known}")
