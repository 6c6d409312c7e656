"""Addresses that others name reach public hosts only, and within limits."""

import socket
import threading
import time
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hf_vqa_mc.io import web
from hf_vqa_mc.io.web import fetch, is_public


@contextmanager
def answering(answer):
    """A server on loopback; ``answer`` takes its handler."""
    paths = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            paths.append(self.path)
            answer(self)

        def log_message(self, *arguments):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", paths
        finally:
            server.shutdown()


def sending(content, length=None):
    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content) if length is None else length))
        handler.end_headers()
        handler.wfile.write(content)

    return answer


def redirecting(to):
    def answer(handler):
        handler.send_response(302)
        handler.send_header("Location", to)
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    return answer


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "169.254.169.254", "0.0.0.1", "100.64.0.1", "224.0.0.1",
     "255.255.255.255", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:10.0.0.1", "2002:7f00:1::", "64:ff9b::7f00:1",
     "ff02::1"],
)  # fmt: skip
def test_hosts_that_are_not_public_are_known(address):
    assert not is_public(address)


@pytest.mark.parametrize("address", ["93.184.216.34", "2606:2800:220:1:248:1893:25c8:1946", "::ffff:8.8.8.8"])
def test_public_hosts_are_known(address):
    assert is_public(address)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]", "127.1"])
def test_private_hosts_are_not_asked_however_they_are_written(host):
    with answering(sending(b"secret")) as (address, paths):
        port = address.rpartition(":")[2]
        with pytest.raises(ConnectionError):
            fetch(f"http://{host}:{port}/")
        assert not paths


def test_a_name_that_resolves_to_a_private_host_is_refused(monkeypatch):
    with answering(sending(b"secret")) as (address, paths):
        port = int(address.rpartition(":")[2])
        found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **options: found)
        with pytest.raises(ConnectionError, match=r"rebind\.example \(127\.0\.0\.1\) is not a public host"):
            fetch(f"http://rebind.example:{port}/")
        assert not paths


def test_the_host_that_the_user_gives_may_be_private_but_not_where_it_redirects_to():
    with answering(sending(b"content")) as (address, paths):
        assert fetch(f"{address}/a.png", given_by_user=True) == b"content"
        port = address.rpartition(":")[2]
        with answering(redirecting(f"http://localhost:{port}/b.png")) as (other, _):
            with pytest.raises(ConnectionError, match=r"localhost .* is not a public host"):
                fetch(other, given_by_user=True)
        assert paths == ["/a.png"]


@pytest.mark.parametrize("to", ["file:///etc/passwd", "ftp://127.0.0.1/a", "data:,a", "gopher://127.0.0.1/"])
def test_redirections_stay_with_http(to):
    with answering(redirecting(to)) as (address, _), pytest.raises(ConnectionError):
        fetch(address, given_by_user=True)


@pytest.mark.parametrize("address", ["file:///etc/passwd", "/etc/passwd", "http://", "http://a b/", "http://[", "x"])
def test_other_addresses_are_errors(address):
    with pytest.raises(ConnectionError):
        fetch(address, given_by_user=True)


def test_answers_are_limited_in_size_and_time_and_must_be_complete(monkeypatch):
    monkeypatch.setattr(web, "MOST_BYTES", 1000)
    with answering(sending(bytes(1000))) as (address, _):
        assert len(fetch(address, given_by_user=True)) == 1000
    with answering(sending(bytes(1001))) as (address, _), pytest.raises(ConnectionError, match="larger than 1,000"):
        fetch(address, given_by_user=True)
    with answering(sending(bytes(9), length=10)) as (address, _), pytest.raises(ConnectionError, match="broke off 1 "):
        fetch(address, given_by_user=True)
    monkeypatch.setattr(web, "TIMEOUT", 0.05)
    with answering(lambda handler: time.sleep(0.3)) as (address, _), pytest.raises(ConnectionError, match="timed out"):
        fetch(address, given_by_user=True)
    monkeypatch.setattr(web, "LONGEST", 0.0)
    with answering(sending(bytes(9))) as (address, _), pytest.raises(ConnectionError, match="not complete after"):
        fetch(address, given_by_user=True)


def dripping(handler):
    """Headers that never end."""
    handler.send_response(200)
    with suppress(OSError):
        while True:
            handler.send_header("X-Line", "one more")
            handler.flush_headers()
            time.sleep(0.05)


def circling(handler):
    """Slow redirections to other paths."""
    time.sleep(0.2)
    redirecting(f"{handler.path}a")(handler)


@pytest.mark.parametrize("answer", [dripping, circling])
def test_one_limit_of_time_holds_for_headers_and_redirections(monkeypatch, answer):
    monkeypatch.setattr(web, "LONGEST", 0.5)
    start = time.monotonic()
    with answering(answer) as (address, _), pytest.raises(ConnectionError, match=r"not complete after|timed out"):
        fetch(address, given_by_user=True)
    assert time.monotonic() - start < 1.5


def test_the_page_of_a_redirection_is_not_read():
    def answer(handler):
        if handler.path == "/image":
            sending(b"content")(handler)
            return
        handler.send_response(302)
        handler.send_header("Location", "/image")
        handler.end_headers()
        with suppress(OSError):
            while True:
                handler.wfile.write(bytes(1000))

    with answering(answer) as (address, _):
        assert fetch(address, given_by_user=True) == b"content"


def test_no_more_requests_run_at_once_than_allowed(monkeypatch):
    monkeypatch.setattr(web, "_slots", threading.BoundedSemaphore(2))
    lock, running, most = threading.Lock(), [0], [0]

    def answer(handler):
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.02)
        with lock:
            running[0] -= 1
        sending(b"a")(handler)

    with answering(answer) as (address, _):
        threads = [threading.Thread(target=fetch, args=(address,), kwargs={"given_by_user": True}) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert most[0] == 2


def test_a_host_that_does_not_answer_is_not_asked_for_ever(monkeypatch):
    asked = []

    def unknown(*arguments, **options):
        asked.append(arguments)
        raise socket.gaierror("unknown host")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    for number in range(20):
        with pytest.raises(ConnectionError, match=r"unknown host|5 requests to down\.example in a row failed"):
            fetch(f"http://down.example/{number}.png")
    assert len(asked) == web.TRIES
