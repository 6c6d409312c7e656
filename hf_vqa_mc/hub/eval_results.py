"""The results of ``vqa-mc evaluate`` as files ``.eval_results/*.yaml`` of a model repository, for leaderboards.

Format: https://huggingface.co/docs/hub/eval-results; one file per input, as each is a result of its own.
"""

from collections.abc import Mapping
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.methods import FULL, INPUTS
from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.progress import Progress, silent

FOLDER = ".eval_results"
FIGURES = "results.json"
DEFAULT_TASK = "default"


def results_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """A file per input of an evaluation: dataset, commit, task, and accuracy in percent.

    Raises:
        InputError: the folder is no finished evaluation, or its dataset is not on the Hub.
    """
    from yaml import safe_dump

    name = check_name(request.name)
    if request.folder is None:
        raise InputError("no evaluation given; add --folder RUN, a folder of vqa-mc evaluate")
    path = request.folder / FIGURES
    if not path.is_file():
        raise InputError(f"{request.folder}: {FIGURES} is missing; expected a finished evaluation of vqa-mc evaluate")
    found: dict[str, Any] = read_json(path)
    dataset, task = dataset_of(found, request), request.task or found.get("config") or DEFAULT_TASK
    files = []
    for shown, figures in found["inputs"].items():
        accuracy = figures["accuracy"]
        entry: dict[str, Any] = {
            "dataset": {"id": dataset, "task_id": task},
            "value": round(100 * accuracy["mean"], 2),
        }
        if revision := found.get("dataset_revision"):
            entry["dataset"]["revision"] = revision
        about = f"{INPUTS.find(shown).sentence}; {accuracy['rows']:,} questions"
        entry["notes"] = "; ".join(filter(None, [about, found.get("method"), f"vqa-mc {found.get('version')}"]))
        parts = [dataset.split("/")[1], task, *([] if shown == FULL.name else [shown])]
        name_of_file = f"{FOLDER}/{file_name('-'.join(parts))}.yaml"
        files.append(ShippedFile(name_of_file, safe_dump([entry], sort_keys=False, allow_unicode=True).encode()))
    return Shipment("model", name, tuple(files), f"Evaluation results: {dataset}, {task}", pull_request=True)


def dataset_of(found: Mapping[str, Any], request: Request) -> str:
    """The benchmark's name on the Hub: that of the evaluation, else the given one."""
    evaluated = str(found.get("dataset")).partition("@")[0]
    on_hub = bool(found.get("dataset_revision"))
    if on_hub and request.benchmark not in (None, evaluated):
        raise InputError(f"--benchmark {request.benchmark}: the evaluation is of {evaluated}; remove the option")
    if not on_hub and request.benchmark is None:
        raise InputError(f"{request.folder}: {evaluated} was not read from the Hub; add --benchmark NAMESPACE/NAME")
    return check_name(evaluated if on_hub else str(request.benchmark))


RESULTS = Pushable(
    "results",
    results_shipment,
    lambda sent: f"huggingface_hub.model_info({sent.name!r}).eval_results",
    ("folder", "benchmark", "task"),
)
