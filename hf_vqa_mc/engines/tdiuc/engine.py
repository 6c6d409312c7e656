"""TDIUC's engine: questions of twelve types from annotations, as Kafle and Kanan 2017 made theirs."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hf_vqa_mc.engines.generated_folder import check_generated_folder
from hf_vqa_mc.engines.rng import Chance
from hf_vqa_mc.engines.tdiuc.absurd import AbsurdQuestions
from hf_vqa_mc.engines.tdiuc.annotated_files import read_annotated
from hf_vqa_mc.engines.tdiuc.coco_files import CocoAnnotations, coco_files
from hf_vqa_mc.engines.tdiuc.genome_files import (
    ATTRIBUTES,
    OBJECTS,
    QUESTIONS,
    RELATIONSHIPS,
    read_genome,
    read_image_ids,
)
from hf_vqa_mc.engines.tdiuc.genome_questions import ask_genome, names_in
from hf_vqa_mc.engines.tdiuc.images import Images
from hf_vqa_mc.engines.tdiuc.imported import import_genome, import_vqa
from hf_vqa_mc.engines.tdiuc.kinds import ask_kinds, ask_scene, ask_sport
from hf_vqa_mc.engines.tdiuc.made import Made
from hf_vqa_mc.engines.tdiuc.mentions import objects_named
from hf_vqa_mc.engines.tdiuc.positions import ask_positions
from hf_vqa_mc.engines.tdiuc.post_processing import settled, without_duplicates
from hf_vqa_mc.engines.tdiuc.presence_and_counting import absent_objects, ask_counting, ask_presence
from hf_vqa_mc.engines.tdiuc.question import DOES_NOT_APPLY, NO, Question
from hf_vqa_mc.engines.tdiuc.settings import TdiucSettings
from hf_vqa_mc.engines.tdiuc.statistics import statistics
from hf_vqa_mc.engines.tdiuc.writing import ENGINE, write_layout
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.tdiuc_types import ABSURD
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.tdiuc import GENOME_OFFSET

Progress = Callable[[str, int, int], None]

NONE_OF = frozenset((NO, "zero", "none", "nothing"))
"""Answers that say that what the question names is not there."""


@dataclass(frozen=True)
class TdiucInputs:
    """Where the annotations are; one source at least."""

    coco: Sequence[Path] = ()
    """instance files, complete for the images they list"""
    visual_genome: Path | None = None
    """a folder with whichever of Visual Genome's files"""
    vqa: Path | None = None
    """a folder with COCO-VQA's questions and annotations"""
    annotated: Sequence[Path] = ()
    """files of hand-annotated questions"""


def generate_tdiuc(
    output: Path,
    inputs: TdiucInputs,
    settings: TdiucSettings | None = None,
    progress: Progress = lambda step, done, total: None,
) -> dict[str, Any]:
    """Makes a dataset in TDIUC's layout, and gives its statistics, which are written beside it.

    Raises:
        InputError: an input is missing or malformed, or nothing can be asked; nothing is written then.
        OSError: the output cannot be written.
    """
    settings = settings or TdiucSettings()
    check_generated_folder(output, ENGINE)
    images, made = Images(settings.seed), Made()
    spoken_of: dict[int, set[str]] = {}
    _check(inputs)
    coco = CocoAnnotations(images)
    files = coco_files(inputs.coco)
    for number, file in enumerate(files):
        progress("reading COCO", number, len(files))
        coco.read(file)
        progress("reading COCO", number + 1, len(files))
    if inputs.visual_genome is not None:
        _ask_of_genome(Folder(inputs.visual_genome), images, settings, spoken_of, made, progress)
    if inputs.vqa is not None:
        progress("importing VQA", 0, 1)
        import_vqa(Folder(inputs.vqa), images, settings, made)
        progress("importing VQA", 1, 1)
    for path in inputs.annotated:
        read_annotated(path, images, made)
    for one in made.questions:
        if one.origin != "genome_generated" and one.answer not in NONE_OF:
            spoken_of.setdefault(one.image_id, set()).update(objects_named(f"{one.question} {one.answer}"))
    absent = _ask_of_coco(coco, spoken_of, settings, made, progress)
    made.left_out.update({f"coco: {reason}": count for reason, count in coco.left_out.items()})
    questions = without_duplicates(made.questions, made.left_out)
    made.questions.clear()
    questions = settled(questions, settings.min_answers, images, settings.seed, made.left_out)
    questions = _with_absurd(questions, absent, settings, made.left_out, progress)
    if not questions:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in made.left_out.most_common(3) if count)
        told_why = f" ({reasons})" if reasons else ""
        raise InputError(f"nothing can be asked of these annotations{told_why}; give more images")
    told = {
        "settings": asdict(settings),
        "visual_genome_image_ids": f"those from {GENOME_OFFSET} on are {GENOME_OFFSET} + Visual Genome's id",
        **statistics(questions, images),
        "left_out": {reason: count for reason, count in sorted(made.left_out.items()) if count},
    }
    write_layout(output, questions, images, told, lambda count: progress("writing", count, len(questions)))
    progress("writing", len(questions), len(questions))
    return told


def _check(inputs: TdiucInputs) -> None:
    if not (inputs.coco or inputs.visual_genome or inputs.vqa or inputs.annotated):
        raise InputError("no annotations given: add --coco FILE, --visual-genome DIR, --vqa DIR or --annotated FILE")


def _ask_of_genome(
    folder: Folder,
    images: Images,
    settings: TdiucSettings,
    spoken_of: dict[int, set[str]],
    made: Made,
    progress: Progress,
) -> None:
    there = [name for name in (OBJECTS, ATTRIBUTES, RELATIONSHIPS, QUESTIONS) if folder.has(name)]
    if not there:
        folder.find(OBJECTS)  # whose message says what is expected
    left_out: dict[str, int] = {}
    progress("reading Visual Genome", 0, 1)
    ids = read_image_ids(folder, images, left_out)
    for image in read_genome(folder, ids, images, left_out):
        ask_genome(image, settings, made)
        spoken_of.setdefault(image.image_id, set()).update(*map(objects_named, names_in(image)))
    if QUESTIONS in there:
        import_genome(folder, ids, images, made)
    made.left_out.update({f"visual genome: {reason}": count for reason, count in left_out.items()})
    progress("reading Visual Genome", 1, 1)


def _ask_of_coco(
    coco: CocoAnnotations,
    spoken_of: dict[int, set[str]],
    settings: TdiucSettings,
    made: Made,
    progress: Progress,
) -> dict[int, frozenset[str]]:
    """Asks all that COCO's annotation allows; gives what each image provably lacks."""
    absent = {}
    shared: dict[frozenset[str], frozenset[str]] = {}
    for number, image in enumerate(coco, 1):
        spoken = frozenset(spoken_of.get(image.image_id, ()))
        ask_presence(image, spoken, settings, made)
        ask_counting(image, settings, made)
        ask_kinds(image, settings, made)
        ask_sport(image, settings, made)
        ask_scene(image, settings, made)
        ask_positions(image, settings, made)
        lacking = frozenset(absent_objects(image, spoken))
        absent[image.image_id] = shared.setdefault(lacking, lacking)
        if number % 1000 == 0 or number == len(coco):
            progress("asking of COCO's images", number, len(coco))
    return absent


def _with_absurd(
    questions: list[Question],
    absent: dict[int, frozenset[str]],
    settings: TdiucSettings,
    left_out: Counter[str],
    progress: Progress,
) -> list[Question]:
    """The questions of each image followed by its absurd ones."""
    if not settings.absurd or not absent:
        return questions
    pool = AbsurdQuestions(questions)
    asked: dict[int, list[str]] = {}
    for one in questions:
        asked.setdefault(one.image_id, []).append(one.question.lower())
    absurd = []
    for number, (image_id, lacking) in enumerate(absent.items(), 1):
        chance = Chance(settings.seed, "tdiuc", ABSURD, str(image_id))
        chosen = pool.for_image(lacking, frozenset(asked.get(image_id, ())), settings.absurd, chance)
        absurd += [Question(image_id, text, DOES_NOT_APPLY, ABSURD, "coco_generated") for text in chosen]
        if len(chosen) < settings.absurd:
            left_out[f"{ABSURD}: no other question is provably absurd"] += settings.absurd - len(chosen)
        if number % 1000 == 0 or number == len(absent):
            progress("absurd questions", number, len(absent))
    if len(absurd) < settings.min_answers:
        left_out[f"{ABSURD}: its answer occurs fewer than {settings.min_answers} times"] += len(absurd)
        absurd = []
    return sorted(questions + absurd, key=lambda one: one.image_id)
