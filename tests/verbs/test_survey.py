"""A survey of a folder: a row per benchmark with what is planted in it, or with the reason why it cannot be read."""

import csv
import json
from random import Random

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.audits import auditing
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.errors import InputError
from tests.audits.planted import planted

WORDS = ("red", "blue", "green", "white", "black", "grey", "brown", "pink")


def rows(longest: bool):
    """Questions whose correct choice is the longest one, or none that can be told."""
    rng = Random(1)
    for at in range(80):
        label, texts = rng.randrange(4), rng.sample(WORDS, 4)
        if longest:
            texts[label] += " with a long tail of words"
        yield {"question": f"what color is thing {at}?", "choices": texts, "label": label, "image": f"{at // 2}.jpg"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Lists, letters in a csv and in a tsv, other names of columns; and a file of another kind."""
    monkeypatch.setattr(auditing, "ProbeSettings", lambda: ProbeSettings(probes=False))
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    (folder / "leaks.json").write_text(json.dumps(list(rows(longest=True))))
    for name, mark in (("letters.csv", ","), ("mmbench.tsv", "\t")):
        with (folder / name).open("w", newline="") as file:
            table = csv.writer(file, delimiter=mark)
            table.writerow(["question", "A", "B", "C", "D", "answer", "image"])
            table.writerows(
                [row["question"], *row["choices"], "ABCD"[row["label"]], row["image"]] for row in rows(longest=False)
            )
    renamed = [{"frage": row["question"], "wahl": row["choices"], "richtig": row["label"]} for row in rows(False)]
    (folder / "named.jsonl").write_text("".join(json.dumps(row) + "\n" for row in renamed))
    (folder / "named.jsonl.options.json").write_text('{"question": "frage", "choices": ["wahl"], "label": "richtig"}')
    (folder / "notes.txt").write_text("nothing to read")
    return folder


def test_every_file_has_a_row_and_the_leak_is_in_that_of_its_file(folder, tmp_path):
    done = vm.survey(folder, repair=False, output=tmp_path / "survey.html")
    table = done.to_pandas().set_index("file")
    assert list(table.index) == ["leaks.json", "letters.csv", "mmbench.tsv", "named.jsonl", "notes.txt"]
    assert table["choices_alone"]["leaks.json"] == 1
    assert table["choices_alone_alarm"].to_dict() == {
        **dict.fromkeys(["letters.csv", "mmbench.tsv", "named.jsonl"], False),
        "leaks.json": True,
        "notes.txt": None,
    }
    assert set(table["rows"].dropna()) == {80}
    assert "unknown kind of file" in table["problem"]["notes.txt"]
    assert table["decoys_changed"].isna().all()
    page = (tmp_path / "survey.html").read_text("utf-8")
    assert "leaks" in page and "unknown kind of file" in page


@pytest.mark.parametrize("suffix", [".csv", ".json", ".md"])
def test_the_table_is_written_by_suffix(folder, tmp_path, suffix):
    for name in ("letters.csv", "mmbench.tsv", "named.jsonl"):
        (folder / name).unlink()
    path = tmp_path / f"survey{suffix}"
    vm.survey(folder, repair=False).save(path)
    assert "leaks.json" in path.read_text("utf-8") and "notes.txt" in path.read_text("utf-8")


@pytest.mark.parametrize(
    ("text", "message"), [("[", "Expecting value"), ('{"frage": "x"}', "frage"), ('{"label_from": 7}', "label_from")]
)
def test_options_that_cannot_be_used_are_named_before_work_starts(folder, text, message):
    path = folder / "leaks.json.options.json"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"{path.name}: .*{message}"):
        vm.survey(folder, repair=False)


def test_a_column_that_a_benchmark_lacks_is_in_its_row(folder):
    (folder / "leaks.json.options.json").write_text('{"question": "frage"}')
    table = vm.survey(folder, repair=False).to_pandas().set_index("file")
    assert "frage" in table["problem"]["leaks.json"]


@pytest.mark.slow
@pytest.mark.usefixtures("untrained_report_probes")
def test_a_repair_is_reported_and_changes_no_file(tmp_path):
    folder = tmp_path / "benchmarks"
    folder.mkdir()
    path = folder / "lengths.jsonl"
    planted("length", 0.35, 300, 0)[0].to_pandas().to_json(path, orient="records", lines=True)
    before = path.read_bytes()
    (row,) = vm.survey(folder).to_pandas().to_dict("records")
    assert row["decoys_changed"] > 0.05
    assert row["distance_after"] < row["distance_before"]
    assert path.read_bytes() == before
