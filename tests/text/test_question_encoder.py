"""Vectors of questions: by an encoder of transformers, whatever the batch, and the average of word vectors."""

import numpy as np
import pyarrow as pa
import pytest
import torch

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.question_encoder import averaged, encoded
from hf_vqa_mc.text.word_vectors import load_word_vectors

TEXTS = pa.array(["what color is the cat", "who is that", "what color is the dog", ""], pa.large_string())
WORDS = "what color is the cat dog who that".split()


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A random BERT of a few thousand numbers that reads word by word."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("bert")
    vocabulary = {"[PAD]": 0, "[UNK]": 1} | {word: number for number, word in enumerate(WORDS, 2)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    torch.manual_seed(0)
    BertModel(
        BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            initializer_range=0.5,
        )
    ).save_pretrained(folder)
    return str(folder)


def test_the_vector_is_the_mean_of_the_last_hidden_states(encoder, monkeypatch):
    from transformers import AutoModel, AutoTokenizer

    monkeypatch.setattr("hf_vqa_mc.text.question_encoder.BATCH", 3)  # texts of different lengths are padded
    done = []
    found = encoded(TEXTS, encoder, done.append)
    assert done == [3, 4]
    model, tokenizer = AutoModel.from_pretrained(encoder).eval(), AutoTokenizer.from_pretrained(encoder)
    for text, vector in zip(TEXTS.to_pylist()[:3], found, strict=False):
        with torch.inference_mode():
            alone = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0).numpy()
        np.testing.assert_allclose(vector, alone / np.sqrt((alone**2).mean()), atol=1e-4)
    assert np.isfinite(found).all()


def test_what_is_no_encoder_is_reported(tmp_path):
    with pytest.raises(InputError, match=r"--question-encoder .*expected a folder or a name on the Hub of a text enc"):
        encoded(TEXTS, str(tmp_path), lambda done: None)


def test_word_vectors_are_averaged_and_unknown_words_are_not(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("color 1 0\ncat 0 1\ndog 0 3\n", "utf-8")
    found = averaged(TEXTS, load_word_vectors(str(path)))
    expected = np.array([[1, 1], [0, 0], [np.sqrt(0.2), np.sqrt(1.8)], [0, 0]])
    np.testing.assert_allclose(found, expected, atol=1e-6)
