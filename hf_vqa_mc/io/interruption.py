"""Ctrl-C and SIGTERM in commands: both raise KeyboardInterrupt, so that temporary files are removed.

Any exception after such a signal counts as an interruption: libraries that are interrupted while they are imported
raise others.
"""

import contextlib
import logging
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

LOG = logging.getLogger("hf_vqa_mc")
_WORDS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_received: list[signal.Signals] = []
_reported: set[signal.Signals] = set()


def handle_signals() -> None:
    """Raise KeyboardInterrupt on Ctrl-C and, in a single process, SIGTERM (torchrun ends its processes itself)."""
    process = os.getpid()

    def interrupt(number: int, frame: FrameType | None) -> None:
        if os.getpid() != process:  # a forked worker
            os._exit(128 + number)
        _received.append(signal.Signals(number))
        sys.unraisablehook = lambda unraisable: None  # interrupted destructors and callbacks
        raise KeyboardInterrupt

    alone = os.environ.get("WORLD_SIZE", "1") == "1"
    for number in (signal.SIGINT, signal.SIGTERM) if alone else (signal.SIGINT,):
        if signal.getsignal(number) != signal.SIG_IGN:  # as a shell does for commands in the background
            signal.signal(number, interrupt)


@contextlib.contextmanager
def resumable(folder: str | Path) -> Iterator[None]:
    """Log on an interruption that the folder has what is finished."""
    try:
        yield
    except BaseException as error:
        if is_interruption(error):
            LOG.info("what is finished is kept in %s; the same command resumes", folder)
        raise


def is_interruption(error: BaseException) -> bool:
    """Whether an exception is a consequence of Ctrl-C or SIGTERM."""
    return isinstance(error, KeyboardInterrupt) or bool(_received)


def report_interruption() -> int:
    """Print a line, once per signal; return the exit code: 130 after Ctrl-C, 143 after SIGTERM."""
    number = _received[0] if _received else signal.SIGINT
    if number not in _reported:
        print(f"vqa-mc: {_WORDS[number]}", file=sys.stderr)  # noqa: T201  this is the command line
    _reported.update(_received)
    exec("")  # noqa: S102  Python would end by SIGINT if KeyboardInterrupt has left an exec(); each exec() resets that
    return 128 + number
