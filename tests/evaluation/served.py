"""A loopback server with OpenAI's chat completions, which can fail in every way that real ones do."""

import json
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "sk-a-secret-key-0123456789"


class Served:
    """``fault(number)`` names what happens to the request of that number: see `Handler.fail`; None answers it.

    ``most_failures``: of each prompt, which is then answered.
    """

    def __init__(
        self, answer=lambda text, image: "B", fault=lambda number: None, key=None, models=("tiny",), delay=0.0
    ):
        self.answer, self.fault, self.key, self.models, self.delay = answer, fault, key, list(models), delay
        self.asked, self.answered, self.requests, self.lock = 0, Counter(), [], threading.Lock()
        self.refused_by = lambda body: None
        self.finish = lambda number: "stop"
        self.logprobs, self.failed, self.most_failures = True, Counter(), 1000

    def __enter__(self):
        class Server(ThreadingHTTPServer):
            request_queue_size, daemon_threads = 256, True

            def handle_error(self, request, address):
                """Clients that left."""

        self._server = Server(("127.0.0.1", 0), type("Bound", (Handler,), {"served": self}))
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._server.shutdown()
        self._server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *about):
        """Quiet."""

    def reply(self, content, status=200, **headers):
        content = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": len(content), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        self.wfile.write(content)

    def refused(self):
        given = self.headers.get("Authorization", "")
        if self.served.key and given != f"Bearer {self.served.key}":
            self.reply({"error": {"message": f"invalid key in {given}"}}, 401)
            return True
        return False

    def do_GET(self):
        self.reply({"object": "list", "data": []})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.refused():
            return
        served = self.served
        if body["model"] not in served.models:
            self.reply({"detail": f"there is no model {body['model']}"}, 404)
            return
        with served.lock:
            number, served.asked = served.asked, served.asked + 1
            served.requests.append(body)
        time.sleep(served.delay)
        content = body["messages"][0]["content"]
        fault = served.refused_by(body) or served.fault(number)
        with served.lock:
            fault = None if served.failed[str(content)] >= served.most_failures else fault
            served.failed[str(content)] += fault is not None
        if fault is not None and self.fail(fault):
            return
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        text = next(part["text"] for part in parts if part["type"] == "text")
        image = next((part["image_url"]["url"] for part in parts if part["type"] == "image_url"), None)
        answer = served.answer(text, image)
        with served.lock:
            served.answered[json.dumps(content)] += 1
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": answer},
            "finish_reason": served.finish(number),
        }
        if body.get("logprobs") and served.logprobs:
            top = [
                {"token": letter, "logprob": -1.0 - (letter.strip() != answer), "bytes": None}
                for letter in ("A", "B", " B", "C", "x")
            ]
            choice["logprobs"] = {"content": [{**top[0], "top_logprobs": top}]}
        usage = {"prompt_tokens": 7, "completion_tokens": 1, "total_tokens": 8}
        self.reply(
            {
                "id": "x",
                "object": "chat.completion",
                "created": 0,
                "model": "tiny",
                "choices": [choice],
                "usage": usage,
            }
        )

    def fail(self, fault):
        """Whether the request fails by it."""
        if fault == "limit":
            self.reply({"error": {"message": "slow down"}}, 429, Retry_After="0.01")
        elif fault == "error":
            self.reply({"error": {"message": "overloaded"}}, 500, retry_after_ms="10")
        elif fault == "cut":
            self.close_connection = True
            self.connection.close()
        elif fault == "no json":
            self.reply(b"<html>")
        elif fault == "no choices":
            self.reply({"id": "x", "object": "chat.completion", "created": 0, "model": "tiny", "choices": []})
        elif fault == "rejected":
            self.reply({"error": {"message": "the context is too long"}}, 400)
        elif fault.startswith("unsupported "):
            self.reply({"error": {"message": fault}}, 400)
        elif fault == "late":
            time.sleep(1.5)
            self.reply({"error": {"message": "too late"}}, 500)
        return True
