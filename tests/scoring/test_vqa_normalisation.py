from hypothesis import example, given
from hypothesis import strategies as st

from hf_vqa_mc.scoring.vqa_normalisation import CONTRACTIONS, normalised, tidied, with_plain_words, without_punctuation
from tests.scoring import literal_vqa

PIECES = [
    *literal_vqa.MARKS,
    *"':.%$&*#~^|",
    *[" ", "  ", "\n", "\t", "\r", "\x1c", "\xa0", "\u3000", "“", "”", "、", "。", "…"],
    *["a", "an", "the", "The", "A", "none", "Zero", "ten", "eleven", "dont", "Im", "somebody'd", "yall'd've", "wont"],
    *["0", "1", "7", "1,000", "1.5", ".5", "5.", "٣", "²", "½", "٣,٣", "," * 3, "." * 33],
    *["é", "İ", "ß", "ẞ", "Σ", "\ud800", "😀", "x", "red"],
]

ANSWER = st.one_of(st.lists(st.sampled_from(PIECES), max_size=8).map("".join), st.text(max_size=12))


@given(ANSWER)
@example("." * 40)
def test_each_step_is_the_one_that_is_written_down(answer):
    assert tidied(answer) == literal_vqa.step_1(answer)
    assert without_punctuation(answer) == literal_vqa.step_4(literal_vqa.step_3(answer))
    assert with_plain_words(answer) == literal_vqa.step_6(literal_vqa.step_5(answer))
    assert normalised(answer) == literal_vqa.steps_3_to_6(literal_vqa.step_1(answer))


def test_there_are_114_contractions():
    """120 in the official table, of them four with capitals and two that stay as they are."""
    assert len(CONTRACTIONS) == 114
