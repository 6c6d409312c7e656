"""Candidate images of questions, those that people picked as counter-examples, and those that a model ranks."""

import hashlib
from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.io.json_stream import json_lines
from hf_vqa_mc.models.counter_example import NO_PICK
from hf_vqa_mc.scoring.counterexamples import KS, counterexample_recall
from hf_vqa_mc.training.questions import Questions


class Candidates:
    """The candidate images in a file of ``vqa-mc generate complementary``, the most similar first.

    Args:
        path: of the file.
        features: of images.
        count: expected number of candidates per question; None: any.

    Raises:
        InputError: the file is not one of candidates, has another number of them, or one has no features.
        OSError: it cannot be read.
    """

    def __init__(self, path: Path, features: ImageFeatures, count: int | None = None) -> None:
        self.path = path
        self._row: dict[str, int] = {}
        images, distances = list[list[str]](), list[list[float]]()
        try:
            for _, line in json_lines(path):
                question_id, of_question, of_images = str(line["question_id"]), line["candidates"], line["distances"]
                self._row[question_id] = len(images)
                order = np.argsort(of_images, kind="stable")
                images.append([of_question[at] for at in order])
                distances.append([of_images[at] for at in order])
            if len(set(map(len, images))) != 1:
                raise ValueError("questions have different numbers of candidates, or there are none")
        except (KeyError, TypeError, ValueError) as error:
            raise InputError(f"--candidates {path}: not a file of vqa-mc generate complementary ({error})") from error
        self.images, self.distances = np.array(images, object), np.array(distances)
        for image_id in dict.fromkeys(self.images.ravel().tolist()):
            if image_id not in features:
                raise InputError(
                    f"{path}: candidate {image_id!r} has no features in {features.folder}; use those that the "
                    "candidates were found with"
                )
        if count not in (None, self.images.shape[1]):
            raise InputError(
                f"--candidates {path}: {self.images.shape[1]} candidates per question, expected {count}, as in "
                f"training; run vqa-mc generate complementary --nearest {count}"
            )

    @property
    def checksum(self) -> str:
        """Checksum of the question ids and their candidates."""
        return hashlib.sha256(repr((list(self._row), self.images.tolist())).encode()).hexdigest()

    def of(self, questions: Questions, skip: bool) -> Questions:
        """The questions with candidates, and the picked ones.

        The picked candidate is the most similar image of another question of the balanced pair.

        Raises:
            InputError: none has candidates, or some have none and ``skip`` is false.
        """
        valid = np.array([one in self._row for one in questions.question_ids], np.bool_)
        lost = np.flatnonzero(~valid)
        if len(lost) == len(valid) or (len(lost) and not skip):
            raise InputError(
                f"{questions.location}: {len(lost):,} of {len(valid):,} questions have no candidates in {self.path}, "
                f"the first is question_id {questions.question_ids[lost[0]]!r}; run vqa-mc generate complementary for "
                "this config, or skip such questions with --skip-missing"
            )
        partners = defaultdict(set)
        for pair, image_id in zip(questions.together or (), questions.image_ids, strict=False):
            partners[pair].add(image_id)
        kept = questions.take(np.flatnonzero(valid))
        rows = [self._row[one] for one in kept.question_ids]
        images = self.images[rows]
        picked = np.full(len(kept), NO_PICK, np.int64)
        for at, pair in enumerate(kept.together or ()):
            others = partners[pair] - {kept.image_ids[at]} if pair else set()
            picked[at] = next((number for number, one in enumerate(images[at]) if one in others), NO_PICK)
        return replace(kept, candidates=images, distances=self.distances[rows], picked=picked)


@dataclass(frozen=True, eq=False)
class Ranked:
    """A model's scores of the candidate images of a split's questions, (questions, candidates) each."""

    scores: NDArray[np.float32]
    """higher is a better counter-example"""
    same: NDArray[np.float32]
    """probability that the candidate's answer is the question's"""

    def results(self, questions: Questions) -> dict[str, Any]:
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
