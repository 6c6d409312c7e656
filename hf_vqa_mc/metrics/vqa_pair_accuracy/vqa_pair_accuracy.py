"""Accuracy on the balanced pairs of VQA v2 as an ``evaluate`` metric."""

import datasets
import evaluate

import hf_vqa_mc.metrics.scheme_metric as base
from hf_vqa_mc.scoring.balanced_pairs import vqa_pair_accuracy

DESCRIPTION = """How often both questions of a balanced pair (one question, two similar images, two answers) are
answered right, and how often both are answered the same."""

INPUTS = """
Args:
    predictions: text.
    references: each question's answers: a list of text, or of records with "answer" and "answer_id".
    question_ids: text or whole numbers, each once.
    pairs: two question ids each.
    questions: optional, their text, for count.
    answer_types: optional, for number.
    protocol: optional, "2021" (default) or "2017", as for vqa_accuracy.
Returns:
    all, number, count, both_right, identical, different, stderr
"""

CITATION = """@inproceedings{goyal2017making,
    title={Making the {V} in {VQA} Matter: Elevating the Role of Image Understanding in Visual Question Answering},
    author={Goyal, Yash and Khot, Tejas and Summers-Stay, Douglas and Batra, Dhruv and Parikh, Devi},
    booktitle={CVPR},
    year={2017}
}"""


class VqaPairAccuracy(base.SchemeMetric):
    """`hf_vqa_mc.scoring.balanced_pairs.vqa_pair_accuracy` as a metric."""

    scheme = staticmethod(vqa_pair_accuracy)
    columns = ("question_ids", "questions", "answer_types")

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        record = {"answer": text, "answer_id": datasets.Value("int64")}
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=[
                datasets.Features({"predictions": text, "references": [text]}),
                datasets.Features({"predictions": text, "references": [record]}),
            ],
        )
