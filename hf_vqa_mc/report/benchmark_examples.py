"""Questions of a benchmark as pages show them, and what a model picks."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from hf_vqa_mc.benchmarks.benchmark import Split
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.metrics.predictions import read_predictions
from hf_vqa_mc.metrics.score import match
from hf_vqa_mc.report.example import STAND_IN, Example
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, Annotations, Answer
from hf_vqa_mc.scoring.schemes import SCHEMES

ORIGINS, STAND_INS = "choice_origins", "choice_fallback"
"""Columns that tell where each choice is from (of a remedy), and which choices are stand-ins (of our rows)."""
UNREADABLE = b"unreadable"
"""Stands for the file of an image that should be there but cannot be read."""


def drawn_rows(split: Split, number: int, seed: int) -> list[int]:
    """Rows drawn at random, each once, in their order; all where there are no more."""
    rows = split.rows.num_rows
    drawn = np.random.default_rng(seed).permutation(rows)[:number]
    return sorted(map(int, drawn))


def examples_of(
    split: Split,
    rows: Sequence[int],
    *,
    picked: Mapping[int, int] | None = None,
    bias: Mapping[int, float] | None = None,
    notes: Mapping[int, str] | None = None,
    origins: Mapping[int, list[str]] | None = None,
) -> list[Example]:
    """Rows of a split as examples; an image that cannot be read is shown as such.

    Args:
        split: of a benchmark.
        rows: their numbers.
        picked: of some rows, the place of the choice that a model or a rule picks.
        bias: of some rows, how likely those who see too little hold the target to be, in [0, 1].
        notes: of some rows, why they are shown.
        origins: of some rows, where their choices are from; of others it is read from ``choice_origins``. Which are
            stand-ins is read from ``choice_fallback`` as well, where the benchmark has these columns.
    """
    found = split.rows.take(pa.array(rows, pa.int64())).to_pylist()
    return [
        Example(
            question_id=columns["question_id"],
            question=columns["question"],
            question_type=columns["question_type"],
            choices=columns["choices"],
            label=columns["label"],
            kinds=columns["choice_kinds"],
            origins=_origins(split, row, len(columns["choices"]), (origins or {}).get(row)),
            picked=(picked or {}).get(row),
            bias=(bias or {}).get(row),
            image=_image(split, row),
            note=(notes or {}).get(row, ""),
        )
        for row, columns in zip(rows, found, strict=True)
    ]


def picks_of(split: Split, predictions: Path) -> dict[int, int]:
    """The places of the choices that a model picks, for every row.

    Args:
        split: of a benchmark.
        predictions: a file as `vqa-mc score` takes it, with an answer to each of the split's questions.

    Raises:
        InputError: it cannot be read, lacks questions, or has answers that are none of the choices.
    """
    ids, choices, labels = (split.rows[name].to_pylist() for name in ("question_id", "choices", "label"))
    annotations = Annotations(MULTIPLE_CHOICE, split.place, ids, choices=choices, labels=labels)
    matched = match(annotations, read_predictions(predictions), [SCHEMES["mc_accuracy"]])
    return {
        row: _place(answer, choices[row], labels[row])
        for row, answer in enumerate(matched.answers)
        if answer is not None
    }


def _place(answer: Answer, choices: list[str], label: int) -> int:
    """Which choice an answer is; of those with the same text the target, as scores have it."""
    if isinstance(answer, int):
        return answer
    places = [place for place, text in enumerate(choices) if text == answer]
    places = places or [place for place, text in enumerate(choices) if text.lower() == answer.lower()]
    return label if label in places else places[0]


def _origins(split: Split, row: int, choices: int, given: list[str] | None) -> list[str]:
    """Where the choices of a row are from, and which stand in for decoys that were not found; empty if unknown."""
    told = given if given and len(given) == choices else _cells(split, ORIGINS, row, choices)
    marks = _cells(split, STAND_INS, row, choices)
    texts = [text if isinstance(text, str) else "" for text in told or [""] * choices]
    texts = [STAND_IN if marks and marks[place] is True else text for place, text in enumerate(texts)]
    return texts if any(texts) else []


def _cells(split: Split, column: str, row: int, choices: int) -> list[object]:
    """What a column tells of each choice of a row; empty where it tells nothing of these choices."""
    if column not in split.original.column_names:
        return []
    told = split.original[column][row].as_py()
    return told if isinstance(told, list) and len(told) == choices else []


def _image(split: Split, row: int) -> bytes | None:
    if split.images is None:
        return None
    try:
        return split.images.read(row)
    except InputError:
        return UNREADABLE
