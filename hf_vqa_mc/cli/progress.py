"""Progress of long steps on stderr: bars on a terminal, a line a step elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

Progress = Callable[[str, int, int], None]

SHOWN_EVERY = 0.1
"""Seconds between two looks at a step that says more often how far it is."""


@contextmanager
def steps_on_stderr(quiet: bool = False) -> Iterator[Progress]:
    """A function to be told (step, done, total); each step gets its bar.

    Args:
        quiet: show nothing, as in all processes but the first.
    """
    if quiet:
        yield lambda step, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    console = Console(stderr=True)
    tasks: dict[str, int] = {}
    if not console.is_terminal:
        yield _Lines()
        return
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Bars(*columns, console=console) as bars:
        shown: dict[str, float] = {}

        def progress(step: str, done: int, total: int) -> None:
            if step not in tasks:
                tasks[step] = bars.add_task(step, total=total)
            if done >= total or time.monotonic() - shown.get(step, 0.0) > SHOWN_EVERY:
                shown[step] = time.monotonic()
                bars.update(bars.task_ids[tasks[step]], completed=done, total=total)

        yield progress


class _Lines:
    """Each finished step as a line, for logs."""

    def __init__(self) -> None:
        self._finished: set[str] = set()

    def __call__(self, step: str, done: int, total: int) -> None:
        if done >= total and step not in self._finished:
            self._finished.add(step)
            sys.stderr.write(f"{step}{f' ({total:,})' if total > 1 else ''}\n")
