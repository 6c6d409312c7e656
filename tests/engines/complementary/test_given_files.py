"""Captions and instances are read, and malformed files are refused."""

import json
import lzma

import pytest

from hf_vqa_mc.engines.complementary.complementary import read_captions, read_instances
from hf_vqa_mc.errors import InputError

INSTANCES = {
    "images": [{"id": 1}, {"id": 2}],
    "categories": [{"id": 7, "name": "dog"}, {"id": 8, "name": "fire hydrant"}],
    "annotations": [{"image_id": 1, "category_id": 7}, {"image_id": 1, "category_id": 7}],
}


def written(folder, value, name="file.json"):
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return path


def test_instances_are_read_and_an_image_may_have_none(tmp_path):
    there, categories = read_instances([written(tmp_path, INSTANCES)])
    assert there == {"1": {"dog"}, "2": set()}
    assert categories == {"dog", "fire hydrant"}


def test_real_coco_files_are_read(real_data):
    there, categories = read_instances([real_data / "coco" / "COCO128__instances_train2017.json.xz"])
    assert len(categories) == 80
    assert len(there) >= 126
    captions = read_captions([real_data / "coco" / "COCO_MINI__captions_val2017.json.xz"])
    assert sum(map(len, captions.values())) > len(captions) > 0


def test_a_real_truncated_file_is_refused(real_data):
    with pytest.raises(InputError, match="the file is truncated"):
        read_instances([real_data / "coco" / "minyus100__instances_val2014.json.xz"])


def test_captions_of_several_files_are_joined(tmp_path):
    one = written(tmp_path, {"annotations": [{"image_id": 1, "caption": "a"}]}, "one.json")
    two = tmp_path / "two.json.xz"
    two.write_bytes(lzma.compress(json.dumps({"annotations": [{"image_id": 1, "caption": "b"}]}).encode()))
    assert read_captions([one, two]) == {"1": ["a", "b"]}


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        ("[", "expected a JSON object"),
        ([], "expected a JSON object"),
        ({"images": []}, "expected a field 'categories'"),
        ({**INSTANCES, "annotations": [{"category_id": 7}]}, r"annotations\[0\], field 'image_id'"),
        (
            {**INSTANCES, "annotations": [{"image_id": 1, "category_id": 7}, {"image_id": 3, "category_id": 7}]},
            "image 3 is annotated, but not in the list 'images': the file is truncated",
        ),
        ({**INSTANCES, "categories": [{"id": 7}]}, r"categories\[0\], field 'name'"),
        ({**INSTANCES, "images": ["x"]}, r"images\[0\]: expected a JSON object"),
    ],
)
def test_instances_that_are_not_coco_s_are_refused(tmp_path, file, complaint):
    with pytest.raises(InputError, match=complaint):
        read_instances([written(tmp_path, file)])


def test_files_with_different_categories_are_refused(tmp_path):
    other = written(tmp_path, {**INSTANCES, "categories": INSTANCES["categories"][:1]}, "other.json")
    with pytest.raises(InputError, match="its 1 categories are not the"):
        read_instances([written(tmp_path, INSTANCES), other])


def test_a_missing_file_and_a_caption_that_is_no_text_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.json"):
        read_captions([tmp_path / "none.json"])
    with pytest.raises(InputError, match=r"annotations\[0\], field 'caption'"):
        read_captions([written(tmp_path, {"annotations": [{"image_id": 1, "caption": 3}]})])
