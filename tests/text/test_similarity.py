from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from numpy.typing import NDArray

from hf_vqa_mc.text.wordnet import load_wordnet
from hf_vqa_mc.text.wu_palmer import WordScores, _synset_score, directed_score, phrase_score, word_scores
from tests.text.single_phrases import phrase_wup, wup

HIGH_THRESHOLDS = (0.8, 0.85, 0.9, 0.95, 1.0)


@njit
def all_word_scores(n_words: int, scores: WordScores) -> NDArray[np.float64]:
    tokens = np.arange(n_words).astype(np.int32)
    found = np.empty((n_words, n_words))
    for i in range(n_words):
        for j in range(n_words):
            found[i, j] = directed_score(tokens, i, i + 1, j, j + 1, scores)
    return found


@njit
def all_phrase_scores(tokens: NDArray[np.int32], starts: NDArray[np.int32], scores: WordScores) -> NDArray[np.float64]:
    n_phrases = len(starts) - 1
    found = np.empty((n_phrases, n_phrases))
    for i in range(n_phrases):
        for j in range(n_phrases):
            found[i, j] = phrase_score(tokens, starts[i], starts[i + 1], starts[j], starts[j + 1], scores)
    return found


@njit
def synset_scores(pairs: NDArray[np.int32], scores: WordScores) -> NDArray[np.float64]:
    found = np.empty(len(pairs))
    for i in range(len(pairs)):
        found[i] = _synset_score(pairs[i, 0], pairs[i, 1], scores)
    return found


@pytest.fixture(scope="module")
def lemmas() -> list[str]:
    wordnet = load_wordnet()
    return sorted({*wordnet.nouns.lemmas, *wordnet.adjectives.lemmas})


@pytest.fixture(scope="module")
def sample(lemmas: list[str]) -> list[str]:
    """1,000 words: rare, common, inflected, unknown, and some that are near each other."""
    near = (
        "admirer addict abiogenist paris london rome lyon cat dog dogs puppy red crimson black white two three".split()
    )
    common = [lemma for lemma in lemmas if len(lemma) == 4]
    return list(dict.fromkeys([*near, "with", "xyzzy", "ünïcödé", *lemmas[::300], *common[::6]]))[:1000]


@pytest.fixture(scope="module")
def exact(sample: list[str]) -> NDArray[np.float64]:
    """The score of each word of the sample with each."""
    return all_word_scores(len(sample), word_scores(sample, 0.0))


def pairs_of(words: Sequence[str], n_pairs: int, seed: int) -> list[tuple[str, str]]:
    draw = Random(seed)
    return [(draw.choice(words), draw.choice(words)) for _ in range(n_pairs)]


def test_the_papers_figures_hold():
    assert round(wup("cat", "dog"), 3) == 0.857
    assert round(wup("lady", "woman"), 3) == 0.632
    assert phrase_wup(["a", "cute", "cat"], ["cat"]) == phrase_wup(["cat"], ["a", "cute", "cat"]) == 1.0


def test_numbers_and_colours_score_nine_tenths_exactly():
    assert wup("two", "three") == wup("black", "white") == phrase_wup(["white"], ["black"]) == 0.9
    scores = word_scores(["two", "three"], 0.9)
    assert phrase_score(np.array([0, 1], np.int32), 0, 1, 1, 2, scores) == 0.9


def test_a_word_without_synsets_has_one_with_itself_and_nothing_with_others():
    assert wup("with", "with") == wup("ünïcödé", "ünïcödé") == wup("", "") == 1.0
    assert wup("with", "dog") == wup("dog", "with") == wup("with", "without") == 0.0


@pytest.mark.exhaustive
def test_1843_nouns_score_below_one_with_themselves_as_in_nltk(ranked, keeping):
    selves = np.repeat(np.arange(len(ranked), dtype=np.int32)[:, None], 2, axis=1)
    scores = synset_scores(selves, word_scores([], 0.0))
    below_one = np.flatnonzero(scores < 1)
    assert len(below_one) == 1_843
    assert ranked[below_one[-1]].pos() == "n"
    for number in below_one:
        assert scores[number] == ranked[number].wup_similarity(ranked[number])


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, pytest.param(20_000, marks=pytest.mark.exhaustive)])
def test_scores_of_word_pairs_equal_nltks(nltk_wup, keeping, lemmas, real_glove, real_cocoqa, n):
    frequent = [line.split(" ", 1)[0] for line in real_glove.read_text(encoding="utf-8").splitlines()]
    answers = [answer for path in real_cocoqa.rglob("answers.txt") for answer in path.read_text().split()]
    pairs = [
        *pairs_of([lemma for lemma in lemmas if "_" not in lemma], n // 3, seed=1),
        *pairs_of(frequent, n // 3, seed=2),
        *pairs_of(answers, n // 3, seed=3),
    ]
    numbers = {word: number for number, word in enumerate(dict.fromkeys(word for pair in pairs for word in pair))}
    scores = word_scores(list(numbers), 0.0)
    tokens = np.array([(numbers[word], numbers[other]) for word, other in pairs], np.int32).ravel()
    known: dict[tuple[str, str], float] = {}
    for n, (word, other) in enumerate(pairs):
        expected = known.get((word, other))
        if expected is None:
            expected = known[word, other] = nltk_wup(word, other)
        assert directed_score(tokens, 2 * n, 2 * n + 1, 2 * n + 1, 2 * n + 2, scores) == expected, (word, other)


def test_the_caching_nltk_equals_nltk(nltk_wup, lemmas):
    for word, other in [
        *pairs_of(lemmas, 300, seed=4),
        ("admirer", "addict"),
        ("cat", "dog"),
        ("old", "dog"),
        ("addict", "admirer"),
        ("abundant", "scarce"),
    ]:
        assert wup(word, other) == nltk_wup(word, other), (word, other)


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, pytest.param(5_000, marks=pytest.mark.exhaustive)])
def test_synset_pairs_equal_nltks_near_and_far(ranked, keeping, n):
    draw = Random(5)
    wordnet = load_wordnet()
    many_ways = np.flatnonzero(np.diff(wordnet.ancestor_starts)[:82_115] > wordnet.reaches[:82_115] + 1).tolist()
    below: dict[int, list[int]] = {}
    for number in many_ways:
        for at in range(wordnet.ancestor_starts[number], wordnet.ancestor_starts[number + 1]):
            below.setdefault(int(wordnet.ancestors[at]), []).append(number)
    pairs = [(draw.randrange(len(ranked)), draw.randrange(len(ranked))) for _ in range(n // 2)]
    for _ in range(n):  # what has several ways up, with its relatives and its ancestors
        number = draw.choice(many_ways)
        at = draw.randrange(wordnet.ancestor_starts[number], wordnet.ancestor_starts[number + 1])
        ancestor = int(wordnet.ancestors[at])
        other = draw.choice([ancestor, draw.choice(below[ancestor])])
        pairs += [(number, other), (other, number)]
    found = synset_scores(np.array(pairs, np.int32), word_scores([], 0.0))
    for (number, other), score in zip(pairs, found, strict=True):
        assert score == ranked[number].wup_similarity(ranked[other]), (ranked[number], ranked[other])


def test_a_word_can_be_left_with_its_nouns_alone(reader):
    vocabulary = ["black", "dark", "big", "dog"]
    both, nouns = (
        all_word_scores(4, word_scores(vocabulary, 0.0, nouns_only=nouns_only)) for nouns_only in (False, True)
    )
    of_nouns = [s.wup_similarity(o) for s in reader.synsets("black", "n") for o in reader.synsets("dark", "n")]
    assert both[0, 1] == 1.0
    assert nouns[0, 1] == max(of_nouns) < 1.0
    assert both[2, 3] > 0.0
    assert nouns[2].tolist() == nouns[:, 2].tolist() == [0.0, 0.0, 1.0, 0.0], "big is no noun"
    table = all_word_scores(4, word_scores(vocabulary, 0.9, nouns_only=True))
    np.testing.assert_array_equal(table, np.where(nouns >= 0.9, nouns, 0.0))


def plain_phrase_wup(phrase: Sequence[str], other: Sequence[str]) -> float:
    """Eq. 4 as DESIGN writes it out."""
    if not phrase or not other:
        return float(not phrase and not other)
    forth = back = 1.0
    for word in phrase:
        forth *= max(wup(word, another) for another in other)
    for another in other:
        back *= max(wup(another, word) for word in phrase)
    return max(forth, back)


WORDS = st.sampled_from(
    "a the with cat cats dog puppy red old white black two three house building admirer addict zzz".split()
)


@settings(max_examples=150)
@given(st.lists(WORDS, max_size=4), st.lists(WORDS, max_size=4))
def test_phrases_score_the_better_of_the_two_directed_products(phrase, other):
    score = phrase_wup(phrase, other)
    assert score == plain_phrase_wup(phrase, other) == phrase_wup(other, phrase)
    assert 0.0 <= score <= 1.0


@pytest.mark.parametrize("threshold", HIGH_THRESHOLDS)
def test_the_near_table_holds_exactly_the_pairs_from_the_threshold_on(sample, exact, threshold):
    scores = word_scores(sample, threshold)
    found = np.zeros_like(exact)
    for word in range(len(sample)):
        row = slice(scores.near_starts[word], scores.near_starts[word + 1])
        assert (np.diff(scores.near_words[row]) > 0).all()
        found[word, scores.near_words[row]] = scores.near_scores[row]
    expected = np.where(exact >= threshold, exact, 0.0)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(all_word_scores(len(sample), scores), expected)
    assert np.count_nonzero(expected) > len(sample), "or there was nothing to find"


@pytest.mark.slow
@pytest.mark.parametrize("threshold", [0.0, 0.5, 0.79, *HIGH_THRESHOLDS])
def test_phrase_score_is_exact_from_its_threshold_on(sample, threshold):
    draw = Random(6)
    numbers = [[draw.randrange(40) for _ in range(draw.randrange(4))] for _ in range(200)]
    starts = np.cumsum([0, *map(len, numbers)]).astype(np.int32)
    tokens = np.array([number for phrase in numbers for number in phrase], np.int32)
    exact = all_phrase_scores(tokens, starts, word_scores(sample, 0.0))
    found = all_phrase_scores(tokens, starts, word_scores(sample, threshold))
    np.testing.assert_array_equal(np.where(exact >= threshold, exact, 0), np.where(found >= threshold, found, 0))
    assert (found[exact < threshold] < threshold).all()
    if threshold < 0.8:
        np.testing.assert_array_equal(found, exact)
    for i, j in [(0, 1), (5, 9), (100, 42), (7, 7)]:
        assert exact[i, j] == phrase_wup([sample[n] for n in numbers[i]], [sample[n] for n in numbers[j]])


@pytest.mark.parametrize("threshold", [0.0, 0.9])
def test_a_vocabulary_may_be_empty_or_unknown_to_wordnet(threshold):
    word_scores([], threshold)
    scores = word_scores(["with", "them"], threshold)
    np.testing.assert_array_equal(all_word_scores(2, scores), np.eye(2))
