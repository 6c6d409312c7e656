"""Benchmarks for circular evaluation, whose rows repeat with rotated choices: remedies of the choices refuse them."""

from random import Random

import pandas as pd
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError

TEXTS = [f"{a} {b}" for a in ("old", "new", "red", "big", "wet") for b in ("car", "hat", "dog", "tree", "cup")]


def rotated(images, rotations):
    """Rows of random choices, each in some rotations that follow one another."""
    rng, rows = Random(0), []
    for image in range(images):
        choices = rng.sample(TEXTS, 4)
        for turn in range(rotations):
            turned = choices[turn:] + choices[:turn]
            rows.append({"image_id": f"i{image}", "question": f"what is number {image}?", "choices": turned,
                         "label": turned.index(choices[image % 4])})  # fmt: skip
    return pd.DataFrame(rows)


@pytest.mark.parametrize("options", [{}, {"guarantee": "choices"}, {"strategy": "iou_qou", "word_vectors": "corpus"}])
def test_new_choices_for_rotated_rows_are_refused(options):
    with pytest.raises(InputError, match="180 of 240 rows have the image, question and choices, in any order, of ano"):
        vm.remedy(rotated(60, 4), **options)


def test_the_order_of_rows_is_no_reason_for_a_remedy_of_the_choices():
    done = vm.audit(rotated(60, 4), probes=False)
    assert any(one.alarm and one.name == "label of the previous row" for one in done.audit.gains)
    assert "hf_vqa_mc.remedy" not in repr(done)
