"""TDIUC's engine: questions of twelve types from annotations, by the procedure of Kafle and Kanan 2017."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from hf_vqa_mc.engines.settings import ABSURD, FOLDERS
from hf_vqa_mc.engines.tdiuc.coco import absent_objects, ask_coco, coco_files, read_coco
from hf_vqa_mc.engines.tdiuc.imported import import_annotated, import_vqa, read_genome
from hf_vqa_mc.engines.tdiuc.questions import NO, ORIGINS, SPLITS, QuestionCollection, settled, with_absurd
from hf_vqa_mc.engines.tdiuc.words import objects_named
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import new_folder, write_json
from hf_vqa_mc.io.outputs import check_output, check_outside
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.scoring.tdiuc_types import QUESTION_TYPES
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.open_ended import entropy, most_frequent
from hf_vqa_mc.sources.source import BY_HASH, STATISTICS
from hf_vqa_mc.sources.tdiuc import GENOME_OFFSET
from hf_vqa_mc.sources.vqa_files import V1
from hf_vqa_mc.version import __version__

ENGINE = "tdiuc"
NEGATIVE = frozenset((NO, "zero", "none", "nothing"))  # answers of questions whose objects are not on the image
CONFIDENCE = "yes"  # the answer_confidence of every answer, as VQA's annotators give it
TOP_ANSWERS = 50  # answers of a type in the statistics: the paper's figure 3 has the top 50


def generate(
    output: Path,
    *,
    coco: Sequence[Path] = (),
    visual_genome: Path | None = None,
    vqa: Path | None = None,
    annotated: Sequence[Path] = (),
    absurd: int = ABSURD,
    seed: int = 0,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Generate a dataset in TDIUC's layout; returns the content of its ``statistics.json``."""
    check_output(output, FOLDERS[ENGINE], overwrite)
    check_outside(output, "output", [*coco, *annotated, *filter(None, [visual_genome, vqa])])
    made = QuestionCollection(seed)
    mentioned: dict[int, set[str]] = {}  # objects mentioned by annotations other than COCO's
    images = [image for image in read_coco(coco_files(coco), made, progress) if image.instances]
    if visual_genome is not None:
        progress("reading Visual Genome", 0, 1)
        read_genome(Folder(visual_genome), mentioned, made)
        progress("reading Visual Genome", 1, 1)
    if vqa is not None:
        progress("importing VQA", 0, 1)
        import_vqa(Folder(vqa), made)
        progress("importing VQA", 1, 1)
    for path in annotated:
        import_annotated(path, made)
    for one in made.questions:
        if one.origin != "genome_generated" and one.answer not in NEGATIVE:
            mentioned.setdefault(one.image_id, set()).update(objects_named(f"{one.question} {one.answer}"))
    absent: dict[int, frozenset[str]] = {}  # the objects that each image provably lacks
    shared: dict[frozenset[str], frozenset[str]] = {}
    for number, image in enumerate(images, 1):
        others = frozenset(mentioned.get(image.image_id, ()))
        ask_coco(image, others, made)
        lacking = frozenset(absent_objects(image, others))
        absent[image.image_id] = shared.setdefault(lacking, lacking)
        if number % 1000 == 0 or number == len(images):
            progress("asking of COCO's images", number, len(images))
    questions = settled(made)
    questions = with_absurd(questions, absent, absurd, made, progress)
    if questions.empty:
        reasons = "; ".join(f"{reason}: {count:,}" for reason, count in made.left_out.most_common(3) if count)
        why = f" ({reasons})" if reasons else ""
        raise InputError(f"no question can be generated from these annotations{why}; give more images")
    questions = questions.assign(subset=questions["image_id"].map(made.subset))
    statistics = {
        "settings": {"absurd": absurd, "seed": seed},
        "visual_genome_image_ids": f"those from {GENOME_OFFSET} on are {GENOME_OFFSET} + Visual Genome's id",
        **_statistics(questions, made),
        "left_out": {reason: count for reason, count in sorted(made.left_out.items()) if count},
    }
    with new_folder(output, FOLDERS[ENGINE], overwrite) as new:
        _write_questions(new.tree, questions, progress)
        write_json(new.tree / STATISTICS, {"engine": ENGINE, "version": __version__, **statistics}, indent=1)
        new.publish()
    return statistics


def _write_questions(folder: Path, questions: pd.DataFrame, progress: Progress) -> None:
    """Write TDIUC's four files; questions are in the order of their question_id, counted from 1."""
    questions = questions.assign(question_id=questions.index + 1)
    for done, subset in enumerate(SPLITS):
        progress("writing", done, len(SPLITS))
        mine = questions[questions["subset"] == subset]
        asked = mine[["image_id", "question", "question_id"]].to_dict("records")
        answered = [
            {
                "question_id": one.question_id,
                "image_id": one.image_id,
                "question_type": one.question_type,
                "answers": [{"answer": one.answer, "answer_confidence": CONFIDENCE, "answer_id": 1}],
                "ans_source": one.origin,
            }
            for one in mine.itertuples()
        ]
        lists = {"questions": (V1.questions_name, asked), "annotations": (V1.annotations_name, answered)}
        for key, (name, records) in lists.items():  # an object with a list of records, one per line
            with (folder / name(subset)).open("w", encoding="utf-8", newline="\n") as file:
                file.write(f'{{"{key}": [')
                file.writelines(f"{',' if at else ''}\n{json.dumps(record)}" for at, record in enumerate(records))
                file.write("\n]}\n")
    progress("writing", len(SPLITS), len(SPLITS))


def _statistics(questions: pd.DataFrame, made: QuestionCollection) -> dict[str, Any]:
    types: dict[str, dict[str, Any]] = {}
    for name in QUESTION_TYPES:
        of_type = questions[questions["question_type"] == name]
        splits, answers = Counter(of_type["subset"]), Counter(of_type["answer"])
        top = dict(most_frequent(answers, TOP_ANSWERS))
        types[name] = {
            "questions": len(of_type),
            "images": of_type["image_id"].nunique(),
            "origins": {**dict.fromkeys(ORIGINS, 0), **Counter(of_type["origin"])},
            "splits": {split: splits[subset] for subset, split in SPLITS.items()},
            "unique_answers": len(answers),
            "entropy_bits": round(entropy(answers.values()), 4),
            "answers": top,
            "questions_with_other_answers": len(of_type) - sum(top.values()),
        }
    image_ids = {*questions["image_id"]}
    given = {one: "by file" if one in made.given else BY_HASH for one in image_ids}
    by_split = Counter(f"{made.clusters[one]}, {how}, {made.subset(one)}" for one, how in given.items())
    return {
        "questions": len(questions),
        "images": len(image_ids),
        "unique_answers": questions["answer"].nunique(),
        "types": types,
        "origins": {origin: sum(one["origins"][origin] for one in types.values()) for origin in ORIGINS},
        "splits": {split: sum(one["splits"][split] for one in types.values()) for split in SPLITS.values()},
        "images_by_split": dict(sorted(by_split.items())),
    }
