import pytest
import torch

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models import MlpForMultipleChoiceVqa, MlpVqaConfig
from tests.models import plain_mlp
from tests.models.checkpoints import AUTO_CLASS, REGISTRATION, assert_loaded_in_a_new_process

SUBSETS = (("answer",), ("image", "answer"), ("question", "answer"), ("image", "question", "answer"))


def made(inputs=SUBSETS[-1], hidden=100, dropout=0.0, seed=0):
    torch.manual_seed(seed)
    model = MlpForMultipleChoiceVqa(
        MlpVqaConfig(inputs=inputs, image_size=12, text_size=7, hidden_size=hidden, dropout=dropout)
    )
    model.head.norm.running_mean.uniform_(-0.2, 0.2)  # as after some training
    model.head.norm.running_var.uniform_(0.02, 0.2)
    torch.nn.init.uniform_(model.head.norm.weight, 0.5, 1.5)
    torch.nn.init.uniform_(model.head.norm.bias, -0.5, 0.5)
    return model


def drawn(model, questions=5, choices=4, seed=1):
    draw = torch.Generator().manual_seed(seed)
    given = {"choice_vectors": torch.randn(questions, choices, 7, generator=draw)}
    if "image" in model.first:
        given["image_features"] = torch.randn(questions, 12, generator=draw)
    if "question" in model.first:
        given["question_vectors"] = torch.randn(questions, 7, generator=draw)
    mask = torch.rand(questions, choices, generator=draw) < 0.8
    mask[:, 0] = True
    return given, mask, torch.zeros(questions, dtype=torch.int64)


@pytest.mark.parametrize("inputs", SUBSETS)
@pytest.mark.parametrize("hidden", [64, 300])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("repeated", [False, True])
def test_equals_the_plain_formulation_in_training_and_evaluation(inputs, hidden, masked, repeated):
    model, plain = made(inputs, hidden), made(inputs, hidden)
    given, mask, labels = drawn(model)
    mask = mask if masked else None
    answers, indices = given.pop("choice_vectors"), None
    whole = answers
    if repeated:
        answers, indices = answers.flatten(0, 1)[:6], indices_for(6)
        whole = answers[indices]
    found = model.train()(answers, **given, choice_mask=mask, labels=labels, choice_indices=indices)
    found.loss.backward()
    expected = plain_mlp.logits(plain.train(), whole, mask=mask, **given)
    loss = plain_mlp.loss(plain, expected, labels, mask)
    loss.backward()
    torch.testing.assert_close(found.logits, expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(found.loss, loss, atol=1e-6, rtol=1e-6)
    for (name, parameter), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        torch.testing.assert_close(parameter.grad, other.grad, atol=1e-5, rtol=1e-5, msg=name)
    for name, buffer in model.named_buffers():
        torch.testing.assert_close(buffer, dict(plain.named_buffers())[name], atol=1e-6, rtol=1e-6, msg=name)
    expected = plain_mlp.logits(plain.eval(), whole, mask=mask, **given)
    for gradients in (True, False):  # without gradients a kernel scores the candidates
        with torch.set_grad_enabled(gradients):
            evaluated = model.eval()(answers, **given, choice_mask=mask, choice_indices=indices).logits
        torch.testing.assert_close(evaluated, expected, atol=1e-6, rtol=1e-6)


def indices_for(different, questions=5, choices=4):
    return torch.randint(different, (questions, choices), generator=torch.Generator().manual_seed(2))


def test_indices_of_masked_choices_and_unused_rows_do_not_matter():
    model = made().train()
    given, mask, labels = drawn(model)
    different, row_indices = given.pop("choice_vectors").flatten(0, 1)[:6].requires_grad_(), indices_for(5)
    found = model(different, **given, choice_mask=mask, labels=labels, choice_indices=row_indices)
    (gradient,) = torch.autograd.grad(found.loss, different)
    assert gradient[:5].abs().amax(1).min() > 0
    assert (gradient[5] == 0).all()
    same = model(
        different, **given, choice_mask=mask, labels=labels, choice_indices=row_indices.masked_fill(~mask, -1)
    )
    assert torch.equal(found.logits, same.logits)


def test_dropout_leaves_half_of_the_units_out_and_follows_torchs_seed():
    model = made(hidden=2048, dropout=0.5).train()
    given, _, _ = drawn(model)
    torch.manual_seed(3)
    first = model(**given).logits
    second = model(**given).logits
    torch.manual_seed(3)
    assert torch.equal(first, model(**given).logits)
    assert not torch.allclose(first, second, atol=1e-4)
    torch.manual_seed(4)
    drawn_logits = torch.stack([model(**given).logits.detach() for _ in range(300)])
    model.head.dropout = 0.0
    errors = (drawn_logits.mean(0) - model(**given).logits) / (drawn_logits.std(0) / 300**0.5)
    assert errors.abs().max() < 4.5  # standard errors, of 20 logits


def test_an_input_that_is_missing_is_named():
    with pytest.raises(InputError, match="vqa_mc_mlp needs image features; found none"):
        made()(choice_vectors=torch.randn(1, 2, 7))


@pytest.mark.parametrize(
    "imports", [(REGISTRATION, AUTO_CLASS), pytest.param((AUTO_CLASS, REGISTRATION), marks=pytest.mark.slow)]
)
def test_a_saved_model_is_loaded_by_the_auto_classes_in_a_new_process(preloaded, tmp_path, imports):
    model = made().eval()
    assert_loaded_in_a_new_process(preloaded / "python", model, drawn(model)[0], tmp_path, *imports)


def test_defaults_are_the_papers():
    model = MlpForMultipleChoiceVqa(MlpVqaConfig())
    assert {name: tuple(part.weight.shape) for name, part in model.first.items()} == {
        "image": (8192, 2048),
        "question": (8192, 300),
        "answer": (8192, 300),
    }
    assert model.head.dropout == 0.5
    bound = (2048 + 300 + 300) ** -0.5
    assert all(0.9 * bound < part.weight.abs().max() <= bound for part in model.first.values())
