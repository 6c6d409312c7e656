"""A source that another package adds by its declaration goes through the whole build."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from datasets import load_dataset
from typer.testing import CliRunner

from hf_vqa_mc import InputError, VqaMc
from hf_vqa_mc.cli import app
from hf_vqa_mc.io.records import read_records
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import Files
from hf_vqa_mc.sources.source import Source
from hf_vqa_mc.sources.table import in_split_order, triplet_table

COLOURS = ("red", "green", "blue", "yellow", "black", "white")


def _read(files: Files) -> pa.Table:
    tables = []
    for records in read_records(files.find("toys.json"), "toys"):
        tables.append(
            triplet_table(
                question_id=records.ids("id"),
                image_id=records.ids("picture"),
                split=records.named("part", {"train": "train", "test": "test"}),
                question=records.filled_texts("question"),
                target=records.filled_texts("answer"),
                image_file=[f"{name}.png" for name in records.ids("picture")],
            )
        )
    return in_split_order(tables)


TOYS = Source(
    name="toys",
    title="Toys",
    description="Questions about toys.",
    homepage="https://toys.example",
    licence="CC0-1.0",
    citation="@misc{toys, title={Toys}}",
    read=_read,
    image_hint="They are drawn.",
    default_word_vectors="corpus",
)


@pytest.fixture
def listed() -> Iterator[None]:
    SOURCES.add(TOYS)
    yield
    del SOURCES["toys"]


def test_it_is_built_described_and_loaded(listed: None, tmp_path: Path) -> None:
    rows = [
        {
            "id": row,
            "picture": row // 2,
            "part": "train" if row < 40 else "test",
            "question": f"What color is the {('car', 'ball', 'kite')[row % 3]}?",
            "answer": COLOURS[(row * 5) % 6],
        }
        for row in range(60)
    ]
    (tmp_path / "toys.json").write_text(json.dumps({"toys": rows}))
    output = tmp_path / "vqa_mc"
    done = CliRunner().invoke(app, ["build", "toys", "--data-dir", str(tmp_path), "--output", str(output)])
    assert done.exit_code == 0, done.output
    assert "toys_iou_qou" in done.output
    card = (output / "README.md").read_text()
    for about in (TOYS.title, TOYS.description, TOYS.homepage, TOYS.licence, TOYS.citation, TOYS.image_hint):
        assert about in card
    loaded = load_dataset(str(output), "toys_iou_qou", cache_dir=str(tmp_path / "cache"))
    assert {split: len(loaded[split]) for split in loaded} == {"train": 40, "test": 20}
    assert all(row["choices"][row["label"]] in COLOURS for row in loaded["test"])
    straight = VqaMc(config_name="toys_iou_qou", data_dir=str(tmp_path), cache_dir=str(tmp_path / "cache"))
    straight.download_and_prepare()
    assert straight.as_dataset("test").to_dict() == loaded["test"].to_dict()


def test_a_mistyped_name_suggests_it_and_a_name_is_taken_once(listed: None) -> None:
    with pytest.raises(InputError, match="unknown source 'toyz': did you mean 'toys'"):
        SOURCES.find("toyz")
    with pytest.raises(ValueError, match="source 'toys' is listed already"):
        SOURCES.add(TOYS)


def test_listing_sources_imports_none_of_them() -> None:
    code = "import sys; from hf_vqa_mc.sources import SOURCES; print(*SOURCES, 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [*SOURCES, "False"]
