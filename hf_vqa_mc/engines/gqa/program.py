"""Functional programs: the steps from a scene graph to an answer (Hudson and Manning 2019, Sect. 3.4, Table 3)."""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

OPERATIONS = {
    "select": ("name",),  # "scene" for the image as a whole
    "filter": ("type", "value", "not"),  # not: "" or "not"
    "relate": ("name", "relation", "side"),  # side "s": the subjects of the input; "o": its objects
    "query": ("type",),  # "name", an attribute type, or weather, location, place of the scene
    "verify": ("type", "value"),
    "choose": ("type", "value", "value"),
    "verify rel": ("name", "relation", "side"),
    "choose rel": ("name", "relation", "relation", "side"),
    "exist": (),
    "and": (),
    "or": (),
    "same": ("type",),  # one input: all that it selects; two inputs: the two. "name" compares kinds
    "different": ("type",),
    "common": (),
    "compare": ("comparative",),  # older: which of two
}
"""Each operation with what its arguments are."""

NAMING = {"select", "relate", "verify rel", "choose rel"}
"""Operations whose published argument tells the objects found, in brackets."""


class Step(NamedTuple):
    """One operation on what earlier steps gave."""

    operation: str
    """a key of OPERATIONS"""
    argument: tuple[str, ...] = ()
    inputs: tuple[int, ...] = ()
    """places of earlier steps in the program"""


Program: TypeAlias = tuple[Step, ...]


def then(program: Sequence[Step], operation: str, *argument: str) -> Program:
    """The program with one more step on what its last step gives.

    >>> then((Step("select", ("apple",)),), "query", "color")[-1]
    Step(operation='query', argument=('color',), inputs=(0,))
    """
    return (*program, Step(operation, argument, (len(program) - 1,) if program else ()))


def joined(one: Program, other: Program, operation: str, *argument: str) -> Program:
    """Two programs side by side with one more step on what both give."""
    moved = tuple(step._replace(inputs=tuple(place + len(one) for place in step.inputs)) for step in other)
    last = Step(operation, argument, (len(one) - 1, len(one) + len(other) - 1))
    return (*one, *moved, last)


def published(program: Program, found: Sequence[Sequence[str]]) -> list[dict[str, object]]:
    """The program as GQA's files have it, the field ``semantic``.

    Args:
        program: the steps.
        found: the object ids of each step.
    """
    return [
        {"operation": _operation(step), "argument": _argument(step, ids), "dependencies": list(step.inputs)}
        for step, ids in zip(program, found, strict=True)
    ]


def semantic_text(steps: Sequence[dict[str, object]]) -> str:
    """The published steps in one line, the field ``semanticStr``."""
    texts = []
    for step in steps:
        inputs = step["dependencies"]
        after = f" [{', '.join(map(str, inputs))}]" if isinstance(inputs, list) and inputs else ""
        texts.append(f"{step['operation']}: {step['argument']}{after}")
    return "->".join(texts)


def _operation(step: Step) -> str:
    typed = step.operation in ("filter", "verify", "choose", "same", "different") and step.argument[0]
    if step.operation == "compare":
        return f"choose {step.argument[0]}"
    return f"{step.operation} {step.argument[0]}" if typed and step.argument[0] else step.operation


def _argument(step: Step, ids: Sequence[str]) -> str:
    named = f" ({','.join(ids) or '-'})" if step.operation in NAMING and step.argument != ("scene",) else ""
    match step.operation, step.argument:
        case "filter", (_, value, negated):
            return f"not({value})" if negated else value
        case "verify", (_, value):
            return value
        case "choose", (_, one, other):
            return f"{one}|{other}"
        case "choose rel", (name, one, other, side):
            return f"{name},{one}|{other},{side}{named}"
        case "exist", ():
            return "?"
        case (("same" | "different" | "compare"), _):
            return ""
        case _:
            return ",".join(step.argument) + named
