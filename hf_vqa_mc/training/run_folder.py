"""A run's folder: the best checkpoint, what it takes to go on, and the log; each appears whole or not at all.

::

    RUN/best/       the model, its processor and training.json: all that from_pretrained needs
    RUN/last/       weights, the optimizer's moments and the run's state, as of the last validation
    RUN/log.jsonl   a line a validation
    RUN/predictions.json   of the split that is reported
"""

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic_file import in_plain_words, umask, write_bytes
from hf_vqa_mc.io.atomic_folder import exchange

if TYPE_CHECKING:
    from torch import Tensor

BEST, LAST, LOG = "best", "last", "log.jsonl"
STATE, TENSORS = "state.json", "state.safetensors"
RECORD, PREDICTIONS = "training.json", "predictions.json"


@dataclass
class State:
    """How far a run is."""

    settings: dict[str, Any]
    """those that change what comes out"""
    step: int = 0
    """steps done"""
    curve: list[dict[str, Any]] = field(default_factory=list)
    """a point a validation"""
    best: float = -1.0
    """accuracy of the best one"""
    best_step: int = 0
    since_best: int = 0
    """validations since"""
    seconds: float = 0.0
    """of computing, in all sittings"""
    scaler: dict[str, Any] | None = None
    """of fp16"""
    finished: bool = False


class RunFolder:
    """The folder of one run; one process writes to it.

    Args:
        path: made if there is none, with the folders around it.

    Raises:
        InputError: something else lies there, or another run writes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_run_folder(path)
        with in_plain_words(path):
            path.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(path / ".lock")
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise InputError(f"--output {path}: another training writes there; wait, or name another") from None
            for name in (BEST, LAST):
                if _aside(path, name).is_dir() and not (path / name).exists():  # killed between two renames
                    _aside(path, name).rename(path / name)

    def close(self) -> None:
        """Let others write; a folder in which nothing was written goes."""
        self._lock.release()
        if [one.name for one in self.path.iterdir()] == [".lock"]:
            shutil.rmtree(self.path, ignore_errors=True)

    @staticmethod
    def read(path: Path) -> tuple[State, dict[str, "Tensor"]] | None:
        """How far the run at a path is, and its tensors; None if it has not begun."""
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
        """Keep how far the run is."""

        def fill(folder: Path) -> None:
            save_file(tensors, folder / TENSORS)
            (folder / STATE).write_text(json.dumps(asdict(state)), "utf-8")

        self._replace(LAST, fill)
        self.write_log(state)

    def write_log(self, state: State) -> None:
        """A line a validation."""
        log = "".join(json.dumps(point) + "\n" for point in state.curve)
        place = self.path / LOG
        if not place.is_file() or place.read_text("utf-8") != log:
            write_bytes(place, log.encode())

    def write_best(self, fill: Callable[[Path], None]) -> None:
        """Replace the best checkpoint by one that `fill` writes into an empty folder."""
        self._replace(BEST, fill)

    def write_record(self, record: dict[str, Any]) -> None:
        """Say in the best checkpoint how it was made."""
        write_bytes(self.path / BEST / RECORD, (json.dumps(record, indent=1) + "\n").encode())

    def _replace(self, name: str, fill: Callable[[Path], None]) -> None:
        """A folder that changes in one step of the kernel: a kill leaves the old or the new one."""
        partial, place = self.path / f".{name}.partial", self.path / name
        with in_plain_words(place), _unsaved_in_plain_words():
            shutil.rmtree(partial, ignore_errors=True)
            try:
                partial.mkdir()
                fill(partial)
                for file in partial.iterdir():
                    file.chmod(0o666 & ~umask())  # safetensors lets nobody else read it
                    _sync(file)
                if not place.exists():
                    partial.rename(place)
                elif not exchange(partial, place):
                    place.rename(_aside(self.path, name))
                    partial.rename(place)
                    shutil.rmtree(_aside(self.path, name))
            finally:
                shutil.rmtree(partial, ignore_errors=True)


def check_run_folder(path: Path) -> None:
    """Nothing, if a run can be there: nothing is yet, an empty folder, or a run.

    Raises:
        InputError: something else is.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"--output {path} is a file; name a folder")
    if path.is_symlink() and not path.exists():
        raise InputError(f"--output {path} is a link that leads nowhere; name a folder")
    there = [one for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    is_run = any((path / name).is_file() for name in (f"{BEST}/{RECORD}", f"{LAST}/{STATE}"))
    strange = sorted(one.name for one in there) if not is_run else _not_plain(path)
    if strange:
        raise InputError(f"--output {path} holds something that is no run of ours, such as {strange[0]}; name another")


def damaged(place: Path, error: Exception) -> InputError:
    """The error for a run of which something is missing or spoilt."""
    reason = " ".join(str(error).split())[:100] or type(error).__name__
    return InputError(f"{place} is damaged ({reason}); remove {place.parent}, or name another --output")


def _not_plain(path: Path) -> list[str]:
    """What is something else in a run's folder than a run has there."""
    folders = [name for name in (BEST, LAST) if (path / name).is_symlink() or (path / name).is_file()]
    return [*folders, *(name for name in (LOG, PREDICTIONS) if (path / name).is_dir())]


def _aside(path: Path, name: str) -> Path:
    """Where the old folder is while the new one takes its place, where the kernel cannot exchange them."""
    return path / f".{name}.old"


@contextlib.contextmanager
def _unsaved_in_plain_words() -> Iterator[None]:
    """Safetensors tells a full disk as an error of its own."""
    import errno

    try:
        yield
    except SafetensorError as error:
        for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EACCES, errno.EROFS):
            if os.strerror(number).lower() in str(error).lower():
                raise OSError(number, os.strerror(number)) from error
        raise


def _sync(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
