"""The pages of a study, served over HTTP: no page requests anything from another host.

A link with 144 random bits identifies an annotator; no name is asked for. The server never sends what annotators must
not see: labels, and in a condition without image or question neither of them.
"""

import json
import re
import socket
import socketserver
import sqlite3
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.studies.kind import ANSWER, CAPTION, CONFIDENCES, IMAGE, LONGEST_TEXT, QUESTION, Item
from hf_vqa_mc.studies.store import Page, Study, Task

HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",  # addresses contain tokens
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "frame-ancestors 'self'",
}
"""Of every reply."""
PATIENCE = 30  # seconds that the server waits for a part of a request
KEYS = "123456789abcdefghijklmnopqrstuvwyz"  # keys of the choices; x is that of bad questions
LARGEST_BODY, LARGEST_REQUEST = 16_384, 1 << 20  # bytes of an answer, and of a request that is read
LONGEST_SECONDS = 86_400
NUMBER = re.compile("[0-9]{1,9}")
STEPS = (("Enter", "next question, when this one is answered"), ("← →", "previous, next question"))


class Reply(NamedTuple):
    """The reply to a request."""

    content: bytes
    status: int = 200
    kind: str = "text/plain; charset=utf-8"
    address: str | None = None  # where the browser goes on


class NoLink(Exception):
    """A link that is not one of the study's."""


class Pages:
    """The pages of a study."""

    def __init__(self, study: Study, joinable: bool = True) -> None:
        self.study, self._joinable = study, joinable

    def reply(self, method: str, path: str, kind: str = "", body: bytes = b"") -> Reply:
        """The reply to a request for a path, with a body of a content type; an invalid one changes nothing."""
        try:
            return self._reply(method, path, kind, body)
        except InputError as error:
            return Reply(str(error).encode("utf-8", "replace"), 400)
        except NoLink:
            lines = ["This study is by invitation. Open the link that you were sent."]
            return self._message("Please use your link", lines, 404)
        except sqlite3.Error as error:  # such as a full disk
            return Reply(f"the study cannot be written ({error})".encode(), 507)

    def _reply(self, method: str, path: str, kind: str, body: bytes) -> Reply:
        match [method, *path.split("/")[1:]]:
            case ["GET", "join", key] if self._joins(key):
                return self._welcome()
            case ["POST", "join", key] if self._joins(key):
                token = self.study.join()
                return self._next_page(token, f"../a/{token}/")
            case ["GET", "a", token, ""]:
                return self._open_page(token)
            case ["POST", "a", token, "page"]:
                return self._next_page(token, ".")
            case ["POST", "a", token, "answer"]:
                return self._save(token, kind, body)
            case ["GET", "a", token, "picture", task, number] if NUMBER.fullmatch(task) and NUMBER.fullmatch(number):
                return self._picture(token, int(task), int(number))
        raise NoLink

    def _joins(self, key: str) -> bool:
        return self._joinable and key == self.study.settings.join

    def _welcome(self) -> Reply:
        """The page of the study's link: what it is about, and a button to start, which registers an annotator."""
        lines = [
            "Questions are shown one at a time. Answer by mouse, by touch, or with the keyboard alone.",
            f"A page has {self.study.settings.per_page} questions. Every answer is saved at once; stop at any time.",
            "The address of the next page is your personal link: keep it to come back later. Your name is not asked "
            "for; your answers are stored with the time that each took.",
        ]
        return self._message(self.study.kind.title, lines, start=("", "Start"))

    def _open_page(self, token: str) -> Reply:
        """The annotator's open page; without one, a button to get the next."""
        annotator = self._annotator(token)
        if (page := self.study.open_page(annotator)) is not None:
            return self._page(page)
        answered = self.study.answered_by(annotator)
        lines = [f"You have answered {answered:,} questions. Thank you."] if answered else []
        lines.append("This address is your personal link: keep it to come back later.")
        start = "page", "More questions" if answered else "Start"
        return self._message(self.study.kind.title, lines, start=start)

    def _next_page(self, token: str, address: str) -> Reply:
        """Give an annotator a page, and go to it; a message if no question is left."""
        if self.study.next_page(self._annotator(token)) is not None:
            return Reply(b"", 303, address=address)
        lines = [
            "All questions that you can answer have been answered, or are being answered by others. Thank you.",
            "If some come back, you find them at your link.",
        ]
        return self._message("That is all", lines)

    def _save(self, token: str, kind: str, body: bytes) -> Reply:
        """Store an answer; the reply is sent when it is on the disk."""
        annotator = self._annotator(token)
        if kind != "application/json":
            raise InputError("expected an answer as application/json")
        if len(body) > LARGEST_BODY:
            raise InputError(f"the answer has more than {LARGEST_BODY:,} bytes")
        try:
            sent = json.loads(body)
            task, value, seconds = sent["task"], sent["value"], float(sent["seconds"])
            if type(task) is not int or not 0 <= seconds <= LONGEST_SECONDS:
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InputError("expected an answer as JSON with task, value and seconds") from error
        if self.study.save(annotator, task, value, seconds):
            return Reply(b"saved")
        return Reply(b"Not needed any more: the time was up, and others have this question now.", 409)

    def _picture(self, token: str, task: int, number: int) -> Reply:
        """An image of a question that the annotator was given, if its condition shows images."""
        found = self.study.task(self._annotator(token), task)
        if found is None or not self._shows(IMAGE, *found) or number >= len(found[0].pictures):
            raise NoLink
        return Reply(self.study.picture(found[0].pictures[number]), kind="image/jpeg")

    def _annotator(self, token: str) -> int:
        if (annotator := self.study.annotator(token)) is None:
            raise NoLink
        return annotator

    def _shows(self, part: str, item: Item, condition: str) -> bool:
        return item.control or part in self.study.kind.condition(condition).shows

    def _message(self, title: str, lines: list[str], status: int = 200, start: tuple[str, str] | None = None) -> Reply:
        """A page of text, with a button that posts to an address below the page's own."""
        button = start and {"address": start[0], "text": start[1]}
        values = {"page": None, "title": title, "kicker": "vqa-mc study", "lines": lines, "start": button}
        return _html(values, status)

    def _page(self, page: Page) -> Reply:
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
            "candidates": [
                {"key": KEYS[at : at + 1], "address": one} for at, one in enumerate(pictures[of_question:])
            ],
            "question": item.question if shows[QUESTION] else "",
            "caption": item.caption if shows[CAPTION] else "",
            "known": item.choices[0] if shows[ANSWER] and item.choices and not item.control else "",
            "choices": [{"key": KEYS[at : at + 1], "text": text} for at, text in enumerate(choices)],
        }


def _html(values: dict[str, Any], status: int = 200) -> Reply:
    html = rendered("study.html.jinja", values, "study.js", style="study.css", source="'self'")
    return Reply(html.encode("utf-8", "replace"), status, "text/html; charset=utf-8")


class Server(socketserver.ThreadingTCPServer):
    """A server that listens from the start; ``serve_forever`` replies to the requests, also to earlier ones."""

    allow_reuse_address = daemon_threads = True
    request_queue_size = 128

    def __init__(self, pages: Pages, host: str, port: int) -> None:
        class Handler(BaseHTTPRequestHandler):
            """Replies to a request, and logs none, since their addresses contain tokens."""

            timeout, server_version, sys_version = PATIENCE, "vqa-mc", ""

            def do_GET(self) -> None:
                with suppress(OSError):  # the browser is gone
                    size = self.headers.get("Content-Length", "0")
                    body = self.rfile.read(min(int(size), LARGEST_REQUEST)) if NUMBER.fullmatch(size) else b""
                    path, kind = urlsplit(self.path).path, self.headers.get_content_type()
                    reply = pages.reply(self.command, path, kind, body)
                    self.send_response(reply.status)
                    headers = {"Content-Type": reply.kind, "Content-Length": str(len(reply.content)), **HEADERS}
                    for name, value in (headers | ({"Location": reply.address} if reply.address else {})).items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(reply.content)

            do_POST = do_GET

            def log_message(self, *_: Any) -> None:  # noqa: ANN401
                pass

        try:
            self.address_family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            super().__init__((host, port), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"--host {host} --port {port}: {reason}; choose another port") from error
