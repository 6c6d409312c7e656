"""Neighbour lists compared with brute force in float64: the same, but for ties closer than rounding."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st
from numpy.typing import NDArray

from hf_vqa_mc.decoys.similar_questions import NO_BAG, SEGMENT, QuestionGroups, SimilarQuestions
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import WordVectors, load_word_vectors
from tests.decoys.literal_method import TIE
from tests.decoys.small_worlds import random_vectors, word_vectors

DIM = 12
PLAIN = random_vectors([f"w{n}" for n in range(40)], DIM)


class BruteForce:
    """The groups of some questions, and their normed average word vectors, made of the questions' words."""

    def __init__(self, questions: Sequence[str], vectors: WordVectors) -> None:
        self.groups = QuestionGroups(questions, vectors)
        self.first = np.full(self.groups.size, len(questions))
        np.minimum.at(self.first, self.groups.bags.of_question[self.groups.bags.members], self.groups.bags.members)
        self.directions = np.zeros((self.groups.size, vectors.dim))
        for group, question in enumerate(self.first.tolist()):
            rows, found = vectors.rows(words(questions[question]))
            average = rows[found].astype(np.float64).mean(axis=0)
            self.directions[group] = average / (np.linalg.norm(average) or 1.0)

    def check(self, k: int, queries: NDArray[np.int32] | None = None) -> None:
        """That the search gives each query the k groups of largest cosine."""
        queries = np.arange(self.groups.size, dtype=np.int32) if queries is None else queries
        answered: list[int] = []
        for some, found in SimilarQuestions(self.groups).nearest(queries, k):
            answered += some.tolist()
            cosines = self.directions[some] @ self.directions.T
            cosines[np.arange(len(some)), some] = -np.inf
            best = -np.sort(-cosines, axis=1)[:, :k]
            assert found.groups.shape == found.cosines.shape == best.shape
            np.testing.assert_allclose(found.cosines, best, rtol=0, atol=TIE)
            np.testing.assert_allclose(found.cosines, np.take_along_axis(cosines, found.groups, 1), rtol=0, atol=TIE)
            assert all(len(set(row)) == k for row in found.groups.tolist())
            first = self.first[found.groups]
            ties = found.cosines[:, 1:] == found.cosines[:, :-1]
            assert not np.any(ties & (first[:, 1:] < first[:, :-1])), "ties are not in the order of the questions"
        assert sorted(answered) == queries.tolist()


def made_up_questions(vocabulary: Sequence[str], n: int, longest: int = 6, seed: int = 0) -> list[str]:
    rng = Random(seed)
    return [" ".join(rng.choices(vocabulary, k=rng.randint(1, longest))) for _ in range(n)]


@pytest.mark.parametrize("n", [2, 3, 100, 127, 129, 700])
@pytest.mark.parametrize("k", [1, 16, 10_000])
def test_neighbours_are_those_of_brute_force(n: int, k: int) -> None:
    by_force = BruteForce(made_up_questions(list(PLAIN), n), word_vectors(PLAIN))
    by_force.check(min(k, by_force.groups.size - 1))


@pytest.mark.parametrize("where", ["beyond the first segment", "everywhere"])
def test_more_groups_than_a_segment_of_the_trie_holds_and_few_queries_out_of_them(where: str) -> None:
    """Queries of one segment have it searched first, without what the segments before it have added up."""
    by_force = BruteForce(made_up_questions(list(PLAIN), 9_000, longest=5), word_vectors(PLAIN))
    size = by_force.groups.size
    assert size > 1.3 * SEGMENT
    some = np.arange(SEGMENT, SEGMENT + 128)
    if where == "everywhere":
        some = np.sort(np.random.default_rng(0).choice(size, 150, replace=False))
    for k in (1, 64):  # with one neighbour the search rules groups out from the second on
        by_force.check(k, some.astype(np.int32))


NUMBERS = st.floats(-4, 4, width=32).map(lambda number: round(number, 3))
ROW = st.lists(NUMBERS, min_size=3, max_size=3)


@pytest.mark.slow
@examples(max_examples=80)
@given(
    st.lists(ROW, min_size=2, max_size=7),
    st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=6), min_size=2, max_size=40),
    st.integers(1, 40),
)
def test_any_small_vectors(rows: list[list[float]], bags: list[list[int]], k: int) -> None:
    """Zeros, opposites and multiples among them; averages may cancel out, exactly or but for rounding."""
    vectors = word_vectors({f"w{n}": row for n, row in enumerate(rows)})
    by_force = BruteForce([" ".join(f"w{n}" for n in bag) for bag in bags], vectors)
    if by_force.groups.size > 1:
        by_force.check(min(k, by_force.groups.size - 1))


def outliers() -> dict[str, tuple[Mapping[str, Sequence[float]], list[str]]]:
    """Vectors and questions (others are added) that a search in small integers might get wrong."""
    rng = np.random.default_rng(1)
    opposites = {"not": [-x for x in PLAIN["w0"]], "neither": [-x for x in PLAIN["w1"]]}
    found: dict[str, tuple[Mapping[str, Sequence[float]], list[str]]] = {
        "very long questions": ({}, made_up_questions(list(PLAIN), 60, longest=700, seed=3)),
        "one word thousands of times": ({}, [" ".join(["w3"] * n + ["w4"]) for n in (255, 3_000, 20_001)]),
        "nothing but very long questions": (
            {},
            [f"{'w3 ' * n} w4 w{n % 40} w{n % 37}" for n in range(5_000, 9_000, 50)],
        ),
        "all words": ({}, [" ".join(list(PLAIN) * 9 + ["w1", "w2"]), "w1"]),
        "words of their own": ({}, list(PLAIN)),
        "averages that cancel out": (opposites, ["w0 not", "w1 neither", "w0 not w1 neither", "not", "w0 not w5"]),
        "questions most of which cancel out": (opposites, ["w0 not", "w1 neither", "w0 not w1 neither", "w2", "w3"]),
        "a tiny vector": ({"tiny": [x * 1e-20 for x in PLAIN["w0"]]}, ["tiny", "tiny w1", "tiny tiny w1"]),
        "the same vector twice": ({"w0s": PLAIN["w0"]}, ["w0s w1", "w0 w1", "w0s", "w0s w2 w3", "w0 w2 w3 w4"]),
    }
    for size in (1e2, 1e4, 1e6, 1e9, 1e30):
        huge = (rng.normal(size=DIM) * size).astype(np.float32)
        pair = {"huge": huge.tolist(), "counter": (np.array(PLAIN["w0"], np.float32) - huge).tolist()}
        both = [f"huge counter {rest}" for rest in made_up_questions(list(PLAIN), 80, seed=int(np.log10(size)))]
        found[f"words of length {size:g} that nearly cancel out"] = (pair, both)
        found[f"a word of length {size:g}"] = ({"huge": pair["huge"]}, ["huge", "huge w1", "huge w2 w3", "w1 w2 w3"])
    return found


@pytest.mark.parametrize("name", outliers())
@pytest.mark.parametrize("alone", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_outliers_are_found_as_by_brute_force(name: str, alone: bool) -> None:
    more_vectors, questions = outliers()[name]
    vectors = word_vectors({**PLAIN, **more_vectors})
    questions = questions + ([] if alone else made_up_questions(list(PLAIN), 500, longest=4, seed=5))
    by_force = BruteForce(questions, vectors)
    for k in {1, min(20, by_force.groups.size - 1), by_force.groups.size - 1}:
        by_force.check(k)


def test_questions_of_the_same_words_are_one_group_and_those_without_a_vector_none() -> None:
    vectors = word_vectors({"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [1.0, 0.0], "nil": [0.0, 0.0]})
    questions = ["a b", "B, a!", "a a b b", "c b", "a b unheard nil", "a a b", "unheard", "nil", "…", "a", "a c"]
    of_question = QuestionGroups(questions, vectors).bags.of_question.tolist()
    assert len(set(of_question[:5])) == 1
    assert of_question[6:9] == [NO_BAG] * 3
    assert of_question[9] == of_question[10]
    assert len({of_question[0], of_question[5], of_question[9]}) == 3
    groups = QuestionGroups(questions, vectors)
    by_group = np.split(groups.bags.members, groups.bags.member_starts[1:-1])
    for group, members in enumerate(by_group):
        assert members.tolist() == [n for n, other in enumerate(of_question) if other == group]


@pytest.mark.slow
def test_real_questions_have_the_neighbours_of_brute_force(real_cocoqa: Path, real_glove: Path) -> None:
    """300 of COCO-QA's bags of words against all 92,025."""
    questions = [
        line
        for split in ("train", "test")
        for line in (real_cocoqa / split / "questions.txt").read_text().splitlines()
    ]
    by_force = BruteForce(questions, load_word_vectors(str(real_glove)))
    assert by_force.groups.size == 92_025
    rng = np.random.default_rng(0)
    for k in (16, 1000):
        by_force.check(k, np.sort(rng.choice(by_force.groups.size, 300, replace=False)).astype(np.int32))
