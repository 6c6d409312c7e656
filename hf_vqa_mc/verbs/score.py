"""``hf_vqa_mc.score`` and ``vqa-mc score``: a model's predictions to scores."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hf_vqa_mc.data.options import ColumnOptions
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, input_paths, option, output_file, overwrite_option, settings
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of, verb
from hf_vqa_mc.scoring import OF_PREDICTIONS, SCHEMES

if TYPE_CHECKING:
    import datasets
    import pandas as pd
    from numpy.typing import NDArray

    from hf_vqa_mc.data import Benchmark
    from hf_vqa_mc.scoring.predictions import Predictions
    from hf_vqa_mc.scoring.scheme import Annotations, Matched
    from hf_vqa_mc.scoring.table import ScoreTable

    Answers: TypeAlias = list[Any] | Mapping[str, str | int] | NDArray[Any] | pd.Series

PREDICTIONS = (
    "Predictions file: JSON (a list of records, or an object id -> answer), JSON Lines, CSV or Parquet, also "
    "compressed; columns question_id (or questionId, qa_id) and answer (text), prediction (text or index of the "
    "choice) or label (index), optionally scores (a number for each choice). In Python also records, a data frame, a "
    "Dataset, a mapping id -> answer, or a list, array or Series of answers in the order of the rows."
)


@settings
class ScoreSettings(ColumnOptions):
    """Score a model's predictions exactly as the dataset's official program does.

    Multiple-choice rows get the accuracy of choosing the target. With answers of several annotators they also get
    consensus accuracy; vqa and vqa2 only that. Published annotation files and open-ended configs get their own
    metrics. Every question needs a prediction.
    """

    predictions: "str | Path | Answers | pd.DataFrame | datasets.Dataset" = option(PREDICTIONS, kw_only=False)
    dataset: "str | Path | datasets.Dataset | datasets.DatasetDict | pd.DataFrame | Benchmark" = option(
        "Folder of vqa-mc build, dataset on the Hub, any benchmark that vqa-mc audit reads, or published file: VQA, "
        "VQA2 or TDIUC annotations, GQA questions (a folder if in several parts). In Python also a Dataset, a "
        "DatasetDict, a data frame, or a result of read_benchmark.",
        kw_only=False,
    )
    config: str | None = option(
        "Config of a dataset with several, such as cocoqa_iou_qou.", default=None, kw_only=False
    )
    split: str | None = option("Split to score; by default test, else validation, else the only one.", default=None)
    id_column: str | None = option("Column of the question ids in the predictions.", default=None)
    answer_column: str | None = option("Column of the answers in the predictions.", default=None)
    metric: tuple[str, ...] = option(
        f"Metric to compute instead of the dataset's own; may be repeated: {', '.join(OF_PREDICTIONS)}.",
        default=(),
    )
    protocol: Literal["2021", "2017"] = option(
        "Version of VQA's official evaluation program: 2021 or 2017.", default="2021", panel=ADVANCED
    )
    inputs: Mapping[str, str | Path] = option(
        "Further input file of a metric, as NAME=FILE; may be repeated. VQA: questions, pairs; TDIUC: questions, "
        "answer_vocabulary; GQA: choices, attentions with scene_graphs.",
        factory=dict,
    )
    free_text: bool = option(
        "Predictions are texts that a model wrote, such as (B), B. red, or sentences: find the choice that each "
        "names. A text that names none, or several, is wrong and counted.",
        default=False,
    )
    partial: bool = option("Score only the questions with a prediction, and report how many have none.", default=False)
    output: Path | None = output_file("Write the results as JSON to this file.")
    overwrite: bool = overwrite_option()
    per_question: bool = option("Include each question's score.", default=False)
    official: Path | None = option(
        "Folder for files in the format of the official VQA, TDIUC or GQA evaluation program.",
        default=None,
    )


@dataclass(frozen=True, eq=False, repr=False)
class ScoreResult(OutputResult):
    """The scores of a model's predictions."""

    predictions: "Predictions"
    matched: "Matched"
    results: dict[str, dict[str, Any]]  #: result by scheme
    left_out: int | None = None  #: number of questions without a prediction, with ``partial``
    unparsed: int | None = None  #: number of texts that name no choice, with ``free_text``

    @property
    def annotations(self) -> "Annotations":
        """The questions."""
        return self.matched.annotations

    @property
    def per_question(self) -> Frame:
        """One row per question: its id and its score by each metric that has one."""
        columns: dict[str, Any] = {}
        for name in self.results:
            found = self._by_question(name) or {}
            several = {f"{name} {measure}": of for measure, of in found.items() if isinstance(of, Mapping)}
            columns |= several or ({name: found} if found else {})
        ids = self.annotations.scored
        return frame_of({"question_id": ids, **{name: [of.get(one) for one in ids] for name, of in columns.items()}})

    def _by_question(self, name: str) -> dict[str, Any] | None:
        """A scheme's scores by question id, of several measures by measure; None if it has none."""
        scores, ids = self.results[name].get("per_question"), self.annotations.scored
        if isinstance(scores, list):
            return dict(zip(ids, scores, strict=True))
        if scores is not None and any(isinstance(column, list) for column in scores.values()):
            return {measure: dict(zip(ids, column, strict=True)) for measure, column in scores.items()}
        return scores

    def tables(self) -> "list[ScoreTable]":
        """The tables, one per scheme."""
        return [SCHEMES[name].table(result, self.matched) for name, result in self.results.items()]

    def report(self) -> Report:
        """A table per metric, and what was written."""
        from rich.text import Text

        from hf_vqa_mc.scoring.table import IN_JSON, MOST_TYPES

        yield f"{self.predictions.location} on {self.annotations.location}"
        if self.left_out:
            yield f"left out, since they have no prediction: {self.left_out:,} questions"
        if self.unparsed:
            yield f"texts that name no choice, or several, and count as wrong: {self.unparsed:,}"
        for table in self.tables():
            yield Text(table.title, style="italic")
            yield table
            if table.missing:
                missing = "; ".join(f"{what} (needs {needed})" for what, needed in table.missing.items())
                yield f"not computed: {missing}"
        if self.settings.per_question:
            scores = self.per_question
            yield scores.head(MOST_TYPES).to_string(index=False)
            if len(scores) > MOST_TYPES:
                yield f"{len(scores) - MOST_TYPES:,} more questions {IN_JSON}"
        yield from (f"wrote {path}" for path in self.written)

    def to_dict(self) -> dict[str, Any]:
        """All scores, unrounded; if ``per_question`` is set those of each question, with its image and type."""
        from hf_vqa_mc.io.redaction import public_name
        from hf_vqa_mc.version import __version__

        annotations, about, results = self.annotations, self.annotations.about, {}
        columns: dict[str, Any] = {}
        for name, result in self.results.items():
            results[name] = {key: value for key, value in result.items() if key != "per_question"}
            if self.settings.per_question and (scores := self._by_question(name)) is not None:
                results[name]["per_question"] = scores
        for name in ("image_ids", "question_types") if self.settings.per_question else ():
            if (column := annotations.column(name)) is not None:
                columns[name] = dict(zip(annotations.scored, column, strict=True))
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
            **columns,
        }

    def to_pandas(self) -> Frame:
        """One row per score: metric, measure, group ("" for all questions), value, standard error and 95% interval."""
        numbers = [(name, *row) for name, result in self.results.items() for row in _numbers(result)]
        return frame_of(numbers, columns=["metric", "measure", "group", "value", "stderr", "low", "high"])

    def official_files(self) -> dict[str, Any]:
        """File name to content as the dataset's own program reads and writes it.

        Raises:
            InputError: the dataset has no such files.
        """
        from hf_vqa_mc.scoring.matching import official_scheme

        scheme = official_scheme(self.annotations)
        return scheme.official(self.matched, self.results.get(scheme.name)) if scheme.official else {}

    def _save(self) -> Iterable[Path]:
        from hf_vqa_mc.io.atomic import json_bytes, write_together
        from hf_vqa_mc.io.outputs import check_output_files

        settings, contents = self.settings, dict[Path, bytes]()
        for name, content in self.official_files().items() if settings.official else ():
            path, what = settings.official / name, "--official: its file"
            outputs = {what: path, "--output": settings.output}
            check_output_files(outputs, input_paths(settings), settings.overwrite)
            contents[path] = json_bytes(content)
        if settings.output is not None:
            contents[settings.output] = json_bytes(self.to_dict(), indent=1)
        write_together(contents, settings.overwrite)
        return contents


def _numbers(result: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Measure, group, value, standard error, and bounds of the interval of every number."""
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


@verb(
    ScoreSettings,
    "vqa-mc score predictions.json vqa_mc cocoqa_iou_qou",
    "vqa-mc score results.json v2_mscoco_val2014_annotations.json --official submission",
)
def score(settings: ScoreSettings, progress: Progress) -> ScoreResult:
    """The scores of each metric; written to ``output`` and ``official`` if given.

    Raises:
        InputError: predictions, dataset or an input file cannot be used; names file, record or question, and field.
    """
    from hf_vqa_mc.data.annotations import read_annotations
    from hf_vqa_mc.io.outputs import check_folder
    from hf_vqa_mc.scoring import matching
    from hf_vqa_mc.scoring.predictions import read_predictions

    if settings.official is not None:
        check_folder(settings.official, "--official")
    inputs = {name: Path(path) for name, path in settings.inputs.items()}
    declared = matching.declared_inputs(inputs)
    predictions = read_predictions(settings.predictions, settings.id_column, settings.answer_column)
    progress("reading predictions", 1, 1)
    columns, with_maps = settings.given_columns, "attentions" in inputs
    annotations = read_annotations(
        settings.dataset, settings.config, settings.split, grounding=with_maps, columns=columns
    )
    progress("reading annotations", 1, 1)
    if settings.official is not None:
        matching.official_scheme(annotations)
    schemes = matching.choose_schemes(annotations, settings.metric, inputs, settings.protocol)
    answered = matching.with_predictions(annotations, predictions) if settings.partial else annotations
    matched = matching.match(
        answered,
        predictions,
        schemes,
        inputs={name: one.read(inputs[name], answered) for name, one in declared.items()},
        protocol=settings.protocol,
        free_text=settings.free_text,
    )
    results = {}
    for scheme in schemes:
        results[scheme.name] = scheme.score(matched)
        progress("scoring", len(results), len(schemes))
    left_out = len(annotations.scored) - len(answered.scored) if settings.partial else None
    unparsed = matched.answers.count("") if settings.free_text else None
    return ScoreResult(settings, predictions, matched, results, left_out, unparsed)
