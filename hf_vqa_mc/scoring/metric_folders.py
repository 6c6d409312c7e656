"""The schemes as ``evaluate`` metrics: one folder each in ``metrics``, ready to be a Space with a demo page."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.scoring import SCHEMES

if TYPE_CHECKING:
    import evaluate

_FIRST = '{"predictions": [], "references": []}'


def metric_folder(name: str) -> Path:
    """The folder of a metric's module and card; raises InputError if there is no such metric."""
    return SCHEMES.find(name).folder or Path(__file__).parent.parent / "metrics" / name


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


def launch(name: str) -> None:
    """Serve a metric's card next to a box for the arguments of ``compute``, as JSON; the Space provides gradio."""
    import gradio

    metric, card = load_metric(name), (metric_folder(name) / "README.md").read_text(encoding="utf-8")

    def compute(arguments: str) -> str:
        try:
            return json.dumps(metric.compute(**json.loads(arguments)), indent=1, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise gradio.Error(str(error)) from None

    gradio.Interface(
        compute,
        gradio.Code(_FIRST, language="json", label="Arguments of compute, as JSON"),
        gradio.Code(language="json", label="Result"),
        title=name,
        article=card.split("---\n", 2)[2],
        flagging_mode="never",
    ).launch()
