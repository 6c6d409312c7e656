"""A benchmark of one's own, its images named by path: lint, audit, remedy, score, evaluate, push."""

import csv
import json
import random
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from datasets import Dataset, DatasetDict, Image, load_dataset
from huggingface_hub import snapshot_download
from PIL import Image as Picture
from typer.testing import CliRunner

import hf_vqa_mc as vm
from hf_vqa_mc.cli import app
from hf_vqa_mc.data import read_benchmark
from hf_vqa_mc.errors import InputError
from tests.hub.test_push_dataset import OF_HUGGINGFACE_HUB, sent

COLOURS = ["red", "green", "blue", "yellow", "white", "black"]
NAME, ROWS = "ada/colours", 200
pytestmark = [OF_HUGGINGFACE_HUB, pytest.mark.usefixtures("untrained_report_probes")]


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """Two questions about each image in the working directory; decoys that were added to the colour give it away."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "images").mkdir()
    found, rng = [], random.Random(0)
    for n in range(ROWS):
        colour, image = COLOURS[n // 2 % 6], f"images/{n // 2:03d}.png"
        picture = Picture.new("RGB", (8, 8), colour)
        picture.putpixel((0, 0), (n // 2, 0, 0))
        picture.save(image)
        choices = [f"{COLOURS[(COLOURS.index(colour) + k) % 6]} paint" for k in (1, 2, 3)]
        choices.insert(label := rng.randrange(4), colour)
        question = ("What colour is it?", "Which colour do you see?")[n % 2]
        found.append({"question_id": f"q{n}", "image": image, "question": question, "choices": choices,
                      "label": label})  # fmt: skip
    return found


def as_csv(rows, folder, delimiter=","):
    with (folder / "benchmark.csv").open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(["question_id", "image", "question", *"ABCD", "answer"])
        for row in rows:
            named = row["question_id"], row["image"], row["question"], *row["choices"], "ABCD"[row["label"]]
            writer.writerow(named)
    return "benchmark.csv"


def as_jsonl(rows, folder):
    (folder / "benchmark.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return "benchmark.jsonl"


def as_parquet_folder(rows, folder):
    Dataset.from_list(rows).to_parquet(folder / "mine" / "test-00000-of-00001.parquet")
    shutil.copytree(folder / "images", folder / "mine" / "images")
    return "mine"


def as_records(rows, folder):
    return [{**row, "image": str(folder / row["image"])} for row in rows]


def as_dataset_dict(rows, folder):
    rows = [{**row, "image": str(folder / row["image"])} for row in rows]
    return DatasetDict(test=Dataset.from_list(rows).cast_column("image", Image()))


class Viewer:
    """Picks the colour in the middle of the picture; the first choice without one."""

    def scores(self, prompts):
        colours = [prompt.picture and prompt.picture.getpixel((4, 4)) for prompt in prompts]
        return [
            [float(colour == Picture.new("RGB", (1, 1), choice.split()[0]).getpixel((0, 0))) for choice in one.choices]
            for colour, one in zip(colours, prompts, strict=True)
        ]


def run(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.slow
def test_from_a_csv_to_the_hub_without_a_trick(rows, tmp_path, hub_here):
    benchmark = as_csv(rows, tmp_path)
    assert "No issues." in run("lint", benchmark)
    run("audit", benchmark, "--no-probes")
    before = json.loads((tmp_path / "vqa_mc_audit" / "benchmark.csv" / "audit.json").read_text())
    assert max(one["accuracy"] for one in before["shortcuts"]) == 1
    run("remedy", benchmark, "--guarantee", "choices", "--output", "closed")
    assert "exact by construction" in run("audit", "closed", "--no-probes")
    after = read_benchmark("closed").test
    guesses = [{"question_id": row["question_id"], "prediction": row["choices"][0]} for row in after.rows.to_pylist()]
    (tmp_path / "guesses.json").write_text(json.dumps(guesses))
    sizes = [len(choices) for choices in after.rows["choices"].to_pylist()]
    accuracy = vm.score("guesses.json", "closed").to_dict()["results"]["mc_accuracy"]["accuracy"]
    assert accuracy == pytest.approx(sum(1 / size for size in sizes) / len(sizes))
    done = vm.evaluate("closed", model=Viewer(), inputs=["full", "no-image"], output="run")
    assert "push('results', 'NAMESPACE/MODEL', folder='run', benchmark='NAMESPACE/BENCHMARK')" in repr(done)
    seen = done.to_pandas()
    assert seen.set_index("input")["accuracy"]["full"] == 1 > seen.set_index("input")["accuracy"]["no-image"]
    assert "created" in run("push", "dataset", NAME, "--folder", "closed")
    shutil.rmtree(tmp_path / "images")
    copy = snapshot_download(NAME, repo_type="dataset", local_dir=tmp_path / "copy")
    assert run("verify", "closed/statistics.json", copy)
    (loaded,) = load_dataset(copy).values()
    assert loaded[0]["image"].getpixel((4, 4)) == Picture.new("RGB", (1, 1), "red").getpixel((0, 0))
    assert vm.features(copy, backbone="pixels", output="features").to_dict()["images"] == ROWS // 2


@pytest.mark.parametrize("form", [as_parquet_folder, pytest.param(as_dataset_dict, marks=pytest.mark.slow)])
def test_a_remedied_folder_has_its_images_whatever_it_was(form, rows, tmp_path, hub_here):
    fixed = vm.remedy(form(rows, tmp_path), images="images", guarantee="choices")
    fixed.save("closed")
    shutil.rmtree(tmp_path / "images")
    vm.push("dataset", NAME, folder="closed")
    files = [path for path in sent(hub_here, NAME) if path.endswith(".parquet")]
    (tmp_path / "sent.parquet").write_bytes(sent(hub_here, NAME)[files[0]])
    images = pq.read_table(tmp_path / "sent.parquet")["image"].to_pylist()
    assert len(images) > 0.9 * ROWS and all(one["bytes"] for one in images)
    assert {one["path"] for one in images} == {f"{n:03d}.png" for n in range(ROWS // 2)}


@pytest.mark.slow
@pytest.mark.parametrize("form", [as_csv, as_jsonl, as_parquet_folder, as_records])
def test_a_benchmark_that_is_only_audited_is_pushed_as_it_is(form, rows, tmp_path, hub_here):
    given = form(rows, tmp_path)
    before = read_benchmark(given).test
    vm.push("dataset", NAME, folder=given)
    copy = snapshot_download(NAME, repo_type="dataset", local_dir=tmp_path / "copy")
    after = read_benchmark(copy).test
    assert after.hashes == before.hashes
    assert [after.images.read(n) for n in range(ROWS)] == [before.images.read(n) for n in range(ROWS)]
    assert "replaced" not in (tmp_path / "copy" / "README.md").read_text()
    assert not vm.push("dataset", NAME, folder=given).pushed.changed


@pytest.mark.slow
def test_a_push_without_the_images_is_refused_until_they_are_found(rows, tmp_path, hub_here):
    as_csv(rows, tmp_path)
    (tmp_path / "images").rename(tmp_path / "elsewhere")
    with pytest.raises(InputError, match=rf"not all images can be pushed: none of {ROWS // 2} image paths exists"):
        vm.push("dataset", NAME, folder="benchmark.csv")
    fixed = vm.remedy("benchmark.csv", guarantee="choices")
    fixed.save("without")
    with pytest.raises(InputError, match=r"write the folder again; or with their names alone: image ''"):
        vm.push("dataset", NAME, folder="without")
    (tmp_path / "elsewhere").rename("images")
    (tmp_path / "images" / "000.png").unlink()
    with pytest.raises(InputError, match=r"1 images of test could not be read and remain paths, e.g. row 1: no image"):
        vm.push("dataset", NAME, folder="benchmark.csv")
    assert hub_here.repositories == {}
    vm.remedy("benchmark.csv", image="", guarantee="choices").save("text")
    assert vm.push("dataset", NAME, folder="text").pushed.created


@pytest.mark.slow
def test_a_dry_run_of_the_result_of_a_remedy_shows_its_card(rows):
    fixed = vm.remedy(as_records(rows, Path.cwd()), guarantee="choices")
    pushed = vm.push("dataset", NAME, folder=fixed, dry_run=True)
    assert "README.md, the dataset card:\n\n---\n" in repr(pushed) and "choices replaced" in repr(pushed)
    assert pushed.to_dict()["card"] in repr(pushed)
    with pytest.raises(InputError, match="only a dataset may be in memory"):
        vm.push("model", NAME, folder=fixed)


def test_the_card_of_a_repaired_file_says_how_many_decoys_are_new(rows, tmp_path):
    origins = [["target", "published", "question 3, test", "published"]] * ROWS
    as_jsonl([{**row, "choice_origins": of} for row, of in zip(rows, origins, strict=True)], tmp_path)
    pushed = vm.push("dataset", NAME, folder="benchmark.jsonl", dry_run=True)
    assert f"{ROWS} decoys replaced by vqa-mc remedy" in pushed.to_dict()["card"]


def test_rows_that_are_not_read_are_not_left_out_silently(rows, tmp_path, hub_here):
    as_jsonl([{**row, "choices": row["choices"] if n else []} for n, row in enumerate(rows)], tmp_path)
    with pytest.raises(InputError, match=rf"rows without choices\) would not be pushed \(1 of {ROWS} rows\)"):
        vm.push("dataset", NAME, folder="benchmark.jsonl")
    Dataset.from_list([{"mine": row["question"], "other": 1} for row in rows]).to_json(tmp_path / "odd.jsonl")
    with pytest.raises(InputError, match=r"no choices recognised.*vqa-mc remedy BENCHMARK --output FOLDER"):
        vm.push("dataset", NAME, folder="odd.jsonl")


@pytest.mark.slow
def test_results_of_benchmarks_with_the_same_name_keep_apart(rows, tmp_path):
    (tmp_path / "other").mkdir()
    for folder in (tmp_path, tmp_path / "other"):
        as_csv(rows, folder)
    as_jsonl(rows, tmp_path)
    for given in ("benchmark.csv", "other/benchmark.csv", "benchmark.jsonl"):
        run("audit", given, "--no-probes", "--images", ".")
    names = {path.name for path in (tmp_path / "vqa_mc_audit").iterdir()}
    assert names == {"benchmark.csv", "other--benchmark.csv", "benchmark.jsonl"}
    run("features", "benchmark.csv", "--images", ".", "--backbone", "pixels")
    vm.evaluate("benchmark.csv", images=".", model=Viewer(), inputs=["full"], output="run")


@pytest.mark.parametrize(
    ("dataset", "output", "message"),
    [
        ("benchmark.csv", "closed.txt", r"expected a .csv file, as benchmark.csv, or a folder, without a suffix"),
        ("benchmark.csv", ".", "would replace or change an input"),
        ("mine", "closed.csv", "mine is written as a folder; leave out .csv"),
    ],
)
def test_an_output_of_another_form_is_refused_with_the_remedy(dataset, output, message, rows, tmp_path):
    as_csv(rows, tmp_path)
    as_parquet_folder(rows, tmp_path)
    with pytest.raises(InputError, match=message):
        vm.remedy(dataset, output=output, guarantee="choices")


@pytest.mark.parametrize("option", [pytest.param("csv", marks=pytest.mark.slow), "folder"])
def test_the_next_steps_publish_with_the_images_and_only_if_none_is_missing(option, rows, tmp_path):
    as_csv(rows, tmp_path)
    (tmp_path / "images").rename(tmp_path / "elsewhere")
    output = "closed.csv" if option == "csv" else "closed"
    with pytest.MonkeyPatch.context() as context:
        context.setattr("hf_vqa_mc.dataset.writing.warnings.warn", lambda *_, **__: None)
        without = run("remedy", "benchmark.csv", "--guarantee", "choices", "--output", output)
    assert "vqa-mc audit" in without and "vqa-mc push" not in without
    found = run("remedy", "benchmark.csv", "--guarantee", "choices", "--output", output, "--overwrite",
                "--images", "elsewhere")  # fmt: skip
    images = " --images elsewhere" if option == "csv" else ""
    assert f"vqa-mc audit {output}{images}\n" in found
    step = f"push dataset NAMESPACE/closed --folder {output}{images}"
    assert f"vqa-mc {step}\n" in found
    assert images or "wrote closed/croissant.json\n" in found
    run(*step.replace("NAMESPACE", "ada").split(), "--dry-run")


def test_videos_are_pushed_and_exported_as_names_only_if_the_user_says_so(rows, tmp_path):
    table = Dataset.from_list([{**row, "video": f"{at}.mp4"} for at, row in enumerate(rows)]).remove_columns("image")
    table.to_csv(tmp_path / "videos.csv")
    named = "the rows name videos, e.g. 0.mp4 in row 1, which are not read"
    issues = vm.lint("videos.csv").to_pandas()
    assert issues.loc[issues["check"] == "unread_images", "detail"].tolist() == [f"test: {named}"]
    assert "vqa-mc push" not in run("audit", "videos.csv", "--no-probes")
    with pytest.raises(InputError, match=f"{named}; or with their names alone: image ''"):
        vm.push("dataset", NAME, folder="videos.csv", dry_run=True)
    with pytest.raises(InputError, match=f"{named}; or export without them: image ''"):
        vm.export("lmms-eval", "videos.csv", output="tasks")
    assert vm.push("dataset", NAME, folder="videos.csv", image="", dry_run=True).shipment.files
    assert vm.export("lmms-eval", "videos.csv", output="tasks", image="").to_dict()["questions"] == ROWS
