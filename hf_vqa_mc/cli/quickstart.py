"""``vqa-mc quickstart``: all of it on a small real dataset, offline, to see it work."""

import contextlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from hf_vqa_mc.cli.quickstart_models import Results, how_to_read, model_steps, table_of, train_models
from hf_vqa_mc.dataset.settings import RUNNING
from hf_vqa_mc.verbs.build import BuildResult, next_steps

if TYPE_CHECKING:
    import numpy as np
    from datasets import DatasetDict
    from numpy.typing import NDArray
    from pyarrow import Table
    from rich.table import Table as RichTable

    from hf_vqa_mc.decoys.settings import Settings, Ties
    from hf_vqa_mc.io.progress import Progress

SOURCE, SHOWN = "easyvqa", "easyvqa_iou_qou"
COMPARED = "easyvqa_random_uniform"
"""What the report shows beside it: decoys as a benchmark has them that nobody thought about."""
PROBE_ROWS = 5_000
PICTURED = 4
"""Questions on the card."""

RULES = (
    "By counting the training split: the choice that is most often right for how often it is offered (eq. 2 of Chao "
    "et al. 2018), and the same among questions that begin with the same words."
)

Figures = dict[str, Any]
"""Of a config's test split: ``choices`` a row, ``rows``, and the accuracies ``chance``, ``answer_prior`` and
``question_answer_prior`` in [0, 1]; the last four also of the questions answered ``yes_no`` and of the ``other``."""


def quickstart(
    output: Annotated[Path, typer.Option(help="Dataset folder to make, or to add easy-VQA to.")] = Path("vqa_mc"),
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    ties: Annotated[
        str, typer.Option(help="As in vqa-mc build: equally similar questions by position, or random starts.")
    ] = "position",
    no_train: Annotated[
        bool, typer.Option("--no-train", help="Leave the models out, which take most of the time.")
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Threads that build; one a core at most, and by default.",
            rich_help_panel=RUNNING,
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Tell the figures as JSON.", rich_help_panel=RUNNING)
    ] = False,
) -> None:
    """Build easy-VQA's variants, see what can be had without looking at an image, and train small models on them.

    Example: vqa-mc quickstart --output vqa_mc

    The 48,248 questions and 5,000 images come with the package easy-vqa; no network is needed.
    It takes some minutes; typed again, it goes on with the features and models that it left beside the folder.
    """
    from hf_vqa_mc.dataset.settings import BuildSettings
    from hf_vqa_mc.decoys.settings import Settings
    from hf_vqa_mc.io.progress import steps_on_stderr
    from hf_vqa_mc.report.audit_folder import check_audit_folder
    from hf_vqa_mc.sources.easyvqa import package_folder
    from hf_vqa_mc.verbs.build import run_build

    settings, package = Settings(seed=seed, ties=cast("Ties", ties)), package_folder()
    check_audit_folder(report_folder(output), "the report's folder", [output])
    results: Results = {}
    with steps_on_stderr() as progress:
        made = BuildSettings(
            source=SOURCE,
            output=output,
            images=package,
            ties=cast("Ties", ties),
            seed=seed,
            workers=workers,
        )
        built = run_build(made, progress)
        loaded = load_back(built, progress)
        figures = measure(loaded, progress)
        report = audit_shown(built, progress)
        if not no_train:
            results = train_models(built, loaded, settings, workers, progress)
    if as_json:
        told = {"output": str(built.output), "load_from": str(built.output.parent), "configs": figures}
        told["report"] = str(report)
        sys.stdout.write(json.dumps({**told, "models": results}, indent=1) + "\n")
    else:
        show(built, figures, results, settings, report)


def load_back(built: BuildResult, progress: "Progress") -> "dict[str, DatasetDict]":
    """The configs with questions, read as users read them: ``load_dataset("vqa_mc", CONFIG)`` beside the folder."""
    from datasets import load_dataset

    from hf_vqa_mc.dataset.loading import no_bars_of_datasets

    names = [name for name, config in built.configs.items() if "statistics" in config]
    loaded = {}
    with contextlib.chdir(built.output.parent), no_bars_of_datasets():
        for name in names:
            loaded[name] = load_dataset(built.output.name, name)
            progress("loading back", len(loaded), len(names))
    return loaded


def measure(loaded: "Mapping[str, DatasetDict]", progress: "Progress") -> dict[str, Figures]:
    """What blind rules learn from the training split of each config and reach on its test split."""
    figures = {}
    for name, config in loaded.items():
        figures[name] = _figures(config["train"].with_format("arrow")[:], config["test"].with_format("arrow")[:])
        progress("counting what shortcuts reach", len(figures), len(loaded))
    return figures


def _figures(train: "Table", test: "Table") -> Figures:
    import numpy as np

    from hf_vqa_mc.audits import answer_prior, number_rows, question_answer_prior
    from hf_vqa_mc.sources.vqa import YES_NO
    from hf_vqa_mc.text.normalisation import comparable

    rows = number_rows({"train": train, "test": test})
    choices, labels = test["choices"].to_pylist(), test["label"].to_pylist()
    sizes = np.array([len(texts) for texts in choices])
    columns = {
        "chance": 1 / sizes,
        "answer_prior": answer_prior(rows["train"], rows["test"]),
        "question_answer_prior": question_answer_prior(rows["train"], rows["test"]),
    }
    yes_no = np.array([comparable(texts[label]) in YES_NO for texts, label in zip(choices, labels, strict=True)])

    def of(some: "NDArray[np.bool_]") -> Figures:
        return {"rows": int(some.sum()), **{name: float(column[some].mean()) for name, column in columns.items()}}

    return {
        "choices": sorted({int(size) for size in sizes}),
        **of(np.ones(len(sizes), np.bool_)),
        "yes_no": of(yes_no),
        "other": of(~yes_no),
    }


def audit_shown(built: BuildResult, progress: "Progress") -> Path:
    """The report of the audits of two configs: random decoys, and those that are harder to game.

    Some questions of the latter are put on the dataset's card.
    """
    from hf_vqa_mc.audits import ProbeSettings, audit
    from hf_vqa_mc.benchmarks import read_benchmark
    from hf_vqa_mc.dataset.card_picture import put_picture
    from hf_vqa_mc.report import preview_picture
    from hf_vqa_mc.report.audit_folder import REPORT, write_audit
    from hf_vqa_mc.report.benchmark_examples import drawn_rows, examples_of

    folder = report_folder(built.output)
    settings = ProbeSettings(probe_rows=PROBE_ROWS)
    done = {}
    for name in (COMPARED, SHOWN):
        done[name] = audit(read_benchmark(str(built.output), name), settings)
        progress("auditing", len(done), 2)
    write_audit(folder, done[COMPARED], done[SHOWN])
    asked = done[SHOWN].benchmark.test
    put_picture(built.output, SHOWN, preview_picture(examples_of(asked, drawn_rows(asked, PICTURED, settings.seed))))
    return folder / REPORT


def report_folder(output: Path) -> Path:
    """Where the report of a built folder lies: beside it."""
    from hf_vqa_mc.report.audit_folder import AUDITS

    return output.absolute().parent / AUDITS / f"{output.name}-{SOURCE}"


def show(
    built: BuildResult, figures: Mapping[str, Figures], results: Results, settings: "Settings", report: Path
) -> None:
    """What shortcuts and models reach, for people: tables, what they say, and what to type next."""
    from rich.console import Console

    console = Console()
    shown = [(shortcuts_table(figures), f"{RULES} {what_it_says(figures, settings.ties)}")]
    if results:
        shown.append((table_of(results), how_to_read(results)))
    for table, prose in shown:
        console.print(table)
        console.print(f"\n{prose}\n", markup=False, highlight=False)
    steps = model_steps(built.output, settings) if results else row_step(built.output)
    for text in (next_steps(built.output, SHOWN), f"\n{steps}", f"\n{real_step()}", f"\n{report_step(report)}"):
        console.print(text, markup=False, highlight=False, soft_wrap=True)


def shortcuts_table(figures: Mapping[str, Figures]) -> "RichTable":
    """Rows: the configs; columns: chance and what each shortcut reaches."""
    from rich.table import Table

    from hf_vqa_mc.dataset.card_text import percent

    table = Table(title=f"Right without a look at the image, of {figures[SHOWN]['rows']:,} test questions")
    table.add_column("config", no_wrap=True, min_width=max(map(len, figures)))
    for heading in ("choices", "chance", "answers\nalone", "question\n+ answers", "without\nyes/no"):
        table.add_column(heading, justify="right")
    for name, found in figures.items():
        shares = [found[key] for key in ("chance", "answer_prior", "question_answer_prior")]
        sizes = " or ".join(map(str, found["choices"]))
        table.add_row(name, sizes, *map(percent, [*shares, found["other"]["question_answer_prior"]]))
    return table


def what_it_says(figures: Mapping[str, Figures], ties: "Ties") -> str:
    """The table in two sentences."""
    shown, iou, qou = (figures[f"{SOURCE}_{variant}"] for variant in ("iou_qou", "iou", "qou"))
    known = min(found["yes_no"]["question_answer_prior"] for found in figures.values())
    read = [f"{found['other']['question_answer_prior']:.0%}" for found in (iou, qou)]
    share = shown["yes_no"]["rows"] / shown["rows"]
    repeated = " and gives equal questions the same decoys (but for --ties random)" if ties == "position" else ""
    return (
        f"{share:.0%} of the questions are answered yes or no, and no decoy can mend that their wording gives "
        f"{known:.0%} of those away. Of the others, who reads the question knows {read[0]} among IoU decoys, but "
        f"{read[1]} among QoU decoys: above chance, since easy-VQA has few answers{repeated}."
    )


def row_step(output: Path) -> str:
    """What to type for a row with its image."""
    return f"""\
A row with its image:

  python -c 'import hf_vqa_mc, datasets; ds = datasets.load_dataset("{output.name}", "{SHOWN}", split="test"); \
print(hf_vqa_mc.with_images(ds)[0])'"""


def report_step(report: Path) -> str:
    """Where the audit is to be seen, and what to type for another."""
    return f"""\
Which shortcuts solve random decoys, and which are left among IoU and QoU decoys, as a page for a browser (another
benchmark's: vqa-mc audit FILE):

  {report}"""


def real_step() -> str:
    """What to type for real questions."""
    from hf_vqa_mc.sources import SOURCES

    return f"""\
Then the same from real questions, such as COCO-QA's ({SOURCES["cocoqa"].homepage}), into the same folder:

  vqa-mc build cocoqa --data-dir cocoqa --word-vectors glove.6B.100d.txt"""
