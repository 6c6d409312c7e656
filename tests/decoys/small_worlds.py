"""Triplet tables and word vectors made up for tests, and what a build makes of them as plain Python."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.decoys.candidates import NumberedTexts, filter_tables
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import BuiltVariant, build_variants
from hf_vqa_mc.schema import RELEASED_DECOYS, TRIPLETS, check_triplets
from hf_vqa_mc.text.word_vectors import WordVectors
from tests.decoys.literal_method import Choice


def triplet(index: int, question: str, target: str, **other: Any) -> dict[str, Any]:
    """A triplet of its own image, with what a test wants otherwise."""
    defaults = {
        "question_id": f"q{index}",
        "image_id": f"image {index}",
        "split": "train",
        "question": question,
        "target": target,
        "answers": [target],
        "orig_decoys": [],
        "question_type": "",
        "answer_type": "",
        "image_file": "",
    }
    return defaults | other


def triplet_table(triplets: Sequence[Mapping[str, Any]]) -> pa.Table:
    released = [field for field in RELEASED_DECOYS if field.name in triplets[0]]
    return check_triplets(pa.Table.from_pylist(list(triplets), pa.schema([*TRIPLETS, *released])), "made up")


def candidates_of(texts: Sequence[str], wup_threshold: float, reject: bool) -> tuple[Any, NDArray[np.int32]]:
    """Numbered texts with their filter tables, and the number of each."""
    found, (numbers,) = NumberedTexts.number([pa.array(list(texts), pa.string())])
    return SimpleNamespace(**vars(found), tables=filter_tables(found, wup_threshold, reject)), numbers


def word_vectors(vectors: Mapping[str, Sequence[float]]) -> WordVectors:
    rows = np.array(list(vectors.values()), np.float32)
    return WordVectors("made up", "0" * 64, rows.shape[1], rows, {word: row for row, word in enumerate(vectors)})


def random_vectors(words: Sequence[str], dim: int, seed: int = 0) -> dict[str, list[float]]:
    """float32 numbers, so that nothing is rounded on the way into the package."""
    numbers = np.random.default_rng(seed).normal(size=(len(words), dim)).astype(np.float32)
    return dict(zip(words, numbers.tolist(), strict=True))


def build(
    triplets: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    vectors: Mapping[str, Sequence[float]] | None = None,
    settings: Settings | None = None,
) -> dict[str, BuiltVariant]:
    given = word_vectors(vectors) if vectors else None
    return {v.name: v for v in build_variants(triplet_table(triplets), names, given, settings or Settings())}


def shown(variant: BuiltVariant) -> dict[str, list[list[Choice]]]:
    """The choices of each row of each split in their order."""
    found: dict[str, list[list[Choice]]] = {}
    for split, table in variant.splits.items():
        found[split] = []
        for row in table.to_pylist():
            choices = [
                Choice(text, list(CHOICE_KINDS)[kind], fallback)
                for text, kind, fallback in zip(
                    row["choices"], row["choice_kinds"], row["choice_fallback"], strict=True
                )
            ]
            if [n for n, choice in enumerate(choices) if choice.kind == "target"] != [row["label"]]:
                raise AssertionError(f"label {row['label']} is not where the target is: {choices}")
            found[split].append(choices)
    return found


def decoys(variant: BuiltVariant, kind: str | None = None) -> dict[str, list[Choice]]:
    """The decoys of each question, of one kind or all, sorted."""
    found: dict[str, list[Choice]] = {}
    for split, rows in shown(variant).items():
        for question_id, choices in zip(variant.splits[split]["question_id"].to_pylist(), rows, strict=True):
            wanted = [c for c in choices if c.kind != "target" and kind in (None, c.kind)]
            found[question_id] = sorted(wanted)
    return found
