import subprocess
import sys

import pytest
import torch
from hypothesis import given as having
from hypothesis import settings
from hypothesis import strategies as st
from transformers import AutoConfig, AutoModelForMultipleChoice

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.models import HieCoAttentionForMultipleChoiceVqa, HieCoAttentionVqaConfig
from tests.models import plain_attention, plain_mlp

CELLS, CHANNELS, TEXT = 6, 12, 7
KINDS = ("alternating", "parallel")


def made(co_attention="alternating", dropout=0.0, **sizes):
    torch.manual_seed(0)
    sizes = {"image_size": CHANNELS, "text_size": TEXT, "level_size": 9, "joint_size": 11, "hidden_size": 100, **sizes}
    model = HieCoAttentionForMultipleChoiceVqa(
        HieCoAttentionVqaConfig(co_attention=co_attention, encoder_dropout=dropout, dropout=dropout, **sizes)
    )
    plain_attention.as_after_training(model.mlp.head.norm)
    return model


def drawn(questions=5, choices=4, words=(4, 1, 6, 2, 3), seed=1):
    draw = torch.Generator().manual_seed(seed)
    given = {
        "choice_vectors": torch.randn(questions, choices, TEXT, generator=draw),
        "image_grid": 2 * torch.randn(questions, CELLS, CHANNELS, generator=draw),
        "question_vectors": torch.randn(questions, TEXT, generator=draw),
        "question_tokens": torch.randn(questions, max(words), TEXT, generator=draw),
        "question_mask": torch.arange(max(words)) < torch.tensor(words).unsqueeze(1),
    }
    mask = torch.rand(questions, choices, generator=draw) < 0.8
    mask[:, 0] = True
    return given, mask, torch.zeros(questions, dtype=torch.int64)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("masked", "layers"), [(False, 2), (True, 2), (True, 1)])
def test_equals_the_plain_formulation_in_training_and_evaluation(kind, masked, layers):
    model, plain = made(kind, lstm_layers=layers), made(kind, lstm_layers=layers)
    given, mask, labels = drawn()
    mask = mask if masked else None
    found = model.train()(**given, choice_mask=mask, labels=labels)
    found.loss.backward()
    expected = plain_attention.hie_co_logits(plain.train(), mask=mask, **given)
    loss = plain_mlp.loss(plain, expected, labels, mask)
    loss.backward()
    torch.testing.assert_close(found.logits, expected, atol=1e-6, rtol=1e-6)
    torch.testing.assert_close(found.loss, loss, atol=1e-6, rtol=1e-6)
    for (name, parameter), other in zip(model.named_parameters(), plain.parameters(), strict=True):
        assert parameter.grad.abs().max() > 0, name
        torch.testing.assert_close(parameter.grad, other.grad, atol=1e-5, rtol=1e-5, msg=name)
    evaluated = model.eval()(**given, choice_mask=mask).logits
    torch.testing.assert_close(
        evaluated, plain_attention.hie_co_logits(plain.eval(), mask=mask, **given), atol=1e-6, rtol=1e-6
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("filling", [0.0, 1e6, torch.nan])
def test_padding_changes_nothing(kind, filling):
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_without_words_is_judged_by_its_image(kind):
    model = made(kind).train()
    given, _, labels = drawn(words=(4, 0, 6, 2, 3))
    found = model(**given, labels=labels)
    found.loss.backward()
    assert found.logits.isfinite().all()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())
    torch.testing.assert_close(found.attentions[0].sum(1), torch.ones(5))


@having(st.permutations(range(CELLS)), st.permutations(range(4)), st.sampled_from(KINDS))
@settings(deadline=None, max_examples=20)
def test_the_order_of_cells_is_that_of_the_attention_and_that_of_choices_that_of_the_logits(cells, choices, kind):
    model = made(kind).eval()
    given, _, _ = drawn()
    found = model(**given)
    moved = model(
        **{
            **given,
            "image_grid": given["image_grid"][:, cells],
            "choice_vectors": given["choice_vectors"][:, choices],
        }
    )
    torch.testing.assert_close(moved.logits, found.logits[:, choices], atol=1e-6, rtol=1e-6)
    for ours, theirs in zip(found.attentions, moved.attentions, strict=True):
        torch.testing.assert_close(theirs, ours[:, cells], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_image_is_attended_to_at_three_levels(kind):
    given, _, _ = drawn()
    attentions = made(kind).eval()(**given).attentions
    assert [attention.shape for attention in attentions] == [(5, CELLS)] * 3
    for attention in attentions:
        assert (attention > 0).all()
        torch.testing.assert_close(attention.sum(1), torch.ones(5))


def test_repeated_answers_by_their_places_equal_those_repeated():
    model = made(hidden_size=40).train()
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


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("part", ["image_grid", "question_vectors", "question_tokens", "choice_vectors"])
def test_each_input_matters_to_its_own_question_only(kind, part):
    model = made(kind).eval()
    given, _, _ = drawn()
    changed = {**given, part: given[part].clone()}
    changed[part][2] = torch.randn(changed[part][2].shape)
    difference = (model(**changed).logits - model(**given).logits).abs()
    assert difference[2].max() > 1e-4
    assert difference[[0, 1, 3, 4]].max() < 1e-6


def test_the_order_of_words_matters_from_the_phrases_on():
    model = made().eval()
    given, _, _ = drawn(words=(6,) * 5)
    turned = {**given, "question_tokens": given["question_tokens"].flip(1)}
    (word, *later), (turned_word, *turned_later) = (model(**each).attentions for each in (given, turned))
    torch.testing.assert_close(turned_word, word, atol=1e-6, rtol=1e-6)
    assert all((ours - theirs).abs().max() > 1e-5 for ours, theirs in zip(later, turned_later, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_learns_to_look_at_the_cell_that_the_question_asks_for(kind):
    """Two things, each with a colour, are somewhere in the image; the question's words ask for the colour of one.

    The average word vector that the MLP sees is the same for all questions.
    """
    torch.manual_seed(0)
    model = made(kind, image_size=8, text_size=8, level_size=32, joint_size=32, hidden_size=64).train()
    step = torch.optim.Adam(model.parameters(), lr=0.02)
    losses = []
    for _ in range(150):
        given, labels = coloured_things(64)
        found = model(**given, labels=labels)
        step.zero_grad()
        found.loss.backward()
        step.step()
        losses.append(found.loss.item())
    assert sum(losses[:5]) > 5 * 0.6
    assert sum(losses[-10:]) < 10 * 0.1
    given, labels = coloured_things(300)
    assert (model.eval()(**given).logits.argmax(1) == labels).float().mean() > 0.95


def coloured_things(count):
    """Images with two things in two cells, the question a filler and the asked thing; the target's place."""
    things, colours, filler = torch.eye(8)[:2], torch.eye(8)[2:6], torch.eye(8)[7]
    of_colours = torch.stack([torch.randperm(4)[:2] for _ in range(count)])
    places = torch.stack([torch.randperm(CELLS)[:2] for _ in range(count)])
    grid = torch.zeros(count, CELLS, 8)
    grid.scatter_(1, places.unsqueeze(-1).expand(-1, -1, 8), 2 * (things + colours[of_colours]))
    asked = torch.randint(2, (count,))
    shuffled = torch.stack([torch.randperm(2) for _ in range(count)])
    given = {
        "image_grid": grid,
        "question_tokens": torch.stack([filler.expand(count, 8), things[asked]], 1),
        "question_mask": torch.ones(count, 2, dtype=torch.bool),
        "question_vectors": filler.expand(count, 8),
        "choice_vectors": colours[of_colours.gather(1, shuffled)],
    }
    return given, (shuffled == asked.unsqueeze(1)).int().argmax(1)


@pytest.mark.parametrize("kind", KINDS)
def test_bfloat16_comes_near_float32(kind):
    model = made(kind).train()
    given, _, labels = drawn()
    expected = model(**given, labels=labels)
    with torch.autocast("cpu", torch.bfloat16):
        found = model(**given, labels=labels)
    torch.testing.assert_close(found.logits.float(), expected.logits, atol=0.1, rtol=0.1)
    torch.testing.assert_close(found.attentions[0].sum(1), torch.ones(5))
    found.loss.backward()
    assert all(parameter.grad.isfinite().all() for parameter in model.parameters())


@pytest.mark.parametrize("kind", KINDS)
def test_evaluation_is_deterministic_and_training_drops_out_before_h_s_too(kind):
    model = made(kind, dropout=0.5)
    given, _, _ = drawn()
    model.eval()
    assert torch.equal(model(**given).logits, model(**given).logits)
    model.train()
    first, second = model(**given), model(**given)
    for ours, theirs in zip(first.attentions, second.attentions, strict=True):
        assert not torch.allclose(ours, theirs, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_comes_back_through_the_auto_classes_in_a_fresh_process(kind, tmp_path):
    model = made(kind).eval()
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
    assert name == "HieCoAttentionForMultipleChoiceVqa"
    assert list(map(float, logits)) == pytest.approx(model(**given).logits.flatten().tolist(), abs=1e-6)
    assert type(AutoConfig.from_pretrained(tmp_path / "m")) is HieCoAttentionVqaConfig
    assert type(AutoModelForMultipleChoice.from_config(model.config)) is HieCoAttentionForMultipleChoiceVqa


def test_padding_before_words_and_questions_of_no_width_are_refused():
    given, _, _ = drawn()
    with pytest.raises(InputError, match="question 0 of the batch has padding before a word"):
        made()(**{**given, "question_mask": given["question_mask"].flip(1)})
    with pytest.raises(InputError, match=r"question_mask has the shape \(5, 0\), expected \(batch, words\)"):
        made()(
            **{
                **given,
                "question_mask": given["question_mask"][:, :0],
                "question_tokens": given["question_tokens"][:, :0],
            }
        )
    with pytest.raises(InputError, match=r"image_grid has the shape \(5, 12\), expected \(batch, cells, 12\)"):
        made()(**{**given, "image_grid": given["image_grid"].mean(1)})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"co_attention": "paralel"}, "unknown co_attention 'paralel': did you mean 'parallel'"),
        ({"lstm_layers": 0}, "lstm_layers is 0, expected 1 or more"),
        ({"joint_size": "many"}, "joint_size"),
    ],
)
def test_a_config_that_cannot_be_is_refused(changes, message):
    with pytest.raises(Exception, match=message):
        HieCoAttentionVqaConfig(**changes)


def test_defaults_are_the_papers():
    model = HieCoAttentionForMultipleChoiceVqa(HieCoAttentionVqaConfig())
    assert [tuple(phrase.weight.shape) for phrase in model.phrases] == [(512, 512, length) for length in (1, 2, 3)]
    assert (model.question.input_size, model.question.hidden_size, model.question.num_layers) == (512, 512, 2)
    assert model.question.dropout == 0.5
    assert {level: tuple(part.weight.shape) for level, part in model.joined.items()} == {
        "word": (512, 512),
        "phrase": (512, 1024),
        "question": (1024, 1024),
    }
    assert model.mlp.first["image"].weight.shape == (8192, 1024)
    assert 0.9 * 2048**-0.5 < model.cells.weight.abs().max() <= 2048**-0.5
