"""Extension of inspect-ai, found by its entry point: a task, a solver and a metric.

``inspect eval hf_vqa_mc/benchmark -T dataset=benchmark.csv`` runs any benchmark that ``vqa-mc audit`` reads.
``inspect eval TASK --solver hf_vqa_mc/multiple_choice -S inputs=no-image -S rotations=true`` changes what another
task shows to a model.
"""

from collections import Counter, defaultdict
from copy import deepcopy
from pathlib import Path
from sys import intern
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import Metric, SampleScore, Score, accuracy, choice, metric, stderr, value_to_float
from inspect_ai.solver import Choices, Generate, Solver, TaskState, solver
from inspect_ai.solver import multiple_choice as inspect_multiple_choice

from hf_vqa_mc.data.questions import check_lettered, letter, presented_questions
from hf_vqa_mc.data.reading import read_benchmark
from hf_vqa_mc.errors import InputError, python_names
from hf_vqa_mc.evaluation.methods import FULL, INPUTS, METHODS, Input
from hf_vqa_mc.evaluation.prompts import Job, Prompts, rotated
from hf_vqa_mc.evaluation.served_model import data_uri

EACH_ROTATION = "each_rotation"  # name of the score whose accuracy is the mean over all rotations


@solver
def multiple_choice(inputs: str = "full", rotations: bool = False, cot: bool = False) -> Solver:
    """Ask multiple-choice questions without the image or the question, and in every rotation of the choices.

    With ``rotations`` the scorer ``choice`` counts a sample as correct only if every rotation is answered correctly
    (circular accuracy); the score ``each_rotation`` is the mean over rotations. inspect-ai's own prompt and parser of
    replies are used.

    Args:
        inputs: What the model is shown: full, no-image, no-question or choices-only.
        rotations: Ask once for each rotation of the choices.
        cot: Ask for reasoning before the answer.
    """
    given = _lettered_input(inputs)
    if given.image not in ("own", ""):
        raise InputError(f"inputs={inputs}: the solver cannot change the image; use the task hf_vqa_mc/benchmark")
    ask = inspect_multiple_choice(cot=cot)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if not state.choices:
            raise InputError("hf_vqa_mc/multiple_choice: the sample has no choices")
        if len(state.target) > 1:
            raise InputError("hf_vqa_mc/multiple_choice: the sample has several correct choices, expected one")
        message = state.user_prompt
        content = [ContentText(text=message.content)] if isinstance(message.content, str) else message.content
        words = [part for part in content if isinstance(part, ContentText)]
        media = [part for part in content if given.image and not isinstance(part, ContentText)]
        message.content = [*media, *(words if given.question else [ContentText(text="")])]
        texts = [one.value for one in state.choices]
        picks: list[int | None] = []
        for rotation in range(len(texts) if rotations else 1):
            order = rotated(len(texts), rotation)
            attempt = deepcopy(state)
            attempt.choices = Choices([texts[index] for index in order])
            attempt = await ask(attempt, generate)
            picks.append(next((at for at, one in zip(order, attempt.choices, strict=True) if one.correct), None))
        attempt.choices = state.choices
        for index in range(len(texts)):
            attempt.choices.mark_choice(index, set(picks) == {index})
        if rotations:
            correct = sum(pick is not None and letter(pick) == state.target.text for pick in picks)
            score = Score(value=correct / len(picks), metadata={"picks": picks})
            attempt.scores = {**(attempt.scores or {}), EACH_ROTATION: score}
        return attempt

    return solve


@metric
def set_accuracy() -> Metric:
    """Share of the closed answer sets (metadata ``set_id``) whose samples are all correct.

    Sets of which samples were left out, as by ``--limit``, do not count (metadata ``set_size``).
    """
    to_float = value_to_float()

    def compute(scores: list[SampleScore]) -> float:
        sets, sizes = defaultdict[str, list[bool]](list), dict[str, int | None]()
        for score in scores:
            about = score.sample_metadata or {}
            if set_id := about.get("set_id"):
                sets[set_id].append(to_float(score.score.value) == 1)
                sizes[set_id] = about.get("set_size")
        found = [all(one) for set_id, one in sets.items() if sizes[set_id] in (None, len(one))]
        return sum(found) / len(found) if found else float("nan")

    return compute


@task
def benchmark(
    dataset: str,
    config: str | None = None,
    split: str | None = None,
    images: str | None = None,
    inputs: str = "full",
    rotations: bool = False,
    seed: int = 0,
    **columns: Any,  # noqa: ANN401  as -T gives them
) -> Task:
    """A multiple-choice benchmark in any layout that ``vqa-mc audit`` reads.

    Args:
        dataset: File, folder or dataset on the Hub.
        config: Config of a dataset with several.
        split: Split to read; by default test, else validation, else the only one.
        images: Folder with the image files that a column names.
        inputs: What the model is shown: full, no-image, other-image, gray-image, no-question or choices-only.
        rotations: Ask once for each rotation of the choices.
        seed: Random seed of the images of other questions.
        **columns: Options of ``vqa-mc audit`` that name columns: question, choices, label, image, ...
    """
    given = _lettered_input(inputs)
    read = read_benchmark(dataset, config, split=split, images=Path(images) if images else None, **columns)
    questions = presented_questions(read, None, hide_answers=False)
    check_lettered(questions, "inspect-ai")
    missing = read.test.images_missing or ("" if inputs == FULL.name else "the benchmark has no images")
    if given.image and missing and not questions.image_rows:
        raise InputError(python_names(f"inputs={inputs}: {missing}; or use inputs=no-image"))
    prompts = Prompts(questions, METHODS["generate"], seed)
    original, labels = read.test.original, questions.labels or []
    sets = original["set_id"].to_pylist() if "set_id" in original.column_names else []
    sizes, image_ids, samples = Counter(sets), read.test.rows["image_id"].to_pylist(), []
    for row, question_id in enumerate(questions.question_ids):
        context, question, *choices = prompts.row_texts(given, row)
        text = f"Context: {context}\n{question}" if context else question
        contents = prompts.prompt(Job(row, inputs, 0)).images
        shown = [ContentImage(image=intern(data_uri(content))) for content in contents]
        message = ChatMessageUser(content=[*shown, ContentText(text=text if given.question else "")])
        metadata = {"question_type": questions.types[row], "cluster": image_ids[row] or question_id}
        metadata |= {"set_id": sets[row], "set_size": sizes[sets[row]]} if sets else {}
        samples.append(Sample([message], choices, letter(labels[row]), question_id, metadata))
    return Task(
        MemoryDataset(samples, name=questions.name),
        solver=multiple_choice(rotations=rotations),
        scorer=choice(),
        metrics=[accuracy(), stderr(cluster="cluster"), *([set_accuracy()] if sets else [])],
    )


def _lettered_input(name: str) -> Input:
    """The input of this name, which must show the choices."""
    given = INPUTS.find(name)
    if not given.choices:
        raise InputError(f"inputs={name}: inspect-ai lists the choices; use vqa-mc evaluate --inputs {name}")
    return given
