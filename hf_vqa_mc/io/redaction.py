"""Removal of access tokens from messages about the Hub, and of the user's folders from files that may be published."""

import os
import re
import sys
from pathlib import PurePath
from typing import Any

HIDDEN = "[token]"
_TOKENS = re.compile(
    r"\bhf_(?:[a-z]+_)?[A-Za-z0-9]{16,}"  # access, OAuth and JWT tokens of the Hub
    r"|(?<=bearer )[\w.~+/=-]{8,}"
    r"|(?<=authorization: )(?!bearer )(?:\w+ )?[^\s'\",]+"
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)",  # user and password in an address
    re.IGNORECASE,
)


def redacted(text: str) -> str:
    """Text without access tokens: those of the Hub, of Authorization headers and addresses, and the one in use.

    >>> redacted("401 for https://ada:secret@hub.example, Authorization: Bearer abcdefgh12345678")
    '401 for https://[token]@hub.example, Authorization: Bearer [token]'
    """
    for token in _in_use():
        text = text.replace(token, HIDDEN)
    return _TOKENS.sub(HIDDEN, text)


def _in_use() -> set[str]:
    """The tokens of HF_TOKEN and, once the Hub's library is imported, of ``hf auth login``."""
    found = {os.environ.get(name, "").strip() for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")}
    if hub := sys.modules.get("huggingface_hub"):
        found.add(hub.get_token() or "")
    return {token for token in found if len(token) >= 8}


def public_name(path: str) -> str:
    """The name of a dataset or file in published files: of a path outside the current folder the last part.

    >>> public_name("/home/me/vqa_mc"), public_name("../data/x.csv"), public_name("NAMESPACE/vqa_mc")
    ('vqa_mc', 'x.csv', 'NAMESPACE/vqa_mc')
    """
    pure = PurePath(path)
    return pure.name if pure.name and (pure.is_absolute() or pure.parts[0] in ("..", "~")) else path


def without_folders(value: Any, *paths: str) -> Any:  # noqa: ANN401  any json value
    """A JSON value whose texts have the `public_name` of each path instead of the path.

    >>> without_folders({"split": ["/home/me/x.csv, row 1"]}, "/home/me/x.csv")
    {'split': ['x.csv, row 1']}
    """
    if isinstance(value, str):
        for path in paths:
            value = value.replace(path, public_name(path)) if path else value
        return value
    if isinstance(value, dict):
        return {key: without_folders(one, *paths) for key, one in value.items()}
    return [without_folders(one, *paths) for one in value] if isinstance(value, list) else value
