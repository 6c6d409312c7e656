"""A form of choices that another package declares goes through audit, remedy and export without an edit of ours."""

import re
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.data.cells import as_lists, is_text
from hf_vqa_mc.data.choices import CHOICE_FORMS, ChoiceCells, ChoiceForm
from hf_vqa_mc.dataset.writing import write_benchmark
from hf_vqa_mc.errors import InputError

CHOICE = re.compile(r"(\*?)[A-Z]\. (.+)")


@dataclass(frozen=True)
class StarredChoices(ChoiceForm):
    """One column such as "A. red | B. blue | *C. green": the correct choice has a star."""

    name: ClassVar[str] = "starred"

    @classmethod
    def of(cls, table, column):
        fits = is_text(table.schema.field(column).type) and all(
            " | " in text and "*" in text for text in table[column].to_pylist()
        )
        return cls((column,)) if fits else None

    def read(self, table):
        rows, targets, faults = [], [], {}
        for row, text in enumerate(table[self.column].to_pylist()):
            parts = [CHOICE.fullmatch(part) for part in text.split(" | ")]
            if not all(parts):
                faults[row], parts = f"{self.column} is {text!r}, expected A. red | *B. blue", []
            rows.append([part[2] for part in parts])
            targets.append(next((index for index, part in enumerate(parts) if part[1]), -1))
        texts, lengths = as_lists(pa.array(rows, pa.list_(pa.string())))
        return ChoiceCells(texts, lengths, targets=np.array(targets), faults=faults)

    def write(self, table, rows):
        values = table[self.column].to_pylist()
        for row, (texts, label) in rows.items():
            values[row] = " | ".join(
                f"{'*' if index == label else ''}{chr(65 + index)}. {text}" for index, text in enumerate(texts)
            )
        return {self.column: pa.array(values)}


@pytest.fixture
def starred(tmp_path):
    """A file whose correct choice is always the longest."""
    CHOICE_FORMS.add(StarredChoices)
    rows = []
    for number in range(60):
        names = [f"{colour} {number % 7}" for colour in ("red", "blue", "green")]
        parts = [f"{chr(65 + index)}. {name}" for index, name in enumerate(names)]
        parts[number % 3] = f"*{parts[number % 3]} and so on"
        rows.append(
            {"question": f"What is {number % 5} here?", "image_id": f"{number // 3}", "options": " | ".join(parts)}
        )
    pd.DataFrame(rows).to_parquet(tmp_path / "starred.parquet")
    yield tmp_path / "starred.parquet"
    del CHOICE_FORMS["starred"]


def test_it_is_read_and_written_back(starred, tmp_path):
    benchmark = vm.read_benchmark(starred)
    assert "choices=options" in benchmark.read_as
    assert benchmark.test.rows["choices"][0].as_py() == ["red 0 and so on", "blue 0", "green 0"]
    assert benchmark.test.rows["label"].to_pylist()[:4] == [0, 1, 2, 0]
    table = benchmark.with_choices(benchmark.test, [["up", "down"]] * 60, [1] * 60)
    write_benchmark(benchmark, {"test": table}, tmp_path / "new.parquet")
    assert pq.read_table(tmp_path / "new.parquet")["options"][0].as_py() == "A. up | *B. down"


def test_it_is_audited_and_exported(starred, tmp_path):
    gains = vm.audit(starred, probes=False).to_pandas().set_index("name")
    assert gains.loc["longest choice", "accuracy"] == 1
    vm.export("vlmevalkit", starred, output=tmp_path, name="starred")
    rows = pd.read_csv(tmp_path / "starred" / "starred_TEXT.tsv", sep="\t")
    assert rows.loc[1, ["A", "B", "C", "answer"]].tolist() == ["red 1", "blue 1 and so on", "green 1", "B"]


@pytest.mark.slow
def test_it_is_remedied_in_its_own_layout(starred, tmp_path, untrained_report_probes):
    vm.remedy(starred, output=tmp_path / "remedied.parquet", variant="iou", force=True)
    before, after = (vm.read_benchmark(path).test.rows for path in (starred, tmp_path / "remedied.parquet"))
    assert after["choices"].to_pylist() != before["choices"].to_pylist()
    targets = [[row["choices"][row["label"]] for row in rows.to_pylist()] for rows in (before, after)]
    assert targets[0] == targets[1]
    assert "*" in pq.read_table(tmp_path / "remedied.parquet")["options"][0].as_py()


def test_a_row_that_it_cannot_hold_is_named(starred):
    frame = pd.read_parquet(starred)
    frame.loc[3, "options"] = "red | *blue"
    with pytest.raises(InputError, match=r"data frame, row 4: options is 'red \| \*blue', expected A\. red"):
        vm.read_benchmark(frame)
