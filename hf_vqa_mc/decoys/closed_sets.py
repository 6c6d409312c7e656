"""Closed answer sets: k rows that share the same k choices, each of which is the target of exactly one of them.

A rule that sees the choices alone picks the same choice in all k rows and is right in exactly one. If the rows ask the
same question, this also holds for rules that see question and choices; if they are about one image, for rules that see
image and choices.
"""

from dataclasses import dataclass

from hf_vqa_mc.decoys.kind import ChoiceKind, Method, Variant


@dataclass(frozen=True)
class SetKind:
    """A kind of closed answer set, a value of the column ``set_kind``."""

    name: str
    exact: tuple[str, ...]
    """inputs, besides the choices, with which every rule is right in exactly 1/k of a set's rows; as in --guarantee"""
    definition: str  # what its rows do: ``ask the same question``
    crossed: bool = False  # whether each of its questions is asked about each of its images
    square: bool = False
    """whether each choice is the target once for each question and once for each image, not once in the set"""


SAME_QUESTION = SetKind("same_question", ("choices", "question"), "ask the same question about k images")
SAME_IMAGE = SetKind("same_image", ("choices", "image"), "ask k questions about the same image")
SIMILAR_QUESTION = SetKind("similar_question", ("choices",), "ask questions that have similar answers")
GRID = SetKind(
    "grid", ("choices",), "ask each of n similar questions about each of m images; all answers differ", crossed=True
)
LATIN = SetKind(
    "latin",
    ("choices", "question", "image"),
    "ask each of k questions about each of k images; each choice is correct once per question and once per image",
    crossed=True,
    square=True,
)
SET_KINDS = {kind.name: kind for kind in (SAME_QUESTION, SAME_IMAGE, SIMILAR_QUESTION, GRID, LATIN)}


def _method(name: str, label: str, module: str = "closed_set_builder", vectors: bool = False) -> Method:
    take = f"hf_vqa_mc.decoys.{module}:take_{name}"
    return Method(name=name, label=label, take=take, size="set_decoys", uses_word_vectors=vectors, fallback=False)


CLOSED_SET = ChoiceKind(
    name="set",
    label="closed-set",
    colour="#1f7a7a",
    dark_colour="#6cc5c5",
    definition="correct answers to the other rows of a closed answer set, which all have the same choices",
    caption="answers to the other rows of the set",
    card="**Closed answer sets**: k rows share the same k choices, and each choice is correct in exactly one of "
    "them (in Latin squares, of those with the same question or image).\n"
    "  A model that sees only the choices is right in exactly one row of k.",
    shortage="too few rows have answers that may be combined. A smaller set size may help.",
    methods=(
        _method("sets", "closed sets", vectors=True),
        _method("sets_same_question", "closed sets, same question"),
        _method("sets_same_image", "closed sets, same image"),
        _method("sets_similar_question", "closed sets, similar questions", vectors=True),
        _method("sets_grid", "closed sets, grids", "crossed_sets"),
        _method("sets_latin", "closed sets, Latin squares", "crossed_sets"),
    ),
)


def _variant(name: str, description: str, guarantee: str | None) -> Variant:
    return Variant(name, (name,), description, "ours", remedies=True, closed=True, guarantee=guarantee)


CLOSED_VARIANTS = (
    _variant(
        "sets",
        "the targets of other rows, in closed sets of the same question where possible, else similar",
        "choices",
    ),
    _variant("sets_same_question", "the targets of other rows with the same question, in closed sets", "question"),
    _variant("sets_same_image", "the targets of other rows on the same image, in closed sets", "image"),
    _variant("sets_similar_question", "the targets of rows with similar questions, in closed sets", None),
    _variant("sets_grid", "the other answers of similar questions that are asked about the same images", None),
    _variant(
        "sets_latin", "the other answers of k questions about k images, each correct once per question and image", None
    ),
)
