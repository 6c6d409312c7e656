"""Predictions in the files that evaluation harnesses write, as rows of ``question_id`` and ``prediction``.

Samples of lm-eval (``--log_samples``): ``doc``, and in ``filtered_resps`` a log-likelihood per choice, or a text.
Samples of lmms-eval: the same without ``doc``, so that only tasks of ``vqa-mc export``, whose figures hold it, have
the question's id; others have the number of the row, ``doc_id``. Tables of VLMEvalKit: the dataset's columns (index,
question, A, B, ..., answer) and ``prediction``.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from string import ascii_uppercase as LETTERS
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.records import Records
from hf_vqa_mc.scoring.written_answers import written_choice

ID_COLUMNS = ("question_id", "questionId", "qa_id")
OTHER_ID_COLUMNS = ("index", "id")
"""Read where there is none of `ID_COLUMNS`."""
GUARD = "\N{NO-BREAK SPACE}"
"""End of cells in files of ``vqa-mc export vlmevalkit`` that pandas would change otherwise."""
RESPONSES, FILTER, ROW_NUMBER = "filtered_resps", "filter", "doc_id"

Reader = Callable[[Records, str | None], Records]


def harness_reader(first: Any) -> Reader | None:  # noqa: ANN401  any record
    """How to read a file whose first record is this one; None if no harness wrote it."""
    if not isinstance(first, dict):
        return None
    if first.keys() >= {ROW_NUMBER, RESPONSES}:
        return _samples
    return _table if first.keys() >= {"index", "prediction"} else None


def _samples(records: Records, id_column: str | None) -> Records:
    """The predictions in samples of lm-eval and lmms-eval; raises InputError if they have several filters."""
    names = {str(record.get(FILTER)) for record in records.rows if isinstance(record, dict)}
    if len(names) > 1:
        raise InputError(
            f"{records.location(0)}: the samples have the filters {', '.join(sorted(names))}; keep the lines of one"
        )
    records.column(RESPONSES)
    return _made(records, [_sample(records, row, id_column) for row in range(len(records))])


def _sample(records: Records, row: int, id_column: str | None) -> tuple[Any, str | int]:
    record = records.rows[row]
    doc = record["doc"] if isinstance(record.get("doc"), dict) else {}
    figures = (value for name, value in record.items() if name != "doc" and isinstance(value, dict))
    ours: Mapping[str, Any] = next((one for one in figures if "question_id" in one), {})
    names = (id_column,) if id_column else (*ID_COLUMNS, ROW_NUMBER)
    found = [of[name] for name in names for of in (doc, ours, record) if name in of]
    if not found:
        raise InputError(f"{records.location(row)}: no field {id_column!r} (--id-column) in the sample or its doc")
    if isinstance(ours.get("answer"), str):
        return found[0], ours["answer"]
    responses = record[RESPONSES]
    if isinstance(responses, str):
        return found[0], responses
    if isinstance(responses, list) and len(responses) == 1 and isinstance(responses[0], str):
        return found[0], responses[0]
    likelihoods = _likelihoods(responses)
    if likelihoods is None:
        expected = "one text, or the log-likelihood of each choice"
        raise records.unexpected(row, RESPONSES, expected, responses)
    likeliest = likelihoods.index(max(likelihoods))
    choices = doc.get("choices")
    choices = choices.get("text") if isinstance(choices, dict) else choices
    if isinstance(choices, list) and len(choices) == len(likelihoods) and all(isinstance(one, str) for one in choices):
        return found[0], choices[likeliest]
    return found[0], likeliest


def _likelihoods(responses: Any) -> list[float] | None:  # noqa: ANN401  any JSON value
    """The log-likelihood of each choice, from pairs with whether it is the greedy answer; None if it is not that."""
    try:
        found = [float(one[0]) for one in responses if isinstance(one, list) and len(one) == 2]
    except (TypeError, ValueError):
        return None
    is_valid = len(found) == len(responses) > 1 and not any(map(math.isnan, found))
    return found if is_valid else None


def _table(records: Records, id_column: str | None) -> Records:
    """The choices named in a table of VLMEvalKit, "" for none; the texts if it has no columns of choices."""
    first = records.rows[0]
    name = id_column or next((one for one in (*ID_COLUMNS, "index") if one in first), "index")
    ids = records.column(name)
    return _made(records, [(one, _named(record)) for one, record in zip(ids, records.rows, strict=True)])


def _named(record: Mapping[str, Any]) -> str:
    if not {"A", "B"} <= record.keys():
        return _text(record["prediction"])
    cells = [_text(record.get(letter)) for letter in LETTERS]
    choices = cells[: max((at + 1 for at, cell in enumerate(cells) if cell), default=0)]
    index = written_choice(_text(record["prediction"]), choices)
    return "" if index is None else choices[index]


def _text(cell: Any) -> str:  # noqa: ANN401  a cell of a table
    """A cell as text, "" where it is empty."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return ""
    return str(cell).removesuffix(GUARD)


def _made(records: Records, pairs: Sequence[tuple[Any, str | int]]) -> Records:
    rows = [{"question_id": name, "prediction": answer} for name, answer in pairs]
    return Records(rows, records.location)
