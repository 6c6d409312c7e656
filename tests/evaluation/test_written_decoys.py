"""Wrong answers written by a served model."""

import pytest

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.written_decoys import COUNT, answers_in, write_wrong_answers
from hf_vqa_mc.io.progress import silent
from tests.evaluation import worlds
from tests.evaluation.served import Served


@pytest.fixture(autouse=True)
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def test_the_model_sees_the_image_the_choices_and_the_correct_one(tmp_path):
    table = worlds.benchmark(4)
    seen = []

    def answer(text, image):
        seen.append((text, image))
        return "1. mauve\n2. 'ochre'"

    with Served(answer=answer) as server:
        found = write_wrong_answers(read_benchmark(table), "tiny", server.url, tmp_path / "replies", silent)
    assert found.model == "tiny" and not found.failures
    assert len(found.answers) == 4 and all(one == ["mauve", "ochre"] for one in found.answers.values())
    text, image = next(one for one in seen if "shape 0" in one[0])
    row = table.iloc[0]
    assert image.startswith("data:image/")
    correct = f"{'ABCD'[row.label]}. {row.choices[row.label]}"
    assert f'The answer "{correct}" is correct. Write {COUNT} wrong answers' in text
    assert all(choice in text for choice in row.choices)


def test_stored_replies_are_not_asked_for_again_and_those_about_other_rows_are_an_error(tmp_path):
    folder = tmp_path / "replies"
    with Served(answer=lambda text, image: "mauve") as server:
        first = write_wrong_answers(read_benchmark(worlds.benchmark(4)), "tiny", server.url, folder, silent)
        again = write_wrong_answers(read_benchmark(worlds.benchmark(4)), "tiny", server.url, folder, silent)
        assert server.answered.total() == 4
        assert first == again
        with pytest.raises(InputError, match=r"--candidates-from: folder .* has a run with questions_sha256"):
            write_wrong_answers(read_benchmark(worlds.benchmark(5)), "tiny", server.url, folder, silent)


def test_a_question_without_a_reply_has_no_answers_and_its_reason_is_kept(tmp_path):
    class Model:
        sees_images = False

        def generate(self, prompts):
            return [Reply(failure="too long") if "shape 1" in one.text else Reply(text="mauve") for one in prompts]

    found = write_wrong_answers(read_benchmark(worlds.benchmark(4)), Model(), None, None, silent)
    assert found.failures == ["too long"]
    assert sorted(found.answers.values()) == [[], ["mauve"], ["mauve"], ["mauve"]]


@pytest.mark.parametrize(
    ("reply", "answers"),
    [
        ("- a red kite\n- a boat\n", ["a red kite", "a boat"]),
        ('Here are some:\n\n1. "a red kite"\n2) a boat\n(3) a boat', ["a red kite", "a boat"]),
        ("A. 1999\nB. 2001", ["1999", "2001"]),
        ("1999\n2001", ["1999", "2001"]),
        ("I. M. Pei\nFrank Gehry\nZaha Hadid", ["I. M. Pei", "Frank Gehry", "Zaha Hadid"]),
        ("", []),
    ],
)
def test_answers_are_the_lines_without_marks(reply, answers):
    assert answers_in(Reply(text=reply)) == answers


def test_the_last_line_of_a_reply_that_was_cut_off_is_no_answer():
    assert answers_in(Reply(text="a red kite\na bo", cut_off=True)) == ["a red kite"]
