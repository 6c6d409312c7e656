"""Pushing to the Hub: a built dataset folder, a checkpoint, a metric as a Space; or only what a push would send.

Names are imported when they are asked for, since ``huggingface_hub`` takes its time.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hf_vqa_mc.hub.dataset_folder import dataset_shipment as dataset_shipment
    from hf_vqa_mc.hub.metric_space import metric_shipment as metric_shipment
    from hf_vqa_mc.hub.model_folder import model_shipment as model_shipment
    from hf_vqa_mc.hub.push import Pushed as Pushed
    from hf_vqa_mc.hub.push import push as push
    from hf_vqa_mc.hub.shipment import Shipment as Shipment

_HOMES = {
    "Pushed": "push",
    "Shipment": "shipment",
    "dataset_shipment": "dataset_folder",
    "metric_shipment": "metric_space",
    "model_shipment": "model_folder",
    "push": "push",
}

__all__ = ["Pushed", "Shipment", "dataset_shipment", "metric_shipment", "model_shipment", "push"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
