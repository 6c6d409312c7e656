"""A run's folder: the best checkpoint, what it takes to go on, and the log; each appears whole or not at all.

::

    RUN/best/       the model, its processor and training.json: all that from_pretrained needs
    RUN/last/       weights, the optimizer's moments and the run's state, as of the last validation
    RUN/log.jsonl   a line a validation
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

from hf_vqa_mc.builder.place import exchange
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.written_file import in_plain_words, umask, write_bytes

if TYPE_CHECKING:
    from torch import Tensor

BEST, LAST, LOG = "best", "last", "log.jsonl"
STATE, TENSORS = "state.json", "state.safetensors"
RECORD = "training.json"
_OURS = {BEST, LAST, LOG}


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
        path: made if there is none.

    Raises:
        InputError: something else lies there, or another run writes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_run_folder(path)
        with in_plain_words(path):
            path.mkdir(exist_ok=True)
            self._lock = FileLock(path / ".lock")
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise InputError(f"--output {path}: another training writes there; wait, or name another") from None

    def close(self) -> None:
        """Let others write."""
        self._lock.release()

    @staticmethod
    def read(path: Path) -> tuple[State, dict[str, "Tensor"]] | None:
        """How far the run at a path is, and its tensors; None if it has not begun."""
        folder = path / LAST
        if not folder.is_dir():
            return None
        try:
            state = State(**json.loads((folder / STATE).read_text("utf-8")))
            return state, load_file(folder / TENSORS)
        except (OSError, ValueError, TypeError, SafetensorError) as error:
            raise InputError(
                f"{folder} is damaged ({' '.join(str(error).split())[:100]}); remove {path}, or name another --output"
            ) from error

    def write(self, state: State, tensors: dict[str, "Tensor"]) -> None:
        """Keep how far the run is."""

        def fill(folder: Path) -> None:
            save_file(tensors, folder / TENSORS)
            (folder / STATE).write_text(json.dumps(asdict(state)), "utf-8")

        self._replace(LAST, fill)
        log = "".join(json.dumps(point) + "\n" for point in state.curve)
        write_bytes(self.path / LOG, log.encode())

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
                    shutil.rmtree(place)
                    partial.rename(place)
            finally:
                shutil.rmtree(partial, ignore_errors=True)


def check_run_folder(path: Path) -> None:
    """Nothing, if a run can be there: nothing is yet, an empty folder, or a run.

    Raises:
        InputError: something else is, or there is no folder around it.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"--output {path} is a file; name a folder")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--output {path}: there is no folder {path.absolute().parent}; create it first")
    strange = [one.name for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    if strange and not _OURS & set(strange):
        raise InputError(f"--output {path} holds something that is no run, such as {min(strange)}; name another")


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
