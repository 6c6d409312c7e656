"""What a model is shown of each question."""

from dataclasses import dataclass
from enum import Enum

from hf_vqa_mc.listing import Listing


class Shown(Enum):
    """The image that a model is shown."""

    OWN = "own"
    """the question's image"""
    OTHER = "other"
    """the image of another question, drawn at random"""
    GRAY = "gray"
    """a gray image of the same size"""
    NONE = "none"
    """no image"""


@dataclass(frozen=True)
class Input:
    """A selection of image, question and choices; ``--inputs``."""

    name: str
    image: Shown
    question: bool
    choices: bool
    sentence: str
    """what it shows, for tables and pages"""

    @property
    def is_blind(self) -> bool:
        """Whether image or question cannot be used to answer."""
        return self.image is not Shown.OWN or not self.question


FULL = Input("full", Shown.OWN, True, True, "image, question and choices")
NO_IMAGE = Input("no-image", Shown.NONE, True, True, "question and choices, no image")
CHOICES_ONLY = Input("choices-only", Shown.NONE, False, True, "choices, neither image nor question")
QUESTION_ONLY = Input("question-only", Shown.NONE, True, False, "question, neither image nor choices")
INPUTS: Listing[Input] = Listing(
    "input",
    FULL,
    NO_IMAGE,
    Input("other-image", Shown.OTHER, True, True, "question and choices with the image of another question"),
    Input("gray-image", Shown.GRAY, True, True, "question and choices with a gray image"),
    Input("no-question", Shown.OWN, False, True, "image and choices, no question"),
    CHOICES_ONLY,
    QUESTION_ONLY,
)
