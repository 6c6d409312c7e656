"""Optimizers by name, their learning rate, and their moments as what a run keeps."""

import torch
from torch import Tensor

from hf_vqa_mc.training.settings import TrainingSettings


def optimizer_of(settings: TrainingSettings, model: torch.nn.Module) -> torch.optim.Optimizer:
    """The optimizer that the settings name, of all weights of a model."""
    weights, rate, decay = list(model.parameters()), settings.rate, settings.weight_decay
    if settings.optimizer == "sgd":
        return torch.optim.SGD(weights, rate, settings.momentum, weight_decay=decay, fused=True)
    if settings.optimizer == "rmsprop":
        return torch.optim.RMSprop(weights, rate, weight_decay=decay)  # alpha 0.99: Lu et al. 2016's decay
    return torch.optim.Adam(weights, rate, weight_decay=decay, fused=True)


def rate_at(settings: TrainingSettings, step: int, steps: int) -> float:
    """The learning rate of a step, from 0: divided by 10 after each of the parts of all steps.

    Args:
        settings: of the run.
        step: from 0.
        steps: of the whole run.
    """
    return float(settings.rate * 0.1 ** sum(step >= part * steps for part in settings.drop_at))


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The moments of an optimizer by name, without its rates and the like."""
    return {
        f"optimizer.{number}.{name}": torch.as_tensor(value)
        for number, moments in optimizer.state_dict()["state"].items()
        for name, value in moments.items()
        if value is not None
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Give an optimizer back what ``optimizer_tensors`` took.

    Raises:
        ValueError: it is not of all its weights.
    """
    moments: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, number, name = key.split(".", 2)
            moments.setdefault(int(number), {})[name] = value
    weights = sum(len(group["params"]) for group in optimizer.param_groups)
    if sorted(moments) != list(range(weights)):
        raise ValueError(f"moments of {len(moments)} weights, expected of {weights}")
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})
