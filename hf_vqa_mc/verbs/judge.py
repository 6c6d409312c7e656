"""``hf_vqa_mc.judge`` and ``vqa-mc judge``: which decoys a model finds correct, too."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.evaluation.settings import RESULTS, VERDICTS, JudgeSettings
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.result import Frame, OutputResult, Report, verb
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.tables import TextTable

if TYPE_CHECKING:
    from hf_vqa_mc.evaluation.judging import Judgement


@dataclass(frozen=True, eq=False, repr=False)
class JudgeResult(OutputResult):
    """The verdicts of a judge on the decoys of a benchmark."""

    judgement: "Judgement"

    def report(self) -> Report:
        """A table with a line per group of decoys, notes, and the files."""
        from hf_vqa_mc.evaluation.judging import WORDNET

        done, figures = self.judgement, self.judgement.figures
        yield f"{figures['judge']} on {done.location}: {counted(done.n_rows, 'question')}"
        shares = {"flagged": "flagged", "rows with any": "rows_flagged"}
        shares |= {} if done.judge == WORDNET else {"flagged by WordNet": "wordnet"}
        groups = figures["groups"]
        columns = {"": [one["name"] for one in groups], "decoys": [f"{one['decoys']:,}" for one in groups]}
        columns |= {heading: [one[key].percent() for one in groups] for heading, key in shares.items()}
        yield TextTable(columns, ("",))
        yield from done.notes()
        yield from (f"wrote {path}" for path in self.written)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in judge.json; fractions."""
        from hf_vqa_mc.evaluation.shares import in_json

        return {**in_json(self.judgement.figures), "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per decoy: question_id, choice, decoy kind, question type, verdict; flagged by WordNet; label."""
        from hf_vqa_mc.evaluation.judging import VERDICTS_OF, YES

        decoys = self.judgement.decoys
        table = decoys[["question_id", "choice", "kind", "question_type"]].assign(
            verdict=decoys["flag"].map(VERDICTS_OF), wordnet=decoys["wordnet"] == YES
        )
        return table.assign(label=decoys["label"].map(VERDICTS_OF)) if "label" in decoys else table

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write verdicts.csv and judge.json to a folder, without the replies."""
        from hf_vqa_mc.data.verdicts import write_verdicts
        from hf_vqa_mc.evaluation.shares import in_json
        from hf_vqa_mc.io.atomic import write_json
        from hf_vqa_mc.io.outputs import check_folder

        folder = Path(path)
        check_folder(folder, "path")
        folder.mkdir(exist_ok=True)
        write_verdicts(folder / VERDICTS, self.judgement.verdicts(), overwrite)
        write_json(folder / RESULTS, in_json(self.judgement.figures), 1)
        return [folder / VERDICTS, folder / RESULTS]

    def _save(self) -> Iterable[Path]:
        from hf_vqa_mc.evaluation.run_folder import ANSWERS

        if (folder := self.settings.output) is None:
            return ()
        replies = folder / ANSWERS
        return *self.save(folder, overwrite=True), *([replies] if replies.exists() else [])


@verb(
    JudgeSettings,
    "vqa-mc judge vqa_mc cocoqa_iou_qou --model Qwen/Qwen2.5-VL-3B-Instruct --sample 1000",
    "vqa-mc judge benchmark.csv --model wordnet --labels study.csv",
    "vqa-mc judge benchmark.csv --model my-model --base-url http://localhost:8000/v1 --output judged",
)
def judge(settings: JudgeSettings, progress: Progress) -> JudgeResult:
    """Which decoys are also correct, with intervals; written to ``output`` if given.

    Raises:
        InputError: the benchmark, the model or the labels cannot be used, or ``output`` has another run.
        ConnectionError: the Hub or the server cannot be reached; the run can be resumed.
        MissingExtra: ``base_url`` needs the extra ``evaluate``.
    """
    from hf_vqa_mc.evaluation.judging import Judgement

    return JudgeResult(settings, Judgement(settings, progress))
