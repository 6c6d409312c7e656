"""``vqa-mc study`` as a command: create, serve, kill -9, serve again, results."""

import json
import signal
import subprocess
import sys
from contextlib import closing, contextmanager

import pytest
from typer.testing import CliRunner

from hf_vqa_mc.cli import app
from hf_vqa_mc.studies.store import Study
from tests.studies import worlds
from tests.studies.test_web import call, send, tasks_of


def vqa_mc(preloaded, folder, *arguments):
    """Run a command of vqa-mc study."""
    command = [preloaded / "vqa-mc", "study", *map(str, arguments)]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


@pytest.fixture
def benchmark(tmp_path):
    """A file with images in the rows."""
    worlds.benchmark().to_parquet(tmp_path / "benchmark.parquet")
    return tmp_path


@contextmanager
def served(folder, *options):
    """A server in a process of its own, and the links that it prints."""
    command = [sys.executable, "-m", "hf_vqa_mc", "study", "serve", "study.sqlite", "--port", "0", *options]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.slow
def test_a_killed_server_has_stored_what_it_acknowledged_and_resumes(preloaded, benchmark):
    made = vqa_mc(preloaded, benchmark, "create", "benchmark.parquet", "--kind", "conditions", "--per-page", "6")
    assert made.returncode == 0, made.stderr
    assert "12 questions of benchmark.parquet" in made.stdout and "108 answers on pages of 6" in made.stdout
    with served(benchmark, "--links", "2") as (process, link):
        tasks = tasks_of(call(f"{link}page", b"")[3])
        assert [send(link, task, 1)[0] for task in tasks[:4]] == [200] * 4
        process.send_signal(signal.SIGKILL)
        process.wait()
    with served(benchmark, "--links", "2") as (process, again):
        assert again.partition("/a/")[2] == link.partition("/a/")[2]
        page = call(again)[3]
        assert tasks_of(page) == tasks and page.count(b'data-answer="1"') == 4
        assert send(again, tasks[4], 2)[0] == 200
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
        assert process.returncode == 0 and "of 36 answers" in out and errors == ""
    with closing(Study(benchmark / "study.sqlite")) as study:
        assert [one.value for one in study.answers()] == [1] * 4 + [2]
    done = vqa_mc(preloaded, benchmark, "results", "study.sqlite", "--passed", "0", "--output", "results", "--json")
    figures = json.loads(done.stdout)
    assert figures["progress"]["full"]["wanted"] == 36 and sum(one["answers"] for one in figures["conditions"]) in (
        4,
        5,
    )
    token = link.split("/")[-2]
    for path in (benchmark / "results").iterdir():
        assert token.encode() not in path.read_bytes()


def test_errors_are_one_line(benchmark, monkeypatch):
    monkeypatch.chdir(benchmark)

    def error(*arguments):
        done = CliRunner().invoke(app, ["study", *map(str, arguments)])
        assert done.exit_code == 2
        return done.stderr.strip().splitlines()[-1]

    create = ("create", "benchmark.parquet", "--kind")
    assert "unknown kind of study 'condition': did you mean 'conditions'?" in error(*create, "condition")
    assert "--controls 20: expected fewer than --per-page 20" in error(*create, "conditions", "--controls", "20")
    assert "unknown condition of a study of conditions 'blind'" in error(
        *create, "conditions", "--conditions", "blind"
    )
    assert "--candidates is needed by a study of picker (full)" in error(*create, "picker")
    assert "--captions is needed by a study of answers" in error(*create, "answers")
    assert "no such file; make a study with vqa-mc study create" in error("serve", "none.sqlite")
    assert "cannot be read as a study" in error("results", "benchmark.parquet")
    assert CliRunner().invoke(app, ["study", *create, "ambiguity"]).exit_code == 0
    assert "study.sqlite has no answers" in error("results", "study.sqlite")
    assert "study.sqlite exists, and a study is never replaced" in error(*create, "ambiguity")
