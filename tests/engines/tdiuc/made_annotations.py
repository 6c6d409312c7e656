"""COCO, Visual Genome and VQA files made up by a seed, in their publishers' layouts."""

import json
from pathlib import Path
from random import Random
from typing import Any

CATEGORIES = {
    "person": ["person"],
    "vehicle": ["bicycle", "car", "motorcycle", "airplane", "bus", "train", "truck", "boat"],
    "outdoor": ["traffic light", "fire hydrant", "stop sign", "parking meter", "bench"],
    "animal": ["bird", "cat", "dog", "horse", "sheep", "cow", "elephant", "bear", "zebra", "giraffe"],
    "accessory": ["backpack", "umbrella", "handbag", "tie", "suitcase"],
    "sports": [
        *["frisbee", "skis", "snowboard", "sports ball", "kite", "baseball bat", "baseball glove", "skateboard"],
        *["surfboard", "tennis racket"],
    ],
    "kitchen": ["bottle", "wine glass", "cup", "fork", "knife", "spoon", "bowl"],
    "food": [*["banana", "apple", "sandwich", "orange", "broccoli", "carrot", "hot dog", "pizza", "donut", "cake"]],
    "furniture": ["chair", "couch", "potted plant", "bed", "dining table", "toilet"],
    "electronic": ["tv", "laptop", "mouse", "remote", "keyboard", "cell phone"],
    "appliance": ["microwave", "oven", "toaster", "sink", "refrigerator"],
    "indoor": ["book", "clock", "vase", "scissors", "teddy bear", "hair drier", "toothbrush"],
}
NAMES = [(name, group) for group, names in CATEGORIES.items() for name in names]
SCENES = ("vehicle outdoor person", "animal person", "kitchen food appliance furniture", "electronic indoor furniture")
SCENES += ("person sports", "appliance indoor accessory", "outdoor", "furniture indoor person")


def instances(images: int, seed: int = 0, name: str = "{:012d}.jpg", first: int = 1) -> dict[str, Any]:
    """A COCO instances file."""
    rng = Random(seed)
    listed: list[dict[str, Any]] = []
    annotations: list[dict[str, Any]] = []
    for image_id in range(first, first + images):
        groups = rng.choice(SCENES).split()
        names = [at for at, (_, group) in enumerate(NAMES) if group in groups]
        listed.append({"id": image_id, "file_name": name.format(image_id), "width": 640, "height": 480})
        for category in rng.sample(names, min(len(names), rng.randint(1, 5))):
            for _ in range(rng.choice((1, 1, 1, 2, 3))):
                box = [rng.randrange(600), rng.randrange(440), rng.randint(5, 200), rng.randint(5, 200)]
                annotations.append(
                    {
                        "id": len(annotations) + 1000 * first,
                        "image_id": image_id,
                        "category_id": category + 1,
                        "bbox": box,
                        "area": box[2] * box[3] * 0.7,
                        "iscrowd": int(rng.random() < 0.05),
                    }
                )
    rng.shuffle(annotations)
    return instances_file(listed, annotations)


def instances_file(images: list[dict[str, Any]], annotations: list[dict[str, Any]]) -> dict[str, Any]:
    """A file of given images and objects."""
    categories = [{"id": at + 1, "name": name, "supercategory": group} for at, (name, group) in enumerate(NAMES)]
    return {"info": {}, "images": images, "licenses": [], "annotations": annotations, "categories": categories}


def one_image(*objects: tuple[str, list[float]], image_id: int = 7, crowd: bool = False) -> dict[str, Any]:
    """A file with one image of 640 x 480 and these objects, each with its box."""
    numbers = {name: at + 1 for at, (name, _) in enumerate(NAMES)}
    return instances_file(
        [{"id": image_id, "file_name": f"{image_id:012d}.jpg", "width": 640, "height": 480}],
        [
            {
                "id": at,
                "image_id": image_id,
                "category_id": numbers[name],
                "bbox": box,
                "area": box[2] * box[3],
                "iscrowd": int(crowd),
            }
            for at, (name, box) in enumerate(objects)
        ],
    )


def write(path: Path, content: object) -> Path:
    """A json file."""
    path.write_text(json.dumps(content), "utf-8")
    return path


def write_genome(folder: Path, images: int = 60, seed: int = 0) -> Path:
    """A folder of Visual Genome's files; every third image is COCO's."""
    rng = Random(seed)
    folder.mkdir()
    nouns = ["dog", "cat", "car", "chair", "bus", "tree", "lamp", "white horse", "tv", "delivery truck", "man", "vase"]
    colors = ["white", "black", "red", "grey", "tall", "dark blue", "wooden"]
    predicates = ["behind", "in front of", "to right of", "on left of", "on", "under", "ABOVE", "has"]
    data: dict[str, list[Any]] = {"objects": [], "attributes": [], "relationships": [], "question_answers": []}
    known = []
    for image_id in range(1, images + 1):
        known.append(
            {"image_id": image_id, "width": 640, "height": 480, "coco_id": image_id if image_id % 3 == 0 else None}
        )
        objects = [
            {
                "object_id": image_id * 100 + at,
                "names": [noun],
                "synsets": [f"{noun.split()[-1]}.n.01"],
                "x": rng.randrange(500),
                "y": rng.randrange(400),
                "w": rng.randint(10, 200),
                "h": rng.randint(10, 200),
            }
            for at, noun in enumerate(rng.choices(nouns, k=6))
        ]
        data["objects"].append({"image_id": image_id, "objects": objects})
        described = [{**one, "attributes": rng.sample(colors, rng.randint(1, 2))} for one in objects]
        data["attributes"].append({"image_id": image_id, "attributes": described})
        relations = [
            {"predicate": rng.choice(predicates), "subject": one, "object": other, "relationship_id": at}
            for at, (one, other) in enumerate(rng.sample(objects, 2) for _ in range(5))
        ]
        data["relationships"].append({"image_id": image_id, "relationships": relations})
        pairs = [("What color is the  sky ?", "Blue."), ("How many dogs are there?", "2"), ("Why?", "Because.")]
        data["question_answers"].append(
            {"id": image_id, "qas": [{"question": one, "answer": other, "qa_id": 1} for one, other in pairs]}
        )
    for name, content in {**data, "image_data": known}.items():
        write(folder / f"{name}.json", content)
    return folder


VQA_QUESTIONS = (
    ("What color is the dog?", ["brown"] * 6 + ["red"] * 4),
    ("What color is the train?", ["green"] * 10),
    ("what color is the umbrella ??", ["red"] * 4 + ["pink"] * 3 + ["blue"] * 3),
    ("How many people are there?", ["2"] * 10),
    ("Is there a dog in the picture?", ["yes"] * 9 + ["no"]),
    ("Is there a couch?", ["yes"] * 10),
    ("What is the man doing?", ["eating"] * 7 + ["sitting"] * 3),
    ("What sport is this?", ["Tennis."] * 10),
    ("Is it raining?", ["no"] * 10),
    ("Are they happy?", ["yes"] * 8 + ["no"] * 2),
    ("What is behind the bench?", ["trees"] * 10),
    ("What kind of animal is this?", ["polar bear"] * 10),
    ("What is the table made of?", ["wood"] * 10),
    ("What does the long sign on the wall say?", ["do not enter here"] * 10),
)
"""Questions with ten answers each, most of which some template fits."""


def write_vqa(folder: Path, images: int = 40) -> Path:
    """A folder in the layout of COCO-VQA."""
    folder.mkdir()
    for number, subset in enumerate(("train2014", "val2014")):
        questions: list[dict[str, Any]] = []
        annotations: list[dict[str, Any]] = []
        for image_id in range(100_001 + 1000 * number, 100_001 + 1000 * number + images):
            for at, (question, answers) in enumerate(VQA_QUESTIONS):
                key = {"image_id": image_id, "question_id": image_id * 100 + at}
                questions.append({**key, "question": question})
                ten = [
                    {"answer": one, "answer_id": at + 1, "answer_confidence": "yes"} for at, one in enumerate(answers)
                ]
                annotations.append({**key, "answers": ten, "multiple_choice_answer": answers[0]})
        write(folder / f"OpenEnded_mscoco_{subset}_questions.json", {"questions": questions})
        write(folder / f"mscoco_{subset}_annotations.json", {"annotations": annotations})
    return folder
