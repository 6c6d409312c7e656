"""Tiny files of GQA, TDIUC, all subsets of VQA, and VQA2's pairs in their publishers' layouts, made up here."""

from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import Any

from tests.sources.fixtures import (
    COCO_IMAGES,
    COLOURS,
    THINGS,
    VQA_IMAGES,
    scene,
    vqa_questions_json,
    write_json,
    write_vqa,
    write_vqa2,
)

GQA_IMAGES = {"train": range(10), "val": range(10, 14), "testdev": range(14, 18), "test": range(18, 20),
              "challenge": range(20, 22)}  # fmt: skip
TDIUC_OF = {"how": "counting", "what": "color", "where": "positional_reasoning", "is there a": "object_presence",
            "who": "object_recognition", "when": "scene_recognition", "why": "sentiment_understanding"}  # fmt: skip


def gqa_json(split: str, kind: str = "balanced") -> dict[str, dict[str, Any]]:
    """{split}_{kind}_questions.json: eight questions an image, half of them balanced; none of test has an answer."""
    records = {}
    for image in GQA_IMAGES[split]:
        rng = Random(f"gqa {image}")
        for number, thing in enumerate(rng.sample(THINGS, 4)):
            for which, colour in enumerate(("query", "verify")):
                question_id = f"{image:02d}{number}{which}"
                record = _gqa_record(f"n{image}", thing, rng.choice(COLOURS), colour, question_id)
                record["isBalanced"] = bool(which) == bool(number % 2)
                if split in ("test", "challenge"):
                    record = {key: record[key] for key in ("isBalanced", "question", "imageId")}
                if kind == "all" or record["isBalanced"]:
                    records[question_id] = record
    return records


def _gqa_record(image: str, thing: str, colour: str, structural: str, question_id: str) -> dict[str, Any]:
    is_query = structural == "query"
    last = {"operation": "query" if is_query else "verify color", "argument": "color" if is_query else colour}
    steps = [{"operation": "select", "argument": f"{thing} (7)", "dependencies": []}, {**last, "dependencies": [0]}]
    return {
        "semantic": steps,
        "entailed": [question_id[:-1] + "1"],
        "equivalent": [question_id],
        "question": f"What color is the {thing}?" if is_query else f"Is the {thing} {colour}?",
        "imageId": image,
        "isBalanced": True,
        "groups": {"global": "color" if is_query else None, "local": f"10q-{thing}_color"},
        "answer": colour if is_query else "yes",
        "semanticStr": "->".join(f"{s['operation']}: {s['argument']} {s['dependencies'] or ''}" for s in steps),
        "annotations": {"answer": {}, "question": {"4": "7"}, "fullAnswer": {"1:3": "7"}},
        "types": {"detailed": "attr", "semantic": "attr", "structural": structural},
        "fullAnswer": f"The {thing} is {colour}." if is_query else f"Yes, the {thing} is {colour}.",
    }


def write_gqa(folder: Path, kinds: Iterable[str] = ("balanced", "all")) -> Path:
    """GQA's questions as unzipped, those of all of train in parts: balanced 40 / 16 / 16, all 80 / 32 / 32."""
    for kind in kinds:
        for split in GQA_IMAGES:
            records = gqa_json(split, kind)
            if (split, kind) == ("train", "all"):
                for part in range(3):
                    some = dict(list(records.items())[part::3])
                    write_json(folder / "train_all_questions" / f"train_all_questions_{part}.json", some)
            else:
                write_json(folder / f"{split}_{kind}_questions.json", records)
    return folder


def tdiuc_json(subset: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Questions and annotations: nine questions an image, the last of them absurd."""
    questions, annotations = [], []
    for image in COCO_IMAGES[subset]:
        for number, question in enumerate([*scene(image)[:8], scene(image)[8]]):
            question_id = 10 * image + number
            kind = "absurd" if number == 4 else TDIUC_OF[question.kind]
            answer = "doesnotapply" if kind == "absurd" else question.answer
            questions.append({"image_id": image, "question": question.question, "question_id": question_id})
            annotations.append(
                {
                    "question_id": question_id,
                    "image_id": image,
                    "question_type": kind,
                    "answers": [{"answer": answer, "answer_confidence": "yes", "answer_id": 1}],
                    "ans_source": ("imported_vqa", "imported_genome", "generated")[number % 3],
                }
            )
    return {"questions": questions}, {"annotations": annotations}


def write_tdiuc(folder: Path) -> Path:
    """TDIUC as unzipped: 126 / 72 questions, 14 / 8 of them absurd, 14 / 8 of object presence."""
    for subset in COCO_IMAGES:
        questions, annotations = tdiuc_json(subset)
        write_json(folder / "Questions" / f"OpenEnded_mscoco_{subset}_questions.json", questions)
        write_json(folder / "Annotations" / f"mscoco_{subset}_annotations.json", annotations)
    return folder


def pairs_json(subset: str) -> list[list[int]]:
    """v2_mscoco_{subset}_complementary_pairs.json: questions of one text, two by two."""
    by_text: dict[str, list[int]] = {}
    for question in vqa_questions_json(subset, multiple_choice=False)["questions"]:
        by_text.setdefault(question["question"], []).append(question["question_id"])
    shared = [ids for ids in by_text.values() if len(ids) > 1]
    return [list(pair) for ids in shared for pair in zip(ids[::2], ids[1::2], strict=False)]


def write_vqa_open(folder: Path) -> Path:
    """VQA (v1) as unzipped, all subsets of the open-ended task: 42 / 24 / 12 questions, 6 of them in test-dev."""
    return write_vqa(folder, multiple_choice=False, subsets=tuple(VQA_IMAGES["mscoco"]))


def write_vqa2_pairs(folder: Path) -> Path:
    """VQA2 with its lists of pairs and its test questions: 42 / 24 / 12 questions."""
    write_vqa2(folder)
    write_vqa(folder, multiple_choice=False, version="2.0", subsets=["test2015"])
    for subset in COCO_IMAGES:
        write_json(folder / f"v2_mscoco_{subset}_complementary_pairs.json", pairs_json(subset))
    return folder
