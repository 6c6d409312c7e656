"""Attention* and HieCoAtt*: equal to plain formulations, independent of padding and order, and trainable."""

import pytest
import torch
from hypothesis import given as having
from hypothesis import settings
from hypothesis import strategies as st
from transformers import AutoModelForMultipleChoice

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models import (
    HieCoAttentionVqaConfig,
    MlpVqaConfig,
    SpatialAttentionVqaConfig,
)
from tests.models import plain_attention, plain_mlp

CELLS, CHANNELS, TEXT = 6, 12, 7
CO_ATTENTIONS = ("alternating", "parallel")
MODELS = ("spatial", *CO_ATTENTIONS)


def made(kind="alternating", dropout=0.0, **sizes):
    """A model with statistics as after training: Attention*, or HieCoAtt* with a kind of co-attention."""
    torch.manual_seed(0)
    sizes = {"image_size": CHANNELS, "text_size": TEXT, "hidden_size": 100, **sizes}
    if kind == "spatial":
        config = SpatialAttentionVqaConfig(dropout=dropout, **{"attention_size": 9, **sizes})
    else:
        sizes = {"level_size": 9, "joint_size": 11, **sizes}
        config = HieCoAttentionVqaConfig(co_attention=kind, encoder_dropout=dropout, dropout=dropout, **sizes)
    model = AutoModelForMultipleChoice.from_config(config)
    plain_attention.as_after_training(model.mlp.head.norm)
    return model


def drawn(kind="alternating", words=(4, 1, 6, 2, 3)):
    """Inputs of five questions with four choices, a mask of the choices, and labels."""
    draw = torch.Generator().manual_seed(1)
    given = {
        "choice_vectors": torch.randn(5, 4, TEXT, generator=draw),
        "image_grid": 2 * torch.randn(5, CELLS, CHANNELS, generator=draw),
        "question_vectors": torch.randn(5, TEXT, generator=draw),
    }
    if kind != "spatial":
        given["question_tokens"] = torch.randn(5, max(words), TEXT, generator=draw)
        given["question_mask"] = torch.arange(max(words)) < torch.tensor(words).unsqueeze(1)
    mask = torch.rand(5, 4, generator=draw) < 0.8
    mask[:, 0] = True
    return given, mask, torch.zeros(5, dtype=torch.int64)


@pytest.mark.parametrize(
    ("kind", "masked", "sizes"),
    [
        *[("spatial", masked, {}) for masked in (False, True)],
        *[
            (kind, masked, {"lstm_layers": layers})
            for kind in CO_ATTENTIONS
            for masked, layers in ((False, 2), (True, 2), (True, 1))
        ],
    ],
)
def test_equals_the_plain_formulation_in_training_and_evaluation(kind, masked, sizes):
    logits = plain_attention.spatial_logits if kind == "spatial" else plain_attention.hie_co_logits
    model, plain = made(kind, **sizes), made(kind, **sizes)
    given, mask, labels = drawn(kind)
    mask = mask if masked else None
    found = model.train()(**given, choice_mask=mask, labels=labels)
    found.loss.backward()
    expected = logits(plain.train(), mask=mask, **given)
    loss = plain_mlp.loss(plain, expected, labels, mask)
    loss.backward()
    torch.testing.assert_close(found.logits, expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(found.loss, loss, atol=1e-6, rtol=1e-6)
    for (name, parameter), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        assert parameter.grad.abs().max() > 0, name
        torch.testing.assert_close(parameter.grad, other.grad, atol=1e-5, rtol=1e-5, msg=name)
    evaluated = model.eval()(**given, choice_mask=mask).logits
    torch.testing.assert_close(evaluated, logits(plain.eval(), mask=mask, **given), atol=1e-6, rtol=1e-6)


@having(st.permutations(range(CELLS)), st.permutations(range(4)), st.sampled_from(MODELS))
@settings(max_examples=30)
def test_cells_and_choices_can_be_permuted(cells, choices, kind):
    model = made(kind).eval()
    given, _, _ = drawn(kind)
    found = model(**given)
    moved = model(
        **{**given, "image_grid": given["image_grid"][:, cells], "choice_vectors": given["choice_vectors"][:, choices]}
    )
    torch.testing.assert_close(moved.logits, found.logits[:, choices], atol=1e-6, rtol=1e-6)
    for ours, theirs in zip(found.attentions, moved.attentions, strict=True):
        torch.testing.assert_close(theirs, ours[:, cells], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", MODELS)
def test_each_attention_is_a_distribution_over_the_cells(kind):
    given, _, _ = drawn(kind)
    attentions = made(kind).eval()(**given).attentions
    assert [attention.shape for attention in attentions] == [(5, CELLS)] * (1 if kind == "spatial" else 3)
    for attention in attentions:
        assert (attention > 0).all()
        torch.testing.assert_close(attention.sum(1), torch.ones(5))


@pytest.mark.parametrize("kind", MODELS)
def test_choice_indices_are_the_same_as_repeated_choice_vectors(kind):
    model = made(kind, hidden_size=40).train()
    given, mask, labels = drawn(kind)
    distinct = given.pop("choice_vectors").flatten(0, 1)[:6]
    indices = torch.randint(6, mask.shape, generator=torch.Generator().manual_seed(2))
    found = model(distinct, **given, choice_mask=mask, labels=labels, choice_indices=indices)
    expected = model(distinct[indices], **given, choice_mask=mask, labels=labels)
    torch.testing.assert_close(found.logits, expected.logits, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(
        *(torch.autograd.grad(each.loss, list(model.parameters())) for each in (found, expected)), atol=1e-5, rtol=1e-5
    )


@pytest.mark.parametrize("kind", MODELS)
def test_evaluation_is_deterministic_and_training_has_dropout(kind):
    model = made(kind, dropout=0.5, hidden_size=2048).eval()
    given, _, _ = drawn(kind)
    assert torch.equal(model(**given).logits, model(**given).logits)
    first, second = model.train()(**given), model(**given)
    assert not torch.allclose(first.logits, second.logits, atol=1e-4)
    if kind != "spatial":  # its attention has no dropout
        for one, other in zip(first.attentions, second.attentions, strict=True):
            assert not torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("kind", MODELS)
def test_image_grids_of_another_shape_are_rejected(kind):
    given, _, _ = drawn(kind)
    for grid in (given["image_grid"].mean(1), given["image_grid"][..., :3], given["image_grid"][:, :0]):
        with pytest.raises(InputError, match=r"image_grid has the shape .* expected \(batch, cells, 12\); .* --grid"):
            made(kind)(**{**given, "image_grid": grid})


@pytest.mark.parametrize(
    ("config", "changes", "message"),
    [
        (SpatialAttentionVqaConfig, {"attention_size": 0}, "attention_size is 0, expected 1 or more"),
        (SpatialAttentionVqaConfig, {"hidden_size": "many"}, "hidden_size"),
        (MlpVqaConfig, {"hidden_size": 0}, "hidden_size is 0, expected 1 or more"),
        (HieCoAttentionVqaConfig, {"co_attention": "paralel"}, "co_attention"),
        (HieCoAttentionVqaConfig, {"lstm_layers": 0}, "lstm_layers is 0, expected 1 or more"),
        (HieCoAttentionVqaConfig, {"joint_size": "many"}, "joint_size"),
    ],
)
def test_invalid_configs_are_rejected(config, changes, message):
    with pytest.raises(Exception, match=message):
        config(**changes)


@pytest.mark.parametrize("kind", CO_ATTENTIONS)
@pytest.mark.parametrize("filling", [0.0, 1e6, torch.nan])
def test_padded_words_have_no_effect(kind, filling):
    model = made(kind).train()
    given, _, labels = drawn()
    longer = {
        **given,
        "question_tokens": torch.nn.functional.pad(
            given["question_tokens"].masked_fill(~given["question_mask"].unsqueeze(-1), filling),
            (0, 0, 0, 5),
            value=filling,
        ),
        "question_mask": torch.nn.functional.pad(given["question_mask"], (0, 5), value=False),
    }
    for mode in (model.train(), model.eval()):
        found, padded = (mode(**each, labels=labels) for each in (given, longer))
        torch.testing.assert_close(padded.logits, found.logits, atol=1e-6, rtol=1e-6)
        ours, theirs = (
            torch.autograd.grad(each.loss, list(model.parameters()), allow_unused=True) for each in (found, padded)
        )
        torch.testing.assert_close(theirs, ours, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", CO_ATTENTIONS)
def test_a_question_without_words_has_finite_scores_and_gradients(kind):
    model = made(kind).train()
    given, _, labels = drawn(words=(4, 0, 6, 2, 3))
    found = model(**given, labels=labels)
    found.loss.backward()
    assert found.logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    torch.testing.assert_close(found.attentions[0].sum(1), torch.ones(5))
