"""Work folders of builds: one build at a time, and only what a build wrote is removed, whenever it is killed."""

import fsspec
import pytest
from fsspec.implementations.local import LocalFileSystem

import hf_vqa_mc as vm
from hf_vqa_mc.dataset import build
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.cluster import Storage, contains
from tests.dataset.fixtures import tree_bytes
from tests.dataset.own_triplets import write_inputs


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("inputs"), 400) | {"variants": "iou"}


def test_a_second_build_in_the_same_work_folder_is_refused_while_the_first_runs(inputs, tmp_path, monkeypatch):
    options = {"work": tmp_path / "work", **inputs}
    build_parts = build.build_parts

    def twice(*arguments):
        monkeypatch.setattr(build, "build_parts", build_parts)
        with pytest.raises(InputError, match=r"work: another build uses this folder; wait for it, or give another"):
            vm.build("triplets", output=tmp_path / "second", **options)
        return build_parts(*arguments)

    monkeypatch.setattr(build, "build_parts", twice)
    vm.build("triplets", output=tmp_path / "first", **options)
    assert {path.name for path in tmp_path.iterdir()} == {"first"}


def test_a_link_and_folders_of_the_user_stay(inputs, tmp_path):
    (tmp_path / "disk" / "empty").mkdir(parents=True)
    (tmp_path / "disk" / ".Trash").touch()
    (tmp_path / "work").symlink_to("disk")
    vm.build("triplets", output=tmp_path / "vqa_mc", work=tmp_path / "work", **inputs)
    assert (tmp_path / "work").is_symlink()
    assert {path.name for path in (tmp_path / "disk").iterdir()} == {"empty", ".Trash"}


@pytest.mark.slow
@pytest.mark.parametrize("location", ["disk", "store"])
def test_a_build_that_is_killed_while_its_work_folder_is_removed_can_be_repeated(
    location, inputs, tmp_path, monkeypatch
):
    work = str(tmp_path / "work") if location == "disk" else "memory://killed/work"
    files = LocalFileSystem if location == "disk" else type(fsspec.filesystem("memory"))
    options = {"output": tmp_path / "vqa_mc", "work": work, **inputs}
    remove = files.rm
    for survived in range(3):
        removals = []

        def dying(self, path, survived=survived, removals=removals, **given):
            removals.append(path)
            if len(removals) > survived:
                raise KeyboardInterrupt
            remove(self, path, **given)

        with monkeypatch.context() as patch:
            patch.setattr(files, "rm", dying)
            with pytest.raises(KeyboardInterrupt):
                vm.build("triplets", **options)
        finished = tree_bytes(tmp_path / "vqa_mc")
        vm.build("triplets", **options)
        assert tree_bytes(tmp_path / "vqa_mc") == finished
        assert not Storage(work).exists()


def test_the_output_is_never_in_the_input(inputs, tmp_path, monkeypatch):
    monkeypatch.chdir(inputs["data_dir"])
    before = sorted(inputs["data_dir"].iterdir())
    for largest_part in (None, 1_000):
        options = {**inputs, "data_dir": ".", "largest_part": largest_part}
        with pytest.raises(InputError, match="output=vqa_mc: it is in data_dir, whose files are the input; give"):
            vm.build("triplets", output="vqa_mc", **options)
    with pytest.raises(InputError, match="work=parts: it is in data_dir, whose files are the input; give"):
        vm.build("triplets", output=tmp_path / "vqa_mc", work="parts", **options)
    assert sorted(inputs["data_dir"].iterdir()) == before
    assert not contains(".", "s3://bucket/vqa_mc")


def test_a_source_does_not_replace_others_in_an_object_store(inputs, files):
    names = ["cocoqa_iou/train-00000-of-00001.parquet", "triplets_qou/train-00000-of-00001.parquet", "README.md"]
    for name in names:
        files.pipe_file(f"/both/vqa_mc/{name}", b"another dataset")
    with pytest.raises(InputError, match=r"memory://both/vqa_mc: holds cocoqa, which triplets would replace; in an"):
        vm.build("triplets", output="memory://both/vqa_mc", overwrite=True, **inputs)
    assert len(files.find("/both")) == len(names)
