"""The folder of an evaluation: its settings, and each answer as soon as it is there.

::

    RUN/run.json                     settings and versions
    RUN/answers.jsonl                one line per answer, appended

A run that was stopped at any moment continues with the questions that have no answer. Failures are asked again.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.prompts import Job
from hf_vqa_mc.evaluation.settings import EVALUATIONS
from hf_vqa_mc.io.atomic import locked, write_json
from hf_vqa_mc.io.interruption import resumable
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.outputs import check_folder

SETTINGS, ANSWERS = "run.json", "answers.jsonl"
RESULTS, ROWS = "results.json", "rows.parquet"
_JOB = ("row", "input", "rotation")


class RunFolder:
    """The folder of an evaluation, or memory if ``path`` is None.

    Args:
        path: created if missing; its parent must exist, except for `EVALUATIONS`.
        settings: all that answers depend on.
        option: names the folder in messages.

    Raises:
        InputError: the folder holds something else, or a run with other settings; names the first one that differs.
    """

    def __init__(self, path: Path | None, settings: Mapping[str, Any], option: str = "--output") -> None:
        self.path, self.settings, self.option = path, dict(settings), option
        self.replies: dict[Job, Reply] = {}
        self._file: BinaryIO | None = None
        if path is not None:
            check_folder(path.parent if path.parent == EVALUATIONS else path, option)
            self._check()

    def lacks(self, job: Job) -> bool:
        """Whether a job has no reply, or a failure."""
        return job not in self.replies or bool(self.replies[job].failure)

    def add(self, replies: Mapping[Job, Reply]) -> None:
        """Store replies; with a folder they are written before this returns."""
        self.replies |= replies
        if self._file is not None:
            for job, reply in replies.items():
                given = {name: value for name, value in asdict(reply).items() if value not in (None, "", False)}
                record = {**asdict(job), **given} | ({"text": reply.text} if reply.text == "" else {})
                self._file.write(json.dumps(record, allow_nan=False).encode() + b"\n")
            self._file.flush()

    def _read(self, path: Path) -> int:
        """Add the answers of a file; returns the end of its last complete line, after which a process was killed."""
        end = 0
        with path.open("rb") as file:
            for line in file:
                if not line.endswith(b"\n"):
                    break
                record = json.loads(line)
                job = Job(*(record.pop(name) for name in _JOB))
                lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
                self.replies[job] = Reply(**(record | lists))
                end += len(line)
        return end

    @contextmanager
    def open(self) -> Iterator["RunFolder"]:
        """Read the answers, and append new ones; other processes are excluded.

        Raises:
            InputError: another process writes to the folder.
        """
        if self.path is None:
            yield self
            return
        self.path.mkdir(exist_ok=True, parents=self.path.parent == EVALUATIONS)
        with locked(self.path / ".lock", f"{self.option} {self.path}: another process writes to it; wait for it"):
            self._check()
            write_json(self.path / SETTINGS, self.settings, 1)
            try:
                with resumable(self.path), (self.path / ANSWERS).open("ab") as self._file:
                    self._file.truncate(self._read(self.path / ANSWERS))
                    yield self
            finally:
                self._file = None

    def check_results(self, jobs: Sequence[Job]) -> None:
        """Raise InputError if the folder has results with more questions, inputs or rotations than the jobs."""
        if self.path is None or not (self.path / RESULTS).is_file():
            return
        found = read_json(self.path / RESULTS)
        before = (found["questions"], list(found["inputs"]), found["rotations"])
        inputs = list(dict.fromkeys(job.input for job in jobs))
        rotations = max(Counter((job.row, job.input) for job in jobs).values())
        now = (len({job.row for job in jobs}), inputs, rotations)
        is_less = (now[0] < before[0], not set(before[1]) <= set(inputs), now[2] < before[2])
        for name, old, new, less in zip(("questions", "inputs", "rotations"), before, now, is_less, strict=True):
            if less:
                raise InputError(
                    f"{self.option} {self.path} has results with {name} {shown(old)}, now {shown(new)}; choose "
                    f"another folder, or the same {name} or more to extend it"
                )

    def _check(self) -> None:
        """Raise InputError if the folder holds something else than a run with the same settings."""
        folder = self.path
        if folder is None or not folder.is_dir():
            return
        names = {one.name for one in folder.iterdir()}
        if not names - {".lock"}:
            return
        if SETTINGS not in names:
            raise InputError(f"{self.option} {folder} is a folder that vqa-mc evaluate did not write; choose another")
        stored = read_json(folder / SETTINGS)
        for name, value in json.loads(json.dumps(self.settings)).items():
            if stored.get(name) != value:
                raise InputError(
                    f"{self.option} {folder} has a run with {name} {shown(stored.get(name))}, now {shown(value)}; "
                    "choose another folder, or the same settings to resume it"
                )
