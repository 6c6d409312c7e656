"""Which questions are exported, under which name, and in which order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hf_vqa_mc.data.questions import default_name, presented_questions
from hf_vqa_mc.errors import InputError
from tests.exports import small

NUMBERED = [(f"q{at}", f"i{at}", "Which?", ["right", "w1", "w2", "w3"], 0, "") for at in range(400)]


def test_rows_go_out_as_they_are_but_for_kinds_and_human_answers():
    questions = presented_questions(small.benchmark(), None, hide_answers=False)
    assert questions.choices == [row[3] for row in small.QUESTIONS]
    assert questions.labels == [row[4] for row in small.QUESTIONS]
    assert not any(secret in repr(vars(questions).values()) for secret in small.SECRETS[2:])
    assert (questions.images.tolist(), questions.image_rows) == ([0, 0, 1, 1], [0, 2])  # one image, two rows
    assert presented_questions(small.benchmark(), None, hide_answers=True).labels is None


def test_choices_without_an_order_are_shuffled_so_that_the_target_is_not_first():
    benchmark = small.benchmark(NUMBERED, placed=False)
    questions = presented_questions(benchmark, None, hide_answers=False)
    picked = [texts[label] for texts, label in zip(questions.choices, questions.labels, strict=True)]
    assert picked == ["right"] * 400
    assert all(70 <= questions.labels.count(index) <= 130 for index in range(4))
    assert questions.choices == presented_questions(benchmark, None, hide_answers=True).choices


@given(st.permutations(range(12)))
def test_the_shuffled_order_of_a_row_does_not_depend_on_the_others(order):
    benchmark = small.benchmark(NUMBERED[:12], placed=False)
    other = small.benchmark([NUMBERED[at] for at in order], placed=False)
    one, two = (presented_questions(made, None, hide_answers=False) for made in (benchmark, other))
    assert [one.choices[at] for at in order] == two.choices


@pytest.mark.parametrize(
    ("dataset", "config", "name"),
    [
        ("./data/small.jsonl.gz", None, "small_test"),
        ("NAMESPACE/vqa_mc", "cocoqa_iou_qou", "vqa_mc_cocoqa_iou_qou_test"),
        ("data/MMMU", "Art", "mmmu_art_test"),
        ("données.csv", None, "donn_es_test"),
        ("问.csv", None, "test"),
    ],
)
def test_tasks_are_named_by_dataset_config_and_split(dataset, config, name):
    assert default_name(small.benchmark(dataset=dataset, config=config)) == name


@pytest.mark.parametrize("name", ["", "../x", "a b", "a'b", "-x", "x" * 81, "a\n"])
def test_names_that_would_break_files_or_yaml_are_rejected(name):
    with pytest.raises(InputError, match="expected letters, digits"):
        presented_questions(small.benchmark(), name, hide_answers=False)


@pytest.mark.parametrize("choices", [["one"], ["one", ""], ["one", " \t"]])
def test_invalid_rows_are_rejected_by_name(choices):
    rows = [*small.QUESTIONS, ("bad", "i1", "Which?", choices, 0, "")]
    with pytest.raises(InputError, match=r"row 5 \(question_id 'bad'\)"):
        presented_questions(small.benchmark(rows), None, hide_answers=False)
