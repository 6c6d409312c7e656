"""Which questions about an image follow from which (Hudson and Manning 2019, Sect. 3.4, Fig. 15).

A question with its answer tells facts about objects (``facts.py``), and from these more facts follow. Another question
follows if these settle it. What a question refers to exists and is the only one of its kind, and a question that is
asked has an answer; both are taken as given for the question that follows. Facts are closed under what follows from
them, so chains of entailments are found at once, but for those that lean on what a question in the middle presupposes.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import product
from typing import NamedTuple

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
    read_question,
    relation_condition,
)
from hf_vqa_mc.engines.gqa.followed import Followed
from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.question import Question
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph

MANY_WAYS = 64
"""ways to settle a question that are looked at; what follows only by others is left out"""


class Entailments(NamedTuple):
    """What follows from each question about an image; questions are known by their places."""

    entailed: list[list[int]]
    """the others that follow, among them the equivalent ones; in order"""
    equivalent: list[list[int]]
    """those that say the same of the same references in other words, with the question itself"""
    content: list[int]
    """questions with the same number tell the same, whatever words and references they use"""


def entailments(questions: Sequence[Question], graph: SceneGraph, ontology: Ontology) -> Entailments:
    """The entailments among the questions about one image.

    They are sound: in every image in which the first question has the same answer about the same objects, the second
    has its answer too, if its references mean the same objects there and it has an answer at all. Not all that
    follows is found.

    Args:
        questions: about this image, their answers right.
        graph: normalised.
        ontology: of the graph.
    """
    told = [read_question(question, graph, ontology) for question in questions]
    ways, only = _Ways(ontology), DescribedIndex(ontology)
    for of_one in told:
        for described, object_id in of_one.references:
            only.add(described, object_id)
    index = Followed(ontology, graph)
    for place, of_one in enumerate(told):
        for way in ways.of(of_one, only):
            index.need(place, way)
    index.complete()
    says = [_says(of_one, question.answer) for of_one, question in zip(told, questions, strict=True)]
    alike: dict[object, list[int]] = defaultdict(list)
    for place, key in enumerate(says):
        alike[key].append(place)
    contents: dict[object, int] = {}
    content = [contents.setdefault((answer, facts), len(contents)) for _, answer, facts in says]
    entailed = []
    for place, of_one in enumerate(told):
        found = index.settled(_all_facts(of_one))
        found.update(alike[says[place]])
        found.discard(place)
        entailed.append(sorted(found))
    return Entailments(entailed, [alike[key] for key in says], content)


def _says(told: Told, answer: str) -> tuple[frozenset[object], str, frozenset[Fact]]:
    return frozenset(told.references), answer, frozenset(told.facts)


def _all_facts(told: Told) -> Iterable[Fact]:
    """What a question tells and presupposes."""
    yield from told.facts
    for described, object_id in told.references:
        yield ("only", described, object_id)
        yield from described_facts(described, object_id)


class _Ways:
    """The sets of facts that settle a question."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology

    def of(self, told: Told, only: DescribedIndex) -> list[tuple[Fact, ...]]:
        """At most MANY_WAYS sets of facts, each of which settles the question; none that holds already."""
        given = {fact for described, key in told.references for fact in described_facts(described, key)}
        ways: dict[tuple[Fact, ...], None] = {}
        for facts in told.settled_by:
            options = [self._options(fact, told, given, only) for fact in facts]
            for choice in product(*options):
                way = tuple(dict.fromkeys(fact for part in choice for fact in part if fact not in given))
                if way:
                    ways[way] = None
                if len(ways) == MANY_WAYS:
                    return list(ways)
        return list(ways)

    def _options(self, fact: Fact, told: Told, given: set[Fact], only: DescribedIndex) -> list[tuple[Fact, ...]]:
        """Sets of facts from each of which a fact follows, given what the question refers to."""
        match fact:
            case "some", Described() as described:
                options: list[tuple[Fact, ...]] = [(fact,)]
                for witness in told.witnesses.get(described, ()):
                    parts = [self._said(one, told) for one in described_facts(described, witness) if one not in given]
                    options += [tuple(choice) for choice in product(*parts)]
                return options
            case "none", Described() as described:
                return [(fact,), *self._excluded(described, told, only)]
            case _:
                return [(one,) for one in self._said(fact, told)]

    def _excluded(self, described: Described, told: Told, only: DescribedIndex) -> Iterable[tuple[Fact, ...]]:
        """There is none if the only object that could be one is none."""
        for wider, object_id in only.wider(described):
            seen: Fact = ("only", wider, object_id)
            fails = [condition_fact(object_id, one, False) for one in sorted(described.conditions - wider.conditions)]
            if described.kind != wider.kind:
                fails.append(("kind", object_id, described.kind, NO))
            for failed in fails:
                for fact in self._said(failed, told):
                    yield (seen, fact)

    def _said(self, fact: Fact, told: Told) -> list[Fact]:
        """A fact about an object, and what is the same where the object is the only one of a description.

        If there is only one apple, then "there is a red apple" says that it is red.
        """
        said = [fact]
        for (kind, conditions), object_id in told.references:
            condition = self._condition(fact, object_id)
            if condition is not None:
                there, absent = self._said_by(condition, fact[-1] == YES)
                said += [("some", Described(kind, conditions | {one})) for one in there]
                said += [("none", Described(kind, conditions | {one})) for one in absent]
            elif fact[0] == "kind" and fact[1] == object_id and is_kind(self._ontology, str(fact[2]), kind):
                said.append(("some" if fact[-1] == YES else "none", Described(str(fact[2]), conditions)))
        return said

    def _said_by(self, condition: Condition, holds: bool) -> tuple[list[Condition], list[Condition]]:
        """Conditions of which there must be an object, or must be none, so that one holds, or a relation does not."""
        what, one, two, three = condition
        if what == "value":
            return [condition], [(what, one, two, OPPOSITE[three])]
        if holds:
            return [condition], []
        excluding = sorted(self._ontology.relations[two].excludes)
        return [relation_condition(self._ontology, one, other, three) for other in excluding], [condition]

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
