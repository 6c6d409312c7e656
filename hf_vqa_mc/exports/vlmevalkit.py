"""Datasets of VLMEvalKit: TSV files for the folder that ``LMUData`` names.

Its conventions, from its source code: columns index, question, A, B, .., answer (a letter), category and image
(base64, or the index of a row that has the same image); circular evaluation (Liu et al. 2024, MMBench, section 4.1)
is done where the dataset's name has "circular" in it, on rows whose index is k * 10^6 + the index of the first: the
same question with its choices rotated by k, correct only if all rotations are answered correctly. Rows with several
images have lists of images, and of file names in image_path. Questions of a file without images are text only. Its
prompts have the column hint before the question, which holds the benchmark's context (see `benchmarks.questions`);
l2-category is kept. Images are unpacked to ``LMUData/images/NAME`` once, by index.

It reads its files with ``pandas.read_csv``, which parses a choice "None" or "NA" as missing, and a column of "1", "2"
and gaps as 1.0 and 2.0. A no-break space at the end of such cells prevents that and is invisible.
"""

import csv
import io
import json
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from hf_vqa_mc.data.questions import GROUP, LETTERS, Questions, check_lettered
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports.harness import EXPORTED, Exported, Harness, made_folder, record
from hf_vqa_mc.exports.images import Base64Images, base64_images
from hf_vqa_mc.io.atomic import Staged, new_file, publish_together
from hf_vqa_mc.io.outputs import changed_files, entry_of, manifest_text, read_manifest
from hf_vqa_mc.io.progress import Progress

HARNESS = "vlmevalkit"
TURN = 1_000_000  # difference between the index of a question and that of its copy with choices rotated by one
KINDS = PLAIN, CIRCULAR, TEXT = "", "_CIRCULAR", "_TEXT"  # suffixes of the file names
TAKEN = re.compile("MMMU|MMT|OCRVQA|LEGO|(?i:openended)")
"""Parts of names that VLMEvalKit reads, prompts or scores differently."""
UNNAMED = "unnamed"  # category of rows without a question type, if others have one
LINES = 1000  # lines per write

Line = tuple[int, int]  # a row of the questions, and by how much its choices are rotated
GUARD = "\N{NO-BREAK SPACE}"
Cells = Sequence[str | None]


def write_vlmevalkit(questions: Questions, output: Path, progress: Progress, overwrite: bool = False) -> Exported:
    """Write ``NAME.tsv``, ``NAME_CIRCULAR.tsv`` and ``NAME_TEXT.tsv`` (without images); without images only the last.

    If only some questions have an image, the others are left out of all files. The output is the folder that
    ``LMUData`` names.
    """
    check_lettered(questions, HARNESS)
    if taken := TAKEN.search(questions.name):
        raise InputError(
            f"--name {questions.name}: VLMEvalKit treats names with {taken[0]!r} specially; choose another name"
        )
    output = made_folder(output)
    log = output / f"{questions.name}.export.json"
    _check_earlier_files(output, questions.name, log, overwrite)
    guards = 0
    with base64_images(questions, output, progress) as images, ExitStack() as stack:
        rows = [row for row in range(len(questions)) if questions.images[row] in images]
        kinds, notes = _kinds(questions, len(rows))
        rows = rows or list(range(len(questions)))
        names = [f"{questions.name}{kind}" for kind in kinds]
        written: dict[str, Staged] = {}
        earlier = [output / f"{questions.name}{kind}.tsv" for kind in KINDS]
        for kind, name in zip(kinds, names, strict=True):
            most = max(len(questions.choices[row]) for row in rows) if kind == CIRCULAR else 1
            lines = [(row, turn) for turn in range(most) for row in rows if turn < len(questions.choices[row])]
            shown = None if kind == TEXT else images
            written[f"{name}.tsv"] = new = stack.enter_context(new_file(output / f"{name}.tsv"))
            guards = _write(questions, lines, shown, new, progress)
        about = record(HARNESS, len(rows), questions.labels is None)
        listed = {name: entry_of(new.new) for name, new in written.items()}
        text = manifest_text(EXPORTED.command, listed, about).encode()
        publish_together(stack.enter_context(new_file(log, text)), *written.values(), outdated=earlier)
    files = list(listed)
    if guards:
        notes.append(
            f"{guards:,} cells such as None or 1.0 end in a no-break space, so that pandas does not change them"
        )
    notes += questions.others.notes(as_hint=True)
    kept = [output / "images" / name for name in names] + [output / f"{name}_local.tsv" for name in names]
    if cached := ", ".join(str(path) for path in kept if path.exists()):
        notes.append(f"VLMEvalKit cached an earlier export and would reuse it; remove {cached}")
    how = f"LMUData={shlex.quote(str(output))} python run.py --model MODEL --data {' '.join(names)}"
    if questions.labels is None:
        how += " --mode infer"
    return Exported(questions.name, [output / file for file in files], len(rows), [how], notes, [log])


def _kinds(questions: Questions, with_image: int) -> tuple[list[str], list[str]]:
    """The files to write, and notes on those left out."""
    if not with_image:
        return [TEXT], ["there are no images to export: only the file without images is written"]
    kinds, notes = [PLAIN, CIRCULAR, TEXT], []
    if left := len(questions) - with_image:
        notes.append(f"{left:,} of {len(questions):,} questions have no image and are left out of all files")
    if len(questions) > TURN:
        kinds.remove(CIRCULAR)
        notes.append(f"circular evaluation allows at most {TURN:,} questions: its file is left out")
    return kinds, notes


def _check_earlier_files(output: Path, name: str, log: Path, overwrite: bool) -> None:
    """Raise InputError unless an export wrote all existing files, and with ``overwrite`` unless it wrote any."""
    earlier, remedy = read_manifest(log), "choose another --name or --output"
    ours = earlier["files"] if earlier else {}
    names = [file for file in (f"{name}{kind}.tsv" for kind in KINDS) if os.path.lexists(output / file)]
    if foreign := [file for file in names if file not in ours] or [log.name] * (log.exists() and earlier is None):
        raise InputError(f"{output / foreign[0]} exists and was not written by vqa-mc export; {remedy}")
    if not overwrite and (changed := changed_files(output, names, ours)):
        raise InputError(
            f"{output / changed[0]} was changed after vqa-mc export wrote it; replace it with --overwrite, or {remedy}"
        )


def _write(
    questions: Questions, lines: list[Line], images: Base64Images | None, new: Staged, progress: Progress
) -> int:
    """Write one file; return the number of its cells guarded against pandas."""
    columns, guards = guarded(_texts(questions, lines))
    columns = {"index": [str(row + turn * TURN) for row, turn in lines], **columns}
    columns["question_id"] = [questions.question_ids[row] for row, _ in lines]
    if questions.labels is not None:
        columns["answer"] = [
            LETTERS[(questions.labels[row] + turn) % len(questions.choices[row])] for row, turn in lines
        ]
    if images and any(len(spans) > 1 for spans in images.spans.values()):
        files = {  # the names under which VLMEvalKit unpacks the files of an image, as a list in Python's syntax
            image: str([f"{image}_{number}.{suffix}" for number, suffix in enumerate(suffixes, 1)])
            for image, suffixes in images.suffixes.items()
        }
        columns["image_path"] = [files[int(questions.images[row])] for row, _ in lines]
    cells = _image_cells(questions, lines, images) if images else None
    with new.new.open("wb") as file:
        file.write(tsv_header([*columns, "image"] if cells else [*columns]).encode())
        for start in range(0, len(lines), LINES):
            rows = range(start, min(start + LINES, len(lines)))
            if cells is None:
                file.write(tsv_lines(columns, rows).encode())
            else:
                for row in rows:
                    file.write(f"{tsv_lines(columns, [row])[:-1]}\t{next(cells)}\n".encode())
            progress(f"writing {new.path.name}", rows.stop, len(lines))
    return guards


def _image_cells(questions: Questions, lines: list[Line], images: Base64Images) -> Iterator[str]:
    """The image of each line, or the index of the line with the same image."""
    first: dict[int, str] = {}
    for row, turn in lines:
        image = int(questions.images[row])
        if image in first:
            yield first[image]
        else:
            first[image] = str(row + turn * TURN)
            found = images[image]
            yield found[0] if len(found) == 1 else json.dumps(found).replace('"', "'")


def _texts(questions: Questions, lines: list[Line]) -> dict[str, list[str | None]]:
    """The columns of the prompt, and the category."""
    columns: dict[str, list[str | None]] = {}
    others = questions.others
    if others.context_column:
        columns["hint"] = [others.contexts[row] or None for row, _ in lines]
    columns["question"] = [questions.questions[row] for row, _ in lines]
    for index in range(max(len(questions.choices[row]) for row, _ in lines)):
        texts = ((questions.choices[row], turn) for row, turn in lines)
        columns[LETTERS[index]] = [
            choices[(index - turn) % len(choices)] if index < len(choices) else None for choices, turn in texts
        ]
    if any(questions.types):
        columns["category"] = [questions.types[row] or UNNAMED for row, _ in lines]
    if others.groups:
        columns[GROUP] = [others.groups[row] or UNNAMED for row, _ in lines]
    return columns


def guarded(columns: Mapping[str, Cells]) -> tuple[dict[str, list[str | None]], int]:
    """Columns that pandas reads unchanged, and how many cells needed a no-break space.

    Args:
        columns: name to cells, None for a missing cell; all of the same length.
    """
    kept = {name: [cell or None for cell in cells] for name, cells in columns.items()}
    guards = 0
    for _ in range(2):  # two rounds: numbers are read as text only once the other cells are
        wrong = _misread(kept)
        if not any(wrong.values()):
            return kept, guards
        for name, rows in wrong.items():
            for row in rows:
                kept[name][row] = f"{kept[name][row]}{GUARD}"
            guards += len(rows)
    return kept, guards


def tsv_lines(columns: Mapping[str, Cells], rows: Sequence[int]) -> str:
    """Rows of a TSV file, every cell in quotes, without a header."""
    text = io.StringIO()
    writer = csv.writer(text, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerows([columns[name][row] or "" for name in columns] for row in rows)
    return text.getvalue()


def tsv_header(names: Sequence[str]) -> str:
    """The first line of a TSV file."""
    return "\t".join(names) + "\n"


def _misread(columns: Mapping[str, list[str | None]]) -> dict[str, list[int]]:
    import pandas

    size = len(next(iter(columns.values())))
    cells_read: dict[str, Cells] = {**columns, "image": ["x"] * size}  # the column count changes pandas' chunks
    text = tsv_header(list(cells_read)) + tsv_lines(cells_read, range(size))
    read = pandas.read_csv(io.StringIO(text), sep="\t")
    wrong = {}
    for name, cells in columns.items():
        missing, texts = read[name].isna().tolist(), read[name].astype(str).tolist()
        pairs = enumerate(zip(cells, missing, texts, strict=True))
        wrong[name] = [row for row, (cell, gone, text) in pairs if cell is not None and (gone or text != cell)]
        gaps = (gone for cell, gone in zip(cells, missing, strict=True) if cell is None)
        if not wrong[name] and not all(gaps):  # next to integers beyond 64 bits, gaps are read as empty text
            wrong[name] = [row for row, cell in enumerate(cells) if cell and cell.strip("+-").isdecimal()]
    return wrong


VLMEVALKIT = Harness(HARNESS, write_vlmevalkit)
