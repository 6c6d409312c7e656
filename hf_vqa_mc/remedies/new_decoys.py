"""Replace the decoys of a benchmark by IoU decoys, QoU decoys or both (Chao et al. 2018, Sect. 4), or by closed sets.

The benchmark and its donors become triplets (image, question, target), from which decoys are made as in a build.
"""

from collections import Counter
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
from hf_vqa_mc.remedies.candidate_pool import NONE, images_in_common
from hf_vqa_mc.remedies.remedied import (
    Remedied,
    rejected_texts,
    with_new_columns,
    without_bad_questions,
    without_rejected_decoys,
)
from hf_vqa_mc.sources.table import equal_lists, text_lists, triplet_table
from hf_vqa_mc.text.word_vectors import load_word_vectors

_COUNTED, _OTHERS = "train", "test"
"""Splits of the triplet table: rows in which the most frequent targets are counted, and all others."""


def give_new_decoys(
    benchmark: Benchmark,
    variant: str,
    word_vectors: str | None,
    settings: Settings,
    donors: pa.Table = NONE,
    keep_size: bool = False,
    progress: Progress = silent,
    verdicts: Rejected | None = None,
) -> Remedied:
    """Replace the decoys of all splits.

    Candidates are the answers of all splits and the donors, a table of `candidate_pool.CANDIDATES` with questions.
    Rows without any decoy keep their published choices and are counted. Answers to the same question about the same
    image are not used as decoys. Closed answer sets are formed within splits, without donors; rows in no set are left
    out and counted.

    With ``keep_size`` each row has as many choices as published, instead of ``decoys_per_set`` in each set, except in
    closed sets and next to published decoys. Texts that ``verdicts`` reject never become a question's decoys; rows of
    rejected questions are left out. Word vectors are named as for `load_word_vectors`.

    Raises:
        InputError: word vectors are missing, no image has several questions for IoU decoys, or no closed set can be
            formed.
    """
    recipe, vectors = VARIANTS[variant], None
    if word_vectors is None and needs_word_vectors([recipe]):
        raise InputError(
            "QoU decoys need word vectors: add --word-vectors FILE (word2vec, GloVe or .kv), a gensim-data name, or "
            "corpus to train them on the benchmark's own text"
        )
    benchmark, counts = without_bad_questions(benchmark, verdicts)
    if "iou" in recipe.sets:
        _check_images(benchmark, donors)
    if recipe.guarantee == "image":
        _check_images(benchmark, NONE, "closed sets of the same image", "use another --guarantee")
    sizes = [pc.list_value_length(split.rows["choices"]).to_numpy() for split in benchmark.splits.values()]
    published = np.concatenate(sizes)
    n_decoys = None
    if keep_size and not recipe.closed and not needs_published(recipe):
        n_decoys = np.append(np.maximum(published - 1, 1), np.zeros(len(donors))).astype(np.int32)
    allowed, n_dropped = without_rejected_decoys(benchmark, verdicts)
    rejected = [texts for split in allowed.splits.values() for texts in rejected_texts(verdicts, split.rows)]
    triplets = _triplets(allowed, donors, own_splits=recipe.closed)
    if word_vectors is not None and uses_word_vectors([recipe]):
        progress("reading word vectors", 0, 1)
        vectors = load_word_vectors(word_vectors, partial(sentences, triplets), settings.seed, progress)
        progress("reading word vectors", 1, 1)
    indexed = IndexedTriplets(triplets, settings, vectors, published=True, n_decoys=n_decoys,
                              rejected=text_lists([*rejected, *([] for _ in range(len(donors)))]))  # fmt: skip
    choices = RowChoices(recipe, make_decoys([recipe], indexed, progress), indexed)
    splits, unchanged, without_choices = _arranged(benchmark, allowed, choices, indexed, donors, progress)
    if benchmark.evaluated not in splits:
        raise InputError(
            f"{benchmark.test.location}: no closed answer sets can be formed in this split, only in others"
        )
    statistics = _statistics(benchmark, choices, published, donors, unchanged)
    statistics["word_vectors"] = {"name": vectors.name, "sha256": vectors.sha256} if vectors else None
    if counts:
        tested = sum(int(one.rejected[:, Reason.VERDICT].sum()) for one in choices.decoys.values())
        more = {"published_decoys": n_dropped, "rows_left_out_no_decoy": without_choices, "candidates": tested}
        statistics["rejected"] = {**counts, **more}
    return Remedied(replace(benchmark, splits=splits), statistics)


def _check_images(
    benchmark: Benchmark,
    donors: pa.Table,
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


def _triplets(benchmark: Benchmark, donors: pa.Table, own_splits: bool) -> pa.Table:
    """A table ``schema.TRIPLETS`` with the rows of all splits and their known answers, followed by the donors."""
    parts = []
    counted = "train" if "train" in benchmark.splits else None
    for name, split in benchmark.splits.items():
        columns = ("choices", "image_id", "question_id", "question")
        choices, images, ids, questions = (split.rows[column].combine_chunks() for column in columns)
        ids = pc.binary_join_element_wise(name, ids, "/")
        sizes, answers = choices.value_lengths().to_numpy(), benchmark.known_answers[name]
        is_decoy = np.ones(sizes.sum(), np.bool_)
        is_decoy[starts(sizes)[:-1] + split.rows["label"].to_numpy()] = False
        decoys = choices.flatten().filter(pa.array(is_decoy))
        without_answers = pc.equal(pc.list_value_length(answers), 0)
        parts.append(
            triplet_table(
                question_id=ids,
                image_id=pc.if_else(pc.equal(images, ""), pc.binary_join_element_wise("\0", ids, ""), images),
                split=pa.repeat(name if own_splits else _COUNTED if counted in (None, name) else _OTHERS, len(ids)),
                question=questions,
                target=split.targets,
                answers=pc.if_else(without_answers, equal_lists(split.targets, 1), answers),
                orig_decoys=pa.ListArray.from_arrays(pa.array(starts(sizes - 1), pa.int32()), decoys),
                image_file=pa.repeat("", len(ids)),
            )
        )
    images, ids = donors["image_id"], pa.array([f"donor/{number}" for number in range(len(donors))], pa.string())
    parts.append(
        triplet_table(
            question_id=ids,
            image_id=pc.if_else(pc.equal(images, ""), pc.binary_join_element_wise("\0", ids, ""), images),
            split=pa.repeat(_OTHERS, len(ids)),
            question=donors["question"],
            target=donors["text"],
            image_file=pa.repeat("", len(ids)),
        )
    )
    return pa.concat_tables(parts).combine_chunks()


def _arranged(benchmark: Benchmark, allowed: Benchmark, choices: RowChoices, indexed: IndexedTriplets,
              donors: pa.Table, progress: Progress) -> tuple[dict[str, Split], int, int]:  # fmt: skip
    """The splits with new choices, and the numbers of rows that keep the published ones or are left without any."""
    orders = choice_orders(choices, indexed, not all(one.ordered for one in benchmark.splits.values()))
    origins = [
        pc.binary_join_element_wise("question ", split.rows["question_id"].combine_chunks(), f", {name}", "")
        for name, split in benchmark.splits.items()
    ]
    origins = pa.concat_arrays([*origins, donors["source"].combine_chunks()])
    alone = ~choices.variant.closed & (choices.texts[:, 1:] == MISSING).all(axis=1)
    progress("arranging choices", 0, indexed.size - len(donors))
    splits, first, unchanged, without_choices = {}, 0, 0, 0
    for name, split in benchmark.splits.items():
        rows, published = slice(first, first + split.rows.num_rows), allowed.splits[name].rows
        without = alone[rows] & (pc.list_value_length(published["choices"]).to_numpy() < 2)
        included = np.flatnonzero(choices.included[rows] & ~without)
        without_choices += int(without.sum())
        if len(included):
            columns = _columns(benchmark, choices, orders, first + included, indexed, origins)
            few = pc.list_value_length(columns["choices"]).to_numpy() < 2
            if few.any():
                columns = _with_published(columns, published.take(pa.array(included)), few)
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
    benchmark: Benchmark, choices: RowChoices, published: Int64s, donors: pa.Table, unchanged: int
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
