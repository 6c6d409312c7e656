"""What the Hub or the network refused, in one line with the remedy and without addresses that are signed."""

import contextlib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from hf_vqa_mc.errors import InputError
from hf_vqa_mc.hub.shipment import Shipment

if TYPE_CHECKING:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

AGAIN = "push again, which goes on where this one was"
_QUERY = re.compile(r"\?\S+")
CONFLICT, TOO_MANY = 412, 429


@contextlib.contextmanager
def in_plain_words(shipment: Shipment, api: "HfApi") -> Iterator[None]:
    """Errors of a push: InputError for what its user can mend, ConnectionError for what time can.

    The originals are dropped: they hold the addresses of requests, and those of uploads are signed.
    """
    from huggingface_hub.errors import HfHubHTTPError, OfflineModeIsEnabled

    try:
        yield
    except InputError:
        raise
    except OfflineModeIsEnabled:
        raise InputError("HF_HUB_OFFLINE is set, and a push needs the network; unset it") from None
    except Exception as error:
        for cause in _chain(error):
            if isinstance(cause, HfHubHTTPError):
                raise _refusal(cause, shipment, api) from None
            if _is_of_the_network(cause):
                reason = _short(cause)
                raise ConnectionError(f"{api.endpoint} cannot be reached ({reason}); {AGAIN}") from None
        if isinstance(error, ValueError) and "Invalid metadata" in str(error):
            raise InputError(f"the Hub refuses the card of {shipment.name}: {_short(error)}") from None
        if isinstance(error, (RuntimeError, OSError)) and getattr(error, "errno", None) is None:  # hf_xet's
            raise ConnectionError(f"sending to {api.endpoint} failed ({_short(error)}); {AGAIN}") from None
        raise


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def _is_of_the_network(error: BaseException) -> bool:
    from huggingface_hub import errors

    transport: type[BaseException] = errors.HTTPError  # type: ignore[attr-defined]  # of httpx or httpx2, as it has it
    return isinstance(error, (transport, ConnectionError, TimeoutError))


def _refusal(error: "HfHubHTTPError", shipment: Shipment, api: "HfApi") -> Exception:
    status, said = error.response.status_code, _said(error)
    if status == CONFLICT:
        return InputError(
            f"somebody pushed to {shipment.name} meanwhile; nothing there was changed: pull and push again"
        )
    if status == TOO_MANY or status >= 500:
        return ConnectionError(f"{api.endpoint} answers {status} ({said}); wait a little and {AGAIN}")
    if status in (401, 403, 404):
        return InputError(f"{_why_not(shipment, api)} ({status}: {said})")
    return InputError(f"the Hub refuses the push to {shipment.name} ({status}: {said})")


def _why_not(shipment: Shipment, api: "HfApi") -> str:
    """What a token that was refused lacks, as far as the Hub tells."""
    from huggingface_hub.errors import HfHubHTTPError

    namespace = shipment.name.split("/")[0]
    tokens = f"{api.endpoint}/settings/tokens"
    try:
        account = api.whoami()
    except Exception as error:
        if any(isinstance(one, HfHubHTTPError) and one.response.status_code == 401 for one in _chain(error)):
            return "the Hub does not know the token: type hf auth login, or mend HF_TOKEN, which goes before it"
        return f"the token may not write to {shipment.name}; make one that may at {tokens}"
    me, orgs = str(account.get("name")), [str(org.get("name")) for org in account.get("orgs", [])]
    if namespace not in (me, *orgs):
        yours = f"organizations: {', '.join(orgs)}" if orgs else "no organizations"
        return f"{namespace} is not yours to push to: the token is {me}'s ({yours}); use another NAMESPACE or token"
    return f"{me}'s token may not write to {shipment.name}; make one that may at {tokens}"


def _said(error: "HfHubHTTPError") -> str:
    message = error.server_message or error.response.reason_phrase or "no reason given"
    return _tidy(message)


def _short(error: BaseException) -> str:
    return _tidy(str(error) or type(error).__name__)


def _tidy(message: str) -> str:
    return _QUERY.sub("?...", " ".join(message.split())).rstrip(".")[:200]
