"""Vectors of whole questions by a text encoder of transformers, for models that do not read words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.text.question_encoder import TextEncoder

SAMPLE = "what is in the picture?"
"""Its vector identifies an encoder."""
COMPARED, TOLERANCE = 16, 0.01
"""Dimensions of that vector that a checkpoint stores, and how far they may differ between machines."""


@dataclass(frozen=True)
class SentenceEncoder:
    """An encoder, loaded on first use."""

    name: str
    """folder or name on the Hub"""
    dim: int
    sample: tuple[float, ...]
    """first dimensions of the vector of `SAMPLE`"""

    @classmethod
    def of(cls, name: str) -> Self:
        """The encoder of a name; errors are those of `TextEncoder`."""
        vector = TextEncoder(name).encode([SAMPLE])[0]
        return cls(name, len(vector), tuple(vector[:COMPARED].tolist()))

    @cached_property
    def _encoder(self) -> TextEncoder:
        encoder = TextEncoder(self.name)
        vector = encoder.encode([SAMPLE])[0]
        if len(vector) != self.dim or not np.allclose(vector[:COMPARED], self.sample, atol=TOLERANCE):
            raise InputError(
                f"--question-encoder {self.name} is not the encoder that the model was trained with: it gives other "
                f"vectors ({len(vector)} dimensions, expected {self.dim}); give that encoder with --question-encoder"
            )
        return encoder

    def encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """float32 (texts, dim), with mean square 1 in each row; errors are those of `TextEncoder`."""
        return self._encoder.encode(texts)

    def as_json(self) -> dict[str, Any]:
        """For processor_config.json; without the folders of a path."""
        return {"name": public_name(self.name), "dim": self.dim, "sample": [round(one, 6) for one in self.sample]}

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Self:
        """The opposite of `as_json`."""
        return cls(given["name"], given["dim"], tuple(given["sample"]))
