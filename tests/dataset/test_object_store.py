"""Builds whose parts are in an object store that speaks S3's protocol, on this machine."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hf_vqa_mc as vm
from tests.dataset.fixtures import tree_bytes
from tests.dataset.own_triplets import write_inputs

pytestmark = pytest.mark.slow

SERVER = """
from moto.server import ThreadedMotoServer
import boto3
server = ThreadedMotoServer("127.0.0.1", 0)
server.start()
url = "http://{}:{}".format(*server.get_host_and_port())
boto3.client("s3", endpoint_url=url).create_bucket(Bucket="bench")
print(url, flush=True)
input()
"""
FILES = """
import fsspec
print(fsspec.filesystem("s3").find("bench"))
"""


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    """The environment of processes that know an object store with the bucket "bench"."""
    folder = os.environ.get("VQA_MC_OBJECT_STORE")
    if not folder:
        pytest.skip("VQA_MC_OBJECT_STORE names no folder with s3fs and moto (.ci/run says how one is made)")
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), folder]),
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": "a secret",
        "AWS_DEFAULT_REGION": "us-east-1",
    }
    command = [sys.executable, "-c", SERVER]
    quiet = {"stderr": subprocess.DEVNULL, "text": True, "env": environment}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **quiet) as server:
        lines = iter(server.stdout.readline, "")
        url = next(line.strip() for line in lines if line.startswith("http://"))
        yield {**environment, "AWS_ENDPOINT_URL": url}
        server.kill()


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("inputs"))


def run(store: dict[str, str], inputs: dict, *options: str) -> subprocess.CompletedProcess:
    given = [part for name, value in inputs.items() for part in (f"--{name.replace('_', '-')}", str(value))]
    command = [sys.executable, "-m", "hf_vqa_mc", "build", "triplets", *given, *options]
    return subprocess.run(command, env=store, capture_output=True, text=True, timeout=300)


def test_parts_in_an_object_store_make_the_folder_of_parts_on_disk(store, inputs, tmp_path):
    vm.build("triplets", output=tmp_path / "vqa_mc", **inputs)
    work = ["--work", "s3://bench/parts", "--executor", "ray"]
    done = run(store, inputs, "--output", tmp_path / "other", *work)
    assert done.returncode == 0, done.stderr
    assert tree_bytes(tmp_path / "other") == tree_bytes(tmp_path / "vqa_mc")
    listed = subprocess.run([sys.executable, "-c", FILES], env=store, capture_output=True, text=True, check=True)
    assert listed.stdout.strip() == "[]"
    assert not any(b"a secret" in content for content in tree_bytes(tmp_path / "other").values())


def test_a_store_that_does_not_answer_is_named_in_one_line(store, inputs, tmp_path):
    given = "--output", tmp_path / "vqa_mc", "--work"
    done = run({**store, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, inputs, *given, "s3://bench/parts")
    assert done.stderr.startswith("vqa-mc: s3://bench/parts/state.json: Could not connect to the endpoint URL")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
