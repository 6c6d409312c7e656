"""The files of an audit: a report for people, all figures for programs, and scores of every row."""

import io
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from hf_vqa_mc.audits.auditing import Audit
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash, text_hashes
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.extraction.backbones import file_name
from hf_vqa_mc.io.atomic_file import check_folder, write_bytes, write_json
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.report.examples import Example, examples_of
from hf_vqa_mc.report.report import report_html

MOST_LETTERS = 255
"""Bytes of a file's name."""
AUDITS = Path("vqa_mc_audit")
REPORT, FIGURES, ROWS = "report.html", "audit.json", "rows.parquet"
OF_EACH = 20
"""Example rows that are shown for one reason."""
GIVEN_AWAY = "biased: question and choices give the target away"
AMBIGUOUS = "a decoy is possibly correct"
AT_RANDOM = "drawn at random"


def folder_name(dataset: str, config: str | None, split: str | None) -> str:
    """The name of an audit's folder.

    >>> folder_name("vqa_mc", "cocoqa_iou", None), folder_name("data/mine.tsv", None, "dev")
    ('vqa_mc-cocoqa_iou', 'mine-dev')
    """
    path = Path(dataset)
    is_local = path.exists() or path.suffix  # others are names on the Hub
    local = path.resolve().name.split(".")[0] if is_local else dataset
    return file_name("-".join(part for part in (local or dataset, config, split) if part))


def check_audit_folder(folder: Path, option: str, data: Iterable[str | Path]) -> None:
    """Raise InputError unless an audit can be written to a folder: it is new, empty, or an earlier audit's.

    Args:
        folder: to write.
        option: that names it, for the message.
        data: files and folders that are read or written otherwise; none may lie in it, nor it in them.
    """
    place = Path(os.path.realpath(folder))
    if place.is_symlink() or len(os.fsencode(place.name)) > MOST_LETTERS:
        raise InputError(f"{option} {folder} leads nowhere; name a folder")
    check_folder(place.parent if folder.parent.name == AUDITS.name else place, option)  # that one is made, too
    for one in (Path(os.path.realpath(path)) for path in data if Path(path).exists()):
        inside = one.is_dir() and place.is_relative_to(one)
        if inside or one.is_relative_to(place):
            raise InputError(f"{option} {folder} would change {one}; name another folder")
    if place.is_dir() and any(place.iterdir()) and not _is_audit(place):
        raise InputError(f"{option} {folder} holds other files than an audit's; name a folder of its own")


def _is_audit(folder: Path) -> bool:
    """Whether `write_audit` wrote all of it."""
    paths = [path for path in folder.iterdir() if not path.name.startswith(".")]
    names = (REPORT, FIGURES, ROWS)
    if any(path.name not in names or not path.is_file() or path.is_symlink() for path in paths):
        return False
    try:
        figures = json.loads((folder / FIGURES).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    two = {"before", "after"}
    return isinstance(figures, dict) and (figures.keys() >= {"shortcuts", "verdict"} or figures.keys() == two)


def write_audit(folder: Path, done: Audit, after: Audit | None = None, progress: Progress = silent) -> list[Path]:
    """Write an audit, or the audits of a benchmark before and after its remedy.

    Args:
        folder: created if missing.
        done: the audit; of the published benchmark, where there is another.
        after: of the remedied benchmark.
        progress: called with (step, done, total).

    Returns:
        The files: report.html, audit.json, rows.parquet (of the later audit).

    Raises:
        OSError: they cannot be written.
    """
    folder.parent.mkdir(exist_ok=True)
    progress("writing the report", 0, 1)
    notes, before = _shown_rows(done), done.as_json()
    figures, later, later_examples = before, None, []
    if after is not None:
        later = after.as_json()
        figures = {"before": before, "after": later}
        ids, later_ids = (one.benchmark.test.rows["question_id"].to_pylist() for one in (done, after))
        same = {name: row for row, name in enumerate(later_ids)}
        notes_after = {same[ids[row]]: note for row, note in notes.items() if ids[row] in same}
        later_examples = _examples(after, notes_after)
    page = report_html(before, _examples(done, notes), later, later_examples)
    write_json(folder / FIGURES, figures, indent=1)
    write_bytes(folder / ROWS, _row_scores(after or done))
    write_bytes(folder / REPORT, page.encode())
    progress("writing the report", 1, 1)
    return [folder / name for name in (REPORT, FIGURES, ROWS)]


def _shown_rows(done: Audit) -> dict[int, str]:
    """Rows worth a look, and why: they are biased, have possibly correct decoys, or were drawn at random."""
    hashes = text_hashes(done.benchmark.test.rows["question_id"].to_pylist())
    by_chance = np.argsort(order_keys(purpose_hash(0, "examples"), 0, hashes), kind="stable")
    notes = {
        AMBIGUOUS: by_chance[np.isin(by_chance, np.flatnonzero(done.possibly_correct.any(axis=1)))],
        AT_RANDOM: by_chance,
    }
    if done.bias is not None:
        notes = {GIVEN_AWAY: by_chance[np.argsort(-done.bias[by_chance], kind="stable")], **notes}
    found: dict[int, str] = {}
    for note, rows in notes.items():
        found |= dict.fromkeys([row for row in rows[: 2 * OF_EACH].tolist() if row not in found][:OF_EACH], note)
    return found


def _examples(done: Audit, notes: Mapping[int, str]) -> list[Example]:
    """Rows with the picks of the blind probes."""
    split, rows = done.benchmark.test, list(notes)
    bias = {} if done.bias is None else {row: float(done.bias[row]) for row in rows}
    return examples_of(split, rows, picked=done.picked_blind(rows), bias=bias, notes=notes)


def _row_scores(done: Audit) -> bytes:
    """A parquet file: each row's id, bias, number of possibly correct decoys, and the score of each shortcut."""
    columns: dict[str, pa.Array] = {"question_id": done.benchmark.test.rows["question_id"].combine_chunks()}
    if done.bias is not None:
        columns["bias"] = pa.array(done.bias, pa.float32())
    columns["decoys_maybe_right"] = pa.array(done.possibly_correct.sum(axis=1), pa.int16())
    for gain in sorted(done.gains, key=lambda one: one.shortcut.name):
        columns[gain.shortcut.name] = pa.array(gain.shortcut.scores, pa.float32())
    content = io.BytesIO()
    parquet.write_table(pa.table(columns), content)
    return content.getvalue()
