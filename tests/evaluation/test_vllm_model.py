"""Models in vLLM, with a module in its place that has its signatures."""

import sys

import pytest

import hf_vqa_mc as vm
from tests.evaluation import fake_vllm, worlds


@pytest.fixture
def evaluate(monkeypatch, vision_language):
    monkeypatch.setitem(sys.modules, "vllm", fake_vllm)
    return lambda frame, **options: vm.evaluate(
        frame, model=str(vision_language), engine="vllm", inputs=["full", "no-image"], **options
    )


@pytest.mark.parametrize("method", ["letter", "generate"])
def test_images_and_texts_are_sent_and_answers_read(evaluate, method):
    before = fake_vllm.LLM.closed
    result = evaluate(worlds.benchmark(), method=method)
    assert fake_vllm.LLM.closed == before + 1
    assert result.to_pandas().accuracy.tolist() == [1.0, 0.25]  # without image the first choice
    reply = next(iter(result.evaluation.figures.replies.values()))
    assert reply.tokens[0] > 10 and reply.tokens[1] == 1


def test_texts_that_were_cut_off_are_counted(evaluate):
    result = evaluate(worlds.benchmark(), method="generate", max_tokens=1)
    assert result.to_pandas().cut_off.tolist() == [6, 0]  # "two dogs" has two words


def test_a_run_is_not_resumed_by_another_engine(evaluate, vision_language, tmp_path):
    evaluate(worlds.benchmark(), method="letter", output=tmp_path / "run")
    run = {"model": str(vision_language), "method": "letter", "output": tmp_path / "run"}
    with pytest.raises(vm.InputError, match="has a run with model_version 'vllm "):
        vm.evaluate(worlds.benchmark(), **run)


def test_prompts_that_vllm_rejects_are_failures_and_the_others_are_answered(evaluate):
    frame = worlds.benchmark()
    frame.loc[3, "question"] = "what color " * 30
    result = evaluate(frame, method="letter")
    assert result.to_pandas()[["replies", "failed"]].to_numpy().tolist() == [[23, 1], [23, 1]]
    assert "vLLM rejects the prompt: This model's maximum context length is 200 tokens" in repr(result)


def test_what_does_not_fit_is_rejected_before_the_run(evaluate, vision_language, monkeypatch, tmp_path):
    run = {"dataset": worlds.benchmark(), "model": str(vision_language), "engine": "vllm"}
    with pytest.raises(vm.InputError, match=r"--method likelihood: model .* cannot do this; expected letter or gen"):
        vm.evaluate(**run, method="likelihood")
    with pytest.raises(vm.InputError, match=r"--device cuda:1: vLLM takes the first GPU, or all with --device auto"):
        vm.evaluate(**run, device="cuda:1")
    with pytest.raises(vm.InputError, match=r"--engine vllm: the server at --base-url runs the model"):
        vm.evaluate(**run, base_url="http://127.0.0.1:9/v1")
    with pytest.raises(vm.InputError, match=r"engine llama: expected transformers or vllm"):
        vm.evaluate(**run | {"engine": "llama"})
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(vm.MissingExtra, match=r'pip install "hf_vqa_mc\[vllm\]"'):
        vm.evaluate(**run)
