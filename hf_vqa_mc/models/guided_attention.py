"""One attention over places, image cells or words, that a vector may guide: the part the attention models share."""

import torch
from torch import Tensor, nn
from torch.nn import functional


class GuidedAttention(nn.Module):
    """softmax over the places of w·tanh(W_x·x + W_g·guide + b), and the places' average under it.

    The form is that of stacked attention (Yang et al. 2016) and of a step of co-attention (Lu et al. 2016).

    Args:
        size: numbers of a place.
        guide_size: numbers of the guide; None where nothing guides.
        hidden_size: units of the layer of tanh.
        dropout: probability of leaving such a unit out in training.
    """

    def __init__(self, size: int, guide_size: int | None, hidden_size: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.place = nn.Linear(size, hidden_size)
        self.guide = None if guide_size is None else nn.Linear(guide_size, hidden_size, bias=False)
        self.score = nn.Linear(hidden_size, 1, bias=False)  # a bias would fall out of the softmax
        self.dropout = dropout

    def forward(
        self, places: Tensor, guide: Tensor | None = None, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """Attends once.

        Args:
            places: (batch, places, size)
            guide: (batch, guide_size), where something guides.
            mask: bool (batch, places): which places there are; all unless given.

        Returns:
            The average place (batch, size), and the attention (batch, places), which sums to 1.
        """
        hidden = self.place(places)  # (batch, places, hidden)
        if self.guide is not None:
            hidden = hidden + self.guide(guide).unsqueeze(1)
        hidden = functional.dropout(torch.tanh(hidden), self.dropout, self.training)
        return average(places, self.score(hidden).squeeze(-1), mask)


def average(places: Tensor, scores: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """The softmax of the scores (batch, places) in float32 at least, and the places' average under it.

    Where there is no place at all (a question without words) both are 0.
    """
    scores = scores.to(torch.promote_types(scores.dtype, torch.float32))
    if mask is None:
        attention = scores.softmax(-1)
    else:
        attention = scores.masked_fill(~mask, torch.finfo(scores.dtype).min).softmax(-1) * mask
    return (attention.to(places.dtype).unsqueeze(1) @ places).squeeze(1), attention
