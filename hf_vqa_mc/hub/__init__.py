"""Pushing to the Hub: a built dataset folder, a checkpoint, a metric as a Space; or only what a push would send.

Names are imported when they are asked for, since ``huggingface_hub`` takes its time.
"""

from typing import TYPE_CHECKING

from hf_vqa_mc.lazy import lazy_names

if TYPE_CHECKING:
    from hf_vqa_mc.hub.dataset_folder import dataset_shipment as dataset_shipment
    from hf_vqa_mc.hub.metric_space import metric_shipment as metric_shipment
    from hf_vqa_mc.hub.model_folder import model_shipment as model_shipment
    from hf_vqa_mc.hub.push import Pushed as Pushed
    from hf_vqa_mc.hub.push import push as push
    from hf_vqa_mc.hub.shipment import Shipment as Shipment

__all__ = ["Pushed", "Shipment", "dataset_shipment", "metric_shipment", "model_shipment", "push"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Pushed": "push",
        "Shipment": "shipment",
        "dataset_shipment": "dataset_folder",
        "metric_shipment": "metric_space",
        "model_shipment": "model_folder",
        "push": "push",
    },
)
