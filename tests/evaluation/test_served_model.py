"""Models behind a server: the wire format, and every way in which servers fail."""

import base64
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hf_vqa_mc as vm
from hf_vqa_mc.evaluation import served_model
from tests.evaluation import worlds
from tests.evaluation.served import KEY, Served

FAULTS = ("limit", "error", "cut", "no json", "no choices")


@pytest.fixture
def evaluate(served):
    """Evaluates the server's model on the made benchmark."""

    def evaluate(benchmark=None, **options):
        given = {"model": "tiny", "base_url": served.url, **options}
        return vm.evaluate(worlds.benchmark() if benchmark is None else benchmark, **given)

    return evaluate


def test_a_request_has_prompt_and_image_as_openai_clients_send_them(served, evaluate):
    result = evaluate(sample=1, inputs=["full", "no-image"], max_tokens=5)
    shown, blind = sorted(served.requests, key=lambda request: isinstance(request["messages"][0]["content"], str))
    assert shown["model"] == "tiny" and shown["temperature"] == 0 and shown["max_tokens"] == 5
    (message,) = shown["messages"]
    picture, text = message["content"]
    assert message["role"] == "user"
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    content = base64.b64decode(picture["image_url"]["url"].partition(",")[2])
    row = worlds.benchmark().set_index("question_id").loc[result.per_question.question_id[0]]
    assert content == row["image"]["bytes"]
    lettered = "\n".join(f"{letter}. {choice}" for letter, choice in zip("ABCD", row.choices, strict=True))
    expected = f"Question: {row.question}\n{lettered}\nAnswer with the letter of the correct choice only."
    assert text == {"type": "text", "text": expected}
    assert blind["messages"] == [{"role": "user", "content": expected}]


def test_samples_are_asked_at_the_temperature(served, evaluate):
    evaluate(inputs=["full"], samples=2)
    assert [request["temperature"] for request in served.requests] == [1] * 48


def test_habits_of_a_served_model_are_named(served, evaluate):
    served.answer = lambda text, image: "<think>A? B?" if image else "I am unable to see an image."
    habits = {one["input"]: one["habit"] for one in evaluate(inputs=["full", "no-image"]).to_dict()["habits"]}
    assert habits == {"full": "reasoning not ended", "no-image": "refused"}


def test_letters_are_read_from_top_logprobs(served, evaluate):
    result = evaluate(method="letter")
    assert served.requests[0]["top_logprobs"] == 20 and served.requests[0]["max_tokens"] == 1
    assert set(result.per_question["full_picked"]) == {1}  # "B" and " B" together beat "A"
    served.logprobs = False
    before = served.asked
    with pytest.raises(vm.InputError, match=r"returns no log-probabilities .*; use method generate"):
        evaluate(method="letter", concurrency=1)
    assert served.asked == before + 1


@pytest.mark.slow
def test_hundreds_of_requests_with_faults_are_all_answered_once(served, evaluate, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    served.fault = lambda number: FAULTS[number // 4 % 5] if number % 4 == 0 else None
    served.most_failures = 2
    result = evaluate(worlds.benchmark(160), concurrency=32)
    assert served.asked > 320
    assert sum(served.answered.values()) == 320
    assert [result.evaluation.inputs[name].counts["replies"] for name in ("full", "no-image")] == [160, 160]
    assert result.to_pandas().failed.tolist() == [0, 0]
    assert result.to_pandas().accuracy.tolist() == [0.25, 0.25]  # it always says B


def test_a_slow_reply_is_asked_again_after_the_time_limit(served, evaluate, monkeypatch):
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.01)
    served.fault = lambda number: "late" if number == 3 else None
    monkeypatch.setattr("hf_vqa_mc.evaluation.served_model.TIMEOUT", 0.5)
    result = evaluate(inputs=["full"])
    assert result.to_pandas().replies[0] == 24 and sum(served.answered.values()) == 24


def test_rejected_and_unreadable_replies_are_counted_and_the_run_goes_on(served, evaluate, monkeypatch):
    monkeypatch.setattr(served_model, "MALFORMED", 1)
    served.fault = {5: "rejected", 9: "no choices"}.get
    result = evaluate(inputs=["full"], concurrency=1)
    assert result.to_pandas()[["replies", "failed"]].iloc[0].tolist() == [22, 2]
    assert "2 without a reply, such as: the data frame, question_id 'q5': the server rejects" in repr(result)
    reasons = result.to_dict()["inputs"]["full"]["failures"]
    assert ": the server rejects the request: " in reasons[0] and "the context is too long" in reasons[0]
    assert "question_id 'q9': the server's reply cannot be read" in reasons[1]


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "A?"}]}, {"type": "text", "text": "B"}], "B"),
        (None, ""),  # cut while thinking
    ],
)
def test_texts_in_parts_and_without_text_are_answers(served, evaluate, content, text):
    served.answer = lambda *given: content
    result = evaluate(inputs=["full"])
    assert {reply.text for reply in result.evaluation.replies.values()} == {text}
    assert result.to_pandas()[["failed", "unparsed"]].iloc[0].tolist() == [0, 0 if text else 24]


def test_texts_that_were_cut_off_are_counted_and_named(served, evaluate, tmp_path):
    served.finish = lambda number: "length" if number < 6 else "stop"
    result = evaluate(inputs=["full"], output=tmp_path / "run")
    assert result.to_pandas().cut_off.tolist() == [6]
    assert "Cut off at the maximum number of tokens: 6 texts; raise max_tokens." in repr(result)
    assert "6 cut off" in (tmp_path / "run" / "report.html").read_text()
    assert json.loads((tmp_path / "run" / "results.json").read_text())["inputs"]["full"]["cut_off"] == 6
    assert evaluate(inputs=["full"], output=tmp_path / "run").to_pandas().cut_off.tolist() == [6]  # all stored
    assert served.asked == 24
    assert evaluate(inputs=["full"], method="letter").to_pandas().cut_off.tolist() == [0]


def test_models_with_other_parameters_are_asked_as_they_want(served, evaluate):
    refusals = ["unsupported max_tokens, use max_completion_tokens", "unsupported temperature"]
    served.refused_by = lambda body: next(
        (why for name, why in zip(("max_tokens", "temperature"), refusals, strict=True) if name in body), None
    )
    result = evaluate(inputs=["full"], max_tokens=7)
    assert result.to_pandas().failed.tolist() == [0]
    last = served.requests[-1]
    assert last["max_completion_tokens"] == 7 and not {"max_tokens", "temperature"} & set(last)


def test_if_the_first_requests_are_all_rejected_the_run_ends(served, evaluate):
    served.fault = lambda number: "rejected"
    with pytest.raises(vm.InputError, match=r"answers none of the first .* the context is too long"):
        evaluate(worlds.benchmark(200))
    assert served.asked < 100


def test_a_server_that_dies_midway_costs_only_what_it_did_not_answer(tmp_path, monkeypatch):
    monkeypatch.setattr(served_model, "RETRIES", 0)
    run = {"model": "tiny", "inputs": ["full"], "output": tmp_path / "run", "concurrency": 4}
    with Served() as server:
        server.fault = lambda number: "cut" if number >= 50 else None
        with pytest.raises(ConnectionError, match="start the server, and run the command again: it resumes"):
            vm.evaluate(worlds.benchmark(100), base_url=server.url, **run)
        first = server.answered.copy()
    assert sum(first.values()) == 50
    with Served() as again:
        result = vm.evaluate(worlds.benchmark(100), base_url=again.url, **run)
        assert sum(again.answered.values()) == 50
    assert result.to_pandas().replies[0] == 100


def test_the_key_is_used_and_never_shown(tmp_path, monkeypatch, capfd):
    with Served(key=KEY) as server:
        run = {"model": "tiny", "base_url": server.url, "output": tmp_path / "run"}
        with pytest.raises(vm.InputError, match="set the environment variable OPENAI_API_KEY to a valid key"):
            vm.evaluate(worlds.benchmark(), **run)
        monkeypatch.setenv("OPENAI_API_KEY", f"{KEY}-wrong")
        with pytest.raises(vm.InputError, match="check the key in OPENAI_API_KEY") as error:
            vm.evaluate(worlds.benchmark(), **run)
        assert KEY not in str(error.value)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        result = vm.evaluate(worlds.benchmark(), **run)
    shown = "".join([repr(result), *capfd.readouterr(), *(str(path.read_bytes()) for path in run["output"].iterdir())])
    assert KEY not in shown


def test_wrong_models_addresses_and_methods_are_named(served, evaluate):
    no_model = r"base_url=.*: .*there is no model other; check model, and that base_url ends like"
    with pytest.raises(vm.InputError, match=no_model):
        evaluate(model="other")
    with pytest.raises(ConnectionError, match=r"cannot be reached: .*; is it running"):
        evaluate(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(vm.InputError, match="cannot do this; expected letter or generate"):
        evaluate(method="likelihood")
    assert served.asked == 0


@pytest.mark.slow
def test_the_command_prints_and_writes_to_a_folder_of_its_own(served, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from hf_vqa_mc.cli import app

    worlds.benchmark().to_parquet(tmp_path / "made.parquet")
    monkeypatch.chdir(tmp_path)
    given = f"made.parquet --model tiny --base-url {served.url} --inputs full,no-image --rotations all".split()
    done = CliRunner().invoke(app, ["evaluate", *given])
    assert done.exit_code == 0, done.output
    assert "rotations" in done.output and "chance" in done.output
    assert (tmp_path / "vqa_mc_evaluations" / "made.parquet-tiny" / "report.html").is_file()
    again = CliRunner().invoke(app, ["evaluate", *given, "--json"])
    assert json.loads(again.stdout)["inputs"]["full"]["accuracy"]["mean"] == 0.25
    assert served.asked == 24 * 2 * 4


@pytest.mark.slow
def test_a_run_that_was_killed_asks_nothing_twice_but_what_was_on_its_way(tmp_path):
    worlds.benchmark(300).to_parquet(tmp_path / "made.parquet")
    with Served(delay=0.02) as server:
        options = f"--model tiny --base-url {server.url} --inputs full --concurrency 4 --output run".split()
        command = [sys.executable, "-m", "hf_vqa_mc", "evaluate", "made.parquet", *options]
        environment = os.environ | {"PYTHONPATH": str(Path(vm.__file__).parents[1])}
        process = subprocess.Popen(command, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL)
        while server.asked < 100:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with (tmp_path / "run" / "answers.jsonl").open("ab") as file:
            file.write(b'{"row": 7, "inp')  # as if it died while writing
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        assert sum(server.answered.values()) <= 300 + 4 + 4  # on their way, or answered and not yet written
        assert len(server.answered) == 300
    lines = (tmp_path / "run" / "answers.jsonl").read_text().splitlines()
    assert len(lines) == 300
    assert '"replies": 300' in (tmp_path / "run" / "results.json").read_text()
