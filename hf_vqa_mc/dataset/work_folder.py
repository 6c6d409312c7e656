"""The work folder of a build, from which it resumes; a path or a URL."""

import contextlib
import json
import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hf_vqa_mc.dataset.build_inputs import PLAN, STATE, VECTORS, fingerprint, input_state, vectors_state
from hf_vqa_mc.dataset.settings import BuildSettings, DecoySettings
from hf_vqa_mc.errors import InputError, shown
from hf_vqa_mc.io.atomic import locked
from hf_vqa_mc.io.cluster import Storage, check_url, contains, is_url
from hf_vqa_mc.io.interruption import resumable
from hf_vqa_mc.options import subset
from hf_vqa_mc.sources.source import OpenedSource
from hf_vqa_mc.version import code_state

PRIORS = "priors.parquet"
_OWN = re.compile(
    rf"({'|'.join(map(re.escape, (STATE, PLAN, VECTORS, PRIORS)))}|part-\d{{5,}})(\.[0-9a-f]{{32}}\.partial)?"
)
"""Names of the files and folders of a build in its work folder."""


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
    if contains(location, given) or contains(given, location):
        raise InputError(f"--work {given}: neither it nor the output may be in the other; give another")
    data_dir = settings.data_dir and str(settings.data_dir.expanduser())
    for option, folder in (("--output", location), ("--work", given)):
        if data_dir and contains(data_dir, folder):
            raise InputError(f"{option} {folder}: it is in --data-dir, whose files are the input; give another")
    return Storage(given if is_url(given) else str(Path(given).absolute()))  # workers may have another directory


def _state_of(work: Storage) -> dict[str, Any] | None:
    """The state of the build that a folder belongs to; None if it is new. Others' hidden files do not matter."""
    if not work.exists(STATE) and all(name.startswith((".", f"{STATE}.")) for name in work.names()):
        return None
    with contextlib.suppress(ValueError, FileNotFoundError):
        if isinstance(found := work.read_json(STATE), dict):
            return found
    raise InputError(f"{work.path()} holds other files; give a new folder with --work")
