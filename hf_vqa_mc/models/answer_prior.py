"""Priors: the most popular answer, of all questions or of each group of questions, and random answers."""

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.models.answer_mlp import answer_output
from hf_vqa_mc.models.model import FittedModel, Model, VqaConfig, stored
from hf_vqa_mc.models.open_ended_texts import OTHER_GROUP
from hf_vqa_mc.models.question_words import PADDING

OF_ALL = 1e-3
"""Weight of the counts of all questions in those of a group: decides ties, and covers answers that a group lacks."""
NEVER = 1e-6
"""Smallest count, since the logarithm of 0 is not finite."""


@strict
class AnswerPriorVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """A prior: what the questions are grouped by, which the model's name decides."""

    model_type = "vqa_answer_prior"

    group: str | None = None
    """column of the dataset, such as question_type, or groups.local for a field of a record; None: no groups"""
    group_count: int = 0
    """number of groups"""

    may_be_zero = ("group_count",)


class AnswerPriorForOpenEndedVqa(FittedModel):
    """The frequencies of the training answers in the question's group; of all questions if its group is unknown."""

    config_class = AnswerPriorVqaConfig
    base_model_prefix = "answer_prior"
    counts: nn.Parameter
    """(1 + groups, answers): of all training questions, then of each group"""

    def __init__(self, config: AnswerPriorVqaConfig) -> None:
        super().__init__(config)
        self.counts = stored(torch.zeros(1 + config.group_count, config.num_labels or 0))
        self.post_init()  # type: ignore[no-untyped-call]

    def fit(self, labels: Tensor, **inputs: Tensor) -> None:
        """Count the answers; arguments are those of ``forward``."""
        groups, ones = self._groups(inputs["question_groups"]), torch.ones(len(labels))
        counts = torch.zeros_like(self.counts).index_put_((groups, labels), ones, accumulate=True)
        counts[OTHER_GROUP] = counts.sum(0)
        self.counts = stored(counts)

    def forward(self, question_groups: Tensor, labels: Tensor | None = None) -> SequenceClassifierOutput:
        """Score all answers of the vocabulary.

        Args:
            question_groups: int64 (batch,): 0 for a question of an unknown group, else 1 + index of the group.
            labels: see `answer_output`.

        Returns:
            ``logits`` (batch, answers), logarithms of counts; with labels also ``loss``.
        """
        counts = self.counts[self._groups(question_groups)] + OF_ALL * self.counts[OTHER_GROUP]
        return answer_output(counts.clamp(min=NEVER).log(), labels)

    def _groups(self, given: Tensor) -> Tensor:
        return torch.full_like(given, OTHER_GROUP) if self.config.group is None else given


@strict
class RandomAnswerVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """Random answers."""

    model_type = "vqa_random_answer"

    seed: int = 0
    """random seed"""
    vocabulary_size: int = 10000
    """number of word indices"""


class RandomAnswerForOpenEndedVqa(FittedModel):
    """Random scores that depend on the seed and the question's words, the same for equal questions."""

    config_class = RandomAnswerVqaConfig
    base_model_prefix = "random_answer"

    def __init__(self, config: RandomAnswerVqaConfig) -> None:
        super().__init__(config)
        self.answers = stored(torch.zeros(config.num_labels or 0))
        self.post_init()  # type: ignore[no-untyped-call]

    def fit(self, labels: Tensor, **inputs: Tensor) -> None:
        """There is nothing to fit."""

    def forward(self, question_indices: Tensor, labels: Tensor | None = None) -> SequenceClassifierOutput:
        """Score all answers of the vocabulary.

        Args:
            question_indices: int64 (batch, words), right-padded with 0.
            labels: see `answer_output`.

        Returns:
            ``logits`` (batch, answers), in [0, 1); with labels also ``loss``.
        """
        answers = len(self.answers)
        logits = []
        for indices in question_indices.tolist():
            words = [index for index in indices if index != PADDING]
            seed = int(purpose_hash(self.config.seed, f"answer to {words}")) >> 1
            logits.append(torch.rand(answers, generator=torch.Generator().manual_seed(seed)))
        return answer_output(torch.stack(logits).to(self.answers.device), labels)


def _popular(name: str, title: str, description: str, source: str, group: str | None) -> Model:
    return Model(
        name=name,
        title=title,
        description=description,
        source=source,
        config_class=AnswerPriorVqaConfig,
        model_class=AnswerPriorForOpenEndedVqa,
        inputs=frozenset(("question_groups",)),
        preset={"group": group},
        open_ended=True,
    )


POPULAR_ANSWER = _popular(
    "popular-answer",
    "Most popular answer",
    "the most popular answer of all questions",
    'Antol et al. 2015, section 5 ("yes"); YES of Kafle and Kanan 2017; Prior of Goyal et al. 2017',
    None,
)
POPULAR_PER_TYPE = _popular(
    "popular-per-type",
    "Most popular answer per question type",
    "the most popular answer of the question's type",
    "Antol et al. 2015, section 5; REP of Kafle and Kanan 2017",
    "question_type",
)
GLOBAL_PRIOR = _popular(
    "global-prior",
    "Global prior",
    "the most popular answer of the question's global group",
    "Hudson and Manning 2019, section 4.2",
    "groups.global",
)
LOCAL_PRIOR = _popular(
    "local-prior",
    "Local prior",
    "the most popular answer of the question's local group",
    "Hudson and Manning 2019, section 4.2",
    "groups.local",
)
RANDOM_ANSWER = Model(
    name="random-answer",
    title="Random answer",
    description="a random answer of the vocabulary",
    source="Antol et al. 2015, section 5",
    config_class=RandomAnswerVqaConfig,
    model_class=RandomAnswerForOpenEndedVqa,
    inputs=frozenset(("question_indices",)),
    open_ended=True,
)
