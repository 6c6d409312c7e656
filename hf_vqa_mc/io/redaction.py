"""Removal of access tokens from everything that is printed, logged or raised about the Hub."""

import os
import re
import sys

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
