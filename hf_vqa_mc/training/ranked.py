"""Candidate images as a model ranks them, measured against those that people picked."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.models.counter_example import NO_PICK
from hf_vqa_mc.scoring.counterexamples import KS, counterexample_recall
from hf_vqa_mc.training.answered_questions import AnsweredQuestions


@dataclass(frozen=True, eq=False)
class Ranked:
    """A model's scores of the candidate images of a split's questions, (questions, candidates) each."""

    scores: NDArray[np.float32]
    """higher is a better counter-example"""
    same: NDArray[np.float32]
    """probability that the candidate's answer is the question's"""

    def results(self, questions: AnsweredQuestions) -> dict[str, Any]:
        """Recall of the picked candidate at 1 and 5, and that of Goyal et al. 2017's baselines (section 5).

        ``random`` and ``distance`` (the most similar image first), and ``vqa_model``: the image first for which the
        question's answer is least probable. ``questions`` is the number of those with a picked candidate.
        """
        if questions.picked is None or questions.distances is None:
            return {"questions": 0}
        rows = np.flatnonzero(questions.picked != NO_PICK)
        if not len(rows):
            return {"questions": 0}
        ks = [k for k in KS if k <= self.scores.shape[1]]
        given: dict[str, Any] = {
            "references": questions.picked[rows].tolist(),
            "ks": ks,
            "image_ids": [questions.image_ids[row] for row in rows],
        }
        found = counterexample_recall(
            self.scores[rows].tolist(), distances=questions.distances[rows].tolist(), **given
        )
        found.pop("per_question")
        least_probable = counterexample_recall((-self.same[rows]).tolist(), **given)
        of_model = {name: least_probable[name] for name in found["random"]}
        return {**found, "vqa_model": of_model, "questions": len(rows)}
