"""Downloads on loopback: done once, resumed, checked, and refused with a remedy."""

import hashlib
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from random import Random

import pytest
from datasets import DownloadConfig, DownloadManager

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.sources import SOURCES
from hf_vqa_mc.sources.files import RemoteFile, fetch
from hf_vqa_mc.sources.source import Source, open_source, read_triplets
from tests.sources import fixtures
from tests.sources.loopback import Publisher, serving

pytestmark = pytest.mark.filterwarnings("ignore::hf_vqa_mc.errors.CountMismatch")


def _archive(name: str, size: int, seed: int = 0) -> bytes:
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(zipfile.ZipInfo(name), Random(seed).randbytes(size))
    return packed.getvalue()


CONTENT = _archive("data.json", 300_000)


@pytest.fixture
def publisher(monkeypatch: pytest.MonkeyPatch) -> Iterator[Publisher]:
    """A server that offers ``/data.zip``; without pauses between attempts."""
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    monkeypatch.setattr("huggingface_hub.constants.DOWNLOAD_CHUNK_SIZE", 10_000)
    with serving(Publisher({"/data.zip": CONTENT})) as publisher:
        yield publisher


@pytest.fixture
def cache(tmp_path: Path) -> DownloadConfig:
    return DownloadConfig(cache_dir=tmp_path / "cache", disable_tqdm=True)


def _remote(publisher: Publisher, **known: object) -> RemoteFile:
    return RemoteFile(f"{publisher.address}/data.zip", ("data.json",), **known)  # type: ignore[arg-type]


def test_a_file_is_fetched_once_into_the_cache_of_datasets(publisher: Publisher, cache: DownloadConfig) -> None:
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    first = fetch(_remote(publisher, sha256=sha256, size=len(CONTENT)), cache)
    again = fetch(_remote(publisher, sha256=sha256, size=len(CONTENT)), cache)
    assert first == again
    assert first.read_bytes() == CONTENT
    cache.use_etag = False
    assert DownloadManager(download_config=cache).download(f"{publisher.address}/data.zip") == str(first)
    assert publisher.requests == [("/data.zip", None)]


def test_a_broken_connection_is_resumed_where_it_broke(publisher: Publisher, cache: DownloadConfig) -> None:
    publisher.cuts = [70_000, 50_000, 0]
    assert fetch(_remote(publisher), cache).read_bytes() == CONTENT
    assert [wanted for _, wanted in publisher.requests] == [None, "bytes=70000-", "bytes=120000-", "bytes=120000-"]
    assert publisher.sent == len(CONTENT)


def test_an_interrupted_download_is_resumed_in_the_next_run(publisher: Publisher, cache: DownloadConfig) -> None:
    publisher.cuts = [70_000] + [0] * 6
    with pytest.raises(
        InputError, match="70,000 bytes were downloaded and are kept; the next attempt resumes from there"
    ):
        fetch(_remote(publisher), cache)
    publisher.cuts.clear()
    n_requests = len(publisher.requests)
    assert fetch(_remote(publisher), cache).read_bytes() == CONTENT
    assert publisher.requests[n_requests:] == [("/data.zip", "bytes=70000-")]
    assert publisher.sent == len(CONTENT)


def test_a_server_without_ranges_sends_the_whole_file_again(publisher: Publisher, cache: DownloadConfig) -> None:
    publisher.knows_ranges = False
    publisher.cuts = [70_000]
    assert fetch(_remote(publisher), cache).read_bytes() == CONTENT
    assert publisher.sent == 70_000 + len(CONTENT)


@pytest.mark.parametrize("kept", [CONTENT, CONTENT + b"more", b"\x00" * len(CONTENT)])
def test_a_complete_or_wrong_partial_file_does_no_harm(
    kept: bytes, publisher: Publisher, cache: DownloadConfig
) -> None:
    path = fetch(_remote(publisher), cache)
    path.rename(f"{path}.partial").write_bytes(kept)
    with pytest.raises(InputError, match="Range Not Satisfiable"):
        fetch(_remote(publisher), cache)
    assert fetch(_remote(publisher), cache).read_bytes() == CONTENT


def test_parts_of_a_file_that_changed_meanwhile_are_not_joined(publisher: Publisher, cache: DownloadConfig) -> None:
    publisher.cuts = [70_000] + [0] * 6
    with pytest.raises(InputError):
        fetch(_remote(publisher), cache)
    publisher.files["/data.zip"] = changed = _archive("data.json", 200_000, seed=1)
    with pytest.raises(
        InputError, match=r"expected a zip file, found .* a damaged one|its member data\.json is damaged"
    ):
        fetch(_remote(publisher), cache)
    assert fetch(_remote(publisher), cache).read_bytes() == changed


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"sha256": "0" * 64}, "expected the SHA-256 0000.*, found [0-9a-f]{64}"),
        ({"size": 12}, r"expected 12 bytes, found 3\d\d,\d\d\d"),
    ],
)
def test_a_file_that_is_not_the_published_one_is_refused_and_deleted(
    known: dict[str, object], message: str, publisher: Publisher, cache: DownloadConfig
) -> None:
    with pytest.raises(InputError, match=f"data.zip could not be downloaded from http.*: {message}. It was deleted"):
        fetch(_remote(publisher, **known), cache)
    assert [path.suffix for path in Path(cache.cache_dir).iterdir()] in ([], [".lock"])


def test_a_page_instead_of_an_archive_is_refused(publisher: Publisher, cache: DownloadConfig) -> None:
    publisher.files["/data.zip"] = b"<html>This page has moved.</html>"
    with pytest.raises(InputError, match="expected a zip file, found something else"):
        fetch(_remote(publisher), cache)
    publisher.files["/data.zip"] = CONTENT
    assert fetch(_remote(publisher), cache).read_bytes() == CONTENT


def test_a_file_that_the_server_lacks_is_requested_once_and_named(publisher: Publisher, cache: DownloadConfig) -> None:
    publisher.files.clear()
    way_out = "Or get data.zip in another way, put it unchanged into a folder, and name that with --data-dir"
    with pytest.raises(InputError, match=f"data.zip could not be .*404 Not Found.*{way_out}"):
        fetch(_remote(publisher), cache)
    assert len(publisher.requests) == 1
    assert not list(Path(cache.cache_dir).glob("*.partial"))


def test_without_a_network_the_manual_download_is_suggested(
    monkeypatch: pytest.MonkeyPatch, cache: DownloadConfig
) -> None:
    monkeypatch.setattr("huggingface_hub.file_download.time.sleep", lambda seconds: None)
    with serving(Publisher()) as gone:
        pass
    with pytest.raises(InputError, match=r"refused.*put it unchanged into a folder, and name that with --data-dir"):
        fetch(_remote(gone), cache)


def test_force_download_downloads_again(publisher: Publisher, cache: DownloadConfig) -> None:
    fetch(_remote(publisher), cache)
    cache.force_download = True
    assert fetch(_remote(publisher), cache).read_bytes() == CONTENT
    assert [wanted for _, wanted in publisher.requests] == [None, None]
    assert cache.force_download


@pytest.mark.parametrize("name", ["visual7w", "vqa", "cocoqa", "qavg"])
def test_a_source_reads_the_same_from_downloads_as_from_a_folder(
    name: str, tmp_path: Path, cache: DownloadConfig, publisher: Publisher
) -> None:
    folder = tmp_path / "plain"
    fixtures.write_vqa(folder)
    fixtures.write_cocoqa(folder)
    fixtures.write_visual_genome(folder)
    fixtures.write_visual7w_decoys(folder)
    with zipfile.ZipFile(folder / "Visual7W_decoys.zip") as archive:
        archive.extractall(folder)
    moved = _moved_to(publisher, SOURCES[name], folder)
    released = moved.read_released is not None
    found = open_source(moved, None, cache).triplets(released)
    assert found.equals(read_triplets(name, folder, released_decoys=released))
    n_requests = len(publisher.requests)
    needed = [remote for remote in SOURCES[name].downloads if not remote.name.startswith("Questions_Test")]
    assert n_requests == len(needed)
    open_source(moved, None, cache).triplets(released)
    assert len(publisher.requests) == n_requests


def test_released_decoys_are_downloaded_only_on_request(
    tmp_path: Path, cache: DownloadConfig, publisher: Publisher
) -> None:
    fixtures.write_visual7w(tmp_path)
    fixtures.write_visual7w_decoys(tmp_path)
    open_source(_moved_to(publisher, SOURCES["visual7w"], tmp_path), None, cache).triplets()
    assert [path for path, _ in publisher.requests] == ["/dataset_v7w_telling.zip"]


def _moved_to(publisher: Publisher, source: Source, folder: Path) -> Source:
    """The source with its archives, packed from a folder, served by the publisher."""
    table = []
    for remote in source.downloads:
        packed = BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name in remote.holds:
                if (folder / name).exists() or (folder / "Visual7W_decoys" / name).exists():
                    found = folder / name if (folder / name).exists() else folder / "Visual7W_decoys" / name
                    archive.write(found, f"some folder/{name}")
        publisher.files[f"/{remote.name}"] = packed.getvalue()
        table.append(RemoteFile(f"{publisher.address}/{remote.name}", remote.holds))
    return replace(source, downloads=tuple(table))
