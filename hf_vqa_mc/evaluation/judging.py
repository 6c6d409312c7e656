"""Which other choices of a question are also correct, by a model or by WordNet; fractions, agreement and precision."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from hf_vqa_mc.audits.findings import possibly_correct
from hf_vqa_mc.audits.rows import number_rows
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.questions import Questions, presented_questions
from hf_vqa_mc.data.reading import load
from hf_vqa_mc.data.verdicts import BAD_QUESTION, CORRECT, WRONG, Verdict, read_verdicts, rejected
from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.evaluation.evaluating import open_model, sampled
from hf_vqa_mc.evaluation.language_model import name_of
from hf_vqa_mc.evaluation.run_folder import ANSWERS, RunFolder, instructed_replies
from hf_vqa_mc.evaluation.settings import JudgeSettings
from hf_vqa_mc.evaluation.shares import Ints, share
from hf_vqa_mc.io.outputs import check_outside
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.scoring.table import score_cell
from hf_vqa_mc.scoring.written_answers import NO_OTHER, written_letters
from hf_vqa_mc.version import __version__

WORDNET = "wordnet"  # the model that needs none: the heuristics of the audit
INSTRUCTION = (
    'The answer "{letter}. {target}" is correct. Which of the other choices are also correct answers to this '
    "question, so that a careful person would accept them, too? Reply with their letters only, separated by commas, "
    f'or with "{NO_OTHER}".'
)
"""Last line of a prompt; ``letter`` and ``target`` are of the correct choice."""
UNKNOWN, NO, YES = -1, 0, 1  # whether a decoy is flagged; unknown without a reply that can be read
VERDICTS_OF = {UNKNOWN: "", NO: WRONG, YES: CORRECT}
MOST_TYPES = 20  # maximum number of question types, the most frequent first


Found = dict[int, frozenset[int] | None]
"""Row to the indices of the choices that a model finds correct; None for a reply that cannot be read."""


class Judgement:
    """The verdicts of a judge on the decoys of a benchmark, as the settings say; see `hf_vqa_mc.judge`."""

    def __init__(self, settings: JudgeSettings, progress: Progress) -> None:
        if settings.output is not None:
            check_outside(settings.output, "--output", [*settings.paths, *filter(None, [settings.labels])])
        people = read_verdicts(settings.labels) if settings.labels else None
        benchmark = load(settings, progress)
        questions = presented_questions(benchmark, None, hide_answers=False)
        rows = sampled(questions, settings.sample, seed=0)
        found: Found | None = None
        self.location, self.benchmark_notes, self.n_rows = questions.location, benchmark.notes, len(rows)
        self.unparsed = list[str]()  # replies that are no list of choices
        self.failures = list[str]()  # reasons of rows without a reply
        run: dict[str, Any] = {"version": __version__, "judge": WORDNET, "dataset": public_name(settings.dataset_name)}
        self.run = run | {"config": benchmark.config, "split": benchmark.test.name}  # settings of the run
        if settings.model == WORDNET:
            with RunFolder(settings.output, self.run).open():  # checks and writes the settings
                if settings.output is not None:
                    (settings.output / ANSWERS).unlink()  # empty
        else:
            found, self.run["max_tokens"] = {}, settings.max_tokens
            with ExitStack() as stack:
                model = open_model(settings.model, stack, **settings.model_options)
                self.run["judge"] = name_of(model)
                asked = (INSTRUCTION, self.run, settings.output, progress)
                replies = instructed_replies(model, questions, rows.tolist(), *asked)
            for row, reply in replies.items():
                is_read = not (reply.failure or reply.cut_off)
                found[row] = written_letters(reply.text or "", questions.choices[row]) if is_read else None
                if reply.failure:
                    self.failures.append(reply.failure)
                elif found[row] is None:
                    self.unparsed.append(reply.text or "")
        self.judge: str = self.run["judge"]
        self.decoys = _decoys(benchmark, questions, rows, found)
        """one row per decoy of the judged rows: row, question_id, choice, kind, question_type ("" where there is
        none), cluster (number of the image, or of the question), flag by the judge and by wordnet, and label by
        people if given: UNKNOWN, NO or YES"""
        if people is not None and settings.labels:
            self.decoys["label"] = _labels(people, self.decoys, settings.labels)

    def verdicts(self) -> list[Verdict]:
        """A verdict on each decoy, for ``vqa-mc remedy --reject``; none for rows without a reply that can be read."""
        known = self.decoys[self.decoys["flag"] != UNKNOWN]
        cells = zip(known["question_id"], known["choice"], known["flag"], strict=True)
        return [Verdict(question_id, text, VERDICTS_OF[flag], self.judge) for question_id, text, flag in cells]

    @cached_property
    def figures(self) -> dict[str, Any]:
        """All figures; fractions."""
        calibration, decoys = None, self.decoys
        if "label" in decoys:
            judges = {self.judge: "flag", WORDNET: "wordnet"}
            calibration = {public_name(name): _calibration(decoys, column) for name, column in judges.items()}
        return {
            **{name: value for name, value in self.run.items() if name != "example"},
            "judge": public_name(self.judge),
            "rows": self.n_rows,
            "unparsed": len(self.unparsed),
            "failed": len(self.failures),
            "groups": list(_groups(decoys)),
            "agreement": None if self.judge == WORDNET else _agreement(decoys),
            "calibration": calibration,
        }

    def notes(self) -> Iterator[str]:
        """Sentences below the table."""
        by = "by WordNet and annotators' answers" if self.judge == WORDNET else "as also correct"
        yield f"Percent of decoys that are flagged {by}, with 95% intervals, clustered by image."
        yield from self.benchmark_notes
        if self.unparsed:
            yield (
                f"{len(self.unparsed):,} of {self.n_rows:,} replies are no list of letters and count as no verdict, "
                f"such as: {self.unparsed[0][:200]!r}"
            )
        if self.failures:
            yield f"{len(self.failures):,} rows have no reply, such as: {self.failures[0]}"
        if same := self.figures["agreement"]:
            kappa = "not defined" if same["kappa"] is None else f"{same['kappa']:.2f}"
            yield (
                f"Of {same['decoys']:,} decoys, both flag {same['both']:,}, only the judge {same['judge_only']:,}, "
                f"only WordNet {same['wordnet_only']:,}; kappa {kappa}."
            )
        for name, one in (self.figures["calibration"] or {}).items():
            cells = [f"{what} {one[what].percent() if one[what] else '-'}" for what in ("precision", "recall")]
            cells.append(f"F1 {'-' if one['f1'] is None else score_cell(one['f1'])}")
            yield f"Against {one['decoys']:,} labels ({one['correct']:,} correct), {name}: {', '.join(cells)}."


def _decoys(benchmark: Benchmark, questions: Questions, rows: Ints, found: Found | None) -> pd.DataFrame:
    """The decoys of some rows, with what a model has ``found`` by row and what WordNet finds; see `Judgement`."""
    split = benchmark.test
    some = split.rows.take(rows)
    numbered = number_rows({"test": some})["test"]
    by_wordnet = np.logical_or.reduce([*possibly_correct(numbered, some["answers"].combine_chunks()).values()])
    lines = []
    for at, (row, kinds) in enumerate(zip(rows.tolist(), some["choice_kinds"].to_pylist(), strict=True)):
        flagged = None if found is None else found[row]
        columns = {own: column for column, own in enumerate(numbered.positions[at].tolist())}
        for index, (own, text) in enumerate(zip(questions.order(row), questions.choices[row], strict=True)):
            if columns[own] == 0:  # the target
                continue
            wordnet = int(by_wordnet[at, columns[own]])
            flag = wordnet if found is None else UNKNOWN if flagged is None else int(index in flagged)
            about = row, questions.question_ids[row], text, kinds[own] if kinds else "", questions.types[row]
            lines.append((*about, int(split.clusters[row]), flag, wordnet))
    names = ("row", "question_id", "choice", "kind", "question_type", "cluster", "flag", "wordnet")
    return pd.DataFrame(lines, columns=names)


def _labels(people: Sequence[Verdict], decoys: pd.DataFrame, path: Path) -> list[int]:
    """YES for decoys that people find correct, NO for those that they find wrong, else UNKNOWN.

    Verdicts count by judge as in `rejected`; decoys of bad questions, and those that all are unsure of, are unknown.
    Raises InputError if no verdict is about one of the decoys.
    """
    correct = rejected(people)
    wrong = {(one.question_id, one.choice) for one in people if one.verdict == WRONG}
    found = []
    for pair in zip(decoys["question_id"], decoys["choice"], strict=True):
        is_bad, is_correct = pair[0] in correct.questions, pair[1] in correct.choices.get(pair[0], ())
        found.append(UNKNOWN if is_bad else YES if is_correct else NO if pair in wrong else UNKNOWN)
    if all(flag == UNKNOWN for flag in found):
        given = next((one for one in people if one.verdict != BAD_QUESTION), None)
        example = f", such as {shown(given.choice)} of {shown(given.question_id)}," if given else ""
        raise InputError(f"--labels {path}: no verdict{example} is about a judged decoy; use verdicts on these rows")
    return found


def _groups(decoys: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Flagged decoys and rows with any, of all, by decoy kind and by question type; only those that are judged."""
    known, types = decoys[decoys["flag"] != UNKNOWN], Counter(decoys["question_type"]).most_common(MOST_TYPES)
    groups = [("", "all", known)]
    groups += [("decoys", kind.legend, known[known["kind"] == name]) for name, kind in CHOICE_KINDS.items()]
    for name, _ in types if len(types) > 1 else ():
        groups.append(("question type", name or "(none)", known[known["question_type"] == name]))
    for of, name, some in groups:
        if len(some):
            by_row = some.groupby("row").agg({"flag": "max", "cluster": "first"})
            parts = {"flagged": (some, "flag"), "rows_flagged": (by_row, "flag"), "wordnet": (some, "wordnet")}
            yield {"of": of, "name": name, "decoys": len(some), "rows": len(by_row)} | {
                key: share((one[column] == YES).to_numpy(float), one["cluster"].to_numpy())
                for key, (one, column) in parts.items()
            }


def _agreement(decoys: pd.DataFrame) -> dict[str, Any] | None:
    """How the judge's flags and WordNet's agree; None if no decoy is judged. ``kappa`` is Cohen's (1960)."""
    known = decoys[decoys["flag"] != UNKNOWN]
    one, other = ((known[column] == YES).to_numpy() for column in ("flag", "wordnet"))
    if not len(one):
        return None
    same = float((one == other).mean())
    by_chance = float(one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean()))
    masks = {"both": one & other, "judge_only": one & ~other, "wordnet_only": ~one & other}
    kappa = None if by_chance == 1 else (same - by_chance) / (1 - by_chance)
    return {"decoys": len(one), **{name: int(of.sum()) for name, of in masks.items()}, "same": same, "kappa": kappa}


def _calibration(decoys: pd.DataFrame, column: str) -> dict[str, Any]:
    """Precision, recall and F1 of flags against labels, on the decoys that have both.

    Precision and recall have the interval of `proportion_interval`, clustered by image. None where nothing is flagged
    or correct.
    """
    both = decoys[(decoys[column] != UNKNOWN) & (decoys["label"] != UNKNOWN)]
    flagged, true = ((both[name] == YES).to_numpy() for name in (column, "label"))
    hits, clusters = (flagged & true).astype(np.float64), both["cluster"].to_numpy()
    precision, recall = (share(hits[of], clusters[of]) if of.any() else None for of in (flagged, true))
    total = flagged.sum() + true.sum()
    f1 = float(2 * hits.sum() / total) if total else None
    counts = {"decoys": len(both), "flagged": int(flagged.sum()), "correct": int(true.sum())}
    return {**counts, "precision": precision, "recall": recall, "f1": f1}
