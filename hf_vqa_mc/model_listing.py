"""The models of ``vqa-mc train``, one line each; their declarations in ``models`` are imported when needed."""

from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.hub_folder import hub_folder
from hf_vqa_mc.listing import Listing

CHECKPOINT_FILES = (
    "config.json",
    "model*.safetensors",
    "model.safetensors.index.json",
    "processor_config.json",
    "words.safetensors",
    "training.json",
)
"""Files read of a checkpoint; no pickles, no code."""


class ModelListing(Listing[Any]):
    """Each a `Model` by name; added ones are registered with the Auto classes of transformers."""

    def add(self, declaration: Any) -> None:  # noqa: ANN401  a Model
        """Add a model and register its classes; raises ValueError if its name is taken."""
        super().add(declaration)
        declaration.register()


MODELS = ModelListing(
    "model",
    lazy={
        "mlp-a": "hf_vqa_mc.models.mlp:MLP_A",
        "mlp-ia": "hf_vqa_mc.models.mlp:MLP_IA",
        "mlp-qa": "hf_vqa_mc.models.mlp:MLP_QA",
        "mlp-iqa": "hf_vqa_mc.models.mlp:MLP_IQA",
        "attention": "hf_vqa_mc.models.attention:ATTENTION",
        "hiecoatt": "hf_vqa_mc.models.hie_co_attention:HIE_CO_ATTENTION",
        "random-answer": "hf_vqa_mc.models.fitted:RANDOM_ANSWER",
        "popular-answer": "hf_vqa_mc.models.fitted:POPULAR_ANSWER",
        "always-yes": "hf_vqa_mc.models.fitted:ALWAYS_YES",
        "popular-per-type": "hf_vqa_mc.models.fitted:POPULAR_PER_TYPE",
        "global-prior": "hf_vqa_mc.models.fitted:GLOBAL_PRIOR",
        "local-prior": "hf_vqa_mc.models.fitted:LOCAL_PRIOR",
        "nearest-question": "hf_vqa_mc.models.fitted:NEAREST_QUESTION",
        "nearest-neighbour": "hf_vqa_mc.models.fitted:NEAREST_NEIGHBOUR",
        "bow-q": "hf_vqa_mc.models.answer_mlp:BOW_Q",
        "image": "hf_vqa_mc.models.answer_mlp:IMAGE",
        "bow-q-i": "hf_vqa_mc.models.answer_mlp:BOW_Q_I",
        "caption": "hf_vqa_mc.models.answer_mlp:CAPTION",
        "concat-q-i": "hf_vqa_mc.models.answer_mlp:CONCAT_Q_I",
        "concat-q-c": "hf_vqa_mc.models.answer_mlp:CONCAT_Q_C",
        "concat-q-i-c": "hf_vqa_mc.models.answer_mlp:CONCAT_Q_I_C",
        "linear-q": "hf_vqa_mc.models.answer_mlp:LINEAR_Q",
        "linear-i": "hf_vqa_mc.models.answer_mlp:LINEAR_I",
        "linear-q-i": "hf_vqa_mc.models.answer_mlp:LINEAR_Q_I",
        "mlp-q-i": "hf_vqa_mc.models.answer_mlp:MLP_Q_I",
        "cnn": "hf_vqa_mc.models.answer_mlp:CNN",
        "lstm-q": "hf_vqa_mc.models.question_lstm:LSTM_Q",
        "lstm-q-i": "hf_vqa_mc.models.question_lstm:LSTM_Q_I",
        "deeper-lstm-q": "hf_vqa_mc.models.question_lstm:DEEPER_LSTM_Q",
        "deeper-lstm-q-norm-i": "hf_vqa_mc.models.question_lstm:DEEPER_LSTM_Q_NORM_I",
        "mcb": "hf_vqa_mc.models.compact_bilinear:MCB",
        "mcb-a": "hf_vqa_mc.models.compact_bilinear:MCB_A",
        "hiecoatt-answers": "hf_vqa_mc.models.hie_co_attention:HIE_CO_ATTENTION_ANSWERS",
        "bottom-up": "hf_vqa_mc.models.bottom_up:BOTTOM_UP",
        "nmn": "hf_vqa_mc.models.module_network:NMN",
        "rau": "hf_vqa_mc.models.recurrent_answering_units:RAU",
        "mac": "hf_vqa_mc.models.mac:MAC",
        "counter-example": "hf_vqa_mc.models.counter_example:COUNTER_EXAMPLE",
        "lstm": "hf_vqa_mc.models.question_lstm:LSTM",
        "cnn-lstm": "hf_vqa_mc.models.question_lstm:CNN_LSTM",
    },
)


def checkpoint_folder(name: str | Path, **of_hub: Any) -> Path:  # noqa: ANN401  as snapshot_download has them
    """The folder with a checkpoint's files, a folder or a name on the Hub; options of ``snapshot_download``.

    Raises InputError if there is no such checkpoint, ConnectionError if the Hub cannot be reached.
    """
    folder = Path(name).expanduser()
    if folder.is_file():
        raise InputError(f"checkpoint {name} is a file; give its folder")
    expected = "expected a folder written by vqa-mc train, or a name on the Hub"
    return folder if folder.is_dir() else hub_folder("checkpoint", str(name), CHECKPOINT_FILES, expected, **of_hub)
