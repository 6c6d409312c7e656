"""Prompts as messages of OpenAI's chat completions, and letters among the most probable tokens."""

import base64
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from hf_vqa_mc.benchmarks.questions import LETTERS
from hf_vqa_mc.evaluation.language_model import Prompt

ALTERNATIVES = 20
"""Number of most probable tokens that are requested, the maximum of most servers and the default one of vLLM."""


def messages(prompt: Prompt) -> list[dict[str, Any]]:
    """The user's message, with the image as a data address."""
    if prompt.image is None:
        return [{"role": "user", "content": prompt.text}]
    address = f"data:image/{media_type(prompt.image)};base64,{base64.b64encode(prompt.image).decode()}"
    image = {"type": "image_url", "image_url": {"url": address}}
    return [{"role": "user", "content": [image, {"type": "text", "text": prompt.text}]}]


def media_type(content: bytes) -> str:
    """The media type of a JPEG, PNG, GIF or WEBP file, from its first bytes.

    >>> media_type(b"GIF89a")
    'gif'
    """
    starts = {b"\xff\xd8": "jpeg", b"\x89PNG": "png", b"GIF8": "gif", b"RIFF": "webp"}
    return next((name for start, name in starts.items() if content.startswith(start)), "png")


def letter_scores(tokens: Iterable[tuple[str, float]], n_choices: int) -> tuple[float | None, ...]:
    """The log-probability of each choice's letter: of all its tokens, such as "A" and " A", together.

    Args:
        tokens: most probable tokens with their log-probabilities.
        n_choices: number of choices.

    Returns:
        (choices,): None for letters that are not among the tokens.

    >>> letter_scores([("B", -0.5), ("x", -1.0)], 2)
    (None, -0.5)
    """
    scores: list[float | None] = [None] * n_choices
    for token, score in tokens:
        sign = token.strip()
        index = LETTERS.find(sign) if len(sign) == 1 else -1
        if 0 <= index < n_choices and math.isfinite(score):
            before = scores[index]
            scores[index] = float(np.logaddexp(-np.inf if before is None else before, score))
    return tuple(scores)
