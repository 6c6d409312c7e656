"""Our verdicts on decoys of COCO-QA and VQA v1, joined with the publishers' files, which are not in the repository.

``ambiguity_labels.csv`` has a line per choice that was read: dataset, question id, `choice_hash` and verdict. The
rules are in docs/results.md.
"""

import csv
import hashlib
import json
import lzma
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import hf_vqa_mc as vm
from hf_vqa_mc.text.normalisation import comparable

LABELS = Path(__file__).with_suffix(".csv")
POSSIBLE = ("correct", "unsure")
"""Verdicts on choices that are possibly correct."""


@dataclass(frozen=True)
class Question:
    """A question of a published dataset, from which a benchmark is made."""

    question_id: str
    image_id: str
    split: str
    question: str
    target: str
    answers: tuple[str, ...] = ()


def choice_hash(question_id: str, text: str) -> str:
    """The name of a choice in the labels."""
    return hashlib.sha256(f"{question_id}\n{comparable(text)}".encode()).hexdigest()[:12]


def labels() -> dict[str, dict[str, dict[str, str]]]:
    """Dataset to question id to hash of a choice to verdict."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    with LABELS.open(newline="") as file:
        for row in csv.DictReader(file):
            found.setdefault(row["dataset"], {}).setdefault(row["question_id"], {})[row["choice"]] = row["verdict"]
    return found


def is_held_out(question_id: str) -> bool:
    """Whether a question is in the half that the filters were not tuned on."""
    return int(hashlib.sha256(question_id.encode()).hexdigest(), 16) % 2 == 1


def cocoqa(real_data: Path) -> Iterator[Question]:
    """COCO-QA."""
    with tempfile.TemporaryDirectory() as folder:
        built = vm.build(
            "cocoqa", data_dir=real_data / "cocoqa", variants=["random_frequency"], output=f"{folder}/vqa_mc"
        )
        made = {split: rows.to_list() for split, rows in built.load().items()}
    for split in ("train", "test"):
        for row in made[split]:
            target = row["choices"][row["label"]]
            yield Question(row["question_id"], row["image_id"], split, row["question"], target)


def vqa(real_data: Path) -> Iterator[Question]:
    """The part of VQA v1 that we have; a third of the images is the test split."""
    path = real_data / "vqa_v1" / "vqacp_v1_test_question_new.json.xz"
    for row in json.loads(lzma.decompress(path.read_bytes())):
        if row["coco_split"] == "val2014":
            yield Question(
                str(row["question_id"]),
                str(row["image_id"]),
                "train" if row["image_id"] % 3 else "test",
                row["question"],
                row["multiple_choice_answer"],
                tuple(row["answer"]),
            )


DATASETS = {"cocoqa": cocoqa, "vqa": vqa}


def with_texts(
    questions: list[Question], named: Mapping[str, Mapping[str, str]]
) -> list[tuple[Question, dict[str, str]]]:
    """The labelled questions, with the verdict on each text; texts are answers of the dataset, one per spelling."""
    answers = sorted({one.target for one in questions}, reverse=True)
    found = []
    for one in questions:
        if one.question_id in named:
            texts = {choice_hash(one.question_id, text): text for text in answers}
            verdicts = named[one.question_id].items()
            found.append((one, {texts[name]: verdict for name, verdict in verdicts if name in texts}))
    return found


def published(questions: list[Question], n_decoys: int = 6) -> dict[str, list[dict[str, object]]]:
    """A benchmark of the questions with decoys drawn by frequency, by split."""
    rng = np.random.default_rng(0)
    drawn = rng.integers(len(questions), size=(len(questions), 4 * n_decoys))
    made: dict[str, list[dict[str, object]]] = {"train": [], "test": []}
    for one, draws in zip(questions, drawn.tolist(), strict=True):
        texts = dict.fromkeys(questions[draw].target for draw in draws)
        decoys = [text for text in texts if text != one.target and text not in one.answers][:n_decoys]
        row = {"question_id": one.question_id, "image_id": one.image_id, "question": one.question}
        row |= {"choices": [one.target, *decoys], "label": 0, "answers": list(one.answers)}
        made[one.split].append(row)
    return made
