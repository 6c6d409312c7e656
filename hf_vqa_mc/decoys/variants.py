"""The method: triplets, sets of decoys, rows, statistics (Chao et al. 2018, Sect. 4 and 5.1)."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.decoys import VARIANTS, Method, Variant, methods
from hf_vqa_mc.decoys.decoy_table import IndexedTriplets
from hf_vqa_mc.decoys.rows import RowChoices, make_decoys, split_tables
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.statistics import statistics
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.text.word_vectors import WordVectors


class BuiltVariant(NamedTuple):
    """The rows of a variant of a dataset."""

    name: str
    splits: dict[str, pa.Table]  # split to rows, tables ``schema.MULTIPLE_CHOICE``, in the order of the triplets
    statistics: dict[str, Any]  # ready for JSON


def build_variants(
    triplets: pa.Table,
    names: Sequence[str],
    vectors: WordVectors | None,
    settings: Settings,
    progress: Progress = silent,
) -> Iterator[BuiltVariant]:
    """Make variants of a dataset. All sets of decoys are made before the first variant is yielded.

    Triplets are checked ``schema.TRIPLETS``, with released decoys if these are used; word vectors are required for QoU
    decoys.

    Raises:
        InputError: an unknown name, or missing decoys or word vectors.
    """
    variants = find_variants(names, triplets)
    if vectors is None and needs_word_vectors(variants, triplets.column_names):
        raise InputError("QoU decoys need word vectors; give some: --word-vectors FILE, a gensim-data name, or corpus")
    indexed = IndexedTriplets(triplets, settings, vectors)
    made = make_decoys(variants, indexed, progress)
    rows = (RowChoices(variant, made, indexed) for variant in variants)
    return (BuiltVariant(one.variant.name, split_tables(one, indexed), statistics(one, indexed)) for one in rows)


def _methods_of(variants: Sequence[Variant]) -> list[Method]:
    return [methods()[name][1] for variant in variants for name in variant.sets]


def needs_word_vectors(variants: Sequence[Variant], columns: Sequence[str] = ()) -> bool:
    """Whether a variant has decoys made with word vectors instead of read from one of these columns."""
    return any(method.needs_word_vectors and method.column not in columns for method in _methods_of(variants))


def uses_word_vectors(variants: Sequence[Variant]) -> bool:
    """Whether a variant has decoys made with word vectors if they are given."""
    return any(method.needs_word_vectors or method.uses_word_vectors for method in _methods_of(variants))


def needs_published(variant: Variant) -> bool:
    """Whether a variant has decoys that can only be read."""
    return any(method.take is None for method in _methods_of([variant]))


def variants_of(triplets: pa.Table) -> list[str]:
    """The variants that a triplet table can have; those with Orig only if every triplet has published decoys."""
    return [name for name, variant in VARIANTS.items() if _has_published(variant, triplets)]


def find_variants(names: Sequence[str], triplets: pa.Table) -> list[Variant]:
    """Variants by name; raises InputError for an unknown one, or if published decoys are missing."""
    found = [VARIANTS.find(name) for name in names]
    for variant in found:
        if not _has_published(variant, triplets):
            raise InputError(
                f"variant {variant.name!r} needs the source's own decoys, which these files do not hold for every "
                f"question; supported: {', '.join(variants_of(triplets))}"
            )
    return found


def _has_published(variant: Variant, triplets: pa.Table) -> bool:
    """Whether every triplet has the decoys of the variant that can only be read."""
    columns = [method.column for method in _methods_of([variant]) if method.take is None]
    return all(
        column in triplets.column_names and bool(pc.min(pc.list_value_length(triplets[column])).as_py())
        for column in columns
    )
