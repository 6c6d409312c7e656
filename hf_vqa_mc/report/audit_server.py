"""A page where one uploads or names a benchmark and reads its audit: ``python -m hf_vqa_mc.report.audit_server``."""

import asyncio
import re
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.benchmarks.files import READERS, file_form
from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.io.hub_folder import first_line
from hf_vqa_mc.io.interruption import handle_signals
from hf_vqa_mc.report import audit_jobs
from hf_vqa_mc.report.audit_jobs import MEGABYTES, SERVED, Job, Jobs
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.serving import HEADERS, PORT, bound_socket, run

if TYPE_CHECKING:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

UPLOAD_SECONDS = 300
_ON_HUB = re.compile(r"\w[\w.-]*/\w[\w.-]*(@\w[\w./-]*)?", re.ASCII)


class Pages:
    """The pages."""

    def __init__(self, jobs: Jobs) -> None:
        self._jobs = jobs

    def front(self, request: "Request", error: Exception | None = None) -> "Response":
        """The form."""
        trouble = "There is no such audit: reports are kept for an hour." if error else ""
        return _html({"job": None, "trouble": trouble}, 404 if error else 200)

    async def upload(self, request: "Request") -> "Response":
        """Store the body as a file, and start its audit."""
        name = re.sub(r"[^\w.-]", "_", request.query_params.get("name", ""), flags=re.ASCII)[-80:].lstrip(".-")
        if file_form(Path(name)) is None:
            raise InputError(f"expected a file .{', .'.join(READERS)}, plain or .gz or .xz")
        key, job = self._jobs.new(name)
        try:
            await _store(request, job.folder / name)
        except BaseException as error:  # also a visitor who leaves
            self._jobs.end(job, "failed", first_line(error))
            raise
        return self._started(key, job)

    def named(self, request: "Request") -> "Response":
        """Start the audit of a dataset on the Hub."""
        dataset, config = (request.query_params.get(name, "").strip() for name in ("dataset", "config"))
        if not _ON_HUB.fullmatch(dataset) or ".." in dataset or len(dataset + config) > 300:
            raise InputError("expected a dataset on the Hub: NAMESPACE/NAME or NAMESPACE/NAME@REVISION")
        return self._started(*self._jobs.new(dataset, config))

    def _started(self, key: str, job: Job) -> "Response":
        from starlette.responses import JSONResponse

        self._jobs.start(job)
        return JSONResponse({"address": f"audit/{key}/"}, 202, HEADERS)

    def job(self, request: "Request") -> "Response":
        """The page of an audit, its state or one of its files."""
        from starlette.responses import JSONResponse, Response

        job, name = self._jobs.find(request.path_params["key"]), request.path_params.get("file")
        if name is None:
            return _html({"job": job})
        if name == "state":
            return JSONResponse({"state": job.state, "text": job.text}, headers=HEADERS)
        return Response(job.files[name], 200, HEADERS, SERVED[name])


def _html(values: dict[str, Any], status: int = 200) -> "Response":
    from starlette.responses import HTMLResponse

    limits = {name: getattr(audit_jobs, name) for name in ("MEGABYTES", "ROWS", "SECONDS")}
    values = {"limits": limits, "endings": sorted(READERS), **values}
    html = rendered("audit_server.html.jinja", values, "audit_server.js", style="study.css", source="'self'")
    return HTMLResponse(html.encode("utf-8", "replace"), status, HEADERS)


async def _store(request: "Request", path: Path) -> None:
    """Write the body of a request to a file; raises InputError if it is empty, too large or too slow."""
    size = 0
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            with path.open("xb") as target:
                async for part in request.stream():
                    size += len(part)
                    if size > MEGABYTES * 10**6:
                        raise InputError(f"the file has more than {MEGABYTES} MB")
                    target.write(part)
    except TimeoutError:
        raise InputError(f"the upload took more than {UPLOAD_SECONDS} seconds") from None
    if not size:
        raise InputError("the file is empty")


def _application(jobs: Jobs) -> "Starlette":
    from starlette.applications import Starlette
    from starlette.requests import ClientDisconnect
    from starlette.responses import PlainTextResponse
    from starlette.routing import Route

    pages = Pages(jobs)
    routes = [
        Route("/", pages.front),
        Route("/upload", pages.upload, methods=["PUT"]),  # which pages of other sites may not send
        Route("/named", pages.named, methods=["PUT"]),
        Route("/audit/{key}/", pages.job),
        Route("/audit/{key}/{file}", pages.job),
    ]
    refusals = {InputError: 400, ClientDisconnect: 400, OSError: 507}  # such as a full disk
    handlers: dict[Any, Any] = {
        kind: lambda request, error, status=status: PlainTextResponse(first_line(error), status, HEADERS)
        for kind, status in refusals.items()
    }
    return Starlette(routes=routes, exception_handlers={**handlers, KeyError: pages.front, 404: pages.front})


@contextmanager
def auditing() -> "Iterator[Callable[[], Starlette]]":
    """The pages as an ASGI application; at the end of the block, audits are ended and their files removed."""
    with tempfile.TemporaryDirectory(prefix="vqa_mc_audits_") as folder:
        jobs = Jobs(Path(folder))
        try:
            yield lambda: _application(jobs)
        finally:
            jobs.close()


def main() -> None:
    """Serve the page until Ctrl-C."""
    options = ArgumentParser("python -m hf_vqa_mc.report.audit_server", description=__doc__)
    options.add_argument("--host", default="127.0.0.1", help="address to listen on; 0.0.0.0 for all networks")
    options.add_argument("--port", default=PORT, type=int, help="port to listen on; 0 for any free one")
    given = options.parse_args()
    handle_signals()  # SIGTERM, too, removes the folder
    try:
        listening = bound_socket(given.host, given.port)
        address = f"http://{given.host}:{listening.getsockname()[1]}/"
        with auditing() as application:
            run(application, listening, lambda: print(address, flush=True))  # noqa: T201
    except (InputError, MissingExtra) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
