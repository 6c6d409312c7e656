"""Thumbnails of real photographs and of easy-VQA: the figures of docs/describe.md."""

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageEnhance

from hf_vqa_mc.audits.checks.check import similar, thumbnail
from hf_vqa_mc.io.progress import silent


@pytest.fixture(scope="module")
def photographs(real_data):
    with tarfile.open(real_data / "images" / "coco_short_side_224.tar") as archive:
        files = [archive.extractfile(one) for one in archive.getmembers() if one.isfile()]
        return [Image.open(io.BytesIO(file.read())).convert("RGB") for file in files if file]


def compressed(image):
    content = io.BytesIO()
    image.save(content, "JPEG", quality=50)
    return Image.open(content)


def cropped(image, share):
    width, height = image.size
    return image.crop((int(width * share), int(height * share), int(width * (1 - share)), int(height * (1 - share))))


COPIES = {
    compressed: 1.0,
    lambda image: image.resize((image.width // 2, image.height // 2)): 1.0,
    lambda image: image.resize((224, 224)): 1.0,
    lambda image: ImageEnhance.Contrast(image).enhance(1.3): 0.99,
    lambda image: ImageEnhance.Brightness(image).enhance(1.2): 0.99,
    lambda image: cropped(image, 0.02): 0.91,
    lambda image: image.convert("L"): 0.58,
    lambda image: cropped(image, 0.05): 0.09,
}
"""Kinds of copies, and the share of them that is found."""


@pytest.mark.slow
@pytest.mark.parametrize("copy", COPIES)
def test_copies_of_photographs_resemble_these(photographs, copy):
    originals = dict(enumerate(map(thumbnail, photographs)))
    found = similar({row: thumbnail(copy(image)) for row, image in enumerate(photographs)}, originals, silent)
    assert all(row == other for row, (other, _) in found.items())
    assert len(found) / len(originals) == pytest.approx(COPIES[copy], abs=0.005)


@pytest.mark.slow
def test_different_photographs_do_not(photographs, monkeypatch):
    monkeypatch.setattr("hf_vqa_mc.audits.checks.check.SIMILAR", 0.0)
    assert len(photographs) == 569
    thumbnails = dict(enumerate(map(thumbnail, photographs)))
    highest = 0.0
    for row, one in thumbnails.items():
        others = {other: value for other, value in thumbnails.items() if other != row}
        highest = max([highest, *(value for _, value in similar({row: one}, others, silent).values())])
    assert 0.86 < highest < 0.87


@pytest.mark.slow
def test_similar_images_of_easy_vqa():
    easy_vqa = pytest.importorskip("easy_vqa", reason="easy-VQA is not installed (extra demo)")
    data = Path(easy_vqa.__file__).parent / "data"
    train, test = (
        {n: thumbnail(Image.open(file)) for n, file in enumerate(sorted((data / split / "images").glob("*.png")))}
        for split in ("train", "test")
    )
    assert (len(train), len(test), len(similar(test, train, silent))) == (4000, 1000, 72)


def drawing(colour, ground, alpha=255):
    image = Image.new("RGBA", (64, 64), ground)
    ImageDraw.Draw(image).ellipse((10, 20, 40, 50), fill=(*colour, alpha))
    return image


def test_contrast_and_transparency_count_and_noise_does_not():
    black, gray = drawing((0, 0, 0), "white"), drawing((200, 200, 200), "white")
    clear = drawing((0, 0, 0), (0, 0, 0, 0))  # black on transparent, which is shown on white
    dark, bright = (
        Image.fromarray(np.linspace(0, 2, 64 * 64 * 3).reshape(64, 64, 3).astype(np.uint8) + base) for base in (0, 253)
    )
    one, *others = map(thumbnail, (black, gray, clear.resize((50, 50)), Image.new("RGBA", (64, 64), (0, 0, 0, 0))))
    assert similar({0: one}, dict(enumerate(others)), silent)[0][0] == 1
    assert similar({0: one}, {0: others[0], 2: others[2]}, silent) == {}
    assert similar({0: thumbnail(dark)}, {0: thumbnail(bright), 1: thumbnail(dark)}, silent) == {}
