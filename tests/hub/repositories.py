"""What a Hub keeps: accounts, repositories, their commits and files."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha1, sha256
from typing import Any

KINDS = ("model", "dataset", "space")
LARGE = (".parquet", ".arrow", ".safetensors", ".bin", ".npz", ".zip", ".png", ".jpg")
"""Kept in the storage of large files, as the Hub's .gitattributes has it."""
LARGE_BYTES = 10_000_000
"""And everything from this size on."""


class Refused(Exception):
    """An answer that is an error: status, X-Error-Code and X-Error-Message."""

    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code = status, message, code


@dataclass(frozen=True)
class Account:
    """Whose token it is."""

    name: str
    orgs: tuple[str, ...] = ()
    role: str = "write"
    """or read"""

    def owns(self, repository: str) -> bool:
        return repository.split("/")[0] in (self.name, *self.orgs)


@dataclass(frozen=True)
class Blob:
    """A file's content, in git itself or in the storage of large files."""

    content: bytes
    large: bool

    @property
    def sha256(self) -> str:
        return sha256(self.content).hexdigest()

    @property
    def pointer(self) -> bytes:
        size = len(self.content)
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{self.sha256}\nsize {size}\n".encode()

    @property
    def oid(self) -> str:
        """As git names what it keeps: of a large file, the pointer."""
        kept = self.pointer if self.large else self.content
        return sha1(b"blob %d\0" % len(kept) + kept).hexdigest()

    @property
    def etag(self) -> str:
        return self.sha256 if self.large else self.oid


@dataclass(frozen=True)
class Commit:
    """All files as they are from here on."""

    oid: str
    parent: str | None
    title: str
    message: str
    author: str
    date: str
    files: dict[str, Blob]


@dataclass
class Repository:
    """A history of commits, with names for some of them."""

    kind: str
    name: str
    private: bool
    sdk: str | None = None
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    """large files that were sent, by sha256, committed or not"""
    pull_requests: list[str] = field(default_factory=list)
    """the titles of open ones; the branch of the first is refs/pr/1"""

    def __post_init__(self) -> None:
        attributes = "".join(f"*{suffix} filter=lfs diff=lfs merge=lfs -text\n" for suffix in LARGE)
        self.write("main", {".gitattributes": attributes.encode()}, title="initial commit")

    def at(self, revision: str) -> Commit:
        oid = self.branches.get(revision.removeprefix("refs/heads/")) or self.tags.get(revision) or revision
        if oid not in self.commits:
            raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[oid]

    @property
    def files(self) -> dict[str, bytes]:
        """Of the branch main, by path."""
        return {path: blob.content for path, blob in self.at("main").files.items()}

    def write(
        self,
        branch: str,
        files: dict[str, bytes],
        *,
        gone: Callable[[str], bool] = lambda path: False,
        title: str,
        message: str = "",
        author: str = "hub",
    ) -> Commit:
        """Add a commit to a branch."""
        parent = self.branches.get(branch)
        kept = {path: blob for path, blob in self.commits[parent].files.items() if not gone(path)} if parent else {}
        new = {path: Blob(content, is_large(path, len(content))) for path, content in files.items()}
        every = {**kept, **new}
        tree = [(path, every[path].oid) for path in sorted(every)]
        oid = sha1(repr((self.kind, self.name, len(self.commits), parent, title, tree)).encode()).hexdigest()
        date = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        self.commits[oid] = Commit(oid, parent, title, message, author, date, every)
        self.branches[branch] = oid
        return self.commits[oid]

    def history(self, revision: str) -> list[Commit]:
        """The newest first."""
        found = [self.at(revision)]
        while found[-1].parent:
            found.append(self.commits[found[-1].parent])
        return found


@dataclass
class Fault:
    """What goes wrong with a request; the next ``times`` after the first ``skip`` that fit."""

    method: str
    path: str
    """a part of it"""
    status: int | None = None
    """answer this, with the request's Authorization header in the message"""
    cut: int | None = None
    """read so many bytes of the body and hang up"""
    first: Callable[[], Any] | None = None
    """call this before anything else; the request then goes its way"""
    times: int = 1
    skip: int = 0

    def fits(self, method: str, path: str) -> bool:
        if method != self.method or self.path not in path or self.times == 0:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


@dataclass
class Hub:
    """The state of a server, and the requests it received."""

    accounts: dict[str, Account] = field(default_factory=dict)
    """by token"""
    repositories: dict[tuple[str, str], Repository] = field(default_factory=dict)
    """by (kind, NAMESPACE/NAME)"""
    faults: list[Fault] = field(default_factory=list)
    requests: list[tuple[str, str]] = field(default_factory=list)
    """(method, path) of each"""
    leaked: list[str] = field(default_factory=list)
    """requests that took a token to the storage, where none belongs"""
    address: str = ""
    storage: str = ""
    """where large files are: another server, as on the Hub"""

    def account(self, authorization: str | None) -> Account | None:
        if authorization is None:
            return None
        found = self.accounts.get(authorization.removeprefix("Bearer "))
        if found is None:
            raise Refused(401, "Invalid credentials in Authorization header")
        return found

    def find(self, kind: str, name: str, account: Account | None, *, write: bool = False) -> Repository:
        """A repository that the account may see, or change."""
        found = self.repositories.get((kind, name))
        if found is None or (found.private and not (account and account.owns(name))):
            raise Refused(404 if account else 401, "Repository not found", "RepoNotFound")
        if write and account is None:
            raise Refused(401, "Invalid username or password.")
        if write and account and (account.role != "write" or not account.owns(name)):
            raise Refused(403, "Forbidden: you must have write access to this repository")
        return found

    def paths_of(self, method: str, part: str) -> list[str]:
        """The requested paths with this part and this method."""
        return [path for verb, path in self.requests if verb == method and part in path]


def is_large(path: str, size: int) -> bool:
    return path.endswith(LARGE) or size >= LARGE_BYTES
