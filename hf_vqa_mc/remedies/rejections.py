"""What verdicts reject, taken out of a benchmark before it gets new decoys."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.data.verdicts import Rejected, read_verdicts, rejected
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.many_texts import comparable_texts


def rejected_texts(verdicts: Rejected, rows: pa.Table) -> list[list[str]]:
    """(rows,): the texts rejected for each row's question."""
    return [sorted(verdicts.choices.get(one, ())) for one in rows["question_id"].to_pylist()]


def in_words(found: Mapping[str, int]) -> str:
    """The counts of `without_bad_questions` in sentences."""
    unknown = f" ({found['unknown_questions']:,} are not in the benchmark)" if found["unknown_questions"] else ""
    reasons = {"rows_left_out_bad_question": "their question is bad", "rows_left_out_no_decoy": "no decoy is left"}
    left_out = [f"{counted(found[name], 'row')} since {why}" for name, why in reasons.items() if found[name]]
    lines = [
        f"Verdicts about {counted(found['questions'], 'question')}{unknown} reject "
        f"{counted(found['published_decoys'], 'published decoy')}."
    ]
    if found["candidates"]:
        lines.append(f"Tested candidates that they reject: {found['candidates']:,}.")
    if left_out:
        lines.append(f"Left out: {', '.join(left_out)}.")
    return " ".join(lines)


def read_rejections(path: Path) -> Rejected:
    """What a table of verdicts rejects.

    Raises:
        InputError: the table cannot be read, or rejects nothing.
    """
    verdicts = read_verdicts(path)
    found = rejected(verdicts)
    if not found.choices and not found.questions:
        raise InputError(
            f"--reject {path}: none of its {counted(len(verdicts), 'verdict')} rejects a choice or a question; remove "
            "the option"
        )
    return found


def without_bad_questions(benchmark: Benchmark, found: Rejected) -> tuple[Benchmark, dict[str, int]]:
    """The benchmark without rows whose question is bad (an id counts in each split), and counts for statistics.

    Raises:
        InputError: no id of the verdicts is in the benchmark, or all evaluated rows are left out.
    """
    named = found.questions | found.choices.keys()
    ids = {name: split.rows["question_id"].to_pylist() for name, split in benchmark.splits.items()}
    known = {one for of_split in ids.values() for one in of_split}
    if not named & known:
        raise InputError(
            f"--reject: none of its {counted(len(named), 'question id')}, such as {shown(min(named))}, is in "
            f"{benchmark.dataset}, which has ids such as {shown(min(known, default=''))}; use verdicts about its rows"
        )
    kept = {name: np.flatnonzero([one not in found.questions for one in of_split]) for name, of_split in ids.items()}
    if not len(kept[benchmark.evaluated]):
        raise InputError(f"{benchmark.test.location}: --reject rejects the questions of all rows; use other verdicts")
    splits = {name: split.take(kept[name]) for name, split in benchmark.splits.items() if len(kept[name])}
    bad_rows = sum(map(len, ids.values())) - sum(map(len, kept.values()))
    counts = {
        "questions": len(named),  # rejected, or with rejected choices
        "unknown_questions": len(named - known),
        "rows_left_out_bad_question": bad_rows,
        "rows_left_out_no_decoy": 0,
        "published_decoys": 0,  # that are rejected
        "candidates": 0,  # times that a rejected text was tested as a decoy
    }
    return replace(benchmark, splits=splits), counts


def without_rejected_decoys(benchmark: Benchmark, found: Rejected) -> tuple[dict[str, pa.Table], int]:
    """The rows of each split without rejected decoys, and the number of these.

    A row may keep its target alone. Texts are compared as by `comparable`. ``choice_kinds`` are unchanged.
    """
    tables, dropped = {}, 0
    for name, split in benchmark.splits.items():
        choices, labels = split.rows["choices"].combine_chunks(), split.rows["label"].to_numpy()
        first = starts(choices.value_lengths().to_numpy())
        kept = np.ones(first[-1], np.bool_)
        for row, others in enumerate(rejected_texts(found, split.rows)):
            if others:
                texts = choices[row].as_py()
                keys = comparable_texts([*texts, *others])[0].to_pylist()
                kept[first[row] : first[row + 1]] = [key not in keys[len(texts) :] for key in keys[: len(texts)]]
        kept[first[:-1] + labels] = True
        dropped += int((~kept).sum())
        before = starts(kept)  # number of kept choices before each choice
        left = choices.flatten().filter(pa.array(kept))
        columns = {
            "choices": pa.ListArray.from_arrays(pa.array(before[first], pa.int32()), left),
            "label": pa.array(before[first[:-1] + labels] - before[first[:-1]], pa.int64()),
        }
        tables[name] = split.rows
        for column, values in columns.items():
            tables[name] = tables[name].set_column(tables[name].schema.get_field_index(column), column, values)
    return tables, dropped
