"""The Hub on loopback answers huggingface_hub as the Hub does, where we rely on it."""

import httpx2
import pytest
from huggingface_hub import CommitOperationAdd, HfApi
from huggingface_hub.errors import (
    HfHubHTTPError,
    RemoteEntryNotFoundError,
    RepositoryNotFoundError,
    RevisionNotFoundError,
)

from tests.hub.pushing import STRANGER, TOKEN
from tests.hub.repositories import Blob

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own way

NAME = "ada/thing"
CONTENT = bytes(range(256)) * 40


@pytest.fixture(autouse=True)
def without_xet(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)


@pytest.fixture(params=["model", "dataset", "space"])
def kind(request):
    return request.param


@pytest.fixture
def api(hub, kind):
    api = HfApi(endpoint=hub.address, token=TOKEN)
    api.create_repo(NAME, repo_type=kind, space_sdk="gradio" if kind == "space" else None)
    return api


def commit(api, kind, files, **options):
    added = [CommitOperationAdd(path, content) for path, content in files.items()]
    return api.create_commit(NAME, added, repo_type=kind, commit_message="more", **options)


def test_what_is_committed_is_listed_and_comes_back(hub, api, kind, tmp_path):
    done = commit(api, kind, {"a/b/large.safetensors": CONTENT, "a/small.txt": b"text"})
    assert api.repo_info(NAME, repo_type=kind).sha == done.oid
    assert set(api.list_repo_files(NAME, repo_type=kind)) == {".gitattributes", "a/b/large.safetensors", "a/small.txt"}
    flat = list(api.list_repo_tree(NAME, "a", repo_type=kind))
    assert [entry.path for entry in flat] == ["a/b", "a/small.txt"]
    (large, folder) = api.get_paths_info(NAME, ["a/b/large.safetensors", "a/b", "no"], repo_type=kind)
    assert (large.size, large.lfs.sha256, folder.path) == (len(CONTENT), Blob(CONTENT, True).sha256, "a/b")
    for path, content in (("a/b/large.safetensors", CONTENT), ("a/small.txt", b"text")):
        found = api.hf_hub_download(NAME, path, repo_type=kind, cache_dir=tmp_path)
        with open(found, "rb") as file:  # noqa: PTH123
            assert file.read() == content
    assert [one.title for one in api.list_repo_commits(NAME, repo_type=kind)] == ["more", "initial commit"]
    assert hub.leaked == []


def test_byte_ranges_of_files_can_be_requested(hub, api, kind):
    commit(api, kind, {"large.bin": CONTENT, "small.txt": b"0123456789"})
    prefix = "" if kind == "model" else f"{kind}s/"
    for path, content in (("large.bin", CONTENT), ("small.txt", b"0123456789")):
        url = f"{hub.address}/{prefix}{NAME}/resolve/main/{path}"
        part = httpx2.get(url, headers={"Range": "bytes=2-5"}, follow_redirects=True)
        assert (part.status_code, part.content) == (206, content[2:6])
        assert part.headers["Content-Range"] == f"bytes 2-5/{len(content)}"


def test_refs_are_made_and_removed(api, kind):
    first = commit(api, kind, {"one": b"1"})
    api.create_tag(NAME, tag="v1", repo_type=kind)
    api.create_branch(NAME, branch="draft", repo_type=kind)
    commit(api, kind, {"two": b"2"}, revision="draft")
    refs = api.list_repo_refs(NAME, repo_type=kind)
    assert {ref.name for ref in refs.branches} == {"main", "draft"}
    assert [ref.target_commit for ref in refs.tags] == [first.oid]
    assert "two" not in api.list_repo_files(NAME, repo_type=kind, revision="v1")
    assert "two" in api.list_repo_files(NAME, repo_type=kind, revision="draft")
    api.delete_tag(NAME, tag="v1", repo_type=kind)
    api.delete_branch(NAME, branch="draft", repo_type=kind)
    with pytest.raises(RevisionNotFoundError):
        api.list_repo_files(NAME, repo_type=kind, revision="draft")


def test_files_and_folders_are_deleted(api, kind):
    commit(api, kind, {"a/one": b"1", "a/two": b"2", "three": b"3"})
    api.delete_folder("a", NAME, repo_type=kind)
    api.delete_file("three", NAME, repo_type=kind)
    assert api.list_repo_files(NAME, repo_type=kind) == [".gitattributes"]


def test_a_commit_on_an_old_parent_is_rejected(api, kind):
    first = commit(api, kind, {"one": b"1"})
    commit(api, kind, {"two": b"2"}, parent_commit=first.oid)
    with pytest.raises(HfHubHTTPError) as refused:
        commit(api, kind, {"three": b"3"}, parent_commit=first.oid)
    assert refused.value.response.status_code == 412


def test_what_is_not_there_has_its_own_error(api, kind):
    with pytest.raises(RepositoryNotFoundError):
        api.repo_info("ada/other", repo_type=kind)
    with pytest.raises(RemoteEntryNotFoundError):
        api.hf_hub_download(NAME, "no", repo_type=kind)
    with pytest.raises(RevisionNotFoundError):
        api.hf_hub_download(NAME, "README.md", repo_type=kind, revision="no")
    api.delete_repo(NAME, repo_type=kind)
    with pytest.raises(RepositoryNotFoundError):
        api.repo_info(NAME, repo_type=kind)


def test_a_private_repository_is_nobody_elses(hub, kind):
    HfApi(endpoint=hub.address, token=TOKEN).create_repo(
        NAME, repo_type=kind, private=True, space_sdk="gradio" if kind == "space" else None
    )
    for token in (False, STRANGER):
        with pytest.raises(RepositoryNotFoundError):
            HfApi(endpoint=hub.address, token=token).repo_info(NAME, repo_type=kind)


def test_a_stranger_reads_what_is_public_and_writes_nothing(hub, api, kind):
    stranger = HfApi(endpoint=hub.address, token=STRANGER)
    assert stranger.repo_info(NAME, repo_type=kind).private is False
    with pytest.raises(HfHubHTTPError) as refused:
        commit(stranger, kind, {"one": b"1"})
    assert refused.value.response.status_code == 403


def test_who_one_is(hub):
    assert HfApi(endpoint=hub.address, token=TOKEN).whoami()["name"] == "ada"
    with pytest.raises(HfHubHTTPError):
        HfApi(endpoint=hub.address, token="hf_nobodys").whoami()
