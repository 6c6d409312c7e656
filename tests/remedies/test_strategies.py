"""Which strategy an audit recommends, and that every option belongs to a strategy."""

from dataclasses import fields

import datasets
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.data.reading import read_benchmark
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.remedies.strategies import STRATEGIES, StrategySettings, recommended


def split(images, answers, most=0, choices=4):
    """60 rows about ``images``, with so many distinct answers; ``most`` rows have the first one."""
    rows = [
        {"image_id": str(row % images) if images else "", "question": f"what {row}",
         "choices": [f"answer {0 if row < most else row % answers}", *map(str, range(1, choices))], "label": 0}
        for row in range(60)
    ]  # fmt: skip
    return read_benchmark(datasets.Dataset.from_list(rows)).test


@pytest.mark.parametrize(
    ("images", "answers", "strategy", "why"),
    [
        (20, 10, "closed", "3.0 questions per image, 6.0 rows per distinct answer: form closed answer sets"),
        (20, 60, "repair", "3.0 questions per image, 1.0 rows per distinct answer: change the fewest decoys"),
        (60, 10, "repair", "1.0 questions per image, 6.0 rows per distinct answer: change the fewest decoys"),
        (0, 10, "repair", "No images, 6.0 rows per distinct answer: change the fewest decoys"),
    ],
)
def test_an_audit_recommends_what_suits_images_and_answers(images, answers, strategy, why):
    found, sentence = recommended(split(images, answers), leak=0.1)
    assert found.name == strategy
    assert sentence.startswith(why)


@pytest.mark.parametrize(
    ("leak", "answers", "most", "strategy"),
    [
        (0.05, 32, 0, "repair"),  # 1.9 rows per answer
        (0.20, 32, 0, "repair"),
        (0.45, 32, 0, "closed"),
        (0.70, 32, 0, "closed"),
        (0.70, 15, 0, "closed"),
        (0.70, 60, 0, "repair"),  # unique answers
        (0.70, 15, 45, "repair"),  # one answer to most questions
    ],
)
def test_a_leak_that_a_repair_cannot_remove_needs_closed_sets_if_answers_repeat(leak, answers, most, strategy):
    found, sentence = recommended(split(60, answers, most), leak)
    assert found.name == strategy
    large = f", a leak of {100 * leak:.0f} points, of which a repair leaves a large part: "
    assert (large in sentence) == (leak > 0.25)


@pytest.mark.parametrize(("choices", "size"), [(2, 2), (4, None), (5, 5), (18, 7)])
def test_closed_sets_are_recommended_with_as_many_choices_as_the_rows_have(choices, size):
    found, _ = recommended(split(60, 15, choices=choices), leak=0.5)
    assert found.name == "closed" and found.arguments.get("set_size") == size


def test_every_option_belongs_to_a_strategy_and_every_option_of_one_exists():
    named = {name for one in STRATEGIES.values() for name in one.options}
    assert named == {one.name for one in fields(StrategySettings)} - {"seed"}


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"guarantee": "question", "variant": "qou"}, "guarantee replaces variant"),
        ({"guarantee": "question", "prune": 0.1}, "prune is an option of strategy prune, not of closed"),
        ({"guarantee": "question", "set_size": 8}, "set_size=8: expected"),
        ({"guarantee": "question", "coverage": float("nan")}, "coverage=nan: expected"),
        ({"coverage": 0.5, "word_vectors": "corpus"}, "coverage is an option of strategy closed and best, not of"),
        ({"variant": "sets_same_question", "pool": "pool.csv"}, "pool is an option of strategy .*, not of closed"),
        ({"variant": "iou", "candidates": "x.json"}, "candidates is an option of strategy repair and best, not of"),
        ({"base_url": "http://localhost:1"}, "base_url is the address of the model of candidates_from"),
        ({"candidates_from": object()}, "expected a name, a function, or an object with a method"),
        ({"candidates": "none.csv"}, "none.csv does not exist"),
    ],
)
def test_options_that_cannot_be_used_are_named_before_anything_is_changed(options, match):
    rows = [
        {"question_id": one, "image_id": one, "question": "What?", "choices": ["a", "b"], "label": 0} for one in "12"
    ]
    with pytest.raises(InputError, match=match):
        vm.remedy(datasets.Dataset.from_list(rows), **options)
