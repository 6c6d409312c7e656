"""The dataset card: metadata and page."""

import re

import hypothesis.strategies as st
import pytest
import yaml
from datasets import DatasetInfo
from datasets.info import DatasetInfosDict
from datasets.utils.metadata import MetadataConfigs
from huggingface_hub import DatasetCard
from hypothesis import given

from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.dataset.card import card as whole_card
from hf_vqa_mc.dataset.card import multiple_choice_features
from hf_vqa_mc.dataset.card_text import card_text
from tests.dataset.fixtures import ABOUT, MADE_WITH, statistics, write_made


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = write_made(tmp_path_factory.mktemp("card") / "vqa_mc", "iou", "qou", "iou_qou")
    other = {**ABOUT, "title": "Other QA", "licence": "words of our own", "citation": "@misc{other2001}"}
    return write_made(folder, "iou", source="other", about=other, made_with={**MADE_WITH, "word_vectors": None})


@pytest.fixture(scope="module")
def card(folder):
    return DatasetCard.load(folder / "README.md")


def page(configs):
    """The page of a source with these statistics."""
    example = {"question": "?", "image_id": "1", "split": "test", "choices": [], "choice_kinds": [],
               "choice_fallback": [], "label": 0}  # fmt: skip
    common = {"splits": {}, "files": {}, "embedded_images": False, "example": example}
    made = {name: {"variant": name.removeprefix("made_"), **common, **config} for name, config in configs.items()}
    entry = {"about": ABOUT, "made_with": MADE_WITH, "configs": made}
    return card_text({"default": next(iter(configs)), "sources": {"made": entry}})


def test_a_card_rendered_again_from_the_folder_is_the_same(folder):
    assert whole_card(read_inventory(folder)) == (folder / "README.md").read_text("utf-8")


def test_texts_of_an_inventory_stay_text(folder):
    def spoilt(value, key=""):
        if isinstance(value, dict):
            return {name: one if name == "variant" else spoilt(one, name) for name, one in value.items()}
        if isinstance(value, list):
            return [spoilt(one) for one in value]
        return f"{value}<b> [x](http://127.0.0.1)\n```\n<script>\n# y" if isinstance(value, str) else value

    inventory = read_inventory(folder)
    text = card_text({**inventory, "sources": spoilt(inventory["sources"])})
    blocks = re.compile(r"^(`{3,})\w*$.*?^\1$", re.DOTALL | re.MULTILINE)
    outside = re.sub(r"(?<!\\)`[^`\n]*`", "", blocks.sub("", text))
    assert "script" in outside
    assert re.search(r"(?<!\\)<|(?<!\\)\]\(http|[^(]https?://|^# y", outside, re.MULTILINE) is None, outside


def test_datasets_reads_its_metadata(card, folder):
    infos = DatasetInfosDict.from_dataset_card_data(card.data)
    assert set(infos) == {"made_iou", "made_qou", "made_iou_qou", "other_iou"}
    info = infos["made_iou"]
    assert isinstance(info, DatasetInfo)
    assert info.features == multiple_choice_features()
    assert {name: split.num_examples for name, split in info.splits.items()} == {"train": 40, "test": 20}
    assert info.dataset_size == sum(split.num_bytes for split in info.splits.values()) > 0
    for name, one in infos.items():
        assert one.download_size == sum(file.stat().st_size for file in (folder / name).iterdir())
    configs = MetadataConfigs.from_dataset_card_data(card.data)
    assert configs.get_default_config_name() == "made_iou_qou"
    assert configs["made_qou"]["data_files"] == [
        {"split": "train", "path": "made_qou/train-*"},
        {"split": "test", "path": "made_qou/test-*"},
    ]
    assert card.data.license == ["cc-by-4.0", "other"]
    assert card.data.task_categories == ["visual-question-answering", "multiple-choice"]
    assert card.data.size_categories == ["n<1K"]


def test_no_tag_is_listed_twice(tmp_path):
    tags = DatasetCard.load(write_made(tmp_path / "vqa_mc", "iou", source="vqa") / "README.md").data.tags
    assert sorted(tags) == ["hf_vqa_mc", "multiple-choice", "vqa"]


def test_the_page_describes_content_and_creation(card):
    for expected in [
        "| `made_iou_qou` (default) | 40 |  | 20 | 7 | 26.6% | 14.3% |",
        'load_dataset("path/to/this/folder", "made_iou_qou")',
        'rows = ds["test"]\nrows.features["choice_kinds"].feature.int2str(rows[0]["choice_kinds"])',
        "hf_vqa_mc 0.1.0, 60 questions, generated decoys. Similar questions by the word vectors *glove.txt*",
        "sha256 `" + "ab" * 32,
        "No word vectors were needed.",
        "| seed | 0 |",
        "- Other QA (questions and answers): words of our own",
        "author    = {Chao, Wei-Lun and Hu, Hexiang and Sha, Fei}",
        "@misc{nobody2000madeup",
        "@misc{other2001}",
        "`vqa-mc build other --images DIR` adds them",
        "(**target**)",
    ]:
        assert expected in card.text, expected


def test_a_set_of_mostly_fallbacks_gets_a_warning():
    configs = {"made_iou": {"statistics": statistics("iou", {"test": 100})}}
    text = page(configs)
    assert "**IoU**: of 300 decoys, 240 (80.0%) are fallbacks" in text
    assert "no candidates: 239, few candidates: 1" in text
    assert "**Results with these IoU decoys alone mostly measure the fallbacks.**" in text
    configs["made_iou"]["statistics"]["fallbacks"]["iou"]["fallback"] = 30
    assert "mostly measure" not in page(configs)


def test_a_set_that_differs_in_a_combined_config_is_listed_twice():
    configs = {f"made_{name}": {"statistics": statistics(name, {"test": 100})} for name in ("iou_qou", "iou", "qou")}
    assert " in `made_iou_qou`" not in page(configs)
    configs["made_iou_qou"]["statistics"]["fallbacks"]["qou"]["fallback"] = 150
    configs["made_iou_qou"]["statistics"]["rejected"]["qou"] = {"same_text": 9, "repeats_other_set": 8}
    text = page(configs)
    assert "**QoU**: all 300 decoys are of this kind." in text
    assert "**QoU in `made_iou_qou`**: of 300 decoys, 150 (50.0%) are fallbacks" in text
    assert "Results with these QoU decoys alone mostly measure the fallbacks" in text
    assert "| | IoU | QoU | QoU in `made_iou_qou` |" in text
    assert "| already a decoy of the other set | 0 | 0 | 8 |" in text


def test_the_statistics_are_described_in_sentences():
    figures = statistics("iou_qou", {"train": 90, "test": 10})
    figures["choices_per_row"]["test"] = {"7": 8, "6": 2}
    figures["fallbacks"]["qou"] |= {"fallback": 5, "missing": 2}
    text = page({"made_iou_qou": {"statistics": figures}})
    for expected in [
        "`made_iou_qou`: 2 rows have fewer than 7 choices (2 with 6, 98 with 7).",
        "2 are missing: no fallback was found either.",
        "| one contains the other | 3 | 3 |",
        "in 5 rows two sets contained the same text (6 texts); 6 of these texts were replaced",
        "| `made_iou_qou` | 12 | 5.0 | 14.5 | 15.0 | 1 |",
        "WordNet contains a word of 98.0% of the correct answers (98 of 100)",
    ]:
        assert expected in text, expected


@pytest.mark.slow
@given(question=st.text(min_size=1), choice=st.text(min_size=1))
def test_special_characters_of_a_dataset_are_escaped(question, choice):
    example = {
        "question": question,
        "image_id": "1",
        "split": "test",
        "choices": [choice, "plain"],
        "choice_kinds": [2, 0],
        "choice_fallback": [True, False],
        "label": 1,
    }
    text = page({"made_iou": {"statistics": statistics("iou", {"test": 1}), "example": example}})
    lines = [line for line in text.split("\n") if line.startswith(">")]
    assert len(lines) == 4
    assert lines[2].endswith("(iou, fallback)")


def test_yaml_survives_special_characters_in_titles(tmp_path):
    about = {**ABOUT, "title": "a: 'b' # \"c\" --- é"}
    text = (write_made(tmp_path / "vqa_mc", "iou", about=about) / "README.md").read_text("utf-8")
    assert yaml.safe_load(text.split("\n---\n")[0])["pretty_name"].startswith("VQA-MC: a: 'b' # \"c\" --- é")
