"""The papers' models, as transformers' models: importing this registers them with its Auto classes and pipelines."""

from transformers import AutoConfig, AutoModelForMultipleChoice, AutoProcessor
from transformers.pipelines import PIPELINE_REGISTRY

from hf_vqa_mc.models.hie_co_attention import HieCoAttentionForMultipleChoiceVqa, HieCoAttentionVqaConfig
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig
from hf_vqa_mc.models.pipeline import TASK, CheckpointModel, MultipleChoiceVqaPipeline
from hf_vqa_mc.models.processor import VqaMcProcessor
from hf_vqa_mc.models.spatial_attention import SpatialAttentionForMultipleChoiceVqa, SpatialAttentionVqaConfig

__all__ = [
    "HieCoAttentionForMultipleChoiceVqa",
    "HieCoAttentionVqaConfig",
    "MlpForMultipleChoiceVqa",
    "MlpVqaConfig",
    "MultipleChoiceVqaPipeline",
    "SpatialAttentionForMultipleChoiceVqa",
    "SpatialAttentionVqaConfig",
    "VqaMcProcessor",
]

for _config, _model in (
    (MlpVqaConfig, MlpForMultipleChoiceVqa),
    (SpatialAttentionVqaConfig, SpatialAttentionForMultipleChoiceVqa),
    (HieCoAttentionVqaConfig, HieCoAttentionForMultipleChoiceVqa),
):
    AutoConfig.register(_config.model_type, _config, exist_ok=True)
    AutoModelForMultipleChoice.register(_config, _model, exist_ok=True)
    AutoProcessor.register(_config, VqaMcProcessor, exist_ok=True)  # type: ignore[no-untyped-call]
PIPELINE_REGISTRY.register_pipeline(TASK, MultipleChoiceVqaPipeline, CheckpointModel)
