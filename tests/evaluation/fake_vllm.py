"""The part of vLLM 0.33 that is used, with its signatures; the model answers with the image's color, else "A"."""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from hf_vqa_mc.evaluation.language_model import Prompt
from tests.evaluation import worlds

LONGEST = 200
"""Maximum number of characters of a prompt."""


class exceptions:
    class VLLMClientError(Exception):
        """Of prompts that are rejected."""


@dataclass
class SamplingParams:
    n: int = 1
    temperature: float = 1.0
    max_tokens: int | None = 16
    logprobs: int | None = None


@dataclass
class Logprob:
    logprob: float
    rank: int | None = None
    decoded_token: str | None = None


@dataclass
class CompletionOutput:
    index: int
    text: str
    token_ids: Sequence[int]
    cumulative_logprob: float | None
    logprobs: list[dict[int, Logprob]] | None
    finish_reason: str | None = None


@dataclass
class RequestOutput:
    request_id: str
    prompt: str | None
    prompt_token_ids: list[int] | None
    prompt_logprobs: Any
    outputs: list[CompletionOutput]
    finished: bool = True


@dataclass
class LLM:
    model: str
    tensor_parallel_size: int = field(default=1, kw_only=True)
    trust_remote_code: bool = field(default=False, kw_only=True)
    closed = 0

    @property
    def model_config(self):
        return SimpleNamespace(is_multimodal_model=True)

    @property
    def llm_engine(self):
        return SimpleNamespace(engine_core=SimpleNamespace(shutdown=self._shutdown))

    def _shutdown(self):
        type(self).closed += 1

    def chat(
        self,
        messages: list[dict] | Sequence[list[dict]],
        sampling_params: SamplingParams | Sequence[SamplingParams] | None = None,
        use_tqdm: bool | Callable = True,
        lora_request: Any = None,
        priority: int | Sequence[int] | None = None,
        chat_template: str | None = None,
        chat_template_content_format: str = "auto",
        add_generation_prompt: bool = True,
        continue_final_message: bool = False,
        tools: list[dict[str, Any]] | None = None,
        chat_template_kwargs: dict[str, Any] | None = None,
        tokenization_kwargs: dict[str, Any] | None = None,
        mm_processor_kwargs: dict[str, Any] | None = None,
    ) -> list[RequestOutput]:
        return [self._answer(conversation, sampling_params) for conversation in messages]

    def _answer(self, conversation, params):
        ((_, content),) = [(one["role"], one["content"]) for one in conversation]
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        image = next((one["image_url"]["url"] for one in parts if one["type"] == "image_url"), None)
        text = parts[-1]["text"]
        if len(text) > LONGEST:
            raise exceptions.VLLMClientError(f"This model's maximum context length is {LONGEST} tokens.")
        shown = Prompt(text, (), image=None if image is None else base64.b64decode(image.partition(",")[2]))
        answer = worlds.color_of(shown) or "A"
        line = next((line for line in text.splitlines() if line.endswith(f". {answer}")), answer)
        first = None
        if params.logprobs is not None:
            top = [Logprob(-0.1, 1, f" {line[0]}"), Logprob(-3.0, 2, "B"), Logprob(-4.0, 3, "the")]
            first = [dict(enumerate(top[: params.logprobs]))]
        words = answer.split()[: params.max_tokens]
        reason = "length" if len(words) < len(answer.split()) else "stop"
        found = CompletionOutput(0, " ".join(words), list(range(len(words))), None, first, reason)
        return RequestOutput("0", text, text.split(), None, [found])
