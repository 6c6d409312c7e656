"""Images become a few numbers: each is read once, and broken ones harm nobody."""

import io
import re

import numpy as np
import pytest
from PIL import Image

from hf_vqa_mc.audits.image_descriptors import DIMENSIONS, image_descriptors
from hf_vqa_mc.audits.probes.features import CLUSTERS
from hf_vqa_mc.errors import InputError
from tests.audits.planted import context_of, planted, split_of, table_of


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
    return split_of(table_of([(image_id, "what", ["a", "b"], 0) for image_id in ids]), images=images)


def picture(colour, kind="PNG", mode="RGB"):
    file = io.BytesIO()
    Image.new(mode, (40, 30), colour).save(file, kind)
    return file.getvalue()


def test_each_image_is_read_once_and_images_that_look_alike_are_near():
    images = Kept([picture("red"), picture("red"), picture("blue"), picture((250, 0, 0), "JPEG")])
    vectors, missing = image_descriptors(split_with(images, ["r", "r", "b", "r2"]))
    assert sorted(images.read_rows) == [0, 2, 3]
    assert vectors.shape == (4, DIMENSIONS)
    assert vectors.dtype == np.float32
    np.testing.assert_array_equal(vectors[0], vectors[1])
    distance = np.linalg.norm(vectors - vectors[0], axis=1)
    assert distance[3] < distance[2] / 4
    assert missing == ""


def test_broken_huge_and_missing_images_are_counted_and_get_the_mean():
    of_row = [picture("red"), picture("blue", mode="RGBA"), b"no image", picture("red")[:60], None, b""]
    of_row.append(InputError("cannot be read"))
    steps = []
    vectors, missing = image_descriptors(
        split_with(Kept(of_row), [str(row) for row in range(len(of_row))]), lambda *step: steps.append(step)
    )
    assert missing == "5 could not be read (the first has image_id '2'), 0 were not sampled"
    for row in range(2, len(of_row)):
        np.testing.assert_allclose(vectors[row], vectors[:2].mean(axis=0), atol=1e-6)
    assert steps[-1] == ("images", 7, 7)


@pytest.mark.parametrize(
    ("images", "reason"),
    [
        (None, "is recognised as images"),
        (Kept([b"broken"]), "none of the 1 images of .* can be read"),
    ],
)
def test_splits_without_readable_images_have_no_descriptors(images, reason):
    vectors, why = image_descriptors(split_with(images, ["a"]))
    assert vectors is None
    assert re.search(reason, why)


def image_groups(vectors):
    return context_of(planted("none", 0.0, len(vectors), 0)[0], vectors=vectors).features._image


def test_images_that_look_alike_are_in_one_cluster():
    rng = np.random.default_rng(0)
    kind = rng.integers(4, size=800)
    vectors = (20 * np.eye(4, 10)[kind] + rng.normal(size=(800, 10))).astype(np.float32)
    vectors[:3] = np.nan
    found = image_groups(vectors)
    rough = found[0][3:, 0]
    assert all(len(np.unique(kind[3:][rough == cluster])) == 1 for cluster in np.unique(rough))
    assert (found[0][:3] == -1).all()
    assert (found[1][:3] == 0).all()


def test_identical_images_have_no_clusters():
    found = image_groups(np.ones((50, 6), np.float32))
    assert (found[0] == -1).all()
    assert found[0].shape == (50, len(CLUSTERS))
    assert not found[1].any()
