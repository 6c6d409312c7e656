"""Images become a few numbers: each is read once, and broken ones harm nobody."""

import io
import struct
import zlib

import numpy as np
import pyarrow as pa
from PIL import Image

from hf_vqa_mc.audits.image_descriptors import DIMENSIONS, image_descriptors
from hf_vqa_mc.audits.probes.choice_features import CLUSTERS, image_groups
from hf_vqa_mc.data.benchmark import ROWS, Split
from hf_vqa_mc.errors import InputError


class Kept:
    def __init__(self, of_row):
        self.of_row, self.read_rows = of_row, []

    def read(self, row):
        self.read_rows.append(row)
        if isinstance(self.of_row[row], Exception):
            raise self.of_row[row]
        found = self.of_row[row]
        return found if isinstance(found, tuple) else () if found is None else (found,)


def split_with(images, ids):
    rows = [
        {
            "question_id": str(row),
            "image_id": image_id,
            "question": "what",
            "choices": ["a", "b"],
            "label": 0,
            "question_type": "",
            "answers": [],
            "choice_kinds": [],
        }
        for row, image_id in enumerate(ids)
    ]
    table = pa.Table.from_pylist(rows, ROWS)
    return Split("test", "here", table, table, images)


def picture(colour, kind="PNG", mode="RGB"):
    file = io.BytesIO()
    Image.new(mode, (40, 30), colour).save(file, kind)
    return file.getvalue()


def bomb():
    """A PNG whose header promises 900 million pixels."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", 30_000, 30_000, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


def test_each_image_is_read_once_and_images_that_look_alike_are_near():
    images = Kept([picture("red"), picture("red"), picture("blue"), picture((250, 0, 0), "JPEG")])
    found = image_descriptors(split_with(images, ["r", "r", "b", "r2"]))
    assert sorted(images.read_rows) == [0, 2, 3]
    assert found.vectors.shape == (4, DIMENSIONS)
    assert found.vectors.dtype == np.float32
    np.testing.assert_array_equal(found.vectors[0], found.vectors[1])
    distance = np.linalg.norm(found.vectors - found.vectors[0], axis=1)
    assert distance[3] < distance[2] / 4
    assert (found.images, found.broken, found.left_out) == (3, 0, 0)


def test_broken_huge_and_missing_images_are_counted_and_get_the_mean():
    of_row = [picture("red"), picture("blue", mode="RGBA"), b"no image", picture("red")[:60], bomb(), None, b""]
    of_row.append(InputError("cannot be read"))
    steps = []
    found = image_descriptors(
        split_with(Kept(of_row), [str(row) for row in range(len(of_row))]), lambda *step: steps.append(step)
    )
    assert (found.images, found.broken, found.first_broken) == (2, 6, "2")
    for row in range(2, len(of_row)):
        np.testing.assert_allclose(found.vectors[row], found.vectors[:2].mean(axis=0), atol=1e-6)
    assert steps[-1] == ("images", 8, 8)


def test_splits_without_images_have_no_descriptors():
    assert image_descriptors(split_with(None, ["a"])) is None
    broken = image_descriptors(split_with(Kept([b"broken"]), ["a"]))
    assert (broken.images, broken.broken) == (0, 1)
    assert not broken.vectors.any()


def test_an_image_for_which_pil_would_start_another_program_is_broken():
    postscript = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 8 8\n%%EndComments\n%%EOF\n"
    found = image_descriptors(split_with(Kept([postscript]), ["a"]))
    assert (found.images, found.broken) == (0, 1)


def test_surplus_images_are_counted():
    of_row = [picture((row, 0, 0)) for row in range(20)]
    found = image_descriptors(split_with(Kept(of_row), [str(row) for row in range(20)]), most=5)
    assert (found.images, found.left_out) == (5, 15)
    assert np.isfinite(found.vectors).all()


def test_images_that_look_alike_are_in_one_cluster():
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=800)
    vectors = (20 * np.eye(4, 10)[kind] + rng.normal(size=(800, 10))).astype(np.float32)
    vectors[:3] = np.nan
    found = image_groups(vectors, seed=0)
    rough = found[0][3:, 0]
    assert all(len(np.unique(kind[3:][rough == cluster])) == 1 for cluster in np.unique(rough))
    assert (found[0][:3] == -1).all()
    assert (found[1][:3] == 0).all()


def test_identical_images_have_no_clusters():
    found = image_groups(np.ones((50, 6), np.float32), seed=0)
    assert (found[0] == -1).all()
    assert found[0].shape == (50, len(CLUSTERS))
    assert not found[1].any()
