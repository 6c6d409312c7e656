"""A small text encoder with random weights."""

from collections.abc import Iterable
from pathlib import Path

import torch


def random_bert(folder: Path, words: Iterable[str]) -> str:
    """Write a random BERT of a few thousand weights that reads word by word; returns its folder."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    vocabulary = {"[PAD]": 0, "[UNK]": 1} | {word: number for number, word in enumerate(words, 2)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]").save_pretrained(folder)
    torch.manual_seed(0)
    BertModel(
        BertConfig(
            vocab_size=len(vocabulary),
            hidden_size=16,
            num_hidden_layers=2,
            num_attention_heads=2,
            intermediate_size=32,
            initializer_range=0.5,
        )
    ).save_pretrained(folder)
    return str(folder)
