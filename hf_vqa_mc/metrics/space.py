"""The demo page of a metric's Space; the Space provides gradio."""

import json
from typing import Any

from hf_vqa_mc.metrics import load_metric, metric_folder

_FIRST = '{"predictions": [], "references": []}'


def page(name: str) -> Any:  # noqa: ANN401  a gradio.Interface
    """The metric's card next to a box for the arguments of ``compute``, as JSON."""
    import gradio

    metric, card = load_metric(name), (metric_folder(name) / "README.md").read_text(encoding="utf-8")

    def compute(arguments: str) -> str:
        try:
            return json.dumps(metric.compute(**json.loads(arguments)), indent=1, ensure_ascii=False)
        except (TypeError, ValueError) as error:
            raise gradio.Error(str(error)) from None

    return gradio.Interface(
        compute,
        gradio.Code(_FIRST, language="json", label="Arguments of compute, as JSON"),
        gradio.Code(language="json", label="Result"),
        title=name,
        article=card.split("---\n", 2)[2],
        flagging_mode="never",
    )


def launch(name: str) -> None:
    """Serve the page of a metric."""
    page(name).launch()
