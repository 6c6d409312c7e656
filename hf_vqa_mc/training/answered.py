"""A model's answers to the questions of a split, measured by the dataset's own metric."""

from collections.abc import Callable, Mapping, Sequence
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
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from hf_vqa_mc.scoring.statistics import mean_by, mean_interval, standard_error
from hf_vqa_mc.scoring.tdiuc import tdiuc_mpt
from hf_vqa_mc.training.metric import ACCURACY, CONSENSUS, PER_TYPE, consensus_of_choices, consensus_of_picked
from hf_vqa_mc.training.questions import NONE, ONE_KIND, Questions

DECIMALS = 6
"""Decimals of scores and attention in files; float32 has 7 significant digits."""
_FIGURES = ("accuracy", "stderr", "interval", "chance")


@dataclass(frozen=True, eq=False)
class Picked:
    """A model's scores of a split's choices."""

    questions: Questions
    logits: NDArray[np.float32]
    """(questions, choices), padded with the smallest float"""
    consensus: NDArray[np.float64] | None = None
    """(questions, choices): consensus accuracy of each choice if that is the dataset's metric"""

    @cached_property
    def labels(self) -> NDArray[np.int64]:
        """(questions,): index of the choice with the highest score; the first of ties."""
        labels: NDArray[np.int64] = self.logits.argmax(1)
        return labels

    @property
    def score(self) -> float:
        """The consensus accuracy of the picked choices if questions have several human answers.

        Otherwise the fraction of questions whose target is picked.
        """
        if self.consensus is not None:
            return float(self.consensus[np.arange(len(self.labels)), self.labels].mean())
        return float((self.labels == self.questions.labels).mean())

    def results(self) -> dict[str, Any]:
        """Figures of `scoring.mc_accuracy`, with errors and intervals clustered by image, and the number of questions.

        If the metric is consensus accuracy, the figures up to ``chance`` and those by type are of it;
        ``target_accuracy`` has the former of picking the target.
        """
        given, names = self.questions, list(CHOICE_KINDS)
        kinds = [[names[kind] for kind in row if kind != NONE] for row in given.kinds.tolist()]
        scored: Mapping[str, Any] = mc_accuracy(
            self.labels.tolist(),
            given.labels.tolist(),
            choice_kinds=kinds,
            question_types=given.types,
            image_ids=given.image_ids,
            question_ids=given.question_ids,
        )
        kept = (*_FIGURES, "chosen_kinds", "offered_kinds", "per_question_type")
        found = {"metric": ACCURACY, **{name: scored[name] for name in kept}, "questions": len(given)}
        if not (given.kinds > ONE_KIND).any():  # the dataset has none
            found |= {"chosen_kinds": None, "offered_kinds": None}
        if self.consensus is None:
            return found
        scores, figures = consensus_of_picked(self.consensus, self.labels, given.image_ids)
        return {
            **found,
            "metric": CONSENSUS,
            **figures,
            "per_question_type": mean_by(scores, given.types),
            "per_answer_type": mean_by(scores, given.answer_types),
            "target_accuracy": {name: scored[name] for name in _FIGURES},
        }

    def to_pandas(self) -> Frame:
        """One row per question: question_id, answer (text), label (its index), target, probabilities of all choices.

        Choices are scored independently, so the probabilities do not sum to 1.
        """
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
        columns = zip(self.questions.question_ids, self.labels.tolist(), scores, strict=True)
        rows = [{"question_id": name, "label": label, "scores": row} for name, label, row in columns]
        write_json(path, rows, None, overwrite)


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
    ranked: NDArray[np.float32] | None = None
    """(questions, candidates, 2): of each candidate image the score, higher is a better counter-example, and the
    probability that its answer is the question's; None if the model ranks none"""

    @property
    def score(self) -> float:
        """The dataset's metric, in [0, 1]; the best checkpoint has the highest."""
        return METRICS[self.questions.metric](self)[0]

    def results(self) -> dict[str, Any]:
        """Figures for training.json: ``metric``, ``accuracy`` in it, ``questions``; without answers only the last.

        ``answerable`` is the fraction of questions whose answer is in the vocabulary. Of multiple-choice rows
        ``multiple_choice`` are the figures of the best choice: in the dataset's metric and, if that is consensus
        accuracy, of picking the target (``target_accuracy``). ``counterexamples``: see `ranking_results`.
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
            found["counterexamples"] = ranking_results(given, self.ranked)
        found["answerable"] = float(np.mean([target in known for target in given.targets]))
        if self.picked is not None:
            choices, labels = given.choice_lists(), given.labels.tolist()
            picking: Mapping[str, Any] = mc_accuracy(
                self.picked.tolist(), labels, choices=choices, image_ids=given.image_ids
            )
            of_target = {name: picking[name] for name in _FIGURES}
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
        name, values = ("answer", self.texts()) if self.picked is None else ("label", self.picked.tolist())
        ids = self.questions.question_ids
        rows = [{"question_id": one, name: value} for one, value in zip(ids, values, strict=True)]
        write_json(path, rows, None, overwrite)

    def write_attentions(self, path: Path, overwrite: bool) -> None:
        """Write the attention maps by question, ``map[column][row]``, as ``vqa-mc score`` reads them."""
        if self.attention is None:
            raise InputError("--attentions: the model does not attend to a grid or regions of the image; remove it")
        side = isqrt(self.attention.shape[1])
        maps = self.attention.astype(np.float64).round(DECIMALS).reshape(-1, side, side).swapaxes(1, 2).tolist()
        ids = self.questions.question_ids
        rows = [{"questionId": name, "attention": one} for name, one in zip(ids, maps, strict=True)]
        write_json(path, rows, None, overwrite)

    def write_counterexamples(self, path: Path, overwrite: bool) -> None:
        """Write each question's answer and its candidates, the best counter-example first, as JSON.

        ``scores`` are the model's, ``same`` the probability that the candidate's answer is that of the question.
        """
        given, rows = self.questions, []
        if self.ranked is None or given.candidates is None or given.picked is None:
            raise InputError("--counterexamples: the model does not rank images; remove it")
        for row, (name, answer) in enumerate(zip(given.question_ids, self.texts(), strict=True)):
            order = np.argsort(-self.ranked[row, :, 0], kind="stable")
            scores, same = self.ranked[row, order].astype(np.float64).round(DECIMALS).T.tolist()
            picked = None if given.picked[row] == NO_PICK else given.candidates[row, given.picked[row]]
            about = {"question_id": name, "answer": answer, "candidates": given.candidates[row, order].tolist()}
            rows.append(about | {"scores": scores, "same": same, "picked": picked})
        write_json(path, rows, None, overwrite)


def ranking_results(questions: Questions, ranked: NDArray[np.float32]) -> dict[str, Any]:
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
