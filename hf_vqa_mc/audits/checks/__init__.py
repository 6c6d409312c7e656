"""The checks of the linter, one declaration each; your package adds one with ``CHECKS.add(Check(...))``."""

from collections import Counter
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.audits.checks.check import SEVERITIES, Check, Issues, read_linted
from hf_vqa_mc.audits.checks.rows import LEAKS, ROWS, TEXTS
from hf_vqa_mc.data.cells import as_text
from hf_vqa_mc.data.files import file_form, read_file
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.json_stream import read_json
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.listing import Listing

__all__ = ["CHECKS", "Check", "Issues", "Linting", "lint_benchmark", "read_known"]

CHECKS: Listing[Check] = Listing("check", *ROWS, *TEXTS, *LEAKS)  # in the order of the table, within each severity
DETAIL = 200  # maximum number of characters of a detail
COLUMNS = ("check", "severity", "split", "row", "question_id", "detail")
KEY = ("check", "split", "question_id")  # columns by which an issue is known
GUARDED = ("'=", "'+", "'-", "'@", "'\t", "'\r")  # beginnings of cells that `text.tables.csv_bytes` marked


@dataclass(frozen=True, eq=False, repr=False)
class Linting:
    """The issues of a benchmark."""

    dataset: str
    rows: int  # number of checked rows, those that cannot be read included
    read_as: str
    notes: list[str]
    issues: pa.Table  # ``COLUMNS``, the most severe first; no split, row and question_id: of the whole benchmark
    ignored: int  # number of issues that the list of known ones has
    stale: list[str]  # entries of the list of known issues that were not found again

    def counts(self) -> dict[Check, int]:
        """Number of issues of each check that has some, the most severe checks first."""
        found = Counter(self.issues["check"].to_pylist())
        return {check: found[check.name] for check in _ordered() if check.name in found}


def read_known(path: Path) -> pa.Table | None:
    """Known issues, with check, question_id and, optionally, split, of a file that the linter wrote or any table.

    None if there are none.
    """
    if not path.is_file():
        raise InputError(f"--ignore {path}: no such file")
    printed = read_json(path) if file_form(path) == "json" else None
    if isinstance(printed, dict) and not printed.get("issues"):
        return None
    table = read_file(path)
    if not table.num_rows:
        return None
    if missing := [name for name in ("check", "question_id") if name not in table.column_names]:
        raise InputError(
            f"--ignore {path}: no column {missing[0]!r}; expected check, question_id and, optionally, split"
        )
    columns = {}
    for name in (name for name in KEY if name in table.column_names):
        texts = pc.fill_null(as_text(table[name]), "")
        guarded = pc.is_in(pc.utf8_slice_codeunits(texts, 0, 2), pa.array(GUARDED))
        columns[name] = pc.if_else(guarded, pc.utf8_slice_codeunits(texts, 1), texts)
    for name in columns["check"].unique().to_pylist():
        CHECKS.find(name)
    return pa.table(columns)


def lint_benchmark(
    options: BenchmarkOptions, known: pa.Table | None, skip_images: bool, progress: Progress
) -> Linting:
    """Run all checks on all splits, or on the ``split`` of the options; ``known`` issues are left out."""
    linted, parts = read_linted(options, progress, skip_images), list[pa.Table]()
    for done, check in enumerate(_ordered()):
        progress("checks", done, len(CHECKS))
        if found := sorted(check.find(linted), key=itemgetter(0)):
            named = {"check": pa.repeat(check.name, len(found)), "severity": pa.repeat(check.severity, len(found))}
            details = pa.array([detail[:DETAIL] for _, detail in found], pa.string())
            parts.append(pa.table({**named, **linted.locations([row for row, _ in found]), "detail": details}))
    progress("checks", len(CHECKS), len(CHECKS))
    issues = pa.concat_tables(parts) if parts else pa.table({name: pa.array([], pa.string()) for name in COLUMNS})
    if options.split is not None and len(issues):
        issues = issues.filter(pc.fill_null(pc.equal(issues["split"], options.split), True))
    ignored, stale = 0, list[str]()
    if known is not None:
        # by check, split and question id; without the split if the list has none
        keys, known_keys = (
            pc.binary_join_element_wise(*(pc.fill_null(as_text(table[name]), "") for name in known.column_names), "\0")
            for table in (issues, known)
        )
        is_known = pc.is_in(keys, known_keys)
        lost = pc.unique(known_keys.filter(pc.invert(pc.is_in(known_keys, keys)))).to_pylist()
        stale = [", ".join(filter(None, key.split("\0"))) for key in lost]
        issues, ignored = issues.filter(pc.invert(is_known)), int(pc.sum(is_known).as_py() or 0)
    benchmark = linted.benchmark
    left_out = [f"split {name} was left out: {why}" for name, why in benchmark.left_out.items() if "(" not in name]
    rows = sum(table.num_rows for name, table in linted.tables.items() if options.split in (None, name))
    return Linting(benchmark.dataset, rows, benchmark.read_as, [*benchmark.notes, *left_out], issues, ignored, stale)


def _ordered() -> list[Check]:
    """The checks, the most severe first."""
    return sorted(CHECKS.values(), key=lambda check: SEVERITIES.index(check.severity))
