import json
import lzma
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.gqa import gqa_score
from tests.scoring.literal_gqa import literal_gqa

ANSWERS = st.sampled_from(["yes", "no", "color", "material", "shape", "Yes", " yes", "", "dög", "x y"])
OPERATION = st.fixed_dictionaries(
    optional={"scene": st.none()},
    mapping={
        "operation": st.sampled_from(["select", "query", "exist", "choose name", "verify query", "choose", "filter"]),
        "argument": st.sampled_from(["name", "names", "?", "scene", "existing", "nam", ": name", "a (1)"]),
    },
)
FEW_IDS = [str(number) for number in range(8)]
POINTERS = st.dictionaries(st.sampled_from(["0", "1:3", "4"]), st.sampled_from(["a", "b", "c"]))
SIDE = st.one_of(st.integers(-20, 700), st.floats(-20, 700))
BOX = st.fixed_dictionaries({"x": SIDE, "y": SIDE, "w": SIDE, "h": SIDE})
SCENE_GRAPH = st.fixed_dictionaries(
    {
        "width": st.integers(1, 640),
        "height": st.floats(1, 640),
        "objects": st.fixed_dictionaries({"a": BOX, "b": BOX, "c": BOX}),
    }
)


def record(ids):
    return st.fixed_dictionaries(
        {
            "isBalanced": st.booleans(),
            "imageId": st.sampled_from(["n1", "n2"]),
            "question": st.text("a? \t\u00a0é", max_size=12),
            "answer": ANSWERS,
            "entailed": st.lists(st.sampled_from(ids), max_size=4),
            "types": st.fixed_dictionaries(
                {
                    "structural": st.sampled_from(["query", "verify", "Query"]),
                    "semantic": st.sampled_from(["rel", "attr"]),
                    "detailed": st.sampled_from(["relS", "twoCommon", "twoCommonX", "common"]),
                }
            ),
            "groups": st.fixed_dictionaries({"global": st.sampled_from([None, "g", "h"])}),
            "semantic": st.lists(OPERATION, max_size=4),
            "annotations": st.fixed_dictionaries({"question": POINTERS, "fullAnswer": POINTERS, "answer": POINTERS}),
        }
    )


@st.composite
def worlds(draw):
    """Questions with at least one balanced one in a group, predictions, choices, square maps and scene graphs."""
    ids = FEW_IDS[: draw(st.integers(1, len(FEW_IDS)))]
    questions = {number: draw(record(ids)) for number in ids}
    first = questions[draw(st.sampled_from(ids))]
    first["isBalanced"], first["groups"] = True, {"global": "g"}
    answered = [*ids, *draw(st.lists(st.sampled_from([*ids, "extra"]), max_size=3))]
    predictions = [{"questionId": number, "prediction": draw(ANSWERS)} for number in answered]
    listed = st.lists(ANSWERS, max_size=5)
    choices = {number: {"valid": draw(listed), "plausible": draw(listed)} for number in ids}
    attentions = {}
    for number in ids:
        n = draw(st.integers(1, 3))
        attentions[number] = draw(st.lists(st.lists(st.floats(-1, 1), min_size=n, max_size=n), min_size=n, max_size=n))
    return predictions, questions, choices, attentions, {"n1": draw(SCENE_GRAPH), "n2": draw(SCENE_GRAPH)}


@settings(max_examples=3 * settings.default.max_examples)  # the first imports scipy
@pytest.mark.filterwarnings("ignore::hf_vqa_mc.scoring.gqa_grounding.AttentionSum")
@given(worlds())
def test_equals_the_literal_scores(world):
    predictions, questions, choices, attentions, scene_graphs = world
    found = gqa_score(
        predictions, questions, choices=choices, attentions=attentions, scene_graphs=scene_graphs, consistency=True
    )
    expected = literal_gqa(*world)
    for name, value in expected.items():
        assert found[name] == (None if value is None else pytest.approx(value, rel=1e-9, abs=1e-9)), name


def question(**changes):
    """A balanced question of two steps and five words, in a group, that entails none."""
    plain = {
        "isBalanced": True,
        "imageId": "n1",
        "question": "What is near the sofa?",
        "answer": "lamp",
        "entailed": [],
        "types": {"structural": "query", "semantic": "rel", "detailed": "relS"},
        "groups": {"global": "furniture", "local": "x"},
        "semantic": [
            {"operation": "select", "argument": "sofa (1)"},
            {"operation": "relate", "argument": "_,near,s (2)"},
            {"operation": "query", "argument": "name"},
        ],
        "annotations": {"question": {"4": "sofa"}, "fullAnswer": {"1": "lamp"}, "answer": {"0": "lamp"}},
    }
    return {**plain, **changes}


def types(**changes):
    return {"structural": "query", "semantic": "rel", "detailed": "relS", **changes}


def score(answers, questions, **options):
    return gqa_score([{"questionId": n, "prediction": a} for n, a in answers.items()], questions, **options)


@pytest.mark.parametrize(
    ("answers", "consistency", "expected"),
    [
        ({"1": "lamp"}, None, None),  # balanced questions only: computed where it can be
        ({"1": "lamp"}, False, None),
        ({"1": "lamp"}, True, "question '2', entailed by question '1', has no prediction"),
        ({"1": "sofa"}, True, "question '2', entailed by question '1', has no prediction"),
        ({"1": "lamp", "3": "lamp"}, None, None),
        ({"1": "lamp", "3": "lamp"}, True, "question '2', entailed by question '1', has no prediction"),
        ({"1": "lamp", "3": "lamp"}, False, None),
        ({"1": "lamp", "2": "lamp"}, None, None),
        ({"1": "lamp", "2": "lamp", "9": "lamp"}, True, "question '9', entailed by question '1', has no record"),
    ],
)
def test_missing_entailed_questions_are_an_error_only_if_consistency_is_demanded(answers, consistency, expected):
    questions = {"1": question(entailed=["1", "2", "9"])}
    questions |= {number: question(isBalanced=False, entailed=None) for number in ("2", "3")}
    if expected is None:
        assert score(answers, questions, consistency=consistency)["consistency"] is None
        return
    with pytest.raises(InputError, match=expected):
        score(answers, questions, consistency=consistency)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"isBalanced": None}, "question '1': isBalanced is None, expected True or False"),
        ({"answer": None}, "question '1': answer is None, expected text; GQA's test, challenge"),
        ({"types": "query"}, "question '1': types is 'query', expected a record whose structural, semantic"),
        ({"types": types(detailed=None)}, "question '1': detailed is None, expected text"),
        ({"groups": "furniture"}, "question '1': groups is 'furniture', expected a record whose global is text or"),
        ({"groups": {"global": None}}, "no balanced question has a global group"),
        ({"semantic": None}, "question '1': semantic is None, expected a list of records"),
        ({"entailed": None}, "question '1': entailed is None, expected a list of question ids"),
        ({"entailed": [None]}, r"question '1': entailed is \[None\], expected a list of question ids"),
        ({"imageId": 1.5}, "question '1': imageId is 1.5"),
    ],
)
def test_a_record_that_cannot_be_scored_is_named_with_its_field(change, message):
    with pytest.raises(InputError, match=message):
        score({"1": "lamp"}, {"1": question(**change)})
    if None in change.values() and "isBalanced" not in change:
        lacking = {name: value for name, value in question().items() if name not in change}
        with pytest.raises(InputError, match=message):
            score({"1": "lamp"}, {"1": lacking})


def test_an_unbalanced_question_is_named_where_its_answer_is_wanted_and_missing():
    questions = {"1": question(entailed=["2"]), "2": question(isBalanced=False, answer=None)}
    with pytest.raises(InputError, match="question '2', entailed by question '1', has no text as answer"):
        score({"1": "lamp", "2": "lamp"}, questions, consistency=True)


@given(worlds(), st.data())
def test_predictions_that_only_consistency_needs_stop_no_other_score(world, data):
    predictions, questions, choices, *_ = world
    complete = gqa_score(predictions, questions, choices=choices, per_question=True)
    unbalanced = [number for number, record in questions.items() if not record["isBalanced"]]
    lost = set(data.draw(st.lists(st.sampled_from(unbalanced)))) if unbalanced else set()
    broken = data.draw(st.sampled_from(["removed", None, 5]))
    answers = {row["questionId"]: row["prediction"] for row in predictions}
    for number in lost:
        answers[number] = broken
        if broken == "removed":
            del answers[number]
    found = gqa_score(answers, questions, choices=choices, per_question=True)
    entailed = {
        other
        for number, record in questions.items()
        if record["isBalanced"]
        for other in record["entailed"]
        if other != number
    }
    assert found["entailed_missing"] == len(lost & entailed)
    if lost & entailed:
        assert found["consistency"] is None
        found |= {name: complete[name] for name in ("consistency", "entailed_missing")}
    assert found == complete


@pytest.mark.parametrize(
    ("predictions", "references", "options", "message"),
    [
        ([], [], {}, "none of the 0 references is balanced"),
        ([], {"1": question(isBalanced=False)}, {}, "none of the 1 references is balanced"),
        ([], {"1": question(), "2": question()}, {}, "question '1' has no prediction; 2 of 2 balanced questions"),
        ("lamp", {"1": question()}, {}, "predictions is str, expected a list of records or a mapping"),
        (["lamp"], {"1": question()}, {}, "predictions, row 1, is 'lamp', expected a record with question_id or"),
        ([{"questionId": 1.5}], {"1": question()}, {}, "predictions, row 1: its question's id is 1.5"),
        ([{"questionId": "1", "answer": "a"}], {"1": question()}, {}, "row 1: question '1' has no prediction"),
        (
            {"1": "lamp"},
            [question(question_id=n) for n in (1, "1")],
            {},
            "question '1' occurs more than once in refer",
        ),
        ({"1": "lamp"}, {"1": "lamp"}, {}, "question '1' is 'lamp', expected a record"),
        ({"1": "lamp"}, {"1": question()}, {"choices": {}}, "question '1' is not in choices"),
        ({"1": "lamp"}, {"1": question()}, {"choices": {"1": {"valid": "lamp"}}}, "question '1' is not in choices"),
        ({"1": "lamp"}, {"1": question()}, {"attentions": {}}, "attentions without scene_graphs: grounding needs"),
    ],
)
def test_what_cannot_be_scored_is_an_error(predictions, references, options, message):
    with pytest.raises(InputError, match=message):
        gqa_score(predictions, references, **options)


@pytest.mark.parametrize("name", ["GQAOOD__ood_testdev_head", "GQAOOD__ood_testdev_tail", "GQAOOD__val_bal_tail_-0.7"])
def test_real_questions_score_as_the_literal_scores_say(real_data, name):
    with lzma.open(real_data / "gqa" / f"{name}.json.xz", "rt") as file:
        questions = json.load(file)
    assert all(q["isBalanced"] for q in questions.values())
    draw, answers = Random(0), sorted({q["answer"] for q in questions.values()})
    for q in questions.values():  # the files hold a part of GQA: of the entailed questions, those that are there
        q["entailed"] = [other for other in q["entailed"] if other in questions]
    predictions = [
        {"questionId": n, "prediction": q["answer"] if draw.random() < 0.5 else draw.choice(answers)}
        for n, q in questions.items()
    ]
    choices = {n: {"valid": draw.sample(answers, 50), "plausible": draw.sample(answers, 20)} for n in questions}
    found, expected = gqa_score(predictions, questions, choices=choices), literal_gqa(predictions, questions, choices)
    for score_name, value in expected.items():
        assert found[score_name] == (None if value is None else pytest.approx(value, abs=1e-9)), score_name
