"""The rules of other harnesses read replies as their programs do, and an evaluation reports where they differ."""

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.evaluation.reply_rules import READERS

CHOICES = ["red", "dark blue", "green", "a tall tree"]


@pytest.mark.parametrize(
    ("text", "first", "last", "mmmu", "vlmevalkit"),
    [
        ("B", 1, 1, 1, 1),
        ("(C)", 2, 2, 2, 2),
        ("The answer is B.", 1, 1, 1, 1),
        ("A", 0, 0, 0, 0),
        ("A dog is shown, so the answer is C.", 0, 2, 2, None),
        ("It is dark blue.", None, None, None, 1),
        ("I think that it is the color dark blue", None, None, 1, 1),
        ("Not (A) but (D)", 0, 3, 3, None),
        ("B or C", 1, 2, 2, None),
        ("I cannot say.", None, None, None, None),
        ("F", None, None, None, None),
        ("A crown is on a tall tree there", 0, 0, 0, 3),
        ("Either A or B: it is green", 0, 1, 0, 2),
        ("Bär, Días, Cœur", None, None, None, None),
        ("答案是B", 1, 1, None, None),
    ],
)
def test_a_reply_is_read_by_each_rule(text, first, last, mmmu, vlmevalkit):
    assert {name: read(text, CHOICES) for name, read in READERS.items()} == {
        "first letter": first,
        "last letter": last,
        "MMMU": mmmu,
        "VLMEvalKit": vlmevalkit,
    }


class Talkative:
    """Begins with an article that rules may take for a letter."""

    def __init__(self, name, share):
        self.name, self.share = name, share

    def generate(self, prompts):
        ends = ("B" if int(prompt.question.split()[-1]) < self.share else "C" for prompt in prompts)
        begin = "A picture. " if self.name == "says" else "Answer: "
        return [f"{begin}The answer is {end}." for end in ends]


def test_an_evaluation_reports_readings_that_differ_and_a_comparison_changed_ranks(tmp_path):
    data = [{"question": f"what is {at}", "choices": CHOICES, "label": "B"} for at in range(80)]
    options = {"inputs": "no-image", "method": "generate"}
    found = vm.evaluate(data, model=Talkative("says", 60), output=tmp_path / "says", **options)
    vm.evaluate(data, model=Talkative("answers", 40), output=tmp_path / "answers", **options)
    figures = found.to_dict()["inputs"]["no-image"]
    assert {rule: of["mean"] for rule, of in figures["rules"].items()} == {
        "text": 0.75, "letter or text": 0.75, "first letter": 0, "last letter": 0.75, "MMMU": 0.75, "VLMEvalKit": 0
    }  # fmt: skip
    assert figures["unparsed_by_rule"]["VLMEvalKit"] == 1 and figures["unparsed_by_rule"]["text"] == 0
    assert "read by the rules of other harnesses: first letter 0.0 (0% unparsed), last letter 75.0" in repr(found)
    compared = repr(vm.compare([tmp_path / "says", tmp_path / "answers"]))
    assert "If replies are read by the rule first letter, answers is better than says (50.0 and 0.0)." in compared
    assert "rule last letter" not in compared
