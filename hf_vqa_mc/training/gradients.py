"""Noise and clipping of gradients, as a recipe has them."""

from typing import TYPE_CHECKING

import torch

from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.training.settings import TrainingSettings

if TYPE_CHECKING:
    from accelerate import Accelerator

DECAY = 0.55
"""Exponent by which the variance of the noise falls (Neelakantan et al. 2015, section 3)."""


def change_gradients(
    accelerator: "Accelerator", optimizer: torch.optim.Optimizer, settings: TrainingSettings, step: int
) -> None:
    """Add noise to the gradients, then clip them, in the order of the code of Noh and Han 2016.

    Noise depends only on the seed and the step, so all processes add the same and resumed runs repeat it.
    """
    recipe = settings.recipe
    if not (recipe.gradient_noise or recipe.clip_norm or recipe.clip_value):
        return
    weights = [one for group in optimizer.param_groups for one in group["params"] if one.grad is not None]
    accelerator.unscale_gradients(optimizer)
    if recipe.gradient_noise:
        rng = torch.Generator(accelerator.device)
        rng.manual_seed(int(purpose_hash(settings.seed, f"gradient noise {step}")) >> 1)
        deviation = (recipe.gradient_noise / (1 + step) ** DECAY) ** 0.5
        for one in weights:
            noise = torch.randn(one.grad.shape, generator=rng, device=accelerator.device, dtype=one.grad.dtype)
            one.grad.add_(noise, alpha=deviation)
    if recipe.clip_norm:
        torch.nn.utils.clip_grad_norm_(weights, recipe.clip_norm)
    if recipe.clip_value:
        torch.nn.utils.clip_grad_value_(weights, recipe.clip_value)
