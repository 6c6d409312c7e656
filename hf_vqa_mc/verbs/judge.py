"""``hf_vqa_mc.judge`` and ``vqa-mc judge``: which decoys a model finds correct, too."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.evaluation.settings import RESULTS, VERDICTS, JudgeSettings
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import verb
from hf_vqa_mc.result import Frame, Report, Result, frame_of
from hf_vqa_mc.text.counted import counted

if TYPE_CHECKING:
    from hf_vqa_mc.evaluation.judging import Judgement


@dataclass(frozen=True, eq=False, repr=False)
class JudgeResult(Result):
    """The verdicts of a judge on the decoys of a benchmark."""

    judgement: "Judgement"
    settings: JudgeSettings
    written: tuple[Path, ...] = ()

    @cached_property
    def _figures(self) -> dict[str, Any]:
        from hf_vqa_mc.evaluation.judging_figures import as_json

        return as_json(self.judgement)

    def report(self) -> Report:
        """A table with a line per group of decoys, notes, and the files."""
        from rich.table import Table

        from hf_vqa_mc.evaluation.judging import WORDNET
        from hf_vqa_mc.evaluation.judging_figures import interval, notes

        done, figures = self.judgement, self._figures
        yield f"{figures['judge']} on {done.location}: {counted(done.n_rows, 'question')}"
        by_model = done.judge != WORDNET
        table = Table()
        for name in ("", "decoys", "flagged", "rows with any", *(["flagged by WordNet"] if by_model else [])):
            table.add_column(name, justify="right" if name else "left", overflow="fold")
        for one in figures["groups"]:
            cells = [interval(one[name]) for name in ("flagged", "rows_flagged", *(["wordnet"] if by_model else []))]
            table.add_row(one["name"], f"{one['decoys']:,}", *cells)
        yield table
        yield from notes(done, figures)
        yield from (f"wrote {path}" for path in self.written)

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in judge.json; fractions."""
        return {**self._figures, "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per decoy: question_id, choice, decoy kind, question type, verdict; flagged by WordNet; label."""
        from hf_vqa_mc.data.verdicts import CORRECT, WRONG
        from hf_vqa_mc.evaluation.judging import NO, UNKNOWN, YES

        decoys, names = self.judgement.decoys, {UNKNOWN: "", NO: WRONG, YES: CORRECT}
        table = {
            "question_id": decoys.question_ids,
            "choice": decoys.texts,
            "kind": decoys.kinds,
            "question_type": decoys.types,
            "verdict": [names[flag] for flag in decoys.flags.tolist()],
            "wordnet": decoys.baseline == YES,
        }
        if self.judgement.labels is not None:
            table["label"] = [names[flag] for flag in self.judgement.labels.tolist()]
        return frame_of(table)

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write verdicts.csv and judge.json to a folder, without the replies."""
        from hf_vqa_mc.data.verdicts import write_verdicts
        from hf_vqa_mc.io.atomic import write_json
        from hf_vqa_mc.io.outputs import check_folder

        folder = Path(path)
        check_folder(folder, "path")
        folder.mkdir(exist_ok=True)
        write_verdicts(folder / VERDICTS, self.judgement.verdicts(), overwrite)
        write_json(folder / RESULTS, self._figures, 1)
        return [folder / VERDICTS, folder / RESULTS]


@verb(
    JudgeSettings,
    "vqa-mc judge vqa_mc cocoqa_iou_qou --model Qwen/Qwen2.5-VL-3B-Instruct --sample 1000",
    "vqa-mc judge benchmark.csv --model wordnet --labels study.csv",
    "vqa-mc judge benchmark.csv --model my-model --base-url http://localhost:8000/v1 --output judged",
)
def judge(settings: JudgeSettings, progress: Progress) -> JudgeResult:
    """Judge the decoys of a benchmark.

    Returns:
        Which decoys are also correct, with intervals; written to ``output`` if given.

    Raises:
        InputError: the benchmark, the model or the labels cannot be used, or ``output`` has another run.
        ConnectionError: the Hub or the server cannot be reached; the run can be resumed.
        MissingExtra: ``base_url`` needs the extra ``evaluate``.
    """
    from hf_vqa_mc.evaluation.judging import judged
    from hf_vqa_mc.evaluation.run_folder import ANSWERS

    done = JudgeResult(judged(settings, progress), settings)
    if settings.output is None:
        return done
    replies = settings.output / ANSWERS
    written = (*done.save(settings.output, overwrite=True), *([replies] if replies.exists() else []))
    return replace(done, written=written)
