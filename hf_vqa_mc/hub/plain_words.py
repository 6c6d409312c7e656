"""Errors of the Hub and the network as one line with a remedy and without signed URLs."""

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import Shipment

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

AGAIN = "push again to resume"
_QUERY = re.compile(r"\?\S+")
CONFLICT, TOO_MANY = 412, 429


@contextlib.contextmanager
def in_plain_words(shipment: Shipment, api: "HfApi") -> Iterator[None]:
    """Convert errors of a push: InputError if the user can fix it, ConnectionError if a retry can.

    The original errors are dropped because they contain request URLs, and those of uploads are signed.
    """
    from huggingface_hub import errors

    transport: type[BaseException] = errors.HTTPError  # type: ignore[attr-defined]  # of httpx or httpx2, as it has it
    try:
        yield
    except InputError:
        raise
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
    return _QUERY.sub("?...", " ".join(message.split())).rstrip(".")[:200]
