"""Copies of a study in a private dataset repository on the Hub: made while it is served, restored when it starts."""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.push import hub_errors, push
from hf_vqa_mc.hub.shipment import Shipment, ShippedFile, check_name
from hf_vqa_mc.io.atomic import write_bytes
from hf_vqa_mc.studies.store import Study

EVERY = 300.0
"""Seconds between copies; answers of this time are lost if the disk of the server is."""
FILE, CARD = "study.sqlite", "README.md"
_CARD = """---
viewer: false
---
Copy of a study of `vqa-mc study serve`, with answers and personal links: keep it private.
"""


def shipment(study: Study, repository: str) -> Shipment:
    """A copy of the study as one commit."""
    files = (ShippedFile(CARD, _CARD.encode()), ShippedFile(FILE, study.content()))
    answers = sum(done for done, _ in study.progress().values())
    return Shipment("dataset", check_name(repository), files, f"{answers:,} answers", private=True)


def restore(path: Path, repository: str) -> bool:
    """Replace the study's file by the copy in the repository, if there is one and the file has no answers.

    Returns:
        Whether the file was replaced.

    Raises:
        InputError: the copy is of another study, or the Hub rejects the token.
        ConnectionError: the Hub cannot be reached; then the study must not be served, since its answers may be there.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import EntryNotFoundError, RepositoryNotFoundError

    api, target = HfApi(), Shipment("dataset", check_name(repository), (), "")
    with TemporaryDirectory() as folder, closing(Study(path)) as study:
        try:
            with hub_errors(target, api):
                try:
                    found = api.hf_hub_download(repository, FILE, repo_type="dataset", local_dir=folder)
                except (EntryNotFoundError, RepositoryNotFoundError):
                    return False
            with closing(Study(Path(found))) as copy:
                missing = len(study.answers(copy)) - len(study.answers())
                content = copy.content()
        except InputError as error:
            raise InputError(str(error).replace(folder, repository)) from None
        if missing <= 0:
            return False
        if study.answers():
            raise InputError(
                f"{repository} has {missing:,} more answers than {path}: serve the newer file (hf download "
                f"{repository} {FILE} --repo-type dataset), or another --backup"
            )
    for leftover in (f"{path}-wal", f"{path}-shm"):
        Path(leftover).unlink(missing_ok=True)
    write_bytes(path, content)
    return True


@contextmanager
def backing_up(study: Study, repository: str, every: float = EVERY) -> Iterator[None]:
    """Copy the study to the repository whenever there are new answers, and at the end of the block.

    The first copy is made at once, so that a missing token is an error before anyone answers. Later failures are
    printed and tried again.
    """
    push(shipment(study, repository))
    done, ended = study.changes, Event()

    def copy() -> None:
        nonlocal done
        changes = study.changes
        if changes != done:
            try:
                push(shipment(study, repository))
                done = changes
            except (InputError, OSError) as error:
                sys.stderr.write(f"vqa-mc: no copy of the study in {repository}: {error}\n")

    def repeat() -> None:
        while not ended.wait(every):
            copy()

    thread = Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        copy()
