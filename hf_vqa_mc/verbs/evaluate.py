"""``hf_vqa_mc.evaluate`` and ``vqa-mc evaluate``: a model's accuracy, and how much of it remains without the image."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.evaluation.settings import EvaluateSettings
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import verb
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of
from hf_vqa_mc.text.tables import TextTable

if TYPE_CHECKING:
    from hf_vqa_mc.evaluation.figures import Evaluation


@dataclass(frozen=True, eq=False, repr=False)
class EvaluateResult(OutputResult):
    """A model's accuracy with each input."""

    evaluation: "Evaluation"
    settings: EvaluateSettings

    def report(self) -> Report:
        """A table with a line per input, notes, and the files."""
        from hf_vqa_mc.report.evaluation import next_steps

        done = self.evaluation
        yield f"{done.run['model']} on {done.split.location}: {done.extent()}, method {done.run['method']}"
        yield TextTable(done.columns(), ("input",))
        yield from done.notes()
        yield from (f"wrote {path}" for path in self.written)
        yield from next_steps(self.settings, done, self.settings.output)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in results.json; fractions."""
        return {**self.evaluation.as_json(), "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per input: accuracy with its 95% interval, gain of seeing all, numbers of replies."""
        rows = []
        for name, found in self.evaluation.as_json()["inputs"].items():
            gain = {f"gain_{field}": value for field, value in (found["gain"] or {}).items() if field != "rows"}
            counts = {what: found[what] for what in ("replies", "unparsed", "refused", "cut_off", "failed")}
            accuracy = dict(found["accuracy"])
            rows.append({"input": name, "accuracy": accuracy.pop("mean"), **accuracy, **gain, **counts})
        return frame_of(rows)

    @property
    def per_question(self) -> Frame:
        """One row per question: the columns of rows.parquet, with each input's picked choice and score."""
        return frame_of(self.evaluation.table())

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write report.html, results.json and rows.parquet to a folder, without the answers."""
        from hf_vqa_mc.io.redaction import public_name
        from hf_vqa_mc.report.evaluation import next_steps, write_evaluation

        steps = next_steps(self.settings, self.evaluation, Path(path), public_name)
        return write_evaluation(Path(path), self.evaluation, steps)


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

    done = EvaluateResult(evaluated(settings, progress), settings).saved(settings)
    return replace(done, written=(*done.written, settings.output / ANSWERS)) if settings.output else done
