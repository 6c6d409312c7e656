"""A benchmark and its donors as triplets (image, question, target), from which decoys are made."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data import Benchmark
from hf_vqa_mc.dataset.build_inputs import sentences
from hf_vqa_mc.decoys import Variant
from hf_vqa_mc.decoys.candidates import MISSING, Int32s, starts
from hf_vqa_mc.decoys.indexed_triplets import IndexedTriplets
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import uses_word_vectors
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.remedies.candidate_sources import Candidate
from hf_vqa_mc.remedies.rejections import Rejections
from hf_vqa_mc.sources.table import triplet_table
from hf_vqa_mc.text.word_vectors import load_word_vectors

_COUNTED, _OTHERS = "train", "test"
"""Splits of the triplet table: rows in which the most frequent targets are counted, and all others."""
LARGEST_POOL = 100_000
"""More rows are divided by image into random parts, each of which takes its decoys from its own answers."""


def remedy_triplets(
    rows: Mapping[str, pa.Table],
    recipe: Variant,
    word_vectors: str | None,
    settings: Settings,
    donors: Sequence[Candidate],
    n_decoys: Int32s | None,
    rejections: Rejections | None,
    progress: Progress,
) -> IndexedTriplets:
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
    return IndexedTriplets.of(
        triplets, settings, vectors, published=True, largest_pool=pool, n_decoys=n_decoys, rejected=rejected
    )


def published_decoys(benchmark: Benchmark, n_donors: int) -> Int32s:
    """The number of published decoys of each row, at least 1; 0 for donors, which come last."""
    sizes = [pc.list_value_length(split.rows["choices"]).to_numpy() for split in benchmark.splits.values()]
    return np.concatenate([np.maximum(np.concatenate(sizes) - 1, 1), np.zeros(n_donors)]).astype(np.int32)


def target_origins(benchmark: Benchmark, donors: Sequence[Candidate]) -> pa.Array:
    """The origin of each triplet's target in words, string (triplets,)."""
    own = [
        pc.binary_join_element_wise("question ", split.rows["question_id"].combine_chunks(), f", {name}", "")
        for name, split in benchmark.splits.items()
    ]
    return pa.concat_arrays([*own, pa.array([donor.source for donor in donors], pa.string())])


def _triplets(rows: Mapping[str, pa.Table], donors: Sequence[Candidate], own_splits: bool) -> pa.Table:
    """A table ``schema.TRIPLETS`` with the rows of all splits followed by the donors."""
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
                question=[donor.question or "" for donor in donors],
                target=[donor.text for donor in donors],
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
