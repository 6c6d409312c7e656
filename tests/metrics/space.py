"""A Hub on loopback that serves metric folders as Spaces: GET of ``/spaces/NAMESPACE/NAME/resolve/REVISION/FILE``.

It knows the revision main only and neither tokens nor commits: what ``evaluate.load`` asks for, no more.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

from hf_vqa_mc.metrics import METRICS, metric_folder


@contextmanager
def serving_spaces(namespace: str) -> Iterator[tuple[str, list[str]]]:
    """Runs the server; gives its address and the list of the paths that were asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def _answer(self, body: bool) -> None:
            asked.append(self.path)
            file = _file(namespace, self.path)
            if file is None:
                self.send_error(404)
                return
            content = file.read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("ETag", f'"{len(content)}"')
            self.end_headers()
            if body:
                self.wfile.write(content)

        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def log_message(self, format: str, *args: object) -> None:
            """Says nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _file(namespace: str, path: str) -> Path | None:
    parts = path.strip("/").split("/")
    if len(parts) != 6 or parts[:2] != ["spaces", namespace] or parts[3:5] != ["resolve", "main"]:
        return None
    if parts[2] not in METRICS:
        return None
    file = metric_folder(parts[2]) / parts[5]
    return file if file.is_file() else None
