"""Models that count: priors, random answers, and nearest neighbours; their weights are taken from the questions."""

from typing import cast

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.decoys.rng import purpose_hash
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models.answer_mlp import answer_output, needed
from hf_vqa_mc.models.model import FittedModel, Model, VqaConfig, answers_of, stored
from hf_vqa_mc.models.question_texts import OTHER_GROUP, PADDING

OF_ALL = 1e-3  # weight of the counts of all questions in those of a group: decides ties, and covers missing answers
NEVER = 1e-6  # smallest count, since the logarithm of 0 is not finite
NEIGHBOURS = 4  # Antol et al. 2015, supplement: tuned on test-dev
TIE = 1e-5  # similarities that differ by less are ties
ABSENT = -20.0  # logit of answers that no neighbour has


@strict
class AnswerPriorVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """A prior: what the questions are grouped by, or the answer, which the model's name decides."""

    model_type = "vqa_answer_prior"

    group: str | None = None  #: column such as question_type, or groups.local, a field of a record; None: no groups
    group_count: int = 0  #: number of groups
    answer: str | None = None  #: answer that is always given, whatever the training answers; None: the most frequent

    may_be_zero = ("group_count",)


class AnswerPriorForOpenEndedVqa(FittedModel):
    """The frequencies of the training answers in the question's group; of all questions if its group is unknown."""

    config_class = AnswerPriorVqaConfig
    base_model_prefix = "answer_prior"
    counts: nn.Parameter  # (1 + groups, answers): of all training questions, then of each group

    def __init__(self, config: AnswerPriorVqaConfig) -> None:
        super().__init__(config)
        self.counts = stored(torch.zeros(1 + config.group_count, config.num_labels or 0))
        self.post_init()  # type: ignore[no-untyped-call]

    def fit(self, labels: Tensor, **inputs: Tensor) -> None:
        """Count the answers; arguments are those of ``forward``."""
        if self.config.answer is not None:
            answers = answers_of(self)
            if self.config.answer not in answers:
                raise InputError(f"no training answer is {self.config.answer!r}, which this baseline always gives")
            labels = torch.full_like(labels, answers.index(self.config.answer))
        groups, ones = self._groups(inputs["question_groups"]), torch.ones(len(labels))
        counts = torch.zeros_like(self.counts).index_put_((groups, labels), ones, accumulate=True)
        counts[OTHER_GROUP] = counts.sum(0)
        self.counts = stored(counts)

    def forward(self, question_groups: Tensor, labels: Tensor | None = None) -> SequenceClassifierOutput:
        """Logits (batch, answers): logarithms of counts; with labels also ``loss``, see `answer_output`.

        ``question_groups`` are int64 (batch,): 0 for a question of an unknown group, else 1 + index of the group.
        """
        counts = self.counts[self._groups(question_groups)] + OF_ALL * self.counts[OTHER_GROUP]
        return answer_output(counts.clamp(min=NEVER).log(), labels)

    def _groups(self, given: Tensor) -> Tensor:
        return torch.full_like(given, OTHER_GROUP) if self.config.group is None else given


@strict
class RandomAnswerVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """Random answers."""

    model_type = "vqa_random_answer"

    seed: int = 0  #: random seed
    vocabulary_size: int = 10000  #: number of word indices


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
        """Logits (batch, answers) in [0, 1); with labels also ``loss``, see `answer_output`.

        ``question_indices`` are int64 (batch, words), right-padded with 0.
        """
        answers = len(self.answers)
        logits = []
        for indices in question_indices.tolist():
            words = [index for index in indices if index != PADDING]
            seed = int(purpose_hash(self.config.seed, f"answer to {words}")) >> 1
            logits.append(torch.rand(answers, generator=torch.Generator().manual_seed(seed)))
        return answer_output(torch.stack(logits).to(self.answers.device), labels)


@strict
class NearestNeighbourVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """Inputs and sizes; the default number of neighbours is that of Antol et al. 2015 (supplement)."""

    model_type = "vqa_nearest_neighbour"

    sees_image: bool = False
    neighbours: int = NEIGHBOURS  #: training questions compared by their images; more if the last are tied
    bag_size: int = 1030  #: length of a question's bag of words
    image_size: int = 2048  #: dimensions of image features
    stored_bags: int = 0  #: number of distinct bags of the training questions
    stored_images: int = 0  #: number of distinct training images
    stored_questions: int = 0  #: number of training questions

    may_be_zero = ("bag_size", "stored_bags", "stored_images", "stored_questions")


class NearestNeighbourForOpenEndedVqa(FittedModel):
    """The training questions with the most similar bags of words, and of these the one with the most similar image.

    All questions that are as similar as the last of ``neighbours`` take part. Without images the most frequent of
    their answers is chosen. Similarity is the cosine; the paper's best question vectors were skip-thought's.
    """

    config_class = NearestNeighbourVqaConfig
    base_model_prefix = "nearest_neighbour"
    bags: nn.Parameter  # uint8 (distinct bags, bag size)
    norms: nn.Parameter  # (distinct bags,): inverse lengths of the bags
    bag_of: nn.Parameter  # int64 (questions,), ascending
    answer_of: nn.Parameter  # int64 (questions,)
    images: nn.Parameter  # (distinct images, image size), L2-normalised
    image_of: nn.Parameter  # int64 (questions,)

    def __init__(self, config: NearestNeighbourVqaConfig) -> None:
        super().__init__(config)
        self.bags = stored(torch.zeros(config.stored_bags, config.bag_size, dtype=torch.uint8))
        self.norms = stored(torch.zeros(config.stored_bags))
        names = ["bag_of", "answer_of"]
        if config.sees_image:
            self.images = stored(torch.zeros(config.stored_images, config.image_size))
            names.append("image_of")
        for name in names:
            setattr(self, name, stored(torch.zeros(config.stored_questions, dtype=torch.int64)))
        self.post_init()  # type: ignore[no-untyped-call]

    def fit(self, labels: Tensor, **inputs: Tensor) -> None:
        """Store the training questions; arguments are those of ``forward``."""
        bags = inputs["question_bags"].clamp(max=255).to(torch.uint8)
        bags, bag_of = torch.unique(bags, dim=0, return_inverse=True)
        order = bag_of.argsort(stable=True)
        self.norms = stored(1 / bags.float().norm(dim=-1).clamp(min=1))
        self.bags, self.bag_of, self.answer_of = stored(bags), stored(bag_of[order]), stored(labels[order])
        if self.config.sees_image:
            images, image_of = torch.unique(inputs["image_features"][order], dim=0, return_inverse=True)
            self.images, self.image_of = stored(functional.normalize(images, dim=-1)), stored(image_of)
            self.config.stored_images = len(images)
        self.config.stored_bags, self.config.stored_questions = len(self.bags), len(labels)

    def forward(
        self, question_bags: Tensor, image_features: Tensor | None = None, labels: Tensor | None = None
    ) -> SequenceClassifierOutput:
        """Logits (batch, answers); with labels also ``loss``, see `answer_output`.

        A logit is the logarithm of the number of neighbours with the answer, or the largest cosine of their images in
        [-1, 1]; `ABSENT` if no neighbour has it. ``question_bags`` are (batch, bag_size), ``image_features`` (batch,
        image_size) if the model sees the image.
        """
        rows, questions = self._neighbours(question_bags)
        answers = self.answer_of[questions]
        shape = len(question_bags), self.config.num_labels or 0
        if not self.config.sees_image:
            votes = torch.zeros(shape, device=question_bags.device)
            votes.index_put_((rows, answers), torch.ones(len(rows), device=votes.device), accumulate=True)
            return answer_output(votes.log().clamp(min=ABSENT).to(question_bags.dtype), labels)
        image = functional.normalize(needed(image_features, "image_features", self.config), dim=-1)
        similar = (image @ self.images.T)[rows, self.image_of[questions]]
        logits = torch.full(shape, ABSENT, device=image.device, dtype=image.dtype)
        flat = logits.view(-1).scatter_reduce(0, rows * shape[1] + answers, similar, "amax")
        return answer_output(flat.view(shape), labels)

    def _neighbours(self, question_bags: Tensor) -> tuple[Tensor, Tensor]:
        """Pairs of an index in the batch and the index of a training question."""
        ours = functional.normalize(question_bags.float(), dim=-1)
        similar = ours @ self.bags.float().T * self.norms
        of_bag = self.bag_of.bincount(minlength=len(self.bags))
        best, at = similar.topk(min(self.config.neighbours, len(self.bags)))
        enough = of_bag[at].cumsum(1) >= self.config.neighbours  # as many training questions are at least as similar
        last = torch.where(enough.any(1), enough.int().argmax(1), best.shape[1] - 1)
        rows, bags = (similar >= best.gather(1, last[:, None]) - TIE).nonzero(as_tuple=True)
        sizes = of_bag[bags]
        first = (of_bag.cumsum(0) - of_bag)[bags]  # of the questions with this bag
        numbers = torch.arange(int(sizes.sum()), device=rows.device)
        within = numbers - (sizes.cumsum(0) - sizes).repeat_interleave(sizes)
        return rows.repeat_interleave(sizes), first.repeat_interleave(sizes) + within


def _declared(
    name: str, title: str, description: str, source: str, kind: type[FittedModel], *inputs: str, **preset: object
) -> Model:
    config = cast("type[VqaConfig]", kind.config_class)
    return Model(name, title, description, source, config, kind, frozenset(inputs), preset, open_ended=True)


def _popular(name: str, title: str, description: str, source: str, group: str | None) -> Model:
    kind, description = AnswerPriorForOpenEndedVqa, f"the most popular answer of {description}"
    return _declared(name, title, description, source, kind, "question_groups", group=group, answer=None)


POPULAR_ANSWER = _popular(
    "popular-answer",
    "Most popular answer",
    "all questions",
    'Antol et al. 2015, section 5 ("yes"); Prior of Goyal et al. 2017',
    None,
)
ALWAYS_YES = _declared(
    "always-yes",
    "Yes",
    "the answer yes to every question",
    "YES of Kafle and Kanan 2017",
    AnswerPriorForOpenEndedVqa,
    "question_groups",
    group=None,
    answer="yes",
)
POPULAR_PER_TYPE = _popular(
    "popular-per-type",
    "Most popular answer per question type",
    "the question's type",
    "Antol et al. 2015, section 5; REP of Kafle and Kanan 2017",
    "question_type",
)
_GQA = "Hudson and Manning 2019, section 4.2"
GLOBAL_PRIOR = _popular("global-prior", "Global prior", "the question's global group", _GQA, "groups.global")
LOCAL_PRIOR = _popular("local-prior", "Local prior", "the question's local group", _GQA, "groups.local")
RANDOM_ANSWER = _declared(
    "random-answer",
    "Random answer",
    "a random answer of the vocabulary",
    "Antol et al. 2015, section 5",
    RandomAnswerForOpenEndedVqa,
    "question_indices",
)
_ANTOL = "Antol et al. 2015, section 5 and supplement"
NEAREST_QUESTION = _declared(
    "nearest-question",
    "Nearest questions",
    "the most frequent answer of the most similar training questions",
    _ANTOL,
    NearestNeighbourForOpenEndedVqa,
    "question_bags",
    sees_image=False,
)
NEAREST_NEIGHBOUR = _declared(
    "nearest-neighbour",
    "Nearest neighbour",
    "the answer of the most similar image among the most similar training questions",
    _ANTOL,
    NearestNeighbourForOpenEndedVqa,
    "question_bags",
    "image_features",
    sees_image=True,
)
