"""The folder of an evaluation: its settings, and each answer as soon as it is there.

::

    RUN/run.json        settings and versions
    RUN/answers.jsonl   one line per answer, appended

A run that was stopped at any moment continues with the questions that have no answer. Failures are asked again.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

from filelock import FileLock, Timeout

from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.prompts import Job
from hf_vqa_mc.io.atomic_file import check_folder, in_plain_words, write_json
from hf_vqa_mc.io.json_stream import read_json

EVALUATIONS = Path("vqa_mc_evaluations")
"""The folder of the command's runs, which is created."""
SETTINGS, ANSWERS = "run.json", "answers.jsonl"
_JOB = ("row", "input", "rotation")


class RunFolder:
    """The folder of an evaluation, or memory if ``path`` is None.

    Args:
        path: created if missing; its parent must exist, except for `EVALUATIONS`.
        settings: all that answers depend on.

    Raises:
        InputError: the folder holds something else, or a run with other settings; names the first one that differs.
    """

    def __init__(self, path: Path | None, settings: Mapping[str, Any]) -> None:
        self.path, self.settings = path, dict(settings)
        self.replies: dict[Job, Reply] = {}
        self._file: BinaryIO | None = None
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
                with (self.path / ANSWERS).open("a+b") as self._file:
                    self._read(self._file)
                    yield self
            finally:
                self._file = None
                lock.release()

    def add(self, replies: Mapping[Job, Reply]) -> None:
        """Store replies; with a file they are written before this returns."""
        self.replies |= replies
        if self._file is not None:
            lines = [json.dumps(_record(job, reply), allow_nan=False) + "\n" for job, reply in replies.items()]
            self._file.write("".join(lines).encode())
            self._file.flush()

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

    def _read(self, file: BinaryIO) -> None:
        """The answers of a file; what a killed process wrote of its last line is removed."""
        file.seek(0)
        end = 0
        for number, line in enumerate(file):
            if not line.endswith(b"\n"):
                break
            try:
                record = json.loads(line)
                job = Job(*(record.pop(name) for name in _JOB))
                lists = {name: tuple(value) for name, value in record.items() if isinstance(value, list)}
                self.replies[job] = Reply(**(record | lists))
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise InputError(
                    f"{self.path}/{ANSWERS}, line {number + 1}: not an answer of vqa-mc evaluate; remove the line, "
                    "and its question is asked again"
                ) from error
            end += len(line)
        file.truncate(end)
        file.seek(0, os.SEEK_END)


def _record(job: Job, reply: Reply) -> dict[str, Any]:
    given = {name: value for name, value in asdict(reply).items() if value not in (None, "", False)}
    return {**asdict(job), **given} | ({"text": reply.text} if reply.text == "" else {})
