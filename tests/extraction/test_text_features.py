"""Average word vectors: equal to the plain formulation, whatever comes with a text, saved and loaded."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.text_features import TextFeatures
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import load_word_vectors
from tests.configs import write_vectors

KNOWN = ["cat", "dog", "naïve", "t-shirt", "two", "red", "sees"]
UNKNOWN = ["qux", "zebra"]
texts = st.lists(st.sampled_from([*KNOWN, *UNKNOWN, "2", "Cat", "?"]), max_size=6).map(" ".join)


def vectors_of(folder, seed=0, known=KNOWN):
    return load_word_vectors(str(write_vectors(folder / f"vectors-{seed}.txt", known, 4, seed)))


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    return vectors_of(tmp_path_factory.mktemp("vectors"))


def plain(vectors, text):
    rows, found = vectors.rows(words(text))
    known = rows[found]
    return known.mean(0) if len(known) else np.zeros(vectors.dim, np.float32)


@settings(max_examples=60)
@given(some=st.lists(texts, max_size=8))
def test_a_text_is_the_mean_of_its_words_that_have_a_vector(vectors, some):
    features = TextFeatures.of(vectors, some)
    expected = [plain(vectors, text) for text in some]
    encoded = features.encode(some)
    assert encoded.shape == (len(some), 4) and encoded.dtype == np.float32
    np.testing.assert_allclose(encoded, np.reshape(expected, (-1, 4)), atol=1e-6)


@settings(max_examples=60)
@given(some=st.lists(texts, max_size=8))
def test_words_come_in_order_and_padding_after_them(vectors, some):
    features = TextFeatures.of(vectors, some)
    tokens, mask = features.encode_words(some)
    assert tokens.shape[:2] == mask.shape and mask.shape[1] >= 1 and tokens.dtype == np.float32
    for text, row, there in zip(some, tokens, mask, strict=True):
        vectors_there, found = vectors.rows(words(text))
        expected = vectors_there[found]
        expected = expected if len(expected) else np.zeros((1, 4), np.float32)
        assert there.tolist() == [True] * len(expected) + [False] * (len(there) - len(expected))
        np.testing.assert_array_equal(row[there], expected)
        assert not row[~there].any()


@settings(max_examples=40)
@given(some=st.lists(texts, min_size=1, max_size=8), draw=st.randoms())
def test_a_text_is_the_same_number_by_number_whichever_texts_it_comes_with(vectors, some, draw):
    features = TextFeatures.of(vectors, some)
    alone = np.concatenate([features.encode([text]) for text in some])
    order = [*range(len(some)), *range(len(some))]
    draw.shuffle(order)
    np.testing.assert_array_equal(features.encode([some[at] for at in order]), alone[order])


@settings(max_examples=30)
@given(some=st.lists(texts, max_size=8))
def test_what_was_saved_is_loaded_and_saved_again_the_same_bytes(vectors, tmp_path_factory, some):
    folder = tmp_path_factory.mktemp("saved")
    features = TextFeatures.of(vectors, some)
    features.save(folder)
    content = (folder / "words.safetensors").read_bytes()
    loaded = TextFeatures.stored(folder, features.as_json())
    assert (loaded.words, loaded.without) == (features.words, features.without)
    assert (loaded.name, loaded.sha256, loaded.dim) == (vectors.name, vectors.sha256, vectors.dim)
    np.testing.assert_array_equal(loaded.encode(some), features.encode(some))
    loaded.save(folder)
    assert (folder / "words.safetensors").read_bytes() == content
    assert [path.name for path in folder.iterdir()] == ["words.safetensors"]


def test_the_vocabulary_is_sorted_and_says_which_words_have_no_vector(vectors):
    features = TextFeatures.of(vectors, ["The red cat's qux", "red", "?"])
    assert features.words == ("cat", "red")
    assert features.without == {"the", "qux"}
    np.testing.assert_array_equal(features.vectors, vectors.rows(["cat", "red"])[0])


def test_no_text_and_no_words():
    empty = TextFeatures("f", "0" * 64, 4, (), np.zeros((0, 4), np.float32), frozenset(["qux"]))
    assert empty.encode([]).shape == (0, 4)
    assert empty.encode_words([])[0].shape == (0, 1, 4)
    np.testing.assert_array_equal(empty.encode(["qux", ""]), np.zeros((2, 4)))
    tokens, mask = empty.encode_words(["qux", ""])
    assert tokens.shape == (2, 1, 4) and mask.all() and not tokens.any()


def test_new_words_are_refused_and_the_message_names_them_the_file_and_the_remedies(vectors):
    features = TextFeatures.of(vectors, ["red qux"])
    for encode in (features.encode, features.encode_words):
        with pytest.raises(InputError, match=r"1 words .*'dog'.*vectors-0.txt.*word_vectors.*new_words=\"skip\""):
            encode(["red", "dog qux"])
    corpus = replace(features, name="corpus")
    with pytest.raises(InputError, match=r"'dog'; skip such words"):
        corpus.encode(["dog"])


def test_new_words_can_be_left_out(vectors):
    features = replace(TextFeatures.of(vectors, ["red qux"]), new_words="skip")
    np.testing.assert_array_equal(features.encode(["red dog", "dog"]), [*features.encode(["red"]), np.zeros(4)])
    with pytest.raises(InputError, match="unknown new_words 'skp': did you mean 'skip'"):
        replace(features, new_words="skp")


def test_new_words_are_looked_up_in_the_same_file(vectors, tmp_path):
    features = TextFeatures.of(vectors, ["red qux"])
    features.save(tmp_path)
    whole = TextFeatures.stored(tmp_path, features.as_json()).with_file(vectors)
    for text in ("dog", "red dog", "zebra", "red zebra", "qux dog red"):
        np.testing.assert_allclose(whole.encode([text])[0], plain(vectors, text), atol=1e-6)


def test_another_file_is_refused_by_both_checksums_and_names(vectors, tmp_path):
    other = vectors_of(tmp_path, seed=1)
    with pytest.raises(InputError) as error:
        TextFeatures.of(vectors, ["red"]).with_file(other)
    for named in (vectors.name, other.name, vectors.sha256, other.sha256):
        assert named in str(error.value)


def test_the_same_file_under_another_name_is_taken(vectors, tmp_path):
    assert TextFeatures.of(vectors, ["red"]).with_file(replace(vectors, name="copy.txt")).encode(["dog"]).any()


def test_what_is_missing_or_broken_is_named(vectors, tmp_path):
    path = tmp_path / "words.safetensors"
    with pytest.raises(InputError, match=r"has no words\.safetensors"):
        TextFeatures.stored(tmp_path, {})
    TextFeatures.of(vectors, ["red cat qux"]).save(tmp_path)
    content = path.read_bytes()
    for cut in range(0, len(content), 7):
        path.write_bytes(content[:cut])
        with pytest.raises(InputError, match=r"words\.safetensors is damaged"):
            TextFeatures.stored(tmp_path, {})
