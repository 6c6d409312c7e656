"""Comparisons of runs against literal computations, simulations, hostile names and bad input."""

import csv
import json
import math
import random
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from typer.testing import CliRunner

import hf_vqa_mc as vm
from hf_vqa_mc.cli import app
from hf_vqa_mc.evaluation.comparison import paired
from hf_vqa_mc.evaluation.shares import difference
from tests.evaluation import worlds
from tests.report import hostile


class Sees:
    """Answers with the color of the image for a random share of the questions, else with the second choice."""

    def __init__(self, share, seed, name):
        self.share, self.rng, self.name = share, random.Random(seed), name

    def generate(self, prompts):
        return [(worlds.color_of(prompt) or "A") if self.rng.random() < self.share else "B" for prompt in prompts]


class AlwaysA:
    def generate(self, prompts):
        return ["A" for _ in prompts]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Three runs on the same 80 questions."""
    folder = tmp_path_factory.mktemp("runs")
    for seed, (name, share) in enumerate({"weak": 0.4, "strong": 0.8, "like-weak": 0.4}.items()):
        vm.evaluate(worlds.benchmark(80), model=Sees(share, seed, name), output=folder / name)
    return folder


def write_run(folder, scores, clusters=None, model="model", **changes):
    """A folder as vqa-mc evaluate writes it: question id to score."""
    folder.mkdir(exist_ok=True)
    about = {"model": model, "dataset": "d", "config": None, "split": "test", "questions_sha256": "0",
             "inputs": {"full": {}}}  # fmt: skip
    (folder / "results.json").write_text(json.dumps({**about, **changes}))
    columns = {"question_id": list(scores), "full_score": pa.array(list(scores.values()), pa.float64())}
    if clusters is not None:
        columns["cluster"] = list(clusters)
    pq.write_table(pa.table(columns), folder / "rows.parquet")
    return folder


def write_scored(path, scores, metric="mc_accuracy", **more):
    found = {"predictions": path.name, "dataset": "d", "config": None, "split": "test", **more}
    path.write_text(json.dumps({**found, "results": {metric: {"per_question": scores}}}))
    return path


def numbered(values):
    return {f"q{at}": float(value) for at, value in enumerate(values)}


def mcnemar(gained, lost):
    """The two-sided exact test by adding up the binomial distribution."""
    total = gained + lost
    tail = sum(math.comb(total, hits) for hits in range(min(gained, lost) + 1)) / 2**total
    return min(1.0, 2 * tail)


@pytest.mark.parametrize(("gained", "lost", "same"), [(9, 2, 20), (1, 1, 5), (7, 0, 3), (4, 4, 0), (0, 0, 6)])
def test_mcnemar_is_the_binomial_test_of_the_changed_questions(gained, lost, same):
    scores = np.array([1.0] * gained + [0.0] * lost + [1.0] * same)
    found = paired(scores, np.array([0.0] * gained + [1.0] * lost + [1.0] * same), np.arange(len(scores)))
    assert (found.gained, found.lost) == (gained, lost)
    assert found.p_mcnemar == pytest.approx(mcnemar(gained, lost))


def test_without_clusters_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    one, other = rng.random(50), rng.random(50)
    found, expected = paired(one, other, np.arange(50)), stats.ttest_rel(one, other)
    assert found.p == found.p_clustered == pytest.approx(expected.pvalue) and found.p_mcnemar is None
    interval = expected.confidence_interval()
    assert (found.difference.low, found.difference.high) == pytest.approx((interval.low, interval.high))


def clustered_scores(rng, images=40, of_each=5):
    """0/1 scores of two models, whose strengths differ from image to image."""
    strengths = rng.uniform(0.1, 0.9, (2, images)).repeat(of_each, axis=1)
    one, other = (rng.random(strengths.shape) < strengths).astype(float)
    return one, other, np.arange(images).repeat(of_each)


def test_intervals_cover_the_truth_and_tests_keep_their_level_with_clusters():
    rng = np.random.default_rng(1)
    found = [paired(*clustered_scores(rng)) for _ in range(300)]
    assert 0.92 <= np.mean([one.difference.low <= 0 <= one.difference.high for one in found]) <= 0.98
    assert np.mean([one.p < 0.05 for one in found]) <= 0.07
    assert np.mean([one.p_mcnemar < 0.05 for one in found]) > 0.1  # it ignores the clusters


def test_the_detectable_difference_is_found_in_80_percent_of_the_samples():
    rng = np.random.default_rng(2)
    sizes = [paired(*clustered_scores(rng)).detectable for _ in range(20)]
    wide = np.random.default_rng(3)
    found = []
    for _ in range(300):
        one, other, clusters = clustered_scores(wide)
        found.append(difference(one + np.mean(sizes), other, clusters).low > 0)
    assert 0.72 <= np.mean(found) <= 0.88


def test_a_run_folder_is_compared_question_by_question(runs):
    result = vm.compare([runs / "weak", runs / "strong", runs / "like-weak"])
    rows = {name: pq.read_table(runs / name / "rows.parquet").to_pandas() for name in ("weak", "strong")}
    table = result.to_pandas().set_index("run")
    assert list(table.index) == ["weak", "strong", "like-weak"]
    changes = rows["strong"].full_score - rows["weak"].full_score
    assert table.loc["strong", "difference"] == pytest.approx(changes.mean())
    assert (table.loc["strong", "gained"], table.loc["strong", "lost"]) == ((changes > 0).sum(), (changes < 0).sum())
    assert table.loc["weak", "mean"] == rows["weak"].full_score.mean()
    own = json.loads((runs / "weak" / "results.json").read_text())["inputs"]["full"]["accuracy"]
    assert (table.loc["weak", "low"], table.loc["weak", "high"]) == (own["low"], own["high"])
    assert "baseline: weak" in repr(result) and result.to_dict()["questions"] == 80


def test_p_values_are_adjusted_for_all_runs(runs):
    table = vm.compare([runs / "weak", runs / "strong", runs / "like-weak"]).to_pandas().set_index("run")
    first, second = sorted(["strong", "like-weak"], key=lambda name: table.loc[name, "p"])
    assert table.loc[first, "p_holm"] == pytest.approx(min(2 * table.loc[first, "p"], 1))
    assert table.loc[second, "p_holm"] == max(table.loc[first, "p_holm"], table.loc[second, "p"])


def test_a_breakdown_is_crossed_and_has_the_figures_of_its_questions(runs):
    result = vm.compare([runs / "weak", runs / "strong"], by="question_type,label")
    rows = [pq.read_table(runs / name / "rows.parquet").to_pandas() for name in ("weak", "strong")]
    table = result.to_pandas()
    assert len(table) == 2 + 2 * rows[0].groupby(["question_type", "label"]).ngroups
    (line,) = table[(table.run == "strong") & (table.question_type == "other") & (table.label == "1")].to_dict(
        "records"
    )
    part = (rows[0].question_type == "other") & (rows[0].label == 1)
    assert line["mean"] == rows[1].full_score[part].mean() and line["questions"] == part.sum()
    assert line["difference"] == pytest.approx((rows[1].full_score - rows[0].full_score)[part].mean())
    with pytest.raises(vm.InputError, match="unknown column of by 'type'"):
        vm.compare([runs / "weak", runs / "strong"], by="type")


def test_only_questions_of_all_runs_with_a_reply_in_each_are_compared(tmp_path):
    write_run(tmp_path / "a", numbered([1, 0, 1, 1, 0]), range(5), "a")
    write_run(tmp_path / "b", {"q3": 0.0, "q2": 1.0, "q1": None, "q0": 0.0}, range(4), "b")
    result = vm.compare([tmp_path / "a", tmp_path / "b"])
    assert result.to_dict()["questions"] == 3
    assert "Questions that not all runs have are left out: 1 of a." in repr(result)
    assert "1 question without a reply or score in some run left out." in repr(result)
    assert sorted(result.items[result.items.changed].question_id) == ["q0", "q3"]


def test_files_of_score_are_compared_clustered_by_image(tmp_path):
    images = {f"q{at}": str(at // 2) for at in range(6)}
    paths = [write_scored(tmp_path / "a.json", numbered([1, 1, 0, 0, 1, 1]), image_ids=images),
             write_scored(tmp_path / "b.json", numbered([0, 0, 0, 0, 1, 1]), image_ids=images)]  # fmt: skip
    found = vm.compare(paths).to_dict()["runs"][1]["against_baseline"]
    assert found["p_clustered"] == pytest.approx(stats.ttest_rel([0, 0, 1], [1, 0, 1]).pvalue)
    for path in paths:
        path.write_text(json.dumps({**json.loads(path.read_text()), "image_ids": None}))
    assert "take questions as independent" in repr(vm.compare(paths))
    folder = write_run(tmp_path / "run", numbered([1, 1, 0, 0, 1, 0]), [0, 0, 1, 1, 2, 2])
    assert "independent" not in repr(vm.compare([*paths, folder]))


def test_score_writes_what_is_compared(tmp_path):
    rows = [{"question_id": at, "image_id": at // 2, "question_type": "what", "answer_type": "other",
             "multiple_choice_answer": "red", "answers": [{"answer": "red", "answer_id": one} for one in range(10)]}
            for at in range(8)]  # fmt: skip
    (tmp_path / "rows.json").write_text(json.dumps({"annotations": rows}))
    answers = {"right.json": ["red"] * 8, "half.json": ["red"] * 4 + ["blue"] * 4}
    for name, texts in answers.items():
        vm.score(dict(enumerate(texts)), tmp_path / "rows.json", per_question=True, output=tmp_path / name)
    result = vm.compare([tmp_path / name for name in answers], by="question_type")
    assert result.to_pandas()["mean"].tolist() == [1, 0.5, 1, 0.5]
    assert result.to_dict()["runs"][0]["metric"] == "vqa_accuracy"
    assert "independent" not in repr(result)


def test_files_are_written_by_suffix(runs, tmp_path):
    result = vm.compare([runs / "weak", runs / "strong"], by="question_type", output=tmp_path / "c.json")
    assert json.loads((tmp_path / "c.json").read_text()) == json.loads(json.dumps(result.to_dict()))
    for suffix in ("csv", "md", "html"):
        result.save(tmp_path / f"c.{suffix}")
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text().splitlines()))
    assert len(rows) == 6 and rows[1]["gained"] == str(result.to_pandas().gained[1])
    assert (tmp_path / "c.md").read_text() == result.to_markdown()
    assert "Leaderboard" in (tmp_path / "c.html").read_text()
    with pytest.raises(vm.InputError, match="exists"):
        result.save(tmp_path / "c.md")
    with pytest.raises(vm.InputError, match=r"output=c.xlsx: expected a file with one of the suffixes .md, .csv"):
        vm.compare([runs / "weak", runs / "strong"], output="c.xlsx")


@pytest.mark.parametrize("suffix", ["csv", "json", "parquet"])
def test_questions_are_listed_with_their_statistics_scores_and_picks(runs, tmp_path, suffix):
    path = tmp_path / f"items.{suffix}"
    arguments = ["compare", str(runs / "weak"), str(runs / "strong"), "--items", str(path)]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0 and "(saturated)" in done.output
    read = {"csv": pd.read_csv, "json": pd.read_json, "parquet": pd.read_parquet}[suffix]
    found = read(path).set_index("question_id")
    rows = [pq.read_table(runs / name / "rows.parquet").to_pandas().set_index("question_id")
            for name in ("weak", "strong")]  # fmt: skip
    found = found.loc[rows[0].index]
    assert (found.changed == (rows[0].full_score != rows[1].full_score)).all()
    assert (found["strong picked"] == rows[1].full_picked).all()
    assert found.accuracy.to_numpy() == pytest.approx((rows[0].full_score + rows[1].full_score) / 2)


def test_hostile_names_stay_text(tmp_path):
    texts = [*hostile.TEXTS, "=1+1", "[a] \\\\ & \\input{x} ~^#$%_{}* | `b`"]
    paths = [write_run(tmp_path / f"r{at}", numbered([at % 2, 1, 0]), range(3), f"{text} {at}")
             for at, text in enumerate(texts)]  # fmt: skip
    result = vm.compare(paths)
    for suffix in ("csv", "md", "html", "json"):
        result.save(tmp_path / f"c.{suffix}")
    lines = result.to_markdown().splitlines()
    assert len(lines) == 2 + len(texts) and "<script" not in "".join(lines).replace("\\<", "")
    rows = list(csv.DictReader((tmp_path / "c.csv").read_text("utf-8").splitlines()))
    assert [row["run"] for row in rows if "1+1" in row["run"]] == ["'=1+1 12"]
    page = (tmp_path / "c.html").read_text("utf-8")
    assert "<script" not in page and "<img" not in page and "<svg onload" not in page and "\\x1b" not in page


def test_identical_runs_do_not_differ(tmp_path):
    for name in "ab":
        write_run(tmp_path / name, numbered([1, 0, 1]), [0, 0, 0], name)
    found = vm.compare([tmp_path / "a", tmp_path / "b"]).to_dict()["runs"][1]["against_baseline"]
    assert (found["p"], found["gained"], found["lost"], found["detectable"]) == (1, 0, 0, None)
    assert (found["difference"]["low"], found["difference"]["high"]) == (None, None)


def test_equal_differences_have_no_interval_and_the_sign_test_of_the_images(tmp_path):
    write_run(tmp_path / "a", numbered([0, 0.25, 0.5, 0.25]), [0, 0, 1, 2], "a")
    write_run(tmp_path / "b", numbered([0.5, 0.75, 1, 0.75]), [0, 0, 1, 2], "b")
    result = vm.compare([tmp_path / "a", tmp_path / "b"])
    assert result.to_pandas().p[1] == stats.binomtest(3, 3).pvalue
    assert "+50.0 (n/a)" in repr(result) and "n/a: the differences are all equal" in repr(result)


def test_the_accuracy_of_random_guessing_and_other_numbers_of_rotations_are_reported(runs, tmp_path):
    vm.evaluate(worlds.benchmark(80), model=AlwaysA(), inputs="full", rotations="all", output=tmp_path / "all")
    result = vm.compare([runs / "weak", tmp_path / "all"])
    assert result.to_dict()["chance"] == 0.25 and "chance: 25.0%" in repr(result)
    assert "(rotations): 1 in weak, 4 in AlwaysA; scores are means" in repr(result)
    assert "rotations" not in repr(vm.compare([runs / "weak", runs / "strong"]))


def test_labels_are_in_order_and_named_by_letter_other_groups_by_frequency(runs):
    labels = vm.compare([runs / "weak", runs / "strong"], by="label")
    assert labels.to_pandas().label.tolist()[2::2] == ["0", "1", "2", "3"] and "0 (A)" in repr(labels)
    scores = {f"q{at}": 1.0 for at in range(5)}
    folder = write_run(runs / "typed", scores)
    pq.write_table(pa.table({"question_id": list(scores), "full_score": list(scores.values()),
                             "question_type": ["a", "b", "b", None, "c"]}), folder / "rows.parquet")  # fmt: skip
    other = shutil.copytree(folder, runs / "typed-too")
    found = vm.compare([folder, other], by="question_type").to_pandas()
    assert found.question_type.tolist()[2::2] == ["b", "", "a", "c"]


def bad_inputs(folder):
    """Runs and options to the message that they give."""
    good = write_run(folder / "good", numbered([1, 0]))
    scored = write_scored(folder / "scored.json", numbered([1, 0]))
    consensus = write_scored(folder / "consensus.json", numbered([1, 0]), metric="vqa_accuracy")
    other = write_run(folder / "other", numbered([1, 0]), questions_sha256="1")
    split = write_scored(folder / "split.json", numbered([1, 0]), split="val")
    strange = write_run(folder / "strange", {"x": 1.0})
    write_scored(folder / "copy.json", numbered([0, 0]), image_ids={"q0": "a", "q1": "b"})
    (folder / "without.json").write_text('{"results": {"mc_accuracy": {"accuracy": 1}}}')
    (folder / "empty").mkdir()
    stopped = write_run(folder / "stopped", numbered([1]))
    (stopped / "results.json").rename(stopped / "run.json")
    return [
        ([good], {}, "RUNS: expected two or more, each a folder of vqa-mc evaluate, or a file"),
        ([good, good], {}, "is given twice; remove one"),
        ([good, folder / "none"], {}, "none: no such folder or file; expected"),
        ([good, folder / "empty"], {}, "results.json is missing; expected a folder of vqa-mc evaluate"),
        ([good, stopped], {}, r"not finished \(results.json is missing\); run it again to resume it"),
        ([good, folder / "without.json"], {}, "there are no scores of questions; expected a file of vqa-mc score"),
        ([good, other], {}, "are not of the same benchmark: questions, choices or labels differ"),
        ([scored, split], {}, "are not of the same benchmark: the split is 'test' and 'val'"),
        ([good, strange], {}, "the runs have no question in common; their first question ids are 'q0', 'x'"),
        ([scored, scored.with_name("copy.json")], {"by": "question_type"}, "no run has a column to break down by; "),
        ([good, consensus], {}, "unknown metric of .* Known: vqa_accuracy"),
        ([scored, consensus], {}, "unknown metric of .*consensus.json 'mc_accuracy'"),
        ([good, scored], {"metric": "vqa_accuracy"}, "the folders of vqa-mc evaluate have mc_accuracy only"),
        ([good, scored], {"input": "ful"}, "unknown input of .*: did you mean 'full'"),
        ([good, scored], {"output": "x.md", "items": "x.md"}, "expected a file with one of the suffixes .csv"),
        ([good, scored], {"output": good / "x.md"}, "would replace or change an input"),
    ]  # fmt: skip


def test_bad_input_gets_one_clear_line(tmp_path):
    for runs, options, message in bad_inputs(tmp_path):
        with pytest.raises(vm.InputError, match=message) as error:
            vm.compare(runs, **options)
        assert "\n" not in str(error.value)
