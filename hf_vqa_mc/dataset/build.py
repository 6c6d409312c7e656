"""A whole build, from the publishers' files to the dataset folder."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import pyarrow as pa

from hf_vqa_mc.dataset.build_inputs import VariantInputs, check_unfinished, divided, gather, work_folder, work_location
from hf_vqa_mc.dataset.folder import BUILT, write_folder
from hf_vqa_mc.dataset.image_files import find_images
from hf_vqa_mc.dataset.inventory import Inventory
from hf_vqa_mc.dataset.part_builds import Parts, build_parts, images_of_parts
from hf_vqa_mc.dataset.parts import UPLOAD
from hf_vqa_mc.dataset.remote_folder import check_remote, write_remote
from hf_vqa_mc.dataset.settings import BuildSettings, DecoySettings
from hf_vqa_mc.dataset.variants import build_variants
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.distributed_search import DistributedSearch
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io.executors import open_executor
from hf_vqa_mc.io.outputs import check_output
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.io.storage import Storage, check_url, is_url
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.open_ended import Reading, distinct_images
from hf_vqa_mc.sources.source import OpenEnded, Source, open_source
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.version import __version__


def made_with(
    decoys: str | None = None,
    settings: Settings | None = None,
    triplets: int = 0,
    vectors: WordVectors | None = None,
    orig_made: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Settings and versions for the dataset card, the same on every machine; empty for open-ended configs alone."""
    return {
        "version": __version__,
        "decoys": decoys,
        "triplets": triplets,
        "word_vectors": {"name": vectors.name, "sha256": vectors.sha256, "dim": vectors.dim} if vectors else None,
        "settings": _recorded(settings) if settings else {},
        **({"orig_made": orig_made} if orig_made else {}),
    }


def _recorded(settings: Settings) -> dict[str, Any]:
    """The settings for the inventory, without the folders of the user."""
    encoder = settings.question_encoder
    if encoder is not None and Path(encoder).is_dir():
        encoder = Path(encoder).resolve().name
    return asdict(settings) | {"question_encoder": encoder}


def build_folder(settings: BuildSettings, output: Path | str, progress: Progress) -> Inventory:
    """Build a source's variants and open-ended configs into a dataset folder.

    Args:
        settings: the options of a build.
        output: the folder, or the URL of one in an object store.
        progress: called with (step, done, total).

    Returns:
        The folder's content, as in its ``statistics.json``.

    Raises:
        InputError: a file or setting cannot be used; nothing was written.
        OSError: the output cannot be written (disk full, no permission); it is unchanged.
    """
    opened = open_source(SOURCES.find(settings.source), settings.data_dir)
    source, location = opened.source, str(output)
    named, configs = _named(source, settings.variants)
    check_source(source, settings)
    replaces = _check_output(location, source, settings)
    with_choices = named is None or bool(named)
    if configs is None and source.open_ended:
        configs = [config for config in source.open_ended if config.splits(opened.files, {})]
        with_choices = not configs or source.has_triplets(opened.files)
    readings = [Reading(config, opened.files) for config in configs or ()]
    _check_embedding(readings, settings)
    with ExitStack() as stack:
        executor = stack.enter_context(open_executor(settings.executor, settings.address, settings.workers))
        work: Storage | None = None
        if with_choices and settings.uses_work:
            work = stack.enter_context(work_folder(opened, named, settings, location))
        made: VariantInputs | None = None
        parts: Parts | None = None
        search: DistributedSearch | None = None
        pictured = [distinct_images(reading.config, opened.files) for reading in readings if settings.images]
        if work and settings.largest_part:
            divided(opened, named, settings, work, progress)
            pictured += images_of_parts(work) if settings.images else []
        elif with_choices:
            made = gather(opened, named, settings, progress)
            search = DistributedSearch(work, executor, progress) if work else None
            pictured.append(made.triplets.select(["image_id", "image_file"]))
        images = find_images(pa.concat_tables(pictured), settings.images, progress) if settings.images else None
        if work and settings.largest_part:
            parts = build_parts(source.name, work, executor, progress)
        variants = (made.triplets, made.names, made.vectors, made.settings, progress, search) if made else None
        write = partial(
            write_folder,
            source=source.name,
            variants=build_variants(*variants) if variants else (),
            placed=parts.entries if parts else {},
            about=about_source(source),
            made_with=_made_with(made, parts, settings),
            open_ended=readings,
            images=images,
            embed_images=settings.embed_images,
            overwrite=settings.overwrite,
            progress=progress,
        )
        place = partial(parts.copy_to, progress=progress) if parts else _nothing
        if is_url(location):
            if work:
                work.write_json(UPLOAD, location)
            inventory = write_remote(Storage(location), source.name, write, place, replaces)
        else:
            inventory = write(Path(location), place=lambda tree: place(Storage(str(tree))))
    return inventory


def _check_embedding(readings: Sequence[Reading], settings: BuildSettings) -> None:
    if settings.embed_images and readings:
        raise InputError(
            f"--embed-images: {readings[0].config.name} holds no images; use --variants iou_qou, or remove "
            "--embed-images and add images with hf_vqa_mc.with_images"
        )


def _made_with(made: VariantInputs | None, parts: Parts | None, settings: BuildSettings) -> dict[str, Any]:
    if made:
        return made_with(settings.decoys, made.settings, made.triplets.num_rows, made.vectors, made.orig_made)
    if parts is None:
        return made_with()
    found = made_with(settings.decoys, parts.settings, sum(parts.plan.rows), parts.vectors)
    found["settings"]["largest_part"] = settings.largest_part
    return found


def _nothing(folder: Storage) -> None:
    """The files of no parts."""


def about_source(source: Source) -> dict[str, str]:
    """The fields of a source for the dataset card."""
    names = ("title", "description", "homepage", "licence", "citation", "image_hint", "synthetic")
    return {name: getattr(source, name) for name in names}


def check_source(source: Source, settings: DecoySettings) -> None:
    """Raise InputError if released decoys are requested of a source that has none."""
    if settings.decoys == "released" and source.read_released is None:
        raise InputError(f"{source.name}: the authors released no decoys for it; use --decoys generated")


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


def _check_output(location: str, source: Source, settings: BuildSettings) -> bool:
    """Raise InputError if the output cannot be written, or ``load_dataset`` would not find it.

    Returns:
        Whether it may be replaced: also if the same command was interrupted while it uploaded to an object store.
    """
    check_url("--output", location)
    _check_folder_name(PurePath(location).name)
    if settings.uses_work or source.stream:
        work_location(settings, location)
    if not settings.uses_work:
        check_unfinished(source, location)
    if not is_url(location):
        check_output(Path(location), BUILT, settings.overwrite)
        return settings.overwrite
    output = Storage(location)
    replaces = settings.overwrite or (output.exists() and _uploads_to(location, work_location(settings, location)))
    check_remote(output, source.name, replaces)
    return replaces


def _uploads_to(location: str, work: Storage) -> bool:
    """Whether an interrupted build began to upload to a location, and no other one."""
    return work.exists(UPLOAD) and work.read_json(UPLOAD) == location


def _check_folder_name(name: str) -> None:
    """Raise InputError if ``load_dataset`` reserves the name, such as ``csv``."""
    from datasets import packaged_modules

    taken = getattr(packaged_modules, "_PACKAGED_DATASETS_MODULES", {}).keys() - {"vqa_mc"}  # vqa_mc once registered
    if name in taken:
        raise InputError(
            f"output {name}: load_dataset({name!r}, ...) would not look for a folder; name it vqa_mc, for example"
        )
