"""The processor makes what the model's forward takes, from raw images and texts, and travels in the checkpoint."""

import inspect
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
import torch
from transformers import AutoProcessor

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import Pixels
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.models import VqaProcessor
from hf_vqa_mc.models.model import model_of as declared_model
from tests.extraction.tiny_models import resnet
from tests.models.checkpoints import (
    KINDS,
    checkpoint,
    model_of,
    picture,
    processor_of,
    processor_with,
    vectors_file,
    word_vectors,
)

QUESTIONS = ["What colour is the cat?", "is the dog blue"]
CHOICES = [["red", "green", "a blue dog"], ["red", "blue"]]


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    return word_vectors(tmp_path_factory.mktemp("vectors"))


@pytest.mark.parametrize("kind", KINDS)
def test_it_makes_exactly_what_forward_takes_and_the_model_needs(vectors, kind):
    model = model_of(kind)
    processor = processor_of(model, vectors)
    made = processor([picture(0), picture(1)], QUESTIONS, choices=CHOICES)
    expected = {"choice_vectors", "choice_mask"} | declared_model(model.config).inputs
    expected |= {"question_mask"} if kind == "hie-co" else set()
    assert set(made) == expected == set(processor.model_input_names)
    assert expected <= inspect.signature(model.forward).parameters.keys()
    assert model(**made).logits.shape == (2, 3)


def test_what_each_tensor_holds(vectors):
    processor = processor_of(model_of("hie-co"), vectors)
    made = processor([picture(0), picture(1)], QUESTIONS, choices=CHOICES)
    text = processor.text
    assert made["choice_mask"].tolist() == [[True] * 3, [True, True, False]]
    np.testing.assert_array_equal(made["choice_vectors"][0], text.encode(CHOICES[0]))
    np.testing.assert_array_equal(made["choice_vectors"][1, :2], text.encode(CHOICES[1]))
    assert not made["choice_vectors"][1, 2].any()
    np.testing.assert_array_equal(made["question_vectors"], text.encode(QUESTIONS))
    for name, expected in zip(("question_tokens", "question_mask"), text.encode_words(QUESTIONS), strict=True):
        np.testing.assert_array_equal(made[name], expected)
    np.testing.assert_array_equal(made["image_grid"], Pixels(2).encode([picture(0), picture(1)]))


def test_a_question_that_is_not_seen_may_be_missing_and_arrays_may_be_numpys(vectors):
    processor = processor_of(model_of("mlp-ia"), vectors)
    made = processor(images=[picture(0)], choices=[["red", "green"]], return_tensors="np")
    expected = processor([picture(0)], ["what"], choices=[["red", "green"]])
    assert made.keys() == expected.keys()
    for name, array in made.items():
        np.testing.assert_array_equal(array, expected[name])
        assert isinstance(array, np.ndarray)


def test_an_image_may_be_given_in_any_way(vectors, tmp_path):
    processor = processor_of(model_of("mlp-ia"), vectors)
    path = tmp_path / "picture.png"
    picture(3).save(path)
    ways = [picture(3), str(path), path, path.read_bytes(), picture(3).convert("RGBA")]
    made = processor(ways, [""] * len(ways), choices=[["red"]] * len(ways))["image_features"]
    assert (made == made[0]).all()
    np.testing.assert_array_equal(made[:1], Pixels().encode([picture(3)]))


def test_features_have_the_precision_of_those_in_training(vectors, tmp_path):
    folder = str(resnet(tmp_path / "tiny"))
    backbone = find_backbone(folder, None, device="cpu", precision="bfloat16")
    text = processor_of(model_of("mlp-a"), vectors).text
    processor = processor_with(text, backbone.kind, "image_features", backbone=folder)
    made = processor([picture(0)], [""], choices=[["red"]])["image_features"]
    expected = torch.from_numpy(backbone.encode([picture(0)])).bfloat16().float()
    torch.testing.assert_close(made, expected, atol=0, rtol=0)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("read_with", [VqaProcessor, AutoProcessor])
def test_it_is_saved_and_loaded_without_the_file_of_the_word_vectors(tmp_path, kind, read_with):
    model = model_of(kind)
    processor = processor_of(model, word_vectors(tmp_path))
    processor.save_pretrained(tmp_path / "saved")
    (tmp_path / "vectors0.txt").unlink()
    assert {path.name for path in (tmp_path / "saved").iterdir()} == {"processor_config.json", "words.safetensors"}
    loaded = read_with.from_pretrained(tmp_path / "saved")
    assert isinstance(loaded, VqaProcessor)
    assert (loaded.inputs, loaded.image_kind) == (processor.inputs, processor.image_kind)
    made, again = (one([picture(0)], QUESTIONS[:1], choices=CHOICES[:1]) for one in (processor, loaded))
    assert made.keys() == again.keys()
    for name in made:
        torch.testing.assert_close(again[name], made[name], atol=0, rtol=0)


def test_saved_again_it_is_the_same_bytes(vectors, tmp_path):
    processor = processor_of(model_of("mlp-iqa"), vectors)
    for folder in (tmp_path / "first", tmp_path / "second"):
        processor.save_pretrained(folder)
        processor = VqaProcessor.from_pretrained(folder)
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() == (tmp_path / "second" / path.name).read_bytes()


def test_new_words_come_from_the_same_file_or_are_left_out_or_refused(tmp_path):
    folder, same, other = checkpoint(tmp_path / "saved", "mlp-qa"), vectors_file(tmp_path), vectors_file(tmp_path, 1)
    question = {"text": ["two"], "choices": [["red", "mat"]]}
    with pytest.raises(InputError, match="'mat'"):
        VqaProcessor.from_pretrained(folder)(**question)
    known = word_vectors(tmp_path).rows(["mat", "two"])[0]
    for processor in (
        AutoProcessor.from_pretrained(
            folder, word_vectors=same, _commit_hash=None
        ),  # as pipelines of some versions do
        VqaProcessor.from_pretrained(folder).with_options(word_vectors=word_vectors(tmp_path)),
    ):
        made = processor(**question)
        np.testing.assert_array_equal(made["choice_vectors"][0, 1], known[0])
        np.testing.assert_array_equal(made["question_vectors"][0], known[1])
    made = AutoProcessor.from_pretrained(folder, new_words="skip")(**question)
    assert not made["choice_vectors"][0, 1].any() and made["choice_vectors"][0, 0].any()
    with pytest.raises(InputError, match=r"vectors1\.txt.*vectors0\.txt"):
        VqaProcessor.from_pretrained(folder, word_vectors=other)
    with pytest.raises(InputError, match="expected an existing word2vec"):
        VqaProcessor.from_pretrained(folder, word_vectors=tmp_path / "vectors7.txt")
    with pytest.raises(TypeError, match="new_word"):
        VqaProcessor.from_pretrained(folder, new_word="skip")


def test_a_backbone_of_another_revision_is_refused(vectors, tmp_path):
    trained, other = str(resnet(tmp_path / "tiny")), str(resnet(tmp_path / "other" / "tiny", seed=1))
    kind = find_backbone(trained, 2, device="cpu").kind
    text = processor_of(model_of("mlp-a"), vectors).text
    right = processor_with(text, kind, "image_grid", backbone=trained)
    assert right([picture(0)], [""], choices=[["red"]])["image_grid"].shape == (1, 4, 32)
    with pytest.raises(InputError, match=kind.revision):
        right.with_options(backbone=other).image_backbone()
    with pytest.raises(InputError, match=kind.revision):
        right.with_options(backbone=find_backbone(other, 2, device="cpu"))
    with pytest.raises(InputError, match="backbone"):
        right.with_options(backbone=str(tmp_path / "nowhere")).image_backbone()


@pytest.mark.parametrize(
    ("questions", "choices", "images", "message"),
    [
        ("what", [["red"]], [picture(0)], "questions: expected a list of texts, found 'what'"),
        (["what"], "red", [picture(0)], "lists"),
        (["what"], [["red"], ["blue"]], [picture(0)], "choices: expected 1 lists, one per question"),
        (["what", None], [["red"], ["blue"]], [picture(0)] * 2, "question 1 is None"),
        (["what"], [["red", 3]], [picture(0)], "choices of question 0"),
        (["what"], ["red"], [picture(0)], "choices of question 0"),
        (["what"], [[]], [picture(0)], "question 0 has no choices"),
        (["what"], [["red"]], None, "expected 1, one per question, found none"),
        (["what"], [["red"]], [picture(0)] * 2, "expected 1, one per question, found 2"),
        (["what"], [["red"]], ["nowhere.png"], "image nowhere.png: no such file"),
        (["what"], [["red"]], [b"abc"], "image given as bytes: not a readable"),
        (["what"], [["red"]], [7], "image is 7; expected"),
    ],
)
def test_invalid_inputs_are_rejected(vectors, questions, choices, images, message):
    processor = processor_of(model_of("mlp-iqa"), vectors)
    with pytest.raises(InputError, match=message):
        processor(images, questions, choices=choices)


def test_a_broken_image_is_named(vectors, tmp_path):
    path = tmp_path / "cut.png"
    picture(0).save(path)
    path.write_bytes(path.read_bytes()[:200])
    processor = processor_of(model_of("mlp-ia"), vectors)
    with pytest.raises(InputError, match=r"cut\.png: .*truncated"):
        processor([path], [""], choices=[["red"]])


def test_an_image_may_be_an_address(vectors, tmp_path):
    picture(0).save(tmp_path / "picture.png")
    files = partial(SimpleHTTPRequestHandler, directory=str(tmp_path))
    processor = processor_of(model_of("mlp-ia"), vectors)
    with ThreadingHTTPServer(("127.0.0.1", 0), files) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        made = processor([f"{address}/picture.png"], [""], choices=[["red"]])["image_features"]
        with pytest.raises(ConnectionError, match=r"nowhere\.png cannot be fetched: .*404"):
            processor([f"{address}/nowhere.png"], [""], choices=[["red"]])
        server.shutdown()
    np.testing.assert_array_equal(made, Pixels().encode([picture(0)]))
    with pytest.raises(ConnectionError, match="cannot be fetched"):
        processor([f"{address}/picture.png"], [""], choices=[["red"]])
