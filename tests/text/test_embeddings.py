import json

import numpy as np
import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.text.embeddings import TABLE, TOKENIZER, WEIGHTS, embedding_families, token_vectors
from hf_vqa_mc.text.word_vectors import WordVectors


@pytest.fixture
def wordllama(tmp_path):
    from safetensors.numpy import save_file

    (tmp_path / WEIGHTS).parent.mkdir()
    (tmp_path / TOKENIZER).parent.mkdir()
    save_file({TABLE: np.array([[0, 0], [1, 0], [0, 1]], np.float16)}, tmp_path / WEIGHTS)
    vocabulary = {"<unk>": 0, "cat": 1, "dog": 2}
    tokenizer = {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None,
        "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "<unk>"},
    }  # fmt: skip
    (tmp_path / TOKENIZER).write_text(json.dumps(tokenizer))
    return tmp_path


def test_a_text_is_the_normalised_mean_of_its_tokens_and_the_last_row_is_zero(wordllama):
    found = token_vectors(wordllama).embed(["Cat", "cat dog", "", "zebra"])
    assert found.tolist() == pytest.approx(np.array([[1, 0], [0.5**0.5, 0.5**0.5], [0, 0], [0, 0], [0, 0]]), abs=1e-5)


def test_word_vectors_come_in_addition_to_token_vectors():
    vectors = WordVectors.of("small.txt", "", ["cat", "dog"], np.eye(2, dtype=np.float32))
    assert [one.name for one in embedding_families(vectors)] == ["word vectors small.txt", "token vectors wordllama"]
    assert [one.name for one in embedding_families()] == ["token vectors wordllama"]


def test_a_folder_without_the_files_is_an_error(tmp_path):
    with pytest.raises(InputError, match="expected the package wordllama"):
        token_vectors(tmp_path)
