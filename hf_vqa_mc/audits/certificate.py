"""What is needed to recompute an audit, and the comparison of a certificate with the recomputed figures."""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.audits.ambiguity import VECTORS
from hf_vqa_mc.audits.settings import ProbeSettings
from hf_vqa_mc.benchmarks.options import BenchmarkOptions
from hf_vqa_mc.dataset.inventory import Inventory, configs_of
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.options import default_of
from hf_vqa_mc.scoring.table import points

if TYPE_CHECKING:
    from hf_vqa_mc.audits.auditing import Audit
    from hf_vqa_mc.benchmarks import Benchmark

PACKAGES = ("datasets", "gensim", "numpy", "pyarrow", "scikit-learn", "scipy", "torch")
"""Packages whose version may change a trained probe."""
EXACT = ("rows", "images", "choices", "chance", "exact_sets")
"""Keys of audit.json that are recomputed exactly, with ``findings``, ``ambiguous_decoys`` and untrained shortcuts."""
GIVEN = ("word_vectors", "features", "language_model")
"""Settings that name files; a certificate has only their last part."""
FIGURES = ("accuracy", "gain", "low", "high", "rows")
TOLERANCE = 1e-9
"""Exact figures differ by no more: the order of summation changes the last digits."""


class Status(StrEnum):
    """The outcome of a check."""

    SAME = "ok"
    DIFFERS = "FAILED"
    NOT_CHECKED = "not checked"
    NOTE = "note"


@dataclass(frozen=True)
class Check:
    """One comparison of a certificate with what was recomputed."""

    what: str
    status: Status
    detail: str = ""

    @property
    def line(self) -> str:
        """The check in a line."""
        return f"{self.status:<11}  {self.what}{f': {self.detail}' if self.detail else ''}"


def certificate(done: "Audit") -> dict[str, Any]:
    """All that is needed to recompute an audit, JSON-serializable, without folders of the user."""
    return {
        "revision": done.benchmark.revision,
        "read_with": dict(done.benchmark.read_with),
        "splits": split_hashes(done.benchmark),
        "settings": {
            name: public_name(str(value)) if name in GIVEN and value is not None else value
            for name, value in asdict(done.settings).items()
        },
        "word_vectors_sha256": done.word_vectors_sha256,
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def split_hashes(benchmark: "Benchmark") -> dict[str, dict[str, Any]]:
    """The number of rows and their hashes, by split."""
    return {name: vars(split.hashes) for name, split in benchmark.splits.items()}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def read_claims(found: object, location: str) -> dict[str, Any]:
    """The figures and the certificate in the content of an audit.json; of two audits, those after the remedy.

    Raises:
        InputError: it is not of ``vqa-mc audit``, or damaged; names ``location``.
    """
    claimed = found.get("after", found) if isinstance(found, dict) else None
    if not isinstance(claimed, dict) or "shortcuts" not in claimed:
        raise InputError(f"{location}: not an audit.json of vqa-mc audit; give the file that an audit wrote")
    made = claimed.get("certificate")
    if not isinstance(made, dict):
        raise InputError(f"{location}: it has no certificate, as it is of an earlier version; audit again")
    _check_objects({name: made.get(name) for name in ("splits", "settings", "read_with")}, f"{location}: certificate")
    _check_objects(made["splits"], f"{location}: certificate, splits")
    _check_objects({"ambiguous_decoys": claimed.get("ambiguous_decoys")}, location)
    _check_objects({"reasons": claimed["ambiguous_decoys"].get("reasons")}, f"{location}: ambiguous_decoys")
    for name, numbers in (("shortcuts", FIGURES), ("findings", ("count", "total"))):
        rows = claimed.get(name)
        if not isinstance(rows, list):
            raise InputError(f"{location}: {name}: expected a list; the file is damaged, so audit again")
        _check_objects(dict(enumerate(rows)), f"{location}: {name}")
        for row, one in enumerate(rows):
            if not isinstance(one.get("name"), str) or not all(_is_number(one.get(key)) for key in numbers):
                raise InputError(f"{location}: {name}, {row}: expected a name and numbers ({', '.join(numbers)})")
    return claimed


def row_claims(inventory: Inventory, config: str | None, location: str) -> tuple[str, dict[str, Any]]:
    """A config of an inventory, by default the default one, and its row hashes in the form of `read_claims`.

    Raises:
        InputError: there is no such config, or it has no row hashes; names ``location``.
    """
    configs, name = configs_of(inventory), config or inventory.get("default", "")
    if name not in configs:
        raise unknown_name(f"config of {location}", name, configs)
    hashes = configs[name].get("row_hashes")
    if not isinstance(hashes, dict) or not hashes:
        raise InputError(f"{location}: {name} has no row hashes; it is open-ended, or of an earlier version")
    _check_objects(hashes, f"{location}: {name}, row_hashes")
    return name, {"certificate": {"splits": hashes}}


def _check_objects(values: Mapping[Any, object], location: str) -> None:
    for name, value in values.items():
        if not isinstance(value, dict):
            raise InputError(f"{location}, {name}: expected an object; the file is damaged, so audit again")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)


def claimed_settings(claimed: Mapping[str, Any], kind: type, location: str) -> dict[str, Any]:
    """The settings of a certificate for `ProbeSettings` or `BenchmarkOptions`; InputError names an unknown one."""
    key = "settings" if kind is ProbeSettings else "read_with"
    allowed = {one.name for one in fields(kind)} - {"dataset", "images"}
    found: dict[str, Any] = claimed["certificate"][key]
    for name in found:
        if name not in allowed:
            raise InputError(f"{location}: unknown setting {name!r}; it needs another version of hf_vqa_mc")
    return found


def row_checks(claimed: Mapping[str, Any], benchmark: "Benchmark") -> Iterator[Check]:
    """Compare the rows of a certificate with those of a benchmark."""
    before, after = claimed["certificate"].get("revision"), benchmark.revision
    if before and after:
        same = before == after
        yield Check("revision", Status.SAME if same else Status.NOTE, after if same else f"{before}, now {after}")
    found, expected = split_hashes(benchmark), claimed["certificate"]["splits"]
    for name in dict.fromkeys([*expected, *found]):
        one, other = expected.get(name), found.get(name)
        if one is None or other is None:
            yield Check(f"split {name}", Status.DIFFERS, "it is missing" if other is None else "it is new")
            continue
        same = one.get("content") == other["content"]
        counts = f"{other['rows']:,} rows" if same else f"other content ({other['rows']:,} rows, as before)"
        if one.get("rows") != other["rows"]:
            counts = f"{one.get('rows')} rows, now {other['rows']}"
        yield Check(f"rows of {name}", _status(same), counts)
        if same:
            yield Check(f"order of {name}", _status(one.get("order") == other["order"]))


def settings_check(claimed: Mapping[str, Any]) -> Iterator[Check]:
    """Report the settings that differ from the defaults: with fewer probes or rows an audit finds less."""
    default = {one.name: default_of(one) for kind in (ProbeSettings, BenchmarkOptions) for one in fields(kind)}
    given = claimed["certificate"]["settings"] | claimed["certificate"]["read_with"]
    if other := [f"{name}={value}" for name, value in given.items() if value != default.get(name)]:
        yield Check("settings", Status.NOTE, ", ".join(other))


def figure_checks(
    claimed: Mapping[str, Any], found: Mapping[str, Any], skipped: Collection[str] = ()
) -> Iterator[Check]:
    """Compare the figures of a certificate with recomputed ones.

    Args:
        claimed: content of an audit.json, from `read_claims`.
        found: the recomputed audit's JSON.
        skipped: settings, such as ``probes``, without which it was recomputed.
    """
    if claimed.get("version") != found["version"]:
        yield Check("version", Status.NOTE, f"{claimed.get('version')}, recomputed by {found['version']}")
    vectors = [one["certificate"].get("word_vectors_sha256") for one in (claimed, found)]
    if None not in vectors:
        yield Check("word vectors", Status.SAME if vectors[0] == vectors[1] else Status.NOTE, f"sha256 {vectors[1]}")
    for name in EXACT:
        yield _exact(name.replace("_", " "), claimed.get(name), found[name])
    yield from _findings(claimed["findings"], found["findings"])
    without = {VECTORS} if "word_vectors" in skipped else set()
    decoys = [
        {**one, "reasons": {k: v for k, v in (one.get("reasons") or {}).items() if k not in without}}
        for one in (claimed["ambiguous_decoys"], found["ambiguous_decoys"])
    ]
    yield _exact("ambiguous decoys", *decoys)
    yield from _shortcuts(claimed["shortcuts"], found["shortcuts"], bool(skipped))
    if claimed.get("verdict") != found["verdict"] and not skipped:
        yield Check("verdict", Status.NOTE, f"recomputed: {found['verdict']}")


def _findings(claimed: Iterable[Mapping[str, Any]], found: Iterable[Mapping[str, Any]]) -> Iterator[Check]:
    one, other = ({row["name"]: (row["count"], row["total"]) for row in rows} for rows in (claimed, found))
    for name in dict.fromkeys([*one, *other]):
        yield _exact(name, one.get(name), other.get(name))


def _shortcuts(
    claimed: Iterable[Mapping[str, Any]], found: Iterable[Mapping[str, Any]], skipped: bool
) -> Iterator[Check]:
    one, other = ({row["name"]: row for row in rows} for rows in (claimed, found))
    for name in dict.fromkeys([*other, *one]):
        before, now = one.get(name), other.get(name)
        if before is None:
            yield Check(name, Status.DIFFERS, "the certificate lacks it")
        elif now is None:
            trained = bool(before.get("trained"))
            status = Status.NOT_CHECKED if trained and skipped else Status.DIFFERS
            yield Check(name, status, "" if status is Status.NOT_CHECKED else "it was not recomputed")
        elif now["trained"]:
            within = before["low"] - TOLERANCE <= now["gain"] <= before["high"] + TOLERANCE
            within &= now["low"] - TOLERANCE <= before["gain"] <= now["high"] + TOLERANCE
            change = f"gain {points(before['gain'])}, recomputed {points(now['gain'])}"
            yield Check(name, _status(within), f"{change}, {'' if within else 'not '}within the 95% interval")
        else:
            names = [*FIGURES, *(f"cross_fitted_{figure}" for figure in FIGURES)]
            yield _exact(name, *({figure: row.get(figure) for figure in names} for row in (before, now)))


def _status(same: bool) -> Status:
    return Status.SAME if same else Status.DIFFERS


def _exact(what: str, claimed: object, found: object) -> Check:
    if _equal(claimed, found):
        return Check(what, Status.SAME)
    if isinstance(claimed, dict) and isinstance(found, dict):
        named = [key for key in dict.fromkeys([*claimed, *found]) if not _equal(claimed.get(key), found.get(key))]
        claimed, found = claimed.get(named[0]), found.get(named[0])
        what = f"{what}, {named[0]}"
    return Check(what, Status.DIFFERS, f"{claimed}, recomputed {found}")


def _equal(one: object, other: object) -> bool:
    """Whether JSON values are equal, numbers within `TOLERANCE`."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_equal, one, other))
    if _is_number(one) and _is_number(other):
        return math.isclose(one, other, rel_tol=0, abs_tol=TOLERANCE)  # type: ignore[arg-type]
    return one == other
