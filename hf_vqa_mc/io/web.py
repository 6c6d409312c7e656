"""Fetching of files at addresses that others name: http and https, public hosts, with limits of size and time."""

import http.client
import ipaddress
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from functools import partial
from typing import IO, Any
from urllib.parse import urlsplit

from hf_vqa_mc.version import __version__

MOST_BYTES = 50_000_000
"""Larger answers are refused."""
TIMEOUT = 30.0
"""Seconds without data after which a request fails."""
LONGEST = 120.0
"""Seconds after which a request, with its redirections, fails even if it makes progress."""
AT_ONCE = 8
"""Maximum number of simultaneous requests."""
TRIES = 5
"""Consecutive failed requests to a host, after which it is not asked any more."""

_failed: Counter[str] = Counter()
_slots = threading.BoundedSemaphore(AT_ONCE)
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # NAT64 (RFC 6052): an IPv4 address, possibly a private one


class _PrivateHost(OSError):
    """A host that is not public."""


def is_web_address(name: str) -> bool:
    """Whether a name is an http or https address."""
    return name[:8].lower().startswith(("http://", "https://"))


def fetch(address: str, *, given_by_user: bool = False) -> bytes:
    """The content at an http or https address.

    The host, and that of each redirection, must be public: its address is checked when it is connected to, so a name
    that resolves differently the next time gains nothing. Proxies and credentials are not used.

    Args:
        address: may come from anyone.
        given_by_user: whether the user gave the address; then its own host may be private, such as localhost.

    Raises:
        ConnectionError: it cannot be fetched, its host is not public, or it is too large or too slow.
    """
    host = ""
    try:
        host = urlsplit(address).hostname or ""
        if _failed[host] >= TRIES and not given_by_user:
            raise OSError(f"{TRIES} requests to {host} in a row failed; it is not asked any more")
        request = urllib.request.Request(address, headers={"User-Agent": f"hf_vqa_mc/{__version__}"})
        with _slots, _opener(host if given_by_user else None, time.monotonic() + LONGEST).open(request) as answer:
            content = _limited(answer)
        _failed[host] = 0
        return content
    except urllib.error.HTTPError as error:
        error.close()
        raise ConnectionError(str(error)) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        if not given_by_user and not isinstance(reason, _PrivateHost):
            _failed[host] += 1
        raise ConnectionError(str(reason)) from error


def _limited(answer: Any) -> bytes:  # noqa: ANN401  urllib's response
    """The body of an answer within `MOST_BYTES`."""
    parts, size = [], 0
    while part := answer.read1(1 << 20):
        parts.append(part)
        size += len(part)
        if size > MOST_BYTES:
            raise OSError(f"larger than {MOST_BYTES:,} bytes")
    if answer.length:
        raise OSError(f"it broke off {answer.length:,} bytes before the end")
    return b"".join(parts)


def _seconds_left(end: float) -> float:
    """Seconds without data after which a request fails that must be complete at ``end``."""
    left = end - time.monotonic()
    if left <= 0:
        raise OSError(f"not complete after {LONGEST:.0f} seconds")
    return min(TIMEOUT, left)


def _opener(private: str | None, end: float) -> urllib.request.OpenerDirector:
    """Opens http and https only, also after redirections, until ``end``; not ftp, file or data."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        _Web(private, end),
        _Redirections(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


class _Socket(socket.socket):
    """A socket that receives until ``end``."""

    end: float

    def recv_into(self, *arguments: Any) -> int:  # noqa: ANN401
        self.settimeout(_seconds_left(self.end))
        return super().recv_into(*arguments)


class _SecureSocket(ssl.SSLSocket):
    """As `_Socket`, with TLS."""

    end: float

    def recv_into(self, *arguments: Any) -> int:  # noqa: ANN401
        self.settimeout(_seconds_left(self.end))
        return super().recv_into(*arguments)


class _Connection(http.client.HTTPConnection):
    """A connection to a public host, or to the host ``private``, until ``end``."""

    def __init__(self, host: str, *, private: str | None, end: float, **options: Any) -> None:  # noqa: ANN401
        super().__init__(host, **options)
        self._private, self._end = private, end

    def connect(self) -> None:
        self.sock = _connected(self.host, self.port, self._end, private=self.host.lower() == self._private)


class _SecureConnection(_Connection):
    default_port = http.client.HTTPS_PORT

    def connect(self) -> None:
        super().connect()
        context = ssl.create_default_context()
        context.sslsocket_class = _SecureSocket
        secure: Any = context.wrap_socket(self.sock, server_hostname=self.host)
        secure.end = self._end
        self.sock = secure


class _Redirections(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: urllib.request.Request, fp: IO[bytes], *others: Any) -> Any:  # noqa: ANN401
        fp.close()  # its body is not read, which could be endless
        return super().redirect_request(req, fp, *others)


class _Web(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def __init__(self, private: str | None, end: float) -> None:
        super().__init__()
        self._given: dict[str, Any] = {"private": private, "end": end}

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_Connection, **self._given), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(partial(_SecureConnection, **self._given), req)


def _connected(host: str, port: int, end: float, private: bool) -> socket.socket:
    """A connection to the first address of a host that answers; raises OSError if one of them is not public."""
    failed: OSError | None = None
    for family, kind, protocol, _, address in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
        if not private and not is_public(str(address[0])):
            raise _PrivateHost(f"{host} ({address[0]}) is not a public host")
        connection = _Socket(family, kind, protocol)
        connection.end = end
        try:
            connection.settimeout(_seconds_left(end))
            connection.connect(address)
            return connection
        except OSError as error:
            connection.close()
            failed = error
    raise failed or OSError(f"{host} has no address")


def is_public(address: str) -> bool:
    """Whether an IP address is public: not private, loopback, link-local, reserved or multicast.

    >>> is_public("93.184.216.34"), is_public("169.254.169.254"), is_public("::ffff:127.0.0.1")
    (True, False, False)
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(found, ipaddress.IPv6Address):
        if found in _TRANSLATED or found.teredo:
            return False
        found = found.ipv4_mapped or found.sixtofour or found
    return found.is_global and not found.is_multicast
