import json
import lzma
from random import Random

import numpy as np
import pytest
import torch

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring import gqa_grounding
from hf_vqa_mc.scoring.gqa import gqa_score
from hf_vqa_mc.scoring.gqa_grounding import box_weights
from tests.scoring.literal_gqa import attended
from tests.scoring.test_gqa import question

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.scoring.gqa_grounding.AttentionSum")

LEFT_HALF = {"x": 0, "y": 0, "w": 100, "h": 50}
ALL = {"x": 0, "y": 0, "w": 200, "h": 50}
QUADRANT = {"x": 50, "y": 12.5, "w": 100, "h": 25}  # the middle: a quarter of each of 2 x 2 cells


def graph(**objects):
    return {"width": 200, "height": 50, "objects": objects}


def grounding(attention, objects, question_points=(), answer_points=(), **changes):
    annotations = {
        "question": {str(index): number for index, number in enumerate(question_points)},
        "fullAnswer": {str(index): number for index, number in enumerate(answer_points)},
        "answer": {"0": "never looked up"},
    }
    return gqa_score(
        {"1": "lamp"},
        {"1": question(annotations=annotations, **changes)},
        attentions={"1": attention},
        scene_graphs={"n1": graph(**objects)},
    )["grounding"]


def test_is_the_percentage_of_attention_on_the_regions_pointed_to():
    assert grounding([[0.5, 0.2], [0.2, 0.1]], {"a": ALL}, ["a"]) == pytest.approx(100)
    assert grounding([[0.5, 0.2], [0.2, 0.1]], {"a": ALL}, [], ["a"]) == pytest.approx(100)
    assert grounding([[0.5, 0.2], [0.2, 0.1]], {"a": ALL}) == 0.0


def test_the_first_index_of_a_map_runs_along_x():
    assert grounding([[0.5, 0.2], [0.2, 0.1]], {"a": LEFT_HALF}, ["a"]) == pytest.approx(70)
    assert grounding([[1, 1], [0, 0]], {"a": LEFT_HALF}, ["a"]) == pytest.approx(200)
    assert grounding([[1, 0], [1, 0]], {"a": LEFT_HALF}, ["a"]) == pytest.approx(100)


def test_maps_may_differ_in_size_repeat_and_exceed_the_questions():
    questions = {n: question(annotations={"question": {"0": 5}, "fullAnswer": {}}) for n in ("1", "2")}
    attentions = [
        {"questionId": 1, "attention": [["no", "map"]]},
        {"questionId": 2, "attention": np.full((3, 3), 0.5, np.float32)},
        {"question_id": "extra", "attention": None},
        {"question_id": 1, "attention": ((1, 0), (0, 0))},
    ]
    result = gqa_score(
        {"1": "lamp", "2": "lamp"}, questions, attentions=attentions, scene_graphs={"n1": graph(**{"5": LEFT_HALF})}
    )
    assert result["grounding"] == pytest.approx(100 * (1 + 0.5 * 4.5) / 2)


def test_an_attention_that_does_not_sum_to_1_is_reported():
    with pytest.warns(gqa_grounding.AttentionSum, match="of 1 questions is negative or does not sum to 1.* sum to 49"):
        assert grounding(np.ones((7, 7)).tolist(), {"a": ALL}, ["a"]) == pytest.approx(4900)


def test_blocks_of_questions_add_up(monkeypatch):
    draw = Random(0)
    questions, attentions = {}, {}
    for n in range(10):
        questions[str(n)] = question(annotations={"question": {"0": draw.choice("ab")}, "fullAnswer": {}})
        size = draw.choice([2, 3])
        attentions[str(n)] = [[draw.random() for _ in range(size)] for _ in range(size)]
    given = {"attentions": attentions, "scene_graphs": {"n1": graph(a=QUADRANT, b=LEFT_HALF)}}
    at_once = gqa_score(dict.fromkeys(questions, "lamp"), questions, **given)["grounding"]
    monkeypatch.setattr(gqa_grounding, "CELLS", 20)
    assert gqa_score(dict.fromkeys(questions, "lamp"), questions, **given)["grounding"] == pytest.approx(at_once)


@pytest.mark.parametrize(
    "attention",
    [
        [],
        [[1.0, 0.0]],
        [[0.0, 0.0, 1.1, 1.0, 1.0]],
        [[0.5, 0.0, 0.4, 1.0, 1.0]],
        [[1.0, 0.0], [1.0]],
        [[float("nan")]],
        [["1"]],
        None,
    ],
)
def test_a_map_that_is_not_a_square_of_finite_numbers_is_an_error(attention):
    with pytest.raises(
        InputError, match=r"question '1': attention is .*, expected (a square map of finite numbers|boxes)"
    ):
        grounding(attention, {"a": ALL}, ["a"])


@pytest.mark.parametrize(
    ("changes", "attentions", "scene_graphs", "message"),
    [
        ({}, {}, {"n1": graph(sofa=ALL, lamp=ALL)}, "question '1' has no attention"),
        ({}, {"1": [[1]]}, {}, "question '1': image 'n1' has no scene graph"),
        ({}, {"1": [[1]]}, {"n1": graph()}, "question '1': object 'sofa' of image 'n1' is not in its scene graph"),
        ({"annotations": {"question": {}}}, {"1": [[1]]}, {"n1": graph()}, "whose question and fullAnswer map"),
    ],
)
def test_what_lacks_for_grounding_is_named_with_its_question(changes, attentions, scene_graphs, message):
    with pytest.raises(InputError, match=message):
        gqa_score({"1": "lamp"}, {"1": question(**changes)}, attentions=attentions, scene_graphs=scene_graphs)


def test_real_scene_graphs_give_the_literal_grounding(real_data):
    with lzma.open(real_data / "gqa" / "minyus100__val_sceneGraphs.json.xz", "rt") as file:
        graphs = json.load(file)
    draw, questions, attentions = Random(0), {}, {}
    for image, of_image in graphs.items():
        for number in range(5):
            name, objects = f"{image}-{number}", [*of_image["objects"]]
            pointed = {str(index): draw.choice(objects) for index in range(min(3, len(objects)))}
            questions[name] = question(imageId=image, annotations={"question": pointed, "fullAnswer": pointed})
            attentions[name] = [[draw.random() for _ in range(7)] for _ in range(7)]
    found = gqa_score(dict.fromkeys(questions, "lamp"), questions, attentions=attentions, scene_graphs=graphs)
    expected = [attended(q, graphs, attentions[n]) for n, q in questions.items()]
    assert found["grounding"] == pytest.approx(100 * sum(expected) / len(expected), rel=1e-9)


def test_attention_to_boxes_counts_by_the_share_of_each_box_inside():
    left, right = [0.0, 0.0, 0.5, 1.0, 0.7], [0.5, 0.0, 1.0, 1.0, 0.3]
    assert grounding([left, right], {"a": LEFT_HALF}, ["a"]) == pytest.approx(70)
    assert grounding([left, right], {"a": QUADRANT}, ["a"]) == pytest.approx(25)
    assert grounding([[0.5, 0.5, 0.5, 0.5, 1.0]], {"a": QUADRANT}, ["a"]) == pytest.approx(100)  # a point
    assert grounding([left, right], {"a": LEFT_HALF}) == 0.0


def test_five_by_five_is_a_map_unless_every_line_could_be_a_box():
    boxes = [[0.0, 0.0, 0.5, 1.0, 0.2]] * 5
    assert grounding(boxes, {"a": LEFT_HALF}, ["a"]) == pytest.approx(100)
    boxes[2] = [0.5, 0.0, 0.0, 1.0, 0.2]
    assert grounding(boxes, {"a": LEFT_HALF}, ["a"]) == pytest.approx(100 * 2.5 * 1.7)


def test_maps_and_boxes_do_not_mix():
    questions = {n: question(annotations={"question": {"0": "a"}, "fullAnswer": {}}) for n in ("1", "2")}
    attentions = {"1": [[1.0]], "2": [[0.0, 0.0, 1.0, 1.0, 1.0]]}
    with pytest.raises(InputError, match=r"question '2': attention is .*, of one kind for all"):
        gqa_score(dict.fromkeys("12", "lamp"), questions, attentions=attentions, scene_graphs={"n1": graph(a=ALL)})


def test_all_attention_on_the_gold_box_of_a_real_object_is_100_however_small_it_is(real_data):
    with lzma.open(real_data / "gqa" / "minyus100__val_sceneGraphs.json.xz", "rt") as file:
        graphs = json.load(file)
    questions, boxes, maps = {}, {}, {}
    for image, of_image in graphs.items():
        width, height = of_image["width"], of_image["height"]
        for name, one in of_image["objects"].items():
            pointed = {"question": {"0": name}, "fullAnswer": {}}
            x, y, w, h = (one[side] for side in "xywh")
            edges = [x / width, y / height, (x + w) / width, (y + h) / height]
            if max(edges) > 1 or not w * h:
                continue
            questions[f"{image}-{name}"] = question(imageId=image, annotations=pointed)
            boxes[f"{image}-{name}"] = [[*edges, 1.0], [0.0, 0.0, 1.0, 1.0, 0.0]]
            maps[f"{image}-{name}"] = (np.array([1.0]) @ box_weights(np.array([edges]), 7)).reshape(7, 7).T
    answers, given = dict.fromkeys(questions, "lamp"), {"references": questions, "scene_graphs": graphs}
    assert len(questions) == 1550
    assert gqa_score(answers, attentions=boxes, **given)["grounding"] == pytest.approx(100)
    assert gqa_score(answers, attentions=maps, **given)["grounding"] == pytest.approx(44.3, abs=0.05)


def test_maps_of_torch_count_whatever_their_type_and_gradient():
    attention = torch.tensor([[1.0, 0.0], [0.0, 0.0]])
    for one in (attention, attention.clone().requires_grad_(), attention.bfloat16()):
        assert grounding(one, {"a": QUADRANT}, ["a"]) == pytest.approx(25)
