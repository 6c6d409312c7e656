"""Questions that people asked, of COCO-VQA and Visual Genome: Kafle and Kanan 2017, "Importing Questions"."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from hf_vqa_mc.engines.tdiuc.answers import tidy_answer, tidy_question
from hf_vqa_mc.engines.tdiuc.genome_files import QUESTIONS, written_id
from hf_vqa_mc.engines.tdiuc.images import SPLITS, Images
from hf_vqa_mc.engines.tdiuc.imported_types import type_of
from hf_vqa_mc.engines.tdiuc.question import Made, Origin
from hf_vqa_mc.engines.tdiuc.settings import TdiucSettings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.sources.files import Folder, PublishedFile

VQA_WORDS = 2
"""An imported answer of COCO-VQA has one or two words, one of Visual Genome one: the paper."""
GENOME_WORDS = 1
_PREFIXES = ("", "v2_")
_TASKS = ("OpenEnded", "MultipleChoice")


def import_vqa(folder: Folder, images: Images, settings: TdiucSettings, made: Made) -> None:
    """COCO-VQA's questions in its own layout, of whichever subsets are there.

    Raises:
        InputError: there is no pair of question and annotation file, or they do not fit together.
    """
    found = False
    for subset in SPLITS:
        for prefix in _PREFIXES:
            names = [f"{prefix}{task}_mscoco_{subset}_questions.json" for task in _TASKS]
            there = next((name for name in names if folder.has(name)), None)
            if there is not None:
                found = True
                annotations = folder.find(f"{prefix}mscoco_{subset}_annotations.json")
                _import_vqa_subset(folder.find(there), annotations, subset, images, settings, made)
    if not found:
        folder.find(f"OpenEnded_mscoco_{next(iter(SPLITS))}_questions.json")  # whose message says what is expected


def import_genome(folder: Folder, ids: dict[int, int], images: Images, made: Made) -> None:
    """Visual Genome's questions.

    Raises:
        InputError: the file is malformed.
    """
    for records in read_records(folder.find(QUESTIONS), None):
        nested = records.nested("qas")
        pairs = zip(nested.texts("question"), nested.texts("answer"), strict=True)
        for at, (image_id, rows) in enumerate(zip(records.whole_numbers("id"), records.lists("qas"), strict=True)):
            written = written_id(image_id, ids, images, records.place(at))
            for question, answer in islice(pairs, len(rows)):
                _import(written, question, tidy_answer(answer), GENOME_WORDS, "genome_imported", made)


def _import_vqa_subset(
    questions: PublishedFile,
    annotations: PublishedFile,
    subset: str,
    images: Images,
    settings: TdiucSettings,
    made: Made,
) -> None:
    asked: dict[str, tuple[int, str]] = {}
    for records in read_records(questions, "questions"):
        rows = zip(
            records.ids("question_id"),
            records.whole_numbers("image_id"),
            records.filled_texts("question"),
            strict=True,
        )
        for at, (question_id, image_id, question) in enumerate(rows):
            if question_id in asked:
                raise records.unexpected(at, "question_id", "one that is not listed before", question_id)
            asked[question_id] = (image_id, question)
            images.add(image_id, "coco", subset, questions.place)
    for question_id, place, answers in _answers(annotations):
        if question_id not in asked:
            raise InputError(
                f"{place}: question_id {question_id} is not in {questions.place}, or annotated twice; give files of "
                "the same release"
            )
        image_id, question = asked.pop(question_id)
        counts = Counter(map(tidy_answer, answers)).most_common(2)
        if counts[0][1] < settings.agreement:
            made.left_out[f"vqa_imported: fewer than {settings.agreement} agree"] += 1
        elif len(counts) > 1 and counts[1][1] == counts[0][1]:
            made.left_out["vqa_imported: as many say something else"] += 1
        else:
            _import(image_id, question, counts[0][0], VQA_WORDS, "vqa_imported", made)
    if asked:
        made.left_out["vqa_imported: without an annotation"] += len(asked)


def _answers(file: PublishedFile) -> Iterator[tuple[str, str, list[str]]]:
    """Question id, location and answers of each annotation."""
    for records in read_records(file, "annotations"):
        texts = iter(records.nested("answers").texts("answer"))
        rows = zip(records.ids("question_id"), records.lists("answers"), strict=True)
        for at, (question_id, answers) in enumerate(rows):
            if not answers:
                raise records.unexpected(at, "answers", "one answer or more", answers)
            yield question_id, records.place(at), list(islice(texts, len(answers)))


def _import(image_id: int, question: str, answer: str, longest: int, origin: Origin, made: Made) -> None:
    if not answer or len(answer.split()) > longest:
        made.left_out[f"{origin}: an answer of more than {longest} words, or none"] += 1
        return
    question_type = type_of(question, answer)
    if question_type is None:
        made.left_out[f"{origin}: no template fits"] += 1
    else:
        made.ask(image_id, tidy_question(question), answer, question_type, origin)
