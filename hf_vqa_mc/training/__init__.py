"""Training the papers' models on a dataset of multiple-choice questions, and answering with a trained one.

Names are imported on first use, since torch takes its time.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.training.evaluation import Predicted as Predicted
    from hf_vqa_mc.training.evaluation import predict as predict
    from hf_vqa_mc.training.loop import Trained as Trained
    from hf_vqa_mc.training.loop import train as train
    from hf_vqa_mc.training.settings import TrainingSettings as TrainingSettings

_HOMES = {
    "Predicted": "evaluation",
    "Trained": "loop",
    "TrainingSettings": "settings",
    "predict": "evaluation",
    "train": "loop",
}
__all__ = list(_HOMES)

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
