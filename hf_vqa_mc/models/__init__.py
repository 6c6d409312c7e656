"""The papers' models as transformers' models: importing this registers them with its Auto classes and pipelines."""

from transformers.pipelines import PIPELINE_REGISTRY

from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models.answer_mlp import AnswerMlpForOpenEndedVqa, AnswerMlpVqaConfig
from hf_vqa_mc.models.attention import SpatialAttentionForMultipleChoiceVqa, SpatialAttentionVqaConfig
from hf_vqa_mc.models.hie_co_attention import HieCoAttentionForMultipleChoiceVqa, HieCoAttentionVqaConfig
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig
from hf_vqa_mc.models.model import COUNTER_EXAMPLE_TASK, OPEN_ENDED_TASK, TASK, Model
from hf_vqa_mc.models.pipeline import CheckpointModel, VqaPipeline
from hf_vqa_mc.models.processor import VqaProcessor
from hf_vqa_mc.models.question_lstm import QuestionLstmForOpenEndedVqa, QuestionLstmVqaConfig

__all__ = [
    "MODELS",
    "AnswerMlpForOpenEndedVqa",
    "AnswerMlpVqaConfig",
    "HieCoAttentionForMultipleChoiceVqa",
    "HieCoAttentionVqaConfig",
    "MlpForMultipleChoiceVqa",
    "MlpVqaConfig",
    "Model",
    "QuestionLstmForOpenEndedVqa",
    "QuestionLstmVqaConfig",
    "SpatialAttentionForMultipleChoiceVqa",
    "SpatialAttentionVqaConfig",
    "VqaPipeline",
    "VqaProcessor",
]

for _model in MODELS.values():
    _model.register()
for _task in (TASK, OPEN_ENDED_TASK, COUNTER_EXAMPLE_TASK):
    PIPELINE_REGISTRY.register_pipeline(_task, VqaPipeline, CheckpointModel)
