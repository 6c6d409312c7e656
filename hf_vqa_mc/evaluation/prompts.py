"""The prompts of a benchmark: each question with each input and rotation of its choices."""

import hashlib
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from hf_vqa_mc.data.questions import LETTERS, Questions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.language_model import Prompt, Reply, name_of
from hf_vqa_mc.evaluation.methods import INPUTS, NONE, Input, Method
from hf_vqa_mc.evaluation.reply_rules import without_reasoning
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture, portable_picture
from hf_vqa_mc.scoring.written_answers import answer_part
from hf_vqa_mc.text.comparison import comparable

GRAY = (128, 128, 128)
FORMATS = {"JPEG": "jpeg", "PNG": "png", "GIF": "gif", "WEBP": "webp"}
"""Formats that models are given unchanged, to their media types; others are converted to PNG."""
IMAGES_KEPT = 64  # number of images that are kept in memory, as neighbouring questions often share theirs

_PLACEHOLDER = re.compile(r"(?i)<\|?(?:image|img(?=[ _#-]?\d))[ _#-]?(\d{0,2})\|?>")


@dataclass(frozen=True)
class Job:
    """A question to ask: a row with an input and a rotation, of several times."""

    row: int  # index among the questions
    input: str  # a name of ``INPUTS``
    rotation: int  # the choice at this index is shown first, and those before it last
    sample: int = 0


def rotated(count: int, rotation: int) -> list[int]:
    """The indices of the choices in the order in which they are shown.

    >>> rotated(4, 1)
    [1, 2, 3, 0]
    """
    return [(index + rotation) % count for index in range(count)]


def shown_order(given: Input, count: int, label: int, rotation: int) -> list[int]:
    """The indices of the choices in the order in which an input shows them; ``count`` is none of the above."""
    order = [index for index in rotated(count, rotation) if given.none != "correct" or index != label]
    return [*order, count] if given.none else order


class Prompts:
    """Makes the prompts of jobs; thread-safe.

    The last line of each is the ``instruction``, by default that of the method; or that of a ``template`` with
    ``{letter}`` and ``{target}`` of the correct choice. ``seed`` is of the images of other questions.
    """

    def __init__(
        self, questions: Questions, method: Method, seed: int, instruction: str | None = None, template: str = ""
    ) -> None:
        self.questions, self.method, self.instruction, self.template = questions, method, instruction, template
        for row, texts in enumerate(questions.choices if method.lists_choices else ()):
            if len(texts) > len(LETTERS):
                counts = f"{len(texts)} choices, but there are {len(LETTERS)} letters"
                raise InputError(f"{questions.where(row)}: {counts}; use --method likelihood")
        source = questions.source
        self._counts = [source.count(row) if source else 0 for row in questions.image_rows]
        """(images,): number of image files; more than one if a row has several"""
        order = np.random.default_rng(seed).permutation(len(questions.image_rows)).tolist()
        rings = [[image for image in order if self._counts[image] == count] for count in set(self._counts)]
        self._other = {one: ring[at - len(ring) + 1] for ring in rings for at, one in enumerate(ring)}
        """each image to another one: the next in a random order of all with as many files"""
        self.replies: Mapping[Job, Reply] = {}  # of the run, which inputs may show
        self._images = lru_cache(IMAGES_KEPT)(self._read)

    def prompt(self, job: Job) -> Prompt:
        """The prompt of a job; raises InputError if an image cannot be read."""
        given, row, images = INPUTS[job.input], job.row, tuple[bytes, ...]()
        texts, image = self.questions.choices[row], int(self.questions.images[row])
        order = self.order(given, row, job.rotation)
        choices = tuple([*texts, NONE][index] for index in order)
        if given.none and (comparable(NONE) in map(comparable, texts) or len(order) > len(LETTERS)):
            raise InputError(f'{self.questions.where(row)}: the choice "{NONE}" cannot be added')
        if given.image and image >= 0:
            presented = self._other[image] if given.image == "other" else image
            if given.image == "other" and presented == image:
                count = f"{self._counts[image]} images"
                raise InputError(f"{self.questions.where(row)}: it has {count}, as no other question of the benchmark")
            images = self._images(presented, given.image == "gray")
        question = self.questions.questions[row] if given.question else ""
        return Prompt(
            self.text(given, row, job.rotation, self._own_answer(job)), choices, question, images, job.sample
        )

    def _own_answer(self, job: Job) -> str:
        """What the model answered to the input before this one; "" if there is none."""
        if not (after := INPUTS[job.input].after):
            return ""
        reply = self.replies[replace(job, input=after)]
        if reply.failure:
            raise InputError(f"no reply to {after}: {reply.failure}")
        answer = answer_part(without_reasoning(reply.text or "", reply.cut_off)).strip()
        if not answer and reply.cut_off:
            raise InputError(f"no answer to {after}: the reply ends while the model reasons")
        return f"Your answer before you were shown the choices: {answer or 'none'}"

    def text(self, given: Input, row: int, rotation: int = 0, own_answer: str = "") -> str:
        """The text of a prompt, with ``<image 1>`` where it names an image; what an input hides is left out."""
        context, question, *choices = self.row_texts(given, row)
        listed = given.choices and self.method.lists_choices
        lines = [f"Context: {context}" if context else "", f"Question: {question}"] if given.question else []
        lines.append(own_answer)
        order = self.order(given, row, rotation) if listed else []
        lines += [f"{letter}. {[*choices, NONE][index]}" for letter, index in zip(LETTERS, order, strict=False)]
        lines.append(given.request)
        instruction = self.method.instruction if listed else self.method.without_choices
        lines.append(instruction if self.instruction is None or not given.choices else self.instruction)
        if self.template:
            label = (self.questions.labels or [])[row]
            lines.append(self.template.format(letter=LETTERS[label], target=choices[label]))
        return "\n".join(filter(None, lines))

    def order(self, given: Input, row: int, rotation: int) -> list[int]:
        """`shown_order` of a row; empty if the choices are hidden."""
        label = self.questions.labels[row] if self.questions.labels else -1
        return shown_order(given, len(self.questions.choices[row]), label, rotation) if given.choices else []

    def row_texts(self, given: Input, row: int) -> list[str]:
        """Context, question and choices of a row with ``<image 1>``, or ``[image 1]`` if the image is not shown."""
        texts = [self.questions.others.contexts[row], self.questions.questions[row], *self.questions.choices[row]]
        image = int(self.questions.images[row])
        count = self._counts[image] if image >= 0 else 0
        found = [int(number) for text in texts for number in _PLACEHOLDER.findall(text) if number]
        first, before = (0 if 0 in found else 1), max(found, default=0)
        shape = "[image {}]" if not given.image else "<image {}>"

        def named(match: re.Match[str]) -> str:  # without a number: the next image
            nonlocal before
            before += not match[1]
            number = int(match[1]) + 1 - first if match[1] else before
            return shape.format(number) if number <= count else match[0]

        return [_PLACEHOLDER.sub(named, text) for text in texts] if count else texts

    def texts(self, jobs: Sequence[Job]) -> Iterator[str]:
        """The questions and choices that jobs show."""
        for row, has_question in dict.fromkeys((job.row, INPUTS[job.input].question) for job in jobs):
            yield from self.questions.choices[row]
            if has_question:
                yield self.questions.questions[row]
        yield from [NONE] if any(INPUTS[job.input].none for job in jobs) else []

    def check_images(self, model: Any) -> None:  # noqa: ANN401  a LanguageModel
        """Raise InputError if a row has more images than the model takes in a prompt."""
        most = max(self._counts, default=0)
        if most > 1 and (limit := getattr(model, "max_images", 1)) is not None and most > limit:
            where = self.questions.where(self.questions.image_rows[self._counts.index(most)])
            takes = f"model {name_of(model)} takes {'one image' if limit == 1 else f'{limit} images'} in a prompt"
            other = "use another model, or --inputs no-image,choices-only"
            raise InputError(f"{where}: the row has {most} images, but {takes}; {other}")

    def fingerprint(self) -> str:
        """Checksum of all questions, contexts, choices and labels, and of which rows share images."""
        digest, found = hashlib.sha256(), self.questions
        columns = (found.question_ids, found.questions, found.choices, found.labels or [], found.others.contexts)
        for row in zip(*columns, found.images.tolist(), strict=True):
            digest.update(repr(row).encode("utf-8", "backslashreplace"))
        return digest.hexdigest()

    def _read(self, image: int, gray: bool) -> tuple[bytes, ...]:
        row, source = self.questions.image_rows[image], self.questions.source
        try:
            contents = source.read(row) if source else ()
            if not contents:
                raise InputError("there is no image")
            return tuple(_gray(one) if gray else portable_picture(one, FORMATS)[0] for one in contents)
        except (BrokenImage, InputError) as error:
            raise InputError(f"{self.questions.where(row)}: the image cannot be read ({error})") from error


def _gray(content: bytes) -> bytes:
    """A gray image of the same size."""
    from PIL import Image

    file = io.BytesIO()
    with opened_picture(content) as opened:
        Image.new("RGB", opened.size, GRAY).save(file, "PNG")
    return file.getvalue()
