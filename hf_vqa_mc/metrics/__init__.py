"""The schemes of ``scoring`` as ``evaluate`` metrics: one folder each, with its card, ready to be a Space."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import unknown_name

if TYPE_CHECKING:
    import evaluate

METRICS = (
    "mc_accuracy",
    "vqa_accuracy",
    "vqa_pair_accuracy",
    "tdiuc_mpt",
    "gqa_score",
    "wups",
    "counterexample_recall",
)


def metric_folder(name: str) -> Path:
    """Where a metric's module and card lie.

    Raises:
        InputError: no metric is called so.
    """
    if name not in METRICS:
        raise unknown_name("metric", name, METRICS)
    return Path(__file__).parent / name


def load_metric(name: str, **options: Any) -> "evaluate.EvaluationModule":  # noqa: ANN401  whatever evaluate takes
    """A scoring scheme as an ``evaluate`` metric; needs no network.

    Args:
        name: one of ``METRICS``.
        options: as of ``evaluate.load``: ``num_process``, ``process_id``, ``experiment_id``, ``cache_dir`` ...

    Raises:
        InputError: no metric is called so.

    >>> metric = load_metric("mc_accuracy")
    >>> metric.compute(predictions=[1, 0], references=[1, 1])["accuracy"]
    0.5
    """
    import evaluate

    return evaluate.load(str(metric_folder(name)), **options)
