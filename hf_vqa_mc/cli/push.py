"""``vqa-mc push``: a dataset, a model or a metric to the Hub."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from hf_vqa_mc.errors import InputError

if TYPE_CHECKING:
    from hf_vqa_mc.hub.push import Pushed
    from hf_vqa_mc.hub.shipment import Shipment

FOLDER = Path("vqa_mc")
OPTION_OF = {"--folder": ("dataset", "model"), "--metric": ("metric",), "--replace": ("dataset",)}
"""What each option is for, where it is not for everything."""
LEFT_OUT = {"dataset": "which no build wrote", "model": "which is no part of a checkpoint"}
"""Why a file of the folder is not sent, by kind of shipment."""


def push(
    kind: Annotated[Literal["dataset", "model", "metric"], typer.Argument(help="What to push.", show_default=False)],
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAMESPACE/NAME",
            help="Where to: your name on the Hub or an organization's, and the repository's; made if there is none.",
            show_default=False,
        ),
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Dataset: the folder that vqa-mc build wrote, else ./vqa_mc. "
            "Model: a checkpoint that vqa-mc train wrote, such as RUN/best.",
            show_default=False,
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="Metric: which, if the repository is not called like it.", show_default=False),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="A new repository is private.")] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Dataset: remove configs that the Hub has and the folder lacks.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be sent; touch no network.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Tell what was sent as JSON.")] = False,
) -> None:
    """Push a built dataset, a trained model or a metric to the Hub, in one commit.

    Example: vqa-mc push dataset NAMESPACE/vqa_mc --dry-run

    Example: vqa-mc push model NAMESPACE/mlp-iqa --folder RUN/best

    Example: vqa-mc push metric NAMESPACE/mc_accuracy

    The token is that of hf auth login or HF_TOKEN. A push that broke off goes on where it was when typed again.
    """
    from hf_vqa_mc.hub.push import push as send

    _check_options(kind, {"--folder": folder, "--metric": metric, "--replace": replace})
    if kind == "dataset":
        shipment = _dataset(name, folder or FOLDER, private)
    elif kind == "model":
        shipment = _model(name, folder, private)
    else:
        shipment = _metric(name, metric, private)
    if dry_run:
        _tell(_planned(shipment), _plan_lines(shipment), as_json)
        return
    sys.stderr.write(f"sending {_files(shipment)} to {shipment.name}\n")
    done = send(shipment, replace=replace)
    _tell(_sent(done), _sent_lines(done), as_json)


def _check_options(kind: str, given: dict[str, object]) -> None:
    for option, value in given.items():
        if value and kind not in OPTION_OF[option]:
            shown = option if value is True else f"{option} {value}"
            raise InputError(f"{shown} is for push {' and '.join(OPTION_OF[option])}; leave it out")


def _dataset(name: str, folder: Path, private: bool) -> "Shipment":
    from hf_vqa_mc.hub.dataset_folder import dataset_shipment
    from hf_vqa_mc.io.progress import steps_on_stderr

    with steps_on_stderr() as progress:
        return dataset_shipment(folder, name, private=private, progress=progress)


def _model(name: str, folder: Path | None, private: bool) -> "Shipment":
    if folder is None:
        raise InputError("which checkpoint? Name it: --folder RUN/best")
    from hf_vqa_mc.hub.model_folder import model_shipment  # late, as it takes torch

    return model_shipment(folder, name, private=private)


def _metric(name: str, metric: str | None, private: bool) -> "Shipment":
    from hf_vqa_mc.hub.metric_space import metric_shipment
    from hf_vqa_mc.hub.shipment import check_name
    from hf_vqa_mc.metrics import metric_folder

    return metric_shipment(metric_folder(metric or check_name(name).split("/")[1]), name, private=private)


def _planned(shipment: "Shipment") -> dict[str, Any]:
    return {
        "repository": shipment.name,
        "type": shipment.kind,
        "private": shipment.private,
        "message": shipment.message,
        "files": [{"path": file.path, "bytes": file.size} for file in shipment.files],
        "left_out": list(shipment.left_out),
    }


def _sent(done: "Pushed") -> dict[str, Any]:
    outcome = {"url": done.url, "commit": done.commit, "changed": done.changed, "created": done.created}
    return {**_planned(done.shipment), "private": done.private, **outcome, "removed": list(done.removed)}


def _plan_lines(shipment: "Shipment") -> list[str]:
    sizes = [_size(file.size) for file in shipment.files]
    width = max(map(len, sizes))
    visibility = "private" if shipment.private else "public"
    return [
        f"{shipment.kind} {shipment.name}, {visibility} if new, else as it is",
        f"commit message: {shipment.message}",
        *(f"{size:>{width}}  {file.path}" for size, file in zip(sizes, shipment.files, strict=True)),
        f"{_files(shipment)}; nothing was sent",
        *_left_out(shipment),
    ]


def _sent_lines(done: "Pushed") -> list[str]:
    visibility = "private" if done.private else "public"
    if not done.changed:
        return [f"{done.url} ({visibility}) holds all of this already; nothing was sent"]
    what = "made and filled" if done.created else "updated"
    return [
        f"{what} {done.url} ({visibility}), commit {done.commit[:8]}",
        *(f"removed {path}" for path in done.removed),
        *_left_out(done.shipment),
        f"try: {_use(done.shipment)}",
    ]


def _use(shipment: "Shipment") -> str:
    if shipment.inventory is not None:
        return f'datasets.load_dataset("{shipment.name}", "{shipment.inventory["default"]}")'
    if shipment.kind == "model":
        return f'import hf_vqa_mc.models; transformers.pipeline("multiple-choice-vqa", model="{shipment.name}")'
    return f'evaluate.load("{shipment.name}")'


def _left_out(shipment: "Shipment") -> list[str]:
    return [f"left out {path}, {LEFT_OUT[shipment.kind]}" for path in shipment.left_out]


def _files(shipment: "Shipment") -> str:
    return f"{len(shipment.files)} files, {_size(shipment.size)}"


def _size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.1f} GB"


def _tell(told: dict[str, Any], lines: list[str], as_json: bool) -> None:
    sys.stdout.write(json.dumps(told, indent=1) + "\n" if as_json else "".join(f"{line}\n" for line in lines))
