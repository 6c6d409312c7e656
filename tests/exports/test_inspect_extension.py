"""The extension of inspect-ai, run by inspect-ai itself with models whose habits are known."""

import json

import pytest
from PIL import Image

ROWS = [
    # image, question, choices, label: the longest choice is the target in the first and the third row
    ("red.png", "Which colour?", ["a deep red", "blue", "green"], 0),
    ("red.png", "Which shape?", ["an oblong", "round", "no"], 1),
    ("blue.png", "Which colour is this?", ["red", "a pale blue", "grey"], 1),
    ("blue.png", "How many?", ["four and more", "one", "two"], 2),
]
SETS = ["s0", "s1", "s0", "s1"]
OTHERS = """
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageUser, ContentImage, ContentText
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice

@task
def others():
    picture = "data:image/png;base64,iVBORw0KGgo="
    content = [ContentImage(image=picture), ContentText(text="Which one?")]
    shown = Sample([ChatMessageUser(content=content)], ["yes", "no, never"], "B")
    told = Sample("Which text?", ["no", "yes, always"], "A")
    return Task(MemoryDataset([shown, told]), solver=multiple_choice(), scorer=choice())
"""


@pytest.fixture(scope="module")
def ran(harness, tmp_path_factory):
    """Results by name; each inspect_ai.eval in one process, as the start takes seconds."""
    folder = tmp_path_factory.mktemp("inspect")
    for name, colour in (("red.png", "red"), ("blue.png", "blue")):
        Image.new("RGB", (8, 8), colour).save(folder / name)
    rows = [
        {
            "question_id": f"q{at}",
            "image": image,
            "question": question,
            "choices": choices,
            "label": label,
            "set_id": one,
        }
        for at, ((image, question, choices, label), one) in enumerate(zip(ROWS, SETS, strict=True))
    ]
    file = folder / "rows.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    (folder / "without.jsonl").write_text(file.read_text().replace(".png", ".jpg"))
    (folder / "others.py").write_text(OTHERS)
    own = {"task": "hf_vqa_mc/benchmark", "model": "longest"}
    read = {"dataset": str(file), "images": str(folder)}
    others = {"task": f"{folder / 'others.py'}@others", "model": "longest"}
    solver = "hf_vqa_mc/multiple_choice"
    requests = {
        "full": {**own, "task_args": read},
        "rotations": {**own, "task_args": {**read, "rotations": True}},
        "first": {**own, "model": "always_first", "task_args": {**read, "rotations": True}},
        "mute": {**own, "model": "mute", "task_args": {**read, "rotations": True}},
        "no-image": {**own, "task_args": {**read, "inputs": "no-image"}},
        "other-image": {**own, "task_args": {**read, "inputs": "other-image"}},
        "choices-only": {**own, "task_args": {**read, "inputs": "choices-only"}},
        "limit": {**own, "task_args": read, "limit": 3},
        "no such option": {**own, "task_args": {**read, "lable": "label"}},
        "no images": {**own, "task_args": {"dataset": str(folder / "without.jsonl")}},
        "others": others,
        "others blind": {**others, "solver": [solver, {"inputs": "choices-only"}]},
        "others rotated": {**others, "model": "always_first", "solver": [solver, {"rotations": True}]},
    }
    return dict(zip(requests, harness("run_inspect.py", folder, json.dumps([*requests.values()])), strict=True))


def accuracy(result, score="choice", metric="accuracy"):
    return result["scores"][score][metric]


@pytest.mark.slow
def test_a_task_asks_what_audit_reads(ran):
    text, images = ran["full"]["prompts"][0]
    assert images == 1 and "Which colour?" in text and "A) a deep red\nB) blue\nC) green" in text
    assert accuracy(ran["full"]) == 0.5
    assert accuracy(ran["full"], metric="set_accuracy") == 0.5


@pytest.mark.slow
def test_rotations_expose_a_model_that_always_answers_a(ran):
    assert len(ran["rotations"]["prompts"]) == 12
    assert accuracy(ran["rotations"]) == accuracy(ran["rotations"], "each_rotation") == 0.5
    assert accuracy(ran["first"]) == 0
    assert accuracy(ran["first"], "each_rotation") == pytest.approx(1 / 3)
    assert accuracy(ran["mute"], "each_rotation") == 0
    assert accuracy(ran["others rotated"]) == 0


@pytest.mark.slow
def test_blind_inputs_hide_the_image_or_the_question(ran):
    texts = [row[1] for row in ROWS]
    shown = {name: ran[name]["prompts"] for name in ("no-image", "other-image", "choices-only")}
    assert [images for _, images in shown["no-image"]] == [0] * 4
    assert all(any(one in text for one in texts) for text, _ in shown["no-image"])
    assert [images for _, images in shown["other-image"]] == [1] * 4
    assert not any(one in text for text, _ in shown["choices-only"] for one in texts)
    assert accuracy(ran["choices-only"]) == 0.5


@pytest.mark.slow
def test_the_solver_blinds_tasks_of_others(ran):
    assert [images for _, images in ran["others"]["prompts"]] == [1, 0]
    assert accuracy(ran["others blind"]) == accuracy(ran["others"]) == 0.5
    assert not any(images or "Which" in text for text, images in ran["others blind"]["prompts"])
    assert all("B) " in text for text, _ in ran["others blind"]["prompts"])


@pytest.mark.slow
def test_sets_of_which_samples_are_left_out_do_not_count(ran):
    assert accuracy(ran["limit"]) == pytest.approx(2 / 3)
    assert accuracy(ran["limit"], metric="set_accuracy") == 1


@pytest.mark.slow
def test_what_cannot_be_asked_is_an_error_by_name(ran):
    assert "unknown argument 'lable': did you mean 'label'?" in ran["no such option"]["error"]
    assert "none of 2 image paths exists, e.g. red.jpg in row 1" in ran["no images"]["error"]
