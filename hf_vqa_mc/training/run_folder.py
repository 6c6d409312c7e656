"""The folder of a run: best checkpoint, state to resume from, and log; each is written atomically.

::

    RUN/best/       model, processor and training.json, for from_pretrained
    RUN/last/       weights, optimizer and state of the last validation
    RUN/log.jsonl   one line per validation
    RUN/predictions.json   of the test split
"""

import contextlib
import errno
import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import AcquireReturnProxy, FileLock, Timeout
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from hf_vqa_mc.dataset.inventory import WRITTEN_BY
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic_file import in_plain_words, umask, write_bytes
from hf_vqa_mc.io.atomic_folder import FolderKind, new_folder, remove_leftovers
from hf_vqa_mc.io.json_stream import read_json
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
    since_best: int = 0
    """number of validations since the best one"""
    seconds: float = 0.0
    """training time, without interruptions"""
    scaler: dict[str, Any] | None = None
    """state of the fp16 gradient scaler"""
    finished: bool = False


class RunFolder:
    """The locked folder of a run, created with its parents; raises InputError if it is in use or another folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        check_run_folder(path)
        self._lock = lock_folder(path, "training").lock
        for name in (BEST, LAST):
            remove_leftovers(path / name)

    def close(self) -> None:
        """Release the lock, and remove the folder if it is empty."""
        self._lock.release()
        if [one.name for one in self.path.iterdir()] == [".lock"]:
            shutil.rmtree(self.path, ignore_errors=True)

    @staticmethod
    def read(path: Path) -> tuple[State, dict[str, "Tensor"]] | None:
        """State and tensors of the run at a path; None if there are none."""
        folder = path / LAST
        if not folder.is_dir():
            return None
        try:
            state = State(**read_json(folder / STATE))
            if not isinstance(state.settings, dict) or not isinstance(state.curve, list):
                raise ValueError(f"{STATE} is not valid")
            return state, load_file(folder / TENSORS)
        except (OSError, ValueError, TypeError, SafetensorError) as error:
            raise damaged(folder, error) from error

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
        with new_folder(self.path / name, None) as new, _os_errors_of_safetensors():
            fill(new.tree)
            for file in new.tree.iterdir():
                file.chmod(0o666 & ~umask())  # safetensors creates private files
            new.publish()


def lock_folder(path: Path, work: str) -> AcquireReturnProxy[FileLock]:
    """Create and lock a folder, as a context manager; raises InputError if another process holds the lock."""
    with in_plain_words(path):
        path.mkdir(parents=True, exist_ok=True)
        try:
            return FileLock(path / ".lock").acquire(timeout=0)
        except Timeout:
            raise InputError(f"--output {path}: another {work} writes there; wait, or choose another folder") from None


def check_run_folder(path: Path) -> None:
    """Raise InputError unless the path does not exist, is an empty folder, or is the folder of a run."""
    if path.exists() and not path.is_dir():
        raise InputError(f"--output {path} is a file; give a folder")
    if path.is_symlink() and not path.exists():
        raise InputError(f"--output {path} is a broken link; give a folder")
    found = [one.name for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    if any((path / name).is_file() for name in (f"{BEST}/{RECORD}", f"{LAST}/{STATE}")):
        found = [name for name in (BEST, LAST) if (path / name).is_symlink() or (path / name).is_file()]
        found += [name for name in (LOG, PREDICTIONS) if (path / name).is_dir()]
    if found:
        raise InputError(f"--output {path} is not the folder of a run: it has {min(found)}; choose another folder")


def damaged(path: Path, error: Exception) -> InputError:
    """The error for a damaged run."""
    reason = " ".join(str(error).split())[:100] or type(error).__name__
    return InputError(f"{path} is damaged ({reason}); remove {path.parent}, or choose another --output")


def copy_checkpoint(checkpoint: Path, output: Path, overwrite: bool = False) -> list[Path]:
    """Copy a checkpoint to a folder atomically; return the new files."""
    with new_folder(output, FolderKind("vqa-mc train"), overwrite) as new:
        shutil.copytree(checkpoint, new.tree, dirs_exist_ok=True)
        new.publish()
    return sorted(output / path.name for path in checkpoint.iterdir())


def record_of(
    settings: TrainingSettings,
    state: State,
    material: dict[str, Any],
    results: tuple[dict[str, Any], dict[str, Any]],
    device: str,
) -> dict[str, Any]:
    """The content of training.json.

    ``material`` is `Material.as_json`; ``results`` are by split, and those of ``--also-test`` by config and split.
    """
    about, made = made_with(settings.dataset, settings.config)
    public = _public(settings)
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
        "command": public.command(material["processes"]),
        "init_from": settings.init_from and {"name": public.init_from, "config": config_of(settings.init_from)},
        **material,
        "device": device,
        "seconds": round(state.seconds, 1),
        "steps": state.step,
        "best_step": state.best_step,
        "finished": state.finished,
        "results": results[0],
        **({"also_tested": results[1]} if settings.also_test else {}),
        "curve": state.curve,
    }


def _public(settings: TrainingSettings) -> TrainingSettings:
    """The settings for publication, without folders of the user."""
    names = (
        "dataset",
        "output",
        "features",
        "word_vectors",
        "init_from",
        "captions",
        "candidates",
        "question_encoder",
    )
    given = {name: value for name in names if (value := getattr(settings, name)) is not None}
    short: dict[str, Any] = {name: public_name(str(value)) for name, value in given.items()}
    return replace(settings, first_layers=tuple(map(public_name, settings.first_layers)), **short)


def config_of(checkpoint: str) -> str | None:
    """The config that a checkpoint was trained on, None if unknown; raises InputError if there is no checkpoint."""
    path = checkpoint_folder(checkpoint) / RECORD
    try:
        config = read_json(path).get("config")
    except (OSError, ValueError, AttributeError):
        return None
    return config if isinstance(config, str) else None


@contextlib.contextmanager
def _os_errors_of_safetensors() -> Iterator[None]:
    """Raise errors of safetensors for a full or read-only disk as OSError."""
    try:
        yield
    except SafetensorError as error:
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS):
            if os.strerror(number).lower() in str(error).lower():
                raise OSError(number, os.strerror(number)) from error
        raise
