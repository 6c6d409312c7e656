"""The folder of a run: best checkpoint, state to resume from, and log; each is written atomically.

::

    RUN/best/       model, processor and training.json, for from_pretrained
    RUN/last/       weights, optimizer and state of the last validation
    RUN/log.jsonl   one line per validation
    RUN/predictions.json   of the test split
"""

import contextlib
import json
import os
import platform
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from hf_vqa_mc.data.inventory import WRITTEN_BY
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import locked, new_folder, remove_leftovers, write_bytes
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.outputs import FolderKind
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.model_listing import checkpoint_folder
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.training.word_vectors import made_with
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from torch import Tensor

BEST, LAST, LOG = "best", "last", "log.jsonl"
STATE, TENSORS = "state.json", "state.safetensors"
RECORD, PREDICTIONS = "training.json", "predictions.json"
PACKAGES = ("torch", "transformers", "accelerate", "datasets")
"""Packages whose versions are recorded."""
_PATHS = ("dataset", "output", "features", "word_vectors", "init_from", "captions", "candidates")
"""Settings with paths, of which only the name is published."""


@dataclass
class State:
    """The state of a run."""

    settings: dict[str, Any]
    """settings that change the result"""
    step: int = 0
    """number of steps done"""
    curve: list[dict[str, Any]] = field(default_factory=list)
    """one point per validation"""
    best: float = -1.0
    """accuracy of the best validation"""
    best_step: int = 0
    seconds: float = 0.0
    """training time, without interruptions"""
    finished: bool = False


class RunFolder:
    """The locked folder of a run, created with its parents; raises InputError if it is in use or another folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_run_folder(path)
        self._locked = contextlib.ExitStack()
        self._locked.enter_context(lock_folder(path, "training"))
        for name in (BEST, LAST):
            remove_leftovers(path / name)

    def close(self) -> None:
        """Release the lock, and remove the folder if it is empty."""
        self._locked.close()
        with contextlib.suppress(OSError):
            self.path.rmdir()

    @staticmethod
    def read(path: Path) -> tuple[State, dict[str, "Tensor"]] | None:
        """State and tensors of the run at a path; None if there are none."""
        folder = path / LAST
        return (State(**read_json(folder / STATE)), load_file(folder / TENSORS)) if folder.is_dir() else None

    def write(self, state: State, tensors: dict[str, "Tensor"]) -> None:
        """Write the state, the tensors and the log."""

        def fill(folder: Path) -> None:
            save_file(tensors, folder / TENSORS)
            (folder / STATE).write_text(json.dumps(asdict(state)), "utf-8")

        self.replace(LAST, fill)
        self.write_log(state)

    def write_log(self, state: State) -> None:
        """Write one line per validation."""
        log = "".join(json.dumps(point) + "\n" for point in state.curve)
        path = self.path / LOG
        if not path.is_file() or path.read_text("utf-8") != log:
            write_bytes(path, log.encode())

    def replace(self, name: str, fill: Callable[[Path], None]) -> None:
        """Atomically replace a folder by one written by `fill`."""
        with new_folder(self.path / name, None) as new:
            try:
                fill(new.tree)
            except SafetensorError as error:
                if found := re.search(r"\(os error (\d+)\)", str(error)):
                    raise OSError(int(found[1]), os.strerror(int(found[1]))) from error
                raise
            for file in new.tree.iterdir():
                file.chmod(new.tree.stat().st_mode & 0o666)  # safetensors creates private files
            new.publish()


def lock_folder(path: Path, work: str) -> contextlib.AbstractContextManager[None]:
    """Create a folder, and lock it in the block; raises InputError if another process holds the lock."""
    path.mkdir(parents=True, exist_ok=True)
    return locked(path / ".lock", f"--output {path}: another {work} writes there; wait, or choose another folder")


def check_run_folder(path: Path) -> None:
    """Raise InputError unless the path does not exist, is an empty folder, or is the folder of a run."""
    if path.exists() and not path.is_dir():
        raise InputError(f"--output {path} is a file; give a folder")
    found = [one.name for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    if any((path / name).is_file() for name in (f"{BEST}/{RECORD}", f"{LAST}/{STATE}")):
        return
    if found:
        raise InputError(f"--output {path} is not the folder of a run: it has {min(found)}; choose another folder")


def copy_checkpoint(checkpoint: Path, output: Path, overwrite: bool = False) -> list[Path]:
    """Copy a checkpoint to a folder atomically; return the new files."""
    with new_folder(output, FolderKind("vqa-mc train"), overwrite) as new:
        shutil.copytree(checkpoint, new.tree, dirs_exist_ok=True)
        new.publish()
    return sorted(output / path.name for path in checkpoint.iterdir())


def record_of(
    settings: TrainingSettings, state: State, inputs: dict[str, Any], results: dict[str, Any], device: str
) -> dict[str, Any]:
    """The content of training.json; ``inputs`` is `RunInputs.as_json`, ``results`` are by split."""
    about, made = made_with(settings.dataset, settings.config)
    given = {name: value for name in _PATHS if (value := getattr(settings, name)) is not None}
    short: dict[str, Any] = {name: public_name(str(value)) for name, value in given.items()}
    public = replace(settings, first_layers=tuple(map(public_name, settings.first_layers)), **short)
    return {
        "written_by": WRITTEN_BY,
        "version": __version__,
        "versions": {"python": platform.python_version(), **{name: version(name) for name in PACKAGES}},
        "dataset": public.dataset,
        "config": settings.config,
        "source": about,
        "made_with": made,
        "model": settings.model,
        "settings": public.as_json(),
        "command": public.command(inputs["processes"]),
        "init_from": settings.init_from and {"name": public.init_from, "config": config_of(settings.init_from)},
        **inputs,
        "device": device,
        "seconds": round(state.seconds, 1),
        "steps": state.step,
        "best_step": state.best_step,
        "finished": state.finished,
        "results": results,
        "curve": state.curve,
    }


def config_of(checkpoint: str) -> str | None:
    """The config that a checkpoint was trained on, None if unknown; raises InputError if there is no checkpoint."""
    path = checkpoint_folder(checkpoint) / RECORD
    config: str | None = read_json(path).get("config") if path.is_file() else None
    return config
