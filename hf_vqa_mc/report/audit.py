"""The result of an audit: its table in terminals, its folder of report, figures and scores of each row; next steps."""

import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from hf_vqa_mc.audits.auditing import Audit
from hf_vqa_mc.audits.comparison import Check, compare, regressions
from hf_vqa_mc.audits.findings import FEW, share_of
from hf_vqa_mc.audits.probes.priors import ORDERS
from hf_vqa_mc.audits.shortcut import UNCERTAIN, Gain, ProbeInputs, exceeding, uncertainty
from hf_vqa_mc.compiled import in_python
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash, text_hashes
from hf_vqa_mc.io.atomic import json_bytes
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.io.redaction import public_name
from hf_vqa_mc.remedies.strategies import recommended
from hf_vqa_mc.report.examples import Example, examples_of
from hf_vqa_mc.report.plain_text import interval, percent, points
from hf_vqa_mc.report.report import report_html
from hf_vqa_mc.result import FAILED, Frame, OutputResult, Report, Step, frame_of
from hf_vqa_mc.text.counted import counted
from hf_vqa_mc.text.tables import TextTable

TABLE_NOTE = (
    "Accuracy in percent, gain in percentage points. !: significantly above chance (Holm's correction). A probe with "
    "all inputs is no shortcut."
)
CROSS_NOTE = "Probes are fitted on the training split; cross-fitted: on other rows of the audited split instead."
COLUMNS = ("accuracy", "gain", "95% interval", "cross-fitted")  # of the table of shortcuts
OF_EACH = 20  # maximum number of example rows per reason
ROW_ORDERS = frozenset(one.name for one in ORDERS)  # shortcuts that no remedy of the choices removes


@dataclass(frozen=True, eq=False, repr=False)
class AuditResult(OutputResult):
    """The shortcuts of a benchmark, its findings, and the verdict."""

    audit: Audit
    earlier: Mapping[str, Any] | None = None  #: content of ``against``

    @cached_property
    def figures(self) -> dict[str, Any]:
        """All figures as fractions, as in audit.json."""
        return self.audit.as_json()

    @property
    def verdict(self) -> str:
        """Whether shortcuts solve the benchmark, in sentences."""
        return str(self.figures["verdict"])

    @property
    def shortcuts(self) -> Frame:
        """The rows of `to_pandas` that are significantly above chance, strongest first."""
        found = self.to_pandas()
        return found[found["alarm"].astype(bool)].reset_index(drop=True)

    @cached_property
    def changes(self) -> list[Check]:
        """What changed since ``against``."""
        return [] if self.earlier is None else compare(self.earlier, self.figures)

    @property
    def regressions(self) -> list[str]:
        """The shortcuts whose gain rose by more than ``fail_on_regression`` since ``against``."""
        if self.earlier is None or self.settings.fail_on_regression is None:
            return []
        return regressions(self.earlier, self.figures, self.settings.fail_on_regression)

    @property
    def exceeding(self) -> list[Gain]:
        """The shortcuts whose 95% interval lies above ``fail_above``."""
        return [] if self.settings.fail_above is None else exceeding(self.audit.gains, self.settings.fail_above)

    @property
    def exit_code(self) -> int:  # type: ignore[override]
        """3 if a shortcut exceeds ``fail_above`` or ``fail_on_regression``."""
        return FAILED if self.exceeding or self.regressions else 0

    def report(self) -> Report:
        """The table of shortcuts, the verdict, findings, files, and the command for a remedy."""
        figures = self.figures
        yield f"{self.audit.benchmark.test.location}: {counted(figures['rows'], 'row')}"
        yield from self._shortcut_table()
        yield from (check.line for check in self.changes)
        if figures["read_as"]:
            yield f"columns: {figures['read_as']}"
        lines = [figures["verdict"], figures["caveat"], *(finding["sentence"] for finding in figures["findings"])]
        missing = {one["name"]: one["reason"].partition("; ")[2] for one in figures["not_run"]}  # else in the verdict
        lines += [self._ambiguity(), *(f"To test {name}: {advice}." for name, advice in missing.items() if advice)]
        lines += [f"Left out: {name}: {reason}" for name, reason in figures["skipped_splits"].items()]
        yield from (f"\n{line}" for line in lines if line)
        yield from (f"\nwrote {path}" if path == self.written[0] else f"wrote {path}" for path in self.written)
        if exceeding := self.exceeding:
            named = ", ".join(f"{one.name} ({100 * one.estimate.low:.1f} or more)" for one in exceeding)
            yield f"gain above {100 * self.settings.fail_above:g} points: {named}"
        if regressions := self.regressions:
            yield f"regressions since {self.settings.against}: {', '.join(regressions)}"
        yield from self._next_steps()

    def to_dict(self) -> dict[str, Any]:
        """All figures, as in audit.json; fractions."""
        changes = {} if self.earlier is None else {"changes": [check._asdict() for check in self.changes]}
        return {**self.figures, **changes, "written": [str(path) for path in self.written]}

    def to_pandas(self) -> Frame:
        """One row per shortcut: name, accuracy, gain over random guessing and its 95% interval.

        Columns ``cross_fitted_*``: the same, fitted on other rows of the audited split, NaN where not computed.
        """
        return frame_of([gain.as_json() for gain in self.audit.gains])

    def _files(self) -> dict[str, bytes]:
        """The files of the folder: the report, all figures, and the scores of each row."""
        steps = list(self._next_steps(public_name))  # without folders of absolute paths
        page = report_html(self.figures, self._examples(), steps, [check.line for check in self.changes])
        return {
            "report.html": page.encode(),
            "audit.json": json_bytes(self.figures, indent=1),
            "rows.parquet": self._row_scores(),
        }

    def _shortcut_table(self) -> tuple[TextTable, str]:
        """One row per shortcut, probes with all inputs last, and what is below the table.

        The column of cross-fitted probes is left out unless one was fitted on the training split, too.
        """
        gains = sorted(self.audit.gains, key=lambda gain: not gain.sees.is_shortcut)
        is_both = any(gain.cross_fitted is not None and gain.fitted_on == "train" for gain in gains)
        columns, lines = len(COLUMNS) if is_both else len(COLUMNS) - 1, []
        for gain in gains:
            found, again = gain.estimate, gain.cross_fitted
            cells = [percent(found.accuracy)[:-1], f"{points(found.gain)}{'!' if gain.alarm else ' '}"]
            cells += [interval(vars(found)), "" if again is None else percent(again.accuracy)[:-1]]
            lines.append((gain.name, *cells[:columns]))
        lines.append(("chance", percent(float(self.audit.rows.chance.mean()))[:-1], *[""] * (columns - 1)))
        table = TextTable.of(("shortcut", *COLUMNS[:columns]), lines)
        return table, f"{TABLE_NOTE} {CROSS_NOTE}" if is_both else TABLE_NOTE

    def _ambiguity(self) -> str:
        """The share of decoys that are flagged as possibly correct, in a sentence."""
        found = self.figures["ambiguous_decoys"]
        reasons = [f"{reason}: {share_of(share, 1)}" for reason, share in found["reasons"].items() if share]
        listed = f" ({', '.join(reasons)})" if reasons else ""
        flagged = share_of(found["share"], 1) if found["share"] else "none"
        return f"Our filters flag {flagged} of {found['decoys']:,} decoys as possibly correct{listed}."

    def _next_steps(self, name: Callable[[str], str] = str) -> Iterator[Step]:
        """The remedy that suits the benchmark, or to evaluate a model and publish it.

        ``name`` makes the text in the command from the path of the dataset and of its images.
        """
        settings, done = self.settings, self.audit
        (inputs, given), path = settings.arguments(name), Path(settings.dataset_name)
        stem = path.resolve().name.split(".")[0] if path.exists() else settings.dataset_name
        title = file_name("-".join(filter(None, (stem, settings.config, settings.split))))
        ending = path.name[len(path.name.split(".")[0]) :] if path.is_file() else ""
        alarms = [one for one in done.gains if one.alarm and one.name not in ROW_ORDERS]
        if not alarms or done.exact:
            yield evaluation(done.benchmark, inputs, given)
            if path.exists() and uncertainty(done.gains) <= UNCERTAIN:
                written = read_inventory(path) is not None
                if not ({"images", "image"} & given.keys() if written else done.benchmark.left_out):
                    yield from publication(done.benchmark, path, {} if written else given, name)
            return
        if "choice_origins" in done.benchmark.test.original.column_names:
            why = "This is the output of a remedy: find a better strategy for the published benchmark, here PUBLISHED"
            other = {"strategy": "best", "output": f"{title.removesuffix('-remedied')}-best{ending}"}
            yield Step(why, "remedy", ("PUBLISHED",), other)
            return
        blind = (one for one in alarms if not one.sees.image)
        strategy, why = recommended(done.benchmark.test, max((one.estimate.gain for one in blind), default=0.0))
        own = {"seed": settings.seed} if settings.seed else {}
        best = next((one for one in alarms if one.sees is ProbeInputs.CHOICES), None)
        if best is not None and strategy.guarantees:
            now = percent(best.estimate.accuracy)
            why += f"; the choices alone are right in {now} of the rows now, and then as often as random guessing"
        options = {**given, **strategy.arguments, **own, "output": f"{title}-remedied{ending}"}
        yield Step(why, "remedy", inputs, options)

    def _examples(self) -> list[Example]:
        """Rows of high bias, with a possibly correct decoy, and a random sample; picks of probes without the image."""
        done = self.audit
        hashes = text_hashes(done.benchmark.test.rows["question_id"].to_pylist())
        with in_python(len(hashes) <= FEW):
            shuffled = np.argsort(order_keys(purpose_hash(0, "examples"), 0, hashes), kind="stable")
        reasons = {
            "a decoy is possibly correct": shuffled[done.possibly_correct[shuffled].any(axis=1)],
            "random sample": shuffled,
        }
        if done.bias is not None:
            by_bias = shuffled[np.argsort(-done.bias[shuffled], kind="stable")]
            reasons = {"high bias: question and choices predict the target": by_bias, **reasons}
        notes: dict[int, str] = {}
        for note, some in reasons.items():
            notes |= dict.fromkeys([row for row in some[: 2 * OF_EACH].tolist() if row not in notes][:OF_EACH], note)
        rows, bias = list(notes), {} if done.bias is None else {row: float(done.bias[row]) for row in notes}
        return examples_of(done.benchmark.test, rows, picked=done.picked_blind(rows), bias=bias, notes=notes)

    def _row_scores(self) -> bytes:
        """A Parquet file: id, bias, number of possibly correct decoys, and score of each shortcut, for each row."""
        done = self.audit
        columns: dict[str, pa.Array] = {"question_id": done.benchmark.test.rows["question_id"].combine_chunks()}
        if done.bias is not None:
            columns["bias"] = pa.array(done.bias, pa.float32(), from_pandas=True)
        columns["ambiguous_decoys"] = pa.array(done.possibly_correct.sum(axis=1), pa.int16())
        for gain in sorted(done.gains, key=lambda one: one.name):
            columns[gain.name] = pa.array(gain.scores, pa.float32(), from_pandas=True)
        content = io.BytesIO()
        parquet.write_table(pa.table(columns), content)
        return content.getvalue()


def evaluation(benchmark: Benchmark, inputs: tuple[object, ...], given: Mapping[str, object]) -> Step:
    """How to evaluate a model, of rows without images with the question and without."""
    asked, what = {**given, "model": "MODEL"}, "image"
    if benchmark.test.images is None:
        asked["inputs"], what = ("no-image", "choices-only"), "question"
    return Step(f"Evaluate a model with the {what} and without", "evaluate", inputs, asked)


def publication(
    benchmark: Benchmark, path: Path, read_with: Mapping[str, Any], name: Callable[[str], str] = str
) -> list[Step]:
    """How to push a file or folder; none if images are missing, or it is read with options that a push lacks."""
    unused = "split", "columns"  # of a push, which sends all rows as they are
    given = {key: one for key, one in read_with.items() if key not in unused}
    if not benchmark.has_all_images or given.keys() - {"images", "image"}:
        return []
    title = re.sub(r"[\W_]+", "-", path.resolve().name.split(".")[0], flags=re.ASCII).strip("-") or "benchmark"
    return [Step("Publish it", "push", ("dataset", f"NAMESPACE/{title}"), {"folder": name(str(path)), **given})]
