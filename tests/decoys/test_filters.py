"""One input a rule, and which rule fired."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from hf_vqa_mc.decoys.candidates import ACCEPTED, Reason, reason_against
from hf_vqa_mc.decoys.settings import Settings
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


SAME = (
    ("dog", "dog"), ("Dog.", "dog"), ("  two ", "2"), ("A  T-shirt!", "a t-shirt"), ("?!", "?!"), ("dog's", "dog"),
    ("caf\u00e9", "cafe\u0301"), ("北京。", "北京"), ("zyzzyvaxx", "zyzzyvaxx"), ("adversary", "adversary"),
)  # fmt: skip
"""Of the last word NLTK's WUP with itself is below 0.9, so similarity alone would let the target in twice."""
CONTAINED = (
    ("pony tail", "ponytail"), ("pony-tail", "pony tail"), ("daytime", "during the daytime"), ("京", "北京"),
    ("on the table", "table"), ("cat", "caterpillar"), ("black and white", "black"), ("t shirt", "T-shirts"),
)  # fmt: skip
AT_THE_THRESHOLD = (("two", "three"), ("black", "white"), ("2", "three"))
SYNONYMS = (("a cute feline", "cat"), ("tv", "television"), ("sofa", "couch"))
LESS_SIMILAR = (("bus", "boat"), ("cat", "dog"), ("zyzzyvaxx", "syzygyxx"), ("北京", "東京"))


@pytest.mark.parametrize(
    ("pairs", "against_target", "against_taken", "without_wup"),
    [
        (SAME, "same_text", "same_text", "same_text"),
        (CONTAINED, "contains", None, "contains"),
        (AT_THE_THRESHOLD, "wup_target", "wup_taken", "accepted"),
        (SYNONYMS, "wup_target", "wup_taken", "accepted"),
        (LESS_SIMILAR, "accepted", "accepted", "accepted"),
    ],
)
def test_each_rule_rejects_its_texts(pairs, against_target, against_taken, without_wup):
    for pair in pairs:
        for candidate, other in (pair, pair[::-1]):
            assert verdict(candidate, other) == against_target
            assert verdict(candidate, other, with_wup=False) == without_wup
            if against_taken:
                assert verdict(candidate, "surfboard", taken=["kite", other]) == against_taken


def test_texts_containing_a_taken_decoy_are_accepted() -> None:
    """The paper matches strings between a decoy and the target only."""
    assert verdict("carpet", "kite", taken=["car", "pet"]) == "accepted"


def test_threshold_and_boundary_are_parameters() -> None:
    """cat and dog score 0.857, the first pairs exactly 0.9."""
    assert [verdict("cat", "dog", threshold=one) for one in (0.85, 0.86)] == ["wup_target", "accepted"]
    for candidate, other in AT_THE_THRESHOLD:
        assert verdict(candidate, other, reject_at_threshold=False) == "accepted"
        assert verdict(candidate, "surfboard", taken=[other], reject_at_threshold=False) == "accepted"
    assert all(verdict(*pair, reject_at_threshold=False) == "wup_target" for pair in SYNONYMS)


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


TEXTS = st.one_of(
    st.sampled_from(
        ["two", "three", "black", "white", "cat", "a cute cat", "pony tail", "ponytail", "none", "?", "…"]
    ),
    st.text(st.sampled_from("abß é-'’2.\u0301京Ω\u200d\U0001f431"), min_size=1, max_size=8),
    st.text(min_size=1, max_size=12).filter(lambda text: text.isprintable()),
)


@pytest.mark.slow
@examples(max_examples=150)
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
