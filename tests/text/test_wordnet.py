import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.text.wordnet import load_wordnet, wordnet_covers
from tests.text import make_tables

TABLES_SHA256 = "24ca47a32a3ede2fe7fcbcd1b77d2724c1e5f01693359c2be156771f43fa355b"


def shipped() -> make_tables.Tables:
    with np.load(make_tables.TABLES_FILE, allow_pickle=False) as tables:
        return dict(tables)


def test_the_shipped_tables_are_compact_and_have_the_recorded_digest():
    assert make_tables.TABLES_FILE.stat().st_size < 3_000_000
    assert make_tables.digest(shipped()) == TABLES_SHA256


@pytest.mark.exhaustive
def test_the_script_makes_the_shipped_tables_from_nltk(reader, ranked):
    assert len(ranked) == 100_271
    assert make_tables.digest(make_tables.make_tables(reader)) == TABLES_SHA256


def test_all_nouns_adjectives_and_lemmas_are_included():
    wordnet = load_wordnet()
    lemmas = {*wordnet.nouns.lemmas, *wordnet.adjectives.lemmas}
    assert (len(wordnet.nouns.lemmas), len(wordnet.adjectives.lemmas)) == (117_798, 21_479)
    assert len(wordnet.depths) == len(wordnet.ancestor_starts) - 1 == 82_115 + 18_156
    assert sum(lemma.isalpha() for lemma in lemmas) == 70_093


@pytest.mark.exhaustive
def test_a_path_over_another_ancestor_is_shorter_than_the_way_up_in_12944_cases(ranked):
    wordnet = load_wordnet()
    ids = {synset.name(): number for number, synset in enumerate(ranked)}
    shorter = 0
    for number, synset in enumerate(ranked[:82_115]):
        start, end = wordnet.ancestor_starts[number], wordnet.ancestor_starts[number + 1]
        if end - start == wordnet.reaches[number] + 1:
            continue
        ways = {ids[a.name()]: links for a, links in synset._shortest_hypernym_paths(False).items()}
        assert sorted(ways) == wordnet.ancestors[start:end].tolist()
        shorter += sum(
            int(wordnet.distances[index]) < ways[wordnet.ancestors[index].item()] for index in range(start, end)
        )
    assert shorter == 12_944


@pytest.mark.exhaustive
def test_every_word_has_the_synsets_that_nltk_gives_it(reader, ranked, real_glove):
    wordnet = load_wordnet()
    ids = {synset.name(): number for number, synset in enumerate(ranked)}
    plain = [line.split(" ", 1)[0] for line in real_glove.read_text(encoding="utf-8").splitlines()]
    lemmas = sorted({*wordnet.nouns.lemmas, *wordnet.adjectives.lemmas})[::7]
    irregular = [*wordnet.nouns.exceptions, *wordnet.adjectives.exceptions]
    endings = ("", "s", "es", "ies", "men", "er", "est")
    inflected = [lemma[: len(lemma) - cut] + ending for lemma in lemmas[::11] for ending in endings for cut in (0, 1)]
    for word in [*plain, *lemmas, *irregular, *inflected, *map(str.upper, plain[::50]), "", "s", "er", "ice cream"]:
        nouns, adjectives = ([ids[synset.name()] for synset in reader.synsets(word, pos)] for pos in ("n", "a"))
        assert wordnet.senses(word) == nouns + adjectives, word
        assert wordnet.senses(word, nouns_only=True) == nouns, word


@pytest.mark.parametrize(
    ("form", "base"), [("Mice", "mouse"), ("wolves", "wolf"), ("firemen", "fireman"), ("BIGGEST", "big")]
)
def test_inflected_forms_are_found_under_their_base(form, base):
    synsets = load_wordnet().senses(base)
    assert len(synsets) > 0
    assert set(synsets) <= set(load_wordnet().senses(form))


def test_a_word_that_is_no_noun_or_adjective_has_no_synsets():
    assert load_wordnet().senses("with") == []


@given(st.text())
def test_any_text_can_be_looked_up(text):
    synsets = load_wordnet().senses(text)
    assert all(0 <= synset < 100_271 for synset in synsets)
    assert wordnet_covers([text]) == (len(synsets) > 0)


def test_a_phrase_is_covered_when_any_of_its_words_is():
    assert wordnet_covers(["with", "the", "dogs"])
    assert not wordnet_covers(["with", "the"])
    assert not wordnet_covers([])


@pytest.mark.slow
def test_the_package_needs_no_nltk_to_score():
    code = "import sys; from hf_vqa_mc.text import wu_palmer as w; w.word_scores([], 0); print('nltk' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout.strip() == "False"
