"""Images as pages show them: small, upright, without what the file says of itself, and never a crash."""

import base64
import io
import struct
import subprocess
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from hf_vqa_mc.report.thumbnails import BROKEN, picture_values
from tests.report.audits import image


def jpeg(found):
    return base64.b64decode(found["pictures"][0]["image"].removeprefix("data:image/jpeg;base64,"))


def size(found):
    (one,) = found["pictures"]
    return one["width"], one["height"]


def opened(found):
    return Image.open(io.BytesIO(jpeg(found)))


@pytest.mark.parametrize("format", ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF"])
def test_any_usual_format_becomes_a_small_jpeg(format):
    found = picture_values([image(size=(900, 300), format=format)])
    assert (size(found), found["missing"]) == ((320, 107), "")
    assert opened(found).format == "JPEG"
    assert found["pictures"][0]["image"].startswith("data:image/jpeg;base64,/9j/")


def test_what_the_file_says_of_itself_is_dropped_and_a_turned_photograph_stands_upright():
    picture = Image.open(io.BytesIO(image(size=(600, 300))))
    exif = Image.Exif()
    exif[0x0112] = 6  # turned by a quarter
    exif[0x010E] = "the photographer's address"
    written = io.BytesIO()
    picture.save(written, "JPEG", exif=exif, comment=b"a secret")
    found = picture_values([written.getvalue()])
    assert size(found) == (160, 320)
    assert not opened(found).getexif()
    assert b"address" not in jpeg(found)
    assert b"secret" not in jpeg(found)


def test_an_image_that_would_fill_the_memory_is_not_decoded():
    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    for side in (9_000, 100_000):
        header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
        png = (
            b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", header)
            + chunk(b"IDAT", zlib.compress(bytes(99)))
            + chunk(b"IEND", b"")
        )
        assert picture_values([png])["missing"].startswith(f"{BROKEN}: ")


def test_postscript_starts_no_program(monkeypatch):
    def refused(*arguments, **options):
        raise AssertionError("a program was started")

    monkeypatch.setattr(subprocess, "Popen", refused)
    monkeypatch.setattr(subprocess, "check_call", refused)
    written = io.BytesIO()
    Image.new("RGB", (9, 9)).save(written, "EPS")
    assert picture_values([written.getvalue()])["missing"].startswith(f"{BROKEN}: ")


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_a_damaged_file_is_a_note_or_a_picture_but_never_an_error(data):
    whole = image(size=(60, 40), format=data.draw(st.sampled_from(["PNG", "JPEG", "GIF", "TIFF", "WEBP"])))
    start = data.draw(st.integers(0, len(whole)))
    damaged = whole[:start] + data.draw(st.binary(max_size=20)) + whole[start + data.draw(st.integers(0, 20)) :]
    found = picture_values([damaged])
    assert bool(found["pictures"]) != bool(found["missing"]) or not damaged
