"""Replace the decoys of a benchmark by IoU decoys, QoU decoys or both (Chao et al. 2018, Sect. 4)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from hf_vqa_mc.data import Benchmark, Split
from hf_vqa_mc.data.verdicts import Rejected
from hf_vqa_mc.decoys import VARIANTS, Variant
from hf_vqa_mc.decoys.candidates import MISSING, Reason
from hf_vqa_mc.decoys.indexed_triplets import IndexedTriplets
from hf_vqa_mc.decoys.rows import RowChoices, choice_orders, make_decoys
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import needs_published, needs_word_vectors
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.progress import Progress, silent
from hf_vqa_mc.remedies.candidate_sources import Candidate, images_in_common
from hf_vqa_mc.remedies.config_names import remedied_config
from hf_vqa_mc.remedies.new_rows import new_split
from hf_vqa_mc.remedies.rejections import without_bad_questions, without_rejected_decoys
from hf_vqa_mc.remedies.remedied import Remedied, decoy_statistics
from hf_vqa_mc.remedies.triplets import published_decoys, remedy_triplets, target_origins


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

    Candidates are the answers of all splits and the donors, in parts of `indexed.LARGEST_POOL` rows. Rows without any
    decoy keep their published choices and are counted. Answers to the same question about the same image are not used
    as decoys. Closed answer sets are formed within splits, without donors; rows in no set are left out and counted.

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
    n_decoys = published_decoys(benchmark, len(donors)) if keep_size and _may_keep_size(recipe) else None
    allowed = {name: split.rows for name, split in benchmark.splits.items()}
    if rejections is not None:
        allowed, rejections = without_rejected_decoys(benchmark, rejections)
    indexed = remedy_triplets(allowed, recipe, word_vectors, settings, donors, n_decoys, rejections, progress)
    choices = RowChoices(recipe, make_decoys([recipe], indexed, progress), indexed)
    splits, unchanged, without_choices = _arranged(benchmark, allowed, choices, indexed, donors, progress)
    if benchmark.evaluated not in splits:
        raise InputError(
            f"{benchmark.test.location}: no closed answer sets can be formed in this split, only in others"
        )
    statistics = decoy_statistics(benchmark, choices, donors, unchanged)
    statistics["pools"] = len(indexed.pools)
    if rejections is not None:
        tested = sum(one.rejected.get(Reason.VERDICT.name.lower(), 0) for one in choices.decoys.values())
        statistics["rejected"] = rejections.as_json(tested, without_choices)
    vectors = indexed.vectors
    statistics["word_vectors"] = {"name": vectors.name, "sha256": vectors.sha256} if vectors else None
    config = remedied_config(benchmark.config, variant)
    return Remedied(replace(benchmark, config=config, splits=splits), statistics)


def _arranged(
    benchmark: Benchmark,
    allowed: Mapping[str, pa.Table],
    choices: RowChoices,
    indexed: IndexedTriplets,
    donors: Sequence[Candidate],
    progress: Progress,
) -> tuple[dict[str, Split], int, int]:
    """The splits with new choices, and the numbers of rows that keep the published ones or are left without any."""
    orders = choice_orders(choices, indexed, not all(one.ordered for one in benchmark.splits.values()))
    origins = target_origins(benchmark, donors)
    alone = ~choices.variant.closed & (choices.texts[:, 1:] == MISSING).all(axis=1)
    progress("arranging choices", 0, indexed.size - len(donors))
    splits, first, unchanged, without_choices = {}, 0, 0, 0
    for name, split in benchmark.splits.items():
        rows = slice(first, first + split.rows.num_rows)
        without = alone[rows] & (pc.list_value_length(allowed[name]["choices"]).to_numpy() < 2)
        included = np.flatnonzero(choices.included[rows] & ~without)
        without_choices += int(without.sum())
        if len(included):
            one = split.take(included) if len(included) < split.rows.num_rows else split
            published = allowed[name].take(pa.array(included))
            splits[name], kept = new_split(
                benchmark, one, published, choices, orders, first + included, indexed, origins
            )
            unchanged += kept
        first += split.rows.num_rows
        progress("arranging choices", first, indexed.size - len(donors))
    return splits, unchanged, without_choices


def _may_keep_size(variant: Variant) -> bool:
    """Whether rows can have as many choices as published: without published decoys and closed sets."""
    return not variant.closed and not needs_published(variant)


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
