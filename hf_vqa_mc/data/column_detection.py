"""Find which columns of a benchmark hold questions, choices and labels."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data.cells import as_mask, as_text, is_cell, is_list, is_text
from hf_vqa_mc.data.choices import CHOICE_FORMS, UNKNOWN, ChoiceColumns, ChoiceForm, FixedChoices, TargetAndDecoys
from hf_vqa_mc.data.column_spec import ColumnSpec, RowCells
from hf_vqa_mc.data.files import file_form
from hf_vqa_mc.data.labels import (
    BY_LETTER,
    BY_TEXT,
    AmbiguousLabels,
    LabelForm,
    LabelInterpretation,
    Tables,
    check_agreement,
    decided,
    hidden,
    integers_only,
    interpret,
    label_texts,
)
from hf_vqa_mc.data.loading import NoChoices
from hf_vqa_mc.data.names import (
    ANSWERS,
    CAPTION,
    CHOICES,
    DECOYS,
    FOILS,
    LABEL,
    QUESTION,
    QUESTION_ID,
    ROW_NUMBER,
    choice_columns,
    columns_in_words,
    decoy_columns,
    named,
)
from hf_vqa_mc.data.options import OPTIONS, BenchmarkOptions
from hf_vqa_mc.data.text_choices import Lettered, Lines, OptionsInText
from hf_vqa_mc.errors import InputError, listed, shown

ANSWERED = frozenset(("question_id", "image_id", "question", "answer"))  # columns of open-ended questions


def find_spec(tables: Tables, split: str, options: BenchmarkOptions, location: str) -> ColumnSpec:
    """The columns of a split that leave the fewest rows unread, the most likely ones if equal.

    Raises InputError (HiddenLabels: no row has a label; NoChoices: the questions are open-ended) if no columns fit, or
    two interpretations disagree. The other splits help to interpret the labels.
    """
    table = tables[split]
    found, failures, of_answers = list[tuple[int, ColumnSpec]](), list[InputError](), list[InputError]()
    for form in _candidates(table, options):
        if isinstance(form, FixedChoices) and (found or (failures and "yes" not in map(str.lower, form.choices))):
            break  # of a column such as "correct", next to choices
        try:
            labels, unread = _with_label(tables, split, form, options, location)
            spec, within = ColumnSpec(None, form, labels), form.questions(table) is not None
            question = None if within else _question_column(table, spec.columns, options, location)
            found.append((unread, replace(spec, question=question)))
        except AmbiguousLabels:
            raise
        except InputError as error:
            human = not options.choices and named(form.columns, ANSWERS)
            (of_answers if human else failures).append(error)
            continue
        if not unread:
            break
    if found:
        unread, spec = min(found, key=lambda one: one[0])
        _check_one_question(spec, table, options, location)
        spec = _checked_one_column(spec, unread, tables, split, options, location)
        return _checked_one_list(spec, table, options, location)
    if failures:
        raise failures[0]
    if options.choices:
        raise InputError(
            f"{location}: --choices {', '.join(options.choices)}: expected a column of lists of choices, several "
            "columns with one choice each, or a column of decoys next to one with the correct answer (--label)"
        )
    is_open = ANSWERED.issubset(table.column_names)
    if of_answers and not is_open:
        raise of_answers[0]
    columns = listed([shown(name) for name in table.column_names if name != ROW_NUMBER], 30)
    raise (NoChoices if is_open else InputError)(
        f"{location}: no choices recognised among the columns {columns}; "
        "expected a list of choices, columns such as A, B, C, D, lettered options in the question, "
        f"or a correct answer and its distractors; {OPTIONS}, or --fixed-choices{_hint(table, options)}"
    )


def _hint(table: pa.Table, options: BenchmarkOptions) -> str:
    texts = [name for name in named(table.column_names, CHOICES) if is_text(table.schema.field(name).type)]
    if texts:
        value = shown(next(filter(None, as_text(table[texts[0]]).to_pylist()), None))
        return f"; {texts[0]} is {value}, expected a list such as ['red', 'blue'] or one choice per line"
    for name in _label_columns(table) if table.num_rows > 5 else ():
        found = sorted({*label_texts(table, name)[0].to_pylist()} - {None, ""}, key=str.lower)
        fixed = "no,yes" if found == ["0", "1"] else ",".join(found)
        if fixed == "no,yes" or (1 < len(found) < 6 and all(one[1:] and "," not in one for one in found)):
            return f" {fixed} if these are the choices of all rows ({name} is {' or '.join(found)})"
    lists = [field.name for field in table.schema if is_list(field.type) and pa.types.is_nested(field.type.value_type)]
    if lists:
        return f"; if a record has several questions ({', '.join(lists)}), write one record per question"
    is_file = isinstance(options.dataset, str | Path)
    has_header = is_file and file_form(Path(str(options.dataset))) in ("csv", "tsv", "xlsx")
    if not has_header or named(table.column_names, (*QUESTION, *LABEL, *QUESTION_ID)):
        return ""
    return "; if the first line of the file is a row, add a header such as question,A,B,C,D,answer"


def _in_given_columns(table: pa.Table, names: tuple[str, ...], options: BenchmarkOptions) -> Iterator[ChoiceForm]:
    if options.label in names:
        decoys_alone = ChoiceColumns(tuple(name for name in names if name != options.label))
        cells, column = decoys_alone.read(table), as_text(table[options.label])
        names_a_choice = (BY_LETTER.read(column, cells) != UNKNOWN).all()
        if names_a_choice or (integers_only(column) and not integers_only(cells.texts)):
            wrong = f"--label {options.label}: holds letters or indices of choices, which are no choice"
            raise InputError(f"{wrong}; leave it out of --choices")
        yield TargetAndDecoys((*decoys_alone.columns, str(options.label)), decoys_alone)
    elif len(names) > 1:
        yield Lettered.or_plain(ChoiceColumns(names), table)
    else:
        (name,) = names
        is_list_name = bool(named(names, CHOICES)) and not named(names, DECOYS)
        within = [one for one in table.column_names if one.startswith(f"{name}.")]
        forms = [*_forms(table, [name, *within]), *map(ChoiceColumns, map(tuple, choice_columns(within)))]
        is_question = _questions(table, options)[:1] == [name]  # its lines are no choices
        forms = [form for form in forms if not (is_question and isinstance(getattr(form, "form", form), Lines))]
        yield from forms
        one_decoy = is_cell(table.schema.field(name).type) and not (is_list_name or is_question)
        decoys = [*forms, *([ChoiceColumns(names)] if one_decoy else [])]
        yield from _with_targets(table, options, decoys)
        if not decoys:
            raise InputError(
                f"--choices {name}: holds {table.schema.field(name).type}, expected a list of texts, a text with "
                "such a list or with lettered options, or several columns"
            )


def _candidates(table: pa.Table, options: BenchmarkOptions) -> Iterator[ChoiceForm]:
    if options.fixed_choices:
        yield FixedChoices(choices=options.fixed_choices)
        return
    if options.choices:
        yield from _in_given_columns(table, options.choices, options)
        return
    cells = [field.name for field in table.schema if is_cell(field.type)]
    has_label = options.label or _label_columns(table)  # without, answers are those of annotators
    for form in _choices(table):
        if has_label or not named(form.columns, ANSWERS) or getattr(form, "marked", False):
            yield form
    yield from filter(None, (OptionsInText.of(table, name) for name in _questions(table, options)))
    known = named(table.column_names, DECOYS)
    lists = _forms(table, known)
    single = [name for name in known if name in cells and name not in {form.column for form in lists}]
    runs = [*decoy_columns(cells), *([name] for name in single)]
    yield from _with_targets(table, options, [*lists, *(ChoiceColumns(tuple(run)) for run in runs)])
    for label in [options.label] if options.label else named(cells, [one for one in LABEL if one != "correct"]):
        texts = {text.strip() for text in as_text(table[label]).unique().to_pylist() if text and text.strip()}
        answers = sorted({text.lower() for text in texts}, reverse=True)
        if answers in (["yes", "no"], ["true", "false"]):
            yield FixedChoices(choices=tuple(sorted(texts, reverse=True) if len(texts) == len(answers) else answers))


def _choices(table: pa.Table) -> Iterator[ChoiceForm]:
    """Columns of lists of choices, and columns with one choice each."""
    yield from _forms(table, named(table.column_names, CHOICES))
    for run in choice_columns([field.name for field in table.schema if is_cell(field.type)]):
        yield Lettered.or_plain(ChoiceColumns(tuple(run)), table)


def _forms(table: pa.Table, names: Sequence[str]) -> list[ChoiceForm]:
    found = (next((form for one in CHOICE_FORMS.values() if (form := one.of(table, name))), None) for name in names)
    return [Lettered.or_plain(form, table) for form in found if form is not None]


def _questions(table: pa.Table, options: BenchmarkOptions) -> list[str]:
    return [options.question] if options.question else named(table.column_names, QUESTION)


def _with_targets(table: pa.Table, options: BenchmarkOptions, decoys: Sequence[ChoiceForm]) -> Iterator[ChoiceForm]:
    """Forms of decoys with a column of texts that are not among them (in columns named for decoys: in few rows)."""
    targets = [options.label] if options.label else named(table.column_names, LABEL)
    for form in decoys:
        for target in targets:
            if target in form.columns or not is_text(table.schema.field(target).type):
                continue
            if named([target], CAPTION) and not named(form.columns, FOILS) and not options.label:
                continue  # the caption of an image
            cells, column = form.read(table), as_text(table[target])
            known = {*named(form.columns, DECOYS)} - {*named(form.columns, CHOICES)} or decoy_columns(form.columns)
            if integers_only(column) and not (known or integers_only(cells.texts)):
                continue  # indices out of range of textual choices
            among, letters = (read.read(column, cells) != UNKNOWN for read in (BY_TEXT, BY_LETTER))
            if among.sum() <= (len(among) / 10 if known else 0) and not letters.all() and not hidden(column).all():
                yield TargetAndDecoys((*form.columns, target), form)


def _with_label(
    tables: Tables, split: str, form: ChoiceForm, options: BenchmarkOptions, location: str
) -> tuple[tuple[tuple[str, LabelForm], ...], int]:
    """The label columns of a form of choices, and the number of rows that cannot be read."""
    table = tables[split]
    same = {name: one for name, one in tables.items() if set(form.columns) <= set(one.column_names)}
    cells = {name: form.read(one) for name, one in same.items()}
    choices = cells[split]
    if choices.targets is not None:
        if options.label_from is not None:
            raise _no_integers(options, location, form.columns[-1], "texts")
        unread = (choices.labels(choices.targets) == UNKNOWN)[choices.has_choices].sum()
        return (), len(choices.faults) + int(unread)
    names = [options.label] if options.label else _label_columns(table)
    names = [name for name in names if name.rpartition(".")[0] not in form.columns and name not in form.columns]
    if not names:
        others = listed([shown(name) for name in table.column_names if name != ROW_NUMBER], 30)
        where = f"choices are in {', '.join(form.columns)}, but no column of {others}"
        raise InputError(f"{location}: {where} is recognised as labels; give it with --label")
    fitting, failures = list[list[LabelInterpretation]](), list[InputError]()
    for name in names:
        try:
            fitting.append(interpret(tables, split, name, cells, options.label_from, location))
        except InputError as error:
            failures.append(error)
    if not fitting:
        raise failures[0]  # of the most likely column
    unknown = [int((one[0].labels[choices.counts > 0] == UNKNOWN).sum()) for one in fitting]
    least = min(unknown)
    fitting = [one for one, rows in zip(fitting, unknown, strict=True) if rows == least][: 1 if least else None]
    found = decided(fitting, tables, cells, location)
    if options.choices is None and named(form.columns, ANSWERS) and found[0].form is BY_TEXT:
        name = form.columns[0]
        given = f"--choices {name} --label {found[0].column}"
        raise InputError(f"{location}: {name} may hold human answers; if these are the choices, add {given}")
    check_agreement(found, f"{location}: {names}", "choose one with --label")
    if options.label_from is not None and all(one.form.first is None for one in found):
        raise _no_integers(options, location, found[0].column, found[0].form.name)
    return tuple((one.column, one.form) for one in found), len(choices.faults) + least


def _no_integers(options: BenchmarkOptions, location: str, name: str, found: str) -> InputError:
    given = f"--label-from {options.label_from}"
    return InputError(f"{given}: in {location}, {name} holds {found}, not integers; remove it")


def _label_columns(table: pa.Table) -> list[str]:
    kinds = {name: table.schema.field(name).type for name in named(table.column_names, LABEL)}
    return [name for name, kind in kinds.items() if is_cell(kind.value_type if is_list(kind) else kind)]


def _check_one_question(spec: ColumnSpec, table: pa.Table, options: BenchmarkOptions, location: str) -> None:
    """Raise InputError if a record holds several records with a question, unless the user named the choices."""
    parent, _, inner = (spec.question or spec.choices.column).rpartition(".")
    others = [name for name in table.column_names if name.endswith(f".{inner}") and parent and "." in name]
    same = [name.rpartition(".")[2] for name in spec.columns if name.startswith(f"{parent}.")]
    others = [name for name in others if {f"{name.rpartition('.')[0]}.{one}" for one in same} <= {*table.column_names}]
    if options.choices is None and same and len(others) > 1:
        raise InputError(
            f"{location}: several questions per record ({', '.join(map(shown, others[:3]))}); write one record per "
            f"question, or read one of them: --question {spec.question} --choices {','.join(spec.choices.columns)} "
            f"--label {spec.labels[0][0] if spec.labels else spec.columns[-1]}"
        )


def _checked_one_column(
    spec: ColumnSpec, unread: int, tables: Tables, split: str, options: BenchmarkOptions, location: str
) -> ColumnSpec:
    """Raise InputError if letters or indices fit other choices in other columns; note columns with the same ones."""
    if options.choices or not spec.labels or not spec.choices.columns or spec.labels[0][1] is BY_TEXT:
        return spec
    own = {name.partition(".")[0] for name in spec.columns}
    for form in _choices(tables[split]):
        if own & {name.partition(".")[0] for name in form.columns} or named(form.columns, ANSWERS):
            continue
        with contextlib.suppress(InputError):
            labels, more = _with_label(tables, split, form, options, location)
            found = [spec, replace(spec, choices=form, labels=labels)]
            if not labels or labels[0][1] is BY_TEXT or more > unread:
                continue
            targets = [_targets(one.read(tables[split], location)) for one in found]
            if targets[0] != targets[1]:
                break
            spec = replace(spec, repeated=columns_in_words(form.columns))
    else:
        return spec
    first, second = (f"--choices {','.join(one.choices.columns)}" for one in found)
    raise InputError(f"{location}: the labels fit the different choices of two columns; add {first}, or {second}")


def _targets(rows: RowCells) -> list[str]:
    found = zip(rows.cells.choices.to_pylist(), rows.labels.tolist(), strict=True)
    return [texts[label].strip().lower() if label >= 0 else "" for texts, label in found]


def _checked_one_list(spec: ColumnSpec, table: pa.Table, options: BenchmarkOptions, location: str) -> ColumnSpec:
    """Raise InputError if the question holds options too, unless the user named the choices; note other columns."""
    by_position = spec.ordered and spec.labels and spec.labels[0][1] is not BY_TEXT
    for other in [] if options.choices is not None else _questions(table, options):
        if other not in spec.choices.columns and OptionsInText.of(table, other):
            if other != spec.question:
                both = (one.read(table).choices.to_pylist() for one in (spec.choices, OptionsInText((other,))))
                if by_position and any(a != b and sorted(a) == sorted(b) for a, b in zip(*both, strict=True)):
                    add = f"add --choices {','.join(spec.choices.columns)}, or --choices {other}"
                    raise InputError(f"{location}: {other} has the choices in another order; {add}")
                return replace(spec, repeated=other)
            parents = {name.rpartition(".")[0] for name in spec.choices.columns}
            given = parents if len(parents) == 1 and "" not in parents else spec.choices.columns
            raise InputError(
                f"{location}: choices are in {columns_in_words(spec.columns)}, and options in {other}, too, which "
                f"would keep the old choices; choose one, such as --choices {','.join(given)}"
            )
    return spec


def _question_column(table: pa.Table, others: Sequence[str], options: BenchmarkOptions, location: str) -> str:
    """The column of questions; raises InputError if there is none, or it is not text or one of ``others``."""
    if options.question in others:
        raise InputError(f"{location}: --question {options.question}: holds choices or labels; name another column")
    names = [options.question] if options.question else named(table.column_names, QUESTION)
    within = {other.rpartition(".")[0] for other in table.column_names}  # texts with objects
    names = [name for name in names if options.question or name not in within]
    texts = [name for name in names if is_text(table.schema.field(name).type)]
    if texts:
        return min(texts, key=lambda name: _unlike_questions(table, name)) if texts[1:] else texts[0]
    found = f"--question {names[0]} holds {table.schema.field(names[0]).type}" if names else "no question column"
    raise InputError(
        f"{location}: {found}, expected text; columns: {', '.join(map(shown, table.column_names))}; {OPTIONS}; "
        "if all rows ask the same, add a column question"
    )


def _unlike_questions(table: pa.Table, name: str) -> tuple[bool, bool]:
    """Whether all texts are empty; whether most are one word, or all are the same instruction."""
    texts = as_text(table[name])
    words = as_mask(pc.match_substring_regex(texts, r"[^!-~]")).sum()  # blanks, or letters of other scripts
    constant = not named([name], QUESTION[:3]) and len(texts.unique()) == 1
    return not as_mask(pc.not_equal(texts, "")).any(), bool(2 * words < len(texts)) or constant
