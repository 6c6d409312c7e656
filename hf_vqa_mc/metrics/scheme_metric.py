"""What makes an ``evaluate`` metric of a scoring function.

``evaluate`` keeps the rows of all processes in Arrow files and has no optional columns: it would cast 1.7 to 1, lose
the difference between records, and take question types only on one process. So every row is kept as JSON text, its
optional columns beside it, and comes out of the files as it went in.
"""

import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import evaluate
from datasets import Features, Value

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring.questions import as_list

_STORED = Features({"predictions": Value("string"), "references": Value("string")})

_FILLED = ""
"""stands where the other column has more rows; no JSON text is empty"""

Columns = dict[str, list[Any]]


class SchemeMetric(evaluate.Metric, ABC):  # type: ignore[misc]
    """A scoring function as an ``evaluate`` metric; `add`, `add_batch` and `compute` take its optional columns."""

    scheme: ClassVar[Callable[..., Mapping[str, Any]]]
    """the scoring function"""
    columns: ClassVar[tuple[str, ...]] = ()
    """those of its arguments that hold one value a question; the others are options of `compute`"""
    ragged: ClassVar[bool] = False
    """whether predictions and references may be of different length, as where they are joined by question id"""
    writer: Any
    filelock: Any
    filelocks: list[Any] | None
    file_paths: list[str] | None
    cache_file_name: str | None

    @abstractmethod
    def _info(self) -> evaluate.MetricInfo:
        """What the metric is and takes; the rows themselves are kept as text."""

    def add(self, *, prediction: Any = None, reference: Any = None, **columns: Any) -> None:  # noqa: ANN401
        """Adds one question: its prediction, its reference and any optional columns, each under the column's name."""
        row = {"predictions": prediction, "references": reference, **columns}  # evaluate.combine says predictions
        self.add_batch(**{name: [value] for name, value in row.items() if value is not None})

    def add_batch(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> None:  # noqa: ANN401
        """Adds questions: predictions, references and any optional columns."""
        for name in columns:
            if name not in self.columns:
                raise InputError(f"{self.name} takes no column {name}; it takes {', '.join(self.columns) or 'none'}")
        if self.ragged:
            predictions, references = ([] if rows is None else rows for rows in (predictions, references))
        answered, asked = as_list("predictions", predictions), as_list("references", references)
        beside = {name: as_list(name, column) for name, column in columns.items() if column is not None}
        lengths = {name: len(column) for name, column in {"references": asked, **beside}.items()}
        if not self.ragged:
            lengths["predictions"] = len(answered)
        if len(set(lengths.values())) > 1:
            told = ", ".join(f"{length:,} {name}" for name, length in lengths.items())
            raise InputError(f"{told}: expected one of each a question")
        super().add_batch(**_stored(answered, asked, beside))

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:  # noqa: ANN401
        """Scores all rows added so far and these, and forgets them; None on processes other than the first.

        What cannot be added leaves the rows added so far as they are.

        The optional columns belong to the rows given with them; without predictions and references, to all rows.
        """
        self._check_names(options)
        if predictions is not None or references is not None:
            columns = {name: options.pop(name) for name in self.columns if name in options}
            self.add_batch(predictions=predictions, references=references, **columns)
        elif self.writer is None and self.num_process == 1:
            raise InputError("no questions at all: give predictions and references, here or to add_batch before")
        try:
            found: dict[str, Any] | None = super().compute(**options)
        except Exception:
            self._forget()
            raise
        return found

    def _compute(self, *, predictions: Sequence[str], references: Sequence[str], **options: Any) -> dict[str, Any]:  # noqa: ANN401
        columns = _unstored(predictions, references)
        for name in columns.keys() & options.keys():
            raise InputError(f"{name} was given with the rows and again to compute(); expected one of the two")
        for name, parameter in self._parameters().items():
            if parameter.default is parameter.empty and name not in {**columns, **options}:
                raise InputError(f"no {name}, which {self.name} needs")
        return dict(self.scheme(**columns, **options))

    def _check_names(self, options: Iterable[str]) -> None:
        known = [name for name in self._parameters() if name not in ("predictions", "references")]
        for name in options:
            if name not in known:
                raise InputError(
                    f"{self.name} takes no {name}; it takes {', '.join(known)} (evaluate.combine hands what it is "
                    "given to all its metrics: compute those that take more by themselves)"
                )

    def _parameters(self) -> Mapping[str, inspect.Parameter]:
        return inspect.signature(self.scheme).parameters

    def _infer_feature_from_batch(self, batch: object) -> Features:
        return _STORED

    def _infer_feature_from_example(self, example: object) -> Features:
        return _STORED

    def _feature_names(self) -> list[str]:
        return list(_STORED)

    def _forget(self) -> None:
        """Lets go of the rows that could not be scored and of their files, so that the metric can be used again."""
        if self.writer is not None:
            self.writer.close()
        self.data = self.writer = self.buf_writer = self.selected_feature_format = None
        held = dict(zip(self.file_paths or [], self.filelocks or [], strict=False))
        if self.cache_file_name is not None:
            held[self.cache_file_name] = self.filelock
        for path, lock in held.items():
            Path(path).unlink(missing_ok=True)
            lock.release()
        self.filelocks = self.file_paths = self.filelock = self.cache_file_name = None


def _stored(predictions: list[Any], references: list[Any], beside: Columns) -> dict[str, list[str]]:
    """The rows as text, the optional columns with the references; the shorter of ragged columns filled up."""
    answered = [_text({"predictions": value}, row) for row, value in enumerate(predictions)]
    asked = [
        _text({"references": value, **{name: column[row] for name, column in beside.items()}}, row)
        for row, value in enumerate(references)
    ]
    rows = max(len(answered), len(asked))
    return {
        "predictions": [*answered, *[_FILLED] * (rows - len(answered))],
        "references": [*asked, *[_FILLED] * (rows - len(asked))],
    }


def _unstored(predictions: Sequence[str], references: Sequence[str]) -> Columns:
    """The columns that `_stored` was given, of all batches."""
    asked = [json.loads(text) for text in references if text != _FILLED]
    names = {"references", *(name for row in asked for name in row)}
    for row, columns in enumerate(asked):
        if missing := sorted(names - columns.keys()):
            raise InputError(f"row {row}: no {missing[0]}, which other rows have; expected it with all or none")
    answered = [json.loads(text)["predictions"] for text in predictions if text != _FILLED]
    return {"predictions": answered, **{name: [columns[name] for columns in asked] for name in sorted(names)}}


def _text(columns: dict[str, Any], row: int) -> str:
    """A row's columns as text."""
    try:
        return json.dumps(columns, allow_nan=False, default=_plain)
    except (ValueError, RecursionError, TypeError):
        for field, value in columns.items():
            _check_plain(value, f"row {row} of this batch: {field}")
        raise


def _check_plain(value: object, where: str) -> None:
    try:
        json.dumps(value, allow_nan=False, default=_plain)
    except (ValueError, RecursionError):
        raise InputError(f"{where} holds NaN or infinity, or itself") from None
    except TypeError as error:
        raise InputError(f"{where}: {error}") from None


def _plain(value: object) -> object:
    """What Python would call the numbers and arrays of numpy and torch."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is neither text, number, list nor record")
