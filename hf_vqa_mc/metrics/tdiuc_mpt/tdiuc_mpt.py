"""TDIUC's accuracy by question type and its means over types, as an ``evaluate`` metric."""

import datasets
import evaluate

import hf_vqa_mc.metrics.scheme_metric as base
from hf_vqa_mc.scoring.tdiuc import tdiuc_mpt

DESCRIPTION = """Accuracy by question type, and its arithmetic and harmonic means over types, plain and normalised by
answer, as TDIUC reports them."""

INPUTS = """
Args:
    predictions: text.
    references: the right answer, text.
    question_types: each question's type; needed.
    answer_vocabulary: optional, the answers the model can give.
    unknown_gold: optional, "merge" (as the authors' program) or "keep": how right answers outside it count.
    absurd_questions: optional, whether this real question is, word for word, asked absurdly of another image.
    image_ids: optional, by which the standard error is clustered.
    question_ids: optional, what errors call the questions.
    per_question: optional, True to get each question's score.
Returns:
    accuracy, stderr, arithmetic_mpt, harmonic_mpt, arithmetic_nmpt, harmonic_nmpt, per_type, per_type_normalized,
    n_per_type, accuracy_absurd_elsewhere, per_question
"""

CITATION = """@inproceedings{kafle2017analysis,
    title={An Analysis of Visual Question Answering Algorithms},
    author={Kafle, Kushal and Kanan, Christopher},
    booktitle={ICCV},
    year={2017}
}"""


class TdiucMpt(base.SchemeMetric):
    """`hf_vqa_mc.scoring.tdiuc.tdiuc_mpt` as a metric."""

    scheme = staticmethod(tdiuc_mpt)
    columns = ("question_types", "absurd_questions", "image_ids", "question_ids")

    def _info(self) -> evaluate.MetricInfo:
        return evaluate.MetricInfo(
            description=DESCRIPTION,
            citation=CITATION,
            inputs_description=INPUTS,
            features=datasets.Features(
                {"predictions": datasets.Value("string"), "references": datasets.Value("string")}
            ),
        )
