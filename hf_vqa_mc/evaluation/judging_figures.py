"""What verdicts on decoys say: fractions by decoy kind and question type, agreement, and precision against people."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys import CHOICE_KINDS
from hf_vqa_mc.evaluation.figures import share
from hf_vqa_mc.evaluation.judging import UNKNOWN, WORDNET, YES, Decoys, Judgement
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.scoring.statistics import CONFIDENCE

MOST_TYPES = 20
"""Maximum number of question types, the most frequent first."""
RESAMPLES = 2_000
"""Bootstrap samples of images for the interval of F1."""
ALL = "all"
Flags = NDArray[np.int8]


def as_json(done: Judgement) -> dict[str, Any]:
    """All figures; fractions."""
    decoys = done.decoys
    judges = {done.judge: decoys.flags, WORDNET: decoys.baseline}
    return {
        **{name: value for name, value in done.run.items() if name != "example"},
        "judge": public_name(done.judge),
        "rows": done.n_rows,
        "unparsed": len(done.unparsed),
        "failed": len(done.failures),
        "groups": groups(decoys),
        "agreement": None if done.judge == WORDNET else agreement(decoys),
        "calibration": None
        if done.labels is None
        else {public_name(name): calibration(flags, done.labels, decoys.clusters) for name, flags in judges.items()},
    }


def groups(decoys: Decoys) -> list[dict[str, Any]]:
    """Flagged decoys and rows with any, of all, by decoy kind and by question type; only those that are judged."""
    known = decoys.flags != UNKNOWN
    found = [_group("", ALL, decoys, known)]
    kinds, types = np.array(decoys.kinds, object), np.array(decoys.types, object)
    for name in CHOICE_KINDS:
        if (kinds == name).any():
            found.append(_group("decoys", CHOICE_KINDS[name].legend, decoys, known & (kinds == name)))
    if len(set(decoys.types)) > 1:
        for name, _ in Counter(decoys.types).most_common(MOST_TYPES):
            found.append(_group("question type", name or "(none)", decoys, known & (types == name)))
    return [one for one in found if one["decoys"]]


def _group(of: str, name: str, decoys: Decoys, which: NDArray[np.bool_]) -> dict[str, Any]:
    if not which.any():
        return {"of": of, "name": name, "decoys": 0}
    flags, clusters = (decoys.flags[which] == YES).astype(np.float64), decoys.clusters[which]
    rows, first, row = np.unique(decoys.rows[which], return_index=True, return_inverse=True)
    per_row = (np.bincount(row, flags) > 0).astype(np.float64)
    baseline = (decoys.baseline[which] == YES).astype(np.float64)
    return {
        "of": of,
        "name": name,
        "decoys": int(which.sum()),
        "rows": len(rows),
        "flagged": share(flags, clusters).as_json(),
        "rows_flagged": share(per_row, clusters[first]).as_json(),
        "wordnet": share(baseline, clusters).as_json(),
    }


def agreement(decoys: Decoys) -> dict[str, Any] | None:
    """How the judge's flags and WordNet's agree; None if no decoy is judged. ``kappa`` is Cohen's (1960)."""
    known = decoys.flags != UNKNOWN
    one, other = decoys.flags[known] == YES, decoys.baseline[known] == YES
    if not len(one):
        return None
    same = float((one == other).mean())
    by_chance = float(one.mean() * other.mean() + (1 - one.mean()) * (1 - other.mean()))
    return {
        "decoys": len(one),
        "both": int((one & other).sum()),
        "judge_only": int((one & ~other).sum()),
        "wordnet_only": int((~one & other).sum()),
        "same": same,
        "kappa": None if by_chance == 1 else (same - by_chance) / (1 - by_chance),
    }


def calibration(flags: Flags, labels: Flags, clusters: NDArray[np.int64]) -> dict[str, Any]:
    """Precision, recall and F1 of flags against labels, on the decoys that have both.

    Precision and recall have the interval of `proportion_interval`, F1 the percentiles of a bootstrap over images; all
    are clustered by image. None where nothing is flagged or correct.
    """
    both = (flags != UNKNOWN) & (labels != UNKNOWN)
    flagged, true, clusters = flags[both] == YES, labels[both] == YES, clusters[both]
    hits = (flagged & true).astype(np.float64)

    def of(which: NDArray[np.bool_]) -> dict[str, Any] | None:
        return share(hits[which], clusters[which]).as_json() if which.any() else None

    return {
        "decoys": int(both.sum()),
        "flagged": int(flagged.sum()),
        "correct": int(true.sum()),
        "precision": of(flagged),
        "recall": of(true),
        "f1": _f1(hits, flagged, true, clusters),
    }


def _f1(
    hits: NDArray[np.float64], flagged: NDArray[np.bool_], true: NDArray[np.bool_], clusters: NDArray[np.int64]
) -> dict[str, Any] | None:
    total = flagged.sum() + true.sum()
    if not total:
        return None
    number = np.unique(clusters, return_inverse=True)[1]
    sums = np.stack([np.bincount(number, one) for one in (2 * hits, flagged.astype(float) + true)])
    units = sums.shape[1]
    draws = np.random.default_rng(0).multinomial(units, np.full(units, 1 / units), RESAMPLES) @ sums.T
    scores = draws[draws[:, 1] > 0, 0] / draws[draws[:, 1] > 0, 1]
    tail = 50 * (1 - CONFIDENCE)
    low, high = np.percentile(scores, [tail, 100 - tail]) if units > 1 else (0.0, 1.0)
    return {"mean": float(2 * hits.sum() / total), "low": float(low), "high": float(high), "rows": len(hits)}


def interval(found: dict[str, Any] | None) -> str:
    """A fraction in percent with its interval; "-" if there is none."""
    if found is None:
        return "-"
    return f"{100 * found['mean']:.1f} ({100 * found['low']:.1f} to {100 * found['high']:.1f})"


def notes(done: Judgement, figures: dict[str, Any]) -> Iterator[str]:
    """Sentences below the table."""
    by = "by WordNet and annotators' answers" if done.judge == WORDNET else "as also correct"
    yield f"Percent of decoys that are flagged {by}, with 95% intervals, clustered by image."
    yield from done.notes
    if done.unparsed:
        yield (
            f"{len(done.unparsed):,} of {done.n_rows:,} replies are no list of letters and count as no verdict, such "
            f"as: {done.unparsed[0][:200]!r}"
        )
    if done.failures:
        yield f"{len(done.failures):,} rows have no reply, such as: {done.failures[0]}"
    same = figures["agreement"]
    if same:
        kappa = "not defined" if same["kappa"] is None else f"{same['kappa']:.2f}"
        yield (
            f"Of {same['decoys']:,} decoys, both flag {same['both']:,}, only the judge {same['judge_only']:,}, only "
            f"WordNet {same['wordnet_only']:,}; kappa {kappa}."
        )
    for name, one in (figures["calibration"] or {}).items():
        yield (
            f"Against {one['decoys']:,} labels ({one['correct']:,} correct), {name}: precision "
            f"{interval(one['precision'])}, recall {interval(one['recall'])}, F1 {interval(one['f1'])}."
        )
