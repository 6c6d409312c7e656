"""The page of audits, served by gradio: a file is audited, and neither paths nor private datasets are read."""

import json
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from hf_vqa_mc.cli.audit_app import FIELDS
from tests.hub.pushing import TOKEN, environment
from tests.hub.repositories import Repository

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_spec("gradio") is None, reason="gradio is not installed"),
    pytest.mark.filterwarnings("ignore"),  # of gradio_client
]
NONE = [""] * len(FIELDS)
CHOICES = ["much longer", "a", "b", "c"]
ROWS = [
    {"question": f"what is {n % 9}?", "choices": CHOICES[-n % 4 :] + CHOICES[: -n % 4], "label": n % 4}
    for n in range(60)
]


@pytest.fixture
def ask(hub, tmp_path):
    """Submits the form of a page that runs in a process of its own, whose owner has a token."""
    from gradio_client import Client

    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    path = {"PYTHONPATH": str(ROOT), "TMPDIR": str(tmp_path), "GRADIO_SERVER_PORT": str(port)}
    command = [sys.executable, "-m", "hf_vqa_mc.cli.audit_app"]
    with subprocess.Popen(command, env=environment(hub, tmp_path / "home", TOKEN) | path, cwd=tmp_path) as server:
        try:
            end = time.monotonic() + 300
            while server.poll() is None and time.monotonic() < end:
                with socket.socket() as tried:
                    if not tried.connect_ex(("127.0.0.1", port)):
                        break
                time.sleep(0.2)
            client = Client(f"http://127.0.0.1:{port}/", verbose=False, download_files=tmp_path / "client")
            yield lambda *given: client.predict(*given, api_name="/audit")
        finally:
            server.kill()


def test_a_visitor_audits_a_file_but_neither_paths_nor_private_datasets(ask, hub, tmp_path):
    from gradio_client import handle_file

    file = tmp_path / "my bench.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    table, report, figures = ask(handle_file(file), "", *NONE)
    assert table["data"][0][0] == "longest choice"
    assert report.startswith('<iframe sandbox="allow-scripts"') and "longest choice" in report
    assert (figures["dataset"], figures["rows"]) == ("my bench.jsonl", 60)
    assert str(tmp_path) not in report + json.dumps(figures)

    def refused(*given):
        with pytest.raises(Exception) as error:
            ask(*given)
        return str(error.value)

    file.write_text("a,b\n1,2\n")
    renamed = handle_file(file.rename(tmp_path / "x.csv"))
    assert refused(renamed, "", *NONE).startswith("x.csv: choices are in a, b")
    assert "unknown column of x.csv 'c'" in refused(renamed, "", *NONE[:-1], "c")
    for name in ("", "/etc/passwd", "../etc/x", "a/b/c", "-x/y"):
        assert "name a dataset on the Hub" in refused(None, name, *NONE)
    private = hub.repositories["dataset", "ada/private"] = Repository("dataset", "ada/private", True)
    private.write("main", {"rows.csv": b"question,A,B,answer\na?,b,c,A\n"}, title="rows")
    assert "Repository Not Found" in refused(None, "ada/private", *NONE)


def test_a_hub_that_cannot_be_reached_is_named(monkeypatch):
    import gradio
    from huggingface_hub import HfApi
    from huggingface_hub.utils import httpx

    from hf_vqa_mc.cli.audit_app import audited

    def unreachable(*_, **__):
        raise httpx.ConnectError("Name or service not known")

    monkeypatch.setattr(HfApi, "dataset_info", unreachable)
    with pytest.raises(gradio.Error, match="Name or service not known"):
        audited(None, "ada/benchmark", *NONE)
