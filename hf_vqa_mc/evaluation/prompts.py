"""The prompts of a benchmark: each question with each input and rotation of its choices."""

import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hf_vqa_mc.benchmarks.questions import LETTERS, Questions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.inputs import INPUTS, Input, Shown
from hf_vqa_mc.evaluation.language_model import Prompt
from hf_vqa_mc.evaluation.methods import Method
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture, portable_picture

GRAY = (128, 128, 128)
FORMATS = {"JPEG": "jpeg", "PNG": "png", "GIF": "gif", "WEBP": "webp"}
"""Formats that models are given unchanged, to their media types; others are converted to PNG."""
IMAGES_KEPT = 64
"""Number of images that are kept in memory, as neighbouring questions often share theirs."""


@dataclass(frozen=True)
class Job:
    """A question to ask: a row with an input and a rotation."""

    row: int
    """index among the questions"""
    input: str
    """a name of ``INPUTS``"""
    rotation: int
    """the choice at this index is shown first, and those before it last"""


def rotated(count: int, rotation: int) -> list[int]:
    """The indices of the choices in the order in which they are shown.

    >>> rotated(4, 1)
    [1, 2, 3, 0]
    """
    return [(index + rotation) % count for index in range(count)]


class Prompts:
    """Makes the prompts of jobs; thread-safe.

    Args:
        questions: of the benchmark.
        method: the way to get an answer.
        seed: of the images of other questions.
        instruction: last line of each prompt; by default that of the method.

    Raises:
        InputError: a row has more choices than letters.
    """

    def __init__(self, questions: Questions, method: Method, seed: int, instruction: str | None = None) -> None:
        self.questions, self.method, self.instruction = questions, method, instruction
        if method.lists_choices:
            for row, texts in enumerate(questions.choices):
                if len(texts) > len(LETTERS):
                    raise InputError(
                        f"{questions.where(row)}: {len(texts)} choices, but there are {len(LETTERS)} letters; use "
                        "--method likelihood"
                    )
        order = np.random.default_rng(seed).permutation(len(questions.image_rows)).tolist()
        self._other = dict(zip(order, [*order[1:], *order[:1]], strict=True))
        """each image to another one: the next in a random order of all"""
        self._image = lru_cache(IMAGES_KEPT)(self._read)

    def prompt(self, job: Job) -> Prompt:
        """The prompt of a job.

        Raises:
            InputError: its image cannot be read.
        """
        given, row = INPUTS[job.input], job.row
        texts = self.questions.choices[row]
        choices = tuple(texts[index] for index in rotated(len(texts), job.rotation))
        question = self.questions.questions[row] if given.question else ""
        return Prompt(self.text(given, row, choices), choices, question, self.image(given, row))

    def text(self, given: Input, row: int, choices: Sequence[str]) -> str:
        """The text of a prompt; what an input hides is left out."""
        lines = []
        if given.question:
            context = self.questions.others.contexts[row]
            lines += [f"Context: {context}"] if context else []
            lines.append(f"Question: {self.questions.questions[row]}")
        if given.choices and self.method.lists_choices:
            lines += [f"{letter}. {text}" for letter, text in zip(LETTERS, choices, strict=False)]
        listed = given.choices and self.method.lists_choices
        instruction = self.method.instruction if listed else self.method.without_choices
        lines.append(instruction if self.instruction is None else self.instruction)
        return "\n".join(filter(None, lines))

    def texts(self, jobs: Sequence[Job]) -> Iterator[str]:
        """The questions and choices that jobs show."""
        for row, has_question in dict.fromkeys((job.row, INPUTS[job.input].question) for job in jobs):
            yield from self.questions.choices[row]
            if has_question:
                yield self.questions.questions[row]

    def image(self, given: Input, row: int) -> bytes | None:
        """The image file that an input shows."""
        image = int(self.questions.images[row])
        if given.image is Shown.NONE or image < 0:
            return None
        if given.image is Shown.OTHER:
            image = self._other[image]
        return self._image(image, given.image is Shown.GRAY)

    def fingerprint(self) -> str:
        """Checksum of all questions, contexts, choices and labels, and of which rows share images."""
        digest = hashlib.sha256()
        found, labels = self.questions, self.questions.labels or []
        columns = (found.question_ids, found.questions, found.choices, labels, found.others.contexts)
        for *texts, image in zip(*columns, found.images.tolist(), strict=True):
            digest.update(repr((*texts, image)).encode("utf-8", "backslashreplace"))
        return digest.hexdigest()

    def _read(self, image: int, gray: bool) -> bytes:
        from PIL import Image

        row = self.questions.image_rows[image]
        source = self.questions.source
        try:
            content = source.read(row) if source else None
            if content is None:
                raise InputError("there is no image")
            if not gray:
                return portable_picture(content, FORMATS)[0]
            with opened_picture(content) as opened:
                size = opened.size
        except (BrokenImage, InputError) as error:
            raise InputError(f"{self.questions.where(row)}: the image cannot be read ({error})") from error
        file = io.BytesIO()
        Image.new("RGB", size, GRAY).save(file, "PNG")
        return file.getvalue()
