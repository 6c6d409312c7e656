"""A text-only language model as a probe."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from hf_vqa_mc.audits.probes.probe import Context, Probe, Skipped
from hf_vqa_mc.audits.shortcut import Prediction, ProbeInputs
from hf_vqa_mc.text.question_encoder import load_text_model

BATCH_SIZE = 32
READ = 2000
"""Maximum number of characters read of a text."""
LONGEST = 512
"""Maximum number of tokens; longer prompts are truncated from the left."""
COST = 30


def predict(
    context: Context, with_question: bool, device: str | None = None, batch_size: int = BATCH_SIZE
) -> Prediction:
    """Pick the choice with the highest log-likelihood per character under a causal language model.

    The prompt is ``Question: ... Answer:``, or ``Answer:`` alone. lm-eval's ``acc_norm`` is the same
    per byte. The model is not trained on the benchmark.

    Args:
        context: its settings name the model: on the Hub, or a folder, with safetensors weights.
        with_question: whether the prompt has the question.
        device: by default the GPU if there is one.
        batch_size: choices per batch.

    Raises:
        InputError: there is no such causal language model.
        ConnectionError: the Hub cannot be reached, and the model is not in the cache.
        Skipped: the time limit is exceeded.
    """
    import torch

    rows, name = context.rows.take(context.tested), context.settings.language_model or ""
    context.progress(f"loading {name}", 0, 1)
    device = device or ("cuda" if torch.cuda.is_available() else "cpu")
    dtype, kind = torch.bfloat16 if device.startswith("cuda") else torch.float32, "causal language model"
    tokenizer, model = load_text_model(name, "AutoModelForCausalLM", "--language-model", kind, dtype=dtype)
    model = model.to(device)
    context.progress(f"loading {name}", 1, 1)
    questions = np.where(with_question, rows.questions, -1)
    row = rows.valid.nonzero()[0]
    pairs = np.stack([questions[row], rows.texts[rows.valid]], axis=1)
    distinct, number = np.unique(pairs, axis=0, return_inverse=True)
    texts = (
        f"Question: {rows.vocabulary.questions[one][:READ].strip()}\n" if one >= 0 else "" for one in distinct[:, 0]
    )
    prompts = [f"{question}Answer:" for question in texts]
    choices = [rows.vocabulary.choices[one] for one in distinct[:, 1]]
    encoded = [_tokens(tokenizer, model, prompt, choice) for prompt, choice in zip(prompts, choices, strict=True)]
    order = sorted(range(len(encoded)), key=lambda index: -len(encoded[index][0]))  # longest first: little padding
    found = np.empty(len(encoded))
    for first in range(0, len(order), batch_size):
        if context.time_is_over:
            raise Skipped("the time limit was reached before all rows were scored")
        block = order[first : first + batch_size]
        found[block] = _log_likelihoods(model, [encoded[index] for index in block])
        context.progress("language model", min(first + batch_size, len(order)), len(order))
    values = np.full(rows.valid.shape, -np.inf)
    values[rows.valid] = (found / np.array([max(len(choice), 1) for choice in choices]))[number.ravel()]
    return context.on_tested(values)


def _tokens(tokenizer: Any, model: Any, prompt: str, choice: str) -> tuple[list[int], int]:  # noqa: ANN401
    """All tokens, and the number of the choice's tokens."""
    longest = min(getattr(model.config, "max_position_embeddings", None) or LONGEST, LONGEST)
    before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    start = [] if tokenizer.bos_token_id is None else [tokenizer.bos_token_id]
    own = tokenizer(" " + choice[:READ].strip(), add_special_tokens=False)["input_ids"][: longest // 2]
    return [*start, *before, *own][-longest:], len(own)


def _log_likelihoods(model: Any, encoded: Sequence[tuple[list[int], int]]) -> list[float]:  # noqa: ANN401
    """Log-likelihood of each choice after its prompt; padding on the right is causal-masked."""
    import torch
    from torch.nn.utils.rnn import pad_sequence

    tokens = pad_sequence([torch.tensor(of_one) for of_one, _ in encoded], batch_first=True)
    lengths = torch.tensor([len(of_one) for of_one, _ in encoded])
    mask = (torch.arange(tokens.shape[1]) < lengths[:, None]).long()
    with torch.inference_mode():
        given = model(input_ids=tokens.to(model.device), attention_mask=mask.to(model.device))
        log_probabilities = given.logits.float().log_softmax(-1)
    sums = []
    for index, (of_one, count) in enumerate(encoded):
        own = torch.tensor(of_one[len(of_one) - count :], dtype=torch.int64, device=log_probabilities.device)
        before = log_probabilities[index, len(of_one) - count - 1 : len(of_one) - 1]
        sums.append(float(before.gather(1, own[:, None]).double().sum()) if count else -np.inf)  # 0: an empty choice
    return sums


LANGUAGE_MODELS = tuple(
    Probe(
        f"language model {{language_model}}: {sees.label}",
        sees,
        f"asks a language model for the likeliest answer{given}",
        partial(predict, with_question=sees.question),
        trained=True,
        cost=COST,
        setting="language_model",
    )
    for sees, given in ((ProbeInputs.CHOICES, ""), (ProbeInputs.QUESTION, ", given the question"))
)
