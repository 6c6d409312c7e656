"""GQA's suite of scores, as an ``evaluate`` metric."""

import datasets
import evaluate

import hf_vqa_mc.metrics.scheme_metric as base
from hf_vqa_mc.scoring.gqa import gqa_score

DESCRIPTION = """GQA's scores over balanced questions: accuracy as a whole, by type, by reasoning steps and by length,
consistency, validity, plausibility, distribution and grounding."""

INPUTS = """
Args:
    predictions: records with question_id (or questionId) and prediction.
    references: GQA's question records, each with question_id (or questionId).
    choices: optional, question id -> record of the lists valid and plausible.
    attentions: optional, records with question id and attention, a square map of numbers; with scene_graphs.
    scene_graphs: optional, image id -> scene graph; with attentions.
    consistency: optional, True to demand what it takes, False to leave it out.
    per_question: optional, True to get each balanced question's score.
Returns:
    accuracy, stderr, binary, open, per_structural_type, per_semantic_type, per_detailed_type, per_steps, per_length,
    consistency, validity, plausibility, distribution, grounding, per_question
"""

CITATION = """@inproceedings{hudson2019gqa,
    title={GQA: A New Dataset for Real-World Visual Reasoning and Compositional Question Answering},
    author={Hudson, Drew A. and Manning, Christopher D.},
    booktitle={CVPR},
    year={2019}
}"""


class GqaScore(base.SchemeMetric):
    """`hf_vqa_mc.scoring.gqa.gqa_score` as a metric; predictions and references are joined by question id."""

    scheme = staticmethod(gqa_score)
    ragged = True

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features(
                {
                    "predictions": {"question_id": text, "prediction": text},
                    "references": {"question_id": text, "imageId": text, "question": text, "answer": text},
                }
            ),
        )
