import subprocess
import sys

import pytest
import torch
from transformers import AutoConfig, AutoModelForMultipleChoice

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models import SpatialAttentionForMultipleChoiceVqa, SpatialAttentionVqaConfig
from tests.models import plain_attention, plain_mlp

CELLS, CHANNELS, TEXT = 6, 12, 7


def made(hidden=100, dropout=0.0, **sizes):
    torch.manual_seed(0)
    sizes = {"image_size": CHANNELS, "text_size": TEXT, "attention_size": 9, **sizes}
    model = SpatialAttentionForMultipleChoiceVqa(
        SpatialAttentionVqaConfig(hidden_size=hidden, dropout=dropout, **sizes)
    )
    plain_attention.as_after_training(model.mlp.head.norm)
    return model


def drawn(questions=5, choices=4, seed=1):
    draw = torch.Generator().manual_seed(seed)
    given = {
        "choice_vectors": torch.randn(questions, choices, TEXT, generator=draw),
        "image_grid": 2 * torch.randn(questions, CELLS, CHANNELS, generator=draw),
        "question_vectors": torch.randn(questions, TEXT, generator=draw),
    }
    mask = torch.rand(questions, choices, generator=draw) < 0.8
    mask[:, 0] = True
    return given, mask, torch.zeros(questions, dtype=torch.int64)


@pytest.mark.parametrize("masked", [False, True])
def test_equals_the_plain_formulation_in_training_and_evaluation(masked):
    model, plain = made(), made()
    given, mask, labels = drawn()
    mask = mask if masked else None
    found = model.train()(**given, choice_mask=mask, labels=labels)
    found.loss.backward()
    expected = plain_attention.spatial_logits(plain.train(), mask=mask, **given)
    loss = plain_mlp.loss(plain, expected, labels, mask)
    loss.backward()
    torch.testing.assert_close(found.logits, expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(found.loss, loss, atol=1e-6, rtol=1e-6)
    for (name, parameter), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        assert parameter.grad.abs().max() > 0, name
        torch.testing.assert_close(parameter.grad, other.grad, atol=1e-5, rtol=1e-5, msg=name)
    evaluated = model.eval()(**given, choice_mask=mask).logits
    torch.testing.assert_close(
        evaluated, plain_attention.spatial_logits(plain.eval(), mask=mask, **given), atol=1e-6, rtol=1e-6
    )


def test_the_attention_is_one_distribution_over_the_cells_a_question():
    given, _, _ = drawn()
    (attention,) = made().eval()(**given).attentions
    assert attention.shape == (5, CELLS)
    assert (attention > 0).all()
    torch.testing.assert_close(attention.sum(1), torch.ones(5))
    assert attention.std(1).min() > 1e-3


def test_even_attention_gives_mlp_iqa_on_the_average_cell():
    model = made().eval()
    torch.nn.init.zeros_(model.attention.score.weight)
    given, _, _ = drawn()
    pooled = model.mlp(given["choice_vectors"], given["image_grid"].mean(1), given["question_vectors"])
    torch.testing.assert_close(model(**given).logits, pooled.logits, atol=1e-6, rtol=1e-6)


def test_the_order_of_cells_is_that_of_the_attention_and_nothing_else():
    model, order = made().eval(), torch.randperm(CELLS)
    given, _, _ = drawn()
    found = model(**given)
    moved = model(**{**given, "image_grid": given["image_grid"][:, order]})
    torch.testing.assert_close(moved.logits, found.logits, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(moved.attentions[0], found.attentions[0][:, order], atol=1e-6, rtol=1e-6)


def test_the_order_of_choices_is_that_of_the_logits():
    model, order = made().eval(), torch.tensor([2, 0, 3, 1])
    given, _, _ = drawn()
    moved = model(**{**given, "choice_vectors": given["choice_vectors"][:, order]})
    torch.testing.assert_close(moved.logits, model(**given).logits[:, order], atol=1e-6, rtol=1e-6)


def test_repeated_answers_by_their_places_equal_those_repeated():
    model = made(hidden=40).train()
    given, mask, labels = drawn()
    different = given.pop("choice_vectors").flatten(0, 1)[:6]
    places = torch.randint(6, mask.shape, generator=torch.Generator().manual_seed(2))
    found = model(different, **given, choice_mask=mask, labels=labels, choice_indices=places)
    expected = model(different[places], **given, choice_mask=mask, labels=labels)
    torch.testing.assert_close(found.logits, expected.logits, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(
        *(torch.autograd.grad(each.loss, list(model.parameters())) for each in (found, expected)),
        atol=1e-5,
        rtol=1e-5,
    )


def test_what_is_masked_does_not_matter():
    model = made().train()
    given, mask, labels = drawn()
    other = {**given, "choice_vectors": given["choice_vectors"].masked_fill(~mask.unsqueeze(-1), torch.nan)}
    found, same = (model(**each, choice_mask=mask, labels=labels) for each in (given, other))
    assert torch.equal(found.logits, same.logits)
    assert torch.equal(found.loss, same.loss)
    assert (found.logits[~mask] == torch.finfo(torch.float32).min).all()


@pytest.mark.parametrize("part", ["image_grid", "question_vectors", "choice_vectors"])
def test_each_input_matters_to_its_own_question_only(part):
    model = made().eval()
    given, _, _ = drawn()
    changed = {**given, part: given[part].clone()}
    changed[part][2] = torch.randn(changed[part][2].shape)
    difference = (model(**changed).logits - model(**given).logits).abs()
    assert difference[2].min() > 1e-4
    assert difference[[0, 1, 3, 4]].max() < 1e-6


def test_learns_to_look_at_the_cell_that_the_question_asks_for():
    """Of three things, each with a colour and anywhere in the image, the colour of one is asked for."""
    model = made(hidden=64, attention_size=32, image_size=9, text_size=9).train()
    step = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(100):
        given, labels, _ = coloured_things(64)
        found = model(**given, labels=labels)
        step.zero_grad()
        found.loss.backward()
        step.step()
        losses.append(found.loss.item())
    assert sum(losses[:5]) > 5 * 0.4
    assert sum(losses[-10:]) < 10 * 0.1
    given, labels, where = coloured_things(300)
    found = model.eval()(**given)
    assert (found.logits.argmax(1) == labels).float().mean() > 0.95
    assert found.attentions[0].gather(1, where.unsqueeze(1)).mean() > 0.6


def coloured_things(count):
    """Images of three things in their cells, all colours as choices; the target's place among them; its cell."""
    things, colours = torch.eye(9)[:4], torch.eye(9)[4:]
    of_things = torch.stack([torch.randperm(4)[:3] for _ in range(count)])
    of_colours = torch.stack([torch.randperm(5)[:3] for _ in range(count)])
    places = torch.stack([torch.randperm(CELLS)[:3] for _ in range(count)])
    grid = torch.zeros(count, CELLS, 9)
    grid.scatter_(1, places.unsqueeze(-1).expand(-1, -1, 9), 2 * (things[of_things] + colours[of_colours]))
    asked, every = torch.randint(3, (count,)), torch.arange(count)
    given = {
        "image_grid": grid,
        "question_vectors": things[of_things[every, asked]],
        "choice_vectors": colours.expand(count, 5, 9),
    }
    return given, of_colours[every, asked], places[every, asked]


def test_bfloat16_comes_near_float32():
    model = made().train()
    given, _, labels = drawn()
    expected = model(**given, labels=labels)
    with torch.autocast("cpu", torch.bfloat16):
        found = model(**given, labels=labels)
    torch.testing.assert_close(found.logits.float(), expected.logits, atol=0.1, rtol=0.1)
    torch.testing.assert_close(found.attentions[0].sum(1), torch.ones(5))
    found.loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


def test_evaluation_is_deterministic_and_dropout_is_the_mlps():
    model = made(hidden=2048, dropout=0.5).eval()
    given, _, _ = drawn()
    assert torch.equal(model(**given).logits, model(**given).logits)
    model.train()
    assert not torch.allclose(model(**given).logits, model(**given).logits, atol=1e-4)


def test_a_saved_model_comes_back_through_the_auto_classes_in_a_fresh_process(tmp_path):
    model = made().eval()
    given, _, _ = drawn()
    model.save_pretrained(tmp_path / "m")
    torch.save(given, tmp_path / "given.pt")
    code = f"""
import torch
import hf_vqa_mc.models
from transformers import AutoModelForMultipleChoice
given = torch.load({str(tmp_path / "given.pt")!r})
model = AutoModelForMultipleChoice.from_pretrained({str(tmp_path / "m")!r}).eval()
print(type(model).__name__, *model(**given).logits.flatten().tolist())
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    name, *logits = done.stdout.split()
    assert name == "SpatialAttentionForMultipleChoiceVqa"
    assert list(map(float, logits)) == pytest.approx(model(**given).logits.flatten().tolist(), abs=1e-6)
    assert type(AutoConfig.from_pretrained(tmp_path / "m")) is SpatialAttentionVqaConfig
    assert type(AutoModelForMultipleChoice.from_config(model.config)) is SpatialAttentionForMultipleChoiceVqa


def test_pooled_features_are_refused():
    given, _, _ = drawn()
    for grid in (given["image_grid"].mean(1), given["image_grid"][..., :3], given["image_grid"][:, :0]):
        with pytest.raises(InputError, match=r"image_grid has the shape .* expected \(batch, cells, 12\); .* --grid"):
            made()(**{**given, "image_grid": grid})


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"attention_size": 0}, "attention_size is 0, expected 1 or more"), ({"hidden_size": "many"}, "hidden_size")],
)
def test_a_config_that_cannot_be_is_refused(changes, message):
    with pytest.raises(Exception, match=message):
        SpatialAttentionVqaConfig(**changes)


def test_defaults_are_the_papers():
    model = SpatialAttentionForMultipleChoiceVqa(SpatialAttentionVqaConfig())
    assert model.attention.place.weight.shape == (512, 2048)
    assert model.attention.guide.weight.shape == (512, 300)
    assert {name: tuple(part.weight.shape) for name, part in model.mlp.first.items()} == {
        "image": (8192, 2048),
        "question": (8192, 300),
        "answer": (8192, 300),
    }
    assert model.mlp.head.dropout == 0.5
    assert 0.9 * 2048**-0.5 < model.attention.place.weight.abs().max() <= 2048**-0.5
    bound = (2048 + 300 + 300) ** -0.5
    assert all(0.9 * bound < part.weight.abs().max() <= bound for part in model.mlp.first.values())
