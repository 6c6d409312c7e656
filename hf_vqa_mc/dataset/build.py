"""A whole build, from the publishers' files to the dataset folder."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import partial
from importlib.util import find_spec
from pathlib import Path, PurePath
from typing import Any, cast

import pyarrow as pa

from hf_vqa_mc.data.inventory import Inventory
from hf_vqa_mc.data.stored_images import find_images
from hf_vqa_mc.dataset.build_inputs import STATE, divided, gather, stored_vectors, work_folder, work_location
from hf_vqa_mc.dataset.folder import BUILT, write_folder
from hf_vqa_mc.dataset.object_store import check_remote, write_remote
from hf_vqa_mc.dataset.parts import build_parts, images_of_parts
from hf_vqa_mc.dataset.settings import BuildSettings
from hf_vqa_mc.decoys import VARIANTS
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.decoys.variants import build_variants
from hf_vqa_mc.errors import InputError, unknown_name
from hf_vqa_mc.io import cluster
from hf_vqa_mc.io.cluster import Storage, check_url, is_url
from hf_vqa_mc.io.outputs import check_output
from hf_vqa_mc.io.progress import Progress
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.open_ended import Reading, distinct_images
from hf_vqa_mc.sources.source import OpenEnded, Source, open_source
from hf_vqa_mc.text.word_vectors import WordVectors
from hf_vqa_mc.version import __version__


def _made_with(
    settings: BuildSettings,
    method: Settings | None = None,
    triplets: int = 0,
    vectors: WordVectors | None = None,
    orig_made: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Settings and versions for the dataset card, the same on every machine; empty for open-ended configs alone."""
    encoder = method and method.question_encoder
    if encoder and Path(encoder).is_dir():
        encoder = Path(encoder).resolve().name  # without the folders of the user
    parts = {"largest_part": settings.largest_part} if settings.largest_part else {}
    return {
        "version": __version__,
        "decoys": settings.decoys if method else None,
        "triplets": triplets,
        "word_vectors": {"name": vectors.name, "sha256": vectors.sha256, "dim": vectors.dim} if vectors else None,
        "settings": {**asdict(method), "question_encoder": encoder, **parts} if method else {},
        **({"orig_made": orig_made} if orig_made else {}),
    }


def build_folder(settings: BuildSettings, output: Path | str, progress: Progress) -> Inventory:
    """Build a source's configs into a folder, or at a URL; returns its content as in ``statistics.json``."""
    opened = open_source(SOURCES.find(settings.source), settings.data_dir)
    source, location = opened.source, str(output)
    named, configs = _named(source, settings.variants)
    with_choices = named is None or bool(named)
    if configs is None:
        configs = [config for config in source.open_ended if config.splits(opened.files, {})]
        with_choices = not configs or source.has_triplets(opened.files)
    _check_output(location, source, settings, configs)
    readings = [Reading(config, opened.files) for config in configs]
    on_cluster = settings.executor == "ray"
    with ExitStack() as stack:
        if on_cluster:
            stack.enter_context(cluster.connected(settings.address))
        elif settings.workers:
            cluster.use_threads(settings.workers)
        work: Storage | None = None
        provenance: tuple[Any, ...] = ()
        entries, files, variants = dict[str, Any](), list[tuple[str, str]](), tuple[Any, ...]()
        pictured = [distinct_images(reading.config, opened.files) for reading in readings if settings.images]
        if with_choices and settings.largest_part:
            work = stack.enter_context(work_folder(opened, named, settings, location))
            plan = divided(opened, named, settings, work, progress)
            pictured += images_of_parts(work, plan) if settings.images else []
            vectors = stored_vectors(work.location, work.read(STATE)) if plan.has_vectors else None
            provenance = Settings(**plan.settings), sum(plan.rows), vectors
        elif with_choices:
            inputs, orig_made = gather(opened, named, settings, progress)
            triplets, _, vectors, method = inputs
            pictured.append(triplets.select(["image_id", "image_file"]))
            provenance = method, triplets.num_rows, vectors, orig_made
            variants = *inputs, progress
        images = find_images(pa.concat_tables(pictured), settings.images, progress) if settings.images else None
        if work:
            entries, files = build_parts(source.name, work, plan, progress, on_cluster, settings.workers)
        write = partial(
            write_folder,
            source=source.name,
            variants=build_variants(*variants) if variants else (),
            part_configs=entries,
            about=about_source(source),
            made_with=_made_with(settings, *provenance),
            open_ended=readings,
            images=images,
            embed_images=settings.embed_images,
            overwrite=settings.overwrite,
            progress=progress,
        )

        def copy_parts(folder: Storage) -> None:
            for number, (name, new_name) in enumerate(files):
                progress("copying parts", number, len(files))
                cast("Storage", work).copy(name, folder, new_name)

        if is_url(location):
            return write_remote(Storage(location), source.name, write, copy_parts, settings.overwrite)
        return write(Path(location), copy_parts=lambda tree: copy_parts(Storage(str(tree))))


def about_source(source: Source) -> dict[str, str]:
    """The fields of a source for the dataset card."""
    names = ("title", "description", "homepage", "licence", "citation", "image_hint", "synthetic")
    return {name: getattr(source, name) for name in names}


def _named(source: Source, names: Sequence[str] | None) -> tuple[list[str] | None, list[OpenEnded] | None]:
    """Variants and open-ended configs by name; None and None for all that the source can have."""
    if names is None:
        return None, None
    words = {config.word: config for config in source.open_ended}
    known: dict[str, str | OpenEnded] = {**{name: name for name in VARIANTS}, **words}
    if not names:
        raise InputError(f"--variants is empty; known: {', '.join(sorted(known))}")
    found: list[str | OpenEnded] = []
    for name in names:
        short = name.removeprefix(f"{source.name}_")
        one = next((config for config in source.open_ended if config.name == name), known.get(short))
        if one is None:
            raise unknown_name("variant", name, set(known))
        if one in found:
            raise InputError(f"variant {name!r} is listed twice")
        found.append(one)
    return [one for one in found if isinstance(one, str)], [one for one in found if not isinstance(one, str)]


def _check_output(location: str, source: Source, settings: BuildSettings, open_ended: Sequence[OpenEnded]) -> None:
    """Raise InputError if the output cannot be written, or ``load_dataset`` would not find it."""
    if settings.embed_images and open_ended:
        raise InputError(f"--embed-images: {open_ended[0].name} holds no images; use --variants iou_qou")
    check_url("--output", location)
    name = PurePath(location).name
    modules = Path(str(getattr(find_spec("datasets"), "origin", ""))).with_name("packaged_modules")
    if name.isidentifier() and (modules / name).is_dir():
        asked = f"load_dataset({name!r}, ...) would not look for a folder"
        raise InputError(f"output {name}: {asked}; name it vqa_mc, for example")
    if settings.largest_part or source.stream:
        work_location(settings, location)
    if is_url(location):
        check_remote(Storage(location), source.name, settings.overwrite)
    else:
        check_output(Path(location), BUILT, settings.overwrite)
