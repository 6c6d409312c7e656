"""Extraction: each image once, nothing lost but what was in work, nothing skipped unless requested."""

import pickle
import shutil
import signal
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from hf_vqa_mc.data.dataset_images import dataset_images
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.extraction import extract_features
from hf_vqa_mc.extraction.store import INDEX, ImageFeatures
from hf_vqa_mc.extraction.vision_model import find_backbone
from tests.dataset.fixtures import ABOUT, MADE_WITH, draw_images, made_variants, triplets_of
from tests.extraction import made_dataset
from tests.extraction.made_dataset import CountedPixels

N_IMAGES = 60


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    return made_dataset.make(tmp_path_factory.mktemp("dataset") / "questions", N_IMAGES)


@pytest.fixture
def pictures(tmp_path):
    return made_dataset.draw(tmp_path / "pictures", N_IMAGES)


def extract(dataset, pictures, backbone=None, **options):
    backbone = backbone or CountedPixels()
    backbone.batch_size = 8
    done = extract_features(dataset_images(str(dataset), "made", pictures), backbone=backbone, **options)
    return done, backbone


def encoded(pictures, image_id, backbone="pixels"):
    return find_backbone(backbone).encode([Image.open(pictures / f"{int(image_id):012d}.png")])[0]


def test_training_reads_the_features_of_each_image(dataset, pictures):
    done, backbone = extract(dataset, pictures)
    assert (done.computed, backbone.encoded, len(done.images)) == (N_IMAGES, N_IMAGES, N_IMAGES)
    features = ImageFeatures(done.folder)
    assert (features.kind.backbone, features.kind.grid, features.kind.dim, len(features)) == (
        "pixels",
        None,
        768,
        N_IMAGES,
    )
    image_ids = ["7", "59", "0", "7"]
    taken = features.take(image_ids)
    assert (taken.shape, taken.dtype) == ((4, 768), np.float32)
    np.testing.assert_array_equal(taken, [encoded(pictures, image_id) for image_id in image_ids])


def test_balanced_pairs_have_features_of_both_their_images(pictures, tmp_path):
    first, second = [str(image) for image in range(30)], [str(image) for image in range(30, N_IMAGES)]
    (tmp_path / "pairs").mkdir()
    rows = pa.table({"question_id": first, "image_id": first, "complementary_image_id": second})
    pq.write_table(rows, tmp_path / "pairs/test.parquet")
    done = extract_features(dataset_images("pairs", "default", pictures), backbone=CountedPixels())
    assert set(done.images) == {*first, *second}


def test_a_second_run_encodes_nothing(dataset, pictures):
    first, _ = extract(dataset, pictures)
    written = {path: path.stat().st_mtime_ns for path in first.folder.parent.glob("*.safetensors")}
    again, backbone = extract(dataset, pictures)
    assert (again.computed, backbone.encoded) == (0, 0)
    assert {path: path.stat().st_mtime_ns for path in again.folder.parent.glob("*.safetensors")} == written


def test_datasets_share_what_is_the_same_image(dataset, pictures, tmp_path):
    extract(dataset, pictures)
    larger = made_dataset.make(tmp_path / "larger", N_IMAGES + 5)
    made_dataset.draw(pictures, N_IMAGES + 5)
    done, backbone = extract(larger, pictures)
    assert (done.computed, backbone.encoded, len(done.images)) == (5, 5, N_IMAGES + 5)
    assert len(ImageFeatures(done.folder)) == N_IMAGES + 5


def test_an_image_that_has_changed_is_encoded_anew(dataset, pictures):
    extract(dataset, pictures)
    shutil.copy(pictures / f"{3:012d}.png", pictures / f"{4:012d}.png")
    Image.new("RGB", (8, 8), (9, 99, 199)).save(pictures / f"{5:012d}.png")
    done, backbone = extract(dataset, pictures)
    assert backbone.encoded == 1
    taken = ImageFeatures(done.folder).take(["3", "4", "5"])
    np.testing.assert_array_equal(taken, [encoded(pictures, image_id) for image_id in (3, 3, 5)])


def run(dataset, pictures, output, dies_at=0, dies_writing=0):
    code = "import sys; from tests.extraction.made_dataset import main; main(*sys.argv[1:])"
    arguments = [sys.executable, "-c", code, dataset, pictures, output, dies_at, dies_writing]
    return subprocess.Popen(
        list(map(str, arguments)), stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    )


@pytest.mark.parametrize(
    ("dies_at", "dies_writing", "kept"),
    [
        (40, 0, 32),
        *(pytest.param(0, writing, kept, marks=pytest.mark.slow) for writing, kept in ((2, 16), (4, 48), (5, 60))),
    ],
)
def test_killed_at_any_moment_the_next_run_computes_only_what_is_missing(
    dataset, pictures, tmp_path, dies_at, dies_writing, kept
):
    killed = run(dataset, pictures, tmp_path / "out", dies_at, dies_writing)
    killed.communicate(timeout=120)
    assert killed.returncode == -signal.SIGKILL
    done, backbone = extract(dataset, pictures, output=tmp_path / "out")
    assert backbone.encoded == N_IMAGES - kept
    taken = ImageFeatures(done.folder).take([str(number) for number in range(N_IMAGES)])
    np.testing.assert_array_equal(taken, [encoded(pictures, number) for number in range(N_IMAGES)])
    assert not list((tmp_path / "out").rglob("*.partial"))


@pytest.mark.slow
def test_two_processes_at_once_do_each_other_no_harm(dataset, pictures, tmp_path):
    both = [run(dataset, pictures, tmp_path / "out") for _ in range(2)]
    for process in both:
        process.communicate(timeout=120)
        assert process.returncode == 0
    (folder,) = (path.parent for path in (tmp_path / "out").rglob(INDEX))
    features = ImageFeatures(folder)
    stored = sum(len(np.memmap(path, mode="r")) for path in folder.parent.glob("*.safetensors"))
    assert stored < N_IMAGES * (768 * 4 + 32) * 1.1  # none stored twice
    np.testing.assert_array_equal(features.take(["9"])[0], encoded(pictures, 9))


def test_missing_images_are_listed_before_any_work(dataset, pictures):
    for number in range(20, 35):
        (pictures / f"{number:012d}.png").unlink()
    with pytest.raises(
        InputError, match=r"15 of 60 missing, with image_id 20; 22; .* and 5 more; skip them with --skip-missing"
    ):
        extract(dataset, pictures)
    assert not Path("vqa_mc_features").exists()


def test_broken_images_are_listed_and_the_others_kept(dataset, pictures):
    (pictures / f"{3:012d}.png").write_bytes(b"no image")
    whole = (pictures / f"{8:012d}.png").read_bytes()
    (pictures / f"{8:012d}.png").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"2 of 60 broken, with image_id '8' \(.*truncated.*\); '3' \(not a readable"):
        extract(dataset, pictures)
    assert not list(Path("vqa_mc_features").rglob(INDEX))
    made_dataset.draw(pictures, N_IMAGES)
    assert extract(dataset, pictures)[1].encoded == 2


def test_told_to_skip_them_it_counts_them(dataset, pictures):
    (pictures / f"{3:012d}.png").write_bytes(b"no image")
    (pictures / f"{4:012d}.png").unlink()
    done, _ = extract(dataset, pictures, skip_missing=True)
    features = ImageFeatures(done.folder)
    assert (features.missing, features.broken, len(features)) == (["4"], {"3": "not a readable image"}, 58)
    with pytest.raises(InputError, match=r"the image with image_id '4', which was skipped: it was missing"):
        features.take(["1", "4"])
    with pytest.raises(InputError, match=r"the image with image_id '3', which was skipped: not a readable"):
        features.take(["3"])


def test_all_images_skipped_is_an_error_still(dataset, tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"60 of 60 missing.*and 50 more$"):
        extract(dataset, tmp_path / "empty", skip_missing=True)


def test_infinite_features_are_refused(dataset, pictures):
    class Overflowing(CountedPixels):
        def forward(self, prepared):
            return super().forward(prepared) * np.float32(np.inf)

    with pytest.raises(InputError, match=r"pixels gives non-finite features for image_id '0'"):
        extract(dataset, pictures, Overflowing())


def test_an_unknown_image_is_named(dataset, pictures):
    features = ImageFeatures(extract(dataset, pictures)[0].folder)
    with pytest.raises(InputError, match=r"no features of the image with image_id '591'; run vqa-mc features"):
        features.take(["591"])
    assert "59" in features
    assert "591" not in features


def test_other_folders_than_features_are_rejected(dataset, pictures):
    done, _ = extract(dataset, pictures)
    with pytest.raises(InputError, match=r"not a folder of image features; did you mean .*questions-made\?"):
        ImageFeatures("vqa_mc_features")
    with pytest.raises(
        InputError, match=r"nowhere is not a folder of image features; create one with vqa-mc features"
    ):
        ImageFeatures("nowhere")
    (done.folder / INDEX).write_text("{")
    with pytest.raises(InputError, match=r"index.json: not JSON"):
        ImageFeatures(done.folder)


def test_an_index_whose_features_are_gone_says_so(dataset, pictures):
    done, _ = extract(dataset, pictures)
    for path in done.folder.parent.glob("*.safetensors"):
        path.unlink()
    with pytest.raises(InputError, match=r"has no features of the image with image_id '5'.*run vqa-mc features"):
        ImageFeatures(done.folder).take(["5"])


def test_features_travel_to_workers_as_their_folder(dataset, pictures):
    features = ImageFeatures(extract(dataset, pictures)[0].folder)
    packed = pickle.dumps(features)
    assert len(packed) < 1000
    np.testing.assert_array_equal(pickle.loads(packed).take(["5"]), features.take(["5"]))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A built folder with an images config, and one with the image in every row."""
    from hf_vqa_mc.data.stored_images import find_images
    from hf_vqa_mc.dataset.folder import write_folder

    folder = tmp_path_factory.mktemp("built")
    triplets = triplets_of(made_variants("iou_qou")[0])
    images = find_images(triplets, draw_images(folder / "pictures", triplets))
    for name, embedded in (("vqa_mc", False), ("embedded", True)):
        write_folder(
            folder / name, "made", made_variants("iou_qou"), about=ABOUT, made_with=MADE_WITH, images=images,
            embed_images=embedded,
        )  # fmt: skip
    return folder


@pytest.mark.parametrize("name", ["vqa_mc", "embedded"])
def test_the_images_built_into_a_dataset_are_taken_if_none_are_named(built, name):
    options = {"backbone": "pixels", "output": Path("out")}
    done = extract_features(dataset_images(str(built / name), "made_iou_qou"), **options)
    from_files = extract_features(dataset_images(str(built / name), "made_iou_qou", built / "pictures"), **options)
    assert done.images == from_files.images
    assert (done.computed, from_files.computed) == (len(set(done.images.values())), 0)
    assert {sha256(path.read_bytes()).digest() for path in (built / "pictures").iterdir()} == set(done.images.values())


def test_a_dataset_without_images_says_how_to_name_them(dataset):
    with pytest.raises(InputError, match=r"the rows only name their images, e.g. 0; give the folder .* --images DIR"):
        extract_features(dataset_images(str(dataset), "made"), backbone="pixels")


def test_what_cannot_be_used_is_named(dataset, pictures, tmp_path):
    with pytest.raises(InputError, match=r"unknown config 'mad': did you mean 'made'\?"):
        dataset_images(str(dataset), "mad")
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="file"):
        extract(dataset, pictures, output=tmp_path / "file")
    for output in (dataset, dataset / "features"):
        with pytest.raises(InputError, match="would replace or change an input"):
            extract(dataset, pictures, output=output)
    assert not list(dataset.glob("**/*.safetensors"))


def test_easy_vqa_s_images_are_found_by_split_and_number(tmp_path):
    from hf_vqa_mc.data.stored_images import find_by_id

    for split in ("train", "test"):
        (tmp_path / split / "images").mkdir(parents=True)
        (tmp_path / split / "images" / "5.png").write_text(split)
    found = find_by_id(tmp_path, ["train-5", "test-5", "test-6", "dev-5"])
    assert (found.read("train-5"), found.read("test-5")) == (b"train", b"test")
    assert "test-6" not in found
    assert "dev-5" not in found


def test_an_interrupted_run_keeps_what_it_computed(dataset, pictures):
    class Interrupted(CountedPixels):
        def forward(self, prepared):
            if self.encoded == 24:
                raise KeyboardInterrupt
            return super().forward(prepared)

    with pytest.raises(KeyboardInterrupt):
        extract(dataset, pictures, Interrupted())
    assert extract(dataset, pictures)[1].encoded == N_IMAGES - 24
