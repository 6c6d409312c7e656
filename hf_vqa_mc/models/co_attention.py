"""Hierarchical co-attention of Lu et al. 2016: image and question attend to each other at three levels.

Layer order, sizes and dropout are those of Lu et al.'s code (2016, HieCoAttenVQA).
"""

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig

from hf_vqa_mc.models.model import VqaModel
from hf_vqa_mc.models.spatial_attention import GuidedAttention, average

NGRAMS = (1, 2, 3)
"""Kernel sizes of the phrase level's convolutions."""
LEVELS = ("word", "phrase", "question")


class AlternatingCoAttention(nn.Module):
    """Self-attention of the question guides attention to the image, which guides attention to the question."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.summary = GuidedAttention(size, None, size, dropout)
        self.image = GuidedAttention(size, size, size, dropout)
        self.question = GuidedAttention(size, size, size, dropout)

    def forward(
        self, words: Tensor, cells: Tensor, mask: Tensor, cell_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The attended question and image, each (batch, size), and the image's attention (batch, cells)."""
        summary, _ = self.summary(words, mask=mask)
        image, attention = self.image(cells, summary, cell_mask)
        question, _ = self.question(words, image, mask)
        return question, image, attention


class ParallelCoAttention(nn.Module):
    """Image and question attend to each other simultaneously, by an affinity matrix; padded words must be 0."""

    def __init__(self, size: int, dropout: float) -> None:
        super().__init__()
        self.affinity = nn.Linear(size, size)
        self.image, self.question = nn.Linear(size, size), nn.Linear(size, size)
        self.image_score, self.question_score = nn.Linear(size, 1, bias=False), nn.Linear(size, 1, bias=False)
        self.dropout = dropout

    def forward(
        self, words: Tensor, cells: Tensor, mask: Tensor, cell_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The attended question and image, each (batch, size), and the image's attention (batch, cells)."""
        affinity = torch.tanh(words @ self.affinity(cells).transpose(1, 2))  # (batch, words, cells), 0 in padding
        if cell_mask is not None:
            affinity = affinity * cell_mask[:, None]
        of_image, of_question = self.image(cells), self.question(words)
        scores = [
            score(functional.dropout(torch.tanh(hidden), self.dropout, self.training)).squeeze(-1)
            for score, hidden in (
                (self.image_score, of_image + affinity.transpose(1, 2) @ of_question),
                (self.question_score, of_question + affinity @ of_image),
            )
        ]
        image, attention = average(cells, scores[0], cell_mask)
        question, _ = average(words, scores[1], mask)
        return question, image, attention


CO_ATTENTIONS = {"alternating": AlternatingCoAttention, "parallel": ParallelCoAttention}


class CoAttentionModel(VqaModel):  # type: ignore[no-untyped-call]
    """Co-attention at the levels of words, phrases and question, without words and classifier.

    The config has ``image_size``, ``co_attention``, ``level_size``, ``lstm_layers``, ``joint_size`` and
    ``encoder_dropout``.
    """

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)
        size, dropout = config.level_size, float(config.encoder_dropout)
        self.cells = nn.Linear(config.image_size, size)
        self.phrases = nn.ModuleList(nn.Conv1d(size, size, length, padding=length // 2) for length in NGRAMS)
        self.question = nn.LSTM(
            size, size, config.lstm_layers, batch_first=True, dropout=dropout if config.lstm_layers > 1 else 0.0
        )
        self.attentions = nn.ModuleDict({level: CO_ATTENTIONS[config.co_attention](size, dropout) for level in LEVELS})
        shapes = ((size, size), (2 * size, size), (2 * size, config.joint_size))
        self.joined = nn.ModuleDict({level: nn.Linear(*shape) for level, shape in zip(LEVELS, shapes, strict=True)})

    def joint(
        self, image_grid: Tensor, words: Tensor, mask: Tensor, cell_mask: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """h_s (batch, joint_size), and the attention over the image at each level, (batch, cells) each.

        Args:
            image_grid: (batch, cells, image_size).
            words: (batch, words, level_size), before the activation.
            mask: bool (batch, words), right padded.
            cell_mask: bool (batch, cells); by default all are valid.
        """
        cells = self._dropped(torch.tanh(self.cells(image_grid)))
        below: list[Tensor] = []  # of the previous level
        attentions = []
        for level, of_level in zip(LEVELS, self._levels(words, mask), strict=True):
            question, image, attention = self.attentions[level](of_level, cells, mask, cell_mask)
            both = torch.cat([question + image, *below], dim=-1)
            below = [torch.tanh(self.joined[level](self._dropped(both)))]
            attentions.append(attention)
        return below[0], tuple(attentions)

    def _levels(self, words: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Representations of words, phrases and question, each (batch, words, level_size), 0 in padding."""
        padding = ~mask.unsqueeze(-1)
        words = self._dropped(torch.tanh(words)).masked_fill(padding, 0.0)
        count, by_channel = words.shape[1], words.transpose(1, 2)
        # as in Lu et al.'s code, a bigram has the index of its last word; the one past the last word is cut off
        ngrams = torch.stack([phrase(by_channel)[..., :count] for phrase in self.phrases])
        phrases = torch.tanh(ngrams.amax(0)).transpose(1, 2)
        phrases = self._dropped(phrases).masked_fill(padding, 0.0)
        questions, _ = self.question(phrases)  # unidirectional, so padding has no effect
        return words, phrases, self._dropped(questions).masked_fill(padding, 0.0)

    def _dropped(self, values: Tensor) -> Tensor:
        return functional.dropout(values, float(self.config.encoder_dropout), self.training)
