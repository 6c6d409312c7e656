"""The page of audits: a real server, a real browser, hostile names, limits, and what is left of an upload."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from threading import Event

import pytest

from hf_vqa_mc.report import audit_jobs
from hf_vqa_mc.report.audit_jobs import Jobs
from hf_vqa_mc.report.audit_server import auditing
from tests.hub.conftest import hub as hub
from tests.hub.conftest import hub_here as hub_here
from tests.hub.pushing import TOKEN
from tests.hub.repositories import Repository
from tests.report.conftest import browser as browser
from tests.report.served import serving
from tests.studies.test_in_browser import Address

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
CHOICES = ["much longer", "a", "b", "c"]
ROWS = [
    {"question": f"what is {n % 9}?", "choices": CHOICES[-n % 4 :] + CHOICES[: -n % 4], "label": n % 4}
    for n in range(60)
]
LINES = "".join(f"{json.dumps(row)}\n" for row in ROWS).encode()
SECONDS = 90


def put(address, content=b"", **query):
    """Status and text of a reply to PUT."""
    request = urllib.request.Request(f"{address}?{urllib.parse.urlencode(query)}", content, method="PUT")
    try:
        with OPENER.open(request, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


def get(address):
    """Status, headers and content."""
    try:
        with OPENER.open(address, timeout=60) as reply:
            return reply.status, reply.headers, reply.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers, error.read()


def ended(address):
    """The state of an audit when it has ended."""
    end = time.monotonic() + SECONDS
    while time.monotonic() < end:
        state = json.loads(get(f"{address}state")[2])
        if state["state"] in ("done", "failed"):
            return state
        time.sleep(0.02)
    raise AssertionError(state)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the server keeps files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture
def address(folder):
    with auditing() as application, serving(application) as address:
        yield address
    assert list(folder.iterdir()) == []


@pytest.fixture
def stubbed(monkeypatch):
    """Audits that write what they are given as the report, and wait for an event."""
    release = Event()
    release.set()

    def audit(self, job):
        release.wait(SECONDS)
        (job.folder / "report").mkdir()
        for name in audit_jobs.SERVED:
            (job.folder / "report" / name).write_text(f"{job.dataset} {job.config}")
        return 0

    monkeypatch.setattr(Jobs, "_audit", audit)
    return release


def test_a_visitor_uploads_a_file_and_reads_the_report(browser, address, folder, tmp_path_factory):
    file = tmp_path_factory.mktemp("home") / "my bench.jsonl"
    file.write_bytes(LINES)
    browser.open(Address(f"{address}/"), width=400, height=800)
    assert browser.run("return document.documentElement.scrollWidth") <= 400
    browser.type("input[type=file]", str(file))
    browser.click("#upload button")
    end = time.monotonic() + SECONDS
    while not browser.run("return location.href").endswith("/report.html"):
        assert time.monotonic() < end, browser.run("return document.body.innerText")
        time.sleep(0.1)
    assert "longest choice" in browser.run("return document.body.innerText")
    assert browser.complaints() == []
    assert all(one.startswith((address, "data:")) for one in browser.requests())
    assert [path for path in folder.rglob("*") if path.is_file()] == []  # neither upload nor report
    report = browser.run("return location.href")
    figures = json.loads(get(report.replace("report.html", "audit.json"))[2])
    assert (figures["dataset"], figures["rows"]) == ("my_bench.jsonl", 60)
    assert str(folder) not in json.dumps(figures)


@pytest.mark.slow
def test_a_file_that_is_no_benchmark_fails_with_the_reason(address):
    _, text = put(f"{address}/upload", b"a,b\n1,2\n", name="x.csv")
    state = ended(f"{address}/{json.loads(text)['address']}")
    assert state["state"] == "failed" and state["text"].startswith("x.csv: choices are in a, b, but no column")


@pytest.mark.parametrize("name", ["", "x.py", ".", "csv.", "a.csv/", "x.parquet.zip"])
def test_other_files_are_refused(address, stubbed, name):
    status, text = put(f"{address}/upload", LINES, name=name)
    assert (status, text.startswith("expected a file .parquet")) == (400, True)


@pytest.mark.parametrize(
    "name", ["", "bench", "/etc/x", "../etc/x", "a/../b", "a/b/c", "-x/y", "a/b@", "a/b@../c", "a/b --c"]
)  # fmt: skip
def test_names_that_are_not_those_of_the_hub_are_refused(address, stubbed, name):
    assert put(f"{address}/named", dataset=name)[0] == 400


def test_a_hostile_file_name_stays_in_its_folder_and_is_text(address, stubbed, folder):
    _, text = put(f"{address}/upload", LINES, name="../../<script>alert(1)</script>--config=x.csv")
    at = f"{address}/{json.loads(text)['address']}"
    assert ended(at)["state"] == "done"
    assert get(f"{at}report.html")[2] == b"_..__script_alert_1___script_--config_x.csv "
    assert b"<script>alert" not in get(at)[2]


def test_names_are_arguments_and_never_options_and_no_secret_is_passed(monkeypatch, folder):
    seen = []

    class Process(subprocess.Popen):
        def __init__(self, command, **options):
            seen.append((command, options))
            super().__init__([sys.executable, "-c", "import sys; sys.exit('vqa-mc: no')"], **options)

    monkeypatch.setattr(subprocess, "Popen", Process)
    monkeypatch.setattr(audit_jobs, "_check_size", lambda dataset: None)
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "secret")
    jobs = Jobs(folder)
    _, job = jobs.new("ada/bench", "--features=/etc")
    jobs.start(job)
    while not job.ended:
        time.sleep(0.01)
    jobs.close()
    ((command, options),) = seen
    assert command[-3:] == ["--", "ada/bench", "--features=/etc"]
    assert "secret" not in options["env"].values() and not job.folder.exists()
    assert (job.state, job.text) == ("failed", "no")


def test_too_large_and_empty_uploads_are_refused_and_leave_nothing(address, stubbed, folder, monkeypatch):
    monkeypatch.setattr("hf_vqa_mc.report.audit_server.MEGABYTES", 1)
    assert put(f"{address}/upload", bytes(10**6 + 1), name="x.csv") == (400, "the file has more than 1 MB")
    assert put(f"{address}/upload", name="x.csv") == (400, "the file is empty")
    assert [path for path in folder.rglob("*") if path.is_file()] == []


def test_audits_wait_for_their_turn_and_only_some_may(address, stubbed, monkeypatch):
    monkeypatch.setattr(audit_jobs, "WAITING", 2)
    stubbed.clear()
    first, second = (json.loads(put(f"{address}/upload", LINES, name=f"{n}.csv")[1])["address"] for n in "ab")
    assert json.loads(get(f"{address}/{second}state")[2])["state"] == "waiting"
    status, text = put(f"{address}/upload", LINES, name="c.csv")
    assert (status, text) == (400, "too many audits are waiting; try again in some minutes")
    assert get(f"{address}/{first}report.html")[0] == 404  # it is not there yet
    stubbed.set()
    assert ended(f"{address}/{first}")["state"] == ended(f"{address}/{second}")["state"] == "done"
    assert put(f"{address}/upload", LINES, name="c.csv")[0] == 202


def test_reports_are_forgotten_and_other_addresses_have_none(address, stubbed, monkeypatch):
    at = f"{address}/{json.loads(put(f'{address}/upload', LINES, name='a.csv')[1])['address']}"
    ended(at)
    for path in ("audit/none/", "audit/none/report.html", "none"):
        assert get(f"{address}/{path}")[0] == 404
    assert get(f"{at}../../etc/passwd")[0] == 404
    monkeypatch.setattr(audit_jobs, "KEPT_SECONDS", -1)
    put(f"{address}/upload", LINES, name="b.csv")
    status, headers, page = get(f"{at}report.html")
    assert (status, headers["Cache-Control"]) == (404, "no-store") and b"kept for an hour" in page


def test_an_audit_that_takes_too_long_is_ended_and_the_next_one_starts(address, monkeypatch):
    monkeypatch.setattr(audit_jobs, "MOST_SECONDS", 0.2)
    at = f"{address}/{json.loads(put(f'{address}/upload', LINES, name='a.jsonl')[1])['address']}"
    assert ended(at)["text"] == "it took too long, or too much memory (last step: none)"
    assert put(f"{address}/upload", LINES, name="b.csv")[0] == 202


def test_a_private_or_large_dataset_of_the_owner_is_not_read(address, hub_here, monkeypatch):
    for name, private in (("ada/private", True), ("ada/large", False)):
        repository = hub_here.repositories["dataset", name] = Repository("dataset", name, private)
        repository.write("main", {"rows.csv": bytes(2000)}, title="rows")
    monkeypatch.setattr(audit_jobs, "HUB_MEGABYTES", 0.001)
    found = {}
    for name in ("ada/private", "ada/none", "ada/large"):
        found[name] = ended(f"{address}/{json.loads(put(f'{address}/named', dataset=name)[1])['address']}")["text"]
    assert all("no such public dataset" in found[name] for name in ("ada/private", "ada/none"))
    assert found["ada/large"].startswith("ada/large has 0 MB")
    assert os.environ["HF_TOKEN"] == TOKEN and hub_here.requests


@pytest.mark.slow
def test_a_terminated_server_ends_its_audit_and_removes_its_files(tmp_path):
    command = [sys.executable, "-m", "hf_vqa_mc.report.audit_server", "--port", "0"]
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        address = server.stdout.readline().strip()
        put(f"{address}upload", LINES, name="a.jsonl")
        time.sleep(1)
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0
    assert list(tmp_path.glob("vqa_mc_audits_*")) == []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        done = subprocess.run([*command[:-1], port], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 1 and "choose another port" in done.stderr and "Traceback" not in done.stderr
