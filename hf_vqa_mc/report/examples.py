"""Questions of a benchmark as pages show them, and what a model picks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hf_vqa_mc.benchmarks.benchmark import Split
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.metrics.predictions import read_predictions
from hf_vqa_mc.metrics.score import match
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.scoring import SCHEMES
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, Annotations, Answer

CHOICE, TYPE, ORIGIN = 160, 60, 160
"""Characters shown of a choice, of a question's type and of a choice's origin."""
STAND_IN = "fall-back"
"""The origin of a choice that replaces a decoy that could not be found, as in a remedy's ``choice_origins``."""
UNREADABLE = b"unreadable"
"""Content of an image that should exist but cannot be read."""


@dataclass(frozen=True)
class Example:
    """A question with its choices, and what was made of it; any text may be hostile."""

    question_id: str
    question: str
    question_type: str
    """"" where the benchmark has none"""
    choices: list[str]
    label: int
    """index of the target in ``choices``"""
    kinds: list[str]
    """of each choice, names of `decoys.CHOICE_KINDS`; empty where the benchmark has none"""
    origins: list[str]
    """of each choice, such as the question that it answers, or ``STAND_IN``; "" or an empty list if unknown"""
    picked: int | None
    """index of the choice that a model or a probe picks"""
    bias: float | None
    """P(target) by the probes that see no image, in [0, 1]"""
    image: bytes | None
    """an image file of any format, also a broken one"""
    note: str
    """why it is shown, "" where there is no reason; examples may be chosen by it"""

    def kind(self, index: int) -> str:
        """Which set a choice is of: a key of `kind_legends`; fallbacks are of none but their own."""
        if index == self.label:
            return "target"
        return "stand-in" if self._origin(index) == STAND_IN else self._kind(index)

    def origin(self, index: int) -> str:
        """A choice's origin, "" where it is unknown or its set implies it."""
        origin, kind = self._origin(index), self._kind(index)
        if index == self.label:
            return "" if origin in ("target", STAND_IN) else origin
        if origin != STAND_IN or not kind:
            return "stand-in" if origin == STAND_IN else origin
        label = CHOICE_KINDS[kind].label
        return f"stand-in for {'an' if label[0] in 'AEIOaeio' else 'a'} {label} decoy"

    def choice(self, index: int) -> dict[str, Any]:
        """A choice as templates and scripts take it."""
        return {
            "letter": letter(index),
            "text": plain(self.choices[index], CHOICE),
            "kind": self.kind(index),
            "origin": plain(self.origin(index), ORIGIN),
            "target": index == self.label,
            "picked": index == self.picked,
        }

    def by_kind(self) -> list[tuple[str, list[int]]]:
        """The indices of the choices, set by set, in the order of `kind_legends`."""
        sets: dict[str, list[int]] = {kind: [] for kind in kind_legends()}
        for index in range(len(self.choices)):
            sets[self.kind(index)].append(index)
        return [(kind, indices) for kind, indices in sets.items() if indices]

    def _origin(self, index: int) -> str:
        return self.origins[index] if self.origins else ""

    def _kind(self, index: int) -> str:
        kind = self.kinds[index] if self.kinds else ""
        return kind if kind in CHOICE_KINDS and kind != TARGET.name else ""


def kind_legends() -> dict[str, str]:
    """Sets of choices in the order of the paper's Figure 2 (decoys first), and their headings."""
    legends = {name: ": ".join(filter(None, [kind.legend, kind.fits])) for name, kind in CHOICE_KINDS.items()}
    target = legends.pop(TARGET.name)
    return {**legends, "": "decoys", "stand-in": "stand-ins: no such decoy was found", TARGET.name: target}


def letter(index: int) -> str:
    """What a page calls a choice.

    >>> letter(0), letter(25), letter(26)
    ('A', 'Z', '27')
    """
    return chr(ord("A") + index) if index < 26 else str(index + 1)


def drawn_rows(split: Split, number: int, seed: int) -> list[int]:
    """Rows drawn at random, each once, in their order; all where there are no more."""
    return sorted(map(int, np.random.default_rng(seed).permutation(split.rows.num_rows)[:number]))


def examples_of(
    split: Split,
    rows: Sequence[int],
    *,
    picked: Mapping[int, int] | None = None,
    bias: Mapping[int, float] | None = None,
    notes: Mapping[int, str] | None = None,
) -> list[Example]:
    """Rows of a split as examples; an image that cannot be read is shown as such.

    Args:
        split: of a benchmark; columns ``choice_origins`` and ``choice_fallback`` describe its choices.
        rows: their numbers.
        picked: of some rows, the index of the choice that a model or a probe picks.
        bias: of some rows, P(target) by the probes that see no image, in [0, 1].
        notes: of some rows, why they are shown.
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
            origins=_origins(split, row, len(columns["choices"])),
            picked=(picked or {}).get(row),
            bias=(bias or {}).get(row),
            image=_image(split, row),
            note=(notes or {}).get(row, ""),
        )
        for row, columns in zip(rows, found, strict=True)
    ]


def picks_of(split: Split, predictions: Path) -> dict[int, int]:
    """The index of the choice that a model picks, for every row; of choices with the same text the target's.

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
        row: _index(answer, choices[row], labels[row])
        for row, answer in enumerate(matched.answers)
        if answer is not None
    }


def _index(answer: Answer, choices: list[str], label: int) -> int:
    if isinstance(answer, int):
        return answer
    same = [index for index, text in enumerate(choices) if text == answer]
    same = same or [index for index, text in enumerate(choices) if text.lower() == answer.lower()]
    return label if label in same else same[0]


def _origins(split: Split, row: int, n_choices: int) -> list[str]:
    """The origins of a row's choices, and which are fallbacks; empty if unknown."""
    origins, fallback = (_cells(split, name, row, n_choices) for name in ("choice_origins", "choice_fallback"))
    texts = [
        STAND_IN if replaced is True else text if isinstance(text, str) else ""
        for text, replaced in zip(origins, fallback, strict=True)
    ]
    return texts if any(texts) else []


def _cells(split: Split, column: str, row: int, n_choices: int) -> list[object]:
    """What a column has for each choice of a row; None where it has no list of that length."""
    found = split.original[column][row].as_py() if column in split.original.column_names else None
    return found if isinstance(found, list) and len(found) == n_choices else [None] * n_choices


def _image(split: Split, row: int) -> bytes | None:
    try:
        return None if split.images is None else split.images.read(row)
    except InputError:
        return UNREADABLE
