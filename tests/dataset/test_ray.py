"""Builds on a Ray cluster: the same bytes with any workers, whatever dies, and one line for what cannot work."""

import socket
from pathlib import Path

import pytest
from PIL import Image

import hf_vqa_mc as vm
from hf_vqa_mc.dataset import parts
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.store import ImageFeatures
from hf_vqa_mc.io import cluster
from hf_vqa_mc.verbs import features
from tests.dataset.fixtures import tree_bytes
from tests.dataset.own_triplets import write_inputs
from tests.sources.fixtures import write_easyvqa

pytest.importorskip("ray", reason="Ray is not installed (extra ray)")

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
    for address in (f"127.0.0.1:{port}", "nonsense"):
        with pytest.raises(InputError, match=f"address={address}: no Ray cluster answers; expected auto, or its HOS"):
            vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", address=address, **inputs)
    assert not list(tmp_path.iterdir())


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize("cpus", [7, 1], ids=["1 worker", "7 workers"])
def test_parts_have_the_bytes_of_a_local_build_with_any_number_of_workers(cpus, inputs, built, tmp_path):
    vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=cpus, **inputs)
    assert tree_bytes(tmp_path / "vqa_mc") == built
    assert not (tmp_path / "vqa_mc.work").exists()


@pytest.mark.usefixtures("cluster")
def test_a_part_that_fails_is_named_and_the_finished_ones_are_kept(inputs, built, tmp_path, monkeypatch):
    def damaged(source, work, *arguments):
        path = Path(work.location, "part-00001", "triplets-00000.parquet")
        content = path.read_bytes()
        path.write_bytes(content[:100])
        try:
            return parts.build_parts(source, work, *arguments)
        finally:
            path.write_bytes(content)

    with monkeypatch.context() as patch:
        patch.setattr("hf_vqa_mc.dataset.build.build_parts", damaged)
        with pytest.raises(InputError, match=r"part-00001 \([\d,]+ triplets\) failed: .*Parquet magic bytes not"):
            vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=7, **inputs)
    assert (tmp_path / "vqa_mc.work" / "part-00000" / "built.json").exists()
    assert not (tmp_path / "vqa_mc").exists()
    vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=7, **inputs)
    assert tree_bytes(tmp_path / "vqa_mc") == built


@pytest.mark.usefixtures("cluster")
def test_a_cluster_with_another_version_is_refused(inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "code_state", lambda: "another")
    with pytest.raises(InputError, match=r"has another hf_vqa_mc; install version \S+ on all nodes"):
        vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=1, **inputs)


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
@pytest.mark.parametrize(
    ("workers", "memory", "message"),
    [(8, 1_500, "no node of the Ray cluster has 8 CPUs and 0.7 GB"), (1, 10**9, r"has 1 CPUs and [\d,.]+ GB")],
)
def test_calls_that_no_node_can_make_are_refused(workers, memory, message, inputs, tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "BYTES_PER_TRIPLET", memory)
    with pytest.raises(InputError, match=message):
        vm.build("triplets", output=tmp_path / "vqa_mc", executor="ray", workers=workers, **inputs)
