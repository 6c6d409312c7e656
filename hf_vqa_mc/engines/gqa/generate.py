"""The whole engine: graphs, questions, entailments, balancing, files (Hudson and Manning 2019, Sect. 3)."""

import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hf_vqa_mc.decoys.rng import SeededRng
from hf_vqa_mc.engines.gqa.dataset_files import QuestionStore, write_dataset
from hf_vqa_mc.engines.gqa.distractors import Distractors
from hf_vqa_mc.engines.gqa.entailment import entailments
from hf_vqa_mc.engines.gqa.normalising import normalise
from hf_vqa_mc.engines.gqa.ontology import Ontology
from hf_vqa_mc.engines.gqa.own_ontology import own_ontology
from hf_vqa_mc.engines.gqa.question_types import questions_about
from hf_vqa_mc.engines.gqa.scene_graph import SceneGraph, read_graphs
from hf_vqa_mc.engines.gqa.selection import AnswerCells, Bools, QuestionTable, Selected, entropies, select_balanced
from hf_vqa_mc.engines.settings import DEPTH, FOLDERS, SHARES, SPLITS
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.atomic import new_folder, write_json
from hf_vqa_mc.io.outputs import check_output, check_outside
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.sources.source import STATISTICS
from hf_vqa_mc.version import __version__

ENGINE = "gqa"


def generate(
    scene_graphs: Sequence[Path],
    output: Path,
    *,
    ontology: Ontology | None = None,
    splits: Mapping[str, float] = SPLITS,
    keep_splits: bool = False,
    shares: Mapping[str, float] = SHARES,
    depth: int = DEPTH,
    seed: int = 0,
    overwrite: bool = False,
    progress: Progress = silent,
) -> dict[str, Any]:
    """Generate a GQA-style dataset from scene graphs; returns the content of its ``statistics.json``.

    The graphs are read twice, first to count what occurs together, then to generate questions; one graph at a time is
    in memory, and 40 bytes per question. The same files, ontology, settings and version give the same bytes.
    ``scene_graphs``: files in GQA's layout, or folders with Visual Genome's files.
    """
    check_output(output, FOLDERS[ENGINE], overwrite)
    check_outside(output, "output", scene_graphs)
    words, paths = ontology or own_ontology(), ", ".join(map(os.fspath, scene_graphs))
    problems, rejected, images = Counter[str](), Counter[str](), dict[str, str]()
    progress("reading scene graphs", 0, 1)

    def counted() -> Iterator[SceneGraph]:
        """The graphs; puts each image's split into ``images``."""
        for path, graph in _read_graphs(scene_graphs, words, problems):
            if graph.image_id in images:
                raise InputError(f"{path}: image {graph.image_id!r} occurs more than once; keep one of them")
            images[graph.image_id] = _split_in(path) if keep_splits else split_of(graph.image_id, seed, splits)
            yield graph

    distractors = Distractors(counted(), words)
    progress("reading scene graphs", 1, 1)
    if not images:
        reasons = ", ".join(f"{reason}: {count:,}" for reason, count in (+problems).most_common(5))
        raise InputError(f"no image of {paths} has an object to ask about ({reasons or 'no images'})")
    with new_folder(output, FOLDERS[ENGINE], overwrite) as new, QuestionStore(new.tree) as store:
        for done, (_, graph) in enumerate(_read_graphs(scene_graphs, words, Counter())):
            progress("generating questions", done, len(images))
            questions = list(questions_about(graph, words, distractors, depth, seed, left_out=rejected))
            store.add(graph, questions, entailments(questions, graph, words))
        progress("generating questions", len(images), len(images))
        table = store.table()
        if not len(table.rows):
            raise InputError(f"no question can be generated from {paths}; use an ontology that contains its words")
        selected = select_balanced(table, shares, seed, progress)
        of_images = list(images.values())
        write_dataset(new.tree, store, table, selected.kept, of_images, progress)
        problems.update({f"question: {reason}": count for reason, count in rejected.items()})
        source = {"engine": ENGINE, "version": __version__, "ontology": words.name, "seed": seed}
        statistics = {**source, **dataset_statistics(table, selected, of_images, problems)}
        write_json(new.tree / STATISTICS, statistics, indent=1)
        new.publish()
    return statistics


def _split_in(path: Path) -> str:
    if (split := path.name.partition("_")[0]) in SPLITS:
        return split
    begin = ", ".join(f"{split}_" for split in SPLITS)
    raise InputError(f"{path}: no split in its name; with --keep-splits it must begin with one of {begin}")


def _read_graphs(paths: Sequence[Path], words: Ontology, problems: Counter[str]) -> Iterator[tuple[Path, SceneGraph]]:
    """Each normalised graph and its file; counts ``problems`` by reason."""
    for path in paths:
        for raw in read_graphs(path, problems):
            if (graph := normalise(raw, words, problems)) is not None:
                yield path, graph


def split_of(image_id: str, seed: int, splits: Mapping[str, float] = SPLITS) -> str:
    """The random split of an image, by the seed and its id alone, in these proportions (Sect. 3.5)."""
    left = SeededRng(seed, image_id, "split").bits() * 2.0**-64
    for name, share in splits.items():
        left -= share
        if left < 0:
            return name
    return list(splits)[-1]


PAPER = {
    "entropy_increase": 0.72,  # Sect. 3.5
    "vocabulary": 3097,  # Sect. 4.1
    "answers": 1878,  # Sect. 4.1
    "questions": 22_669_678,  # Sect. 4.1
    "balanced_questions": 1_700_000,  # Appendix B
}
"""The paper's numbers, for comparison."""
LARGEST = 30  # groups that are listed one by one
TYPES = ("structural", "semantic", "detailed")


def dataset_statistics(
    table: QuestionTable, selected: Selected, splits: Sequence[str], problems: Mapping[str, int]
) -> dict[str, Any]:
    """The content of ``statistics.json``: counts, means in words and steps, entropies in bits, problems by reason."""
    rows, answers, kept = table.rows, table.rows["answer"], selected.kept
    return {
        "paper": PAPER,
        "images": dict(Counter(splits)),
        "all": _part(table, np.ones(len(rows), np.bool_), splits),
        "balanced": _part(table, kept, splits),
        "selection": {
            "removed": dict(selected.removed),
            "restored_to_keep_order": selected.restored,
            "groups_beyond_their_bound": dict(selected.beyond),
        },
        "entropy": {
            "answers": _change(answers * 0, answers, kept),
            "global_groups": _change(rows["global_group"], answers, kept, table.names["global_group"]),
            "local_groups": _change(rows["local_group"], answers, kept),
        },
        "problems": {reason: count for reason, count in sorted(problems.items()) if count},
    }


def _part(table: QuestionTable, chosen: Bools, splits: Sequence[str]) -> dict[str, Any]:
    rows = table.rows[chosen]
    spreads = {}
    for one in ("words", "steps", "entailed"):
        mean, counts = round(float(rows[one].mean()), 3) if len(rows) else 0.0, np.bincount(rows[one].clip(0))
        spreads[one] = {"mean": mean, "questions": {str(at): int(counts[at]) for at in np.flatnonzero(counts)}}
    names = [name for name in SPLITS if name in splits]
    split = np.array([names.index(name) for name in splits], np.int64)[rows["image"]]
    return {
        "questions": len(rows),
        "per_split": _named(split, names),
        **{f"per_{one}_type": _named(rows[one], table.names[one]) for one in TYPES},
        "answers": len(np.unique(rows["answer"])),
        **spreads,
        "vocabulary": table.vocabulary,
    }


def _change(
    groups: NDArray[np.integer], answers: NDArray[np.integer], kept: Bools, names: Sequence[str] = ()
) -> dict[str, Any]:
    """Mean entropy of the answers of a group before and after, over remaining groups with several answers."""
    cells = AnswerCells(groups, answers, np.arange(len(groups)))
    left = cells.kept_counts(kept)
    before, after = entropies(cells.counts, cells.starts), entropies(left, cells.starts)
    totals, sizes = cells.totals(cells.counts), cells.totals(left)
    compared = (before > 0) & (sizes > 0)
    mean_before, mean_after = (float(part[compared].mean()) if compared.any() else 0.0 for part in (before, after))
    change: dict[str, Any] = {
        "groups": len(cells.groups),
        "compared": int(compared.sum()),
        "before": round(mean_before, 4),
        "after": round(mean_after, 4),
        "increase": round(mean_after / mean_before - 1, 4) if mean_before else 0.0,
        "higher": int((after[compared] > before[compared] + 1e-12).sum()),
        "lower": int((after[compared] < before[compared] - 1e-12).sum()),
    }
    if names:
        largest = np.lexsort((cells.groups, -totals))[:LARGEST]
        change["largest"] = {
            names[cells.groups[index]]: {
                "questions": [int(totals[index]), int(sizes[index])],
                "entropy": [round(float(before[index]), 4), round(float(after[index]), 4)],
            }
            for index in largest
        }
    return change


def _named(codes: NDArray[np.integer], names: Sequence[str]) -> dict[str, int]:
    counts = np.bincount(codes, minlength=len(names)).tolist()
    return dict(sorted(zip(names, counts, strict=True), key=lambda pair: (-pair[1], pair[0])))
