"""The schemes of ``scoring`` as ``evaluate`` metrics, one folder each, ready to be a Space."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.scoring import SCHEMES

if TYPE_CHECKING:
    import evaluate


def metric_folder(name: str) -> Path:
    """The folder of a metric's module and card; raises InputError if there is no such metric."""
    return SCHEMES.find(name).folder or Path(__file__).parent / name


def load_metric(name: str, **options: Any) -> "evaluate.EvaluationModule":  # noqa: ANN401  whatever evaluate takes
    """A scoring scheme as an ``evaluate`` metric; needs no network.

    Args:
        name: of a scheme of ``scoring.SCHEMES``.
        options: of ``evaluate.load``, such as ``cache_dir``.

    Raises:
        InputError: there is no such metric.

    >>> metric = load_metric("mc_accuracy")
    >>> metric.compute(predictions=[1, 0], references=[1, 1])["accuracy"]
    0.5
    """
    import evaluate

    return evaluate.load(str(metric_folder(name)), **options)
