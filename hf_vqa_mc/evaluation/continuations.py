"""Log-probabilities of several continuations of each prompt, by a model of transformers.

A prompt is read once, with its image, and its keys and values are shared by its continuations. Not all models can do
this: some keep other states (recurrent ones, attention to the image), or drop some (sliding windows). So the first
batch is also read in full, each prompt again with each of its continuations, and models whose scores differ are read
so from then on.
"""

import copy
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

LOG = logging.getLogger("hf_vqa_mc")
ROUNDING = 8  # maximum difference of the same score by two ways, in units of the precision of the model's numbers
SMALLEST = 1e-3  # difference that is permitted at any precision
Encoded = dict[str, Tensor]  # tensors of prompts, padded on the left
Continuation = tuple[int, Sequence[int]]  # index of a prompt in its batch, and the tokens that follow


class Continuations:
    """Scores continuations of prompts."""

    def __init__(self, model: Any, sees_images: bool, pad: int, batch_size: int) -> None:  # noqa: ANN401  of any type
        self._model, self._sees_images, self._pad, self._batch_size = model, sees_images, pad, batch_size
        self._parameters = inspect.signature(model.forward).parameters
        self._with_deltas = next((one for one in model.modules() if hasattr(one, "rope_deltas")), None)
        self._shares: dict[bool, bool] = {}
        """Whether prompts are shared, by whether there are images; missing before the first batch."""

    def scores(
        self, encoded: Encoded, rows: Sequence[Continuation], repeated: Callable[[Sequence[int]], Encoded]
    ) -> list[float]:
        """The log-probability of each continuation, summed over its tokens."""
        has_images = any(name.startswith("pixel_values") for name in encoded)
        needs_cache = max(len(tokens) for _, tokens in rows) > 1
        shares = self._shares.get(has_images) if needs_cache else True
        found = None if shares is False else self._shared(encoded, rows, needs_cache, is_first=shares is None)
        if found is not None and shares:
            return found
        plain = [
            score
            for some in self._batches(rows)
            for score in self._in_full(repeated([index for index, _ in some]), [tokens for _, tokens in some])
        ]
        if shares is None:
            step = ROUNDING * torch.finfo(self._model.dtype).eps
            pairs = zip(found or plain, plain, strict=True)
            is_equal = all(abs(one - other) <= max(SMALLEST, step * (1 + abs(other))) for one, other in pairs)
            self._shares[has_images] = found is not None and is_equal
            if not self._shares[has_images]:
                LOG.info("the model cannot share prompts among their choices: each is read once per choice")
        return plain

    def logits(self, encoded: Encoded, last: int) -> Tensor:
        """The logits of the last positions, float32 (prompts, last, words)."""
        found: Tensor = self._run(encoded, last, use_cache=False).logits
        return found[:, -last:].float()

    def _batches(self, rows: Sequence[Continuation]) -> list[Sequence[Continuation]]:
        return [rows[first : first + self._batch_size] for first in range(0, len(rows), self._batch_size)]

    def _run(self, encoded: Encoded, last: int, use_cache: bool) -> Any:  # noqa: ANN401  a ModelOutput
        options: dict[str, Any] = {"use_cache": use_cache} if "use_cache" in self._parameters else {}
        if "logits_to_keep" in self._parameters:
            options["logits_to_keep"] = last
        if not self._sees_images and "position_ids" in self._parameters:  # padding on the left moves the words
            options["position_ids"] = _positions(encoded["attention_mask"])
        with torch.inference_mode():
            return self._model(**encoded, **options)

    def _in_full(self, encoded: Encoded, tokens: Sequence[Sequence[int]]) -> list[float]:
        """The log-probability of one continuation of each prompt, read together with it."""
        added, mask = self._padded(tokens)
        most, of_prompt = added.shape[1], encoded["input_ids"].shape
        ends = {"input_ids": added, "attention_mask": mask}
        for name, one in encoded.items():
            if one.shape == of_prompt:  # others, such as token types, are 0 for text
                encoded[name] = torch.cat([one, ends.get(name, torch.zeros_like(added)).to(one.dtype)], 1)
            elif name == "cross_attention_mask":  # the words after an image see it
                encoded[name] = torch.cat([one, one[:, -1:].expand(-1, most, *one.shape[2:])], 1)
        return _summed(self.logits(encoded, most + 1)[:, :-1], added, mask)

    def _shared(
        self, encoded: Encoded, rows: Sequence[Continuation], needs_cache: bool, is_first: bool
    ) -> list[float] | None:
        """The log-probabilities with keys and values of the prompts shared; None if this is not possible."""
        output = self._run(encoded, 1, needs_cache)
        cache, first = getattr(output, "past_key_values", None), output.logits[:, -1:].float()
        mask = encoded["attention_mask"]
        if needs_cache and not _is_whole(cache, mask.shape[1]):
            return None
        deltas = getattr(self._with_deltas, "rope_deltas", None) if "image_grid_thw" in encoded else None
        try:
            return [score for some in self._batches(rows) for score in self._after(cache, first, mask, deltas, some)]
        except torch.OutOfMemoryError:
            raise
        except (AttributeError, IndexError, KeyError, RuntimeError, TypeError, ValueError):
            if not is_first:  # the model could do it before
                raise
            return None

    def _after(
        self,
        cache: Any,  # noqa: ANN401
        first: Tensor,
        mask: Tensor,
        deltas: Tensor | None,
        some: Sequence[Continuation],
    ) -> list[float]:
        """The log-probabilities of continuations of prompts that were read."""
        index = torch.tensor([prompt for prompt, _ in some])
        added, is_token = self._padded([tokens for _, tokens in some])
        logits = first[index]
        if added.shape[1] > 1:
            seen = torch.cat([mask[index], is_token[:, :-1]], 1)
            new = seen.shape[1] - mask.shape[1]
            options: dict[str, Any] = {}
            if deltas is not None:
                options["position_ids"] = _positions(seen)[:, -new:] + deltas.to(seen.device)[index]
            elif self._with_deltas is not None:  # which are of other prompts
                options["position_ids"] = torch.arange(mask.shape[1], seen.shape[1], device=seen.device).expand(
                    len(some), -1
                )
            elif not self._sees_images and "position_ids" in self._parameters:
                options["position_ids"] = _positions(seen)[:, -new:]
            with torch.inference_mode():
                found = copy.copy(cache)
                found.layers = [copy.copy(one) for one in cache.layers]
                found.batch_select_indices(index)
                output = self._model(
                    input_ids=added[:, :-1], attention_mask=seen, past_key_values=found,
                    use_cache=True, **options,
                )  # fmt: skip
            logits = torch.cat([logits, output.logits.float()], 1)
        return _summed(logits, added, is_token)

    def _padded(self, tokens: Sequence[Sequence[int]]) -> tuple[Tensor, Tensor]:
        """Tokens padded on the right, and a mask that is 1 at tokens, both int64 (continuations, most tokens)."""
        added = torch.full((len(tokens), max(map(len, tokens))), self._pad)
        mask = torch.zeros_like(added)
        for row, of_row in enumerate(tokens):
            added[row, : len(of_row)], mask[row, : len(of_row)] = torch.tensor(of_row, dtype=torch.int64), 1
        return added.to(self._model.device), mask.to(self._model.device)


def _positions(mask: Tensor) -> Tensor:
    """The position of each token, without counting padding."""
    return (mask.cumsum(1) - 1).clamp(min=0)


def _summed(logits: Tensor, tokens: Tensor, mask: Tensor) -> list[float]:
    """The log-probability of each row's tokens."""
    if not tokens.shape[1]:
        return [0.0] * len(tokens)
    found = logits.log_softmax(-1).gather(-1, tokens[..., None])[..., 0]
    return [float(score) for score in (found * mask).sum(1)]


def _is_whole(cache: Any, length: int) -> bool:  # noqa: ANN401  any cache, or none
    """Whether a cache has the keys and values of all tokens in all layers, and nothing else."""
    from transformers.cache_utils import DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

    if type(cache) is not DynamicCache:
        return False
    layers: list[Any] = cache.layers
    kinds = (DynamicLayer, DynamicSlidingWindowLayer)
    return all(type(one) in kinds and one.is_initialized and one.keys.shape[-2] == length for one in layers)
