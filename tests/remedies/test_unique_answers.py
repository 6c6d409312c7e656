"""Decoys taken from other questions: each target is a target once, popular ones are decoys often."""

import random

import pandas as pd
import pytest

import hf_vqa_mc as vm

THINGS = [
    f"{kind} {thing}"
    for kind in ("red", "blue", "old", "new", "tall", "flat", "dark", "soft", "round")
    for thing in ("chair", "table", "lamp", "mirror", "bottle", "basket", "pillow", "window", "door", "clock", "cup")
]


@pytest.mark.slow
def test_a_remedy_that_makes_choices_give_the_target_away_is_called_worse(tmp_path):
    rng = random.Random(0)
    rows = [
        {"question": f"What is near the {rng.choice(THINGS)}?", "choices": rng.sample(THINGS, 4), "label": row % 4}
        for row in range(160)
    ]
    found = vm.remedy(pd.DataFrame(rows), variant="qou", word_vectors="corpus", output=tmp_path / "remedied")
    assert "Worse than before." in repr(found) or "No significant improvement." in repr(found)
