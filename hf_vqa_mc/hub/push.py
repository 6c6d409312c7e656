"""Upload of a shipment to the Hub as one commit."""

import logging
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hf_vqa_mc.data.inventory import INVENTORY, read_inventory
from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.dataset_folder import outdated_files
from hf_vqa_mc.hub.shipment import Shipment, ShippedFile
from hf_vqa_mc.io.redaction import redacted
from hf_vqa_mc.version import __version__

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, HfApi
    from huggingface_hub.errors import HfHubHTTPError

AGAIN = "push again to resume"
_QUERY = re.compile(r"\?\S+")
CONFLICT, TOO_MANY = 412, 429


@dataclass(frozen=True)
class Pushed:
    """The outcome of a push."""

    url: str  # URL of the repository
    commit: str  # commit of this push; the newest one if nothing had changed
    changed: bool  # whether anything was uploaded
    private: bool
    created: bool  # whether the repository is new
    removed: tuple[str, ...]  # files of an earlier push that were removed
    pull_request: str | None = None
    """URL of the pull request, new or open already; None if the commit is on the main branch"""


def push(shipment: Shipment, *, replace: bool = False, tag: str | None = None) -> Pushed:
    """Upload everything in one commit; the repository is created if missing.

    With a ``tag``, the commit gets that name. An existing tag is never moved: it is an error before anything is sent.

    The commit's parent is the newest commit when the push began, so that a concurrent commit is detected, not
    overwritten. Large files are sent first and kept by the Hub even if the push then fails, so that the next push
    resumes. The token is that of ``HF_TOKEN`` or ``hf auth login``.

    Raises InputError without token or write access, if the repository is public and ``private`` is set, if configs
    would be removed without ``replace``, if there is a concurrent commit, or if the Hub rejects the card;
    ConnectionError if the Hub cannot be reached or fails.
    """
    from huggingface_hub import CommitOperationDelete, HfApi, get_token

    token = get_token()
    if token is None:
        raise InputError("no Hub token: run hf auth login, or set HF_TOKEN to a token with write access")
    api = HfApi(token=token, library_name="hf_vqa_mc", library_version=__version__)
    folder = "" if shipment.kind == "model" else f"{shipment.kind}s/"
    url = f"{api.endpoint}/{folder}{shipment.name}"
    with hub_errors(shipment, api), _quiet_hub():
        if shipment.pull_request:
            return _proposed(api, shipment, url)
        head, private, created = _opened(api, shipment)
        if shipment.private and not private:
            raise InputError(
                f"{shipment.name} is public, and a push cannot make it private; change that on "
                f"{url}/settings, or remove --private"
            )
        known = api.list_repo_refs(shipment.name, repo_type=shipment.kind).tags if tag and not created else []
        for one in known:
            if one.name == tag:
                raise InputError(
                    f"{shipment.name} has the tag {tag} (commit {one.target_commit[:8]}), and releases do not change; "
                    "choose another --tag"
                )
        outdated = _outdated(api, shipment, head, replace) if shipment.inventory else []
        commit = api.create_commit(
            shipment.name,
            [*_additions(shipment), *(CommitOperationDelete(path) for path in outdated)],
            commit_message=shipment.message,
            repo_type=shipment.kind,
            parent_commit=head,
        )
        if tag is not None:
            api.create_tag(shipment.name, tag=tag, revision=commit.oid, repo_type=shipment.kind)
    return Pushed(url, commit.oid, commit.oid != head, private, created, tuple(outdated))


def _proposed(api: "HfApi", shipment: Shipment, url: str) -> Pushed:
    """Propose the files in a pull request, unless the repository has them, or such a request is open already."""
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        info = api.repo_info(shipment.name, repo_type=shipment.kind)
    except RepositoryNotFoundError:
        raise InputError(f"{shipment.name}: no such {shipment.kind} on the Hub, or it is private") from None
    head = info.sha
    existing = set(api.list_repo_files(shipment.name, repo_type=shipment.kind, revision=head))
    about = url, str(head), False, bool(info.private), False, ()
    if all(file.path in existing and _is_stored(api, shipment, file, head) for file in shipment.files):
        return Pushed(*about)
    found = api.get_repo_discussions(
        shipment.name, repo_type=shipment.kind, discussion_type="pull_request", discussion_status="open"
    )
    for one in found:
        if one.title == shipment.message:
            return Pushed(*about, one.url)
    commit = api.create_commit(
        shipment.name,
        list(_additions(shipment)),
        commit_message=shipment.message,
        repo_type=shipment.kind,
        parent_commit=head,
        create_pr=True,
    )
    return Pushed(url, commit.oid, True, bool(info.private), False, (), commit.pr_url)


def _is_stored(api: "HfApi", shipment: Shipment, file: ShippedFile, head: str | None) -> bool:
    with tempfile.TemporaryDirectory() as folder:
        stored = api.hf_hub_download(
            shipment.name, file.path, repo_type=shipment.kind, revision=head, local_dir=folder
        )
        return Path(stored).read_bytes() == file.content


def _opened(api: "HfApi", shipment: Shipment) -> tuple[str | None, bool, bool]:
    """The repository's newest commit, whether it is private, and whether it is new."""
    from huggingface_hub.errors import RepositoryNotFoundError

    found = partial(api.repo_info, shipment.name, repo_type=shipment.kind)
    try:
        info = found()
        return info.sha, bool(info.private), False
    except RepositoryNotFoundError:
        api.create_repo(
            shipment.name,
            repo_type=shipment.kind,
            private=shipment.private,
            exist_ok=True,
            space_sdk=shipment.space_sdk,
        )
        info = found()
        return info.sha, bool(info.private), True


def _outdated(api: "HfApi", shipment: Shipment, head: str | None, replace: bool) -> list[str]:
    existing = set(api.list_repo_files(shipment.name, repo_type=shipment.kind, revision=head))
    if INVENTORY not in existing:
        return []
    with tempfile.TemporaryDirectory() as folder:
        api.hf_hub_download(shipment.name, INVENTORY, repo_type=shipment.kind, revision=head, local_dir=folder)
        try:
            before = read_inventory(Path(folder))
        except InputError as error:
            raise InputError(str(error).replace(folder, shipment.name)) from None
    return outdated_files(shipment, before, existing, replace=replace) if before else []


def _additions(shipment: Shipment) -> "Iterator[CommitOperationAdd]":
    from huggingface_hub import CommitOperationAdd

    for file in shipment.files:
        addition = CommitOperationAdd(file.path, file.content)
        if file.sha256 is not None:
            addition.upload_info.sha256 = bytes.fromhex(file.sha256)  # not computed again
        yield addition


@contextmanager
def _quiet_hub() -> Iterator[None]:
    """Hide huggingface_hub's warnings of retries, which contain signed URLs, and its bars except on terminals."""
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    logger = logging.getLogger("huggingface_hub")
    before, hides_bars = logger.level, not (sys.stderr.isatty() or are_progress_bars_disabled())
    logger.setLevel(logging.ERROR)
    if hides_bars:
        disable_progress_bars()
    try:
        yield
    finally:
        logger.setLevel(before)
        if hides_bars:
            enable_progress_bars()


@contextmanager
def hub_errors(shipment: Shipment, api: "HfApi") -> Iterator[None]:
    """Convert errors of a push: InputError if the user can fix it, ConnectionError if a retry can.

    The original errors are dropped because they contain request URLs, and those of uploads are signed.
    """
    from huggingface_hub import errors

    transport: type[BaseException] = errors.HTTPError  # type: ignore[attr-defined]  # of httpx or httpx2, as it has it
    try:
        yield
    except errors.OfflineModeIsEnabled:
        raise InputError("HF_HUB_OFFLINE is set, but a push needs the network; unset it") from None
    except Exception as error:
        for cause in _chain(error):
            if isinstance(cause, errors.HfHubHTTPError):
                raise _refusal(cause, shipment, api) from None
            if isinstance(cause, (transport, ConnectionError, TimeoutError)):
                reason = _short(cause)
                raise ConnectionError(f"{api.endpoint} cannot be reached ({reason}); {AGAIN}") from None
        if isinstance(error, ValueError) and "Invalid metadata" in str(error):
            raise InputError(f"the Hub rejects the card of {shipment.name}: {_short(error)}") from None
        if isinstance(error, (RuntimeError, OSError)) and getattr(error, "errno", None) is None:  # hf_xet's
            raise ConnectionError(f"sending to {api.endpoint} failed ({_short(error)}); {AGAIN}") from None
        raise


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _refusal(error: "HfHubHTTPError", shipment: Shipment, api: "HfApi") -> Exception:
    status = error.response.status_code
    message = _tidy(error.server_message or error.response.reason_phrase or "no reason given")
    if status == CONFLICT:
        return InputError(
            f"{shipment.name} was changed by another push; nothing was overwritten: download it and push again"
        )
    if status == TOO_MANY or status >= 500:
        return ConnectionError(f"{api.endpoint} responds with {status} ({message}); wait and {AGAIN}")
    if status in (401, 403, 404):
        return InputError(f"{_why_not(shipment, api)} ({status}: {message})")
    return InputError(f"the Hub rejects the push to {shipment.name} ({status}: {message})")


def _why_not(shipment: Shipment, api: "HfApi") -> str:
    """Why the token was rejected, as far as the Hub reports it."""
    from huggingface_hub.errors import HfHubHTTPError

    namespace = shipment.name.split("/")[0]
    tokens = f"{api.endpoint}/settings/tokens"
    try:
        account = api.whoami()
    except Exception as error:
        if any(isinstance(one, HfHubHTTPError) and one.response.status_code == 401 for one in _chain(error)):
            return "the Hub rejects the token: run hf auth login, or fix HF_TOKEN, which takes precedence"
        return f"the token has no write access to {shipment.name}; create one that has at {tokens}"
    me, orgs = str(account.get("name")), [str(org.get("name")) for org in account.get("orgs", [])]
    if namespace not in (me, *orgs):
        yours = f"organizations: {', '.join(orgs)}" if orgs else "no organizations"
        return f"the token of {me} ({yours}) cannot push to {namespace}; use another NAMESPACE or token"
    return f"the token of {me} has no write access to {shipment.name}; create one that has at {tokens}"


def _short(error: BaseException) -> str:
    return _tidy(str(error) or type(error).__name__)


def _tidy(message: str) -> str:
    return _QUERY.sub("?...", " ".join(redacted(message).split())).rstrip(".")[:200]
