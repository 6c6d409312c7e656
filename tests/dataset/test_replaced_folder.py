"""A build killed, refused or racing with another leaves the output absent or whole, and nothing next to it."""

import errno
import hashlib
import os
import random
import resource
import signal
import threading
import time
from pathlib import Path

import pytest

from hf_vqa_mc.data.inventory import INVENTORY, configs_of, read_inventory
from hf_vqa_mc.dataset.folder import BUILT, write_folder
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io import atomic
from hf_vqa_mc.io.atomic import exchange, new_folder
from hf_vqa_mc.io.outputs import MANIFEST, FolderKind, check_output, read_manifest
from tests.dataset.fixtures import ABOUT, MADE_WITH, made_variants, tree_bytes
from tests.dataset.one_build import POINTS, start, start_whole
from tests.killed import finish

KILLS = int(os.environ.get("VQA_MC_KILLS", "4"))
"""How many builds are killed at random moments; the full run is VQA_MC_KILLS=30."""


def build(output, source="made", seed=0, **options):
    variants = made_variants("iou", seed=seed)
    return write_folder(output, source, variants, about=ABOUT, made_with=MADE_WITH, **options)


def seed_of(output):
    """Which of the builds, by a row of it; every file must be there, and be the one that the inventory names."""
    inventory = read_inventory(output)
    assert inventory
    listed = {name: sha for config in configs_of(inventory).values() for name, sha in config["files"].items()}
    found = {path: hashlib.sha256(content).hexdigest() for path, content in tree_bytes(output).items()}
    assert (
        set(found)
        == {*listed, INVENTORY, "README.md", "croissant.json"}
        == set(read_manifest(output / MANIFEST)["files"])
    )
    assert listed == {path: found[path] for path in listed}
    return {
        name: config["example"]["choices"] for name, config in configs_of(inventory).items() if "example" in config
    }


def siblings(output):
    return sorted(path.name for path in output.parent.iterdir() if path != output)


@pytest.fixture
def output(tmp_path):
    (tmp_path / "here").mkdir()
    return tmp_path / "here" / "vqa_mc"


@pytest.mark.parametrize(
    "point",
    [pytest.param(one, marks=[] if one in ("card", "between renames") else pytest.mark.slow) for one in POINTS],
)
def test_a_build_killed_at_any_step_leaves_the_old_or_the_new_folder(output, point):
    assert finish(start(output, "made", 0)) == 0
    old = seed_of(output)
    assert finish(start(output, "made", 1, point)) == -signal.SIGKILL
    if point == "between renames":
        assert not output.exists()
    else:
        assert (seed_of(output) == old) == (not point.startswith("after"))
    build(output, "other")
    assert {*seed_of(output)} == {"made_iou", "made_qou", "made_iou_qou", "other_iou"}
    assert siblings(output) == []


@pytest.fixture
def works(output, cocoqa_files, glove_file):
    """What can be killed: writing a folder with images, and a whole build from the publisher's files."""
    return {
        "folder": lambda seed, folder=output: start(folder, "made", seed),
        "whole": lambda seed, folder=output: start_whole(folder, cocoqa_files, glove_file, seed),
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["folder", "whole"])
def test_builds_killed_at_random_moments_leave_the_output_absent_or_complete(output, works, kind):
    work = works[kind]
    assert finish(work(0, output.with_name("warmed up"))) == 0
    process, began = work(0, output.with_name("whole")), time.monotonic()
    assert finish(process) == 0
    duration = time.monotonic() - began
    configs = {*seed_of(output.with_name("whole"))}
    rng = random.Random(5)
    for number in range(KILLS):
        process = work(number)
        time.sleep(rng.uniform(0, duration))
        process.kill()
        finish(process)
        if output.exists():
            assert {*seed_of(output)} == configs
    assert finish(work(100)) == 0
    assert siblings(output) == ["warmed up", "whole"]
    assert seed_of(output).keys() == configs
    assert seed_of(output) != seed_of(output.with_name("whole"))


def test_two_builds_into_one_folder_both_end_up_in_it(output):
    processes = [start(output, source, 0) for source in ("one", "other")]
    assert [finish(process) for process in processes] == [0, 0]
    assert len(seed_of(output)) == 6
    assert siblings(output) == []


def test_where_the_kernel_cannot_exchange_two_renames_do(output, monkeypatch):
    monkeypatch.setattr(atomic, "exchange", lambda one, other: False)
    build(output)
    build(output, "other")
    assert {*seed_of(output)} == {"made_iou", "other_iou"}
    assert siblings(output) == []


def test_a_failure_between_the_two_renames_puts_the_old_folder_back(output, monkeypatch):
    build(output)
    old = tree_bytes(output)
    rename, failed = Path.rename, []

    def once(path, target):
        if path.name == "new":
            failed.append(path)
            raise OSError(errno.EIO, "broken disk")
        return rename(path, target)

    monkeypatch.setattr(atomic, "exchange", lambda one, other: False)
    monkeypatch.setattr(Path, "rename", once)
    with pytest.raises(OSError, match="broken disk"):
        build(output, seed=1)
    assert failed
    assert tree_bytes(output) == old
    assert siblings(output) == []


def test_the_kernel_exchanges_two_folders(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).write_text("")
    if not exchange(tmp_path / "one", tmp_path / "other"):
        pytest.skip("this kernel or file system has no RENAME_EXCHANGE")
    assert (tmp_path / "one" / "other").exists()
    assert (tmp_path / "other" / "one").exists()


@pytest.mark.parametrize("content", ["", "{}", '{"written_by": "someone"}', "[1]"])
def test_a_folder_of_someone_else_is_refused_and_not_touched(output, content):
    output.mkdir()
    (output / "thesis.tex").write_text("years of work")
    if content:
        (output / INVENTORY).write_text(content)
    before = tree_bytes(output)
    with pytest.raises(InputError, match=r"vqa_mc is a folder that vqa-mc build did not write"):
        build(output)
    assert tree_bytes(output) == before
    assert siblings(output) == []


def test_what_is_no_output_is_refused(output, monkeypatch):
    output.mkdir()
    (output / INVENTORY).write_text('{"written_by": "hf_vqa_mc", "layout": 99}')
    with pytest.raises(InputError, match=r"a newer hf_vqa_mc wrote this folder; upgrade"):
        build(output)
    with pytest.raises(InputError, match=r"there is no folder .*nowhere; create it first"):
        check_output(output.parent / "nowhere" / "vqa_mc", BUILT)
    (output / INVENTORY).write_text("a file")
    with pytest.raises(InputError, match="is a file; give a folder"):
        build(output / INVENTORY)
    assert (output / INVENTORY).read_text() == "a file"
    monkeypatch.chdir(output)
    with pytest.raises(InputError, match="is the current directory"):
        check_output(output, BUILT)


def test_an_empty_folder_is_as_good_as_none_and_removed_files_are_no_reason_to_refuse(output):
    output.mkdir()
    build(output)
    (output / "README.md").unlink()
    build(output)
    assert {*seed_of(output)} == {"made_iou"}


def test_the_output_may_be_a_link(output):
    real = output.with_name("real")
    build(real)
    output.symlink_to("real")
    build(output, "other")
    assert output.is_symlink()
    assert {*seed_of(real)} == {"made_iou", "other_iou"}


def test_files_of_others_in_the_folder_are_never_removed(output):
    build(output)
    foreign = {".gitattributes": b"lfs", "notes/mine.txt": b"mine", "made_iou/mine.txt": b"mine"}
    for name, content in foreign.items():
        (output / name).parent.mkdir(exist_ok=True)
        (output / name).write_bytes(content)
    (output / "link").symlink_to(output.parent)
    before = tree_bytes(output)
    with pytest.raises(InputError, match=r"did not write: \.gitattributes and 3 more; .* with --overwrite"):
        build(output, "other")
    assert tree_bytes(output) == before
    for source in ("other", "made"):
        build(output, source, seed=1, overwrite=True)
    found = tree_bytes(output)
    assert {name: found[name] for name in foreign} == foreign
    assert (output / "link").is_symlink()
    assert not foreign.keys() & read_manifest(output / MANIFEST)["files"].keys()
    assert {"made_iou", "other_iou"} <= {path.name for path in output.iterdir()}


def test_a_file_of_others_with_the_name_of_a_new_one_is_never_replaced(output):
    build(output)
    (output / "other_iou").mkdir()
    (output / "other_iou" / "train-00000-of-00001.parquet").write_text("years of work")
    before = tree_bytes(output)
    with pytest.raises(InputError, match=r"other_iou/train.* would be replaced, but vqa-mc did not write it; move it"):
        build(output, "other", overwrite=True)
    assert tree_bytes(output) == before


def test_changed_files_are_replaced_only_if_asked_for(output):
    build(output)
    card = output / "README.md"
    text = card.read_text()
    card.write_text(text.swapcase())  # of the same size
    with pytest.raises(InputError, match=r"changed after vqa-mc build wrote them: README.md; .*--overwrite"):
        build(output)
    assert card.read_text() == text.swapcase()
    build(output, overwrite=True)
    assert card.read_text() == text


def test_a_folder_from_the_hub_is_extended_though_it_has_no_manifest(output):
    build(output)
    (output / MANIFEST).unlink()
    (output / ".gitattributes").write_text("*.parquet filter=lfs")
    build(output, "other", overwrite=True)
    assert {*configs_of(read_inventory(output))} == {"made_iou", "other_iou"}
    (output / MANIFEST).unlink()
    (output / "made_iou" / "train-00000-of-00001.parquet").write_text("damaged")
    (output / ".gitattributes").unlink()
    with pytest.raises(InputError, match="changed after"):
        build(output, "other")


def test_a_folder_of_another_command_is_refused(output):
    with new_folder(output, FolderKind("vqa-mc remedy")) as new:
        (new.tree / "a").write_text("a")
        new.publish()
    with pytest.raises(InputError, match="is a folder that vqa-mc remedy wrote; choose another"):
        build(output, overwrite=True)


def test_kept_files_are_linked_or_copied(output, monkeypatch):
    kept = output / "made_iou" / "train-00000-of-00001.parquet"
    build(output)
    inode = kept.stat().st_ino
    build(output, "other")
    assert kept.stat().st_ino == inode

    def refused(*_, **__):
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refused)
    content = kept.read_bytes()
    build(output, "third")
    assert kept.stat().st_ino != inode
    assert kept.read_bytes() == content


def test_a_limit_on_file_size_is_one_clear_line_and_keeps_the_old_folder(output):
    build(output)
    old = tree_bytes(output)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"File too large.*vqa_mc") as error:
            build(output, "other")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert error.value.errno == errno.EFBIG
    assert tree_bytes(output) == old
    assert siblings(output) == []


def test_no_permission_is_one_clear_line_before_any_work(output, monkeypatch):
    def refused(*_, **__):
        raise PermissionError(errno.EACCES, "Permission denied", str(output.parent / ".vqa_mc.abcdefgh.partial"))

    monkeypatch.setattr(atomic.tempfile, "mkdtemp", refused)
    questions = []

    def variants():
        questions.append(True)
        yield from made_variants("iou")

    with pytest.raises(OSError, match="Permission denied"):
        write_folder(output, "made", variants(), about=ABOUT, made_with=MADE_WITH)
    assert not questions
    assert siblings(output) == []


def test_builds_in_threads_of_one_process_do_not_meet(output):
    threads = [threading.Thread(target=build, args=(output, name)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {*seed_of(output)} == {"one_iou", "two_iou", "three_iou"}
    assert siblings(output) == []
