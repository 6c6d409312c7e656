"""Consensus accuracy of VQA v1 and v2 as an ``evaluate`` metric."""

import datasets
import evaluate

import hf_vqa_mc.metrics.scheme_metric as base
from hf_vqa_mc.scoring.consensus import vqa_accuracy

DESCRIPTION = """How many of a question's annotators gave the predicted answer: for each annotator min(1, matches among
the others / 3), averaged, with the official program's normalisation of answers."""

INPUTS = """
Args:
    predictions: text.
    references: each question's answers: a list of text, or of records with "answer" and "answer_id".
    question_types: optional, for per_question_type.
    answer_types: optional, for per_answer_type.
    image_ids: optional, by which the standard error is clustered.
    choices: optional, each question's choices; a prediction that is not among them is an error.
    question_ids: optional, what errors call the questions.
    protocol: optional, "2021" (default) or "2017", the official program of that year.
    per_question: optional, False to leave each question's score out.
Returns:
    accuracy, stderr, per_question_type, per_answer_type, per_question
"""

CITATION = """@inproceedings{antol2015vqa,
    title={{VQA}: Visual Question Answering},
    author={Antol, Stanislaw and Agrawal, Aishwarya and Lu, Jiasen and Mitchell, Margaret and Batra, Dhruv and
        Zitnick, C. Lawrence and Parikh, Devi},
    booktitle={ICCV},
    year={2015}
}"""


class VqaAccuracy(base.SchemeMetric):
    """`hf_vqa_mc.scoring.consensus.vqa_accuracy` as a metric."""

    scheme = staticmethod(vqa_accuracy)
    columns = ("question_types", "answer_types", "image_ids", "choices", "question_ids")

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
