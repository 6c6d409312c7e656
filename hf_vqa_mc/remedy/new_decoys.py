"""The same benchmark with IoU, QoU or both kinds of decoys (Chao et al. 2018, Sect. 4); all else stays as it is."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.benchmarks.label_forms import ByPlace
from hf_vqa_mc.benchmarks.layouts import PlacedLayout
from hf_vqa_mc.builder.ingredients import sentences
from hf_vqa_mc.decoys.candidates import MISSING
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.language.word_vectors import WordVectors, load_word_vectors
from hf_vqa_mc.remedy.donors import Donors, images_in_common
from hf_vqa_mc.schema import CHOICE_KINDS, TRIPLETS, ChoiceKind
from hf_vqa_mc.sources.table import triplet_table
from hf_vqa_mc.variants.material import Material
from hf_vqa_mc.variants.recipes import RECIPES, Recipe
from hf_vqa_mc.variants.rows import Arrangement, Choices
from hf_vqa_mc.variants.sets import make_sets
from hf_vqa_mc.variants.settings import Settings

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
    tables: Mapping[str, pa.Table]
    """split to its columns in the benchmark's own layout, with ``choice_kinds`` and ``choice_origins`` beside them"""
    statistics: dict[str, Any]
    """ready for JSON"""


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
    splits, tables, first, unchanged = {}, {}, 0, 0
    for name, split in benchmark.splits.items():
        rows = np.arange(first, first := first + split.rows.num_rows)
        if _counts_from_one(benchmark) and not _some_target_last(arrangement.columns(rows)):
            arrangement.put_target_last(int(rows[0]))  # else nobody could tell from the file that labels are from 1
        made_rows = _new_rows(split, arrangement, rows, origins)
        unchanged += made_rows.unchanged
        tables[name] = _written(benchmark, split, made_rows, choices.texts.shape[1])
        splits[name] = replace(split, rows=made_rows.rows, original=tables[name])
        progress("arranging choices", first, material.size - len(donors.answers))
    statistics = _statistics(recipe, variant, benchmark, choices, made, first, donors, unchanged)
    statistics["word_vectors"] = {"name": vectors.name, "sha256": vectors.sha256} if vectors else None
    return Remedied(replace(benchmark, splits=splits), tables, statistics)


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


@dataclass(frozen=True, eq=False)
class _NewRows:
    rows: pa.Table
    """``benchmarks.ROWS``"""
    kinds: pa.ListArray
    fallback: pa.ListArray
    origins: pa.ListArray
    unchanged: int
    """rows that keep their published choices"""


def _new_rows(split: Split, arrangement: Arrangement, rows: NDArray[np.int64], origins: pa.Array) -> _NewRows:
    made = arrangement.columns(rows)
    donors = arrangement.donors(rows)
    lonely = pc.list_value_length(made["choices"]).to_numpy() < 2
    kinds = pa.array(CHOICE_KINDS).take(made["choice_kinds"].flatten())
    told = _told_origins(made, donors, origins)
    columns = {
        "choices": made["choices"],
        "label": made["label"],
        "choice_kinds": pa.ListArray.from_arrays(made["choices"].offsets, kinds),
        "choice_fallback": made["choice_fallback"],
        "choice_origins": pa.ListArray.from_arrays(made["choices"].offsets, told),
    }
    if lonely.any():
        columns = _with_published(columns, split, lonely)
    table = split.rows
    for name in ("choices", "label", "choice_kinds"):
        table = table.set_column(table.schema.get_field_index(name), name, columns[name])
    kinds, fallback, origins = (columns[f"choice_{name}"] for name in ("kinds", "fallback", "origins"))
    return _NewRows(table, kinds, fallback, origins, int(lonely.sum()))


def _counts_from_one(benchmark: Benchmark) -> bool:
    form = benchmark.layout.label_form if isinstance(benchmark.layout, PlacedLayout) else None
    return isinstance(form, ByPlace) and form.first == 1


def _some_target_last(made: Mapping[str, pa.Array]) -> bool:
    sizes = pc.list_value_length(made["choices"]).to_numpy()
    return bool((made["label"].to_numpy() == sizes - 1).any())


def _told_origins(made: Mapping[str, pa.Array], donors: pa.ListArray, origins: pa.Array) -> pa.Array:
    """Where each choice is from, in words."""
    numbers = donors.flatten().to_numpy()
    from_donor = origins.take(pa.array(np.maximum(numbers, 0)))
    fallback = made["choice_fallback"].flatten()
    is_target = pc.equal(made["choice_kinds"].flatten(), int(ChoiceKind.TARGET))
    cases = pc.make_struct(is_target, fallback, pa.array(numbers == MISSING))
    return pc.case_when(cases, "target", "fall-back", "published", from_donor)


def _with_published(columns: dict[str, pa.Array], split: Split, which: NDArray[np.bool_]) -> dict[str, pa.Array]:
    """Some rows with their published choices instead."""
    choices, labels = split.rows["choices"].to_pylist(), split.rows["label"].to_pylist()
    lists = {name: column.to_pylist() for name, column in columns.items()}
    for row in np.flatnonzero(which).tolist():
        is_target = [place == labels[row] for place in range(len(choices[row]))]
        lists["choices"][row], lists["label"][row] = choices[row], labels[row]
        lists["choice_kinds"][row] = ["target" if yes else "orig" for yes in is_target]
        lists["choice_fallback"][row] = [False] * len(is_target)
        lists["choice_origins"][row] = ["target" if yes else "published" for yes in is_target]
    return {name: pa.array(lists[name], column.type) for name, column in columns.items()}


def _written(benchmark: Benchmark, split: Split, made: _NewRows, most: int) -> pa.Table:
    """The split in the benchmark's own layout; what is told of single choices is told of the new ones."""
    table = benchmark.layout.written(split, made.rows["choices"].combine_chunks(), made.rows["label"].to_pylist())
    numbered = _kinds_are_numbers(table.schema)
    table = _without_narrow_classes(table, benchmark.layout.columns, most)
    told = {"choice_kinds": made.kinds, "choice_fallback": made.fallback, "choice_origins": made.origins}
    for name, column in told.items():
        if name == "choice_kinds" and numbered:
            numbers = pc.index_in(column.flatten(), pa.array(CHOICE_KINDS)).cast(pa.int64())
            column = pa.ListArray.from_arrays(column.offsets, numbers)
        place = table.schema.get_field_index(name)
        if place < 0:
            table = table.append_column(name, column)
        else:
            table = table.set_column(place, table.schema.field(place).with_type(column.type), column)
    return table


def _classes(schema: pa.Schema, column: str) -> list[str] | None:
    """The names of a ClassLabel column, or of a list of such; None for any other."""
    from datasets import ClassLabel, Features

    if b"huggingface" not in (schema.metadata or {}) or column not in schema.names:
        return None
    feature = Features.from_arrow_schema(schema)[column]
    inner = getattr(feature, "feature", feature)
    return list(inner.names) if isinstance(inner, ClassLabel) else None


def _kinds_are_numbers(schema: pa.Schema) -> bool:
    """Whether kinds are written as the numbers of our own rows."""
    if "choice_kinds" not in schema.names or not pa.types.is_list(schema.field("choice_kinds").type):
        return False
    is_number = pa.types.is_integer(schema.field("choice_kinds").type.value_type)
    return bool(is_number) and _classes(schema, "choice_kinds") in (None, list(CHOICE_KINDS))


def _without_narrow_classes(table: pa.Table, told_by: Sequence[str], most: int) -> pa.Table:
    """The same, but labels whose classes cannot name so many choices are numbers, and kinds other than ours text.

    Args:
        table: of a split.
        told_by: the columns that tell choices and label.
        most: choices of a row.
    """
    from datasets import Features, List, Value

    schema = table.schema
    narrow: dict[str, Any] = {
        name: Value("int64")
        for name in told_by
        if pa.types.is_integer(schema.field(name).type) and len(_classes(schema, name) or [""] * most) < most
    }
    if _classes(schema, "choice_kinds") not in (None, list(CHOICE_KINDS)):
        narrow["choice_kinds"] = List(Value("string"))
    if not narrow:
        return table
    features = Features({**Features.from_arrow_schema(schema), **narrow})
    return table.replace_schema_metadata({**(schema.metadata or {}), **features.arrow_schema.metadata})


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
