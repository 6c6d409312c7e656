"""The same benchmark with IoU, QoU or both kinds of decoys (Chao et al. 2018, Sect. 4); all else stays as it is."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.benchmarks import Benchmark
from hf_vqa_mc.dataset.decoy_sets import make_sets
from hf_vqa_mc.dataset.ingredients import sentences
from hf_vqa_mc.dataset.prepared import Material
from hf_vqa_mc.dataset.recipes import RECIPES, Recipe
from hf_vqa_mc.dataset.rows import Arrangement, Choices
from hf_vqa_mc.dataset.settings import Settings
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.remedies.donors import Donors, images_in_common
from hf_vqa_mc.remedies.new_rows import counts_from_one, new_rows, some_target_last, written_rows
from hf_vqa_mc.schema import TRIPLETS
from hf_vqa_mc.sources.table import triplet_table
from hf_vqa_mc.text.word_vectors import WordVectors, load_word_vectors

VARIANTS = ("iou_qou", "iou", "qou", "all")
"""Those that a remedy may make; ``all`` keeps the published decoys beside them."""
_COUNTED, _OTHERS = "train", "test"
"""Splits of the triplet table: rows whose targets are counted for the most frequent ones, and all others."""

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, eq=False)
class Remedied:
    """A benchmark with new decoys."""

    benchmark: Benchmark
    """its rows are those written"""
    statistics: dict[str, Any]
    """ready for JSON"""

    @property
    def tables(self) -> dict[str, pa.Table]:
        """Split to its columns in the benchmark's own layout, with kinds, fall-backs and origins of choices beside."""
        return {name: split.original for name, split in self.benchmark.splits.items()}


def give_new_decoys(
    benchmark: Benchmark,
    variant: str,
    word_vectors: str | None,
    settings: Settings,
    donors: Donors | None = None,
    progress: Progress = lambda step, done, total: None,
) -> Remedied:
    """Replaces the decoys of all splits.

    Decoys come from all splits and the donors (``settings.pool`` is the dataset). A row for which not a single decoy
    can be found keeps its published choices, and is counted. An answer to the same question about the same image is no
    decoy: it may be right.

    Args:
        benchmark: with its targets.
        variant: one of ``VARIANTS``.
        word_vectors: as ``load_word_vectors`` takes it, for QoU decoys.
        settings: of the method.
        donors: further answers that may become decoys.
        progress: told (step, done, total).

    Raises:
        InputError: an unknown variant, no word vectors where they are needed, or no image with several questions
            where IoU decoys are asked for.
    """
    check_remedy(variant, word_vectors)
    recipe = RECIPES[variant]
    donors = donors or Donors.none()
    if "iou" in recipe.sets:
        check_images(benchmark, donors)
    triplets = triplets_of(benchmark, donors)
    vectors = _vectors(word_vectors, recipe, triplets, settings, progress)
    material = Material.of(triplets, settings, skip_same_question=True)
    made = make_sets([recipe], material, vectors, settings, progress)
    choices = Choices(recipe, made, material)
    placed = all(split.placed for split in benchmark.splits.values())
    arrangement = Arrangement(recipe, choices, material, settings.seed, target_first=not placed)
    origins = _origins(benchmark, donors)
    splits, first, unchanged = {}, 0, 0
    for name, split in benchmark.splits.items():
        rows = np.arange(first, first := first + split.rows.num_rows)
        if counts_from_one(benchmark) and not some_target_last(arrangement.columns(rows)):
            arrangement.put_target_last(int(rows[0]))  # else nobody could tell from the file that labels are from 1
        made_rows = new_rows(split, arrangement, rows, origins)
        unchanged += made_rows.unchanged
        table = written_rows(benchmark, split, made_rows, choices.texts.shape[1])
        splits[name] = replace(split, rows=made_rows.rows, original=table)
        progress("arranging choices", first, material.size - len(donors.answers))
    statistics = _statistics(recipe, variant, benchmark, choices, made, first, donors, unchanged)
    statistics["word_vectors"] = {"name": vectors.name, "sha256": vectors.sha256} if vectors else None
    return Remedied(replace(benchmark, splits=splits), statistics)


def check_remedy(variant: str, word_vectors: str | None) -> None:
    """Nothing, if all is named that a variant takes.

    Raises:
        InputError: there is no such variant, or no word vectors where they are needed.
    """
    if variant not in VARIANTS:
        raise unknown_name("variant", variant, VARIANTS)
    if word_vectors is None and "qou" in RECIPES[variant].sets:
        raise InputError(
            "QoU decoys need word vectors; name them: --word-vectors FILE (word2vec, GloVe or .kv), a gensim-data "
            "name, or corpus to train them on the benchmark's own text"
        )


def check_images(benchmark: Benchmark, donors: Donors) -> None:
    """Nothing, if IoU decoys can be had.

    Raises:
        InputError: the benchmark has no images, or none has another question or donor.
    """
    images = _image_ids(benchmark)
    counts = Counter(images.to_pylist())
    known = counts.pop("", 0)
    remedy = "take --variant qou, or give donors about the same images: --pool DATASET, --captions or --scene-graphs"
    if not counts:
        told = f"none of its {known:,} rows names an image (--image COLUMN)" if known else "it has no rows"
        raise InputError(f"{benchmark.dataset}: IoU decoys need images, and {told}; {remedy}")
    if max(counts.values()) == 1 and not images_in_common(donors, images):
        raise InputError(
            f"{benchmark.dataset}: IoU decoys are the answers to other questions on the same image, and each of its "
            f"{len(counts):,} images has a single question; {remedy}"
        )


def triplets_of(benchmark: Benchmark, donors: Donors) -> pa.Table:
    """A table ``schema.TRIPLETS``: the rows of all splits one after the other, then the donors."""
    parts = []
    counted = "train" if "train" in benchmark.splits else None
    for name, split in benchmark.splits.items():
        choices, labels = split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()
        images = split.rows["image_id"].to_pylist()
        ids = [f"{name}/{question_id}" for question_id in split.rows["question_id"].to_pylist()]
        told = split.rows["answers"].to_pylist()
        targets = [texts[label] for texts, label in zip(choices, labels, strict=True)]
        parts.append(
            triplet_table(
                question_id=ids,
                image_id=[image or f"\0{row}" for image, row in zip(images, ids, strict=True)],
                split=[_COUNTED if counted in (None, name) else _OTHERS] * len(ids),
                question=split.rows["question"].to_pylist(),
                target=targets,
                answers=pa.array([found or [target] for found, target in zip(told, targets, strict=True)]),
                orig_decoys=pa.array(
                    [
                        [text for place, text in enumerate(texts) if place != label]
                        for texts, label in zip(choices, labels, strict=True)
                    ],
                    TRIPLETS.field("orig_decoys").type,
                ),
                image_file=[""] * len(ids),
            )
        )
    if donors.answers:
        places = range(len(donors.answers))
        parts.append(
            triplet_table(
                question_id=[f"donor/{place}" for place in places],
                image_id=[image or f"\0donor/{place}" for place, image in zip(places, donors.image_ids, strict=True)],
                split=[_OTHERS] * len(places),
                question=donors.questions,
                target=donors.answers,
                image_file=[""] * len(places),
            )
        )
    return pa.concat_tables(parts).combine_chunks()


def _vectors(
    name: str | None, recipe: Recipe, triplets: pa.Table, settings: Settings, progress: Progress
) -> WordVectors | None:
    if name is None or "qou" not in recipe.sets:
        return None
    progress("reading word vectors", 0, 1)
    vectors = load_word_vectors(name, partial(sentences, triplets), settings.seed)
    progress("reading word vectors", 1, 1)
    return vectors


def _origins(benchmark: Benchmark, donors: Donors) -> pa.Array:
    """Where the target of each triplet is from, in words."""
    own = [
        f"question {question_id}, {name}"
        for name, split in benchmark.splits.items()
        for question_id in split.rows["question_id"].to_pylist()
    ]
    return pa.array(own + donors.origins, pa.string())


def _image_ids(benchmark: Benchmark) -> pa.ChunkedArray:
    """Of all rows."""
    return pa.chunked_array([chunk for split in benchmark.splits.values() for chunk in split.rows["image_id"].chunks])


def _sizes(benchmark: Benchmark) -> dict[str, int]:
    """How many rows had how many choices."""
    lengths = [pc.list_value_length(split.rows["choices"]).to_numpy() for split in benchmark.splits.values()]
    sizes, counts = np.unique(np.concatenate(lengths), return_counts=True)
    return {str(size): int(count) for size, count in zip(sizes, counts, strict=True)}


def _statistics(
    recipe: Recipe,
    variant: str,
    benchmark: Benchmark,
    choices: Choices,
    made: Mapping[str, Any],
    n_rows: int,
    donors: Donors,
    unchanged: int,
) -> dict[str, Any]:
    """What was found, of the benchmark's own rows."""
    views = {name: made[name].view(recipe) for name in recipe.sets}
    sizes, of_size = np.unique((choices.texts[:n_rows] != MISSING).sum(axis=1), return_counts=True)
    images = _image_ids(benchmark)
    given = choices.donors[:n_rows]
    return {
        "variant": variant,
        "rows": n_rows,
        "rows_left_as_published": unchanged,
        "choices": {str(size): int(count) for size, count in zip(sizes, of_size, strict=True)},
        "choices_before": _sizes(benchmark),
        "decoys": {
            name: {
                "wanted": int(view.picks[:n_rows].size),
                "found": int(((view.picks[:n_rows] != MISSING) & ~view.fallback[:n_rows]).sum()),
                "fallbacks": int(view.fallback[:n_rows].sum()),
                "missing": int((view.picks[:n_rows] == MISSING).sum()),
            }
            for name, view in views.items()
        },
        "donors": {
            "given": len(donors.answers),
            "images_in_common": images_in_common(donors, images),
            "decoys_from_them": int((given >= n_rows).sum()),
        },
    }
