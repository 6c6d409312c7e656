"""Whole builds: from publishers' files to a folder that loads."""

import shutil

import numba
import pytest
from datasets import load_dataset

import hf_vqa_mc as vm
from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.data.stored_images import with_images
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources.source import read_triplets
from tests.dataset.fixtures import draw_images, tree_bytes
from tests.sources import fixtures

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")


@pytest.fixture
def build(tmp_path, cocoqa_files, glove_file):
    def build(**options):
        options = {"data_dir": cocoqa_files, "output": tmp_path / "vqa_mc", "word_vectors": str(glove_file), **options}
        return vm.build(options.pop("source", "cocoqa"), **options)

    return build


def test_every_variant_that_the_source_can_have_is_built_but_closed_sets(build, tmp_path, cocoqa_files):
    built = build()
    possible = {name for name, recipe in VARIANTS.items() if "orig" not in recipe.sets and not recipe.closed}
    assert {config["variant"] for config in built.configs.values()} == possible
    assert built.output == tmp_path / "vqa_mc"
    assert built.default == "cocoqa_iou_qou"
    assert built.removed == ()
    triplets = read_triplets("cocoqa", cocoqa_files)
    ds = load_dataset(str(built.output), "cocoqa_iou_qou", cache_dir=str(tmp_path / "cache"))
    loaded = [question_id for rows in ds.values() for question_id in rows["question_id"]]
    assert loaded == triplets["question_id"].to_pylist()
    targets = dict(zip(triplets["question_id"].to_pylist(), triplets["target"].to_pylist(), strict=True))
    for row in ds["test"]:
        assert row["choices"][row["label"]] == targets[row["question_id"]]
        assert len(row["choices"]) == len(row["choice_kinds"]) == len(row["choice_fallback"])


def test_outputs_do_not_name_this_machine(build, tmp_path, cocoqa_files):
    built = build()
    for path, content in tree_bytes(built.output).items():
        assert str(tmp_path).encode() not in content, path
        assert str(cocoqa_files).encode() not in content, path


def test_same_input_same_bytes_from_anywhere_with_any_number_of_threads(build, tmp_path, monkeypatch, cocoqa_files):
    first = tree_bytes(build(workers=1).output)
    monkeypatch.chdir(cocoqa_files.parent)
    (tmp_path / "else").mkdir()
    again = build(output=tmp_path / "else" / "vqa_mc", data_dir="cocoqa", workers=4)
    assert tree_bytes(again.output) == first


def test_configs_removed_by_a_second_build_are_reported(build):
    build(variants=["iou", "qou"])
    assert build(variants=["qou"]).removed == ("cocoqa_iou",)


def test_images_are_found_by_the_source_s_names(build, tmp_path, cocoqa_files):
    pictures = draw_images(tmp_path / "pictures", read_triplets("cocoqa", cocoqa_files))
    built = build(variants=["iou"], images=pictures)
    assert set(built.configs) == {"cocoqa_iou", "cocoqa_images"}
    next(pictures.iterdir()).unlink()
    shutil.rmtree(built.output)
    with pytest.raises(InputError, match=r"images .*pictures: 1 of \d+ missing: COCO_"):
        build(variants=["iou"], images=pictures)
    assert not built.output.exists()


WRONG = {
    "a source": ({"source": "cocoqua"}, r"unknown source 'cocoqua': did you mean 'cocoqa'\?"),
    "a variant": ({"variants": ["iou", "iou_quo"]}, r"unknown variant 'iou_quo': did you mean 'iou_qou'\?"),
    "a variant it cannot have": (
        {"variants": ["iou", "all"]},
        r"cocoqa does not support the variant 'all' \(supported: ",
    ),
    "a variant twice": ({"variants": ["iou", "iou"]}, r"variant 'iou' is listed twice"),
    "no variant": ({"variants": []}, r"variants is empty; known: "),
    "decoys": ({"decoys": "relased"}, r"unknown value of decoys='relased': did you mean 'released'\?"),
    "released decoys": ({"decoys": "released"}, r"cocoqa: the authors released no decoys for it"),
    "no vectors": ({"word_vectors": None}, r"cocoqa: QoU decoys need word vectors; give word_vectors"),
    "vectors": (
        {"word_vectors": "/nowhere/glove.txt"},
        r"word.vectors=/nowhere/glove.txt: expected an existing word2vec, GloVe or .kv file, .* or corpus",
    ),
    "raw files": ({"data_dir": "/nowhere"}, r"/nowhere does not exist"),
    "images": ({"images": "/nowhere"}, r"images=/nowhere: expected an existing folder"),
    "embedding": ({"embed_images": True}, r"embed_images=True needs images DIR"),
    "threads": ({"workers": 0}, r"workers=0: expected 1 or more"),
    "a reserved name": ({"output": "csv"}, r"output csv: load_dataset\('csv', ...\) would not look for a folder"),
}


@pytest.mark.parametrize(("options", "message"), WRONG.values(), ids=WRONG)
def test_invalid_input_is_reported_and_leaves_no_files(build, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        build(**options)
    assert not (tmp_path / "vqa_mc").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_published_decoys_and_the_released_ones_can_be_built(build, tmp_path):
    raw = tmp_path / "visual7w"
    fixtures.write_visual7w(raw)
    fixtures.write_visual7w_decoys(raw)
    options = {"source": "visual7w", "data_dir": raw, "variants": ["all", "iou_qou"], "word_vectors": "corpus"}
    made = build(**options)
    output = tmp_path / "released"
    released = build(**options, decoys="released", output=output)
    for built in (made, released):
        ds = load_dataset(str(built.output), "visual7w_all", cache_dir=str(tmp_path / "cache"))
        assert list(ds) == ["train", "validation", "test"]
        kinds = ds["test"].features["choice_kinds"].feature
        assert sorted(kinds.int2str(ds["test"][0]["choice_kinds"])) == ["iou"] * 3 + ["orig"] * 3 + ["qou"] * 3 + [
            "target"
        ]
        assert set(built.configs["visual7w_all"]["statistics"]["prior_rule"]) == {"validation", "test"}
    inventory = read_inventory(output)["sources"]["visual7w"]
    assert inventory["made_with"]["word_vectors"] is None
    published = fixtures.visual7w_decoys_json()["test"][0]
    row = next(row for row in ds["test"] if row["question_id"] == str(published["qa_id"]))
    chosen = [choice for choice, kind in zip(row["choices"], row["choice_kinds"], strict=True) if kind == 2]
    assert sorted(chosen) == sorted(published["IoU_decoys"])


def test_a_source_with_word_vectors_and_images_of_its_own_needs_neither(tmp_path):
    raw = tmp_path / "easyvqa"
    fixtures.write_easyvqa(raw)
    pictures = draw_images(tmp_path / "pictures", read_triplets("easyvqa", raw))
    built = vm.build("easyvqa", data_dir=raw, output=tmp_path / "vqa_mc", images=pictures)
    inventory = read_inventory(built.output)["sources"]["easyvqa"]
    assert inventory["made_with"]["word_vectors"]["name"] == "corpus"
    rows = load_dataset(str(built.output), "easyvqa_iou_qou", split="test", cache_dir=str(tmp_path / "cache"))
    assert with_images(rows, built.output)[0]["image"].size == (8, 8)


def test_the_number_of_threads_is_set(cocoqa_files, tmp_path):
    before = numba.get_num_threads()
    try:
        vm.build("cocoqa", data_dir=cocoqa_files, variants="iou", workers=1, output=tmp_path / "vqa_mc")
        assert numba.get_num_threads() == 1
    finally:
        numba.set_num_threads(before)
