"""Open-ended models equal plain formulations; their words, bags and answers survive saving; the pipeline ranks."""

import json

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from transformers import AutoModelForVisualQuestionAnswering, AutoProcessor, pipeline

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models import OpenEndedVqaProcessor
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.question_words import PADDING, UNKNOWN, QuestionWords
from tests.models.checkpoints import picture

ANSWERS = ["yes", "no", "red", "two"]
QUESTIONS = ["what colour is the cat", "is the cat red", "what is on the mat", "is the dog on the mat"]
WORDS = QuestionWords.of(QUESTIONS)
NAMES = [name for name, model in MODELS.items() if model.open_ended]
SMALL = {"hidden_sizes": [6, 5]}


def model_of(name, image_size=4, **settings):
    declared = MODELS[name]
    sizes = {"vocabulary_size": WORDS.size, "bag_size": WORDS.bag_size, "image_size": image_size}
    labels = {"id2label": dict(enumerate(ANSWERS)), "label2id": {text: at for at, text in enumerate(ANSWERS)}}
    torch.manual_seed(1)
    small = SMALL | ({"lstm_size": 16} if "lstm" in name else {})
    return declared.model_class(declared.config(small | settings, **sizes, **labels)).eval()


def inputs_of(name, questions=QUESTIONS, seed=0):
    wanted = MODELS[name].inputs
    images = torch.randn(len(questions), 4, generator=torch.Generator().manual_seed(seed))
    found = {"question_indices": torch.from_numpy(WORDS.indices(questions)), "image_features": images}
    found["question_bags"] = torch.from_numpy(WORDS.bags(questions).toarray())
    return {key: value for key, value in found.items() if key in wanted}


def plain_mlp(model, question_bags=None, image_features=None):
    given = [] if image_features is None else [image_features / image_features.norm(dim=-1, keepdim=True)]
    value = torch.cat(given + ([] if question_bags is None else [question_bags]), -1)
    *hidden, last = [layer for layer in model.layers if isinstance(layer, torch.nn.Linear)]
    for layer in hidden:
        value = torch.tanh(value @ layer.weight.T + layer.bias)
    return value @ last.weight.T + last.bias


def plain_lstm(model, question_indices, image_features=None):
    """Word by word, question by question."""
    config, rows = model.config, []
    for number, indices in enumerate(question_indices):
        hidden = torch.zeros(config.lstm_layers, config.lstm_size)
        cell = torch.zeros_like(hidden)
        for index in indices[indices != PADDING]:
            value = model.words.weight[index].tanh()
            for layer in range(config.lstm_layers):
                of = {
                    one: getattr(model.lstm, f"{one}_l{layer}")
                    for one in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
                }
                gates = of["weight_ih"] @ value + of["bias_ih"] + of["weight_hh"] @ hidden[layer] + of["bias_hh"]
                enter, forget, new, out = gates.chunk(4)
                cell[layer] = forget.sigmoid() * cell[layer] + enter.sigmoid() * new.tanh()
                hidden[layer] = value = out.sigmoid() * cell[layer].tanh()
        joint = torch.cat([cell.flatten(), hidden.flatten()])
        if model.question is not None:
            joint = (model.question.weight @ joint + model.question.bias).tanh()
        if model.image is not None:
            image = image_features[number]
            image = image / image.norm() if config.normalise_image else image
            image = model.image.weight @ image + model.image.bias
            joint = joint * (image if model.question is None else image.tanh())
        for layer in (one for one in model.classifier if isinstance(one, torch.nn.Linear)):
            joint = layer.weight @ joint + layer.bias
            joint = joint if layer is model.classifier[-1] else joint.tanh()
        rows.append(joint)
    return torch.stack(rows)


@pytest.mark.parametrize("name", NAMES)
def test_logits_equal_a_plain_formulation(name):
    model = model_of(name)
    plain = plain_lstm if "question_indices" in MODELS[name].inputs else plain_mlp
    with torch.no_grad():
        logits = model(**inputs_of(name)).logits
        torch.testing.assert_close(logits, plain(model, **inputs_of(name)), atol=1e-6, rtol=1e-5)
    assert logits.shape == (4, 4)


@pytest.mark.parametrize("name", NAMES)
def test_logits_do_not_depend_on_the_other_questions_of_a_batch(name):
    model, given = model_of(name), inputs_of(name)
    with torch.no_grad():
        together = model(**given).logits
        for row in range(4):
            alone = model(**{key: value[row : row + 1] for key, value in given.items()}).logits
            torch.testing.assert_close(alone[0], together[row], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_a_network_memorises_32_rows(name):
    # the digits of each row's number count its words, so that bags differ, too
    counts = [[row // 3**at % 3 for at in range(4)] for row in range(32)]
    texts = [
        " ".join(word for word, count in zip(WORDS.words, row, strict=False) for _ in range(count)) for row in counts
    ]
    given, labels = inputs_of(name, texts), torch.arange(32) % 4
    model = model_of(name, hidden_sizes=[64], dropout=0.0)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(300):
        optimizer.zero_grad()
        model(**given, labels=labels).loss.backward()
        optimizer.step()
    with torch.no_grad():
        assert (model(**given).logits.argmax(1) == labels).float().mean() > 0.95


def test_the_loss_of_scores_is_the_binary_cross_entropy_of_all_answers():
    model, given = model_of("bow-q"), inputs_of("bow-q")
    scores = torch.tensor([[1.0, 0.3, 0, 0], [0, 0.6, 0.9, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    output = model(**given, labels=scores)
    shares = output.logits.sigmoid()
    expected = -(scores * shares.log() + (1 - scores) * (1 - shares).log()).sum() / 4
    torch.testing.assert_close(output.loss, expected)
    torch.testing.assert_close(
        model(**given, labels=torch.arange(4)).loss, functional.cross_entropy(output.logits, torch.arange(4))
    )


@pytest.mark.parametrize("name", NAMES)
def test_bfloat16_is_near_float32(name):
    model, given = model_of(name), inputs_of(name)
    with torch.no_grad():
        exact = model(**given).logits
        half = {key: one.bfloat16() if one.is_floating_point() else one for key, one in given.items()}
        near = model.bfloat16()(**half).logits.float()
    assert (near - exact).abs().max() < 0.05


def test_words_are_indexed_by_frequency_and_rare_ones_are_unknown():
    assert WORDS.words == ("is", "the", "cat", "mat", "on", "what")
    assert WORDS.indices(["The cat IS rare", ""]).tolist() == [
        [3, 4, 2, UNKNOWN],
        [UNKNOWN, PADDING, PADDING, PADDING],
    ]


def test_bags_count_words_and_mark_first_second_and_third_words():
    (bag,) = WORDS.bags(["is the cat the cat"]).toarray()
    assert dict(zip(WORDS.words, bag, strict=False)) == {"is": 1, "the": 2, "cat": 2, "mat": 0, "on": 0, "what": 0}
    assert WORDS.starts == (("is", "what"), ("the", "is"), ("cat", "is", "on"))
    assert bag[6:].tolist() == [1, 0, 1, 0, 1, 0, 0]


@settings(deadline=None)
@given(st.lists(st.text(max_size=30), min_size=1, max_size=6))
def test_any_text_has_indices_and_a_bag(texts):
    indices, bags = WORDS.indices(texts), WORDS.bags(texts).toarray()
    assert ((indices >= 0) & (indices < WORDS.size)).all()
    assert (indices[:, 0] != PADDING).all()
    assert bags.shape == (len(texts), WORDS.bag_size)
    assert (bags[:, :6].sum(1) == (indices > UNKNOWN).sum(1)).all()


def checkpoint(folder, name, backbone=None):
    kind = backbone.kind if backbone and MODELS[name].sees_image else None
    model = model_of(name, image_size=kind.dim if kind else 4)
    model.save_pretrained(folder)
    OpenEndedVqaProcessor(WORDS, kind, MODELS[name].inputs).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def pixels():
    return find_backbone("pixels", device="cpu")


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_is_the_same_after_loading_by_the_auto_classes(tmp_path, name, pixels):
    folder = checkpoint(tmp_path / name, name, pixels)
    model, processor = load_checkpoint(folder)
    again, auto = AutoModelForVisualQuestionAnswering.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    assert processor.words == WORDS == auto.words
    images = [picture(number) for number in range(4)] if MODELS[name].sees_image else None
    with torch.no_grad():
        first, second = (one(**auto(QUESTIONS, images)).logits for one in (model, again.eval()))
    torch.testing.assert_close(first, second)
    assert list(model.config.id2label.values()) == ANSWERS


@pytest.mark.parametrize("name", ["lstm-q", "bow-q-i"])
def test_the_pipeline_ranks_answers_and_picks_a_choice(tmp_path, name, pixels):
    answering = pipeline("open-ended-vqa", model=str(checkpoint(tmp_path / name, name, pixels)), device="cpu")
    image = {"image": picture(0)} if MODELS[name].sees_image else {}
    ranked = answering({**image, "question": QUESTIONS[0]}, top_k=3)
    scores = [one["score"] for one in ranked]
    assert len(ranked) == 3
    assert scores == sorted(scores, reverse=True)
    assert abs(sum(one["score"] for one in answering({**image, "question": QUESTIONS[0]}, top_k=99)) - 1) < 1e-5
    by_answer = {one["answer"]: one["score"] for one in answering({**image, "question": QUESTIONS[0]})}
    found = answering({**image, "question": QUESTIONS[0], "choices": ["unheard of", "red", "no"]})
    assert found["scores"] == pytest.approx([0.0, by_answer["red"], by_answer["no"]], abs=1e-6)
    assert found["answer"] == max(("red", "no"), key=by_answer.get)
    batch = answering([{**image, "question": text} for text in QUESTIONS], batch_size=2)
    assert batch[0][0]["answer"] == ranked[0]["answer"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"choices": ["red"]}, "expected .*question"),
        ({"question": "what", "choices": ["blue", "green"]}, "none of the choices is in the model's vocabulary"),
        ({"question": 3}, "question 0 is 3; expected a string"),
    ],
)
def test_the_pipeline_names_what_is_wrong(tmp_path, given, message):
    answering = pipeline("open-ended-vqa", model=str(checkpoint(tmp_path / "run", "lstm-q")), device="cpu")
    with pytest.raises(InputError, match=message):
        answering(given)
    with pytest.raises(InputError, match="top_k is 0; expected 1 or more"):
        answering({"question": "what"}, top_k=0)


def test_words_that_do_not_fit_the_model_are_refused(tmp_path):
    folder = checkpoint(tmp_path / "run", "lstm-q")
    path = folder / "processor_config.json"
    stored = json.loads(path.read_text())
    stored["question_words"]["words"].append("more")
    path.write_text(json.dumps(stored))
    with pytest.raises(InputError, match="the model takes words 8, its processor makes 9"):
        load_checkpoint(folder)
    stored["question_words"]["words"].append("more")
    path.write_text(json.dumps(stored))
    with pytest.raises(InputError, match="a word occurs twice"):
        load_checkpoint(folder)
    del stored["question_words"]
    path.write_text(json.dumps(stored))
    with pytest.raises(InputError, match="not the config of a OpenEndedVqaProcessor"):
        load_checkpoint(folder)
