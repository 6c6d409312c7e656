"""Sample questions as a page."""

import io
from dataclasses import replace

import numpy as np
import pytest
from PIL import ExifTags, Image

from hf_vqa_mc.report.examples import Example
from hf_vqa_mc.report.preview import preview_html
from hf_vqa_mc.report.thumbnails import small_image
from tests.report import audits, hostile
from tests.report.test_report import Elements

EXAMPLE = Example("7", "Why?", "why", ["a", "b", "c", "d"], 1, ["qou", "target", "iou", "iou"], [], 2, None, (), "")


def page(examples, title="a dataset"):
    return preview_html(title, examples)


def test_choices_stand_set_by_set_the_target_last_with_the_letters_of_their_places():
    assert EXAMPLE.by_kind() == [("iou", [2, 3]), ("qou", [0]), ("target", [1])]


FALLBACKS = replace(EXAMPLE, origins=["fallback", "fallback", "", "fallback"])


def test_fallbacks_have_a_heading_of_their_own():
    assert FALLBACKS.by_kind() == [("iou", [2]), ("fallback", [0, 3]), ("target", [1])]
    text = Elements(page([FALLBACKS])).text
    assert "QoU decoys" not in text
    labels = "A a fallback for a QoU decoy D d fallback for an IoU decoy correct answer B b"
    assert f"fallbacks: no such decoy was found {labels}" in text
    assert "IoU decoys: answers to other questions about the image C c ✗ model’s pick fallbacks" in text


def test_the_page_shows_sets_by_their_names_and_marks_the_pick():
    text = Elements(page([EXAMPLE])).text
    assert "Why? IoU decoys: answers to other questions about the image C c ✗ model’s pick D d QoU decoys" in text
    assert "QoU decoys: answers to similar questions A a" in text
    assert "correct answer B b" in text
    assert "model accuracy 0% (0 of 1)" in text


def test_the_page_runs_no_script_at_all():
    written = page(audits.examples(3, kinds=True))
    assert "<script" not in written
    policies = [one.get("content", "") for tag, one in Elements(written).found if tag == "meta"]
    assert any("script-src 'none'" in policy for policy in policies)


def test_hostile_text_adds_no_element():
    good = Elements(page(audits.examples(12, images=False)))
    bad = Elements(page(hostile.questions(audits.examples(12, images=False)), hostile.TEXTS[0]))
    assert set(bad.tags) <= {*good.tags, "wbr"}
    assert {name for _, one in bad.found for name in one} <= {name for _, one in good.found for name in one}


GREY = io.BytesIO()
Image.new("RGB", (60, 40), "#808080").save(GREY, format="PNG")
TOP_RIGHT = np.array([[0.1, 0.1], [0.7, 0.1]])


def test_attention_is_drawn_where_the_map_is_high_with_x_first():
    found = np.array(small_image(GREY.getvalue(), 60, TOP_RIGHT)).astype(int)
    assert found.shape == (40, 60, 3)
    orange = found[..., 0] - found[..., 2] > 100
    assert orange[:8, 48:].all()
    assert not orange[:, :28].any()
    assert not orange[22:].any()
    assert (found[-8:, :12] == 128).all()


@pytest.mark.parametrize(("orientation", "turn"), [(3, "ROTATE_180"), (5, "TRANSPOSE"), (6, "ROTATE_270")])
def test_attention_turns_with_the_image(orientation, turn):
    """Features are those of the image as stored, which is shown upright."""
    content, exif = io.BytesIO(), Image.Exif()
    exif[ExifTags.Base.Orientation] = orientation
    Image.open(GREY).save(content, format="PNG", exif=exif)
    expected = small_image(GREY.getvalue(), 60, TOP_RIGHT).transpose(Image.Transpose[turn])
    found = small_image(content.getvalue(), 60, TOP_RIGHT)
    np.testing.assert_allclose(np.array(found, int), np.array(expected, int), atol=1)


def test_the_page_shows_attention():
    plain = replace(EXAMPLE, images=(GREY.getvalue(),))
    attended = replace(plain, attention=TOP_RIGHT)
    assert page([plain]) != page([attended])
    assert "orange on images model’s attention" in Elements(page([attended])).text
    assert "attention" not in Elements(page([plain])).text
