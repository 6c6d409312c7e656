"""The server of a study's pages."""

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError, MissingExtra

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # addresses contain tokens
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'self'",
}
"""Of every reply."""
PORT = 7860
CLOSING = 5  # seconds that requests on their way have when the server ends


def bound_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; raises InputError if the address cannot be used."""
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


def server(application: "Callable[[], Starlette]") -> "uvicorn.Server":
    """A server; it logs no requests, since their addresses contain tokens."""
    try:
        import uvicorn

        made = application()
    except ImportError as error:
        raise MissingExtra(error.name or "uvicorn", "study") from error
    quiet: dict[str, Any] = {"access_log": False, "log_level": "warning", "server_header": False}
    return uvicorn.Server(uvicorn.Config(made, lifespan="off", timeout_graceful_shutdown=CLOSING, **quiet))


def run(application: "Callable[[], Starlette]", listening: socket.socket, ready: Callable[[], None]) -> None:
    """Serve pages until Ctrl-C or SIGTERM; ``ready`` is called before."""
    with listening:
        running = server(application)
        ready()
        with suppress(KeyboardInterrupt):  # the usual end, which uvicorn raises again after its own
            running.run([listening])
