"""Replace the decoys of a benchmark by IoU decoys, QoU decoys or both (Chao et al. 2018, Sect. 4), or by closed sets.

The benchmark and its donors become triplets (image, question, target), from which decoys are made as in a build.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data import Benchmark, Split
from hf_vqa_mc.data.verdicts import Rejected
from hf_vqa_mc.dataset.build_inputs import sentences
from hf_vqa_mc.decoys import CHOICE_KINDS, TARGET, VARIANTS, kind_number
from hf_vqa_mc.decoys.candidates import MISSING, Bools, Int64s, Reason, starts
from hf_vqa_mc.decoys.decoy_table import IndexedTriplets
from hf_vqa_mc.decoys.rows import SET_COLUMNS, RowChoices, arrange, choice_orders, make_decoys
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.statistics import counts_of, set_statistics
from hf_vqa_mc.decoys.variants import needs_published, needs_word_vectors, uses_word_vectors
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.remedies.candidate_pool import Candidate, images_in_common
from hf_vqa_mc.remedies.remedied import (
    Remedied,
    rejected_texts,
    with_new_columns,
    without_bad_questions,
    without_rejected_decoys,
)
from hf_vqa_mc.sources.table import triplet_table
from hf_vqa_mc.text.word_vectors import load_word_vectors

LARGEST_POOL = 100_000
"""More rows are divided by image into random parts, each of which takes its decoys from its own answers."""
_COUNTED, _OTHERS = "train", "test"
"""Splits of the triplet table: rows in which the most frequent targets are counted, and all others."""


def give_new_decoys(
    benchmark: Benchmark,
    variant: str,
    word_vectors: str | None,
    settings: Settings,
    donors: Sequence[Candidate] = (),
    keep_size: bool = False,
    progress: Progress = silent,
    verdicts: Rejected | None = None,
) -> Remedied:
    """Replace the decoys of all splits.

    Candidates are the answers of all splits and the donors, in parts of `LARGEST_POOL` rows. Rows without any
    decoy keep their published choices and are counted. Answers to the same question about the same image are not used
    as decoys. Closed answer sets are formed within splits, without donors; rows in no set are left out and counted.

    With ``keep_size`` each row has as many choices as published, instead of ``decoys_per_set`` in each set, except in
    closed sets and next to published decoys. Texts that ``verdicts`` reject never become a question's decoys; rows of
    rejected questions are left out. Word vectors are named as for `load_word_vectors`.

    Raises:
        InputError: word vectors are missing, no image has several questions for IoU decoys, or no closed set can be
            formed.
    """
    recipe, counts, rejected = VARIANTS[variant], dict[str, int](), None
    if word_vectors is None and needs_word_vectors([recipe]):
        raise InputError(
            "QoU decoys need word vectors: add --word-vectors FILE (word2vec, GloVe or .kv), a gensim-data name, or "
            "corpus to train them on the benchmark's own text"
        )
    if verdicts is not None:
        benchmark, counts = without_bad_questions(benchmark, verdicts)
    if "iou" in recipe.sets:
        _check_images(benchmark, donors)
    if recipe.guarantee == "image":
        _check_images(benchmark, (), "closed sets of the same image", "use another --guarantee")
    sizes = [pc.list_value_length(split.rows["choices"]).to_numpy() for split in benchmark.splits.values()]
    published = np.concatenate(sizes)
    n_decoys = None
    if keep_size and not recipe.closed and not needs_published(recipe):
        n_decoys = np.append(np.maximum(published - 1, 1), np.zeros(len(donors))).astype(np.int32)
    allowed = {name: split.rows for name, split in benchmark.splits.items()}
    if verdicts is not None:
        allowed, counts["published_decoys"] = without_rejected_decoys(benchmark, verdicts)
        texts = [one for of_split in allowed.values() for one in rejected_texts(verdicts, of_split)]
        rejected = pa.array([*texts, *([] for _ in donors)], pa.list_(pa.string()))
    triplets, vectors = _triplets(allowed, benchmark.known_answers, donors, own_splits=recipe.closed), None
    if word_vectors is not None and uses_word_vectors([recipe]):
        progress("reading word vectors", 0, 1)
        vectors = load_word_vectors(word_vectors, partial(sentences, triplets), settings.seed, progress)
        progress("reading word vectors", 1, 1)
    largest = None if recipe.closed else LARGEST_POOL  # sets are formed in small groups anyway
    indexed = IndexedTriplets(triplets, settings, vectors, published=True, largest_pool=largest, n_decoys=n_decoys,
                              rejected=rejected)  # fmt: skip
    choices = RowChoices(recipe, make_decoys([recipe], indexed, progress), indexed)
    splits, unchanged, without_choices = _arranged(benchmark, allowed, choices, indexed, donors, progress)
    if benchmark.evaluated not in splits:
        raise InputError(
            f"{benchmark.test.location}: no closed answer sets can be formed in this split, only in others"
        )
    statistics: dict[str, Any] = {
        **_statistics(benchmark, choices, published, donors, unchanged),
        "pools": len(indexed.pools),
        "word_vectors": {"name": vectors.name, "sha256": vectors.sha256} if vectors else None,
    }
    if counts:
        tested = sum(one.rejected.get(Reason.VERDICT.name.lower(), 0) for one in choices.decoys.values())
        statistics["rejected"] = {**counts, "rows_left_out_no_decoy": without_choices, "candidates": tested}
    return Remedied(replace(benchmark, splits=splits), statistics)


def _check_images(
    benchmark: Benchmark,
    donors: Sequence[Candidate],
    what: str = "IoU decoys",
    remedy: str = "use --variant qou, or add answers about the same images: --pool DATASET",
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


def _triplets(
    rows: Mapping[str, pa.Table], known: Mapping[str, pa.ListArray], donors: Sequence[Candidate], own_splits: bool
) -> pa.Table:
    """A table ``schema.TRIPLETS`` with the rows of all splits and their known answers, followed by the donors."""
    parts = []
    counted = "train" if "train" in rows else None
    for name, of_split in rows.items():
        columns = ("choices", "label", "image_id", "question_id", "question")
        choices, labels, images, ids, questions = (of_split[column].combine_chunks() for column in columns)
        answers = known[name]
        ids = pc.binary_join_element_wise(name, ids, "/")
        is_target = np.zeros(len(choices.flatten()), np.bool_)
        sizes = choices.value_lengths().to_numpy()
        is_target[starts(sizes)[:-1] + labels.to_numpy()] = True
        targets = choices.flatten().filter(pa.array(is_target))
        decoys = choices.flatten().filter(pa.array(~is_target))
        only_target = pa.ListArray.from_arrays(pa.array(np.arange(len(ids) + 1), pa.int32()), targets)
        without_answers = pc.equal(pc.list_value_length(answers), 0)
        parts.append(
            triplet_table(
                question_id=ids,
                image_id=pc.if_else(pc.equal(images, ""), pc.binary_join_element_wise("\0", ids, ""), images),
                split=pa.repeat(name if own_splits else _COUNTED if counted in (None, name) else _OTHERS, len(ids)),
                question=questions,
                target=targets,
                answers=pc.if_else(without_answers, only_target, answers),
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
                question=[donor.question or "" for donor in donors],
                target=[donor.text for donor in donors],
                image_file=[""] * len(donors),
            )
        )
    return pa.concat_tables(parts).combine_chunks()


def _arranged(benchmark: Benchmark, allowed: Mapping[str, pa.Table], choices: RowChoices, indexed: IndexedTriplets,
              donors: Sequence[Candidate], progress: Progress) -> tuple[dict[str, Split], int, int]:  # fmt: skip
    """The splits with new choices, and the numbers of rows that keep the published ones or are left without any."""
    orders = choice_orders(choices, indexed, not all(one.ordered for one in benchmark.splits.values()))
    origins = [
        pc.binary_join_element_wise("question ", split.rows["question_id"].combine_chunks(), f", {name}", "")
        for name, split in benchmark.splits.items()
    ]
    origins = pa.concat_arrays([*origins, pa.array([donor.source for donor in donors], pa.string())])
    alone = ~choices.variant.closed & (choices.texts[:, 1:] == MISSING).all(axis=1)
    progress("arranging choices", 0, indexed.size - len(donors))
    splits, first, unchanged, without_choices = {}, 0, 0, 0
    for name, split in benchmark.splits.items():
        rows = slice(first, first + split.rows.num_rows)
        without = alone[rows] & (pc.list_value_length(allowed[name]["choices"]).to_numpy() < 2)
        included = np.flatnonzero(choices.included[rows] & ~without)
        without_choices += int(without.sum())
        if len(included):
            columns = _columns(benchmark, choices, orders, first + included, indexed, origins)
            few = pc.list_value_length(columns["choices"]).to_numpy() < 2
            if few.any():
                columns = _with_published(columns, allowed[name].take(pa.array(included)), few)
            unchanged += int(few.sum())
            one = split.take(included) if len(included) < split.rows.num_rows else split
            splits[name] = with_new_columns(benchmark, one, columns, choices.texts.shape[1])
        first += split.rows.num_rows
        progress("arranging choices", first, indexed.size - len(donors))
    return splits, unchanged, without_choices


def _columns(benchmark: Benchmark, choices: RowChoices, orders: Int64s, rows: Int64s, indexed: IndexedTriplets,
             origins: pa.Array) -> dict[str, pa.Array]:  # fmt: skip
    """The new columns of some rows, with kinds, fallbacks and origins; ``origins`` (triplets,) are of the targets."""
    made = arrange(choices, orders, rows, indexed)
    sizes = pc.list_value_length(made["choices"]).to_numpy()
    if benchmark.spec.index_from == 1 and not (made["label"].to_numpy() == sizes - 1).any():
        order = orders[rows[0], : sizes[0]]  # the target goes last, so that the file shows that labels count from 1
        order[:] = [*order[order != 0], 0]
        made = arrange(choices, orders, rows, indexed)
    offsets, kinds = made["choices"].offsets, made["choice_kinds"].flatten()
    donors = made["donors"].flatten().to_numpy()
    is_target = pc.equal(kinds, kind_number(TARGET.name))
    cases = pc.make_struct(is_target, made["choice_fallback"].flatten(), pa.array(donors == MISSING))
    from_donor = origins.take(pa.array(np.maximum(donors, 0)))
    described = pc.case_when(cases, "target", "fallback", "published", from_donor)
    return {
        "choices": made["choices"],
        "label": made["label"],
        "choice_kinds": pa.ListArray.from_arrays(offsets, pa.array(list(CHOICE_KINDS)).take(kinds)),
        "choice_fallback": made["choice_fallback"],
        "choice_origins": pa.ListArray.from_arrays(offsets, described),
        **{name: made[name] for name in SET_COLUMNS if choices.sets},
    }


def _with_published(columns: dict[str, pa.Array], published: pa.Table, which: Bools) -> dict[str, pa.Array]:
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


def _statistics(
    benchmark: Benchmark, choices: RowChoices, published: Int64s, donors: Sequence[Candidate], unchanged: int
) -> dict[str, Any]:
    """Statistics of the new decoys; ``published`` are the numbers of choices before."""
    n_rows = len(published)
    decoys = {}
    for name, made in choices.decoys.items():
        found, fallback = made.picks[:n_rows] != MISSING, made.fallback[:n_rows]
        wanted = int(made.sizes[:n_rows].sum())
        decoys[name] = {
            "wanted": wanted,
            "found": int((found & ~fallback).sum()),
            "fallbacks": int(fallback.sum()),
            "missing": wanted - int(found.sum()),
        }
    sizes = (choices.texts[:n_rows] != MISSING).sum(axis=1)
    of_split = np.repeat(list(benchmark.splits), [split.rows.num_rows for split in benchmark.splits.values()])
    return {
        "variant": choices.variant.name,
        **({"closed_sets": set_statistics(choices.sets, sizes, of_split)} if choices.sets else {}),
        "rows": n_rows,
        "rows_left_as_published": unchanged,
        "choices": counts_of(sizes[choices.included[:n_rows]]),
        "choices_before": counts_of(published),
        "decoys": decoys,
        "donors": {
            "given": len(donors),
            "images_in_common": images_in_common(donors, benchmark),
            "decoys_from_them": int((choices.donors[:n_rows] >= n_rows).sum()),
        },
    }
