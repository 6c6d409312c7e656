"""Small files in the exact layout of their publishers, and predictions for them."""

import json
from pathlib import Path
from typing import Any

TDIUC = [
    (1, "color", "What color is the cat?", "black"),
    (2, "color", "What color is the dog?", "white"),
    (3, "counting", "How many cats are there?", "two"),
    (4, "absurd", "What color is the dog?", "doesnotapply"),
]
GQA = {
    "201": ("query", True, "red", "n1", ["202"]),
    "202": ("verify", True, "yes", "n1", ["203"]),
    "203": ("verify", False, "yes", "n1", []),
    "204": ("query", True, "dog", "n2", []),
}


def write(path: Path, value: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return path


def vqa_annotations(**other_answers: list[str]) -> list[dict[str, Any]]:
    """Three annotations; the answers of one can be given by its question id with a q before it."""
    answers = {"q1": ["red"] * 10, "q2": ["2"] * 5 + ["two"] * 5, "q3": ["yes"] * 2 + ["no"] * 8, **other_answers}
    types = {"q1": ("what color is the", "other"), "q2": ("how many", "number"), "q3": ("is the", "yes/no")}
    return [
        {
            "question_id": int(name[1:]),
            "image_id": 7 if name < "q3" else 8,
            "question_type": types[name][0],
            "answer_type": types[name][1],
            "multiple_choice_answer": max(texts, key=texts.count),
            "answers": [
                {"answer": text, "answer_confidence": "yes", "answer_id": number}
                for number, text in enumerate(texts, 1)
            ],
        }
        for name, texts in answers.items()
    ]


def vqa_file(folder: Path, **other_answers: list[str]) -> Path:
    """An annotation file as published, its header after the list as in the real ones."""
    content = {"info": {"version": "2.0"}, "annotations": vqa_annotations(**other_answers), "data_type": "mscoco"}
    return write(folder / "v2_mscoco_val2014_annotations.json", {**content, "data_subtype": "val2014"})


def vqa_questions(folder: Path, choices: bool = False) -> Path:
    texts = {1: "What color is the cat?", 2: "How many cats?", 3: "Is the cat red?"}
    records = [
        {"question_id": name, "image_id": 7, "question": text, **({"multiple_choices": CHOICES} if choices else {})}
        for name, text in texts.items()
    ]
    return write(folder / "questions.json", {"info": {}, "questions": records})


CHOICES = ["red", "2", "yes", "no", "blue"]


def tdiuc_file(folder: Path) -> Path:
    annotations = [
        {
            "question_id": name,
            "image_id": 10 + name,
            "question_type": kind,
            "ans_source": "generated",
            "answers": [{"answer": answer, "answer_confidence": "yes", "answer_id": 1}],
        }
        for name, kind, _, answer in TDIUC
    ]
    return write(folder / "mscoco_val2014_annotations.json", {"info": {}, "annotations": annotations})


def tdiuc_questions(folder: Path) -> Path:
    records = [{"question_id": name, "image_id": 10 + name, "question": text} for name, _, text, _ in TDIUC]
    return write(folder / "OpenEnded_mscoco_val2014_questions.json", {"questions": records})


def gqa_records() -> dict[str, dict[str, Any]]:
    return {
        name: {
            "question": "What color is it?",
            "answer": answer,
            "fullAnswer": "",
            "isBalanced": balanced,
            "imageId": image,
            "types": {"structural": structural, "semantic": "attr", "detailed": "attr"},
            "groups": {"global": "color", "local": "x"},
            "semantic": [{"operation": "select", "argument": "it (1)", "dependencies": []}],
            "semanticStr": "select: it (1)",
            "entailed": entailed,
            "equivalent": [name],
            "annotations": {"question": {"3": "1"}, "answer": {}, "fullAnswer": {}},
        }
        for name, (structural, balanced, answer, image, entailed) in GQA.items()
    }


def gqa_file(folder: Path) -> Path:
    return write(folder / "val_all_questions.json", gqa_records())


def scene_graphs() -> dict[str, Any]:
    box = {"name": "thing", "x": 0, "y": 0, "w": 50, "h": 100, "attributes": [], "relations": []}
    return {image: {"width": 100, "height": 100, "objects": {"1": box}} for image in ("n1", "n2")}
