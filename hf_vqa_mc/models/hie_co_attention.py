"""HieCoAtt* of Chao et al. 2018 (A.3): Lu et al.'s hierarchical co-attention without its classifier, then an MLP.

Layer order, sizes and dropout are those of Lu et al.'s code (2016, HieCoAttenVQA).
"""

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig, PreTrainedModel
from transformers.modeling_outputs import MultipleChoiceModelOutput

from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig
from hf_vqa_mc.models.model import QUESTION_INPUTS, Model, check_sizes
from hf_vqa_mc.models.spatial_attention import GuidedAttention, average, check_grid

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

    def forward(self, words: Tensor, cells: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The attended question and image, each (batch, size), and the image's attention (batch, cells)."""
        summary, _ = self.summary(words, mask=mask)
        image, attention = self.image(cells, summary)
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

    def forward(self, words: Tensor, cells: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The attended question and image, each (batch, size), and the image's attention (batch, cells)."""
        affinity = torch.tanh(words @ self.affinity(cells).transpose(1, 2))  # (batch, words, cells), 0 in padding
        of_image, of_question = self.image(cells), self.question(words)
        scores = [
            score(functional.dropout(torch.tanh(hidden), self.dropout, self.training)).squeeze(-1)
            for score, hidden in (
                (self.image_score, of_image + affinity.transpose(1, 2) @ of_question),
                (self.question_score, of_question + affinity @ of_image),
            )
        ]
        image, attention = average(cells, scores[0], None)
        question, _ = average(words, scores[1], mask)
        return question, image, attention


CO_ATTENTIONS = {"alternating": AlternatingCoAttention, "parallel": ParallelCoAttention}


@strict
class HieCoAttentionVqaConfig(PreTrainedConfig):  # type: ignore[no-untyped-call]
    """The sizes of HieCoAtt*; those of its MLP are Chao et al.'s (section 5.2; supplement, A.1)."""

    model_type = "vqa_mc_hie_co_attention"

    image_size: int = 2048
    """dimensions of an image cell: ResNet's last channels"""
    text_size: int = 300
    """dimensions of a word vector"""
    co_attention: str = "alternating"
    """alternating (default of Lu et al.'s code) or parallel"""
    level_size: int = 512
    """dimensions of embedded words, phrases and cells, of the attentions and of the LSTM (Lu et al.)"""
    lstm_layers: int = 2
    """layers of the question level (Lu et al.'s code)"""
    joint_size: int = 1024
    """dimensions of the joint representation h_s (Lu et al. on VQA; 512 on COCO-QA)"""
    encoder_dropout: float | int = 0.5
    """dropout of all layers before h_s (Lu et al.)"""
    hidden_size: int = 8192
    dropout: float | int = 0.5
    """dropout of the MLP"""

    def validate_co_attention(self) -> None:
        """Raise InputError unless it is known."""
        if self.co_attention not in CO_ATTENTIONS:
            raise unknown_name("co_attention", self.co_attention, CO_ATTENTIONS)

    def validate_sizes(self) -> None:
        """Raise InputError unless sizes are positive."""
        check_sizes(self, "image_size", "text_size", "level_size", "lstm_layers", "joint_size", "hidden_size")


class HieCoAttentionForMultipleChoiceVqa(PreTrainedModel):  # type: ignore[no-untyped-call]
    """Co-attention at the levels of words, phrases and question; the joint representation is the MLP's image input."""

    config_class = HieCoAttentionVqaConfig
    base_model_prefix = "hie_co_attention"

    def __init__(self, config: HieCoAttentionVqaConfig) -> None:
        super().__init__(config)
        size, dropout = config.level_size, float(config.encoder_dropout)
        self.cells = nn.Linear(config.image_size, size)
        self.words = nn.Linear(config.text_size, size)
        self.phrases = nn.ModuleList(nn.Conv1d(size, size, length, padding=length // 2) for length in NGRAMS)
        self.question = nn.LSTM(
            size, size, config.lstm_layers, batch_first=True, dropout=dropout if config.lstm_layers > 1 else 0.0
        )
        self.attentions = nn.ModuleDict({level: CO_ATTENTIONS[config.co_attention](size, dropout) for level in LEVELS})
        shapes = ((size, size), (2 * size, size), (2 * size, config.joint_size))
        self.joined = nn.ModuleDict({level: nn.Linear(*shape) for level, shape in zip(LEVELS, shapes, strict=True)})
        sizes = {name: getattr(config, name) for name in ("text_size", "hidden_size", "dropout")}
        self.mlp = MlpForMultipleChoiceVqa(MlpVqaConfig(image_size=config.joint_size, **sizes))
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Conv1d, nn.LSTM)):
            module.reset_parameters()

    def forward(
        self,
        choice_vectors: Tensor,
        image_grid: Tensor,
        question_vectors: Tensor,
        question_tokens: Tensor,
        question_mask: Tensor,
        choice_mask: Tensor | None = None,
        labels: Tensor | None = None,
        choice_indices: Tensor | None = None,
    ) -> MultipleChoiceModelOutput:
        """Score each question's choices.

        Arguments are those of `MlpForMultipleChoiceVqa.forward`, with image_grid (batch, cells, image_size),
        question_tokens (batch, words, text_size): word vectors in order, and question_mask: bool (batch, words), right
        padded.

        Returns:
            As `MlpForMultipleChoiceVqa`, and ``attentions``: over the image at each level, (batch, cells).

        Raises:
            InputError: image_grid has another shape, or padding comes before a word.
        """
        check_grid(image_grid, self.config.image_size)
        _check_words(question_mask)
        joint, attentions = self._joint(image_grid, question_tokens, question_mask)
        output: MultipleChoiceModelOutput = self.mlp(
            choice_vectors, joint, question_vectors, choice_mask, labels, choice_indices
        )
        output.attentions = attentions
        return output

    def _joint(self, image_grid: Tensor, tokens: Tensor, mask: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """h_s (batch, joint_size), and the attention over the image at each level."""
        cells = self._dropped(torch.tanh(self.cells(image_grid)))
        below: list[Tensor] = []  # of the previous level
        attentions = []
        for level, words in zip(LEVELS, self._levels(tokens, mask), strict=True):
            question, image, attention = self.attentions[level](words, cells, mask)
            both = torch.cat([question + image, *below], dim=-1)
            below = [torch.tanh(self.joined[level](self._dropped(both)))]
            attentions.append(attention)
        return below[0], tuple(attentions)

    def _levels(self, tokens: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Representations of words, phrases and question, each (batch, words, level_size), 0 in padding."""
        padding = ~mask.unsqueeze(-1)
        words = torch.tanh(self.words(tokens.masked_fill(padding, 0.0)))
        words = self._dropped(words).masked_fill(padding, 0.0)
        count, by_channel = words.shape[1], words.transpose(1, 2)
        # as in Lu et al.'s code, a bigram has the index of its last word; the one past the last word is cut off
        ngrams = torch.stack([phrase(by_channel)[..., :count] for phrase in self.phrases])
        phrases = torch.tanh(ngrams.amax(0)).transpose(1, 2)
        phrases = self._dropped(phrases).masked_fill(padding, 0.0)
        questions, _ = self.question(phrases)  # unidirectional, so padding has no effect
        return words, phrases, self._dropped(questions).masked_fill(padding, 0.0)

    def _dropped(self, values: Tensor) -> Tensor:
        return functional.dropout(values, float(self.config.encoder_dropout), self.training)


def _check_words(mask: Tensor) -> None:
    if mask.ndim != 2 or mask.shape[1] < 1:
        raise InputError(f"question_mask has the shape {tuple(mask.shape)}, expected (batch, words), one word or more")
    early = (mask[:, 1:] & ~mask[:, :-1]).any(1)
    if early.any():
        raise InputError(
            f"question_mask: question {int(early.nonzero()[0])} of the batch has padding before a word; "
            "expected all padding after the words"
        )


HIE_CO_ATTENTION = Model(
    name="hiecoatt",
    title="HieCoAtt*",
    description="image and question attend to each other at the levels of words, phrases and the whole question; the "
    "result is scored with question and candidate answer by one hidden layer",
    source="Lu et al. 2016; Chao et al. 2018, section 6.1 and supplement, A.3",
    config_class=HieCoAttentionVqaConfig,
    model_class=HieCoAttentionForMultipleChoiceVqa,
    inputs=frozenset(("image_grid", *QUESTION_INPUTS)),
)
