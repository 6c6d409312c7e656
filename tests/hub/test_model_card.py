"""A model card contains what training.json records, and nothing else."""

import copy
import re

import hypothesis.strategies as st
import pytest
from huggingface_hub import ModelCard
from hypothesis import given, settings

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.model_card import model_card, read_record
from tests.hub.checkpoints import RECORD, write_record

NAME = "ada/mlp-qa"
HEADS = [
    "# mlp-qa",
    "## How to use it",
    "## Results",
    "### Which decoys fool it",
    "### By question type",
    "## The dataset",
    "## Training",
    "## Limits",
    "## Licence and citation",
]


@pytest.fixture
def card(tmp_path):
    """Makes the card of the record with some fields changed; None makes a field null."""

    def card(**changes):
        return ModelCard(model_card(read_record(write_record(tmp_path / "best", **changes)), NAME))

    return card


def page(text):
    """The lines outside of code blocks."""
    return re.sub(r"(?ms)^(`{3,}).*?^\1$", "", text).split("\n")


def heads(text):
    return [line for line in page(text) if line.startswith("#")]


def test_the_card_contains_what_was_recorded(card):
    text = card().text
    assert heads(text) == HEADS
    for expected in [
        "MLP-QA: one hidden layer that sees the question and a candidate answer, not the image.",
        "Trained with hf_vqa_mc 0.1.0 on [COCO-QA](<https://example.org/cocoqa/>), config `cocoqa_iou_qou`, dataset "
        "`vqa_mc`.",
        "IoU decoys are correct answers to other questions about the same image.",
        "Questions: 74,800 train, 3,936 held out, 38,948 test.",
        "The checkpoint was chosen on training images held out by the hash of their ids.",
        "import hf_vqa_mc.models",
        'pipeline("multiple-choice-vqa", model="ada/mlp-qa", new_words="skip")',
        'answering({"question": "What is on the table?", "choices": [',
        "Word vectors: glove.6B.100d.txt (4 dimensions, sha256 `abab",
        "| test | 51.9% | ± 0.25% | 14.3% | 38,948 |",
        "| training images held out | 53.1% | ± 0.80% | 14.3% | 3,936 |",
        "Of the wrong answers on test, 80.0% are QoU decoys, 20.0% are IoU decoys.",
        "| IoU | 9.6% | 42.9% |",
        "| color | 60.0% |",
        "Made by hf_vqa_mc 0.1.0, 117,684 questions, generated decoys. Similar questions were found with the word "
        "vectors glove.txt (100 dimensions",
        "| `seed` | `7` |",
        "Trained on cpu in 1 process for 13.5 minutes. Step 14,212 of 14,960 is kept, the best on training "
        "images held out by the hash of their ids.",
        "Versions: python 3.12.1, torch 2.9.0",
        f"```sh\n{RECORD['command']}\n```",
        "| `drop_at` | `[0.7, 0.9]` |",
        "- It cannot see the image.",
        "- The results are of one run (seed 3):",
        "Questions and answers of COCO-QA: not stated by the publisher.",
        "{chao2018being,",
        "@misc{nobody2000cocoqa",
    ]:
        assert expected in text, expected
    for unexpected in ["`output`", "patience", "None", "null", "weights of", "Image features", "were left out"]:
        assert unexpected not in text, unexpected


def test_the_model_index_contains_the_results(card):
    data = card().data
    (result,) = data.eval_results
    assert data.model_name == "mlp-qa"
    assert (result.metric_type, result.metric_value) == ("accuracy", RECORD["results"]["test"]["accuracy"])
    assert (result.dataset_type, result.dataset_config, result.dataset_split) == ("vqa_mc", "cocoqa_iou_qou", "test")
    assert result.dataset_name == "COCO-QA (cocoqa_iou_qou)"
    assert data.pipeline_tag == "multiple-choice"
    assert data.get("datasets") is None
    results = {"validation": RECORD["results"]["held_out"], "test": RECORD["results"]["test"]}
    both = card(results=results).data.eval_results
    assert {one.dataset_split: one.metric_value for one in both} == {"validation": 0.53125, "test": 0.5187}


def test_a_dataset_on_the_hub_is_linked_and_a_local_one_is_not(card):
    on_hub = card(dataset="benchmakers/vqa_mc", source=None, made_with=None)
    assert on_hub.data.datasets == "benchmakers/vqa_mc"
    assert "dataset `benchmakers/vqa_mc`" in on_hub.text
    assert on_hub.data.eval_results[0].dataset_name == "cocoqa_iou_qou"
    for folder in ("out/vqa_mc", "/home/ada/data/vqa_mc", "../vqa_mc", "vqa_mc"):
        on_disk = card(dataset=folder)
        assert on_disk.data.get("datasets") is None
        assert on_disk.data.eval_results[0].dataset_type == "vqa_mc"
        assert "dataset `vqa_mc`" in on_disk.text


def test_the_metric_of_an_open_ended_model_is_described(card):
    answers = {"size": 9, "questions": 1.0, "human_answers": 1.0}
    of_metric = {
        "accuracy": "Accuracy is the share of questions that are answered with the dataset's answer.",
        "consensus accuracy": "The metric is the dataset's own: consensus accuracy.",
    }
    for metric, sentence in of_metric.items():
        result = {"metric": metric, "accuracy": 0.5, "questions": 9, "answerable": 1.0}
        text = card(model="bow-q", answers=answers, results={"test": result}).text
        assert sentence in text
        assert "choices" not in text.partition("## Results")[2].partition("##")[0]
        chosen = {**result, "multiple_choice": {"accuracy": 0.75, "chance": 0.25}}
        text = card(model="bow-q", answers=answers, results={"test": chosen}).text
        assert "With choices, the answer is the best of them." in text
        assert "| test | 50.0% |  | 75.0% | 25.0% | 100.0% | 9 |" in text


def test_the_example_fits_what_an_open_ended_model_reads(card):
    answers = {"size": 9, "questions": 1.0, "human_answers": 1.0}
    text = card(model="nmn", answers=answers, settings={"questions": "programs"}).text
    assert "It reads GQA's functional programs instead of the text of questions." in text
    assert 'answering({"question": "select: table->relate: apple,on,s [0]->query: color [1]"}' in text
    regions = {"backbone": "regions", "revision": "imported", "grid": None, "dim": 8, "precision": "float32"}
    text = card(model="mac", answers=answers, image_features=regions).text
    assert "answering(" not in text
    assert "vqa-mc predict reads them" in text


def test_the_initial_checkpoint_is_named(card):
    for name, shown in (("ada/mlp-qavg", "ada/mlp-qavg"), ("/home/ada/runs/qavg", "qavg"), ("runs/best", "runs/best")):
        text = card(init_from={"name": name, "config": "qavg_iou_qou"}).text
        assert f"Initialised with the weights of `{shown}`, trained on `qavg_iou_qou`." in text
    assert "Initialised with the weights of `ada/mlp`." in card(init_from={"name": "ada/mlp", "config": None}).text


def test_the_card_of_a_model_with_images_describes_their_features(card):
    seen = {"backbone": "microsoft/resnet-152", "revision": "abc", "grid": None, "dim": 2048, "precision": "bfloat16"}
    found = card(model="mlp-iqa", image_features=seen)
    assert (
        "Image features: `microsoft/resnet-152` at revision `abc`, one vector per image with 2,048 dimensions, "
        "computed in bfloat16." in found.text
    )
    assert 'answering({"image": "photo.jpg", "question"' in found.text
    assert "cannot see" not in found.text
    assert found.data.pipeline_tag == "visual-question-answering"
    found = card(model="attention", image_features={**seen, "grid": 7})
    assert "a grid of 7 × 7 cells with 2,048 dimensions each, computed" in found.text


def test_limits_follow_from_the_training(card):
    text = card(skipped=1200, processes=2, word_vectors={**RECORD["word_vectors"], "name": "corpus"})
    for expected in [
        "- 1,200 questions of all splits were left out because their images have no features.",
        "- It was trained by 2 processes: batch normalisation saw only each process's share of a batch.",
        "other words are skipped (`new_words=",
    ]:
        assert expected in text.text, expected


@pytest.mark.parametrize("field", [field for field in RECORD if field != "written_by"])
def test_a_null_field_leaves_its_sentence_out(card, field):
    text = card(**{field: None}).text
    assert heads(text)[0] == "# mlp-qa"
    assert "None" not in text
    assert not any("  " in line for line in page(text) if not line.startswith("| "))
    assert "\n\n\n" not in text


def test_the_card_of_an_empty_record_makes_no_claims(card):
    found = card(**dict.fromkeys((field for field in RECORD if field != "written_by"), None))
    assert heads(found.text) == ["# mlp-qa", "## How to use it", "## Limits", "## Licence and citation"]
    assert "- No results were measured." in found.text
    assert found.data.get("eval_results") is None
    for field, parts in RECORD.items():
        if isinstance(parts, dict):
            card(**{field: dict.fromkeys(parts)})
    assert "Results" not in heads(card(results={"test": dict.fromkeys(RECORD["results"]["test"])}).text)


def texts_of(value, path=()):
    """The key paths of all texts in a record."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from texts_of(one, (*path, key))
    elif isinstance(value, str):
        yield path


def changed(path, text):
    record = copy.deepcopy(RECORD)
    *above, last = path
    around = record
    for key in above:
        around = around[key]
    around[last] = text
    return record


PATHS = [path for path in texts_of(RECORD) if path != ("written_by",)]
HOSTILE = [
    "a: 'b' # \"c\" --- é",
    "x\n---\n# owned\n",
    "```\n# owned\n```",
    "| a | b |\n|---|---|\n| ` | \\",
    "<script>alert()</script> [a](b) **c** {{ card_data }} {% raw %}",
    "\ud800 \x00 \x85 \u2028# owned\u2029 \u202e",
    "# owned\r# owned",
    "",
]


@pytest.mark.parametrize("text", HOSTILE)
@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_no_text_of_a_record_breaks_the_page_or_its_metadata(tmp_path, text, step):
    everywhere = copy.deepcopy(RECORD)
    for *above, last in PATHS:
        around = everywhere
        for key in above:
            around = around[key]
        around[last] = text
    everywhere["versions"] = {text: "1"}
    everywhere["results"]["test"]["chosen_kinds"] = {text: 0.5}
    everywhere["results"]["test"]["per_question_type"] = {text: 0.5}
    check_page(everywhere, tmp_path)
    for path in PATHS[HOSTILE.index(text) % step :: step]:
        check_page(changed(path, text), tmp_path)


@pytest.mark.slow
@settings(max_examples=20)
@given(path=st.sampled_from(PATHS), text=st.text(alphabet=st.characters() | st.sampled_from("`|#-\n\\<")))
def test_nor_does_random_text(path, text, tmp_path_factory):
    check_page(changed(path, text), tmp_path_factory.mktemp("best"))


def check_page(record, folder):
    text = model_card(read_record(write_record(folder, **record)), NAME)
    text.encode()
    found = ModelCard(text)
    assert found.data.library_name == "hf_vqa_mc"
    assert len(found.data.eval_results or [1]) == 1
    assert found.data.get("owned") is None
    assert set(heads(found.text)) <= set(HEADS)
    assert heads(found.text)[-1] == HEADS[-1]
    for line in page(found.text):
        if line.startswith("| "):
            assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) in (3, 4, 6), line


def test_a_missing_or_invalid_record_is_rejected(tmp_path):
    with pytest.raises(InputError, match=r"training.json is missing; give a checkpoint"):
        read_record(tmp_path)
    for content in (b"{", b"\xff", b"[]", b'{"written_by": "someone"}'):
        (tmp_path / "training.json").write_bytes(content)
        with pytest.raises(InputError, match=r"not JSON|vqa-mc train did not write this"):
            read_record(tmp_path)
