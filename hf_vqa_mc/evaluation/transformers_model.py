"""Language models of transformers, with and without vision, on this machine."""

import inspect
import io
import logging
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any
from zlib import crc32

import torch
from PIL import Image
from torch import Tensor

from hf_vqa_mc.data.questions import LETTERS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.language_model import Prompt, Reply, rgb
from hf_vqa_mc.extraction.model_files import check_weights, folder_version, quiet
from hf_vqa_mc.io.hub_folder import first_line, hub_folder

LOG = logging.getLogger("hf_vqa_mc")
TRIAL = (64, 64)  # size of the images with which it is tried whether a prompt may have several
FILES = ("*.json", "*.safetensors", "*.model", "*.txt", "*.jinja")  # files read of a model; no pickles, no code
EXPECTED = "expected a folder of save_pretrained, or a name on the Hub, of a causal or image-text-to-text model"
MOST_TOKENS = 64  # maximum number of generated tokens
BETWEEN = (" ", "\n", "")  # signs that may come before a letter and belong to its token

Encoded = dict[str, Tensor]  # tensors of prompts, padded on the left
Continuation = tuple[int, Sequence[int]]  # index of a prompt in its batch, and the tokens that follow


class Continuations:
    """Scores continuations of prompts: each prompt is read once per continuation, or once if all have one token."""

    def __init__(self, model: Any, sees_images: bool, pad: int, batch_size: int) -> None:  # noqa: ANN401  of any type
        self._model, self._sees_images, self._pad, self._batch_size = model, sees_images, pad, batch_size
        self._parameters = inspect.signature(model.forward).parameters

    def scores(
        self, encoded: Encoded, rows: Sequence[Continuation], repeated: Callable[[Sequence[int]], Encoded]
    ) -> list[float]:
        """The log-probability of each continuation, summed over its tokens; ``repeated`` encodes prompts by index."""
        if max(len(tokens) for _, tokens in rows) <= 1:
            found = self.logits(encoded, 1)[:, -1].log_softmax(-1)
            return [float(found[index, list(tokens)].sum()) for index, tokens in rows]
        scores: list[float] = []
        for first in range(0, len(rows), self._batch_size):
            some = rows[first : first + self._batch_size]
            scores += self._in_full(repeated([index for index, _ in some]), [tokens for _, tokens in some])
        return scores

    def logits(self, encoded: Encoded, last: int) -> Tensor:
        """The logits of the last positions, float32 (prompts, last, words)."""
        options: dict[str, Any] = {"use_cache": False} if "use_cache" in self._parameters else {}
        if "logits_to_keep" in self._parameters:
            options["logits_to_keep"] = last
        if not self._sees_images and "position_ids" in self._parameters:  # padding on the left moves the words
            options["position_ids"] = (encoded["attention_mask"].cumsum(1) - 1).clamp(min=0)
        with torch.inference_mode():
            found: Tensor = self._model(**encoded, **options).logits
        return found[:, -last:].float()

    def _in_full(self, encoded: Encoded, tokens: Sequence[Sequence[int]]) -> list[float]:
        """The log-probability of one continuation of each prompt, padded on the right and read together with it."""
        added = torch.full((len(tokens), max(map(len, tokens))), self._pad)
        mask = torch.zeros_like(added)
        for row, of_row in enumerate(tokens):
            added[row, : len(of_row)], mask[row, : len(of_row)] = torch.tensor(of_row, dtype=torch.int64), 1
        added, mask = added.to(self._model.device), mask.to(self._model.device)
        most, of_prompt = added.shape[1], encoded["input_ids"].shape
        ends = {"input_ids": added, "attention_mask": mask}
        for name, one in encoded.items():
            if one.shape == of_prompt:  # others, such as token types, are 0 for text
                encoded[name] = torch.cat([one, ends.get(name, torch.zeros_like(added)).to(one.dtype)], 1)
            elif name == "cross_attention_mask":  # the words after an image see it
                encoded[name] = torch.cat([one, one[:, -1:].expand(-1, most, *one.shape[2:])], 1)
        found = self.logits(encoded, most + 1)[:, :-1].log_softmax(-1).gather(-1, added[..., None])[..., 0]
        return [float(score) for score in (found * mask).sum(1)]


class TransformersModel:
    """A causal language model or image-text-to-text model, with weights in safetensors; a folder or a name on the Hub.

    Prompts are a user's message in the model's chat template; a text-only model without one gets the plain text.
    Prompts of a batch are padded on the left, continuations on the right, which leaves all probabilities unchanged.
    """

    def __init__(
        self,
        name: str,
        *,
        device: str | None = None,
        batch_size: int = 8,
        max_tokens: int = MOST_TOKENS,
        temperature: float = 0.0,
    ) -> None:
        self.name, self.batch_size, self.max_tokens, self.temperature = name, batch_size, max_tokens, temperature
        local = Path(name).expanduser()
        folder = local if local.is_dir() else hub_folder("--model", name, FILES, EXPECTED)
        try:
            with quiet():
                self._load(self._read(folder), folder, device)
        except (InputError, MemoryError, torch.OutOfMemoryError):
            raise
        except Exception as error:
            raise InputError(f"--model {name} cannot be loaded: {first_line(error)}; {EXPECTED}") from error
        self.version = folder_version(folder, FILES) if local.is_dir() else folder.name  # the commit

    def _read(self, folder: Path) -> Any:  # noqa: ANN401  a class of transformers
        """Read the config, the processor and the chat template; returns the class of the model."""
        import transformers
        from transformers.models.auto import modeling_auto

        given: Any = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
        self.sees_images = given.model_type in modeling_auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES
        if not self.sees_images and given.model_type not in modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
            raise InputError(f"--model {self.name} is a model of type {given.model_type!r}; {EXPECTED}")
        auto: Any = transformers.AutoModelForImageTextToText if self.sees_images else transformers.AutoModelForCausalLM
        processors: Any = transformers.AutoProcessor if self.sees_images else transformers.AutoTokenizer
        self._processor = processors.from_pretrained(folder, trust_remote_code=False)
        self._tokenizer = getattr(self._processor, "tokenizer", self._processor)
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token or self._tokenizer.convert_ids_to_tokens(0)
        self._chats = bool(getattr(self._processor, "chat_template", None) or self._tokenizer.chat_template)
        if self.sees_images and not self._chats:
            raise InputError(
                f"--model {self.name} has no chat template, which places the image in the prompt; use an "
                "instruction-tuned version, or add chat_template.jinja to its folder"
            )
        return auto

    def _load(self, auto: Any, folder: Path, device: str | None) -> None:  # noqa: ANN401  a class of transformers
        """Load the weights."""
        placed = {"device_map": "auto"} if device == "auto" else {}
        self._model, about = auto.from_pretrained(
            folder, dtype="auto", use_safetensors=True, trust_remote_code=False, output_loading_info=True, **placed
        )
        check_weights(sorted(about["missing_keys"]))
        self._model.eval().requires_grad_(False)
        if not placed:
            self._model.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        pad = self._tokenizer.pad_token_id
        self._continuations = Continuations(self._model, self.sees_images, pad, self.batch_size)
        longest = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self.longest = int(longest) if longest else None
        end = self._model.generation_config.eos_token_id
        self._ends = [] if end is None else [end] if isinstance(end, int) else list(end)

    @cached_property
    def max_images(self) -> int | None:
        """1 if the processor or the chat template does not place two images in one prompt; else None, for any."""
        if not self.sees_images:
            return 1
        config = self._model.config.to_dict()
        token = config.get("image_token_id", config.get("image_token_index"))
        content = io.BytesIO()
        Image.new("RGB", TRIAL, "gray").save(content, "PNG")
        try:
            one, two = (self._encoded([Prompt("A", (), images=(content.getvalue(),) * count)]) for count in (1, 2))
        except Exception as error:  # of any processor, or raised by a template
            LOG.info("model %s takes one image in a prompt: %s", self.name, first_line(error))
            return 1
        words = [int((found["input_ids"] == token).sum()) for found in (one, two)]
        return None if token is None or words[1] > words[0] else 1

    def letter(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """The log-probability of each choice's letter: of all its tokens, such as "A" and " A", together."""

        def ask(some: Sequence[Prompt], encoded: dict[str, Tensor]) -> list[Reply]:
            logits = self._continuations.logits(encoded, 1)[:, -1].log_softmax(-1).cpu()
            replies, counts = [], encoded["attention_mask"].sum(1).tolist()
            for prompt, of_prompt, count in zip(some, logits, counts, strict=True):
                tokens = map(self._letter_tokens, LETTERS[: len(prompt.choices)])
                scores = tuple(float(of_prompt[of_letter].logsumexp(0)) for of_letter in tokens)
                replies.append(Reply(scores=scores, tokens=(count, 1)))
            return replies

        return self._in_groups(prompts, ask)

    def likelihood(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """The log-probability of each choice's text after the prompt."""

        def ask(some: Sequence[Prompt], encoded: dict[str, Tensor]) -> list[Reply]:
            start = "" if self._chats else " "
            tokens = [[self._tokens(f"{start}{text}") for text in prompt.choices] for prompt in some]
            rows = [(index, of_choice) for index, of_prompt in enumerate(tokens) for of_choice in of_prompt]
            found = self._continuations.scores(encoded, rows, lambda which: self._encoded([some[at] for at in which]))
            scores = iter(found)
            return [Reply(scores=(*islice(scores, len(one)),), lengths=(*map(len, one),)) for one in tokens]

        def longest_choice(prompt: Prompt) -> int:
            return max(len(self._tokenizer(f" {text}")["input_ids"]) for text in prompt.choices)

        return self._in_groups(prompts, ask, longest_choice)

    def generate(self, prompts: Sequence[Prompt]) -> list[Reply]:
        """The most probable text, token by token; at a temperature above 0 a random one, see `Prompt.sample`."""

        def ask(some: Sequence[Prompt], encoded: dict[str, Tensor]) -> list[Reply]:
            drawn = {"do_sample": self.temperature > 0, "temperature": self.temperature or None}
            drawn |= {"top_p": None, "top_k": None}
            with torch.inference_mode(), quiet(), torch.random.fork_rng():
                torch.manual_seed(crc32(repr([(one.text, one.sample) for one in some]).encode()))
                found = self._model.generate(
                    **encoded, max_new_tokens=self.max_tokens, pad_token_id=self._tokenizer.pad_token_id, **drawn
                )
            written = found[:, encoded["input_ids"].shape[1] :].cpu()
            texts = self._tokenizer.batch_decode(written, skip_special_tokens=True)
            made = (written != self._tokenizer.pad_token_id).sum(1).tolist()
            counts = zip(encoded["attention_mask"].sum(1).tolist(), made, strict=True)
            ends = torch.tensor(self._ends, dtype=written.dtype)
            cut = (~torch.isin(written, ends).any(1) & (written.shape[1] >= self.max_tokens)).tolist()
            rows = zip(texts, counts, cut, strict=True)
            return [Reply(text=text, tokens=tokens, cut_off=is_cut) for text, tokens, is_cut in rows]

        return self._in_groups(prompts, ask, lambda prompt: self.max_tokens)

    def _in_groups(
        self,
        prompts: Sequence[Prompt],
        ask: Callable[[Sequence[Prompt], dict[str, Tensor]], list[Reply]],
        added: Callable[[Prompt], int] = lambda prompt: 1,
    ) -> list[Reply]:
        """The replies to prompts, with and without image apart; a failure where the added tokens do not fit."""
        replies, longest = dict[int, Reply](), self.longest or 1 << 62
        for has_image in {bool(one.images) for one in prompts}:
            group = [at for at, one in enumerate(prompts) if bool(one.images) is has_image]
            with quiet():  # of prompts that are too long
                encoded = self._encoded([prompts[at] for at in group])
            for at, count in zip(group, encoded["attention_mask"].sum(1).tolist(), strict=True):
                if count + (more := added(prompts[at])) > longest:
                    added_text = f" and up to {more:,} are added" if more > 1 else ""
                    failure = f"the prompt has {count:,} tokens{added_text}, and the model reads {longest:,}"
                    replies[at] = Reply(failure=failure)
            if fitting := [at for at in group if at not in replies]:
                some = [prompts[at] for at in fitting]
                encoded = encoded if fitting == group else self._encoded(some)
                replies |= zip(fitting, ask(some, encoded), strict=True)
        return [replies[at] for at in range(len(prompts))]

    def _encoded(self, prompts: Sequence[Prompt]) -> dict[str, Tensor]:
        """The tensors of prompts, padded on the left, on the model's device."""
        if not self._chats:
            texts = [f"{prompt.text}\nAnswer:" for prompt in prompts]
            found = self._tokenizer(texts, padding=True, return_tensors="pt")
            return {name: one.to(self._model.device) for name, one in found.items()}
        contents: list[Any] = [prompt.text for prompt in prompts]
        options: dict[str, Any] = {"padding": True, "return_tensors": "pt"}
        if self.sees_images:
            options = {"processor_kwargs": options}
            contents = [
                [
                    {"type": "text", "text": part} if isinstance(part, str) else {"type": "image", "image": rgb(part)}
                    for part in prompt.parts
                ]
                for prompt in prompts
            ]
        options |= {"add_generation_prompt": True, "tokenize": True, "return_dict": True}
        chats = [[{"role": "user", "content": content}] for content in contents]
        found = self._processor.apply_chat_template(chats, **options)
        return {
            name: one.to(self._model.device, self._model.dtype if one.is_floating_point() else one.dtype)
            for name, one in found.items()
        }

    def _tokens(self, text: str) -> list[int]:
        return self._tokenizer(text, add_special_tokens=False)["input_ids"]  # type: ignore[no-any-return]

    def _letter_tokens(self, letter: str) -> list[int]:
        """The tokens that are the letter; raises InputError if there are none."""
        single = (tokens for sign in BETWEEN if len(tokens := self._tokens(f"{sign}{letter}")) == 1)
        if found := sorted({tokens[0] for tokens in single if self._tokenizer.decode(tokens).strip() == letter}):
            return found
        remedy = "use --method likelihood or generate"
        raise InputError(f"--model {self.name} has no single token for the letter {letter}; {remedy}")
