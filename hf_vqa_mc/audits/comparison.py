"""Comparison of an audit with the audit.json of an earlier release, and of a benchmark's rows with stored hashes."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.audits.shortcut import TIED, ProbeInputs
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.options import default_of
from hf_vqa_mc.text.counted import points

if TYPE_CHECKING:
    from hf_vqa_mc.audits.auditing import Audit
    from hf_vqa_mc.data import Benchmark

COUNTS = ("rows", "images", "choices", "chance", "exact_sets")
FIGURES = ("accuracy", "gain", "low", "high", "cross_fitted_gain", "cross_fitted_low", "cross_fitted_high")
SAME, CHANGED, NOT_COMPARED = "same", "changed", "not compared"


class Check(NamedTuple):
    """One figure in two audits."""

    what: str
    status: str  # SAME, CHANGED or NOT_COMPARED
    before: Any  # None if the first audit lacks it
    now: Any

    @property
    def line(self) -> str:
        """The check in a line."""
        before, now = ("none" if one is None else one for one in (self.before, self.now))
        return f"{self.status:<12}  {self.what}: {now if self.status == SAME else f'{before}, now {now}'}"


def certificate(done: "Audit") -> dict[str, Any]:
    """What is needed to repeat an audit, JSON-serializable, without folders of the user."""
    features, read_with = done.settings.features, done.benchmark.read_with.items()
    return {
        "revision": done.benchmark.revision,
        "read_with": {name: list(value) if isinstance(value, tuple) else value for name, value in read_with},
        "splits": split_hashes(done.benchmark),
        "settings": {**asdict(done.settings), "features": features and public_name(str(features))},
    }


def split_hashes(benchmark: "Benchmark") -> dict[str, dict[str, Any]]:
    """The number of rows and their hashes, by split."""
    return {name: vars(split.hashes) for name, split in benchmark.splits.items()}


def read_audit(path: Path) -> dict[str, Any]:
    """The content of an audit.json; raises InputError if it does not exist, or is not of ``vqa-mc audit``."""
    expected = "give an audit.json that vqa-mc audit wrote"
    if not path.is_file():
        raise InputError(f"{path}: {'this is a folder' if path.is_dir() else 'no such file'}; {expected}")
    try:
        found = read_json(path)
        compare(found, found)  # reads every field
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError(f"{path}: not an audit, damaged, or of another version; {expected}") from error
    return dict(found)


def compare(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Check]:
    """What differs between two audits, each the content of an audit.json, see `read_audit`.

    Counts, and untrained shortcuts on the same rows, must be equal; the gain of any other shortcut must be within the
    interval of the other audit. Trained probes are compared only if the audits have the same settings and the time.
    """
    defaults = {one.name: default_of(one) for kind in (ProbeSettings, BenchmarkOptions) for one in fields(kind)}
    made, given = [audit["certificate"] for audit in (old, new)], list[str]()
    for one in made:  # with fewer probes or rows an audit finds less
        changed = {name: value for name, value in (one["settings"] | one["read_with"]).items()
                   if value != defaults.get(name)}  # fmt: skip
        given.append(", ".join(f"{name}={value}" for name, value in changed.items()) or "the defaults")
    checks = [Check("settings", SAME if given[0] == given[1] else NOT_COMPARED, *given)]
    checks += compare_rows(*(one["splits"] for one in made))
    counts = _pairs(_counts(old), _counts(new))
    checks += [Check(what, SAME if _close(*both) else CHANGED, *both) for what, *both in counts]
    for what, before, now in _pairs(_shortcuts(old), _shortcuts(new)):
        gains = [one and f"gain {points(one['gain'])} points" for one in (before, now)]
        lacking = [audit for audit, one in ((old, before), (new, now)) if one is None]
        no_time = any("time limit" in one["reason"] for audit in lacking for one in audit["not_run"])
        if (before or now)["trained"] and (no_time or not _same_settings(old, new)):
            checks.append(Check(what, NOT_COMPARED, *gains))
            continue
        same = bool(before and now) and all(
            other["low"] - TIED <= one["gain"] <= other["high"] + TIED for one, other in ((before, now), (now, before))
        )
        if same and made[0]["splits"] == made[1]["splits"] and not now["trained"]:
            same = all(_close(before[name], now[name]) for name in FIGURES)
        checks.append(Check(what, SAME if same else CHANGED, *gains))
    return [check for check in checks if check.status != SAME]


def compare_rows(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Check]:
    """Compare the rows of each split by `split_hashes`."""
    about = "{rows:,} rows, content {content:.12}, order {order:.12}"
    return [
        Check(f"rows of {name}", SAME if before == now else CHANGED,
              *(one and about.format(**one) for one in (before, now)))
        for name, before, now in _pairs(old, new)
    ]  # fmt: skip


def regressions(old: Mapping[str, Any], new: Mapping[str, Any], most: float) -> list[str]:
    """The significant shortcuts whose gain's interval lies above that of the old audit by more than ``most``."""
    return [
        what
        for what, before, now in _pairs(_shortcuts(old), _shortcuts(new))
        if before and now and now["alarm"] and now["inputs"] != ProbeInputs.EVERYTHING
        if now["low"] - before["high"] > most and (not now["trained"] or _same_settings(old, new))
    ]


def _pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each key of either, and its value in both."""
    return ((key, old.get(key), new.get(key)) for key in dict.fromkeys([*old, *new]))


def _close(one: object, other: object) -> bool:
    """Whether values are equal; the order of summation changes the last digits of fractions."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, abs_tol=TIED)
    return one == other


def _same_settings(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    settings = [audit["certificate"]["settings"] | {"time_limit": None} for audit in (old, new)]
    return bool(settings[0] == settings[1])


def _shortcuts(audit: Mapping[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in audit["shortcuts"]}


def _counts(audit: Mapping[str, Any]) -> dict[str, Any]:
    counts = {name.replace("_", " "): audit[name] for name in COUNTS}
    findings = {one["name"]: f"{one['count']:,} of {one['total']:,}" for one in audit["findings"]}
    reasons = {f"ambiguous decoys, {name}": share for name, share in audit["ambiguous_decoys"]["reasons"].items()}
    return counts | findings | reasons
