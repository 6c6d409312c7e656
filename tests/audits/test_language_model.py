"""A language model as a probe: batches change nothing, and what cannot be loaded is told in a sentence."""

import time

import numpy as np
import pyarrow as pa
import pytest
import torch

from hf_vqa_mc.audits import number_rows
from hf_vqa_mc.audits.language_model import language_model_probe
from hf_vqa_mc.audits.probed import NotRun
from hf_vqa_mc.errors import InputError

SIGNS = "abcdefghijklmnopqrstuvwxyz?:.QA "


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory):
    """A random GPT-2 of a few thousand numbers that reads sign by sign."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("gpt2")
    vocabulary = {"<s>": 0, "<unk>": 1, "\n": 2} | {sign: place + 3 for place, sign in enumerate(SIGNS)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>", unk_token="<unk>").save_pretrained(folder)
    torch.manual_seed(0)
    config = GPT2Config(
        vocab_size=len(vocabulary), n_positions=64, n_embd=16, n_layer=2, n_head=2, initializer_range=0.8
    )
    GPT2LMHeadModel(config).save_pretrained(folder)
    return folder


def some_rows():
    questions = ["what is it?", "who is there, and why?", "is it a dog?", "what is it?"]
    choices = [["a cat", "dog", "the very long answer"], ["me", "you"], ["yes", "no"], ["dog", "a cat", "x", "y z"]]
    table = pa.table({"question": questions, "choices": choices, "label": [2, 0, 1, 3]})
    return number_rows({"test": table})["test"]


def literal_picks(folder, rows, with_question):
    """One choice at a time, straight from the definition."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model, tokenizer = AutoModelForCausalLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    picked = []
    for row in range(len(rows)):
        question = rows.vocabulary.questions[rows.questions[row]]
        context = f"Question: {question}\nAnswer:" if with_question else "Answer:"
        scores = []
        for text in rows.texts[row][rows.there[row]]:
            choice = rows.vocabulary.choices[text]
            before = [0, *tokenizer(context, add_special_tokens=False)["input_ids"]]
            own = tokenizer(f" {choice}", add_special_tokens=False)["input_ids"]
            with torch.inference_mode():
                logits = model(torch.tensor([before + own])).logits[0].log_softmax(-1)
            total = sum(float(logits[len(before) + place - 1, token]) for place, token in enumerate(own))
            scores.append(total / len(choice))
        picked.append(float(np.argmax(scores) == 0))
    return picked


@pytest.mark.parametrize("with_question", [True, False])
def test_batches_give_what_a_plain_loop_gives(model_folder, with_question):
    rows = some_rows()
    expected = literal_picks(model_folder, rows, with_question)
    for batch_size in (1, 3, 64):
        found = language_model_probe(
            rows, str(model_folder), with_question=with_question, device="cpu", batch_size=batch_size
        )
        assert found.scores.tolist() == expected
    assert found.knows == ("question" if with_question else "choices")
    assert found.probe
    assert found.folds == 0


def test_questions_longer_than_the_model_reads_are_cut_in_front(model_folder):
    table = pa.table({"question": ["why " * 500], "choices": [["a" * 300, "b", ""]], "label": [0]})
    rows = number_rows({"test": table})["test"]
    found = language_model_probe(rows, str(model_folder), with_question=True, device="cpu")
    assert 0 <= found.scores[0] <= 1


def test_when_the_time_is_over_that_is_told(model_folder):
    found = language_model_probe(
        some_rows(), str(model_folder), with_question=True, device="cpu", deadline=time.monotonic() - 1
    )
    assert isinstance(found, NotRun)
    assert "time" in found.why


def test_a_model_that_is_not_there_is_named_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (tmp_path / "empty").mkdir()
    with pytest.raises((InputError, ConnectionError)) as error:
        language_model_probe(some_rows(), str(tmp_path / "empty"), with_question=True)
    assert "--language-model" in str(error.value)
    assert "\n" not in str(error.value)
