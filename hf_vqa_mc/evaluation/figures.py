"""What the replies of a model say: accuracy by input, visual gain, leaks, positions, and by type and decoy kind."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from hf_vqa_mc.data.benchmark import Split
from hf_vqa_mc.data.questions import Questions, letter
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.methods import CHOICES_ONLY, FAILED, FULL, INPUTS, RULES, UNPARSED, Method
from hf_vqa_mc.evaluation.prompts import Job, rotated
from hf_vqa_mc.evaluation.shares import NO_INTERVAL, Ints, Share, difference, in_json, share
from hf_vqa_mc.scoring.statistics import mean_by
from hf_vqa_mc.scoring.table import score_cell
from hf_vqa_mc.text.counted import counted, percent

COUNTED = ("unparsed", "cut_off", "failed")  # numbers of replies that a reader should know of
FAVOURED = 0.3  # a letter that is picked so much more often than it is correct is reported, as a fraction of answers


class Picks:
    """What was picked with one input and rule, each (rows, rotations): at most one rotation per choice.

    ``picked`` are indices in the row's own order, UNPARSED or FAILED (also where a row has fewer rotations), ``asked``
    whether there is a reply, and ``correct`` whether the target is picked.
    """

    def __init__(self, picked: Ints, labels: Ints) -> None:
        self.picked, self.labels = picked, labels
        self.asked, self.correct = np.asarray(picked != FAILED), np.asarray(picked == labels[:, None])
        self.evaluated = np.asarray(self.asked.any(axis=1))  # (rows,): whether there is any reply
        self.scores = np.full(len(picked), np.nan)  # (rows,): share of rotations in which the target is picked
        np.divide(self.correct.sum(1), self.asked.sum(1), out=self.scores, where=self.evaluated)
        self.always_correct = np.asarray((self.correct | ~self.asked).all(1) & self.evaluated)
        """(rows,): whether the target is picked in every rotation"""


@dataclass(frozen=True, eq=False)
class Figures:
    """The results of a run."""

    questions: Questions
    split: Split
    method: Method
    rows: Ints  # (rows,): the evaluated questions
    starts: Ints  # (rows, rotations): the choice that is shown first
    picks: dict[str, dict[str, Picks]]  # input to rule to picks; the first rule is the method's
    failures: dict[str, list[str]]  # input to the locations and reasons of failures
    replies: Mapping[Job, Reply]
    jobs: Sequence[Job]  # the questions that were asked; a resumed run may have replies to others, too

    def of(self, name: str) -> Picks:
        """The picks with an input."""
        return next(iter(self.picks[name].values()))

    @property
    def first(self) -> Picks:
        """The picks with the first input."""
        return self.of(next(iter(self.picks)))

    @property
    def other_rules(self) -> list[str]:
        """The rules of the method except its own."""
        return max((list(rules) for rules in self.picks.values()), key=len)[1:]

    @cached_property
    def clusters(self) -> Ints:
        """(rows,): number of each row's image."""
        return np.unique(self.split.clusters[self.rows], return_inverse=True)[1].astype(np.int64)

    @cached_property
    def sizes(self) -> Ints:
        """(rows,): number of choices."""
        return np.array([len(self.questions.choices[row]) for row in self.rows], np.int64)

    @property
    def chance(self) -> float:
        """Accuracy of random guessing."""
        return float(np.mean(1 / self.sizes))

    @property
    def rotations(self) -> int:
        """Maximum number of rotations of a row."""
        return int(self.starts.shape[1])

    def accuracy(self, name: str, rule: str | None = None) -> Share:
        """The accuracy with an input, over all rotations."""
        picks = self.of(name) if rule is None else self.picks[name][rule]
        return share(picks.scores[picks.evaluated], self.clusters[picks.evaluated])

    def circular(self, name: str) -> Share:
        """The share of rows that are answered correctly in every rotation."""
        picks = self.of(name)
        return share(picks.always_correct[picks.evaluated].astype(float), self.clusters[picks.evaluated])

    def beats_chance(self, name: str) -> bool:
        """Whether the 95% interval of the accuracy with an input is above chance."""
        return (self.accuracy(name).low or 0.0) > self.chance

    def favourite(self, name: str) -> str:
        """A sentence about the letter that is picked far more often than it is correct; "" if there is none."""
        most = max(self.positions(name), key=lambda one: one["picked"] - one["target"])
        often = f"picks {most['letter']} in {percent(most['picked'])} of its answers"
        sentence = f"With {name}, the model {often}; it is correct in {percent(most['target'])}."
        return sentence if most["picked"] - most["target"] >= FAVOURED else ""

    def gain(self, name: str) -> Share | None:
        """The accuracy with all inputs minus that with this one, on the rows with both; None of all inputs itself."""
        if name == FULL.name or FULL.name not in self.picks:
            return None
        full, other = self.of(FULL.name), self.of(name)
        both = full.evaluated & other.evaluated
        return difference(full.scores[both], other.scores[both], self.clusters[both])

    def by_type(self, name: str) -> dict[str, float] | None:
        """The accuracy by question type; None without types."""
        picks, types = self.of(name), [self.questions.types[row] for row in self.rows]
        kept = [one for one, keep in zip(types, picks.evaluated, strict=True) if keep]
        return mean_by(picks.scores[picks.evaluated], kept) if any(types) else None

    def positions(self, name: str) -> list[dict[str, Any]]:
        """How often each position is picked, and how often the target is there."""
        picks, sizes = self.of(name), self.sizes[:, None]
        indices = {"picked": picks.picked, "target": picks.labels[:, None]}
        shown = {what: ((of - self.starts) % sizes)[picks.picked >= 0] for what, of in indices.items()}
        return [
            {"letter": letter(at), **{what: float((of == at).sum() / max(len(of), 1)) for what, of in shown.items()}}
            for at in range(int(sizes.max()))
        ]

    def kinds(self, name: str) -> dict[str, dict[str, float]] | None:
        """How often a choice of each kind is picked, and its share of all choices; None without kinds."""
        all_kinds = self.split.rows["choice_kinds"].take(self.rows).to_pylist()
        if not any(all_kinds):
            return None
        picked, shown = Counter[str](), Counter[str]()
        for row, kinds, indices in zip(self.rows.tolist(), all_kinds, self.of(name).picked.tolist(), strict=True):
            order = self.questions.order(row)
            for index in [index for index in indices if index >= 0 and kinds]:
                picked[kinds[order[index]]] += 1
                shown.update({kind: count / len(kinds) for kind, count in Counter(kinds).items()})
        total = picked.total()
        return {kind: {"picked": picked[kind] / total, "share": shown[kind] / total} for kind in sorted(shown)}

    def sets(self, name: str) -> Share | None:
        """The share of closed answer sets answered correctly, of those with all replies; None without sets."""
        if "set_id" not in self.split.original.column_names:
            return None
        ids, picks = self.split.original["set_id"].to_pylist(), self.of(name)
        sizes, correct = Counter(ids), defaultdict[str, list[bool]](list)
        for row, evaluated, is_correct in zip(self.rows, picks.evaluated, picks.always_correct, strict=True):
            if ids[row] and evaluated:
                correct[ids[row]].append(is_correct)
        whole = [all(found) for one, found in correct.items() if len(found) == sizes[one]]
        return share(np.array(whole, float), np.arange(len(whole))) if whole else None

    def counts(self, name: str) -> dict[str, int]:
        """Numbers of replies, of those that name no choice, of those that were cut off, and of failures."""
        picks = self.of(name)
        return {
            "replies": int(picks.asked.sum()),
            "unparsed": int((picks.picked == UNPARSED).sum()),
            "cut_off": sum(self.replies[job].cut_off for job in self.jobs if job.input == name),
            "failed": len(self.failures[name]),
        }

    def as_json(self) -> dict[str, Any]:
        """All figures; fractions."""
        tokens = [reply.tokens for reply in self.replies.values() if reply.tokens is not None] or None
        inputs = {
            name: {
                "shows": INPUTS[name].sentence,
                "accuracy": self.accuracy(name),
                **self.counts(name),
                "circular_accuracy": self.circular(name) if self.rotations > 1 else None,
                "gain": self.gain(name),
                "set_accuracy": self.sets(name),
                "per_type": self.by_type(name),
                "positions": self.positions(name),
                "choice_kinds": self.kinds(name),
                "rules": {rule: self.accuracy(name, rule) for rule in rules} if len(rules) > 1 else None,
                "failures": sorted(set(self.failures[name]))[:10],
            }
            for name, rules in self.picks.items()
        }
        found = {
            "questions": len(self.rows),
            "split_questions": len(self.questions),
            "chance": self.chance,
            "rotations": self.rotations,
            "tokens": tokens and {"read": sum(one for one, _ in tokens), "generated": sum(one for _, one in tokens)},
            "inputs": inputs,
        }
        return in_json(found)  # type: ignore[no-any-return]

    def table(self) -> dict[str, list[Any]]:
        """Columns with one entry per row.

        cluster is the number of the row's image in the split; leaked: correct in every rotation without image or
        question; labels and picks are indices of ``choices``, which has the order that was shown without rotation.
        """
        questions, rows = self.questions, self.rows.tolist()
        given = {"question_id": questions.question_ids, "question_type": questions.types,
                 "cluster": self.split.clusters.tolist(), "choices": questions.choices,
                 "label": questions.labels or []}  # fmt: skip
        columns: dict[str, list[Any]] = {name: [values[row] for row in rows] for name, values in given.items()}
        if not any(columns["question_type"]):
            del columns["question_type"]
        if blind := [self.of(name).always_correct for name in self.picks if INPUTS[name].is_blind]:
            columns["leaked"] = np.any(blind, axis=0).tolist()
        for name in self.picks:
            picks = self.of(name)
            columns[f"{name}_picked"] = [index if index >= 0 else None for index in picks.picked[:, 0].tolist()]
            columns[f"{name}_score"] = [None if np.isnan(score) else score for score in picks.scores.tolist()]
        return columns

    def columns(self) -> dict[str, list[str]]:
        """The cells of a table in percent and points, a line per input; without columns that are empty."""
        columns: dict[str, list[str]] = {}
        for name in self.picks:
            counts, sets, gain = self.counts(name), self.sets(name), self.gain(name)
            line = {
                "input": name,
                "accuracy": self.accuracy(name).percent(),
                "full minus this": gain.points() if gain else "",
                "all rotations": self.circular(name).percent() if self.rotations > 1 else "",
                **{rule: score_cell(self.accuracy(name, rule).mean) for rule in self.other_rules},
                "whole sets": sets.percent() if sets else "",
                **{key.replace("_", " "): f"{counts[key]:,}" if counts[key] else "" for key in COUNTED},
            }
            for heading, cell in line.items():
                columns.setdefault(heading, []).append(cell)
        for heading, cells in columns.items():
            cells.append({"input": "chance", "accuracy": score_cell(self.chance)}.get(heading, ""))
        return {heading: cells for heading, cells in columns.items() if any(cells)}

    def extent(self) -> str:
        """The number of questions, and whether they are a sample."""
        asked, of_split = len(self.rows), counted(len(self.questions), "question")
        return of_split if asked == len(self.questions) else f"{asked:,} of {of_split} (random sample)"

    def notes(self) -> Iterator[str]:
        """Sentences below the table."""
        yield "Percent and 95% intervals, clustered by image."
        without = int((self.questions.images[self.rows] < 0).sum())
        if without and any(INPUTS[name].image for name in self.picks):
            yield f"{counted(without, 'question')} without an image, asked without one with all inputs."
        if cut := sum(self.counts(name)["cut_off"] for name in self.picks):
            yield f"Cut off at the maximum number of tokens: {counted(cut, 'text')}; raise --max-tokens."
        if self.other_rules:
            yield f"Other rules: {'; '.join(f'{rule}: {RULES[rule]}' for rule in self.other_rules)}."
        yield from filter(None, map(self.favourite, self.picks))
        gains = {name: gain for name in self.picks if (gain := self.gain(name))}
        if any(gain.low is None for gain in gains.values()):
            yield NO_INTERVAL
        for name in [name for name, gain in gains.items() if gain.sign < 0]:
            yield f"The accuracy of {name} is above that of full: what {name} hides misleads the model."
        for name, failures in self.failures.items():
            if failures:
                yield f"{name}, {len(failures):,} without a reply, such as: {failures[0]}"


def figures_of(
    questions: Questions, split: Split, method: Method, jobs: Sequence[Job], replies: Mapping[Job, Reply]
) -> Figures:
    """The results of the jobs of a run."""
    rotations: dict[int, list[int]] = {}  # of each row, in their order
    for job in jobs:
        if job.rotation not in (of_row := rotations.setdefault(job.row, [])):
            of_row.append(job.rotation)
    rows, width = list(rotations), max(map(len, rotations.values()))
    starts = np.array([of_row + [0] * (width - len(of_row)) for of_row in rotations.values()], np.int64)
    labels, index_of = np.array(questions.labels, np.int64)[rows], {row: index for index, row in enumerate(rows)}

    def nothing() -> Ints:
        return np.full(starts.shape, FAILED, np.int64)

    picked: dict[str, dict[str, Ints]] = {job.input: defaultdict(nothing) for job in jobs}
    failures: dict[str, list[str]] = {name: [] for name in picked}
    for job in jobs:
        reply = replies[job]
        if reply.failure:
            where = f"{questions.where(job.row)}: "
            failures[job.input].append(where + reply.failure.removeprefix(where))
            continue
        order = rotated(len(questions.choices[job.row]), job.rotation)
        texts = [questions.choices[job.row][index] for index in order]
        without = replies.get(Job(job.row, CHOICES_ONLY.name, job.rotation)) if method.compares_inputs else None
        for rule, shown in method.picks(reply, texts, without.scores if without else None).items():
            index = index_of[job.row], rotations[job.row].index(job.rotation)
            picked[job.input][rule][index] = order[shown] if shown >= 0 else shown
    picks = {
        name: {rule: Picks(of_rule, labels) for rule, of_rule in (rules or {"": nothing()}).items()}
        for name, rules in picked.items()
    }
    return Figures(questions, split, method, np.array(rows, np.int64), starts, picks, failures, replies, jobs)
