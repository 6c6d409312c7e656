"""An interpreter of published programs on raw scene graphs, written from the paper and the published records.

Each step has three sets: objects that certainly are what is meant, objects that are by a wide reading (a poodle is
a dog), and objects that cannot be excluded (a car without a color may be red). A reference must fit one object of the
first and the second set; a "no" must leave the third one empty.
"""

from collections.abc import Sequence
from typing import Any

from tests.engines.gqa.independent_checker.annotation import NOT, OPEN, POSITIONS, YES, Annotation, Objects
from tests.engines.gqa.independent_checker.program import Step, Unreadable, read_program
from tests.engines.gqa.independent_checker.raw_graph import RawGraph
from tests.engines.gqa.independent_checker.vocabulary import SURE, WORDS, Vocabulary


class Reading:
    """A program run over a graph: problems is what was wrong, answer what it came to."""

    def __init__(self, record: dict[str, Any], graph: RawGraph, words: Vocabulary):
        self.record, self.graph, self.words = record, graph, words
        self.notes = Annotation(graph, words)
        self.gold = str(record["answer"])
        self.problems: list[tuple[str, str]] = []
        self.results: list[Any] = []
        self.left_open: dict[int, str] = {}
        """steps whose no the annotation does not make sure of, and what may be there"""

    def run(self) -> list[tuple[str, str]]:
        """All steps in order; the problems found, each a kind and a text."""
        try:
            self.program = read_program(self.record["semantic"])
        except (Unreadable, KeyError) as error:
            return [("program: unreadable", str(error))]
        for index, step in enumerate(self.program):
            if any(not 0 <= earlier < index for earlier in step.inputs):
                return [("program: dependencies", f"step {index} takes {step.inputs}")]
            verb = getattr(self, f"_{step.operation.replace(' ', '_')}")
            try:
                self.results.append(verb(step, *(self.results[earlier] for earlier in step.inputs)))
            except (TypeError, AttributeError, IndexError) as error:  # a step given another kind of input
                return [("program: steps that do not fit", f"step {index}: {error}")]
        if self.gold == NOT:
            for left in self.left_open.values():
                self._problem("no: not excluded", f"the annotation leaves {left} possible")
        answer = self.results[-1]
        if isinstance(answer, str) and answer not in (self.gold, OPEN):
            self._problem("answer: other", f"the program comes to {answer!r}")
        elif answer == OPEN and not self.problems:
            self._problem("answer: unknown", "the annotation leaves the answer open")
        for index, step in enumerate(self.program):
            self._ids(index, step)
        return self.problems

    def _problem(self, kind: str, text: str) -> None:
        if (kind, text) not in self.problems:
            self.problems.append((kind, text))

    # objects

    def _select(self, step: Step) -> Objects | None:
        if step.name == "scene":
            return None
        return self.notes.named(step.name)

    def _filter(self, step: Step, of: Objects) -> Objects:
        value = step.values[0]
        holds = {key: self.notes.holds(key, step.type, value) for key in of.open}
        wanted, unwanted = (NOT, YES) if step.negated else (YES, NOT)
        kept = frozenset(key for key, answer in holds.items() if answer == wanted)
        possible = frozenset(key for key, answer in holds.items() if answer != unwanted)
        if step.type in POSITIONS:
            possible = frozenset(key for key in possible if holds[key] == YES)
        return Objects(of.sure & kept, of.wide & kept, of.open & possible)

    def _relate(self, step: Step, of: Objects) -> Objects:
        named = self.notes.named("_" if step.name == "place" else step.name)  # Where is he? On the train.
        if len({self.graph.one(key) for key in of.wide}) == 1 and of.sure:
            of = of._replace(open=of.sure)  # it is spoken of as the one there is
        found = Objects(
            frozenset(key for key in named.sure if self._any_related(key, step, of.sure) is True),
            frozenset(key for key in named.wide if self._any_related(key, step, of.wide) is True),
            frozenset(key for key in named.open if self._any_related(key, step, of.open) is not False),
        )
        before = len(self.problems)
        self._one(of, step.inputs[0], "relate")
        if self.problems[before:] and len({self.graph.one(key) for key in found.wide}) == 1 == len(found.sure):
            # "the man" is several, but only one of them has a hat: the published questions leave it at that
            self.problems[before:] = [("reference: unique only jointly", text) for _, text in self.problems[before:]]
        return found

    def _any_related(self, key: str, step: Step, others: frozenset[str], index: int = 0) -> bool | None:
        answers = [self.notes.related(key, step.values[index], step.side, other) for other in others if other != key]
        return True if True in answers else None if None in answers else False

    def _one(self, of: Objects, index: int, what: str) -> str | None:
        """The one object that is spoken of; a problem where there are none or several."""
        step = self._naming_step(index)
        ids = [key for key in step.ids or () if key in self.graph.objects]
        things = {self.graph.one(key) for key in of.wide}
        if len(things) == 1 and of.sure:
            return ids[0] if len(ids) == 1 and ids[0] in of.sure else min(of.sure)
        if not of.sure:
            text = f"{what}: nothing annotated is the {step.name}" + (
                f" (wide: {self.notes.show(of.wide)})" if of.wide else ""
            )
            self._problem("reference: none" if len(of.wide) != 1 else "reference: by a wide reading only", text)
            return ids[0] if len(ids) == 1 else next(iter(of.wide), None)
        kind = "reference: ambiguous" if len(of.sure) > 1 else "reference: ambiguous by a wide reading"
        self._problem(kind, f"{what}: the {step.name} may be {self.notes.show(of.wide)}")
        return ids[0] if len(ids) == 1 else min(of.sure)

    def _naming_step(self, index: int) -> Step:
        step = self.program[index]
        while step.operation == "filter":
            step = self.program[step.inputs[0]]
        return step

    def _ids(self, index: int, step: Step) -> None:
        """The ids given must be objects that the step finds, and be given where it finds any."""
        if step.ids is None:
            if step.operation in ("select", "relate") and step.name != "scene":
                self._problem("ids: missing", f"step {index}")
            return
        strangers = [key for key in step.ids if key not in self.graph.objects]
        if strangers:
            self._problem("ids: no such object", f"step {index}: {strangers}")
        elif step.operation in ("select", "relate"):
            self._ids_found(index, step)
        else:
            wrong = [key for key in step.ids if not self.notes.fit(key, step.name)]
            if wrong:
                self._problem("ids: another object", f"step {index}: {wrong} is no {step.name}")

    def _ids_found(self, index: int, step: Step) -> None:
        found: Objects | None = self.results[index]
        if found is None:
            return
        ids = frozenset(step.ids or ())
        last = index
        while after := next(
            (at for at, one in enumerate(self.program) if one.inputs == (last,) and one.operation == "filter"), None
        ):
            last = after
        final: Objects = self.results[last]
        if not ids <= found.wide:
            self._problem(
                "ids: another object", f"step {index}: {sorted(ids - found.wide)} is no {step.name} it finds"
            )
        elif not ids and final.sure:
            self._problem("ids: missing", f"step {index}: finds {self.notes.show(final.sure)}")
        elif ids and len(final.sure) == 1 and not final.sure <= ids:
            self._problem("ids: another object", f"step {index}: {sorted(ids)}, not {self.notes.show(final.sure)}")

    # attributes

    def _query(self, step: Step, of: Objects | None) -> str:
        if of is None:
            return self.notes.of_scene(step.type, self.gold)
        key = self._one(of, step.inputs[0], "query")
        if key is None:
            return OPEN
        if step.type == "name":
            return self._queried_name(key, step)
        if step.type in POSITIONS:
            return self.gold if self.notes.placed(key, step.type, self.gold) == YES else OPEN
        values = self.notes.values(key, step.type)
        right = [value for value in values if self.words.same_value(value, self.gold)]
        others = [value for value in values if not self.words.alike(value, self.gold)]
        if not right:
            return values[0] if values else OPEN
        if others:
            self._problem("answer: several values", f"{step.type} of {self.notes.show(frozenset([key]))}: {values}")
        return self.gold

    def _queried_name(self, key: str, step: Step) -> str:
        names = self.graph.objects[key].names
        same = any(self.words.names_of(name) & self.words.names_of(self.gold) for name in names)
        if same or any(name.endswith(f" {self.gold}") for name in names):
            return self.gold
        kinds = any(self.words.fits(name, self.gold) == SURE for name in names)
        return self.gold if kinds and self.gold not in self.words.categories(names[0]) else names[0]

    def _verify(self, step: Step, of: Objects | None) -> str:
        value = step.values[0]
        if of is None:
            return self.notes.scene_holds(step.type, value)
        key = self._one(of, step.inputs[0], "verify")
        return OPEN if key is None else self.notes.holds(key, step.type, value)

    def _choose(self, step: Step, of: Objects | None) -> str:
        if self.gold not in step.values:
            self._problem("answer: not offered", f"{self.gold!r} of {step.values}")
            return OPEN
        if len(set(step.values)) != 2:
            self._problem("program: choose", f"{step.values}")
        other = next((value for value in step.values if value != self.gold), "")
        if of is None:
            if self.notes.of_scene(step.type, other) == other:
                self._problem("answer: both fit", f"{step.values} of the scene")
            return self.notes.of_scene(step.type, self.gold)
        key = self._one(of, step.inputs[0], "choose")
        if key is None:
            return OPEN
        if step.type == "name":
            if self.notes.fit(key, other):
                self._problem("answer: both fit", f"{self.notes.show(frozenset([key]))}: {step.values}")
            return self._queried_name(key, step)
        first, second = self.notes.holds(key, step.type, self.gold), self.notes.holds(key, step.type, other)
        if second == YES:
            self._problem("answer: both fit", f"{self.notes.show(frozenset([key]))}: {step.values}")
        return self.gold if first == YES else other if second == YES else OPEN

    # relations

    def _verify_rel(self, step: Step, of: Objects) -> str:
        key = self._one(of, step.inputs[0], "verify rel")
        if key is None:
            return OPEN
        named = self.notes.named(step.name)
        one = frozenset([key])
        found = [other for other in named.sure if self._any_related(other, step, one) is True]
        if found:
            if self.gold == YES and step.ids is not None and not set(step.ids) & set(found):
                self._problem("ids: another object", f"verify rel: {step.ids}, not {found}")
            return YES
        left = frozenset(other for other in named.open - one if self._any_related(other, step, one) is not False)
        if not left:
            return NOT
        self._problem("no: not excluded", f"{step.values[0]}: the annotation leaves {self.notes.show(left)} possible")
        return NOT

    def _choose_rel(self, step: Step, of: Objects) -> str:
        key = self._one(of, step.inputs[0], "choose rel")
        if key is None or not step.ids or step.ids[0] not in self.graph.objects:
            return OPEN
        named = self.notes.named(step.name)
        if len(named.wide - {key}) > 1 and self._bare(step.name):
            self._problem("reference: ambiguous", f"choose rel: the {step.name} may be {self.notes.show(named.wide)}")
        holds = [self._any_related(step.ids[0], step, frozenset([key]), index) for index in range(len(step.values))]
        if holds.count(True) != 1:
            self._problem("answer: both fit" if holds.count(True) else "answer: unknown", f"{step.values}: {holds}")
            return OPEN
        relation = step.values[holds.index(True)]
        short = {"to the left of": "left", "to the right of": "right"}.get(relation, relation)
        return self.gold if self.gold in (relation, short) else short

    def _bare(self, name: str) -> bool:
        return f"the {name} to the" in self.record["question"].lower()

    # whether there is any

    def _exist(self, step: Step, of: Objects) -> str:
        if of.sure:
            return YES
        if of.open:
            self.left_open[len(self.results)] = self.notes.show(of.open)
        return NOT

    def _and(self, step: Step, *of: str) -> str:
        closed = [answer == NOT and index not in self.left_open for index, answer in zip(step.inputs, of, strict=True)]
        if NOT in of and any(closed):
            for index in step.inputs:
                self.left_open.pop(index, None)  # one part that is surely not there is enough
        return NOT if NOT in of else OPEN if OPEN in of else YES

    def _or(self, step: Step, *of: str) -> str:
        if YES in of:
            self.left_open.clear()
        return YES if YES in of else OPEN if OPEN in of else NOT

    # several objects

    def _same(self, step: Step, *of: Objects) -> str:
        return self._alike(step, of)

    def _different(self, step: Step, *of: Objects) -> str:
        return {YES: NOT, NOT: YES, OPEN: OPEN}[self._alike(step, of)]

    def _alike(self, step: Step, of: Sequence[Objects]) -> str:
        if len(of) == 1:
            keys = of[0].sure
            ids = frozenset(self._naming_step(step.inputs[0]).ids or ())
            if len(keys) < 2:
                self._problem("reference: not several", f"{self.notes.show(keys)}")
            if ids != keys:
                self._problem(
                    "ids: not all",
                    f"all the {self._naming_step(step.inputs[0]).name}: {sorted(keys)}, told {sorted(ids)}",
                )
        else:
            ones = [self._one(part, index, step.operation) for part, index in zip(of, step.inputs, strict=True)]
            keys = frozenset(key for key in ones if key is not None)
            if len(keys) < 2:
                self._problem("reference: not several", "an object compared with itself")
                return OPEN
        return self._all_alike(step.type, sorted(keys))

    def _all_alike(self, kind: str, keys: Sequence[str]) -> str:
        if not keys:
            return OPEN
        if kind in ("type", "name"):
            kinds = [{self.words.lemma(name) for name in self.graph.objects[key].names} for key in keys]
            return YES if set.intersection(*kinds) else NOT
        values = [self.notes.values(key, kind) for key in keys]
        if not all(values):
            return OPEN
        pairs = [(a, b) for index, a in enumerate(values) for b in values[index + 1 :]]
        if all(any(self.words.same_value(x, y) for x in a for y in b) for a, b in pairs):
            if any(not self.words.same_value(x, y) for a, b in pairs for x in a for y in b):
                self._problem("answer: several values", f"{kind}: {values}")
            return YES
        if any(not any(self.words.alike(x, y) for x in a for y in b) for a, b in pairs):
            return NOT
        return OPEN

    def _common(self, step: Step, *of: Objects) -> str:
        ones = [self._one(part, index, "common") for part, index in zip(of, step.inputs, strict=True)]
        keys = [key for key in ones if key is not None]
        if len(set(keys)) < 2:
            return OPEN
        shared = [kind for kind in ("color", "material", "shape", "pattern") if self.notes.share(kind, *keys[:2])]
        if len(shared) > 1:
            self._problem("answer: both fit", f"common: {shared}")
        return self.gold if self.gold in shared else shared[0] if shared else OPEN

    def _compare(self, step: Step, *of: Objects) -> str:
        ones = [self._one(part, index, "compare") for part, index in zip(of, step.inputs, strict=True)]
        keys = [key for key in ones if key is not None]
        if len(set(keys)) < 2 or step.type not in WORDS["compared"]:
            self._problem("program: compare", f"{step.type} of {keys}")
            return OPEN
        kind, more, less = WORDS["compared"][step.type]
        for key, other in (keys[:2], keys[1::-1]):
            if self.notes.holds(key, kind, more) == YES and self.notes.holds(other, kind, less) == YES:
                return self._queried_name(key, step)
        return OPEN


def problems_of(record: dict[str, Any], graph: RawGraph, words: Vocabulary) -> list[tuple[str, str]]:
    """What is wrong with a record's program, references, ids and answer, each a kind and a text."""
    return Reading(record, graph, words).run()
