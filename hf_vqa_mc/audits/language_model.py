"""A text-only language model as a probe: what is likely to be said, whatever the image shows."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.audits.probed import NotRun, picked
from hf_vqa_mc.audits.rows import Rows
from hf_vqa_mc.audits.shortcut import Knows, Shortcut
from hf_vqa_mc.errors import InputError

BATCH_SIZE = 32
READ = 2000
"""Characters of a text that are read at most."""
LONGEST = 512
"""Tokens that a model is given at most; of more the first are left out."""

Progress = Callable[[str, int, int], None]


def language_model_probe(
    asked: Rows,
    name: str,
    *,
    with_question: bool,
    device: str | None = None,
    batch_size: int = BATCH_SIZE,
    progress: Progress = lambda step, done, total: None,
    deadline: float | None = None,
) -> Shortcut | NotRun:
    """Let a causal language model pick the choice that it finds most likely, per character.

    A choice's score is its log-likelihood after ``Question: ... Answer:``, or after ``Answer:`` alone, divided by its
    characters, so that long choices are not at a disadvantage (lm-eval's ``acc_norm``, which divides by bytes). It
    was trained on none of the rows, as far as its makers know.

    Args:
        asked: rows to answer.
        name: a model on the Hub, or the folder of one, with safetensors weights.
        with_question: whether it is given the question.
        device: by default the GPU if there is one.
        batch_size: choices at a time.
        progress: told (step, done, total).
        deadline: of `time.monotonic`.

    Raises:
        InputError: there is no such model, or it is no causal language model.
        ConnectionError: the Hub cannot be reached, and the model is not in the cache.
    """
    knows: Knows = "question" if with_question else "choices"
    told = f"language model {name}: {'question and choices' if with_question else 'choices alone'}"
    progress(f"loading {name}", 0, 1)
    model = _load(name, device)
    progress(f"loading {name}", 1, 1)
    questions = np.where(with_question, asked.questions, -1)
    row = asked.there.nonzero()[0]
    pairs = np.stack([questions[row], asked.texts[asked.there]], axis=1)
    different, number = np.unique(pairs, axis=0, return_inverse=True)
    contexts = [_context(asked.vocabulary.questions[one] if one >= 0 else None) for one in different[:, 0]]
    choices = [asked.vocabulary.choices[one] for one in different[:, 1]]
    found = model.log_likelihoods(contexts, choices, batch_size, progress, deadline)
    if found is None:
        return NotRun(told, "the time was over before it had read all rows")
    scores = np.full(asked.there.shape, -np.inf)
    scores[asked.there] = (found / np.array([max(len(choice), 1) for choice in choices]))[number.ravel()]
    seen = "asks a language model for what is likely to be said" + (", with the question" if with_question else "")
    return Shortcut(told, knows, seen, picked(scores, asked), probe=True)


@dataclass(frozen=True, eq=False)
class _Model:
    """A causal model and its tokenizer."""

    tokenizer: Any
    model: Any
    device: str
    longest: int

    def log_likelihoods(
        self,
        contexts: Sequence[str],
        choices: Sequence[str],
        batch_size: int,
        progress: Progress,
        deadline: float | None,
    ) -> NDArray[np.float64] | None:
        """The log-likelihood of each choice after its context, (choices,); None where the time was over."""
        encoded = [self._tokens(context, choice) for context, choice in zip(contexts, choices, strict=True)]
        order = sorted(range(len(encoded)), key=lambda place: -len(encoded[place][0]))  # little padding; longest first
        found = np.empty(len(encoded))
        for first in range(0, len(order), batch_size):
            if deadline is not None and time.monotonic() > deadline:
                return None
            block = order[first : first + batch_size]
            found[block] = self._batch([encoded[place] for place in block])
            progress("language model", min(first + batch_size, len(order)), len(order))
        return found

    def _tokens(self, context: str, choice: str) -> tuple[list[int], int]:
        """All tokens, and how many of them are the choice's."""
        before = self.tokenizer(context, add_special_tokens=False)["input_ids"]
        start = self.tokenizer.bos_token_id
        own = self.tokenizer(" " + choice[:READ].strip(), add_special_tokens=False)["input_ids"][: self.longest // 2]
        tokens = [*([] if start is None else [start]), *before, *own]
        return tokens[-self.longest :], len(own)

    def _batch(self, encoded: Sequence[tuple[list[int], int]]) -> list[float]:
        """Shorter ones are filled up behind, where no token that counts can see it."""
        import torch

        longest = max(len(tokens) for tokens, _ in encoded)
        tokens = torch.zeros(len(encoded), longest, dtype=torch.int64)
        mask = torch.zeros_like(tokens)
        for place, (of_one, _) in enumerate(encoded):
            tokens[place, : len(of_one)] = torch.tensor(of_one)
            mask[place, : len(of_one)] = 1
        with torch.inference_mode():
            given = self.model(input_ids=tokens.to(self.device), attention_mask=mask.to(self.device))
            log_chances = given.logits.float().log_softmax(-1)
        sums = []
        for place, (of_one, count) in enumerate(encoded):
            if not count:  # nothing that could be said
                sums.append(-np.inf)
                continue
            said = torch.tensor(of_one[-count:], device=log_chances.device)
            before = log_chances[place, len(of_one) - count - 1 : len(of_one) - 1]
            sums.append(float(before.gather(1, said[:, None]).double().sum()))
        return sums


def _context(question: str | None) -> str:
    return "Answer:" if question is None else f"Question: {question[:READ].strip()}\nAnswer:"


def _load(name: str, device: str | None) -> _Model:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from transformers.utils import logging as untyped

    logging: Any = untyped
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype = torch.bfloat16 if device.startswith("cuda") else torch.float32
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        tokenizers: Any = AutoTokenizer
        tokenizer = tokenizers.from_pretrained(name)
        model: Any = AutoModelForCausalLM.from_pretrained(name, dtype=dtype, use_safetensors=True)
    except (OSError, ValueError, KeyError) as error:
        first_line = " ".join(str(error).strip().split("\n")[0].split())
        lost = "connect" in str(error).lower() or "offline" in str(error).lower()
        kind = ConnectionError if lost else InputError
        raise kind(
            f"--language-model {name}: {first_line}; expected a folder or a name on the Hub of a causal language "
            "model with safetensors weights"
        ) from error
    finally:
        if bars:
            logging.enable_progress_bar()
    longest = getattr(model.config, "max_position_embeddings", None) or LONGEST
    return _Model(tokenizer, model.eval().to(device), device, min(longest, LONGEST))
