"""``hf_vqa_mc.evaluate`` and ``vqa-mc evaluate``: a model's accuracy, and how much of it remains without the image."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.benchmarks.options import BenchmarkOptions, folder_name
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.evaluation.inputs import INPUTS
from hf_vqa_mc.evaluation.methods import METHODS
from hf_vqa_mc.evaluation.model_options import EVALUATIONS, ModelOptions
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, AT_LEAST_ONE, SEED, VECTORS, option, settings, verb
from hf_vqa_mc.result import Frame, Report, Result, frame_of
from hf_vqa_mc.text.tables import TextTable

if TYPE_CHECKING:
    from hf_vqa_mc.evaluation.evaluating import Evaluation

ALL = "all"


def default_folder(given: Mapping[str, Any]) -> Path:
    """The output folder of the command: ``vqa_mc_evaluations/NAME-MODEL``."""
    name = folder_name(given["dataset"], given.get("config"), given.get("split"))
    return EVALUATIONS / file_name(f"{name}-{str(given['model']).strip('./')}")


@settings
class EvaluateSettings(ModelOptions, BenchmarkOptions):
    """Evaluate a model on a multiple-choice benchmark, and again without the image, the question or the choices.

    Each input asks the same questions with the same words, except for what it hides. The model is one of transformers,
    a checkpoint of vqa-mc train, or with --base-url one behind an OpenAI-compatible server (key: OPENAI_API_KEY).
    Every answer is stored as it comes; the same command resumes a run that was stopped.
    """

    word_vectors: str | None = option(
        "File of the word vectors of a checkpoint of vqa-mc train, for words that were not in training.",
        default=None,
        check=VECTORS,
        panel=ADVANCED,
    )
    inputs: tuple[str, ...] = option(
        f"What the model is shown: {', '.join(INPUTS)}.", default=("full", "no-image"), separator=","
    )
    method: str | None = option(
        "How the model answers: letter (the most probable letter), likelihood (the most probable choice), generate "
        "(the choice that the generated text names), or scores (of checkpoints of vqa-mc train). By default generate "
        "with --base-url, scores for checkpoints, else letter; for a Python object the first that it implements.",
        default=None,
    )
    rotations: str = option(
        "Ask each question with this number of orders of its choices: a number, or all.",
        default="1",
        check=("a number of 1 or more, or all", lambda text: text == ALL or (text.isdecimal() and int(text) >= 1)),
        panel=ADVANCED,
    )
    instruction: str | None = option(
        "Last line of each prompt; by default it asks for the letter of the correct choice.",
        default=None,
        panel=ADVANCED,
    )
    max_tokens: int = option("Maximum number of generated tokens.", default=64, check=AT_LEAST_ONE, panel=ADVANCED)
    sample: int | None = option(
        "Evaluate a random sample of this many questions, with the benchmark's shares of question types.",
        default=None,
        check=AT_LEAST_ONE,
    )
    seed: int = option(
        "Random seed of the sample, and of the images of other questions.", default=0, check=SEED, panel=ADVANCED
    )
    output: Path | None = option(
        "Folder for report.html, results.json, rows.parquet and the answers; resumed if it has a run with the same "
        "settings. By default vqa_mc_evaluations/NAME-MODEL for the command.",
        default=None,
        cli_default=default_folder,
    )

    def __post_init__(self) -> None:
        """Check the options."""
        object.__setattr__(self, "rotations", str(self.rotations))
        super().__post_init__()
        if not self.inputs:
            raise InputError(f"--inputs: expected one or more of {', '.join(INPUTS)}")
        for name in self.inputs:
            INPUTS.find(name)
        if self.method is not None:
            METHODS.find(self.method)


@dataclass(frozen=True, eq=False, repr=False)
class EvaluateResult(Result):
    """A model's accuracy with each input."""

    evaluation: "Evaluation"
    settings: EvaluateSettings
    written: tuple[Path, ...] = ()

    def report(self) -> Report:
        """A table with a line per input, notes, and the files."""
        from hf_vqa_mc.evaluation.tables import input_columns, notes, questions_of

        done = self.evaluation
        model, method, count = done.run["model"], done.run["method"], questions_of(done.figures)
        yield f"{model} on {done.location}: {count}, method {method}"
        yield TextTable(input_columns(done.figures), ("input",), ("input",))
        yield from notes(done.figures)
        yield from (f"wrote {path}" for path in self.written)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in results.json; fractions."""
        return {**self.evaluation.as_json(), "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per input: accuracy with its 95% interval, gain of seeing all, numbers of replies."""
        rows = []
        for name, found in self.evaluation.as_json()["inputs"].items():
            gain = {f"gain_{field}": value for field, value in (found["gain"] or {}).items() if field != "rows"}
            counts = {what: found[what] for what in ("replies", "unparsed", "cut_off", "failed")}
            accuracy = dict(found["accuracy"])
            rows.append({"input": name, "accuracy": accuracy.pop("mean"), **accuracy, **gain, **counts})
        return frame_of(rows)

    @property
    def per_question(self) -> Frame:
        """One row per question: the columns of rows.parquet, with each input's picked choice and score."""
        return frame_of(self.evaluation.figures.table())

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write report.html, results.json and rows.parquet to a folder, without the answers."""
        from hf_vqa_mc.report.evaluation import write_evaluation

        return write_evaluation(Path(path), self.evaluation)


@verb(
    EvaluateSettings,
    "vqa-mc evaluate benchmark.csv --model HuggingFaceTB/SmolVLM-256M-Instruct --rotations all",
    "vqa-mc evaluate vqa_mc cocoqa_iou_qou --model my-model --base-url http://localhost:8000/v1 --sample 1000",
)
def evaluate(settings: EvaluateSettings, progress: Progress) -> EvaluateResult:
    """Evaluate a model.

    Returns:
        Accuracy by input with intervals; written to ``output`` if given.

    Raises:
        InputError: the benchmark or the model cannot be used, or ``output`` has another run.
        ConnectionError: the Hub or the server cannot be reached; the run can be resumed.
        MissingExtra: ``base_url`` needs the extra ``evaluate``.
    """
    from hf_vqa_mc.evaluation.evaluating import evaluated
    from hf_vqa_mc.evaluation.run_folder import ANSWERS
    from hf_vqa_mc.report.evaluation import write_evaluation

    done = EvaluateResult(evaluated(settings, progress), settings)
    if settings.output is None:
        return done
    progress("writing the report", 0, 1)
    written = write_evaluation(settings.output, done.evaluation)
    progress("writing the report", 1, 1)
    return replace(done, written=(*written, settings.output / ANSWERS))
