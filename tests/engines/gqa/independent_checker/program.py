"""Parse published programs: operation, name, values and object ids of each step."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

OPERATION = re.compile(
    r"(verify rel|choose rel|select|filter|relate|query|verify|choose|exist|and|or|same|different|common)(?: (.+))?$"
)
NAMED = re.compile(r"(?P<text>.*?)(?: ?\((?P<ids>[^()]*)\))? ?$")
ATTRIBUTE_STEPS = ("filter", "verify", "choose")


@dataclass(frozen=True)
class Step:
    """One step."""

    operation: str
    """without the type: filter, not filter color"""
    type: str = ""
    name: str = ""
    """of the objects looked for, "_" for any"""
    values: tuple[str, ...] = ()
    """values, or relations, or what to choose from"""
    negated: bool = False
    side: str = ""
    ids: tuple[str, ...] | None = None
    """the published object ids; () for "-", None if there are none"""
    inputs: tuple[int, ...] = ()


class Unreadable(ValueError):
    """A step that is not of the published form."""


def read_program(semantic: Sequence[dict[str, Any]]) -> list[Step]:
    """The steps of the field ``semantic``."""
    return [read_step(step["operation"], step["argument"], tuple(step["dependencies"])) for step in semantic]


def read_step(operation: str, argument: str, inputs: tuple[int, ...]) -> Step:
    """One published step."""
    found = OPERATION.match(operation)
    if not found:
        raise Unreadable(f"no operation {operation!r}")
    verb, kind = found[1], found[2] or ""
    if verb in ("select", "relate", "verify rel", "choose rel"):
        return _naming(verb, argument, inputs)
    if verb == "choose" and not argument and kind:
        return Step("compare", kind, inputs=inputs)
    if verb in ATTRIBUTE_STEPS:
        return _attribute(verb, kind, argument, inputs)
    if verb == "query":
        return Step(verb, argument.strip(), inputs=inputs)
    if verb in ("same", "different"):
        return Step(verb, (kind or argument).strip(), inputs=inputs)
    return Step(verb, inputs=inputs)


def _naming(verb: str, argument: str, inputs: tuple[int, ...]) -> Step:
    found = NAMED.match(argument)
    if found is None:
        raise Unreadable(f"{verb} of {argument!r}")
    listed = found["ids"]
    ids = (
        None if listed is None else tuple(part.strip() for part in listed.split(",") if part.strip() not in ("", "-"))
    )
    parts = [part.strip() for part in found["text"].split(",")]
    if verb == "select":
        return Step(verb, name=",".join(parts), ids=ids, inputs=inputs)
    if len(parts) != 3 or parts[2] not in ("s", "o"):
        raise Unreadable(f"{verb} of {argument!r}, expected name,relation,s or o")
    return Step(verb, name=parts[0], values=tuple(parts[1].split("|")), side=parts[2], ids=ids, inputs=inputs)


def _attribute(verb: str, kind: str, argument: str, inputs: tuple[int, ...]) -> Step:
    negated = re.match(r"not ?\((.*)\)$", argument.strip())
    text = negated[1] if negated else argument
    values = tuple(part.strip() for part in text.split("|"))
    return Step(verb, kind, values=values, negated=bool(negated), inputs=inputs)
