"""Which strategy an audit recommends, and that every option belongs to a strategy."""

from dataclasses import fields

import datasets
import pytest

from hf_vqa_mc.data.reading import read_benchmark
from hf_vqa_mc.remedies.strategies import STRATEGIES, StrategySettings, recommended


@pytest.mark.parametrize(
    ("images", "answers", "strategy", "why"),
    [
        (20, 10, "closed", "3.0 questions per image, 6.0 rows per distinct answer: closed answer sets"),
        (20, 60, "repair", "3.0 questions per image, 1.0 rows per distinct answer: change the fewest decoys"),
        (60, 10, "repair", "1.0 questions per image, 6.0 rows per distinct answer: change the fewest decoys"),
        (0, 10, "repair", "No images, 6.0 rows per distinct answer: change the fewest decoys"),
    ],
)
def test_an_audit_recommends_what_suits_images_and_answers(images, answers, strategy, why):
    rows = [
        {"image_id": str(row % images) if images else "", "question": f"what {row}",
         "choices": [f"answer {row % answers}", "none"], "label": 0}
        for row in range(60)
    ]  # fmt: skip
    found, sentence = recommended(read_benchmark(datasets.Dataset.from_list(rows)).test)
    assert found.name == strategy
    assert sentence.startswith(why)


def test_every_option_belongs_to_a_strategy_and_every_option_of_one_exists():
    named = {name for one in STRATEGIES.values() for name in one.options}
    assert named == {one.name for one in fields(StrategySettings)} - {"seed"}
