"""Tasks of lmms-eval: what is written, how responses are read, and that lmms-eval loads and scores them."""

import json

import pyarrow.parquet
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports.harness import harness_file
from hf_vqa_mc.exports.harness_files.lmms_eval_functions import accuracy, mean, picked, prompt, target
from tests.exports import small


def exported(folder, questions=small.QUESTIONS, images=True, **options):
    return small.export(small.benchmark(questions, images), "lmms-eval", folder / "tasks", **options)


def test_every_image_is_written_once_as_it_is(tmp_path):
    images = {"i0": small.picture("red", format="JPEG"), "i1": small.picture("blue", format="PNG")}
    export = exported(tmp_path, images=images, name="small")
    folder = tmp_path / "tasks" / "small"
    shown = pyarrow.parquet.read_table(folder / "questions.parquet")["image_files"].to_pylist()
    assert shown == [["images/000000.jpg"]] * 2 + [["images/000001.png"]] * 2
    assert [(folder / name).read_bytes() for name in dict.fromkeys(name for (name,) in shown)] == list(images.values())
    assert export.notes == [small.LEFT_OUT]


def test_a_broken_image_is_reported_with_its_question(tmp_path):
    with pytest.raises(InputError, match=r"test: 1 of 2 images cannot be opened: question_id 'q2' \(.*\); fix them"):
        exported(tmp_path, images={"i0": small.picture("red"), "i1": b"GIF89a, not really"})
    assert not list((tmp_path / "tasks").iterdir())


def test_without_images_the_questions_are_asked_blind_only(tmp_path):
    export = exported(tmp_path, images=False, name="small")
    assert [path.name for path in export.files] == ["blind.yaml", "functions.py", "questions.parquet"]
    assert export.notes == ["there are no images to export: only the task without images is written", small.LEFT_OUT]
    assert "--tasks small_blind" in export.how[0]


def test_hidden_answers_are_nowhere(tmp_path):
    exported(tmp_path, hide_answers=True, name="small")
    folder = tmp_path / "tasks" / "small"
    assert "label" not in pyarrow.parquet.read_table(folder / "questions.parquet").column_names
    assert json.loads((folder / "export.json").read_text())["answers"] == "hidden"


def test_the_program_is_the_one_that_is_tested_here(tmp_path):
    export = exported(tmp_path)
    program = next(path for path in export.files if path.suffix == ".py")
    assert program.read_text() == harness_file("lmms_eval_functions.py")


CHOICES = ["a dog", "B flat", "no", "no"]
DOC = {"question_id": "q", "question": "Is it?", "choices": CHOICES, "label": 1, "image_files": []}


@pytest.mark.parametrize(
    ("response", "index"),
    [
        *((text, 1) for text in ("B", "b", " (B) ", "B.", "**B**", "B) B flat", "B: because", "Answer: B", "b flat.")),
        ("The correct answer is (B).", 1),
        ("First I thought the answer is A. Then again, the answer is B", 1),
        ("<think>The answer is C</think>\nB", 1),
        ("A dog.", 0),
        *((text, None) for text in ("A dog and a cat", "The answer is a dog", "E", "", "I cannot tell.")),
        ("no", None),  # two choices read so
    ],
)
def test_a_response_is_read_as_the_choice_it_picks(response, index):
    assert picked(response, CHOICES) == index


def test_a_right_letter_scores_one_and_standard_errors_are_clustered_by_image():
    doc = {**DOC, "image_files": ["images/0.jpg"]}
    scored = [accuracy(doc, [response])["accuracy"] for response in ("B", "A", "x")]
    assert [one["score"] for one in scored] == [1.0, 0.0, 0.0]
    assert {one["image"] for one in scored} == {"images/0.jpg"}
    assert mean(scored) == pytest.approx(1 / 3)


def test_the_prompt_lists_the_choices_by_letter():
    shown = prompt(DOC, {"pre_prompt": "Q: ", "post_prompt": "\nLetter:"})
    assert shown == "Q: Is it?\nA. a dog\nB. B flat\nC. no\nD. no\nLetter:"
    assert target(DOC) == "B"
    export = prompt({**DOC, "context": "Seen at noon."}, {"pre_prompt": "Q: ", "post_prompt": ""})
    assert export.startswith("Q: Context: Seen at noon.\nIs it?\nA. a dog")
    assert prompt({**DOC, "context": ""}) == prompt(DOC)


def test_the_benchmarks_context_is_in_the_data_and_reported(tmp_path):
    columns = {"hint": ["Look left.", None, "", "nan"]}
    export = small.export(small.benchmark(columns=columns), "lmms-eval", tmp_path, name="small")
    table = pyarrow.parquet.read_table(tmp_path / "small" / "questions.parquet")
    assert table["context"].to_pylist() == ["Look left.", "", "", ""]
    assert "column hint goes before the question, as Context" in export.notes
    assert "context, question and choices, no image" in (tmp_path / "small" / "README.md").read_text()


@pytest.fixture(scope="module")
def ran(tmp_path_factory, harness):
    """What lmms-eval says of an export with answers and one without, and the folder of its results."""
    folder = tmp_path_factory.mktemp("exports")
    exported(folder, name="small")
    exported(folder, name="hidden", hide_answers=True)
    names = "small", "small_blind", "hidden"
    return harness("run_lmms_eval.py", folder / "tasks", folder / "results", *names), folder / "results"


@pytest.mark.slow
def test_lmms_eval_shows_images_but_not_to_the_blind(ran):
    prompts = ran[0]["prompts"]
    for row in small.QUESTIONS:
        images = [images for prompt, images in prompts if prompt.startswith(f"{row[2]}\nA. {row[3][0]}\nB. ")]
        assert sorted(images) == [[], [[24, 16]], [[24, 16]]]


@pytest.mark.parametrize("task", ["small", "small_blind"])
@pytest.mark.slow
def test_lmms_eval_scores_against_the_labels(ran, task):
    assert ran[0]["results"][task]["accuracy,none"] == 0.25  # B is right once in four
    assert ran[0]["results"][task]["accuracy_stderr_clustered,none"] > 0


@pytest.mark.slow
def test_lmms_eval_submits_predictions_where_answers_are_hidden(ran):
    handed_in = json.loads((ran[1] / "submissions" / "hidden.json").read_text())
    assert handed_in == [{"question_id": row[0], "answer": row[3][1]} for row in small.QUESTIONS]


@pytest.mark.parametrize("name", ["small", "small_blind", "hidden"])
@pytest.mark.slow
def test_the_samples_that_lmms_eval_writes_are_scored_by_the_ids_of_the_benchmark(ran, name):
    path = ran[1] / "always-b" / f"today_samples_{name}.jsonl"
    scored = vm.score(path, small.benchmark(), per_question=True)
    assert scored.per_question.mc_accuracy.tolist() == [row[4] == 1 for row in small.QUESTIONS]
