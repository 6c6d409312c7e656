"""Vectors of questions: by a text encoder of transformers, or the average of word vectors; loading of text models."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.hub_folder import first_line
from hf_vqa_mc.text.embeddings import sums
from hf_vqa_mc.text.many_texts import comparable_texts, numbered_words, texts_of
from hf_vqa_mc.text.word_vectors import WordVectors

BATCH, MOST_TOKENS = 256, 128  # texts per batch, and maximum number of tokens of a text; what follows is not read
Vectors = NDArray[np.float32]


def load_text_model(name: str, model_class: str, option: str, kind: str, **options: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """A tokenizer and a model in evaluation mode, of a class of transformers such as ``AutoModel``.

    Weights are safetensors, and no code is executed. ``option`` and ``kind`` ("text encoder") are for errors:
    InputError if there is no such model, ConnectionError if the Hub cannot be reached.
    """
    import transformers
    from transformers.utils import logging as untyped

    logging: Any = untyped
    bars = logging.is_progress_bar_enabled()
    logging.disable_progress_bar()
    try:
        tokenizers: Any = transformers.AutoTokenizer
        tokenizer = tokenizers.from_pretrained(name)
        model = getattr(transformers, model_class).from_pretrained(name, use_safetensors=True, **options)
    except (OSError, ValueError, KeyError) as error:
        lost = "connect" in str(error).lower() or "offline" in str(error).lower()
        raise (ConnectionError if lost else InputError)(
            f"{option} {name}: {first_line(error)}; expected a folder or a name on the Hub of a {kind} with "
            "safetensors weights"
        ) from error
    finally:
        if bars:
            logging.enable_progress_bar()
    return tokenizer, model.eval()


class TextEncoder:
    """The mean of an encoder's last hidden states for each text (Reimers and Gurevych 2019, Sentence-BERT, 3)."""

    def __init__(self, name: str) -> None:
        self._tokenizer, self._model = load_text_model(name, "AutoModel", "--question-encoder", "text encoder")

    def encode(self, texts: Sequence[str]) -> Vectors:
        """float32 (texts, dimensions), with mean square 1 in each row."""
        import torch

        lengths = np.argsort(np.array([len(text) for text in texts]), kind="stable")  # for little padding
        vectors = np.zeros((len(texts), self._model.config.hidden_size), np.float32)
        with torch.inference_mode():
            for first in range(0, len(texts), BATCH):
                rows = lengths[first : first + BATCH]
                batch = self._tokenizer(
                    [texts[row] for row in rows.tolist()],
                    padding=True,
                    truncation=True,
                    max_length=MOST_TOKENS,
                    return_tensors="pt",
                )
                mask = batch["attention_mask"]
                states = self._model(input_ids=batch["input_ids"], attention_mask=mask).last_hidden_state
                mask = mask[..., None]
                vectors[rows] = ((states * mask).sum(dim=1) / mask.sum(dim=1).clamp(min=1)).float().numpy()
        return _scaled(vectors)


def averaged(texts: pa.Array, vectors: WordVectors) -> Vectors:
    """The average word vector of each text, float32 (texts, dimensions), with mean square 1 or 0."""
    words, starts, vocabulary = numbered_words(*comparable_texts(texts))
    return _scaled(sums(vectors.rows(texts_of(vocabulary))[0], words, starts))


def _scaled(vectors: Vectors) -> Vectors:
    sizes = np.sqrt((vectors**2).mean(axis=1, keepdims=True))
    return (vectors / np.where(sizes > 0, sizes, 1)).astype(np.float32)
