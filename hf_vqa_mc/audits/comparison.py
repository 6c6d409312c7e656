"""Comparison of two audits by their audit.json: of an audit and its recomputation, or of two releases."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.audits.findings import VECTORS
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

FILES = ("word_vectors", "features")  # settings with paths; audit.json has their last part
COUNTS = ("rows", "images", "choices", "chance", "exact_sets")
FIGURES = ("accuracy", "gain", "low", "high", "cross_fitted_gain", "cross_fitted_low", "cross_fitted_high")


class Status(StrEnum):
    """The outcome of a check."""

    SAME = "same"
    CHANGED = "changed"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Check:
    """One figure in two audits."""

    what: str
    status: Status
    before: Any  # None if the first audit lacks it
    now: Any

    @property
    def line(self) -> str:
        """The check in a line."""
        before, now = ("none" if one is None else one for one in (self.before, self.now))
        return f"{self.status:<12}  {self.what}: {now if self.status is Status.SAME else f'{before}, now {now}'}"


def _check(what: str, is_same: bool, before: object, now: object) -> Check:
    return Check(what, Status.SAME if is_same else Status.CHANGED, before, now)


def certificate(done: "Audit") -> dict[str, Any]:
    """What is needed to recompute an audit, JSON-serializable, without folders of the user."""
    given = {name: public_name(str(value)) for name in FILES if (value := getattr(done.settings, name)) is not None}
    read_with = done.benchmark.read_with.items()
    return {
        "revision": done.benchmark.revision,
        "read_with": {name: list(value) if isinstance(value, tuple) else value for name, value in read_with},
        "splits": split_hashes(done.benchmark),
        "settings": asdict(done.settings) | given,
        "word_vectors_sha256": done.word_vectors_sha256,
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
    """Compare two audits, each the content of an audit.json, see `read_audit`.

    Counts, and untrained shortcuts on the same rows, must be equal; the gain of any other shortcut must be within the
    interval of the other audit. Trained probes are compared only if the audits have the same settings.
    """
    splits = [audit["certificate"]["splits"] for audit in (old, new)]
    given = [_given(audit) for audit in (old, new)]
    checks = [Check("settings", Status.SAME if given[0] == given[1] else Status.NOT_COMPARED, *given)]
    checks += compare_rows(*splits)
    checks += [_check(what, _close(*both), *both) for what, *both in _pairs(_counts(old), _counts(new))]
    for what, before, now in _pairs(_shortcuts(old), _shortcuts(new)):
        gains = [one and f"gain {points(one['gain'])} points" for one in (before, now)]
        lacking = [audit for audit, one in ((old, before), (new, now)) if one is None]
        if not _comparable(before or now, old, new, lacking):
            checks.append(Check(what, Status.NOT_COMPARED, *gains))
            continue
        same = bool(before and now) and all(
            other["low"] - TIED <= one["gain"] <= other["high"] + TIED for one, other in ((before, now), (now, before))
        )
        if same and splits[0] == splits[1] and not now["trained"]:
            same = all(_close(before[name], now[name]) for name in FIGURES)
        checks.append(_check(what, same, *gains))
    return checks


def compare_rows(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[Check]:
    """Compare the rows of each split by `split_hashes`."""
    about = "{rows:,} rows, content {content:.12}, order {order:.12}"
    return [
        _check(f"rows of {name}", both[0] == both[1], *(one and about.format(**one) for one in both))
        for name, *both in _pairs(old, new)
    ]


def regressions(old: Mapping[str, Any], new: Mapping[str, Any], most: float) -> list[str]:
    """The significant shortcuts whose gain's interval lies above that of the old audit by more than ``most``."""
    return [
        what
        for what, before, now in _pairs(_shortcuts(old), _shortcuts(new))
        if before and now and now["alarm"] and now["inputs"] != ProbeInputs.EVERYTHING
        if now["low"] - before["high"] > most and _comparable(now, old, new)
    ]


def _pairs(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each key of either, and its value in both."""
    return ((key, old.get(key), new.get(key)) for key in dict.fromkeys([*old, *new]))


def _close(one: object, other: object) -> bool:
    """Whether values are equal; the order of summation changes the last digits of fractions."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, abs_tol=TIED)
    return one == other


def _comparable(
    shortcut: Mapping[str, Any], old: Mapping[str, Any], new: Mapping[str, Any], lacking: Iterable[Any] = ()
) -> bool:
    """Whether a shortcut is untrained, or trained with the same settings and not lacking where time was over."""
    settings = [audit["certificate"]["settings"] | {"time_limit": None} for audit in (old, new)]
    cut_off = any("time limit" in one["reason"] for audit in lacking for one in audit["not_run"])
    return not shortcut["trained"] or (settings[0] == settings[1] and not cut_off)


def _given(audit: Mapping[str, Any]) -> str:
    """The settings that are not the defaults: with fewer probes or rows an audit finds less."""
    default = {one.name: default_of(one) for kind in (ProbeSettings, BenchmarkOptions) for one in fields(kind)}
    given = audit["certificate"]["settings"] | audit["certificate"]["read_with"]
    changed = [f"{name}={value}" for name, value in given.items() if value != default.get(name)]
    return ", ".join(changed) or "the defaults"


def _shortcuts(audit: Mapping[str, Any]) -> dict[str, Any]:
    return {one["name"]: one for one in audit["shortcuts"]}


def _counts(audit: Mapping[str, Any]) -> dict[str, Any]:
    """What is counted, by name; without similar word vectors, which are of a file that not everybody has."""
    counts = {name.replace("_", " "): audit[name] for name in COUNTS}
    findings = {one["name"]: f"{one['count']:,} of {one['total']:,}" for one in audit["findings"]}
    reasons = {f"ambiguous decoys, {name}": share for name, share in audit["ambiguous_decoys"]["reasons"].items()}
    return {name: value for name, value in (counts | findings | reasons).items() if VECTORS not in name}
