"""The exponential moving average of a model's weights, which is evaluated and saved instead of the last weights."""

import contextlib
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

PREFIX = "average."
"""Of the averages in the tensors of a run."""
WARM_UP = 10
"""The decay of step t, from 0, is at most (1 + t) / (10 + t), as in TensorFlow, so that the random weights of the
beginning are soon forgotten."""


class AveragedWeights:
    """The average of each trained weight over the steps so far; without a decay it does nothing."""

    def __init__(self, model: nn.Module, decay: float | None) -> None:
        self._decay = decay or 0.0
        trained = {name: one for name, one in model.named_parameters() if one.requires_grad} if decay else {}
        self._averages = {name: one.detach().clone() for name, one in trained.items()}

    def update(self, model: nn.Module, step: int) -> None:
        """Add the weights after a step."""
        if self._averages:
            weights = dict(model.named_parameters())
            now = [weights[name].detach() for name in self._averages]
            decay = min(self._decay, (1 + step) / (WARM_UP + step))
            torch._foreach_lerp_(list(self._averages.values()), now, 1 - decay)

    def to(self, device: torch.device) -> None:
        """Move the averages to a device."""
        self._averages = {name: one.to(device) for name, one in self._averages.items()}

    @contextlib.contextmanager
    def applied(self, model: nn.Module) -> Iterator[None]:
        """Give the model the averages meanwhile."""
        self._swap(model)
        try:
            yield
        finally:
            self._swap(model)

    def _swap(self, model: nn.Module) -> None:
        weights = dict(model.named_parameters())
        for name, average in self._averages.items():
            weights[name].data, self._averages[name] = average, weights[name].data

    def tensors(self) -> dict[str, Tensor]:
        """The averages, by names for the run's state."""
        return {PREFIX + name: one for name, one in self._averages.items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Restore the result of ``tensors``."""
        for name, average in self._averages.items():
            average.copy_(tensors[PREFIX + name])
