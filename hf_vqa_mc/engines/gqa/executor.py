"""Questions, their functional programs (Hudson and Manning 2019, Sect. 3.4) and the executor of programs.

If the graph does not determine the answer of a program, the result is None: no question is asked.

Annotations are not exhaustive (Sect. 3.2), so a selection has certain objects and possible ones: a ``person`` where a
man is selected, an apple without a color where a red one is, objects between which no relation is annotated. Only the
list of objects counts as complete: if no object can be an apple, there is no apple.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, NamedTuple, TypeAlias

from hf_vqa_mc.engines.gqa.ontology import VALUES, Ontology
from hf_vqa_mc.engines.gqa.scene_graph import HORIZONTAL, LEFT, RIGHT, SCENE, VERTICAL, SceneGraph

_NAMING = {"select", "relate", "verify rel", "choose rel"}  # Their published argument ends with the objects found.
_TYPED = {"filter", "verify", "choose", "same", "different", "compare"}  # Their published name ends with the type.


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
        if name in _TYPED:
            name, argument = f"{'choose' if name == 'compare' else name} {argument[0]}".strip(), argument[1:]
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
        if step.operation in _NAMING and argument != ("scene",):
            text += f" ({','.join(ids) or '-'})"
        steps.append({"operation": name, "argument": text, "dependencies": list(step.inputs)})
    return steps


def semantic_text(steps: Sequence[dict[str, object]]) -> str:
    """The published steps in one line, the field ``semanticStr``."""
    lines = [(step["operation"], step["argument"], step["dependencies"]) for step in steps]
    return "->".join(f"{name}: {argument}{' ' if needs else ''}{needs or ''}" for name, argument, needs in lines)


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


YES, NO = "yes", "no"
OPPOSITE = {YES: NO, NO: YES}
LEFT_OUT = ""  # Stands for objects that were left out of the graph, among the possible ones.
NAME = "name"

SHORT = {LEFT: "left", RIGHT: "right"}  # Relations with a shorter form as answers.

COMPARATIVES = VALUES.read("comparatives", dict[str, tuple[str, ...]])

IN_COMMON = frozenset({"color", "material", "shape"})
"""Types that two objects can have in common; official scores accept no other answers."""


class Selection(NamedTuple):
    """The objects of a selection."""

    certain: tuple[str, ...]
    possible: tuple[str, ...]  # includes the certain ones

    @property
    def only(self) -> str | None:
        """The only object, if it is unambiguous."""
        return self.certain[0] if len(self.certain) == len(self.possible) == 1 else None


class Run(NamedTuple):
    """The result of a program."""

    answer: str | None  # None if the graph does not determine it
    found: tuple[tuple[str, ...], ...]  # the objects that each step certainly found or used


Value: TypeAlias = Selection | str | None
Inputs: TypeAlias = Sequence[Value]
Result: TypeAlias = tuple[Value, tuple[str, ...]]  # A step's value, and the objects that it found or used.
UNSETTLED: Result = (None, ())


class Executor:
    """Runs programs on one normalised scene graph; results of equal steps are cached."""

    def __init__(self, graph: SceneGraph, ontology: Ontology) -> None:
        self.graph, self.ontology = graph, ontology
        self._known: dict[tuple[Any, ...], Result] = {}

    def run(self, program: Program) -> Run:
        """The answer in the ontology's words, "yes" or "no", and the objects of each step."""
        answers, found = zip(*self._results(program), strict=True)
        return Run(answers[-1] if isinstance(answers[-1], str) else None, found)

    def find(self, program: Program) -> Selection | None:
        """The objects of a program's last step; None if an earlier step is not settled."""
        found = self._results(program)[-1][0]
        return found if isinstance(found, Selection) else None

    def _results(self, program: Program) -> list[Result]:
        results: list[Result] = []
        for step in program:
            inputs = [results[index][0] for index in step.inputs]
            key = (step.operation, step.argument, *inputs)
            result = self._known.get(key)
            if result is None:
                result = self._known[key] = _RULES[step.operation](self, inputs, *step.argument)
            results.append(result)
        return results

    def _values(self, key: str, kind: str) -> tuple[str, ...]:
        if key == SCENE:
            return (self.graph.scene[kind],) if kind in self.graph.scene else ()
        thing = self.graph.objects[key]
        return (thing.name,) if kind == NAME else thing.values.get(kind, ())

    def has_value(self, key: str, kind: str, value: str) -> str | None:
        """Whether an object or the scene has a value: "no" only if it has a dissimilar one of an exclusive type."""
        values, ontology = self._values(key, kind), self.ontology
        if kind == NAME:
            return YES if ontology.isa(values[0], value) else None if ontology.may_be(values[0], value) else NO
        if value in values:
            return YES
        exclusive = key == SCENE or kind in ontology.exclusive
        return NO if exclusive and values and not any(ontology.alike(value, one) for one in values) else None

    def holds(self, subject: str, relation: str, target: str) -> str | None:
        """Whether a relation holds: "no" only if one is annotated that excludes it."""
        related, words = self.graph.related, self.ontology.relations[relation]
        if related(subject, relation, target):
            return YES
        excluded = any(related(subject, other, target) for other in words.excludes)
        taken = words.one_subject and any(related(other, relation, target) for other in self.graph.objects)
        return NO if excluded or taken else None

    def _select(self, inputs: Inputs, name: str) -> Result:
        if name == SCENE:
            return SCENE, ()
        objects, ontology = self.graph.objects, self.ontology
        certain = tuple(key for key, thing in objects.items() if ontology.isa(thing.name, name))
        possible = [key for key, thing in objects.items() if ontology.may_be(thing.name, name)]
        return Selection(certain, (*possible, *self._left_out(name))), certain

    def _left_out(self, name: str) -> list[str]:
        """LEFT_OUT if an object of this name may have been left out of the graph."""
        return [LEFT_OUT] if any(self.ontology.may_be(kind, name) for kind in self.graph.unclear) else []

    def _filter(self, inputs: Inputs, kind: str, value: str, negated: str) -> Result:
        (found,) = inputs
        if not isinstance(found, Selection):
            return UNSETTLED
        wanted = NO if negated else YES
        answers = {key: self.has_value(key, kind, value) for key in found.possible if key != LEFT_OUT}
        certain = tuple(key for key in found.certain if answers[key] == wanted)
        return Selection(certain, tuple(key for key in found.possible if answers.get(key) in (wanted, None))), certain

    def _relate(self, inputs: Inputs, name: str, relation: str, side: str) -> Result:
        """The objects at the other end of a relation; if one is usual, annotations count as complete."""
        if (anchor := _only(inputs)) is None:
            return UNSETTLED
        others = {key: one.name for key, one in self.graph.objects.items() if self.ontology.may_be(one.name, name)}
        others.pop(anchor, None)
        ends = {key: (key, anchor) if side == "s" else (anchor, key) for key in others}
        holds = {key: self.holds(one, relation, other) for key, (one, other) in ends.items()}
        certain = tuple(key for key in others if holds[key] == YES and self.ontology.isa(others[key], name))
        words = self.ontology.relations[relation]
        if certain and not words.many and not (words.one_subject and side == "o"):  # one wears several things
            return Selection(certain, certain), certain
        return Selection(certain, (*(key for key in others if holds[key] != NO), *self._left_out(name))), certain

    def _ask(self, inputs: Inputs, kind: str, *options: str) -> Result:
        """The value of the only object or the scene; with one option whether it has it, with two which of them."""
        if (key := _only(inputs)) is None:
            return UNSETTLED
        used, values = () if key == SCENE else (key,), self._values(key, kind)
        if options:
            answers = {option: self.has_value(key, kind, option) for option in options}
            if len(options) == 1:
                return answers[options[0]], used
            values = () if None in answers.values() else tuple(one for one in options if answers[one] == YES)
        return (values[0] if len(values) == 1 else None), used

    def _verify_relation(self, inputs: Inputs, name: str, relation: str, side: str) -> Result:
        value, ids = self._relate(inputs, name, relation, side)
        return _exists(value), ids

    def _choose_relation(self, inputs: Inputs, name: str, one: str, other: str, side: str) -> Result:
        """The one of two relations that the input has with the only object of a name."""
        results = {relation: self._verify_relation(inputs, name, relation, side) for relation in (one, other)}
        answers = {answer: (SHORT.get(relation, relation), ids) for relation, (answer, ids) in results.items()}
        return answers[YES] if answers.keys() == {YES, NO} else UNSETTLED

    def _same(self, inputs: Inputs, kind: str, opposite: bool = False) -> Result:
        if (keys := _compared(inputs)) is None:
            return UNSETTLED
        value = self._all_alike(keys, kind)
        return (OPPOSITE[value] if opposite and value else value), keys

    def _all_alike(self, keys: tuple[str, ...], kind: str) -> str | None:
        """Whether all objects have the same value of a type; "no" only if two have dissimilar values."""
        values, ontology = [self._values(key, kind) for key in keys], self.ontology
        if any(len(of_one) != 1 for of_one in values):
            return None
        different = {of_one[0] for of_one in values}
        if len({ontology.nouns[name].kind for name in different} if kind == NAME else different) == 1:
            return YES
        alike = ontology.mixed_up if kind == NAME else ontology.alike
        return NO if any(not alike(*pair) for pair in product(different, repeat=2)) else None

    def _common(self, inputs: Inputs) -> Result:
        """The only type, positions aside, of which two objects have the same value, if it is in IN_COMMON."""
        if (keys := _compared(inputs)) is None:
            return UNSETTLED
        types = (set(self.graph.objects[key].values) - {"", HORIZONTAL, VERTICAL} for key in keys)
        alike = {kind: self._all_alike(keys, kind) for kind in sorted(set.intersection(*types))}
        shared = [kind for kind, answer in alike.items() if answer == YES]
        clear = len(shared) == 1 and shared[0] in IN_COMMON and None not in alike.values()
        return (shared[0] if clear else None), keys

    def _compare(self, inputs: Inputs, comparative: str) -> Result:
        kind, more, less = COMPARATIVES[comparative]
        if (keys := _compared(inputs)) is None:
            return UNSETTLED
        values = {self._values(key, kind): key for key in keys}
        return (self.graph.objects[values[(more,)]].name if values.keys() == {(more,), (less,)} else None), keys


def _only(inputs: Inputs) -> str | None:
    (found,) = inputs
    return found.only if isinstance(found, Selection) else found


def _exists(value: Value) -> str | None:
    if not isinstance(value, Selection):
        return None
    return YES if value.certain else None if value.possible else NO


def _compared(inputs: Inputs) -> tuple[str, ...] | None:
    """The objects to compare: the single objects of two inputs, or all objects of one input, at least two."""
    if len(inputs) == 1:
        (found,) = inputs
        clear = isinstance(found, Selection) and found.certain == found.possible and len(found.certain) > 1
        return found.certain if isinstance(found, Selection) and clear else None
    one, other = (_only((found,)) for found in inputs)
    return None if one is None or other is None or one == other else (one, other)


_RULES: dict[str, Callable[..., Result]] = {
    "select": Executor._select,
    "filter": Executor._filter,
    "relate": Executor._relate,
    **dict.fromkeys(("query", "verify", "choose"), Executor._ask),
    "verify rel": Executor._verify_relation,
    "choose rel": Executor._choose_relation,
    "exist": lambda _, inputs: (_exists(inputs[0]), ()),
    "and": lambda _, inputs: (NO if NO in inputs else YES if set(inputs) == {YES} else None, ()),
    "or": lambda _, inputs: (YES if YES in inputs else NO if set(inputs) == {NO} else None, ()),
    "same": Executor._same,
    "different": partial(Executor._same, opposite=True),
    "common": Executor._common,
    "compare": Executor._compare,
}
