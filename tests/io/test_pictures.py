"""Image files of anyone are decoded in this process, completely and within limits, or refused with a reason."""

import io
import os
import re
from pathlib import Path

import pytest
from PIL import Image

import hf_vqa_mc
from hf_vqa_mc.io import pictures
from hf_vqa_mc.io.pictures import BrokenImage, opened_picture

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 99 99\n%%EndComments\nshowpage\n%%EOF\n"


def written(picture, form, **options):
    file = io.BytesIO()
    picture.save(file, form, **options)
    return file.getvalue()


NOISE = Image.effect_noise((320, 240), 60).convert("RGB")
WHOLE = {form: written(NOISE, form) for form in ("JPEG", "PNG", "GIF", "BMP", "WEBP", "TIFF", "PPM")}


@pytest.mark.parametrize("form", WHOLE)
def test_usual_formats_are_decoded_and_truncated_files_are_errors(form, tmp_path):
    path = tmp_path / "a.png"
    for content in (WHOLE[form], path):
        path.write_bytes(WHOLE[form])
        with opened_picture(content) as image:
            assert image.convert("RGB").size == NOISE.size
    with pytest.raises(BrokenImage), opened_picture(WHOLE[form][: len(WHOLE[form]) // 2]):
        pass


def test_a_jpeg_is_decoded_no_larger_than_needed_but_read_to_its_end():
    with opened_picture(WHOLE["JPEG"], side=64) as image:
        assert image.size == (160, 120)
    with pytest.raises(BrokenImage, match="truncated"), opened_picture(WHOLE["JPEG"][:-2000], side=1):
        pass


def test_formats_that_start_programs_are_unknown(tmp_path, monkeypatch):
    ghostscript = tmp_path / "gs"
    ghostscript.write_text(f"#!/bin/sh\ntouch {tmp_path}/started\n")
    ghostscript.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(BrokenImage, match="not a readable image"), opened_picture(EPS):
        pass
    assert not (tmp_path / "started").exists()


def test_images_beyond_the_limit_of_pixels_are_not_decoded(monkeypatch):
    monkeypatch.setattr(pictures, "MOST_PIXELS", 320 * 240 - 1)
    with pytest.raises(BrokenImage, match="320 x 240 pixels, more than 76,799"), opened_picture(WHOLE["PNG"]):
        pass


def test_of_several_frames_the_first_is_decoded():
    frames = [Image.new("RGB", (9, 9), colour) for colour in ("red", "blue", "green")]
    for form in ("GIF", "TIFF", "WEBP"):
        content = written(frames[0], form, save_all=True, append_images=frames[1:])
        with opened_picture(content) as image:
            assert image.convert("RGB").getpixel((4, 4))[0] > 200


def test_nothing_else_of_the_package_opens_images():
    package = Path(hf_vqa_mc.__file__).parent
    opening = re.compile(r"\bImage\.open\(|\bPIL\.Image\.open|from PIL\.Image import open|import ImageFile\b|imread\(")
    found = {str(path.relative_to(package)) for path in package.rglob("*.py") if opening.search(path.read_text())}
    elsewhere = {"exports/harness_files/lmms_eval_functions.py"}  # runs where others decide
    assert found == {"io/pictures.py"} | elsewhere


def test_gray_values_of_16_bit_are_scaled():
    file = io.BytesIO()
    Image.frombytes("I;16", (3, 1), b"\x00\x00\x80\x40\xff\xff").save(file, "PNG")
    with opened_picture(file.getvalue()) as opened:
        assert (opened.format, [opened.convert("RGB").getpixel((at, 0))[0] for at in range(3)]) == (
            "PNG",
            [0, 0x40, 0xFF],
        )
