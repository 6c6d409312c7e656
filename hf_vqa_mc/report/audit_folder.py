"""The folders of reports; that of an audit: report, figures as JSON, scores of each row; its tables in terminals."""

import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from hf_vqa_mc.audits.auditing import Audit
from hf_vqa_mc.audits.findings import FEW, share_of
from hf_vqa_mc.audits.probes.priors import ORDERS
from hf_vqa_mc.audits.settings import AUDITED
from hf_vqa_mc.audits.shortcut import UNCERTAIN, ProbeInputs, uncertainty
from hf_vqa_mc.compiled import in_python
from hf_vqa_mc.data.benchmark import Benchmark
from hf_vqa_mc.data.inventory import read_inventory
from hf_vqa_mc.data.options import BenchmarkOptions
from hf_vqa_mc.decoys.rng import order_keys, purpose_hash, text_hashes
from hf_vqa_mc.io.atomic import json_bytes, publish
from hf_vqa_mc.io.hub_folder import file_name
from hf_vqa_mc.remedies.strategies import recommended
from hf_vqa_mc.report.examples import Example, examples_of
from hf_vqa_mc.report.pages import staged_report
from hf_vqa_mc.report.plain_text import interval, percent, points
from hf_vqa_mc.report.report import report_html
from hf_vqa_mc.result import Step
from hf_vqa_mc.text.tables import TextTable

REPORT, FIGURES, ROWS = "report.html", "audit.json", "rows.parquet"
TABLE_NOTE = (
    "Accuracy in percent, gain in percentage points. !: significantly above chance (Holm's correction). A probe with "
    "all inputs is no shortcut."
)
CROSS_NOTE = "Probes are fitted on the training split; cross-fitted: on other rows of the audited split instead."
COLUMNS = ("accuracy", "gain", "95% interval", "cross-fitted")  # of the table of shortcuts
OF_EACH = 20  # maximum number of example rows per reason
ROW_ORDERS = frozenset(one.name for one in ORDERS)  # shortcuts that no remedy of the choices removes
BIASED = "high bias: question and choices predict the target"
AMBIGUOUS = "a decoy is possibly correct"
AT_RANDOM = "random sample"


def next_steps(settings: BenchmarkOptions, done: Audit, name: Callable[[str], str] = str) -> list[Step]:
    """What to do after an audit: the remedy that suits the benchmark, or to evaluate a model and publish it.

    ``name`` makes the text in the command from the path of the dataset and of its images.
    """
    (inputs, given), path = settings.arguments(name), Path(settings.dataset_name)
    stem = path.resolve().name.split(".")[0] if path.exists() else settings.dataset_name
    title = file_name("-".join(filter(None, (stem, settings.config, settings.split))))
    ending = path.name[len(path.name.split(".")[0]) :] if path.is_file() else ""
    alarms = [one for one in done.gains if one.alarm and one.name not in ROW_ORDERS]
    if alarms and not done.exact:
        if "choice_origins" in done.benchmark.test.original.column_names:
            why = "This is the output of a remedy: find a better strategy for the published benchmark, here PUBLISHED"
            other = {"strategy": "best", "output": f"{title.removesuffix('-remedied')}-best{ending}"}
            return [Step(why, "remedy", ("PUBLISHED",), other)]
        blind = (one for one in alarms if not one.sees.image)
        strategy, why = recommended(done.benchmark.test, max((one.estimate.gain for one in blind), default=0.0))
        own = {"seed": seed} if (seed := getattr(settings, "seed", 0)) else {}
        best = next((one for one in alarms if one.sees is ProbeInputs.CHOICES), None)
        if best is not None and strategy.guarantees:
            now = percent(best.estimate.accuracy)
            why += f"; the choices alone are right in {now} of the rows now, and then as often as random guessing"
        output = f"{title}-remedied{ending}"
        return [Step(why, "remedy", inputs, {**given, **strategy.arguments, **own, "output": output})]
    steps = [evaluation(done.benchmark, inputs, given)]
    if path.exists() and uncertainty(done.gains) <= UNCERTAIN:
        written = read_inventory(path) is not None
        if not ({"images", "image"} & given.keys() if written else done.benchmark.left_out):
            steps += publication(done.benchmark, path, {} if written else given, name)
    return steps


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


def write_audit(
    folder: Path, done: Audit, steps: Sequence[Step] = (), overwrite: bool = False, changes: Sequence[str] = ()
) -> list[Path]:
    """Write an audit atomically: report.html with steps and changes since a release, audit.json and rows.parquet."""
    figures = done.as_json()
    page = report_html(figures, _examples(done), steps, changes)
    contents = {REPORT: page.encode(), FIGURES: json_bytes(figures, indent=1), ROWS: _row_scores(done)}
    return publish(staged_report(folder, AUDITED, contents, overwrite))


def _examples(done: Audit) -> list[Example]:
    """Rows of high bias, with a possibly correct decoy, and a random sample; picks of the probes without the image."""
    hashes = text_hashes(done.benchmark.test.rows["question_id"].to_pylist())
    with in_python(len(hashes) <= FEW):
        shuffled = np.argsort(order_keys(purpose_hash(0, "examples"), 0, hashes), kind="stable")
    reasons = {AMBIGUOUS: shuffled[done.possibly_correct[shuffled].any(axis=1)], AT_RANDOM: shuffled}
    if done.bias is not None:
        reasons = {BIASED: shuffled[np.argsort(-done.bias[shuffled], kind="stable")], **reasons}
    notes: dict[int, str] = {}
    for note, some in reasons.items():
        notes |= dict.fromkeys([row for row in some[: 2 * OF_EACH].tolist() if row not in notes][:OF_EACH], note)
    rows, bias = list(notes), {} if done.bias is None else {row: float(done.bias[row]) for row in notes}
    return examples_of(done.benchmark.test, rows, picked=done.picked_blind(rows), bias=bias, notes=notes)


def _row_scores(done: Audit) -> bytes:
    """A Parquet file: id, bias, number of possibly correct decoys, and score of each shortcut, for each row."""
    columns: dict[str, pa.Array] = {"question_id": done.benchmark.test.rows["question_id"].combine_chunks()}
    if done.bias is not None:
        columns["bias"] = pa.array(done.bias, pa.float32(), from_pandas=True)
    columns["ambiguous_decoys"] = pa.array(done.possibly_correct.sum(axis=1), pa.int16())
    for gain in sorted(done.gains, key=lambda one: one.name):
        columns[gain.name] = pa.array(gain.scores, pa.float32(), from_pandas=True)
    content = io.BytesIO()
    parquet.write_table(pa.table(columns), content)
    return content.getvalue()


def shortcut_table(done: Audit) -> tuple[TextTable, str]:
    """One row per shortcut, accuracy and gain, probes with all inputs last; and the sentences below the table.

    The column of cross-fitted probes is left out unless one was fitted on the training split, too.
    """
    is_both = any(gain.cross_fitted is not None and gain.fitted_on == "train" for gain in done.gains)
    columns, lines = len(COLUMNS) if is_both else len(COLUMNS) - 1, []
    for gain in sorted(done.gains, key=lambda gain: not gain.sees.is_shortcut):
        found, again = gain.estimate, gain.cross_fitted
        cells = [percent(found.accuracy)[:-1], f"{points(found.gain)}{'!' if gain.alarm else ' '}"]
        cells += [interval(vars(found)), "" if again is None else percent(again.accuracy)[:-1]]
        lines.append((gain.name, *cells[:columns]))
    lines.append(("chance", percent(float(done.rows.chance.mean()))[:-1], *[""] * (columns - 1)))
    table = TextTable.of(("shortcut", *COLUMNS[:columns]), lines)
    return table, f"{TABLE_NOTE} {CROSS_NOTE}" if is_both else TABLE_NOTE


def ambiguity(figures: Mapping[str, Any]) -> str:
    """The share of decoys that are flagged as possibly correct, in a sentence."""
    found = figures["ambiguous_decoys"]
    reasons = [f"{reason}: {share_of(share, 1)}" for reason, share in found["reasons"].items() if share]
    listed = f" ({', '.join(reasons)})" if reasons else ""
    flagged = share_of(found["share"], 1) if found["share"] else "none"
    return f"Our filters flag {flagged} of {found['decoys']:,} decoys as possibly correct{listed}."
