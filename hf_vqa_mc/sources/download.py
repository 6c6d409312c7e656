"""Downloads of published files into the cache of ``datasets``, with resumption."""

import hashlib
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.packed import check_unpacked
from hf_vqa_mc.sources.files import PublishedFile, RemoteFile, check_members, member_names, members_named

if TYPE_CHECKING:
    from datasets import DownloadConfig

TRIES = 5
"""Maximum number of consecutive attempts without new data."""
PAUSE = 1.0
"""Seconds between attempts."""
TIMEOUT = 30.0
"""Seconds without an answer after which an attempt has failed."""

OK, PARTIAL_CONTENT, RANGE_NOT_SATISFIABLE = 200, 206, 416
TRANSIENT_STATUS = (408, 429, 500, 502, 503, 504)


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
        members = member_names(path)
        check_members(path, members)
        found = members_named(members, name)
        if len(found) != 1:
            raise InputError(f"{path} ({remote.name}): expected one {name} in it, found {len(found)}")
        return PublishedFile(name, path, found[0])


def fetch(remote: RemoteFile, config: "DownloadConfig | None" = None) -> Path:
    """Download a file into the cache of ``datasets``; bytes that were downloaded before are not repeated.

    ``DownloadManager`` restarts a broken download from its first byte (and the Hub's ``http_get`` up to 10 MB before
    the break), so the file is put into its cache first, with the Hub's HTTP session.

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
    try:
        cache.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{cache}: cannot be created for downloads ({error.strerror}); set HF_DATASETS_CACHE"
        ) from error
    target = cache / hash_url_to_filename(remote.url, etag=None)
    with FileLock(f"{target}.lock"):
        if config.force_download or not target.exists():
            _fetch_to(target, remote, quiet=config.disable_tqdm)
    config.force_download = False
    return Path(DownloadManager(download_config=config).download(remote.url))


def _fetch_to(target: Path, remote: RemoteFile, quiet: bool) -> None:
    partial = target.with_name(f"{target.name}.partial")
    partial.touch()
    failed = f"{remote.name} could not be downloaded from {remote.url}"
    by_hand = f" Or get {remote.name} in another way, put it unchanged into a folder, and name that with --data-dir."
    try:
        _fetch_with_retries(partial, remote, quiet)
    except Exception as error:  # exceptions differ between libraries and their versions
        kept = f" {partial.stat().st_size:,} bytes were downloaded and are kept; the next attempt resumes from there."
        if not partial.stat().st_size:
            partial.unlink()
            kept = ""
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)[:200]
        raise InputError(f"{failed} ({reason}).{kept}{by_hand}") from error
    problem = _difference(partial, remote)
    if problem:
        partial.unlink()
        raise InputError(f"{failed}: {problem}. It was deleted; try again.{by_hand}")
    partial.replace(target)


def _fetch_with_retries(partial: Path, remote: RemoteFile, quiet: bool) -> None:
    """Download the rest of the file; resume after errors, until TRIES consecutive attempts bring no data."""
    failed = 0
    while True:
        before = partial.stat().st_size
        try:
            _fetch_rest(partial, remote, quiet)
        except _RefusedError:
            raise
        except Exception:
            failed = 0 if partial.stat().st_size > before else failed + 1
            if failed == TRIES:
                raise
            time.sleep(PAUSE)
        else:
            return


def _fetch_rest(partial: Path, remote: RemoteFile, quiet: bool) -> None:
    """Request the rest of the file once; each chunk is written as it arrives."""
    from datasets.utils import tqdm
    from huggingface_hub import get_session

    with partial.open("ab") as file:
        size = file.tell()
        # compressed transfers cannot be resumed
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={size}-"} if size else {})
        with get_session().stream(
            "GET", remote.url, headers=headers, follow_redirects=True, timeout=TIMEOUT
        ) as response:
            if response.status_code == RANGE_NOT_SATISFIABLE and size:
                whole = response.headers.get("Content-Range") == f"bytes */{size}"
                if whole and _difference(partial, remote) is None:
                    return
                file.truncate(0)
                raise ConnectionError("the server's file has changed since the download began")
            if response.status_code in TRANSIENT_STATUS:
                raise ConnectionError(f"the server returned {response.status_code}")
            if response.status_code not in (OK, PARTIAL_CONTENT):
                raise _RefusedError(f"the server returned {response.status_code} {response.reason_phrase}")
            start = response.headers.get("Content-Range", "")
            if response.status_code == PARTIAL_CONTENT and not start.startswith(f"bytes {size}-"):
                file.truncate(0)
                raise ConnectionError("the server sent another part of the file than requested")
            if response.status_code == OK:  # the whole file, whether or not a range was requested
                file.truncate(0)
                size = 0
            total = size + int(response.headers.get("Content-Length", 0)) or None
            with tqdm(desc=remote.name, total=total, initial=size, unit="B", unit_scale=True, disable=quiet) as bar:
                for piece in response.iter_bytes():
                    file.write(piece)
                    bar.update(len(piece))


class _RefusedError(Exception):
    """The server's answer is final, so retrying would not help."""


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
