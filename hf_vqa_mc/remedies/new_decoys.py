"""Replace the decoys of a benchmark by IoU decoys, QoU decoys or both (Chao et al. 2018, Sect. 4)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from hf_vqa_mc.benchmarks import Benchmark, Split
from hf_vqa_mc.benchmarks.columns import KINDS, class_names
from hf_vqa_mc.benchmarks.verdicts import Rejected
from hf_vqa_mc.dataset.build_inputs import sentences
from hf_vqa_mc.dataset.decoy_sets import SET_COLUMNS, Arrangement, Choices, make_sets
from hf_vqa_mc.dataset.variants import needs_published, needs_word_vectors, uses_word_vectors
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET, VARIANTS, Variant, kind_number
from hf_vqa_mc.decoys.candidates import MISSING, Reason, starts
from hf_vqa_mc.decoys.material import Material
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.remedies.donors import Donor, images_in_common
from hf_vqa_mc.remedies.rejections import Rejections, without_bad_questions, without_rejected_decoys
from hf_vqa_mc.remedies.remedied import Remedied, decoy_statistics, remedied_config
from hf_vqa_mc.sources.table import triplet_table
from hf_vqa_mc.text.word_vectors import load_word_vectors

_COUNTED, _OTHERS = "train", "test"
"""Splits of the triplet table: rows in which the most frequent targets are counted, and all others."""
LARGEST_POOL = 100_000
"""More rows are divided by image into random parts, each of which takes its decoys from its own answers."""


def give_new_decoys(
    benchmark: Benchmark,
    variant: str,
    word_vectors: str | None,
    settings: Settings,
    donors: Sequence[Donor] = (),
    keep_size: bool = False,
    progress: Progress = silent,
    verdicts: Rejected | None = None,
) -> Remedied:
    """Replace the decoys of all splits.

    Candidates are the answers of all splits and the donors, in parts of `LARGEST_POOL` rows. Rows without any decoy
    keep their published choices and are counted. Answers to the same question about the same image are not used as
    decoys. Closed answer sets are formed within splits, without donors; rows in no set are left out and counted.

    Args:
        benchmark: with its targets.
        variant: name of a variant with ``remedies`` in ``decoys.VARIANTS``.
        word_vectors: as for ``load_word_vectors``, for QoU decoys.
        settings: of the method.
        donors: additional candidates.
        keep_size: give each row as many choices as published, instead of ``decoys_per_set`` in each set, where
            `_may_keep_size`.
        progress: called with (step, done, total).
        verdicts: texts that never become a question's decoys, also by ``keep_size`` or in closed sets, and questions
            whose rows are left out.

    Raises:
        InputError: the variant is unknown, word vectors are missing, no image has several questions for IoU decoys,
            or no closed set can be formed.
    """
    check_remedy(variant, word_vectors)
    recipe = VARIANTS[variant]
    rejections = None
    if verdicts is not None:
        benchmark, rejections = without_bad_questions(benchmark, verdicts)
    if "iou" in recipe.sets:
        check_images(benchmark, donors)
    if recipe.guarantee == "image":
        check_images(benchmark, (), "closed sets of the same image", "use another --guarantee")
    n_decoys = _published_decoys(benchmark, len(donors)) if keep_size and _may_keep_size(recipe) else None
    allowed = {name: split.rows for name, split in benchmark.splits.items()}
    if rejections is not None:
        allowed, rejections = without_rejected_decoys(benchmark, rejections)
    material = _material(allowed, recipe, word_vectors, settings, donors, n_decoys, rejections, progress)
    made = make_sets([recipe], material, progress)
    choices = Choices(recipe, made, material)
    ordered = all(split.ordered for split in benchmark.splits.values())
    arrangement = Arrangement(recipe, choices, material, target_first=not ordered)
    origins, most = _origins(benchmark, donors), choices.texts.shape[1]
    progress("arranging choices", 0, material.size - len(donors))
    alone = ~recipe.closed & (choices.texts[:, 1:] == MISSING).all(axis=1)
    splits, first, unchanged, without_choices = {}, 0, 0, 0
    for name, split in benchmark.splits.items():
        rows = slice(first, first + split.rows.num_rows)
        without = alone[rows] & (pc.list_value_length(allowed[name]["choices"]).to_numpy() < 2)
        included = np.flatnonzero(choices.included[rows] & ~without)
        without_choices += int(without.sum())
        if len(included):
            one = split.take(included) if len(included) < split.rows.num_rows else split
            published = allowed[name].take(pa.array(included))
            splits[name], kept = _new_split(benchmark, one, published, arrangement, first + included, origins, most)
            unchanged += kept
        first += split.rows.num_rows
        progress("arranging choices", first, material.size - len(donors))
    statistics = decoy_statistics(recipe, benchmark, choices, made, donors, unchanged)
    statistics["pools"] = len(material.pools)
    if rejections is not None:
        tested = sum(made[name].view(recipe).rejected.get(Reason.VERDICT.name.lower(), 0) for name in recipe.sets)
        statistics["rejected"] = rejections.as_json(tested, without_choices)
    vectors = material.vectors
    statistics["word_vectors"] = {"name": vectors.name, "sha256": vectors.sha256} if vectors else None
    if benchmark.evaluated not in splits:
        raise InputError(
            f"{benchmark.test.location}: no closed answer sets can be formed in this split, only in others"
        )
    config = remedied_config(benchmark.config, variant)
    return Remedied(replace(benchmark, config=config, splits=splits), statistics)


def _material(
    rows: Mapping[str, pa.Table],
    recipe: Variant,
    word_vectors: str | None,
    settings: Settings,
    donors: Sequence[Donor],
    n_decoys: NDArray[np.int32] | None,
    rejections: Rejections | None,
    progress: Progress,
) -> Material:
    """The rows of all splits and the donors, with word vectors if they are used."""
    triplets = _triplets(rows, donors, own_splits=recipe.closed)
    vectors = None
    if word_vectors is not None and uses_word_vectors([recipe]):
        progress("reading word vectors", 0, 1)
        vectors = load_word_vectors(word_vectors, partial(sentences, triplets), settings.seed, progress)
        progress("reading word vectors", 1, 1)
    rejected = None
    if rejections is not None:
        texts = [one for of_split in rows.values() for one in rejections.texts(of_split)]
        rejected = pa.array([*texts, *([] for _ in donors)], pa.list_(pa.string()))
    pool = None if recipe.closed else LARGEST_POOL  # sets are formed in small groups anyway
    return Material.of(
        triplets,
        settings,
        vectors,
        skip_same_question=True,
        largest_pool=pool,
        n_decoys=n_decoys,
        rejected=rejected,
    )


def _may_keep_size(variant: Variant) -> bool:
    """Whether rows can have as many choices as published: without published decoys and closed sets."""
    return not variant.closed and not needs_published(variant)


def _published_decoys(benchmark: Benchmark, n_donors: int) -> NDArray[np.int32]:
    """The number of published decoys of each row, at least 1; 0 for donors, which come last."""
    sizes = [pc.list_value_length(split.rows["choices"]).to_numpy() for split in benchmark.splits.values()]
    return np.concatenate([np.maximum(np.concatenate(sizes) - 1, 1), np.zeros(n_donors)]).astype(np.int32)


def _origins(benchmark: Benchmark, donors: Sequence[Donor]) -> pa.Array:
    """The origin of each triplet's target in words, string (triplets,)."""
    own = [
        pc.binary_join_element_wise("question ", split.rows["question_id"].combine_chunks(), f", {name}", "")
        for name, split in benchmark.splits.items()
    ]
    return pa.concat_arrays([*own, pa.array([donor.origin for donor in donors], pa.string())])


def check_remedy(variant: str, word_vectors: str | None) -> None:
    """Raise InputError unless the variant exists and has the word vectors that it needs."""
    known = [name for name, declared in VARIANTS.items() if declared.remedies]
    if variant not in known:
        raise unknown_name("variant", variant, known)
    if word_vectors is None and needs_word_vectors([VARIANTS[variant]]):
        raise InputError(
            "QoU decoys need word vectors: add --word-vectors FILE (word2vec, GloVe or .kv), a gensim-data name, or "
            "corpus to train them on the benchmark's own text"
        )


def check_images(
    benchmark: Benchmark,
    donors: Sequence[Donor],
    what: str = "IoU decoys",
    remedy: str = "use --variant qou, or add answers about the same images: --pool DATASET, --captions or "
    "--scene-graphs",
) -> None:
    """Raise InputError unless some image has several questions or donors."""
    counts = Counter(one for split in benchmark.splits.values() for one in split.rows["image_id"].to_pylist())
    known = counts.pop("", 0)
    if not counts:
        reason = f"none of its {known:,} rows has an image (--image COLUMN)" if known else "it has no rows"
        raise InputError(f"{benchmark.dataset}: {what} need images, and {reason}; {remedy}")
    if max(counts.values()) == 1 and not images_in_common(donors, benchmark):
        raise InputError(
            f"{benchmark.dataset}: {what} are made of the answers to other questions on the same image, but each of "
            f"its {len(counts):,} images has a single question; {remedy}"
        )


def _triplets(rows: Mapping[str, pa.Table], donors: Sequence[Donor], own_splits: bool) -> pa.Table:
    """A table ``schema.TRIPLETS`` with the rows of all splits followed by the donors.

    ``own_splits`` keeps the names of the splits.
    """
    parts = []
    counted = "train" if "train" in rows else None
    for name, of_split in rows.items():
        columns = ("choices", "label", "image_id", "question_id", "question", "answers")
        choices, labels, images, ids, questions, answers = (of_split[column].combine_chunks() for column in columns)
        ids = pc.binary_join_element_wise(name, ids, "/")
        is_target = np.zeros(len(choices.flatten()), np.bool_)
        sizes = choices.value_lengths().to_numpy()
        is_target[starts(sizes)[:-1] + labels.to_numpy()] = True
        targets = choices.flatten().filter(pa.array(is_target))
        decoys = choices.flatten().filter(pa.array(~is_target))
        parts.append(
            triplet_table(
                question_id=ids,
                image_id=pc.if_else(pc.equal(images, ""), pc.binary_join_element_wise("\0", ids, ""), images),
                split=pa.repeat(name if own_splits else _COUNTED if counted in (None, name) else _OTHERS, len(ids)),
                question=questions,
                target=targets,
                answers=_or_target(answers, targets),
                orig_decoys=pa.ListArray.from_arrays(pa.array(starts(sizes - 1), pa.int32()), decoys),
                image_file=pa.repeat("", len(ids)),
            )
        )
    if donors:
        parts.append(
            triplet_table(
                question_id=[f"donor/{number}" for number in range(len(donors))],
                image_id=[donor.image_id or f"\0donor/{number}" for number, donor in enumerate(donors)],
                split=[_OTHERS] * len(donors),
                question=[donor.question for donor in donors],
                target=[donor.answer for donor in donors],
                image_file=[""] * len(donors),
            )
        )
    return pa.concat_tables(parts).combine_chunks()


def _or_target(answers: pa.ListArray, targets: pa.StringArray) -> pa.ListArray:
    """The answers of each row, or its target where there are none."""
    sizes, flat = answers.value_lengths().to_numpy(), answers.flatten()
    ends = starts(np.maximum(sizes, 1))
    value = np.full(ends[-1], MISSING)
    none = np.flatnonzero(sizes == 0)
    value[ends[none]] = len(flat) + none
    value[value == MISSING] = np.arange(len(flat))
    return pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pa.concat_arrays([flat, targets]).take(pa.array(value))
    )


def _new_split(
    benchmark: Benchmark,
    split: Split,
    published: pa.Table,
    arrangement: Arrangement,
    rows: NDArray[np.int64],
    origins: pa.Array,
    most: int,
) -> tuple[Split, int]:
    """A split with at most ``most`` new choices per row, and the number of its rows that keep their published choices.

    The split's ``original`` has the benchmark's layout, with kinds, fallbacks and origins of the choices.

    Args:
        benchmark: with the layout.
        split: the split.
        published: its rows with the published choices that may be kept.
        arrangement: of all choices.
        rows: the triplet indices of the split's rows.
        origins: (triplets,): description of each triplet's target.
        most: the maximum number of choices.
    """
    made = arrangement.columns(rows)
    sizes = pc.list_value_length(made["choices"]).to_numpy()
    if benchmark.layout.index_from == 1 and not (made["label"].to_numpy() == sizes - 1).any():
        arrangement.put_target_last(int(rows[0]))  # so that the file shows that labels count from 1
        made = arrangement.columns(rows)
    few = sizes < 2
    kinds = pa.array(list(CHOICE_KINDS)).take(made["choice_kinds"].flatten())
    donors = arrangement.donors(rows).flatten().to_numpy()
    is_target = pc.equal(made["choice_kinds"].flatten(), kind_number(TARGET.name))
    cases = pc.make_struct(is_target, made["choice_fallback"].flatten(), pa.array(donors == MISSING))
    from_donor = origins.take(pa.array(np.maximum(donors, 0)))
    described = pc.case_when(cases, "target", "fallback", "published", from_donor)
    columns = {
        "choices": made["choices"],
        "label": made["label"],
        "choice_kinds": pa.ListArray.from_arrays(made["choices"].offsets, kinds),
        "choice_fallback": made["choice_fallback"],
        "choice_origins": pa.ListArray.from_arrays(made["choices"].offsets, described),
    }
    if few.any():
        columns = _with_published(columns, published, few)
    columns |= {name: made[name] for name in SET_COLUMNS if arrangement.closed}
    table = split.rows
    for name in ("choices", "label", "choice_kinds"):
        table = table.set_column(table.schema.get_field_index(name), name, columns[name])
    return replace(split, rows=table, original=_written(benchmark, split, columns, most)), int(few.sum())


def _with_published(
    columns: dict[str, pa.Array], published: pa.Table, which: NDArray[np.bool_]
) -> dict[str, pa.Array]:
    """The columns with the published choices in some rows."""
    choices, labels = published["choices"].to_pylist(), published["label"].to_pylist()
    lists = {name: column.to_pylist() for name, column in columns.items()}
    for row in np.flatnonzero(which).tolist():
        is_target = [index == labels[row] for index in range(len(choices[row]))]
        lists["choices"][row], lists["label"][row] = choices[row], labels[row]
        lists["choice_kinds"][row] = ["target" if yes else "orig" for yes in is_target]
        lists["choice_fallback"][row] = [False] * len(is_target)
        lists["choice_origins"][row] = ["target" if yes else "published" for yes in is_target]
    return {name: pa.array(lists[name], column.type) for name, column in columns.items()}


def _written(benchmark: Benchmark, split: Split, columns: Mapping[str, pa.Array], most: int) -> pa.Table:
    """The split in the benchmark's layout, with kinds, fallbacks and origins of the new choices."""
    table = benchmark.with_choices(split, columns["choices"], columns["label"].to_pylist())
    numbered = _kinds_are_numbers(table.schema)
    table = _without_narrow_classes(table, benchmark.layout.columns, most)
    for name, column in columns.items():
        if name in ("choices", "label"):
            continue
        if name == "choice_kinds" and numbered:
            numbers = pc.index_in(column.flatten(), pa.array(list(CHOICE_KINDS))).cast(pa.int64())
            column = pa.ListArray.from_arrays(column.offsets, numbers)
        index = table.schema.get_field_index(name)
        if index < 0:
            table = table.append_column(name, column)
        else:
            table = table.set_column(index, table.schema.field(index).with_type(column.type), column)
    return table


def _kinds_are_numbers(schema: pa.Schema) -> bool:
    """Whether choice_kinds are integers, as in datasets built by this package."""
    kind = schema.field(KINDS).type if KINDS in schema.names else pa.null()
    is_number = pa.types.is_list(kind) and pa.types.is_integer(kind.value_type)
    return bool(is_number) and class_names(schema, KINDS) in (None, list(CHOICE_KINDS))


def _without_narrow_classes(table: pa.Table, columns: Sequence[str], most: int) -> pa.Table:
    """Replace ClassLabel by int64 if it has fewer than ``most`` classes, and foreign choice_kinds by strings."""
    from datasets import Features, List, Value

    schema = table.schema
    narrow: dict[str, Any] = {
        name: Value("int64")
        for name in columns
        if pa.types.is_integer(schema.field(name).type) and len(class_names(schema, name) or [""] * most) < most
    }
    if class_names(schema, KINDS) not in (None, list(CHOICE_KINDS)):
        narrow["choice_kinds"] = List(Value("string"))
    if not narrow:
        return table
    features = Features({**Features.from_arrow_schema(schema), **narrow})
    return table.replace_schema_metadata({**(schema.metadata or {}), **features.arrow_schema.metadata})
