"""From which facts a question can be answered, and which of them tell what it refers to."""

from collections.abc import Iterable, Iterator
from itertools import product
from typing import TypeAlias

from hf_vqa_mc.engines.gqa.described import DescribedIndex
from hf_vqa_mc.engines.gqa.executor import NO, YES
from hf_vqa_mc.engines.gqa.facts import (
    OPPOSITE,
    Condition,
    Described,
    Fact,
    Told,
    condition_fact,
    described_facts,
    is_kind,
    relation_condition,
)
from hf_vqa_mc.engines.gqa.ontology import Ontology

MANY_WAYS = 64
"""ways to settle a question that are looked at; what follows only by others is left out"""

Way: TypeAlias = tuple[Fact, ...]
"""Facts that settle a question together, those that say what it refers to last."""


class Ways:
    """The sets of facts that settle a question.

    That there is what a question refers to, and only one, is taken as given. Which object it is has to be known: a
    fact about an object counts only with all that the question says of that object to refer to it, and of those that
    this speaks of. The object of which all this holds is then the one that is meant, whatever it was called.
    """

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology

    def of(self, told: Told, only: DescribedIndex) -> list[Way]:
        """At most MANY_WAYS sets of facts, each of which settles the question.

        Args:
            told: what the question says.
            only: all descriptions by which some question about the image refers to an object.
        """
        given = {fact for described, key in told.references for fact in described_facts(described, key)}
        ways: dict[Way, None] = {}
        for facts in told.settled_by:
            options = [self._options(fact, told, only) for fact in facts if fact not in given]
            for choice in product(*options):
                way = dict.fromkeys(fact for part in choice for fact in part)
                if way:
                    ways[(*way, *_meant(way, told))] = None
                if len(ways) == MANY_WAYS:
                    return list(ways)
        return list(ways)

    def _options(self, fact: Fact, told: Told, only: DescribedIndex) -> list[Way]:
        """Sets of facts from each of which a fact follows."""
        match fact:
            case "some", Described() as described:
                witnesses = told.witnesses.get(described, ())
                return [(fact,), *(tuple(described_facts(described, witness)) for witness in witnesses)]
            case "none", Described() as described:
                return [(fact,), *self._excluded(described, told, only)]
            case _:
                return [(one,) for one in self._said(fact, told)]

    def _excluded(self, described: Described, told: Told, only: DescribedIndex) -> Iterator[Way]:
        """There is none if the only object that could be one is none."""
        for wider, object_id in only.wider(described):
            seen: Way = () if (wider, object_id) in told.references else (("only", wider, object_id),)
            fails = [condition_fact(object_id, one, False) for one in sorted(described.conditions - wider.conditions)]
            if described.kind != wider.kind:
                fails.append(("kind", object_id, described.kind, NO))
            for failed in fails:
                yield from ((*seen, fact) for fact in self._said(failed, told))

    def _said(self, fact: Fact, told: Told) -> list[Fact]:
        """A fact about an object, and what is the same where the object is the only one of a description.

        If there is no red apple, then the apple is not red, whichever it is.
        """
        said = [fact]
        for (kind, conditions), object_id in told.references:
            condition = self._condition(fact, object_id)
            if condition is not None:
                absent = self._absent(condition, fact[-1] == YES)
                said += [("none", Described(kind, conditions | {one})) for one in absent]
            elif fact[0] == "kind" and fact[1:] == (object_id, fact[2], NO):
                if is_kind(self._ontology, str(fact[2]), kind):
                    said.append(("none", Described(str(fact[2]), conditions)))
        return said

    def _absent(self, condition: Condition, holds: bool) -> list[Condition]:
        """Conditions of which there must be no object so that one holds, or that a relation does not."""
        what, one, two, three = condition
        if what == "value":
            return [(what, one, two, OPPOSITE[three])]
        return [] if holds else [condition]

    def _condition(self, fact: Fact, object_id: str) -> Condition | None:
        """A fact as a condition on an object that it is about."""
        match fact:
            case "value", str(key), str(kind), str(value), str(sign) if key == object_id:
                return ("value", kind, value, sign)
            case "relation", str(subject), str(relation), str(target), str(_) if subject == object_id:
                return relation_condition(self._ontology, "s", relation, target)
            case "relation", str(subject), str(relation), str(target), str(_) if target == object_id:
                return relation_condition(self._ontology, "o", relation, subject)
        return None


def _meant(facts: Iterable[Fact], told: Told) -> Iterator[Fact]:
    """All that a question says of the objects of some facts to refer to them."""
    spoken_of = {key for fact in facts for key in _objects(fact)}
    for described, object_id in reversed(told.references):  # what is spoken of to refer to another comes before it
        if object_id in spoken_of:
            spoken_of.update(condition[3] for condition in described.conditions if condition[0] == "relation")
    for described, object_id in told.references:
        if object_id in spoken_of:
            yield from described_facts(described, object_id)


def _objects(fact: Fact) -> Iterator[str]:
    """The objects that a fact is about."""
    match fact:
        case (("value" | "exact" | "kind" | "name"), str(key), *_):
            yield key
        case "relation", str(subject), _, str(target), _:
            yield from (subject, target)
        case (("some" | "none"), Described() as described):
            yield from _others(described)
        case "only", Described() as described, str(key):
            yield from (key, *_others(described))
        case ("same", _, Described() as described, _) | ("common", Described() as described, _):
            yield from _others(described)
        case ("same", _, frozenset() as several, _) | ("common", frozenset() as several, _):
            yield from several
        case "compare", _, frozenset() as pairs:
            yield from (key for key, _ in pairs)
        case "or", frozenset() as facts:
            yield from (key for one in facts for key in _objects(one))


def _others(described: Described) -> Iterator[str]:
    """The objects to which those that are described have relations."""
    return (condition[3] for condition in described.conditions if condition[0] == "relation")
