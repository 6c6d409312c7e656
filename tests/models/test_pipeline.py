"""``pipeline("multiple-choice-vqa")`` answers from raw images what the model answers from features."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import pipeline

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import Pixels
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.models import MlpForMultipleChoiceVqa, MlpVqaConfig
from hf_vqa_mc.models.checkpoint import load_checkpoint
from tests.extraction.tiny_models import resnet
from tests.models.checkpoints import KINDS, checkpoint, model_of, picture, processor_of, processor_with, word_vectors

TASK = "multiple-choice-vqa"
ANSWERS = ("red", "green", "a blue dog", "the cat", "blue")
QUESTIONS = ("What colour is the cat?", "is the dog blue", "what")


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    """A checkpoint of each model, not to be changed."""
    folder = tmp_path_factory.mktemp("checkpoints")
    return {kind: checkpoint(folder / kind, kind) for kind in KINDS}


@pytest.fixture(scope="module")
def words(tmp_path_factory):
    return word_vectors(tmp_path_factory.mktemp("words"))


@pytest.fixture(scope="module")
def pipes(checkpoints):
    return {kind: pipeline(TASK, model=str(folder), device="cpu") for kind, folder in checkpoints.items()}


def row(seed=0, choices=ANSWERS[:3]):
    return {"image": picture(seed), "question": QUESTIONS[seed % 3], "choices": list(choices)}


def logits_from_features(words, kind, given_row):
    """Of the model itself, from features made without processor and pipeline; one question."""
    model = model_of(kind)
    text = processor_of(model, words).text
    given = {"choice_vectors": torch.from_numpy(text.encode(given_row["choices"]))[None]}
    if "i" in kind.removeprefix("mlp-") or not kind.startswith("mlp"):
        grid = None if kind.startswith("mlp") else 2
        features = torch.from_numpy(Pixels(grid).encode([given_row["image"]]))
        given["image_grid" if grid else "image_features"] = features
    if "q" in kind or not kind.startswith("mlp"):
        given["question_vectors"] = torch.from_numpy(text.encode([given_row["question"]]))
    if kind == "hie-co":
        tokens, mask = text.encode_words([given_row["question"]])
        given.update(question_tokens=torch.from_numpy(tokens), question_mask=torch.from_numpy(mask))
    with torch.no_grad():
        return model(**given).logits[0].numpy()


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=10)
@given(
    drawn=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 5)), min_size=1, max_size=5),
    batch_size=st.integers(1, 4),
)
def test_logits_from_raw_images_are_those_from_features(pipes, words, kind, drawn, batch_size):
    rows = [row(seed, ANSWERS[:count]) for seed, count in drawn]
    for given_row, answered in zip(rows, pipes[kind](rows, batch_size=batch_size), strict=True):
        expected = logits_from_features(words, kind, given_row)
        np.testing.assert_allclose(answered["logits"], expected, atol=1e-6, rtol=1e-6)
        np.testing.assert_allclose(answered["scores"], 1 / (1 + np.exp(-expected)), atol=1e-6)
        best = int(np.argmax(answered["logits"]))
        assert (answered["label"], answered["answer"]) == (best, given_row["choices"][best])


def test_one_question_gives_one_answer_and_a_list_a_list(pipes):
    one = pipes["mlp-iqa"](row())
    assert set(one) == {"answer", "label", "scores", "logits"}
    assert pipes["mlp-iqa"]([row()]) == [one]
    assert list(pipes["mlp-iqa"](each for each in [row()])) == [one]
    assert pipes["mlp-iqa"]([]) == []
    json.dumps(one)


def test_keywords_are_a_single_question(pipes):
    assert pipes["mlp-iqa"](**row()) == pipes["mlp-iqa"](row())
    with pytest.raises(InputError, match="found both"):
        pipes["mlp-iqa"](row(), choices=["red"])


@pytest.mark.parametrize("kind", ["mlp-qa", "hie-co"])
def test_unknown_words_are_skipped_with_a_warning_that_names_them(checkpoints, pipes, kind):
    given_row = {**row(), "question": "What zebra", "choices": ["red", "blue mat"]}
    with pytest.warns(UserWarning, match=r"2 words .* were skipped: 'mat', 'zebra'; give the file"):
        answer = pipes[kind](given_row)
    skipped = pipeline(TASK, model=str(checkpoints[kind]), new_words="skip", device="cpu")
    assert answer == skipped(given_row)
    fewer_words = {**row(), "question": "What", "choices": ["red", "blue"]}
    np.testing.assert_allclose(answer["logits"], skipped(fewer_words)["logits"], atol=1e-6)
    for name in ("refuse", "warn"):
        made = pipeline(TASK, model=str(checkpoints[kind]), new_words=name, device="cpu")
        with pytest.raises(InputError, match="'mat', 'zebra'"):
            made({**given_row, "question": "zebra"})


def test_what_a_model_does_not_see_may_be_left_out(pipes):
    assert pipes["mlp-a"]({"choices": ["red", "blue"]})["answer"] in ("red", "blue")
    assert pipes["mlp-qa"]({"question": "what", "choices": ["red"]})["label"] == 0
    assert pipes["mlp-ia"]({"image": picture(0), "choices": ["red"]})["label"] == 0


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"choices": None}, "expected"),
        ({"choices": []}, "no choices"),
        ({"choices": "red"}, "list of strings"),
        ({"question": None}, 'the question has no "question"; expected'),
        ({"question": 3}, "question 0 is 3"),
        ({"image": None}, "sees images"),
        ({"image": "nowhere.png"}, r"nowhere\.png"),
        ({"choices": ["red", "a zebra"]}, "'zebra'"),
    ],
)
def test_an_incomplete_question_is_rejected(pipes, changed, message):
    with pytest.raises(InputError, match=message):
        pipes["mlp-iqa"]({**row(), **changed})
    with pytest.raises(InputError, match="expected"):
        pipes["mlp-iqa"]("what colour is the cat")


def test_what_is_wrong_with_a_checkpoint_is_told_in_one_sentence(checkpoints, tmp_path):
    folder = checkpoint(tmp_path / "run", "mlp-iqa")
    content = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(content[:-1])
    with pytest.raises(InputError, match="is damaged"):
        pipeline(TASK, model=str(folder))
    (folder / "model.safetensors").write_bytes(content)
    (folder / "processor_config.json").unlink()
    with pytest.raises(InputError, match=r"no processor_config\.json"):
        pipeline(TASK, model=str(folder))


def test_a_model_and_its_processor_may_be_given_themselves(checkpoints, pipes):
    model, processor = load_checkpoint(checkpoints["mlp-iqa"])
    model.train()
    made = pipeline(TASK, model=model, processor=processor, device="cpu")
    assert made(row()) == pipes["mlp-iqa"](row())


def test_saved_it_is_a_checkpoint_that_needs_no_code(pipes, tmp_path):
    pipes["hie-co"].save_pretrained(tmp_path)
    assert not list(tmp_path.glob("*.py"))
    assert pipeline(TASK, model=str(tmp_path), device="cpu")(row()) == pipes["hie-co"](row())


def test_a_backbone_that_moved_can_be_named(words, tmp_path):
    backbone = resnet(tmp_path / "there" / "tiny")
    kind = find_backbone(str(backbone), device="cpu").kind
    text = processor_of(model_of("mlp-a"), words).text
    folder = tmp_path / "run"
    config = MlpVqaConfig(inputs=("image", "answer"), image_size=kind.dim, text_size=text.dim, hidden_size=8)
    model = MlpForMultipleChoiceVqa(config)
    model.save_pretrained(folder)
    processor_with(text, kind, "image_features").save_pretrained(folder)
    with pytest.raises((InputError, ConnectionError), match="backbone tiny"):
        pipeline(TASK, model=str(folder), device="cpu")
    made = pipeline(TASK, model=str(folder), backbone=str(backbone), device="cpu")
    assert len(made(row())["logits"]) == 3


@pytest.mark.slow
@pytest.mark.parametrize("first", ["transformers", "hf_vqa_mc.models"])
def test_a_fresh_process_gives_the_same_whichever_is_imported_first(checkpoints, words, tmp_path, first):
    path = tmp_path / "picture.png"
    picture(0).save(path)
    given_row = {**row(), "image": str(path)}
    second = "hf_vqa_mc.models" if first == "transformers" else "transformers"
    program = (
        f"import json, sys, {first}, {second}\n"
        "from transformers import pipeline, AutoProcessor\n"
        "for folder in sys.argv[2:]:\n"
        "    made = pipeline('multiple-choice-vqa', model=folder, device='cpu')\n"
        "    assert type(AutoProcessor.from_pretrained(folder)) is type(made.processor)\n"
        "    print(json.dumps(made(json.loads(sys.argv[1]))))\n"
    )
    kinds = ("mlp-iqa", "hie-co")
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-c", program, json.dumps(given_row)]
        + [str(checkpoints[kind]) for kind in kinds],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    for kind, answer in zip(kinds, answers, strict=True):
        np.testing.assert_allclose(answer["logits"], logits_from_features(words, kind, row()), atol=1e-6, rtol=1e-6)
