"""What a build starts from: known names, a source's triplets and the word vectors, checked before any work."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from hf_vqa_mc.dataset.variants import needs_word_vectors, variants_of
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.engines.vqa_candidates import read_plausible, vqa_candidates
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.sources.reading import OpenedSource
from hf_vqa_mc.sources.source import Source
from hf_vqa_mc.text.normalisation import words
from hf_vqa_mc.text.word_vectors import CORPUS, WordVectors, load_word_vectors

GENERATED, RELEASED = "generated", "released"
DECOYS = {
    GENERATED: "made here, by the paper's method",
    RELEASED: "the IoU and QoU decoys that the paper's authors released (Visual7W)",
}

PUBLISHED, MADE = "published", "made"
ORIG = {
    PUBLISHED: "those that the publisher gives",
    MADE: "the wrong ones of 18 candidates, made as VQA's were (Antol et al. 2015, Sect. 3)",
}

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Origins:
    """Where decoys come from."""

    decoys: str = GENERATED
    """IoU and QoU decoys, a key of DECOYS"""
    orig: str = PUBLISHED
    """the decoys of the variants with ``orig``, a key of ORIG"""
    plausible: Path | None = None
    """a file of answers that people gave without the image, for ``orig`` decoys that are made"""


@dataclass(frozen=True)
class Ingredients:
    """What ``variants.build_variants`` is given."""

    triplets: pa.Table
    names: tuple[str, ...]
    """the variants to make"""
    vectors: WordVectors | None
    settings: Settings
    orig_made: Mapping[str, Any] | None = None
    """what there is to know of ``orig`` decoys that were made"""

    def made_with(self, version: str, decoys: str) -> dict[str, Any]:
        """The settings and versions that the dataset card tells; nothing of this machine."""
        vectors = self.vectors
        named = {"name": vectors.name, "sha256": vectors.sha256, "dim": vectors.dim} if vectors else None
        return {
            "version": version,
            "decoys": decoys,
            "triplets": self.triplets.num_rows,
            "word_vectors": named,
            "settings": asdict(self.settings),
            **({"orig_made": self.orig_made} if self.orig_made else {}),
        }


def published_only(version: str) -> dict[str, Any]:
    """The same of a build of open-ended configs alone, which takes the publisher's records as they are."""
    return {"version": version, "decoys": None, "triplets": 0, "word_vectors": None, "settings": {}}


def check_names(source: Source, variants: Sequence[str] | None, origins: Origins) -> None:
    """Raise InputError unless all of these are known and the source can have them; suggests the nearest name."""
    if origins.decoys not in DECOYS:
        raise unknown_name("kind of decoys", origins.decoys, DECOYS)
    if origins.orig not in ORIG:
        raise unknown_name("origin of orig decoys", origins.orig, ORIG)
    if origins.plausible is not None and origins.orig != MADE:
        raise InputError(f"--plausible is for orig decoys that are made: add --orig {MADE}")
    if origins.decoys == RELEASED and not source.has_released_decoys:
        raise InputError(f"{source.name}: the authors released no decoys for it; leave --decoys at {GENERATED}")
    if variants is not None and not variants:
        raise InputError(f"no variants named; known: {', '.join(VARIANTS)}")
    for variant in variants or ():
        if variant not in VARIANTS:
            raise unknown_name("variant", variant, VARIANTS)
        if variants is not None and list(variants).count(variant) > 1:
            raise InputError(f"variant {variant!r} is named twice")


def gather(
    opened: OpenedSource,
    variants: Sequence[str] | None,
    word_vectors: str | None,
    origins: Origins,
    settings: Settings,
    progress: Progress = lambda step, done, total: None,
) -> Ingredients:
    """Read what a build needs.

    Args:
        opened: the source and its files.
        variants: names of multiple-choice variants that ``check_names`` passes; None for all that the source can have.
        word_vectors: as ``language.word_vectors.load_word_vectors`` takes it; only needed where QoU decoys are made.
        origins: where decoys come from.
        settings: those of the variants.
        progress: told (step, done, total).

    Raises:
        InputError: files that cannot be used, a variant that the source cannot have, or no word
            vectors named where they are needed.
    """
    source = opened.source
    wanted = word_vectors or source.default_word_vectors
    similar = origins.decoys == GENERATED and (
        variants is None or needs_word_vectors([VARIANTS[name] for name in variants])
    )
    vectors = None
    if similar and wanted is None:
        raise InputError(
            f"{source.name}: QoU decoys need word vectors; name them (--word-vectors, or word_vectors= in Python): a "
            "word2vec, GloVe or .kv file, "
            "a name of gensim-data (the paper's: word2vec-google-news-300), or "
            f"{CORPUS!r} to train them on the dataset's own text"
            + "".join(
                f"; or build open-ended configs alone, which need none (--variants {config.word})"
                for config in source.open_ended[:1]
            )
        )
    if similar and wanted is not None and wanted != CORPUS:  # first, as it needs nothing else: a wrong path shows soon
        progress("reading word vectors", 0, 1)
        vectors = load_word_vectors(wanted)
        progress("reading word vectors", 1, 1)
    progress("reading questions", 0, 1)
    given = read_plausible(origins.plausible) if origins.plausible else None
    triplets = opened.triplets(released_decoys=origins.decoys == RELEASED)
    progress("reading questions", 1, 1)
    orig_made = None
    if origins.orig == MADE:
        triplets, orig_made = vqa_candidates(
            triplets, plausible=given, pool=settings.pool, seed=settings.seed, progress=progress
        )
        settings = replace(settings, fallback_orig=False)  # so that other variants are as without them
    names = _possible(source, triplets, variants)
    if similar and wanted == CORPUS:
        progress("training word vectors", 0, 1)
        vectors = load_word_vectors(CORPUS, partial(sentences, triplets), settings.seed)
        progress("training word vectors", 1, 1)
    return Ingredients(triplets, names, vectors, settings, orig_made)


def _possible(source: Source, triplets: pa.Table, variants: Sequence[str] | None) -> tuple[str, ...]:
    taken = {config.name for config in source.open_ended}
    possible = [name for name in variants_of(triplets) if f"{source.name}_{name}" not in taken]
    for name in variants or ():
        if name not in possible:
            raise InputError(f"{source.name} cannot have the variant {name!r} (it can have: {', '.join(possible)})")
    return tuple(variants or possible)


def sentences(triplets: pa.Table) -> Iterator[list[str]]:
    """The dataset's own text: each question with its answer."""
    texts = zip(triplets["question"].to_pylist(), triplets["target"].to_pylist(), strict=True)
    return ([*words(question), *words(target)] for question, target in texts)
