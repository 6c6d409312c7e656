"""Hierarchical co-attention of Lu et al. 2016: image and question attend to each other at three levels.

HieCoAtt answers from a vocabulary, as in Goyal et al. 2017; HieCoAtt* of Chao et al. 2018 (A.3) scores choices with an
MLP instead of a classifier. Layer order, sizes and dropout are those of Lu et al.'s code (2016, HieCoAttenVQA).
"""

from typing import Literal

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers import PreTrainedConfig
from transformers.modeling_outputs import MultipleChoiceModelOutput, SequenceClassifierOutput

from hf_vqa_mc.models.answer_mlp import answer_output
from hf_vqa_mc.models.attention import AttendingModel, GuidedAttention, average, check_grid
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig
from hf_vqa_mc.models.model import Model, VqaConfig, VqaModel
from hf_vqa_mc.models.question_texts import PADDING
from hf_vqa_mc.recipe import Recipe

NGRAMS = (1, 2, 3)  # kernel sizes of the phrase level's convolutions
LEVELS = ("word", "phrase", "question")


@strict
class LevelsConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """Sizes of co-attention; the defaults are those of Lu et al. 2016 (section 4.2) and its code."""

    image_size: int = 2048  #: dimensions of an image cell
    co_attention: Literal["alternating", "parallel"] = "alternating"  #: alternating (Lu et al.'s code) or parallel
    level_size: int = 512  #: dimensions of words, phrases and cells, of the attentions and of the LSTM
    lstm_layers: int = 2  #: layers of the question level (Lu et al.'s code)
    joint_size: int = 1024  #: dimensions of the joint representation h_s (Lu et al. on VQA; 512 on COCO-QA)
    encoder_dropout: float | int = 0.5  #: of all layers before h_s, and of h_s if a classifier follows


@strict
class CoAttentionVqaConfig(LevelsConfig):  # type: ignore[no-untyped-call]
    """Sizes of HieCoAtt; the defaults are those of Lu et al. 2016 (section 4.2) and its code."""

    model_type = "vqa_hie_co_attention"

    vocabulary_size: int = 10000  #: number of word indices


@strict
class HieCoAttentionVqaConfig(LevelsConfig):  # type: ignore[no-untyped-call]
    """The sizes of HieCoAtt*; those of its MLP are Chao et al.'s (section 5.2; supplement, A.1)."""

    model_type = "vqa_mc_hie_co_attention"

    text_size: int = 300  #: dimensions of a word vector
    hidden_size: int = 8192  #: units of the hidden layer of the MLP
    dropout: float | int = 0.5  #: dropout of the MLP


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
        self.dropout = nn.Dropout(dropout)

    def forward(
        self, words: Tensor, cells: Tensor, mask: Tensor, cell_mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """As `AlternatingCoAttention.forward`."""
        affinity = torch.tanh(words @ self.affinity(cells).transpose(1, 2))  # (batch, words, cells), 0 in padding
        if cell_mask is not None:
            affinity = affinity * cell_mask[:, None]
        of_image, of_question = self.image(cells), self.question(words)
        image_hidden = torch.tanh(of_image + affinity.transpose(1, 2) @ of_question)
        image, attention = average(cells, self.image_score(self.dropout(image_hidden)).squeeze(-1), cell_mask)
        question_hidden = torch.tanh(of_question + affinity @ of_image)
        question, _ = average(words, self.question_score(self.dropout(question_hidden)).squeeze(-1), mask)
        return question, image, attention


CO_ATTENTIONS = {"alternating": AlternatingCoAttention, "parallel": ParallelCoAttention}


class CoAttentionModel(VqaModel):  # type: ignore[no-untyped-call]
    """Co-attention at the levels of words, phrases and question, without words and classifier."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)
        size, dropout, layers = config.level_size, float(config.encoder_dropout), config.lstm_layers
        self.cells = nn.Linear(config.image_size, size)
        self.phrases = nn.ModuleList(nn.Conv1d(size, size, length, padding=length // 2) for length in NGRAMS)
        self.question = nn.LSTM(size, size, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
        self.attentions = nn.ModuleDict({level: CO_ATTENTIONS[config.co_attention](size, dropout) for level in LEVELS})
        shapes = ((size, size), (2 * size, size), (2 * size, config.joint_size))
        self.joined = nn.ModuleDict({level: nn.Linear(*shape) for level, shape in zip(LEVELS, shapes, strict=True)})

    def joint(
        self, image_grid: Tensor, words: Tensor, mask: Tensor, cell_mask: Tensor | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """h_s (batch, joint_size), and the attention over the image at each level, (batch, cells) each.

        ``words`` are (batch, words, level_size), before the activation; the masks are bool (batch, words), right
        padded, and (batch, cells); by default all cells are valid.
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


class CoAttentionForOpenEndedVqa(CoAttentionModel, AttendingModel):
    """Co-attention at the levels of words, phrases and question, then a linear classifier of answers."""

    config_class = CoAttentionVqaConfig
    base_model_prefix = "co_attention"

    def __init__(self, config: CoAttentionVqaConfig) -> None:
        super().__init__(config)
        self.words = nn.Embedding(config.vocabulary_size, config.level_size, PADDING)
        self.classifier = nn.Linear(config.joint_size, config.num_labels or 0)
        self.post_init()  # type: ignore[no-untyped-call]

    def _answer(
        self, question_indices: Tensor, cells: Tensor, mask: Tensor | None, labels: Tensor | None
    ) -> SequenceClassifierOutput:
        words = self.words(question_indices)
        joint, attentions = self.joint(cells, words, question_indices != PADDING, mask)
        return answer_output(self.classifier(self._dropped(joint)), labels, attentions)


class HieCoAttentionForMultipleChoiceVqa(CoAttentionModel):
    """Co-attention at the levels of words, phrases and question; the joint representation is the MLP's image input."""

    config_class = HieCoAttentionVqaConfig
    base_model_prefix = "hie_co_attention"

    def __init__(self, config: HieCoAttentionVqaConfig) -> None:
        super().__init__(config)
        self.words = nn.Linear(config.text_size, config.level_size)
        sizes = {name: getattr(config, name) for name in ("text_size", "hidden_size", "dropout")}
        self.mlp = MlpForMultipleChoiceVqa(MlpVqaConfig(image_size=config.joint_size, **sizes))
        self.post_init()  # type: ignore[no-untyped-call]

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
        """As `MlpForMultipleChoiceVqa.forward`, with image_grid (batch, cells, image_size) and words.

        ``question_tokens`` are (batch, words, text_size): word vectors in order; ``question_mask`` is bool (batch,
        words), right padded. Returns also ``attentions``: over the image at each level, (batch, cells).
        """
        check_grid(image_grid, self.config.image_size)
        tokens = question_tokens.masked_fill(~question_mask.unsqueeze(-1), 0.0)
        joint, attentions = self.joint(image_grid, self.words(tokens), question_mask)
        output: MultipleChoiceModelOutput = self.mlp(
            choice_vectors, joint, question_vectors, choice_mask, labels, choice_indices
        )
        output.attentions = attentions
        return output


HIE_CO_ATTENTION_ANSWERS = Model(
    name="hiecoatt-answers",
    title="HieCoAtt",
    description="image and question attend to each other at the levels of words, phrases and the whole question",
    source="Lu et al. 2016",
    config_class=CoAttentionVqaConfig,
    model_class=CoAttentionForOpenEndedVqa,
    inputs=frozenset(("question_indices", "image_grid", "image_regions")),
    recipe=Recipe("rmsprop", 4e-4, 300, 15.0),
    open_ended=True,
)
"""Optimizer, rate and batch size are the paper's (section 4.2), which trains up to 256 epochs and stops early; the
number of epochs is ours."""
HIE_CO_ATTENTION = Model(
    name="hiecoatt",
    title="HieCoAtt*",
    description="image and question attend to each other at the levels of words, phrases and the whole question; the "
    "result is scored with question and candidate answer by one hidden layer",
    source="Lu et al. 2016; Chao et al. 2018, section 5.2 and supplement, A.3",
    config_class=HieCoAttentionVqaConfig,
    model_class=HieCoAttentionForMultipleChoiceVqa,
    inputs=frozenset(("image_grid", "question_vectors", "question_tokens")),
)
