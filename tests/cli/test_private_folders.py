"""What the commands write holds no folder of the user: outputs may be published."""

import json
import random
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hf_vqa_mc.cli import app
from hf_vqa_mc.data.reading import read_benchmark
from hf_vqa_mc.dataset.writing import write_benchmark
from tests.cli import small_easy_vqa
from tests.training import toy_dataset

WORDS = ["red", "blue", "cat", "dog", "car", "tree", "house", "man", "woman", "bus"]


def write_rows(path: Path) -> None:
    """A benchmark as CSV, with four choices per question."""
    rng = random.Random(0)
    lines = ["question_id,image_path,question,A,B,C,D,answer"]
    for row in range(60):
        lines.append(f"{row},{row % 9}.jpg,What is it?,{','.join(rng.sample(WORDS, 4))},{rng.choice('ABCD')}")
    path.write_text("\n".join(lines) + "\n")


def run(*arguments: object) -> None:
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    assert done.exit_code == 0, done.output


def leaking(*outputs: Path) -> list[str]:
    """The output files that contain the secret folder's name."""
    files = [path for output in outputs for path in (output.rglob("*") if output.is_dir() else [output])]
    assert files
    return [str(path) for path in files if path.is_file() and b"SECRETDIR" in path.read_bytes()]


@pytest.fixture
def secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a telling name; commands run in another one."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    folder = tmp_path / "SECRETDIR"
    folder.mkdir()
    return folder


@pytest.mark.slow
def test_audits_remedies_exports_and_previews_of_a_file(secret: Path) -> None:
    rows, pool, out = secret / "rows.csv", secret / "pool.csv", secret / "out"
    write_rows(rows)
    write_rows(pool)
    (secret / "folder" / "images").mkdir(parents=True)
    shutil.copy(rows, secret / "folder" / "test.csv")
    hidden = [line.rpartition(",")[0] + ",?" for line in rows.read_text().splitlines()[1:]]
    (secret / "folder" / "dev.csv").write_text("\n".join([rows.read_text().splitlines()[0], *hidden]))
    out.mkdir()
    run("audit", rows, "--output", out / "audit")
    run("audit", secret / "folder", "--split", "test", "--output", out / "audit2")
    new = ("--variant", "qou", "--word-vectors", "corpus", "--pool", pool, "--force")
    run("remedy", rows, "--output", out / "remedied.csv", "--report", out / "report", *new)
    run(
        "remedy", secret / "folder", "--split", "test", "--output", out / "remedied", "--report", out / "report2", *new
    )
    run("export", "lm-eval", rows, "--output", out / "lm")
    run("export", "vlmevalkit", rows, "--output", out / "kit", "--image", "")
    run("preview", rows, "--output", out / "preview.html")
    assert leaking(out) == []


def test_cards_of_remedied_folders_with_missing_images(secret: Path) -> None:
    rng = random.Random(0)
    rows = [
        {"question": "What is it?", "choices": rng.sample(WORDS, 4), "label": row % 4, "image": f"{row}.png"}
        for row in range(8)
    ]
    (secret / "folder").mkdir()
    (secret / "folder" / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (secret / "folder" / "README.md").write_text(
        "---\ndataset_info:\n  features:\n  - {name: question, dtype: string}\n"
        "  - name: choices\n    sequence: string\n  - {name: label, dtype: int64}\n"
        "  - {name: image, dtype: image}\n---\n"
    )
    benchmark = read_benchmark(str(secret / "folder"))
    with pytest.warns(UserWarning, match="8 images of test could not be read"):
        write_benchmark(benchmark, {"test": benchmark.splits["test"].original}, secret / "out", "A note.")
    assert "no image '0.png' in folder" in (secret / "out" / "README.md").read_text()
    assert leaking(secret / "out") == []


@pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")
def test_builds_and_their_scores(secret: Path) -> None:
    data = small_easy_vqa.make(secret / "data") / "easy_vqa" / "data"
    out = secret / "vqa_mc"
    run("build", "easyvqa", "--data-dir", data, "--output", out, "--variants", "iou,qou", "--word-vectors", "corpus")
    predictions = secret / "predictions.json"
    from datasets import load_dataset

    ids = load_dataset(str(out), "easyvqa_iou")["test"]["question_id"]
    predictions.write_text(json.dumps(dict.fromkeys(ids, 0)))
    run("score", predictions, out, "easyvqa_iou", "--output", secret / "scores.json")
    run("audit", out, "easyvqa_iou", "--no-probes", "--output", secret / "audit")
    assert leaking(out, secret / "scores.json", secret / "audit") == []


def test_runs(secret: Path) -> None:
    toy_dataset.make(secret / "toy")
    vectors = toy_dataset.vectors_file(secret)
    given = ("--model", "mlp-qa", "--word-vectors", vectors, "--model-settings", "hidden_size=8", "--epochs", 1)
    run("train", Path("..", secret.name, "toy"), toy_dataset.CONFIG, "--output", secret / "run", *given)
    predictions = secret / "predictions.json"
    run("predict", secret / "run" / "best", secret / "toy", toy_dataset.CONFIG, "--output", predictions)
    assert leaking(secret / "run", predictions) == []
