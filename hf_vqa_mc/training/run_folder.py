"""A run's folder: the best checkpoint, the state to resume from, and the log; each is written atomically.

::

    RUN/best/       the model, its processor and training.json: all that from_pretrained needs
    RUN/last/       weights, the optimizer's moments and the run's state, as of the last validation
    RUN/log.jsonl   one line per validation
    RUN/predictions.json   of the split that is reported
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
from hf_vqa_mc.io.atomic_folder import FolderKind, exchange, new_folder
from hf_vqa_mc.models.processor import checkpoint_folder
from hf_vqa_mc.training.material import made_with
from hf_vqa_mc.training.settings import TrainingSettings
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from torch import Tensor

BEST, LAST, LOG = "best", "last", "log.jsonl"
STATE, TENSORS = "state.json", "state.safetensors"
RECORD, PREDICTIONS = "training.json", "predictions.json"
PACKAGES = ("torch", "transformers", "accelerate", "datasets")
"""Those whose versions the record has."""


@dataclass
class State:
    """How far a run is."""

    settings: dict[str, Any]
    """those that change the result"""
    step: int = 0
    """steps done"""
    curve: list[dict[str, Any]] = field(default_factory=list)
    """one point per validation"""
    best: float = -1.0
    """accuracy of the best validation"""
    best_step: int = 0
    since_best: int = 0
    """validations since"""
    seconds: float = 0.0
    """of computing, over all interruptions"""
    scaler: dict[str, Any] | None = None
    """of fp16"""
    finished: bool = False


class RunFolder:
    """The folder of one run; one process writes to it.

    Args:
        path: created if it does not exist, with its parents.

    Raises:
        InputError: something else is there, or another run writes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_run_folder(path)
        self._lock = lock_folder(path, "training").lock
        with in_plain_words(path):
            for name in (BEST, LAST):
                if self._old(name).is_dir() and not (path / name).exists():  # killed between two renames
                    self._old(name).rename(path / name)

    def close(self) -> None:
        """Release the lock; a folder in which nothing was written is removed."""
        self._lock.release()
        if [one.name for one in self.path.iterdir()] == [".lock"]:
            shutil.rmtree(self.path, ignore_errors=True)

    @staticmethod
    def read(path: Path) -> tuple[State, dict[str, "Tensor"]] | None:
        """State and tensors of the run at a path; None if it has not begun."""
        folder = path / LAST
        if not folder.is_dir():
            return None
        try:
            state = State(**json.loads((folder / STATE).read_text("utf-8")))
            if not isinstance(state.settings, dict) or not isinstance(state.curve, list):
                raise ValueError(f"{STATE} holds something else")
            return state, load_file(folder / TENSORS)
        except (OSError, ValueError, TypeError, SafetensorError) as error:
            raise damaged(folder, error) from error

    def write(self, state: State, tensors: dict[str, "Tensor"]) -> None:
        """Write state and tensors to resume from, and the log."""

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
        """Replace a folder by one that `fill` writes, in one step of the kernel: a kill leaves the old or new one."""
        partial, path = self.path / f".{name}.partial", self.path / name
        with in_plain_words(path), _os_errors_of_safetensors():
            shutil.rmtree(partial, ignore_errors=True)
            try:
                partial.mkdir()
                fill(partial)
                for file in partial.iterdir():
                    file.chmod(0o666 & ~umask())  # safetensors lets nobody else read it
                    with file.open("rb") as opened:
                        os.fsync(opened.fileno())
                if not path.exists():
                    partial.rename(path)
                elif not exchange(partial, path):
                    path.rename(self._old(name))
                    partial.rename(path)
                    shutil.rmtree(self._old(name))
            finally:
                shutil.rmtree(partial, ignore_errors=True)

    def _old(self, name: str) -> Path:
        """Where the old folder is meanwhile, where the kernel cannot exchange them."""
        return self.path / f".{name}.old"


def lock_folder(path: Path, work: str) -> AcquireReturnProxy[FileLock]:
    """Create a folder and lock it until the lock is released or its ``with`` block ends.

    Raises:
        InputError: another process holds the lock of such work.
        OSError: the disk is full or read-only.
    """
    with in_plain_words(path):
        path.mkdir(parents=True, exist_ok=True)
        try:
            return FileLock(path / ".lock").acquire(timeout=0)
        except Timeout:
            raise InputError(f"--output {path}: another {work} writes there; wait, or name another") from None


def check_run_folder(path: Path) -> None:
    """Raise InputError unless a run can be at the path: nothing is there yet, an empty folder, or a run."""
    if path.exists() and not path.is_dir():
        raise InputError(f"--output {path} is a file; name a folder")
    if path.is_symlink() and not path.exists():
        raise InputError(f"--output {path} is a link that leads nowhere; name a folder")
    found = [one.name for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    if any((path / name).is_file() for name in (f"{BEST}/{RECORD}", f"{LAST}/{STATE}")):
        found = [name for name in (BEST, LAST) if (path / name).is_symlink() or (path / name).is_file()]
        found += [name for name in (LOG, PREDICTIONS) if (path / name).is_dir()]
    if found:
        raise InputError(f"--output {path} holds something that is no run of ours, such as {min(found)}; name another")


def damaged(path: Path, error: Exception) -> InputError:
    """The error for a run of which something is missing or damaged."""
    reason = " ".join(str(error).split())[:100] or type(error).__name__
    return InputError(f"{path} is damaged ({reason}); remove {path.parent}, or name another --output")


def copy_checkpoint(checkpoint: Path, output: Path) -> list[Path]:
    """Copy a checkpoint to a folder, atomically; its files there.

    Raises:
        InputError: something else is there.
        OSError: the disk is full or read-only.
    """
    kind = FolderKind("vqa-mc train", RECORD, lambda folder: (folder / RECORD).is_file())
    with new_folder(output, kind) as new:
        shutil.copytree(checkpoint, new.tree, dirs_exist_ok=True)
        new.publish()
    return sorted(output.iterdir())


def record_of(
    settings: TrainingSettings, state: State, material: dict[str, Any], results: dict[str, Any], device: str
) -> dict[str, Any]:
    """What training.json records of a checkpoint, for people, the model card and the next run.

    ``material`` is what the run depends on besides the settings, see `Material.as_json`; ``results`` are by split.
    """
    about, made = made_with(settings.dataset, settings.config)
    public = without_folders(settings)
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
        "results": results,
        "curve": state.curve,
    }


def without_folders(settings: TrainingSettings) -> TrainingSettings:
    """The settings for publication: of absolute paths only the last part."""
    names = ("dataset", "output", "features", "word_vectors", "init_from")
    given = {name: Path(value) for name in names if (value := getattr(settings, name)) is not None}
    short: dict[str, Any] = {name: path.name for name, path in given.items() if path.expanduser().is_absolute()}
    return replace(settings, **short)


def config_of(checkpoint: str) -> str | None:
    """The config that a checkpoint was trained on, as its record says; None if it says none.

    Raises:
        InputError: there is no such checkpoint.
        ConnectionError: the Hub cannot be reached, and the checkpoint is not in the cache.
    """
    path = checkpoint_folder(checkpoint) / RECORD
    try:
        config = json.loads(path.read_text("utf-8")).get("config")
    except (OSError, ValueError, AttributeError):
        return None
    return config if isinstance(config, str) else None


@contextlib.contextmanager
def _os_errors_of_safetensors() -> Iterator[None]:
    """Safetensors raises an error of its own where the disk is full or read-only."""
    try:
        yield
    except SafetensorError as error:
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS):
            if os.strerror(number).lower() in str(error).lower():
                raise OSError(number, os.strerror(number)) from error
        raise
