"""Millions of texts become what one text at a time does."""

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, word_lists
from hf_vqa_mc.text.normalisation import comparable, words


@pytest.fixture(autouse=True, scope="module", params=[0, 10_000])
def in_python(request):
    """The number of texts up to which numba is not used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hf_vqa_mc.text.many_texts._FEW", request.param)
        yield


ascii_texts = st.text(st.characters(max_codepoint=127))
tricky = st.text(st.sampled_from("aZs019'-’ .\t\n\x1cé̈²"), max_size=12)


@given(st.lists(st.one_of(ascii_texts, tricky, st.text())))
@example(["man's", "10's 10 0 1's's", "a-'b", "-a", "a--b", "x'", "’s", "  ? \x1f", "", "ABC's"])
@example(["7 7 7 7", "777", "İ", "A" * 70_000, "8 " * 70_000])
def test_many_texts_are_normalised_like_single_ones(texts):
    folded, has_words = comparable_texts(texts)
    assert folded.to_pylist() == [comparable(text) for text in texts]
    assert has_words.tolist() == [bool(words(text)) for text in texts]


@given(st.lists(st.one_of(ascii_texts, tricky, st.text())))
def test_words_are_numbered_as_each_text_has_them(texts):
    numbers, starts, vocabulary = numbered_words(*comparable_texts(texts))
    vocabulary = vocabulary.to_pylist()
    assert len(set(vocabulary)) == len(vocabulary)
    found = [[vocabulary[n] for n in numbers[a:b]] for a, b in pairwise(starts)]
    assert found == [words(text) for text in texts]


def test_sliced_arrays_are_read_from_their_offset():
    for kind in (pa.string(), pa.large_string()):
        array = pa.array(["One", "two!", "3", "é", ""], kind).slice(1, 3)
        assert comparable_texts(array)[0].to_pylist() == ["two", "three", "é"]
        assert comparable_texts(array.slice(0, 0))[0].to_pylist() == []


def test_the_words_of_texts_are_computed_in_batches(monkeypatch):
    monkeypatch.setattr("hf_vqa_mc.text.many_texts._BATCH", 2)
    texts = ["a cat", "?", "two cats", "", "the cat's toy"]
    found = word_lists(pa.array(["not read", *texts])[1:])
    assert list(found) == [list(words(text)) for text in texts]
