"""Pages on a free port of this computer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from typing import Any

from hf_vqa_mc.studies.web import bound_socket, server


@contextmanager
def serving(application: Callable[[], Any]) -> Iterator[str]:
    """Serve pages in a thread until the end of the block; the address."""
    listening = bound_socket("127.0.0.1", 0)
    running = server(application)
    thread = Thread(target=running.run, args=([listening],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        running.should_exit = True
        thread.join()
        listening.close()
