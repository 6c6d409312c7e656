"""The answers of a study, who passed the attention checks, and the files of its results."""

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import new_folder, write_json
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


@dataclass(frozen=True)
class Finished:
    """The results of a study, or of the part of it that is answered."""

    study: Study
    answered: list[Answered]  # all answers, attention checks included
    checks: dict[int, list[bool]]  # annotator to whether each attention check was passed
    excluded: list[int]  # annotators whose answers do not count
    outcome: Outcome

    def summary(self) -> dict[str, Any]:
        """All figures."""
        settings, results = self.study.settings, list(self.checks.values())
        return {
            "kind": settings.kind,
            "dataset": settings.dataset,
            "source": self.study.kind.source,
            "annotators_per_question": settings.annotators,
            "progress": {name: {"answers": of[0], "wanted": of[1]} for name, of in self.study.progress().items()},
            "attention_checks": {"answered": sum(map(len, results)), "passed": sum(map(sum, results))},
            "excluded_annotators": self.excluded,
            **self.outcome.figures,
        }

    def answer_table(self) -> pa.Table:
        """Every answer, one row each; ``answer`` is JSON with indices of ``choices``."""
        excluded = set(self.excluded)
        rows = [
            {
                "question_id": one.item.question_id,
                "condition": one.condition,
                "annotator": one.annotator,
                "answer": json.dumps(one.value),
                "choices": self.study.kind.condition(one.condition).choices(one.item),
                "seconds": one.seconds,
                "answered": datetime.fromtimestamp(one.time, UTC),
                "attention_check": one.item.control,
                "counts": not one.item.control and one.annotator not in excluded,
            }
            for one in self.answered
        ]
        return pa.Table.from_pylist(rows)

    def page(self) -> bytes:
        """The questions that deserve a look, with people's answers: a self-contained HTML page."""
        assert self.outcome.bars is not None  # noqa: S101  for type checkers
        items = {item.question_id: item for item in self.study.items.values()}
        cards = []
        for row in self.outcome.items[:SHOWN]:
            lines = [
                {"text": text, "votes": votes, "share": votes / row["answers"], "label": label}
                for text, votes, label in self.outcome.bars(row)
            ]
            pictures = list(map(self.study.picture, items[row["question_id"]].pictures))
            image = picture_values(pictures, absent="no image")
            cards.append({**row, **image, "bars": lines, "condition": row.get("condition", "")})
        questions = count(len({row["question_id"] for row in self.outcome.items}))
        answers = count(sum(not one.item.control for one in self.answered))
        facts = {"kind": self.study.settings.kind, "questions": questions, "answers": answers}
        values = {"title": self.study.settings.dataset, "facts": facts, "cards": cards}
        return rendered("study_results.html.jinja", values, style="study.css").encode("utf-8", "replace")

    def write(self, folder: Path, overwrite: bool) -> list[Path]:
        """Write all files atomically to a folder; returns their paths."""
        with new_folder(folder, RESULTS, overwrite) as new:
            write_json(new.tree / SUMMARY, self.summary(), indent=1)
            tables = {ANSWERS: self.answer_table(), ITEMS: pa.Table.from_pylist(list(self.outcome.items))}
            for name, table in tables.items():
                parquet.write_table(table, new.tree / name)
            self.outcome.write(new.tree)
            if self.outcome.bars is not None:
                (new.tree / PAGE).write_bytes(self.page())
            names = sorted(path.relative_to(new.tree) for path in new.tree.rglob("*") if path.is_file())
            new.publish()
        return [folder / name for name in names]


def finished(study: Study, passed: float = PASSED) -> Finished:
    """The results of a study."""
    answered, checks = study.answers(), dict[int, list[bool]]()
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
    return Finished(study, answered, checks, excluded, study.kind.results(counted))
