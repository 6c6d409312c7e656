"""A page on which visitors audit a benchmark: ``app.py`` of the Space that ``vqa-mc push space`` makes.

``python -m hf_vqa_mc.cli.audit_app`` serves it on this computer (extra ``space``).
"""

import os
import re
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import hf_vqa_mc as vm

MEGABYTES, HUB_MEGABYTES = 100, 2000  # largest upload, and largest repository on the Hub
KEPT = 3600  # seconds that uploads are kept
FIELDS = ("config", "split", "question", "choices", "label")  # arguments of the function, whose messages name them
COLUMNS = ["name", "inputs", "accuracy", "gain", "low", "high", "alarm"]
ABOUT = f"""How much of a multiple-choice benchmark on images is answered without the image, the question, or both?
Upload a file with question, choices and answer (Parquet, JSON, CSV or TSV, at most {MEGABYTES} MB), or name a public
dataset on the Hub. It is audited without trained probes; for those, and for image features: `vqa-mc audit`."""


def audited(path: str | None, name: str, *values: str) -> tuple[Any, str, dict[str, Any]]:
    """The shortcuts as a table, the report as HTML, and all figures, of a file or a dataset on the Hub."""
    import gradio
    from huggingface_hub.utils import httpx  # type: ignore[attr-defined]

    try:
        dataset = path or _on_hub(name.strip())
        given = {field: text for field, value in zip(FIELDS, values, strict=True) if (text := value.strip())}
        result = vm.audit(dataset, probes=False, **given)  # type: ignore[arg-type]
        with TemporaryDirectory() as folder:
            result.save(Path(folder, "audit"))
            report = Path(folder, "audit", "report.html").read_text("utf-8")
    except (OSError, ValueError, httpx.HTTPError) as error:
        reason = str(error).replace(path, Path(path).name) if path else str(error)
        raise gradio.Error(reason, duration=None, print_exception=False) from None
    frame = f'<iframe sandbox="allow-scripts" style="width:100%;height:80vh" srcdoc="{escape(report)}"></iframe>'
    return result.to_pandas()[COLUMNS].round(3), frame, result.audit.as_json()


def _on_hub(name: str) -> str:
    """The name of a dataset on the Hub; raises ValueError if it is a path, or too large."""
    from huggingface_hub import HfApi

    if not re.fullmatch(r"\w[\w.-]*/\w[\w.-]*(@[\w./-]+)?", name, re.ASCII) or Path(name).exists():
        raise ValueError("upload a file, or name a dataset on the Hub: NAMESPACE/NAME or NAMESPACE/NAME@REVISION")
    repository, _, revision = name.partition("@")
    files = HfApi().dataset_info(repository, revision=revision or None, files_metadata=True).siblings or ()
    size = sum(one.size or 0 for one in files) / 10**6
    if size > HUB_MEGABYTES:
        raise ValueError(f"{name} has {size:,.0f} MB; at most {HUB_MEGABYTES:,} MB are read here")
    return name


def page() -> Any:  # noqa: ANN401  a gradio.Interface
    """The page."""
    import gradio

    made = gradio.Interface(
        audited,
        [gradio.File(label="File"), *(gradio.Textbox("", label=one) for one in ("dataset on the Hub", *FIELDS))],
        [gradio.Dataframe(label="Shortcuts"), gradio.HTML(label="Report"), gradio.JSON(label="audit.json")],
        title="Audit a benchmark",
        description=ABOUT,
        flagging_mode="never",
        analytics_enabled=False,
        api_name="audit",
        delete_cache=(KEPT, KEPT),
    )
    return made.queue(max_size=5)  # one audit runs at a time


if __name__ == "__main__":
    os.environ |= {"HF_HUB_DISABLE_IMPLICIT_TOKEN": "1"}  # before the Hub's library is loaded: public datasets only
    page().launch(max_file_size=MEGABYTES * 10**6)
