"""Steps of `train` against a plain loop of torch on tensors that are ready: `.ci/bench training`.

The plain loop has the same model, optimizer, batches and thread count, but no resuming, logging or data preparation.
Both run alternately on easy-VQA's questions; ratios are medians.
"""

import logging
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import hf_vqa_mc as vm
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.model import answers_of

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""
EPOCHS, TIMES = 2.0, 5
OPTIONS: dict[str, Any] = {"optimizer": "adam", "learning_rate": 0.001, "epochs": EPOCHS}


class Steps(logging.Handler):
    """Keeps the seconds per step of each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.seconds: list[float] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep a validation's figure."""
        if hasattr(record, "validation"):
            self.seconds.append(record.validation["seconds_per_step"])


def rows() -> Iterator[Row]:
    """The ratios."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        vm.build("easyvqa", variants=["iou"], output=folder / "vqa_mc")
        for model in ("bow-q", "lstm-q"):
            ratios = [plain / ours for plain, ours in (_pair(folder, model, number) for number in range(TIMES))]
            yield f"train {model}: speed of a step, in that of a plain loop", statistics.median(ratios), "", ">= 1"


def _pair(folder: Path, model: str, number: int) -> tuple[float, float]:
    """Seconds per step of the plain loop and of `train`, the faster epoch of each."""
    steps, logger = Steps(), logging.getLogger("hf_vqa_mc.training.loop")
    logger.addHandler(steps)
    logger.setLevel(logging.INFO)
    output = folder / f"{model}-{number}"
    dataset = folder / "vqa_mc"
    run = vm.train(str(dataset), "easyvqa_iou", model=model, output=output, **OPTIONS)
    logger.removeHandler(steps)
    return _plain(output, str(dataset), run.record["settings"]["batch_size"]), min(steps.seconds)


def _plain(output: Path, dataset: str, batch_size: int) -> float:
    from datasets import load_dataset

    network, processor = load_checkpoint(output / "best")
    table = load_dataset(dataset, "easyvqa_iou", split="train")
    known = {text: index for index, text in enumerate(answers_of(network))}
    rows = zip(table["question"], table["choices"], table["label"], strict=True)
    kept = [(question, known[choices[label]]) for question, choices, label in rows]
    tensors = dict(processor(text=[question for question, _ in kept]))
    tensors["labels"] = torch.tensor([label for _, label in kept])
    optimizer = torch.optim.Adam(network.parameters(), 0.001)
    network.train()
    seconds = []
    for _ in range(int(EPOCHS)):
        order = torch.randperm(len(kept))
        batches = order.split(batch_size)
        start = time.perf_counter()
        for batch in batches:
            loss = network(**{name: one[batch] for name, one in tensors.items()}).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        seconds.append((time.perf_counter() - start) / len(batches))
    return min(seconds)
