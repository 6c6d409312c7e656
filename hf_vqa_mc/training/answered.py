"""A model's answers to the questions of a split, measured by the dataset's own metric."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.models.counter_example import NO_PICK
from hf_vqa_mc.result import Frame, frame_of
from hf_vqa_mc.scoring.consensus import vqa_accuracy
from hf_vqa_mc.scoring.counterexamples import KS, counterexample_recall
from hf_vqa_mc.scoring.gqa_grounding import box_weights, covered
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from hf_vqa_mc.scoring.statistics import accuracy, mean_by
from hf_vqa_mc.scoring.tdiuc import tdiuc_mpt
from hf_vqa_mc.training.questions import ACCURACY, CONSENSUS, NONE, ONE_KIND, PER_TYPE, Examples

DECIMALS = 6  # decimals of scores and attention in files; float32 has 7 significant digits
MAP_SIDE = 7  # cells per side of maps of attention to regions: those of GQA's program (``--mapSize``)
_FIGURES = ("accuracy", "stderr", "interval", "chance")


@dataclass(frozen=True, eq=False)
class Picked:
    """A model's scores of a split's choices."""

    questions: Examples
    logits: NDArray[np.float32]  # (questions, choices), padded with the smallest float

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """(questions,): index of the choice with the highest score; the first of ties."""
        return np.asarray(self.logits.argmax(1))

    @property
    def score(self) -> float:
        """The mean consensus accuracy of the picked choices, or the fraction of questions whose target is picked."""
        if self.questions.metric == CONSENSUS:
            return float(_consensus_of_picked(self.questions, self.labels)[0].mean())
        return float((self.labels == self.questions.labels).mean())

    def results(self) -> dict[str, Any]:
        """Figures of `scoring.mc_accuracy`, with errors and intervals clustered by image, and the number of questions.

        If the metric is consensus accuracy, the figures up to ``chance`` and those by type are of it;
        ``target_accuracy`` has the former of picking the target.
        """
        given, names = self.questions, list(CHOICE_KINDS)
        scored: Mapping[str, Any] = mc_accuracy(
            self.labels.tolist(),
            given.labels.tolist(),
            choice_kinds=[[names[kind] for kind in row if kind != NONE] for row in given.kinds.tolist()],
            question_types=given.types,
            image_ids=given.image_ids,
            question_ids=given.question_ids,
        )
        kept = (*_FIGURES, "chosen_kinds", "offered_kinds", "per_question_type")
        found = {"metric": ACCURACY, **{name: scored[name] for name in kept}, "questions": len(given)}
        if not (given.kinds > ONE_KIND).any():  # the dataset has none
            found |= {"chosen_kinds": None, "offered_kinds": None}
        if given.metric != CONSENSUS:
            return found
        scores, figures = _consensus_of_picked(given, self.labels)
        by_type = {"per_question_type": mean_by(scores, given.types)}
        by_type["per_answer_type"] = mean_by(scores, given.answer_types)
        of_target = {name: scored[name] for name in _FIGURES}
        return {**found, "metric": CONSENSUS, **figures, **by_type, "target_accuracy": of_target}

    def to_pandas(self) -> Frame:
        """One row per question: question_id, answer (text), label (its index), target, independent probabilities."""
        given = self.questions
        texts = zip(given.choice_lists(), self.labels.tolist(), strict=True)
        scores = zip(self.logits, given.choices != NONE, strict=True)
        return frame_of(
            {
                "question_id": given.question_ids,
                "answer": [of_row[label] for of_row, label in texts],
                "label": self.labels,
                "target": given.labels,
                "probabilities": [torch.from_numpy(row[valid]).sigmoid().tolist() for row, valid in scores],
            }
        )

    def write(self, path: Path, overwrite: bool = True) -> None:
        """Write the predicted indices and the scores of the choices, rounded, in a format of ``vqa-mc score``."""
        rounded = self.logits.astype(np.float64).round(DECIMALS)
        scores = [row[mask].tolist() for row, mask in zip(rounded, self.questions.choices != NONE, strict=True)]
        _write(path, overwrite, question_id=self.questions.question_ids, label=self.labels.tolist(), scores=scores)


@dataclass(frozen=True, eq=False)
class Answered:
    """A model's answers to the questions of a split."""

    questions: Examples
    vocabulary: Sequence[str]
    best: NDArray[np.int64]  # (questions,): index of the answer with the highest score
    picked: NDArray[np.int64] | None  # (questions,): best choice, the first if none is in the vocabulary
    attention: NDArray[np.float32] | None = None  # (questions, cells) of the image, see `region_maps`
    ranked: NDArray[np.float32] | None = None
    """(questions, candidates, 2): of each candidate image the score, higher is a better counter-example, and the
    probability that its answer is the question's; None if the model ranks none"""

    @property
    def score(self) -> float:
        """The dataset's metric, in [0, 1]; the best checkpoint has the highest."""
        return float(self._figures["accuracy"])

    @cached_property
    def texts(self) -> list[str]:
        """The answer to each question."""
        return [self.vocabulary[index] for index in self.best.tolist()]

    @cached_property
    def _figures(self) -> dict[str, Any]:
        """``accuracy`` in the dataset's metric, and its other figures."""
        given = self.questions
        if given.metric == CONSENSUS:
            of_types = given.answer_types
            scored = vqa_accuracy(self.texts, given.answers, answer_types=of_types, image_ids=given.image_ids)
            return {name: scored[name] for name in ("accuracy", "stderr", "interval", "per_answer_type")}
        if given.metric == PER_TYPE:
            means = tdiuc_mpt(self.texts, given.targets, given.types or [""] * len(given))
            figures = {"accuracy": means["arithmetic_mpt"], "plain_accuracy": means["accuracy"]}
            return {**figures, "harmonic_mpt": means["harmonic_mpt"], "per_question_type": means["per_type"]}
        correct = (np.array(self.texts, object) == np.array(given.targets, object)).astype(np.float64)
        return {**accuracy(correct, given.image_ids), "per_answer_type": mean_by(correct, given.answer_types)}

    def results(self) -> dict[str, Any]:
        """Figures for training.json: ``metric``, ``accuracy`` in it, ``questions``; without answers only the last.

        ``answerable`` is the fraction of questions whose answer is in the vocabulary. Of multiple-choice rows
        ``multiple_choice`` are the figures of the best choice: in the dataset's metric and, if that is consensus
        accuracy, of picking the target (``target_accuracy``). ``counterexamples``: see `ranking_results`.
        """
        given = self.questions
        if not given.has_answers:
            return {"questions": len(given)}
        known = set(self.vocabulary)
        found = {"metric": given.metric, **self._figures, "questions": len(given)}
        if found.get("per_answer_type", {}) is None:  # the dataset has no answer types
            del found["per_answer_type"]
        if self.ranked is not None:
            found["counterexamples"] = ranking_results(given, self.ranked)
        found["answerable"] = float(np.mean([target in known for target in given.targets]))
        if self.picked is not None:
            choices, labels = given.choice_lists(), given.labels.tolist()
            picking: Mapping[str, Any] = mc_accuracy(
                self.picked.tolist(), labels, choices=choices, image_ids=given.image_ids
            )
            found["multiple_choice"] = of_target = {name: picking[name] for name in _FIGURES}
            if given.metric == CONSENSUS:
                figures = _consensus_of_picked(given, self.picked)[1]
                found["multiple_choice"] = {**figures, "target_accuracy": of_target}
        return found

    def to_pandas(self) -> Frame:
        """One row per question: question_id, answer, target; of multiple-choice rows also label, the best choice."""
        given = self.questions
        columns = {"question_id": given.question_ids, "answer": self.texts, "target": given.targets}
        return frame_of(columns if self.picked is None else columns | {"label": self.picked})

    def write(self, path: Path, overwrite: bool = True) -> None:
        """Write the answers for ``vqa-mc score``, of multiple-choice rows the indices of the best choices."""
        found = {"answer": self.texts} if self.picked is None else {"label": self.picked.tolist()}
        _write(path, overwrite, question_id=self.questions.question_ids, **found)

    def write_attentions(self, path: Path, overwrite: bool) -> None:
        """Write the attention maps by question, ``map[column][row]``, as ``vqa-mc score`` reads them."""
        if self.attention is None:
            raise InputError("--attentions: the model does not attend to a grid or regions of the image; remove it")
        side = isqrt(self.attention.shape[1])
        maps = self.attention.astype(np.float64).round(DECIMALS).reshape(-1, side, side).swapaxes(1, 2).tolist()
        _write(path, overwrite, questionId=self.questions.question_ids, attention=maps)

    def write_counterexamples(self, path: Path, overwrite: bool) -> None:
        """Write each question's answer and its candidates, the best counter-example first, as JSON.

        ``scores`` are the model's, ``same`` the probability that the candidate's answer is that of the question.
        """
        given = self.questions
        if self.ranked is None or given.candidates is None or given.picked is None:
            raise InputError("--counterexamples: the model does not rank images; remove it")
        order = np.argsort(-self.ranked[..., 0], 1, kind="stable")
        ranked = np.take_along_axis(self.ranked, order[..., None], 1).astype(np.float64).round(DECIMALS)
        picked = zip(given.candidates, given.picked.tolist(), strict=True)
        _write(
            path,
            overwrite,
            question_id=given.question_ids,
            answer=self.texts,
            candidates=np.take_along_axis(given.candidates, order, 1).tolist(),
            scores=ranked[..., 0].tolist(),
            same=ranked[..., 1].tolist(),
            picked=[None if at == NO_PICK else images[at] for images, at in picked],
        )


def _write(path: Path, overwrite: bool, **columns: Sequence[Any]) -> None:
    """Write one record per question as JSON."""
    rows = zip(*columns.values(), strict=True)
    write_json(path, [dict(zip(columns, row, strict=True)) for row in rows], None, overwrite)


def check_finite(questions: Examples, is_finite: object) -> None:
    """Raise InputError unless a model's scores are finite."""
    if not is_finite:
        raise InputError(
            f"{questions.location}: the model's scores are not all finite; check its weights and the image features"
        )


def _consensus_of_picked(questions: Examples, picked: NDArray[np.int64]) -> tuple[NDArray[np.float64], dict[str, Any]]:
    """Each question's consensus accuracy, and its figures; ``chance`` is that of a choice drawn uniformly."""
    of_picked: NDArray[np.float64] = questions.consensus[np.arange(len(picked)), picked]
    chance = float(np.nanmean(questions.consensus, axis=1).mean())
    return of_picked, {**accuracy(of_picked, questions.image_ids), "chance": chance}


def ranking_results(questions: Examples, ranked: NDArray[np.float32]) -> dict[str, Any]:
    """Recall of the picked candidate at 1 and 5, and that of Goyal et al. 2017's baselines (section 5).

    ``random`` and ``distance`` (the most similar image first), and ``vqa_model``: the image first for which the
    question's answer is least probable. ``questions`` is the number of those with a picked candidate.
    """
    rows = np.empty(0, np.int64) if questions.picked is None else np.flatnonzero(questions.picked != NO_PICK)
    if questions.picked is None or questions.distances is None or not len(rows):
        return {"questions": 0}
    given: dict[str, Any] = {
        "references": questions.picked[rows].tolist(),
        "ks": [k for k in KS if k <= ranked.shape[1]],
        "image_ids": [questions.image_ids[row] for row in rows],
    }
    distances = questions.distances[rows].tolist()
    found = counterexample_recall(ranked[rows, :, 0].tolist(), distances=distances, **given)
    found.pop("per_question")
    least_probable = counterexample_recall((-ranked[rows, :, 1]).tolist(), **given)
    return {**found, "vqa_model": {name: least_probable[name] for name in found["random"]}, "questions": len(rows)}


def region_maps(attention: NDArray[np.float32], boxes: NDArray[np.float32]) -> NDArray[np.float32]:
    """Spread attention to regions (questions, regions) evenly over boxes: float32 (questions, `MAP_SIDE`²)."""
    weights = box_weights(boxes.reshape(-1, 4), MAP_SIDE).reshape(*attention.shape, -1)
    return np.asarray(np.einsum("qr,qrc->qc", attention, weights), np.float32)


def cell_maps(attention: NDArray[np.float32], views: NDArray[np.float64]) -> NDArray[np.float32]:
    """Maps of whole images from attention (questions, cells) to grids that cover a part of each image.

    ``views`` are (questions, 4), see `Box`. Returns float32 (questions, cells): the attention to each cell of the
    image, at least `MAP_SIDE` per side, in row-major order.
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
