"""Training the papers' models on a dataset of multiple-choice questions, and asking a trained one.

Names are imported when they are asked for, since torch takes its time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hf_vqa_mc.training.loop import Trained as Trained
    from hf_vqa_mc.training.loop import train as train
    from hf_vqa_mc.training.prediction import Predicted as Predicted
    from hf_vqa_mc.training.prediction import predict as predict
    from hf_vqa_mc.training.settings import TrainingSettings as TrainingSettings

_HOMES = {
    "Predicted": "prediction",
    "Trained": "loop",
    "TrainingSettings": "settings",
    "predict": "prediction",
    "train": "loop",
}

__all__ = ["Predicted", "Trained", "TrainingSettings", "predict", "train"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
