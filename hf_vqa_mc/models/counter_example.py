"""The counter-example model of Goyal et al. 2017: answers, and explains by similar images with other answers."""

from dataclasses import dataclass

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.answer_mlp import answer_output
from hf_vqa_mc.models.model import Model, QuestionImageConfig, VqaModel
from hf_vqa_mc.models.question_lstm import question_states
from hf_vqa_mc.models.question_texts import PADDING
from hf_vqa_mc.recipe import ANTOL

NO_PICK = -1  # index of the picked candidate where it is not known


@strict
class CounterExampleVqaConfig(QuestionImageConfig):  # type: ignore[no-untyped-call]
    """Sizes of the counter-example model of Goyal et al. 2017 (section 5).

    The shared part is "similar to" deeper LSTM Q + norm I, whose sizes are the defaults. The size of the common space,
    the margin and the weight of the ranking losses are not in the text at hand; these are ours.
    """

    model_type = "vqa_counter_example"

    candidates: int = 24  #: candidate images per question, the most similar first
    word_size: int = 200  #: dimensions of a learned word vector
    lstm_size: int = 512  #: units of each layer of the LSTM
    lstm_layers: int = 2  #: layers of the LSTM
    joint_size: int = 1024  #: dimensions of the joint embedding of question and image
    common_size: int = 300  #: dimensions of the space common to joint embeddings and answers; ours
    margin: float | int = 1.0  #: by which the picked candidate's score should exceed those of the others; ours
    ranking_weight: float | int = 0.1  #: weight of the ranking losses (lambda), next to the cross-entropy; ours
    dropout: float | int = 0.5  #: of the question, before and after its projection, and of projected images

    may_be_zero = ("margin", "ranking_weight")


@dataclass
class CounterExampleOutput(SequenceClassifierOutput):
    """Scores of the answers, and of candidate images as counter-examples."""

    candidate_scores: Tensor | None = None  # (batch, candidates): higher is a better counter-example
    candidate_same: Tensor | None = None  # (batch, candidates): probability of the explained answer


class CounterExampleForOpenEndedVqa(VqaModel):
    """LSTM of the question times the image -> answers; the same for candidate images, and the answer -> ranking."""

    config_class = CounterExampleVqaConfig
    base_model_prefix = "counter_example"

    def __init__(self, config: CounterExampleVqaConfig) -> None:
        super().__init__(config)
        answers, states = config.num_labels or 0, 2 * config.lstm_size * config.lstm_layers
        self.words = nn.Embedding(config.vocabulary_size, config.word_size, PADDING)
        self.lstm = nn.LSTM(config.word_size, config.lstm_size, config.lstm_layers, batch_first=True)
        self.question, self.image = (nn.Linear(size, config.joint_size) for size in (states, config.image_size))
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.joint_size, answers)
        self.common = nn.Linear(config.joint_size, config.common_size)
        # a linear layer on the answer's one-hot vector
        self.answer = nn.Embedding(max(answers, 1), config.common_size)
        self.ranking = nn.Linear(config.candidates, config.candidates)
        self.post_init()  # type: ignore[no-untyped-call]

    def forward(
        self,
        question_indices: Tensor,
        image_features: Tensor,
        candidate_features: Tensor | None = None,
        labels: Tensor | None = None,
        picked: Tensor | None = None,
    ) -> CounterExampleOutput:
        """Score all answers of the vocabulary, and the candidate images as counter-examples to an answer.

        With labels, see `answer_output`, their answer is explained, else the predicted one. ``candidate_features`` are
        (batch, candidates, image_size), the most similar image first; ``picked`` is int64 (batch,): index of the
        candidate that people picked, or `NO_PICK`, for the loss of the answer plus ``ranking_weight`` times
        `ranking_loss`.
        """
        states = question_states(self.lstm, self.words, question_indices)
        question = self.dropout(self.question(self.dropout(states)).tanh())
        joint = question * self._seen(image_features)
        logits = self.classifier(joint)
        output = CounterExampleOutput(loss=answer_output(logits, labels).loss, logits=logits)
        if candidate_features is None:
            return output
        if candidate_features.shape[1] != self.config.candidates:
            raise InputError(
                f"candidate_features has {candidate_features.shape[1]} candidates, expected {self.config.candidates}"
            )
        explained = logits if labels is None else labels
        explained = explained.argmax(1) if explained.is_floating_point() else explained  # indices of answers
        joints = question[:, None] * self._seen(candidate_features)
        products = (self.common(joints) * self.answer(explained)[:, None]).sum(-1)
        output.candidate_scores = self.ranking(products)
        with torch.no_grad():
            same = self.classifier(joints).softmax(-1)
            output.candidate_same = same.gather(2, explained[:, None, None].expand(-1, same.shape[1], 1))[..., 0]
        if output.loss is not None and picked is not None:
            ranking = ranking_loss(output.candidate_scores, picked, self.config.margin)
            output.loss = output.loss + self.config.ranking_weight * ranking
        return output

    def _seen(self, images: Tensor) -> Tensor:
        seen: Tensor = self.dropout(self.image(functional.normalize(images, dim=-1)).tanh())
        return seen


def ranking_loss(scores: Tensor, picked: Tensor, margin: float) -> Tensor:
    """The sum of max(0, margin - (score of the picked candidate - score of another)) over the others, averaged.

    ``scores`` are (batch, candidates), ``picked`` int64 (batch,): an index, or `NO_PICK` for a loss of 0.
    """
    best = scores.gather(1, picked.clamp(min=0)[:, None])
    losses = (margin - best + scores).clamp(min=0).sum(1) - margin  # the picked one's own is the margin
    return torch.where(picked == NO_PICK, 0, losses).mean()


COUNTER_EXAMPLE = Model(
    name="counter-example",
    title="counter-example model",
    description="answers from an LSTM on the question times the image, and ranks similar images as counter-examples",
    source="Goyal et al. 2017, section 5",
    config_class=CounterExampleVqaConfig,
    model_class=CounterExampleForOpenEndedVqa,
    inputs=frozenset(("question_indices", "image_features")),
    recipe=ANTOL,
    open_ended=True,
)
"""Trained as deeper LSTM Q + norm I; the text at hand has no recipe."""
