"""A model's answers to the questions of a split, measured by the dataset's own metric."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
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
from hf_vqa_mc.scoring.statistics import accuracy, mean_by
from hf_vqa_mc.scoring.tdiuc import tdiuc_mpt
from hf_vqa_mc.training.questions import CONSENSUS, NONE, ONE_KIND, PER_TYPE, Examples

DECIMALS = 6  # decimals of scores and attention in files; float32 has 7 significant digits


@dataclass(frozen=True, eq=False)
class Predictions:
    """A model's answers to the questions of a split: one of the choices each, or a text of a vocabulary."""

    questions: Examples
    labels: NDArray[np.int64] | None
    """(questions,): index of the choice with the highest score, the first of ties; None without choices"""
    logits: NDArray[np.float32] | None = None
    """(questions, choices), padded with the smallest float: the scores of the choices; None if open-ended"""
    texts: Sequence[str] = ()  # the answer to each question, if open-ended
    vocabulary: Collection[str] = ()
    attention: Sequence[NDArray[np.floating]] | None = None
    """of each question: a map of the image's cells, or boxes (regions, cells of a part), see `grounding_scores`"""
    ranked: NDArray[np.float32] | None = None
    """(questions, candidates, 2): of each candidate image the score, higher is a better counter-example, and the
    probability that its answer is the question's; None if the model ranks none"""

    @property
    def score(self) -> float:
        """The dataset's metric, in [0, 1]; the best checkpoint has the highest."""
        return float(self._figures["accuracy"])

    @cached_property
    def _figures(self) -> dict[str, Any]:
        """``accuracy`` in the dataset's metric, and its other figures."""
        given, types = self.questions, self.questions.answer_types
        if not given.open_ended:
            return self._of_choices
        if given.metric == CONSENSUS:
            scored = vqa_accuracy(self.texts, given.answers, answer_types=types, image_ids=given.image_ids)
            return {name: scored[name] for name in ("accuracy", "stderr", "interval", "per_answer_type")}
        if given.metric == PER_TYPE:
            means = tdiuc_mpt(self.texts, given.targets, given.types or [""] * len(given))
            figures = {"accuracy": means["arithmetic_mpt"], "plain_accuracy": means["accuracy"]}
            return {**figures, "harmonic_mpt": means["harmonic_mpt"], "per_question_type": means["per_type"]}
        correct = (np.array(self.texts, object) == np.array(given.targets, object)).astype(np.float64)
        return {**accuracy(correct, given.image_ids), "per_answer_type": mean_by(correct, types)}

    @cached_property
    def _of_choices(self) -> dict[str, Any]:
        """Figures of the picked choices in the dataset's metric, and ``target_accuracy`` if that is consensus."""
        given, names = self.questions, list(CHOICE_KINDS)
        picked = np.zeros(0, np.int64) if self.labels is None else self.labels
        scored: Mapping[str, Any] = mc_accuracy(
            picked.tolist(),
            given.labels.tolist(),
            choice_kinds=[[names[kind] for kind in row if kind != NONE] for row in given.kinds.tolist()],
            question_types=given.types,
            image_ids=given.image_ids,
            question_ids=given.question_ids,
        )
        found = figures = {name: scored[name] for name in ("accuracy", "stderr", "interval", "chance")}
        if not given.open_ended:
            found = found | {name: scored[name] for name in ("chosen_kinds", "offered_kinds", "per_question_type")}
            if not (given.kinds > ONE_KIND).any():  # the dataset has none
                found |= {"chosen_kinds": None, "offered_kinds": None}
        if given.metric != CONSENSUS:
            return found
        scores: NDArray[np.float64] = given.consensus[np.arange(len(picked)), picked]
        if not given.open_ended:
            found["per_question_type"] = mean_by(scores, given.types)
            found["per_answer_type"] = mean_by(scores, given.answer_types)
        chance = float(np.nanmean(given.consensus, axis=1).mean())  # of a choice drawn uniformly
        return {**found, **accuracy(scores, given.image_ids), "chance": chance, "target_accuracy": figures}

    def results(self) -> dict[str, Any]:
        """Figures for training.json: ``metric``, ``accuracy`` in it, ``questions``; without answers only the last.

        Errors and intervals are clustered by image. Of multiple-choice models they are those of `scoring.mc_accuracy`;
        if the metric is consensus accuracy, ``target_accuracy`` are those of picking the target. Of open-ended models
        ``answerable`` is the fraction of questions whose answer is in the vocabulary, ``multiple_choice`` are the
        figures of the best choice of multiple-choice rows, and ``counterexamples`` those of `ranking_results`.
        """
        given = self.questions
        if not given.has_answers:
            return {"questions": len(given)}
        found = {"metric": given.metric, **self._figures, "questions": len(given)}
        if not given.open_ended:
            return found
        if found.get("per_answer_type", {}) is None:  # the dataset has no answer types
            del found["per_answer_type"]
        if self.ranked is not None:
            found["counterexamples"] = ranking_results(given, self.ranked)
        found["answerable"] = float(np.mean([target in self.vocabulary for target in given.targets]))
        return found if self.labels is None else found | {"multiple_choice": self._of_choices}

    def to_pandas(self) -> Frame:
        """One row per question, see `PredictResult.to_pandas`."""
        given = self.questions
        if self.labels is None or self.logits is None:
            columns = {"question_id": given.question_ids, "answer": self.texts, "target": given.targets}
            return frame_of(columns if self.labels is None else columns | {"label": self.labels})
        texts = zip(given.choice_lists(), self.labels.tolist(), strict=True)
        return frame_of(
            {
                "question_id": given.question_ids,
                "answer": [of_row[label] for of_row, label in texts],
                "label": self.labels,
                "target": given.labels,
                "probabilities": [torch.from_numpy(row).sigmoid().tolist() for row in self._scores(self.logits)],
            }
        )

    def _scores(self, logits: NDArray[Any]) -> list[NDArray[Any]]:
        """The scores of each question's choices."""
        return [row[valid] for row, valid in zip(logits, self.questions.choices != NONE, strict=True)]

    def write(self, path: Path, overwrite: bool = True) -> None:
        """Write the picked indices, with rounded scores of the choices, or the answers, for ``vqa-mc score``."""
        found: dict[str, Any] = {"answer": self.texts} if self.labels is None else {"label": self.labels.tolist()}
        if self.logits is not None:
            found["scores"] = [row.tolist() for row in self._scores(self.logits.astype(np.float64).round(DECIMALS))]
        _write(path, overwrite, question_id=self.questions.question_ids, **found)

    def write_attentions(self, path: Path, overwrite: bool) -> None:
        """Write the attention maps or attended boxes by question, as ``vqa-mc score`` reads them."""
        maps = () if self.attention is None else self.attention
        found = [one.astype(np.float64).round(DECIMALS).tolist() for one in maps]
        _write(path, overwrite, questionId=self.questions.question_ids, attention=found)

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


def cell_boxes(side: int, view: NDArray[np.float64]) -> NDArray[np.float64]:
    """The cells of a square grid that covers a part of an image, (cells, 4), row by row, see `Box`."""
    rows, columns = np.divmod(np.arange(side**2), side)
    steps = np.stack([columns, rows, columns + 1, rows + 1], 1) / side
    left, top, right, bottom = view
    return np.asarray((np.array([left, top] * 2) + steps * ([right - left, bottom - top] * 2)).clip(0, 1))
