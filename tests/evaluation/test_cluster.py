"""Evaluations on a Ray cluster: the bytes of a local run, whatever dies, and one line for what cannot work."""

import contextlib
import json
import os
import shutil
import signal
import time
from pathlib import Path

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.evaluation import evaluating
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.prompts import Job
from hf_vqa_mc.evaluation.run_folder import share_answers
from hf_vqa_mc.io.executors import LocalExecutor
from tests.evaluation import tiny_models, worlds
from tests.killed import started

FILES = ("answers.jsonl", "results.json", "rows.parquet")
OPTIONS = {"inputs": ["full", "no-image"], "rotations": "2"}


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory):
    path = tmp_path_factory.mktemp("benchmark") / "colors.parquet"
    worlds.benchmark(60).to_parquet(path)
    return path


@pytest.fixture(scope="module")
def local(benchmark, vision_language, tmp_path_factory):
    """The folder of a local run."""
    folder = tmp_path_factory.mktemp("local") / "run"
    vm.evaluate(benchmark, model=vision_language, output=folder, **OPTIONS)
    return folder


@pytest.fixture
def calls(monkeypatch):
    """Makes the calls of a cluster in this process; returns their arguments."""
    made = []

    class Executor(LocalExecutor):
        def run(self, function, calls, step, progress, memory=0, gpu=False):
            made.extend(calls.values())
            super().run(function, calls, step, progress)

    monkeypatch.setattr(evaluating, "open_executor", lambda *options: contextlib.nullcontext(Executor()))
    monkeypatch.setattr(evaluating, "SHARE_ROWS", 16)
    yield made
    evaluating._prepared_once.cache_clear()


def bytes_of(folder):
    return {name: (folder / name).read_bytes() for name in FILES}


def test_shares_give_the_bytes_of_a_local_run_and_only_what_is_missing_is_asked(
    calls, benchmark, vision_language, local, tmp_path
):
    run = tmp_path / "run"
    options = {**OPTIONS, "output": run, "executor": "ray"}
    vm.evaluate(benchmark, model=vision_language, **options)
    assert [len(jobs) for *_, jobs, _ in calls] == [64, 64, 64, 48]
    assert bytes_of(run) == bytes_of(local)
    assert sorted(path.name for path in run.iterdir()) == [".lock", *sorted((*FILES, "report.html", "run.json"))]
    lines = (run / "answers.jsonl").read_text().splitlines(keepends=True)
    (run / "answers.jsonl").write_text("".join(lines[:100] + lines[128:]))
    calls.clear()
    vm.evaluate(benchmark, model=vision_language, **options)
    assert [(share, len(jobs)) for *_, share, jobs, _ in calls] == [(1, 28)]
    assert sorted((run / "answers.jsonl").read_text().splitlines(keepends=True)) == sorted(lines)
    assert bytes_of(run) | {FILES[0]: b""} == bytes_of(local) | {FILES[0]: b""}


@pytest.mark.parametrize("executor", ["local", "ray"])
def test_answers_of_killed_workers_and_of_a_killed_driver_are_kept(
    executor, calls, benchmark, vision_language, local, tmp_path
):
    lines = (local / "answers.jsonl").read_text().splitlines(keepends=True)
    shares = tmp_path / "run" / "shares"
    shares.mkdir(parents=True)
    shutil.copy(local / "run.json", shares.parent)
    (shares.parent / "answers.jsonl").write_text("".join(lines[:32]) + lines[32][:20])  # killed while it collected
    (shares / "00000-1.jsonl").write_text("".join(lines[:40]) + lines[40][:9])
    (shares / "00000-2.jsonl").write_text("".join(lines[40:64]))
    (shares / "00002-1.jsonl").write_text("".join(lines[128:144]))
    (shares / "00003-1.jsonl").write_text("")
    vm.evaluate(benchmark, model=vision_language, output=shares.parent, executor=executor, **OPTIONS)
    assert sum(len(jobs) for *_, jobs, _ in calls) == (0 if executor == "local" else 240 - 64 - 16)
    assert not shares.exists()
    found = (shares.parent / "answers.jsonl").read_text().splitlines(keepends=True)
    assert found[:80] == lines[:64] + lines[128:144] and sorted(found) == sorted(lines)
    assert bytes_of(shares.parent) | {FILES[0]: b""} == bytes_of(local) | {FILES[0]: b""}


def test_a_worker_resumes_the_share_of_one_that_still_lives(tmp_path):
    job, other = (Job(row, "full", 0) for row in range(2))
    reply = Reply(scores=(0.5, 1.0))
    (tmp_path / "shares").mkdir()
    with share_answers(tmp_path, 3) as first:
        first.add({job: reply})
        with share_answers(tmp_path, 3) as second:
            assert (second.lacks(job), second.lacks(other)) == (False, True)
            second.add({other: reply})
        first.add({other: reply})
    with share_answers(tmp_path, 3) as third, share_answers(tmp_path, 4) as another:
        assert third.replies == {job: reply, other: reply} and not another.replies


def test_failures_of_a_share_do_not_end_the_run_and_are_asked_again(calls, vision_language, tmp_path):
    frame = worlds.benchmark(40)
    for row in range(16, 40):
        frame.at[row, "image"] = {"bytes": b"broken", "path": None}
    frame.to_parquet(tmp_path / "broken.parquet")
    options = {"model": vision_language, "output": tmp_path / "run", "executor": "ray", "inputs": ["full"]}
    for asked in ([16, 16, 8], [16, 8]):
        calls.clear()
        found = vm.evaluate(tmp_path / "broken.parquet", **options).to_pandas()
        assert found[["replies", "failed"]].iloc[0].tolist() == [16, 24]
        assert [len(jobs) for *_, jobs, _ in calls] == asked
    frame["image"] = frame.image[20:21].tolist() * 40
    frame.to_parquet(tmp_path / "all_broken.parquet")
    with pytest.raises(vm.InputError, match=r"--inputs full: none of the 40 prompts has a reply: .* cannot be read"):
        vm.evaluate(tmp_path / "all_broken.parquet", **{**options, "output": tmp_path / "other"})


def test_a_model_that_rejects_the_first_prompts_ends_the_run(calls, benchmark, tmp_path):
    short = tiny_models.language(tmp_path / "short", longest=16)
    with pytest.raises(vm.InputError, match=r"model .*short answers none of the first 8 questions: the prompt has"):
        vm.evaluate(benchmark, model=short, inputs=["no-image"], output=tmp_path / "run", executor="ray")


def test_nodes_with_another_model_or_without_the_folder_are_named(calls, benchmark, vision_language, tmp_path):
    run = tmp_path / "run"
    vm.evaluate(benchmark, model=vision_language, output=run, executor="ray", sample=10, inputs=["no-image"])
    settings, expected, *share = calls[0]
    with pytest.raises(vm.InputError, match=r"there is no folder .*run/shares; mount --output on all nodes"):
        evaluating.answer_share(settings, expected, *share)
    other = json.dumps(json.loads(expected) | {"model_version": "another"})
    message = r"node \S+: model_version is '[\w.]+' here, and 'another' on the machine that started the run; all nodes"
    with pytest.raises(vm.InputError, match=message):
        evaluating.answer_share(settings, other, *share)


def test_a_model_without_weights_is_named_before_the_cluster_is_used(calls, benchmark, vision_language, tmp_path):
    folder = tmp_path / "model"
    shutil.copytree(vision_language, folder)
    (folder / "model.safetensors").unlink()
    with pytest.raises(vm.InputError, match="model has no weights in safetensors; expected a folder"):
        vm.evaluate(benchmark, model=folder, output=tmp_path / "run", executor="ray")
    assert not calls and not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "http://localhost:1/v1"}, "with --base-url: the server distributes its requests; remove one"),
        ({"model": object()}, "with a model in memory: give a folder or a name"),
        ({"dataset": worlds.benchmark(4)}, "with a dataset in memory: give files or a name"),
        ({"output": None}, "without --output: give a folder that all nodes mount"),
    ],
)
def test_what_cannot_be_asked_on_a_cluster_is_refused(options, message):
    with pytest.raises(vm.InputError, match=f"--executor ray {message}"):
        vm.evaluate(**{"dataset": "x.csv", "model": "x", "output": "x", "executor": "ray", **options})


def test_a_cluster_that_does_not_answer_leaves_no_folder(benchmark, language, tmp_path):
    pytest.importorskip("ray", reason="Ray is not installed (extra ray)")
    given = {"model": language, "inputs": ["no-image"], "output": tmp_path / "run", "executor": "ray"}
    with pytest.raises(vm.InputError, match="--address nonsense: expected auto, HOST:PORT or ray://HOST:PORT"):
        vm.evaluate(benchmark, address="nonsense", **given)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", [{"address": "auto"}, {"workers": 2}])
def test_options_of_clusters_need_one(option):
    with pytest.raises(vm.InputError, match=f"--{next(iter(option))} is used only with --executor ray; add it"):
        vm.evaluate("x.csv", model="x", **option)


def workers():
    """The processes that ask shares."""
    found = []
    for folder in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if folder.name.isdigit() and (folder / "cmdline").read_bytes().startswith(b"ray::share"):
                found.append(int(folder.name))
    return found


def drive(pipe, *arguments):
    """Evaluate on a cluster, in a process of its own."""
    evaluating.SHARE_ROWS = 16
    pipe.send("ready")
    benchmark, model, run, address, os.environ["RAY_AUTH_MODE"] = arguments
    vm.evaluate(benchmark, model=model, output=run, executor="ray", address=address, workers=7, **OPTIONS)


@pytest.mark.slow
@pytest.mark.usefixtures("cluster")
def test_killed_workers_and_a_killed_driver_cost_what_was_on_its_way(
    benchmark, vision_language, local, tmp_path, monkeypatch
):
    import ray

    run = tmp_path / "run"
    mode = os.environ.get("RAY_AUTH_MODE", "disabled")  # set by Ray in this process, not in the one that is forked
    driver = started(drive, benchmark, vision_language, run, ray.get_runtime_context().gcs_address, mode)
    while not any(path.stat().st_size for path in (run / "shares").glob("*")):
        time.sleep(0.01)
        assert driver.is_alive()
    for process in workers()[:1]:
        os.kill(process, signal.SIGKILL)
    driver.kill()
    driver.join()
    assert not (run / "results.json").exists()
    monkeypatch.setattr(evaluating, "SHARE_ROWS", 16)
    vm.evaluate(benchmark, model=vision_language, output=run, executor="ray", workers=7, **OPTIONS)
    lines = [(folder / "answers.jsonl").read_text().splitlines() for folder in (run, local)]
    assert sorted(lines[0]) == sorted(lines[1])
    assert bytes_of(run) | {FILES[0]: b""} == bytes_of(local) | {FILES[0]: b""}
