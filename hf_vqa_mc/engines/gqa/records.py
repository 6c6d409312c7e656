"""Questions and scene graphs as GQA's files have them."""

from collections.abc import Sequence
from typing import Any

from hf_vqa_mc.engines.gqa.program import published, semantic_text
from hf_vqa_mc.engines.gqa.question import Question
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, VERTICAL, SceneGraph
from hf_vqa_mc.errors import InputError

DIGITS = 4
"""of a question's number in its id"""


def question_id(image_id: str, number: int) -> str:
    """A question's id, unique among all: its image's and its number of four digits.

    Raises:
        InputError: the number has more.

    >>> question_id("2386621", 7)
    '23866210007'
    """
    if number >= 10**DIGITS:
        raise InputError(f"image {image_id!r}: more than {10**DIGITS:,} questions; limit the questions about an image")
    return f"{image_id}{number:0{DIGITS}}"


def question_record(
    question: Question,
    image_id: str,
    types: tuple[str, str],
    entailed: Sequence[int] = (),
    equivalent: Sequence[int] = (),
    balanced: bool = False,
) -> dict[str, Any]:
    """A question as a record of GQA's question files.

    Args:
        question: about the image.
        image_id: of the image.
        types: structural and semantic.
        entailed: numbers of the questions about the image that follow.
        equivalent: numbers of those that say the same, with its own.
        balanced: whether it is in the balanced dataset.
    """
    steps = published(question.program, question.found)
    full = question.full_answer
    return {
        "semantic": steps,
        "entailed": [question_id(image_id, number) for number in entailed],
        "equivalent": [question_id(image_id, number) for number in equivalent],
        "question": question.question.text,
        "imageId": image_id,
        "isBalanced": balanced,
        "groups": {"global": question.global_group or None, "local": question.local_group or None},
        "answer": question.answer,
        "semanticStr": semantic_text(steps),
        "annotations": {
            "answer": _answer_objects(question),
            "question": question.question.objects,
            "fullAnswer": full.objects,
        },
        "types": {"detailed": question.detailed, "semantic": types[1], "structural": types[0]},
        "fullAnswer": full.text,
    }


def _answer_objects(question: Question) -> dict[str, str]:
    """Which object the answer's words are: the one whose name is asked for."""
    last = question.program[-1]
    if last.operation in ("query", "choose") and last.argument[:1] == ("name",):
        found = question.found[last.inputs[0]]
        words = len(question.answer.split())
        if len(found) == 1:
            return {"0" if words == 1 else f"0:{words}": found[0]}
    return {}


def graph_record(graph: SceneGraph) -> dict[str, Any]:
    """A normalised scene graph as a record of GQA's scene graph files; places in the image are left to the boxes."""
    objects = {}
    for key, thing in graph.objects.items():
        x, y, width, height = thing.box
        values = (value for kind, some in thing.values.items() if kind not in (HORIZONTAL, VERTICAL) for value in some)
        objects[key] = {
            "name": thing.name,
            "x": x,
            "y": y,
            "w": width,
            "h": height,
            "attributes": list(dict.fromkeys(values)),
            "relations": [{"name": name, "object": other} for name, other in sorted(thing.relations)],
        }
    return {"width": graph.width, "height": graph.height, **graph.scene, "objects": objects}
