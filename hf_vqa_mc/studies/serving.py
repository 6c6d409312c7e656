"""The server of a study's pages."""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.studies.store import Study

if TYPE_CHECKING:
    import uvicorn

    from hf_vqa_mc.studies.web import Joining

CLOSING = 5
"""Seconds that requests on their way have when the server ends."""


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; raises InputError if the address cannot be used.

    Args:
        host: name or address; 0.0.0.0 for all networks.
        port: 0 for any free one.
    """
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        listening = socket.socket(family)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(128)  # from here on requests wait, also before the server has started
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"--host {host} --port {port}: {reason}; choose another port") from error
    return listening


def server(study: Study, joining: "Joining" = "link") -> "uvicorn.Server":
    """A server of the study; it logs no requests, since their addresses contain the annotators' tokens."""
    try:
        import uvicorn

        from hf_vqa_mc.studies.web import application
    except ImportError as error:
        raise MissingExtra(error.name or "uvicorn", "study") from error
    config = uvicorn.Config(
        application(study, joining),
        access_log=False,
        log_level="warning",
        server_header=False,
        lifespan="off",
        timeout_graceful_shutdown=CLOSING,
    )
    return uvicorn.Server(config)


def run(study: Study, listening: socket.socket, joining: "Joining", ready: Callable[[], None]) -> None:
    """Serve a study until Ctrl-C or SIGTERM; ``ready`` is called before."""
    with listening:
        running = server(study, joining)
        ready()
        with suppress(KeyboardInterrupt):  # the usual end, which uvicorn raises again after its own
            running.run([listening])
