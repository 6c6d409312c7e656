"""Tiny files in the publishers' exact layouts, made up here; the same bytes on every call.

One small world of scenes (an image holds things with colours, counts and places, a person who does something) is asked
about in each publisher's manner. ``write_*`` put the files into a folder under the publisher's names; ``*_json`` give
the records for tests that spoil them first.
"""

import gzip
import json
import lzma
import zipfile
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

THINGS = (
    "cat", "dog", "train", "bench", "umbrella", "surfboard", "giraffe", "laptop", "pizza", "truck", "zebra", "kite",
    "clock", "vase", "bicycle", "sandwich", "skateboard", "elephant", "pony tail", "hot dog",
)  # fmt: skip
COLOURS = ("red", "green", "blue", "white", "black", "yellow", "brown", "orange")
PLACES = ("on the table", "on the street", "in the park", "at the beach", "in the kitchen", "under the tree")
PERSONS = ("man", "woman", "boy", "girl", "lady", "child")
DEEDS = ("walking", "eating", "skiing", "reading a book", "playing tennis", "cooking")
TIMES = ("morning", "noon", "night", "daytime", "summer", "winter")
REASONS = ("it is raining", "to keep warm", "to have fun", "he is hungry", "it is sunny", "to cross the road")

VISUAL_GENOME_IMAGES = (1, 2, 3, 6, 9, 10, 21, 32, 54, 61, *range(2_317_400, 2_317_460, 3))
"""30 images; 15, 6 and 9 of them are 50, 20 and 30%."""
VISUAL7W_SPLITS = {"train": VISUAL_GENOME_IMAGES[:10], "val": VISUAL_GENOME_IMAGES[10:14],
                   "test": VISUAL_GENOME_IMAGES[14:20]}  # fmt: skip
COCO_IMAGES = {
    "train2014": (9, 25, 30, 34, 36, 49, 61, 64, 71, 72, 77, 78, 81, 458_752),
    "val2014": (42, 73, 74, 133, 136, 139, 143, 262_148),
}
VQA_IMAGES = {
    "mscoco": {**COCO_IMAGES, "test2015": (1, 14, 16, 57), "test-dev2015": (1, 14)},
    "abstract_v002": {"train2015": (0, 2, 3, 5, 8, 11), "val2015": (20_000, 20_001, 20_007), "test2015": (30_000,)},
}
"""Images of each subset of VQA by the files' data_type; those of test subsets have no annotations."""


class Question(NamedTuple):
    """A question about a scene, its true answer, and others of its kind that are wrong."""

    kind: str
    question: str
    answer: str
    wrong: tuple[str, ...]


def scene(image_id: int) -> list[Question]:
    """Nine questions about the scene of an image, the same for the same image."""
    rng = Random(f"scene {image_id}")
    first, second, third = rng.sample(THINGS, 3)
    person, deed = rng.choice(PERSONS), rng.choice(DEEDS)
    numbers = tuple(str(number) for number in range(8))

    def question_of(kind: str, question: str, answer: str, pool: Sequence[str]) -> Question:
        return Question(kind, question, answer, tuple(rng.sample([text for text in pool if text != answer], 5)))

    return [
        question_of("what", f"What color is the {first}?", rng.choice(COLOURS), COLOURS),
        question_of("how", f"How many {second}s are there?", rng.choice(numbers[1:]), numbers),
        question_of("where", f"Where is the {first}?", rng.choice(PLACES), PLACES),
        question_of("who", f"Who is {deed}?", person, PERSONS),
        question_of("what", f"What is next to the {first}?", second, THINGS),
        question_of("when", "When was this photo taken?", rng.choice(TIMES), TIMES),
        question_of("why", f"Why is the {person} {deed}?", rng.choice(REASONS), REASONS),
        question_of("what", f"What is the {person} doing?", deed, DEEDS),
        question_of("is there a", f"Is there a {third}?", rng.choice(("yes", "no")), (*COLOURS, *THINGS)),
    ]


def pack(path: Path, suffix: str, inside: str = "") -> Path:
    """Replace a file by a compressed one: ``.zip``, ``.gz`` or ``.xz``; inside: the folder in the zip."""
    content = path.read_bytes()
    packed = path.with_name(path.name + suffix)
    if suffix == ".zip":
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo(inside + path.name, (2015, 5, 17, 0, 0, 0)), content)
    else:
        packed.write_bytes(gzip.compress(content, mtime=0) if suffix == ".gz" else lzma.compress(content))
    path.unlink()
    return packed


def _sentence(text: str) -> str:
    """In the manner of Visual7W and Visual Genome: a capital first, a full stop last."""
    return text[0].upper() + text[1:] + "."


def write_json(path: Path, value: object) -> None:
    """A json file, in folders made where they are missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), encoding="utf-8")


# Visual7W ------------------------------------------------------------------------------------------------------------


def visual7w_json() -> dict[str, Any]:
    """dataset_v7w_telling.json: 80 questions on 20 images, 3 decoys each."""
    images = []
    for split, image_ids in VISUAL7W_SPLITS.items():
        for image_id in image_ids:
            pairs = [
                {"qa_id": 1000 * VISUAL_GENOME_IMAGES.index(image_id) + number, "image_id": image_id,
                 "question": question.question, "answer": _sentence(question.answer),
                 "multiple_choices": [_sentence(wrong) for wrong in question.wrong[:3]], "type": question.kind}
                for number, question in enumerate(scene(image_id)[image_id % 3 :][:4])
            ]  # fmt: skip
            images.append({"image_id": image_id, "filename": f"v7w_{image_id}.jpg", "split": split, "qa_pairs": pairs})
    return {"dataset": "v7w_telling", "images": images}


def write_visual7w(folder: Path) -> Path:
    """Visual7W's dataset_v7w_telling.json: 40 / 16 / 24 questions."""
    path = folder / "dataset_v7w_telling.json"
    write_json(path, visual7w_json())
    return path


def visual7w_decoys_json(first_release: bool = False) -> dict[str, list[dict[str, Any]]]:
    """The authors' IoU and QoU decoys of each split, in Visual7W's order; the first release spelt two keys unlike."""
    qa_key, image_key = ("QA_id", "Img_id") if first_release else ("qa_id", "image_id")
    decoys: dict[str, list[dict[str, Any]]] = {"train": [], "val": [], "test": []}
    for image in visual7w_json()["images"]:
        for pair in image["qa_pairs"]:
            rng = Random(f"released {pair['qa_id']}")
            texts = [_sentence(text) for text in (*THINGS, *COLOURS, *PLACES) if _sentence(text) != pair["answer"]]
            drawn = rng.sample(texts, 6)
            ids = {qa_key: pair["qa_id"], image_key: image["image_id"]}
            decoys[image["split"]].append({"IoU_decoys": drawn[:3], **ids, "QoU_decoys": drawn[3:]})
    return decoys


def write_visual7w_decoys(folder: Path, first_release: bool = False) -> Path:
    """Visual7W_decoys.zip as its authors pack it."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "Visual7W_decoys.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("Visual7W_decoys/ReadMe.txt", "made up for tests")
        for split, records in visual7w_decoys_json(first_release).items():
            archive.writestr(f"Visual7W_decoys/v7w_{split}_decoys.json", json.dumps(records))
    return path


# VQA and VQA2 --------------------------------------------------------------------------------------------------------


def _vqa_header(subset: str, version: str, data_type: str) -> dict[str, Any]:
    info = {"description": f"made up for tests in the layout of v{version} of the VQA dataset.", "version": version}
    return {"info": info, "data_type": data_type, "data_subtype": subset, "license": {"name": "made up for tests"}}


def _vqa_questions(subset: str, data_type: str) -> list[tuple[int, int, Question]]:
    """(image id, question id, question): three an image, as VQA has; about a third of them ask for yes or no."""
    found = []
    for index, image_id in enumerate(VQA_IMAGES[data_type][subset]):
        questions = scene(image_id)
        for number, at in enumerate((index % 4, 4 + index % 4, 8)):
            found.append((image_id, image_id * 10 + number, questions[at]))
    return found


def vqa_questions_json(
    subset: str, multiple_choice: bool = True, version: str = "1.0", data_type: str = "mscoco"
) -> dict[str, Any]:
    """MultipleChoice_mscoco_*_questions.json (18 choices) or OpenEnded_mscoco_*_questions.json."""
    questions = []
    for image_id, question_id, question in _vqa_questions(subset, data_type):
        record: dict[str, Any] = {"image_id": image_id, "question": question.question, "question_id": question_id}
        if multiple_choice:
            texts = dict.fromkeys((*question.wrong, "yes", "no", "1", "2", "3", "4", *COLOURS, *THINGS))
            choices = [question.answer, *[text for text in texts if text != question.answer][:17]]
            Random(f"choices {question_id}").shuffle(choices)
            record["multiple_choices"] = choices
        questions.append(record)
    task = {"task_type": "Multiple-Choice", "num_choices": 18} if multiple_choice else {"task_type": "Open-Ended"}
    return {**_vqa_header(subset, version, data_type), **task, "questions": questions}


def vqa_annotations_json(subset: str, version: str = "1.0", data_type: str = "mscoco") -> dict[str, Any]:
    """mscoco_*_annotations.json: ten answers a question, the most frequent one apart."""
    annotations = []
    for image_id, question_id, question in _vqa_questions(subset, data_type):
        rng, answer = Random(f"answers {question_id}"), question.answer
        agreeing = rng.randint(6, 10)
        texts = [answer] * agreeing + [rng.choice(question.wrong) for _ in range(10 - agreeing)]
        rng.shuffle(texts)
        answers = [
            {"answer": text, "answer_confidence": rng.choice(("yes", "maybe", "no")), "answer_id": number}
            for number, text in enumerate(texts, start=1)
        ]
        kind = "yes/no" if answer in ("yes", "no") else "number" if answer.isdigit() else "other"
        annotations.append(
            {"question_type": " ".join(question.question.lower().split()[:2]), "multiple_choice_answer": answer,
             "answers": answers, "image_id": image_id, "answer_type": kind, "question_id": question_id}
        )  # fmt: skip
    return _vqa_header(subset, version, data_type) | {"annotations": annotations}


def write_vqa(
    folder: Path,
    multiple_choice: bool = True,
    version: str = "1.0",
    data_type: str = "mscoco",
    subsets: Sequence[str] = tuple(COCO_IMAGES),
) -> Path:
    """VQA as unzipped, by default v1, from the multiple-choice or the open-ended task: 42 / 24 questions."""
    prefix = "v2_" if version == "2.0" else ""
    task = "MultipleChoice" if multiple_choice else "OpenEnded"
    for subset in subsets:
        questions = vqa_questions_json(subset, multiple_choice, version, data_type)
        write_json(folder / f"{prefix}{task}_{data_type}_{subset}_questions.json", questions)
        if not subset.startswith("test"):
            annotations = vqa_annotations_json(subset, version, data_type)
            write_json(folder / f"{prefix}{data_type}_{subset}_annotations.json", annotations)
    return folder


def write_vqa2(folder: Path) -> Path:
    """VQA2 as unzipped: 42 / 24 questions."""
    return write_vqa(folder, multiple_choice=False, version="2.0")


def write_vqa_abstract(folder: Path) -> Path:
    """VQA's abstract scenes as unzipped, from the multiple-choice task: 18 / 9 questions, and 3 of test."""
    return write_vqa(folder, data_type="abstract_v002", subsets=tuple(VQA_IMAGES["abstract_v002"]))


# COCO-QA -------------------------------------------------------------------------------------------------------------


def cocoqa_texts() -> dict[str, str]:
    """{train,test}/{questions,answers,img_ids,types}.txt: one line a record, answers of one word."""
    texts = {}
    for split, subset in (("train", "train2014"), ("test", "val2014")):
        lines: dict[str, list[str]] = {"questions": [], "answers": [], "img_ids": [], "types": []}
        for index, image_id in enumerate(COCO_IMAGES[subset]):
            questions = scene(image_id)
            for at, kind in ((4, "0"), (1, "1"), (0, "2"), (2, "3"))[: 3 + index % 2]:
                question, answer = questions[at].question, questions[at].answer
                lines["questions"].append(question.lower().removesuffix("?"))
                lines["answers"].append("two" if answer.isdigit() else answer.split()[-1])
                lines["img_ids"].append(str(image_id))
                lines["types"].append(kind)
        texts.update({f"{split}/{name}.txt": "".join(f"{line}\n" for line in some) for name, some in lines.items()})
    return texts


def write_cocoqa(folder: Path) -> Path:
    """COCO-QA as unzipped: 49 / 28 questions."""
    for name, text in cocoqa_texts().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text.encode())
    return folder


# Visual Genome (qaVG) ------------------------------------------------------------------------------------------------


def visual_genome_json() -> list[dict[str, Any]]:
    """question_answers.json: 90 questions on 30 images, the 20 of Visual7W among them."""
    return [
        {"id": image_id, "qas": [
            {"a_objects": [], "question": question.question, "image_id": image_id, "qa_id": 1000 * index + number,
             "answer": _sentence(question.answer), "q_objects": []}
            for number, question in enumerate(scene(image_id)[image_id % 3 :][:3])]}
        for index, image_id in enumerate(VISUAL_GENOME_IMAGES)
    ]  # fmt: skip


def write_visual_genome(folder: Path, with_visual7w: bool = True) -> Path:
    """Visual Genome's question_answers.json, with Visual7W's file next to it."""
    write_json(folder / "question_answers.json", visual_genome_json())
    if with_visual7w:
        write_visual7w(folder)
    return folder


# easy-VQA ------------------------------------------------------------------------------------------------------------

ONE_PIXEL_PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63f8cfc000000301010018dd8db0"
    "0000000049454e44ae426082"
)


def easyvqa_json(split: str) -> list[list[Any]]:
    """data/{train,test}/questions.json of the package easy-vqa: [question, answer, image]."""
    questions: list[list[Any]] = []
    for image_id in range(16 if split == "train" else 6):
        rng = Random(f"shape {split} {image_id}")
        shape, colour = rng.choice(("circle", "rectangle", "triangle")), rng.choice(COLOURS)
        named = rng.choice(("circle", "rectangle", "triangle"))
        questions.append([f"what is the {colour} shape?", shape, image_id])
        questions.append([f"what color is the {shape}?", colour, image_id])
        questions.append([f"does the image contain a {named}?", "yes" if named == shape else "no", image_id])
    return questions


def write_easyvqa(folder: Path) -> Path:
    """The data folder of the package easy-vqa: 48 / 18 questions, one pixel an image."""
    for split in ("train", "test"):
        questions = easyvqa_json(split)
        write_json(folder / split / "questions.json", questions)
        for image_id in {image_id for _, _, image_id in questions}:
            image = folder / split / "images" / f"{image_id}.png"
            image.parent.mkdir(parents=True, exist_ok=True)
            image.write_bytes(ONE_PIXEL_PNG)
    return folder


def write_triplets(folder: Path, images: int = 12) -> Path:
    """Own triplets, three questions an image, in a Parquet file per split: half of the images are for training."""
    from hf_vqa_mc.schema import TRIPLETS  # here, as the publishers' files need nothing of the package

    folder.mkdir(parents=True, exist_ok=True)
    schema = pa.schema([field for field in TRIPLETS if field.name != "split"])
    ends = {"train": images // 2, "validation": 3 * images // 4, "test": images}
    for (split, end), first in zip(ends.items(), (0, *ends.values()), strict=False):
        rows = []
        for image in range(first, end):
            rng = Random(image)
            asked = {f"what is {rng.choice(PLACES)}?": THINGS, f"what color is the {rng.choice(THINGS)}?": COLOURS,
                     f"what is the {rng.choice(PERSONS)} doing?": DEEDS}  # fmt: skip
            for number, (question, answers) in enumerate(asked.items()):
                target = rng.choice(answers)
                rows.append({
                    "question_id": f"{image}-{number}", "image_id": f"{image}", "question": question, "target": target,
                    "answers": [target], "orig_decoys": [text for text in answers if text != target][:3],
                    "question_type": "what", "answer_type": "other", "image_file": f"{image}.jpg",
                })  # fmt: skip
        pq.write_table(pa.Table.from_pylist(rows, schema), folder / f"{split}-00000.parquet")
    return folder
