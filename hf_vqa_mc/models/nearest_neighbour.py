"""Nearest neighbours: the answers of the most similar training questions (Antol et al. 2015, supplement)."""

import torch
from huggingface_hub.dataclasses import strict
from torch import Tensor, nn
from torch.nn import functional
from transformers.modeling_outputs import SequenceClassifierOutput

from hf_vqa_mc.models.answer_mlp import answer_output, needed
from hf_vqa_mc.models.model import FittedModel, Model, VqaConfig, stored

NEIGHBOURS = 4
"""Antol et al. 2015, supplement: tuned on test-dev."""
TIE = 1e-5
"""Similarities that differ by less are ties."""
ABSENT = -20.0
"""Logit of answers that no neighbour has."""


@strict
class NearestNeighbourVqaConfig(VqaConfig):  # type: ignore[no-untyped-call]
    """Inputs and sizes; the default number of neighbours is that of Antol et al. 2015 (supplement)."""

    model_type = "vqa_nearest_neighbour"

    sees_image: bool = False
    neighbours: int = NEIGHBOURS
    """training questions compared by their images; more if the last ones are equally similar"""
    bag_size: int = 1030
    """length of a question's bag of words"""
    image_size: int = 2048
    """dimensions of image features"""
    stored_bags: int = 0
    """number of distinct bags of the training questions"""
    stored_images: int = 0
    """number of distinct training images"""
    stored_questions: int = 0
    """number of training questions"""

    may_be_zero = ("bag_size", "stored_bags", "stored_images", "stored_questions")


class NearestNeighbourForOpenEndedVqa(FittedModel):
    """The training questions with the most similar bags of words, and of these the one with the most similar image.

    All questions that are as similar as the last of ``neighbours`` take part. Without images the most frequent of
    their answers is chosen. Similarity is the cosine; the paper's best question vectors were skip-thought's.
    """

    config_class = NearestNeighbourVqaConfig
    base_model_prefix = "nearest_neighbour"
    bags: nn.Parameter
    """uint8 (distinct bags, bag size)"""
    norms: nn.Parameter
    """(distinct bags,): inverse lengths of the bags"""
    bag_of: nn.Parameter
    """int64 (questions,), ascending"""
    answer_of: nn.Parameter
    """int64 (questions,)"""
    images: nn.Parameter
    """(distinct images, image size), L2-normalised"""
    image_of: nn.Parameter
    """int64 (questions,)"""

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
        """Score all answers of the vocabulary.

        Args:
            question_bags: (batch, bag_size).
            image_features: (batch, image_size), if the model sees the image.
            labels: see `answer_output`.

        Returns:
            ``logits`` (batch, answers): the logarithm of the number of neighbours with the answer, or the largest
            cosine of their images in [-1, 1]; `ABSENT` if no neighbour has it. With labels also ``loss``.

        Raises:
            InputError: the image is missing.
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


def _declared(name: str, title: str, description: str, *inputs: str) -> Model:
    return Model(
        name=name,
        title=title,
        description=description,
        source="Antol et al. 2015, section 5 and supplement",
        config_class=NearestNeighbourVqaConfig,
        model_class=NearestNeighbourForOpenEndedVqa,
        inputs=frozenset(("question_bags", *inputs)),
        preset={"sees_image": bool(inputs)},
        open_ended=True,
    )


NEAREST_QUESTION = _declared(
    "nearest-question", "Nearest questions", "the most frequent answer of the most similar training questions"
)
NEAREST_NEIGHBOUR = _declared(
    "nearest-neighbour",
    "Nearest neighbour",
    "the answer of the most similar image among the most similar training questions",
    "image_features",
)
