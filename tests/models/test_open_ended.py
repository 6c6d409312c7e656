"""Open-ended models equal plain formulations; their words, bags and answers survive saving; the pipeline ranks."""

from itertools import cycle, islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional
from transformers import AutoModelForVisualQuestionAnswering, AutoProcessor, pipeline

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.extraction.vision_model import find_backbone
from hf_vqa_mc.model_listing import MODELS
from hf_vqa_mc.models import AnswerMlpForOpenEndedVqa, QuestionLstmForOpenEndedVqa, VqaProcessor
from hf_vqa_mc.models.answer_mlp import SEEN
from hf_vqa_mc.models.checkpoint import load_checkpoint
from hf_vqa_mc.models.counter_example import NO_PICK, CounterExampleForOpenEndedVqa
from hf_vqa_mc.models.fitted import ABSENT, NearestNeighbourForOpenEndedVqa, NearestNeighbourVqaConfig
from hf_vqa_mc.models.model import SIZES, FittedModel
from hf_vqa_mc.models.question_texts import PADDING, UNKNOWN, QuestionTexts, QuestionWords, layout_words
from tests.models.checkpoints import picture
from tests.models.plain_open_ended import PLAIN

ANSWERS = ["yes", "no", "red", "two"]
QUESTIONS = ["what colour is the cat", "is the cat red", "what is on the mat", "is the dog on the mat"]
CAPTIONS = ["a cat on a mat", "a red cat", "a mat on a floor", "a dog and a cat on a red mat"]
GROUPS = ["what", "is", "what", ""]
WORDS = QuestionWords.of(QUESTIONS)
TEXTS = QuestionTexts(
    WORDS,
    TextFeatures("some", "0", 3, ("cat", "red"), np.eye(2, 3, dtype=np.float32), frozenset(), new_words="skip"),
    QuestionWords.of(CAPTIONS, starts=0),
    ("is", "what"),
    layout_words=layout_words(QUESTIONS, "text"),
)
NAMES = [name for name, model in MODELS.items() if model.open_ended]
TRAINED = [name for name in NAMES if not issubclass(MODELS[name].model_class, FittedModel)]
SMALL = {
    "hidden_sizes": [6, 5],
    "lstm_size": 16,
    "size": 16,
    "level_size": 8,
    "joint_size": 8,
    "sketch_size": 64,
    "attention_size": 8,
    "word_size": 16,
    "fixed_word_size": 3,
}
GRID, CELLS = "image_grid", 4


def model_of(name, image_size=4, **settings):
    declared = MODELS[name]
    sizes = TEXTS.sizes | {"image_size": image_size}
    labels = {"id2label": dict(enumerate(ANSWERS)), "label2id": {text: at for at, text in enumerate(ANSWERS)}}
    torch.manual_seed(1)
    given = {key: value for key, value in (SMALL | settings).items() if key in declared.defaults()}
    own = declared.config_class.__annotations__
    sizes |= {key: value for key, value in settings.items() if key in SIZES and key in own}
    model = declared.model_class(declared.config(given, **sizes, **labels)).eval()
    if isinstance(model, FittedModel):
        model.fit(torch.tensor([2, 1, 2, 0]), **inputs_of(name, image_size=image_size))
    return model


def inputs_of(name, questions=QUESTIONS, image_size=4):
    grid = GRID in MODELS[name].inputs
    shape = (len(questions), CELLS, image_size) if grid else (len(questions), image_size)
    images = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    captions, groups = (list(islice(cycle(texts), len(questions))) for texts in (CAPTIONS, GROUPS))
    found = TEXTS.tensors(MODELS[name].inputs, questions=questions, captions=captions, groups=groups)
    return found | ({GRID if grid else "image_features": images} if MODELS[name].sees_image else {})


def doubled(given):
    return {key: one.double() if one.is_floating_point() else one for key, one in given.items()}


ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu, "elu": functional.elu}


def plain_mlp(model, **given):
    given["image_features"] = functional.normalize(given.get("image_features", torch.ones(1)), dim=-1)
    activation, parts = ACTIVATIONS[model.config.activation], []
    for name in model.config.inputs:
        value = given[SEEN[name][0]]
        if model.config.separate:
            value = activation(value @ model.first[name].weight.T + model.first[name].bias)
        parts.append(value)
    value = torch.cat(parts, -1)
    *hidden, last = [layer for layer in model.layers if isinstance(layer, torch.nn.Linear)]
    for layer in hidden:
        value = activation(value @ layer.weight.T + layer.bias)
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
            image = image if model.question is None else image.tanh()
            joint = joint * image if config.fusion == "product" else torch.cat([joint, image])
        for layer in (one for one in model.classifier if isinstance(one, torch.nn.Linear)):
            joint = layer.weight @ joint + layer.bias
            joint = joint if layer is model.classifier[-1] else ACTIVATIONS[config.activation](joint)
        rows.append(joint)
    return torch.stack(rows)


def plain_joint(model, **given):
    """The joint embedding of question and image."""
    deeper = {"normalise_image": True, "fusion": "product"}
    config = SimpleNamespace(**deeper, lstm_layers=model.config.lstm_layers, lstm_size=model.config.lstm_size)
    parts = {name: getattr(model, name) for name in ("words", "lstm", "question", "image")}
    return plain_lstm(SimpleNamespace(config=config, classifier=[], **parts), **given)


def plain_counter_example(model, **given):
    return plain_joint(model, **given) @ model.classifier.weight.T + model.classifier.bias


OWN = {
    AnswerMlpForOpenEndedVqa: plain_mlp,
    QuestionLstmForOpenEndedVqa: plain_lstm,
    CounterExampleForOpenEndedVqa: plain_counter_example,
}


def test_candidates_are_ranked_as_in_a_plain_formulation():
    model, given = model_of("counter-example"), inputs_of("counter-example")
    picked, labels = [0, 23, NO_PICK, 1], [3, 0, 1, 0]
    candidates = torch.randn(len(QUESTIONS), 24, 4, generator=torch.Generator().manual_seed(2))
    correct = {"labels": torch.tensor(labels), "picked": torch.tensor(picked)}
    ranking = 0.0
    with torch.no_grad():
        found = model(**given, candidate_features=candidates, **correct)
        for row, (label, best) in enumerate(zip(labels, picked, strict=True)):
            question, products, same = given["question_indices"][row : row + 1], [], []
            for image in candidates[row]:
                joint = plain_joint(model, question_indices=question, image_features=image[None])[0]
                common = model.common.weight @ joint + model.common.bias
                products.append(common @ model.answer.weight[label])
                same.append((model.classifier.weight @ joint + model.classifier.bias).softmax(0)[label])
            scores = model.ranking.weight @ torch.stack(products) + model.ranking.bias
            torch.testing.assert_close(found.candidate_scores[row], scores, atol=1e-6, rtol=1e-5)
            torch.testing.assert_close(found.candidate_same[row], torch.stack(same), atol=1e-6, rtol=1e-5)
            for other in {*range(24)} - {best} if best != NO_PICK else ():
                ranking += max(0.0, model.config.margin - float(scores[best] - scores[other])) / len(QUESTIONS)
        expected = model(**given, labels=correct["labels"]).loss + model.config.ranking_weight * ranking
    torch.testing.assert_close(found.loss, expected, atol=1e-6, rtol=1e-5)


def test_the_predicted_answer_is_explained_where_none_is_given():
    model, given = model_of("counter-example"), inputs_of("counter-example")
    candidates = torch.randn(len(QUESTIONS), 24, 4, generator=torch.Generator().manual_seed(2))
    with torch.no_grad():
        found = model(**given, candidate_features=candidates)
        told = model(**given, candidate_features=candidates, labels=found.logits.argmax(1))
        other = model(**given, candidate_features=candidates, labels=found.logits.argmin(1))
    torch.testing.assert_close(found.candidate_scores, told.candidate_scores)
    assert not torch.allclose(found.candidate_scores, other.candidate_scores)


@pytest.mark.parametrize("name", TRAINED)
def test_logits_equal_a_plain_formulation(name):
    model = model_of(name)
    plain = {**OWN, **PLAIN}[type(model)]
    given = inputs_of(name)
    if "mcb" in name:  # signed square roots magnify the rounding of values near 0
        model, given = model.double(), doubled(given)
    with torch.no_grad():
        logits = model(**given).logits
        torch.testing.assert_close(logits, plain(model, **given).to(logits.dtype), atol=1e-6, rtol=1e-5)
    assert logits.shape == (4, 4)


@pytest.mark.parametrize("name", NAMES)
def test_logits_do_not_depend_on_the_other_questions_of_a_batch(name):
    model, given = model_of(name), inputs_of(name)
    if "mcb" in name:
        model, given = model.double(), doubled(given)
    with torch.no_grad():
        together = model(**given).logits
        for row in range(4):
            alone = model(**{key: value[row : row + 1] for key, value in given.items()}).logits
            torch.testing.assert_close(alone[0], together[row], atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("name", [name for name in TRAINED if not name.startswith(("linear", "caption"))])
def test_a_network_memorises_32_rows(name):
    # the digits of each row's number count its words, so that bags differ, too
    counts = [[row // 3**at % 3 for at in range(4)] for row in range(32)]
    texts = [
        " ".join(word for word, count in zip(WORDS.words, row, strict=False) for _ in range(count)) for row in counts
    ]
    given, labels = inputs_of(name, texts), torch.arange(32) % 4
    model = model_of(name, hidden_sizes=[64, 64] if "concat" in name else [64], dropout=0.0)
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(300):
        optimizer.zero_grad()
        found = model(**given, labels=labels)
        if (found.logits.argmax(1) == labels).all():
            return
        found.loss.backward()
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
    torch.testing.assert_close(near, exact, atol=0.05, rtol=0.01)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("mac", {"step": 3}, "unknown setting of mac 'step': did you mean 'steps'. Known: dropout, size"),
        ("mac", {"image_size": 3}, "image_size: the image features and questions decide it; remove it"),
        ("mac", {"sees_regions": True}, "sees_regions: the image features and questions decide it; remove it"),
    ],
)
def test_a_setting_that_a_model_does_not_have_is_named(name, settings, message):
    with pytest.raises(InputError, match=message):
        MODELS[name].config(settings)


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


@given(st.lists(st.text(max_size=30), min_size=1, max_size=6))
def test_any_text_has_indices_and_a_bag(texts):
    indices, bags = WORDS.indices(texts), WORDS.bags(texts).toarray()
    assert ((indices >= 0) & (indices < WORDS.size)).all()
    assert (indices[:, 0] != PADDING).all()
    assert bags.shape == (len(texts), WORDS.bag_size)
    assert (bags[:, :6].sum(1) == (indices > UNKNOWN).sum(1)).all()


def checkpoint(folder, name, backbone=None):
    if backbone and GRID in MODELS[name].inputs:
        backbone = find_backbone("pixels", 2, device="cpu")
    kind = backbone.kind if backbone and MODELS[name].sees_image else None
    model = model_of(name, image_size=kind.dim if kind else 4)
    model.save_pretrained(folder)
    VqaProcessor(TEXTS, kind, MODELS[name].inputs_with(kind)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def pixels():
    return find_backbone("pixels", device="cpu")


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_is_the_same_after_loading_by_the_auto_classes(tmp_path, name, pixels):
    folder = checkpoint(tmp_path / name, name, pixels)
    model, processor = load_checkpoint(folder)
    again, auto = AutoModelForVisualQuestionAnswering.from_pretrained(folder), AutoProcessor.from_pretrained(folder)
    assert processor.texts.words == WORDS == auto.texts.words
    images = [picture(number) for number in range(4)] if MODELS[name].sees_image else None
    with torch.no_grad():
        given = auto(images, QUESTIONS, captions=CAPTIONS, groups=GROUPS)
        first, second = (one(**given).logits for one in (model, again.eval()))
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
        ({"choices": ["red"]}, 'the question has no "question"; expected a dictionary with image, question'),
        ({"question": "what", "choices": ["blue", "green"]}, "none of the choices is in the model's vocabulary"),
        ({"question": 3}, "question 0 is 3; expected a string"),
        ({"question": "what", "choices": "red"}, "choices: expected a list of texts, found 'red'"),
        ({"question": "what", "choices": []}, "choices: expected one text or more, found none"),
        ({"question": "what", "choices": [1, 2]}, "choice 0 is 1; expected a string"),
    ],
)
def test_the_pipeline_names_what_is_wrong(tmp_path, given, message):
    answering = pipeline("open-ended-vqa", model=str(checkpoint(tmp_path / "run", "lstm-q")), device="cpu")
    with pytest.raises(InputError, match=message):
        answering(given)
    with pytest.raises(InputError, match="top_k is 0; expected 1 or more"):
        answering({"question": "what"}, top_k=0)


def test_a_pipeline_of_the_other_kind_of_model_names_the_right_one(tmp_path):
    folder = checkpoint(tmp_path / "run", "lstm-q")
    message = r"lstm-q is not a model of this pipeline; use pipeline.'open-ended-vqa'"
    with pytest.raises(InputError, match=message):
        pipeline("multiple-choice-vqa", model=str(folder), device="cpu")


def test_the_popular_answer_of_a_group_is_counted_and_backs_off_to_all_questions():
    labels = torch.tensor([0, 0, 0, 1, 1, 2])
    model = model_of("popular-per-type")
    model.fit(labels, question_groups=torch.tensor([1, 1, 1, 2, 2, 2]))
    logits = model(question_groups=torch.tensor([1, 2, 0])).logits
    assert logits.argmax(1).tolist() == [0, 1, 0]
    counts = torch.tensor([[3, 0, 0, 0], [0, 2, 1, 0], [3, 2, 1, 0]]) + 1e-3 * torch.tensor([3, 2, 1, 0])
    torch.testing.assert_close(logits[:, :3].softmax(1), (counts / counts.sum(1, keepdim=True))[:, :3])


def test_the_popular_answer_ignores_groups():
    model = model_of("popular-answer")
    assert model(question_groups=torch.tensor([0, 1, 2])).logits.argmax(1).tolist() == [2, 2, 2]


def test_yes_is_answered_however_rare_it_is_in_training():
    config = MODELS["always-yes"].config_class(id2label={0: "two", 1: "yes"}, answer="yes")
    model = MODELS["always-yes"].model_class(config)
    model.fit(torch.tensor([0, 0, 0, 1]), question_groups=torch.zeros(4, dtype=torch.int64))
    assert model(question_groups=torch.tensor([0, 1, 2])).logits.argmax(1).tolist() == [1, 1, 1]


def test_random_answers_are_uniform_and_depend_on_seed_and_question_only():
    model, other = model_of("random-answer"), model_of("random-answer", seed=1)
    questions = torch.randint(2, 500, (3000, 6), generator=torch.Generator().manual_seed(0))
    found = model(question_indices=questions).logits.argmax(1)
    assert (found.bincount() / 3000 - 0.25).abs().max() < 0.04
    padded = functional.pad(questions, (0, 3), value=PADDING)
    assert (model(question_indices=padded).logits.argmax(1) == found).all()
    assert (other(question_indices=questions).logits.argmax(1) != found).float().mean() > 0.7


def plain_nearest(bags, answers, query, neighbours, images=None, image=None):
    """Logits of one question, by sorting all training questions."""
    similar = functional.cosine_similarity(query[None], bags)
    bound = similar.sort(descending=True).values[:neighbours][-1]
    near = (similar >= bound - 1e-5).nonzero()[:, 0].tolist()
    found = torch.full((len(ANSWERS),), ABSENT)
    for answer in range(len(ANSWERS)):
        own = [row for row in near if answers[row] == answer]
        if own:
            found[answer] = (
                float(np.log(len(own)))
                if images is None
                else max(functional.cosine_similarity(image[None], images[own]))
            )
    return found


@pytest.mark.parametrize("sees_image", [False, True])
@given(seed=st.integers(0, 10**6), neighbours=st.integers(1, 9))
def test_nearest_neighbours_equal_a_search_over_all_training_questions(sees_image, seed, neighbours):
    rng = torch.Generator().manual_seed(seed)
    bags = torch.randint(0, 3, (30, 5), generator=rng).float()
    bags[:, 0] += 1
    answers = torch.randint(0, 4, (30,), generator=rng)
    images = torch.randn(12, 4, generator=rng)[torch.randint(0, 12, (30,), generator=rng)]
    queries, seen = torch.randint(0, 3, (7, 5), generator=rng).float(), torch.randn(7, 4, generator=rng)
    queries[:, 1] += 1
    config = NearestNeighbourVqaConfig(
        sees_image=sees_image, neighbours=neighbours, bag_size=5, image_size=4, num_labels=4
    )
    model = NearestNeighbourForOpenEndedVqa(config)
    with_images = {"image_features": images} if sees_image else {}
    model.fit(answers, question_bags=bags, **with_images)
    found = model(question_bags=queries, **({"image_features": seen} if sees_image else {})).logits
    for row in range(7):
        plain = plain_nearest(bags, answers, queries[row], neighbours, images if sees_image else None, seen[row])
        torch.testing.assert_close(found[row], plain)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"text": ["what"], "captions": "a"}, "captions: expected a list of texts, found 'a'"),
        ({"text": ["what"]}, "captions: expected a list of texts, found none"),
        ({"text": ["what"], "captions": ["a", "b"]}, "captions: expected 1, one per question, found 2"),
        ({"text": ["what"], "captions": [3]}, "caption 0 is 3; expected a string"),
    ],
)
def test_a_processor_names_missing_captions(given, message):
    processor = VqaProcessor(TEXTS, None, MODELS["caption"].inputs)
    with pytest.raises(InputError, match=message):
        processor(**given)


def test_the_pipeline_takes_captions_and_groups(tmp_path):
    captioned = pipeline("open-ended-vqa", model=str(checkpoint(tmp_path / "one", "caption")), device="cpu")
    assert len(captioned({"caption": "a red cat"})) == 4
    prior = pipeline("open-ended-vqa", model=str(checkpoint(tmp_path / "two", "popular-per-type")), device="cpu")
    assert prior({"question": "is it", "group": "is"})[0]["answer"] == "no"
    assert prior({"question": "is it"})[0]["answer"] == "red"
    assert prior({"question": "is it", "question_type": "is"})[0]["answer"] == "no"  # as a row of the dataset has it
    assert [one[0]["answer"] for one in prior([{"group": "is"}, {"group": "what"}])] == ["no", "red"]


def regions_of(seed, counts, most):
    rng = torch.Generator().manual_seed(seed)
    regions = torch.randn(len(counts), most, 4, generator=rng)
    return regions, torch.arange(most) < torch.tensor(counts)[:, None]


REGION_MODELS = [name for name in TRAINED if "image_regions" in MODELS[name].inputs]


@pytest.mark.parametrize("name", REGION_MODELS)
@settings(max_examples=10)
@given(
    counts=st.lists(st.integers(1, 6), min_size=4, max_size=4),
    padding=st.integers(0, 5),
    junk=st.sampled_from([0.0, 3.0, 1e30, float("inf"), float("nan")]),
    seed=st.integers(0, 99),
)
def test_padding_and_order_of_regions_change_nothing(name, counts, padding, junk, seed):
    model, words = model_of(name, sees_regions=True, sees_positions=True), inputs_of(name)
    del words[GRID]
    regions, mask = regions_of(seed, counts, 6)
    boxes = torch.rand(4, 6, 4, generator=torch.Generator().manual_seed(seed))
    if "mcb" in name:  # signed square roots magnify the rounding of values near 0
        model, regions, boxes = model.double(), regions.double(), boxes.double()
    order = torch.randperm(6, generator=torch.Generator().manual_seed(seed))
    more = torch.cat([boxes, boxes.new_zeros(4, padding, 4)], 1)
    padded = torch.cat([regions.masked_fill(~mask[..., None], junk), regions.new_full((4, padding, 4), junk)], 1)
    wider = torch.cat([mask, torch.zeros(4, padding, dtype=torch.bool)], 1)
    with torch.no_grad():
        expected = model(**words, image_regions=regions, region_mask=mask, region_boxes=boxes)
        shuffled = model(
            **words, image_regions=regions[:, order], region_mask=mask[:, order], region_boxes=boxes[:, order]
        )
        found = model(**words, image_regions=padded, region_mask=wider, region_boxes=more)
        for row, count in enumerate(counts):
            own = {key: of[row : row + 1] for key, of in words.items()}
            at = slice(row, row + 1), slice(count)
            alone = model(**own, image_regions=regions[at], region_boxes=boxes[at])
            torch.testing.assert_close(alone.logits[0], expected.logits[row], atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(found.logits, expected.logits, atol=2e-6, rtol=1e-5)
    torch.testing.assert_close(shuffled.logits, expected.logits, atol=2e-6, rtol=1e-5)
    for one, other, of_padded in zip(expected.attentions, shuffled.attentions, found.attentions, strict=True):
        assert (of_padded[~wider] == 0).all()
        torch.testing.assert_close(other, one[:, order], atol=2e-6, rtol=1e-5)


@pytest.mark.parametrize("name", REGION_MODELS)
def test_padding_has_no_effect_on_gradients(name):
    given = inputs_of(name)
    regions, _ = regions_of(0, [3] * 4, 3)
    del given[GRID]
    gradients = []
    for padding in (0, 2):
        model = model_of(name, sees_regions=True)
        images = torch.cat([regions, torch.full((4, padding, 4), 3.0)], 1)
        mask = torch.arange(3 + padding).expand(4, -1) < 3
        boxes = torch.full((4, 3 + padding, 4), 0.5)
        labels = torch.tensor([0, 1, 2, 3])
        model(**given, image_regions=images, region_mask=mask, region_boxes=boxes, labels=labels).loss.backward()
        gradients.append({key: of.grad for key, of in model.named_parameters()})
    torch.testing.assert_close(gradients[1], gradients[0], atol=2e-6, rtol=1e-4)


@pytest.mark.parametrize("name", REGION_MODELS)
def test_a_model_takes_a_grid_or_regions_of_its_size(name):
    model, given = model_of(name), inputs_of(name)
    regions, mask = regions_of(0, [1, 2, 3, 3], 3)
    with pytest.raises(InputError, match="expected one of image_grid and image_regions"):
        model(**given, image_regions=regions, region_mask=mask)
    with pytest.raises(InputError, match=r"image_regions has the shape \(4, 3, 2\), expected \(batch, cells, 4\)"):
        model(**{**given, GRID: None}, image_regions=regions[..., :2], region_mask=mask)
