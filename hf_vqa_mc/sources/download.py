"""Downloads of published files into the cache of ``datasets``, with resumption."""

import hashlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.packed import check_unpacked
from hf_vqa_mc.sources.files import PublishedFile, RemoteFile, member_names, members_named

if TYPE_CHECKING:
    from datasets import DownloadConfig


RANGE_NOT_SATISFIABLE = "416"
"""Status in the message of a server that has no more bytes than those downloaded before."""


class Downloads:
    """Published files, each downloaded on first use."""

    def __init__(self, table: Sequence[RemoteFile], config: "DownloadConfig | None" = None) -> None:
        """config: cache folder and whether to force downloads; by default the user's cache."""
        self._table = table
        self._config = config
        self._paths: dict[RemoteFile, Path] = {}

    def has(self, name: str) -> bool:
        """Whether there is a file with this name."""
        return any(name in remote.holds for remote in self._table)

    def find(self, name: str) -> PublishedFile:
        """Find a file by name; downloads it if it is not cached.

        Raises:
            InputError: no address is known, the download fails, or its checksum or content is not the published one.
        """
        remote = next((remote for remote in self._table if name in remote.holds), None)
        if remote is None:
            raise InputError(f"{name}: no address is known to download it from; give its folder with --data-dir")
        if remote not in self._paths:
            self._paths[remote] = fetch(remote, self._config)
        path = self._paths[remote]
        if not zipfile.is_zipfile(path):
            return PublishedFile(name, path)
        found = members_named(member_names(path), name)
        if len(found) != 1:
            raise InputError(f"{path} ({remote.name}): expected one {name} in it, found {len(found)}")
        return PublishedFile(name, path, found[0])


def fetch(remote: RemoteFile, config: "DownloadConfig | None" = None) -> Path:
    """Download a file into the cache of ``datasets``; bytes that were downloaded before are not repeated.

    ``DownloadManager`` restarts a broken download from its first byte, so the file is put into its cache first, by the
    Hub's ``http_get``.

    Raises:
        InputError: names the file, the problem, and how to continue without the network.
    """
    from datasets import DownloadConfig, DownloadManager
    from datasets import config as defaults
    from datasets.utils.file_utils import hash_url_to_filename
    from filelock import FileLock

    config = DownloadConfig() if config is None else config.copy()
    config.use_etag = False  # else each use needs the server, even offline
    cache = Path(config.cache_dir or defaults.DOWNLOADED_DATASETS_PATH)
    cache.mkdir(parents=True, exist_ok=True)
    target = cache / hash_url_to_filename(remote.url, etag=None)
    with FileLock(f"{target}.lock"):
        if config.force_download or not target.exists():
            _fetch_to(target, remote)
    config.force_download = False
    return Path(DownloadManager(download_config=config).download(remote.url))


def _fetch_to(target: Path, remote: RemoteFile) -> None:
    from huggingface_hub.file_download import http_get

    partial = target.with_name(f"{target.name}.partial")
    partial.touch()
    failed = f"{remote.name} could not be downloaded from {remote.url}"
    by_hand = f" Or get {remote.name} in another way, put it unchanged into a folder, and name that with --data-dir."
    try:
        with partial.open("ab") as file:
            http_get(remote.url, file, resume_size=file.tell(), displayed_filename=remote.name)
    except Exception as error:  # exceptions differ between libraries and their versions
        kept = f" {partial.stat().st_size:,} bytes were downloaded and are kept; the next attempt resumes from there."
        if not partial.stat().st_size or RANGE_NOT_SATISFIABLE in str(error):  # the kept bytes are not of this file
            partial.unlink()
            kept = ""
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
        raise InputError(f"{failed} ({reason}).{kept}{by_hand}") from error
    problem = _difference(partial, remote)
    if problem:
        partial.unlink()
        raise InputError(f"{failed}: {problem}. It was deleted; try again.{by_hand}")
    partial.replace(target)


def _difference(path: Path, remote: RemoteFile) -> str | None:
    """How a file differs from the published one, or None."""
    size = path.stat().st_size
    if remote.size is not None and size != remote.size:
        return f"expected {remote.size:,} bytes, found {size:,}"
    if remote.sha256 is not None:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        return None if found == remote.sha256 else f"expected the SHA-256 {remote.sha256}, found {found}"
    if remote.name.endswith(".zip"):
        try:
            for member in member_names(path):
                check_unpacked(path, member)
        except InputError as error:
            return f"expected a zip file, found something else or a damaged one ({error})"
    return None
