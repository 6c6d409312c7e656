"""The base of the ``evaluate`` metrics: everything comes from the scheme's declaration.

Rows stay in memory: in the Arrow files of ``evaluate``, 1.7 would become 1, and there are no optional columns.
"""

import inspect
import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar

import evaluate
from datasets import Features, Value

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.scoring import SCHEMES as SCHEMES
from hf_vqa_mc.scoring.metric_folders import metric_folder
from hf_vqa_mc.scoring.questions import as_list, check_lengths
from hf_vqa_mc.scoring.scheme import Scheme


class SchemeMetric(evaluate.Metric):  # type: ignore[misc]
    """A scheme as an ``evaluate`` metric; `add`, `add_batch` and `compute` take its optional columns."""

    scheme: ClassVar[Scheme]
    _rows: Mapping[str, list[Any]] = MappingProxyType({})  # the columns of the rows added so far

    def __len__(self) -> int:
        """Number of rows added so far."""
        return max(map(len, self._rows.values()), default=0)

    def _info(self) -> evaluate.MetricInfo:
        """Description, arguments and features of the metric."""
        description, _, sections = inspect.cleandoc(self.scheme.function.__doc__ or "").partition("\n\nArgs:\n")
        arguments = sections.partition("\n\nRaises:")[0]
        results = getattr(inspect.signature(self.scheme.function).return_annotation, "__annotations__", {})
        returns = f"\n\nReturns:\n    {', '.join(results)}" if results else ""
        card = (metric_folder(self.scheme.name) / "README.md").read_text("utf-8")
        cited = re.search(r"```bibtex\n(.*?)```", card, re.DOTALL)
        features = [
            Features({"predictions": _feature(prediction), "references": _feature(reference)})
            for prediction, reference in self.scheme.features
        ]
        return evaluate.MetricInfo(
            description=description,
            citation=cited[1] if cited else "",
            inputs_description=f"Args:\n{arguments}{returns}",
            features=features if len(features) > 1 else features[0],
        )

    def add(self, *, prediction: Any = None, reference: Any = None, **columns: Any) -> None:  # noqa: ANN401
        """Add one question: its prediction, its reference and any optional columns, each under the column's name."""
        row = {"predictions": prediction, "references": reference, **columns}  # evaluate.combine uses predictions
        self.add_batch(**{name: [value] for name, value in row.items() if value is not None})

    def add_batch(self, *, predictions: Any = None, references: Any = None, **columns: Any) -> None:  # noqa: ANN401
        """Add questions: predictions, references and any optional columns; they are not copied."""
        for name in columns.keys() - set(self.scheme.columns):
            known = ", ".join(self.scheme.columns) or "none"
            raise InputError(f"{self.name} takes no column {name}; it takes {known}")
        if self.scheme.joined_by_id:
            predictions, references = ([] if rows is None else rows for rows in (predictions, references))
        given = {name: column for name, column in columns.items() if column is not None}
        given = {"predictions": predictions, "references": references, **given}
        batch = {name: as_list(name, column) for name, column in given.items()}
        if not self.scheme.joined_by_id:
            check_lengths(batch)
        if not any(batch.values()):
            return
        for name in sorted(batch.keys() ^ self._rows.keys()) if self._rows else ():
            row = len(self) if name in self._rows else 0
            raise InputError(f"row {row + 1}: {name} is missing; expected it in all rows or in none")
        self._rows = self._rows or {name: [] for name in batch}
        for name, column in batch.items():
            self._rows[name] += column

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any]:  # noqa: ANN401
        """Score all rows added so far and these, then discard them.

        Invalid rows leave the rows added so far unchanged. Optional columns belong to the rows given with
        them or, without predictions and references, to all rows.
        """
        if self.num_process > 1:
            raise InputError(f"{self.name} is computed in one process: gather the rows of all processes before")
        parameters = inspect.signature(self.scheme.function).parameters
        for name in options.keys() - parameters.keys():
            combined = "evaluate.combine passes its arguments to all metrics"
            why = f"({combined}: compute metrics with other arguments separately)"
            raise InputError(f"{self.name} takes no {name}; it takes {', '.join([*parameters][2:])} {why}")
        if predictions is not None or references is not None:
            columns = {name: options.pop(name) for name in self.scheme.columns if name in options}
            self.add_batch(predictions=predictions, references=references, **columns)
        if not self._rows:
            raise InputError("no questions to score: give predictions and references here or to add_batch")
        rows, self._rows = self._rows, MappingProxyType({})
        for name in rows.keys() & options.keys():
            raise InputError(f"{name} was given with the rows and again to compute(); expected one of the two")
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in {**rows, **options}:
                raise InputError(f"{self.name} needs {name}")
        return dict(self.scheme.function(**rows, **options))


def metric(name: str) -> type[SchemeMetric]:
    """The class of a scheme's metric, named as `evaluate` names it."""
    return type(name.title().replace("_", ""), (SchemeMetric,), {"scheme": SCHEMES[name]})


def _feature(kind: Any) -> Any:  # noqa: ANN401  nested lists and dicts of type names
    if isinstance(kind, dict):
        return {name: _feature(one) for name, one in kind.items()}
    return [_feature(one) for one in kind] if isinstance(kind, list) else Value(kind)
