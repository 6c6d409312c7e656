"""A language model as a probe: batches change nothing, and what cannot be loaded is reported in a sentence."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from hf_vqa_mc.audits.probes import PROBES
from hf_vqa_mc.audits.probes.models import predict
from hf_vqa_mc.errors import InputError
from tests.audits.planted import context_of, ran

SIGNS = "abcdefghijklmnopqrstuvwxyz?:.QA "


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    """A random GPT-2 of a few thousand numbers that reads sign by sign."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("gpt2")
    vocabulary = {"<s>": 0, "<unk>": 1, "\n": 2} | {sign: index + 3 for index, sign in enumerate(SIGNS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>").save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(vocabulary), n_positions=64, n_embd=16, n_layer=2, n_head=2, initializer_range=0.8
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


LANGUAGE_MODELS = [probe for probe in PROBES.values() if probe.setting == "language_model"]


def some_rows(model, **settings):
    questions = ["what is it?", "who is there, and why?", "is it a dog?", "what is it?"]
    choices = [["a cat", "dog", "the very long answer"], ["me", "you"], ["yes", "no"], ["dog", "a cat", "x", "y z"]]
    table = pa.table({"question": questions, "choices": choices, "label": [2, 0, 1, 3]})
    return context_of(table, language_model=str(model), **settings)


def literal_picks(folder, rows, with_question):
    """One choice at a time, straight from the definition."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    picked = []
    for row in range(len(rows)):
        question = rows.vocabulary.questions[rows.questions[row]]
        context = f"Question: {question}\nAnswer:" if with_question else "Answer:"
        scores = []
        for text in rows.texts[row][rows.valid[row]]:
            choice = rows.vocabulary.choices[text]
            before = [0, *tokenizer(context, add_special_tokens=False)["input_ids"]]
            own = tokenizer(f" {choice}", add_special_tokens=False)["input_ids"]
            with torch.inference_mode():
                logits = model(torch.tensor([before + own])).logits[0].log_softmax(-1)
            total = sum(float(logits[len(before) + index - 1, token]) for index, token in enumerate(own))
            scores.append(total / len(choice))
        picked.append(float(np.argmax(scores) == 0))
    return picked


@pytest.mark.parametrize("with_question", [True, False])
def test_batches_give_what_a_plain_loop_gives(model_folder, with_question):
    context = some_rows(model_folder)
    expected = literal_picks(model_folder, context.rows, with_question)
    for batch_size in (1, 3, 64):
        found = predict(context, with_question, device="cpu", batch_size=batch_size)
        assert found.scores.tolist() == expected
    assert found.folds == 0


def test_it_is_named_by_its_model_and_by_what_it_sees(model_folder):
    found, _ = ran(some_rows(model_folder), LANGUAGE_MODELS)
    assert {name: (one.sees, one.trained) for name, one in found.items()} == {
        f"language model {model_folder}: choices alone": ("choices", True),
        f"language model {model_folder}: question and choices": ("question", True),
    }


def test_questions_longer_than_the_model_reads_are_cut_in_front(model_folder):
    table = pa.table({"question": ["why " * 500], "choices": [["a" * 300, "b", ""]], "label": [0]})
    found = predict(context_of(table, language_model=str(model_folder)), True, device="cpu")
    assert 0 <= found.scores[0] <= 1


def test_the_time_limit_is_reported(model_folder):
    found, not_run = ran(some_rows(model_folder, time_limit=1e-9), LANGUAGE_MODELS)
    assert not found
    assert all("time" in one.reason for one in not_run)


def test_a_model_that_is_not_there_is_named_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    with pytest.raises((InputError, ConnectionError)) as error:
        predict(some_rows(tmp_path / "empty"), True)
    assert "--language-model" in str(error.value)
    assert "\n" not in str(error.value)
