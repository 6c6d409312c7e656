"""Open-ended configs alongside the multiple-choice ones: built, mixed, loaded, and described on the card."""

import json
import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import Features, load_dataset
from huggingface_hub import DatasetCard

import hf_vqa_mc
from hf_vqa_mc.data import shards
from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.data.shards import write_stream
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.variants import needs_published
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources import table as sources_table
from hf_vqa_mc.sources.files import Folder
from hf_vqa_mc.sources.open_ended import Reading
from hf_vqa_mc.verbs.build import build
from tests.dataset.fixtures import colour_of, draw_images, tree_bytes
from tests.sources.fixtures import write_vqa_abstract
from tests.sources.open_ended_files import (
    write_gqa,
    write_tdiuc,
    write_vqa2_pairs,
    write_vqa_open,
)

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")

WRITERS = {
    "gqa": write_gqa,
    "tdiuc": write_tdiuc,
    "vqa": write_vqa_open,
    "vqa_abstract": write_vqa_abstract,
    "vqa2": write_vqa2_pairs,
}
CONFIGS = {config.name: (source.name, config) for source in SOURCES.values() for config in source.open_ended}
SOME = [pytest.param(name, marks=[] if name in ("gqa_all", "vqa2_pairs") else pytest.mark.slow) for name in CONFIGS]
"""The configs of which the others are slow tests: with nested columns, and with two questions a row."""


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    """A folder of each source's files."""
    base = tmp_path_factory.mktemp("raw")
    for name, write in WRITERS.items():
        write(base / name)
    return base


@pytest.fixture(scope="module")
def built(raw, tmp_path_factory):
    """A folder with everything that these sources can have."""
    output = tmp_path_factory.mktemp("built") / "vqa_mc"
    for name in WRITERS:
        build(name, data_dir=raw / name, output=output, word_vectors="corpus")
    return output


def _load(folder, config, **options):
    return load_dataset(str(folder), config, cache_dir=str(folder.parent / "cache"), **options)


def _expected(raw, name):
    source, config = CONFIGS[name]
    reading = Reading(config, Folder(raw / source))
    return {split: pa.concat_tables(list(reading.tables(split))) for split in reading.splits}


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_load_dataset_gives_back_the_rows(built, raw, name):
    ds, expected = _load(built, name), _expected(raw, name)
    assert list(ds) == list(expected)
    for split, rows in ds.items():
        assert rows.features == Features.from_arrow_schema(CONFIGS[name][1].schema)
        assert rows.to_list() == expected[split].to_pylist()
    streamed = _load(built, name, streaming=True)
    assert list(streamed["train"]) == expected["train"].to_pylist()


def test_each_parquet_file_can_be_read_alone(built, tmp_path):
    file = built / "gqa_all" / "train-00000-of-00001.parquet"
    ds = load_dataset("parquet", data_files=str(file), split="train", cache_dir=str(tmp_path))
    assert ds.features == Features.from_arrow_schema(CONFIGS["gqa_all"][1].schema)
    stored = json.loads(pq.read_schema(file).metadata[b"huggingface"])["info"]["features"]
    assert isinstance(stored["semantic"], list)  # a Sequence of structs would be lists in a struct in datasets 3
    assert stored["entailed"]["_type"] == "Sequence"


@pytest.mark.slow
def test_all_that_the_sources_can_have_lies_in_one_folder(built):
    inventory = read_inventory(built)
    configs = {name for entry in inventory["sources"].values() for name in entry["configs"]}
    variants = ("iou", "qou", "iou_qou", "random_uniform", "random_frequency")
    with_choices = {f"{source}_{variant}" for source in WRITERS for variant in variants}
    published = {f"vqa_abstract_{name}" for name, variant in VARIANTS.items() if needs_published(variant)}
    assert configs == {*CONFIGS, *with_choices, *published}
    assert inventory["default"] == "gqa_iou_qou"
    assert _load(built, "tdiuc_iou_qou")["train"].num_rows == _load(built, "tdiuc")["train"].num_rows
    assert _load(built, "gqa_qou")["validation"].num_rows == 16


@pytest.mark.parametrize("name", SOME)
def test_the_builder_gives_the_same_rows(built, raw, name, tmp_path):
    options = {"data_dir": str(raw / CONFIGS[name][0]), "cache_dir": str(tmp_path)}
    builder = hf_vqa_mc.VqaMc(config_name=name, **options)
    builder.download_and_prepare()
    ds, expected = builder.as_dataset(), _load(built, name)
    assert list(ds) == list(expected)
    assert all(ds[split].to_list() == expected[split].to_list() for split in ds)
    streamed = hf_vqa_mc.VqaMc(config_name=name, **options).as_streaming_dataset("train")
    assert list(streamed) == expected["train"].to_list()


@pytest.mark.parametrize(
    ("source", "named", "configs"),
    [
        ("gqa", ["balanced"], {"gqa_balanced"}),
        ("gqa", ["all", "gqa_balanced"], {"gqa_all", "gqa_balanced"}),
        ("gqa", ["balanced", "iou"], {"gqa_balanced", "gqa_iou"}),
        ("gqa", ["gqa_iou"], {"gqa_iou"}),
        ("tdiuc", ["open"], {"tdiuc"}),
        ("tdiuc", ["tdiuc", "tail"], {"tdiuc", "tdiuc_tail"}),
        ("vqa2", ["pairs"], {"vqa2_pairs"}),
        ("vqa2", ["open"], {"vqa2_open"}),
        ("vqa", ["vqa_open"], {"vqa_open"}),
        ("vqa_abstract", ["open"], {"vqa_abstract_open"}),
    ],
)
def test_configs_are_named_by_short_or_full_name_and_need_no_vectors(raw, tmp_path, source, named, configs):
    made = build(source, data_dir=raw / source, output=tmp_path / "vqa_mc", variants=named)
    assert set(made.configs) == configs
    assert made.default == min(configs - {"gqa_all"}, key=lambda name: (name in CONFIGS, name))


def test_only_configs_of_available_files_are_built(tmp_path):
    write_gqa(tmp_path / "all", ["all"])
    write_gqa(tmp_path / "balanced", ["balanced"])
    made = build("gqa", data_dir=tmp_path / "all", output=tmp_path / "one")
    assert set(made.configs) == {"gqa_all"}
    made = build("gqa", data_dir=tmp_path / "balanced", output=tmp_path / "other", word_vectors="corpus")
    assert "gqa_all" not in made.configs
    assert {"gqa_balanced", "gqa_iou_qou"} <= set(made.configs)
    with pytest.raises(InputError, match=r"no train_all_questions\.json"):
        build("gqa", data_dir=tmp_path / "balanced", output=tmp_path / "none", variants=["all"])
    with pytest.raises(InputError, match=r"no train_balanced_questions\.json"):
        build("gqa", data_dir=tmp_path / "all", output=tmp_path / "none", variants=["iou"])


WRONG = {
    "no vectors": ("gqa", {}, r"gqa: QoU decoys need word vectors; .* which need none \(variants balanced,all\)"),
    "a variant": ("gqa", {"variants": ["balance"]}, r"unknown variant 'balance': did you mean 'balanced'\?"),
    "a config of another": ("gqa", {"variants": ["tdiuc"]}, r"unknown variant 'tdiuc'"),
    "twice": ("gqa", {"variants": ["all", "gqa_all"]}, r"variant 'gqa_all' is listed twice"),
    "none": ("gqa", {"variants": []}, r"variants is empty; known: .*balanced"),
    "embedding": (
        "vqa2",
        {"variants": ["pairs"], "images": ".", "embed_images": True},
        r"embed_images=True: vqa2_pairs holds no images",
    ),
}


@pytest.mark.parametrize(("source", "options", "message"), WRONG.values(), ids=WRONG)
def test_invalid_input_is_reported_and_leaves_no_files(raw, tmp_path, source, options, message):
    with pytest.raises(InputError, match=message):
        build(source, data_dir=raw / source, output=tmp_path / "vqa_mc", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_breaks_off_while_it_is_written_leaves_the_old_folder(raw, tmp_path):
    output = tmp_path / "vqa_mc"
    build("tdiuc", data_dir=raw / "tdiuc", output=output, variants=["open"])
    before = tree_bytes(output)
    write_gqa(tmp_path / "broken")
    whole = (tmp_path / "broken" / "testdev_all_questions.json").read_bytes()
    (tmp_path / "broken" / "testdev_all_questions.json").write_bytes(whole[:-9])
    with pytest.raises(InputError, match=r"testdev_all_questions\.json: the JSON is truncated"):
        build("gqa", data_dir=tmp_path / "broken", output=output, variants=["all"])
    assert tree_bytes(output) == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken", "vqa_mc"]


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_streams_are_written_the_same_in_any_pieces(tmp_path, monkeypatch, size):
    monkeypatch.setattr(sources_table, "ROWS", 100)
    monkeypatch.setattr(shards, "SHARD_BYTES", 5_000)
    table = pa.table({"text": [f"row {number}" for number in range(1030)]})
    features = Features.from_arrow_schema(table.schema)
    expected = write_stream(tmp_path / "whole", "train", features, [table])
    pieces = (table.slice(start, size) for start in range(0, 1030, size))
    seen = []
    written = write_stream(tmp_path / "pieces", "train", features, pieces, wrote=seen.append)
    assert written == expected
    assert tree_bytes(tmp_path / "pieces") == tree_bytes(tmp_path / "whole")
    n = len(written.files)
    assert n > 2
    assert sorted(written.files) == [f"train-{i:05d}-of-{n:05d}.parquet" for i in range(n)]
    assert (written.rows, sum(seen)) == (1030, 1030)
    assert (
        pa.concat_tables(pq.read_table(tmp_path / "pieces" / file) for file in written.files)["text"] == table["text"]
    )


def test_the_card_of_open_ended_configs_does_not_mention_choices(raw, tmp_path):
    output = tmp_path / "vqa_mc"
    build("tdiuc", data_dir=raw / "tdiuc", output=output, variants=["open"])
    card = DatasetCard.load(output / "README.md")
    assert card.data.task_categories == ["visual-question-answering"]
    assert card.data.pretty_name == "VQA-MC: TDIUC, open-ended"
    for word in ("decoys (wrong", "answer prior", "remedied", "choice_kinds", "word vectors", "chao2018being"):
        assert word not in card.text.lower(), word
    for text in ["| `tdiuc` (default) | 126 | 72 |", "imported\\_genome", "*Answers by question type*", "kafle2017"]:
        assert text in card.text, text


def test_the_card_describes_columns_statistics_and_balancing(built):
    card = (built / "README.md").read_text("utf-8")
    assert "**decoys (wrong answers) chosen to reduce shortcuts**" in card
    for text in [
        "### `gqa_all`",
        "| types | structural (query, verify",
        "bits before (`gqa_all`) and after balancing (`gqa_balanced`)",
        "| structural type verify | 0.00 | 0.00 |  |",
        "*Questions by structural and semantic type*",
        "Not read: challenge\\_all\\_questions.json (its questions have no answers).",
        "TDIUC-Tail",
        "of 9 pairs",
        "The files do not contain which image of a pair was in VQA v1",
    ]:
        assert text in card, text
    example = re.search(r"### `vqa2_pairs`.*?```json\n(.*?)```", card, re.DOTALL)
    assert example
    assert list(json.loads(example[1])) == CONFIGS["vqa2_pairs"][1].schema.names


def test_images_of_pairs_are_those_of_both_questions(raw, tmp_path):
    expected = _expected(raw, "vqa2_pairs").values()
    images = pa.concat_tables(
        table.select([f"{prefix}image_id", f"{prefix}image_file"]).rename_columns(["image_id", "image_file"])
        for table in expected
        for prefix in ("", "complementary_")
    )
    pictures = draw_images(tmp_path / "pictures", images)
    output = tmp_path / "vqa_mc"
    build("vqa2", data_dir=raw / "vqa2", output=output, variants=["pairs"], images=pictures)
    stored = _load(output, "vqa2_images")["images"]
    assert set(stored["image_id"][:]) == set(images["image_id"].to_pylist())
    rows = hf_vqa_mc.with_images(_load(output, "vqa2_pairs")["train"], output)
    assert rows[0]["image"].size == (8, 8)


@pytest.mark.parametrize("streaming", [False, True])
def test_a_config_called_as_its_source_gets_its_images(raw, tmp_path, streaming):
    expected = pa.concat_tables(_expected(raw, "tdiuc").values())
    pictures = draw_images(tmp_path / "pictures", expected.select(["image_id", "image_file"]))
    output = tmp_path / "vqa_mc"
    build("tdiuc", data_dir=raw / "tdiuc", output=output, variants=["open", "tail"], images=pictures)
    for config in ("tdiuc", "tdiuc_tail"):
        ds = hf_vqa_mc.with_images(_load(output, config, streaming=streaming), output)
        row = next(iter(ds["validation"]))
        found = row["image"].convert("RGB").getpixel((0, 0))
        assert all(abs(one - other) < 3 for one, other in zip(found, colour_of(row["image_id"]), strict=True))
