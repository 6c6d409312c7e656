"""WUPS: how near the answers are in WordNet, as an ``evaluate`` metric."""

import datasets
import evaluate

import hf_vqa_mc.metrics.scheme_metric as base
from hf_vqa_mc.scoring.wu_palmer_sets import wups

DESCRIPTION = """How near answers are in WordNet, as sets of items, by Malinowski and Fritz's WUPS; and how often they
are the same set."""

INPUTS = """
Args:
    predictions: text; an answer's items stand between commas.
    references: text.
    thresholds: optional, [0.9, 0.0] unless given.
    image_ids: optional, by which the standard errors are clustered.
    question_ids: optional, what errors call the questions.
    per_question: optional, True to get each question's scores.
Returns:
    wups@0.9, wups@0.0 (one for each threshold), accuracy, stderr, per_question
"""

CITATION = """@inproceedings{malinowski2014multiworld,
    title={A Multi-World Approach to Question Answering about Real-World Scenes based on Uncertain Input},
    author={Malinowski, Mateusz and Fritz, Mario},
    booktitle={NIPS},
    year={2014}
}"""


class Wups(base.SchemeMetric):
    """`hf_vqa_mc.scoring.wu_palmer_sets.wups` as a metric."""

    scheme = staticmethod(wups)
    columns = ("image_ids", "question_ids")

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
        )
