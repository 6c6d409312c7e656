"""Goyal et al. 2017: people pick a similar image with another answer, then ten write the answer for it.

The result is files in VQA2's layout: questions, annotations and complementary pairs.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from hf_vqa_mc.data.files import read_file
from hf_vqa_mc.data.loading import chosen_split, load_splits
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.atomic import json_bytes, write_json
from hf_vqa_mc.io.json_stream import json_lines
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.sources.vqa2 import pairs_name
from hf_vqa_mc.sources.vqa_files import ANSWERS, V2
from hf_vqa_mc.studies import kind
from hf_vqa_mc.studies.items import Material, with_images
from hf_vqa_mc.studies.kind import IMAGE, NONE, QUESTION, Answered, Condition, Item, Outcome, StudyKind
from hf_vqa_mc.studies.measures import by_item, most_frequent, summary, values
from hf_vqa_mc.studies.options import StudyOptions
from hf_vqa_mc.studies.writing import BRIEF, rows_first, texts_of

PICKS = "picks.jsonl"
NUMBERS = frozenset("0123456789")


def read_candidates(options: StudyOptions, progress: Progress) -> Material:
    """The questions of ``vqa-mc generate complementary`` with their candidates, the nearest image first."""
    path = options.candidates
    assert path is not None  # noqa: S101  checked by new_study
    items = []
    for number, row in enumerate(read_file(path).to_pylist(), start=1):
        try:
            pairs = sorted(zip(row["distances"], row["candidates"], strict=True), key=lambda pair: pair[0])
            if not pairs or not all(row[name] for name in ("question_id", "image_id", "question", "answer")):
                raise ValueError("a text or all candidates are missing")
            known = {"image_id": row["image_id"], "candidates": [candidate for _, candidate in pairs]}
            items.append(Item(row["question_id"], row["question"], [row["answer"]], [], known=known))
        except (KeyError, TypeError, ValueError) as error:
            expected = f"a record of vqa-mc generate complementary ({error})"
            raise InputError(f"{path}, record {number}: expected {expected}") from error
    return _material(options, items, lambda item: [item.known["image_id"], *item.known["candidates"]])


def _material(options: StudyOptions, items: list[Item], images_of: Callable[[Item], list[str]]) -> Material:
    config, _ = load_splits(options.dataset_name, options.config)
    return with_images(f"{public_name(options.dataset_name)}, {config}", options, config, items, images_of)


def _picked(answered: Sequence[Answered]) -> Outcome:
    questions = by_item(answered)
    items = []
    for answers in questions.values():
        item, picks = answers[0].item, [one.value for one in answers]
        pick, candidates = most_frequent(picks), item.known["candidates"]
        items.append(
            {
                "question_id": item.question_id,
                "image_id": item.known["image_id"],
                "question": item.question,
                "answer": item.choices[0],
                "picked": pick,
                "picked_image_id": "" if pick == NONE else candidates[pick],
                "votes": [picks.count(number) for number in range(NONE, len(candidates))],
                "answers": len(answers),
            }
        )
    items.sort(key=lambda row: (row["picked"] != NONE, row["question_id"]))
    possible = [row for row in items if row["picked"] != NONE]
    row = summary("full", answered, values(questions)) | {
        "share_not_possible": 1 - len(possible) / len(items),
        "share_nearest": sum(row["picked"] == 0 for row in possible) / len(items),
    }

    def write(folder: Path) -> None:
        (folder / PICKS).write_bytes(b"".join(map(json_bytes, possible)))

    usage = [f"vqa-mc study create DATASET CONFIG --kind picked-answers --candidates FOLDER/{PICKS}"]
    return Outcome({"conditions": [row]}, [row], items, write, usage=usage)


def read_picks(options: StudyOptions, progress: Progress) -> Material:
    """The questions of the picked images; raises InputError unless the dataset has the ten answers of each question.

    A new question has the id of the picked image and three more digits, the first ones that are free.
    """
    dataset = options.dataset_name
    config, splits = load_splits(dataset, options.config)
    split = chosen_split(list(splits), options.split, f"{dataset}, {config}")
    wanted = ("question_id", "image_id", "answers", "question_type")
    names = [one for one in wanted if one in splits[split].column_names]
    rows = {str(row["question_id"]): row for row in splits[split].select_columns(names)}
    taken, items = set(rows), []
    path = options.candidates
    assert path is not None  # noqa: S101  checked by new_study
    for number, pick in json_lines(path):
        records = Records([pick], partial("{}, line {}".format, path, number))
        fields = ("question_id", "image_id", "picked_image_id", "question", "answer")
        question_id, image_id, picked, question, answer = (records.filled_texts(name)[0] for name in fields)
        row = rows.get(question_id, {})
        if len(row.get("answers") or []) != ANSWERS or not {*picked, *image_id, *question_id} <= NUMBERS:
            raise InputError(
                f"{path}, line {number}: question {shown(question_id)}: expected whole numbers as ids, and a "
                f"question of {dataset}, {config}, {split} with {ANSWERS} answers, as VQA2's files need"
            )
        new = next(f"{picked}{at:03d}" for at in count() if f"{picked}{at:03d}" not in taken)
        taken.add(new)
        original = {"question_id": question_id, "image_id": image_id, "answer": answer, "answers": row["answers"]}
        original["question_type"] = row.get("question_type") or ""
        items.append(Item(new, question, [], [], known={"image_id": picked, "original": original, "split": split}))
    return _material(options, items, lambda item: [item.known["image_id"]])


def _pairs(answered: Sequence[Answered]) -> Outcome:
    questions = by_item(answered)
    complete = {name: answers[:ANSWERS] for name, answers in questions.items() if len(answers) >= ANSWERS}
    items = [
        {
            "question_id": name,
            "image_id": answers[0].item.known["image_id"],
            "question": answers[0].item.question,
            "answer": rows_first(answers).value["text"],
            "original_answer": answers[0].item.known["original"]["answer"],
            "written": texts_of(answers),
        }
        for name, answers in questions.items()
    ]
    items.sort(key=lambda row: (row["answer"] != row["original_answer"], row["question_id"]))
    row = summary("full", answered, list(map(texts_of, questions.values()))) | {
        "pairs": len(complete),
        "share_same_answer": sum(row["answer"] == row["original_answer"] for row in items) / len(items),
    }
    write = partial(_write_vqa2, complete=complete)
    return Outcome({"conditions": [row]}, [row], items, write, usage=["vqa-mc build vqa2 --data-dir FOLDER"])


def _write_vqa2(folder: Path, complete: dict[str, list[Answered]]) -> None:
    """Write questions, annotations and pairs of the questions with ten answers, if there are any."""
    if not complete:
        return
    questions, annotations, pairs = dict[int, Any](), dict[int, Any](), []
    for answers in complete.values():
        item, original = answers[0].item, answers[0].item.known["original"]
        text = rows_first(answers).value["text"]
        picked = {"question_id": item.question_id, "image_id": item.known["image_id"], "answer": text}
        old = [(text, "") for text in original["answers"]]
        new = [(one.value["text"], one.value["confidence"]) for one in answers]
        pairs.append([int(original["question_id"]), int(item.question_id)])
        for about, given in ((original, old), (picked, new)):
            ids = {name: int(about[name]) for name in ("question_id", "image_id")}
            questions[ids["question_id"]] = {**ids, "question": item.question}
            annotations[ids["question_id"]] = {
                **ids,
                "question_type": original["question_type"],
                "answer_type": answer_type([text for text, _ in given]),
                "multiple_choice_answer": about["answer"],
                "answers": [
                    {"answer": text, "answer_confidence": sure, "answer_id": number}
                    for number, (text, sure) in enumerate(given, start=1)
                ],
            }
    split = item.known["split"]  # the same of all
    subset = next((one for one, other in V2.subsets.items() if other == split), "val2014")
    write_json(folder / V2.questions_name(subset), {"questions": list(questions.values())})
    write_json(folder / V2.annotations_name(subset), {"annotations": list(annotations.values())})
    write_json(folder / pairs_name(subset), pairs)


def answer_type(texts: Sequence[str]) -> str:
    """VQA's type of a question's answers, by the most frequent one: yes/no, number or other.

    >>> answer_type(["yes", "yes", "2"]), answer_type(["2"]), answer_type(["red"])
    ('yes/no', 'number', 'other')
    """
    found = Counter(text.strip().lower() for text in texts).most_common(1)[0][0]
    return "yes/no" if found in ("yes", "no") else "number" if found.isdecimal() else "other"


PICK = (
    "Pick an image for which the question makes sense too, and the answer is different. What the question takes for "
    "granted must be true: “What is the woman doing?” needs a woman. If no image fits, say so."
)
PICKER = StudyKind(
    "picker",
    "Same question, other answer",
    "people pick, of the most similar images, one for which the question makes sense and has another answer",
    "Goyal et al. 2017, Sect. 3",
    kind.CHOOSE_IMAGE,
    (Condition("full", PICK, (IMAGE, QUESTION, kind.ANSWER)),),
    results=_picked,
    reads=read_candidates,
    needs="candidates",
)
PICKED_ANSWERS = StudyKind(
    "picked-answers",
    "Answer questions",
    "ten people write the answer for the picked image; the results are files in VQA2's layout",
    "Goyal et al. 2017, Sect. 3",
    kind.WRITE_WITH_CONFIDENCE,
    (Condition("full", BRIEF, (IMAGE, QUESTION), annotators=ANSWERS),),
    results=_pairs,
    reads=read_picks,
    needs="candidates",
)
