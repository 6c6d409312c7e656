"""The declaration of a figure, the rows that it reads, what it finds in them, and the description of datasets."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.audits.rows import Column, Lists, no_lists, pairs
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.cells import as_array, as_lists, as_mask, as_text, is_list, is_text
from hf_vqa_mc.data.loading import NoChoices, open_tables
from hf_vqa_mc.data.names import ANSWERS, named
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.data.reading import human_answers, load
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.text.counted import percent
from hf_vqa_mc.training.questions import questions_of_pairs

TYPES = ("question type", "answer type")
COLUMNS = ("split", "question", "answer", "image_id", "question_type", "answer_type")
NESTED = {"structural type": ("types", "structural"), "semantic type": ("types", "semantic"),
          "group": ("groups", "global"), "origin": ("ans_source",)}  # fmt: skip
"""Name of other types to the columns and fields of ``gqa_balanced``, ``gqa_all`` and ``tdiuc``."""
PROGRAM = "semantic"  # GQA's column of the steps of reasoning
CONFIDENCE, CONFIDENCES = "answer_confidence", ("no", "maybe", "yes")
"""Field of VQA's records of answers, and its values, which count 0, 0.5 and 1 (Antol et al. 2015, Figure 6)."""

Columns = Mapping[str, pa.ChunkedArray]


@dataclass(frozen=True, eq=False, repr=False)
class Data:
    """The rows of all described splits."""

    name: str
    short_name: str  # config and split only, if there is a config
    splits: Column
    questions: Column
    targets: Column  # the correct choice, or the answer; missing where it is not published
    images: Column
    types: Column  # question types
    named_types: Mapping[str, Column]  # question type, answer type, and those of NESTED, if rows have several
    answers: Lists  # all human answers; without rows if no row has several
    confidences: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    """(rows,): mean confidence of the annotators in their answers, in [0, 1]; NaN without one; empty without any"""
    choices: Lists = field(default_factory=no_lists)  # without rows if questions have no choices
    labels: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))  # (rows,): index of the target
    ordered: bool = True  # whether the benchmark defines the order of choices
    choice_kinds: Lists = field(default_factory=no_lists)
    programs: Sequence[pa.ListArray] = ()  # the steps of reasoning of the questions of each split
    captions: tuple[Column, ...] = ()  # captions of the images, if a file is given
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.questions.codes)

    @cached_property
    def is_target(self) -> NDArray[np.bool_]:
        """(choices,): whether it is the target of its row."""
        found = np.zeros(len(self.choices.rows), bool)
        found[self.choices.starts + self.labels] = True
        return found

    @cached_property
    def all_answers(self) -> Column:
        """All human answers, else the targets."""
        return self.answers.flat if len(self.answers.lengths) else self.targets

    def lacks(self, what: str) -> str:
        """Why figures that need this, or types of this name, do not apply; "" if they do."""
        applies, why = {
            **{name: (name in self.named_types, f"there are no {name}s") for name in (*TYPES, *NESTED)},
            "questions": (self.questions.different, "all questions are empty"),
            "answers": (self.targets.different, "no row has an answer"),
            "annotators": (self.answers.flat.valid.any(), "questions do not have answers of several people"),
            "confidences": (len(self.confidences), "answers have no confidences"),
            "programs": (len(self.programs), "questions have no programs"),
            "choices": (len(self.labels), "questions have no choices"),
            "order": (self.ordered, "the benchmark defines no order of choices"),
            "kinds": (len(self.choice_kinds.lengths), "choices have no kinds"),
            "images": (self.images.different, "rows have no images"),
            "splits": (self.splits.different > 1, "there is one split"),
            "captions": (any(one.valid.any() for one in self.captions),
                         "the file of captions has none of the dataset's images" if self.captions
                         else "no captions are given (--captions FILE)"),
        }[what]  # fmt: skip
        return "" if applies else why

    @cached_property
    def row_keys(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """(rows,): a number for image and comparable question, and whether the row has both.

        If no row has an image, the choices in any order instead of the image.
        """
        images, questions = self.images, self.questions.comparable
        if images.valid.any() or not len(self.labels):
            return pairs(images.codes, questions.codes), images.valid & questions.valid
        draws = np.random.default_rng(0).integers(2**62, size=len(self.choices.flat.comparable.distinct) + 1)
        sets = np.add.reduceat(draws[self.choices.flat.comparable.codes], self.choices.starts)
        return pairs(np.unique(sets, return_inverse=True)[1], questions.codes), questions.valid


def read_data(options: BenchmarkOptions, progress: Progress) -> Data:
    """Read the rows of all splits, or of ``options.split``, of a benchmark or else of an open-ended dataset."""
    try:
        benchmark = load(options, progress)
    except NoChoices:
        return _open_ended(options)
    return of_benchmark(benchmark, options.split)


def of_benchmark(benchmark: Benchmark, only: str | None = None) -> Data:
    """The rows of a benchmark, of all splits or only of one."""
    splits = [split for name, split in benchmark.splits.items() if only in (None, name)]
    rows = pa.concat_tables(split.rows for split in splits)
    choices, labels, kinds = Lists(rows["choices"]), rows["label"].to_numpy(), rows["choice_kinds"]
    columns = {
        "split": pa.chunked_array(pa.repeat(split.name, split.rows.num_rows) for split in splits),
        "answer_type": pa.chunked_array(_texts(split.original, "answer_type") for split in splits),
        **{name: rows[name] for name in ("question", "image_id", "question_type")},
    }
    left_out = (f"{name} is left out: {why}" for name, why in benchmark.left_out.items())
    return replace(
        _data(benchmark.dataset, benchmark.config, only, columns, rows["answers"]),
        targets=Column.of(as_lists(rows["choices"])[0].take(pa.array(choices.starts + labels))),
        choices=choices,
        labels=labels,
        ordered=benchmark.test.ordered,
        choice_kinds=Lists(kinds) if pc.sum(pc.list_value_length(kinds)).as_py() else no_lists(),
        notes=(*benchmark.notes, *left_out),
    )


def _open_ended(options: BenchmarkOptions) -> Data:
    """The rows of a dataset with answers instead of choices."""
    opened = open_tables(options.dataset, options.config, open_ended=True)
    tables = opened.tables
    if options.split not in (None, *tables):
        raise unknown_name(f"split of {opened.name}", options.split or "", tables)
    tables = {name: table for name, table in tables.items() if options.split in (None, name)}
    parts = [(name, questions_of_pairs(table)) for name, table in tables.items() if table.num_rows]
    if not parts:
        raise InputError(f"{opened.name}: no rows")
    columns = {
        "split": pa.chunked_array(pa.repeat(split, part.num_rows) for split, part in parts),
        **{name: pa.chunked_array(_texts(part, name) for _, part in parts) for name in COLUMNS[1:]},
    }
    nested = {name: pa.chunked_array(_texts(part, *path) for _, part in parts) for name, path in NESTED.items()}
    confidences = np.concatenate([_confidences(part) for _, part in parts])
    programs = [part[PROGRAM].combine_chunks() for _, part in parts
                if PROGRAM in part.column_names and is_list(part[PROGRAM].type)]  # fmt: skip
    answers = pa.chunked_array(human_answers(part, ()) for _, part in parts)
    data = _data(opened.name, opened.config, options.split, columns, answers)
    other_types = {name: Column.of(texts) for name, texts in nested.items() if texts.null_count < len(texts)}
    return replace(
        data,
        named_types={**data.named_types, **other_types},
        confidences=confidences[: 0 if np.isnan(confidences).all() else None],
        programs=programs,
        notes=("open-ended questions: figures of choices do not apply",),
    )


def _data(dataset: str, config: str | None, only: str | None, columns: Columns, answers: pa.ChunkedArray) -> Data:
    """The data without choices; ``answers`` count if a row has more than one."""
    parts = [part for part in (public_name(dataset), config, only) if part]
    names = ", ".join(parts), ", ".join(parts[1:] if config else parts)
    missing = pa.chunked_array([pa.nulls(len(columns["question"]), pa.string())])
    split, question, answer, image, kind, answer_type = (Column.of(columns.get(each, missing)) for each in COLUMNS)
    types = {name: one for name, one in zip(TYPES, (kind, answer_type), strict=True) if one.different > 1}
    several = (pc.max(pc.list_value_length(answers)).as_py() or 0) > 1
    return Data(*names, split, question, answer, image, kind, types, Lists(answers) if several else no_lists())


def _texts(table: pa.Table, name: str, *fields: str) -> pa.Array:
    """A column of text or integers, or a field of it, as text; null if there is none."""
    if name in table.column_names and pa.types.is_struct(table.schema.field(name).type) == bool(fields):
        column = as_array(table[name])
        if not fields or fields[0] in {one.name for one in column.type}:
            found = pc.struct_field(column, fields) if fields else column
            if is_text(found.type) or pa.types.is_integer(found.type):
                return as_text(found)
    return pa.nulls(table.num_rows, pa.string())


def _confidences(part: pa.Table) -> NDArray[np.float64]:
    """The mean confidence of each row, from records of answers such as VQA's; NaN without such records."""
    means = np.full(part.num_rows, np.nan)
    for name in named(part.column_names, ANSWERS):
        kind = part.schema.field(name).type
        if is_list(kind) and pa.types.is_struct(kind.value_type) and CONFIDENCE in kind.value_type.names:
            records, lengths = as_lists(part[name])
            given = pc.index_in(pc.struct_field(records, CONFIDENCE), pa.array(CONFIDENCES))
            rows = np.repeat(np.arange(part.num_rows), lengths)[as_mask(given.is_valid())]
            counts = np.bincount(rows, minlength=part.num_rows)
            sums = np.bincount(rows, given.drop_null().to_numpy() / (len(CONFIDENCES) - 1), part.num_rows)
            np.divide(sums, counts, out=means, where=counts > 0)
    return means


class Share(float):
    """A fraction, printed in percent."""


Number: TypeAlias = int | float | Share | str
Table: TypeAlias = dict[str, list[Any]]


@dataclass(frozen=True)
class Found:
    """What a figure finds in a dataset."""

    numbers: Mapping[str, Number] = field(default_factory=dict)  # headline figures
    table: Table = field(default_factory=dict)  # columns of texts, integers, floats or `Share`; None: an empty cell
    why: str = ""  # why it does not apply to the dataset

    def rows(self, most: int) -> list[tuple[Any, ...]]:
        """The first rows of the table."""
        return list(zip(*(column[:most] for column in self.table.values()), strict=True))


Sides: TypeAlias = Sequence[tuple[str, Found]]  # name of each dataset and what was found


@dataclass(frozen=True)
class Figure:
    """A figure of a paper."""

    name: str
    title: str
    source: str  # paper and section, figure or table
    sentence: str  # what it shows, how it is computed
    compute: Callable[[Data], Found]
    chart: tuple[Any, ...] = ()
    """one of `report.charts.CHARTS`, and its arguments: ``("bars", "words", "share")``; () if the table says it"""
    needs: tuple[str, ...] = ()  # what a dataset must have, see `Data.lacks`


def figure(
    title: str, source: str, chart: tuple[Any, ...] = (), needs: tuple[str, ...] = ()
) -> Callable[[Callable[[Data], Found]], Figure]:
    """Declare a figure by its function, which has the figure's name; its docstring is the figure's sentence."""

    def declared(compute: Callable[[Data], Found]) -> Figure:
        return Figure(
            compute.__name__, title, source, " ".join((compute.__doc__ or "").split()), compute, chart, needs
        )

    return declared


def share(part: float, of: float) -> Share:
    """A fraction; 0 of nothing."""
    return Share(part / of if of else 0.0)


def table(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Table:
    """Columns from rows.

    >>> table(["word", "questions"], [("what", 2), ("is", 1)])
    {'word': ['what', 'is'], 'questions': [2, 1]}
    """
    listed = list(rows)
    return {name: [row[number] for row in listed] for number, name in enumerate(names)}


def distribution(name: str, values: Iterable[Any], counts: Iterable[float], of_what: str = "questions") -> Table:
    """A table of values with their counts and shares of the sum."""
    numbers = [int(count) for count in counts]
    return {name: list(values), of_what: numbers, "share": [share(count, sum(numbers)) for count in numbers]}


def value_counts(name: str, values: NDArray[np.int64], of_what: str = "questions") -> Table:
    """The distribution of integers."""
    distinct, counts = np.unique(values, return_counts=True)
    return distribution(name, distinct.tolist(), counts, of_what)


def number_text(value: Any) -> str:  # noqa: ANN401  a cell
    """A cell as text.

    >>> [number_text(value) for value in (Share(0.5883), 614163, 2.704, "what is", None)]
    ['58.83%', '614,163', '2.70', 'what is', '']
    """
    if isinstance(value, Share):
        return percent(value, 2)
    if isinstance(value, float):
        return f"{value:,.2f}" if value == 0 or abs(value) >= 0.01 else f"{value:.1g}"
    if isinstance(value, int):
        return f"{value:,}"
    return "" if value is None else str(value)


class Described(NamedTuple):
    """What a figure finds in the described datasets."""

    figure: Figure
    sides: Sides

    @property
    def numbers(self) -> dict[str, list[Number | None]]:
        """Each headline number, and its value in each dataset."""
        names = dict.fromkeys(name for _, found in self.sides for name in found.numbers)
        return {name: [found.numbers.get(name) for _, found in self.sides] for name in names}


@dataclass(frozen=True, eq=False)
class Description:
    """The figures of one dataset, or of two side by side."""

    names: list[str]
    notes: list[str]
    figures: list[Described]  # those that apply to a dataset
    left_out: dict[str, str]  # figure to the reason why it does not apply

    def as_json(self) -> dict[str, Any]:
        """All numbers and tables; fractions."""
        figures = {
            one.name: {
                "title": one.title,
                "source": one.source,
                "description": one.sentence,
                "found": [None if side.why else {"numbers": side.numbers, "table": side.table} for _, side in sides],
            }
            for one, sides in self.figures
        }
        return {"datasets": self.names, "notes": self.notes, "figures": figures, "left_out": self.left_out}


def describe_data(datasets: Sequence[Data], chosen: Sequence[Figure], progress: Progress) -> Description:
    """Compute figures of one dataset or two; raises InputError if none applies."""
    figures, left_out = list[Described](), dict[str, str]()
    short, long = [data.short_name for data in datasets], [data.name for data in datasets]
    numbered = [f"{name} ({n})" for n, name in enumerate(long, 1)]
    names = next(one for one in (short, long, numbered) if len(set(one)) == len(one))
    for done, one in enumerate(chosen):
        progress("figures", done, len(chosen))
        reasons = [next(filter(None, map(data.lacks, one.needs)), "") for data in datasets]
        found = [Found(why=why) if why else one.compute(data) for why, data in zip(reasons, datasets, strict=True)]
        if all(side.why for side in found):
            left_out[one.name] = "; ".join(dict.fromkeys(side.why for side in found))
        else:
            figures.append(Described(one, list(zip(names, found, strict=True))))
    progress("figures", len(chosen), len(chosen))
    if not figures:
        raise InputError(f"no figure applies: {'; '.join(f'{name}: {why}' for name, why in left_out.items())}")
    before = [f"{name}: " for name in names] if len(names) > 1 else [""]
    notes = [f"{name}{note}" for name, data in zip(before, datasets, strict=True) for note in data.notes]
    return Description(names, notes, figures, left_out)
