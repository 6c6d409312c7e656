"""Human questions: imported from COCO-VQA and Visual Genome, or hand-annotated for two types.

Kafle and Kanan 2017, "Importing Questions from Existing Datasets" and "Manual Annotation". The rules for the type of a
question are in ``data/imported_types.yaml``; they cover every type but object utility.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.engines.tdiuc.genome import QUESTIONS, written_id
from hf_vqa_mc.engines.tdiuc.questions import HAND_ANNOTATED, NO, SPLITS, YES, Collected, Origin, subset_in
from hf_vqa_mc.engines.tdiuc.words import ANSWERS, CLOSED, names_many, objects_named, tidy_answer, tidy_question
from hf_vqa_mc.engines.vocabulary import Vocabulary
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import json_lines
from hf_vqa_mc.io.records import LARGEST, Records, read_records
from hf_vqa_mc.scoring.tdiuc_types import PRESENCE
from hf_vqa_mc.sources.files import Folder, PublishedFile
from hf_vqa_mc.sources.table import read_annotated, text_lists
from hf_vqa_mc.sources.tdiuc import GENOME_OFFSET, annotation_columns, available_subsets
from hf_vqa_mc.sources.vqa_files import V1, V2, id_columns, question_columns


@dataclass(frozen=True)
class Rule:
    """A type with its answers and questions."""

    type: str
    answers: str
    questions: tuple[str, ...]


_TYPES = Vocabulary("tdiuc/imported_types")
_NOT_OPEN = ANSWERS["not open"].union((YES, NO), *CLOSED.values())
ANSWER_LISTS = CLOSED | {"yes or no": frozenset((YES, NO))}
ANSWER_LISTS |= {key: ANSWERS[key] for key in ("sports", "activities", "places", "scenes")}
_BY_TYPE = _TYPES.read("rules", tuple[Rule, ...])
_RULES = [(rule.type, ANSWER_LISTS.get(rule.answers), re.compile("|".join(rule.questions))) for rule in _BY_TYPE]
"""Type, its answers (None: open ones) and questions."""
_IS_THERE = re.compile(
    r"((?P<one>is there an?|do you see an?|can you see an?)|(?P<mass>is there any)"
    r"|are there any|are there some|do you see any|can you see any) (?P<thing>[a-z]+( [a-z]+)?)"
    r"( (in|on) (the|this) (photo|picture|image|scene|background))?"
)


def type_of(question: str, answer: str) -> str | None:
    """TDIUC's type of a human question; None if no rule fits it and its (tidied) answer."""
    asked = " ".join(question.lower().rstrip(" ?.!").split())
    for kind, answers, questions in _RULES:
        if (answer not in _NOT_OPEN if answers is None else answer in answers) and questions.fullmatch(asked):
            return kind
    return PRESENCE if answer in (YES, NO) and _is_there(asked) else None


def _is_there(asked: str) -> bool:
    found = _IS_THERE.fullmatch(asked)
    if not found or not objects_named(found["thing"]):
        return False
    is_mass, fits = found["thing"].split()[-1] in _TYPES["mass"], names_many(found["thing"]) == (not found["one"])
    return is_mass if found["mass"] else fits  # "Is there any boys" is not English


AGREEMENT = 5  # minimum number of annotators who agree on an imported answer, "Importing Questions"
VQA_WORDS, GENOME_WORDS = 2, 1  # most words of an imported answer, "Importing Questions"


def import_vqa(folder: Folder, made: Collected) -> None:
    """Import COCO-VQA's questions (VQA v1 or v2, in its own layout) of all subsets; InputError if there are none."""
    named = [(subset, release, release.available_task(folder, subset)) for subset in SPLITS for release in (V1, V2)]
    available = [(subset, release, task) for subset, release, task in named if task is not None]
    for subset, release, task in available:
        questions, annotations = release.questions_name(subset, task), release.annotations_name(subset)
        _import_vqa_subset(folder.find(questions), folder.find(annotations), subset, made)
    if not available:
        folder.find(V1.questions_name(next(iter(SPLITS))))  # raises, and names the file expected


def import_genome(folder: Folder, ids: dict[int, int], made: Collected) -> None:
    """Import Visual Genome's questions; raises InputError if the file is malformed."""
    for records in read_records(folder.find(QUESTIONS)):
        nested = records.nested("qas")
        pairs = zip(nested.texts("question"), nested.texts("answer"), strict=True)
        for at, (image_id, rows) in enumerate(zip(records.whole_numbers("id"), records.lists("qas"), strict=True)):
            written = written_id(image_id, ids, made, records.location(at))
            for question, answer in islice(pairs, len(rows)):
                _import(written, question, tidy_answer(answer), GENOME_WORDS, "genome_imported", made)


def _import_vqa_subset(questions: PublishedFile, annotations: PublishedFile, subset: str, made: Collected) -> None:
    rows = read_annotated(questions, annotations, question_columns, _human_answers)
    columns = (rows[name].to_pylist() for name in ("image_id", "question", "answers"))
    for image_id, question, answers in zip(*columns, strict=True):
        made.add_image(image_id, "coco", subset, questions.location)
        counts = Counter(map(tidy_answer, answers)).most_common(2)
        if counts[0][1] < AGREEMENT:
            made.left_out[f"vqa_imported: fewer than {AGREEMENT} agree"] += 1
        elif len(counts) > 1 and counts[1][1] == counts[0][1]:
            made.left_out["vqa_imported: as many give another answer"] += 1
        else:
            _import(image_id, question, counts[0][0], VQA_WORDS, "vqa_imported", made)


def _human_answers(records: Records) -> pa.Table:
    texts = iter(records.nested("answers").texts("answer"))
    records.checked("answers", bool, "one answer or more")
    answers = [list(islice(texts, len(given))) for given in records.lists("answers")]
    return pa.table({**id_columns(records), "answers": text_lists(answers)})


def _import(image_id: int, question: str, answer: str, longest: int, origin: Origin, made: Collected) -> None:
    if not answer or len(answer.split()) > longest:
        made.left_out[f"{origin}: an answer of more than {longest} words, or none"] += 1
        return
    question_type = type_of(question, answer)
    if question_type is None:
        made.left_out[f"{origin}: no template fits"] += 1
    else:
        made.add(image_id, question_type, origin, [(tidy_question(question), answer)])


_JSON_LINES = (".jsonl", ".jsonl.gz", ".jsonl.xz", ".ndjson")


def import_annotated(path: Path, made: Collected) -> None:
    """Add the hand-annotated questions of a file; count those of other types in TDIUC's files.

    ``path``: JSON lines (.jsonl, also .gz or .xz) with image_id, question, answer and question_type; or one of TDIUC's
    annotation files with its question file in the same folder; or a folder with both. Known images keep their split.
    """
    if path.is_file() and path.name.endswith(_JSON_LINES):
        _read_lines(path, made)
    elif path.is_dir():
        folder = Folder(path)
        for subset in available_subsets(folder, {}) or SPLITS:
            _read_layout(folder.find(V1.annotations_name(subset)), folder, subset, made)
    elif path.is_file():
        named = subset_in(path.name)
        if named is None or "annotations.json" not in path.name:
            raise InputError(
                f"--annotated {path}: expected JSON lines ({', '.join(_JSON_LINES)}), or TDIUC's "
                "mscoco_train2014_annotations.json or mscoco_val2014_annotations.json; rename it, or give the "
                "folder of TDIUC's files"
            )
        _read_layout(PublishedFile(path.name, path), Folder(path.parent), named, made)
    else:
        raise InputError(f"--annotated {path}: no such file")


def _read_lines(path: Path, made: Collected) -> None:
    for number, row in json_lines(path):
        record = Records([row], partial("{}, line {}".format, path, number))
        kind = record.texts("question_type")[0]
        if kind not in HAND_ANNOTATED:
            raise record.unexpected(0, "question_type", f"one of {', '.join(HAND_ANNOTATED)}", kind)
        image_id = record.whole_numbers("image_id")[0]
        made.add_image(image_id, "genome" if image_id > GENOME_OFFSET else "uploaded", None, str(path))
        question, answer = record.filled_texts("question")[0], record.filled_texts("answer")[0]
        if not tidy_answer(answer):
            raise record.unexpected(0, "answer", "a word", answer)
        made.add(image_id, kind, "annotated", [(tidy_question(question), tidy_answer(answer))])


def _read_layout(file: PublishedFile, folder: Folder, subset: str, made: Collected) -> None:
    questions = folder.find(V1.questions_name(subset))
    rows = read_annotated(questions, file, question_columns, annotation_columns)
    by_hand = pc.is_in(rows["question_type"], pa.array(HAND_ANNOTATED))
    others = Counter(rows["question_type"].filter(pc.invert(by_hand)).to_pylist())
    made.left_out.update({f"annotated: {kind}, which is not annotated by hand": n for kind, n in others.items()})
    columns = (rows[name].filter(by_hand).to_pylist() for name in ("image_id", "question", "answer", "question_type"))
    for image_id, question, answer, kind in zip(*columns, strict=True):
        made.add_image(image_id, "uploaded", subset if image_id <= LARGEST else None, file.location)
        made.add(image_id, kind, "annotated", [(tidy_question(question), tidy_answer(answer))])
