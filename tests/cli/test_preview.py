"""``vqa-mc preview``: the page that it writes."""

import json
import shutil

import pandas as pd
import pytest
from PIL import Image
from typer.testing import CliRunner

import hf_vqa_mc as vm
from hf_vqa_mc.cli import app

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")


@pytest.fixture
def run(monkeypatch, tmp_path, built):
    """Runs the command in a folder that holds a copy of vqa_mc."""
    shutil.copytree(built, tmp_path / "vqa_mc")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(app, ["preview", *map(str, arguments)])

    return run


def test_it_writes_a_page_and_leaves_the_dataset_unchanged(run, tmp_path):
    before = {path: path.read_bytes() for path in (tmp_path / "vqa_mc").rglob("*") if path.is_file()}
    result = run("vqa_mc", "cocoqa_iou")
    assert result.stdout.splitlines()[0] == "wrote preview.html"
    assert "the rows only name their images" in " ".join(result.stdout.split())
    page = (tmp_path / "preview.html").read_text("utf-8")
    assert "vqa_mc, cocoqa_iou, test" in page
    assert "IoU decoys" in page
    assert before == {path: path.read_bytes() for path in (tmp_path / "vqa_mc").rglob("*") if path.is_file()}


def test_a_models_picks_are_marked(run, tmp_path):
    from datasets import load_dataset

    run("vqa_mc", "cocoqa_iou")
    assert "model’s pick" not in (tmp_path / "preview.html").read_text("utf-8")
    rows = load_dataset("./vqa_mc", "cocoqa_iou")["test"]
    (tmp_path / "p.json").write_text(json.dumps(dict.fromkeys(rows["question_id"], 0)))
    run("vqa_mc", "cocoqa_iou", "--predictions", "p.json", "--overwrite")
    assert (tmp_path / "preview.html").read_text("utf-8").count("model’s pick</span>") == min(12, len(rows))


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["vqa_mc", "cocoqa_iou", "--output", "vqa_mc/preview.html"], "would replace or change an input"),
        (["vqa_mc", "cocoqa_io"], "did you mean 'cocoqa_iou'"),
        (["nothing.jsonl"], "nothing.jsonl"),
    ],
)
def test_what_cannot_be_is_rejected_before_anything_is_written(run, tmp_path, arguments, text):
    result = run(*arguments)
    assert result.exit_code == 2
    assert text in result.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["vqa_mc"]


def test_in_memory_a_notebook_shows_the_page_and_nothing_is_written(tmp_path, monkeypatch):
    import datasets

    monkeypatch.chdir(tmp_path)
    rows = {"question": ["Which <b>one</b>?"] * 3, "choices": [["a", "b"]] * 3, "label": [0, 1, 1]}
    result = vm.preview(datasets.Dataset.from_dict(rows), rows=2)
    assert result.to_pandas()["question"].tolist() == ["Which <b>one</b>?"] * 2
    assert "Which &amp;lt;b&amp;gt;one" in result._repr_html_()
    assert "Which <b>one</b>?" in repr(result)
    assert list(tmp_path.iterdir()) == []
    assert result.save(tmp_path / "page.html") == [tmp_path / "page.html"]


def test_unreadable_images_are_counted_with_the_first_reason(run, tmp_path):
    Image.new("RGB", (8, 8), "red").save(tmp_path / "0.png")
    (tmp_path / "1.png").write_bytes(b"broken")
    rows = [
        {"id": f"q{n}", "question": "a?", "choices": ["a", "b"], "label": 0, "image": f"{n}.png"} for n in range(4)
    ]
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run("some.jsonl")
    assert result.stdout.splitlines()[0] == "wrote preview.html"
    printed = " ".join(result.stdout.splitlines()[1:])
    reason = "the image cannot be read: not a readable image"
    assert printed == f"3 of 4 images cannot be shown, for example that of question q1: {reason}"
    found = json.loads(run("some.jsonl", "--json", "--overwrite").stdout)["unreadable_images"]
    assert list(found) == ["q1", "q2", "q3"]
    assert found["q2"].startswith("some.jsonl, image, row 3: no image '2.png' in ")
    assert "--images DIR" in found["q2"]
    (tmp_path / "0.png").unlink()
    (tmp_path / "1.png").unlink()
    assert "4 of 4 images cannot be shown, for example that of question q0: none of 4 image paths exists" in " ".join(
        run("some.jsonl", "--overwrite").stdout.splitlines()
    )


@pytest.fixture
def pictured(run, tmp_path):
    """A file of four questions with images, in the folder of the command."""
    Image.new("RGB", (60, 40), "gray").save(tmp_path / "0.png")
    rows = [{"id": f"q{n}", "question": "a?", "choices": ["a", "b"], "label": 0, "image": "0.png"} for n in range(4)]
    (tmp_path / "some.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "some.jsonl"


def maps_file(path, names, attention):
    path.write_text(json.dumps([{"questionId": name, "attention": attention} for name in names]))
    return path.name


@pytest.mark.parametrize("attention", [[[0, 0], [1, 0]], [[0.5, 0, 1, 0.5, 0.8], [0, 0, 1, 1, 0.2]]])
def test_attention_is_drawn_on_the_images(run, pictured, tmp_path, attention):
    maps = maps_file(tmp_path / "maps.json", ["q0", "q1", "q2", "q3", "other"], attention)
    for name, options in (("without", []), ("with", ["--attentions", maps])):
        result = run(pictured, "--output", f"{name}.html", *options)
        assert result.exit_code == 0, result.output
    assert "model’s attention" in (tmp_path / "with.html").read_text("utf-8")


@pytest.fixture
def answered(run, tmp_path):
    """A folder of four open-ended questions with their images."""
    rows = [{"question_id": f"q{n}", "image_id": "0", "question": f"What {n}?", "answer": "red"} for n in range(4)]
    (tmp_path / "open").mkdir()
    pd.DataFrame(rows).to_parquet(tmp_path / "open/test.parquet")
    (tmp_path / "pictures").mkdir()
    Image.new("RGB", (60, 40), "gray").save(tmp_path / "pictures/0.png")
    (tmp_path / "answers.json").write_text(json.dumps([{"question_id": f"q{n}", "answer": "blue"} for n in range(4)]))
    return "open"


def test_open_ended_questions_have_their_answer_and_the_models_answer_and_attention(run, answered, tmp_path):
    maps = maps_file(tmp_path / "maps.json", ["q0", "q1", "q2", "q3"], [[0, 0], [1, 0]])
    options = ("--images", "pictures", "--attentions", maps, "--predictions", "answers.json")
    result = run(answered, *options)
    assert result.exit_code == 0, result.output
    assert "no choices: shown as open-ended questions" in result.stdout
    page = (tmp_path / "preview.html").read_text("utf-8")
    assert "model’s attention" in page
    assert page.count("model’s answer: blue") == 4
    found = json.loads(run(answered, "--json", "--overwrite").stdout)
    assert [one["choices"] for one in found["questions"]] == [["red"]] * 4
    assert "--images DIR" in found["unreadable_images"]["q0"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--attentions", "maps.json", "--images", "pictures"], "no map of question 'q1'"),
        (["--predictions", "other.json"], "other.json: no answer text for question 'q1' of open, "),
        (["--attentions", "others.json", "--images", "pictures"], "others.json: found none of 4 questions of open, "),
        (["--images", "nowhere"], "--images nowhere: expected an existing folder"),
        (["--attentions", "all.json"], "--images DIR"),
    ],
)
def test_files_that_do_not_fit_open_ended_questions_are_rejected(run, answered, tmp_path, options, text):
    maps_file(tmp_path / "maps.json", ["q0"], [[1.0]])
    maps_file(tmp_path / "others.json", ["another split's"], [[1.0]])
    maps_file(tmp_path / "all.json", ["q0", "q1", "q2", "q3"], [[1.0]])
    (tmp_path / "other.json").write_text('[{"question_id": "q0", "answer": "blue"}]')
    result = run(answered, *options)
    assert result.exit_code == 2
    assert text in " ".join(result.stderr.split())
    assert not (tmp_path / "preview.html").exists()


@pytest.mark.slow
def test_a_remedied_tsv_shows_fallbacks_and_origins(run, tmp_path, untrained_report_probes):
    rows = [
        {"id": n, "question": f"Which {n % 3}?", "image_id": n // 3, "A": f"x{n}", "B": f"y{n}", "answer": "AB"[n % 2]}
        for n in range(30)
    ]
    pages = []
    for name in ("b.jsonl", "b.tsv"):
        frame = pd.DataFrame(rows)
        frame.to_json(name, orient="records", lines=True) if "json" in name else frame.to_csv(
            name, sep="\t", index=False
        )
        vm.remedy(name, variant="iou", decoys_per_set=3, output=f"new_{name}", force=True)
        run(f"new_{name}")
        pages.append((tmp_path / "preview.html").read_text("utf-8").partition("<main>")[2])
    assert pages[0].count("fallback for an IoU decoy") > 0
    assert pages[0] == pages[1]
