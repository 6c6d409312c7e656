"""``hf_vqa_mc.survey`` and ``vqa-mc survey``: all benchmarks of a folder in one table."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, prefixed
from hf_vqa_mc.options import FOLDER, option, output_file, overwrite_option, settings
from hf_vqa_mc.result import Frame, OutputResult, Report, frame_of, verb
from hf_vqa_mc.text.counted import percent
from hf_vqa_mc.text.tables import TextTable, csv_bytes

OPTIONS, EXAMPLE = ".options.json", '{"question": "prompt", "choices": ["A", "B", "C", "D"]}'
COLUMNS = (
    *("file", "sha256", "rows", "choices", "chance"),
    *("choices_alone", "choices_alone_low", "choices_alone_high", "choices_alone_alarm"),
    *("question", "question_low", "question_high", "question_alarm"),
    *("errors", "decoys_changed", "distance_before", "distance_after", "better", "seconds", "problem"),
)
NOTES = (
    "Choices alone, question + choices: accuracy of the strongest of all probes, with its 95% interval clustered by "
    "image. An asterisk: significantly above chance, corrected for the number of probes; without one, it may be luck.",
    "Errors: rows that vqa-mc lint finds unusable. Changed: decoys, by vqa-mc remedy. Distance: mean distance of its "
    "report probes from chance before and after, in points; only a better benchmark is written.",
)


@settings
class SurveySettings:
    """Audit, check and repair every benchmark of a folder, and show them in one table.

    The folder holds benchmark files, and folders of vqa-mc build, as vqa-mc audit reads them. Their options, such as
    columns, are read from FILE.options.json: {"question": "prompt", "choices": ["A", "B", "C", "D"]}. Rows that cannot
    be read are left out and counted as errors. Images are not read, and no benchmark is changed.
    """

    folder: Path = option("Folder of benchmarks.", kw_only=False, check=FOLDER)
    repair: bool = option("Also repair each benchmark, which takes most of the time.", default=True)
    output: Path | None = output_file(
        "File for the table, by its suffix: .html, .csv, .json or .md.", ".html", ".csv", ".json", ".md"
    )
    overwrite: bool = overwrite_option()


@dataclass(frozen=True, eq=False, repr=False)
class SurveyResult(OutputResult):
    """The benchmarks of a folder."""

    rows: list[dict[str, Any]]

    @property
    def table(self) -> TextTable:
        """A line per benchmark, in percent."""
        return TextTable.of(list(_cells({})), [list(_cells(row).values()) for row in self.rows])

    @property
    def _problems(self) -> list[str]:
        return [f"{row['file']}: {row['problem']}" for row in self.rows if row["problem"]]

    def report(self) -> Report:
        """The table, what its columns mean, benchmarks that cannot be read, and the file."""
        yield self.table
        yield from NOTES
        yield from self._problems
        yield from (f"wrote {path}" for path in self.written)

    def to_dict(self) -> dict[str, Any]:
        """One record per benchmark; fractions."""
        from hf_vqa_mc.version import __version__

        return {"version": __version__, "benchmarks": self.rows, "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per benchmark; fractions."""
        return frame_of(self.rows, columns=COLUMNS)

    def _content(self, suffix: str) -> bytes:
        if suffix == ".csv":
            return csv_bytes(self.to_pandas())
        if suffix == ".json":
            return super()._content(suffix)
        if suffix == ".md":
            return "\n\n".join([self.table.to_markdown(), *NOTES, *self._problems, ""]).encode()
        from hf_vqa_mc.report.pages import rendered, table_values
        from hf_vqa_mc.report.plain_text import plain

        notes = [*NOTES, *map(plain, self._problems)]
        return rendered(
            "survey.html.jinja", {"table": table_values("Benchmarks", self.table), "notes": notes}
        ).encode()


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    """The cells of a line; a dash for what is unknown."""

    def figure(name: str) -> str:
        return percent(row.get(name)).removesuffix("%")

    def interval(name: str) -> str:
        limits = f"{'*' if row.get(f'{name}_alarm') else ''} ({figure(f'{name}_low')} to {figure(f'{name}_high')})"
        return figure(name) + (limits if row.get(name) is not None else "")

    better, before = row.get("better"), row.get("distance_before")
    verdict = "–" if better is None else "yes" if better else "no" if row["decoys_changed"] else "unchanged"
    return {
        "file": str(row.get("file")),
        "rows": f"{row.get('rows') or 0:,}",
        "choices": str(row.get("choices") or "–"),
        "chance": figure("chance"),
        "choices alone": interval("choices_alone"),
        "question + choices": interval("question"),
        "errors": f"{row.get('errors') or 0:,}",
        "changed": percent(row.get("decoys_changed")),
        "distance": "–" if before is None else f"{figure('distance_before')} → {figure('distance_after')}",
        "better": verdict,
        "s": f"{row.get('seconds') or 0:.0f}",
    }


@verb(
    SurveySettings,
    "vqa-mc survey benchmarks --output survey.html",
    "vqa-mc survey benchmarks --no-repair --json",
)
def survey(settings: SurveySettings, progress: Progress) -> SurveyResult:
    """A row per benchmark; one that cannot be read has the reason as ``problem``. Written to ``output`` if given.

    Raises:
        InputError: the folder has no files, or a file of options is no JSON object.
    """
    entries = sorted(one for one in settings.folder.iterdir() if not one.name.startswith("."))
    found = [one for one in entries if not one.name.endswith(OPTIONS)]
    if not found:
        raise InputError(f"{settings.folder}: no files; expected benchmark files, or folders that vqa-mc build wrote")
    given = [_options(path) for path in found]
    rows = []
    for number, options in enumerate(given):
        progress("benchmarks", number, len(given))
        rows.append(_row(options, settings.repair, prefixed(progress, Path(options.dataset_name).name)))
    progress("benchmarks", len(given), len(given))
    return SurveyResult(settings, rows)


def _options(benchmark: Path) -> BenchmarkOptions:
    """The options with which a benchmark is read."""
    path = Path(f"{benchmark}{OPTIONS}")
    try:
        found = json.loads(path.read_text("utf-8")) if path.is_file() else {}
        return BenchmarkOptions(benchmark, **{"skip_faulty": True, **found})
    except (InputError, TypeError, ValueError) as error:
        raise InputError(f"{path}: {error}; expected options of vqa-mc audit, such as {EXAMPLE}") from error


def _row(options: BenchmarkOptions, repair: bool, progress: Progress) -> dict[str, Any]:
    """The figures of a benchmark, or why it has none."""
    from hf_vqa_mc.audits.auditing import audit
    from hf_vqa_mc.audits.checks import lint_benchmark
    from hf_vqa_mc.audits.shortcut import ProbeInputs
    from hf_vqa_mc.data.reading import load
    from hf_vqa_mc.io.outputs import sha256_of
    from hf_vqa_mc.verbs.remedy import remedy

    path = Path(options.dataset_name)
    row: dict[str, Any] = dict.fromkeys(COLUMNS) | {"file": path.name, "problem": ""}
    started = time.perf_counter()
    try:
        row["sha256"] = sha256_of(path) if path.is_file() else ""
        found = audit(load(options, progress), None, progress)
        sizes, chance = found.rows.sizes, float(found.rows.chance.mean())
        row |= {"rows": len(sizes), "chance": chance}
        row["choices"] = "–".join(map(str, sorted({int(sizes.min()), int(sizes.max())})))
        for name, sees in (("choices_alone", ProbeInputs.CHOICES), ("question", ProbeInputs.QUESTION)):
            if of_inputs := [one for one in found.gains if one.sees is sees]:
                best = max(of_inputs, key=lambda one: one.estimate.gain)
                low, high = chance + best.estimate.low, chance + best.estimate.high
                row |= {name: best.estimate.accuracy, f"{name}_low": low, f"{name}_high": high}
                row[f"{name}_alarm"] = best.alarm
        counts = lint_benchmark(options, None, True, progress).counts()
        row["errors"] = sum(number for check, number in counts.items() if check.severity == "error")
        if repair:
            fixed = remedy.verb.run(remedy.verb.settings(**vars(options), strategy="repair"), progress)
            statistics, judged = fixed.statistics, fixed.comparison
            row["decoys_changed"] = statistics["changed"] / max(statistics["decoys"], 1)
            row |= {"better": fixed.better, "problem": fixed.unjudged}
            if judged is not None:
                mean = judged.mean
                row |= {"distance_before": mean.before - mean.chance, "distance_after": mean.after - mean.chance_after}
    except (InputError, OSError) as error:
        row["problem"] = str(error)
    return row | {"seconds": round(time.perf_counter() - started, 1)}
