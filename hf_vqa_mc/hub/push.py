"""Sending a shipment to the Hub as one commit, or not at all."""

import logging
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.dataset.inventory import INVENTORY, read_inventory
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.dataset_folder import files_gone
from hf_vqa_mc.hub.plain_words import in_plain_words
from hf_vqa_mc.hub.shipment import Shipment
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, HfApi


@dataclass(frozen=True)
class Pushed:
    """The outcome of a push."""

    shipment: Shipment
    url: str
    """of the repository"""
    commit: str
    """the newest, of this push or, where nothing had changed, of an earlier one"""
    changed: bool
    """whether anything was sent"""
    private: bool
    created: bool
    """whether the repository is new"""
    removed: tuple[str, ...]
    """files of an earlier push that were removed"""


def push(shipment: Shipment, *, replace: bool = False) -> Pushed:
    """Send everything in one commit; the repository is made where there is none.

    The commit's parent is the repository's newest when the push began: another commit meanwhile is noticed, not
    overwritten. Large files are sent first and kept by the Hub even if the push then fails, so that the next one sends
    the rest. The token is that of ``HF_TOKEN`` or ``hf auth login``.

    Args:
        shipment: what to send.
        replace: whether configs that the repository has and the shipment lacks may be removed.

    Raises:
        InputError: no token, or one that may not write there; the repository is public and ``private`` is set; configs
            would be removed; another commit meanwhile; the Hub rejects the card.
        ConnectionError: the Hub cannot be reached, or fails; another push resumes.
    """
    from huggingface_hub import CommitOperationDelete, HfApi, get_token

    token = get_token()
    if token is None:
        raise InputError("no token for the Hub: type hf auth login, or set HF_TOKEN (a token that may write)")
    api = HfApi(token=token, library_name="hf_vqa_mc", library_version=__version__)
    url = f"{api.endpoint}/{shipment.path}"
    with in_plain_words(shipment, api), _no_addresses_told(), _bars_on_terminals_only():
        head, private, created = _opened(api, shipment)
        if shipment.private and not private:
            raise InputError(
                f"{shipment.name} is public already and a push would not make it private; change that on "
                f"{url}/settings, or leave --private out"
            )
        gone = _gone(api, shipment, head, replace) if shipment.inventory else []
        commit = api.create_commit(
            shipment.name,
            [*_additions(shipment), *(CommitOperationDelete(path) for path in gone)],
            commit_message=shipment.message,
            repo_type=shipment.kind,
            parent_commit=head,
        )
    return Pushed(shipment, url, commit.oid, commit.oid != head, private, created, tuple(gone))


def _opened(api: "HfApi", shipment: Shipment) -> tuple[str | None, bool, bool]:
    """The repository's newest commit, whether it is private, and whether it is new."""
    from huggingface_hub.errors import RepositoryNotFoundError

    created = False
    try:
        info = api.repo_info(shipment.name, repo_type=shipment.kind)
    except RepositoryNotFoundError:
        api.create_repo(
            shipment.name,
            repo_type=shipment.kind,
            private=shipment.private,
            exist_ok=True,
            space_sdk=shipment.space_sdk,
        )
        created = True
        info = api.repo_info(shipment.name, repo_type=shipment.kind)
    return info.sha, bool(info.private), created


def _gone(api: "HfApi", shipment: Shipment, head: str | None, replace: bool) -> list[str]:
    existing = set(api.list_repo_files(shipment.name, repo_type=shipment.kind, revision=head))
    if INVENTORY not in existing:
        return []
    with tempfile.TemporaryDirectory() as folder:
        api.hf_hub_download(shipment.name, INVENTORY, repo_type=shipment.kind, revision=head, local_dir=folder)
        try:
            before = read_inventory(Path(folder))
        except InputError as error:
            raise InputError(str(error).replace(folder, shipment.name)) from None
    return files_gone(shipment, before, existing, replace=replace) if before else []


def _additions(shipment: Shipment) -> "Iterator[CommitOperationAdd]":
    from huggingface_hub import CommitOperationAdd

    for file in shipment.files:
        addition = CommitOperationAdd(file.path, file.place)
        if file.sha256 is not None:
            addition.upload_info.sha256 = bytes.fromhex(file.sha256)  # or it is computed a second time
        yield addition


@contextmanager
def _no_addresses_told() -> Iterator[None]:
    """huggingface_hub warns of each retry with the address, whose signature lets anybody upload there."""
    logger = logging.getLogger("huggingface_hub")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def _bars_on_terminals_only() -> Iterator[None]:
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    if sys.stderr.isatty() or are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()
