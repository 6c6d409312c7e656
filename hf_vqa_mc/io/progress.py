"""Progress of long steps on stderr: bars on a terminal and in a notebook, lines in logs."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from hf_vqa_mc.io.redaction import redacted

Progress = Callable[[str, int, int], None]  # called with (step, done, total)

REFRESH_SECONDS = 0.5  # minimum time between updates of a bar
LINE_SECONDS = 10.0  # minimum time between lines about unfinished steps in logs


def is_first_process() -> bool:
    """Whether this is the only process, or the first one started by torchrun or accelerate launch."""
    return os.environ.get("RANK", "0") == "0"


def silent(step: str, done: int, total: int) -> None:
    """Report nothing."""


def prefixed(progress: Progress, name: str) -> Progress:
    """Progress with a prefix to each step: ``before: counting``."""
    return lambda step, done, total: progress(f"{name}: {step}", done, total)


def interactive_progress() -> AbstractContextManager[Progress]:
    """Bars on a terminal or in a notebook; silent elsewhere."""
    in_notebook = "ipykernel" in sys.modules and "IPython" in sys.modules
    return progress_bars() if sys.stderr.isatty() or in_notebook else nullcontext(silent)


@contextmanager
def steps_on_stderr(quiet: bool = False) -> Iterator[Progress]:
    """Progress of commands: bars on a terminal, lines elsewhere, and log records; none if quiet."""
    if quiet:
        yield silent
        return
    from tqdm import tqdm

    logger, handler = logging.getLogger("hf_vqa_mc"), logging.Handler()
    handler.emit = lambda record: tqdm.write(redacted(record.getMessage()), file=sys.stderr)  # type: ignore[method-assign]
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        with progress_bars() if sys.stderr.isatty() else nullcontext(_lines()) as progress:
            yield progress
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


@contextmanager
def progress_bars(tqdm: Any = None, least: int = 1) -> Iterator[Progress]:  # noqa: ANN401  a class like tqdm.tqdm
    """One bar per step with a total of at least ``least``."""
    from tqdm import auto  # text without ipywidgets, where rich adds an output per update to the notebook

    bars: dict[str, Any] = {}

    def progress(step: str, done: int, total: int) -> None:
        if total < least:
            return
        if step not in bars:
            bars[step] = (tqdm or auto.tqdm)(total=total, desc=step, mininterval=REFRESH_SECONDS, dynamic_ncols=True)
        bars[step].total = total
        bars[step].update(done - bars[step].n)
        if done >= total:
            bars[step].close()

    try:
        yield progress
    finally:
        for bar in bars.values():
            bar.close()


def _lines() -> Progress:
    """A line per finished step, and for long steps one with done and total every LINE_SECONDS, for logs."""
    finished: set[str] = set()
    last = time.monotonic()

    def progress(step: str, done: int, total: int) -> None:
        nonlocal last
        is_done, now = done >= total, time.monotonic()
        if step in finished if is_done else now - last < LINE_SECONDS:
            return
        if is_done:
            finished.add(step)
        last = now
        sys.stderr.write(f"{step}\n" if is_done and total <= 1 else f"{step}: {done:,} of {total:,}\n")

    return progress
