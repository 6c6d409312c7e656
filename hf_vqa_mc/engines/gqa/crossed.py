"""The same questions about many images, for closed answer sets that ask each question about several images.

Questions are generated about each image as usual. Then each is asked about the other images, too, wherever the graph
settles the answer and the words of the question suit the image.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.executor import YES, Executor, Run
from hf_vqa_mc.engines.gqa.generate import count_graphs, read_graphs
from hf_vqa_mc.engines.gqa.ontology import ANYTHING, Ontology
from hf_vqa_mc.engines.gqa.own_ontology import own_ontology
from hf_vqa_mc.engines.gqa.program import Program, Question
from hf_vqa_mc.engines.gqa.question_types import QUESTION_TYPES, questions_about
from hf_vqa_mc.engines.gqa.question_types.context import discloses
from hf_vqa_mc.engines.gqa.question_types.scene import PLACE
from hf_vqa_mc.engines.gqa.scene_graph import SCENE, SceneGraph
from hf_vqa_mc.engines.gqa.settings import GqaSettings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.scoring.gqa_types import LOGICAL
from hf_vqa_mc.sources.table import in_split_order, triplet_table

MOST_IMAGES = 1_000
"""Maximum number of images of a split, drawn at random: all questions are asked about all of them."""
MOST_QUESTIONS = 1_000
"""Maximum number of questions of a type, those that were generated for most images."""
SPLITS = {"train": "train", "val": "validation", "test": "test", "challenge": "test"}
"""Split of the images to that of the triplets; there is no hidden challenge."""
_NAMING = {"select", "relate", "verify rel"}
"""Operations whose first argument is the name that they look for."""

Plurals = tuple[bool | None, ...]
"""For each step that found exactly one object, whether its name is plural; None for other steps."""


@dataclass
class SharedQuestion:
    """A question that may be asked about several images."""

    question: Question
    plurals: Plurals
    """of the image for which it was generated"""
    images: int = 1
    """number of images for which it was generated"""


def crossed_questions(
    scene_graphs: Sequence[Path],
    settings: GqaSettings,
    *,
    ontology: Ontology | None = None,
    per_answer: int | None = None,
    progress: Progress = silent,
) -> pa.Table:
    """The questions of a sample of images, each asked about all images of the sample whose graph settles the answer.

    Args:
        scene_graphs: as for `generate.generate`.
        settings: question types, references and splits; nothing is balanced.
        ontology: vocabulary; by default our own.
        per_answer: maximum number of images of a split for each answer to a question; None for all.
        progress: called with (step, done, total).

    Returns:
        ``schema.TRIPLETS``: questions that have several answers in a split. ``question_type`` is GQA's structural
        type, ``answer_type`` the semantic one.

    Raises:
        InputError: an input cannot be used, or no question has several answers.
    """
    words = ontology or own_ontology()
    distractors, splits = count_graphs(scene_graphs, words, settings, Counter(), progress)
    by_split: dict[str, list[str]] = defaultdict(list)
    for image in sorted(splits, key=lambda image: (SeededRng(settings.seed, image, "sample").bits(), image)):
        by_split[SPLITS[splits[image]]].append(image)
    sample = {image: split for split, some in by_split.items() for image in some[:MOST_IMAGES]}
    graphs = [graph for _, graph in read_graphs(scene_graphs, words, Counter()) if graph.image_id in sample]
    shared = shared_questions(graphs, words, distractors, settings, progress)
    answers: dict[tuple[str, int], dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for done, graph in enumerate(graphs):
        progress("asking about other images", done, len(graphs))
        for number, answer in settled(shared, graph, words, distractors):
            images = answers[sample[graph.image_id], number][answer]
            if per_answer is None or len(images) < per_answer:
                images.append(graph.image_id)
    progress("asking about other images", len(graphs), len(graphs))
    rows = [
        (split, number, image, answer)
        for (split, number), of_question in answers.items()
        if len(of_question) > 1
        for answer, images in of_question.items()
        for image in images
    ]
    if not rows:
        raise InputError(
            f"no question has different answers on several of the {len(graphs):,} images; use more scene graphs"
        )
    return _table(rows, [one.question for one in shared])


def shared_questions(
    graphs: Sequence[SceneGraph],
    ontology: Ontology,
    distractors: Distractors,
    settings: GqaSettings,
    progress: Progress = silent,
) -> list[SharedQuestion]:
    """At most MOST_QUESTIONS distinct questions of each type, the most frequent first; no logical questions.

    "Is there a cake or a kite?" suits almost any image and would be in most sets.
    """
    found: dict[Program, SharedQuestion] = {}
    texts: set[str] = set()
    for done, graph in enumerate(graphs):
        progress("generating questions", done, len(graphs))
        for question in questions_about(graph, ontology, distractors, settings):
            known = found.get(question.program)
            if known is not None:
                known.images += 1
            elif question.question.text not in texts and QUESTION_TYPES[question.row].structural != LOGICAL:
                texts.add(question.question.text)
                found[question.program] = SharedQuestion(question, _plurals(question.found, graph, ontology))
    progress("generating questions", len(graphs), len(graphs))
    kept: Counter[str] = Counter()
    ranked = []
    for one in sorted(found.values(), key=lambda one: (-one.images, one.question.question.text)):
        kept[one.question.row] += 1
        if kept[one.question.row] <= MOST_QUESTIONS:
            ranked.append(one)
    return ranked


def _plurals(found: Sequence[Sequence[str]], graph: SceneGraph, ontology: Ontology) -> Plurals:
    return tuple(ontology.nouns[graph.objects[ids[0]].name].plural if len(ids) == 1 else None for ids in found)


def settled(
    shared: Sequence[SharedQuestion], graph: SceneGraph, ontology: Ontology, distractors: Distractors
) -> Iterator[tuple[int, str]]:
    """The questions that can be asked about an image, by number, with their answers."""
    executor = Executor(graph, ontology)
    for number, one in enumerate(shared):
        program, run = one.question.program, executor.run(one.question.program)
        numbers = zip(one.plurals, _plurals(run.found, graph, ontology), strict=True)
        if run.answer is None or not all(None in pair or pair[0] == pair[1] for pair in numbers):
            continue
        if one.question.row.startswith(("query", "common")) and discloses(one.question.question.text, run.answer):
            continue
        missing = (name for name in _missing(program, run) if name not in (SCENE, ANYTHING))
        if all(name in ontology.nouns and distractors.certainly_absent(graph, name) for name in missing):
            yield number, run.answer


def _missing(program: Program, run: Run) -> Iterator[str]:
    """The names of what the image must not show: nothing of the name was found, or it would be another place."""
    for step, ids in zip(program, run.found, strict=True):
        if step.operation in _NAMING and not ids:
            yield step.argument[0]
        elif step.argument[:1] == (PLACE,):
            yield from (value for value in step.argument[1:] if value != run.answer and run.answer != YES)


def _table(rows: Sequence[tuple[str, int, str, str]], questions: Sequence[Question]) -> pa.Table:
    """The triplets of (split, number of the question, image, answer)."""
    splits, numbers, images, answers = zip(*rows, strict=True)
    asked = [questions[number] for number in numbers]
    kinds = [QUESTION_TYPES[one.row] for one in asked]
    table = triplet_table(
        question_id=[f"{image}-{number}" for image, number in zip(images, numbers, strict=True)],
        image_id=images,
        split=splits,
        question=[one.question.text for one in asked],
        target=answers,
        question_type=[kind.structural for kind in kinds],
        answer_type=[kind.semantic for kind in kinds],
        image_file=[f"{image}.jpg" for image in images],
    )
    return in_split_order([table])
