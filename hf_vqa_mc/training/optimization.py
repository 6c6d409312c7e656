"""The accelerator and the optimizer of a run, noise and clipping of gradients, and averages of weights."""

from collections.abc import Callable, Mapping
from functools import partial

import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.optim.swa_utils import AveragedModel

from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.recipe import Optimizer, Recipe

MOMENTUM = 0.9  # of sgd (Chao et al. 2018, supplement A.4)
DECAY = 0.55  # exponent by which the variance of the noise falls (Neelakantan et al. 2015, section 3)
WARM_UP = 10
"""The decay of averages at step t, from 0, is at most (1 + t) / (10 + t), as in TensorFlow, so that the random weights
of the beginning are soon forgotten."""
Tensors = list[Tensor] | tuple[Tensor, ...]

_OPTIMIZERS: Mapping[Optimizer, Callable[..., torch.optim.Optimizer]] = {
    "sgd": partial(torch.optim.SGD, momentum=MOMENTUM, fused=True),
    "rmsprop": torch.optim.RMSprop,  # alpha 0.99: Lu et al. 2016's decay
    "adam": partial(torch.optim.Adam, fused=True),
    "adamax": torch.optim.Adamax,
    "adadelta": partial(torch.optim.Adadelta, rho=0.95, eps=1e-6),  # Zeiler 2012, section 4.1
}


def accelerator_of() -> Accelerator:
    """Create the accelerator; the papers' models are small, so all train in full precision."""
    # Without cpu=True, on a machine without GPUs each process would be a separate run.
    return Accelerator(cpu=not torch.accelerator.is_available(), mixed_precision="no")


def optimizer_of(recipe: Recipe, model: nn.Module) -> torch.optim.Optimizer:
    """Create the optimizer."""
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    weights = weights or [nn.Parameter(torch.zeros(0))]  # of a fitted model; torch refuses an empty list
    return _OPTIMIZERS[recipe.optimizer](weights, lr=recipe.learning_rate)


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """The state tensors of an optimizer by name, without hyperparameters."""
    return {
        f"optimizer.{number}.{name}": torch.as_tensor(value)
        for number, moments in optimizer.state_dict()["state"].items()
        for name, value in moments.items()
        if value is not None
    }


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    """Restore the result of ``optimizer_tensors``."""
    moments: dict[int, dict[str, Tensor]] = {}
    for key, value in with_prefix(tensors, "optimizer.").items():
        number, name = key.split(".", 1)
        moments.setdefault(int(number), {})[name] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": moments})


def with_prefix(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors with a prefix, by names without it."""
    return {name.removeprefix(prefix): one for name, one in tensors.items() if name.startswith(prefix)}


def change_gradients(
    accelerator: Accelerator, optimizer: torch.optim.Optimizer, recipe: Recipe, seed: int, step: int
) -> None:
    """Add noise to the gradients, then clip them, in the order of the code of Noh and Han 2016.

    Noise depends only on the seed and the step, so all processes add the same and resumed runs repeat it.
    """
    weights = [one for group in optimizer.param_groups for one in group["params"] if one.grad is not None]
    if recipe.gradient_noise:
        rng = torch.Generator(accelerator.device)
        rng.manual_seed(int(purpose_hash(seed, f"gradient noise {step}")) >> 1)
        deviation = (recipe.gradient_noise / (1 + step) ** DECAY) ** 0.5
        for one in weights:
            noise = torch.randn(one.grad.shape, generator=rng, device=accelerator.device, dtype=one.grad.dtype)
            one.grad.add_(noise, alpha=deviation)
    if recipe.clip_norm:
        torch.nn.utils.clip_grad_norm_(weights, recipe.clip_norm)
    if recipe.clip_value:
        torch.nn.utils.clip_grad_value_(weights, recipe.clip_value)


def averaged_weights(model: nn.Module, decay: float, tensors: Mapping[str, Tensor], step: int) -> AveragedModel:
    """Moving averages of weights from the given ones on; after ``step`` steps, those among ``tensors``, if any."""

    def mean(averages: Tensors, weights: Tensors, updates: Tensor | int) -> None:
        torch._foreach_lerp_(averages, weights, 1 - min(decay, int(updates) / (int(updates) + WARM_UP - 1)))

    found = AveragedModel(model, multi_avg_fn=mean)
    found.update_parameters(model)  # the first update copies the weights
    if tensors:
        with torch.no_grad():
            for name, one in average_tensors(found).items():
                one.copy_(tensors[name])
        found.n_averaged.fill_(1 + step)
    return found


def average_tensors(averages: AveragedModel | None) -> dict[str, Tensor]:
    """The averages of trained weights, by names for the run's state."""
    weights = averages.module.named_parameters() if averages else ()
    return {f"average.{name}": one for name, one in weights if one.requires_grad}
