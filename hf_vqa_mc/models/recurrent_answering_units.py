"""Recurrent answering units (Noh and Han 2016, RAU): each step attends and answers; all steps are trained together."""

from typing import Literal

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.models.answer_mlp import answer_output, needed
from hf_vqa_mc.models.attention import AttendingModel, GuidedAttention
from hf_vqa_mc.models.model import Model, QuestionImageConfig
from hf_vqa_mc.models.question_texts import PADDING, packed
from hf_vqa_mc.recipe import Recipe


@strict
class AnsweringUnitsVqaConfig(QuestionImageConfig):  # type: ignore[no-untyped-call]
    """Sizes of RAU; the defaults are those of the code of Noh and Han 2016, where the paper does not report them.

    The paper stops the training of each unit, the last one first, when it starts to overfit; here all are trained for
    the whole run, and ``steps`` is chosen on validation. Attention depends on what the image shows and on the memory,
    not on the index of a cell as in the code, so that the number of cells may differ.
    """

    model_type = "vqa_answering_units"

    word_size: int = 200  #: dimensions of a word vector
    lstm_size: int = 512  #: of each of the two layers that read the question
    size: int = 512  #: dimensions of question, image and memory
    attention_size: int = 256  #: units of the attention
    steps: int = 8  #: answering units, which share their weights
    answers_by: Literal["first", "mean", "last"] = "first"
    """the units that answer: the first one, as in the paper; the mean of all units' scores; or the last one"""
    dropout: float | int = 0.5  #: of words, question, image and classifier


class AnsweringUnitsForOpenEndedVqa(AttendingModel):
    """Two-layer LSTM on the question -> steps of attention, memory (LSTM) and answer.

    Scores and attentions are those of the units that answer; the loss is the sum over all units.
    """

    config_class = AnsweringUnitsVqaConfig
    base_model_prefix = "answering_units"

    def __init__(self, config: AnsweringUnitsVqaConfig) -> None:
        super().__init__(config)
        size = config.size
        self.words = nn.Embedding(config.vocabulary_size, config.word_size, PADDING)
        self.lstm = nn.LSTM(config.word_size, config.lstm_size, 2, batch_first=True, dropout=config.dropout)
        self.question, self.from_memory = nn.Linear(4 * config.lstm_size, size), nn.Linear(size, size)
        self.image = nn.Linear(config.image_size, size)
        self.attention = GuidedAttention(size, size, config.attention_size)
        self.memory, self.remembered = nn.LSTMCell(size, size), nn.Linear(size, size)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(size, config.num_labels or 0)
        self.post_init()  # type: ignore[no-untyped-call]

    def _answer(
        self, question_indices: Tensor, cells: Tensor, mask: Tensor | None, labels: Tensor | None
    ) -> SequenceClassifierOutput:
        vectors = self.dropout(self.words(question_indices)).tanh()
        last, cell = self.lstm(packed(vectors, question_indices))[1]  # of both layers
        question = self.question(self.dropout(torch.cat([*cell, *last], -1)))
        cells = self.image(self.dropout(cells)).tanh()
        hidden = cell = cells.new_zeros(len(cells), self.config.size)
        scores, attentions = [], []
        for _ in range(1 if labels is None and self.config.answers_by == "first" else self.config.steps):
            guide = (question + self.from_memory(hidden)).tanh()
            seen, attention = self.attention(cells, guide, mask)
            joint = guide + seen
            hidden, cell = self.memory(joint, (hidden, cell))
            scores.append(self.classifier(self.dropout(joint + self.remembered(hidden))))
            attentions.append(attention)
        answering = {"first": slice(1), "last": slice(-1, None), "mean": slice(None)}[self.config.answers_by]
        output = answer_output(torch.stack(scores[answering]).mean(0), None, tuple(attentions[answering]))
        if labels is not None:
            losses = [needed(answer_output(one, labels).loss, "labels", self.config) for one in scores]
            output.loss = torch.stack(losses).sum()
        return output


RAU = Model(
    name="rau",
    title="RAU",
    description="recurrent units that each attend to the image and answer, trained by the sum of losses",
    source="Noh and Han 2016",
    config_class=AnsweringUnitsVqaConfig,
    model_class=AnsweringUnitsForOpenEndedVqa,
    inputs=frozenset(("question_indices", "image_grid", "image_regions")),
    recipe=Recipe("adam", 3e-3, 100, 10.0, clip_norm=0.1, gradient_noise=0.01),
    open_ended=True,
)
"""Clipping and noise are those of the code, which trains all but words and LSTM at a tenth of the rate, divides the
rate by 1.11 in each epoch, clips three groups of weights separately, and stops at 200 epochs; ours are 10."""
