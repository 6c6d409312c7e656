"""A whole build, from the publishers' files to the dataset folder."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from hf_vqa_mc.dataset.folder import write_folder
from hf_vqa_mc.dataset.image_files import find_images
from hf_vqa_mc.dataset.ingredients import GENERATED, PUBLISHED, Origins, check_names, gather, published_only
from hf_vqa_mc.dataset.inventory import read_inventory
from hf_vqa_mc.dataset.open_ended import all_there, sorted_out
from hf_vqa_mc.dataset.output_folder import check_output
from hf_vqa_mc.dataset.variants import build_variants
from hf_vqa_mc.decoys.settings import Settings
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.open_ended import Reading, distinct_images
from hf_vqa_mc.sources.reading import open_source
from hf_vqa_mc.sources.source import Source
from hf_vqa_mc.version import __version__

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Build:
    """What a build made."""

    output: Path
    """the dataset folder"""
    source: str
    configs: Mapping[str, Any]
    """the source's configs, as in the folder's statistics.json"""
    default: str
    """the folder's default config"""
    removed: tuple[str, ...]
    """configs of the source that were there before and are no more"""


def build_dataset(
    source: str,
    *,
    data_dir: str | Path | None = None,
    output: str | Path = "vqa_mc",
    variants: Sequence[str] | None = None,
    word_vectors: str | None = None,
    decoys: str = GENERATED,
    orig: str = PUBLISHED,
    plausible: str | Path | None = None,
    settings: Settings | None = None,
    images: str | Path | None = None,
    embed_images: bool = False,
    workers: int | None = None,
    progress: Progress = lambda step, done, total: None,
) -> Build:
    """Build a source's variants and open-ended configs into a dataset folder, as ``vqa-mc build`` does.

    Args:
        source: name of the source, such as ``visual7w``.
        data_dir: the folder with the publisher's files as downloaded; fetched where none is given.
        output: the folder to make or to add to; its name is what ``load_dataset`` is given.
        variants: names such as ``iou_qou``, and of open-ended configs, such as ``balanced`` or ``gqa_balanced``; by
            default all that the source can have with these files.
        word_vectors: a vector file, a name of gensim-data, or ``corpus``; needed for QoU decoys.
        decoys: ``generated``, or ``released`` for those that the authors of the paper released.
        orig: whose decoys the variants with ``orig`` have: ``published``, or ``made`` as VQA's were.
        plausible: with ``made``, a file of answers that people gave without the image.
        settings: the method's parameters; by default the paper's.
        images: the folder with the image files; adds the config ``<source>_images``.
        embed_images: write each row's image into the row instead.
        workers: threads; at most, and by default, one a core. The result does not depend on it.
        progress: told (step, done, total).

    Raises:
        InputError: something given cannot be used; nothing was written.
        OSError: the output cannot be written (disk full, no permission); nothing was left behind.
    """
    place, files = Path(output), None if images is None else Path(images)
    folder = None if data_dir is None else Path(data_dir)
    opened = open_source(SOURCES.find(source), folder)
    named, chosen = sorted_out(opened.source, variants)
    origins = Origins(decoys, orig, None if plausible is None else Path(plausible))
    check_names(opened.source, named or None, origins)
    check_folder_name(place.absolute().name)
    check_output(place.absolute().resolve())
    if embed_images and files is None:
        raise InputError("--embed-images needs --images DIR, the folder with the image files")
    if files is not None and not files.is_dir():
        raise InputError(f"images {files}: no such folder")
    use_threads(workers)
    with_choices = named is None or bool(named)
    if chosen is None and opened.source.open_ended:
        with_choices, chosen = all_there(opened.source, opened.files)
    readings = [Reading(config, opened.files) for config in chosen or ()]
    if embed_images and readings:
        raise InputError(
            f"--embed-images: {readings[0].config.name} holds no images; leave it out (--variants iou_qou), or leave "
            "out --embed-images and add images with hf_vqa_mc.with_images"
        )
    made = None
    if with_choices:
        made = gather(opened, named, word_vectors, origins, settings or Settings(), progress)
    found = None
    if files is not None:
        asked = [made.triplets.select(["image_id", "image_file"])] if made else []
        asked += [distinct_images(reading.config, opened.files) for reading in readings]
        found = find_images(pa.concat_tables(asked), files, progress)
    before = read_inventory(place) or {"sources": {}}
    inventory = write_folder(
        place,
        source,
        build_variants(made.triplets, made.names, made.vectors, made.settings, progress) if made else (),
        about=about_source(opened.source),
        made_with=made.made_with(__version__, decoys) if made else published_only(__version__),
        open_ended=readings,
        images=found,
        embed_images=embed_images,
        progress=progress,
    )
    configs = inventory["sources"][source]["configs"]
    gone = before["sources"].get(source, {"configs": {}})["configs"].keys() - configs.keys()
    return Build(place.absolute(), source, configs, inventory["default"], tuple(sorted(gone)))


def about_source(source: Source) -> dict[str, str]:
    """What a dataset card says of a source."""
    return {
        key: getattr(source, key) for key in ("title", "description", "homepage", "licence", "citation", "image_hint")
    }


def check_folder_name(name: str) -> None:
    """Nothing, if ``load_dataset`` takes a name for a folder's.

    Raises:
        InputError: it is one of those that stand for something else everywhere, such as ``csv``.
    """
    from datasets import packaged_modules

    taken = getattr(packaged_modules, "_PACKAGED_DATASETS_MODULES", {}).keys() - {"vqa_mc"}  # ours, once registered
    if name in taken:
        raise InputError(
            f"output {name}: load_dataset({name!r}, ...) would not look for a folder; name it vqa_mc, say"
        )


def use_threads(workers: int | None) -> None:
    """Let the kernels run on so many threads, at most one a core.

    Raises:
        InputError: fewer than one.
    """
    if workers is None:
        return
    if workers < 1:
        raise InputError(f"--workers {workers}: expected 1 or more")
    import numba

    most: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined,unused-ignore]
    numba.set_num_threads(min(workers, most))
