"""Which questions about an image follow from which (Hudson and Manning 2019, Sect. 3.4, Fig. 15).

A question with its answer tells facts about objects (``facts.py``), and from these more facts follow. Another question
follows if these settle it (``ways.py``). That what it refers to is there and the only one is taken as given, and that
it has an answer; but not which object it is: who knows that the vehicle is an airplane does not know that the white
vehicle is. Facts are closed under what follows from them, so chains of entailments are found at once, but for those
that lean on what a question in the middle presupposes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hf_vqa_mc.engines.gqa.described import DescribedIndex
from hf_vqa_mc.engines.gqa.facts import Fact, Told, described_facts, read_question
from hf_vqa_mc.engines.gqa.followed import Followed
from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.question import Question
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph
from hf_vqa_mc.engines.gqa.ways import Ways


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

    They are sound: in every image in which the first question has the same answer, whatever objects it speaks of
    there, the second has its answer too, if each of its references means one object there and it has an answer at
    all. Not all that follows is found.

    Args:
        questions: about this image, their answers right.
        graph: normalised.
        ontology: of the graph.
    """
    told = [read_question(question, graph, ontology) for question in questions]
    ways, only = Ways(ontology), DescribedIndex(ontology)
    for of_one in told:
        for described, object_id in of_one.references:
            only.add(described, object_id)
    index = Followed(ontology)
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
    """What a question tells and presupposes.

    What is there by its answer is an object to speak of, if it cannot be mixed up with one that is spoken of already.
    """
    yield from told.facts
    for described, object_id in told.references:
        yield ("only", described, object_id)
        yield from described_facts(described, object_id)
    referred = {object_id for _, object_id in told.references}
    there = [described for described in told.witnesses if ("some", described) in told.facts]
    often = Counter(witness for described in there for witness in told.witnesses[described])
    for described in there:
        witness, *others = told.witnesses[described]
        if not others and often[witness] == 1 and witness not in referred:
            yield from described_facts(described, witness)
