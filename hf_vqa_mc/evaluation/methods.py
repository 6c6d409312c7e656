"""What a model is shown of each question (``--inputs``), and the ways to get an answer from it (``--method``)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Literal

from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.reply_rules import READERS, numeric_choice, without_reasoning
from hf_vqa_mc.listing import Listing
from hf_vqa_mc.scoring.written_answers import answer_part, written_choice


@dataclass(frozen=True)
class Input:
    """A selection of image, question and choices; ``--inputs``."""

    name: str
    image: Literal["own", "other", "gray", ""]
    """the question's image, that of another question at random, a gray one of the same size, or none"""
    question: bool
    choices: bool
    sentence: str  # what it shows, for tables and pages
    request: str = ""  # a line of the prompt before its last one
    none: Literal["added", "correct", ""] = ""
    """whether `NONE` is added as the last choice, and the correct choice left out, so that it is correct"""
    after: str = ""  # the input whose reply is shown, too, as the model's own answer

    @property
    def is_blind(self) -> bool:
        """Whether image or question cannot be used to answer."""
        return self.image != "own" or not self.question


NONE = "None of the above"
FULL = Input("full", "own", True, True, "image, question and choices")
NO_IMAGE = Input("no-image", "", True, True, "question and choices, no image")
GUESS = "No image is given. Guess the most likely answer."
NO_IMAGE_GUESS = Input("no-image-guess", "", True, True, "question and choices, told that no image is given", GUESS)
CHOICES_ONLY = Input("choices-only", "", False, True, "choices, neither image nor question")
QUESTION_ONLY = Input("question-only", "", True, False, "question, neither image nor choices")
INPUTS: Listing[Input] = Listing(
    "input",
    FULL,
    NO_IMAGE,
    NO_IMAGE_GUESS,
    Input("other-image", "other", True, True, "question and choices with the image of another question"),
    Input("gray-image", "gray", True, True, "question and choices with a gray image"),
    Input("no-question", "own", False, True, "image and choices, no question"),
    CHOICES_ONLY,
    QUESTION_ONLY,
    Input("no-choices", "own", True, False, "image and question, no choices"),
    Input("answer-first", "own", True, True, "the model's answer to no-choices, then the choices", after="no-choices"),
    Input("none-added", "own", True, True, f'image, question and choices, "{NONE}" added', none="added"),
    Input("none-correct", "own", True, True, f'"{NONE}" instead of the correct choice', none="correct"),
)
"""Sources. answer-first: Raman et al. 2025, Reasoning Models are Test Exploiters (arXiv 2507.15337), where models may
answer before they see the choices. none: Tam et al. 2025, None of the Above, Less of the Right (arXiv 2503.01550).
"""

BY_NAME = "letter or text"  # the rule of method generate without numbers in other forms
UNPARSED = -1  # the pick of a reply that names no choice
FAILED = -2  # the pick where the model gave no reply
Picks = dict[str, int]
"""Rule to the index of the choice that is picked, among those shown; the first rule is the method's own."""


@dataclass(frozen=True)
class Method:
    """A way to get an answer; ``--method``. Models have a method of the same name."""

    name: str
    sentence: str  # for tables and pages
    lists_choices: bool  # whether the prompt lists the choices with letters
    picks: Callable[[Reply, Sequence[str], "Sequence[float | None] | None"], Picks]
    """From a reply, the choices as shown, and for likelihoods their scores without image and question, to the picks"""
    instruction: str = ""  # last line of a prompt that lists the choices
    without_choices: str = ""  # last line of a prompt that does not; "" if the method needs the list
    compares_inputs: bool = False
    """whether a pick depends on the scores of the input `inputs.CHOICES_ONLY`, which is then evaluated, too"""


def _by_score(reply: Reply, choices: Sequence[str], unconditional: object) -> Picks:
    return {"score": best(reply.scores)}


def _by_text(reply: Reply, choices: Sequence[str], unconditional: object) -> Picks:
    text = without_reasoning(reply.text or "", reply.cut_off)
    named = written_choice(text, choices)
    found = {"text": numeric_choice(text, choices) if named is None else named, BY_NAME: named}
    found |= {name: read(answer_part(text).strip(), choices) for name, read in READERS.items()}
    return {name: UNPARSED if index is None else index for name, index in found.items()}


def _by_likelihood(reply: Reply, choices: Sequence[str], unconditional: "Sequence[float | None] | None") -> Picks:
    scores = [nan if score is None else score for score in reply.scores or ()]
    lengths = reply.lengths or [1] * len(scores)
    picks = {
        "byte": best([score / max(len(text.encode()), 1) for score, text in zip(scores, choices, strict=True)]),
        "sum": best(scores),
        "token": best([score / max(length, 1) for score, length in zip(scores, lengths, strict=True)]),
    }
    if unconditional is not None:
        without = [nan if score is None else score for score in unconditional]
        picks["unconditional"] = best([score - other for score, other in zip(scores, without, strict=True)])
    return picks


def best(scores: "Sequence[float | None] | None") -> int:
    """The index of the highest score, the first of several; UNPARSED if none is known.

    >>> best([None, -2.0, -1.5]), best([None, None])
    (2, -1)
    """
    known = {index: score for index, score in enumerate(scores or ()) if score is not None and isfinite(score)}
    return max(known, key=lambda index: (known[index], -index)) if known else UNPARSED


RULES: Mapping[str, str] = {
    "byte": "log-probability per byte of the choice",
    "sum": "log-probability of the choice",
    "token": "log-probability per token of the choice",
    "unconditional": "log-probability of the choice minus that without image and question",
}
"""Ways to compare likelihoods; the first one is the answer."""
LETTER = "Answer with the letter of the correct choice only."
PHRASE = "Answer with a word or a short phrase."
METHODS: Listing[Method] = Listing(
    "method",
    Method("letter", "the letter with the highest probability as the next token", True, _by_score, LETTER),
    Method(
        "likelihood",
        "the choice with the highest log-probability per byte as the answer's text",
        False,
        _by_likelihood,
        without_choices=PHRASE,
        compares_inputs=True,
    ),
    Method("generate", "the choice that the generated text names", True, _by_text, LETTER, PHRASE),
    Method("scores", "the choice with the highest score", False, _by_score),
)
