"""``vqa-mc score``: a model's predictions to scores."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hf_vqa_mc.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from hf_vqa_mc.metrics.figures import Table
    from hf_vqa_mc.metrics.score import Scored

NARROW = 60
"""Columns of a terminal in which tables have no room to spare around their cells."""
NAME_WIDTH = 8
"""Names are folded to no less; the terminal wraps a table that is too wide for it even so."""
READING, SCHEME, WRITING = "Reading", "The scheme", "Writing"


def score(
    predictions: Annotated[
        Path,
        typer.Argument(
            help="The model's answers: json (a list of records, or an object id -> answer), jsonl, csv or parquet, "
            "also packed; columns question_id (or questionId, qa_id) and answer (text), prediction (text, or the "
            "place of the choice) or label (the place).",
            show_default=False,
        ),
    ],
    dataset: Annotated[
        str,
        typer.Argument(
            help="A folder of vqa-mc build or a dataset on the Hub; or a publisher's file: VQA, VQA2 or TDIUC "
            "annotations, GQA questions (a folder for several parts).",
            show_default=False,
        ),
    ],
    config: Annotated[
        str | None, typer.Argument(help="Of a dataset with several, such as cocoqa_iou_qou.", show_default=False)
    ] = None,
    split: Annotated[
        str | None,
        typer.Option(
            help="By default test, else validation, else the only one.", rich_help_panel=READING, show_default=False
        ),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option(help="Of the predictions.", rich_help_panel=READING, show_default=False)
    ] = None,
    answer_column: Annotated[
        str | None, typer.Option(help="Of the predictions.", rich_help_panel=READING, show_default=False)
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            help="mc_accuracy, vqa_accuracy, vqa_pair_accuracy, tdiuc_mpt, gqa_score or wups instead of what the "
            "dataset calls for; may be repeated.",
            rich_help_panel=SCHEME,
            show_default=False,
        ),
    ] = None,
    protocol: Annotated[
        str, typer.Option(help="VQA's official program: of 2021, or of 2017.", rich_help_panel=SCHEME)
    ] = "2021",
    questions: Annotated[
        Path | None,
        typer.Option(
            help="VQA: questions file, for the multiple-choice task's choices and for --pairs. TDIUC: for questions "
            "that are asked absurdly elsewhere.",
            rich_help_panel=SCHEME,
            show_default=False,
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(help="VQA2: complementary pairs, scored too.", rich_help_panel=SCHEME, show_default=False),
    ] = None,
    answer_vocabulary: Annotated[
        Path | None,
        typer.Option(
            help="TDIUC: the answers a model can give, csv answer,index or a json list.",
            rich_help_panel=SCHEME,
            show_default=False,
        ),
    ] = None,
    choices: Annotated[
        Path | None,
        typer.Option(
            help="GQA: choices file, for validity and plausibility.", rich_help_panel=SCHEME, show_default=False
        ),
    ] = None,
    attentions: Annotated[
        Path | None,
        typer.Option(
            help="GQA: the model's attention maps, for grounding.", rich_help_panel=SCHEME, show_default=False
        ),
    ] = None,
    scene_graphs: Annotated[
        Path | None, typer.Option(help="GQA: scene graphs, for grounding.", rich_help_panel=SCHEME, show_default=False)
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Tell the results as JSON, unrounded.", rich_help_panel=WRITING)
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="Write that JSON to this file.", rich_help_panel=WRITING, show_default=False)
    ] = None,
    per_question: Annotated[
        bool,
        typer.Option("--per-question", help="Each question's score in the JSON, too.", rich_help_panel=WRITING),
    ] = False,
    official: Annotated[
        Path | None,
        typer.Option(
            help="Folder for the files that VQA's, TDIUC's or GQA's own program reads and writes.",
            rich_help_panel=WRITING,
            show_default=False,
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(help="What those files call the model.", rich_help_panel=WRITING, show_default=False),
    ] = None,
) -> None:
    """Score a model's predictions as the dataset's own program does.

    Example: vqa-mc score predictions.json vqa_mc cocoqa_iou_qou

    Example: vqa-mc score results.json v2_mscoco_val2014_annotations.json --official submission

    Rows with the answers of several annotators (vqa, vqa2) get consensus accuracy, others the accuracy of picking the
    target; VQA, TDIUC and GQA files, and the open-ended configs of the latter two, get their own scores. Every
    question needs a prediction.
    """
    from hf_vqa_mc.io.atomic_file import check_folder, check_place, write_json
    from hf_vqa_mc.io.progress import steps_on_stderr
    from hf_vqa_mc.metrics.beside_files import Beside
    from hf_vqa_mc.metrics.figures import as_json as results
    from hf_vqa_mc.metrics.official import write_official
    from hf_vqa_mc.metrics.score import inputs_of, score_predictions

    if name is not None and official is None:
        raise InputError(f"--name {name} is for the files of --official DIR; add that, or leave it out")
    if per_question and output is None and not as_json:
        raise InputError("--per-question is for the JSON; add --json or --output FILE")
    beside = Beside(questions, pairs, answer_vocabulary, choices, attentions, scene_graphs)
    if output is not None:
        check_place(output, "--output", inputs_of(predictions, dataset, beside))
    if official is not None:
        check_folder(official, "--official")
    with steps_on_stderr() as progress:
        scored = score_predictions(
            predictions,
            dataset,
            config,
            split=split,
            id_column=id_column,
            answer_column=answer_column,
            metrics=metric or (),
            beside=beside,
            protocol=protocol,
            per_question=per_question,
            official=official is not None,
            progress=progress,
        )
    taken = [] if output is None else [output.absolute()]
    written = write_official(official, scored, name, taken) if official is not None else []
    told = results(scored)
    if output is not None:
        write_json(output, told, indent=1)
        written.append(output)
    if as_json:
        sys.stdout.write(json.dumps(told, indent=1) + "\n")
    else:
        show(scored, written)


def show(scored: "Scored", written: list[Path]) -> None:
    """The scores, for people: a table each scheme, and what was written."""
    from rich.console import Console

    from hf_vqa_mc.metrics.figures import tables

    console = Console()
    console.print(f"{scored.predictions} on {scored.asked.place}", markup=False, highlight=False, soft_wrap=True)
    for told in tables(scored):
        console.print(told.title, style="italic", markup=False, highlight=False, soft_wrap=True)
        show_table(console, told)
        if told.missing:
            missing = "; ".join(f"{what} (needs {needed})" for what, needed in told.missing.items())
            console.print(f"not computed: {missing}", markup=False, highlight=False, soft_wrap=True)
    for path in written:
        console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)


def show_table(console: "Console", told: "Table") -> None:
    """A table in which names are folded where it is narrow, but numbers are whole: one that is cut is another."""
    from rich.table import Table as Drawn
    from rich.text import Text

    lines = [line for group in told.groups for line in group.lines]
    shown = [("%", "score"), ("± s.e.", "stderr"), (told.other, "other"), ("questions", "questions")]
    kept = [(heading, field) for heading, field in shown if any(getattr(line, field) for line in lines)]
    around = 1 if console.width > NARROW else 0
    table = Drawn(padding=(0, around))
    table.add_column("", overflow="fold")
    needed = NAME_WIDTH + (2 * around + 1) * (1 + len(kept)) + 1
    for heading, field in kept:
        table.add_column(heading, justify="right", no_wrap=True)
        needed += max(len(heading), *(len(getattr(line, field)) for line in lines))
    for group in [group for group in told.groups if group.lines]:
        if group.label:
            table.add_row(group.label, style="bold")
        for line in group.lines:
            cells = (getattr(line, field) for _, field in kept)
            table.add_row(Text(_printable(line.name)), *cells, end_section=line is group.lines[-1])
    table.width = needed if console.width < needed else None
    console.print(table, crop=False)


def _printable(name: str) -> str:
    """A name out of a dataset, without what a terminal would take for orders."""
    return "".join(sign if sign.isprintable() else "\N{REPLACEMENT CHARACTER}" for sign in name)
