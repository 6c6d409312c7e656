"""The checks of the linter, one declaration each; your package adds one with ``CHECKS.add(Check(...))``."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.audits.checks.check import SEVERITIES, Check, Issues, read_linted
from hf_vqa_mc.audits.checks.leaks import LEAKS
from hf_vqa_mc.audits.checks.rows import ROWS, TEXTS
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
        found = dict(zip(*(part.to_pylist() for part in pc.value_counts(self.issues["check"]).flatten()), strict=True))
        return {check: found[check.name] for check in _ordered() if check.name in found}


def read_known(path: Path) -> pa.Table:
    """Known issues, with check, question_id and, optionally, split, of a file that the linter wrote or any table."""
    if not path.is_file():
        raise InputError(f"--ignore {path}: no such file")
    printed = read_json(path) if file_form(path) == "json" else None
    table = read_file(path) if not isinstance(printed, dict) or printed.get("issues") else pa.table({})
    for name in ("check", "question_id"):
        if name not in table.column_names:
            if table.num_rows:
                raise InputError(
                    f"--ignore {path}: no column {name!r}; expected check, question_id and, optionally, split"
                )
            table = table.append_column(name, pa.array([], pa.string()))
    known = table.select([name for name in KEY if name in table.column_names])
    for index, name in enumerate(known.column_names):
        texts = pc.fill_null(as_text(known[name]), "")
        guarded = pc.is_in(pc.utf8_slice_codeunits(texts, 0, 2), pa.array(GUARDED))
        known = known.set_column(index, name, pc.if_else(guarded, pc.utf8_slice_codeunits(texts, 1), texts))
    for name in known["check"].unique().to_pylist():
        CHECKS.find(name)
    return known


def lint_benchmark(
    options: BenchmarkOptions, known: pa.Table | None, skip_images: bool, progress: Progress
) -> Linting:
    """Run all checks on all splits, or on the ``split`` of the options; ``known`` issues are left out."""
    linted = read_linted(options, progress, skip_images)
    parts = []
    for done, check in enumerate(_ordered()):
        progress("checks", done, len(CHECKS))
        found = check.find(linted)
        rows = np.asarray(found.rows, np.int64)
        if len(rows):
            order = np.argsort(rows, kind="stable")
            details = [found.details[index][:DETAIL] if found.details else "" for index in order.tolist()]
            named = {"check": pa.repeat(check.name, len(rows)), "severity": pa.repeat(check.severity, len(rows))}
            where = linted.locations(rows[order])
            parts.append(pa.table({**named, **where, "detail": pa.array(details, pa.string())}))
    progress("checks", len(CHECKS), len(CHECKS))
    issues = pa.concat_tables(parts) if parts else pa.table({name: pa.array([], pa.string()) for name in COLUMNS})
    if options.split is not None and len(issues):
        issues = issues.filter(pc.fill_null(pc.equal(issues["split"], options.split), True))
    ignored, stale = 0, list[str]()
    if known is not None and len(known):
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
    rows_checked = sum(table.num_rows for name, table in linted.tables.items() if options.split in (None, name))
    return Linting(
        benchmark.dataset, rows_checked, benchmark.read_as, [*benchmark.notes, *left_out], issues, ignored, stale
    )


def _ordered() -> Sequence[Check]:
    """The checks, the most severe first."""
    return sorted(CHECKS.values(), key=lambda check: SEVERITIES.index(check.severity))
