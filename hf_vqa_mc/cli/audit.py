"""``vqa-mc audit``: which shortcuts solve a multiple-choice benchmark."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hf_vqa_mc.cli import benchmark_options as given

if TYPE_CHECKING:
    from rich.console import Console

    from hf_vqa_mc.audit import Audit
    from hf_vqa_mc.audit.verdict import Gain

PROBES, RUNNING = "Probes", "Running"
FOUND = 3
"""Exit code where a shortcut gains more than --fail-above."""


def audit(
    dataset: given.DatasetName,
    config: given.ConfigName = None,
    split: given.SplitName = None,
    question: given.QuestionColumn = None,
    choices: given.ChoicesColumns = None,
    label: given.LabelColumn = None,
    label_from: given.LabelFrom = None,
    image: given.ImageColumn = None,
    question_type: given.TypeColumn = None,
    images: given.ImagesFolder = None,
    probes: Annotated[bool, typer.Option(help="Train probes, or only count.", rich_help_panel=PROBES)] = True,
    probe_rows: Annotated[
        int, typer.Option(help="Rows that a probe learns from at most.", rich_help_panel=PROBES)
    ] = 20_000,
    time_limit: Annotated[
        float, typer.Option(help="Seconds after which no further probe begins to learn.", rich_help_panel=PROBES)
    ] = 600.0,
    word_vectors: Annotated[
        str | None,
        typer.Option(
            help="A word2vec, GloVe or .kv file, a gensim-data name, or corpus: for decoys that are near the target, "
            "and for --mlps.",
            rich_help_panel=PROBES,
            show_default=False,
        ),
    ] = None,
    mlps: Annotated[
        bool, typer.Option("--mlps", help="Train the papers' MLPs, too, which takes minutes.", rich_help_panel=PROBES)
    ] = False,
    features: Annotated[
        Path | None,
        typer.Option(
            help="Folder of vqa-mc features for the probes that see images; by default a few numbers of their pixels.",
            rich_help_panel=PROBES,
            show_default=False,
        ),
    ] = None,
    language_model: Annotated[
        str | None,
        typer.Option(
            help="Ask a causal language model, on the Hub or in a folder, without the image.",
            rich_help_panel=PROBES,
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice.", rich_help_panel=PROBES)] = 0,
    fail_above: Annotated[
        float | None,
        typer.Option(
            help="End with exit code 3 if a shortcut certainly gains more than this part of the rows over chance, "
            "such as 0.05: if its whole 95% interval lies above.",
            rich_help_panel=RUNNING,
            show_default=False,
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            help="Folder for report.html, audit.json and rows.parquet; by default vqa_mc_audit/NAME.",
            rich_help_panel=RUNNING,
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Tell the figures as JSON.", rich_help_panel=RUNNING)
    ] = False,
) -> None:
    """See which shortcuts solve a multiple-choice benchmark: without the image, the question, or both.

    Example: vqa-mc audit vqa_mc easyvqa_iou_qou

    Example: vqa-mc audit benchmark.tsv --fail-above 0.05

    Rules that only count (the longest choice, the first, the one that is most often right elsewhere ...) and probes
    that learn are held against chance. They learn from the training split, else from other parts of the same rows.
    """
    from hf_vqa_mc.audit import AuditSettings
    from hf_vqa_mc.audit import audit as audit_benchmark
    from hf_vqa_mc.audit.verdict import exceeding
    from hf_vqa_mc.benchmarks import read_benchmark
    from hf_vqa_mc.cli.progress import steps_on_stderr
    from hf_vqa_mc.errors import InputError
    from hf_vqa_mc.pages.audit_folder import AUDITS, check_audit_folder, folder_name, write_audit

    if fail_above is not None and not 0 <= fail_above < 1:
        raise InputError(f"--fail-above {fail_above}: expected a part of the rows from 0 to less than 1, such as 0.05")
    settings = AuditSettings(probes, probe_rows, time_limit, word_vectors, mlps, features, language_model, seed)
    folder = output or AUDITS / folder_name(dataset, config, split)
    check_audit_folder(folder, "--output", [dataset, *([images] if images else [])])
    columns = given.columns_of(question, choices, label, image, question_type, label_from)
    with steps_on_stderr() as progress:
        benchmark = read_benchmark(dataset, config, split=split, columns=columns, images=images, progress=progress)
        done = audit_benchmark(benchmark, settings, progress)
        written = write_audit(folder, done, progress=progress)
    if as_json:
        sys.stdout.write(json.dumps({**done.as_json(), "written": [str(path) for path in written]}, indent=1) + "\n")
    else:
        show(done, written)
    too_much = [] if fail_above is None else exceeding(done.gains, fail_above)
    if too_much:
        named = ", ".join(f"{one.shortcut.name} ({100 * one.estimate.low:.1f} or more)" for one in too_much)
        print(f"vqa-mc: above {100 * (fail_above or 0):g} points: {named}", file=sys.stderr)  # noqa: T201
        raise typer.Exit(FOUND)


def show(done: "Audit", written: list[Path]) -> None:
    """What was found, for people."""
    from rich.console import Console

    console = Console()
    told = done.as_json()
    split = done.benchmark.test
    console.print(f"{split.place}: {told['rows']:,} rows", markup=False, highlight=False, soft_wrap=True)
    show_shortcuts(console, [done])
    if told["read_as"]:
        console.print(f"read: {told['read_as']}", markup=False, highlight=False, soft_wrap=True)
    told_lines = [
        told["verdict"],
        told["caveat"],
        *(finding["sentence"] for finding in told["findings"]),
        ambiguity(told),
    ]
    told_lines += [f"Not run: {one['name']} ({one['why']})." for one in told["not_run"]]
    told_lines += [f"Split {name} was left out: {why}" for name, why in done.benchmark.left_out.items()]
    for line in filter(None, told_lines):
        console.print(f"\n{line}", markup=False, highlight=False)
    console.print("")
    for path in written:
        console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)


def show_shortcuts(console: "Console", audits: "list[Audit]") -> None:
    """A line a shortcut: what it reaches and gains; before and after a remedy where there are two audits."""
    from rich.table import Table
    from rich.text import Text

    two = len(audits) == 2
    table = Table()
    table.add_column("one who", overflow="fold")
    for moment in ("before\n", "after\n") if two else ("",):
        for heading in ("right", "gain") if two else ("right", "gain", "95% interval"):
            table.add_column(f"{moment}{heading}", justify="right", no_wrap=True)
    found = [{gain.shortcut.name: gain for gain in done.gains} for done in audits]
    for name in dict.fromkeys(name for gains in found for name in gains):
        table.add_row(Text(name), *(cell for gains in found for cell in _cells(gains.get(name), two)))
    chances = [f"{100 * float(done.rows.chance.mean()):.1f}" for done in audits]
    table.add_row("chance", *(cell for chance in chances for cell in ([chance, ""] if two else [chance, "", ""])))
    console.print(table, crop=False)
    console.print(
        "percent of the rows, points; ! beats chance, though so many rules were tried (Holm); what knows everything "
        "takes no shortcut",
        markup=False,
        highlight=False,
    )


def _cells(gain: "Gain | None", short: bool) -> list[str]:
    """What a shortcut reaches; empty where the rule says nothing."""
    if gain is None:
        return [""] * (2 if short else 3)
    found = gain.estimate
    reached = [f"{100 * found.accuracy:.1f}", f"{100 * found.gain:+.1f}{'!' if gain.alarm else ' '}"]
    return reached if short else [*reached, f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"]


def ambiguity(told: dict[str, object]) -> str:
    """How many decoys may be right, in a sentence."""
    from hf_vqa_mc.audit.finding import percent

    found = told["may_be_right"]
    assert isinstance(found, dict)  # noqa: S101  so it is made
    reasons = [f"{reason} {percent(share, 1)}" for reason, share in found["reasons"].items() if share]
    listed = f" ({', '.join(reasons)})" if reasons else ""
    if not found["share"]:
        return f"None of {found['decoys']:,} decoys seems to be right, too{listed}."
    return f"Of {found['decoys']:,} decoys {percent(found['share'], 1)} may be right, too{listed}."
