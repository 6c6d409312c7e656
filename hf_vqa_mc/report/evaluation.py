"""The result of an evaluation: its table in terminals, its page, figures and rows, and next steps."""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from math import exp, isfinite
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash, text_hashes
from hf_vqa_mc.evaluation.figures import COUNTED, Evaluation, InputFigures
from hf_vqa_mc.evaluation.methods import FAILED, FULL, INPUTS, METHODS, UNPARSED
from hf_vqa_mc.evaluation.prompts import Job
from hf_vqa_mc.evaluation.run_folder import ANSWERS, RESULTS, ROWS
from hf_vqa_mc.evaluation.settings import EvaluateSettings
from hf_vqa_mc.io.atomic import json_bytes, write_together
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.options import default_of
from hf_vqa_mc.report.examples import CHOICE, ORIGIN, TYPE, Example, examples_of
from hf_vqa_mc.report.pages import rendered, table_values
from hf_vqa_mc.report.plain_text import count, percent, plain
from hf_vqa_mc.report.thumbnails import picture_values
from hf_vqa_mc.result import Frame, OutputResult, Report, Step, frame_of
from hf_vqa_mc.text.tables import TextTable

OF_EACH = 12  # maximum number of example questions per reason
MOST_TYPES = 40  # maximum number of question types on the page, the most frequent first
POSITIONS = (
    "How often the model picks each position. A model without a preference picks each as often as it has the correct "
    "choice."
)
KINDS = "How often a choice of each kind is picked, and the kind's share of all choices."


@dataclass(frozen=True, eq=False, repr=False)
class EvaluateResult(OutputResult):
    """A model's accuracy with each input."""

    evaluation: Evaluation

    def report(self) -> Report:
        """A table with a line per input, notes, and the files."""
        done = self.evaluation
        yield f"{done.run['model']} on {done.split.location}: {done.extent()}, method {done.run['method']}"
        yield TextTable(done.columns(), ("input",))
        yield from done.notes()
        yield from (f"wrote {path}" for path in self.written)
        yield from next_steps(self.settings, done, self.settings.output)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in results.json; fractions."""
        return {**self.evaluation.as_json(), "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per input: accuracy with its 95% interval, gain of seeing all, numbers of replies."""
        rows = []
        for name, found in self.evaluation.as_json()["inputs"].items():
            gain = {f"gain_{field}": value for field, value in (found["gain"] or {}).items() if field != "rows"}
            counts = {what: found[what] for what in ("replies", "unparsed", "refused", "cut_off", "failed")}
            accuracy = dict(found["accuracy"])
            rows.append({"input": name, "accuracy": accuracy.pop("mean"), **accuracy, **gain, **counts})
        return frame_of(rows)

    @property
    def per_question(self) -> Frame:
        """One row per question: the columns of rows.parquet, with each input's picked choice and score."""
        return frame_of(self.evaluation.table())

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write report.html, results.json and rows.parquet to a folder, without the answers."""
        folder, done, content = Path(path), self.evaluation, io.BytesIO()
        parquet.write_table(pa.table(done.table()), content)
        page = evaluation_html(done, list(next_steps(self.settings, done, folder, public_name)))
        figures = json_bytes(done.as_json(), indent=1)
        files = {folder / "report.html": page.encode(), folder / RESULTS: figures, folder / ROWS: content.getvalue()}
        write_together(files)
        return list(files)

    def _save(self) -> Iterable[Path]:
        return (*super()._save(), self.settings.output / ANSWERS) if self.settings.output else ()


def next_steps(
    settings: EvaluateSettings, done: Evaluation, folder: Path | None, name: Callable[[str], str] = str
) -> Iterator[Step]:
    """What to do after an evaluation, with the paths that ``name`` makes; ``folder`` is that of the evaluation."""
    inputs, given = settings.arguments(name)
    model = name(str(settings.model)) if isinstance(settings.model, str | Path) else "MODEL"
    asked, known = {**given, "model": model}, {one.name for one in fields(BenchmarkOptions)} | {"inputs", "output"}
    for one in fields(EvaluateSettings):
        value = getattr(settings, one.name)
        if one.name not in known | asked.keys() and value != default_of(one):
            asked[one.name] = name(value) if isinstance(value, str) else value
    blind = {name: one for name, one in done.inputs.items() if one.given.is_blind}
    if done.rotations == 1 and any(one.favourite for one in done.inputs.values()):
        why = "The model favours a letter: ask each question with all orders of its choices"
        yield Step(why, "evaluate", inputs, {**asked, "inputs": settings.inputs, "rotations": "all"})
    if not blind:
        asked["inputs"] = (FULL.name, "no-image")
        yield Step("Find out how much remains without the image", "evaluate", inputs, asked)
    if leaking := [name for name, one in blind.items() if one.beats_chance]:
        why = f"{percent(blind[leaking[0]].accuracy.mean)} with {leaking[0]} is above chance: find the shortcuts"
        yield Step(why, "audit", inputs, given)
    if folder is not None:
        written = name(str(folder))
        yield Step("Compare with another model", "compare", ((written, "OTHER"),))
        target = model if re.fullmatch(r"[\w.-]+/[\w.-]+", model) and not Path(model).exists() else "NAMESPACE/MODEL"
        is_local = settings.paths or not isinstance(settings.dataset, str)
        sent = {"folder": written} | ({"benchmark": "NAMESPACE/BENCHMARK"} if is_local else {})
        yield Step("Publish the results on the Hub", "push", ("results", target), sent)


def evaluation_html(done: Evaluation, steps: list[Step]) -> str:
    """The page of an evaluation: self-contained, deterministic, and safe with malicious texts and images."""
    chosen = _shown_rows(done)
    rows = [int(done.rows[index]) for index in chosen]
    examples = examples_of(done.split, rows, notes=dict(zip(rows, chosen.values(), strict=True)))
    facts = {
        "benchmark": plain(" ".join(filter(None, [done.run["dataset"], done.run["config"]])), 120),
        "split": plain(done.run["split"], 40),
        "evaluated": done.extent(),
        "orders of the choices": count(done.rotations) if done.rotations > 1 else "",
        "chance": percent(done.chance),
    }
    values = {
        "title": plain(public_name(done.run["model"]), 120),
        "facts": {name: text for name, text in facts.items() if text},
        "method": METHODS[done.run["method"]].sentence,
        "headline": _headline(done),
        "board": [_bar(name, one) for name, one in done.inputs.items()],
        "chance": done.chance,
        "has_gain": FULL.name in done.inputs,
        "notes": [plain(note, 400) for note in (*done.notes(), *done.benchmark_notes)],
        "tables": [
            table_values(title, TextTable(columns, list(columns)[:1]), lead) for title, columns, lead in _tables(done)
        ],
        "inputs": list(done.inputs),
        "prompt": plain(done.run["example"].replace("\n", " ⏎ "), 2000),
        "steps": steps,
        "cards": [_card(done, index, example) for index, example in zip(chosen, examples, strict=True)],
    }
    return rendered("evaluation.html.jinja", values)


def _headline(done: Evaluation) -> dict[str, Any] | None:
    """The accuracy with all inputs, and with the first one without the image, else without the question."""
    blind = sorted((name for name in INPUTS if name in done.inputs and INPUTS[name].is_blind),
                   key=lambda name: INPUTS[name].image == "own")  # fmt: skip
    names = {"full": FULL.name if FULL.name in done.inputs else "", "blind": blind[0] if blind else ""}
    found: dict[str, Any] = {"gain": None}
    for key, name in names.items():
        one = done.inputs.get(name)
        found |= {key: one and one.accuracy.mean, f"{key}_is_luck": one and not one.beats_chance}
    if blind:
        found |= {"shows": INPUTS[blind[0]].sentence, "gain": done.inputs[blind[0]].gain}
    return found if any(names.values()) else None


def _bar(name: str, one: InputFigures) -> dict[str, Any]:
    more = {"correct in every order": one.circular, "whole sets": one.sets}
    about = [INPUTS[name].sentence, *(f"{what} {percent(share.mean)}" for what, share in more.items() if share)]
    about += [f"{one.counts[key]:,} {key.replace('_', ' ')}" for key in COUNTED if one.counts[key]]
    return {
        "name": name,
        "about": " · ".join(about),
        "style": ("before" if one.given.is_blind else "after") if one.beats_chance else "before calm",
        "accuracy": one.accuracy,
        "change": one.gain,
    }


def _tables(done: Evaluation) -> Iterator[tuple[str, dict[str, list[str]], str]]:
    """Title, columns and lead of the tables of question types, positions and kinds, with a column per input."""
    types = Counter(done.questions.types[row] for row in done.rows)
    if len(types) > 1:
        shown = sorted(types, key=lambda one: (-types[one], one))[:MOST_TYPES]
        columns = {"question type": [plain(one, TYPE) or "(none)" for one in shown],
                   "questions": [count(types[one]) for one in shown]}  # fmt: skip
        columns |= {name: [percent((of.per_type or {}).get(one)) for one in shown] for name, of in done.inputs.items()}
        yield "Accuracy by question type", columns, ""
    if positions := {name: one.positions for name, one in done.inputs.items() if not one.given.none}:
        first = next(iter(positions.values()))
        columns = {"position": [one["letter"] for one in first]}
        columns |= {"correct choice": [percent(one["target"]) for one in first]}
        columns |= {name: [percent(one["picked"]) for one in found] for name, found in positions.items()}
        yield "Positions", columns, POSITIONS
    kinds = {name: one.kinds or {} for name, one in done.inputs.items()}
    names = list(dict.fromkeys(kind for of in kinds.values() for kind in of))
    empty = {"picked": 0.0, "share": 0.0}
    if names:
        shares = [max(of.get(kind, empty)["share"] for of in kinds.values()) for kind in names]
        columns = {"kind": [plain(kind, TYPE) for kind in names], "share": list(map(percent, shares))}
        columns |= {name: [percent(of.get(kind, empty)["picked"]) for kind in names] for name, of in kinds.items()}
        yield "Kinds of the picked choices", columns, KINDS


def _shown_rows(done: Evaluation) -> dict[int, str]:
    """Indices among the evaluated rows, with the reason why they are shown."""
    ids = [done.questions.question_ids[row] for row in done.rows]
    keys = order_keys(purpose_hash(0, "examples"), 0, text_hashes(ids))
    order = sorted(range(len(ids)), key=lambda index: keys[index])
    shown, first = next(iter(done.inputs.items()))
    leaked = [one.always_correct for one in done.inputs.values() if one.given.is_blind and one.beats_chance]
    groups = {
        "answered without image or question": [index for index in order if any(of[index] for of in leaked)],
        f"wrong with {shown}": [
            one for one in order if (first.picked[one] != FAILED).any() and not first.correct[one].any()
        ],
        "names no choice": [index for index in order if (first.picked[index] == UNPARSED).any()],
        "random sample": order,
    }
    found: dict[int, str] = {}
    for note, indices in groups.items():
        found |= dict.fromkeys([index for index in indices if index not in found][:OF_EACH], note)
    return found


def _card(done: Evaluation, index: int, example: Example) -> dict[str, Any]:
    row = int(done.rows[index])
    texts, label = done.questions.choices[row], int(done.labels[index])
    choices: list[dict[str, Any]] = [
        {"text": plain(text, CHOICE), "target": at == label, "by": []} for at, text in enumerate(texts)
    ]
    replies = []
    for name, one in done.inputs.items():
        picked, reply = int(one.picked[index, 0]), done.replies[Job(row, name, 0)]
        shares: list[float] | None = None  # probabilities of letters
        if done.method.name == "letter" and reply.scores is not None and not INPUTS[name].none:
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
