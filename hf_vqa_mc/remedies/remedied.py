"""A remedied benchmark: its rows in the published layout, what was changed in sentences, and what verdicts reject."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data import Benchmark, Split
from hf_vqa_mc.data.cells import text_lists
from hf_vqa_mc.data.choices import KINDS, class_names
from hf_vqa_mc.data.verdicts import Rejected
from hf_vqa_mc.dataset.card_text import sets_in_words
from hf_vqa_mc.dataset.writing import staged_benchmark
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET, VARIANTS, methods
from hf_vqa_mc.decoys.candidates import starts
from hf_vqa_mc.decoys.rows import SET_COLUMNS
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.atomic import Staged
from hf_vqa_mc.text.counted import counted, percent, points
from hf_vqa_mc.text.many_texts import comparable_texts

MOSTLY = 0.5  # A larger fraction of fallbacks is reported in a sentence


class Remedied(NamedTuple):
    """A benchmark with new decoys, or with fewer rows."""

    benchmark: Benchmark
    statistics: dict[str, Any]  # JSON values

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Split to table in the benchmark's layout, with kinds, fallbacks and origins of new choices."""
        return {name: split.original for name, split in self.benchmark.splits.items()}

    def staged(
        self, published: Benchmark, path: Path, overwrite: bool = False, measured: str = ""
    ) -> AbstractContextManager[tuple[Staged, list[Path]]]:
        """Write it in the format of the published benchmark, for `publish_together`; see `write_benchmark`."""
        note = " ".join([*in_words(self.statistics), *(f"{one.rstrip('.')}." for one in published.notes)])
        changed = "rows" if "rounds" in self.statistics else "choices"
        splits = self.benchmark.splits
        hashes = {name: split.hashes for name, split in splits.items()}
        remaining, config = replace(published, splits=splits), self.benchmark.config
        return staged_benchmark(remaining, self.tables, path, note, config, overwrite, changed, hashes, measured)


def check_own_columns(benchmark: Benchmark, *, sets: bool) -> None:
    """Raise InputError if a column has the name, but not the content, of one that a remedy writes."""
    for split in benchmark.splits.values():
        names, own = split.original.column_names, list[str]()
        for name in {KINDS, "choice_origins"} & {*names}:
            lists = text_lists(split.original[name])
            has_kinds = (pc.list_value_length(split.rows[KINDS]).to_numpy() > 0).any()
            is_ours = lists is not None and (has_kinds if name == KINDS else TARGET.name in lists[0].to_pylist())
            own += [] if is_ours or (lists is not None and not len(lists[0])) else [name]
        own += ["set_id"] if sets and "set_id" in names and not {*SET_COLUMNS} <= {*names} else []
        if own:
            raise InputError(f"{split.location}: a remedy would replace the column {own[0]}; rename it")


def with_new_columns(benchmark: Benchmark, split: Split, columns: Mapping[str, pa.Array], most: int) -> Split:
    """A split with new ``choices``, ``label`` and further columns about the choices, (rows,) each.

    Its ``original`` has the benchmark's own columns and the new ones; ``most`` is the maximum number of choices.
    """
    table = split.rows
    for name in {"choices", "label", KINDS} & set(columns):
        table = table.set_column(table.schema.get_field_index(name), name, columns[name])
    written = benchmark.with_choices(split, columns["choices"], columns["label"].to_pylist())
    # Whether choice_kinds are integers, as in datasets built by this package.
    kind = written.schema.field(KINDS).type if KINDS in written.schema.names else pa.null()
    is_number = pa.types.is_list(kind) and pa.types.is_integer(kind.value_type)
    numbered = bool(is_number) and class_names(written.schema, KINDS) in (None, list(CHOICE_KINDS))
    written = _without_narrow_classes(written, benchmark.spec.columns, most)
    for name, column in columns.items():
        if name in ("choices", "label"):
            continue
        if name == KINDS and numbered:
            numbers = pc.index_in(column.flatten(), pa.array(list(CHOICE_KINDS))).cast(pa.int64())
            column = pa.ListArray.from_arrays(column.offsets, numbers)
        index = written.schema.get_field_index(name)
        if index < 0:
            written = written.append_column(name, column)
        else:
            written = written.set_column(index, written.schema.field(index).with_type(column.type), column)
    if not {*SET_COLUMNS} & {*columns} and {*SET_COLUMNS} <= {*written.column_names}:
        written = _without_broken_sets(written, split.rows["choices"].to_pylist(), columns["choices"].to_pylist())
    return replace(split, rows=table, original=written)


def _without_broken_sets(table: pa.Table, before: Sequence[list[str]], after: Sequence[list[str]]) -> pa.Table:
    """The table without the closed answer sets of which some row has other choices than before."""
    sets = table[SET_COLUMNS[0]].to_pylist()
    broken = {one for one, old, new in zip(sets, before, after, strict=True) if one and old != new}
    mask = pa.array([one in broken for one in sets])
    for name in SET_COLUMNS:
        column = table[name].combine_chunks()
        empty = pa.scalar("" if pa.types.is_string(column.type) else None, column.type)
        index = table.schema.get_field_index(name)
        table = table.set_column(index, table.schema.field(index), pc.if_else(mask, empty, column))
    return table


def _without_narrow_classes(table: pa.Table, columns: Iterable[str], most: int) -> pa.Table:
    """Replace ClassLabel by int64 if it has fewer than ``most`` classes, and foreign choice_kinds by strings."""
    from datasets import Features, List, Value

    schema = table.schema
    narrow: dict[str, Any] = {
        name: Value("int64")
        for name in columns
        if name in schema.names
        and pa.types.is_integer(schema.field(name).type)
        and len(class_names(schema, name) or [""] * most) < most
    }
    if class_names(schema, KINDS) not in (None, list(CHOICE_KINDS)):
        narrow["choice_kinds"] = List(Value("string"))
    if not narrow:
        return table
    features = Features({**Features.from_arrow_schema(schema), **narrow})
    return table.replace_schema_metadata({**(schema.metadata or {}), **features.arrow_schema.metadata})


def in_words(statistics: dict[str, Any]) -> list[str]:
    """The changes in sentences, for the terminal and the card."""
    if "best" in statistics:
        distances = ", ".join(f"{name} {points(one).lstrip('+')}" for name, one in statistics["selection"].items())
        left_out = [f"{name} cannot be applied: {why}." for name, why in statistics["not_applied"].items()]
        chosen = {name: value for name, value in statistics.items() if name != "best"}
        first = (
            f"Strategy {statistics['best']}: nearest to chance by the selection probes (mean distance: {distances})."
        )
        return [first, *left_out, *in_words(chosen)]
    if statistics.get("strategy") == "repair":
        return _repaired(statistics)
    if "rounds" not in statistics:
        return _replaced(statistics)
    last, wanted = statistics["rounds"][-1], f"{100 * statistics['to_gain']:g}"
    reached = "" if statistics["reached"] else f" More than {wanted} remain; at most half of the rows are removed."
    return [
        f"{statistics['rows']:,} of {statistics['published']:,} rows are kept; the most biased ones were removed. On "
        f"the kept rows, the strongest probe without the image gains {points(last['gain'])} points.{reached}"
    ]


def _repaired(statistics: dict[str, Any]) -> list[str]:
    share = percent(statistics["changed"] / max(statistics["decoys"], 1))
    found = (
        f"{statistics['changed']:,} of {statistics['decoys']:,} decoys ({share}) were changed and no row is left out"
    )
    origins = "; the column choice_origins names the question that each new decoy is from"
    lines = [f"{found}{origins if statistics['changed'] else ''}."]
    for name, one in statistics["splits"].items():
        why = f"unchanged: {one['unchanged']}" if "unchanged" in one else f"the repair stopped since {one['stopped']}"
        lines.append(f"{name}: {why}.")
        if one.get("rows_without_candidate"):
            lines.append(
                f"{name}: in {counted(one['rows_without_candidate'], 'row')} no text passed the filters; give more "
                "texts with --pool, --captions, --scene-graphs, --candidates or --candidates-from."
            )
    if "candidates" in statistics:
        given = statistics["candidates"]
        images = given["images_in_common"]
        about = "" if images is None else f" about {images:,} of the benchmark's images, which are matched by id"
        used = f"{counted(given['used'], 'new decoy')} from them"
        lines.append(f"Candidates from elsewhere: {counted(given['given'], 'text')}{about}; {used}.")
    if "rejected" in statistics:
        lines.append(_rejected_in_words(statistics["rejected"]))
    return lines


def _replaced(statistics: dict[str, Any]) -> list[str]:
    sizes, before = (
        " or ".join(filter(None, [", ".join(others), last]))
        for *others, last in (statistics["choices"], statistics["choices_before"])
    )
    kinds = VARIANTS[statistics["variant"]].description
    lines = [f"Choices are the target and {kinds}: {sizes} per row (before: {before})."]
    if "rejected" in statistics:
        lines.append(_rejected_in_words(statistics["rejected"]))
    if "closed_sets" in statistics:
        return [*lines, *sets_in_words(statistics["closed_sets"])]
    for name, found in statistics["decoys"].items():
        kind, _ = methods()[name]
        rest = f"; {found['missing']:,} are missing" if found["missing"] else ""
        lines.append(
            f"{kind.label}: {found['found']:,} of {found['wanted']:,} decoys are of this kind, {found['fallbacks']:,} "
            f"are fallbacks{rest}."
        )
        if found["fallbacks"] > MOSTLY * found["wanted"]:
            lines.append(f"Most {kind.legend} are fallbacks: {kind.shortage}")
    donors = statistics["donors"]
    if donors["given"]:
        lines.append(
            f"Donors: {donors['given']:,} answers about {donors['images_in_common']:,} of the benchmark's images; "
            f"{donors['decoys_from_them']:,} of them are used."
        )
        if not donors["images_in_common"]:
            lines.append("Images are matched by id or file name; embedded images are matched by content.")
    if statistics["rows_left_as_published"]:
        kept = counted(statistics["rows_left_as_published"], "row")
        lines.append(f"Published choices are kept in {kept}, since no decoy was found.")
    return lines


def _rejected_in_words(found: Mapping[str, int]) -> str:
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


def rejected_texts(verdicts: Rejected | None, rows: pa.Table) -> list[list[str]]:
    """(rows,): the texts rejected for each row's question."""
    choices = verdicts.choices if verdicts else {}
    return [sorted(choices.get(one, ())) for one in rows["question_id"].to_pylist()]


def without_bad_questions(benchmark: Benchmark, found: Rejected | None) -> tuple[Benchmark, dict[str, int]]:
    """The benchmark without rows whose question is bad (an id counts in each split), and counts for statistics.

    Raises:
        InputError: no id of the verdicts is in the benchmark, or all evaluated rows are left out.
    """
    if found is None:
        return benchmark, {}
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


def without_rejected_decoys(benchmark: Benchmark, found: Rejected | None) -> tuple[Benchmark, int]:
    """The benchmark without rejected decoys, and the number of these.

    A row may keep its target alone. Texts are compared as by `comparable`. ``choice_kinds`` are unchanged.
    """
    splits, dropped = {}, 0
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
        left = pa.ListArray.from_arrays(pa.array(before[first], pa.int32()), choices.flatten().filter(pa.array(kept)))
        label = pa.array(before[first[:-1] + labels] - before[first[:-1]], pa.int64())
        rows, names = split.rows, split.rows.schema.names
        for column, values in (("choices", left), ("label", label)):
            rows = rows.set_column(names.index(column), column, values)
        splits[name] = replace(split, rows=rows)
    return replace(benchmark, splits=splits), dropped
