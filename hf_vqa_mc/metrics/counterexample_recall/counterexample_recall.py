"""Recall of the counter-example that people picked, as an ``evaluate`` metric."""

import datasets
import evaluate

import hf_vqa_mc.metrics.scheme_metric as base
from hf_vqa_mc.scoring.counterexamples import counterexample_recall

DESCRIPTION = """How often the image that people picked as counter-example is among the first k of a model's order,
beside what chance and nearness reach."""

INPUTS = """
Args:
    predictions: each question's scores, one a candidate; higher is better.
    references: the place of the picked candidate, from 0.
    ks: optional, [1, 5] unless given.
    distances: optional, each question's distances from its image, one a candidate.
    image_ids: optional, by which the standard errors are clustered.
    question_ids: optional, what errors call the questions.
    per_question: optional, True to get each question's scores.
Returns:
    recall@1, recall@5 (one for each of ks), stderr, random, distance, per_question
"""

CITATION = """@inproceedings{goyal2017making,
    title={Making the V in VQA Matter: Elevating the Role of Image Understanding in Visual Question Answering},
    author={Goyal, Yash and Khot, Tejas and Summers-Stay, Douglas and Batra, Dhruv and Parikh, Devi},
    booktitle={CVPR},
    year={2017}
}"""


class CounterexampleRecall(base.SchemeMetric):
    """`hf_vqa_mc.scoring.counterexamples.counterexample_recall` as a metric."""

    scheme = staticmethod(counterexample_recall)
    columns = ("distances", "image_ids", "question_ids")

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features(
                {"predictions": datasets.Sequence(datasets.Value("float64")), "references": datasets.Value("int64")}
            ),
        )
