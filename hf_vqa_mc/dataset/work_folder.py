"""Where a build writes: its work folder, from which it resumes, and outputs in an object store."""

import contextlib
import json
import logging
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

from hf_vqa_mc.data.inventory import INVENTORY, Inventory
from hf_vqa_mc.dataset.build_inputs import PLAN, STATE, VECTORS, fingerprint, input_state, vectors_state
from hf_vqa_mc.dataset.card import CARD, CROISSANT
from hf_vqa_mc.dataset.settings import BuildSettings, DecoySettings
from hf_vqa_mc.errors import InputError, listed, shown
from hf_vqa_mc.io.atomic import locked
from hf_vqa_mc.io.cluster import Storage, check_url, contains, is_url
from hf_vqa_mc.io.interruption import resumable
from hf_vqa_mc.io.outputs import MANIFEST, files_in
from hf_vqa_mc.options import subset
from hf_vqa_mc.sources.source import OpenedSource, Source, source_of
from hf_vqa_mc.version import code_state

PRIORS = "priors.parquet"
PROBE = ".vqa-mc"  # A file that is written and removed to see whether a location is writable
_OWN = re.compile(
    rf"({'|'.join(map(re.escape, (STATE, PLAN, VECTORS, PRIORS)))}|part-\d{{5,}})(\.[0-9a-f]{{32}}\.partial)?"
)
"""Names of the files and folders of a build in its work folder."""
_OUTPUT = re.compile(
    rf"{'|'.join(map(re.escape, (CARD, INVENTORY, CROISSANT, PROBE)))}|\w+/\w+-\d{{5,}}-of-\d{{5,}}\.parquet"
)
"""Names of the files of a dataset folder."""


@contextlib.contextmanager
def work_folder(
    opened: OpenedSource, variants: Sequence[str] | None, settings: BuildSettings, location: str
) -> Iterator[Storage]:
    """The folder of what a build finished, also before an interruption; removed at the end."""
    work = work_location(settings, location)
    hashed = {
        "version of this package": code_state(),
        "input files": input_state(opened.source, settings.data_dir, contents=True),
        "word vectors": vectors_state(settings.word_vectors) if settings.word_vectors else None,
    }
    more = {"source": opened.source.name, "largest_part": settings.largest_part, "variants": variants}
    given = json.loads(json.dumps({**asdict(subset(settings, DecoySettings)), "plausible": None, **more}))
    del given["word_vectors"]  # a path, compared by its content
    state = {name: fingerprint(part) for name, part in hashed.items()} | given
    with _locked(work):
        before = _state_of(work)
        if before and (name := next((name for name in state if before.get(name) != state[name]), None)):
            values = f"{name} {shown(before.get(name))}, now {shown(state[name])}"
            raise InputError(
                f"{work.path()} holds an unfinished build with {f'other {name}' if name in hashed else values}; "
                "repeat that build, remove the folder, or give another one with --work"
            )
        if work.exists(PLAN):
            logging.getLogger(__name__).info("resuming the build in %s", work.path())
        else:
            _remove(work)  # nothing was finished, or a build was killed while it removed its files
        work.write_json(STATE, state)
        try:
            with resumable(work.path()):
                yield work
        except InputError:
            if not work.exists(PLAN):
                _remove(work)
            raise
        _remove(work)


@contextlib.contextmanager
def _locked(work: Storage) -> Iterator[None]:
    """Keep other builds from a folder on this machine; InputError if one is using it."""
    if is_url(work.location):
        yield
        return
    busy = f"{work.path()}: another build uses this folder; wait for it, or give another --work"
    Path(work.location).mkdir(exist_ok=True)
    try:
        with locked(Path(work.location, ".lock"), busy):
            yield
    finally:
        if not work.exists(STATE):
            work.remove_if_empty()


def _remove(work: Storage) -> None:
    """Remove a build's own files: the plan first, so that a build that is killed meanwhile can be repeated."""
    own = [name for name in dict.fromkeys(name.partition("/")[0] for name in work.names()) if _OWN.fullmatch(name)]
    for name in sorted(own, key=lambda name: (name == STATE) - (name == PLAN)):
        work.remove(name)
    work.remove_if_empty()


def work_location(settings: BuildSettings, location: str) -> Storage:
    """The work folder of a build; raises InputError if it cannot be one."""
    given = settings.work or f"{location.rstrip('/')}.work"
    check_url("--work", given)
    if contains(location, given):
        raise InputError(f"--work {given}: it must not be the output or a folder in it")
    data_dir = settings.data_dir and str(settings.data_dir.expanduser())
    for option, folder in (("--output", location), ("--work", given)):
        if data_dir and contains(data_dir, folder):
            raise InputError(f"{option} {folder}: it is in --data-dir, whose files are the input; give another")
    if contains(given, location):
        raise InputError(f"--work {given}: it is removed at the end, so it must not hold the output")
    return Storage(given if is_url(given) else str(Path(given).absolute()))  # workers may have another directory


def check_unfinished(source: Source, location: str) -> None:
    """Raise InputError if the default work folder of an output holds an unfinished build of the source."""
    work = Storage(f"{location.rstrip('/')}.work")
    if work.exists(STATE) and (_state_of(work) or {}).get("source") == source.name:
        unfinished = f"{work.path()} holds an unfinished build of {source.name}, which would later replace this one"
        raise InputError(f"{unfinished}; repeat that build, or remove the folder")


def _state_of(work: Storage) -> dict[str, Any] | None:
    """The state of the build that a folder belongs to; None if it is new. Others' hidden files do not matter."""
    if not work.exists(STATE) and all(name.startswith((".", f"{STATE}.")) for name in work.names()):
        return None
    with contextlib.suppress(ValueError, FileNotFoundError):
        if isinstance(found := work.read_json(STATE), dict):
            return found
    raise InputError(f"{work.path()} holds other files; give a new folder with --work")


def check_remote(output: Storage, source: str, overwrite: bool) -> None:
    """Raise InputError unless the output is new, an incomplete upload, or holds this source alone and may be replaced.

    Folders cannot be renamed in an object store, so the card is uploaded last: without it, a dataset is not complete.
    """
    names = output.names() if output.exists() else []
    if others := [name for name in names if not _OUTPUT.fullmatch(name)]:
        raise InputError(
            f"{output.path()}: holds files that vqa-mc build did not write: {listed(others, 1)}; move them"
        )
    configs = {name.partition("/")[0] for name in names if "/" in name}
    if sources := {source_of(config) or config for config in configs} - {source}:
        raise InputError(
            f"{output.path()}: holds {listed(sorted(sources), 3)}, which {source} would replace; in an object store "
            "give each source a location of its own"
        )
    if CARD in names and not overwrite:
        raise InputError(f"{output.path()}: holds a dataset already; choose another location, or --overwrite")
    try:  # before hours of work
        for storage in (output, Storage(f"{output.path()}.partial")):
            storage.write(PROBE, b"")
            storage.remove(PROBE)
    except OSError as error:
        raise InputError(f"{output.path()}: cannot be written ({error}); give a location that can be") from error


def write_remote(
    output: Storage, source: str, write: Callable[[Path], Inventory], copy: Callable[[Storage], None], overwrite: bool
) -> Inventory:
    """Write a dataset folder here, upload it next to the output, and let the store copy it there, the card last."""
    staging = Storage(f"{output.path()}.partial")
    with TemporaryDirectory(prefix="vqa-mc-") as temporary:
        folder = Path(temporary, PurePath(output.location).name)
        inventory = write(folder)
        staging.remove()
        copy(staging)
        for name in sorted(set(files_in(folder)) - {MANIFEST}):
            staging.write(name, (folder / name).read_bytes())
    check_remote(output, source, overwrite)
    output.remove(CARD)
    output.remove()
    for name in sorted(staging.names(), key=lambda name: name == CARD):
        staging.copy(name, output, name)
    staging.remove()
    return inventory
