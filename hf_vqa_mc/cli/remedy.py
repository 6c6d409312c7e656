"""``vqa-mc remedy``: the same benchmark with better decoys, or without the rows that give themselves away."""

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from hf_vqa_mc.cli import benchmark_options as given
from hf_vqa_mc.verbs.audit import TABLE_NOTE, ambiguity, shortcut_table

if TYPE_CHECKING:
    from hf_vqa_mc.audits import Audit
    from hf_vqa_mc.benchmarks import Benchmark
    from hf_vqa_mc.dataset.settings import Ties
    from hf_vqa_mc.io.progress import Progress
    from hf_vqa_mc.remedies import Donors

DECOYS, DONORS, PRUNING, AUDITING = "Decoys", "Donors", "Pruning", "The audits before and after"


def remedy(
    dataset: given.DatasetName,
    config: given.ConfigName = None,
    *,
    output: Annotated[
        Path,
        typer.Option(help="File of the same kind as the benchmark's, or folder, to write.", show_default=False),
    ],
    split: given.SplitName = None,
    question: given.QuestionColumn = None,
    choices: given.ChoicesColumns = None,
    label: given.LabelColumn = None,
    label_from: given.LabelFrom = None,
    image: given.ImageColumn = None,
    question_type: given.TypeColumn = None,
    images: given.ImagesFolder = None,
    variant: Annotated[
        str, typer.Option(help="iou_qou, iou, qou, or all (also the published decoys).", rich_help_panel=DECOYS)
    ] = "iou_qou",
    decoys_per_set: Annotated[int, typer.Option(help="IoU and QoU decoys each.", rich_help_panel=DECOYS)] = 3,
    word_vectors: Annotated[
        str | None,
        typer.Option(
            help="For QoU decoys: a word2vec, GloVe or .kv file, a gensim-data name, or corpus.",
            rich_help_panel=DECOYS,
            show_default=False,
        ),
    ] = None,
    wup_threshold: Annotated[
        float, typer.Option(help="Texts as similar as this mean the same.", rich_help_panel=DECOYS)
    ] = 0.9,
    ties: Annotated[
        str,
        typer.Option(
            help="Equally similar questions: from random starts, or by position, which gives equal questions the same "
            "decoys.",
            rich_help_panel=DECOYS,
        ),
    ] = "random",
    seed: Annotated[int, typer.Option(help="Of every random choice.", rich_help_panel=DECOYS)] = 0,
    pool: Annotated[
        str | None,
        typer.Option(
            help="Another multiple-choice dataset, on the same or other images, whose answers may be decoys.",
            rich_help_panel=DONORS,
            show_default=False,
        ),
    ] = None,
    pool_config: Annotated[
        str | None, typer.Option(help="Its config.", rich_help_panel=DONORS, show_default=False)
    ] = None,
    captions: Annotated[
        str | None,
        typer.Option(
            help="Column of captions: answers that occur in an image's may be its IoU decoys.",
            rich_help_panel=DONORS,
            show_default=False,
        ),
    ] = None,
    scene_graphs: Annotated[
        str | None,
        typer.Option(
            help="Column of objects, whose names and attributes may be IoU decoys.",
            rich_help_panel=DONORS,
            show_default=False,
        ),
    ] = None,
    prune: Annotated[
        float | None,
        typer.Option(
            help="Keep the decoys, but leave out rows until no blind probe gains more than this part of them over "
            "chance, such as 0.05, or half are gone.",
            rich_help_panel=PRUNING,
            show_default=False,
        ),
    ] = None,
    probe_rows: Annotated[
        int, typer.Option(help="Rows that a probe learns from at most.", rich_help_panel=AUDITING)
    ] = 20_000,
    time_limit: Annotated[
        float,
        typer.Option(help="Seconds after which no further probe begins to learn, each.", rich_help_panel=AUDITING),
    ] = 600.0,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Folder of both audits; by default vqa_mc_audit/NAME-remedied.",
            rich_help_panel=AUDITING,
            show_default=False,
        ),
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Tell the figures as JSON.", rich_help_panel=AUDITING)
    ] = False,
) -> None:
    """Write a benchmark again with decoys that shut shortcuts out, and audit it before and after.

    Example: vqa-mc remedy benchmark.tsv --word-vectors glove.6B.100d.txt --output remedied.tsv

    Example: vqa-mc remedy vqa_mc easyvqa_random_uniform --word-vectors corpus --output remedied

    IoU decoys are answers to other questions on the same image, QoU decoys answers to similar questions. Questions,
    targets, images and all other columns stay as they are; choice_kinds and choice_origins say where each choice is
    from.
    """
    from hf_vqa_mc.audits import ProbeSettings
    from hf_vqa_mc.audits import audit as audit_benchmark
    from hf_vqa_mc.benchmarks import check_output, write_benchmark
    from hf_vqa_mc.benchmarks.options import BenchmarkOptions
    from hf_vqa_mc.dataset.settings import Settings
    from hf_vqa_mc.errors import InputError
    from hf_vqa_mc.io.progress import steps_on_stderr
    from hf_vqa_mc.remedies import check_remedy, give_new_decoys, in_words
    from hf_vqa_mc.remedies.prune import prune as prune_rows
    from hf_vqa_mc.report.audit_folder import AUDITS, check_audit_folder, folder_name, write_audit

    if prune is not None and any(one is not None for one in (word_vectors, pool, captions, scene_graphs)):
        raise InputError("--prune keeps the decoys; leave --word-vectors, --pool, --captions and --scene-graphs out")
    settings = Settings(decoys_per_set=decoys_per_set, wup_threshold=wup_threshold, ties=cast("Ties", ties), seed=seed)
    audited = ProbeSettings(probe_rows=probe_rows, time_limit=time_limit, seed=seed)
    folder = report or AUDITS / f"{folder_name(dataset, config, split)}-remedied"
    if prune is None:
        check_remedy(variant, word_vectors)
    check_output(dataset, output)
    check_audit_folder(folder, "--report", [dataset, output, *([images] if images else []), *([pool] if pool else [])])
    if os.path.realpath(output) == os.path.realpath(folder):
        raise InputError(f"--report {folder} and --output are the same; name two")
    if pool_config is not None and pool is None:
        raise InputError(f"--pool-config {pool_config} is for --pool DATASET; add that, or leave it out")
    columns = given.columns_of(question, choices, label, image, question_type, label_from)
    with steps_on_stderr() as progress:
        benchmark = BenchmarkOptions(dataset, config, split=split, images=images, **columns).read(progress)
        if prune is not None:
            pruned = prune_rows(benchmark, prune, probe_rows, seed, progress)
            remedied, statistics = pruned.benchmark, pruned.statistics
        else:
            donors = _donors(benchmark, pool, pool_config, captions, scene_graphs, progress)
            made = give_new_decoys(benchmark, variant, word_vectors, settings, donors, progress)
            remedied, statistics = made.benchmark, made.statistics
        tables = {name: part.original for name, part in remedied.splits.items()}
        written = write_benchmark(benchmark, tables, output, note=" ".join(in_words(statistics)))
        before = audit_benchmark(benchmark, audited, _named(progress, "before"))
        after = audit_benchmark(remedied, audited, _named(progress, "after"))
        reports = write_audit(folder, before, after, progress=progress)
    if as_json:
        told = {"remedy": statistics, "before": before.as_json(), "after": after.as_json()}
        paths = [str(path) for path in (*written, *reports)]
        sys.stdout.write(json.dumps({**told, "written": paths}, indent=1) + "\n")
    else:
        show(statistics, before, after, [*written, *reports])


def _donors(
    benchmark: "Benchmark",
    pool: str | None,
    pool_config: str | None,
    captions: str | None,
    scene_graphs: str | None,
    progress: "Progress",
) -> "Donors":
    """All that give decoys beside the benchmark's own questions."""
    from hf_vqa_mc.benchmarks.options import BenchmarkOptions
    from hf_vqa_mc.remedies import Donors, from_captions, from_questions, from_scene_graphs

    found = Donors.none()
    if pool is not None:
        found = found.and_(from_questions(BenchmarkOptions(pool, pool_config).read(_named(progress, "pool"))))
    splits = list(benchmark.splits.values())
    if captions is not None:
        answers = [
            texts[label]
            for one in splits
            for texts, label in zip(one.rows["choices"].to_pylist(), one.rows["label"].to_pylist(), strict=True)
        ]
        for one in splits:
            found = found.and_(from_captions(captions, one, answers))
    if scene_graphs is not None:
        for one in splits:
            found = found.and_(from_scene_graphs(scene_graphs, one))
    return found


def _named(progress: "Progress", which: str) -> "Progress":
    """The same, with steps that say whose they are."""
    return lambda step, done, total: progress(f"{which}: {step}", done, total)


def show(statistics: dict[str, Any], before: "Audit", after: "Audit", written: list[Path]) -> None:
    """What was changed and what it brought, for people."""
    from rich.console import Console

    from hf_vqa_mc.remedies import in_words

    console = Console()
    for line in [*in_words(statistics), ""]:
        console.print(line, markup=False, highlight=False)
    console.print(shortcut_table([before, after]), crop=False)
    console.print(TABLE_NOTE, markup=False, highlight=False)
    told = [before.as_json(), after.as_json()]
    for when, one in zip(("Before", "After"), told, strict=True):
        console.print(f"\n{when}: {one['verdict']} {ambiguity(one)}", markup=False, highlight=False)
    console.print("")
    for name, why in before.benchmark.left_out.items():
        console.print(f"{name} is not in what was written: {why}", markup=False, highlight=False)
    for path in written:
        console.print(f"wrote {path}", markup=False, highlight=False, soft_wrap=True)
