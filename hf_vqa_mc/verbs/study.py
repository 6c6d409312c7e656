"""``vqa-mc study``: the file of a new study, its web pages, and what people's answers amount to."""

import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import ADVANCED, AT_LEAST_ONE, FRACTION, option, overwrite_option, settings
from hf_vqa_mc.result import Frame, OutputResult, Report, TableResult, frame_of, verb
from hf_vqa_mc.studies.options import StudyOptions
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.tables import TextTable

if TYPE_CHECKING:
    from hf_vqa_mc.studies.finished import Finished

SHARES = (
    *("accuracy", "chance", "label_correct", "label_rejected", "ambiguous", "bad_question"),
    *("share_", "confidence_", "same_", "questions_with_"),
)
"""Beginnings of the columns of fractions in [0, 1]."""


@verb(
    StudyOptions,
    "vqa-mc study create vqa_mc cocoqa_iou_qou --kind conditions --output study.sqlite",
    "vqa-mc study create benchmark.csv --kind ambiguity --sample 300",
)
def study_create(settings: StudyOptions, progress: Progress) -> TableResult:
    """The questions of the study, written to ``output``; an existing file is never replaced.

    Raises:
        InputError: the dataset cannot be read, an image is missing, or the file exists.
        OSError: the disk is full or read-only.
    """
    from hf_vqa_mc.io.atomic import write_bytes
    from hf_vqa_mc.io.outputs import check_output_file
    from hf_vqa_mc.studies.items import new_study
    from hf_vqa_mc.studies.store import new_content

    if settings.output.is_file():
        raise InputError(
            f"--output {settings.output} exists, and a study is never replaced: serve it, or choose another name"
        )
    check_output_file(settings.output, "--output", settings.paths)
    made, items, pictures, notes = new_study(settings, progress)
    content = new_content(made, items, pictures)
    write_bytes(settings.output, content, overwrite=False)
    questions = [one for one in items if not one.control]
    conditions = [f"{name} ({counted(number, 'annotator')})" for name, number in made.annotators.items()]
    answers = len(questions) * sum(made.annotators.values())
    lines = [
        f"{made.kind}: {counted(len(questions), 'question')} of {made.dataset}",
        *notes,
        f"{', '.join(conditions)} per question: {answers:,} answers on pages of {made.per_page}",
        f"wrote {settings.output} ({len(content) / 1e6:.1f} MB)",
        f"to start it: vqa-mc study serve {settings.output}",
    ]
    public = {name: value for name, value in vars(made).items() if name != "join"}  # the secret of the link
    figures = {**public, "questions": len(questions), "output": str(settings.output)}
    rows = [[one.question_id, one.question, one.choices] for one in questions]
    return TableResult(lines, figures, rows, ["question_id", "question", "choices"])


@settings
class StudyServeSettings:
    """Serve a study to annotators until Ctrl-C; the same command resumes it.

    Every answer is on the disk before the page reports it as saved. On this computer only, unless --host is given; put
    a reverse proxy with HTTPS in front of it for the internet.
    """

    study: Path = option("File of vqa-mc study create.", kw_only=False)
    host: str = option("Address to listen on; 0.0.0.0 for all networks.", default="127.0.0.1")
    port: int = option(
        "Port to listen on; 0 for any free one.", default=7860, check=("0 to 65535", range(65536).__contains__)
    )
    url: str | None = option("Address by which annotators reach the server, for the printed links.", default=None)
    links: int | None = option(
        "Print this number of personal links, one per annotator. By default one link by which anyone can join.",
        default=None,
        check=AT_LEAST_ONE,
    )


@verb(
    StudyServeSettings,
    "vqa-mc study serve study.sqlite",
    "vqa-mc study serve study.sqlite --host 0.0.0.0 --url https://study.example.org --links 20",
)
def study_serve(settings: StudyServeSettings, progress: Progress) -> TableResult:
    """The progress of the study when the server ends.

    Raises:
        InputError: the file is not a study, or the port cannot be used.
    """
    from hf_vqa_mc.studies.store import Study
    from hf_vqa_mc.studies.web import Pages, Server

    with (
        closing(Study(settings.study)) as study,
        Server(Pages(study, joinable=not settings.links), settings.host, settings.port) as server,
    ):
        address = (settings.url or f"http://{settings.host}:{server.server_address[1]}").rstrip("/")
        paths = [f"join/{study.settings.join}"]
        if settings.links:
            paths = [f"a/{token}/" for token in study.tokens(settings.links)]
        sys.stdout.write("".join(f"{address}/{path}\n" for path in paths))
        sys.stdout.flush()
        with suppress(KeyboardInterrupt):
            server.serve_forever()
        counts = study.progress()
        lines = [f"{name}: {done:,} of {wanted:,} answers" for name, (done, wanted) in counts.items()]
        figures = {name: {"answers": done, "wanted": wanted} for name, (done, wanted) in counts.items()}
        return TableResult(lines, figures, [{"condition": name, **one} for name, one in figures.items()])


@settings
class StudyResultsSettings:
    """Turn the answers of a study into results: accuracy or verdicts, intervals over annotators, agreement and time.

    The folder has all answers (answers.parquet), one row per question (questions.parquet), all figures (results.json)
    and the files for other commands. A study can be served at the same time.
    """

    study: Path = option("File of vqa-mc study create.", kw_only=False)
    output: Path | None = option("Folder to write.", default=None)
    overwrite: bool = overwrite_option()
    passed: float = option(
        "Fraction of attention checks below which an annotator's answers do not count; 0: all count.",
        default=0.5,
        check=FRACTION,
        panel=ADVANCED,
    )


@dataclass(frozen=True, eq=False, repr=False)
class StudyResultsResult(OutputResult):
    """The results of a study."""

    done: "Finished"

    def report(self) -> Report:
        """The table, the attention checks, the files, and how to use them."""
        summary, checks = self.done.summary, self.done.summary["attention_checks"]
        yield f"{summary['kind']}: {summary['dataset']}"
        yield TextTable(_columns(list(self.done.outcome.table)), ("condition",))
        for name, progress in summary["progress"].items():
            if progress["answers"] < progress["wanted"]:
                yield f"unfinished: {name} has {progress['answers']:,} of {progress['wanted']:,} answers"
        if checks["answered"]:
            yield f"attention checks passed: {checks['passed']:,} of {checks['answered']:,}"
        if excluded := summary["excluded_annotators"]:
            yield f"left out, as they passed too few attention checks: {counted(len(excluded), 'annotator')}"
        yield from (f"wrote {path}" for path in self.written)
        if self.written:
            yield from (
                f"to use it: {line}".replace("FOLDER", str(self.written[0].parent)) for line in self.done.outcome.usage
            )

    def to_dict(self) -> dict[str, Any]:
        """All figures; fractions in [0, 1]."""
        return self.done.summary

    def to_pandas(self) -> Frame:
        """One row per question and condition; what deserves a look comes first."""
        return frame_of(list(self.done.outcome.items))

    def save(self, path: str | Path, overwrite: bool = False) -> list[Path]:
        """Write the folder."""
        return self.done.write(Path(path), overwrite)


def _columns(rows: list[Any]) -> dict[str, list[str]]:
    """The main table as text; columns of fractions in percent, with the interval of the first."""
    from hf_vqa_mc.scoring.table import score_cell

    def cell(row: Any, name: str) -> str:  # noqa: ANN401  a mapping
        value = row.get(name)
        if value is None:
            return "–"
        if name.startswith(SHARES):
            return score_cell(value)
        return f"{value:,}" if isinstance(value, int) else f"{value:.2f}" if isinstance(value, float) else str(value)

    names = [
        name
        for name in dict.fromkeys(name for row in rows for name in row)
        if name not in ("low", "high", "kappa_units")
    ]
    columns = {}
    for name in names:
        title = f"{name.replace('_', ' ')} %" if name.startswith(SHARES) else name.replace("_", " ")
        columns[title] = [cell(row, name) for row in rows]
        if name in ("accuracy", "label_correct"):
            columns["95% interval"] = [
                f"{score_cell(row.get('low'))} to {score_cell(row.get('high'))}" for row in rows
            ]
    return columns


@verb(StudyResultsSettings, "vqa-mc study results study.sqlite --output results")
def study_results(settings: StudyResultsSettings, progress: Progress) -> StudyResultsResult:
    """The results, written to ``output`` if given.

    Raises:
        InputError: the file is not a study, or has no answers.
    """
    from hf_vqa_mc.studies.finished import finished
    from hf_vqa_mc.studies.store import Study

    with closing(Study(settings.study)) as study:
        return StudyResultsResult(settings, finished(study, settings.passed))
