import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

import hf_vqa_mc.scoring
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring import mc_accuracy, tdiuc_mpt, vqa_accuracy, wups

FOR_EVALUATE = {"scheme_metric", "metric_folders"}
"""Modules for `evaluate.load`."""
MODULES = sorted({path.stem for path in Path(hf_vqa_mc.scoring.__file__).parent.glob("*.py")} - FOR_EVALUATE)

BARRED = ("torch", "datasets", "evaluate", "transformers", "huggingface_hub", "requests", "httpx")


def test_scoring_loads_neither_torch_nor_datasets():
    imports = "\n".join(f"import hf_vqa_mc.scoring.{module}" for module in MODULES)
    code = f"import sys\n{imports}\nprint([name for name in {BARRED!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "column",
    [
        (1, 0),
        np.array([1, 0]),
        torch.tensor([1, 0]),
        pd.Series([1, 0]),
        pa.array([1, 0]),
        pa.chunked_array([[1], [0]]),
        range(1, -1, -1),
    ],
    ids=lambda column: type(column).__name__,
)
def test_lists_and_arrays_of_every_library_are_columns(column):
    assert mc_accuracy(column, [1, 1], per_question=True)["per_question"] == [1.0, 0.0]


@pytest.mark.parametrize(
    "column",
    [{"yes": 1}, pd.DataFrame({"a": ["yes"]}), b"yes", (text for text in ["yes"]), None, np.array("yes")],
    ids=lambda column: type(column).__name__,
)
def test_what_is_no_list_of_values_is_rejected_by_name(column):
    for given in ({"predictions": column, "references": ["yes"]}, {"predictions": ["yes"], "references": column}):
        for score in (wups, vqa_accuracy, mc_accuracy, lambda **given: tdiuc_mpt(**given, question_types=["a"])):
            with pytest.raises(InputError, match=f"{'|'.join(given)} is .*, expected a list"):
                score(**given)


@pytest.mark.parametrize(("ids", "twice"), [([1, 1], "1"), ([1, "1"], "1"), (["a", "a"], "a")])
def test_a_question_comes_once(ids, twice):
    with pytest.raises(InputError, match=f"question '{twice}' occurs 2 times in question_ids; expected once"):
        mc_accuracy([0, 0], [0, 0], question_ids=ids)


def test_ids_are_text_or_whole_numbers():
    with pytest.raises(InputError, match="question None: question_ids is None, expected a name or a whole number"):
        mc_accuracy([0, 0], [0, 0], question_ids=["a", None])
