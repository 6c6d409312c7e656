"""A transfer's folder: what its results depend on, and each step's result, so that a later call goes on.

::

    OUTPUT/plan.json         what the results depend on
    OUTPUT/results/          a file a step
    OUTPUT/pretrained/       a training run, and so are fine_tuned/CONFIG/ and from_scratch/CONFIG/
    OUTPUT/transfer.json     what came out
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import file_name
from hf_vqa_mc.io.atomic_file import in_plain_words, write_json

PLAN, RESULTS, SUMMARY = "plan.json", "results", "transfer.json"
PRETRAINED, AS_IS, FINE_TUNED, FROM_SCRATCH = "pretrained", "as_is", "fine_tuned", "from_scratch"
"""Steps; those that train have a folder of this name."""
_OURS = {PLAN, RESULTS, SUMMARY, PRETRAINED}

Result = dict[str, Any]
"""Accuracy, stderr, chance and so on of a split, as in training.json."""


class TransferFolder:
    """The folder of one transfer; one process writes to it.

    Args:
        path: made if there is none.

    Raises:
        InputError: something else lies there, or another transfer writes to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        check_transfer_folder(path)
        with in_plain_words(path):
            path.mkdir(exist_ok=True)
            self._lock = FileLock(path / ".lock")
            try:
                self._lock.acquire(timeout=0)
            except Timeout:
                raise InputError(f"--output {path}: another transfer writes there; wait, or name another") from None

    def close(self) -> None:
        """Let others write."""
        self._lock.release()

    def keep_plan(self, plan: Mapping[str, Any]) -> None:
        """Write down what the results depend on; what an earlier call wrote and this one does not name stays.

        Raises:
            InputError: the folder holds results of something else.
        """
        path, told = self.path / PLAN, json.loads(json.dumps(plan))
        before = _read(path, f"remove {self.path}") if path.is_file() else {}
        if not before and any((self.path / RESULTS).glob("*.json")):
            raise InputError(f"--output {self.path} holds results without {PLAN}; name another folder, or remove that")
        for name in told:
            if name in before and told[name] != before[name]:
                raise InputError(
                    f"--output {self.path} holds a transfer with another {name}: {before[name]}, not {told[name]}; "
                    "name another folder, or remove that one"
                )
        write_json(path, {**before, **told}, indent=1)

    def kept(self, step: str, config: str, make: Callable[[str], Result]) -> Result:
        """A step's result; made of the config if it is not there yet."""
        path = self.path / RESULTS / f"{step}-{file_name(config)}.json"
        if path.is_file():
            return _read(path, "remove it, and its step is done again")
        made = make(config)
        write_json(path, made, indent=1)
        return made

    def run(self, step: str, config: str) -> Path:
        """Where a target's training run is."""
        place = self.path / step / file_name(config)
        with in_plain_words(place):
            place.parent.mkdir(exist_ok=True)
        return place

    def write(self, summary: Mapping[str, Any]) -> None:
        """Write what came out."""
        write_json(self.path / SUMMARY, summary, indent=1)


def check_transfer_folder(path: Path) -> None:
    """Nothing, if a transfer can be there: nothing is yet, an empty folder, or a transfer.

    Raises:
        InputError: something else is, or there is no folder around it.
    """
    if path.exists() and not path.is_dir():
        raise InputError(f"--output {path} is a file; name a folder")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--output {path}: there is no folder {path.absolute().parent}; create it first")
    strange = [one.name for one in path.iterdir() if not one.name.startswith(".")] if path.is_dir() else []
    if strange and not _OURS & set(strange):
        raise InputError(f"--output {path} holds something that is no transfer, such as {min(strange)}; name another")


def _read(path: Path, remedy: str) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text("utf-8"))
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise InputError(f"{path} is damaged; {remedy}")
    return found
