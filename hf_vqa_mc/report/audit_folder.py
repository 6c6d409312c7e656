"""The folders of reports; that of an audit: the report, all figures as JSON, and the scores of each row."""

import io
import os
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from hf_vqa_mc.audits.auditing import Audit
from hf_vqa_mc.audits.settings import AUDITS
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash, text_hashes
from hf_vqa_mc.io.atomic import Staged, json_bytes, new_folder, published
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.outputs import FolderKind, check_folder, check_output, check_outside
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.options import flag_of, spec_of
from hf_vqa_mc.remedies.strategies import recommended
from hf_vqa_mc.report.examples import Example, examples_of
from hf_vqa_mc.report.report import report_html

AUDITED = FolderKind("vqa-mc audit")
REMEDIES = Path("vqa_mc_remedy")
"""Default folder of the folders of reports of remedies."""
REPORT, FIGURES, ROWS = "report.html", "audit.json", "rows.parquet"
OF_EACH = 20
"""Maximum number of example rows per reason."""
BIASED = "high bias: question and choices predict the target"
AMBIGUOUS = "a decoy is possibly correct"
AT_RANDOM = "random sample"


def command_line(verb: str, settings: BenchmarkOptions, *more: str, name: Callable[[str], str] = str) -> str:
    """A command on a benchmark that is read with these settings, quoted for a shell.

    Args:
        verb: of ``vqa-mc``.
        settings: how the benchmark is read.
        more: arguments of the verb.
        name: from the path of the dataset and of its images to the text in the command.
    """
    parts = ["vqa-mc", verb]
    for one in fields(BenchmarkOptions):
        value = getattr(settings, one.name)
        if value is True:
            parts.append(flag_of(one))
        elif value is not None and value is not False and value != {} and spec_of(one).cli:
            if isinstance(value, dict):
                value = tuple(f"{name_of}={column}" for name_of, column in value.items())
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            flags = [flag_of(one)] if one.kw_only else []
            parts += [*flags, name(text) if one.name in ("dataset", "images") else text]
    return shlex.join([*parts, *more])


def next_step(
    settings: BenchmarkOptions, benchmark: Benchmark, name: Callable[[str], str] = str
) -> tuple[str, str] | None:
    """The remedy that suits the benchmark: why, and its `command_line`; None for an object in memory."""
    dataset = settings.dataset
    if not isinstance(dataset, str | Path):
        return None
    path = Path(dataset)
    ending = path.name[len(path.name.split(".")[0]) :] if path.is_file() else ""
    stem = path.resolve().name.split(".")[0] if path.exists() else str(dataset)
    output = f"{file_name('-'.join(filter(None, [stem, settings.config, settings.split])))}-remedied{ending}"
    strategy, why = recommended(benchmark.test)
    return why, command_line("remedy", settings, *strategy.command, "--output", output, name=name)


def check_report_folder(
    folder: Path, kind: FolderKind, option: str, data: Iterable[str | Path], overwrite: bool = False
) -> None:
    """Raise InputError unless the folder is new, empty, or an unchanged output of this kind; names its option.

    No path of ``data``, the other inputs and outputs, may be inside the folder, nor the folder inside one of them.
    """
    target = Path(os.path.realpath(folder))
    check_outside(folder, option, data)
    if folder.parent.name in (AUDITS.name, REMEDIES.name) and not target.parent.exists():  # it is also created
        check_folder(target.parent, option)
    else:
        check_output(folder, kind, overwrite, option)


@contextmanager
def staged_report(
    folder: Path, kind: FolderKind, contents: Mapping[str, bytes], overwrite: bool = False
) -> Iterator[tuple[Staged, list[Path]]]:
    """Write the files of a report by name, for `publish_together`; the folder is created if missing."""
    folder.parent.mkdir(exist_ok=True)
    with new_folder(folder, kind, overwrite) as new:
        for name, content in contents.items():
            (new.tree / name).write_bytes(content)
        yield new, [folder / name for name in contents]


def write_audit(
    folder: Path,
    done: Audit,
    progress: Progress = silent,
    remedy: tuple[str, str] | None = None,
    overwrite: bool = False,
    changes: Sequence[str] = (),
) -> list[Path]:
    """Write an audit and publish it.

    Args:
        folder: created if missing.
        done: the audit.
        progress: called with (step, done, total).
        remedy: of `next_step`, for the report.
        overwrite: replace changed files of an earlier audit.
        changes: what changed since an earlier release.

    Returns:
        Its files: report.html, audit.json and rows.parquet.

    Raises:
        OSError: they cannot be written; an earlier audit is unchanged.
    """
    progress("writing the report", 0, 1)
    figures = done.as_json()
    page = report_html(figures, _examples(done, _shown_rows(done)), remedy, changes)
    contents = {REPORT: page.encode(), FIGURES: json_bytes(figures, indent=1), ROWS: _row_scores(done)}
    written = published(staged_report)(folder, AUDITED, contents, overwrite)
    progress("writing the report", 1, 1)
    return written


def _shown_rows(done: Audit) -> dict[int, str]:
    """Example rows with the reason: high bias, a possibly correct decoy, or a random sample."""
    hashes = text_hashes(done.benchmark.test.rows["question_id"].to_pylist())
    shuffled = np.argsort(order_keys(purpose_hash(0, "examples"), 0, hashes), kind="stable")
    notes = {AMBIGUOUS: shuffled[done.possibly_correct[shuffled].any(axis=1)], AT_RANDOM: shuffled}
    if done.bias is not None:
        notes = {BIASED: shuffled[np.argsort(-done.bias[shuffled], kind="stable")], **notes}
    found: dict[int, str] = {}
    for note, rows in notes.items():
        found |= dict.fromkeys([row for row in rows[: 2 * OF_EACH].tolist() if row not in found][:OF_EACH], note)
    return found


def _examples(done: Audit, notes: Mapping[int, str]) -> list[Example]:
    """Example rows with the picks of the probes that see no image."""
    split, rows = done.benchmark.test, list(notes)
    bias = {} if done.bias is None else {row: float(done.bias[row]) for row in rows}
    return examples_of(split, rows, picked=done.picked_blind(rows), bias=bias, notes=notes)


def _row_scores(done: Audit) -> bytes:
    """A Parquet file: id, bias, number of possibly correct decoys, and score of each shortcut, for each row."""
    columns: dict[str, pa.Array] = {"question_id": done.benchmark.test.rows["question_id"].combine_chunks()}
    if done.bias is not None:
        columns["bias"] = pa.array(done.bias, pa.float32(), from_pandas=True)
    columns["ambiguous_decoys"] = pa.array(done.possibly_correct.sum(axis=1), pa.int16())
    for gain in sorted(done.gains, key=lambda one: one.shortcut.name):
        columns[gain.shortcut.name] = pa.array(gain.shortcut.scores, pa.float32(), from_pandas=True)
    content = io.BytesIO()
    parquet.write_table(pa.table(columns), content)
    return content.getvalue()
