"""A benchmark with other choices is written as the one that was read, whole or not at all."""

import csv
import gzip
import json
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, List, Value, load_dataset

from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.dataset import writing
from hf_vqa_mc.dataset.writing import write_benchmark
from hf_vqa_mc.errors import InputError
from tests.data.shapes import picture
from tests.dataset.fixtures import ABOUT, write_made

RECORDS = [
    {"id": 1, "question": 'a, "b"\n</script>', "choices": ["x", "y"], "label": 0, "more": {"deep": [1, None]}},
    {"id": 2, "question": "🐈", "choices": ["x" * 100_000, "y", "z"], "label": 2, "more": None},
    {"id": 3, "question": "\x00", "choices": ["x", "y"], "label": 1, "more": "text", "late": 1.5},
]


def rewritten(benchmark):
    """Every split with its choices in another order and one more."""
    tables = {}
    for name, split in benchmark.splits.items():
        rows = split.rows.to_pylist()
        choices = [["new", *reversed(row["choices"])] for row in rows]
        labels = [len(row["choices"]) - row["label"] for row in rows]
        tables[name] = split, choices, labels
    return {name: benchmark.with_choices(*each) for name, each in tables.items()}


def check_again(benchmark, again):
    for name, split in benchmark.splits.items():
        new = again.splits[name].rows.to_pylist()
        for row, before in zip(new, split.rows.to_pylist(), strict=True):
            assert row["choices"] == ["new", *reversed(before["choices"])]
            assert row["choices"][row["label"]] == before["choices"][before["label"]]
            assert (row["question"], row["question_id"]) == (before["question"], before["question_id"])


@pytest.mark.parametrize("name", ["b.jsonl", "b.json", "b.jsonl.gz", "keyed.json"])
def test_json_is_unchanged(name, tmp_path):
    text = json.dumps(RECORDS) if name == "b.json" else "\n".join(map(json.dumps, RECORDS))
    text = json.dumps({"version": 1, "data": RECORDS}) if name == "keyed.json" else text
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    benchmark = read_benchmark(str(path))
    output = tmp_path / f"new_{name}"
    assert write_benchmark(benchmark, rewritten(benchmark), output) == [output]
    check_again(benchmark, read_benchmark(str(output)))
    content = gzip.decompress(output.read_bytes()) if name.endswith(".gz") else output.read_bytes()
    found = list(map(json.loads, content.decode().splitlines())) if "jsonl" in name else json.loads(content)
    if name == "keyed.json":
        assert found["version"] == 1
        found = found["data"]
    for record, before in zip(found, RECORDS, strict=True):
        assert {**record, **{key: before[key] for key in ("choices", "label")}} == {"late": None, **before}


@pytest.mark.slow
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_csv_is_unchanged(delimiter, tmp_path):
    path = tmp_path / ("b.csv" if delimiter == "," else "b.tsv")
    rows = [["index", "question", "A", "B", "C", "answer", "image"],
            ["007", 'a, "b"\n<b>', "1.0", "NaN", "", "B", "A" * 10_000_000],
            ["008", "\t🐈", "null", "y", "z", "C", "007"]]  # fmt: skip
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter, lineterminator="\n").writerows(rows)
    benchmark = read_benchmark(str(path))
    assert benchmark.test.rows["choices"].to_pylist() == [["1.0", "NaN"], ["null", "y", "z"]]
    same = write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / f"same{path.suffix}")
    assert same[0].read_bytes() == path.read_bytes()
    output = tmp_path / f"new{path.suffix}"
    write_benchmark(benchmark, rewritten(benchmark), output)
    check_again(benchmark, read_benchmark(str(output)))
    with pytest.raises(InputError, match="exists; replace it with --overwrite, or choose another"):
        write_benchmark(benchmark, rewritten(benchmark), output)


def test_a_parquet_file_keeps_types_and_features(tmp_path):
    features = Features({"question": Value("string"), "choices": List(Value("string")), "label": Value("int8"),
                         "image": Image(), "level": ClassLabel(names=["easy", "hard"])})  # fmt: skip
    rows = {"question": ["a", "b"], "choices": [["x", "y"]] * 2, "label": [0, 1], "level": [1, 0],
            "image": [{"bytes": picture("red"), "path": None}] * 2}  # fmt: skip
    Dataset.from_dict(rows, features=features).to_parquet(tmp_path / "test.parquet")
    benchmark = read_benchmark(str(tmp_path / "test.parquet"))
    output = tmp_path / "new.parquet"
    for overwrite in (False, True):
        write_benchmark(benchmark, rewritten(benchmark), output, overwrite=overwrite)
    check_again(benchmark, read_benchmark(str(output)))
    assert Dataset.from_parquet(str(output), cache_dir=str(tmp_path / "cache")).features == features
    assert pq.read_schema(output).field("label").type == pa.int8()


@pytest.fixture
def hub_like(tmp_path):
    """A folder as push_to_hub leaves it, with a test split without labels."""
    features = Features({"qid": Value("string"), "question": Value("large_string"), "A": Value("string"),
                         "B": Value("string"), "answer": Value("string"), "image": Image()})  # fmt: skip
    rows = {"qid": ["1", "2"], "question": ["a", "b"], "A": ["x", "u"], "B": ["y", "v"], "answer": ["A", "B"],
            "image": [{"bytes": picture("red"), "path": None}] * 2}  # fmt: skip
    splits = {name: Dataset.from_dict(rows, features=features) for name in ("train", "validation")}
    splits["test"] = Dataset.from_dict({**rows, "answer": ["", ""]}, features=features)
    folder = tmp_path / "theirs"
    for name, split in DatasetDict(splits).items():
        split.to_parquet(folder / "data" / f"{name}-00000-of-00001.parquet")
    return folder


def test_a_folder_comes_back_for_load_dataset(hub_like, tmp_path):
    benchmark = read_benchmark(str(hub_like))
    assert benchmark.evaluated == "validation"
    assert benchmark.left_out["test"].endswith("the labels are hidden (answer is '' in row 1)")
    with pytest.raises(InputError, match=r"hidden.*choose another split with split"):
        read_benchmark(str(hub_like), split="test")
    output = tmp_path / "remedied"
    files = write_benchmark(benchmark, rewritten(benchmark), output)
    assert [str(path.relative_to(output)) for path in files] == [
        "README.md", "statistics.json", "croissant.json", "default/train-00000-of-00001.parquet",
        "default/validation-00000-of-00001.parquet",
    ]  # fmt: skip
    loaded = load_dataset(str(output))
    assert list(loaded) == ["train", "validation"]
    assert loaded["train"].features["image"] == Image()
    assert loaded["train"][0]["image"].size == (40, 40)
    assert loaded["train"].column_names == ["qid", "question", "A", "B", "C", "answer", "image"]
    again = read_benchmark(str(output))
    check_again(benchmark, again)
    assert again.train.images.read(0) == (picture("red"),)
    first = {path: path.read_bytes() for path in files}
    write_benchmark(benchmark, rewritten(benchmark), output)
    assert {path: path.read_bytes() for path in files} == first


def test_inputs_and_foreign_files_are_never_replaced(hub_like, tmp_path):
    benchmark = read_benchmark(str(hub_like))
    tables = rewritten(benchmark)
    for output in (hub_like, hub_like / "in", tmp_path):
        with pytest.raises(InputError, match="would replace or change an input"):
            write_benchmark(benchmark, tables, output)
    somebodys = tmp_path / "somebodys"
    somebodys.mkdir()
    (somebodys / "thesis.txt").write_text("")
    with pytest.raises(InputError, match="is a folder that"):
        write_benchmark(benchmark, tables, somebodys)
    built = tmp_path / "built"
    write_made(built, "iou")
    with pytest.raises(InputError, match="is a folder that vqa-mc build wrote; choose another"):
        write_benchmark(benchmark, tables, built)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["built", "somebodys", "theirs"]


def test_our_own_folder_is_written_in_our_own_schema_with_its_images(tmp_path):
    built = write_made(tmp_path / "built", "iou", source="cocoqa", images=True)
    benchmark = read_benchmark(str(built), "cocoqa_iou")
    output = tmp_path / "remedied"
    write_benchmark(benchmark, rewritten(benchmark), output)
    again = read_benchmark(str(output))
    check_again(benchmark, again)
    assert again.test.images.read(0) == benchmark.test.images.read(0)
    before, after = (load_dataset(str(folder), "cocoqa_iou") for folder in (built, output))
    assert before["test"].features == after["test"].features
    assert load_dataset(str(output), "cocoqa_images")["images"][0]["image"].size == (8, 8)


def test_pictures_in_files_are_put_into_the_written_rows(tmp_path):
    folder = tmp_path / "theirs" / "test"
    folder.mkdir(parents=True)
    rows = []
    for number, colour in enumerate(("red", "blue")):
        (folder / f"{number}.png").write_bytes(picture(colour))
        rows.append({"file_name": f"{number}.png", "question": "a", "choices": ["x", "y"], "label": number})
    (folder / "metadata.jsonl").write_text("\n".join(map(json.dumps, rows)))
    benchmark = read_benchmark(str(tmp_path / "theirs"))
    assert benchmark.test.images.read(1) == (picture("blue"),)
    write_benchmark(benchmark, rewritten(benchmark), tmp_path / "remedied")
    shutil.rmtree(tmp_path / "theirs")
    again = read_benchmark(str(tmp_path / "remedied"))
    assert again.test.images.read(1) == (picture("blue"),)


def test_a_killed_write_keeps_the_old_folder(hub_like, tmp_path):
    benchmark = read_benchmark(str(hub_like))
    output = tmp_path / "remedied"
    write_benchmark(benchmark, rewritten(benchmark), output)
    before = {path: path.read_bytes() for path in output.rglob("*.*")}
    with pytest.raises(RuntimeError), pytest.MonkeyPatch.context() as patch:
        patch.setattr(writing, "_folder_card", lambda *args: (_ for _ in ()).throw(RuntimeError("killed")))
        write_benchmark(benchmark, {"train": benchmark.train.original}, output)
    assert {path: path.read_bytes() for path in output.rglob("*.*")} == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["remedied", "theirs"]


def test_integers_and_keys_of_json_are_unchanged(tmp_path):
    first = {"question": "a", "choices": ["x", "y"], "label": 0, "score": 1, "notes": [{"a": 1}]}
    rows = [first, {**first, "label": 1, "score": 2.5, "notes": [{"b": 2}, "text"]}]
    path, output = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    benchmark = read_benchmark(str(path))
    write_benchmark(benchmark, {"test": benchmark.test.original}, output)
    assert output.read_text() == "\n".join(map(json.dumps, rows)) + "\n"


@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_new_columns_of_lists_are_json_in_csv_and_come_back(delimiter, tmp_path):
    path = tmp_path / ("b.csv" if delimiter == "," else "b.tsv")
    rows = [["question", "A", "B", "answer"], ["a", "x", "it's", "B"], ["b", "u", "v", "A"], ["c", "u", "v", "A"]]
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    benchmark = read_benchmark(str(path))
    kinds = [["iou", "target"], ["target", "orig"], None]
    more = {"choice_kinds": pa.array(kinds, pa.list_(pa.string())), "choice_fallback": pa.array([[True, False]] * 3),
            "choice_origins": pa.array([["question “a”, test", "target"]] * 3)}  # fmt: skip
    written = benchmark.test.original
    for name, column in more.items():
        written = written.append_column(name, column)
    output = tmp_path / f"new{path.suffix}"
    write_benchmark(benchmark, {"test": written}, output)
    with output.open(newline="") as file:
        found = list(csv.DictReader(file, delimiter=delimiter))
    assert [row["choice_kinds"] for row in found] == ['["iou", "target"]', '["target", "orig"]', ""]
    assert json.loads(found[0]["choice_fallback"]) == [True, False]
    assert json.loads(found[0]["choice_origins"]) == ["question “a”, test", "target"]
    again = read_benchmark(str(output))
    assert again.test.rows["choice_kinds"].to_pylist() == [*kinds[:2], []]
    changed = again.with_choices(again.test, [["x", "new"], ["u", "v"], ["u", "v"]], [1, 0, 0])
    for name in more:
        assert changed[name].to_pylist() == ["[]", *again.test.original[name].to_pylist()[1:]]


def test_a_folder_is_extended_by_configs(hub_like, tmp_path):
    benchmark, output = read_benchmark(str(hub_like)), tmp_path / "remedied"
    for config in ("one", "two"):
        write_benchmark(benchmark, rewritten(benchmark), output, f"Note <b>{config}</b>:\n---\n# 12 & more.", config)
    first = {path: path.read_bytes() for path in (output / "one").iterdir()}
    write_benchmark(benchmark, {"train": benchmark.train.original}, output, config="two")
    assert {path: path.read_bytes() for path in (output / "one").iterdir()} == first
    assert [path.name for path in (output / "two").iterdir()] == ["train-00000-of-00001.parquet"]
    assert load_dataset(str(output), "one")["train"]["C"] == ["x", "u"]
    assert list(load_dataset(str(output), "two")) == ["train"]
    assert load_dataset(str(output)).keys() == {"train", "validation"}  # the first config is the default
    card = (output / "README.md").read_text()
    assert "## one" in card
    assert "labels are unchanged.\n\nNote \\<b\\>one\\</b\\>: --- \\# 12 \\& more.\n\n## " in card
    assert "two\\</b" not in card  # that config was replaced
    assert json.loads((output / "statistics.json").read_text())["configs"].keys() == {"one", "two"}


def test_a_config_of_another_benchmark_is_replaced_only_if_asked_for(hub_like, tmp_path):
    other, output = tmp_path / "other", tmp_path / "remedied"
    shutil.copytree(hub_like, other)
    benchmark = read_benchmark(str(hub_like))
    write_benchmark(benchmark, rewritten(benchmark), output)
    benchmark = read_benchmark(str(other))
    with pytest.raises(InputError, match="has the config default made from theirs default; replace it with"):
        write_benchmark(benchmark, rewritten(benchmark), output)
    write_benchmark(benchmark, rewritten(benchmark), output, overwrite=True)
    assert "# other, choices replaced" in (output / "README.md").read_text()


def test_licence_and_citation_of_a_built_source_are_kept(tmp_path):
    built = write_made(tmp_path / "vqa_mc", "iou")
    benchmark = read_benchmark(str(built), "made_iou")
    tables = {"test": benchmark.test.original}
    write_benchmark(benchmark, tables, tmp_path / "once")
    again = read_benchmark(str(tmp_path / "once"), "made_iou")
    write_benchmark(again, tables, tmp_path / "twice")
    for folder in ("once", "twice"):
        card = (tmp_path / folder / "README.md").read_text()
        assert "license: cc-by-4.0" in card and ABOUT["citation"] in card


@pytest.mark.parametrize("names", [["image"], ["file_name"], ["image_1", "image_2"], ["images"], ["image_id"]])
def test_images_named_by_a_table_are_in_the_folder_that_is_written(names, tmp_path):
    pictures = [picture(colour) for colour in ("red", "blue", "green")]
    for folder in ("pics", "more"):
        (tmp_path / folder).mkdir()
    for number, content in enumerate(pictures):
        (tmp_path / ("more" if number == 2 else "pics") / f"{number}.png").write_bytes(content)
    records = [{"question": "a", "choices": ["x", "y"], "label": number % 2} for number in range(3)]
    for number, record in enumerate(records):
        paths = [f"pics/{number}.png", f"pics/{1 - number}.png"] if number < 2 else ["2.png", None]
        values = [paths] if names == ["images"] else [str(number)] if names == ["image_id"] else paths
        record.update(zip(names, values, strict=False))
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, records)))
    images = tmp_path if names == ["image_id"] else tmp_path / "more"
    benchmark = read_benchmark(str(tmp_path / "rows.jsonl"), images=images)
    before = [benchmark.test.images.read(row) for row in range(3)]
    write_benchmark(benchmark, {"test": benchmark.test.original}, tmp_path / "written")
    for folder in ("pics", "more"):
        shutil.rmtree(tmp_path / folder)
    again = read_benchmark(str(tmp_path / "written"))
    assert [again.test.images.read(row) for row in range(3)] == before
    assert before[1][0] == pictures[1] and before[2][0] == pictures[2]
    (loaded,) = load_dataset(str(tmp_path / "written")).values()
    assert loaded.features["image" if names[0] in ("file_name", "image_id") else names[0]] in (Image(), List(Image()))
