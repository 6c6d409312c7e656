"""Bottom-Up (Anderson et al. 2018; Teney et al. 2018): top-down attention over the regions or cells of an image."""

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.models.answer_mlp import answer_output
from hf_vqa_mc.models.attention import AttendingModel, average
from hf_vqa_mc.models.model import Model, QuestionImageConfig
from hf_vqa_mc.models.question_texts import PADDING, packed
from hf_vqa_mc.recipe import Recipe


@strict
class BottomUpVqaConfig(QuestionImageConfig):  # type: ignore[no-untyped-call]
    """Sizes of Bottom-Up; the defaults are those of a published reimplementation (hengyuan-hu), as are both dropouts.

    As there, attention is by a product of image and question, which Teney et al. 2018 concatenate (section 3), and the
    answers' weights start at random, not from word vectors and images of the answers.
    """

    model_type = "vqa_bottom_up"

    word_size: int = 300  #: dimensions of a word vector; the paper's start as GloVe's (``--word-vectors``)
    size: int = 1024  #: dimensions of the question and of the joint representation
    attention_dropout: float | int = 0.2  #: of the attention's hidden units
    dropout: float | int = 0.5  #: of the classifier


class BottomUpForOpenEndedVqa(AttendingModel):
    """GRU on the question -> attention over L2-normalised cells -> product of both sides -> classifier."""

    config_class = BottomUpVqaConfig
    base_model_prefix = "bottom_up"

    def __init__(self, config: BottomUpVqaConfig) -> None:
        super().__init__(config)
        size = config.size
        self.words = nn.Embedding(config.vocabulary_size, config.word_size, PADDING)
        self.gru = nn.GRU(config.word_size, size, batch_first=True)
        self.attended_image, self.attending_question = _Gated(config.image_size, size), _Gated(size, size)
        self.score = weight_norm(nn.Linear(size, 1))
        self.attention_dropout = nn.Dropout(config.attention_dropout)
        self.image, self.question = _Gated(config.image_size, size), _Gated(size, size)
        self.hidden = _Gated(size, 2 * size)
        self.dropout = nn.Dropout(config.dropout)
        self.answers = weight_norm(nn.Linear(2 * size, config.num_labels or 0))
        self.post_init()  # type: ignore[no-untyped-call]

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.GRU | nn.Embedding):
            module.reset_parameters()

    def _answer(
        self, question_indices: Tensor, cells: Tensor, mask: Tensor | None, labels: Tensor | None
    ) -> SequenceClassifierOutput:
        cells = functional.normalize(cells, dim=-1)
        question = self.gru(packed(self.words(question_indices), question_indices))[1][0]
        both = self.attended_image(cells) * self.attending_question(question)[:, None]
        image, attention = average(cells, self.score(self.attention_dropout(both)).squeeze(-1), mask)
        joint = self.image(image) * self.question(question)
        return answer_output(self.answers(self.dropout(self.hidden(joint))), labels, (attention,))


class _Gated(nn.Module):
    """Gated tanh, tanh(W x + b) times sigmoid(W' x + b'), with weight normalisation (Teney et al. 2018, 3.7)."""

    def __init__(self, size: int, output_size: int) -> None:
        super().__init__()
        self.value, self.gate = (weight_norm(nn.Linear(size, output_size)) for _ in range(2))

    def forward(self, given: Tensor) -> Tensor:
        """(..., output_size)."""
        found: Tensor = torch.tanh(self.value(given)) * self.gate(given).sigmoid()
        return found


BOTTOM_UP = Model(
    name="bottom-up",
    title="Bottom-Up",
    description="attention of the question over regions or cells of the image",
    source="Anderson et al. 2018; Teney et al. 2018",
    config_class=BottomUpVqaConfig,
    model_class=BottomUpForOpenEndedVqa,
    inputs=frozenset(("question_indices", "image_grid", "image_regions")),
    recipe=Recipe("adamax", 2e-3, 512, 13.0, clip_norm=0.25),
    open_ended=True,
)
"""Adamax, rate, clipping and batch size are those of the reimplementation (the paper uses Adadelta), which trains 30
epochs and keeps the best; the number of epochs here is ours. The paper's soft targets are ``--targets soft``."""
