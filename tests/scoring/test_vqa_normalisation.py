import pytest
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


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("t-shirt", "t shirt"),
        ("red/blue", "red blue"),
        ("t-shirt - x", "tshirt  x"),
        ("t-shirt -x", "tshirt x"),
        ("t-shirt- red", "tshirt red"),  # a mark next to a space anywhere vanishes everywhere
        ("red, t-shirt", "red t shirt"),  # and no other mark
        ("a/-b", "a  b"),  # next to a space before any mark is replaced
        ("1,000-2000 red/blue", "10002000 redblue"),  # a comma between digits lets all marks vanish
        ("1,a-b", "1 a b"),
        ("1, 0-2", "1 0 2"),
        ("٣,٣-x", "٣٣x"),
        ("٣.٣ .٣", "٣.٣ .٣"),
        ("1.²", "1²"),
        ("':%$&*#~^|“”、…", "':%$&*#~^|“”、…"),
        ("1995.", "1995"),
        ("a.m. 1.5 .5 3.", "am 1.5 .5 3"),  # a period goes unless a digit follows
        ("." * 32, ""),
        ("." * 40, "." * 8),  # only 32 periods go
        (".5" + "." * 33, ".5."),
    ],
)
def test_punctuation_is_replaced_or_removed(answer, expected):
    assert without_punctuation(answer) == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("none zero one two three four five", "0 0 1 2 3 4 5"),
        ("six seven eight nine ten eleven twenty", "6 7 8 9 10 eleven twenty"),
        ("The cat and a dog on an x", "cat and dog on x"),
        ("the", ""),
        ("red\u3000car \x1c x", "red car x"),
        ("dont CANT youre oclock twas", "don't can't you're o'clock 'twas"),
        ("couldnt've couldn'tve", "couldn't've couldn't've"),  # one apostrophe may lack
        ("couldntve", "couldntve"),
        ("'ow's'at ow's'at 'ows'at 'ow'sat", "'ow's'at 'ow's'at 'ow's'at 'ow's'at"),
        ("somebody'd somebodyd", "somebodyd somebodyd"),
        ("Im Ive Id've", "im ive id've"),  # contractions with capitals never match
        ("wed shed well hell ill were its lets", "wed shed well hell ill were its lets"),
    ],
)
def test_numbers_become_digits_articles_go_and_contractions_get_their_apostrophe(answer, expected):
    assert with_plain_words(answer) == expected


def test_there_are_114_contractions():
    """120 in the official table, of them four with capitals and two that stay as they are."""
    assert len(CONTRACTIONS) == 114


def test_a_number_word_with_a_mark_is_still_a_number():
    assert [normalised(text) for text in ("Two.", "(none)", "don't-know")] == ["2", "0", "don't know"]
