"""A model's answers to the questions of a split, measured by the dataset's own metric."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.models.counter_example import NO_PICK
from hf_vqa_mc.result import Frame, frame_of
from hf_vqa_mc.scoring.consensus import vqa_accuracy
from hf_vqa_mc.scoring.gqa_grounding import box_weights, covered
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from hf_vqa_mc.scoring.statistics import mean_by, mean_interval, standard_error
from hf_vqa_mc.scoring.tdiuc import tdiuc_mpt
from hf_vqa_mc.training.candidates import Ranked
from hf_vqa_mc.training.metric import ACCURACY, CONSENSUS, PER_TYPE, consensus_of_choices, consensus_of_picked
from hf_vqa_mc.training.questions import Questions

DECIMALS = 6
"""Decimals of attention in files."""
MAP_SIDE = 7
"""Cells per side of maps of attention to regions: those of GQA's program (``--mapSize``)."""


@dataclass(frozen=True, eq=False)
class Answered:
    """A model's answers to the questions of a split."""

    questions: Questions
    vocabulary: Sequence[str]
    best: NDArray[np.int64]
    """(questions,): index of the answer with the highest score"""
    picked: NDArray[np.int64] | None
    """(questions,): index of the choice with the highest score, the first if none is in the vocabulary"""
    attention: NDArray[np.float32] | None = None
    """(questions, cells): attention to each cell of the image in row-major order, the mean of all maps, see
    `region_maps`; None without attention"""
    ranked: Ranked | None = None
    """candidate images as counter-examples; None if the model ranks none"""

    @property
    def score(self) -> float:
        """The dataset's metric, in [0, 1]; the best checkpoint has the highest."""
        return METRICS[self.questions.metric](self)[0]

    def results(self) -> dict[str, Any]:
        """Figures for training.json: ``metric``, ``accuracy`` in it, ``questions``; without answers only the last.

        ``answerable`` is the fraction of questions whose answer is in the vocabulary. Of multiple-choice rows
        ``multiple_choice`` are the figures of the best choice: in the dataset's metric and, if that is consensus
        accuracy, of picking the target (``target_accuracy``).
        """
        given = self.questions
        if not given.has_answers:
            return {"questions": len(given)}
        score, figures = METRICS[given.metric](self)
        known = set(self.vocabulary)
        found = {"metric": given.metric, "accuracy": score, **figures, "questions": len(given)}
        if found.get("per_answer_type", {}) is None:  # the dataset has no answer types
            del found["per_answer_type"]
        if self.ranked is not None:
            found["counterexamples"] = self.ranked.results(given)
        found["answerable"] = float(np.mean([target in known for target in given.targets]))
        if given.has_choices and self.picked is not None:
            choices, labels = given.choice_lists(), given.labels.tolist()
            picking = mc_accuracy(self.picked.tolist(), labels, choices=choices, image_ids=given.image_ids)
            of_target: dict[str, Any] = {name: picking[name] for name in ("accuracy", "stderr", "interval", "chance")}
            found["multiple_choice"] = of_target
            if given.metric == CONSENSUS:
                scores = consensus_of_choices(choices, given.answers)
                _, figures = consensus_of_picked(scores, self.picked, given.image_ids)
                found["multiple_choice"] = {**figures, "target_accuracy": of_target}
        return found

    def to_pandas(self) -> Frame:
        """One row per question: question_id, answer, target; of multiple-choice rows also label, the best choice."""
        given = self.questions
        columns = {"question_id": given.question_ids, "answer": self.texts(), "target": given.targets}
        return frame_of(columns if self.picked is None else columns | {"label": self.picked})

    def texts(self) -> list[str]:
        """The answer to each question."""
        return [self.vocabulary[index] for index in self.best.tolist()]

    def write(self, path: Path, overwrite: bool = True) -> None:
        """Write the answers for ``vqa-mc score``, of multiple-choice rows the indices of the best choices."""
        ids = self.questions.question_ids
        if self.picked is not None:
            rows: list[dict[str, Any]] = [
                {"question_id": name, "label": label} for name, label in zip(ids, self.picked.tolist(), strict=True)
            ]
        else:
            rows = [{"question_id": name, "answer": text} for name, text in zip(ids, self.texts(), strict=True)]
        write_json(path, rows, None, overwrite)


def write_attentions(found: Answered, path: Path, overwrite: bool) -> None:
    """Write the attention maps by question, ``map[column][row]``, as ``vqa-mc score`` reads them."""
    if found.attention is None:
        raise InputError("--attentions: the model does not attend to a grid or regions of the image; remove it")
    side = isqrt(found.attention.shape[1])
    rows = found.attention.astype(np.float64).round(DECIMALS).reshape(-1, side, side)
    maps = rows.swapaxes(1, 2).tolist()  # GQA's program reads x first
    names = found.questions.question_ids
    write_json(
        path, [{"questionId": name, "attention": one} for name, one in zip(names, maps, strict=True)], None, overwrite
    )


def region_maps(attention: NDArray[np.float32], boxes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Spread the attention to each region evenly over its box.

    Args:
        attention: (questions, regions); 0 for padding.
        boxes: (questions, regions, 4), see `box_weights`.

    Returns:
        Float32 (questions, `MAP_SIDE` squared): the attention to each cell, in row-major order.
    """
    weights = box_weights(boxes.reshape(-1, 4), MAP_SIDE).reshape(*attention.shape, -1)
    return np.asarray(np.einsum("qr,qrc->qc", attention, weights), np.float32)


def cell_maps(attention: NDArray[np.float32], views: NDArray[np.float64]) -> NDArray[np.float32]:
    """Maps of whole images from attention to grids that cover a part of each.

    Args:
        attention: (questions, cells), in row-major order.
        views: (questions, 4), see `Box`.

    Returns:
        Float32 (questions, cells): the attention to each cell of the image, at least `MAP_SIDE` per side, in row-major
        order.
    """
    side = isqrt(attention.shape[1])
    size = max(side, MAP_SIDE)

    def shares(first: NDArray[np.float64], last: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of each row or column of the grid in those of the map, (questions, side, size)."""
        edges = np.linspace(first, last, side + 1, axis=1)
        inside = covered(edges[:, :-1].ravel(), edges[:, 1:].ravel(), size)
        return np.asarray(inside / inside.sum(1, keepdims=True)).reshape(len(views), side, size)

    left, top, right, bottom = views.T
    grid, rows, columns = attention.reshape(-1, side, side), shares(top, bottom), shares(left, right)
    maps = np.einsum("qij,qiy,qjx->qyx", grid, rows, columns, optimize=True)
    return np.asarray(maps.reshape(len(maps), -1), np.float32)


def write_counterexamples(found: Answered, path: Path, overwrite: bool) -> None:
    """Write each question's answer and its candidates, the best counter-example first, as JSON.

    ``scores`` are the model's, ``same`` the probability that the candidate's answer is that of the question.
    """
    given, ranked = found.questions, found.ranked
    if ranked is None or given.candidates is None or given.picked is None:
        raise InputError("--counterexamples: the model does not rank images; remove it")
    rows = []
    for row, (name, answer) in enumerate(zip(given.question_ids, found.texts(), strict=True)):
        order = np.argsort(-ranked.scores[row], kind="stable")
        scores, same = (
            values[row, order].astype(np.float64).round(DECIMALS).tolist() for values in (ranked.scores, ranked.same)
        )
        picked = None if given.picked[row] == NO_PICK else given.candidates[row, given.picked[row]]
        about = {"question_id": name, "answer": answer, "candidates": given.candidates[row, order].tolist()}
        rows.append(about | {"scores": scores, "same": same, "picked": picked})
    write_json(path, rows, None, overwrite)


Measured = tuple[float, Mapping[str, Any]]
"""The score, and other figures."""


def _accuracy(found: Answered) -> Measured:
    given = found.questions
    correct = np.array([text == target for text, target in zip(found.texts(), given.targets, strict=True)], np.float64)
    return float(correct.mean()), {
        "stderr": standard_error(correct, given.image_ids),
        "interval": mean_interval(correct, given.image_ids),
        "per_answer_type": mean_by(correct, given.answer_types),
    }


def _consensus(found: Answered) -> Measured:
    given = found.questions
    scored = vqa_accuracy(found.texts(), given.answers, answer_types=given.answer_types, image_ids=given.image_ids)
    return scored["accuracy"], {name: scored[name] for name in ("stderr", "interval", "per_answer_type")}


def _mean_per_type(found: Answered) -> Measured:
    given = found.questions
    scored = tdiuc_mpt(found.texts(), given.targets, given.types or [""] * len(given))
    figures = {"plain_accuracy": scored["accuracy"], "harmonic_mpt": scored["harmonic_mpt"]}
    return scored["arithmetic_mpt"], {**figures, "per_question_type": scored["per_type"]}


METRICS: Mapping[str, Callable[[Answered], Measured]] = {
    ACCURACY: _accuracy,
    CONSENSUS: _consensus,
    PER_TYPE: _mean_per_type,
}
"""A dataset's own metric; the best checkpoint has the highest score."""
