"""Example questions of a benchmark for the pages, and a model's picks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.data.benchmark import Benchmark, Split
from hf_vqa_mc.data.cells import unpacked_list
from hf_vqa_mc.data.loading import chosen_split
from hf_vqa_mc.data.questions import letter
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET
from hf_vqa_mc.decoys.statistics import decoys_per_row, occurrences, prior_rule
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.report.plain_text import plain
from hf_vqa_mc.scoring import SCHEMES
from hf_vqa_mc.scoring.gqa_grounding import box_weights, checked_attentions
from hf_vqa_mc.scoring.inputs import read_by_id
from hf_vqa_mc.scoring.matching import match
from hf_vqa_mc.scoring.predictions import read_predictions
from hf_vqa_mc.scoring.scheme import MULTIPLE_CHOICE, Annotations

CHOICE, TYPE, ORIGIN = 160, 60, 160  # maximum characters of a choice, a question type and a choice's origin
FALLBACK = "fallback"  # origin of a decoy that could not be found, in a remedy's column ``choice_origins``
BOX_CELLS = 28  # cells per side of the map that shows attention to boxes
UNREADABLE = b"unreadable"  # replaces the content of an image that cannot be read
UNPUBLISHED = "(answer not published)"


@dataclass(frozen=True)
class Example:
    """A question with its choices and results; all texts are untrusted."""

    question_id: str
    question: str
    question_type: str  # may be ""
    choices: list[str]
    label: int  # index of the target in ``choices``
    kinds: Sequence[str] = ()  # kind of each choice, of `decoys.CHOICE_KINDS`; empty if unknown
    origins: Sequence[str] = ()  # of each choice: the question that it answers, or ``FALLBACK``; empty if unknown
    picked: int | None = None  # index of the choice that a model or a probe picks
    bias: float | None = None  # P(target) by the probes that see no image, in [0, 1]
    images: tuple[bytes, ...] = ()  # content of image files, possibly broken
    note: str = ""  # the reason why it is shown, a filter of the report
    unreadable: str = ""  # why the image cannot be read; "" if it can, or if there is none
    attention: NDArray[np.float64] | None = field(default=None, compare=False)  # (n, n): to the image, x first
    priors: Sequence[float] = ()  # P(correct | choice) of each choice, see `choice_priors`; empty if not computed

    def kind(self, index: int) -> str:
        """The group of a choice: a key of `kind_legends`."""
        if index == self.label:
            return "target"
        return "fallback" if self._origin(index) == FALLBACK else self._kind(index)

    def origin(self, index: int) -> str:
        """A choice's origin, "" if it is unknown or follows from the group."""
        origin, kind = self._origin(index), self._kind(index)
        if index == self.label:
            return "" if origin in ("target", FALLBACK) else origin
        if origin != FALLBACK or not kind:
            return origin
        label = CHOICE_KINDS[kind].label
        return f"fallback for {'an' if label[0] in 'AEIOaeio' else 'a'} {label} decoy"

    def choice(self, index: int) -> dict[str, Any]:
        """A choice as values for templates and scripts."""
        return {
            "letter": letter(index) if len(self.choices) > 1 else "",  # "" for the answer of an open-ended question
            "text": plain(self.choices[index], CHOICE),
            "prior": f"{self.priors[index]:.2f}" if len(self.priors) else "",
            "kind": self.kind(index),
            "origin": plain(self.origin(index), ORIGIN),
            "target": index == self.label,
            "picked": index == self.picked,
        }

    def by_kind(self) -> list[tuple[str, list[int]]]:
        """The indices of the choices by group, in the order of `kind_legends`."""
        kinds = list(map(self.kind, range(len(self.choices))))
        found = ((kind, [at for at, one in enumerate(kinds) if one == kind]) for kind in kind_legends())
        return [(kind, indices) for kind, indices in found if indices]

    def _origin(self, index: int) -> str:
        return self.origins[index] if self.origins else ""

    def _kind(self, index: int) -> str:
        kind = self.kinds[index] if self.kinds else ""
        return kind if kind in CHOICE_KINDS and kind != TARGET.name else ""


def kind_legends() -> dict[str, str]:
    """The headings of the groups of choices, in the order of the paper's Figure 2 (decoys first)."""
    legends = {name: ": ".join(filter(None, [kind.legend, kind.caption])) for name, kind in CHOICE_KINDS.items()}
    target = legends.pop(TARGET.name)
    return {**legends, "": "decoys", "fallback": "fallbacks: no such decoy was found", TARGET.name: target}


def drawn_rows(rows: int, number: int, seed: int) -> list[int]:
    """A random sample of row indices without replacement, ascending."""
    return sorted(map(int, np.random.default_rng(seed).permutation(rows)[:number]))


def examples_of(
    split: Split,
    rows: Sequence[int],
    *,
    picked: Mapping[int, int] | None = None,
    bias: Mapping[int, float] | None = None,
    notes: Mapping[int, str] | None = None,
    attentions: Mapping[str, NDArray[np.float64]] | None = None,
    priors: NDArray[np.float64] | None = None,
) -> list[Example]:
    """Rows of a split as examples; picks, bias and notes are by row, attentions (n, n), x first, by question id.

    ``priors`` are those of `choice_priors`.
    """
    found = split.rows.take(pa.array(rows, pa.int64())).to_pylist()
    names = ("question_id", "question", "question_type", "choices", "label")
    return [
        Example(
            **{name: columns[name] for name in names},
            kinds=columns["choice_kinds"],
            origins=_origins(split, row, len(columns["choices"])),
            priors=() if priors is None else priors[row].tolist(),
            picked=(picked or {}).get(row),
            bias=(bias or {}).get(row),
            note=(notes or {}).get(row, ""),
            attention=(attentions or {}).get(columns["question_id"]),
            **_images(split, row),
        )
        for row, columns in zip(rows, found, strict=True)
    ]


def choice_priors(benchmark: Benchmark) -> NDArray[np.float64]:
    """(rows, choices): P(correct | choice) of the evaluated split (Chao et al. 2018, eq. 2, as in Figure 1).

    It is counted in the training split if there is one, else in the evaluated one.
    """
    splits = {name: one.rows for name, one in benchmark.splits.items() if name in ("train", benchmark.evaluated)}
    numbered = number_rows(splits)
    rows, counted = numbered[benchmark.evaluated], numbered["train" if benchmark.train else benchmark.evaluated]
    known = prior_rule(*occurrences(counted.keys, len(rows.vocabulary.key_texts)), decoys_per_row(counted.keys))
    row, column = rows.valid.nonzero()
    found = np.zeros(rows.valid.shape)
    found[row, rows.positions[row, column]] = known[rows.keys[row, column]]
    return found


def picks_of(split: Split, predictions: Path) -> dict[int, int]:
    """Row to the index of the choice that a model picks; the target if several choices have the predicted text."""
    ids, choices, labels = (split.rows[name].to_pylist() for name in ("question_id", "choices", "label"))
    annotations = Annotations(
        MULTIPLE_CHOICE, split.location, ids, choices=choices, labels=labels, ordered=split.ordered
    )
    picked: dict[int, int] = {}
    for row, answer in enumerate(match(annotations, read_predictions(predictions), [SCHEMES["mc_accuracy"]]).answers):
        if isinstance(answer, int):
            picked[row] = answer
        elif answer is not None:
            same = [index for index, text in enumerate(choices[row]) if text == answer]
            same = same or [index for index, text in enumerate(choices[row]) if text.lower() == answer.lower()]
            picked[row] = labels[row] if labels[row] in same else same[0]
    return picked


def attentions_of(names: Sequence[str], location: str, path: Path) -> dict[str, NDArray[np.float64]]:
    """Question id to a model's attention to the image, (n, n), x first."""
    maps = read_by_id(path, Annotations(MULTIPLE_CHOICE, location, list(names)), "--attentions")
    for name in names:
        if name not in maps:
            raise InputError(f"--attentions {path}: no map of question {name!r} of {location}; expected all shown")
    locations = [f"--attentions {path}, question {name!r}" for name in names]
    found, are_boxes = checked_attentions([maps[name] for name in names], locations)
    if are_boxes:
        grids = ((one[:, 4] @ box_weights(one[:, :4], BOX_CELLS)).reshape(BOX_CELLS, BOX_CELLS).T for one in found)
        return dict(zip(names, grids, strict=True))
    return dict(zip(names, found, strict=True))


def _origins(split: Split, row: int, n_choices: int) -> list[str]:
    """The origins of a row's choices; empty if unknown."""
    origins, fallback = (_cells(split, name, row, n_choices) for name in ("choice_origins", "choice_fallback"))
    known = [text if isinstance(text, str) else "" for text in origins]
    texts = [FALLBACK if str(one) == "True" else text for text, one in zip(known, fallback, strict=True)]
    return texts if any(texts) else []


def _cells(split: Split, column: str, row: int, n_choices: int) -> list[object]:
    """A column's value for each choice of a row, from a list or text with one; None unless it has that length."""
    found = split.original[column][row].as_py() if column in split.original.column_names else None
    found = unpacked_list(found) if isinstance(found, str) else found  # in CSV files
    return found if isinstance(found, list) and len(found) == n_choices else [None] * n_choices


def _images(split: Split, row: int) -> dict[str, Any]:
    """The images of a row, and why they cannot be read."""
    if split.images is None:
        named = split.rows["image_id"][row].as_py()
        return {"images": (), "unreadable": split.images_missing if named else ""}
    try:
        return {"images": split.images.read(row)}
    except InputError as error:
        return {"images": (UNREADABLE,), "unreadable": str(error)}


def answered_examples(dataset: str, config: str, shown: Any) -> tuple[str, list[Example]]:  # noqa: ANN401
    """The split's name and sampled questions, with answers and attention maps of ``shown``, PreviewSettings."""
    from hf_vqa_mc.data.dataset_images import dataset_images
    from hf_vqa_mc.training.questions import read_questions

    read, location = read_questions(dataset, config, open_ended=True), f"{dataset}, {config}"
    name = chosen_split(list(read.splits), shown.split, location)
    questions = read.splits[name]
    drawn = drawn_rows(len(questions.question_ids), shown.rows, shown.seed)
    names = [questions.question_ids[row] for row in drawn]
    maps = attentions_of(names, f"{location}, {name}", shown.attentions) if shown.attentions is not None else {}
    answers = read_predictions(shown.predictions).answers if shown.predictions else {}
    source: Any = ()
    reason = ""  # why no image can be read
    try:
        source = dataset_images(dataset, config, shown.images).source
    except InputError as error:
        if shown.images is not None or shown.attentions is not None:
            raise
        reason = str(error)
    found = []
    for row, question_id in zip(drawn, names, strict=True):
        note, image_id, images = "", questions.image_ids[row], tuple[bytes, ...]()
        if shown.predictions:
            if not isinstance(answer := answers.get(question_id), str):
                what = f"no answer text for question {question_id!r} of {location}, {name}"
                raise InputError(f"--predictions {shown.predictions}: {what}; expected all shown")
            note = f"model’s answer: {answer}"
        if image_id in source:
            try:
                images = (source.read(image_id),)
            except (InputError, OSError):
                images = (UNREADABLE,)
        found.append(
            Example(
                question_id=question_id,
                question=read.texts[questions.texts[row]],
                question_type=questions.types[row] if questions.types else "",
                choices=[questions.targets[row] or UNPUBLISHED],
                label=0,
                note=note,
                attention=maps.get(question_id),
                images=images,
                unreadable=reason,
            )
        )
    return name, found
