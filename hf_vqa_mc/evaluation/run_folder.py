"""The folder of an evaluation: its settings, and each answer as soon as it is there.

::

    RUN/run.json                     settings and versions
    RUN/answers.jsonl                one line per answer, appended
    RUN/shares/SHARE-TIME.jsonl      answers of a call on a cluster, until they are moved to answers.jsonl

A run that was stopped at any moment continues with the questions that have no answer. Failures are asked again.
"""

import json
import os
import socket
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.model_options import EVALUATIONS
from hf_vqa_mc.evaluation.prompts import Job
from hf_vqa_mc.io.atomic_file import check_folder, in_plain_words, write_json
from hf_vqa_mc.io.interruption import resumable
from hf_vqa_mc.io.json_stream import read_json

SETTINGS, ANSWERS, SHARES = "run.json", "answers.jsonl", "shares"
RESULTS, ROWS = "results.json", "rows.parquet"
_JOB = ("row", "input", "rotation")


class Answers:
    """Replies to jobs, in memory and as lines of a file if there is one."""

    def __init__(self) -> None:
        self.replies: dict[Job, Reply] = {}
        self._file: BinaryIO | None = None

    def lacks(self, job: Job) -> bool:
        """Whether a job has no reply, or a failure."""
        return job not in self.replies or bool(self.replies[job].failure)

    def add(self, replies: Mapping[Job, Reply]) -> None:
        """Store replies; with a file they are written before this returns."""
        self.replies |= replies
        if self._file is not None:
            lines = [json.dumps(_record(job, reply), allow_nan=False) + "\n" for job, reply in replies.items()]
            self._file.write("".join(lines).encode())
            self._file.flush()

    def read(self, path: Path) -> int:
        """Add the answers of a file; returns the end of its last complete line, after which a process was killed."""
        end = 0
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                try:
                    record = json.loads(line)
                    job = Job(*(record.pop(name) for name in _JOB))
                    lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
                    self.replies[job] = Reply(**(record | lists))
                except (ValueError, TypeError, KeyError, AttributeError) as error:
                    raise InputError(
                        f"{path}, line {number}: not an answer of vqa-mc evaluate; remove the line, and its question "
                        "is asked again"
                    ) from error
                end += len(line)
        return end


@contextmanager
def share_answers(run: Path, share: int) -> Iterator[Answers]:
    """The answers of a share so far, and a new file for more: an earlier worker may still write to its own.

    Raises:
        InputError: the folder of the machine that started the run is not mounted here.
    """
    folder = run / SHARES
    if not folder.is_dir():
        raise InputError(f"{socket.gethostname()}: there is no folder {folder}; mount --output on all nodes")
    answers = Answers()
    for path in sorted(folder.glob(f"{share:05}-*.jsonl")):
        answers.read(path)
    with in_plain_words(run), (folder / f"{share:05}-{time.time_ns()}.jsonl").open("xb") as answers._file:
        yield answers


class RunFolder(Answers):
    """The folder of an evaluation, or memory if ``path`` is None.

    Args:
        path: created if missing; its parent must exist, except for `EVALUATIONS`.
        settings: all that answers depend on.

    Raises:
        InputError: the folder holds something else, or a run with other settings; names the first one that differs.
    """

    def __init__(self, path: Path | None, settings: Mapping[str, Any]) -> None:
        super().__init__()
        self.path, self.settings = path, dict(settings)
        if path is not None:
            check_folder(path.parent if path.parent == EVALUATIONS else path, "--output")
            self._check()

    @contextmanager
    def open(self) -> Iterator["RunFolder"]:
        """Read the answers, and append new ones; other processes are excluded.

        Raises:
            InputError: another process writes to the folder, or an answer cannot be read.
        """
        if self.path is None:
            yield self
            return
        with in_plain_words(self.path):
            self.path.mkdir(exist_ok=True, parents=self.path.parent == EVALUATIONS)
            lock = FileLock(self.path / ".lock")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                raise InputError(f"--output {self.path}: another process writes to it; wait for it") from None
            try:
                self._check()
                write_json(self.path / SETTINGS, self.settings, 1)
                with resumable(self.path), (self.path / ANSWERS).open("ab") as self._file:
                    self._file.truncate(self.read(self.path / ANSWERS))
                    self.collect()
                    yield self
            finally:
                self._file = None
                lock.release()

    def check_results(self, jobs: Sequence[Job]) -> None:
        """Raise InputError if the folder has results with more questions, inputs or rotations than the jobs."""
        if self.path is None or not (self.path / RESULTS).is_file():
            return
        try:
            found = read_json(self.path / RESULTS)
            before = (found["questions"], list(found["inputs"]), found["rotations"])
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"{self.path / RESULTS} is damaged; remove it, and it is written again") from error
        inputs = list(dict.fromkeys(job.input for job in jobs))
        rotations = max(Counter((job.row, job.input) for job in jobs).values())
        now = (len({job.row for job in jobs}), inputs, rotations)
        is_less = (now[0] < before[0], not set(before[1]) <= set(inputs), now[2] < before[2])
        for name, old, new, less in zip(("questions", "inputs", "rotations"), before, now, is_less, strict=True):
            if less:
                raise InputError(
                    f"--output {self.path} has results with {name} {shown(old)}, now {shown(new)}; choose another "
                    f"folder, or the same {name} or more to extend it"
                )

    def collect(self) -> None:
        """Move the answers of calls on a cluster to the others; stopped at any moment, it can be done again."""
        if self.path is None or self._file is None:
            return
        paths = sorted((self.path / SHARES).glob("[0-9]*-[0-9]*.jsonl"))
        for path in paths:
            found = Answers()
            found.read(path)
            self.add({job: reply for job, reply in found.replies.items() if self.lacks(job)})
        os.fsync(self._file.fileno())
        for path in paths:
            path.unlink()
        with suppress(OSError):  # it is missing, or holds other files
            (self.path / SHARES).rmdir()

    def _check(self) -> None:
        """Raise InputError if the folder holds something else than a run with the same settings."""
        folder = self.path
        if folder is None or not folder.is_dir():
            return
        names = {one.name for one in folder.iterdir()}
        if not names - {".lock"}:
            return
        if SETTINGS not in names:
            raise InputError(f"--output {folder} is a folder that vqa-mc evaluate did not write; choose another")
        stored = read_json(folder / SETTINGS)
        for name, value in json.loads(json.dumps(self.settings)).items():
            if not isinstance(stored, dict) or stored.get(name) != value:
                found = stored.get(name) if isinstance(stored, dict) else None
                raise InputError(
                    f"--output {folder} has a run with {name} {shown(found)}, now {shown(value)}; choose another "
                    "folder, or the same settings to resume it"
                )


def _record(job: Job, reply: Reply) -> dict[str, Any]:
    given = {name: value for name, value in asdict(reply).items() if value not in (None, "", False)}
    return {**asdict(job), **given} | ({"text": reply.text} if reply.text == "" else {})
