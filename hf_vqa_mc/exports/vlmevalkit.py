"""Datasets of VLMEvalKit: TSV files for the folder that ``LMUData`` names.

Its conventions, from its source code: columns index, question, A, B, .., answer (a letter), category and image
(base64, or the index of a row that has the same image); circular evaluation (Liu et al. 2024, MMBench, section 4.1)
is done where the dataset's name has "circular" in it, on rows whose index is k * 10^6 + the index of the first: the
same question with its choices rotated by k, correct only if all rotations are answered correctly. Rows with several
images have lists of images, and of file names in image_path. Questions of a file without images are text only. Its
prompts have the column hint before the question, which holds the benchmark's context (see `data.questions`);
l2-category is kept. Images are unpacked to ``LMUData/images/NAME`` once, by index.

It reads its files with ``pandas.read_csv``, which parses a choice "None" or "NA" as missing, and a column of "1", "2"
and gaps as 1.0 and 2.0. A no-break space at the end of such cells prevents that and is invisible.
"""

import csv
import io
import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from hf_vqa_mc.data.questions import GROUP, LETTERS, Questions, check_lettered
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.exports.harness import RECORD, Base64Images, Exported, Harness, base64_images, record, replaced_folder
from hf_vqa_mc.io.atomic import write_json
from hf_vqa_mc.io.progress import Progress

HARNESS = "vlmevalkit"
TURN = 1_000_000  # difference between the index of a question and that of its copy with choices rotated by one
PLAIN, CIRCULAR, TEXT = "", "_CIRCULAR", "_TEXT"  # suffixes of the file names
TAKEN = re.compile("MMMU|MMT|OCRVQA|LEGO|(?i:openended)")
"""Parts of names that VLMEvalKit reads, prompts or scores differently."""
UNNAMED = "unnamed"  # category of rows without a question type, if others have one
LINES = 1000  # lines between reports of progress
GUARD = "\N{NO-BREAK SPACE}"
Line = tuple[int, int]  # a row of the questions, and by how much its choices are rotated


def write_vlmevalkit(questions: Questions, output: Path, progress: Progress, overwrite: bool = False) -> Exported:
    """Write ``NAME.tsv``, ``NAME_CIRCULAR.tsv`` and ``NAME_TEXT.tsv`` (without images); without images only the last.

    If only some questions have an image, the others are left out of all files. ``output/<name>`` is the folder that
    ``LMUData`` names.
    """
    check_lettered(questions, HARNESS)
    name, hidden, counts = questions.name, questions.labels is None, [*map(len, questions.choices)]
    if taken := TAKEN.search(name):
        raise InputError(f"--name {name}: VLMEvalKit treats names with {taken[0]!r} specially; choose another name")
    guards = 0
    with (
        replaced_folder(output, name, overwrite) as (tree, folder),
        base64_images(questions, tree, progress) as images,
    ):
        rows = [row for row in range(len(questions)) if questions.images[row] in images.spans]
        kinds, notes = _kinds(questions, len(rows))
        rows = rows or list(range(len(questions)))
        for kind in kinds:
            most = max(counts[row] for row in rows) if kind == CIRCULAR else 1
            lines = [(row, turn) for turn in range(most) for row in rows if turn < counts[row]]
            guards = _write(questions, lines, None if kind == TEXT else images, tree / f"{name}{kind}.tsv", progress)
        write_json(tree / RECORD, record(HARNESS, len(rows), hidden), indent=1)
    if guards:
        notes.append(
            f"{guards:,} cells such as None or 1.0 end in a no-break space, so that pandas does not change them"
        )
    notes += questions.others.notes(as_hint=True)
    names = [f"{name}{kind}" for kind in kinds]
    kept = [folder / "images" / one for one in names] + [folder / f"{one}_local.tsv" for one in names]
    if cached := ", ".join(str(path) for path in kept if path.exists()):
        notes.append(f"VLMEvalKit cached an earlier export and would reuse it; remove {cached}")
    how = f"LMUData={shlex.quote(str(folder))} python run.py --model MODEL --data {' '.join(names)}"
    how += " --mode infer" if hidden else ""
    files = [folder / f"{one}.tsv" for one in names]
    return Exported(name, files, len(rows), [how], notes, [folder / RECORD])


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


def _write(
    questions: Questions, lines: list[Line], images: Base64Images | None, path: Path, progress: Progress
) -> int:
    """Write one file; return the number of its cells guarded against pandas."""
    columns, guards = guarded(_texts(questions, lines))
    columns = {"index": [str(row + turn * TURN) for row, turn in lines], **columns}
    columns["question_id"] = [questions.question_ids[row] for row, _ in lines]
    if (labels := questions.labels) is not None:
        columns["answer"] = [LETTERS[(labels[row] + turn) % len(questions.choices[row])] for row, turn in lines]
    if images and any(len(suffixes) > 1 for suffixes in images.suffixes.values()):
        files = {  # the names under which VLMEvalKit unpacks the files of an image, as a list in Python's syntax
            image: str([f"{image}_{number}.{suffix}" for number, suffix in enumerate(suffixes, 1)])
            for image, suffixes in images.suffixes.items()
        }
        columns["image_path"] = [files[int(questions.images[row])] for row, _ in lines]
    cells = _image_cells(questions, lines, images) if images else None
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("\t".join([*columns, "image"] if cells else columns) + "\n")
        end = "\t" if cells else "\n"  # the image follows, the only cell without quotes
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator=end)
        for number, line in enumerate(zip(*columns.values(), strict=True), start=1):
            writer.writerow(line)
            if cells:
                file.write(f"{next(cells)}\n")
            if number % LINES == 0 or number == len(lines):
                progress(f"writing {path.name}", number, len(lines))
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


def guarded(columns: dict[str, list[str | None]]) -> tuple[dict[str, list[str | None]], int]:
    """Columns that pandas reads unchanged, None for a missing cell, and how many cells needed a no-break space."""
    import pandas as pd

    table, guards = pd.DataFrame(columns, dtype=object).replace({"": None}), 0
    for _ in range(2):  # numbers are read as text only once the other cells are; as many columns as written
        text = table.assign(image="x").to_csv(sep="\t", index=False, quoting=csv.QUOTE_ALL)
        read = pd.read_csv(io.StringIO(text), sep="\t").iloc[:, :-1]
        wrong = table.notna() & (read.isna() | (read.astype(str) != table))
        table, guards = table.mask(wrong, table + GUARD), guards + int(wrong.to_numpy().sum())
    return {name: table[name].tolist() for name in table}, guards


VLMEVALKIT = Harness(HARNESS, write_vlmevalkit)
