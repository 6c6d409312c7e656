"""Work in a process of its own, which can be made to die at a certain point as kill -9 makes it die."""

import os
import signal
import sys
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from hf_vqa_mc.io import atomic

PRELOAD = ("datasets", "gensim", "tests.dataset.one_build")
"""What the server of these processes imports once, for all that will come: it serves the tests of several rooms."""
PUBLISHING = ("before exchange", "after exchange", "between renames", "after renames")
"""Where a folder replaces another."""


CHANGES = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir"}
"""Audit events of Python for changes of folders."""


def started(work: Callable[..., None], *arguments: Any) -> ForkServerProcess:
    """A process that does the work; it has written "ready" to the pipe that is the work's first argument."""
    context = get_context("forkserver")
    context.set_forkserver_preload([*PRELOAD])
    here, there = context.Pipe()
    process = context.Process(target=work, args=(there, *arguments))
    process.start()
    assert here.recv() == "ready"
    return process


def finish(process: ForkServerProcess) -> int | None:
    """Wait for it; its exit code, negative for the signal that it died of."""
    process.join(120)
    return process.exitcode


def die_publishing(point: str) -> None:
    """Kill this process when it comes to the point, one of ``PUBLISHING``."""
    if "renames" in point:
        atomic.exchange = lambda one, other: False
        die_after(Path, "rename", {"between renames": 1, "after renames": 2}[point])
    elif point == "before exchange":
        atomic.exchange = _die
    elif point == "after exchange":
        die_after(atomic, "exchange")
    else:
        raise ValueError(point)


def die_before(step: int) -> None:
    """Kill this process before its so many-th change of a folder: a rename, a removal, a new link or folder."""
    left = step

    def count(event: str, _: Any) -> None:
        nonlocal left
        if event in CHANGES:
            left -= 1
            if left == 0:
                _die()

    sys.addaudithook(count)


def die_after(owner: Any, name: str, times: int = 1) -> None:
    """Kill this process when a function has been called so many times."""
    original: Callable[..., Any] = getattr(owner, name)
    calls = 0

    def dying(*args: Any, **options: Any) -> Any:
        nonlocal calls
        result = original(*args, **options)
        calls += 1
        if calls == times:
            _die()
        return result

    setattr(owner, name, dying)


def _die(*_: Any) -> bool:
    os.kill(os.getpid(), signal.SIGKILL)
    return True
