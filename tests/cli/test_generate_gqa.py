"""``vqa-mc generate gqa``: the README's two commands, what they write and what they say of bad input."""

import json
import sys
from pathlib import Path

import pytest
from datasets import load_dataset

import hf_vqa_mc as vm
from hf_vqa_mc.cli import main
from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.scoring import gqa_score

EXAMPLE = Path(__file__).parents[1] / "engines" / "gqa" / "example_sceneGraphs.json"


def call(*arguments):
    """Runs a command line in this process; the exit code."""
    argv, sys.argv = sys.argv, ["vqa-mc", *map(str, arguments)]
    try:
        with pytest.raises(SystemExit) as end:
            main()
    finally:
        sys.argv = argv
    return end.value.code or 0


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    folder = tmp_path_factory.mktemp("generated") / "my_gqa"
    assert call("generate", "gqa", EXAMPLE, "--output", folder) == 0
    return folder


def questions(folder, kind):
    return {
        key: record
        for split in ("train", "val", "test", "challenge")
        if (folder / f"{split}_{kind}_questions.json").exists()
        for key, record in json.loads((folder / f"{split}_{kind}_questions.json").read_text()).items()
    }


@pytest.mark.slow
def test_two_commands_make_a_remedied_dataset_from_scene_graphs(generated, tmp_path, monkeypatch, recwarn):
    monkeypatch.chdir(tmp_path)
    assert call("build", "gqa", "--data-dir", generated, "--word-vectors", "corpus") == 0
    balanced = load_dataset("vqa_mc", "gqa_balanced", cache_dir=str(tmp_path / "cache"))
    assert set(balanced) == {"train", "validation", "test", "challenge"}
    assert sum(map(len, balanced.values())) == len(questions(generated, "balanced"))
    remedied = load_dataset("vqa_mc", "gqa_iou_qou", split="train", cache_dir=str(tmp_path / "cache"))
    whole = {row["question_id"]: row for row in balanced["train"]}
    assert len(remedied) == len(whole)
    for row in remedied:
        assert row["choices"][row["label"]] == whole[row["question_id"]]["answer"]
        assert len(set(row["choices"])) == len(row["choices"]) > 1
    about = read_inventory(tmp_path / "vqa_mc")["sources"]["gqa"]["about"]
    assert "generated" in about["title"] and "CC" not in about["licence"]  # it is not GQA, nor under its licence
    assert not [warning for warning in recwarn if "published number" in str(warning.message)]


@pytest.mark.slow
def test_gold_answers_are_perfect_and_consistent(generated):
    records, choices = questions(generated, "all"), {}
    for path in generated.glob("*_choices.json"):
        choices |= json.loads(path.read_text())
    gold = {key: record["answer"] for key, record in records.items()}
    score = gqa_score(gold, records, choices=choices)
    assert {score[name] for name in ("accuracy", "consistency", "validity", "plausibility")} == {1.0}
    assert score["distribution"] == 0
    wrong = {key: "no" if answer == "yes" else "yes" for key, answer in gold.items()}
    assert gqa_score(wrong, records, choices=choices)["accuracy"] == 0


def test_a_random_answerer_is_near_its_groups_priors_and_balancing_lowers_them(generated):
    records = questions(generated, "all")
    for record in records.values():
        record["isBalanced"] = True  # score all
    groups = {key: (record["types"]["structural"], record["groups"]["global"]) for key, record in records.items()}
    answers = {}
    for key, record in records.items():
        answers.setdefault(groups[key], []).append(record["answer"])
    chance = SeededRng(0, "a random answerer")
    drawn = {key: chance.pick(answers[group]) for key, group in groups.items()}
    expected = [
        answers[groups[key]].count(record["answer"]) / len(answers[groups[key]]) for key, record in records.items()
    ]
    error = sum(share * (1 - share) for share in expected) ** 0.5 / len(records)
    assert abs(gqa_score(drawn, records, consistency=False)["accuracy"] - sum(expected) / len(expected)) < 4 * error
    assert prior_accuracy(questions(generated, "balanced")) < prior_accuracy(questions(generated, "all"))


def prior_accuracy(records):
    """How often the most frequent answer of a question's structural type and global group is right."""
    groups = {}
    for record in records.values():
        groups.setdefault((record["types"]["structural"], record["groups"]["global"]), []).append(record["answer"])
    return sum(max(map(group.count, set(group))) for group in groups.values()) / len(records)


def test_every_row_of_the_papers_table_is_asked(generated):
    statistics = json.loads((generated / "statistics.json").read_text())
    assert set(statistics["all"]["per_structural_type"]) == {"query", "verify", "logical", "choose", "compare"}
    assert set(statistics["all"]["per_semantic_type"]) == {"obj", "attr", "cat", "rel", "global"}
    entropy = statistics["entropy"]
    assert entropy["answers"]["after"] > entropy["answers"]["before"]
    assert entropy["global_groups"]["lower"] == entropy["local_groups"]["lower"] == 0


@pytest.mark.slow
def test_splits_are_kept_where_files_are_named_after_them(tmp_path):
    graphs = json.loads(EXAMPLE.read_text())
    for split, ids in {"train": list(graphs)[:9], "val": list(graphs)[9:]}.items():
        (tmp_path / f"{split}_sceneGraphs.json").write_text(json.dumps({key: graphs[key] for key in ids}))
    files = [tmp_path / f"{split}_sceneGraphs.json" for split in ("train", "val")]
    assert call("generate", "gqa", *files, "--keep-splits", "--output", tmp_path / "kept") == 0
    images = {
        record["imageId"] for record in json.loads((tmp_path / "kept/val_all_questions.json").read_text()).values()
    }
    assert images == set(list(graphs)[9:])
    for wrong in ([EXAMPLE, "--keep-splits"], [EXAMPLE, EXAMPLE]):
        assert call("generate", "gqa", *wrong, "--output", tmp_path / "none") == 2


@pytest.mark.slow
def test_the_function_returns_what_the_command_prints(tmp_path, capsys):
    found = vm.generate_gqa(EXAMPLE, output=tmp_path / "made", splits={"train": 0.5, "val": 0.5}, seed=3)
    split = "train=0.5,val=0.5"
    assert (
        call("generate", "gqa", EXAMPLE, "--output", tmp_path / "again", "--splits", split, "--seed", 3, "--json") == 0
    )
    assert json.loads(capsys.readouterr().out) == {**found.to_dict(), "output": str(tmp_path / "again")}
    counts = found.to_pandas()
    assert list(counts.columns) == ["by", "name", "all", "balanced"] and set(counts["by"]) >= {"structural", "split"}
    assert f"--data-dir {tmp_path / 'made'}" in repr(found) and "<table" in found._repr_html_()
    with pytest.raises(vm.InputError, match="splits='yes': expected names and values"):
        vm.generate_gqa(EXAMPLE, output=tmp_path / "other", splits="yes")
