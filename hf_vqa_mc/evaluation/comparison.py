"""Runs side by side: accuracies and paired differences with intervals and tests, overall and by group.

A run is a folder of vqa-mc evaluate or a file of vqa-mc score --per-question.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import scipy

from hf_vqa_mc.audits.shortcut import holm
from hf_vqa_mc.data.files import read_file
from hf_vqa_mc.errors import InputError, shown, unknown_name
from hf_vqa_mc.evaluation.methods import FULL, INPUTS
from hf_vqa_mc.evaluation.question_statistics import Items, item_table
from hf_vqa_mc.evaluation.reply_rules import READERS
from hf_vqa_mc.evaluation.run_folder import RESULTS, ROWS, SETTINGS
from hf_vqa_mc.evaluation.shares import NO_INTERVAL, Floats, Ints, Share, difference, in_json, share
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.scoring.statistics import CONFIDENCE, SMALLEST_ERROR, standard_error
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.markdown import one_line

POWER = 0.8  # probability with which the minimum detectable difference is found
MOST_GROUPS = 1000

ACCURACY = "mc_accuracy"  # the metric of vqa-mc evaluate, named as in vqa-mc score
CLUSTER, QUESTION_TYPE = "cluster", "question_type"
SCORED = "a file of vqa-mc score --per-question --output FILE"
EXPECTED = f"a folder of vqa-mc evaluate, or {SCORED}"
LONGEST_NAME = 100


@dataclass(frozen=True, eq=False)
class Run:
    """The scores of a run."""

    name: str  # of the model; the path if names are not distinct
    path: Path
    compared: str  # what was compared: a name of ``INPUTS``, "" for a file of vqa-mc score
    metric: str
    scores: pd.Series  # question id to score in [0, 1]; NaN without a reply
    columns: pd.DataFrame  # other columns by question id, such as `CLUSTER` and `QUESTION_TYPE`
    benchmark: Mapping[str, str | None]  # questions_sha256, dataset, config and split; None if unknown
    chances: pd.Series | None = None  # question id to the accuracy of random guessing; None if unknown
    readers: Mapping[str, float] = field(default_factory=dict)  # accuracy by each rule of reading the replies
    rotations: int | None = None
    """number of orders of the choices in which each question was asked, at most one per choice"""


def read_runs(paths: Sequence[Path], input_name: str | None, metric: str | None) -> list[Run]:
    """Read the runs; their names are distinct."""
    for path in paths:
        if not path.exists():
            raise InputError(f"{path}: no such folder or file; expected {EXPECTED}")
    if len(paths) < 2:
        raise InputError(f"RUNS: expected two or more, each {EXPECTED}")
    if twice := [one for one, other in combinations(paths, 2) if one.resolve() == other.resolve()]:
        raise InputError(f"RUNS: {twice[0]} is given twice; remove one of them")
    if any(path.is_dir() for path in paths):
        if metric not in (None, ACCURACY):
            raise InputError(f"--metric {metric}: the folders of vqa-mc evaluate have {ACCURACY} only")
        metric = ACCURACY
    runs: list[Run] = []
    for path in paths:
        runs.append(_evaluated(path, input_name) if path.is_dir() else _scored(path, metric))
        metric = runs[0].metric
    for first, second in combinations(runs, 2):
        _check_same_benchmark(first, second)
    names, full = [run.name for run in runs], [str(run.path) for run in runs]
    for others in (list(map(public_name, full)), full):
        names = names if len(set(names)) == len(names) else others
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def _evaluated(path: Path, input_name: str | None) -> Run:
    """The run in a folder of vqa-mc evaluate."""
    if missing := [name for name in (RESULTS, ROWS) if not (path / name).is_file()]:
        if (path / SETTINGS).is_file():
            unfinished = f"the evaluation is not finished ({missing[0]} is missing)"
            raise InputError(f"{path}: {unfinished}; run it again to resume it")
        raise InputError(f"{path}: {missing[0]} is missing; expected {EXPECTED}")
    found = read_json(path / RESULTS)
    inputs = found["inputs"]
    if input_name is not None and input_name not in inputs:
        raise unknown_name(f"--input of {path}", input_name, inputs)
    compared = input_name or (FULL.name if FULL.name in inputs else next(iter(inputs)))
    table = read_file(path / ROWS)
    frame = table.to_pandas()
    frame.index = pd.Index(frame.pop("question_id").astype(str))
    chances = None
    if "choices" in frame and pa.types.is_list(table.schema.field("choices").type):
        sizes, none = pc.list_value_length(table["choices"]).to_numpy(), INPUTS[compared].none
        chances = pd.Series(1 / np.maximum(sizes + (none == "added"), 1), frame.index)
        if none == "correct":
            frame["label"] = sizes  # the index of none of the above
    scores, about = frame[f"{compared}_score"].astype(np.float64), _about(found, found.get("model"), path)
    rules = inputs[compared].get("rules") or {}
    readers = {rule: share["mean"] for rule, share in rules.items() if rule in READERS}
    return Run(about[0], path, compared, ACCURACY, scores, frame, about[1], chances, readers, found.get("rotations"))


def _scored(path: Path, metric: str | None) -> Run:
    """The run in a file of vqa-mc score; raises InputError if it has no scores of questions."""
    found = read_json(path)
    results = found.get("results") if isinstance(found, dict) else None
    if not isinstance(results, dict):
        raise InputError(f"{path}: field 'results' is missing; expected {EXPECTED}")
    metrics: dict[str, Any] = {}
    for scheme, result in results.items():
        scores = result.get("per_question") if isinstance(result, dict) else None
        if isinstance(scores, dict):
            of_measures = {f"{scheme} {measure}": one for measure, one in scores.items() if isinstance(one, dict)}
            metrics |= of_measures or {scheme: scores}
    if not metrics:
        raise InputError(f"{path}: there are no scores of questions; expected {SCORED}")
    metric = metric or next(iter(metrics))
    if metric not in metrics:
        raise unknown_name(f"--metric of {path}", metric, metrics)
    scores = pd.Series(metrics[metric], dtype=np.float64)
    columns = {CLUSTER: found.get("image_ids"), QUESTION_TYPE: found.get("question_types")}
    series = {name: pd.Series(one, dtype=object) for name, one in columns.items() if one is not None}
    frame = pd.DataFrame({name: one.reindex(scores.index) for name, one in series.items()}, index=scores.index)
    chance = results[metric].get("chance") if metric in results else None
    is_share = isinstance(chance, float) and 0 < chance <= 1
    chances = pd.Series(chance, scores.index) if is_share else None  # the mean for each question
    name, benchmark = _about(found, PurePath(found.get("predictions") or "").stem, path)
    return Run(name, path, "", metric, scores, frame, benchmark, chances)


def _about(found: Mapping[str, Any], model: str | None, path: Path) -> tuple[str, dict[str, str | None]]:
    """The name of a run on one line, and its benchmark."""
    name = one_line(public_name(model) if model else path.name)[:LONGEST_NAME]
    return name, {key: found.get(key) for key in ("questions_sha256", "dataset", "config", "split")}


def _check_same_benchmark(one: Run, other: Run) -> None:
    """Raise InputError if two runs are known to be of different questions."""
    differ = f"{one.path} and {other.path} are not of the same benchmark"
    checksums = one.benchmark["questions_sha256"], other.benchmark["questions_sha256"]
    if all(checksums):
        if checksums[0] != checksums[1]:
            remedy = "evaluate both on the same version and split (for a part, use --sample)"
            raise InputError(f"{differ}: questions, choices or labels differ (questions_sha256); {remedy}")
        return
    for name in ("dataset", "config", "split"):
        a, b = one.benchmark[name], other.benchmark[name]
        if a and b and PurePath(a).name != PurePath(b).name:
            raise InputError(f"{differ}: the {name} is {shown(a)} and {shown(b)}; compare runs of one benchmark")


@dataclass(frozen=True)
class Paired:
    """A run against the baseline on the same questions."""

    difference: Share  # mean of the paired differences
    gained: int  # number of questions with a higher score than the baseline's
    lost: int  # number of questions with a lower score
    p_mcnemar: float | None  # McNemar's exact test, two-sided; None unless all scores are 0 or 1
    p_clustered: float
    """Student's t-test of the differences, two-sided, clustered by image; the sign test of the images if all
    differences are equal"""
    p: float  # the larger of the two
    detectable: float | None  # minimum detectable difference at `POWER`; None if it cannot be estimated
    p_holm: float = 1.0  # p, adjusted for all comparisons of its table


def paired(scores: Floats, baseline: Floats, clusters: Ints) -> Paired:
    """Compare two runs on the same questions; all arrays (questions,).

    McNemar's test is exact for few changed questions, but takes them as independent; the t-test accounts for the
    clusters. ``p`` is the larger one.
    """
    changes = scores - baseline
    gained, lost = int((changes > 0).sum()), int((changes < 0).sum())
    mcnemar = None
    if np.isin(scores, (0, 1)).all() and np.isin(baseline, (0, 1)).all():
        mcnemar = float(scipy.stats.binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0
    error, units = standard_error(changes, clusters), len(np.unique(clusters))
    clustered, detectable, student = 1.0, None, scipy.stats.t(units - 1)
    if error is not None and error > SMALLEST_ERROR:
        clustered = float(2 * student.sf(abs(changes.mean()) / error))
        detectable = float(student.ppf((1 + CONFIDENCE) / 2) + student.ppf(POWER)) * error
    elif changes.any():
        clustered = 0.5 ** (units - 1)
    p = clustered if mcnemar is None else max(clustered, mcnemar)
    return Paired(difference(scores, baseline, clusters), gained, lost, mcnemar, clustered, p, detectable)


@dataclass(frozen=True)
class Line:
    """A run on all compared questions or on a group of them."""

    run: str  # its name
    input: str | None
    metric: str
    accuracy: Share
    against_baseline: Paired | None  # None for the baseline
    group: tuple[str, ...] = ()  # value of each column of the breakdown; empty for all questions

    def as_json(self) -> dict[str, Any]:
        """All figures; fractions."""
        return {name: in_json(value) for name, value in vars(self).items() if name != "group"}


class Comparison:
    """Two or more runs on the questions that all of them have."""

    def __init__(self, runs: Sequence[Run], by: Sequence[str] = ()) -> None:
        self.runs, self.by = list(runs), tuple(by)
        self.baseline = baseline = runs[0]
        scores = pd.concat({run.name: run.scores for run in runs}, axis=1, join="inner")
        if not len(scores):
            ids = [shown(run.scores.index[0]) if len(run.scores) else "none" for run in runs]
            raise InputError(f"the runs have no question in common; their first question ids are {', '.join(ids)}")
        order, notes = baseline.scores.index, list[str]()
        scores = scores.reindex(order[order.isin(scores.index)])
        sizes = {run.name: len(run.scores) - len(scores) for run in runs}
        if others := [f"{more:,} of {name}" for name, more in sizes.items() if more > 0]:
            notes.append(f"Questions that not all runs have are left out: {', '.join(others)}.")
        rotations = {run.name: run.rotations for run in runs if run.rotations is not None}
        if len(set(rotations.values())) > 1:
            counts = ", ".join(f"{count} in {name}" for name, count in rotations.items())
            notes.append(
                f"Orders of the choices in which each question was asked (--rotations): {counts}; scores are means "
                "over them; evaluate all runs with the same number to count gained, lost and changed questions."
            )
        answered = scores.notna().all(axis=1)
        if not answered.any():
            raise InputError("no question has a reply in all runs; run vqa-mc evaluate again to ask them again")
        if not answered.all():
            count = counted(int((~answered).sum()), "question")
            notes.append(f"{count} without a reply or score in some run left out.")
        self.scores = scores = scores[answered]
        """score of each run (columns, in the runs' order) for each compared question (index)"""
        clusters = _clusters(runs, scores.index)
        if clusters is None:
            notes.append("No run has the images of the questions: intervals and tests take questions as independent.")
            clusters = np.arange(len(scores))
        self.groups = pd.DataFrame({name: _column(runs, name, scores.index) for name in by}, index=scores.index)
        """columns of the breakdown, as text, for each compared question"""
        self.lines = self._lines(clusters, {(): np.arange(len(scores))})  # a line per run, on all questions
        self.group_lines = self._lines(clusters, _groups(self.groups) if by else {})
        """lines of the breakdown: values of numbers ascending, others by their frequency"""
        against = [line.against_baseline for line in (*self.lines, *self.group_lines)]
        if any(one and one.difference.low is None for one in against):
            notes.append(NO_INTERVAL)
        # the chance of a file of vqa-mc score is that of all of its questions
        known = (run for run in runs if run.compared or len(run.scores) == len(scores))
        chances = next((run.chances for run in known if run.chances is not None), None)
        self.chance = None if chances is None else float(chances.reindex(scores.index).mean())
        """accuracy of random guessing on the compared questions; None if unknown"""
        self.notes = [*notes, *self._by_readers()]

    def _by_readers(self) -> Iterator[str]:
        """By which rules of other harnesses the runs have another order."""
        means, rules = {run.name: float(run.scores.mean()) for run in self.runs}, self.baseline.readers
        for rule in [rule for rule in rules if all(rule in run.readers for run in self.runs)]:
            read = {run.name: run.readers[rule] for run in self.runs}
            for one, other in combinations(sorted(means, key=lambda name: -means[name]), 2):
                if means[one] > means[other] and read[one] < read[other]:
                    points = f"{100 * read[other]:.1f} and {100 * read[one]:.1f}"
                    yield f"If replies are read by the rule {rule}, {other} is better than {one} ({points})."

    def _lines(self, clusters: Ints, groups: Mapping[tuple[str, ...], Ints]) -> list[Line]:
        """A line per group of rows and run; p-values are adjusted for all comparisons."""
        lines = []
        for group, rows in groups.items():
            images = np.unique(clusters[rows], return_inverse=True)[1].astype(np.int64)
            of = {name: self.scores[name].to_numpy()[rows] for name in self.scores}
            for run in self.runs:
                own, other = of[run.name], of[self.baseline.name]
                change = None if run is self.baseline else paired(own, other, images)
                lines.append(Line(run.name, run.compared or None, run.metric, share(own, images), change, group))
        changes = [line.against_baseline for line in lines]
        adjusted = iter(holm([one.p for one in changes if one]))
        changes = [one and replace(one, p_holm=next(adjusted)) for one in changes]
        return [replace(line, against_baseline=one) for line, one in zip(lines, changes, strict=True)]

    @cached_property
    def is_changed(self) -> pd.Series:
        """Whether the score of a question differs from the baseline's in any run."""
        return self.scores.ne(self.scores[self.baseline.name], axis=0).any(axis=1)

    @cached_property
    def items(self) -> Items:
        """The statistics of the questions over the runs."""
        rows, columns = self.scores.index, {run.name: run.columns for run in self.runs}
        picked = {run.name: f"{run.compared}_picked" for run in self.runs}
        known = all(name in columns[run] and "label" in columns[run] for run, name in picked.items())
        picks = {name: columns[name][column].reindex(rows) for name, column in picked.items()} if known else None
        labels = self.baseline.columns["label"].reindex(rows) if known else None
        return item_table(self.scores, None if picks is None else pd.DataFrame(picks), labels, self.chance or 0.0)

    @cached_property
    def item_frame(self) -> pd.DataFrame:
        """The questions: id, type, columns of the breakdown, statistics, each run's score and pick."""
        table = self.items.table
        found = {"question_id": table.index.to_series(), "changed": self.is_changed}
        if any(QUESTION_TYPE in run.columns for run in self.runs):
            found[QUESTION_TYPE] = _column(self.runs, QUESTION_TYPE, table.index)
        found |= {name: self.groups[name] for name in self.by} | {name: table[name] for name in table}
        found |= {f"{run.name} score": self.scores[run.name] for run in self.runs}
        for run in self.runs:
            if (picked := f"{run.compared}_picked") in run.columns:
                found[f"{run.name} picked"] = run.columns[picked].astype("Int64").astype(object)
        return pd.DataFrame({name: column.loc[table.index].to_numpy() for name, column in found.items()})

    def as_json(self) -> dict[str, Any]:
        """All figures; fractions."""
        return {
            **{name: self.baseline.benchmark[name] for name in ("dataset", "config", "split")},
            "baseline": self.baseline.name,
            "questions": len(self.scores),
            "chance": self.chance,
            "changed": int(self.is_changed.sum()),
            "runs": [line.as_json() for line in self.lines],
            "by": list(self.by),
            "groups": [
                {"group": dict(zip(self.by, line.group, strict=True)), **line.as_json()} for line in self.group_lines
            ],
            "notes": self.notes,
        }


def _clusters(runs: Sequence[Run], questions: pd.Index) -> Ints | None:
    """(questions,): number of each question's image, from 0; None if no run has them."""
    for run in runs:
        if CLUSTER in run.columns:
            column = run.columns[CLUSTER].reindex(questions)
            own = column.isna() | (column == "")
            values = [("question", one) if alone else ("image", str(image))
                      for one, image, alone in zip(questions, column, own, strict=True)]  # fmt: skip
            return np.asarray(pd.factorize(pd.Index(values, tupleize_cols=False))[0], np.int64)
    return None


def _column(runs: Sequence[Run], name: str, questions: pd.Index) -> pd.Series:
    """A column of the first run that has it, as text of one line."""
    for run in runs:
        if name in run.columns:
            column = run.columns[name].reindex(questions).astype(object)
            column = column.where([not (pd.api.types.is_scalar(cell) and pd.isna(cell)) for cell in column], "")
            return column.map(lambda cell: one_line(f"{cell:g}" if isinstance(cell, float) else str(cell)))
    known = dict.fromkeys(column for run in runs for column in run.columns if column != CLUSTER)
    if known:
        raise unknown_name("column of --by", name, known)
    raise InputError(
        f"--by {name}: no run has a column to break down by; files of vqa-mc score have {QUESTION_TYPE} if the "
        "dataset has types, folders of vqa-mc evaluate also label and leaked"
    )


def _groups(columns: pd.DataFrame) -> dict[tuple[str, ...], Ints]:
    """The rows of each combination of values, in the order of `_ranks` of each column."""
    names: Mapping[Any, Ints] = columns.groupby(list(columns)).indices
    if len(names) > MOST_GROUPS:
        expected = f"columns with at most {MOST_GROUPS:,}"
        raise InputError(f"--by {','.join(columns)}: {len(names):,} groups; expected {expected}")
    ranks = [_ranks(columns[name]) for name in columns]
    rows = {name if isinstance(name, tuple) else (name,): of for name, of in names.items()}
    order = sorted(rows, key=lambda group: [of[value] for of, value in zip(ranks, group, strict=True)])
    return {group: rows[group] for group in order}


def _ranks(column: pd.Series) -> dict[str, tuple[float, str]]:
    """Sort keys of a column's values: numbers by value, others by frequency, the most frequent first."""
    counts = column.value_counts()
    if pd.to_numeric(column[column != ""], errors="coerce").notna().all():
        return {value: (float(value or "inf"), "") for value in counts.index}
    return {value: (-count, value) for value, count in counts.items()}
