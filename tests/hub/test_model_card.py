"""A checkpoint's card says what was written down when it was trained, and nothing else."""

import copy
import json
import re
import subprocess
import sys

import hypothesis.strategies as st
import pytest
from huggingface_hub import ModelCard
from hypothesis import given, settings

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.markdown import block, code, link, plain
from hf_vqa_mc.hub.model_card import default_name, main, model_card, read_record
from tests.hub.checkpoints import RECORD, write_record

NAME = "ada/mlp-qa"
HEADS = [
    "# mlp-qa",
    "## How to use it",
    "## Results",
    "### Which decoys fool it",
    "### By type of question",
    "## The dataset",
    "## Training",
    "## Limits",
    "## Licence and citation",
]


@pytest.fixture
def card(tmp_path):
    """The card of the record, so and so changed; a change to None leaves a field null."""

    def card(**changes):
        return ModelCard(model_card(read_record(write_record(tmp_path / "best", **changes)), NAME))

    return card


def page(text):
    """The lines outside of blocks of code."""
    return re.sub(r"(?ms)^(`{3,}).*?^\1$", "", text).split("\n")


def heads(text):
    return [line for line in page(text) if line.startswith("#")]


def test_the_page_tells_what_was_written_down(card):
    text = card().text
    assert heads(text) == HEADS
    for told in [
        "MLP-QA: one hidden layer that sees the question and a candidate answer, not the image.",
        "Trained with hf_vqa_mc 0.1.0 on [COCO-QA](<https://example.org/cocoqa/>), config `cocoqa_iou_qou`, dataset "
        "`vqa_mc`.",
        "IoU decoys are correct answers to other questions about the same image.",
        "Questions: 74,800 train, 3,936 held out, 38,948 test.",
        "The checkpoint was chosen on training images held out by the hash of their ids.",
        "import hf_vqa_mc.models",
        'pipeline("multiple-choice-vqa", model="ada/mlp-qa", new_words="skip")',
        'answering({"question": "What is on the table?", "choices": [',
        "word vectors glove.6B.100d.txt (4 numbers a word, sha256 `abab",
        "| test | 51.9% | ± 0.25% | 14.3% | 38,948 |",
        "| training images held out | 53.1% | ± 0.80% | 14.3% | 3,936 |",
        "On test, of its wrong answers 80.0% are QoU decoys, 20.0% are IoU decoys.",
        "| IoU | 9.6% | 42.9% |",
        "| color | 60.0% |",
        "Made by hf_vqa_mc 0.1.0, 117,684 questions, generated decoys. Similar questions were found by the word "
        "vectors glove.txt (100 numbers a word",
        "| `seed` | `7` |",
        "Trained on cpu in 1 process for 13.5 minutes. Of 14,960 steps kept is step 14,212, the best on training "
        "images held out by the hash of their ids.",
        "Versions: python 3.12.1, torch 2.9.0",
        f"```sh\n{RECORD['command']}\n```",
        "| `drop_at` | `[0.7, 0.9]` |",
        "- It cannot see the image.",
        "- It is one run, of seed 3:",
        "Questions and answers of COCO-QA: not stated by the publisher.",
        "{chao2018being,",
        "@misc{nobody2000cocoqa",
    ]:
        assert told in text, told
    for not_told in ["`output`", "patience", "None", "null", "weights of", "Images are seen", "were left out, whose"]:
        assert not_told not in text, not_told


def test_the_model_index_read_back_is_the_figures(card):
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


def test_a_dataset_on_the_hub_is_linked_and_one_on_a_disk_is_not(card):
    on_hub = card(dataset="benchmakers/vqa_mc", source=None, made_with=None)
    assert on_hub.data.datasets == "benchmakers/vqa_mc"
    assert "dataset `benchmakers/vqa_mc`" in on_hub.text
    assert on_hub.data.eval_results[0].dataset_name == "cocoqa_iou_qou"
    for folder in ("out/vqa_mc", "/home/ada/data/vqa_mc", "../vqa_mc", "vqa_mc"):
        on_disk = card(dataset=folder)
        assert on_disk.data.get("datasets") is None
        assert on_disk.data.eval_results[0].dataset_type == "vqa_mc"
        assert "dataset `vqa_mc`" in on_disk.text


def test_where_the_weights_came_from_is_said(card):
    for name, shown in (("ada/mlp-qavg", "ada/mlp-qavg"), ("/home/ada/runs/qavg", "qavg"), ("runs/best", "runs/best")):
        text = card(init_from={"name": name, "config": "qavg_iou_qou"}).text
        assert f"It began with the weights of `{shown}`, trained on `qavg_iou_qou`." in text
    assert "It began with the weights of `ada/mlp`." in card(init_from={"name": "ada/mlp", "config": None}).text


def test_a_model_that_sees_images_says_how(card):
    seen = {"backbone": "microsoft/resnet-152", "revision": "abc", "grid": None, "dim": 2048, "precision": "bfloat16"}
    found = card(model="mlp-iqa", image_features=seen)
    assert (
        "Images are seen through `microsoft/resnet-152` at revision `abc`: one vector an image, 2,048 numbers, "
        "computed in bfloat16." in found.text
    )
    assert 'answering({"image": "photo.jpg", "question"' in found.text
    assert "cannot see" not in found.text
    assert found.data.pipeline_tag == "visual-question-answering"
    found = card(model="attention", image_features={**seen, "grid": 7})
    assert "a grid of 7 × 7 cells, 2,048 numbers a cell" in found.text


def test_limits_follow_from_how_it_was_trained(card):
    text = card(skipped=1200, processes=2, word_vectors={**RECORD["word_vectors"], "name": "corpus", "centred": True})
    for told in [
        "- 1,200 questions, of all splits together, were left out, whose images had no features.",
        "- It was trained by 2 processes, and batch normalisation saw only each one's part of a batch.",
        "less their mean over the training words: ",
        "and other words are left out (`new_words=",
    ]:
        assert told in text.text, told


@pytest.mark.parametrize("field", [field for field in RECORD if field != "written_by"])
def test_a_field_that_is_null_leaves_its_sentence_out(card, field):
    text = card(**{field: None}).text
    assert heads(text)[0] == "# mlp-qa"
    assert "None" not in text
    assert not any("  " in line for line in page(text) if not line.startswith("| "))
    assert "\n\n\n" not in text


def test_a_record_without_anything_has_a_card_without_claims(card):
    found = card(**dict.fromkeys((field for field in RECORD if field != "written_by"), None))
    assert heads(found.text) == ["# mlp-qa", "## How to use it", "## Limits", "## Licence and citation"]
    assert "- Nothing was measured." in found.text
    assert found.data.get("eval_results") is None
    for field, parts in RECORD.items():
        if isinstance(parts, dict):
            card(**{field: dict.fromkeys(parts)})
    assert "Results" not in heads(card(results={"test": dict.fromkeys(RECORD["results"]["test"])}).text)


def texts_of(value, path=()):
    """The places of all texts in a record, and of all names in it."""
    if isinstance(value, dict):
        for key, one in value.items():
            yield from texts_of(one, (*path, key))
    elif isinstance(value, str):
        yield path


def changed(place, text):
    record = copy.deepcopy(RECORD)
    *above, last = place
    around = record
    for key in above:
        around = around[key]
    around[last] = text
    return record


PLACES = [place for place in texts_of(RECORD) if place != ("written_by",)]
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
def test_no_text_of_a_record_breaks_the_page_or_its_metadata(tmp_path, text):
    everywhere = copy.deepcopy(RECORD)
    for *above, last in PLACES:
        around = everywhere
        for key in above:
            around = around[key]
        around[last] = text
    everywhere["versions"] = {text: "1"}
    everywhere["results"]["test"]["chosen_kinds"] = {text: 0.5}
    everywhere["results"]["test"]["per_question_type"] = {text: 0.5}
    check_page(everywhere, tmp_path)
    for place in PLACES:
        check_page(changed(place, text), tmp_path)


@settings(deadline=None, max_examples=50)
@given(place=st.sampled_from(PLACES), text=st.text(alphabet=st.characters() | st.sampled_from("`|#-\n\\<")))
def test_nor_does_any_other_text(place, text, tmp_path_factory):
    check_page(changed(place, text), tmp_path_factory.mktemp("best"))


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


def test_text_is_shown_as_it_is():
    assert plain("*a* <b> [c](d)") == r"\*a\* \<b\> \[c\](d)"
    assert code("a`b") == r"a\`b"
    assert link("a", "https://example.org/a b") == "a"
    assert block("a\n```\n", "sh") == "````sh\na\n```\n````"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"written_by": "someone"}, "vqa-mc train did not write this"),
        ({"steps": "many"}, r"training.json: steps is 'many'; expected a whole number from 0"),
        ({"results": {"test": {"accuracy": 51.9}}}, r"results.test.accuracy is 51.9; expected a number from 0 to 1"),
        ({"results": {"test": {"accuracy": float("nan")}}}, "results.test.accuracy is nan; expected a number"),
        ({"source": "COCO-QA"}, "source is 'COCO-QA'; expected fields with values"),
        ({"seconds": True}, "seconds is True; expected a number"),
        ({"rows": {"train": -1}}, "rows.train is -1; expected a whole number from 0"),
    ],
)
def test_a_record_that_is_none_is_refused(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        read_record(write_record(tmp_path, **changes))


def test_a_record_that_is_not_there_or_no_json_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"training.json is missing; name the checkpoint"):
        read_record(tmp_path)
    for content in (b"{", b"\xff", b"[" * 100_000, b"[]"):
        (tmp_path / "training.json").write_bytes(content)
        with pytest.raises(InputError, match=r"is no JSON|did not write this"):
            read_record(tmp_path)


def test_the_module_prints_the_card(tmp_path, capsys):
    write_record(tmp_path)
    assert main([str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    assert printed == model_card(read_record(tmp_path), "NAMESPACE/vqa-mc-mlp-qa-cocoqa_iou_qou")
    assert main([str(tmp_path), NAME]) == 0
    assert capsys.readouterr().out == model_card(read_record(tmp_path), NAME)
    assert main([str(tmp_path), "mlp qa"]) == 2
    assert "expected NAMESPACE/NAME" in capsys.readouterr().err
    assert main(["-h"]) == 2
    assert "FOLDER" in capsys.readouterr().err
    assert default_name({"model": "a b"}) == "NAMESPACE/NAME"
    done = subprocess.run(
        [sys.executable, "-m", "hf_vqa_mc.hub.model_card", str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == (printed, "")
    assert json.loads((tmp_path / "training.json").read_text()) == RECORD
