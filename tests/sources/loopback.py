"""A publisher's server on loopback: Range requests, and the ways a download goes wrong."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread


@dataclass
class Publisher:
    """What the server offers and how it misbehaves, and the requests it received."""

    files: dict[str, bytes] = field(default_factory=dict)
    """by path, such as ``/v7w.zip``"""
    cuts: list[int] = field(default_factory=list)
    """the next responses break off after so many bytes, one number per response"""
    knows_ranges: bool = True
    """answers a range with the next byte's"""
    address: str = ""
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    """(path, Range header) of each"""
    sent: int = 0
    """bytes of content in all"""


@contextmanager
def serving(publisher: Publisher) -> Iterator[Publisher]:
    """Runs the server; ``publisher.address`` is where."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers.get("Range")
            publisher.requests.append((self.path, wanted))
            content = publisher.files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            first = int(wanted.removeprefix("bytes=").split("-")[0]) if wanted and publisher.knows_ranges else 0
            if first and first >= len(content):
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(content)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if first else 200)
            if first:
                self.send_header("Content-Range", f"bytes {first}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - first))
            self.end_headers()
            body = content[first:]
            if publisher.cuts:
                body = body[: publisher.cuts.pop(0)]
                self.close_connection = True
            publisher.sent += len(body)
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        publisher.address = f"http://127.0.0.1:{server.server_port}"
        try:
            yield publisher
        finally:
            server.shutdown()
