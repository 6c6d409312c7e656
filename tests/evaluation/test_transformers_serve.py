"""A real server, `transformers serve`, with a tiny vision-language model."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

import hf_vqa_mc as vm
from tests.evaluation import worlds


@pytest.fixture
def address(vision_language, tmp_path):
    """The address of the server; it has loaded the model from its folder."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    program = Path(sys.executable).with_name("transformers")
    command = [program, "serve", vision_language, "--host", "127.0.0.1", "--port", str(port), "--device", "cpu"]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "home")}
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(list(map(str, command)), env=environment, stdout=log, stderr=log)
    try:
        for _ in range(600):
            assert process.poll() is None, (tmp_path / "log").read_text()
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{port}/health"):
                    break
            except OSError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_a_model_behind_a_server_writes_what_it_writes_here(address, vision_language):
    run = {"model": str(vision_language), "method": "generate", "max_tokens": 6, "sample": 8}
    here = vm.evaluate(worlds.benchmark(), **run)
    served = vm.evaluate(worlds.benchmark(), base_url=address, **run)
    assert served.evaluation.replies == here.evaluation.replies  # texts, tokens, and cut off or not
    texts = {reply.text for reply in here.evaluation.replies.values()}
    assert len(texts) > 2 and {reply.cut_off for reply in here.evaluation.replies.values()} == {True, False}
    with pytest.raises(vm.InputError, match=r"returns no log-probabilities .*; use method generate"):
        vm.evaluate(worlds.benchmark(), base_url=address, **run | {"method": "letter"})
    with pytest.raises(vm.InputError, match="Server is pinned to"):
        vm.evaluate(worlds.benchmark(), base_url=address, **run | {"model": "other"})
