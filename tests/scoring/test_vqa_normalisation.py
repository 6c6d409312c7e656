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


def test_a_mark_becomes_a_space():
    assert without_punctuation("t-shirt") == "t shirt"
    assert without_punctuation("red/blue") == "red blue"


@pytest.mark.parametrize("answer", ["t-shirt - red", "t-shirt -red", "t-shirt- red"])
def test_a_mark_beside_a_space_anywhere_vanishes_everywhere(answer):
    assert without_punctuation(answer).split()[0] == "tshirt"


def test_only_the_mark_beside_a_space_vanishes():
    assert without_punctuation("red, t-shirt") == "red t shirt"


def test_whether_a_space_is_beside_a_mark_is_seen_before_any_mark_is_replaced():
    assert without_punctuation("a/-b") == "a  b"


def test_a_comma_between_digits_lets_all_marks_vanish():
    assert without_punctuation("1,000-2000 red/blue") == "10002000 redblue"
    assert without_punctuation("1,a-b") == "1 a b"
    assert without_punctuation("1, 0-2") == "1 0 2"


def test_digits_are_those_of_all_scripts():
    assert without_punctuation("٣,٣-x") == "٣٣x"
    assert without_punctuation("٣.٣ .٣") == "٣.٣ .٣"
    assert without_punctuation("1.²") == "1²"


def test_other_marks_stay():
    assert without_punctuation("':%$&*#~^|“”、…") == "':%$&*#~^|“”、…"


def test_a_period_goes_unless_a_digit_follows():
    assert without_punctuation("1995.") == "1995"
    assert without_punctuation("a.m. 1.5 .5 3.") == "am 1.5 .5 3"


def test_only_32_periods_go():
    assert without_punctuation("." * 32) == ""
    assert without_punctuation("." * 40) == "." * 8
    assert without_punctuation(".5" + "." * 33) == ".5."


def test_numbers_to_ten_become_digits():
    assert with_plain_words("none zero one two three four five") == "0 0 1 2 3 4 5"
    assert with_plain_words("six seven eight nine ten eleven twenty") == "6 7 8 9 10 eleven twenty"


def test_articles_go():
    assert with_plain_words("The cat and a dog on an x") == "cat and dog on x"
    assert with_plain_words("the") == ""


def test_words_are_parted_by_one_space_whatever_white_space_there_was():
    assert with_plain_words("red\u3000car \x1c x") == "red car x"


def test_contractions_get_their_apostrophe_back():
    assert with_plain_words("dont CANT youre oclock twas") == "don't can't you're o'clock 'twas"


@pytest.mark.parametrize("word", ["couldnt've", "couldn'tve"])
def test_contractions_lack_one_apostrophe_only(word):
    assert with_plain_words(word) == "couldn't've"
    assert with_plain_words("couldntve") == "couldntve"


def test_contractions_of_three_apostrophes_too():
    assert {with_plain_words(word) for word in ("'ow's'at", "ow's'at", "'ows'at", "'ow'sat")} == {"'ow's'at"}


def test_somebody_had_loses_its_apostrophe():
    assert with_plain_words("somebody'd") == "somebodyd"
    assert with_plain_words("somebodyd") == "somebodyd"


def test_contractions_with_capitals_never_match():
    assert with_plain_words("Im Ive Id've") == "im ive id've"


def test_words_that_are_no_contractions_stay():
    assert with_plain_words("wed shed well hell ill were its lets") == "wed shed well hell ill were its lets"


def test_there_are_114_contractions():
    assert (
        len(CONTRACTIONS) == 114
    )  # 120 in the official table, of them four with capitals and two that stay as they are


def test_a_number_word_with_a_mark_is_still_a_number():
    assert normalised("Two.") == "2"
    assert normalised("(none)") == "0"
    assert normalised("don't-know") == "don't know"
