"""The 23 question types of GQA (Hudson and Manning 2019, Table 3), and all questions about an image."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.executor import Program, Question
from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.question_types import attributes, objects, relations
from hf_vqa_mc.engines.gqa.question_types.context import Draft, ImageContext
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph
from hf_vqa_mc.engines.settings import DEPTH
from hf_vqa_mc.listing import Listing
from hf_vqa_mc.scoring.gqa_types import CHOOSE, COMPARE, LOGICAL, QUERY, VERIFY


class QuestionType(NamedTuple):
    """A row of the paper's Table 3."""

    name: str
    structural: str
    semantic: str  # as in GQA's files, which have attr for comparisons where Table 3 has object
    most: int  # questions about one image; GQA has 200 about one (22,669,678 of 113,018 images, Sect. 4.1)
    ask: Callable[[ImageContext, SeededRng], Iterator[Draft]]


QUESTION_TYPES = Listing(
    "question type",
    QuestionType("query global", QUERY, "global", 3, attributes.query_scene),
    QuestionType("verify global", VERIFY, "global", 2, attributes.verify_scene),
    QuestionType("choose global", CHOOSE, "global", 2, attributes.choose_scene),
    QuestionType("query attribute", QUERY, "attr", 40, attributes.query),
    QuestionType("verify attribute", VERIFY, "attr", 32, attributes.verify),
    QuestionType("logical attribute", LOGICAL, "attr", 20, attributes.logical),
    QuestionType("choose attribute", CHOOSE, "attr", 28, attributes.choose),
    QuestionType("exist", VERIFY, "obj", 26, objects.exist),
    QuestionType("exist relation", VERIFY, "rel", 28, relations.exist),
    QuestionType("exist or", LOGICAL, "obj", 10, objects.either),
    QuestionType("exist and", LOGICAL, "obj", 10, objects.both),
    QuestionType("query category", QUERY, "cat", 20, objects.query_category),
    QuestionType("choose category", CHOOSE, "cat", 12, objects.choose_category),
    QuestionType("query relation", QUERY, "rel", 44, relations.query),
    QuestionType("verify relation", VERIFY, "rel", 32, relations.verify),
    QuestionType("choose relation", CHOOSE, "rel", 24, relations.choose),
    QuestionType("choose object", CHOOSE, "rel", 12, relations.choose_object),
    QuestionType("compare", COMPARE, "attr", 4, attributes.compare),
    QuestionType("common", COMPARE, "attr", 4, attributes.common),
    QuestionType("same", COMPARE, "attr", 6, partial(attributes.two, "same")),
    QuestionType("different", COMPARE, "attr", 6, partial(attributes.two, "different")),
    QuestionType("same all", COMPARE, "attr", 3, partial(attributes.all_of, "same")),
    QuestionType("different all", COMPARE, "attr", 3, partial(attributes.all_of, "different")),
)
"""The rows of Table 3, in its order."""


def questions_about(
    graph: SceneGraph,
    ontology: Ontology,
    decoys: Distractors,
    depth: int = DEPTH,
    seed: int = 0,
    most: Mapping[str, int] | None = None,
    left_out: Counter[str] | None = None,
) -> Iterator[Question]:
    """The questions about an image, no two of the same text; ``left_out`` counts rejected drafts by reason.

    ``depth``: nested modifiers of a reference; ``most``: questions per type instead of `QuestionType.most`.
    """
    image = ImageContext(graph, ontology, decoys, depth, Counter() if left_out is None else left_out)
    texts: set[str] = set()
    for kind in QUESTION_TYPES.values():
        limit, asked = kind.most if most is None else most.get(kind.name, 0), 0
        rng, programs = SeededRng(seed, graph.image_id, kind.name), set[Program]()
        for draft in kind.ask(image, rng) if limit else ():
            if (question := image.question(kind.name, draft, rng)) is None:
                continue
            if question.question.text in texts or question.program in programs:
                image.left_out["duplicate question"] += 1
                continue
            texts.add(question.question.text)
            programs.add(question.program)
            yield question
            if (asked := asked + 1) == limit:
                break
