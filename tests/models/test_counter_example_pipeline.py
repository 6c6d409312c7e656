"""The pipeline of counter-examples answers, and ranks the candidates that are most similar to the image."""

import pytest
import torch
from PIL import Image
from transformers import pipeline

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models import VqaProcessor
from hf_vqa_mc.models.question_texts import QuestionTexts, QuestionWords

ANSWERS = ["red", "blue"]
QUESTION = "what color is it"
COUNT = 3


def grey(level):
    return Image.new("RGB", (8, 8), (level, level, level))


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    folder, kind = tmp_path_factory.mktemp("checkpoint"), find_backbone("pixels").kind
    words = QuestionWords.of([QUESTION] * 2)
    sizes = {"vocabulary_size": words.size, "image_size": kind.dim, "candidates": COUNT}
    labels = {"id2label": dict(enumerate(ANSWERS)), "label2id": {text: at for at, text in enumerate(ANSWERS)}}
    declared = MODELS["counter-example"]
    torch.manual_seed(0)
    config = declared.config({"lstm_size": 4, "joint_size": 8, "word_size": 4}, **sizes, **labels)
    declared.model_class(config).save_pretrained(folder)
    VqaProcessor(QuestionTexts(words), kind, declared.inputs).save_pretrained(folder)
    return folder


def test_the_most_similar_candidates_are_ranked(checkpoint):
    ask = pipeline("vqa-counterexample", model=str(checkpoint))
    levels = [250, 90, 10, 110, 140]
    found = ask(image=grey(100), question=QUESTION, candidates=[grey(level) for level in levels])
    assert found["answer"] in ANSWERS
    assert 0.5 <= found["score"] <= 1
    ranked = found["counterexamples"]
    assert {one["index"] for one in ranked} == {1, 3, 4}
    assert [one["score"] for one in ranked] == sorted((one["score"] for one in ranked), reverse=True)
    with torch.no_grad():
        given = ask.processor([grey(100)], [QUESTION])
        nearest = [1, 3, 4]  # 10, 10 and 40 away
        images = [grey(levels[at]) for at in nearest]
        given["candidate_features"] = ask.processor.image_tensors(images, COUNT)["image_features"][None]
        output = ask.model(**given)
    scores = dict(zip(nearest, output.candidate_scores[0].tolist(), strict=True))
    assert {one["index"]: one["score"] for one in ranked} == pytest.approx(scores)
    several = ask([{"image": grey(100), "question": QUESTION, "candidates": images}] * 2)
    assert [[one["index"] for one in of["counterexamples"]] for of in several] == [
        [nearest.index(one["index"]) for one in ranked]
    ] * 2


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"candidates": [grey(1)] * 2}, "candidates: expected 3 images or more, as in training, found 2"),
        ({"candidates": None}, 'the question has no "candidates"; expected a dictionary with image, question'),
        ({"candidates": "images"}, "candidates: expected a list of images, found 'images'"),
        ({"candidates": ["a.png"] * 3}, "image a.png: no such file"),
        ({"question": None}, 'the question has no "question"; expected a dictionary with image, question'),
    ],
)
def test_incomplete_questions_are_refused(checkpoint, given, message):
    ask = pipeline("vqa-counterexample", model=str(checkpoint))
    whole = {"image": grey(100), "question": QUESTION, "candidates": [grey(1)] * 3}
    with pytest.raises(InputError, match=message):
        ask({**whole, **given})
