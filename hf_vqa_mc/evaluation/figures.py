"""What the replies of a model say: accuracy by input, visual gain, leaks, positions, and by type and decoy kind."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations, compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.data.benchmark import Split
from hf_vqa_mc.data.questions import Questions, letter
from hf_vqa_mc.evaluation.language_model import Reply
from hf_vqa_mc.evaluation.methods import (
    BY_NAME,
    CHOICES_ONLY,
    FAILED,
    FULL,
    INPUTS,
    NONE,
    RULES,
    UNPARSED,
    Method,
    Picks,
)
from hf_vqa_mc.evaluation.prompts import Job, shown_order
from hf_vqa_mc.evaluation.reply_rules import READERS, REASONING_CUT, REASONS, REFUSED, unparsed_reason
from hf_vqa_mc.evaluation.shares import NO_INTERVAL, Floats, Ints, Share, difference, in_json, share
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.scoring.statistics import mean_by
from hf_vqa_mc.scoring.table import score_cell
from hf_vqa_mc.text.counted import counted, percent
from hf_vqa_mc.version import __version__

COUNTED = ("unparsed", "refused", "cut_off", "failed")  # numbers of replies that a reader should know of
DIFFERENT = 0.005  # difference of an accuracy by the rule of another harness that is reported
FAVOURED = 0.1  # excess of a letter's share of the answers over its share of correct choices that is reported
AGREES = 0.9  # agreement of the samples of a prompt below which it is reported
RARE = 0.05  # share of replies without an answer for a reason, from which the reason is reported

Bools = NDArray[np.bool_]


class InputFigures:
    """The results with one input, by each rule of reading the replies; fractions. The first rule is the method's own.

    Arrays (rows, replies) have a row's replies by rotation and sample; FAILED where there is none.
    """

    def __init__(self, done: "Evaluation", name: str) -> None:
        self.given = given = INPUTS[name]
        self.failures: list[str] = []  # locations and reasons
        rules, picked_at, target_at, reasons, cut_off = self._read(done, name)
        targets = (done.sizes if given.none == "correct" else done.labels)[:, None]
        self.picked = next(iter(rules.values()))
        """(rows, replies): indices in the own order, UNPARSED or FAILED, also where a row has fewer replies"""
        asked = np.asarray(self.picked != FAILED)
        evaluated = np.asarray(asked.any(1))
        self.correct: Bools = np.asarray(self.picked == targets)  # (rows, replies)
        with np.errstate(invalid="ignore"):
            self.scores: Floats = self.correct.sum(1) / asked.sum(1)
        """(rows,): share of replies in which the target is picked; NaN without a reply"""
        self.always_correct: Bools = np.asarray((self.correct | ~asked).all(1) & evaluated)  # (rows,)
        self.rules = {rule: done.mean(of == targets, of != FAILED) for rule, of in rules.items()}
        """the accuracy over all replies by each rule"""
        self.unparsed = {rule: float((of == UNPARSED).sum() / max(asked.sum(), 1)) for rule, of in rules.items()}
        """share of the replies in which a rule finds no choice"""
        of_samples = len(asked), -1, done.samples
        in_all, known = (np.asarray(of) for of in ((self.correct | ~asked).reshape(of_samples).all(1),
                                                  asked.reshape(of_samples).any(1)))  # fmt: skip
        self.circular = done.mean(in_all, known) if done.rotations > 1 else None  # both (rows, samples)
        """share of rows that are correct in every rotation, mean over the samples; None with one"""
        self.samples = self._samples(done, asked) if done.samples > 1 else None
        self.sets = done._sets(evaluated, self.always_correct)
        """share of closed answer sets answered correctly, of those with all replies; None without sets"""
        self.published = done._published(self.scores)
        """accuracy on published rows minus that of the other rows of their closed sets; None without both"""
        types = [done.questions.types[row] for row in done.rows]
        self.per_type = mean_by(self.scores[evaluated], list(compress(types, evaluated))) if any(types) else None
        self._count_positions(done, picked_at, target_at)
        self.kinds = None if given.none else done._kinds(self.picked)
        """how often each kind is picked, and its share of all choices"""
        self.none = done.mean(self.picked == done.sizes[:, None], asked) if given.none else None
        """how often none of the above is picked; None if it is no choice"""
        found = [reason for reason in REASONS if (reasons == reason).any()]
        self.reasons = {reason: done.mean(reasons == reason, asked) for reason in found}
        """reason for which a text names no choice to its share of the replies"""
        self.by_number = done.mean(rules[BY_NAME] != self.picked, asked) if BY_NAME in rules else None
        """how often a reply has the number of a choice in another form"""
        counts = {"replies": asked, "unparsed": self.picked == UNPARSED, "refused": reasons == REFUSED}
        self.counts = {what: int(of.sum()) for what, of in counts.items()}
        self.counts |= {"cut_off": cut_off, "failed": len(self.failures)}
        self.chance = float(np.mean(1 / (done.sizes + (given.none == "added"))))  # accuracy of random guessing
        self.gain: Share | None = None
        """the accuracy with all inputs minus that with this one, on the rows with both; None of all inputs itself"""

    def _read(self, done: "Evaluation", name: str) -> tuple[dict[str, Ints], Ints, Ints, Any, int]:
        """Picks by rule, positions of picks and targets as shown, reasons of unparsed replies; the number cut off."""
        rules: dict[str, Ints] = defaultdict(lambda: np.full(done.shape, FAILED, np.int64))
        picked_at, target_at = (np.full(done.shape, FAILED, np.int64) for _ in range(2))  # positions as shown
        reasons, cut_off = np.full(done.shape, "", object), 0
        for job in (job for job in done.jobs if job.input == name):
            reply, label, index = done.replies[job], (done.questions.labels or [])[job.row], done.indices[job]
            cut_off += reply.cut_off
            if reply.failure:
                where = f"{done.questions.where(job.row)}: "
                self.failures.append(where + reply.failure.removeprefix(where))
                continue
            own = done.questions.choices[job.row]
            order = shown_order(self.given, len(own), label, job.rotation)
            texts = [[*own, NONE][at] for at in order]
            picks = done.picks(job, texts)
            for rule, at in picks.items():
                rules[rule][index] = order[at] if at >= 0 else at
            picked_at[index] = next(iter(picks.values()))
            target_at[index] = order.index(len(own) if self.given.none == "correct" else label)
            if picked_at[index] == UNPARSED and reply.text is not None:
                reasons[index] = unparsed_reason(reply.text, reply.cut_off)
        return rules, picked_at, target_at, reasons, cut_off

    def _count_positions(self, done: "Evaluation", picked_at: Ints, target_at: Ints) -> None:
        valid = self.picked >= 0
        shown, count = {"picked": picked_at[valid], "target": target_at[valid]}, max(int(valid.sum()), 1)
        self.positions: list[dict[str, Any]] = [
            {"letter": letter(at), **{what: float((of == at).sum() / count) for what, of in shown.items()}}
            for at in range(int(done.sizes.max()) + (self.given.none == "added"))
        ]
        """how often each position is picked, and how often the target is there"""
        most = max(
            range(len(self.positions)), key=lambda at: self.positions[at]["picked"] - self.positions[at]["target"]
        )
        excess = (
            (done.mean(picked_at == most, valid).low or 0.0) - self.positions[most]["target"] if valid.any() else 0.0
        )
        has_letters = self.given.choices and not self.given.none and done.method.lists_choices
        self.favourite = self.positions[most] if excess >= FAVOURED and has_letters else None
        """the position that is picked more often than it is correct by `FAVOURED`, with its whole interval"""

    def _samples(self, done: "Evaluation", asked: Bools) -> dict[str, Any]:
        """How the answers to the same prompt vary.

        ``accuracy`` is that of each sample, ``standard_error`` that of their mean by their variance,
        ``variance_within`` the mean over prompts of the unbiased variance, ``agreement`` how often two samples of a
        prompt have the same pick. Source: Miller 2024, Adding Error Bars to Evals (arXiv 2411.00640), on resampling.
        """
        shape = len(asked), -1, done.samples
        correct, known = (of.reshape(shape) for of in (self.correct & asked, asked))
        of_rows, answered = correct.sum(1) / np.maximum(known.sum(1), 1), known.any(1)  # (rows, samples)
        accuracies = (of_rows * answered).sum(0) / np.maximum(answered.sum(0), 1)
        counts, means = known.sum(2), correct.sum(2) / np.maximum(known.sum(2), 1)
        several = counts > 1
        variances = (means * (1 - means) * counts)[several] / (counts[several] - 1)
        one, other = np.transpose(list(combinations(range(done.samples), 2)))
        picked, rows = self.picked.reshape(shape), (len(asked), -1)
        same = ((picked[..., one] == picked[..., other]) & (picked[..., one] >= 0)).reshape(rows)
        both = (known[..., one] & known[..., other]).reshape(rows)
        return {
            "accuracy": accuracies.tolist(),
            "standard_error": float(accuracies.std(ddof=1) / np.sqrt(done.samples)),
            "variance_within": float(variances.mean()) if several.any() else None,
            "agreement": done.mean(same, both) if both.any() else None,
        }

    def habits(self) -> Iterator[tuple[str, str]]:
        """Name and description of the habits of the model, each beyond its threshold with its whole 95% interval."""
        if most := self.favourite:
            often = f"the model picks {most['letter']} in {percent(most['picked'])} of its answers"
            yield "favours a letter", f"{often}; it is correct in {percent(most['target'])}"
        picks, agreement = f'picks "{NONE}" in', (self.samples or {}).get("agreement")
        added, correct = (self.none if self.given.none == one else None for one in ("added", "correct"))
        chance = f"above chance ({percent(self.chance)})"
        lines = (  # name, share, thresholds above and below which it is a habit, description
            ("answers without all inputs", self.accuracy if self.given.is_blind else None, (self.chance, -1.0),
             f"the accuracy is {{}}, {chance}: {self.given.sentence}"),
            ("none too often", added, (self.chance, -1.0),
             f"it {picks} {{}} of its answers, although a choice is correct"),
            ("none too rarely", correct, (1.0, self.chance),
             f"it {picks} only {{}} of its answers, although that is correct"),
            (REFUSED, self.reasons.get(REFUSED), (RARE, -1.0), "{} of the replies are refusals, and count as wrong"),
            (REASONING_CUT, self.reasons.get(REASONING_CUT), (RARE, -1.0),
             "{} of the replies end while the model reasons, and count as wrong"),
            ("other forms of numbers", self.by_number, (RARE, -1.0),
             "{} of the replies have the number of a choice in another form, and are read as that choice"),
            ("changes its answer", agreement, (1.0, AGREES), "two samples of a prompt have the same answer in {}"),
        )  # fmt: skip
        for habit, found, (above, below), text in lines:
            if found and ((found.low or 0.0) > above or (1.0 if found.high is None else found.high) < below):
                yield habit, text.format(found.percent().replace(" (", "% (", 1))
        if self.published and (self.published.low or 0.0) > 0:
            better = "it is better on published rows than on others with the same question and choices, by"
            yield "remembers published rows", f"{better} {self.published.points()} points"
        if self.given.after and self.gain and (self.gain.low or 0.0) > 0:
            yield (
                "uses the choices",
                f"the model answers before it sees the choices, which add {self.gain.points()} points",
            )

    @property
    def accuracy(self) -> Share:
        """The accuracy over all replies."""
        return next(iter(self.rules.values()))

    @property
    def beats_chance(self) -> bool:
        """Whether the 95% interval of the accuracy is above chance."""
        return (self.accuracy.low or 0.0) > self.chance


class Evaluation:
    """The results of the jobs of a run.

    ``replies`` of a resumed run may answer other jobs, too. ``run`` are its settings, as in run.json; ``notes`` are
    about rows and images of the benchmark; ``revision`` is its commit on the Hub.
    """

    def __init__(
        self,
        questions: Questions,
        split: Split,
        method: Method,
        jobs: Sequence[Job],
        replies: Mapping[Job, Reply],
        run: dict[str, Any],
        notes: tuple[str, ...] = (),
        revision: str | None = None,
    ) -> None:
        self.questions, self.split, self.method, self.jobs, self.replies = questions, split, method, jobs, replies
        self.run, self.benchmark_notes, self.revision = run, notes, revision
        columns: dict[int, list[tuple[int, int]]] = {}  # rotation and sample of each reply of a row
        for job in jobs:
            if (job.rotation, job.sample) not in (of_row := columns.setdefault(job.row, [])):
                of_row.append((job.rotation, job.sample))
        self.rows: Ints = np.array(list(columns), np.int64)  # (rows,): the evaluated questions
        self.clusters: Ints = split.clusters[self.rows]
        self.samples = max(job.sample for job in jobs) + 1  # number of samples of each prompt
        self.shape = len(columns), max(map(len, columns.values()))
        self.rotations = self.shape[1] // self.samples  # maximum number of rotations of a row
        index_of = {row: index for index, row in enumerate(columns)}
        self.indices = {job: (index_of[job.row], columns[job.row].index((job.rotation, job.sample))) for job in jobs}
        """of each job's reply in arrays (rows, replies)"""
        self.labels: Ints = np.array(questions.labels, np.int64)[self.rows]  # (rows,): index of the target
        self.sizes: Ints = np.array([len(questions.choices[row]) for row in columns], np.int64)
        """(rows,): number of choices, which is also the index of none of the above where that is added"""
        self.chance = float(np.mean(1 / self.sizes))  # accuracy of random guessing
        self.inputs = {name: InputFigures(self, name) for name in dict.fromkeys(job.input for job in jobs)}
        full = self.inputs.get(FULL.name)
        for other in self.inputs.values():
            if full is not None and other is not full:
                both = ~np.isnan(full.scores) & ~np.isnan(other.scores)
                other.gain = difference(full.scores[both], other.scores[both], self.clusters[both])

    def mean(self, values: Bools, known: Bools) -> Share:
        """The mean over rows of the share of the ``known`` replies that ``values`` marks; both (rows, replies)."""
        rows = known.any(1)
        return share((values & known).sum(1)[rows] / known.sum(1)[rows], self.clusters[rows])

    def picks(self, job: Job, texts: Sequence[str]) -> Picks:
        """What the reply to a job picks by each rule, of the choices as shown."""
        without = None
        if self.method.compares_inputs and not INPUTS[job.input].none:
            without = self.replies.get(replace(job, input=CHOICES_ONLY.name))
        return self.method.picks(self.replies[job], texts, without.scores if without else None)

    def habits(self) -> list[dict[str, str]]:
        """Input, name and description of what the model does for other reasons than the correct choice."""
        found = (
            (name, habit, f"With {name}, {text}.") for name, one in self.inputs.items() for habit, text in one.habits()
        )
        return [dict(zip(("input", "habit", "found"), one, strict=True)) for one in found]

    @property
    def other_rules(self) -> list[str]:
        """The rules of comparing likelihoods except the method's own."""
        rules = max((list(one.rules) for one in self.inputs.values()), key=len)[1:]
        return [rule for rule in rules if rule in RULES]

    def _kinds(self, all_picked: Ints) -> dict[str, dict[str, float]] | None:
        """How often a choice of each kind is picked, and its share of all choices; None without kinds."""
        all_kinds = self.split.rows["choice_kinds"].take(self.rows).to_pylist()
        if not any(all_kinds):
            return None
        picked, shown = Counter[str](), Counter[str]()
        for row, kinds, indices in zip(self.rows.tolist(), all_kinds, all_picked.tolist(), strict=True):
            order = self.questions.order(row)
            for index in [index for index in indices if index >= 0 and kinds]:
                picked[kinds[order[index]]] += 1
                shown.update({kind: count / len(kinds) for kind, count in Counter(kinds).items()})
        total = picked.total()
        return {kind: {"picked": picked[kind] / total, "share": shown[kind] / total} for kind in sorted(shown)}

    def _sets(self, all_evaluated: Bools, always_correct: Bools) -> Share | None:
        """The share of closed answer sets answered correctly, of those with all replies; None without sets."""
        if "set_id" not in self.split.original.column_names:
            return None
        ids = self.split.original["set_id"].to_pylist()
        sizes, correct = Counter(ids), defaultdict[str, list[bool]](list)
        for row, evaluated, is_correct in zip(self.rows, all_evaluated, always_correct, strict=True):
            if ids[row] and evaluated:
                correct[ids[row]].append(is_correct)
        whole = [all(found) for one, found in correct.items() if len(found) == sizes[one]]
        return share(np.array(whole, float), np.arange(len(whole))) if whole else None

    def _published(self, scores: Floats) -> Share | None:
        """Accuracy on published rows (column ``published``) minus that on the others of their closed answer sets.

        The mean of the sets that have both, clustered by the image of the first published row; None without sets.
        """
        table = self.split.original
        if not {"set_id", "published"} <= set(table.column_names):
            return None
        frame = (
            table.select(["set_id", "published"]).to_pandas().iloc[self.rows].assign(score=scores, image=self.clusters)
        )
        frame = frame[frame["set_id"].fillna("").ne("") & frame["score"].notna()]
        own, others = (frame[frame["published"].astype(bool) == one].groupby("set_id") for one in (True, False))
        both = own.agg({"score": "mean", "image": "first"}).join(others["score"].mean().rename("other")).dropna()
        columns = (both[name].to_numpy() for name in ("score", "other", "image"))
        return difference(*columns) if len(both) else None

    def as_json(self) -> dict[str, Any]:
        """All figures; fractions."""
        tokens = [reply.tokens for reply in self.replies.values() if reply.tokens is not None] or None
        inputs = {
            name: {
                "shows": INPUTS[name].sentence,
                "accuracy": one.accuracy,
                "chance": one.chance,
                **one.counts,
                "circular_accuracy": one.circular,
                "gain": one.gain,
                "samples": one.samples,
                "set_accuracy": one.sets,
                "published_minus_siblings": one.published,
                "per_type": one.per_type,
                "positions": one.positions,
                "choice_kinds": one.kinds,
                "rules": one.rules if len(one.rules) > 1 else None,
                "unparsed_by_rule": one.unparsed if len(one.rules) > 1 else None,
                "none_picked": one.none,
                "unparsed_reasons": one.reasons,
                "read_by_number": one.by_number,
                "failures": sorted(set(one.failures))[:10],
            }
            for name, one in self.inputs.items()
        }
        found = {
            "version": __version__,
            "model": public_name(self.run["model"]),
            **{name: self.run[name] for name in ("dataset", "config", "split", "method", "questions_sha256")},
            "dataset_revision": self.revision,
            "questions": len(self.rows),
            "split_questions": len(self.questions),
            "chance": self.chance,
            "rotations": self.rotations,
            "samples": self.samples,
            "temperature": self.run["temperature"],
            "tokens": tokens and {"read": sum(one for one, _ in tokens), "generated": sum(one for _, one in tokens)},
            "inputs": inputs,
            "habits": self.habits(),
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
        if blind := [one.always_correct for one in self.inputs.values() if one.given.is_blind]:
            columns["leaked"] = np.any(blind, axis=0).tolist()
        for name, one in self.inputs.items():
            columns[f"{name}_picked"] = [index if index >= 0 else None for index in one.picked[:, 0].tolist()]
            columns[f"{name}_score"] = [None if np.isnan(score) else score for score in one.scores.tolist()]
        return columns

    def columns(self) -> dict[str, list[str]]:
        """The cells of a table in percent and points, a line per input; without columns that are empty."""
        lines = [
            {
                "input": name,
                "accuracy": one.accuracy.percent(),
                "full minus this": one.gain.points() if one.gain else "",
                "picks none": one.none.percent() if one.none else "",
                "all rotations": one.circular.percent() if one.circular else "",
                **{rule: score_cell(one.rules[rule].mean) if rule in one.rules else "" for rule in self.other_rules},
                "samples agree": one.samples["agreement"].percent()
                if one.samples and one.samples["agreement"]
                else "",
                "whole sets": one.sets.percent() if one.sets else "",
                "published minus siblings": one.published.points() if one.published else "",
                **{key.replace("_", " "): f"{one.counts[key]:,}" if one.counts[key] else "" for key in COUNTED},
            }
            for name, one in self.inputs.items()
        ]
        lines.append({"input": "chance", "accuracy": score_cell(self.chance)})
        columns = {heading: [line.get(heading, "") for line in lines] for heading in lines[0]}
        return {heading: cells for heading, cells in columns.items() if any(cells)}

    def extent(self) -> str:
        """The number of questions, and whether they are a sample."""
        asked, of_split = len(self.rows), counted(len(self.questions), "question")
        return of_split if asked == len(self.questions) else f"{asked:,} of {of_split} (random sample)"

    def _other_readings(self) -> Iterator[str]:
        """The accuracies by the rules of other harnesses, where one is different."""
        for name, one in self.inputs.items():
            means = {rule: share.mean for rule, share in one.rules.items() if rule in READERS}
            if means and max(abs(mean - one.accuracy.mean) for mean in means.values()) > DIFFERENT:
                unparsed = {rule: percent(share, 0) for rule, share in one.unparsed.items()}
                by = (f"{rule} {score_cell(mean)} ({unparsed[rule]} unparsed)" for rule, mean in means.items())
                yield f"The replies of {name}, read by the rules of other harnesses: {', '.join(by)}."

    def notes(self) -> Iterator[str]:
        """Sentences below the table."""
        yield "Percent and 95% intervals, clustered by image."
        if found := {name: one.samples for name, one in self.inputs.items() if one.samples}:
            each = (
                f"{name} {', '.join(map(score_cell, of['accuracy']))} ({100 * of['standard_error']:.1f})"
                for name, of in found.items()
            )
            yield f"Accuracy of each sample (standard error of their mean): {'; '.join(each)}."
        without = int((self.questions.images[self.rows] < 0).sum())
        if without and any(INPUTS[name].image for name in self.inputs):
            yield f"{counted(without, 'question')} without an image, asked without one with all inputs."
        if cut := sum(one.counts["cut_off"] for one in self.inputs.values()):
            yield f"Cut off at the maximum number of tokens: {counted(cut, 'text')}; raise --max-tokens."
        if self.other_rules:
            yield f"Other rules: {'; '.join(f'{rule}: {RULES[rule]}' for rule in self.other_rules)}."
        yield from self._other_readings()
        yield from (one["found"] for one in self.habits())
        gains = {name: one.gain for name, one in self.inputs.items() if one.gain}
        if any(gain.low is None for gain in gains.values()):
            yield NO_INTERVAL
        hidden = [name for name in gains if self.inputs[name].given.is_blind or not self.inputs[name].given.choices]
        for name in [name for name in hidden if gains[name].sign < 0]:
            yield f"The accuracy of {name} is above that of full: what {name} hides misleads the model."
        for name, one in self.inputs.items():
            if one.failures:
                yield f"{name}, {len(one.failures):,} without a reply, such as: {one.failures[0]}"
