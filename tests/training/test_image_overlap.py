"""Images that were trained on and are tested on are counted, and what is not known is said."""

import gzip
import json
import zipfile

import pytest

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.source import source_of
from hf_vqa_mc.training.image_overlap import QuestionImages, overlap, read_image_data, unlisted

COUNTED = ("images", "shared_images", "questions", "shared_questions")
GENOME = QuestionImages("qavg_iou_qou", ["1", "1", "2", "3", "4"])


def counts(*given):
    found, reason = overlap(*given)
    assert reason == "" and tuple(found) == COUNTED
    return tuple(found.values())


def test_the_longest_source_counts():
    assert source_of("vqa2_minus_iou") == "vqa2_minus"
    assert source_of("vqa2_iou") == "vqa2"
    assert source_of("vqa") is None


def test_visual7w_has_visual_genomes_ids():
    assert counts(GENOME, QuestionImages("visual7w_orig", ["2", "2", "9"]), None) == (2, 1, 3, 2)


def test_vqa_takes_the_image_data():
    vqa = QuestionImages("vqa_orig", ["1", "1", "70", "70", "70", "80"])
    assert overlap(GENOME, vqa, None)[0] is None
    assert "--image-data image_data.json" in overlap(GENOME, vqa, None)[1]
    assert counts(GENOME, vqa, {"1": None, "2": "70", "3": "80", "9": "1"}) == (3, 2, 6, 4)
    assert overlap(GENOME, vqa, {})[1] == ""


def test_an_image_of_coco_that_visual_genome_has_twice_is_one():
    tested = QuestionImages("visual7w_orig", ["5", "6"])
    assert counts(GENOME, tested, None) == (2, 0, 2, 0)
    assert counts(GENOME, tested, {"1": "70", "5": "70", "6": None}) == (2, 1, 2, 1)


def test_the_same_id_elsewhere_is_another_image():
    assert counts(GENOME, QuestionImages("easyvqa_iou", ["1"]), None) == (1, 0, 1, 0)


def test_ids_of_unknown_sources_are_not_compared():
    mine = QuestionImages("mine", ["1"])
    assert overlap(GENOME, mine, None)[0] is None
    assert "the source of mine's image_ids is not known" in overlap(GENOME, mine, None)[1]
    assert counts(mine, mine, None) == (1, 1, 1, 1)


def test_images_that_the_file_does_not_list_are_counted():
    assert unlisted(GENOME, {"1": None, "2": "7"}) == 2
    assert unlisted(QuestionImages("vqa_orig", ["1"]), {}) == 0


def test_the_file_is_read_plain_packed_and_of_the_first_release(tmp_path):
    rows = [{"image_id": 1, "coco_id": 70}, {"image_id": 2, "coco_id": None}]
    text, expected = json.dumps(rows), {"1": "70", "2": None}
    plain, packed, zipped = (tmp_path / f"image_data.json{ending}" for ending in ("", ".gz", ".zip"))
    plain.write_text(text)
    packed.write_bytes(gzip.compress(text.encode()))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("data/image_data.json", text)
    assert [read_image_data(path) for path in (plain, packed, zipped)] == [expected] * 3
    plain.write_text(text.replace("image_id", "id"))
    assert read_image_data(plain) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"image_id": 1}]', "field 'coco_id': it is missing"),
        ('[{"image_id": 1, "coco_id": "seven"}]', "field 'coco_id': expected a whole number or null, found 'seven'"),
        ('[{"image_id": 1, "coco_id": true}]', "field 'coco_id': expected a whole number or null, found True"),
        ("[7]", r"record\[0\]: expected a JSON object"),
        ("{}", "expected a JSON list"),
    ],
)
def test_another_file_is_refused(tmp_path, text, message):
    path = tmp_path / "image_data.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_image_data(path)


def test_a_missing_file_and_another_zip_file_say_where_to_get_it(tmp_path):
    with pytest.raises(InputError, match=r"no such file; image_data.json is in https://"):
        read_image_data(tmp_path / "image_data.json")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("other.json", "[]")
    with pytest.raises(InputError, match=r"has no image_data.json"):
        read_image_data(tmp_path / "other.zip")
