"""The page, figures and rows of an evaluation."""

import io
from math import exp, isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hf_vqa_mc.decoys.rng import order_keys, purpose_hash, text_hashes
from hf_vqa_mc.evaluation.evaluating import Evaluation
from hf_vqa_mc.evaluation.figures import Figures
from hf_vqa_mc.evaluation.inputs import FULL, INPUTS, Shown
from hf_vqa_mc.evaluation.methods import FAILED, METHODS
from hf_vqa_mc.evaluation.prompts import Job
from hf_vqa_mc.evaluation.tables import notes
from hf_vqa_mc.io.atomic_file import json_bytes, write_together
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.report.examples import CHOICE, ORIGIN, TYPE, examples_of
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values

REPORT, RESULTS, ROWS = "report.html", "results.json", "rows.parquet"
OF_EACH = 12
"""Maximum number of example questions per reason."""
MOST_TYPES = 40
"""Maximum number of question types on the page, the most frequent first."""
LEAKED, WRONG, UNREAD, SAMPLED = (
    "answered without image or question",
    "wrong with all inputs",
    "names no choice",
    "random sample",
)


def write_evaluation(folder: Path, done: Evaluation) -> list[Path]:
    """Write report.html, results.json and rows.parquet to a folder, created if missing; returns their paths.

    Raises:
        OSError: the disk is full or read-only; existing files are unchanged.
    """
    content = io.BytesIO()
    parquet.write_table(pa.table(done.figures.table()), content)
    files = {
        folder / REPORT: evaluation_html(done).encode(),
        folder / RESULTS: json_bytes(done.as_json(), indent=1),
        folder / ROWS: content.getvalue(),
    }
    write_together(files)
    return list(files)


def evaluation_html(done: Evaluation) -> str:
    """The page of an evaluation: self-contained, deterministic, and safe with malicious texts and images."""
    figures = done.figures
    facts = {
        "benchmark": plain(" ".join(filter(None, [public_name(done.dataset), done.config])), 120),
        "split": plain(done.split, 40),
        "questions": count(len(figures.rows)),
        "orders of the choices": count(figures.rotations) if figures.rotations > 1 else "",
        "chance": percent(figures.chance),
    }
    values = {
        "title": plain(public_name(done.model), 120),
        "facts": {name: text for name, text in facts.items() if text},
        "method": METHODS[done.method].sentence,
        "headline": _headline(figures),
        "bars": [_bar(figures, name) for name in figures.picks],
        "chance": figures.chance,
        "has_gain": FULL.name in figures.picks,
        "notes": [plain(note, 400) for note in (*notes(figures), *done.notes)],
        "types": _types(figures),
        "inputs": list(figures.picks),
        "positions": _positions(figures),
        "kinds": _kinds(figures),
        "prompt": plain(done.run["example"].replace("\n", " ⏎ "), 2000),
        "cards": _cards(done),
    }
    return rendered("evaluation.html.jinja", values)


def _headline(figures: Figures) -> dict[str, Any] | None:
    """The accuracy with all inputs, and the best one without the image, else without the question."""
    blind = [name for name in figures.picks if INPUTS[name].image is not Shown.OWN]
    blind = blind or [name for name in figures.picks if INPUTS[name].is_blind]
    best = max(blind, key=lambda name: figures.accuracy(name).mean, default=None)
    if FULL.name not in figures.picks and best is None:
        return None
    found: dict[str, Any] = {"full": None, "blind": None, "gain": None}
    if FULL.name in figures.picks:
        found["full"] = figures.accuracy(FULL.name).mean
    if best is not None:
        found |= {"blind": figures.accuracy(best).mean, "shows": INPUTS[best].sentence}
        found["gain"] = figures.gain(best) if FULL.name in figures.picks else None
    return found


def _bar(figures: Figures, name: str) -> dict[str, Any]:
    counts, sets = figures.counts(name), figures.sets(name)
    gain = figures.gain(name) if FULL.name in figures.picks and name != FULL.name else None
    return {
        "name": name,
        "shows": INPUTS[name].sentence,
        "is_blind": INPUTS[name].is_blind,
        "accuracy": figures.accuracy(name),
        "gain": gain,
        "circular": figures.circular(name).mean if figures.rotations > 1 else None,
        "sets": None if sets is None else sets.mean,
        **counts,
    }


def _types(figures: Figures) -> list[dict[str, Any]]:
    """The accuracy of each question type by input, the most frequent types first."""
    types = [figures.questions.types[row] for row in figures.rows]
    of_inputs = {name: figures.by_type(name) or {} for name in figures.picks}
    counts = {one: types.count(one) for one in set(types)}
    shown = sorted(counts, key=lambda one: (-counts[one], one))[:MOST_TYPES]
    if len(counts) < 2:
        return []
    return [
        {
            "type": plain(one, TYPE) or "(none)",
            "rows": counts[one],
            "cells": [of.get(one) for of in of_inputs.values()],
        }
        for one in shown
    ]


def _positions(figures: Figures) -> list[dict[str, Any]]:
    of_inputs = [figures.positions(name) for name in figures.picks]
    return [
        {"letter": cells[0]["letter"], "target": cells[0]["target"], "picked": [cell["picked"] for cell in cells]}
        for cells in zip(*of_inputs, strict=True)
    ]


def _kinds(figures: Figures) -> list[dict[str, Any]]:
    of_inputs = [figures.kinds(name) or {} for name in figures.picks]
    names = dict.fromkeys(kind for of in of_inputs for kind in of)
    empty = {"picked": 0.0, "share": 0.0}
    return [
        {
            "kind": plain(kind, TYPE),
            "share": max(of.get(kind, empty)["share"] for of in of_inputs),
            "picked": [of.get(kind, empty)["picked"] for of in of_inputs],
        }
        for kind in names
    ]


def _shown_rows(figures: Figures) -> dict[int, str]:
    """Indices among the evaluated rows, with the reason why they are shown."""
    ids = [figures.questions.question_ids[row] for row in figures.rows]
    keys = order_keys(purpose_hash(0, "examples"), 0, text_hashes(ids))
    order = sorted(range(len(ids)), key=lambda index: keys[index])
    first = figures.of(next(iter(figures.picks)))
    leaked = figures.leaked
    groups = {
        LEAKED: [] if leaked is None else [index for index in order if leaked[index]],
        WRONG: [index for index in order if first.evaluated[index] and not first.correct[index].any()],
        UNREAD: [index for index in order if (first.picked[index] == -1).any()],
        SAMPLED: order,
    }
    found: dict[int, str] = {}
    for note, indices in groups.items():
        found |= dict.fromkeys([index for index in indices if index not in found][:OF_EACH], note)
    return found


def _cards(done: Evaluation) -> list[dict[str, Any]]:
    """Example questions: image, choices, and what was picked with each input."""
    figures = done.figures
    chosen = _shown_rows(figures)
    rows = [int(figures.rows[index]) for index in chosen]
    examples = examples_of(figures.split, rows, notes=dict(zip(rows, chosen.values(), strict=True)))
    return [_card(done, index, example) for index, example in zip(chosen, examples, strict=True)]


def _card(done: Evaluation, index: int, example: Any) -> dict[str, Any]:  # noqa: ANN401  an Example
    figures = done.figures
    row = int(figures.rows[index])
    texts, label = figures.questions.choices[row], int(figures.of(next(iter(figures.picks))).labels[index])
    choices: list[dict[str, Any]] = [
        {"text": plain(text, CHOICE), "target": at == label, "by": []} for at, text in enumerate(texts)
    ]
    replies = []
    for name in figures.picks:
        picked = int(figures.of(name).picked[index, 0])
        shares = _probabilities(figures, row, name)
        for at, choice in enumerate(choices):
            choice["by"].append({"picked": at == picked, "share": None if shares is None else shares[at]})
        if picked < 0:
            reply = figures.replies[Job(row, name, 0)]
            said = reply.failure if picked == FAILED else reply.text or "names no choice"
            replies.append(f"{name}: {plain(said, 200)}")
    return {
        "question": plain(example.question),
        "choices": choices,
        "replies": replies,
        "about": [plain(example.note, ORIGIN), plain(example.question_type, TYPE), plain(example.question_id, TYPE)],
        **picture_values(example.image),
    }


def _probabilities(figures: Figures, row: int, name: str) -> list[float] | None:
    """The probabilities of the choices in the row's own order, of letters; None without."""
    reply = figures.replies[Job(row, name, 0)]
    if figures.method.name != "letter" or reply.scores is None:
        return None
    odds = [exp(score) if score is not None and isfinite(score) else 0.0 for score in reply.scores]
    return [odd / (sum(odds) or 1.0) for odd in odds]
