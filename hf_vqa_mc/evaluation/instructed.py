"""Requests that show a question with its choices and end with an instruction about the correct one."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hf_vqa_mc.data.questions import LETTERS, Questions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.asking import ask, check_replies
from hf_vqa_mc.evaluation.language_model import Reply, name_of
from hf_vqa_mc.evaluation.methods import FULL, METHODS, NO_IMAGE, Input
from hf_vqa_mc.evaluation.prompts import Job, Prompts
from hf_vqa_mc.evaluation.run_folder import RunFolder
from hf_vqa_mc.io.progress import Progress

METHOD = replace(METHODS["generate"], instruction="")


class InstructedPrompts(Prompts):
    """Prompts whose last line is an instruction.

    Args:
        questions: with their labels.
        template: of the instruction, with ``{letter}`` and ``{target}`` of the correct choice.
    """

    def __init__(self, questions: Questions, template: str) -> None:
        super().__init__(questions, METHOD, seed=0)
        self._template = template

    def text(self, given: Input, row: int, rotation: int = 0) -> str:
        """The question with its lettered choices, and the instruction."""
        label = (self.questions.labels or [])[row]
        instruction = self._template.format(letter=LETTERS[label], target=self.row_texts(given, row)[2 + label])
        return f"{super().text(given, row, rotation)}\n{instruction}"


def instructed_replies(
    model: Any,  # noqa: ANN401  a LanguageModel
    questions: Questions,
    rows: Sequence[int],
    template: str,
    run: dict[str, Any],
    folder: Path | None,
    progress: Progress,
    option: str = "--output",
) -> dict[int, Reply]:
    """Ask a model about rows; it is shown the image if there is one and it sees images.

    Args:
        model: generates text.
        questions: of the benchmark.
        rows: to ask about.
        template: see `InstructedPrompts`.
        run: settings of the run; what the model is shown is added.
        folder: stores each reply; the ones that it has are not asked again. None keeps them in memory.
        progress: called with (step, done, total).
        option: names the folder in messages.

    Returns:
        Row to reply.

    Raises:
        InputError: the model generates no text or answers nothing, or the folder has another run.
        ConnectionError: the model's server cannot be reached any more.
    """
    if not callable(getattr(model, METHOD.name, None)):
        raise InputError(f"--model {name_of(model)} generates no text; use a language model that does")
    given = FULL if getattr(model, "sees_images", True) and questions.image_rows else NO_IMAGE
    prompts = InstructedPrompts(questions, template)
    if given is FULL:
        prompts.check_images(model)
    run |= {
        "model_version": getattr(model, "version", None),
        "input": given.name,
        "questions_sha256": prompts.fingerprint(),
        "example": prompts.text(given, 0),
    }
    jobs = [Job(row, given.name, 0) for row in rows]
    with RunFolder(folder, run, option).open() as stored:
        ask(model, METHOD, prompts, jobs, stored, progress)
        check_replies(jobs, stored)
        return {job.row: stored.replies[job] for job in jobs}
