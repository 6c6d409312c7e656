"""The engine from top to bottom: graphs, questions, entailment, balance, files (Hudson and Manning 2019, Sect. 3)."""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hf_vqa_mc.engines.generated_folder import check_generated_folder, generated_folder
from hf_vqa_mc.engines.gqa.dataset_files import write_dataset
from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.entailment import entailments
from hf_vqa_mc.engines.gqa.normalising import normalise
from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.ontology_files import read_ontology
from hf_vqa_mc.engines.gqa.question_types import ROWS, questions_about
from hf_vqa_mc.engines.gqa.question_types.asking import Limits
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph
from hf_vqa_mc.engines.gqa.scene_graph_files import RawGraph, read_gqa_graphs, read_visual_genome
from hf_vqa_mc.engines.gqa.selection import SelectionOptions, check_options, select_balanced
from hf_vqa_mc.engines.gqa.spilled import Spilled
from hf_vqa_mc.engines.gqa.splitting import SPLITS, check_splits, split_of
from hf_vqa_mc.engines.gqa.statistics import dataset_statistics
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic_file import write_json
from hf_vqa_mc.sources.files import Folder, PublishedFile
from hf_vqa_mc.sources.generated import STATISTICS
from hf_vqa_mc.version import __version__

ENGINE = "gqa"
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Settings:
    """How questions are generated."""

    limits: Limits = field(default_factory=Limits)
    """how many are asked about an image, and with which references"""
    selection: SelectionOptions = field(default_factory=SelectionOptions)
    """how the balanced ones are chosen"""
    splits: Mapping[str, float] = field(default_factory=lambda: dict(SPLITS))
    """split to its share of the images"""
    keep_splits: bool = False
    """an image's split is the one that its file is named after (train_sceneGraphs.json), not drawn"""
    seed: int = 0


@dataclass(frozen=True)
class Generated:
    """What was generated."""

    output: Path
    statistics: Mapping[str, Any]
    """as in the folder's ``statistics.json``"""


def generate(
    scene_graphs: Sequence[Path],
    output: Path,
    *,
    ontology: Ontology | None = None,
    settings: Settings | None = None,
    progress: Progress = lambda step, done, total: None,
) -> Generated:
    """Generate a GQA-style dataset from scene graphs, as ``vqa-mc generate gqa`` does.

    The graphs are read twice, first for what is seen with what, then one by one to ask about; no more than one lies in
    memory, and of each question some numbers. The same files, ontology, settings and version give the same bytes.

    Args:
        scene_graphs: files in GQA's layout, or folders with Visual Genome's files.
        output: the folder to make, in the layout of GQA's files; one that was generated before is replaced.
        ontology: the vocabulary; by default our own.
        settings: by default as in the paper, where it gives numbers.
        progress: told (step, done, total).

    Raises:
        InputError: something given cannot be used; nothing was written.
        OSError: the output cannot be written (disk full, no permission); what was there before still is.
    """
    settings = settings or Settings()
    check_generated_folder(output, ENGINE)
    check_splits(settings.splits)
    check_options(settings.selection)
    words = ontology or read_ontology(None, None)
    problems: Counter[str] = Counter()
    images: dict[str, str] = {}
    progress("reading scene graphs", 0, 1)
    distractors = Distractors.learn(_counted(scene_graphs, words, problems, images, settings), words)
    progress("reading scene graphs", 1, 1)
    if not images:
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in problems.most_common(5)) or "no image at all"
        raise InputError(f"no image of {_named(scene_graphs)} has an object to ask about ({reasons})")
    with (
        generated_folder(output, ENGINE) as folder,
        Spilled(folder, {name: (row.structural, row.semantic) for name, row in ROWS.items()}) as spilled,
    ):
        _ask_all(_graphs(scene_graphs, words, Counter()), words, distractors, settings, spilled, problems, progress)
        table = spilled.table()
        if not table.count:
            raise InputError(
                f"the scene graphs of {_named(scene_graphs)} settle no question; see the ontology's words"
            )
        selected = select_balanced(table, settings.selection, settings.seed, progress)
        splits = list(images.values())
        write_dataset(folder, spilled, table, selected.kept, splits, progress)
        statistics = {
            "engine": ENGINE,
            "version": __version__,
            "ontology": words.name,
            "seed": settings.seed,
            **dataset_statistics(table, selected, splits, problems),
        }
        write_json(folder / STATISTICS, statistics, indent=1)
    return Generated(output.resolve(), statistics)


def _ask_all(
    graphs: Iterator[tuple[Path, SceneGraph]],
    ontology: Ontology,
    distractors: Distractors,
    settings: Settings,
    spilled: Spilled,
    problems: Counter[str],
    progress: Progress,
) -> None:
    """All questions about all images, put away with what follows from them."""
    not_asked: Counter[str] = Counter()
    for done, (_, graph) in enumerate(graphs):
        progress("asking about images", done, distractors.images)
        questions = list(
            questions_about(graph, ontology, distractors, settings.seed, settings.limits, left_out=not_asked)
        )
        spilled.add(graph, questions, entailments(questions, graph, ontology))
    problems.update({f"question: {reason}": count for reason, count in not_asked.items()})
    progress("asking about images", distractors.images, distractors.images)


def _counted(
    paths: Sequence[Path], ontology: Ontology, problems: Counter[str], images: dict[str, str], settings: Settings
) -> Iterator[SceneGraph]:
    """The graphs, while their images' splits are noted and what is wrong with them is counted."""
    for path, graph in _graphs(paths, ontology, problems):
        if graph.image_id in images:
            raise InputError(f"{path}: image {graph.image_id!r} comes more than once; give it one scene graph")
        images[graph.image_id] = _split(path, graph.image_id, settings)
        yield graph


def _split(path: Path, image_id: str, settings: Settings) -> str:
    if not settings.keep_splits:
        return split_of(image_id, settings.seed, settings.splits)
    split = next((split for split in SPLITS if path.name.startswith(f"{split}_")), None)
    if split is None:
        begin = ", ".join(f"{split}_" for split in SPLITS)
        raise InputError(f"{path}: its name tells no split; with --keep-splits it must begin with one of {begin}")
    return split


def _graphs(paths: Sequence[Path], ontology: Ontology, problems: Counter[str]) -> Iterator[tuple[Path, SceneGraph]]:
    for path in paths:
        for raw in _read(path):
            graph = normalise(raw, ontology, problems)
            if graph is not None:
                yield path, graph


def _read(path: Path) -> Iterator[RawGraph]:
    """A file is GQA's, a folder Visual Genome's."""
    if path.is_dir():
        files = Folder(path)
        if not files.has("image_data.json") and (own := sorted(path.glob("*sceneGraphs.json*"))):
            raise InputError(
                f"{path}: a folder is read as Visual Genome's; name GQA's files one by one, such as {own[0]}"
            )
        return read_visual_genome(files)
    if not path.exists():
        raise InputError(f"{path}: no such file; expected scene graphs as GQA's, or a folder with Visual Genome's")
    return read_gqa_graphs(PublishedFile(path.name, path))


def _named(paths: Sequence[Path]) -> str:
    return ", ".join(os.fspath(path) for path in paths)
