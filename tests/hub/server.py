"""A Hub on loopback, for clients with HF_ENDPOINT=hub.address and HF_HUB_DISABLE_XET=1.

It serves models, datasets and spaces: who one is, creating and deleting repositories, their info, trees, paths, refs,
commits, branches and tags, uploads (preupload, LFS batch, PUT, verify, commit) and downloads (resolve, with ranges and
redirects to a storage on a port of its own). Private repositories exist for their owners only; a commit whose parent
is not the branch's head is refused with 412.

Pull requests are opened by commits and listed; all stay open.

Not covered: Xet, multipart uploads, merging and closing of pull requests, gated repositories, copies within commits,
.gitignore, pages of long lists, search, settings, other discussions, the running of Spaces, the dataset viewer and its
parquet exports, rate limits. ``lastCommit`` is the requested commit, not the one that changed the file. validate-yaml
knows YAML and a Space's sdk, none of the Hub's own lists (licences, tasks, colours).
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import RLock, Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.hub.repositories import Fault, Hub, Refused, Repository
from tests.hub.routes import ROUTES


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Runs the server; ``hub.address`` is where."""
    handler = type("Handler", (HubHandler,), {"hub": hub, "lock": RLock()})
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as one,
        ThreadingHTTPServer(("127.0.0.1", 0), handler) as other,
    ):
        for server in (one, other):
            server.daemon_threads, server.block_on_close = True, False
            Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        hub.address, hub.storage = (f"http://127.0.0.1:{server.server_port}" for server in (one, other))
        try:
            yield hub
        finally:
            one.shutdown()
            other.shutdown()


class HubHandler(BaseHTTPRequestHandler):
    """One connection; a request is its route's."""

    protocol_version = "HTTP/1.1"
    hub: Hub
    lock: RLock

    def _serve(self) -> None:
        hub, address = self.hub, urlsplit(self.path)
        hub.requests.append((self.command, self.path))
        self.query = parse_qs(address.query)
        fault = next((one for one in hub.faults if one.fits(self.command, self.path)), None)
        if fault and fault.first:
            fault.first()
        if not self._read(fault):
            return
        try:
            if fault and fault.status:
                raise Refused(fault.status, f"Internal error, Authorization: {self.headers.get('Authorization')}")
            self.account = hub.account(self.headers.get("Authorization"))
            for method, pattern, function in ROUTES:
                found = pattern.fullmatch(address.path)
                if found and method == self.command:
                    with self.lock:
                        function(self, **{key: value and unquote(value) for key, value in found.groupdict().items()})
                    return
            raise Refused(404, f"no such route: {self.command} {address.path}")
        except Refused as refused:
            headers = {"X-Error-Message": refused.message, **({"X-Error-Code": refused.code} if refused.code else {})}
            self.answer({"error": refused.message}, refused.status, headers)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _serve

    def _read(self, fault: Fault | None) -> bool:
        """Whether the body came whole."""
        wanted = int(self.headers.get("Content-Length") or 0)
        cut = fault.cut if fault else None
        if self.headers.get("Transfer-Encoding", "") == "chunked":
            self.body = b"".join(self._chunks())
        else:
            self.body = self.rfile.read(wanted if cut is None else min(cut, wanted))
        if cut is not None or len(self.body) < wanted:
            self.close_connection = True
            return False
        return True

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().strip(), 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()

    def json(self) -> Any:
        return json.loads(self.body)

    def find(self, kind: str | None, name: str, *, write: bool = False) -> Repository:
        return self.hub.find(kind or "model", name, self.account, write=write)

    def answer(self, body: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        for name, value in {"Content-Type": kind, "Content-Length": str(len(content)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def send_content(self, content: bytes, headers: dict[str, str]) -> None:
        """The whole, or the requested range."""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if not wanted:
            self.answer(content, 200, {"Accept-Ranges": "bytes", **headers})
            return
        first, last = int(wanted[1]), min(int(wanted[2] or len(content)), len(content) - 1)
        if first > last:
            raise Refused(416, "Range not satisfiable")
        ranged = {"Content-Range": f"bytes {first}-{last}/{len(content)}", **headers}
        self.answer(content[first : last + 1], 206, ranged)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
