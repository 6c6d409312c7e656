"""Models in vLLM, in this process."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.evaluation.chat_messages import ALTERNATIVES, letter_scores, messages
from hf_vqa_mc.evaluation.language_model import Prompt, Reply
from hf_vqa_mc.evaluation.transformers_model import EXPECTED, FILES
from hf_vqa_mc.extraction.model_files import folder_version
from hf_vqa_mc.io.hub_folder import first_line, hub_folder
from hf_vqa_mc.io.redaction import redacted

PROMPTS = 256
"""Number of prompts that vLLM is given at a time; it makes batches of them as its memory permits."""
MOST_SIGNS = 400
"""Maximum length of vLLM's reason in messages."""
ALL_GPUS = "auto"


class VllmModel:
    """A vision-language or language model with a chat template, run by vLLM; not yet tested with real vLLM output.

    Args:
        name: folder or name on the Hub.
        device: ``auto`` distributes the weights over all GPUs; by default the first one is used.
        max_tokens: maximum number of generated tokens.

    Raises:
        InputError: there is no such model, or vLLM cannot run it here.
        ConnectionError: the Hub cannot be reached, and the files are not in the cache.
        MissingExtra: the package vllm is not installed.
    """

    batch_size = PROMPTS

    def __init__(self, name: str, *, device: str | None = None, max_tokens: int = 64) -> None:
        if device not in (None, ALL_GPUS):
            raise InputError(
                f"--device {device}: vLLM takes the first GPU, or all with --device auto; set CUDA_VISIBLE_DEVICES"
            )
        os.environ.setdefault("VLLM_LOGGING_STREAM", "ext://sys.stderr")  # standard output is for results
        try:
            import vllm
        except ImportError as error:
            if error.name != "vllm":  # it is installed, and lacks something
                raise
            raise MissingExtra("vllm", "vllm") from None
        import torch

        self.name, self.max_tokens, self._vllm = name, max_tokens, vllm
        local = Path(name).expanduser()
        folder = local if local.is_dir() else hub_folder("--model", name, FILES, EXPECTED)
        weights = folder_version(folder, FILES) if local.is_dir() else folder.name  # the commit
        self.version = f"vllm {weights}"  # no run mixes its answers with those of transformers
        gpus = torch.cuda.device_count() if device == ALL_GPUS else 1
        try:
            self._llm: Any = vllm.LLM(model=str(folder), tensor_parallel_size=max(gpus, 1), trust_remote_code=False)
        except (MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:
            reason = " ".join(str(error).split())[:MOST_SIGNS]  # the first line alone may only count the others
            raise InputError(f"--model {name} cannot be run by vLLM: {redacted(reason)}; {EXPECTED}") from error
        exceptions = getattr(vllm, "exceptions", None)
        self._rejections = (ValueError, getattr(exceptions, "VLLMClientError", ValueError))
        self.sees_images = bool(self._llm.model_config.is_multimodal_model)

    def letter(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """The log-probability of each choice's letter among the most probable next tokens; None for the others."""
        return self._asked(prompts, max_tokens=1, logprobs=ALTERNATIVES)

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """The most probable text, token by token."""
        return self._asked(prompts, max_tokens=self.max_tokens)

    def close(self) -> None:
        """End vLLM's processes."""
        self._llm.llm_engine.engine_core.shutdown()

    def _asked(self, prompts: Sequence[Prompt], **limits: int) -> list[Reply]:
        """The replies to prompts; a failure where vLLM rejects one, as those that are too long."""
        try:
            outputs = self._llm.chat(
                [messages(prompt) for prompt in prompts],
                self._vllm.SamplingParams(temperature=0, **limits),
                use_tqdm=False,
            )
        except self._rejections as error:  # of any of them
            if len(prompts) == 1:
                return [Reply(failure=f"vLLM rejects the prompt: {first_line(error)}")]
            return [reply for prompt in prompts for reply in self._asked([prompt], **limits)]
        return [_reply(output, prompt) for output, prompt in zip(outputs, prompts, strict=True)]


def _reply(output: Any, prompt: Prompt) -> Reply:  # noqa: ANN401  a RequestOutput
    """What vLLM returns for a prompt as a Reply, with scores if log-probabilities were requested."""
    found = output.outputs[0]
    tokens = (len(output.prompt_token_ids or ()), len(found.token_ids))
    if not found.logprobs:
        return Reply(text=found.text, tokens=tokens, cut_off=found.finish_reason == "length")
    first = [(one.decoded_token or "", one.logprob) for one in found.logprobs[0].values()]
    return Reply(scores=letter_scores(first, len(prompt.choices)), tokens=tokens)
