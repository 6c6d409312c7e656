"""The interface of models, and what they are given and return."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from hf_vqa_mc.io.pictures import opened_picture

if TYPE_CHECKING:
    from PIL.Image import Image


@dataclass(frozen=True)
class Prompt:
    """A question as a model is shown it."""

    text: str
    """question, lettered choices and instruction; only what its input and method show"""
    choices: tuple[str, ...]
    """the choices in the order shown; also if ``text`` does not list them"""
    question: str = ""
    """the question alone; "" if it is hidden"""
    image: bytes | None = None
    """content of a PNG, JPEG, GIF or WEBP file; None if no image is shown"""

    @property
    def picture(self) -> "Image | None":
        """The decoded image, RGB."""
        if self.image is None:
            return None
        with opened_picture(self.image) as opened:
            return opened.convert("RGB")


@dataclass(frozen=True)
class Reply:
    """What a model returns for a prompt."""

    text: str | None = None
    """the generated text"""
    scores: tuple[float | None, ...] | None = None
    """(choices,): a score of each choice, such as the log-probability of its letter or text; None if unknown"""
    lengths: tuple[int, ...] | None = None
    """(choices,): number of tokens of each choice's text, for likelihoods"""
    tokens: tuple[int, int] | None = None
    """tokens read and generated, if known"""
    cut_off: bool = False
    """whether the text ended at the maximum number of tokens"""
    failure: str = ""
    """why there is no answer to this prompt; "" if there is one"""


class LanguageModel(Protocol):
    """A model to evaluate: any object with at least one of these methods, which is named by ``method``.

    All get a batch of prompts, ``batch_size`` at most, and return one result per prompt. Optional attributes:
    ``name`` (by default the class's), ``version`` (None), ``sees_images`` (True), ``batch_size`` (1) and
    ``concurrency`` (1), the number of threads that call it at the same time. A stored run is resumed only by a model
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


def name_of(model: Any) -> str:  # noqa: ANN401  any LanguageModel
    """The name of a model."""
    return str(getattr(model, "name", type(model).__name__))
