"""Builds on a Ray cluster: the same bytes with any workers, whatever dies, and one line for what cannot work."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from PIL import Image

import hf_vqa_mc as vm
from hf_vqa_mc.dataset import part_builds, parts
from hf_vqa_mc.dataset.build import build_folder
from hf_vqa_mc.dataset.settings import BuildSettings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.io import executors
from hf_vqa_mc.io.executors import RayExecutor, open_executor
from hf_vqa_mc.verbs import features
from tests.dataset.fixtures import tree_bytes
from tests.dataset.own_triplets import write_inputs
from tests.sources.fixtures import write_easyvqa

ray = pytest.importorskip("ray", reason="Ray is not installed (extra ray)")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("inputs"))


@pytest.fixture(scope="module")
def built(inputs, tmp_path_factory):
    """The files of a local build."""
    folder = tmp_path_factory.mktemp("local")
    vm.build("triplets", output=folder / "vqa_mc", **inputs)
    return tree_bytes(folder / "vqa_mc")


def test_an_address_that_does_not_answer_is_named(inputs, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    for address, message in (
        (f"127.0.0.1:{port}", rf"--address 127.0.0.1:{port}: no answer \(.*refused\); is the Ray cluster running\?"),
        ("nonsense", "--address nonsense: expected auto, HOST:PORT or ray://HOST:PORT"),
    ):
        with pytest.raises(InputError, match=message):
            vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", address=address, **inputs)
    assert not list(tmp_path.iterdir())


def command(inputs: dict, output: Path, start: str, *options: str) -> subprocess.CompletedProcess:
    """The command in a process of its own, after ``start``."""
    code = (
        f"import runpy, signal; signal.signal(signal.SIGINT, signal.default_int_handler); {start}; "
        "runpy.run_module('hf_vqa_mc', run_name='__main__')"
    )
    given = [part for name, value in inputs.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    arguments = ["build", "triplets", *given, "--output", output, "--executor", "ray", *options]
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_a_listener_that_is_no_ray_cluster_is_named_in_one_line(inputs, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = "{}:{}".format(*listener.getsockname())
        done = command(inputs, tmp_path / "vqa_mc", "pass", "--address", address)
    assert done.returncode == 2
    assert done.stderr.startswith(f"vqa-mc: --address {address}: ")
    assert done.stderr.count("\n") == 1


def test_ctrl_c_while_ray_starts_ends_in_one_line(inputs, tmp_path):
    started = "import os, ray; init = ray.init; ray.init = lambda *a, **o: os.kill(os.getpid(), 2) or init(*a, **o)"
    done = command(inputs, tmp_path / "vqa_mc", started)
    assert (done.returncode, done.stderr) == (130, "vqa-mc: interrupted\n")


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("cpus", [7, 3, 1], ids=["1 worker", "2 workers", "7 workers"])
def test_parts_have_the_bytes_of_a_local_build_with_any_number_of_workers(cpus, inputs, built, tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "_WATCHED", 2)
    vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=cpus, **inputs)
    assert tree_bytes(tmp_path / "vqa_mc") == built
    assert not (tmp_path / "vqa_mc.work").exists()


@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
def test_a_distributed_search_gives_the_bytes_of_a_local_build(cocoqa_files, glove_file, tmp_path, monkeypatch):
    monkeypatch.setattr("hf_vqa_mc.decoys.distributed_search.QUERIES", 16)
    options = {"data_dir": cocoqa_files, "word_vectors": str(glove_file), "variants": "qou", "decoys_per_set": 6}
    vm.build("cocoqa", output=tmp_path / "local", **options)
    searched = []
    settings = BuildSettings("cocoqa", **options, executor="ray", workers=1)
    build_folder(settings, tmp_path / "ray", lambda step, done, total: searched.append((step, total)))
    assert max(total for step, total in searched if step.startswith("searching the 12 most similar questions")) > 2
    assert tree_bytes(tmp_path / "ray") == tree_bytes(tmp_path / "local")
    assert not (tmp_path / "ray.work").exists()


def workers() -> list[int]:
    """The processes that make calls of `executors`."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                name = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if name.startswith(b"ray::") and b"part-" in name:
                found.append(int(folder.name))
    return found


@pytest.mark.usefixtures("cluster")
def test_killed_workers_cost_their_parts_only(inputs, built, tmp_path):
    killed = []
    over = threading.Event()

    def kill() -> None:
        while len(killed) < 5 and not over.is_set():
            for process in workers()[:1]:
                os.kill(process, signal.SIGKILL)
                killed.append(process)
            time.sleep(0.3)

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=3, **inputs)
    finally:
        over.set()
        killer.join()
    assert killed
    assert tree_bytes(tmp_path / "vqa_mc") == built


@pytest.mark.usefixtures("cluster")
def test_a_part_that_fails_three_times_is_named_and_the_finished_ones_are_kept(inputs, built, tmp_path, monkeypatch):
    build_parts = part_builds.build_parts

    def damaged(source, work, executor, progress):
        path = Path(work.location, "part-00001", "triplets-00000.parquet")
        content = path.read_bytes()
        path.write_bytes(content[:100])
        try:
            return build_parts(source, work, executor, progress)
        finally:
            path.write_bytes(content)

    with monkeypatch.context() as patch:
        patch.setattr("hf_vqa_mc.dataset.build.build_parts", damaged)
        with pytest.raises(InputError, match=r"part-00001 \([\d,]+ triplets\) failed 3 times, last with ArrowInvalid"):
            vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=7, **inputs)
    assert (tmp_path / "vqa_mc.work" / "part-00000" / "built.json").exists()
    assert not (tmp_path / "vqa_mc").exists()
    vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=7, **inputs)
    assert tree_bytes(tmp_path / "vqa_mc") == built


@pytest.mark.usefixtures("cluster")
def test_a_cluster_with_another_version_is_refused(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(executors, "code_state", lambda: "another")
    with pytest.raises(InputError, match=r"node \S+ of the Ray cluster has another version of hf_vqa_mc; install"):
        vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", **inputs)
    with pytest.raises(InputError, match=r"is not the same as on the machine that started the run"):
        RayExecutor(1, 1).run(executors.use_threads, {"a call": (1,)}, "calls", lambda *progress: None)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("cluster")
@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
def test_features_encoded_on_a_cluster_are_those_encoded_here(tmp_path, monkeypatch):
    files = write_easyvqa(tmp_path / "easyvqa")
    for number, path in enumerate(sorted(files.rglob("*.png"))):
        Image.new("RGB", (8, 8), (number, 2 * number, 255 - number)).save(path)
    vm.build("easyvqa", data_dir=files, images=files, variants="iou", output=tmp_path / "vqa_mc")
    monkeypatch.setattr(features, "SHARE_IMAGES", 4)
    options = {"config": "easyvqa_iou", "backbone": "pixels"}
    monkeypatch.chdir(tmp_path)  # relative paths start from here on the nodes, too
    here = vm.features("vqa_mc", output="here", **options)
    there = vm.features("vqa_mc", output="there", executor="ray", workers=1, **options)
    assert (there.computed, here.computed) == (0, len(here.images))
    ids = sorted(here.images)
    found, expected = (ImageFeatures(one.folder) for one in (there, here))
    assert found.checksum == expected.checksum
    assert (found.take(ids) == expected.take(ids)).all()
    assert len(list((tmp_path / "there").rglob("features-*.safetensors"))) > 1


@pytest.mark.usefixtures("cluster")
def test_parts_that_no_node_has_the_memory_for_are_refused(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "BYTES_PER_TRIPLET", 10**9)
    message = r"a call needs about [\d,.]+ GB of memory, and no node of the Ray cluster has more than"
    with pytest.raises(InputError, match=message):
        vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=1, **inputs)


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 8}, "--workers 8: no node of the Ray cluster has more than 7 CPUs"),
        ({"address": "10.0.0.1:6379"}, "this process is connected to a Ray cluster already; leave it out"),
    ],
)
def test_what_the_cluster_cannot_do_is_refused(options, message):
    with pytest.raises(InputError, match=message), open_executor("ray", **options):
        pass


@pytest.mark.usefixtures("cluster")
def test_calls_with_a_gpu_take_the_cpus_per_gpu(monkeypatch):
    monkeypatch.setattr(executors, "_check_nodes", lambda: None)
    nodes = [{"Resources": {"CPU": 96.0, "GPU": 8.0}}, {"Resources": {"CPU": 64.0}}]
    monkeypatch.setattr(executors, "_nodes", lambda: nodes)
    for workers, expected in ((None, (64, 12)), (4, (4, 4))):
        with open_executor("ray", threads=workers) as executor:
            assert (executor.threads, executor.threads_per_gpu) == expected
