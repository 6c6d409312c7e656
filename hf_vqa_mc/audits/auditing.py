"""Run an audit, and give its result as JSON."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hf_vqa_mc.audits.closed_sets import ASSIGNED, ExactSets, combined, exact_sets, mean_probabilities, sets_of
from hf_vqa_mc.audits.comparison import certificate
from hf_vqa_mc.audits.findings import Finding, findings, possibly_correct, predictive_texts
from hf_vqa_mc.audits.probes import PROBES, Context, run_probes
from hf_vqa_mc.audits.rows import Rows, number_rows
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.audits.shortcut import ALARM_LEVEL, FOLDS, Gain, NotRun, ProbeInputs, gains, holm, not_tested, verdict
from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.data.images import shortened
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.io.redaction import without_folders
from hf_vqa_mc.text.counted import counted, percent
from hf_vqa_mc.version import __version__

FEW_IMAGES = 10  # below this effective number of images, the audit warns that intervals are wide
MIN_TYPE_ROWS, MAX_TYPES = 30, 40  # minimum rows of a listed question type, and maximum number of listed types
MAX_QUESTION_IDS = 20  # question ids listed for a finding
BIAS_BINS = 20  # bins of the histogram of bias scores


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """The result of an audit."""

    benchmark: Benchmark
    rows: Rows  # rows of the audited split
    gains: list[Gain]  # largest first
    findings: list[Finding]
    ambiguous: dict[str, NDArray[np.bool_]]  # reason to mask (rows, choices) of possibly correct decoys
    predictive_texts: dict[str, list[dict[str, Any]]]
    not_run: list[NotRun]
    exact: dict[ProbeInputs, ExactSets]  # see `exact_sets`
    settings: ProbeSettings

    @cached_property
    def probabilities(self) -> NDArray[np.float64] | None:
        """Mean P(target) of the probes with question and choices but no image, (rows, choices); None without any.

        The target is in column 0. NaN in rows that were not evaluated.
        """
        return mean_probabilities(self.gains, ProbeInputs.QUESTION)

    @property
    def bias(self) -> NDArray[np.float64] | None:
        """(rows,): P(target) of the target by `probabilities`."""
        return None if self.probabilities is None else self.probabilities[:, 0]

    @cached_property
    def possibly_correct(self) -> NDArray[np.bool_]:
        """Mask (rows, choices) of decoys that are possibly correct for any reason."""
        return np.asarray(np.logical_or.reduce([*self.ambiguous.values()]))

    def picked_blind(self, rows: Sequence[int]) -> dict[int, int]:
        """Row to the index of the choice that `probabilities` prefers, for evaluated rows."""
        if self.probabilities is None:
            return {}
        evaluated = [row for row in rows if np.isfinite(self.probabilities[row, 0])]
        best = self.probabilities[evaluated].argmax(axis=1)
        return dict(zip(evaluated, self.rows.positions[evaluated, best].tolist(), strict=True))

    def as_json(self) -> dict[str, Any]:
        """All figures as fractions, as in audit.json; without the folders of the user."""
        split, chance = self.benchmark.test, float(self.rows.chance.mean())
        missing = not_tested(self.not_run)
        images, decoys = set(split.rows["image_id"].unique().to_pylist()) - {""}, int(self.rows.valid[:, 1:].sum())
        bias = None if self.bias is None else self.bias[np.isfinite(self.bias)]
        counts, ends = np.histogram([] if bias is None else bias, bins=BIAS_BINS, range=(0.0, 1.0))
        histogram = [{"from": low, "to": high, "rows": count}
                     for (low, high), count in zip(pairwise(ends.tolist()), counts.tolist(), strict=True)]  # fmt: skip
        figures = {
            "version": __version__,
            "dataset": self.benchmark.dataset,
            "config": self.benchmark.config,
            "split": split.name,
            "rows": len(self.rows),
            "images": len(images),
            "choices": np.unique(self.rows.sizes).tolist(),
            "chance": chance,
            "train_source": "train" if self.benchmark.train else f"{FOLDS} folds of {split.name}",
            "skipped_splits": self.benchmark.left_out,
            "read_as": self.benchmark.read_as,
            "verdict": " ".join([verdict(self.gains, chance, len(images), missing), *self._exact_sentences(chance)]),
            "not_tested": missing,
            "caveat": " ".join(self._caveats(bool(images))),
            "exact_sets": {sees.value: sets.number for sees, sets in self.exact.items()},
            "shortcuts": [gain.as_json() for gain in self.gains],
            "per_type": self._per_type(),
            "findings": [
                {
                    **{name: getattr(one, name) for name in ("name", "sentence", "count", "total", "unit")},
                    "share": one.count / max(one.total, 1),
                    "question_ids": split.rows["question_id"].take(pa.array(one.rows[:MAX_QUESTION_IDS])).to_pylist(),
                }
                for one in self.findings
            ],
            "ambiguous_decoys": {
                "decoys": decoys,
                "share": float(self.possibly_correct.sum() / max(decoys, 1)),
                "share_of_rows": float(self.possibly_correct.any(axis=1).mean()),
                "reasons": {reason: float(found.sum() / max(decoys, 1)) for reason, found in self.ambiguous.items()},
            },
            "predictive_texts": self.predictive_texts,
            "bias": None if bias is None else {"mean": float(bias.mean()), "histogram": histogram},
            "not_run": [one._asdict() for one in self.not_run],
            "certificate": certificate(self),
        }
        public: dict[str, Any] = without_folders(figures, self.benchmark.dataset)
        return public

    def _exact_sentences(self, chance: float) -> Iterator[str]:
        """What closed sets guarantee, and the trained probe with these inputs that is farthest from chance."""
        for sees, sets in self.exact.items():
            trained = [one for one in self.gains if one.sees is sees and one.trained]
            alone = (one for one in trained if not one.name.startswith(ASSIGNED))
            best, measured = max(alone, key=lambda one: abs(one.estimate.gain), default=None), ""
            if best is not None:
                reveals = ", but their order reveals the target" if best.alarm else ""
                measured = f"{reveals} (measured: {percent(best.estimate.accuracy)}, {best.name})"
            yield (
                f"{sees.label.capitalize()}: exact by construction, {counted(sets.number, 'set')} checked: every rule "
                "that sees these inputs, but not the order of the choices or of the rows, is correct in "
                f"{percent(chance)}{measured}."
            )

    def _caveats(self, has_images: bool) -> Iterator[str]:
        """The limits of the figures in sentences."""
        yield from (f"{note.rstrip('.')}." for note in self.benchmark.notes)
        source = self.benchmark.test.images
        if missing := [one for one in source.absent if not source.allowed.refuses(one)] if source else []:
            number = counted(len(missing), "image")
            yield f"Not found: {number}, such as {shortened(missing[0])}; vqa-mc lint lists the rows."
        few = {one.estimate.rows for one in self.gains if one.trained} - {len(self.rows)}
        if few:
            sample = " or ".join(f"{rows:,}" for rows in sorted(few))
            yield f"Trained probes are evaluated on a random {sample} of {len(self.rows):,} rows."
        if self.benchmark.train is None:
            yield (
                "There is no training split, so probes are fitted on other rows of this split. Only a model that has "
                "seen such answers can have their gains."
            )
        if not has_images:
            yield (
                "No column of images, videos or contexts groups the rows, so intervals and folds treat rows with "
                "another question or other choices as independent; if rows belong together, name their column with "
                "--columns image_id=COLUMN."
            )
        sizes = np.bincount(self.benchmark.test.clusters)
        images = 1 / float(((sizes / sizes.sum()) ** 2).sum())
        if images < FEW_IMAGES:
            yield f"The effective number of images is {images:.1f}, so intervals are wide and of little use."

    def _per_type(self) -> list[dict[str, Any]]:
        """For each question type, the gain of the strongest shortcut of each set of inputs; alarms among all these."""
        types = self.benchmark.test.rows["question_type"].to_numpy(zero_copy_only=False).astype(str)
        tested = [one for one in self.gains if one.sees.is_shortcut]
        tested.sort(key=lambda one: (not one.alarm, -abs(one.estimate.gain)))
        best = dict[ProbeInputs, Any]()
        for gain in tested:
            best.setdefault(gain.sees, gain)
        names, of_type, counts = np.unique(types, return_inverse=True, return_counts=True)
        listed, cells = list[dict[str, Any]](), list[dict[str, Any]]()
        for number in np.argsort(-counts, kind="stable")[:MAX_TYPES]:
            if not names[number] or counts[number] < MIN_TYPE_ROWS:
                continue
            some = of_type == number
            chance = self.rows.chance[some]
            parts = [
                replace(one, scores=one.scores[some], clusters=None if one.clusters is None else one.clusters[some])
                for one in best.values()
                if one.evaluated[some].any()
            ]
            found = gains(parts, chance, self.benchmark.test.clusters[some])
            shortcuts = {gain.name: dict(vars(gain.estimate)) for gain in found}
            about = {"type": str(names[number]), "rows": int(counts[number]), "chance": float(chance.mean())}
            listed.append({**about, "shortcuts": shortcuts})
            cells += shortcuts.values()
        for cell, p in zip(cells, holm([cell["p"] for cell in cells]), strict=True):
            cell["alarm"] = p * len(tested) / len(best) < ALARM_LEVEL  # of all tested the strongest are listed
        return listed


def audit(benchmark: Benchmark, settings: ProbeSettings | None = None, progress: Progress = silent) -> Audit:
    """Find the shortcuts of the audited split; raises InputError if features are unusable.

    Probes are fitted on the training split, or without one on four of five folds of the audited rows that share no
    image with the evaluated fold.
    """
    settings, started = settings or ProbeSettings(), time.monotonic()
    split = benchmark.test
    progress("counting", 0, 1)
    numbered = number_rows({name: one.rows for name, one in benchmark.splits.items()})
    rows = numbered[split.name]
    found = findings(benchmark.splits, numbered, split.name)
    ambiguous = possibly_correct(rows, benchmark.known_answers[split.name])
    predictive = predictive_texts(rows, clusters=split.clusters)
    progress("counting", 1, 1)
    context = Context.of(benchmark, numbered, settings, progress, started)
    shortcuts, not_run = run_probes(context, PROBES.values())
    cross_fitted = list[Any]()
    if benchmark.train is not None:  # what the audited rows give away; trained probes would be fitted once per fold
        counts = {one.name for one in shortcuts if one.fitted and not one.trained}
        own, probes = replace(context, train=None, train_rows=None), PROBES.values()
        cross_fitted, not_again = run_probes(own, [one for one in probes if one.name in counts])
        not_run += [NotRun(f"{one.name}, cross-fitted", one.reason) for one in not_again]
    shortcuts += list(combined(context, shortcuts))
    with_images = "" not in split.rows["image_id"].unique().to_pylist()
    exact = exact_sets(rows, split.clusters if with_images else None, sets_of(split))
    groups = {sees: one.groups for sees, one in exact.items()}
    found_gains = gains(shortcuts, rows.chance, split.clusters, cross_fitted, groups)
    missing = [*([] if settings.probes else [NotRun("trained probes", "--no-probes")]), *not_run]
    return Audit(benchmark, rows, found_gains, found, ambiguous, predictive, missing, exact, settings)
