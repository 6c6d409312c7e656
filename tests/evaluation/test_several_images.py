"""Rows with several images: the model is shown all of them, in order, or is refused before work starts."""

import base64
import json

import pandas as pd
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.evaluation.language_model import Prompt
from hf_vqa_mc.evaluation.transformers_model import TransformersModel
from tests.evaluation.worlds import picture, several


class Kept:
    """A model that keeps its prompts."""

    max_images = None

    def __init__(self):
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return ["B"] * len(prompts)


def parts_of(request):
    """The parts of a request: texts, and images as bytes."""
    return [
        part["text"]
        if part["type"] == "text"
        else base64.b64decode(part["image_url"]["url"].removeprefix("data:image/png;base64,"))
        for part in request["messages"][0]["content"]
    ]


def test_a_server_gets_all_images_where_the_question_names_them(served, tmp_path):
    path = several(tmp_path)
    vm.evaluate(path, model="tiny", base_url=served.url, inputs=["full", "no-image"], concurrency=1)
    shown = [one for one in served.requests if isinstance(one["messages"][0]["content"], list)]
    images = [(tmp_path / f"0-{number}.png").read_bytes() for number in (1, 2)]
    before, first, between, second, after = parts_of(shown[0])
    assert [first, second] == images
    assert (before, between) == ("Question: Which picture shows a cat, ", " or ")
    assert after.startswith("?\nA. the first\nB. the second\n")
    blind = [one["messages"][0]["content"] for one in served.requests if one not in shown]
    assert all("a cat, [image 1] or [image 2]?" in text for text in blind) and len(blind) == 2


def test_other_and_gray_images_are_as_many(tmp_path):
    model = Kept()
    vm.evaluate(several(tmp_path), model=model, inputs=["other-image", "gray-image"])
    others = {prompt.images for prompt in model.prompts[:1]}
    assert others == {tuple((tmp_path / f"1-{number}.png").read_bytes() for number in (1, 2))}
    assert all(len(prompt.images) == 2 for prompt in model.prompts)


def test_a_model_that_takes_one_image_is_refused_before_work_starts(tmp_path):
    model = Kept()
    model.max_images = 1
    expected = "question_id '0': the row has 2 images, but model Kept takes one image in a prompt"
    with pytest.raises(vm.InputError, match=expected):
        vm.evaluate(several(tmp_path), model=model)
    with pytest.raises(vm.InputError, match=expected):
        vm.judge(several(tmp_path), model=model)
    assert model.prompts == []
    vm.evaluate(several(tmp_path), model=model, inputs=["no-image"])
    assert len(model.prompts) == 2


def test_a_server_that_takes_fewer_images_ends_the_run(served, tmp_path, monkeypatch):
    served.fault = lambda number: "unsupported At most 1 image(s) may be provided in one prompt."
    with pytest.raises(vm.InputError, match=r"2 images in a prompt; the server takes fewer: .*At most 1 image"):
        vm.evaluate(several(tmp_path), model="tiny", base_url=served.url, inputs=["full"], concurrency=1)
    assert served.asked == 1


def test_placeholders_without_a_number_name_the_images_in_order_also_in_choices(tmp_path):
    for name, color in (("a.png", "red"), ("b.png", "blue"), ("c.png", "green")):
        (tmp_path / name).write_bytes(picture(color))
    row = {
        "question": "Like <image>?",
        "options": ["<image>", "<image>"],
        "answer": "A",
        "image": ["a.png", "b.png", "c.png"],
    }
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    model = Kept()
    vm.evaluate(path, model=model, inputs=["full"], rotations="all")
    red, blue, green = ((tmp_path / name).read_bytes() for name in ("a.png", "b.png", "c.png"))
    assert [[part for part in prompt.parts if isinstance(part, bytes)] for prompt in model.prompts] == [
        [red, blue, green],
        [red, green, blue],
    ]


def test_text_that_looks_like_a_placeholder_stays_in_rows_without_that_image():
    frame = pd.DataFrame({"question": ["Which tag, <image> or <image 2>?"], "choices": [["a", "b"]], "label": [0]})
    model = Kept()
    vm.evaluate(frame, model=model, inputs=["no-image"])
    assert model.prompts[0].text.startswith("Question: Which tag, <image> or <image 2>?\n")
    assert model.prompts[0].parts == [model.prompts[0].text]


def test_a_vision_model_reads_all_images(vision_language):
    model = TransformersModel(str(vision_language))
    assert model.max_images is None
    red, blue = picture((250, 0, 0)), picture((0, 0, 250))
    text = "is <image 2> small ? <image 1>"
    asked = [Prompt(text, ("red", "blue"), images=images) for images in ((red, blue), (blue, red), (red, red))]
    scores = [reply.scores for reply in model.letter(asked)]
    assert len(set(scores)) == 3


def test_a_vision_model_whose_template_places_one_image_takes_one(vision_language, tmp_path):
    model = TransformersModel(str(vision_language))
    once = "{% for part in messages[0]['content'][:1] %}{{ '<image>' if part['type'] == 'image' else '' }}{% endfor %}"
    model._processor.chat_template = once
    assert model.max_images == 1


def test_videos_are_not_shown(tmp_path):
    frame = pd.DataFrame(
        {"video_id": ["v1", "v1"], "question": ["a", "b"], "choices": [["x", "y"]] * 2, "label": [0, 1]}
    )
    with pytest.raises(vm.InputError, match=r"rows have videos \(video_id\) and no images, and .* shows no video"):
        vm.evaluate(frame, model=Kept())
    result = vm.evaluate(frame, model=Kept(), inputs=["no-image"])
    assert "no video is shown (column video_id)" in repr(result.evaluation.benchmark_notes)
