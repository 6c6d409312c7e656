"""A whole build, from the publishers' files to the dataset folder."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from hf_vqa_mc.dataset.folder import BUILT, write_folder
from hf_vqa_mc.dataset.image_files import find_images
from hf_vqa_mc.dataset.inventory import Inventory
from hf_vqa_mc.dataset.settings import BuildSettings, DecoySettings
from hf_vqa_mc.dataset.variants import build_variants, needs_word_vectors, uses_word_vectors, variants_of
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.engines.vqa_candidates import read_plausible, vqa_candidates
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.atomic_folder import check_output
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.options import subset
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.open_ended import Reading, distinct_images
from hf_vqa_mc.sources.source import OpenedSource, OpenEnded, Source, open_source
from hf_vqa_mc.text.many_texts import word_lists
from hf_vqa_mc.text.word_vectors import CORPUS, WordVectors, load_word_vectors
from hf_vqa_mc.version import __version__


@dataclass(frozen=True)
class VariantInputs:
    """The arguments of ``variants.build_variants``."""

    triplets: pa.Table
    names: tuple[str, ...]
    """variants to build"""
    vectors: WordVectors | None
    settings: Settings
    orig_made: Mapping[str, Any] | None = None
    """statistics of generated ``orig`` decoys"""


def made_with(made: VariantInputs | None, decoys: str) -> dict[str, Any]:
    """Settings and versions for the dataset card, the same on every machine; None for open-ended configs alone."""
    vectors = made.vectors if made else None
    return {
        "version": __version__,
        "decoys": decoys if made else None,
        "triplets": made.triplets.num_rows if made else 0,
        "word_vectors": {"name": vectors.name, "sha256": vectors.sha256, "dim": vectors.dim} if vectors else None,
        "settings": _recorded(made.settings) if made else {},
        **({"orig_made": made.orig_made} if made and made.orig_made else {}),
    }


def _recorded(settings: Settings) -> dict[str, Any]:
    """The settings for the inventory, without the folders of the user."""
    encoder = settings.question_encoder
    if encoder is not None and Path(encoder).is_dir():
        encoder = Path(encoder).resolve().name
    return asdict(settings) | {"question_encoder": encoder}


def build_folder(settings: BuildSettings, output: Path, progress: Progress) -> Inventory:
    """Build a source's variants and open-ended configs into a dataset folder.

    Returns:
        The folder's content, as in its ``statistics.json``.

    Raises:
        InputError: a file or setting cannot be used; nothing was written.
        OSError: the output cannot be written (disk full, no permission); it is unchanged.
    """
    opened = open_source(SOURCES.find(settings.source), settings.data_dir)
    source = opened.source
    named, configs = _named(source, settings.variants)
    check_source(source, settings)
    _check_folder_name(output.absolute().name)
    check_output(output, BUILT, settings.overwrite)
    _use_threads(settings.workers)
    with_choices = named is None or bool(named)
    if configs is None and source.open_ended:
        configs = [config for config in source.open_ended if config.splits(opened.files, {})]
        with_choices = not configs or source.has_triplets(opened.files)
    readings = [Reading(config, opened.files) for config in configs or ()]
    if settings.embed_images and readings:
        raise InputError(
            f"--embed-images: {readings[0].config.name} holds no images; use --variants iou_qou, or remove "
            "--embed-images and add images with hf_vqa_mc.with_images"
        )
    made = gather(opened, named, settings, progress) if with_choices else None
    found = None
    if settings.images is not None:
        wanted = [made.triplets.select(["image_id", "image_file"])] if made else []
        wanted += [distinct_images(reading.config, opened.files) for reading in readings]
        found = find_images(pa.concat_tables(wanted), settings.images, progress)
    return write_folder(
        output,
        source.name,
        build_variants(made.triplets, made.names, made.vectors, made.settings, progress) if made else (),
        about=about_source(source),
        made_with=made_with(made, settings.decoys),
        open_ended=readings,
        images=found,
        embed_images=settings.embed_images,
        overwrite=settings.overwrite,
        progress=progress,
    )


def about_source(source: Source) -> dict[str, str]:
    """The fields of a source for the dataset card."""
    names = ("title", "description", "homepage", "licence", "citation", "image_hint", "synthetic")
    return {name: getattr(source, name) for name in names}


def check_source(source: Source, settings: DecoySettings) -> None:
    """Raise InputError if released decoys are requested of a source that has none."""
    if settings.decoys == "released" and source.read_released is None:
        raise InputError(f"{source.name}: the authors released no decoys for it; use --decoys generated")


def gather(
    opened: OpenedSource, variants: Sequence[str] | None, settings: DecoySettings, progress: Progress
) -> VariantInputs:
    """Read the inputs of multiple-choice variants; None for all variants that the source can have.

    Raises:
        InputError: a file cannot be used, the source cannot have a variant, or required word vectors are not named.
    """
    source, method = opened.source, subset(settings, Settings)
    wanted = settings.word_vectors or source.default_word_vectors
    chosen = [VARIANTS[name] for name in VARIANTS if variants is None or name in variants]
    generated = settings.decoys == "generated"
    if generated and wanted is None and needs_word_vectors(chosen):
        alone = [
            f"; or build open-ended configs alone, which need none (--variants {c.word})" for c in source.open_ended
        ]
        raise InputError(
            f"{source.name}: QoU decoys need word vectors; give them (--word-vectors, or word_vectors= in Python): a "
            "word2vec, GloVe or .kv file, a name of gensim-data (the paper's: word2vec-google-news-300), or "
            f"{CORPUS!r} to train them on the dataset's own text{alone}"
        )
    vectors, similar = None, generated and uses_word_vectors(chosen)
    if similar and wanted is not None and wanted != CORPUS:  # first, so that a wrong path is reported at once
        progress("reading word vectors", 0, 1)
        vectors = load_word_vectors(wanted)
        progress("reading word vectors", 1, 1)
    progress("reading questions", 0, 1)
    given = read_plausible(settings.plausible) if settings.plausible else None
    triplets = opened.triplets(released_decoys=settings.decoys == "released")
    progress("reading questions", 1, 1)
    orig_made = None
    if settings.orig == "made":
        triplets, orig_made = vqa_candidates(
            triplets, plausible=given, pool=method.decoys_from, seed=method.seed, progress=progress
        )
        method = replace(method, fallback_orig=False)  # so that other variants do not change
    taken = {config.name for config in source.open_ended}
    possible = [name for name in variants_of(triplets) if f"{source.name}_{name}" not in taken]
    for name in variants or ():
        if name not in possible:
            raise InputError(f"{source.name} does not support the variant {name!r} (supported: {', '.join(possible)})")
    if similar and wanted == CORPUS:
        vectors = load_word_vectors(CORPUS, partial(sentences, triplets), method.seed, progress)
    built = variants or [name for name in possible if not VARIANTS[name].closed]
    return VariantInputs(triplets, tuple(built), vectors, method, orig_made)


def sentences(triplets: pa.Table) -> Iterator[list[str]]:
    """The dataset's own text: tokens of each question and its answer."""
    questions, targets = (word_lists(triplets[name].combine_chunks()) for name in ("question", "target"))
    return (question + target for question, target in zip(questions, targets, strict=True))


def _named(source: Source, names: Sequence[str] | None) -> tuple[list[str] | None, list[OpenEnded] | None]:
    """Variants and open-ended configs by name; None and None for all that the source can have.

    A name is that of a variant (``iou_qou``), an open-ended config (``balanced``) or a full config (``gqa_balanced``).
    """
    if names is None:
        return None, None
    configs = {config.name: config for config in source.open_ended}
    words = {config.word: config for config in configs.values()}
    if not names:
        raise InputError(f"--variants is empty; known: {', '.join(sorted({*VARIANTS, *words}))}")
    variants: list[str] = []
    chosen: list[OpenEnded] = []
    for name in names:
        short = name.removeprefix(f"{source.name}_")
        config = configs.get(name) or words.get(short)
        if config is None and short not in VARIANTS:
            raise unknown_name("variant", name, {*VARIANTS, *words})
        if config in chosen or (config is None and short in variants):
            raise InputError(f"variant {name!r} is listed twice")
        if config:
            chosen.append(config)
        else:
            variants.append(short)
    return variants, chosen


def _check_folder_name(name: str) -> None:
    """Raise InputError if ``load_dataset`` reserves the name, such as ``csv``."""
    from datasets import packaged_modules

    taken = getattr(packaged_modules, "_PACKAGED_DATASETS_MODULES", {}).keys() - {"vqa_mc"}  # vqa_mc once registered
    if name in taken:
        raise InputError(
            f"output {name}: load_dataset({name!r}, ...) would not look for a folder; name it vqa_mc, for example"
        )


def _use_threads(workers: int | None) -> None:
    """Set the number of threads of numba kernels, at most one per core."""
    if workers is not None:
        import numba

        most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined,unused-ignore]
        numba.set_num_threads(min(workers, most))
