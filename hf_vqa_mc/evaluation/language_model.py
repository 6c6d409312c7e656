"""The interface of models, and what they are given and return."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hf_vqa_mc.io.pictures import opened_picture

if TYPE_CHECKING:
    from PIL.Image import Image


PLACEHOLDER = re.compile(r"<image (\d+)>")  # the position of an image in the text of a prompt, by its number from 1


@dataclass(frozen=True)
class Prompt:
    """A question as a model is shown it."""

    text: str  # question, lettered choices and instruction; only what its input and method show
    choices: tuple[str, ...]  # in the order shown, also if ``text`` does not list them; empty if they are hidden
    question: str = ""  # the question alone; "" if it is hidden
    images: tuple[bytes, ...] = ()
    """content of PNG, JPEG, GIF or WEBP files, in the row's order; empty if no image is shown"""
    sample: int = 0  # how often the same prompt was asked before, of models that generate texts at random

    @property
    def image(self) -> bytes | None:
        """The first image, of models that take one; None if no image is shown."""
        return next(iter(self.images), None)

    @property
    def picture(self) -> "Image | None":
        """The first image, decoded, RGB."""
        return None if self.image is None else rgb(self.image)

    @property
    def parts(self) -> list[str | bytes]:
        """The text and the images in the order of a chat message: each image where the text first names it.

        Images that the text does not name come first.

        >>> Prompt("Is <image 2> older?", (), images=(b"1", b"2")).parts
        [b'1', 'Is ', b'2', ' older?']
        """
        rest, parts = dict(enumerate(self.images, 1)), [""]
        found: list[str | bytes] = []
        for at, piece in enumerate(PLACEHOLDER.split(self.text)):
            if at % 2 and (image := rest.pop(int(piece), None)) is not None:
                found += ["".join(parts), image]
                parts = []
            else:  # an image that was shown before, or of which there is none
                parts.append(piece if at % 2 == 0 else f"[image {piece}]" if self.images else f"<image {piece}>")
        found.append("".join(parts))
        return [*rest.values(), *(part for part in found if part)]


@dataclass(frozen=True)
class Reply:
    """What a model returns for a prompt."""

    text: str | None = None  # the generated text
    scores: tuple[float | None, ...] | None = None
    """(choices,): a score of each choice, such as the log-probability of its letter or text; None if unknown"""
    lengths: tuple[int, ...] | None = None  # (choices,): number of tokens of each choice's text, for likelihoods
    tokens: tuple[int, int] | None = None  # tokens read and generated, if known
    cut_off: bool = False  # whether the text ended at the maximum number of tokens
    failure: str = ""  # why there is no answer to this prompt; "" if there is one


class LanguageModel(Protocol):
    """A model to evaluate: any object with at least one of these methods, which is named by ``method``.

    All get a batch of prompts, ``batch_size`` at most, and return one result per prompt. Optional attributes:
    ``name`` (by default the class's), ``version`` (None), ``sees_images`` (True), ``max_images`` (1),
    the number of images that a prompt may have, None for any; ``batch_size`` (1) and ``concurrency`` (1), the number
    of threads that call it at the same time. A stored run is resumed only by a model
    of the same name and version.

    >>> class AlwaysC:
    ...     def generate(self, prompts):
    ...         return ["C" for prompt in prompts]
    """

    def generate(self, prompts: Sequence[Prompt]) -> Sequence["str | Reply"]:
        """The text that the model writes."""

    def letter(self, prompts: Sequence[Prompt]) -> "Sequence[Sequence[float] | Reply]":
        """The log-probability of each choice's letter as the next token."""

    def likelihood(self, prompts: Sequence[Prompt]) -> Sequence[Reply]:
        """The log-probability of each choice's text after the prompt, and its number of tokens."""

    def scores(self, prompts: Sequence[Prompt]) -> "Sequence[Sequence[float] | Reply]":
        """A score of each choice, of models that are no language models."""


def rgb(content: bytes) -> "Image":
    """An image file, decoded, RGB."""
    with opened_picture(content) as opened:
        return opened.convert("RGB")


def name_of(model: Any) -> str:  # noqa: ANN401  any LanguageModel
    """The name of a model."""
    return str(getattr(model, "name", type(model).__name__))
