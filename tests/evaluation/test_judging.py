"""Judges that know, say nothing, fail or stop: their verdicts and figures, and what a remedy makes of them."""

import json

import datasets
import pandas as pd
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.data.verdicts import Verdict, read_verdicts, write_verdicts
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.language_model import Reply
from tests.evaluation import worlds

SAME = {"jet": {"plane"}}


def benchmark(rows=24):
    """Every third row has a decoy that is also correct, a hypernym in WordNet."""
    table = []
    for row in range(rows):
        target, other = [("jet", "plane"), ("sofa", "cat"), ("sofa", "bus")][row % 3]
        choices = ["tree", target, other, "red"][row % 2 :] + ["tree"][: row % 2]
        table.append(
            {
                "question_id": f"q{row}",
                "image_id": f"i{row // 2}",
                "question": f"what is it {row}",
                "choices": choices,
                "label": choices.index(target),
                "choice_kinds": ["target" if one == target else "iou" if one == other else "qou" for one in choices],
                "question_type": ["what", "which"][row % 2],
            }
        )
    return pd.DataFrame(table)


class Knows:
    """Finds all synonyms."""

    batch_size = 5

    def __init__(self):
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return [self.reply(prompt) for prompt in prompts]

    def reply(self, prompt):
        correct = prompt.text.split('answer "')[1].split('"')[0].split(". ")[1]
        letters = [a for a, text in zip("ABCD", prompt.choices, strict=False) if text in SAME.get(correct, ())]
        return ", ".join(letters) or "none"


def test_a_judge_that_knows_flags_each_synonym_and_nothing_else():
    model = Knows()
    result = vm.judge(benchmark(), model=model)
    table = result.to_pandas()
    assert len(table) == 24 * 3
    assert set(table.choice[table.verdict == "correct"]) == {"plane"}
    assert (table.verdict == "correct").sum() == 8
    assert len(model.prompts) == 24 and model.prompts[0].image is None
    groups = {one["name"]: one for one in result.to_dict()["groups"]}
    assert groups["all"]["flagged"]["mean"] == pytest.approx(8 / 72)
    assert groups["all"]["rows_flagged"]["mean"] == pytest.approx(8 / 24)
    assert groups["IoU decoys"]["flagged"]["mean"] == pytest.approx(8 / 24)
    assert groups["QoU decoys"]["flagged"]["mean"] == 0 < groups["QoU decoys"]["flagged"]["high"]
    assert groups["what"]["decoys"] == groups["which"]["decoys"] == 36
    assert "kappa" in repr(result) and "IoU decoys" in repr(result)


def test_the_prompt_names_the_correct_choice_and_shows_the_image():
    class Sees(Knows):
        def reply(self, prompt):
            return "none"

    model = Sees()
    vm.judge(worlds.benchmark(4), model=model)
    prompt = model.prompts[0]
    assert worlds.color_of(prompt) is not None
    assert prompt.text.startswith("Question: what color is the shape 0 ?\nA. ")
    row = worlds.benchmark(4).iloc[0]
    assert f'The answer "{"ABCD"[row.label]}. {row.choices[row.label]}" is correct.' in prompt.text


def test_replies_that_cannot_be_read_and_missing_ones_give_no_verdict_and_are_counted():
    class Odd(Knows):
        def reply(self, prompt):
            number = int(prompt.question.split()[-1])
            if number == 0:
                return "It depends on the image."
            return Reply(failure="too long") if number == 3 else super().reply(prompt)

    result = vm.judge(benchmark(), model=Odd())
    figures = result.to_dict()
    assert (figures["unparsed"], figures["failed"]) == (1, 1)
    assert set(result.to_pandas().query("verdict == ''").question_id) == {"q0", "q3"}
    assert not {"q0", "q3"} & {one.question_id for one in result.judgement.verdicts()}
    assert figures["groups"][0]["decoys"] == 66
    assert "It depends on the image." in repr(result) and "too long" in repr(result)


def test_wordnet_needs_no_model_and_writes_no_replies(tmp_path):
    for _ in range(2):
        result = vm.judge(benchmark(), model="wordnet", output=tmp_path / "run")
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert names - {".lock"} == {"verdicts.csv", "judge.json", "run.json"}
    table = result.to_pandas()
    assert set(table.choice[table.verdict == "correct"]) == {"plane"}
    assert result.to_dict()["agreement"] is None and result.to_dict()["judge"] == "wordnet"


def test_labels_give_precision_recall_and_f1(tmp_path):
    """People find q0's and q3's planes correct, q6's wrong, and q1's cat correct, which the judge misses."""
    given = "q0 plane correct, q3 plane correct, q6 plane wrong, q1 cat correct, q9 plane unsure, q2 bus wrong"
    write_verdicts(tmp_path / "people.csv", [Verdict(*one.split(), "a") for one in given.split(", ")])
    result = vm.judge(benchmark(), model=Knows(), labels=tmp_path / "people.csv")
    found = result.to_dict()["calibration"]["Knows"]
    assert (found["decoys"], found["flagged"], found["correct"]) == (5, 3, 3)
    assert found["f1"] == pytest.approx(2 / 3)
    for name in ("precision", "recall"):
        assert found[name]["mean"] == pytest.approx(2 / 3)
        assert 0 <= found[name]["low"] <= 2 / 3 <= found[name]["high"] <= 1
    assert result.to_pandas().label.value_counts().to_dict() == {"": 67, "correct": 3, "wrong": 2}
    assert "Against 5 labels (3 correct), Knows: precision 66.7" in repr(result)
    write_verdicts(tmp_path / "other.csv", [Verdict("q1", "lion", "correct", "a")])
    with pytest.raises(InputError, match="no verdict, such as 'lion' of 'q1', is about a judged decoy"):
        vm.judge(benchmark(), model=Knows(), labels=tmp_path / "other.csv")


def test_a_stopped_run_resumes_and_its_verdicts_are_those_of_one_run(tmp_path):
    class Stops(Knows):
        name = "Knows"

        def generate(self, prompts):
            if len(self.prompts) >= 10:
                raise ConnectionError("gone")
            return super().generate(prompts)

    with pytest.raises(ConnectionError):
        vm.judge(benchmark(), model=Stops(), output=tmp_path / "run")
    model = Knows()
    result = vm.judge(benchmark(), model=model, output=tmp_path / "run")
    assert len(model.prompts) == 14
    whole = vm.judge(benchmark(), model=Knows())
    assert read_verdicts(tmp_path / "run" / "verdicts.csv") == whole.judgement.verdicts()
    assert json.loads((tmp_path / "run" / "judge.json").read_text())["groups"] == whole.to_dict()["groups"]
    assert [path.name for path in result.written] == ["verdicts.csv", "judge.json", "answers.jsonl"]
    with pytest.raises(InputError, match="another folder, or the same settings"):
        vm.judge(benchmark(), model="wordnet", output=tmp_path / "run")


def test_the_verdicts_are_about_the_texts_of_layouts_that_store_the_target_separately():
    rows = [
        {"id": str(row), "question": f"what is it {row}", "answer": "jet", "decoys": ["cat", "plane", "tree"]}
        for row in range(12)
    ]
    result = vm.judge(datasets.Dataset.from_list(rows), model=Knows(), choices=["decoys"], label="answer")
    table = result.to_pandas()
    assert set(table.choice[table.verdict == "correct"]) == {"plane"} and (table.verdict == "correct").sum() == 12
    assert (table.wordnet == (table.choice == "plane")).all()


@pytest.mark.slow
def test_a_remedy_takes_the_verdicts_of_a_judge(tmp_path, untrained_report_probes):
    table = benchmark()
    vm.judge(table, model=Knows(), output=tmp_path / "run")
    fixed = vm.remedy(table, variant="iou", preset="paper", reject=tmp_path / "run" / "verdicts.csv")
    assert fixed.to_dict()["remedy"]["rejected"]["published_decoys"] == 8
    after = fixed.dataset["test"] if "test" in fixed.dataset else next(iter(fixed.dataset.values()))
    for row in after:
        assert not SAME.get(row["choices"][row["label"]], set()) & set(row["choices"])


def test_models_that_generate_no_text_are_rejected():
    class Scores:
        def scores(self, prompts):
            return [[0.0] * len(prompt.choices) for prompt in prompts]

    with pytest.raises(InputError, match="model Scores generates no text"):
        vm.judge(benchmark(), model=Scores())
