"""Models behind an OpenAI-compatible server: vLLM, SGLang, ``transformers serve`` and commercial ones."""

import base64
import math
import os
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from hf_vqa_mc.data.questions import LETTERS
from hf_vqa_mc.errors import InputError, MissingExtra
from hf_vqa_mc.evaluation.language_model import Prompt, Reply
from hf_vqa_mc.io.hub_folder import first_line
from hf_vqa_mc.io.redaction import redacted

KEY = "OPENAI_API_KEY"  # environment variable of the server's key
TIMEOUT = 120.0  # time limit of a request in seconds; a later reply is asked for again
RETRIES = 6
"""Attempts after overload (429), server errors and lost connections; waiting doubles up to 8 s, or is Retry-After."""
MALFORMED = 3  # attempts after replies that cannot be read
COMPLETION = "max_completion_tokens"  # parameter of models that reject ``max_tokens``
MOST_SIGNS = 300  # maximum length of a server's reason in messages
ALTERNATIVES = 20  # number of most probable tokens that are requested, the maximum of most servers
_IMAGE_LIMIT = re.compile(r"(?i)at most \d+ image|(only|more than) (one|a single|1) image|multiple images")
MEDIA_TYPES = {b"\xff\xd8": "jpeg", b"\x89PNG": "png", b"GIF8": "gif", b"RIFF": "webp"}  # by the first bytes of a file
REFUSED = (401, 403, 404)  # status codes that end a run: no other request can succeed


class ServedModel:
    """A model behind a server with the chat completions API.

    The key is read from the environment variable OPENAI_API_KEY only, and never written.
    """

    sees_images = True
    max_images = None
    batch_size = 1

    def __init__(self, name: str, base_url: str, concurrency: int, max_tokens: int, temperature: float = 0.0) -> None:
        try:
            import openai
        except ImportError:
            raise MissingExtra("openai", "evaluate") from None
        self.name, self.concurrency, self.max_tokens, self._url = name, concurrency, max_tokens, base_url
        self._errors: Any = openai
        self._limits: dict[str, float | None] = {"temperature": temperature, "max_tokens": None}
        self._key = os.environ.get(KEY, "").strip()
        key = self._key or "none"
        self._client: Any = openai.OpenAI(base_url=base_url, api_key=key, timeout=TIMEOUT, max_retries=RETRIES)
        try:  # a wrong address is found at once
            self._client.with_options(max_retries=1).models.list()
        except openai.APIConnectionError as error:
            reason = f"--base-url {base_url} cannot be reached: {self._line(error)}; is it running?"
            raise ConnectionError(reason) from None
        except (openai.OpenAIError, ValueError, TypeError, AttributeError):
            pass  # its requests are answered, or say why not

    def letter(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """The log-probability of each choice's letter among the most probable next tokens; None for the others."""
        options = {"logprobs": True, "top_logprobs": ALTERNATIVES}
        return [self._asked(prompt, self._letters, options, 1) for prompt in prompts]

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """The text."""
        return [self._asked(prompt, self._text, {}, self.max_tokens) for prompt in prompts]

    def close(self) -> None:
        """End all connections."""
        self._client.close()

    def _asked(
        self, prompt: Prompt, read: Callable[[Any, Prompt], Reply], options: dict[str, Any], max_tokens: int
    ) -> Reply:
        """The reply to a prompt; requests with replies that cannot be read are repeated."""
        reason, server, count = "", f"--base-url {self._url}", len(prompt.images)
        for _ in range(MALFORMED):
            used = self._limits
            try:
                limits = {name: max_tokens if value is None else value for name, value in used.items()}
                create = self._client.chat.completions.create
                return read(create(model=self.name, messages=messages(prompt), **limits, **options), prompt)
            except InputError:
                raise
            except self._errors.APIStatusError as error:
                reason = self._line(error)
                if error.status_code in REFUSED:
                    raise InputError(f"{server}: {reason}; {self._remedy(error)}") from None
                if error.status_code >= 500 or error.status_code == 429:
                    raise ConnectionError(f"{server}: {reason}; try again later: the run resumes") from None
                if count > 1 and _IMAGE_LIMIT.search(reason):
                    raise InputError(
                        f"{server}: {count} images in a prompt; the server takes fewer: {reason}; raise its limit "
                        "(vLLM: --limit-mm-per-prompt), or use another model"
                    ) from None
                if used is self._limits and not self._changed_limits(str(error)):
                    return Reply(failure=f"the server rejects the request: {reason}")
            except self._errors.APIConnectionError as error:
                again = "start the server, and run the command again: it resumes"
                raise ConnectionError(f"{server}: {self._line(error)}; {again}") from None
            except (ValueError, TypeError, AttributeError, LookupError) as error:
                reason = self._line(error)
        return Reply(failure=f"the server's reply cannot be read: {reason}")

    def _changed_limits(self, message: str) -> bool:
        """Use other parameters if a model rejects ours, as those of OpenAI that reason; whether there are any."""
        for name, other in (("max_tokens", {COMPLETION: None}), ("temperature", {})):
            if name in self._limits and (name if not other else COMPLETION) in message:
                rest = {one: value for one, value in self._limits.items() if one != name}
                self._limits = {**rest, **other}
                return True
        return False

    def _text(self, answer: Any, prompt: Prompt) -> Reply:  # noqa: ANN401  a ChatCompletion
        message, reason = answer.choices[0].message, answer.choices[0].finish_reason
        text = message.content
        if isinstance(text, list):  # of parts, some of them thinking
            text = "".join(part["text"] for part in text if part["type"] == "text")
        if text is None:  # a refusal, or the maximum number of tokens was reached while thinking
            text = getattr(message, "refusal", None) or ""
        if not isinstance(text, str):
            raise ValueError("it has no text")
        return Reply(text=text, tokens=_usage(answer), cut_off=reason == "length")

    def _letters(self, answer: Any, prompt: Prompt) -> Reply:  # noqa: ANN401  a ChatCompletion
        found = answer.choices[0].logprobs
        if found is None or not found.content:
            none = "the server returns no log-probabilities (top_logprobs)"
            raise InputError(f"--base-url {self._url}: {none}; use --method generate")
        tokens = [(one.token, one.logprob) for one in found.content[0].top_logprobs]
        return Reply(scores=letter_scores(tokens, len(prompt.choices)), tokens=_usage(answer))

    def _remedy(self, error: Any) -> str:  # noqa: ANN401  an APIStatusError
        if error.status_code == 404:
            return "check --model, and that --base-url ends like http://localhost:8000/v1"
        return f"set the environment variable {KEY} to a valid key" if not self._key else f"check the key in {KEY}"

    def _line(self, error: Exception) -> str:
        """The first line of an error's message, with the server's reason and without the key."""
        line, body = first_line(error), getattr(error, "body", None)
        reason = body.get("detail", body.get("error")) if isinstance(body, dict) else body
        if isinstance(reason, str) and reason and reason not in line:  # as servers with FastAPI give it
            line += f" - {redacted(reason.splitlines()[0][:MOST_SIGNS])}"
        return line.replace(self._key, "[key]") if self._key else line


def _usage(answer: Any) -> tuple[int, int] | None:  # noqa: ANN401  a ChatCompletion
    used = getattr(answer, "usage", None)
    return None if used is None else (int(used.prompt_tokens or 0), int(used.completion_tokens or 0))


def messages(prompt: Prompt) -> list[dict[str, Any]]:
    """The user's message, with the images as data addresses."""
    parts = [
        {"type": "text", "text": part}
        if isinstance(part, str)
        else {"type": "image_url", "image_url": {"url": data_uri(part)}}
        for part in prompt.parts
    ]
    return [{"role": "user", "content": parts if prompt.images else prompt.text}]


def data_uri(content: bytes) -> str:
    """The address that holds a JPEG, PNG, GIF or WEBP file."""
    media_type = next((name for start, name in MEDIA_TYPES.items() if content.startswith(start)), "png")
    return f"data:image/{media_type};base64,{base64.b64encode(content).decode()}"


def letter_scores(tokens: Iterable[tuple[str, float]], n_choices: int) -> tuple[float | None, ...]:
    """The log-probability of each choice's letter, of all its tokens such as "A" and " A"; None if unknown.

    >>> letter_scores([("B", -0.5), ("x", -1.0)], 2)
    (None, -0.5)
    """
    pairs = [(token.strip(), score) for token, score in tokens if math.isfinite(score)]
    of_each = ([score for sign, score in pairs if sign == letter] for letter in LETTERS[:n_choices])
    return tuple(float(np.logaddexp.reduce(scores)) if scores else None for scores in of_each)
