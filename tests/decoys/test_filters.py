"""One input a rule, and which rule fired."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from hf_vqa_mc.decoys.candidates import ACCEPTED, Reason, reason_against
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.text.normalisation import squeezed
from hf_vqa_mc.text.similarity import wup
from tests.decoys.literal_method import objection, remembered_wup
from tests.decoys.small_worlds import candidates_of


def verdict(
    candidate: str,
    target: str,
    taken: Sequence[str] = (),
    threshold: float = 0.9,
    reject_at_threshold: bool = True,
    with_wup: bool = True,
) -> str:
    candidates, texts = candidates_of([candidate, target, *taken], threshold, reject_at_threshold)
    keys = candidates.keys[texts]
    reason = reason_against(keys[0], keys[1], keys[2:], len(taken), with_wup, candidates.tables)
    return "accepted" if reason == ACCEPTED else Reason(reason).name.lower()


@pytest.mark.parametrize(
    ("candidate", "target"),
    [
        ("dog", "dog"), ("Dog.", "dog"), ("  two ", "2"), ("A  T-shirt!", "a t-shirt"), ("?!", "?!"), ("dog's", "dog"),
        ("caf\u00e9", "cafe\u0301"), ("北京。", "北京"), ("zyzzyvaxx", "zyzzyvaxx"),
    ],
)  # fmt: skip
def test_equivalent_texts_are_rejected(candidate: str, target: str) -> None:
    assert verdict(candidate, target) == "same_text"
    assert verdict(candidate, "green", taken=[target]) == "same_text"
    assert verdict(candidate, target, with_wup=False) == "same_text"


@pytest.mark.parametrize(
    ("candidate", "target"),
    [
        ("pony tail", "ponytail"), ("pony-tail", "pony tail"), ("daytime", "during the daytime"),
        ("on the table", "table"), ("cat", "caterpillar"), ("京", "北京"), ("black and white", "black"),
        ("t shirt", "T-shirts"),
    ],
)  # fmt: skip
def test_texts_containing_the_target_or_contained_in_it_are_rejected(candidate: str, target: str) -> None:
    assert verdict(candidate, target) == "contains"
    assert verdict(target, candidate) == "contains"
    assert verdict(candidate, target, with_wup=False) == "contains"


def test_texts_containing_a_taken_decoy_are_accepted() -> None:
    """The paper matches strings between a decoy and the target only."""
    assert verdict("carpet", "kite", taken=["car", "pet"]) == "accepted"


@pytest.mark.parametrize("pair", [("two", "three"), ("black", "white"), ("2", "three")])
def test_a_similarity_of_exactly_the_threshold_follows_wup_boundary(
    pair: tuple[str, str],
) -> None:
    candidate, other = pair
    for reject, expected in ((True, "wup_target"), (False, "accepted")):
        assert verdict(candidate, other, reject_at_threshold=reject) == expected
        assert verdict(other, candidate, reject_at_threshold=reject) == expected
    for reject, expected in ((True, "wup_taken"), (False, "accepted")):
        assert verdict(candidate, "surfboard", taken=["kite", other], reject_at_threshold=reject) == expected


@pytest.mark.parametrize("pair", [("a cute feline", "cat"), ("tv", "television"), ("sofa", "couch")])
def test_synonyms_are_rejected_at_either_boundary(pair: tuple[str, str]) -> None:
    candidate, other = pair
    for reject in (True, False):
        assert verdict(candidate, other, reject_at_threshold=reject) == "wup_target"
        assert verdict(candidate, "surfboard", taken=[other], reject_at_threshold=reject) == "wup_taken"
        assert verdict(candidate, other, taken=[other], reject_at_threshold=reject, with_wup=False) == "accepted"


@pytest.mark.parametrize("pair", [("bus", "boat"), ("cat", "dog"), ("zyzzyvaxx", "syzygyxx"), ("北京", "東京")])
def test_less_similar_texts_are_accepted(pair: tuple[str, str]) -> None:
    assert verdict(*pair) == "accepted"
    assert verdict(pair[0], "surfboard", taken=[pair[1]]) == "accepted"


def test_the_papers_filters_apply_in_the_order_of_the_statistics() -> None:
    assert [reason.name for reason in Reason if reason.in_paper] == [
        "SAME_TEXT",
        "CONTAINS",
        "WUP_TARGET",
        "WUP_TAKEN",
        "REPEATS_OTHER_SET",
    ]
    assert verdict("sofa", "couch", taken=["sofa"]) == "same_text"
    assert verdict("sofa", "sofa bed", taken=["couch"]) == "contains"
    assert verdict("sofa", "couch", taken=["lounge"]) == "wup_target"


def test_a_word_that_is_not_even_like_itself_is_still_the_same_text() -> None:
    """NLTK's WUP of some words with themselves is below 0.9, so similarity alone would let the target in twice."""
    unlike_itself = "adversary"
    assert wup(unlike_itself, unlike_itself) < 0.9
    assert verdict(unlike_itself, unlike_itself) == "same_text"
    assert verdict(unlike_itself, "green", taken=[unlike_itself]) == "same_text"


@pytest.mark.parametrize(("threshold", "accepted"), [(0.85, False), (0.86, True), (0.5, False)])
def test_the_threshold_is_a_parameter(threshold: float, accepted: bool) -> None:
    """cat and dog score 0.857."""
    assert verdict("cat", "dog", threshold=threshold) == ("accepted" if accepted else "wup_target")


TEXTS = st.one_of(
    st.sampled_from(
        ["two", "three", "black", "white", "cat", "a cute cat", "pony tail", "ponytail", "none", "?", "…"]
    ),
    st.text(st.sampled_from("abß é-'’2.\u0301京Ω\u200d\U0001f431"), min_size=1, max_size=8),
    st.text(min_size=1, max_size=12).filter(lambda text: text.isprintable()),
)


@examples(max_examples=150, deadline=None)
@given(
    TEXTS,
    TEXTS,
    st.lists(TEXTS, max_size=3),
    st.sampled_from((0.0, 0.5, 0.8, 0.9, 1.0)),
    st.sampled_from(("reject", "accept")),
    st.booleans(),
)
def test_any_texts_get_the_verdict_of_the_rules_written_out(
    candidate: str, target: str, taken: list[str], threshold: float, boundary: str, with_wup: bool
) -> None:
    settings = Settings(wup_threshold=threshold, wup_boundary=boundary)  # type: ignore[arg-type]
    expected = objection(candidate, target, taken, settings, remembered_wup if with_wup else None)
    assert verdict(candidate, target, taken, threshold, boundary == "reject", with_wup) == (expected or "accepted")


def test_texts_are_numbered_once_and_those_that_read_the_same_share_a_key() -> None:
    texts = ["Two.", "two", "cat", "2", "cat", "?!", "!?"]
    candidates, numbers = candidates_of(texts, 0.9, True)
    assert [candidates.texts[number] for number in numbers] == texts
    assert candidates.texts == list(dict.fromkeys(texts))
    assert candidates.keys.tolist() == [0, 0, 1, 0, 2, 3]
    assert candidates.key_texts == ["two", "cat", "?!", "!?"]
    starts, letters = candidates.tables.letter_starts, candidates.tables.letters
    assert [bytes(np.asarray(letters[a:b])).decode() for a, b in pairwise(starts)] == [
        squeezed(text) for text in candidates.key_texts
    ]
