"""The question types of GQA's Table 3."""

import dataclasses
import re
from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from hf_vqa_mc.engines.gqa.executor import NO, YES, Executor, Question
from hf_vqa_mc.engines.gqa.question_types import QUESTION_TYPES, questions_about
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph
from hf_vqa_mc.engines.vocabulary import with_article
from tests.engines.gqa.question_worlds import KITCHEN, ONTOLOGY, HandmadeDecoys, LyingDecoys, graph_of, graphs, thing

NO_LIMITS = dict.fromkeys(QUESTION_TYPES, 10_000)
OF_HAT = (
    r"(What is the color of|(Of )?(what|What|which|Which) color (is|do you think|does)) the hat (that )?the boy is "
    r"wearing( is| have)?"
)
ORANGE = "(Is there|.* there is|Do you see|Can you see|Can) an orange( be seen)? under the table"
HAT_NOT_RED = (
    r"(Is there|Are there|Do you see|Can you see|Does the \w+ show) (any )?(a hat|hats) that (is|are) not red.*"
)


def generate(
    graph: SceneGraph, seed: int = 0, limits: dict[str, int] | None = None, decoys: object = None
) -> list[Question]:
    return list(questions_about(graph, ONTOLOGY, decoys or HandmadeDecoys(), seed=seed, most=limits))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def kitchen() -> list[Question]:
    """All that is asked with sixty seeds."""
    return [question for seed in range(60) for question in generate(KITCHEN, seed, NO_LIMITS)]


def those(questions: Iterable[Question], row: str) -> dict[str, str]:
    """Question texts with their answers."""
    return {one.question.text: one.answer for one in questions if one.row == row}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("row", "text", "answer"),
    [
        ("query global", "How is the weather", "sunny"),
        ("query global", "What kind of place is this", "kitchen"),
        ("verify global", "(Is it|Is the weather|Does the weather (look|seem)|Would you say it is) rainy.*", "no"),
        ("verify global", "Is this an indoor scene", "yes"),
        ("choose global", "Is it (indoors or outdoors|outdoors or indoors)", "indoors"),
        ("query attribute", "(What|Which) color is the umbrella", "red"),
        ("query attribute", "What is the table made of", "wood"),
        ("query attribute", "What is the man doing", "standing"),
        ("query attribute", "Of (what|which) color are the pants", "black"),
        ("query attribute", "Which side of the .* is the dog on", "right"),
        ("query attribute", OF_HAT, "red"),
        ("verify attribute", "Is the umbrella red", "yes"),
        ("verify attribute", "Is the table made of metal", "no"),
        ("logical attribute", "Is the umbrella (both )?(large and red|red and large)", "yes"),
        ("choose attribute", "Is the man (sitting or standing|standing or sitting)", "standing"),
        ("choose attribute", "What is the chair made of, (wood or metal|metal or wood)", "metal"),
        ("exist", "(Is there|Do you see|Can you see) an umbrella( in .*)?", "yes"),
        ("exist", "Do you see (any )?grass", "no"),
        ("exist", "Do you see (any )?pants", "yes"),
        ("exist", "Is there a red hat.*", "yes"),
        ("exist", HAT_NOT_RED, "yes"),
        ("exist relation", ".* (a man|men) wearing the black (hat|piece of clothing)", "yes"),
        ("exist relation", ORANGE, "no"),
        ("exist or", "(Is there|Do you see) (either )?a (dog or a woman|woman or a dog).*", "yes"),
        ("exist and", ".* both .*grass.*", "no"),
        ("query category", "Who is sitting", "boy"),
        ("query category", "What kind of animal is it", "dog"),
        ("query category", "What kind of furniture is made of metal", "chair"),
        ("choose category", "What kind of animal is small, (a dog or a cat|a cat or a dog)", "dog"),
        ("query relation", "What is the man holding", "umbrella"),
        ("query relation", "Who is wearing the red hat", "boy"),
        ("verify relation", "Is the man holding an umbrella", "yes"),
        ("verify relation", "Is the orange under a table", "no"),
        ("choose relation", "Is the dog to the left of the boy or to the right", "right"),
        ("choose object", "Who .* holding the (red |large )?umbrella, (a man or a woman|a woman or a man)", "man"),
        ("compare", "Who is older, (the man or the boy|the boy or the man)", "man"),
        ("common", "What do the (table and the chair|chair and the table) have in common", "color"),
        ("same", "Do the table and the dog have the same color", "yes"),
        (
            "different",
            "(Are|.*) the (table and the chair|chair and the table) (are )?made of different materials",
            "yes",
        ),
        ("same all", "Are the two hats the same color", "no"),
        ("different all", "Are the hats of different colors", "yes"),
    ],
)
def test_every_row_asks_what_the_image_shows(kitchen: list[Question], row: str, text: str, answer: str) -> None:
    found = those(kitchen, row)
    assert {its for other, its in found.items() if re.fullmatch(text + r"\?", other)} == {answer}, sorted(found)[:60]


def test_all_23_question_types_exist_and_are_asked(kitchen: list[Question]) -> None:
    assert len(QUESTION_TYPES) == 23
    assert set(Counter(question.row for question in kitchen)) == set(QUESTION_TYPES)
    assert Counter(row.structural for row in QUESTION_TYPES.values()) == {
        "query": 4,
        "verify": 5,
        "choose": 5,
        "logical": 3,
        "compare": 6,
    }


@pytest.mark.parametrize(
    ("text", "full"),
    [
        ("Is the table made of metal", "No, the table is made of wood."),
        (ORANGE, "No, the orange is on the table."),
        ("Is the umbrella (both )?(small and red|red and small)", "No, the umbrella is red but large."),
        ("Who is older, the .* or the .*", "The man is older than the boy."),
        ("What is the man holding", "The man is holding the umbrella."),
        ("Are the two hats the same color", "No, one is black and the other is red."),
        ("Do you see any grass", "No, there is no grass."),
        (HAT_NOT_RED, "Yes, there is a black hat."),
        ("What kind of animal is it", "The animal is a dog."),
    ],
)
def test_long_answers_justify(kitchen: list[Question], text: str, full: str) -> None:
    found = {one.full_answer.text for one in kitchen if re.fullmatch(text + r"\?", one.question.text)}
    assert found == {full}


@pytest.mark.parametrize(
    ("text", "detailed", "groups"),
    [
        ("(What|Which) color is the umbrella", "directWhich", ("color", "10q-umbrella_color")),
        ("Is the umbrella red", "verifyAttr", ("", "06-umbrella_red")),
        ("(Is there|Do you see|Can you see) an umbrella( in .*)?", "exist", ("", "03-umbrella")),
        ("Do you see (any )?grass", "existC", ("", "03-grass")),
        (HAT_NOT_RED, "existThatNot", ("", "04-hat_n#red")),
        ("What is the man holding", "relO", ("umbrella", "14-man_holding,o")),
        ("Who is wearing the red hat", "relS", ("person", "14-hat_wearing,s")),
        (
            "What is the (name of the )?device (that is )?to the right of the (dog|animal)( called)?",
            "categoryRelS",
            ("device", "15-dog_to the right of,s"),
        ),
        ("What kind of animal is it", "category", ("animal", "11q-animal")),
        ("Who is sitting", "activityWho", ("person", "sitting")),
        ("Do the table and the dog have the same color", "twoSame", ("", "09same-dog_table")),
    ],
)
def test_types_and_groups_are_those_of_published_questions(
    kitchen: list[Question], text: str, detailed: str, groups: tuple[str, str]
) -> None:
    same = [one for one in kitchen if re.fullmatch(text + r"\?", one.question.text)]
    found = {(one.detailed, one.global_group, one.local_group) for one in same}
    assert found == {(detailed, *groups)}


def test_what_is_not_settled_is_not_asked() -> None:
    """Of two apples one has no color; nobody knows whether the other one is red too."""
    unclear = graph_of(thing("1", "apple", (0, 0, 9, 9), "red"), thing("2", "apple", (300, 0, 9, 9)))
    found = {text for one in range(30) for text in those(generate(unclear, one, NO_LIMITS), "exist")}
    assert any("that are red" in text for text in found) and any("that are not white" in text for text in found)
    assert not any("not red" in text for text in found)
    assert not any("white" in text and "not white" not in text for text in found)


def test_what_is_on_the_table_is_not_asked_where_there_may_be_more() -> None:
    table = graph_of(
        thing("1", "apple", (0, 0, 9, 9), "red", {"2": "on"}),
        thing("2", "table", (0, 9, 99, 99), "brown"),
        thing("3", "phone", (20, 0, 9, 9), "black"),
    )
    found = {text for one in range(30) for text in those(generate(table, one, NO_LIMITS), "query relation")}
    assert any(re.match("What (kind|type) of fruit is on the table", text) for text in found)
    assert not any(re.match("What (is|can be seen) on the", text) for text in found)


def test_the_same_seed_gives_the_same_questions_and_another_gives_others() -> None:
    assert generate(KITCHEN, 7) == generate(KITCHEN, 7)
    assert generate(KITCHEN, 7) != generate(KITCHEN, 8)
    assert generate(KITCHEN, 7) != generate(dataclasses.replace(KITCHEN, image_id="2"), 7)


def test_the_limits_are_kept_and_rows_without_one_are_left_out() -> None:
    rows = Counter(question.row for question in generate(KITCHEN, 0, {"exist": 3, "query attribute": 2}))
    assert rows == {"exist": 3, "query attribute": 2}


@pytest.mark.slow
def test_decoys_that_are_correct_answers_make_no_wrong_question() -> None:
    left_out: Counter[str] = Counter()
    for seed in range(20):
        for question in questions_about(
            KITCHEN, ONTOLOGY, LyingDecoys(), seed=seed, most=NO_LIMITS, left_out=left_out
        ):
            assert Executor(KITCHEN, ONTOLOGY).run(question.program).answer == question.answer
            last = question.program[-1]
            assert last.operation != "choose" or last.argument[1] != last.argument[2]
    assert sum(count for reason, count in left_out.items() if reason.startswith("mismatch")) > 0


@pytest.mark.slow
@examples(max_examples=50, deadline=None)
@given(graphs(), st.integers(0, 999))
def test_every_question_about_any_image_is_answered_by_its_program(graph: SceneGraph, seed: int) -> None:
    left_out: Counter[str] = Counter()
    found = list(questions_about(graph, ONTOLOGY, HandmadeDecoys(), seed=seed, most=NO_LIMITS, left_out=left_out))
    assert not [reason for reason in left_out if reason.startswith("mismatch")], left_out
    assert len({one.question.text for one in found}) == len(found)
    for one in found:
        result = Executor(graph, ONTOLOGY).run(one.program)
        assert (result.answer, result.found) == (one.answer, one.found)
        assert (QUESTION_TYPES[one.row].structural in ("verify", "logical") or "all" in one.row) <= (
            one.answer in (YES, NO)
        )
        said = re.search(rf"(?<![\w'-]){re.escape(one.answer.lower())}", one.question.text.lower())
        assert not ("query" in one.row and said)


@pytest.mark.slow
@examples(max_examples=50, deadline=None)
@given(graphs(), st.integers(0, 999))
def test_texts_about_any_image_are_in_order(graph: SceneGraph, seed: int) -> None:
    for one in generate(graph, seed, NO_LIMITS):
        for pointed, end in ((one.question, "?"), (one.full_answer, ".")):
            text = pointed.text
            assert text[0].isupper() and text.endswith(end) and text[-2].isalnum()
            assert "  " not in text and " ," not in text and "{" not in text and "[" not in text
            for article, word in re.findall(r"\b(an?) ([\w'-]+)", text, re.IGNORECASE):
                assert with_article(word) == f"{article.lower()} {word}"
            assert not re.search(r"\b([\w'-]+) \1\b|\b(the|a|an) (the|a|an)\b", one.question.text, re.IGNORECASE)
            words = len(text.split())
            for span, key in pointed.objects.items():
                first, _, last = span.partition(":")
                assert key in graph.objects and 0 <= int(first) < int(last or int(first) + 1) <= words
