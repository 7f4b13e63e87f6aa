"""HTTP requests, their responses and their refusal, and the threads that make answers."""

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar
from urllib.parse import parse_qs

import msgspec

MAX_FIELDS = 20

_NOT_LOCAL = frozenset({"origin", "forwarded", "via", "x-real-ip", "sec-fetch-site"})
_FORWARDED = "x-forwarded-"

MAX_BODY = 64 * 1024
"""Five times an `ack` of the 1,000 bad pages that are kept of a database."""
TOO_LARGE = "The request's body is larger than 64 KiB."

DROPPED = 1 << 20
"""Bytes of a refused body that are discarded, so that its sender can read the reason. A connection
that is closed while bytes of its client wait is reset, answer included."""

JOURNAL_HEADER = "x-esewatch-journal"
"""Device and number of the journal that a command wants to be changed."""

TEXT = "text/plain; charset=utf-8"
JSON = "application/json"


def journal_number(identity: tuple[int, int]) -> str:
    return "{}:{}".format(*identity)


class Request(msgspec.Struct, frozen=True, kw_only=True):
    """A request; its body is read when everything else is valid. Header names are lower case."""

    method: str
    path: str
    query: bytes
    """The query string, as received."""
    headers: dict[str, str]
    client: str
    body: bytes = b""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    body: bytes
    status: int = 200
    content_type: str = TEXT
    headers: dict[str, str] = {}


class RefusedError(Exception):
    """A request that is refused: status and one sentence."""

    def __init__(self, status: int, sentence: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers or {}


def asked(request: Request) -> dict[str, str]:
    """The fields of the query, the last of each name. Raises RefusedError where there are more than
    any page asks for."""
    text = request.query.decode("latin-1")
    try:
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise RefusedError(400, "The address has too many parameters.") from None
    return {name: values[-1] for name, values in fields.items()}


def must_be(request: Request, *methods: str) -> None:
    if request.method not in methods:
        allowed = ", ".join(methods)
        raise RefusedError(405, f"Only {allowed} is allowed here.", {"allow": allowed})


def must_be_local(request: Request) -> None:
    """Refuse requests of a web page in a browser, a proxy or another machine.

    A page may post to loopback, also under a name of its own that resolves to it; but a browser
    then adds Origin and Sec-Fetch-Site, and asks first before it sends a header such as X-Esewatch.
    Proxies add one header or another, or pass on the name that they were asked by.
    """
    if not _is_loopback(request.client):
        raise RefusedError(403, "This is allowed only from the machine that runs esewatch.")
    strange = any(name in _NOT_LOCAL or name.startswith(_FORWARDED) for name in request.headers)
    if strange or not _is_this_machine(request.headers.get("host", "localhost")):
        raise RefusedError(403, "This is not allowed from a web page or through a proxy.")


def must_be_json(request: Request) -> None:
    """Refuse requests that a browser sends without asking first; see `must_be_local`."""
    if request.headers.get("x-esewatch") != "1":
        raise RefusedError(403, "The header X-Esewatch: 1 is missing.")
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise RefusedError(415, f"The content type must be {JSON}.")
    if "content-encoding" in request.headers:
        raise RefusedError(415, "The body must not be compressed.")


def _is_this_machine(host: str) -> bool:
    """True if a Host header names this machine, as who asks from it does."""
    name = host.strip().lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    name = name.rstrip(".")
    return name in {"localhost", socket.gethostname().lower()} or _is_loopback(name)


def network_of(client: str) -> str:
    """The address by which clients are counted; of IPv6 the 64 bits of its network, since somebody
    with one address there has all of them."""
    address = _address(client)
    return address.packed[:8].hex() if address is not None and address.version == 6 else client


def _is_loopback(client: str) -> bool:
    address = _address(client)
    return address is not None and address.is_loopback


def _address(client: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return None
    return getattr(address, "ipv4_mapped", None) or address


T = TypeVar("T")


def in_a_thread(work: Callable[[], T]) -> "asyncio.Future[T]":
    """The result of `work`, of a thread of its own. No end of the process waits for it, as it would
    for those of an executor: bcrypt may take seconds, a page as long as a source."""
    made: Future[T] = Future()
    made.set_running_or_notify_cancel()

    def run() -> None:
        try:
            made.set_result(work())
        except BaseException as error:
            made.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return asyncio.wrap_future(made)
