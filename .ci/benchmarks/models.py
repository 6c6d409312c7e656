"""How fast the MLP trains and scores beside its plain formulation: `python .ci/benchmarks/models.py`.

MLP-IQA in the paper's size on made-up vectors; the plain one concatenates each candidate's inputs, as the paper says.
Both take turns, the medians of several turns count.
"""

import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from hf_vqa_mc.models.candidate_scores import Table, candidate_scores
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig

T = TypeVar("T")
Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

BATCH, CHOICES = 100, 4
DIFFERENT = 140  # of a batch's 400 answers
ASKED, OFFERED, ANSWERS = 4_000, 7, 2_000
QUESTIONS_AN_IMAGE = 14  # as Visual Genome has in the mean
STEPS, RUNS = 12, 3


class Plain(nn.Module):
    """The same model with every candidate's inputs side by side."""

    def __init__(self, model: MlpForMultipleChoiceVqa) -> None:
        super().__init__()
        parts = model.parts()
        self.first = nn.Linear(sum(part.in_features for part in parts.values()), model.config.hidden_size)
        with torch.no_grad():
            self.first.weight.copy_(torch.cat([part.weight for part in parts.values()], 1))
            self.first.bias.copy_(parts["answer"].bias)
        self.norm, self.output, self.dropout = model.head.norm, model.head.output, model.config.dropout

    def forward(self, image: Tensor, question: Tensor, choices: Tensor) -> Tensor:
        """Logits (batch, choices)."""
        each = choices.shape[1]
        inputs = [image.repeat_interleave(each, 0), question.repeat_interleave(each, 0), choices.flatten(0, 1)]
        hidden = self.first(torch.cat([functional.normalize(one, dim=-1) for one in inputs], 1))
        hidden = functional.dropout(functional.relu(self.norm(hidden)), self.dropout, self.training)
        return self.output(hidden).view(choices.shape[:2])


def rows() -> list[Row]:
    """The figures."""
    torch.manual_seed(0)
    return [*training_rows(), *scoring_rows(QUESTIONS_AN_IMAGE, ">= 20 x"), *scoring_rows(1, "")]


def training_rows() -> list[Row]:
    """A step of SGD with momentum, of 100 triplets with 4 candidates each; also where candidates share answers."""
    model = MlpForMultipleChoiceVqa(MlpVqaConfig()).train()
    plain = Plain(MlpForMultipleChoiceVqa(MlpVqaConfig())).train()
    image, question, choices = torch.randn(BATCH, 2048), torch.randn(BATCH, 300), torch.randn(BATCH, CHOICES, 300)
    labels = torch.randint(CHOICES, (BATCH,))
    right = functional.one_hot(labels, CHOICES).float()
    different, places = choices.flatten(0, 1)[:DIFFERENT], torch.randint(DIFFERENT, (BATCH, CHOICES))
    losses: dict[str, Callable[[], Tensor]] = {
        "ours": lambda: model(choices, image, question, labels=labels).loss,
        "plain": lambda: functional.binary_cross_entropy_with_logits(plain(image, question, choices), right),
        "shared": lambda: model(different, image, question, labels=labels, choice_indices=places).loss,
    }
    optimizer, of_plain = (
        torch.optim.SGD(one.parameters(), lr=0.01, momentum=0.9, fused=True) for one in (model, plain)
    )
    optimizers = {"ours": optimizer, "plain": of_plain, "shared": optimizer}

    def step(name: str) -> None:
        optimizers[name].zero_grad(set_to_none=True)
        losses[name]().backward()
        optimizers[name].step()

    seconds: dict[str, list[float]] = {name: [] for name in losses}
    for name in [*losses] * 2:
        step(name)  # compiles, and fills the momentum
    for name in [*losses] * STEPS:
        seconds[name].append(timed(lambda name=name: step(name))[0])
    ours, theirs, shared = (median(seconds[name]) for name in ("ours", "plain", "shared"))
    return [
        ("training step of MLP-IQA, 100 x 4, plain", 1000 * theirs, "ms", ""),
        ("training step of MLP-IQA, 100 x 4, ours", 1000 * ours, "ms", ""),
        ("training step, ours to plain", theirs / ours, "x", ">= 2"),
        (f"training step of MLP-IQA, {DIFFERENT} different answers, ours", 1000 * shared, "ms", ""),
        (f"training step, {DIFFERENT} different answers, ours to plain", theirs / shared, "x", ""),
    ]


def scoring_rows(on_image: int, required: str) -> list[Row]:
    """4,000 questions with 7 choices each, out of 2,000 different answers, `on_image` on each image."""
    draw = np.random.default_rng(0)
    model = MlpForMultipleChoiceVqa(MlpVqaConfig()).eval()
    plain = Plain(model).eval()
    answers, images, questions = (
        draw.standard_normal((count, size)).astype(np.float32)
        for count, size in ((ANSWERS, 300), (-(-ASKED // on_image), 2048), (ASKED, 300))
    )
    picked, everyone = draw.integers(ANSWERS, size=ASKED * OFFERED), np.arange(ASKED)
    image = everyone // on_image
    offered = torch.from_numpy(answers[picked]).view(ASKED, OFFERED, 300)

    def ours() -> np.ndarray:
        tables = {"images": Table(images, image), "questions": Table(questions, everyone)}
        return candidate_scores(model, Table(answers, picked), np.repeat(everyone, OFFERED), **tables)

    @torch.no_grad()
    def theirs() -> np.ndarray:
        parts = (
            torch.from_numpy(images[image]).split(BATCH),
            torch.from_numpy(questions).split(BATCH),
            offered.split(BATCH),
        )
        return torch.cat([plain(*batch) for batch in zip(*parts, strict=True)]).flatten().numpy()

    ours()  # compiles
    seconds: dict[str, list[float]] = {"ours": [], "plain": []}
    for _ in range(RUNS):
        took, found = timed(ours)
        seconds["ours"].append(took)
        took, expected = timed(theirs)
        seconds["plain"].append(took)
    fast, slow = median(seconds["ours"]), median(seconds["plain"])
    winners = [np.argmax(scores.reshape(ASKED, OFFERED), 1) for scores in (found, expected)]
    return [
        (f"scoring 4,000 x 7 candidates, {on_image} question(s) an image, plain", slow, "s", ""),
        (f"scoring 4,000 x 7 candidates, {on_image} question(s) an image, ours", fast, "s", ""),
        ("scoring, ours to plain", slow / fast, "x", required.removesuffix(" x")),
        ("largest difference of a logit", float(np.abs(found - expected).max()), "", "<= 0.000002"),
        ("of 4,000 answers differ", float((winners[0] != winners[1]).sum()), "answers", "<= 0"),
    ]


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds taken, and what came out."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    for what, value, unit, required in rows():
        print(f"{what:60} {value:16,.9f} {unit:8} {required}")
