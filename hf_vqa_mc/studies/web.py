"""The pages of a study, served over HTTP: no page requests anything from another host.

A link with 144 random bits identifies an annotator; no name is asked for. The server never sends what annotators must
not see: labels, and in a condition without image or question neither of them.
"""

import json
import socket
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.studies.kind import ANSWER, CAPTION, CONFIDENCES, IMAGE, LONGEST_TEXT, QUESTION, Item
from hf_vqa_mc.studies.store import Page, Study, Task

if TYPE_CHECKING:
    import uvicorn
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # addresses contain tokens
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'self'",
}
"""Of every reply."""
CLOSING = 5  # seconds that requests on their way have when the server ends
KEYS = "123456789abcdefghijklmnopqrstuvwyz"  # keys of the choices; x is that of bad questions
LARGEST_BODY = 16_384  # bytes of an answer
LONGEST_SECONDS = 86_400
STEPS = (("Enter", "next question, when this one is answered"), ("← →", "previous, next question"))


class Pages:
    """The pages of a study."""

    def __init__(self, study: Study, joinable: bool = True) -> None:
        self.study, self._joinable = study, joinable

    def welcome(self, request: "Request") -> "Response":
        """The page of the study's link: what it is about, and a button to start, which registers an annotator."""
        if not self._joinable or request.path_params.get("key") != self.study.settings.join:
            lines = ["This study is by invitation. Open the link that you were sent."]
            return self._message("Please use your link", lines, 404)
        if request.method == "POST":
            token = self.study.join()
            return self._next_page(token, f"../a/{token}/")
        lines = [
            "Questions are shown one at a time. Answer by mouse, by touch, or with the keyboard alone.",
            f"A page has {self.study.settings.per_page} questions. Every answer is saved at once; stop at any time.",
            "The address of the next page is your personal link: keep it to come back later. Your name is not asked "
            "for; your answers are stored with the time that each took.",
        ]
        return self._message(self.study.kind.title, lines, start=("", "Start"))

    def annotate(self, request: "Request") -> "Response":
        """The annotator's open page; without one, a button to get the next."""
        annotator = self._annotator(request.path_params["token"])
        if (page := self.study.open_page(annotator)) is not None:
            return self._page(page)
        answered = self.study.answered_by(annotator)
        lines = [f"You have answered {answered:,} questions. Thank you."] if answered else []
        lines.append("This address is your personal link: keep it to come back later.")
        start = "page", "More questions" if answered else "Start"
        return self._message(self.study.kind.title, lines, start=start)

    def next_page(self, request: "Request") -> "Response":
        """Give the annotator a page."""
        return self._next_page(request.path_params["token"], ".")

    def _next_page(self, token: str, address: str) -> "Response":
        """Give an annotator a page, and go to it; a message if no question is left."""
        if self.study.next_page(self._annotator(token)) is not None:
            from starlette.responses import RedirectResponse

            return RedirectResponse(address, 303, headers=HEADERS)
        lines = [
            "All questions that you can answer have been answered, or are being answered by others. Thank you.",
            "If some come back, you find them at your link.",
        ]
        return self._message("That is all", lines)

    async def save(self, request: "Request") -> "Response":
        """Store an answer; the reply is sent when it is on the disk."""
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import PlainTextResponse

        body = b""
        async for part in request.stream():
            body += part
            if len(body) > LARGEST_BODY:
                raise InputError(f"the answer has more than {LARGEST_BODY:,} bytes")
        if await run_in_threadpool(self._save, request, body):
            return PlainTextResponse("saved", headers=HEADERS)
        lost = "Not needed any more: the time was up, and others have this question now."
        return PlainTextResponse(lost, 409, headers=HEADERS)

    def _save(self, request: "Request", body: bytes) -> bool:
        annotator = self._annotator(request.path_params["token"])
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            raise InputError("expected an answer as application/json")
        try:
            sent = json.loads(body)
            task, value, seconds = sent["task"], sent["value"], float(sent["seconds"])
            if type(task) is not int or not 0 <= seconds <= LONGEST_SECONDS:
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InputError("expected an answer as JSON with task, value and seconds") from error
        return self.study.save(annotator, task, value, seconds)

    def picture(self, request: "Request") -> "Response":
        """An image of a question that the annotator was given, if its condition shows images."""
        from starlette.exceptions import HTTPException
        from starlette.responses import Response

        found = self.study.task(self._annotator(request.path_params["token"]), request.path_params["task"])
        number = request.path_params["number"]
        if found is None or not self._shows(IMAGE, *found) or number >= len(found[0].pictures):
            raise HTTPException(404)
        return Response(self.study.picture(found[0].pictures[number]), media_type="image/jpeg", headers=HEADERS)

    def _annotator(self, token: str) -> int:
        from starlette.exceptions import HTTPException

        if (annotator := self.study.annotator(token)) is None:
            raise HTTPException(404)
        return annotator

    def _shows(self, part: str, item: Item, condition: str) -> bool:
        return item.control or part in self.study.kind.condition(condition).shows

    def _message(
        self, title: str, lines: list[str], status: int = 200, start: tuple[str, str] | None = None
    ) -> "Response":
        """A page of text, with a button that posts to an address below the page's own."""
        button = start and {"address": start[0], "text": start[1]}
        values = {"page": None, "title": title, "kicker": "vqa-mc study", "lines": lines, "start": button}
        return _html(values, status)

    def _page(self, page: Page) -> "Response":
        form = self.study.kind.form
        values = {
            "form": form.name,
            "instruction": self.study.kind.condition(page.condition).instruction,
            "tasks": [self._task(task, page.condition) for task in page.tasks],
            "help": [*form.keys, *STEPS],
            "save": "answer",
            "more": "page",
            "confidence": CONFIDENCES if form.confidence else (),
            "longest": LONGEST_TEXT,
        }
        return _html({"page": values, "title": self.study.kind.title})

    def _task(self, task: Task, condition: str) -> dict[str, Any]:
        """What the page shows of a task."""
        item = task.item
        shows = {part: self._shows(part, item, condition) for part in (IMAGE, QUESTION, CAPTION, ANSWER)}
        pictures = [f"picture/{task.id}/{number}" for number in range(len(item.pictures))]
        of_question = 1 if self.study.kind.form.candidates else len(pictures)
        choices = self.study.kind.condition(condition).choices(item)
        return {
            "id": task.id,
            "answer": "" if task.answer is None else json.dumps(task.answer),
            "images": pictures[:of_question] if shows[IMAGE] else [],
            "candidates": [{"key": _key(at), "address": one} for at, one in enumerate(pictures[of_question:])],
            "question": item.question if shows[QUESTION] else "",
            "caption": item.caption if shows[CAPTION] else "",
            "known": item.choices[0] if shows[ANSWER] and item.choices and not item.control else "",
            "choices": [{"key": _key(at), "text": text} for at, text in enumerate(choices)],
        }


def application(study: Study, joinable: bool = True) -> "Starlette":
    """The pages of a study as an ASGI application, see `Pages`."""
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import PlainTextResponse, Response
    from starlette.routing import Route

    pages = Pages(study, joinable)

    def invalid(request: Request, error: Exception) -> Response:
        return PlainTextResponse(str(error), 400, headers=HEADERS)

    def missing(request: Request, error: Exception) -> Response:
        no_link = PlainTextResponse("no such link", 404, headers=HEADERS)
        return pages.welcome(request) if request.method == "GET" else no_link

    def unsaved(request: Request, error: Exception) -> Response:  # such as a full disk
        return PlainTextResponse(f"the study cannot be written ({error})", 507, headers=HEADERS)

    routes = [
        Route("/join/{key}", pages.welcome, methods=["GET", "POST"]),
        Route("/a/{token}/", pages.annotate),
        Route("/a/{token}/page", pages.next_page, methods=["POST"]),
        Route("/a/{token}/answer", pages.save, methods=["POST"]),
        Route("/a/{token}/picture/{task:int}/{number:int}", pages.picture),
    ]
    handlers = {InputError: invalid, 404: missing, sqlite3.Error: unsaved}
    return Starlette(routes=routes, exception_handlers=handlers)


def _key(at: int) -> str:
    return KEYS[at] if at < len(KEYS) else ""


def _html(values: dict[str, Any], status: int = 200) -> "Response":
    from starlette.responses import HTMLResponse

    html = rendered("study.html.jinja", values, "study.js", style="study.css", source="'self'")
    return HTMLResponse(html.encode("utf-8", "replace"), status, headers=HEADERS)


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
