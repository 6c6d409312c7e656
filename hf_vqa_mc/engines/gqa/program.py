"""Questions and their functional programs (Hudson and Manning 2019, Sect. 3.4)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

_NAMING = {"select", "relate", "verify rel", "choose rel"}  # Their published argument ends with the objects found.
_TYPED = {"filter", "verify", "choose", "same", "different"}  # Their published name ends with the type.


class Step(NamedTuple):
    """One operation on the results of earlier steps (Table 3).

    - select: name; "scene" for the image as a whole
    - filter: type, value, "not" or ""
    - relate, verify rel: name, relation, side; "s": the subjects of the input, "o": its objects
    - choose rel: name, relation, other relation, side
    - query: type; "name", an attribute type, or weather, location, place of the scene
    - verify: type, value; choose: type, value, other value
    - same, different: type; of all that one input selects, or of two inputs; "name" compares kinds
    - compare: comparative; older: which of two
    - exist, and, or, common: no argument
    """

    operation: str
    argument: tuple[str, ...] = ()
    inputs: tuple[int, ...] = ()  # indices of earlier steps in the program


Program: TypeAlias = tuple[Step, ...]


def then(program: Sequence[Step], operation: str, *argument: str) -> Program:
    """The program with one more step on the result of its last one.

    >>> then((Step("select", ("apple",)),), "query", "color")[-1]
    Step(operation='query', argument=('color',), inputs=(0,))
    """
    return (*program, Step(operation, argument, (len(program) - 1,) if program else ()))


def joined(one: Program, other: Program, operation: str, *argument: str) -> Program:
    """Two programs with one more step on the results of both."""
    moved = tuple(step._replace(inputs=tuple(index + len(one) for index in step.inputs)) for step in other)
    return (*one, *moved, Step(operation, argument, (len(one) - 1, len(one) + len(other) - 1)))


def published(program: Program, found: Sequence[Sequence[str]]) -> list[dict[str, object]]:
    """The program as in GQA's files, field ``semantic``; ``found``: the object ids of each step."""
    steps: list[dict[str, object]] = []
    for step, ids in zip(program, found, strict=True):
        name, argument = step.operation, step.argument
        if name == "compare":
            name = f"choose {argument[0]}"
        elif name in _TYPED:
            name, argument = f"{name} {argument[0]}".strip(), argument[1:]
        text = ",".join(argument)
        match step.operation, argument:
            case "filter", (value, negated):
                text = f"not({value})" if negated else value
            case "choose", _:
                text = "|".join(argument)
            case "choose rel", (noun, one, other, side):
                text = f"{noun},{one}|{other},{side}"
            case "exist", _:
                text = "?"
            case "compare", _:
                text = ""
        if step.operation in _NAMING and argument != ("scene",):
            text += f" ({','.join(ids) or '-'})"
        steps.append({"operation": name, "argument": text, "dependencies": list(step.inputs)})
    return steps


def semantic_text(steps: Sequence[dict[str, object]]) -> str:
    """The published steps in one line, the field ``semanticStr``."""
    return "->".join(
        f"{step['operation']}: {step['argument']}{' ' if step['dependencies'] else ''}{step['dependencies'] or ''}"
        for step in steps
    )


Part: TypeAlias = tuple[str, str]  # Words and the id of the object that they refer to, "" for none.


class GroundedText(NamedTuple):
    """A text, and the objects that its words refer to."""

    text: str
    objects: dict[str, str]  # indices of words ("3", or "2:5" for words 2 to 4) to object ids


def sentence(parts: Sequence[Part], end: str) -> GroundedText:
    """Join parts to a sentence: single spaces, no space before a comma, a capital first, ``end`` last.

    >>> sentence([("is the", ""), ("apple", "7"), ("red", "")], "?")
    GroundedText(text='Is the apple red?', objects={'2': '7'})
    """
    words: list[str] = []
    objects = {}
    for text, object_id in parts:
        first = len(words)
        for word in text.split():
            if word == "," and words:
                words[-1] += ","
            else:
                words.append(word)
        if object_id and len(words) > first:
            objects[str(first) if len(words) == first + 1 else f"{first}:{len(words)}"] = object_id
    text = " ".join(words)
    return GroundedText(text[:1].upper() + text[1:] + end, objects)


@dataclass(frozen=True, slots=True)
class Question:
    """A question about an image, before it has an id."""

    row: str  # its row of the paper's Table 3, a key of `question_types.QUESTION_TYPES`
    detailed: str  # the detailed type, where possible as in GQA's files; ends in "C" if the answer is no
    program: Program
    found: tuple[tuple[str, ...], ...]  # the object ids of each step of the program
    question: GroundedText
    answer: str
    full_answer: GroundedText
    global_group: str  # the kind of answer: color, animal; "" for yes and no
    local_group: str  # that and the subject: apple-color
