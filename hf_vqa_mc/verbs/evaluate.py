"""``hf_vqa_mc.evaluate`` and ``vqa-mc evaluate``: a model's accuracy, and how much of it remains without the image."""

from typing import TYPE_CHECKING

from hf_vqa_mc.evaluation.settings import EvaluateSettings
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.result import verb

if TYPE_CHECKING:
    from hf_vqa_mc.report.evaluation import EvaluateResult


@verb(
    EvaluateSettings,
    "vqa-mc evaluate benchmark.csv --model HuggingFaceTB/SmolVLM-256M-Instruct --rotations all",
    "vqa-mc evaluate vqa_mc cocoqa_iou_qou --model my-model --base-url http://localhost:8000/v1 --sample 1000",
)
def evaluate(settings: EvaluateSettings, progress: Progress) -> "EvaluateResult":
    """Accuracy by input with intervals; written to ``output`` if given.

    Raises:
        InputError: the benchmark or the model cannot be used, or ``output`` has another run.
        ConnectionError: the Hub or the server cannot be reached; the run can be resumed.
        MissingExtra: ``base_url`` needs the extra ``evaluate``.
    """
    from hf_vqa_mc.evaluation.evaluating import evaluated

    done = evaluated(settings, progress)
    from hf_vqa_mc.report.evaluation import EvaluateResult

    return EvaluateResult(settings, done)
