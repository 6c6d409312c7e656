"""Training the papers' models on a dataset of multiple-choice questions, and asking a trained one.

Names are imported when they are asked for, since torch takes its time.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.training.loop import Trained as Trained
    from hf_vqa_mc.training.loop import train as train
    from hf_vqa_mc.training.prediction import Predicted as Predicted
    from hf_vqa_mc.training.prediction import predict as predict
    from hf_vqa_mc.training.settings import TrainingSettings as TrainingSettings

__all__ = ["Predicted", "Trained", "TrainingSettings", "predict", "train"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Predicted": "prediction",
        "Trained": "loop",
        "TrainingSettings": "settings",
        "predict": "prediction",
        "train": "loop",
    },
)
