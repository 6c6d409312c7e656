"""What the loopback Hub answers, a function a route."""

import json
import re
from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

import yaml

from tests.hub.repositories import KINDS, Blob, Commit, Hub, Refused, Repository, is_large

if TYPE_CHECKING:
    from tests.hub.server import HubHandler

REPOSITORY = r"(?P<kind>model|dataset|space)s/(?P<name>[^/]+/[^/]+?)"
PAGE = r"/(?:(?P<kind>dataset|space)s/)?(?P<name>[^/]+/[^/]+?)"
SIGNATURE = "X-Signature=5ec7e7"
"""In the addresses that one may upload to or download from without a token: no business of a log."""

Route = tuple[str, re.Pattern[str], Callable[..., None]]
ROUTES: list[Route] = []


def route(methods: str, pattern: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    def listed(function: Callable[..., None]) -> Callable[..., None]:
        ROUTES.extend((method, re.compile(pattern), function) for method in methods.split())
        return function

    return listed


@route("GET", "/api/whoami-v2")
def whoami(request: "HubHandler") -> None:
    account = request.account
    if account is None:
        raise Refused(401, "Invalid username or password.")
    orgs = [{"type": "org", "name": name} for name in account.orgs]
    token = {"type": "access_token", "accessToken": {"displayName": "test", "role": account.role}}
    request.answer({"type": "user", "name": account.name, "orgs": orgs, "auth": token})


@route("POST", "/api/validate-yaml")
def validate_yaml(request: "HubHandler") -> None:
    body = request.json()
    errors = []
    try:
        data = yaml.safe_load(body["content"].split("---\n")[1])
        if not isinstance(data, dict):
            errors.append("metadata is no mapping")
        elif body["repoType"] == "space" and "sdk" not in data:
            errors.append('"sdk" is required')
    except (IndexError, yaml.YAMLError) as error:
        errors.append(str(error))
    found = {"errors": [{"message": message} for message in errors], "warnings": []}
    request.answer(found, 400 if errors else 200)


@route("POST", "/api/repos/create")
def create(request: "HubHandler") -> None:
    body, account, hub = request.json(), request.account, request.hub
    if account is None:
        raise Refused(401, "Invalid username or password.")
    namespace, kind = body.get("organization") or account.name, body.get("type", "model")
    name = f"{namespace}/{body['name']}"
    if kind not in KINDS or (kind == "space" and not body.get("sdk")):
        raise Refused(400, "invalid type or sdk")
    if not account.owns(name) or account.role != "write":
        raise Refused(403, f'You don\'t have the rights to create a {kind} under the namespace "{namespace}"')
    url = _url(hub, kind, name)
    if (kind, name) in hub.repositories:
        request.answer({"error": f"You already created this {kind} repo", "url": url}, 409)
        return
    private = body.get("visibility") == "private" or bool(body.get("private"))
    hub.repositories[kind, name] = Repository(kind, name, private, body.get("sdk"))
    request.answer({"url": url, "name": name, "id": name})


@route("GET", rf"/api/{REPOSITORY}(?:/revision/(?P<revision>[^/]+))?")
def info(request: "HubHandler", kind: str, name: str, revision: str | None) -> None:
    repository = request.find(kind, name)
    commit = repository.at(revision or "main")
    siblings = [_sibling(path, blob) for path, blob in sorted(commit.files.items())]
    body = {"_id": repository.kind, "id": name, "author": name.split("/")[0], "sha": commit.oid, "sdk": repository.sdk}
    times = {"lastModified": commit.date, "createdAt": repository.history("main")[-1].date}
    more = {"private": repository.private, "gated": False, "disabled": False, "tags": [], "downloads": 0, "likes": 0}
    request.answer({**body, **times, **more, "siblings": siblings})


@route("GET", rf"/api/{REPOSITORY}/tree/(?P<revision>[^/]+)(?:/(?P<path>.*))?")
def tree(request: "HubHandler", kind: str, name: str, revision: str, path: str | None) -> None:
    commit = request.find(kind, name).at(revision)
    below = f"{path}/" if path else ""
    found = {one: blob for one, blob in commit.files.items() if one.startswith(below)}
    if not found:
        raise Refused(404, f"{path} does not exist", "EntryNotFound")
    deep = request.query.get("recursive", ["false"])[0].lower() in ("true", "1")
    folders = {one[: end.start()] for one in found for end in re.finditer("/", one) if end.start() >= len(below)}
    every = [_folder(commit, one) for one in folders] + [_file(commit, one) for one in found]
    shown = [entry for entry in every if deep or "/" not in entry["path"][len(below) :]]
    request.answer(sorted(shown, key=lambda entry: str(entry["path"])))


@route("POST", rf"/api/{REPOSITORY}/paths-info/(?P<revision>[^/]+)")
def paths_info(request: "HubHandler", kind: str, name: str, revision: str) -> None:
    commit = request.find(kind, name).at(revision)
    is_json = request.headers.get_content_type() == "application/json"
    paths = request.json()["paths"] if is_json else parse_qs(request.body.decode()).get("paths", [])
    body = []
    for path in paths:
        if path in commit.files:
            body.append(_file(commit, path))
        elif any(one.startswith(f"{path}/") for one in commit.files):
            body.append(_folder(commit, path))
    request.answer(body)


@route("GET", rf"/api/{REPOSITORY}/refs")
def refs(request: "HubHandler", kind: str, name: str) -> None:
    repository = request.find(kind, name)
    body = {
        what: [{"name": one, "ref": f"refs/{where}/{one}", "targetCommit": oid} for one, oid in names.items()]
        for what, where, names in (("branches", "heads", repository.branches), ("tags", "tags", repository.tags))
    }
    request.answer({**body, "converts": [], "pullRequests": []})


@route("POST", rf"/api/{REPOSITORY}/tag/(?P<given>[^/]+)")
def tag(request: "HubHandler", kind: str, name: str, given: str) -> None:
    repository, new = request.find(kind, name, write=True), request.json()["tag"]
    if new in repository.tags:
        raise Refused(409, f"Reference {new} exists already")
    repository.tags[new] = repository.at(given).oid
    request.answer({})


@route("POST", rf"/api/{REPOSITORY}/preupload/(?P<revision>[^/]+)")
def preupload(request: "HubHandler", kind: str, name: str, revision: str) -> None:
    commit = _writable(request, kind, name).at(revision)
    body = []
    for file in request.json()["files"]:
        path, blob = file["path"], commit.files.get(file["path"])
        mode = "lfs" if is_large(path, file["size"]) else "regular"
        body.append({"path": path, "uploadMode": mode, "shouldIgnore": False, **({"oid": blob.etag} if blob else {})})
    request.answer({"files": body, "commitOid": commit.oid})


@route("POST", rf"{PAGE}\.git/info/lfs/objects/batch")
def batch(request: "HubHandler", kind: str | None, name: str) -> None:
    repository = request.find(kind, name, write=True)
    base = f"{repository.kind}s/{name}"
    body = []
    for one in request.json()["objects"]:
        entry = {"oid": one["oid"], "size": one["size"]}
        if one["oid"] not in repository.objects:
            prefix = "" if repository.kind == "model" else f"{repository.kind}s/"
            verify = f"{request.hub.address}/{prefix}{name}.git/info/lfs/objects/verify"
            upload = f"{request.hub.storage}/objects/{base}/{one['oid']}?{SIGNATURE}"
            entry["actions"] = {"upload": {"href": upload}, "verify": {"href": verify}}
        body.append(entry)
    request.answer({"transfer": "basic", "objects": body})


@route("PUT GET HEAD", rf"/objects/{REPOSITORY}/(?P<oid>[0-9a-f]+)")
def storage(request: "HubHandler", kind: str, name: str, oid: str) -> None:
    if "Authorization" in request.headers:
        request.hub.leaked.append(request.path)
    if SIGNATURE not in request.path:
        raise Refused(403, "not signed")
    repository = request.hub.repositories[kind, name]
    if request.command != "PUT":
        request.send_content(repository.objects[oid], {"ETag": f'"{oid}"'})
        return
    if sha256(request.body).hexdigest() != oid:
        raise Refused(400, "the content is not what its name says")
    repository.objects[oid] = request.body
    request.answer(b"")


@route("POST", rf"{PAGE}\.git/info/lfs/objects/verify")
def verify(request: "HubHandler", kind: str | None, name: str) -> None:
    body = request.json()
    if len(request.find(kind, name, write=True).objects.get(body["oid"], b"")) != body["size"]:
        raise Refused(404, "no such object")
    request.answer({})


@route("POST", rf"/api/{REPOSITORY}/commit/(?P<branch>[^/]+)")
def commit(request: "HubHandler", kind: str, name: str, branch: str) -> None:
    repository = _writable(request, kind, name)
    head = repository.at(branch)
    lines = [json.loads(line) for line in request.body.splitlines()]
    values = {key: [line["value"] for line in lines if line["key"] == key] for key in {line["key"] for line in lines}}
    about = values.pop("header")[0]
    if about.get("parentCommit") not in (None, head.oid):
        raise Refused(412, "A commit has happened since. Please refresh and try again.")
    files = {one["path"]: b64decode(one["content"]) for one in values.pop("file", [])}
    for one in values.pop("lfsFile", []):
        if one["oid"] not in repository.objects:
            raise Refused(400, f"{one['path']}: no such LFS object was uploaded")
        files[one["path"]] = repository.objects[one["oid"]]
    gone = {one["path"] for one in values.pop("deletedFile", [])}
    folders = tuple(one["path"].rstrip("/") + "/" for one in values.pop("deletedFolder", []))
    if values or not gone <= head.files.keys():
        raise Refused(400, f"not understood, or there is no such file: {[*values, *gone]}")
    number = len(repository.pull_requests) + 1
    if proposed := _is_proposed(request):
        branch = f"refs/pr/{number}"
        repository.branches[branch] = head.oid
    new = repository.write(
        branch,
        files,
        gone=lambda path: path in gone or path.startswith(folders),
        title=about["summary"],
        message=about.get("description", ""),
        author=request.account.name if request.account else "",
    )
    url = f"{_url(request.hub, kind, name)}/commit/{new.oid}"
    link = {}
    if proposed:
        repository.pull_requests.append(new.title)
        link = {"pullRequestUrl": f"{_url(request.hub, kind, name)}/discussions/{number}"}
    request.answer({"success": True, "commitOid": new.oid, "commitUrl": url, "hookOutput": "", **link})


@route("GET", rf"/api/{REPOSITORY}/discussions")
def discussions(request: "HubHandler", kind: str, name: str) -> None:
    repository = request.find(kind, name)
    found = [
        {
            "title": title,
            "num": number,
            "author": {"name": repository.at(f"refs/pr/{number}").author},
            "createdAt": repository.at(f"refs/pr/{number}").date,
            "status": "open",
            "repo": {"name": name, "type": kind},
            "isPullRequest": True,
        }
        for number, title in enumerate(repository.pull_requests, 1)
    ]
    request.answer({"discussions": found, "count": len(found), "start": 0})


@route("GET HEAD", rf"{PAGE}/resolve/(?P<revision>[^/]+)/(?P<path>.+)")
def resolve(request: "HubHandler", kind: str | None, name: str, revision: str, path: str) -> None:
    repository = request.find(kind, name)
    commit = repository.at(revision)
    if path not in commit.files:
        raise Refused(404, "Entry not found", "EntryNotFound")
    blob = commit.files[path]
    headers = {"X-Repo-Commit": commit.oid, "ETag": f'"{blob.etag}"'}
    if not blob.large:
        request.send_content(blob.content, headers)
        return
    where = f"{request.hub.storage}/objects/{repository.kind}s/{name}/{blob.sha256}?{SIGNATURE}"
    linked = {"X-Linked-Size": str(len(blob.content)), "X-Linked-Etag": f'"{blob.sha256}"', "Location": where}
    repository.objects.setdefault(blob.sha256, blob.content)
    request.answer(b"", 302, {**headers, **linked})


def _is_proposed(request: "HubHandler") -> bool:
    return request.query.get("create_pr") == ["1"]


def _writable(request: "HubHandler", kind: str, name: str) -> Repository:
    """A repository for a commit; for a pull request, which anyone may open, one that the account may read."""
    if not _is_proposed(request):
        return request.find(kind, name, write=True)
    if request.account is None or request.account.role != "write":
        raise Refused(403, "Forbidden: a pull request needs a token with write access")
    return request.find(kind, name)


def _url(hub: Hub, kind: str, name: str) -> str:
    return f"{hub.address}/{name}" if kind == "model" else f"{hub.address}/{kind}s/{name}"


def _lfs(blob: Blob, key: str) -> dict[str, Any]:
    return {key: blob.sha256, "size": len(blob.content), "pointerSize": len(blob.pointer)}


def _sibling(path: str, blob: Blob) -> dict[str, Any]:
    lfs = {"lfs": _lfs(blob, "sha256")} if blob.large else {}
    return {"rfilename": path, "size": len(blob.content), "blobId": blob.oid, **lfs}


def _file(commit: Commit, path: str) -> dict[str, Any]:
    blob = commit.files[path]
    lfs = {"lfs": _lfs(blob, "oid")} if blob.large else {}
    return {
        "type": "file",
        "path": path,
        "size": len(blob.content),
        "oid": blob.oid,
        **lfs,
        "lastCommit": _last(commit),
    }


def _folder(commit: Commit, path: str) -> dict[str, Any]:
    oid = sha256(f"{commit.oid} {path}".encode()).hexdigest()[:40]
    return {"type": "directory", "path": path, "size": 0, "oid": oid, "lastCommit": _last(commit)}


def _last(commit: Commit) -> dict[str, Any]:
    return {"id": commit.oid, "title": commit.title, "date": commit.date}
