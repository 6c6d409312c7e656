"""Progress of long steps on stderr: bars on a terminal and in a notebook, one line per finished step in logs."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

Progress = Callable[[str, int, int], None]
"""Called with (step, done, total)."""

REFRESH_SECONDS = 0.1
"""Minimum time between updates of a bar."""


def is_first_process() -> bool:
    """Whether this is the only process, or the first one started by torchrun or accelerate launch."""
    return os.environ.get("RANK", "0") == "0"


def silent(step: str, done: int, total: int) -> None:
    """Report nothing."""


def prefixed(progress: Progress, name: str) -> Progress:
    """Progress with a prefix to each step: ``before: counting``."""
    return lambda step, done, total: progress(f"{name}: {step}", done, total)


@contextmanager
def interactive_progress() -> Iterator[Progress]:
    """Bars on a terminal or in a notebook; silent elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if not (console.is_terminal or console.is_jupyter):
        yield silent
        return
    with _bars(console) as progress:
        yield progress


@contextmanager
def steps_on_stderr(quiet: bool = False) -> Iterator[Progress]:
    """Progress of commands: bars on a terminal, a line per finished step elsewhere, and log records; none if quiet."""
    from rich.console import Console

    console = Console(stderr=True)
    if quiet:
        yield silent
        return
    with _log_lines():
        if console.is_terminal:
            with _bars(console) as progress:
                yield progress
        else:
            yield _lines()


@contextmanager
def _log_lines() -> Iterator[None]:
    """Print records of the package's loggers to stderr, above bars."""
    logger, handler = logging.getLogger("hf_vqa_mc"), logging.Handler()
    # looked up at each record, as bars replace sys.stderr while they are shown
    handler.emit = lambda record: print(record.getMessage(), file=sys.stderr)  # type: ignore[method-assign]  # noqa: T201
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def _bars(console: "Console") -> Iterator[Progress]:
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    tasks: dict[str, int] = {}
    updated: dict[str, float] = {}
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Bars(*columns, console=console) as bars:

        def progress(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            if done >= total or time.monotonic() - updated.get(step, 0.0) > REFRESH_SECONDS:
                updated[step] = time.monotonic()
                bars.update(bars.task_ids[tasks[step]], completed=done, total=total)

        yield progress


def _lines() -> Progress:
    """One line per finished step, for logs."""
    finished: set[str] = set()

    def progress(step: str, done: int, total: int) -> None:
        if done >= total and step not in finished:
            finished.add(step)
            sys.stderr.write(f"{step}{f' ({total:,})' if total > 1 else ''}\n")

    return progress
