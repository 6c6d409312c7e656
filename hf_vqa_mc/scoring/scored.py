"""The scores of a model's predictions, as tables, JSON, numbers and official files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.result import Frame, frame_of
from hf_vqa_mc.scoring import SCHEMES
from hf_vqa_mc.scoring.scheme import Annotations, Matched
from hf_vqa_mc.scoring.table import Table
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from hf_vqa_mc.scoring.predictions import Predictions


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Scored:
    """The scores of a model's predictions."""

    predictions: "Predictions"
    matched: Matched
    results: dict[str, dict[str, Any]]
    """result by scheme"""
    left_out: int | None = None
    """number of questions without a prediction, with ``partial``"""
    unparsed: int | None = None
    """number of texts that name no choice, with ``free_text``"""

    @property
    def annotations(self) -> Annotations:
        """The questions."""
        return self.matched.annotations

    @property
    def per_question(self) -> Frame:
        """One row per question: its id and its score by each metric that has one."""
        columns: dict[str, Any] = {}
        for name in self.results:
            for measure, scores in (self._by_question(name) or {}).items():
                if isinstance(scores, Mapping):
                    columns[f"{name} {measure}"] = scores
                else:
                    columns.setdefault(name, {})[measure] = scores
        ids = self.annotations.scored
        table = {"question_id": ids, **{name: [of.get(one) for one in ids] for name, of in columns.items()}}
        return frame_of(table)

    def _by_question(self, name: str) -> dict[str, Any] | None:
        """A scheme's scores by question id, of several measures by measure; None if it has none."""
        scores, ids = self.results[name].get("per_question"), self.annotations.scored
        if isinstance(scores, list):
            return dict(zip(ids, scores, strict=True))
        if scores is not None and any(isinstance(column, list) for column in scores.values()):
            return {measure: dict(zip(ids, column, strict=True)) for measure, column in scores.items()}
        return scores

    def tables(self) -> list[Table]:
        """The tables, one per scheme."""
        return [SCHEMES[name].table(result, self.matched) for name, result in self.results.items()]

    def counts(self) -> Iterator[str]:
        """The predictions, and how many questions or texts do not count."""
        yield f"{self.predictions.location} on {self.annotations.location}"
        if self.left_out:
            yield f"left out, since they have no prediction: {self.left_out:,} questions"
        if self.unparsed:
            yield f"texts that name no choice, or several, and count as wrong: {self.unparsed:,}"

    def as_json(self, per_question: bool) -> dict[str, Any]:
        """All scores, unrounded; optionally with those of each question, its image and type."""
        annotations, about, results = self.annotations, self.annotations.about, {}
        columns = {name: annotations.column(name) for name in ("image_ids", "question_types") if per_question}
        for name, result in self.results.items():
            results[name] = {key: value for key, value in result.items() if key != "per_question"}
            if per_question and (scores := self._by_question(name)) is not None:
                results[name]["per_question"] = scores
        counts = {"left_out": self.left_out, "unparsed": self.unparsed}
        return {
            "version": __version__,
            "predictions": public_name(self.predictions.location),
            "dataset": public_name(about.get("dataset", annotations.location)),
            "config": about.get("config"),
            "split": about.get("split"),
            "kind": annotations.kind.name,
            "questions": len(annotations.scored),
            **{name: count for name, count in counts.items() if count is not None},
            "protocol": self.matched.protocol if any(SCHEMES[name].has_protocols for name in results) else None,
            "results": results,
            **{
                name: dict(zip(annotations.scored, column, strict=True))
                for name, column in columns.items()
                if column is not None
            },
        }

    def numbers(self) -> Iterator[tuple[Any, ...]]:
        """Metric, measure, group, value, standard error, and bounds of the interval of every number."""
        for name, result in self.results.items():
            yield from ((name, *row) for row in _numbers(result))

    def official_files(self) -> dict[str, Any]:
        """File name to content as the dataset's own program reads and writes it.

        Raises:
            InputError: the dataset has no such files.
        """
        from hf_vqa_mc.scoring.matching import official_scheme

        scheme = official_scheme(self.annotations)
        return scheme.official(self.matched, self.results.get(scheme.name)) if scheme.official else {}


def _numbers(result: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    about = {name: result.get(name) for name in ("stderr", "interval")}
    for measure, value in result.items():
        if measure in (*about, "per_question"):
            continue
        for group, score in value.items() if isinstance(value, Mapping) else [("", value)]:
            if isinstance(score, Mapping):
                for inner, part, *numbers in _numbers(score):
                    yield inner, f"{group} {part}".strip(), *numbers
            if isinstance(score, int | float):
                is_main = group == "" and measure == next(iter(result))
                error, interval = (
                    one.get(measure) if isinstance(one, Mapping) and group == "" else one if is_main else None
                    for one in about.values()
                )
                yield measure, str(group), score, error, *(interval or (None, None))
