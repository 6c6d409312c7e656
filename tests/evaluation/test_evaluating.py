"""Evaluations of models that know too much, too little or nothing: the figures expose each."""

import json
import re
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hf_vqa_mc as vm
from hf_vqa_mc.evaluation.evaluating import sampled
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.run_folder import jobs_of
from hf_vqa_mc.evaluation.shares import difference, share
from tests.evaluation import worlds


class Sees:
    """Answers with the color of the image, else with the first choice."""

    batch_size = 5

    def __init__(self):
        self.prompts = []

    def generate(self, prompts):
        self.prompts += prompts
        return [worlds.color_of(prompt) or "A" for prompt in prompts]


class AlwaysC:
    def generate(self, prompts):
        return ["C" for prompt in prompts]


class PicksTheLongest:
    def scores(self, prompts):
        return [[len(choice) for choice in prompt.choices] for prompt in prompts]


def reply_of(scores, prompt):
    return Reply(scores=tuple(scores), lengths=tuple(len(choice.split()) for choice in prompt.choices))


def accuracy(result):
    return result.to_pandas().set_index("input").accuracy.to_dict()


def test_a_model_that_sees_gains_all_of_its_accuracy_from_the_image():
    inputs = ["full", "no-image", "other-image", "gray-image", "no-question"]
    result = vm.evaluate(worlds.benchmark(48), model=Sees(), inputs=inputs, rotations="all")
    assert accuracy(result)["full"] == accuracy(result)["no-question"] == 1
    assert accuracy(result)["no-image"] == accuracy(result)["gray-image"] == 0.25  # first choice
    assert accuracy(result)["other-image"] < 0.5
    table = result.to_pandas().set_index("input")
    assert table.loc["no-image", "gain_mean"] == 0.75
    assert table.loc["no-question", "gain_mean"] == 0
    figures = result.to_dict()["inputs"]
    assert figures["full"]["circular_accuracy"]["mean"] == 1 and figures["no-image"]["circular_accuracy"]["mean"] == 0
    assert result.per_question["no-image_score"].tolist() == [0.25] * 48


def test_a_shortcut_is_as_good_without_image_and_question():
    frame = worlds.benchmark(40)
    frame = frame[[choices[label] == "two dogs" for choices, label in zip(frame.choices, frame.label, strict=True)]]
    inputs = ["full", "no-image", "choices-only"]
    result = vm.evaluate(frame, model=PicksTheLongest(), inputs=inputs, label_from=0)
    assert set(accuracy(result).values()) == {1.0}
    assert result.to_pandas().gain_mean.dropna().tolist() == [0, 0]
    assert result.per_question.leaked.all()


def test_what_names_no_choice_is_unparsed_and_wrong():
    class Silent:
        def generate(self, prompts):
            return ["I cannot see it." if "0" in prompt.question else "A" for prompt in prompts]

    result = vm.evaluate(worlds.benchmark(40), model=Silent(), inputs=["full"])
    assert result.to_pandas().unparsed[0] == sum("0" in str(at) for at in range(40))
    assert result.per_question["full_picked"].isna().sum() == result.to_pandas().unparsed[0]


def test_prompts_differ_only_in_what_they_hide():
    model = Sees()
    inputs = ["full", "no-image", "gray-image", "other-image", "no-question", "choices-only", "question-only"]
    vm.evaluate(worlds.benchmark(), model=model, inputs=inputs, sample=1)
    pixels = [prompt.picture and prompt.picture.getpixel((0, 0)) for prompt in model.prompts]
    texts = [prompt.text for prompt in model.prompts]
    assert len(set(zip(texts, pixels, strict=True))) == 7
    assert len({text.removeprefix(text.partition("A. ")[0]) for text in texts if "A. " in text}) == 1
    full, gray = model.prompts[texts.index(texts[0])], model.prompts[pixels.index((128, 128, 128))]
    assert gray.text == full.text and gray.picture.size == full.picture.size
    (alone,) = [text for text in texts if "A. " not in text]
    assert alone.endswith("\nAnswer with a word or a short phrase.")
    assert model.prompts[texts.index(alone)].choices == ()


def test_likelihoods_are_compared_by_length_and_without_the_question():
    frame = worlds.benchmark(16)
    frame["question"] = [choices[label] for choices, label in zip(frame.choices, frame.label, strict=True)]

    class Model:
        def likelihood(self, prompts):
            found = []
            for prompt in prompts:  # prefers short choices, and a little the one that the question names
                scores = [
                    -float(len(choice.encode())) + 0.5 * (choice in prompt.question) for choice in prompt.choices
                ]
                found.append(reply_of(scores, prompt))
            return found

    result = vm.evaluate(frame, model=Model(), inputs=["no-image"])
    rules = {name: found["mean"] for name, found in result.to_dict()["inputs"]["no-image"]["rules"].items()}
    assert rules == {"byte": 1.0, "sum": 0.25, "token": 0.25, "unconditional": 1.0}
    assert list(accuracy(result)) == ["no-image", "choices-only"]
    assert "unconditional" in repr(result)


def test_rows_without_an_unconditional_likelihood_do_not_count_for_its_rule():
    class Model:
        def likelihood(self, prompts):
            return [
                Reply(failure="no") if one.choices[0] == "red" and not one.question else reply_of([0, 1, 2, 3], one)
                for one in prompts
            ]

    frame = worlds.benchmark(16)
    found = vm.evaluate(frame, model=Model(), inputs=["no-image"]).to_dict()["inputs"]["no-image"]["rules"]
    known = sum(choices[0] != "red" for choices in frame.choices)
    assert (found["byte"]["rows"], found["unconditional"]["rows"]) == (16, known) and known < 16


def test_a_resumed_run_asks_only_what_is_missing_and_gives_the_same(tmp_path):
    frame = worlds.benchmark()
    whole, model = tmp_path / "whole", Sees()
    first = vm.evaluate(frame, model=model, output=whole)
    shutil.copytree(whole, tmp_path / "part")
    lines = (whole / "answers.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "part" / "answers.jsonl").write_text("".join(lines[:30]) + lines[30][:10])
    again = Sees()
    resumed = vm.evaluate(frame, model=again, output=tmp_path / "part")
    assert len(model.prompts) == 48 and len(again.prompts) == 18
    assert {**resumed.to_dict(), "written": 0} == {**first.to_dict(), "written": 0}
    assert (tmp_path / "part" / "rows.parquet").read_bytes() == (whole / "rows.parquet").read_bytes()
    more = vm.evaluate(frame, model=again, output=whole, inputs=["full", "no-image", "gray-image"], rotations="2")
    assert len(again.prompts) == 18 + 24 * 6 - 48
    assert list(accuracy(more)) == ["full", "no-image", "gray-image"]


def test_other_settings_questions_contexts_or_folders_are_rejected(tmp_path):
    frame = worlds.benchmark().assign(hint="a hint")
    vm.evaluate(frame, model=AlwaysC(), output=tmp_path / "run")
    with pytest.raises(vm.InputError, match=r"has a run with model 'AlwaysC', now 'Sees'; choose another"):
        vm.evaluate(frame, model=Sees(), output=tmp_path / "run")
    for other in (frame[:20], frame.assign(hint="another")):
        with pytest.raises(vm.InputError, match="has a run with questions_sha256 "):
            vm.evaluate(other, model=AlwaysC(), output=tmp_path / "run")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "text").write_text("")
    with pytest.raises(vm.InputError, match="that vqa-mc evaluate did not write"):
        vm.evaluate(worlds.benchmark(), model=AlwaysC(), output=tmp_path / "mine")


def test_a_broken_image_is_named_and_the_run_goes_on(tmp_path):
    frame = worlds.benchmark()
    frame.at[3, "image"] = {"bytes": b"broken", "path": None}
    frame.at[2, "image"] = {"bytes": b"broken", "path": None}
    result = vm.evaluate(frame, model=Sees(), inputs=["full", "no-image"], output=tmp_path / "run")
    assert result.to_pandas().failed.tolist() == [2, 0]
    assert accuracy(result)["full"] == 1
    assert "question_id 'q2': the image cannot be read" in repr(result)
    again = vm.evaluate(worlds.benchmark(), model=Sees(), inputs=["full", "no-image"], output=tmp_path / "run")
    assert again.to_pandas().failed.tolist() == [0, 0]  # failures are asked again


def test_an_input_without_any_reply_is_an_error_that_names_it():
    frame = worlds.benchmark()
    frame["image"] = [{"bytes": b"broken", "path": None}] * len(frame)
    with pytest.raises(vm.InputError, match=r"inputs=full: none of the 24 prompts has a reply: .* cannot be read"):
        vm.evaluate(frame, model=Sees())


def test_sets_with_failures_are_left_out_of_the_share_of_whole_sets():
    frame = worlds.benchmark(16)
    frame["set_id"] = [f"set {row // 4}" for row in range(16)]
    frame.at[0, "image"] = frame.at[1, "image"] = {"bytes": b"broken", "path": None}
    found = vm.evaluate(frame, model=Sees(), inputs=["full"]).to_dict()["inputs"]["full"]["set_accuracy"]
    assert found["mean"] == 1 and found["rows"] == 3


def test_choices_of_probability_zero_have_unknown_scores_and_the_run_is_stored(tmp_path):
    class Odd:
        def scores(self, prompts):
            first = [None, 1, -np.inf, 0]
            return [first, Reply(scores=tuple(np.float32([1, -np.inf, 2, 0])), tokens=(np.int64(3), np.int64(1)))]

        batch_size = 2

    run = {"model": Odd(), "inputs": ["no-image"], "output": tmp_path / "run"}
    result = vm.evaluate(worlds.benchmark(), **run)
    assert result.per_question["no-image_picked"].tolist() == [1, 2] * 12
    again = vm.evaluate(worlds.benchmark(), **run)
    assert again.per_question.equals(result.per_question)


def test_picks_labels_and_kinds_refer_to_the_choices_as_shown():
    decoys = [f"choice {at}" for at in range(6)]
    frame = worlds.benchmark(40).drop(columns=["choices", "label"])
    frame["answer"], frame["decoys"] = "the target", [decoys] * 40
    frame["choice_kinds"] = [["target", *["iou"] * 3, *["qou"] * 3]] * 40

    class Knows:
        def generate(self, prompts):
            return ["ABCDEFG"[prompt.choices.index("the target")] for prompt in prompts]

    result = vm.evaluate(frame, model=Knows(), inputs=["no-image"])
    rows = result.per_question
    assert {choices[label] for choices, label in zip(rows.choices, rows.label, strict=True)} == {"the target"}
    assert rows["no-image_picked"].tolist() == rows.label.tolist() and rows.label.nunique() > 3
    assert result.to_dict()["inputs"]["no-image"]["choice_kinds"]["target"]["picked"] == 1


def test_it_writes_figures_rows_and_a_page(tmp_path):
    result = vm.evaluate(worlds.benchmark(), model=Sees(), output=tmp_path / "run")
    figures = json.loads((tmp_path / "run" / "results.json").read_text())
    assert figures["inputs"]["full"]["accuracy"]["mean"] == 1
    assert figures["inputs"]["full"]["per_type"] == {"first": 1.0, "other": 1.0}
    assert pq.read_table(tmp_path / "run" / "rows.parquet").column_names == list(result.per_question)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Seeing everything adds " in page and "data:image/jpeg" in page
    assert "answered without image or question" not in page  # 25% are, which is luck
    assert '<div class="headline before calm">' in page and '<div class="headline after">' in page
    run = json.loads((tmp_path / "run" / "run.json").read_text())
    assert run["model"] == "Sees" and run["example"].startswith("Question: what color")


def test_a_model_that_always_picks_a_letter_is_described_and_its_next_step_are_all_orders(tmp_path):
    result = vm.evaluate(worlds.benchmark(), model=AlwaysC(), max_tokens=9, seed=3, output=tmp_path / "run")
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    for text in (repr(result), page):
        assert "With full, the model picks C in 100.0% of its answers; it is correct in 25.0%." in text
    given = "seed=3, max_tokens=9, inputs=('full', 'no-image'), rotations='all'"
    assert f"hf_vqa_mc.evaluate(dataset, model='MODEL', {given})" in repr(result)
    assert "That is not significantly above chance." in page
    assert "Seeing everything makes no significant difference: 0.0 points." in page
    assert "rotations=" not in repr(vm.evaluate(worlds.benchmark(), model=AlwaysC(), rotations="all"))


@pytest.mark.slow
def test_what_is_answered_without_the_image_leads_to_an_audit_and_an_image_that_misleads_is_named(tmp_path):
    def reads(prompt):
        right = worlds.benchmark(96).set_index("question").label[prompt.question] if prompt.question else 0
        return (right + 1) % 4 if prompt.images else right

    result = vm.evaluate(worlds.benchmark(96), model=reads, output=tmp_path / "run")
    assert accuracy(result) == {"full": 0.0, "no-image": 1.0}
    assert "100.0% with no-image is above chance: find the shortcuts:\nhf_vqa_mc.audit(dataset)" in repr(result)
    page = (tmp_path / "run" / "report.html").read_text("utf-8")
    assert "answered without image or question" in page
    assert '<div class="headline before">' in page and "Seeing everything misleads the model: -100.0 points." in page
    assert "The accuracy of no-image is above that of full" in repr(result)


def test_a_function_is_a_model():
    result = vm.evaluate(worlds.benchmark(), model=lambda prompt: worlds.color_of(prompt) or 2)
    assert accuracy(result) == {"full": 1.0, "no-image": 0.25}
    assert result.per_question["no-image_picked"].tolist() == [2] * 24


@pytest.mark.parametrize("answer", [None, 1.5, ["red"], True, 4, -1])
def test_an_answer_that_is_no_text_and_no_index_of_a_choice_is_named_with_its_row(answer):
    expected = "a text, the index of a choice (0 to 3) or a Reply"
    where = "the data frame, question_id 'q0': model <lambda> returned"
    with pytest.raises(vm.InputError, match=re.escape(f"{where} {answer!r} for method generate; expected {expected}")):
        vm.evaluate(worlds.benchmark(), model=lambda prompt: answer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"inputs": ["ful"]}, "did you mean 'full'"),
        ({"inputs": []}, "inputs: expected one or more"),
        ({"rotations": "none"}, "expected a number of 1 or more, or all"),
        ({"method": "letter"}, "method=letter: model Sees cannot do this; expected generate"),
        ({"method": "guess"}, "unknown method 'guess'"),
        (
            {"model": object()},
            "expected a name, a function, or an object with a method letter or likelihood or generate or scores",
        ),
        ({"model": Sees}, "model is the class Sees; expected an instance: Sees(...)"),
        ({"model": "./nowhere"}, "model=./nowhere: no such folder"),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(vm.InputError, match=re.escape(message)):
        vm.evaluate(worlds.benchmark(), **{"model": Sees(), **options})


class Blind(AlwaysC):
    sees_images = False

    def scores(self, prompts):
        return [[0] * len(prompt.choices) for prompt in prompts]

    def likelihood(self, prompts):
        return []


@pytest.mark.parametrize(
    ("method", "inputs", "message"),
    [
        ("generate", "full", "inputs=full: model Blind sees no images; use inputs no-image,choices-only"),
        ("scores", "question-only", "inputs=question-only: method scores needs the choices"),
        ("likelihood", "no-image,question-only", "so it is the same as no-image; remove it"),
    ],
)
def test_inputs_that_a_model_or_a_method_cannot_be_shown_are_rejected(method, inputs, message):
    with pytest.raises(vm.InputError, match=message):
        vm.evaluate(worlds.benchmark(), model=Blind(), method=method, inputs=inputs)


def test_a_benchmark_without_images_is_evaluated_without_them():
    frame = worlds.benchmark().drop(columns=["image", "image_id"])
    with pytest.raises(vm.InputError, match="inputs=full: the benchmark has no images"):
        vm.evaluate(frame, model=Sees())
    assert vm.evaluate(frame, model=Sees(), inputs="no-image").to_pandas().replies[0] == 24


@pytest.mark.parametrize("reply", [None, 3, ["x", "y", "z", "w"], [0.5], Reply(), [0, 1, 2, np.float32("nan")]])
def test_replies_of_another_form_are_rejected(reply):
    class Odd:
        def scores(self, prompts):
            return [reply for prompt in prompts]

    with pytest.raises(vm.InputError, match=r"'q0'.*: model Odd returned .* for method scores; expected 4 scores"):
        vm.evaluate(worlds.benchmark(), model=Odd(), inputs=["no-image"])


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=200), st.integers(1, 60), st.integers(0, 5))
def test_a_sample_has_the_shares_of_the_types(types, count, seed):
    questions = type("Rows", (), {"types": types, "__len__": lambda self: len(types)})()
    rows = sampled(questions, count, seed)
    assert len(set(rows.tolist())) == len(rows) == min(count, len(types))
    assert rows.tolist() == sorted(rows) and rows.tolist() == sampled(questions, count, seed).tolist()
    if count < len(types):
        for name in set(types):
            expected = count * types.count(name) / len(types)
            assert abs(sum(types[row] == name for row in rows) - expected) <= 2


@given(st.integers(1, 9), st.integers(2, 9))
def test_rotations_are_distinct_and_at_equal_steps(rotations, size):
    jobs = jobs_of([0], ["full"], rotations, [size])
    found = [job.rotation for job in jobs]
    assert len(set(found)) == len(found) == min(rotations, size) and found[0] == 0
    steps = {(after - before) for before, after in zip(found, [*found[1:], size], strict=True)}
    assert max(steps) - min(steps) <= 1


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1), st.integers(0, 9)), min_size=3, max_size=60))
def test_intervals_contain_their_means_and_differences_are_paired(rows):
    one, other, clusters = (np.array(column, float) for column in zip(*rows, strict=True))
    clusters = np.unique(clusters, return_inverse=True)[1]
    found = share(one, clusters)
    assert 0 <= found.low <= found.mean <= found.high <= 1
    gain = difference(one, other, clusters)
    assert gain.mean == pytest.approx(one.mean() - other.mean())
    assert (gain.low is None) == (gain.high is None)
    assert gain.low is None or gain.low < gain.mean < gain.high
    same = difference(one, one, clusters)
    assert (same.mean, same.low, same.high) == (0, None, None)  # an interval of width 0 would claim certainty
