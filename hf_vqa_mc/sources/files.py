"""Finding, downloading and opening published files: plain, .gz, .xz or in a .zip; nothing is unpacked to disk.

Downloads go into the cache of ``datasets``, with resumption.
"""

import hashlib
import os
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.packed import DAMAGE, check_unpacked, damaged, text_lines, unpacked

if TYPE_CHECKING:
    from datasets import DownloadConfig

DEPTH = 2  # levels of folders below the data folder that are searched
_PACKED = ("", ".gz", ".xz")


@dataclass(frozen=True)
class RemoteFile:
    """A published file for download."""

    url: str
    holds: tuple[str, ...]  # names of the files that readers need: members of the archive, or the file itself
    sha256: str | None = None  # hexadecimal; None if no checksum is known
    size: int | None = None  # bytes

    @property
    def name(self) -> str:
        """The file's name as published, such as ``dataset_v7w_telling.zip``."""
        return PurePosixPath(urlsplit(self.url).path).name


@dataclass(frozen=True)
class PublishedFile:
    """A published file on this machine."""

    name: str  # the publisher's name
    path: Path  # the file itself or the zip file that contains it
    member: str | None = None  # name in the zip file ``path``

    @property
    def location(self) -> str:
        """The file's name for messages."""
        return f"{self.path}" if self.member is None else f"{self.member} in {self.path}"

    def open(self) -> AbstractContextManager[IO[bytes]]:
        """Open the unpacked content; raises InputError if the file is unreadable, damaged or truncated."""
        return unpacked(self.path, self.member)

    def read_lines(self) -> list[str]:
        """The lines of a text file without line ends; raises InputError as ``open`` or if it is not UTF-8."""
        with self.open() as stream:
            return [line.removesuffix("\n").removesuffix("\r") for line in text_lines(stream, self.location)]


class Folder:
    """Files in a folder and up to DEPTH folders below it, plain, packed, or inside zip files."""

    def __init__(self, path: Path, downloads: Sequence[RemoteFile] = ()) -> None:
        """downloads: where to get the files, for messages about missing ones."""
        if not path.is_dir():
            found = "is a file; give its folder" if path.exists() else "does not exist"
            names = ", ".join(remote.name for remote in downloads)
            where = f" (as downloaded: {names})" if names else ""
            raise InputError(f"data folder {path} {found}. Expected a folder with the publisher's files{where}")
        self.path = path
        self._downloads = downloads
        self._found: dict[str, PublishedFile | None] = {}
        self._unreadable: dict[Path, str] = {}
        self._levels = [[path]]  # the folder itself, the folders in it, and those in them
        for _ in range(DEPTH):
            inner = (below for folder in self._levels[-1] for below in sorted(folder.glob("*/")))
            self._levels.append([below for below in inner if os.access(below, os.R_OK | os.X_OK)])  # not lost+found

    def has(self, name: str) -> bool:
        """Whether there is a file with this name."""
        if name not in self._found:
            self._found[name] = self._search(name)
        return self._found[name] is not None

    def find(self, name: str) -> PublishedFile:
        """Find a file by name; if there are several, the one in the topmost folder, plain before packed.

        Raises:
            InputError: there is none, or two at the same level, or its zip file is damaged.
        """
        file = self._found[name] if self.has(name) else None
        if file is not None:
            return file
        remotes = {remote.name: remote for remote in self._downloads if name in remote.holds}
        for path, error in self._unreadable.items():
            if path.name in remotes:
                raise InputError(error)
        where = "".join(f" Download {key} from {one.url} and put it there unchanged." for key, one in remotes.items())
        others = "".join(f" Not read: {error}." for error in list(self._unreadable.values())[:3])
        raise InputError(
            f"{self.path}: no {name} in this folder or up to {DEPTH} folders below it, plain, as .gz or .xz, or in a "
            f".zip.{where}{others}"
        )

    def _search(self, name: str) -> PublishedFile | None:
        found = (files for folders in self._levels for files in self._found_in(folders, name) if files)
        files = next(found, [])
        if len(files) > 1:
            listed = " and ".join(file.location for file in files[:3])
            raise InputError(f"{name} was found {len(files)} times: {listed}; expected one, give a folder with one")
        return files[0] if files else None

    def _found_in(self, folders: list[Path], name: str) -> Iterator[list[PublishedFile]]:
        for suffix in _PACKED:
            paths = (folder / (name + suffix) for folder in folders)
            yield [PublishedFile(name, path) for path in paths if path.is_file()]
        zips = {path: members_named(members, name) for path, members in self._zips.items() if path.parent in folders}
        yield [PublishedFile(name, path, member) for path, members in zips.items() for member in members]

    @cached_property
    def _zips(self) -> dict[Path, list[str]]:
        """The members of each zip file; unreadable zip files are remembered for messages."""
        names = {}
        for path in (path for level in self._levels for folder in level for path in sorted(folder.glob("*.zip"))):
            try:
                names[path] = member_names(path)
            except (InputError, OSError) as error:  # also a folder of that name
                self._unreadable[path] = str(error)
        return names


def member_names(path: Path) -> list[str]:
    """The names of the files in a zip file; raises InputError if it is damaged, truncated or encrypted."""
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
    except DAMAGE as error:
        raise damaged(str(path), error) from error
    return [info.filename for info in infos if not info.is_dir()]


def members_named(members: Sequence[str], name: str) -> list[str]:
    """The members of a zip file with this name, in any folder except macOS's metadata."""
    return [one for one in members if f"/{one}".endswith(f"/{name}") and not one.startswith("__MACOSX/")]


RANGE_NOT_SATISFIABLE = "416"  # status in the message of a server that has no more bytes than those downloaded before


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
        """Find a file by name; downloads it if it is not cached."""
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


Files: TypeAlias = Folder | Downloads  # the files of a source


def fetch(remote: RemoteFile, config: "DownloadConfig | None" = None) -> Path:
    """Download a file into the cache of ``datasets``; bytes that were downloaded before are not repeated.

    ``DownloadManager`` restarts a broken download from its first byte, so the file is put into its cache first, by the
    Hub's ``http_get``.
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
