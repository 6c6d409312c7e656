"""Models with one planted habit each: the report names it, and names none of a model without habits."""

import html
import json
import random
from itertools import combinations

import numpy as np
import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.methods import GUESS, NONE
from hf_vqa_mc.evaluation.reply_rules import numeric_choice, unparsed_reason, without_reasoning
from hf_vqa_mc.scoring.written_answers import written_choice
from tests.evaluation import worlds

OWN = "Your answer before you were shown the choices: "
NONES = ["none-added", "none-correct"]


def honest(prompt):
    """Answers with the color of the image, or that it is no choice; without an image, any choice at random."""
    color = worlds.color_of(prompt)
    if color and NONE in prompt.choices and color not in prompt.choices:
        return NONE
    if color and (color in prompt.choices or not prompt.choices):
        return color
    return random.Random(prompt.text).choice(prompt.choices or ["unknown"])


def needs_choices(prompt):
    """Recognises the color only among the choices."""
    if not prompt.choices:
        return "purple"
    return random.Random(prompt.text).choice(prompt.choices) if OWN in prompt.text else honest(prompt)


def changes(prompt):
    """Sees the image in two of three samples."""
    return honest(prompt) if prompt.sample % 3 else random.Random(f"{prompt.text}{prompt.sample}").choice("ABCD")


def doubts(prompt):
    """Finds half of the time that no choice is correct."""
    return NONE if NONE in prompt.choices and random.Random(prompt.text).random() < 0.5 else honest(prompt)


def overlooks(prompt):
    """Never finds that no choice is correct."""
    found = honest(prompt)
    return prompt.choices[0] if found == NONE else found


def refuses(prompt):
    return honest(prompt) if prompt.images or GUESS in prompt.text else "I'm sorry, but no image was provided."


def reads_the_choices(prompt):
    """Knows that "two dogs" is correct where it is a choice."""
    return "two dogs" if "two dogs" in prompt.choices else honest(prompt)


class Thinks:
    """Its reasoning reaches the limit without an image, and ends before with one."""

    def generate(self, prompts):
        return [
            Reply(text=f"<think>A or B?</think>{honest(one)}")
            if one.images
            else Reply(text="<think>A or", cut_off=True)
            for one in prompts
        ]


@pytest.mark.parametrize(
    ("model", "options", "habits"),
    [
        (honest, {"inputs": ["full", "no-image", "no-image-guess", "gray-image"]}, {}),
        (honest, {"inputs": ["full", *NONES], "rotations": 4}, {}),
        (doubts, {"inputs": ["full", *NONES], "rotations": 4}, {"none-added": "none too often"}),
        (overlooks, {"inputs": ["full", *NONES]}, {"none-correct": "none too rarely"}),
        (honest, {"inputs": ["full", "answer-first"]}, {}),
        (needs_choices, {"inputs": ["full", "answer-first"]}, {"answer-first": "uses the choices"}),
        (honest, {"inputs": ["full"], "samples": 3}, {}),
        (changes, {"inputs": ["full"], "samples": 3}, {"full": "changes its answer"}),
        (lambda prompt: "C", {}, {"full": "favours a letter", "no-image": "favours a letter"}),
        (refuses, {"inputs": ["full", "no-image", "no-image-guess"]}, {"no-image": "refused"}),
        (Thinks(), {}, {"no-image": "reasoning not ended"}),
    ],
)
def test_a_planted_habit_is_named_and_no_other(model, options, habits, tmp_path):
    result = vm.evaluate(worlds.benchmark(96), model=model, method="generate", output=tmp_path / "run", **options)
    found = json.loads((tmp_path / "run" / "results.json").read_text())["habits"]
    assert {one["input"]: one["habit"] for one in found} == habits and len(found) == len(habits)
    page = html.unescape((tmp_path / "run" / "report.html").read_text("utf-8"))
    assert all(one["found"] in repr(result) and one["found"] in page for one in found)


def test_a_benchmark_whose_choices_give_the_answer_away_is_named():
    frame = worlds.benchmark(192)
    frame = frame[[choices[label] == "two dogs" for choices, label in zip(frame.choices, frame.label, strict=True)]]
    result = vm.evaluate(frame, model=reads_the_choices, inputs=["full", "choices-only"], label_from=0)
    assert [(one["input"], one["habit"]) for one in result.to_dict()["habits"]] == [
        ("choices-only", "answers without all inputs")
    ]


def test_refusals_without_an_image_and_reasons_of_unparsed_replies_are_counted():
    result = vm.evaluate(worlds.benchmark(), model=refuses, inputs=["no-image", "no-image-guess"])
    found = result.to_dict()["inputs"]
    assert found["no-image"]["unparsed_reasons"]["refused"]["mean"] == 1 and not found["no-image-guess"]["refused"]
    texts = iter(["", "  ", "<think>A", "Reasoning: A?", "B and C", "I cannot see it", "One of them is"] * 3)

    def mixed(prompt):
        text = next(texts)
        return Reply(text=text, cut_off=text.startswith(("R", "O")))

    figures = vm.evaluate(worlds.benchmark(21), model=mixed, inputs=["full"]).to_dict()["inputs"]["full"]
    shares = {reason: round(21 * found["mean"]) for reason, found in figures["unparsed_reasons"].items()}
    assert shares == {"reasoning not ended": 6, "cut off": 3, "empty": 6, "refused": 3, "no choice or several": 3}
    assert figures["unparsed"] == 21


@pytest.mark.parametrize(
    "reply",
    [
        "<think>A or C?</think>B", "[THINK]C[/THINK]\n\nB", "◁think▷A◁/think▷(B)", "<reasoning>A</reasoning> B.",
        "Reasoning: it could be A, or C.\nAnswer: B", "**Explanation:** not A. The answer is B",
        "<|channel|>analysis<|message|>A or C<|end|><|start|>assistant<|channel|>final<|message|>B",
    ],
)  # fmt: skip
def test_reasoning_is_taken_off(reply):
    picked = vm.evaluate(worlds.benchmark(), model=lambda prompt: reply, inputs=["full"]).per_question["full_picked"]
    assert set(picked) == {1}


def test_none_of_the_above_is_the_last_choice_and_correct_where_the_correct_one_is_left_out(tmp_path):
    texts = []

    def knows(prompt):
        texts.append(prompt.text)
        return honest(prompt)

    frame = worlds.benchmark()
    frame.at[0, "choices"] = [*frame.choices[0][:3], "none of the above."]
    frame.at[0, "label"] = 0
    result = vm.evaluate(frame, model=knows, inputs=NONES)
    found, rows = result.to_dict()["inputs"], result.per_question[1:]
    assert [found[name]["accuracy"]["mean"] for name in NONES] == [1, 1]
    assert [found[name]["none_picked"]["mean"] for name in NONES] == [0, 1]
    assert set(rows["none-correct_picked"]) == {4} and (rows["none-added_picked"] == rows.label).all()
    assert found["none-added"]["positions"][4]["letter"] == "E" and len(found["none-correct"]["positions"]) == 4
    assert all("\nE. None of the above\n" in text for text in texts[::2])
    assert all("\nD. None of the above\n" in text and "E." not in text for text in texts[1::2])
    for name, correct in zip(("knows", "overlooks"), (honest, overlooks), strict=True):
        vm.evaluate(frame[1:], model=correct, inputs=NONES, output=tmp_path / name)
    compared = vm.compare([tmp_path / "knows", tmp_path / "overlooks"], input="none-correct").comparison
    assert compared.chance == 0.25 and set(compared.baseline.columns.label) == {4}
    assert [found[name]["failed"] for name in NONES] == [1, 1] and "question_id 'q0'" in found["none-added"][
        "failures"
    ][0]


def test_the_choices_come_after_the_model_s_own_answer_to_the_same_question(tmp_path):
    prompts = []

    def thinks(prompt):
        prompts.append(prompt)
        return "<think>A?</think> " + (worlds.color_of(prompt) if not prompt.choices else "B")

    frame = worlds.benchmark()
    frame.at[2, "image"] = frame.at[3, "image"] = {"bytes": b"broken", "path": None}
    result = vm.evaluate(frame, model=thinks, inputs=["answer-first"], instruction="Letter?", output=tmp_path / "run")
    assert result.to_pandas().set_index("input").replies.to_dict() == {"no-choices": 22, "answer-first": 22}
    assert [bool(prompt.choices) for prompt in prompts] == [False] * 22 + [True] * 22
    first, second = prompts[0], prompts[22]
    assert first.text == f"{first.text.splitlines()[0]}\nAnswer with a word or a short phrase." and first.images
    question, own, *choices, last = second.text.splitlines()
    assert question == first.text.splitlines()[0] and own == OWN + worlds.color_of(second) and last == "Letter?"
    assert choices == [f"{name}. {text}" for name, text in zip("ABCD", second.choices, strict=True)]
    asked = len(prompts)
    vm.evaluate(frame, model=thinks, inputs=["answer-first"], instruction="Letter?", output=tmp_path / "run")
    assert len(prompts) == asked
    with pytest.raises(vm.InputError, match="method scores needs the choices"):
        scores = type("Scores", (), {"scores": lambda self, prompts: [[0] * len(one.choices) for one in prompts]})
        vm.evaluate(frame, model=scores(), inputs=["answer-first"])


def test_samples_have_their_accuracies_variance_and_agreement(tmp_path):
    asked = []

    def draws(prompt):
        asked.append(prompt.sample)
        return random.Random(f"{prompt.text} {prompt.sample}").choice("ABC")

    run = {"model": draws, "inputs": ["full"], "rotations": 2, "temperature": 0.7, "output": tmp_path / "run"}
    vm.evaluate(worlds.benchmark(), samples=2, **run)
    assert "sample" not in (tmp_path / "run" / "answers.jsonl").read_text().splitlines()[0]
    result = vm.evaluate(worlds.benchmark(), samples=4, **run)
    assert sorted(asked) == sorted([*range(4)] * 48)  # the first two are not asked again
    found = result.to_dict()["inputs"]["full"]
    picked = result.evaluation.inputs["full"].picked.reshape(48, 4)
    correct = (picked == np.repeat(result.per_question.label, 2).to_numpy()[:, None]).astype(float)
    pairs = [(one == other).mean() for one, other in combinations(picked.T, 2)]
    assert found["samples"]["accuracy"] == pytest.approx(correct.mean(0))
    assert found["samples"]["variance_within"] == pytest.approx(correct.var(1, ddof=1).mean())
    assert found["samples"]["standard_error"] == pytest.approx(correct.mean(0).std(ddof=1) / 2)
    assert found["samples"]["agreement"]["mean"] == pytest.approx(np.mean(pairs))
    assert found["accuracy"]["mean"] == pytest.approx(correct.mean())
    text = f"(standard error of their mean): full {', '.join(f'{100 * one:.1f}' for one in correct.mean(0))} ("
    assert any(text in note for note in result.evaluation.notes())
    assert (
        result.evaluation.columns()["samples agree"][0]
        == result.evaluation.inputs["full"].samples["agreement"].percent()
    )
    with pytest.raises(vm.InputError, match=r"has a run with temperature 0\.7, now 1\.0"):
        vm.evaluate(worlds.benchmark(), samples=4, **run | {"temperature": 1})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samples": 2, "temperature": 0}, "temperature=0: all samples of a prompt would be the same"),
        ({"samples": 0}, "samples=0"),
        ({"temperature": -1}, "temperature=-1.0"),
        ({"samples": 2, "method": "scores", "inputs": "no-image"}, "samples=2: method scores always gives the same"),
    ],
)
def test_options_that_draw_nothing_are_rejected(options, message):
    class Model:
        generate = scores = staticmethod(lambda prompts: [[0] * 4 for _ in prompts])

    with pytest.raises(vm.InputError, match=message):
        vm.evaluate(worlds.benchmark(), model=Model(), **options)


NUMBERS = ["one", "2 m", "3.0", "1/2", "70%"]


@pytest.mark.parametrize(
    ("reply", "picked"),
    [
        ("1", 0), ("2", 1), ("The answer is 2.0 meters.", 1), ("two metres", 1), ("Three", 2), ("03", 2), ("0.5", 3),
        ("It is hard.\nAnswer: .50", 3), ("2 cm", None), ("1 or 3", None), ("4", None), ("B", 1), ("C. 1", 2),
        ("1/0", None),
        ("3" * 9000, None),
        ("70 percent", 4),
    ],
)  # fmt: skip
def test_numbers_in_another_form_name_their_choice(reply, picked):
    frame = worlds.benchmark(8).assign(choices=[NUMBERS] * 8, label=[0, 1, 2, 3] * 2)
    found = vm.evaluate(frame, model=lambda prompt: reply, inputs=["no-image"], label_from=0).per_question
    assert [None if np.isnan(one) else one for one in found["no-image_picked"].astype(float)] == [picked] * 8


@pytest.mark.parametrize(("form", "habits"), [("{}.0", ["other forms of numbers"]), ("{}", [])])
def test_numbers_in_another_form_are_counted(form, habits):
    frame = worlds.benchmark(48)
    frame["label"] = [row // 2 % 4 for row in range(48)]
    frame["choices"] = [["5", "6", "7", "8"]] * 48
    right = frame.set_index("question").label
    result = vm.evaluate(frame, model=lambda one: form.format(5 + right[one.question]), inputs="full", label_from=0)
    assert [one["habit"] for one in result.to_dict()["habits"]] == habits
    assert result.to_pandas().accuracy[0] == 1
    assert result.to_dict()["inputs"]["full"]["rules"]["letter or text"]["mean"] == float(not habits)


@pytest.mark.parametrize(("remembers", "habits"), [(True, ["remembers published rows"]), (False, [])])
def test_a_model_that_remembers_published_rows_is_worse_on_their_siblings(remembers, habits):
    frame = worlds.benchmark(160)
    frame["set_id"] = [f"set {row // 4}" if row < 152 else "" for row in range(160)]
    frame["published"] = [row % 4 == row // 4 % 4 for row in range(160)]
    known = set(frame.question[frame.published]) if remembers else set()
    right = {row.question: row.choices[row.label] for row in frame.itertuples()}

    def model(prompt):
        return (
            right[prompt.question] if prompt.question in known else random.Random(prompt.text).choice(prompt.choices)
        )

    result = vm.evaluate(frame, model=model, inputs=["full"])
    rows = result.per_question.assign(set=frame.set_id, published=frame.published)[:152]
    sets = rows.groupby(["set", "published"]).full_score.mean().unstack()
    found = result.to_dict()["inputs"]["full"]["published_minus_siblings"]
    assert found["mean"] == pytest.approx((sets[True] - sets[False]).mean()) and found["rows"] == 38
    assert [one["habit"] for one in result.to_dict()["habits"]] == habits


@pytest.mark.parametrize(
    "reply",
    [
        "[Reasoning] The dog barks.\n[Answer] B", "[Reasoning]: The dog barks.\n[Answer]: B", "[THINK]A?[/THINK]B",
        "<reasoning>The dog barks. <answer>B</answer>", "[reasoning] A or B? [/reasoning] B",
    ],
)  # fmt: skip
def test_tags_and_headings_of_reasoning_leave_the_answer(reply):
    assert written_choice(without_reasoning(reply), ["cat", "dog", "bird", "fish"]) == 1


@pytest.mark.parametrize(
    ("reply", "choices"),
    [
        ("three hundred", ["3", "300"]), ("3k", ["3", "3000"]), ("one half", ["1", "1/2"]), ("2½", ["2.5", "10.5"]),
        ("$3.0 billion", ["$3 million", "$4 million"]), ("2 dogs\n3 cats", ["2", "3"]), ("two\nthree", ["2", "3"]),
        ("The answer is B. 3\n3", ["2", "4", "3"]),
    ],
)  # fmt: skip
def test_other_numbers_units_and_contradictions_name_no_choice(reply, choices):
    assert numeric_choice(reply, choices) is None


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("I can't see an image.", "refused"), ("Sorry, I cannot help.", "refused"),
        ("No way without an image", "refused"),
        ("He can't swim", "no choice or several"), ("No photo taking", "no choice or several"),
        ("<think>A</think>", "empty"),
    ],
)  # fmt: skip
def test_the_reason_of_a_reply_without_a_choice(reply, reason):
    assert unparsed_reason(reply, cut_off=False) == reason


def test_likelihoods_with_none_of_the_above_and_few_questions_give_figures_and_no_habits():
    class Likelihood:
        likelihood = staticmethod(lambda prompts: [[-float(len(one)) for one in prompt.choices] for prompt in prompts])

    found = vm.evaluate(worlds.benchmark(4), model=Likelihood(), inputs=["full", "none-added"])
    assert "none-added" in repr(found)
    one = vm.evaluate(worlds.benchmark(1), model=needs_choices, inputs=["full", "answer-first", "no-choices"])
    assert one.to_dict()["habits"] == []
