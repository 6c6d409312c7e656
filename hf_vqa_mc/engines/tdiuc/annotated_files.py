"""The two types that people write by hand: Kafle and Kanan 2017, "Manual Annotation"."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

from hf_vqa_mc.engines.tdiuc.answers import tidy_answer, tidy_question
from hf_vqa_mc.engines.tdiuc.images import SPLITS, Images, subset_in
from hf_vqa_mc.engines.tdiuc.question import HAND_ANNOTATED, Made
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import json_lines
from hf_vqa_mc.io.records import LARGEST, Records, read_records
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES
from hf_vqa_mc.sources.files import Folder, PublishedFile
from hf_vqa_mc.sources.tdiuc import GENOME_OFFSET, subsets_there
from hf_vqa_mc.sources.vqa import annotations_name, questions_name

_JSON_LINES = (".jsonl", ".jsonl.gz", ".jsonl.xz", ".ndjson")


def read_annotated(path: Path, images: Images, made: Made) -> None:
    """Adds the hand-annotated questions of a file.

    Args:
        path: json lines (.jsonl, also .gz or .xz) with image_id, question, answer and question_type; or one of TDIUC's
            annotation files, beside which its question file lies, or a folder with both.
        images: learns of the images; those known already keep their split.
        made: takes the questions; those of other types in TDIUC's files are counted.

    Raises:
        InputError: names the file, the record and the field.
    """
    if path.is_file() and path.name.endswith(_JSON_LINES):
        _read_lines(path, images, made)
    elif path.is_dir():
        folder = Folder(path)
        empty: dict[str, str] = {}
        subsets_there(folder, empty)
        there = [subset for subset in SPLITS if folder.has(annotations_name(subset))]
        for told in [subset for subset in there if questions_name(subset) not in empty] or SPLITS:
            _read_layout(folder.find(annotations_name(told)), folder, told, images, made)
    elif path.is_file():
        subset = subset_in(path.name)
        if subset is None or "annotations.json" not in path.name:
            raise InputError(
                f"--annotated {path}: expected json lines ({', '.join(_JSON_LINES)}), or TDIUC's "
                "mscoco_train2014_annotations.json or mscoco_val2014_annotations.json; rename it, or name the "
                "folder of TDIUC's files"
            )
        _read_layout(PublishedFile(path.name, path), Folder(path.parent), subset, images, made)
    else:
        raise InputError(f"--annotated {path}: there is no such file; name one")


def _read_lines(path: Path, images: Images, made: Made) -> None:
    for number, row in json_lines(path):
        record = Records([row], partial("{}, line {}".format, path, number))
        kind = record.texts("question_type")[0]
        if kind not in HAND_ANNOTATED:
            raise record.unexpected(0, "question_type", f"one of {', '.join(HAND_ANNOTATED)}", kind)
        image_id = record.whole_numbers("image_id")[0]
        images.add(image_id, "genome" if image_id > GENOME_OFFSET else "uploaded", None, str(path))
        question, answer = record.filled_texts("question")[0], record.filled_texts("answer")[0]
        if not tidy_answer(answer):
            raise record.unexpected(0, "answer", "a word", answer)
        made.ask(image_id, tidy_question(question), tidy_answer(answer), kind, "annotated")


def _read_layout(file: PublishedFile, folder: Folder, subset: str, images: Images, made: Made) -> None:
    wanted: dict[str, tuple[int, str, str, str]] = {}
    meanings = {name: name for name in QUESTION_TYPES}
    for records in read_records(file, "annotations"):
        answers = [one[0] if one else {} for one in records.lists("answers")]
        first = Records(answers, partial(_first_answer, records.place)).filled_texts("answer")
        rows = zip(
            records.ids("question_id"),
            records.whole_numbers("image_id"),
            records.named("question_type", meanings),
            first,
            strict=True,
        )
        for at, (question_id, image_id, kind, answer) in enumerate(rows):
            if kind in HAND_ANNOTATED:
                wanted[question_id] = (image_id, kind, tidy_answer(answer), records.place(at))
            else:
                made.left_out[f"annotated: {kind}, which is not annotated by hand"] += 1
    for records in read_records(folder.find(questions_name(subset)), "questions"):
        for question_id, question in zip(records.ids("question_id"), records.filled_texts("question"), strict=True):
            if question_id in wanted:
                image_id, kind, answer, place = wanted.pop(question_id)
                images.add(image_id, "uploaded", subset if image_id <= LARGEST else None, place)
                made.ask(image_id, tidy_question(question), answer, kind, "annotated")
    if wanted:
        question_id, (_, _, _, place) = next(iter(wanted.items()))
        raise InputError(
            f"{place}: question_id {question_id} is not in {questions_name(subset)} "
            f"({len(wanted):,} are not); give files of the same release"
        )


def _first_answer(place: Callable[[int], str], at: int) -> str:
    return f"{place(at)}.answers[0]"
