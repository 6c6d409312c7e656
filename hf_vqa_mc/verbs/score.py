"""``hf_vqa_mc.score`` and ``vqa-mc score``: a model's predictions to scores."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ReadOptions, check_options, option, overwrite_option, settings, verb
from hf_vqa_mc.result import Result
from hf_vqa_mc.scoring import OF_PREDICTIONS
from hf_vqa_mc.scoring.inputs import ANSWER_VOCABULARY, ATTENTIONS, CHOICES, PAIRS, QUESTIONS, SCENE_GRAPHS

if TYPE_CHECKING:
    import datasets
    import pandas as pd
    from rich.console import RenderableType

    from hf_vqa_mc.benchmarks import Benchmark
    from hf_vqa_mc.metrics.predictions import Predictions
    from hf_vqa_mc.scoring.scheme import Annotations, Matched
    from hf_vqa_mc.scoring.table import Table
    from hf_vqa_mc.verbs.compare import CompareResult

READING, SCHEME, WRITING = "Input", "Metric", "Output"
PREDICTIONS = (
    "Predictions file: JSON (a list of records, or an object id -> answer), JSON Lines, CSV or Parquet, also "
    "compressed; columns question_id (or questionId, qa_id) and answer (text), prediction (text or index of the "
    "choice) or label (index), optionally scores (a number for each choice). In Python also records, a data frame, a "
    "Dataset or a mapping id -> answer."
)


@settings
class ScoreSettings(ReadOptions):
    """Score a model's predictions exactly as the dataset's official program does.

    Rows with answers of several annotators (vqa, vqa2) get consensus accuracy; other rows get the accuracy of choosing
    the target. VQA, TDIUC and GQA annotation files, and open-ended configs (vqa_open, vqa2_pairs), get their own
    metrics. Every question needs a prediction.
    """

    predictions: "str | Path | list[dict[str, Any]] | Mapping[str, str | int] | pd.DataFrame | datasets.Dataset" = (
        option(PREDICTIONS, kw_only=False)
    )
    dataset: "str | Path | datasets.Dataset | datasets.DatasetDict | pd.DataFrame | Benchmark" = option(
        "Folder of vqa-mc build, dataset on the Hub, any benchmark that vqa-mc audit reads, or published file: VQA, "
        "VQA2 or TDIUC annotations, GQA questions (a folder if in several parts). In Python also a Dataset, a "
        "DatasetDict, a data frame, or a result of read_benchmark.",
        kw_only=False,
    )
    also: tuple[Path, ...] = option(
        "Further predictions file, scored with the same settings and compared with the first one; may be repeated.",
        default=(),
        panel=READING,
    )
    config: str | None = option(
        "Config of a dataset with several, such as cocoqa_iou_qou.", default=None, kw_only=False
    )
    split: str | None = option(
        "Split to score; by default test, else validation, else the only one.", default=None, panel=READING
    )
    id_column: str | None = option("Column of the question ids in the predictions.", default=None, panel=READING)
    answer_column: str | None = option("Column of the answers in the predictions.", default=None, panel=READING)
    metric: tuple[str, ...] = option(
        f"Metric to compute instead of the dataset's own; may be repeated: {', '.join(OF_PREDICTIONS)}.",
        default=(),
        panel=SCHEME,
    )
    protocol: str = option("Version of VQA's official evaluation program: 2021 or 2017.", default="2021", panel=SCHEME)
    questions_file: Path | None = option(QUESTIONS.help, default=None, former="questions", panel=SCHEME)
    pairs: Path | None = option(PAIRS.help, default=None, panel=SCHEME)
    answer_vocabulary: Path | None = option(ANSWER_VOCABULARY.help, default=None, panel=SCHEME)
    choices_file: Path | None = option(CHOICES.help, default=None, former="choices", panel=SCHEME)
    attentions: Path | None = option(ATTENTIONS.help, default=None, panel=SCHEME)
    scene_graphs: Path | None = option(SCENE_GRAPHS.help, default=None, panel=SCHEME)
    inputs: Mapping[str, str | Path] = option(
        "Input file NAME=FILE of a metric of another package; may be repeated.",
        factory=dict,
        flag="--input",
        panel=SCHEME,
    )
    free_text: bool = option(
        "Predictions are texts that a model wrote, such as (B), B. red, or sentences: find the choice that each "
        "names. A text that names none, or several, is wrong and counted.",
        default=False,
        panel=READING,
    )
    ignore_case: bool = option(
        "Ignore letter case where the official program is case-sensitive (TDIUC, GQA); not the official score.",
        default=False,
        panel=SCHEME,
    )
    partial: bool = option(
        "Score only the questions with a prediction, and report how many have none.", default=False, panel=READING
    )
    output: Path | None = option("Write the results as JSON to this file.", default=None, panel=WRITING)
    overwrite: bool = overwrite_option(WRITING)
    per_question: bool = option("Include each question's score.", default=False, panel=WRITING)
    official: Path | None = option(
        "Folder for files in the format of the official VQA, TDIUC or GQA evaluation program.",
        default=None,
        panel=WRITING,
    )
    name: str | None = option("Name of the model in the files of --official.", default=None, panel=WRITING)

    def __post_init__(self) -> None:
        """Check the options."""
        check_options(self)
        if self.name is not None and self.official is None:
            raise InputError(f"--name {self.name} needs --official DIR; add it, or remove --name")
        if self.also and self.official is not None:
            raise InputError(f"--also {self.also[0]}: --official writes the files of one model; remove one of them")
        files = [Path(one).resolve() for one in (self.predictions, *self.also) if isinstance(one, str | Path)]
        for twice in (one for index, one in enumerate(files) if one in files[:index]):
            raise InputError(f"--also {twice}: this file is given twice; remove it")

    @property
    def input_files(self) -> dict[str, Path]:
        """The input files by name."""
        shipped = (QUESTIONS, PAIRS, ANSWER_VOCABULARY, CHOICES, ATTENTIONS, SCENE_GRAPHS)
        named = {one.name: getattr(self, one.option or one.name) for one in shipped} | dict(self.inputs)
        return {name: Path(path) for name, path in named.items() if path is not None}

    @property
    def paths(self) -> list[Path]:
        """The files and folders that are read; outputs must not replace them."""
        named = [one for one in (self.predictions, *self.also, self.dataset) if isinstance(one, str | Path)]
        return [*map(Path, named), *self.input_files.values()]


@dataclass(frozen=True, eq=False, repr=False)
class ScoreResult(Result):
    """The scores of a model's predictions."""

    settings: ScoreSettings
    predictions: "Predictions"
    matched: "Matched"
    results: dict[str, dict[str, Any]]
    """result by scheme"""
    left_out: int = 0
    """number of questions without a prediction, with ``partial``"""
    others: "tuple[ScoreResult, ...]" = ()
    """the results of the files of ``also``"""
    comparison: "CompareResult | None" = None
    """all files side by side, if there are several"""
    written: tuple[Path, ...] = ()

    @property
    def annotations(self) -> "Annotations":
        """The questions."""
        return self.matched.annotations

    @property
    def unparsed(self) -> int:
        """Number of texts that name no choice, with ``free_text``."""
        return sum(answer == "" for answer in self.matched.answers) if self.settings.free_text else 0

    @property
    def per_question(self) -> "pd.DataFrame":
        """One row per question: its id and its score by each metric that has one."""
        import pandas as pd

        columns: dict[str, Any] = {}
        for name in self.results:
            for measure, scores in (self._by_question(name) or {}).items():
                if isinstance(scores, Mapping):
                    columns[f"{name} {measure}"] = scores
                else:
                    columns.setdefault(name, {})[measure] = scores
        ids = self.annotations.scored
        table = {"question_id": ids, **{name: [of.get(one) for one in ids] for name, of in columns.items()}}
        return pd.DataFrame(table)

    def _by_question(self, name: str) -> dict[str, Any] | None:
        """A scheme's scores by question id, of several measures by measure; None if it has none."""
        scores, ids = self.results[name].get("per_question"), self.annotations.scored
        if isinstance(scores, list):
            return dict(zip(ids, scores, strict=True))
        if scores is not None and any(isinstance(column, list) for column in scores.values()):
            return {measure: dict(zip(ids, column, strict=True)) for measure, column in scores.items()}
        return scores

    def tables(self) -> "list[Table]":
        """The tables, one per scheme."""
        from hf_vqa_mc.scoring import SCHEMES

        return [SCHEMES[name].table(result, self.matched) for name, result in self.results.items()]

    def report(self) -> "Iterator[RenderableType]":
        """A table per metric, or the comparison of several files, and what was written."""
        yield from self._counts()
        if self.comparison is None:
            yield from self._tables()
        else:
            for other in self.others:
                yield from other._counts()
            yield from self.comparison.report()
        yield from (f"wrote {path}" for path in self.written)

    def _counts(self) -> Iterator[str]:
        """The predictions, and how many questions or texts do not count."""
        yield f"{self.predictions.location} on {self.annotations.location}"
        if self.left_out:
            yield f"left out, since they have no prediction: {self.left_out:,} questions"
        if self.unparsed:
            yield f"texts that name no choice, or several, and count as wrong: {self.unparsed:,}"

    def _tables(self) -> "Iterator[RenderableType]":
        from rich.text import Text

        from hf_vqa_mc.scoring.table import IN_JSON, MOST_TYPES

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

    def to_dict(self) -> dict[str, Any]:
        """All scores, unrounded; if ``per_question`` is set those of each question, with its image and type.

        With several files these are the first one's, and ``also`` has those of the others.
        """
        found = self._as_json(self.settings.per_question)
        if self.comparison is None:
            return found
        others = [other._as_json(self.settings.per_question) for other in self.others]
        return {**found, "also": others, "comparison": self.comparison.to_dict()}

    def _as_json(self, per_question: bool) -> dict[str, Any]:
        from hf_vqa_mc.io.redaction import public_name
        from hf_vqa_mc.scoring import SCHEMES
        from hf_vqa_mc.version import __version__

        annotations, about, results = self.annotations, self.annotations.about, {}
        names = ("image_ids", "question_types") if per_question else ()
        columns = {name: annotations.column(name) for name in names}
        for name, result in self.results.items():
            results[name] = {key: value for key, value in result.items() if key != "per_question"}
            if per_question and (scores := self._by_question(name)) is not None:
                results[name]["per_question"] = scores
        return {
            "version": __version__,
            "predictions": public_name(self.predictions.location),
            "dataset": public_name(about.get("dataset", annotations.location)),
            "config": about.get("config"),
            "split": about.get("split"),
            "kind": annotations.kind.name,
            "questions": len(annotations.scored),
            **({"left_out": self.left_out} if self.settings.partial else {}),
            **({"unparsed": self.unparsed} if self.settings.free_text else {}),
            **({"ignore_case": True} if self.settings.ignore_case else {}),
            "protocol": self.matched.protocol if any(SCHEMES[name].has_protocols for name in results) else None,
            "results": results,
            **{
                name: dict(zip(annotations.scored, column, strict=True))
                for name, column in columns.items()
                if column is not None
            },
        }

    def to_pandas(self) -> "pd.DataFrame":
        """One row per score: metric, measure, group ("" for all questions), value, standard error and 95% interval."""
        import pandas as pd

        rows = [(name, *row) for name, result in self.results.items() for row in _scores(result)]
        return pd.DataFrame(rows, columns=["metric", "measure", "group", "value", "stderr", "low", "high"])

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the scores as JSON to a file."""
        from hf_vqa_mc.io.atomic_file import check_output_file, write_json

        check_output_file(Path(path), "output", self.settings.paths, overwrite)
        write_json(Path(path), self.to_dict(), 1, overwrite)
        return [Path(path)]

    def official_files(self) -> dict[str, Any]:
        """File name to content as the dataset's own program reads and writes it.

        Raises:
            InputError: the dataset has no such files.
        """
        from hf_vqa_mc.metrics.score import official_scheme

        scheme = official_scheme(self.annotations)
        return scheme.official(self.matched, self.results.get(scheme.name)) if scheme.official else {}

    def save_official(self, folder: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the files that the dataset's own program reads and, for VQA, writes to a folder.

        Raises:
            InputError: the dataset has no such files, the folder cannot be made, or one would replace what is read.
            OSError: the disk is full or read-only.
        """
        from hf_vqa_mc.io.atomic_file import write_together

        contents = self._official_contents(Path(folder), overwrite)
        write_together(contents, overwrite)
        return list(contents)

    def _official_contents(self, folder: Path, overwrite: bool) -> dict[Path, bytes]:
        """The content of each file in the folder; raises InputError unless they can be written there."""
        from hf_vqa_mc.io.atomic_file import check_distinct, check_folder, check_output_file, json_bytes

        output = self.settings.output
        files = {folder / name: json_bytes(content) for name, content in self.official_files().items()}
        check_folder(folder, "--official")
        for path in files:
            check_output_file(path, "--official: its file", self.settings.paths, overwrite)
            check_distinct({"--official: its file": path} | ({"--output": output} if output else {}))
        return files


def _scores(result: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    """Measure, group, value, standard error and interval of every number of a result."""
    about = {name: result.get(name) for name in ("stderr", "interval")}
    for measure, value in result.items():
        if measure in (*about, "per_question"):
            continue
        for group, score in value.items() if isinstance(value, Mapping) else [("", value)]:
            if isinstance(score, Mapping):
                for inner, part, *numbers in _scores(score):
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
    "vqa-mc score baseline.json vqa_mc cocoqa_iou_qou --also model.json",
)
def score(settings: ScoreSettings, progress: Progress) -> ScoreResult:
    """Score predictions.

    Returns:
        The scores of each metric; written to ``output`` and ``official`` if given.

    Raises:
        InputError: predictions, dataset or an input file cannot be used; names file, record or question, and field.
    """
    from hf_vqa_mc.io.atomic_file import check_folder, check_output_file, json_bytes, write_together
    from hf_vqa_mc.metrics.annotations import read_annotations
    from hf_vqa_mc.metrics.predictions import read_predictions
    from hf_vqa_mc.metrics.score import choose_schemes, match, official_scheme, with_predictions
    from hf_vqa_mc.scoring import SCHEMES

    if settings.output is not None:
        check_output_file(settings.output, "--output", settings.paths, settings.overwrite)
    if settings.official is not None:
        check_folder(settings.official, "--official")
    inputs, declared = settings.input_files, {one.name: one for scheme in SCHEMES.values() for one in scheme.inputs}
    for given, path in inputs.items():
        if given not in declared:
            raise InputError(f"no metric has an input {given!r}; expected {', '.join(declared)}")
        if not path.is_file():
            found = "it is a folder; give one file of it" if path.is_dir() else "no such file"
            raise InputError(f"{declared[given].flag} {path}: {found}")
    sources = (settings.predictions, *settings.also)
    predictions = [read_predictions(one, settings.id_column, settings.answer_column) for one in sources]
    progress("reading predictions", 1, 1)
    annotations = read_annotations(settings.dataset, settings.config, settings.split, grounding="attentions" in inputs)
    progress("reading annotations", 1, 1)
    if settings.official is not None:
        official_scheme(annotations)
    schemes = choose_schemes(annotations, settings.metric, inputs, settings.protocol, settings.ignore_case)
    results: list[ScoreResult] = []
    for one in predictions:
        answered = with_predictions(annotations, one) if settings.partial else annotations
        content = {given: declared[given].read(path, answered) for given, path in inputs.items()}
        matched = match(answered, one, schemes, inputs=content, **_match_options(settings))
        scores = {}
        for scheme in schemes:
            scores[scheme.name] = scheme.score(matched)
            progress("scoring", len(results) * len(schemes) + len(scores), len(predictions) * len(schemes))
        left_out = len(annotations.scored) - len(answered.scored)
        results.append(ScoreResult(settings, one, matched, scores, left_out))
    result = _side_by_side(results) if settings.also else results[0]
    contents = {} if settings.official is None else result._official_contents(settings.official, settings.overwrite)
    if settings.output is not None:
        contents[settings.output] = json_bytes(result.to_dict(), indent=1)
    write_together(contents, settings.overwrite)
    return replace(result, written=tuple(contents))


def _match_options(settings: ScoreSettings) -> dict[str, Any]:
    return {name: getattr(settings, name) for name in ("protocol", "name", "free_text", "ignore_case")}


def _side_by_side(results: "list[ScoreResult]") -> ScoreResult:
    """The first result, compared with the others."""
    from hf_vqa_mc.evaluation.compared_runs import scored_runs
    from hf_vqa_mc.evaluation.comparison import compared
    from hf_vqa_mc.verbs.compare import CompareResult, CompareSettings

    paths = [Path(one.predictions.location) for one in results]
    runs = scored_runs([(path, one._as_json(per_question=True)) for path, one in zip(paths, results, strict=True)])
    comparison = CompareResult(compared(runs), CompareSettings(runs=tuple(paths)))
    return replace(results[0], others=tuple(results[1:]), comparison=comparison)
