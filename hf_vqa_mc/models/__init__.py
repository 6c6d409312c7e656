"""The papers' models, as transformers' models: importing this registers them with its Auto classes."""

from transformers import AutoConfig, AutoModelForMultipleChoice

from hf_vqa_mc.models.hie_co_attention import HieCoAttentionForMultipleChoiceVqa, HieCoAttentionVqaConfig
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig
from hf_vqa_mc.models.spatial_attention import SpatialAttentionForMultipleChoiceVqa, SpatialAttentionVqaConfig

__all__ = [
    "HieCoAttentionForMultipleChoiceVqa",
    "HieCoAttentionVqaConfig",
    "MlpForMultipleChoiceVqa",
    "MlpVqaConfig",
    "SpatialAttentionForMultipleChoiceVqa",
    "SpatialAttentionVqaConfig",
]

for _config, _model in (
    (MlpVqaConfig, MlpForMultipleChoiceVqa),
    (SpatialAttentionVqaConfig, SpatialAttentionForMultipleChoiceVqa),
    (HieCoAttentionVqaConfig, HieCoAttentionForMultipleChoiceVqa),
):
    AutoConfig.register(_config.model_type, _config, exist_ok=True)
    AutoModelForMultipleChoice.register(_config, _model, exist_ok=True)
