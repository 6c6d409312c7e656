"""What a question takes for granted and what its answer says, as facts about object ids."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tests.engines.gqa.independent_checker.program import Step, chain, read_program, referents
from tests.engines.gqa.independent_checker.relations import inverse

Fact = tuple[str, ...]
"""("is", id, name), ("only", name, id), ("has", id, value), ("hasnot", id, value), ("rel", subject, relation, object),
("norel", name, relation, side, id), ("none", what), ("some", what, id), ("same" or "different", type, ids),
("scene", type, value), ("scenenot", type, value), ("common", type, ids), ("more", comparative, id, ids)"""


def _sides_unified(program: list[Step]) -> list[Step]:
    """Relations told from the subject's side where there is a word for that: A, left, o is A, right, s."""
    return [
        replace(step, side="s", values=tuple(map(inverse, step.values)))
        if step.side == "o" and all(inverse(relation) for relation in step.values)
        else step
        for step in program
    ]


class Meaning:
    """What a question takes for granted, and what its answer says."""

    def __init__(self, record: Mapping[str, Any], found: Mapping[int, str] | None = None):
        self.program = _sides_unified(read_program(record["semantic"]))
        self.record, self.answer = record, str(record["answer"])
        self.ids = referents(self.program) | dict(found or {})
        self.granted: set[Fact] = set()
        self.told: set[Fact] = set()
        self.unclear = False
        self._last(len(self.program) - 1, self.answer)
        self.told = {fact for fact in self.told if fact[0] != "only"}
        for place in self._definite():
            self._grant(place)

    def _definite(self) -> list[int]:
        """Steps whose object is spoken of as there."""
        last = self.program[-1]
        if last.operation == "query" and last.type == "name":
            if self.program[last.inputs[0]].operation == "select":
                return list(self.ids)
            place = last.inputs[0]  # what is asked for is not taken for granted: what it stands on is
            asked = [place, *(self.program[place].inputs if self.program[place].operation == "filter" else ())]
            return [at for at in self.ids if at not in asked]
        if any(step.operation == "exist" for step in self.program):
            return [
                place
                for place in self.ids
                if any(step.operation == "relate" and step.inputs == (place,) for step in self.program)
            ]
        return list(self.ids)

    def _grant(self, place: int) -> None:
        self.granted |= self._facts_of(place)

    def _facts_of(self, place: int) -> set[Fact]:
        """What is said of the object of a step by all steps that lead to it."""
        facts: set[Fact] = set()
        for at in chain(self.program, place):
            step, key = self.program[at], self.ids.get(self._last_filter(at, place))
            if key is None:
                continue
            if step.operation == "select" and self._last_filter(at, place) == at and step.name != "this":
                facts.add(("only", step.name, key))
            if step.operation in ("select", "relate") and step.name not in ("_", "this", "scene"):
                facts.add(("is", key, step.name))
            if step.operation == "filter":
                facts.add(("hasnot" if step.negated else "has", key, step.values[0]))
            if step.operation == "relate" and step.inputs[0] in self.ids and key is not None:
                other = self.ids[step.inputs[0]]
                pair = (key, other) if step.side == "s" else (other, key)
                facts.add(("rel", pair[0], step.values[0], pair[1]))
        return facts

    def _last_filter(self, at: int, place: int) -> int:
        """The last filter after a step on the way to a place: that tells the object."""
        places = chain(self.program, place)
        rest = places[places.index(at) + 1 :]
        for after in rest:
            if self.program[after].operation != "filter":
                break
            at = after
        return at

    def _last(self, place: int, answer: str) -> None:
        verb = getattr(self, f"_{self.program[place].operation.replace(' ', '_')}", None)
        if verb is None:
            self.unclear = True
        else:
            verb(self.program[place], answer)

    def _of(self, step: Step) -> str | None:
        return self.ids.get(step.inputs[0])

    def _scene(self, step: Step) -> bool:
        return self.program[step.inputs[0]].name == "scene"

    def _query(self, step: Step, answer: str) -> None:
        key = self._of(step)
        if self._scene(step):
            self.told.add(("scene", step.type, answer))
        elif key is None:
            self.unclear = True
        elif step.type == "name":
            self.told |= self._facts_of(step.inputs[0]) | {("is", key, answer)}
        else:
            self.told.add(("has", key, answer))

    _choose = _query

    def _verify(self, step: Step, answer: str) -> None:
        key = self._of(step)
        if self._scene(step):
            self.told.add(("scene" if answer == "yes" else "scenenot", step.type, step.values[0]))
        elif key is None:
            self.unclear = True
        else:
            self.told.add(("has" if answer == "yes" else "hasnot", key, step.values[0]))

    def _verify_rel(self, step: Step, answer: str) -> None:
        key = self._of(step)
        if key is None:
            self.unclear = True
        elif answer == "yes" and len(step.ids or ()) != 1:
            self.told.add(("some", "/".join([step.name, step.values[0], step.side, key])))
        elif answer == "yes":
            self._relation(step, step.values[0], key)
        else:
            self.told.add(("norel", step.name, step.values[0], step.side, key, *(step.ids or ())))

    def _relation(self, step: Step, relation: str, key: str) -> None:
        other = (step.ids or ("",))[0]
        pair = (other, key) if step.side == "s" else (key, other)
        self.told.add(("rel", pair[0], relation, pair[1]))
        self.granted.add(("is", other, step.name))

    def _choose_rel(self, step: Step, answer: str) -> None:
        key = self._of(step)
        said = read_program(self.record["semantic"])[-1].values  # as published, whatever the side was
        chosen = [one for one, its in zip(step.values, said, strict=True) if answer == its or answer in its.split()]
        if key is None or len(chosen) != 1 or len(step.ids or ()) != 1:
            self.unclear = True
        else:
            self._relation(step, chosen[0], key)
            self.granted.add(("only", step.name, (step.ids or ("",))[0]))

    def _what(self, place: int) -> tuple[str, ...]:
        """What a chain looks for: "name/relation/side/id of what it is related to", then its values."""
        naming = self._naming(place)
        step = self.program[naming]
        look = "///".join([step.name, ""])
        if step.operation == "relate":
            look = "/".join([step.name, *step.values, step.side, self._input(step.inputs[0])])
        places = [at for at in chain(self.program, place) if at > naming]
        filters = (self.program[at] for at in places if self.program[at].operation == "filter")
        return (look, *(("not " if one.negated else "") + one.values[0] for one in filters))

    def _input(self, place: int) -> str:
        """The object that something is related to, or in words what it is."""
        return self.ids.get(place) or "+".join(part.replace("/", "|") for part in self._what(place))

    def _naming(self, place: int) -> int:
        while self.program[place].operation == "filter":
            place = self.program[place].inputs[0]
        return place

    def _exist(self, step: Step, answer: str) -> None:
        place = step.inputs[0]
        self._existence(place, answer)

    def _existence(self, place: int, answer: str) -> None:
        if answer == "no":
            self.told.add(("none", *self._what(place)))
        elif place in self.ids:
            self.told |= self._facts_of(place)
        else:
            self.told.add(("some", *self._what(place)))

    def _and(self, step: Step, answer: str) -> None:
        self._joined(step, answer, certain="yes")

    def _or(self, step: Step, answer: str) -> None:
        self._joined(step, answer, certain="no")

    def _joined(self, step: Step, answer: str, certain: str) -> None:
        if answer == certain:
            for place in step.inputs:
                self._last(place, answer)
        else:
            parts = sorted(str((self._part(place), answer)) for place in step.inputs)
            self.told.add(("joined", step.operation, *parts))
            self.unclear = True

    def _part(self, place: int) -> tuple[str, ...]:
        step = self.program[place]
        return (*step.values, *self._what(step.inputs[0]), self.ids.get(step.inputs[0], ""))

    def _same(self, step: Step, answer: str) -> None:
        verb = step.operation if answer == "yes" else {"same": "different", "different": "same"}[step.operation]
        found = {place: (self.ids[place],) for place in step.inputs if place in self.ids}
        told = [found.get(place) or self.program[self._naming(place)].ids or () for place in step.inputs]
        self.told.add((verb, step.type, *sorted(key for ids in told for key in ids)))

    _different = _same

    def _common(self, step: Step, answer: str) -> None:
        self.told.add(("same", answer, *sorted(self.ids.get(place, "") for place in step.inputs)))

    def _compare(self, step: Step, answer: str) -> None:
        ids = sorted(self.ids.get(place, "") for place in step.inputs)
        self.told.add(("more", step.type, answer, *ids))
