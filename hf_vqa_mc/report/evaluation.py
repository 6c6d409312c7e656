"""The page, figures and rows of an evaluation."""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from math import exp, isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash, text_hashes
from hf_vqa_mc.evaluation.evaluating import Evaluation
from hf_vqa_mc.evaluation.figures import COUNTED, Figures
from hf_vqa_mc.evaluation.methods import FAILED, FULL, INPUTS, METHODS, UNPARSED
from hf_vqa_mc.evaluation.prompts import Job
from hf_vqa_mc.evaluation.run_folder import RESULTS, ROWS
from hf_vqa_mc.evaluation.settings import EvaluateSettings
from hf_vqa_mc.io.atomic import json_bytes, write_together
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.options import default_of
from hf_vqa_mc.report.examples import CHOICE, ORIGIN, TYPE, examples_of
from hf_vqa_mc.report.pages import rendered, table_values
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values
from hf_vqa_mc.result import Step

REPORT = "report.html"
OF_EACH = 12  # maximum number of example questions per reason
MOST_TYPES = 40  # maximum number of question types on the page, the most frequent first
POSITIONS = (
    "How often the model picks each position. A model without a preference picks each as often as it has the correct "
    "choice."
)
KINDS = "How often a choice of each kind is picked, and the kind's share of all choices."


def write_evaluation(folder: Path, done: Evaluation, steps: Sequence[Step] = ()) -> list[Path]:
    """Write report.html, results.json and rows.parquet to a folder, created if missing; returns their paths."""
    content = io.BytesIO()
    parquet.write_table(pa.table(done.figures.table()), content)
    files = {REPORT: evaluation_html(done, steps).encode(), RESULTS: json_bytes(done.as_json(), indent=1)}
    paths = {folder / name: data for name, data in {**files, ROWS: content.getvalue()}.items()}
    write_together(paths)
    return list(paths)


def next_steps(
    settings: EvaluateSettings, figures: Figures, folder: Path | None, name: Callable[[str], str] = str
) -> list[Step]:
    """What to do after an evaluation, with the paths that ``name`` makes; ``folder`` is that of the evaluation."""
    inputs, given = settings.arguments(name)
    model = name(settings.model) if isinstance(settings.model, str) else "MODEL"
    asked, known = {**given, "model": model}, {one.name for one in fields(BenchmarkOptions)} | {"inputs", "output"}
    for one in fields(EvaluateSettings):
        value = getattr(settings, one.name)
        if one.name not in known | asked.keys() and value != default_of(one):
            asked[one.name] = name(value) if isinstance(value, str) else value
    steps, blind = [], [one for one in figures.picks if INPUTS[one].is_blind]
    if figures.rotations == 1 and any(map(figures.favourite, figures.picks)):
        why = "The model favours a letter: ask each question with all orders of its choices"
        steps.append(Step(why, "evaluate", inputs, {**asked, "inputs": settings.inputs, "rotations": "all"}))
    if not blind:
        asked["inputs"] = (FULL.name, "no-image")
        steps.append(Step("Find out how much remains without the image", "evaluate", inputs, asked))
    if leaking := [one for one in blind if figures.beats_chance(one)]:
        why = f"{percent(figures.accuracy(leaking[0]).mean)} with {leaking[0]} is above chance: find the shortcuts"
        steps.append(Step(why, "audit", inputs, given))
    if folder is not None:
        written = name(str(folder))
        steps.append(Step("Compare with another model", "compare", ((written, "OTHER"),)))
        target = model if re.fullmatch(r"[\w.-]+/[\w.-]+", model) and not Path(model).exists() else "NAMESPACE/MODEL"
        is_local = settings.paths or not isinstance(settings.dataset, str)
        sent = {"folder": written} | ({"benchmark": "NAMESPACE/BENCHMARK"} if is_local else {})
        steps.append(Step("Publish the results on the Hub", "push", ("results", target), sent))
    return steps


def evaluation_html(done: Evaluation, steps: Sequence[Step] = ()) -> str:
    """The page of an evaluation: self-contained, deterministic, and safe with malicious texts and images."""
    figures = done.figures
    chosen = _shown_rows(figures)
    rows = [int(figures.rows[index]) for index in chosen]
    examples = examples_of(figures.split, rows, notes=dict(zip(rows, chosen.values(), strict=True)))
    facts = {
        "benchmark": plain(" ".join(filter(None, [done.run["dataset"], done.run["config"]])), 120),
        "split": plain(done.run["split"], 40),
        "evaluated": figures.extent(),
        "orders of the choices": count(figures.rotations) if figures.rotations > 1 else "",
        "chance": percent(figures.chance),
    }
    values = {
        "title": plain(public_name(done.run["model"]), 120),
        "facts": {name: text for name, text in facts.items() if text},
        "method": METHODS[done.run["method"]].sentence,
        "headline": _headline(figures),
        "board": [_bar(figures, name) for name in figures.picks],
        "chance": figures.chance,
        "has_gain": FULL.name in figures.picks,
        "notes": [plain(note, 400) for note in (*figures.notes(), *done.notes)],
        "tables": list(_tables(figures)),
        "inputs": list(figures.picks),
        "prompt": plain(done.run["example"].replace("\n", " ⏎ "), 2000),
        "steps": steps,
        "cards": [_card(done, index, example) for index, example in zip(chosen, examples, strict=True)],
    }
    return rendered("evaluation.html.jinja", values)


def _headline(figures: Figures) -> dict[str, Any] | None:
    """The accuracy with all inputs, and with the first one without the image, else without the question."""
    blind = [name for name in INPUTS if name in figures.picks and INPUTS[name].is_blind]
    blind.sort(key=lambda name: INPUTS[name].image == "own")
    if FULL.name not in figures.picks and not blind:
        return None
    found: dict[str, Any] = {"full": None, "blind": None, "gain": None}
    shown = {"full": FULL.name} if FULL.name in figures.picks else {}
    for key, name in {**shown, **({"blind": blind[0]} if blind else {})}.items():
        found |= {key: figures.accuracy(name).mean, f"{key}_is_luck": not figures.beats_chance(name)}
    return {**found, "shows": INPUTS[blind[0]].sentence, "gain": figures.gain(blind[0])} if blind else found


def _bar(figures: Figures, name: str) -> dict[str, Any]:
    counts, sets = figures.counts(name), figures.sets(name)
    more = {"correct in every order": figures.circular(name) if figures.rotations > 1 else None, "whole sets": sets}
    about = [INPUTS[name].sentence, *(f"{what} {percent(one.mean)}" for what, one in more.items() if one)]
    about += [f"{counts[key]:,} {key.replace('_', ' ')}" for key in COUNTED if counts[key]]
    return {
        "name": name,
        "about": " · ".join(about),
        "style": ("before" if INPUTS[name].is_blind else "after") if figures.beats_chance(name) else "before calm",
        "accuracy": figures.accuracy(name),
        "change": figures.gain(name),
    }


def _tables(figures: Figures) -> Iterator[dict[str, Any]]:
    """The tables of question types, positions and kinds of choices, with a column per input."""
    types = Counter(figures.questions.types[row] for row in figures.rows)
    if len(types) > 1:
        shown = sorted(types, key=lambda one: (-types[one], one))[:MOST_TYPES]
        columns = {"question type": [plain(one, TYPE) or "(none)" for one in shown],
                   "questions": [count(types[one]) for one in shown]}  # fmt: skip
        by_type = {name: figures.by_type(name) or {} for name in figures.picks}
        columns |= {name: [percent(of_types.get(one)) for one in shown] for name, of_types in by_type.items()}
        yield table_values("Accuracy by question type", columns, ("question type",))
    positions = {name: figures.positions(name) for name in figures.picks}
    first = next(iter(positions.values()))
    columns = {"position": [one["letter"] for one in first]}
    columns |= {"correct choice": [percent(one["target"]) for one in first]}
    columns |= {name: [percent(one["picked"]) for one in found] for name, found in positions.items()}
    yield table_values("Positions", columns, ("position",), POSITIONS)
    kinds = {name: figures.kinds(name) or {} for name in figures.picks}
    names = list(dict.fromkeys(kind for of in kinds.values() for kind in of))
    empty = {"picked": 0.0, "share": 0.0}
    if names:
        shares = [max(of.get(kind, empty)["share"] for of in kinds.values()) for kind in names]
        columns = {"kind": [plain(kind, TYPE) for kind in names], "share": list(map(percent, shares))}
        columns |= {name: [percent(of.get(kind, empty)["picked"]) for kind in names] for name, of in kinds.items()}
        yield table_values("Kinds of the picked choices", columns, ("kind",), KINDS)


def _shown_rows(figures: Figures) -> dict[int, str]:
    """Indices among the evaluated rows, with the reason why they are shown."""
    ids = [figures.questions.question_ids[row] for row in figures.rows]
    keys = order_keys(purpose_hash(0, "examples"), 0, text_hashes(ids))
    order = sorted(range(len(ids)), key=lambda index: keys[index])
    first, shown = figures.first, next(iter(figures.picks))
    blind = [name for name in figures.picks if INPUTS[name].is_blind and figures.beats_chance(name)]
    leaked = [figures.of(name).always_correct for name in blind]
    groups = {
        "answered without image or question": [index for index in order if any(of[index] for of in leaked)],
        f"wrong with {shown}": [one for one in order if first.evaluated[one] and not first.correct[one].any()],
        "names no choice": [index for index in order if (first.picked[index] == UNPARSED).any()],
        "random sample": order,
    }
    found: dict[int, str] = {}
    for note, indices in groups.items():
        found |= dict.fromkeys([index for index in indices if index not in found][:OF_EACH], note)
    return found


def _card(done: Evaluation, index: int, example: Any) -> dict[str, Any]:  # noqa: ANN401  an Example
    figures = done.figures
    row = int(figures.rows[index])
    texts, label = figures.questions.choices[row], int(figures.first.labels[index])
    choices: list[dict[str, Any]] = [
        {"text": plain(text, CHOICE), "target": at == label, "by": []} for at, text in enumerate(texts)
    ]
    replies = []
    for name in figures.picks:
        picked, reply = int(figures.of(name).picked[index, 0]), figures.replies[Job(row, name, 0)]
        shares: list[float] | None = None  # probabilities of letters
        if figures.method.name == "letter" and reply.scores is not None:
            odds = [exp(score) if score is not None and isfinite(score) else 0.0 for score in reply.scores]
            shares = [odd / (sum(odds) or 1.0) for odd in odds]
        for at, choice in enumerate(choices):
            choice["by"].append({"picked": at == picked, "share": None if shares is None else shares[at]})
        if picked < 0:
            said = reply.failure if picked == FAILED else reply.text or "names no choice"
            replies.append(f"{name}: {plain(said, 200)}")
    return {
        "question": plain(example.question),
        "choices": choices,
        "replies": replies,
        "about": [plain(example.note, ORIGIN), plain(example.question_type, TYPE), plain(example.question_id, TYPE)],
        **picture_values(example.images),
    }
