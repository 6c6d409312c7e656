"""``vqa-mc score``: what it prints and writes, how it ends, and that a built dataset is scored from end to end."""

import csv
import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest

from hf_vqa_mc.data.annotations import ACCEPTED
from hf_vqa_mc.scoring.consensus import vqa_accuracy
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy
from tests.scoring import files
from tests.scoring.test_join import RIGHT

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")


@pytest.fixture
def score(vqa_mc, monkeypatch, tmp_path, built):
    """Runs the command in a folder next to ./vqa_mc; exit code, stdout and stderr."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    Path("vqa_mc").symlink_to(built)
    return partial(vqa_mc, "score")


def rows_of(config, split="test"):
    from datasets import load_dataset

    return list(load_dataset("vqa_mc", config, split=split))


def table_of(out):
    """Of the lines between │: the name, then the other cells that are not empty."""
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in out.splitlines() if line[:1] == "│"]
    return {line[0]: [cell for cell in line[1:] if cell] for line in cells}


def test_a_built_dataset_is_scored_from_end_to_end(score, tmp_path):
    rows = rows_of("cocoqa_iou")
    picked = [number % 4 for number in range(len(rows))]
    expected = mc_accuracy(
        picked,
        [row["label"] for row in rows],
        choices=[row["choices"] for row in rows],
        question_types=[row["question_type"] for row in rows],
        image_ids=[row["image_id"] for row in rows],
        choice_kinds=[row["choice_kinds"] for row in rows],
    )
    by_index = [{"question_id": row["question_id"], "label": index} for row, index in zip(rows, picked, strict=True)]
    by_text = {row["question_id"]: row["choices"][index].upper() for row, index in zip(rows, picked, strict=True)}
    files.write(tmp_path / "here" / "label.json", by_index)
    files.write(tmp_path / "here" / "text.json", by_text)
    with Path("label.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, ["question_id", "label"])
        writer.writeheader()
        writer.writerows(by_index)
    for name in ("label.json", "text.json", "label.csv"):
        code, out, err = score(name, "vqa_mc", "cocoqa_iou", "--json")
        assert code == 0, err
        printed = json.loads(out)
        assert printed["results"]["mc_accuracy"] == {k: v for k, v in expected.items() if k != "per_question"}
        assert (printed["dataset"], printed["config"], printed["split"]) == ("vqa_mc", "cocoqa_iou", "test")
    code, out, err = score("label.json", "vqa_mc", "cocoqa_iou")
    assert code == 0, err
    table = table_of(out)
    figures = [
        f"{100 * expected['accuracy']:.1f}",
        " to ".join(f"{100 * bound:.1f}" for bound in expected["interval"]),
    ]
    figures += ["25.0", str(len(rows))]
    assert table["accuracy"] == figures
    assert table["target"] == [f"{100 * expected['accuracy']:.1f}", "25.0"]
    assert [table[name][0] for name in expected["per_question_type"]] == [
        f"{100 * share:.1f}" for share in expected["per_question_type"].values()
    ]
    assert "scoring" in err


def test_rows_with_the_answers_of_several_get_consensus_accuracy(score, tmp_path):
    rows = rows_of("vqa_orig", "validation")
    picked = [number % 18 for number in range(len(rows))]
    path = files.write(
        tmp_path / "p.json", {row["question_id"]: index for row, index in zip(rows, picked, strict=True)}
    )
    code, out, err = score(path, "vqa_mc", "vqa_orig", "--json", "--official", "out")
    assert code == 0, err
    texts = [row["choices"][index] for row, index in zip(rows, picked, strict=True)]
    references = [row["answers"] for row in rows]
    expected = vqa_accuracy(texts, references)["accuracy"]
    result = json.loads(out)["results"]["vqa_accuracy"]
    assert result["accuracy"] == expected
    each = [
        sum(vqa_accuracy(row["choices"], [row["answers"]] * len(row["choices"]), per_question=True)["per_question"])
        / len(row["choices"])
        for row in rows
    ]
    assert result["chance"] == pytest.approx(sum(each) / len(each))
    written = json.loads((tmp_path / "here/out/vqa_MultipleChoice_mscoco_val2014_p_results.json").read_text())
    assert written == [
        {"question_id": int(row["question_id"]), "answer": text} for row, text in zip(rows, texts, strict=True)
    ]
    again = score("out/vqa_MultipleChoice_mscoco_val2014_p_results.json", "vqa_mc", "vqa_orig", "--json")[1]
    assert json.loads(again)["results"] == json.loads(out)["results"]
    code, out, _ = score(path, "vqa_mc", "vqa_orig", "--metric", "mc_accuracy", "--metric", "wups", "--json")
    assert list(json.loads(out)["results"]) == ["mc_accuracy", "wups"]


@pytest.mark.parametrize("kind", RIGHT)
def test_publishers_files_are_scored(score, tmp_path, kind):
    annotations_path = {"vqa": files.vqa_file, "tdiuc": files.tdiuc_file, "gqa": files.gqa_file}[kind](tmp_path)
    path = files.write(tmp_path / "p.json", RIGHT[kind])
    code, out, err = score(path, annotations_path, "--official", "out", "--output", "result.json")
    assert code == 0, err
    assert table_of(out)["accuracy"][0] == "100.0"
    assert "wrote result.json" in out
    assert "wrote out/" in out
    written = json.loads((tmp_path / "here/result.json").read_text())
    assert written["kind"] == kind
    assert [result["accuracy"] for result in written["results"].values()] == [1.0]
    code, out, _ = score(path, annotations_path, "--json")
    assert json.loads(out) == written


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_numbers_are_whole_in_a_terminal_of_any_width(score, tmp_path, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    rows = rows_of("cocoqa_iou")
    path = files.write(tmp_path / "p.json", {row["question_id"]: row["label"] for row in rows})
    code, out, err = score(path, "vqa_mc", "cocoqa_iou")
    assert code == 0, err
    assert "…" not in out
    numbers = [cells for cells in table_of(out).values() if cells]
    (interval,) = {cells[1] for cells in numbers if cells[0] == "100.0" and len(cells) == 4}
    assert 0 < float(interval.removesuffix(" to 100.0")) < 100
    assert ["100.0", interval, "25.0", str(len(rows))] in numbers
    assert max(len(line) for line in out.splitlines() if line[:1] == "│") <= max(width, 48)


def test_a_table_says_what_its_columns_blocks_and_gaps_are(score, tmp_path):
    path, annotations_path = files.write(tmp_path / "p.json", RIGHT["vqa"]), files.vqa_file(tmp_path)
    pairs = files.write(tmp_path / "pairs.json", [[1, 2]])
    _, out, _ = score(path, annotations_path, "--protocol", "2017", "--inputs", f"pairs={pairs}")
    assert "interval" in out
    assert "vqa_accuracy: agreement with the annotators, protocol 2017\n" in out
    assert "vqa_pair_accuracy: 1 balanced pairs, protocol 2017\n" in out
    names = list(table_of(out))
    assert names.index("by answer type") < names.index("yes/no") < names.index("by question type")
    assert 'not computed: pairs of "how many" questions (needs --inputs questions)\n' in out
    _, out, _ = score(files.write(tmp_path / "g.json", RIGHT["gqa"]), files.gqa_file(tmp_path))
    (line,) = [line for line in out.splitlines() if line.startswith("not computed: ")]
    assert "validity, plausibility (needs --inputs choices)" in line
    assert "grounding (needs --inputs attentions and --inputs scene_graphs)" in line


def test_wrong_input_is_one_line_and_exit_code_2(score, tmp_path):
    path, annotations_path = files.write(tmp_path / "p.json", RIGHT["vqa"]), files.vqa_file(tmp_path)
    for arguments in (
        ("no.json", annotations_path),
        (path, "no.json"),
        (path, "a/b/c"),
        (path, annotations_path, "--metric", "bleu"),
        (path, annotations_path, "--official", path),
        (path, annotations_path, "--output", "no/such/file"),
        (path, annotations_path, "--official", "no/such"),
        (annotations_path, path),
        (path, annotations_path, "--output", path),
        (path, tmp_path / "here"),
    ):
        code, out, err = score(*arguments)
        assert (code, out) == (2, ""), arguments
        said = [line for line in err.splitlines() if line.startswith("vqa-mc: ")]
        assert len(said) == 1, arguments
        assert err.splitlines()[-1] == said[0]
    assert ACCEPTED in score(path, "no.json")[2]
    assert json.loads(path.read_text()) == RIGHT["vqa"]


def test_pairs_can_be_taken_among_rows(score, tmp_path):
    rows = rows_of("vqa_orig", "validation")
    path = files.write(tmp_path / "p.json", {row["question_id"]: row["label"] for row in rows})
    pairs = files.write(tmp_path / "pairs.json", [[rows[0]["question_id"], rows[1]["question_id"]]])
    code, out, err = score(path, "vqa_mc", "vqa_orig", "--inputs", f"pairs={pairs}", "--json")
    assert code == 0, err
    assert json.loads(out)["results"]["vqa_pair_accuracy"]["pairs"] == 1


def test_one_right_answer_has_no_official_files(score, tmp_path):
    path = files.write(tmp_path / "p.json", {row["question_id"]: 0 for row in rows_of("cocoqa_iou")})
    code, _, err = score(path, "vqa_mc", "cocoqa_iou", "--official", "out")
    assert code == 2
    assert "reading annotations" in err
    assert "scoring" not in err
    assert "--official: multiple-choice rows with one correct answer have no official files" in err
    assert not (tmp_path / "here/out").exists()


def typed_vqa(folder, kind):
    annotations = files.vqa_annotations()
    annotations[0]["question_type"] = kind
    return files.write(folder / "a.json", {"annotations": annotations})


def test_names_out_of_a_dataset_are_shown_and_not_obeyed(score, tmp_path):
    predictions = files.write(tmp_path / "p.json", RIGHT["vqa"])
    for name, shown in (("[/x]", "[/x]"), ("[bold]y", "[bold]y"), ("\x1b[2Jz", "[2Jz")):
        code, out, err = score(predictions, typed_vqa(tmp_path, name))
        assert (code, err.count("vqa-mc:")) == (0, 0)
        assert shown in out
        assert "\x1b[2J" not in out


@pytest.mark.parametrize(
    "encoding", ["ascii", *(pytest.param(name, marks=pytest.mark.slow) for name in ("latin-1", "utf-8"))]
)
def test_a_terminal_of_any_encoding_gets_the_figures(tmp_path, encoding):
    files.write(tmp_path / "p.json", RIGHT["vqa"])
    typed_vqa(tmp_path, "wó")
    for more in ([], ["--json"]):
        done = subprocess.run(
            [sys.executable, "-m", "hf_vqa_mc", "score", "p.json", "a.json", *more],
            cwd=tmp_path,
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=True,
        )
        printed = done.stdout.decode(encoding)
        if more:
            assert json.loads(printed)["results"]["vqa_accuracy"]["per_question_type"]["wó"] == 1.0
        else:
            assert "100.0" in printed


def test_two_outputs_at_one_path_are_rejected(score, tmp_path):
    predictions, annotations = files.write(tmp_path / "p.json", RIGHT["tdiuc"]), files.tdiuc_file(tmp_path)
    target = tmp_path / "out" / "p_predictions.json"
    code, _, err = score(predictions, annotations, "--official", tmp_path / "out", "--output", target)
    assert code == 2
    assert "are the same file; use different files" in err
    assert not target.exists()
