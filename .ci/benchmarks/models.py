"""How fast models train and score next to their plain formulations: `python .ci/benchmarks/models.py`.

MLP-IQA in the paper's size on made-up vectors; the plain one concatenates each candidate's inputs, as the paper says.
The models that attend to a grid next to the tests' plain formulations, which go question by question and cell by cell;
compact bilinear pooling next to the explicit outer product. They take turns, the medians of several turns count.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any, TypeVar
from unittest.mock import patch

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from hf_vqa_mc.model_listing import MODELS  # noqa: E402
from hf_vqa_mc.models.candidate_scores import Table, candidate_scores  # noqa: E402
from hf_vqa_mc.models.compact_bilinear import CompactBilinear  # noqa: E402
from hf_vqa_mc.models.layouts import Layouts  # noqa: E402
from hf_vqa_mc.models.mlp import MlpForMultipleChoiceVqa, MlpVqaConfig  # noqa: E402
from tests.models import plain_open_ended  # noqa: E402

T = TypeVar("T")
Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

BATCH, CHOICES = 100, 4
DIFFERENT = 140  # of a batch's 400 answers
ASKED, OFFERED, ANSWERS = 4_000, 7, 2_000
QUESTIONS_AN_IMAGE = 14  # as Visual Genome has in the mean
STEPS, RUNS = 12, 3
ATTENDING: dict[str, dict[str, Any]] = {
    "mcb-a": {"lstm_size": 256, "fixed_word_size": 0, "sketch_size": 4096},
    "mac": {},
    "bottom-up": {},
    "hiecoatt-answers": {},
}
"""Models to settings; MCB-A is smaller than in the paper, as the explicit outer products would not fit into memory."""
GRID, GRID_SIZE, GRID_QUESTIONS, GRID_TURNS = 16, 512, 8, 5
"""Cells, dimensions of a cell, questions per step, turns."""
PAPER_QUESTIONS, PAPER_GRID, REGIONS = 32, 196, 36
"""Questions of a step, cells of a 14x14 grid, regions."""
SKETCHED, SKETCH_SIZE = 2048, 16_000
"""Dimensions of question, image and sketch of Fukui et al. 2016."""


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
    return [
        *training_rows(),
        *scoring_rows(QUESTIONS_AN_IMAGE, ">= 20 x"),
        *scoring_rows(1, ""),
        *(row for name in ATTENDING for row in attending_rows(name)),
        *sketch_rows(),
        *memory_rows(),
    ]


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


def attending_rows(name: str) -> Iterator[Row]:
    """Forward and backward pass of a model that attends to a grid of the image."""
    sizes = {"vocabulary_size": 1000, "image_size": GRID_SIZE, "num_labels": 1000}
    model = MODELS[name].model_class(MODELS[name].config(ATTENDING[name], **sizes)).train()
    plain = plain_open_ended.PLAIN[type(model)]
    words = torch.randint(1, 1000, (GRID_QUESTIONS, 8))
    grid, labels = torch.randn(GRID_QUESTIONS, GRID, GRID_SIZE), torch.randint(1000, (GRID_QUESTIONS,))
    given = {"question_indices": words, "image_grid": grid}

    def ours() -> None:
        model(**given, labels=labels).loss.backward()
        model.zero_grad()

    def theirs() -> None:
        functional.cross_entropy(plain(model, **given), labels).backward()
        model.zero_grad()

    with patch.object(plain_open_ended, "sketch_of_outer_product", explicit_sketch):
        fast, slow = in_turns(ours, theirs, GRID_TURNS)
    what = f"{name}, forward and backward, {GRID_QUESTIONS} questions, {GRID} cells"
    yield f"{what}, plain", 1000 * slow, "ms", ""
    yield f"{what}, ours", 1000 * fast, "ms", ""
    yield f"{name}, ours to plain", slow / fast, "x", ">= 1.5"


def explicit_sketch(pooling: CompactBilinear, first: Tensor, second: Tensor) -> Tensor:
    """The sketch of the outer product of two vectors, whose entries are added one by one."""
    index = (pooling.first_index[:, None] + pooling.second_index) % pooling.output_size
    product = (first * pooling.first_sign)[:, None] * (second * pooling.second_sign)
    return torch.zeros(pooling.output_size).index_add(0, index.flatten(), product.flatten())


def sketch_rows() -> Iterator[Row]:
    """Compact bilinear pooling of one question and image in the paper's size, forward and backward."""
    pooling = CompactBilinear((SKETCHED, SKETCHED), SKETCH_SIZE, 0)
    first, second = (torch.randn(SKETCHED, requires_grad=True) for _ in range(2))
    fast, slow = in_turns(
        lambda: pooling(first, second).square().sum().backward(),
        lambda: explicit_sketch(pooling, first, second).square().sum().backward(),
        STEPS,
    )
    yield "compact bilinear pooling, 2,048 x 2,048 to 16,000, outer product", 1000 * slow, "ms", ""
    yield "compact bilinear pooling, 2,048 x 2,048 to 16,000, FFT", 1000 * fast, "ms", ""
    yield "compact bilinear pooling, FFT to outer product", slow / fast, "x", ">= 10"


def memory_rows() -> Iterator[Row]:
    """Peak memory of processes that each run a training step of a model in its paper's size."""
    for name in (*ATTENDING, "nmn", "rau"):
        command = [sys.executable, __file__, name]
        peak = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
        cells = REGIONS if name == "bottom-up" else PAPER_GRID
        yield f"{name}, a step of {PAPER_QUESTIONS} questions and {cells} cells: peak RSS", peak, "GB", ""


def peak_of_a_step(name: str) -> float:
    """Peak RSS in GB of this process after a forward and a backward pass of a model with its defaults."""
    questions = ["What color is the dog on the bed?"] * PAPER_QUESTIONS
    layouts = Layouts.of(questions, "text")
    words = {"layout_words": layouts.size} if name == "nmn" else {}
    model = MODELS[name].model_class(MODELS[name].config({}, vocabulary_size=10_000, num_labels=1000, **words)).train()
    cells = REGIONS if name == "bottom-up" else PAPER_GRID
    given = {
        "question_indices": torch.randint(1, 10_000, (PAPER_QUESTIONS, 8)),
        "image_grid": torch.randn(PAPER_QUESTIONS, cells, 2048),
        "labels": torch.randint(1000, (PAPER_QUESTIONS,)),
    }
    if name == "nmn":
        given["question_layouts"] = torch.from_numpy(layouts.tensor(questions))
    model(**given).loss.backward()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9


def in_turns(ours: Callable[[], object], theirs: Callable[[], object], turns: int) -> tuple[float, float]:
    """Median seconds of both, which take turns after one that does not count."""
    took = [(timed(ours)[0], timed(theirs)[0]) for _ in range(turns + 1)][1:]
    fast, slow = (median(seconds) for seconds in zip(*took, strict=True))
    return fast, slow


def timed(work: Callable[[], T]) -> tuple[float, T]:
    """Seconds taken, and what came out."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


if __name__ == "__main__" and sys.argv[1:]:
    print(peak_of_a_step(sys.argv[1]))
elif __name__ == "__main__":
    for what, value, unit, required in rows():
        print(f"{what:60} {value:16,.9f} {unit:8} {required}")
