"""Runs programs on scene graphs. What a graph does not settle has no answer, so it is never asked.

Annotations are not exhaustive (Hudson and Manning 2019, Sect. 3.2). So every selection has two sides: the objects
that certainly are meant, and those that might be: a ``person`` where a man is looked for, an apple without a color
where a red one is, a pair of objects of which no relation is told. Only the list of objects is taken to be complete:
what may not be an apple by its name is none.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.program import Program, Step
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, SCENE, VERTICAL, SceneGraph

YES, NO = "yes", "no"
LEFT_OUT = ""
"""Stands for what was left out of a graph among the objects that might be meant."""
NAME = "name"

SHORT = {LEFT: "left", RIGHT: "right"}
"""Relations that are answers in fewer words."""

COMPARATIVES = {
    "older": ("age", "old", "young"),
    "younger": ("age", "young", "old"),
    "larger": ("size", "large", "small"),
    "smaller": ("size", "small", "large"),
    "taller": ("height", "tall", "short"),
    "shorter": ("height", "short", "tall"),
    "longer": ("length", "long", "short"),
    "thicker": ("thickness", "thick", "thin"),
}
"""The type whose values are compared, the value of the one that is more so, and that of the other."""

IN_COMMON = frozenset({"color", "material", "shape"})
"""Types that two objects can have in common: GQA's official scores take these answers as valid, and no others."""


class Found(NamedTuple):
    """What a selection finds."""

    certain: tuple[str, ...]
    possible: tuple[str, ...]
    """with the certain ones"""

    @property
    def only(self) -> str | None:
        """The one object that is meant, if it is clear which."""
        return self.certain[0] if len(self.certain) == len(self.possible) == 1 else None


Value: TypeAlias = Found | str | None


class Run(NamedTuple):
    """A program's way over a graph."""

    answer: str | None
    """None: the graph does not settle it"""
    found: tuple[tuple[str, ...], ...]
    """the objects that each step certainly found or looked at"""


def run(program: Program, graph: SceneGraph, ontology: Ontology, known: "Known | None" = None) -> Run:
    """The answer to a program.

    Args:
        program: as in ``program.OPERATIONS``; its names must be the ontology's.
        graph: normalised.
        ontology: of the graph.
        known: what steps gave before on this same graph; filled. One dictionary a graph makes many programs quick.

    Returns:
        The answer in the ontology's words ("yes" and "no" for what is verified), and what each step found.
    """
    values, found = _run(program, graph, ontology, known)
    return Run(values[-1] if isinstance(values[-1], str) else None, tuple(found))


def find(program: Program, graph: SceneGraph, ontology: Ontology, known: "Known | None" = None) -> Found | None:
    """What a program's last step finds; None where an earlier one is not settled. Args as for ``run``."""
    values, _ = _run(program, graph, ontology, known)
    return values[-1] if isinstance(values[-1], Found) else None


def _run(
    program: Program, graph: SceneGraph, ontology: Ontology, known: "Known | None"
) -> tuple[list[Value], list[tuple[str, ...]]]:
    values: list[Value] = []
    found: list[tuple[str, ...]] = []
    for step in program:
        inputs = [values[place] for place in step.inputs]
        key = (step.operation, step.argument, *inputs)
        result = known.get(key) if known is not None else None
        if result is None:
            result = _RULES[step.operation](step, inputs, graph, ontology)
            if known is not None:
                known[key] = result
        values.append(result[0])
        found.append(result[1])
    return values, found


Result: TypeAlias = tuple[Value, tuple[str, ...]]
Known: TypeAlias = dict[tuple[Any, ...], Result]
"""What steps give on one graph: by operation, argument and inputs."""
UNSETTLED: Result = (None, ())


def _select(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    (name,) = step.argument
    if name == SCENE:
        return SCENE, ()
    certain = tuple(key for key, thing in graph.objects.items() if ontology.isa(thing.name, name))
    possible = tuple(key for key, thing in graph.objects.items() if ontology.may_be(thing.name, name))
    return Found(certain, (*possible, *_left_out(name, graph, ontology))), certain


def _left_out(name: str, graph: SceneGraph, ontology: Ontology) -> tuple[str, ...]:
    """LEFT_OUT, if something of this name may have been left out of the graph."""
    return (LEFT_OUT,) if any(ontology.may_be(kind, name) for kind in graph.unclear) else ()


def _filter(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    (found,) = inputs
    if not isinstance(found, Found):
        return UNSETTLED
    kind, value, negated = step.argument
    wanted = NO if negated else YES
    told = {key: has_value(graph, ontology, key, kind, value) for key in found.possible if key != LEFT_OUT}
    kept = Found(
        tuple(key for key in found.certain if told[key] == wanted),
        tuple(key for key in found.possible if told.get(key) in (wanted, None)),
    )
    return kept, kept.certain


def _relate(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    """The objects at the other end of a relation; one of which there is one as a rule is taken to be told wholly."""
    name, relation, side = step.argument
    (anchor,) = inputs
    if not isinstance(anchor, Found) or anchor.only is None:
        return UNSETTLED
    certain, possible = [], []
    for key, thing in graph.objects.items():
        if key == anchor.only or not ontology.may_be(thing.name, name):
            continue
        ends = (key, anchor.only) if side == "s" else (anchor.only, key)
        told = holds(graph, ontology, ends[0], relation, ends[1])
        if told != NO:
            possible.append(key)
            if told == YES and ontology.isa(thing.name, name):
                certain.append(key)
    words = ontology.relations[relation]
    if certain and not words.many and not (words.one_subject and side == "o"):  # one wears several things
        possible = certain
    else:
        possible += _left_out(name, graph, ontology)
    return Found(tuple(certain), tuple(possible)), tuple(certain)


def has_value(graph: SceneGraph, ontology: Ontology, key: str, kind: str, value: str) -> str | None:
    """Whether an object has a value: "no" only where it has another one of a type of which there is one."""
    values = graph.objects[key].values.get(kind, ())
    if value in values:
        return YES
    if kind not in ontology.exclusive or not values or any(ontology.alike(value, other) for other in values):
        return None
    return NO


def holds(graph: SceneGraph, ontology: Ontology, subject: str, relation: str, target: str) -> str | None:
    """Whether a relation holds: "no" only where one is told that excludes it."""
    if graph.related(subject, relation, target):
        return YES
    words = ontology.relations[relation]
    if any(graph.related(subject, other, target) for other in words.excludes):
        return NO
    if words.one_subject and any(
        graph.related(other, relation, target) for other in graph.objects if other != subject
    ):
        return NO
    return None


def _query(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    (kind,) = step.argument
    (found,) = inputs
    if found == SCENE:
        return graph.scene.get(kind), ()
    if not isinstance(found, Found) or found.only is None:
        return UNSETTLED
    thing = graph.objects[found.only]
    if kind == NAME:
        return thing.name, found.certain
    values = thing.values.get(kind, ())
    return (values[0] if len(values) == 1 else None), found.certain


def _verify(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    kind, value = step.argument
    (found,) = inputs
    if found == SCENE:
        there = graph.scene.get(kind)
        if there is None or (there != value and ontology.alike(value, there)):
            return UNSETTLED
        return (YES if there == value else NO), ()
    if not isinstance(found, Found) or found.only is None:
        return UNSETTLED
    return has_value(graph, ontology, found.only, kind, value), found.certain


def _choose(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    kind, *options = step.argument
    (found,) = inputs
    if kind != NAME:
        told = [_verify(Step("verify", (kind, option)), inputs, graph, ontology) for option in options]
        chosen = [option for option, (value, _) in zip(options, told, strict=True) if value == YES]
        clear = len(chosen) == 1 and all(value is not None for value, _ in told)
        return (chosen[0] if clear else None), told[0][1]
    if not isinstance(found, Found) or found.only is None:
        return UNSETTLED
    name = graph.objects[found.only].name
    chosen = [option for option in options if ontology.isa(name, option)]
    clear = len(chosen) == 1 and sum(ontology.may_be(name, option) for option in options) == 1
    return (chosen[0] if clear else None), found.certain


def _verify_relation(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    """Whether there is such an object at the other end of the relation, whichever."""
    value, ids = _relate(step, inputs, graph, ontology)
    return _exists(value), ids


def _choose_relation(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    """Which of two relations the input has with the only object of a name."""
    name, one, other, side = step.argument
    told = {
        relation: _relate(Step("relate", (name, relation, side)), inputs, graph, ontology) for relation in (one, other)
    }
    answers = {relation: _exists(value) for relation, (value, _) in told.items()}
    chosen = [relation for relation, answer in answers.items() if answer == YES]
    if len(chosen) != 1 or None in answers.values():
        return UNSETTLED
    return SHORT.get(chosen[0], chosen[0]), told[chosen[0]][1]


def _exist(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    return _exists(inputs[0]), ()


def _exists(value: Value) -> str | None:
    if not isinstance(value, Found):
        return None
    return YES if value.certain else None if value.possible else NO


def _both(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    return (NO if NO in inputs else YES if set(inputs) == {YES} else None), ()


def _either(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    return (YES if YES in inputs else NO if set(inputs) == {NO} else None), ()


def _same(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    keys = _compared(inputs)
    if keys is None:
        return UNSETTLED
    return _all_alike(keys, step.argument[0], graph, ontology), keys


def _different(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    value, keys = _same(step, inputs, graph, ontology)
    return ({YES: NO, NO: YES}[value] if isinstance(value, str) else None), keys


def _compared(inputs: list[Value]) -> tuple[str, ...] | None:
    """The objects to compare: the only ones of two inputs, or all of one, at least two."""
    if len(inputs) == 1:
        (found,) = inputs
        clear = isinstance(found, Found) and found.certain == found.possible and len(found.certain) > 1
        return found.certain if clear and isinstance(found, Found) else None
    keys = [found.only for found in inputs if isinstance(found, Found)]
    if len(keys) != len(inputs) or None in keys or len(set(keys)) != len(keys):
        return None
    return tuple(key for key in keys if key is not None)


def _all_alike(keys: tuple[str, ...], kind: str, graph: SceneGraph, ontology: Ontology) -> str | None:
    """Whether all have the same value of a type; "no" only where two have values that nobody would mix up."""
    if kind == NAME:
        names = [graph.objects[key].name for key in keys]
        if len({ontology.nouns[name].kind for name in names}) == 1:
            return YES
        apart = any(
            not ontology.may_be(one, other) and not ontology.may_be(other, one) for one in names for other in names
        )
        return NO if apart else None
    values = [graph.objects[key].values.get(kind, ()) for key in keys]
    if any(len(of_one) != 1 for of_one in values):
        return None
    different = {of_one[0] for of_one in values}
    if len(different) == 1:
        return YES
    return NO if any(not ontology.alike(one, other) for one in different for other in different) else None


def _common(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    """The one type of which two objects have the same value, but for places; nothing if there are several.

    What is asked for is a type of IN_COMMON; another type that they share would be a right answer as well.
    """
    keys = _compared(inputs)
    if keys is None:
        return UNSETTLED
    kinds = sorted(set.intersection(*(set(graph.objects[key].values) - {"", HORIZONTAL, VERTICAL} for key in keys)))
    shared = [kind for kind in kinds if _all_alike(keys, kind, graph, ontology) == YES]
    settled = [kind for kind in kinds if _all_alike(keys, kind, graph, ontology) is not None]
    clear = len(shared) == 1 and shared[0] in IN_COMMON and settled == kinds
    return (shared[0] if clear else None), keys


def _compare(step: Step, inputs: list[Value], graph: SceneGraph, ontology: Ontology) -> Result:
    kind, more, less = COMPARATIVES[step.argument[0]]
    keys = _compared(inputs)
    if keys is None:
        return UNSETTLED
    values = [graph.objects[key].values.get(kind, ()) for key in keys]
    for key, own, others in zip(keys, values, reversed(values), strict=True):
        if own == (more,) and others == (less,):
            return graph.objects[key].name, keys
    return None, keys


_RULES: dict[str, Callable[[Step, list[Value], SceneGraph, Ontology], Result]] = {
    "select": _select,
    "filter": _filter,
    "relate": _relate,
    "query": _query,
    "verify": _verify,
    "choose": _choose,
    "verify rel": _verify_relation,
    "choose rel": _choose_relation,
    "exist": _exist,
    "and": _both,
    "or": _either,
    "same": _same,
    "different": _different,
    "common": _common,
    "compare": _compare,
}
