"""The 23 question types of GQA (Hudson and Manning 2019, Table 3), and all questions about an image."""

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.question import Question
from hf_vqa_mc.engines.gqa.question_types import (
    attributes,
    categories,
    comparisons,
    logical_objects,
    objects,
    relations,
    scene,
)
from hf_vqa_mc.engines.gqa.question_types.asking import Asking, Decoys, Limits
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph
from hf_vqa_mc.engines.rng import Chance
from hf_vqa_mc.errors import unknown_name
from hf_vqa_mc.scoring.gqa_types import CHOOSE, COMPARE, LOGICAL, QUERY, VERIFY


class Row(NamedTuple):
    """A row of the paper's Table 3."""

    structural: str
    semantic: str
    """as GQA's files spell it: global, attr, obj, cat, rel; they have attr for what compares, Table 3 has object"""
    form: str
    """the program, as Table 3 writes it"""
    example: str
    """a question of ours"""
    ask: Callable[[Asking, Chance], Iterator[Question]]


ROWS = {
    "query global": Row(QUERY, "global", "select: scene/query: type", "How is the weather?", scene.query),
    "verify global": Row(VERIFY, "global", "select: scene/verify type: attr", "Is it cloudy?", scene.verify),
    "choose global": Row(CHOOSE, "global", "select: scene/choose type: a|b", "Is it cloudy or clear?", scene.choose),
    "query attribute": Row(QUERY, "attr", "select: obj/…/query: type", "What color is the mug?", attributes.query),
    "verify attribute": Row(VERIFY, "attr", "select: obj/…/verify type: attr", "Is the mug blue?", attributes.verify),
    "logical attribute": Row(
        LOGICAL,
        "attr",
        "select: obj/…/verify t1: a1/verify t2: a2/and",
        "Is the mug both blue and small?",
        attributes.logical,
    ),
    "choose attribute": Row(
        CHOOSE, "attr", "select: obj/…/choose type: a|b", "Is the mug blue or white?", attributes.choose
    ),
    "exist": Row(VERIFY, "obj", "select: obj/…/exist", "Is there a mug in the picture?", objects.exist),
    "exist relation": Row(
        VERIFY,
        "rel",
        "select: subj/…/relate (rel): obj/exist",
        "Is there a mug on the wooden desk?",
        objects.exist_relation,
    ),
    "exist or": Row(
        LOGICAL,
        "obj",
        "select: obj1/…/exist/select: obj2/…/exist/or",
        "Do you see either a mug or a plate?",
        logical_objects.either,
    ),
    "exist and": Row(
        LOGICAL,
        "obj",
        "select: obj1/…/exist/select: obj2/…/exist/and",
        "Are there both plates and blue mugs?",
        logical_objects.both,
    ),
    "query category": Row(
        QUERY, "cat", "select: category/…/query: name", "What kind of furniture is on the left?", categories.query
    ),
    "choose category": Row(
        CHOOSE,
        "cat",
        "select: category/…/choose: a|b",
        "What kind of furniture is this, a desk or a bed?",
        categories.choose,
    ),
    "query relation": Row(
        QUERY, "rel", "select: subj/…/relate (rel): obj/query: name", "What is the tall man holding?", relations.query
    ),
    "verify relation": Row(
        VERIFY, "rel", "select: subj/…/verifyRel (rel): obj", "Is the tall man holding a mug?", relations.verify
    ),
    "choose relation": Row(
        CHOOSE,
        "rel",
        "select: subj/…/chooseRel (r1|r2): obj",
        "Is the dog to the left or to the right of the desk?",
        relations.choose,
    ),
    "choose object": Row(
        CHOOSE,
        "rel",
        "select: subj/…/relate (rel): obj/choose: a|b",
        "What is the tall man holding, a mug or a plate?",
        relations.choose_object,
    ),
    "compare": Row(
        COMPARE,
        "attr",
        "select: obj1/…/select: obj2/…/compare type",
        "Who is older, the man or the boy?",
        comparisons.compare,
    ),
    "common": Row(
        COMPARE,
        "attr",
        "select: obj1/…/select: obj2/…/common",
        "What do the mug and the plate have in common?",
        comparisons.common,
    ),
    "same": Row(
        COMPARE,
        "attr",
        "select: obj1/…/select: obj2/…/same",
        "Do the mug and the plate have the same color?",
        comparisons.same,
    ),
    "different": Row(
        COMPARE,
        "attr",
        "select: obj1/…/select: obj2/…/different",
        "Are the desk and the door made of different materials?",
        comparisons.different,
    ),
    "same all": Row(COMPARE, "attr", "select: allObjs/same", "Are all the mugs the same color?", comparisons.all_same),
    "different all": Row(
        COMPARE, "attr", "select: allObjs/different", "Are the animals of different kinds?", comparisons.all_different
    ),
}
"""The rows of Table 3, in its order."""


def questions_about(
    graph: SceneGraph,
    ontology: Ontology,
    distractors: Decoys,
    seed: int,
    limits: Limits | None = None,
    left_out: Counter[str] | None = None,
) -> Iterator[Question]:
    """Questions about an image, each with the answer that its program gives.

    They depend on the graph, the seed and the limits only. No two of one image have the same text, and no two of a row
    the same program.

    Args:
        graph: normalised.
        ontology: of the graph.
        distractors: decoys for what is not so.
        seed: of all random choices.
        limits: questions of each row at most.
        left_out: counts the questions that were not asked, by reason.

    Raises:
        InputError: the limits name an unknown row.
    """
    limits = limits or Limits()
    for row in limits.most:
        if row not in ROWS:
            raise unknown_name("row of question types", row, ROWS)
    asking = Asking(graph, ontology, distractors, seed, limits, left_out)
    texts: set[str] = set()
    for row, of_row in ROWS.items():
        if row in limits.most:
            yield from islice(_new(of_row.ask(asking, asking.chance(row)), texts, asking), limits.most[row])


def _new(questions: Iterator[Question], texts: set[str], asking: Asking) -> Iterator[Question]:
    programs = set()
    for question in questions:
        if question.question.text in texts or question.program in programs:
            asking.left_out["asked before"] += 1
            continue
        texts.add(question.question.text)
        programs.add(question.program)
        yield question
