"""The answers of a study, who passed the attention checks, and the files of its results."""

import io
import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import parquet

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import json_bytes, new_folder
from hf_vqa_mc.io.outputs import FolderKind
from hf_vqa_mc.report.pages import rendered
from hf_vqa_mc.report.plain_text import count
from hf_vqa_mc.report.thumbnails import picture_values
from hf_vqa_mc.studies.kind import Answered, Outcome
from hf_vqa_mc.studies.store import Study

RESULTS = FolderKind("vqa-mc study results")
ANSWERS, ITEMS, SUMMARY, PAGE = "answers.parquet", "questions.parquet", "results.json", "report.html"
SHOWN = 60  # questions on the page: those that deserve a look first
PASSED = 0.5  # default fraction of attention checks below which an annotator's answers do not count


class Finished(NamedTuple):
    """The results of a study, or of the part of it that is answered."""

    summary: dict[str, Any]  # all figures
    outcome: Outcome
    contents: dict[str, bytes]  # the files that all kinds of study have, by name

    def write(self, folder: Path, overwrite: bool) -> list[Path]:
        """Write all files atomically to a folder; returns their paths."""
        with new_folder(folder, RESULTS, overwrite) as new:
            for name, content in self.contents.items():
                (new.tree / name).write_bytes(content)
            self.outcome.write(new.tree)
            names = sorted(path.relative_to(new.tree) for path in new.tree.rglob("*") if path.is_file())
            new.publish()
        return [folder / name for name in names]


def finished(study: Study, passed: float = PASSED) -> Finished:
    """The results of a study."""
    answered, checks, settings = study.answers(), dict[int, list[bool]](), study.settings
    for one in answered:
        if one.item.control:
            is_passed = study.kind.form.passed(one.value, one.item.known["expected"])
            checks.setdefault(one.annotator, []).append(is_passed)
    excluded = sorted(number for number, results in checks.items() if sum(results) < passed * len(results))
    counted = [one for one in answered if not one.item.control and one.annotator not in excluded]
    if not counted and excluded:
        failing = f"annotators who fail the attention checks ({len(excluded)})"
        raise InputError(f"{study.path}: all answers are of {failing}; --passed 0 counts them")
    if not counted:
        raise InputError(f"{study.path} has no answers; serve the study first: vqa-mc study serve")
    outcome = study.kind.results(counted)
    summary = {
        "kind": settings.kind,
        "dataset": settings.dataset,
        "source": study.kind.source,
        "annotators_per_question": settings.annotators,
        "progress": {name: {"answers": of[0], "wanted": of[1]} for name, of in study.progress().items()},
        "attention_checks": {"answered": sum(map(len, checks.values())), "passed": sum(map(sum, checks.values()))},
        "excluded_annotators": excluded,
        **outcome.figures,
    }
    contents = {SUMMARY: json_bytes(summary, indent=1)}
    tables = {ANSWERS: _answer_rows(study, answered, excluded), ITEMS: list(outcome.items)}
    for name, rows in tables.items():
        file = io.BytesIO()
        parquet.write_table(pa.Table.from_pylist(rows), file)
        contents[name] = file.getvalue()
    if outcome.bars is not None:
        contents[PAGE] = _page(study, answered, outcome)
    return Finished(summary, outcome, contents)


def _answer_rows(study: Study, answered: Sequence[Answered], excluded: Collection[int]) -> list[dict[str, Any]]:
    """Every answer; ``answer`` is JSON with indices of ``choices``."""
    return [
        {
            "question_id": one.item.question_id,
            "condition": one.condition,
            "annotator": one.annotator,
            "answer": json.dumps(one.value),
            "choices": study.kind.condition(one.condition).choices(one.item),
            "seconds": one.seconds,
            "answered": datetime.fromtimestamp(one.time, UTC),
            "attention_check": one.item.control,
            "counts": not one.item.control and one.annotator not in excluded,
        }
        for one in answered
    ]


def _page(study: Study, answered: Sequence[Answered], outcome: Outcome) -> bytes:
    """The questions that deserve a look, with people's answers: a self-contained HTML page."""
    assert outcome.bars is not None  # noqa: S101  for type checkers
    items, cards = {item.question_id: item for item in study.items.values()}, []
    for row in outcome.items[:SHOWN]:
        bars = [{"text": text, "votes": votes, "share": votes / row["answers"], "label": label}
                for text, votes, label in outcome.bars(row)]  # fmt: skip
        pictures = list(map(study.picture, items[row["question_id"]].pictures))
        image = picture_values(pictures, absent="no image")
        cards.append({**row, **image, "bars": bars, "condition": row.get("condition", "")})
    questions = count(len({row["question_id"] for row in outcome.items}))
    answers = count(sum(not one.item.control for one in answered))
    facts = {"kind": study.settings.kind, "questions": questions, "answers": answers}
    values = {"title": study.settings.dataset, "facts": facts, "cards": cards}
    return rendered("study_results.html.jinja", values, style="study.css").encode("utf-8", "replace")
