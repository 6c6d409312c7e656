"""Files of Hub repositories in the local cache."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.io.redaction import redacted

FILES = (".parquet", ".pq", ".jsonl", ".jsonlines", ".ndjson", ".json", ".csv", ".tsv", ".gz", ".xz")
"""Suffixes of data files."""


def hub_folder(what: str, name: str, files: Sequence[str], expected: str, **of_hub: Any) -> Path:  # noqa: ANN401
    """Download files (patterns) of a model repository unless they are in the cache.

    ``what`` and ``expected`` describe the model and valid names, for messages. Raises InputError if there is no such
    repository, ConnectionError if the Hub cannot be reached, and the files are not in the cache.
    """
    if is_path(name):
        raise InputError(f"{what} {name}: no such folder; {expected}")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:  # errors are raised without their cause: the Hub's answer may repeat the token
        with offline_noticed_once():
            return Path(snapshot_download(name, allow_patterns=list(files), **of_hub))
    except LocalEntryNotFoundError:
        raise ConnectionError(
            f"{what} {name} is not a local folder, not in the cache, and the Hub cannot be reached; {expected}"
        ) from None
    except HFValidationError as error:
        raise InputError(f"{what} {name} is neither a local folder nor a valid Hub name; {expected}") from error
    except HfHubHTTPError as error:
        raise InputError(f"{what} {name}: {first_line(error)}; {expected}") from None


def file_name(name: str) -> str:
    """A file name for a model or dataset.

    >>> file_name("microsoft/resnet-152")
    'microsoft--resnet-152'
    """
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in name.strip("/").replace("/", "--"))
    return safe.lstrip(".") or "_"


@contextlib.contextmanager
def offline_noticed_once() -> Iterator[None]:
    """Read from the cache alone if one request does not reach the Hub: each file would be asked for for 23 seconds."""
    from huggingface_hub import constants, get_session

    modules = [constants, *([sys.modules["datasets"].config] if "datasets" in sys.modules else [])]
    before = [module.HF_HUB_OFFLINE for module in modules]
    try:
        get_session().head(constants.ENDPOINT, timeout=constants.HF_HUB_ETAG_TIMEOUT)
    except Exception:  # of the network, or as HF_HUB_OFFLINE is set
        for module in modules:
            module.HF_HUB_OFFLINE = True
    try:
        yield
    finally:
        for module, offline in zip(modules, before, strict=True):
            module.HF_HUB_OFFLINE = offline


def is_path(name: str) -> bool:
    """Whether a name is a path, also of nothing, and never asked of the Hub.

    >>> is_path("rows.csv.gz"), is_path("./rows"), is_path("a/b/c"), is_path("NAMESPACE/NAME@refs/pr/1")
    (True, True, True, False)
    """
    named = name.partition("@")[0]
    return (
        Path(name).exists() or name.startswith((".", "/", "~")) or named.count("/") > 1 or name.lower().endswith(FILES)
    )


def first_line(error: BaseException) -> str:
    """The first line of an error's message, without tokens."""
    line = (str(error) or type(error).__name__).strip().split("\n")[0].rstrip(".")
    return redacted(line).encode("utf-8", "backslashreplace").decode()  # it may quote unpaired surrogates
