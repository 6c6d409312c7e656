"""Relations of words: what may mean the same, and what excludes one another."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.text.relations import Relations, exclusive, related
from hf_vqa_mc.text.wordnet import load_wordnet


def relation(text, other):
    relations = Relations.of([text, other])
    found = related(0, 1, relations), exclusive(0, 1, relations)
    assert found == (related(1, 0, relations), exclusive(1, 0, relations))
    return found


@pytest.mark.parametrize(
    "pair",
    [
        ("mice", "mouse"), ("zebras", "zebra"), ("sofa", "couch"), ("gray", "grey"), ("motorcycle", "vehicle"),
        ("dog", "animal"), ("cows", "cattle"), ("navy blue", "blue"), ("cloudless", "clear"),
        ("12", "twelve"),
    ],
)  # fmt: skip
def test_words_of_which_one_includes_the_other_are_related(pair):
    assert relation(*pair) == (True, False)


@pytest.mark.parametrize(
    "pair",
    [
        ("two", "three"), ("2105", "seven"), ("11", "12"), ("red", "green"), ("white", "black"), ("orange", "yellow"),
        ("horse", "zebra"), ("dogs", "cat"),
    ],
)  # fmt: skip
def test_numbers_colours_and_animals_exclude_one_another(pair):
    assert relation(*pair) == (False, True)


@pytest.mark.parametrize(
    "pair",
    [
        ("cat", "table"),
        ("two", "red"),
        ("cat", "red"),
        ("happy", "wooden"),
        ("xyzzy", "plugh"),
        ("", "cat"),
        ("dog", "object"),
    ],
)
def test_other_words_are_neither(pair):
    assert relation(*pair) == (False, False)


texts = st.one_of(st.sampled_from(sorted(load_wordnet().nouns.lemmas)[::500]), st.text(max_size=5))


@given(texts, texts)
def test_both_relations_are_symmetric_and_exclude_one_another(text, other):
    assert sum(relation(text, other)) < 2


def test_adjectives_of_a_cluster_name_one_another():
    wordnet = load_wordnet()
    synsets = np.repeat(np.arange(len(wordnet.depths)), np.diff(wordnet.similar_starts))
    pairs = set(zip(synsets.tolist(), wordnet.similar.tolist(), strict=True))
    assert len(pairs) > 20_000 and pairs == {(other, one) for one, other in pairs}
    assert not {one for one, _ in pairs} & {sense for sense in wordnet.nouns.synsets}
