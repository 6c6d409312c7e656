"""Targets of the same question about the same image are known to be correct: no remedy makes decoys of them."""

from collections import defaultdict
from random import Random

import numpy as np
import pandas as pd
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.audits.findings import NAMED

COLORS = ("red", "blue", "green", "white", "black", "grey", "brown", "pink", "purple", "orange")
ANIMALS = ("cat", "dog", "horse", "cow", "sheep", "bear", "zebra", "bird", "goat", "duck")


@pytest.fixture
def twins():
    """Each image has two rows of one question with different targets, and two more questions."""
    rng, rows = Random(0), []
    for image in range(60):
        two = rng.sample(COLORS, 2)
        for question, target, texts in (
            ("What color is the thing?", two[0], COLORS),
            ("what color is the thing? ", two[1], COLORS),
            ("what animal is it?", rng.choice(ANIMALS), ANIMALS),
            ("which animal stands behind it?", rng.choice(ANIMALS), ANIMALS),
        ):
            decoys = rng.sample([text for text in texts if text not in (target, *two)], 3)
            choices = rng.sample([target, *decoys], 4)
            rows.append({"image_id": f"i{image}", "question": question, "choices": choices,
                         "label": choices.index(target)})  # fmt: skip
    return pd.DataFrame(rows)


def conflicts(benchmark):
    """The number of decoys that are targets of the same question about the same image."""
    rows = benchmark.test.rows.to_pandas()
    keys = list(zip(rows.image_id, rows.question.str.lower().str.strip(), strict=True))
    targets = defaultdict(set)
    for key, choices, label in zip(keys, rows.choices, rows.label, strict=True):
        targets[key].add(choices[label])
    return sum(
        text in targets[key] for key, choices, label in zip(keys, rows.choices, rows.label, strict=True)
        for at, text in enumerate(choices) if at != label
    )  # fmt: skip


@pytest.mark.usefixtures("untrained_report_probes")
@pytest.mark.parametrize(
    "options",
    [{"guarantee": "choices"}, {"strategy": "iou_qou", "word_vectors": "corpus"},
     pytest.param({"strategy": "repair"}, marks=pytest.mark.slow)],
    ids=["closed", "iou_qou", "repair"],
)  # fmt: skip
def test_no_decoy_is_the_target_of_a_twin(twins, options):
    fixed = vm.remedy(twins, **options)
    assert conflicts(fixed.benchmark) == 0
    assert conflicts(fixed.remedied) == 0


def test_an_audit_counts_them_as_possibly_correct(twins):
    row = twins.index[0]
    target = twins.choices[row + 1][twins.label[row + 1]]
    decoy = (twins.label[row] + 1) % 4
    twins.at[row, "choices"] = [target if at == decoy else text for at, text in enumerate(twins.choices[row])]
    found = vm.audit(twins, probes=False).audit
    assert np.flatnonzero(found.ambiguous[NAMED].any(axis=1)).tolist() == [0]
