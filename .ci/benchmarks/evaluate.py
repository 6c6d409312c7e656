"""How fast models are evaluated: `python .ci/benchmarks/evaluate.py`.

A vision-language model with random weights, next to a plain loop of the same model, one prompt and one choice at a
time; likelihood also next to reading the prompt again for each choice. They take turns, the medians count. Requests to
a server that answers at once, in a process of its own, next to an object that does.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import torch
from transformers import CLIPVisionConfig, LlamaConfig

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import hf_vqa_mc as vm  # noqa: E402
from hf_vqa_mc.evaluation.language_model import Prompt  # noqa: E402
from hf_vqa_mc.evaluation.transformers_model import TransformersModel  # noqa: E402
from tests.evaluation import tiny_models, worlds  # noqa: E402

Row = tuple[str, float, str, str]
"""What was measured, its value, the unit, what is required ("" where nothing is)."""

QUESTIONS, BATCH, TURNS, MAX_TOKENS = 8, 8, 3, 8
SIDE, PATCH = 168, 14
"""Pixels of images and of patches, 144 of which are read per image."""
COUNTS = (4, 7)
"""Numbers of choices."""
CONCURRENCY, ASKED = 64, 2000
SERVER = "from tests.evaluation.served import Served; s = Served().__enter__(); print(s.url, flush=True); input()"


def rows() -> Iterator[Row]:
    """The figures, as they come."""
    yield from model_rows()
    yield from server_rows()


def model_rows() -> Iterator[Row]:
    """Rows per second of each method."""
    with tempfile.TemporaryDirectory() as folder:
        model = TransformersModel(str(made(Path(folder))), batch_size=BATCH, max_tokens=MAX_TOKENS, device="cpu")
    for n_choices in COUNTS:
        prompts = made_prompts(n_choices)
        model.likelihood(prompts[:BATCH])  # finds out that the prompts can be shared
        seconds = in_turns(
            {
                "shared": lambda prompts=prompts: in_batches(model.likelihood, prompts),
                "again": lambda prompts=prompts: read_again(model, prompts),
                "loop": lambda prompts=prompts: [plain_likelihood(model, prompt) for prompt in prompts],
            }
        )
        what = f"likelihood, image and {n_choices} choices"
        yield f"{what}: rows per second", QUESTIONS / seconds["shared"], "", ""
        yield f"{what}: faster than a plain loop", seconds["loop"] / seconds["shared"], "x", "> 1.5"
        yield f"{what}: faster than reading the prompt per choice", seconds["again"] / seconds["shared"], "x", "> 1.5"
    prompts = made_prompts(COUNTS[0])
    methods: dict[str, tuple[Any, Any]] = {
        "letter": (model.letter, plain_letter),
        "generate": (model.generate, plain_text),
    }
    for name, (ours, plain) in methods.items():
        seconds = in_turns(
            {
                "ours": lambda ours=ours: in_batches(ours, prompts),
                "loop": lambda plain=plain: [plain(model, prompt) for prompt in prompts],
            }
        )
        yield f"{name}, image and {COUNTS[0]} choices: rows per second", QUESTIONS / seconds["ours"], "", ""
        yield f"{name}: faster than a plain loop", seconds["loop"] / seconds["ours"], "x", ""


def server_rows() -> Iterator[Row]:
    """Milliseconds per request, more than an object that answers at once."""
    frame = worlds.benchmark(ASKED)
    server = subprocess.Popen(
        [sys.executable, "-c", SERVER], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        address = server.stdout.readline().strip() if server.stdout else ""
        for name in ("full", "no-image"):
            seconds = in_turns(
                {
                    "server": lambda name=name: vm.evaluate(
                        frame, model="tiny", base_url=address, concurrency=CONCURRENCY, inputs=[name]
                    ),
                    "object": lambda name=name: vm.evaluate(frame, model=Instant(), inputs=[name]),
                }
            )
            each = 1000 * (seconds["server"] - seconds["object"]) / ASKED
            yield f"overhead of a request, input {name}, {CONCURRENCY} at a time", each, "ms", "< 5"
    finally:
        server.kill()
        server.wait()


class Instant:
    """Answers at once."""

    def generate(self, prompts: Sequence[Prompt]) -> list[str]:
        """The letter B."""
        return ["B" for _ in prompts]


def made(folder: Path) -> Path:
    """LLaVA, small and with random weights, in a folder."""
    vision = CLIPVisionConfig(
        hidden_size=192, intermediate_size=768, num_hidden_layers=4, num_attention_heads=4, image_size=SIDE,
        patch_size=PATCH, projection_dim=64,
    )  # fmt: skip
    text = LlamaConfig(
        vocab_size=len(tiny_models.WORDS), hidden_size=256, intermediate_size=768, num_hidden_layers=6,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=2048, pad_token_id=0, bos_token_id=1,
        eos_token_id=2,
    )  # fmt: skip
    return tiny_models.vision_language(folder / "model", longest=2048, vision=vision, text=text)


def made_prompts(n_choices: int) -> list[Prompt]:
    """Prompts with images, and choices of one to three words."""
    words = tiny_models.WORDS[10:35]
    return [
        Prompt(
            "Question: what color is the small ring ?\nAnswer with a word or short phrase .",
            tuple(" ".join(words[(row + at) % 20 : (row + at) % 20 + 1 + at % 3]) for at in range(n_choices)),
            image=worlds.picture((10 * row, 40, 200), (320, 240)),
        )
        for row in range(QUESTIONS)
    ]


def in_batches(ask: Callable[[Sequence[Prompt]], list[Any]], prompts: Sequence[Prompt]) -> list[Any]:
    """The replies to batches."""
    return [reply for first in range(0, len(prompts), BATCH) for reply in ask(prompts[first : first + BATCH])]


def read_again(model: TransformersModel, prompts: Sequence[Prompt]) -> list[Any]:
    """Likelihoods with each prompt and its image read again for each choice."""
    known, model._continuations._shares = model._continuations._shares, {True: False}
    found = in_batches(model.likelihood, prompts)
    model._continuations._shares = known
    return found


def plain_likelihood(model: TransformersModel, prompt: Prompt) -> list[float]:
    """The log-probability of each choice, one at a time."""
    found = []
    for text in prompt.choices:
        tokens = torch.tensor([model._tokenizer(text, add_special_tokens=False)["input_ids"]])
        inputs = model._encoded([prompt])
        inputs["input_ids"] = torch.cat([inputs["input_ids"], tokens], 1)
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
        with torch.inference_mode():
            logits = model._model(**inputs).logits[0, -tokens.shape[1] - 1 : -1].log_softmax(-1)
        found.append(float(logits.gather(1, tokens.T).sum()))
    return found


def plain_letter(model: TransformersModel, prompt: Prompt) -> Any:  # noqa: ANN401  a Tensor
    """The log-probabilities of the next token."""
    with torch.inference_mode():
        return model._model(**model._encoded([prompt])).logits[0, -1].log_softmax(-1)


def plain_text(model: TransformersModel, prompt: Prompt) -> str:
    """The text that the model writes."""
    inputs = model._encoded([prompt])
    written = model._model.generate(**inputs, max_new_tokens=MAX_TOKENS, do_sample=False, pad_token_id=0)
    return str(model._tokenizer.decode(written[0, inputs["input_ids"].shape[1] :]))


def in_turns(works: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The median seconds of each work; they take turns."""
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for name in [*works] * TURNS:
        start = time.perf_counter()
        works[name]()
        seconds[name].append(time.perf_counter() - start)
    return {name: median(of) for name, of in seconds.items()}


if __name__ == "__main__":
    for row in rows():
        print(*row, sep="\t")
