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
    """The folder of an evaluation, or memory if ``path`` is None; InputError if it has something else."""

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
        whole, end, _ = path.read_bytes().rpartition(b"\n")
        for line in whole.splitlines():
            record = json.loads(line)
            job = Job(*(record.pop(name) for name in _JOB))
            lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
            self.replies[job] = Reply(**(record | lists))
        return len(whole) + len(end)

    @contextmanager
    def open(self) -> Iterator["RunFolder"]:
        """Read the answers, and append new ones; other processes are excluded."""
        if self.path is None:
            yield self
            return
        self.path.mkdir(exist_ok=True, parents=self.path.parent == EVALUATIONS)
        with locked(self.path / ".lock", f"{self.option} {self.path}: another process writes to it; wait for it"):
            self._check()
            write_json(self.path / SETTINGS, self.settings, 1)
            with resumable(self.path), (self.path / ANSWERS).open("ab") as self._file:
                self._file.truncate(self._read(self.path / ANSWERS))
                yield self

    def check_results(self, jobs: Sequence[Job]) -> None:
        """Raise InputError if the folder has results with more questions, inputs or rotations than the jobs."""
        if self.path is None or not (self.path / RESULTS).is_file():
            return
        before = read_json(self.path / RESULTS)
        now: dict[str, Any] = {
            "questions": len({job.row for job in jobs}),
            "inputs": list(dict.fromkeys(job.input for job in jobs)),
            "rotations": max(Counter((job.row, job.input) for job in jobs).values()),
        }
        for name, new in now.items():
            old = list(before[name]) if name == "inputs" else before[name]
            if not set(old) <= set(new) if name == "inputs" else new < old:
                raise InputError(
                    f"{self.option} {self.path} has results with {name} {shown(old)}, now {shown(new)}; choose "
                    f"another folder, or the same {name} or more to extend it"
                )

    def _check(self) -> None:
        """Raise InputError if the folder holds something else than a run with the same settings."""
        folder = self.path
        names = {one.name for one in folder.iterdir()} - {".lock"} if folder is not None and folder.is_dir() else set()
        if folder is None or not names:
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
