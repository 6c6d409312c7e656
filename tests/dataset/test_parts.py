"""Builds in parts: as a build of the whole where there is one part; complete, exact in their figures, resumable."""

import json
import os
import shutil
import signal
import time
from collections import Counter
from itertools import chain
from multiprocessing.connection import Connection
from pathlib import Path

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.dataset import parts
from hf_vqa_mc.dataset.build_inputs import put_vectors, stored_vectors
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.cluster import Storage
from hf_vqa_mc.text.normalisation import comparable
from hf_vqa_mc.text.word_vectors import WordVectors
from tests.dataset.fixtures import tree_bytes
from tests.dataset.own_triplets import rows_of, statistics_of, write_inputs
from tests.killed import started


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def built(inputs, tmp_path_factory):
    """A build in five parts."""
    output = tmp_path_factory.mktemp("parts") / "vqa_mc"
    vm.build("triplets", output=output, **inputs)
    return output


def test_one_part_is_the_build_of_the_whole(inputs, tmp_path):
    vm.build("triplets", output=tmp_path / "whole", **{**inputs, "largest_part": None})
    vm.build("triplets", output=tmp_path / "part", **{**inputs, "largest_part": 100_000})
    whole, part = (json.loads((tmp_path / name / "statistics.json").read_text()) for name in ("whole", "part"))
    assert part["sources"]["triplets"]["made_with"]["settings"].pop("largest_part") == 100_000
    assert part == whole
    same = {name: content for name, content in tree_bytes(tmp_path / "whole").items() if name.endswith(".parquet")}
    assert len(same) == 9
    assert {name: tree_bytes(tmp_path / "part")[name] for name in same} == same


@pytest.mark.slow
def test_every_triplet_is_in_one_part_with_its_image_and_the_order_of_the_dataset_is_kept(built, inputs):
    given = pa.concat_tables(pq.read_table(path) for path in sorted(inputs["data_dir"].iterdir())).to_pylist()
    ids = {split: [row["question_id"] for row in rows] for split, rows in rows_of(built).items()}
    assert sorted(chain.from_iterable(ids.values())) == sorted(row["question_id"] for row in given)
    order = {row["question_id"]: number for number, row in enumerate(given)}
    image = {row["question_id"]: row["image_id"] for row in given}
    parts_of = {}
    for path in sorted((built / "triplets_iou").glob("*.parquet")):
        found = pq.read_table(path)["question_id"].to_pylist()
        assert found == sorted(found, key=order.__getitem__)
        for one in found:
            parts_of.setdefault(image[one], set()).add(path.name)
    assert len({name for names in parts_of.values() for name in names}) == 15
    assert all(len(names) == 1 for names in parts_of.values())


def test_decoys_come_from_the_rows_part(built):
    for path in sorted((built / "triplets_qou").glob("train-*.parquet")):
        number = path.name.split("-")[1]
        files = (built / "triplets_qou").glob(f"*-{number}-of-*.parquet")
        rows = [row for file in files for row in pq.read_table(file).to_pylist()]
        targets = {row["choices"][row["label"]] for row in rows}
        decoys = {
            text for row in rows for text, mark in zip(row["choices"], row["choice_fallback"], strict=True) if not mark
        }
        assert decoys <= targets


def test_the_figures_of_all_parts_are_those_of_their_rows(built):
    found, rows = statistics_of(built), rows_of(built)
    assert found["rows"] == {split: len(some) for split, some in rows.items()}
    assert found["choices_per_row"] == {
        split: {str(size): n for size, n in Counter(len(row["choices"]) for row in some).items()}
        for split, some in rows.items()
    }
    as_target, as_decoy = Counter(), Counter()
    for row in rows["train"]:
        for number, text in enumerate(row["choices"]):
            (as_target if number == row["label"] else as_decoy)[comparable(text)] += 1
    assert found["neutrality"]["unique_targets"] == len(as_target)
    assert found["neutrality"]["never_a_decoy"] == sum(text not in as_decoy for text in as_target)
    k = sorted(len(row["choices"]) - 1 for row in rows["train"])[len(rows["train"]) // 2]

    def likelihood(text):
        target, decoy = as_target[comparable(text)] * k, as_decoy[comparable(text)]
        return target / (target + decoy) if target + decoy else 0.5

    for split in ("validation", "test"):
        picked = 0.0
        for row in rows[split]:
            scores = [likelihood(text) for text in row["choices"]]
            best = [number for number, score in enumerate(scores) if score == max(scores)]
            picked += (row["label"] in best) / len(best)
        expected = {"accuracy": picked / len(rows[split]), "chance": 1 / 7}
        assert found["prior_rule"][split] == pytest.approx(
            expected, abs=0.02 * (len(found["choices_per_row"][split]) > 1) + 1e-9
        )


def test_the_card_says_how_the_questions_were_divided(built):
    card = (built / "README.md").read_text()
    assert "divided by image into random parts of about 1,000; decoys come from the question's own part" in card


def stored(files, url):
    """The files below a URL by name."""
    folder = url.removeprefix("memory:/")
    return {name.removeprefix(f"{folder}/"): files.cat_file(name) for name in files.find(folder)}


@pytest.mark.slow
def test_an_object_store_gets_the_same_files_and_is_not_replaced_without_overwrite(built, inputs, files):
    result = vm.build("triplets", output="memory://bench/vqa_mc", **inputs)
    assert result.url == "memory://bench/vqa_mc"
    assert stored(files, result.url) == tree_bytes(built)
    assert not files.exists("/bench/vqa_mc.work")
    with pytest.raises(InputError, match=r"memory://bench/vqa_mc: holds a dataset already; .* overwrite=True"):
        vm.build("triplets", output="memory://bench/vqa_mc", **inputs)
    vm.build("triplets", output="memory://bench/vqa_mc", overwrite=True, **{**inputs, "variants": "iou"})
    names = {name.partition("/")[0] for name in stored(files, result.url)}
    assert names == {"README.md", "croissant.json", "statistics.json", "triplets_iou"}
    with pytest.raises(InputError, match="memory://bench/vqa_mc: download this folder first"):
        result.load()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["write", "copy"])
def test_an_interrupted_upload_resumes(built, inputs, files, monkeypatch, name):
    store = getattr(Storage, name)

    def interrupted(self, name, *more):
        if self.location.endswith("vqa_mc.partial") and name == "README.md":
            raise KeyboardInterrupt
        store(self, name, *more)

    with monkeypatch.context() as patch:
        patch.setattr(Storage, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            vm.build("triplets", output="memory://half/vqa_mc", **inputs)
    assert [name for name in files.find("/half/vqa_mc.partial") if name.endswith(".parquet")]
    assert not files.exists("/half/vqa_mc/README.md")
    vm.build("triplets", output="memory://half/vqa_mc", **inputs)
    assert stored(files, "memory://half/vqa_mc") == tree_bytes(built)


@pytest.mark.slow
def test_an_upload_that_fails_leaves_the_old_dataset(inputs, files, monkeypatch):
    write = Storage.write

    def failing(self, name, content):
        if name == "statistics.json":
            raise OSError("the network is gone")
        write(self, name, content)

    vm.build("triplets", output="memory://old/vqa_mc", **inputs)
    before = stored(files, "memory://old/vqa_mc")
    monkeypatch.setattr(Storage, "write", failing)
    with pytest.raises(OSError, match="the network is gone"):
        vm.build("triplets", output="memory://old/vqa_mc", overwrite=True, seed=1, **inputs)
    assert stored(files, "memory://old/vqa_mc") == before


def test_missing_images_are_named_before_parts_are_built(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "build_part", lambda *_: pytest.fail("built"))
    (tmp_path / "images").mkdir()
    with pytest.raises(InputError, match="1500 of 1500 missing"):
        vm.build("triplets", output=tmp_path / "vqa_mc", images=tmp_path / "images", **inputs)


def test_a_store_that_refuses_writes_is_named_before_work_starts(inputs, monkeypatch):
    def refuse(self, path, value, **kwargs):
        raise PermissionError("AccessDenied")

    monkeypatch.setattr(type(fsspec.filesystem("memory")), "pipe_file", refuse)
    with pytest.raises(InputError, match=r"memory://bench/vqa_mc: cannot be written \(.*AccessDenied\)"):
        vm.build("triplets", output="memory://bench/vqa_mc", **inputs)


def build_slowly(parent: Connection, output: Path, inputs: dict) -> None:
    def slow(location: str, part: int) -> None:
        build_part(location, part)
        time.sleep(30 if part == 2 else 0)

    build_part = parts.build_part
    parts.build_part = slow
    parent.send("ready")
    vm.build("triplets", output=output, **inputs)


@pytest.mark.slow
def test_a_killed_build_resumes_with_the_parts_that_it_finished(built, inputs, tmp_path):
    parent = started(build_slowly, tmp_path / "vqa_mc", inputs)
    work = tmp_path / "vqa_mc.work"
    while not (work / "part-00002" / "built.json").exists():
        time.sleep(0.05)
    os.kill(parent.pid, signal.SIGKILL)
    parent.join()
    finished = {path: path.stat().st_mtime_ns for path in work.rglob("built.json")}
    assert len(finished) == 3
    assert not (tmp_path / "vqa_mc").exists()
    with pytest.raises(
        InputError, match=r"vqa_mc.work holds an unfinished build with seed 0, now 1; repeat that build"
    ):
        vm.build("triplets", output=tmp_path / "vqa_mc", seed=1, **inputs)
    seen = {}
    for path in inputs["data_dir"].iterdir():
        path.touch()

    def watched(location, part):
        seen[part] = (work / f"part-{part:05d}" / "built.json").exists()
        build_part(location, part)

    build_part = parts.build_part
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "build_part", watched)
        vm.build("triplets", output=tmp_path / "vqa_mc", **inputs)
    assert seen == {0: True, 1: True, 2: True, 3: False, 4: False}
    assert tree_bytes(tmp_path / "vqa_mc") == tree_bytes(built)
    assert not work.exists()


def with_row(**changes):
    """The table with its first row once more, changed."""
    return lambda table: pa.concat_tables(
        [table, pa.Table.from_pylist([table.to_pylist()[0] | changes], table.schema)]
    )


def not_utf8(table):
    damaged = pa.array([b"\xff what"] * table.num_rows, pa.binary())
    text = pa.Array.from_buffers(pa.string(), len(damaged), damaged.buffers())
    return table.set_column(table.column_names.index("question"), "question", text)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (with_row(image_id="other"), r"question_id occurs already in record 1"),
        (with_row(question_id="new", target=None), r"target is empty \(null\)"),
        (with_row(question_id="new", question=" "), r"question is empty"),
        (not_utf8, "question holds text that is not UTF-8"),
        (
            lambda table: table.append_column("question", table["question"]),
            "more than one column question; remove the",
        ),
    ],
)
def test_triplets_that_cannot_be_used_are_named_and_nothing_is_written(change, message, inputs, tmp_path):
    shutil.copytree(inputs["data_dir"], tmp_path / "data")
    path = tmp_path / "data" / "train-00000.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    with pytest.raises(InputError, match=message):
        vm.build("triplets", output=tmp_path / "vqa_mc", **{**inputs, "data_dir": tmp_path / "data"})
    assert [one.name for one in tmp_path.iterdir()] == ["data"]


def test_a_question_id_in_two_files_is_refused(inputs, tmp_path):
    shutil.copytree(inputs["data_dir"], tmp_path / "data")
    shutil.copy(tmp_path / "data" / "train-00000.parquet", tmp_path / "data" / "train-00001.parquet")
    with pytest.raises(InputError, match=r"triplets: 2,250 rows repeat the question_id of another row"):
        vm.build("triplets", output=tmp_path / "vqa_mc", **{**inputs, "data_dir": tmp_path / "data"})
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_locations_with_other_files_are_refused_and_kept(inputs, files, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "thesis.txt").write_text("years of work")
    with pytest.raises(InputError, match=r"notes holds other files; give a new folder with work"):
        vm.build("triplets", output=tmp_path / "vqa_mc", work=tmp_path / "notes", **inputs)
    assert (tmp_path / "notes" / "thesis.txt").read_text() == "years of work"
    files.pipe_file("/bench/vqa_mc/thesis.txt", b"years of work")
    with pytest.raises(InputError, match=r"holds files that vqa-mc build did not write: thesis.txt; move them"):
        vm.build("triplets", output="memory://bench/vqa_mc", overwrite=True, **inputs)
    assert stored(files, "memory://bench/vqa_mc") == {"thesis.txt": b"years of work"}


def test_what_a_killed_command_left_of_a_write_is_not_read(inputs, built, tmp_path, monkeypatch):
    def fail(*arguments, **options):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("hf_vqa_mc.dataset.build.build_parts", fail)
        with pytest.raises(KeyboardInterrupt):
            vm.build("triplets", output=tmp_path / "vqa_mc", **inputs)
    folder = tmp_path / "vqa_mc.work" / "part-00002"
    shutil.copy(folder / "triplets-00000.parquet", folder / "triplets-00000.parquet.0123.partial")
    (folder / "triplets-00000.parquet.4567.partial").write_bytes(b"PAR1")
    vm.build("triplets", output=tmp_path / "vqa_mc", **inputs)
    assert tree_bytes(tmp_path / "vqa_mc") == tree_bytes(built)


def test_parts_in_an_object_store_make_a_folder_on_disk(built, inputs, files, tmp_path):
    vm.build("triplets", output=tmp_path / "vqa_mc", work="memory://bench/parts", **inputs)
    assert tree_bytes(tmp_path / "vqa_mc") == tree_bytes(built)
    assert not files.exists("/bench/parts")


def test_a_long_word_does_not_take_its_space_for_each_word(tmp_path):
    words = ["a" * 10**6, *(f"word{n}" for n in range(20_000))]
    vectors = WordVectors.of("some", "0", words, np.ones((len(words), 2), np.float32))
    put_vectors(Storage(str(tmp_path)), vectors, words)
    found = stored_vectors(str(tmp_path), "a state")
    assert found.rows(words)[1].all()
    assert (tmp_path / "vectors.npz").stat().st_size < 2 * 10**6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"orig": "made"}, "cannot be used with orig made"),
        ({"variants": "sets"}, "cannot be used with sets: closed sets are formed of all rows"),
        ({"largest_part": 10}, "largest_part=10: expected 1,000 or more"),
        ({"largest_part": None, "work": "here"}, "work is used only with largest_part; add it"),
        ({"work": "vqa_mc/work", "output": "vqa_mc"}, "neither it nor the output may be in the other"),
        ({"work": ""}, "neither it nor the output may be in the other"),
        ({"work": "memory://bench", "output": "memory://bench/vqa_mc"}, "work=memory://bench: give a folder in the"),
        (
            {"work": "memory://a/b", "output": "memory://a/b/c"},
            "neither it nor the output may be in the other",
        ),
        ({"output": "memory://me:secret@bench/vqa_mc"}, "output: a URL must not hold a user or password"),
        ({"address": "auto"}, "address is used only with executor ray"),
        (
            {"executor": "ray", "largest_part": None},
            "builds parts of the dataset; add largest_part",
        ),
        ({"output": "nofs://bench/vqa_mc"}, "nofs://bench/vqa_mc: Protocol not known"),
        ({"output": "file:///bench/vqa_mc"}, r"output=file:///bench/vqa_mc: give a path instead of a URL"),
    ],
)
def test_options_that_do_not_go_together_are_named(options, message, inputs, tmp_path):
    with pytest.raises(InputError, match=message):
        if options.get("work") == "":
            options = {"work": str(tmp_path)}
        vm.build("triplets", **{"output": tmp_path / "vqa_mc", **inputs, **options})
    assert not list(tmp_path.iterdir())
