"""Models whose weights are counts of the training questions, not learned by gradient descent."""

from abc import abstractmethod

from torch import Tensor, nn
from transformers import PreTrainedModel


class FittedModel(PreTrainedModel):  # type: ignore[no-untyped-call]
    """An open-ended model that is fitted in one pass over all training questions."""

    @abstractmethod
    def fit(self, labels: Tensor, **inputs: Tensor) -> None:
        """Fit the model; arguments are those of ``forward``, of all training questions."""


def stored(tensor: Tensor) -> nn.Parameter:
    """A tensor as a weight that is not trained; transformers cannot load a model that has only buffers."""
    return nn.Parameter(tensor, requires_grad=False)
