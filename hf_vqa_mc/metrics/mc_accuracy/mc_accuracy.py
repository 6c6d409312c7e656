"""Accuracy of picking the target among a question's choices, as an ``evaluate`` metric."""

import datasets
import evaluate

import hf_vqa_mc.metrics.scheme_metric as base
from hf_vqa_mc.scoring.multiple_choice import mc_accuracy

DESCRIPTION = """How often the target is picked among a question's choices, over the questions asked, and which decoys
are picked instead."""

INPUTS = """
Args:
    predictions: the place of the picked choice, from 0, or its text.
    references: the place of the target.
    choices: optional, each question's choices; needed where predictions are text.
    question_types: optional, for per_question_type.
    image_ids: optional, by which the standard error is clustered.
    choice_kinds: optional, which set each choice fills, for chosen_kinds.
    question_ids: optional, what errors call the questions.
    per_question: optional, True to get each question's score.
Returns:
    accuracy, stderr, chance, per_question_type, chosen_kinds, offered_kinds, per_question
"""

CITATION = """@inproceedings{chao2018negative,
    title={Being Negative but Constructively: Lessons Learnt from Creating Better Visual Question Answering Datasets},
    author={Chao, Wei-Lun and Hu, Hexiang and Sha, Fei},
    booktitle={NAACL-HLT},
    year={2018}
}"""


class McAccuracy(base.SchemeMetric):
    """`hf_vqa_mc.scoring.multiple_choice.mc_accuracy` as a metric."""

    scheme = staticmethod(mc_accuracy)
    columns = ("choices", "question_types", "image_ids", "choice_kinds", "question_ids")

    def _info(self) -> evaluate.MetricInfo:
        reference = datasets.Value("int64")
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=[
                datasets.Features({"predictions": datasets.Value("int64"), "references": reference}),
                datasets.Features({"predictions": datasets.Value("string"), "references": reference}),
            ],
        )
