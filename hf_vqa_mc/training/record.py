"""``training.json``: how a checkpoint was made and what it reaches, for people, the model card and the next run."""

import json
import platform
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hf_vqa_mc.dataset.inventory import WRITTEN_BY
from hf_vqa_mc.models.checkpoint_files import checkpoint_folder
from hf_vqa_mc.training.material import made_with
from hf_vqa_mc.training.run_folder import RECORD, State
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.version import __version__

PACKAGES = ("torch", "transformers", "accelerate", "datasets")


def record_of(
    settings: TrainingSettings, state: State, material: dict[str, Any], results: dict[str, Any], device: str
) -> dict[str, Any]:
    """What training.json says of a checkpoint.

    Args:
        settings: of the run; of absolute paths only the last part is told.
        state: how far the run is.
        material: what it depends on beside the settings, as `Material.what` tells it.
        results: of the checkpoint, by split.
        device: cpu, cuda or the like.
    """
    about, made = made_with(settings.dataset, settings.config)
    told = without_places(settings)
    return {
        "written_by": WRITTEN_BY,
        "version": __version__,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "dataset": told.dataset,
        "config": settings.config,
        "source": about,
        "made_with": made,
        "model": settings.model,
        "settings": told.as_json(),
        "command": told.command(material["processes"]),
        "init_from": _came_from(settings.init_from, told.init_from),
        **material,
        "device": device,
        "seconds": round(state.seconds, 1),
        "steps": state.step,
        "best_step": state.best_step,
        "finished": state.finished,
        "results": results,
        "curve": state.curve,
    }


def without_places(settings: TrainingSettings) -> TrainingSettings:
    """The settings as they may be told to everybody: of absolute paths only the last part."""
    names = ("dataset", "output", "features", "word_vectors", "init_from")
    given = {name: value for name in names if (value := getattr(settings, name)) is not None}
    short = {
        name: type(value)(Path(value).name) if Path(value).expanduser().is_absolute() else value
        for name, value in given.items()
    }
    return replace(settings, **short)


def _came_from(checkpoint: str | None, told: str | None) -> dict[str, Any] | None:
    """The checkpoint that training began with, and what that was trained on."""
    if checkpoint is None:
        return None
    place = checkpoint_folder(checkpoint) / RECORD
    config = json.loads(place.read_text("utf-8")).get("config") if place.is_file() else None
    return {"name": told, "config": config}
