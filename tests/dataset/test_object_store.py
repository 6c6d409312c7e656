"""Builds into an object store that speaks S3's protocol, on this machine."""

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
import sys
import fsspec
files = fsspec.filesystem("s3")
files.get(sys.argv[1], sys.argv[2], recursive=True)
print(files.find("bench"))
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


def test_a_build_in_an_object_store_has_the_bytes_of_one_on_disk(store, inputs, tmp_path):
    vm.build("triplets", output=tmp_path / "vqa_mc", **inputs)
    url = "s3://bench/vqa_mc"
    done = run(store, inputs, "--output", url, "--executor", "ray")
    assert done.returncode == 0, done.stderr
    assert f"Output: {url}; its README.md describes how it was made" in done.stdout
    listed = subprocess.run(
        [sys.executable, "-c", FILES, url, tmp_path / "fetched"], env=store, capture_output=True, text=True, check=True
    )
    assert tree_bytes(tmp_path / "fetched") == tree_bytes(tmp_path / "vqa_mc")
    assert ".work" not in listed.stdout
    secret = b"a secret"
    assert not any(secret in content for content in tree_bytes(tmp_path / "fetched").values())


def test_a_store_that_refuses_or_does_not_answer_is_named_in_one_line(store, inputs):
    done = run(store, inputs, "--output", "s3://nowhere/vqa_mc")
    expected = "vqa-mc: s3://nowhere/vqa_mc: cannot be written (The specified bucket does not exist); "
    assert done.stderr.startswith(expected)
    assert done.returncode == 2
    done = run({**store, "AWS_ENDPOINT_URL": "http://127.0.0.1:9"}, inputs, "--output", "s3://bench/vqa_mc")
    assert done.stderr.startswith("vqa-mc: s3://bench/vqa_mc: Could not connect to the endpoint URL")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
