"""The ``datasets`` builder: the same rows as the folder, never from a stale cache."""

import dataclasses
import os
import shutil

import pytest
from datasets import load_dataset

import hf_vqa_mc
from hf_vqa_mc.dataset.builder import VqaMcConfig
from hf_vqa_mc.dataset.card import multiple_choice_features
from hf_vqa_mc.dataset.settings import DecoySettings
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.verbs.build import build

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")


@pytest.fixture
def builder(tmp_path, cocoqa_files, glove_file):
    def builder(config="cocoqa_iou_qou", **options):
        given = {"data_dir": str(cocoqa_files), "word_vectors": str(glove_file), "cache_dir": str(tmp_path / "cache")}
        return hf_vqa_mc.VqaMc(config_name=config, **{**given, **options})

    return builder


def test_it_gives_the_rows_of_the_folder(builder, tmp_path, cocoqa_files, glove_file):
    output = tmp_path / "vqa_mc"
    build("cocoqa", data_dir=cocoqa_files, output=output, word_vectors=str(glove_file))
    expected = load_dataset(str(output), "cocoqa_iou_qou", cache_dir=str(tmp_path / "other"))
    made = builder()
    made.download_and_prepare()
    ds = made.as_dataset()
    assert ds["train"].features == multiple_choice_features()
    for split in expected:
        assert ds[split].to_list() == expected[split].to_list()


def test_it_streams_and_writes_parquet(builder, tmp_path):
    builder("cocoqa_iou").download_and_prepare(str(tmp_path / "out"), file_format="parquet")
    files = str(tmp_path / "out" / "*test*.parquet")
    rows = load_dataset("parquet", data_files=files, split="train", cache_dir=str(tmp_path / "cache"))
    assert rows.features == multiple_choice_features()
    assert list(builder("cocoqa_iou").as_streaming_dataset("test")) == rows.to_list() != []


def test_there_is_a_config_for_every_source_and_variant():
    names = set(hf_vqa_mc.VqaMc.builder_configs)
    with_orig = {source.name for source in SOURCES.values() if source.has_orig_decoys}
    assert {f"{source}_iou_qou" for source in SOURCES} <= names
    assert {f"{source}_all" for source in with_orig} <= names
    assert "cocoqa_all" not in names
    open_ended = {config.name for source in SOURCES.values() for config in source.open_ended}
    vqa = {"vqa_open", "vqa_abstract_open", "vqa2_open", "vqa2_pairs"}
    assert open_ended == {"gqa_balanced", "gqa_all", "tdiuc", "tdiuc_tail"} | vqa
    assert names >= open_ended
    without = sum("orig" not in variant.sets for variant in VARIANTS.values())
    variants = sum(len(VARIANTS) if source in with_orig else without for source in SOURCES)
    assert len(names) == variants + len(open_ended)


def test_every_setting_is_a_parameter_with_the_same_default():
    ours = {field.name: field.default for field in dataclasses.fields(VqaMcConfig)}
    for field in dataclasses.fields(DecoySettings):
        assert ours[field.name] == field.default
    assert VqaMcConfig(name="x", source="cocoqa", variant="iou").settings() == DecoySettings()


CHANGES = {"a setting": {"seed": 1}, "decoys_per_set": {"decoys_per_set": 2}, "vectors": {"word_vectors": "corpus"}}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_setting_is_another_cache_folder(builder, change):
    assert builder(**change).cache_dir != builder().cache_dir
    assert builder().cache_dir == builder().cache_dir


def test_changed_files_but_for_images_are_never_answered_from_the_cache(builder, tmp_path, cocoqa_files, glove_file):
    raw, vectors = tmp_path / "raw", tmp_path / "glove.txt"
    shutil.copytree(cocoqa_files, raw)
    shutil.copy(glove_file, vectors)
    first = builder(data_dir=str(raw), word_vectors=str(vectors)).cache_dir
    (raw / "1.jpg").write_bytes(b"")
    assert builder(data_dir=str(raw), word_vectors=str(vectors)).cache_dir == first
    target = next(raw.rglob("test/answers.txt"))
    old, times = target.read_text(), target.stat()
    target.write_text(old[::-1].strip() + "\n" if len(old[::-1].strip()) + 1 == len(old) else old.swapcase())
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert target.stat().st_size == times.st_size
    second = builder(data_dir=str(raw), word_vectors=str(vectors)).cache_dir
    assert second != first
    vectors.write_text(vectors.read_text().replace("1", "2"))
    assert builder(data_dir=str(raw), word_vectors=str(vectors)).cache_dir != second


def test_wrong_input_is_our_error_and_not_wrapped(builder, tmp_path):
    with pytest.raises(InputError, match=r"unknown config 'cocoqa_iuo': did you mean 'cocoqa_iou'\?"):
        builder("cocoqa_iuo")
    with pytest.raises(InputError, match="Expected a folder with the publisher's files"):
        builder(data_dir=str(tmp_path / "nowhere")).download_and_prepare()
    with pytest.raises(InputError, match="give data_dir, not data_files"):
        builder(data_files={"train": "x"})
    with pytest.raises(InputError, match="QoU decoys need word vectors"):
        builder(word_vectors=None).download_and_prepare()


def test_a_failed_download_names_the_alternatives(builder, monkeypatch, tmp_path):
    from hf_vqa_mc.dataset import builder as vqa_mc

    def unreachable(*_):
        raise InputError("cocoqa: cannot reach example.org")

    monkeypatch.setattr(vqa_mc, "gather", unreachable)
    monkeypatch.chdir(tmp_path)
    message = (
        rf"no data_dir was given, there is no built folder ./vqa_mc here \({tmp_path}\).*cannot reach example.org.*Hub"
    )
    with pytest.raises(InputError, match=message):
        builder(data_dir=None).download_and_prepare()
