"""The results of ``vqa-mc evaluate`` as a record of Every Eval Ever, a shared store of evaluation results.

Schema 0.3.0: https://github.com/evaleval/every_eval_ever (MIT). The answers to single questions are left out.
"""

import hashlib
import json
import uuid
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.inputs import FULL, INPUTS
from hf_vqa_mc.hub.eval_results import DEFAULT_TASK, FIGURES, dataset_of, read_results
from hf_vqa_mc.hub.shipment import Pushable, Request, Shipment, ShippedFile, check_name
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.scoring.statistics import CONFIDENCE

SCHEMA = "0.3.0"


def record_shipment(request: Request, progress: Progress = silent) -> Shipment:
    """One record with a result per input, at the path that the store demands.

    Raises:
        InputError: the folder is no finished evaluation, or it is not said whose evaluation of which model it is.
    """
    name = check_name(request.name)
    for option in ("folder", "model", "organization", "relationship"):
        if getattr(request, option) is None:
            raise InputError(f"--{option} is missing; a record names the evaluation, its model and who made it")
    folder, model = Path(str(request.folder)), check_name(str(request.model))
    found = read_results(folder)
    dataset, task = dataset_of(found, request), str(request.task or found.get("config") or DEFAULT_TASK)
    created = str(int((folder / FIGURES).stat().st_mtime))
    record = {
        "schema_version": SCHEMA,
        "evaluation_id": f"{dataset}/{task}/{model}/{created}",
        "retrieved_timestamp": created,
        "source_metadata": {
            "source_type": "evaluation_run",
            "source_organization_name": request.organization,
            "evaluator_relationship": request.relationship,
        },
        "eval_library": {"name": "hf_vqa_mc", "version": str(found.get("version"))},
        "model_info": {
            "name": model,
            "id": model,
            "additional_details": {"deployment_type": "unknown", "model_availability": "unknown"},
        },
        "evaluation_results": [_result(found, dataset, task, shown) for shown in found["inputs"]],
    }
    content = (json.dumps(record, indent=1, ensure_ascii=False) + "\n").encode()
    key = uuid.UUID(bytes=hashlib.sha256(content).digest()[:16], version=4)  # the same for the same record
    path = f"data/{dataset.split('/')[1]}/{model}/{key}.json"
    title = f"{model} on {dataset}, {task}"
    return Shipment("dataset", name, (ShippedFile(path, content),), title, pull_request=True)


def _result(found: dict[str, Any], dataset: str, task: str, shown: str) -> dict[str, Any]:
    """The accuracy with an input."""
    accuracy = found["inputs"][shown]["accuracy"]
    about = {"config": found.get("config"), "revision": found.get("dataset_revision")}
    about |= {"questions_sha256": found.get("questions_sha256")}
    uncertainty: dict[str, Any] = {"num_samples": accuracy["rows"]}
    if None not in (low := accuracy.get("low"), high := accuracy.get("high")):
        interval = {"lower": low, "upper": high, "confidence_level": CONFIDENCE, "method": "clustered by image"}
        uncertainty["confidence_interval"] = interval
    how = {"method": found.get("method"), "rotations": found.get("rotations"), "input": INPUTS[shown].sentence}
    return {
        "evaluation_name": task if shown == FULL.name else f"{task}, {shown}",
        "source_data": {
            "dataset_name": dataset,
            "source_type": "hf_dataset",
            "hf_repo": dataset,
            "hf_split": str(found.get("split")),
            "samples_number": accuracy["rows"],
            "additional_details": _texts(about),
        },
        "metric_config": {
            "evaluation_description": f"Accuracy; the model is shown {INPUTS[shown].sentence}.",
            "metric_id": "accuracy",
            "metric_name": "Accuracy",
            "metric_kind": "accuracy",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
            "additional_details": _texts({"chance": found.get("chance")}),
        },
        "score_details": {"score": accuracy["mean"], "uncertainty": uncertainty},
        "generation_config": {"additional_details": _texts(how)},
    }


def _texts(values: dict[str, Any]) -> dict[str, str]:
    """The known values, as text."""
    return {name: str(value) for name, value in values.items() if value is not None}


EVERY_EVAL_EVER = Pushable(
    "every-eval-ever",
    record_shipment,
    lambda sent: f"huggingface_hub.hf_hub_download({sent.name!r}, {sent.files[0].path!r}, repo_type='dataset')",
    ("folder", "benchmark", "task", "model", "organization", "relationship"),
)
