"""Vectors of questions: by an encoder of transformers, whatever the batch, and the average of word vectors."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.question_encoder import TextEncoder, averaged
from hf_vqa_mc.text.word_vectors import load_word_vectors
from tests.text.random_bert import random_bert

TEXTS = pa.array(["what color is the cat", "who is that", "what color is the dog", ""], pa.large_string())
WORDS = "what color is the cat dog who that".split()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return random_bert(tmp_path_factory.mktemp("bert"), WORDS)


def test_the_vector_is_the_mean_of_the_last_hidden_states(encoder, monkeypatch):
    from transformers import AutoModel, AutoTokenizer

    monkeypatch.setattr("hf_vqa_mc.text.question_encoder.BATCH", 3)  # texts of different lengths are padded
    found = TextEncoder(encoder).encode(TEXTS.to_pylist())
    model, tokenizer = AutoModel.from_pretrained(encoder).eval(), AutoTokenizer.from_pretrained(encoder)
    for text, vector in zip(TEXTS.to_pylist()[:3], found, strict=False):
        with torch.inference_mode():
            alone = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0).numpy()
        np.testing.assert_allclose(vector, alone / np.sqrt((alone**2).mean()), atol=1e-4)
    assert np.isfinite(found).all()


def test_what_is_no_encoder_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"--question-encoder .*expected a folder or a name on the Hub of a text enc"):
        TextEncoder(str(tmp_path))


def test_word_vectors_are_averaged_and_unknown_words_are_not(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("color 1 0\ncat 0 1\ndog 0 3\n", "utf-8")
    found = averaged(TEXTS, load_word_vectors(str(path)))
    expected = np.array([[1, 1], [0, 0], [np.sqrt(0.2), np.sqrt(1.8)], [0, 0]])
    np.testing.assert_allclose(found, expected, atol=1e-6)
