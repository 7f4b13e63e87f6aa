"""One GET of an exporter, with limits on time and size.

The whole exchange has one time limit, so that a server which sends a byte now and then cannot block
it. Proxies of the environment are not used. Redirects are followed on the same server.
"""

import base64
import gzip
import http.client
import io
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple
from urllib.parse import SplitResult, urljoin, urlsplit

from esewatch.config.tree import masked
from esewatch.model import SourceError

MAX_BYTES = 64 * 2**20
"""Size of an answer, unpacked."""
MAX_REDIRECTS = 3
MAX_PASSWORD = 4096
_CHUNK = 2**16
_ACCEPT = "text/plain;version=0.0.4,application/openmetrics-text;version=1.0.0;q=0.5"


class Page(NamedTuple):
    data: bytes
    openmetrics: bool


class Target(NamedTuple):
    """The target of a scrape, and its options. `url` is http or https."""

    url: str
    timeout: float
    """Seconds for the whole exchange."""
    username: str = ""
    password_file: str = ""
    ca_file: str = ""
    """Certificates to trust in the place of the system's."""

    @property
    def shown(self) -> str:
        """The address for messages, without secrets that its query may hold."""
        return masked(self.url)


def scrape(target: Target) -> Page:
    """Get the metrics of `target`. Raises SourceError with the address and the reason."""
    exchange = _Exchange(time.monotonic() + target.timeout)
    answered = threading.Event()
    watch = threading.Thread(target=_watch, args=(exchange, answered, target.timeout), daemon=True)
    watch.start()
    try:
        page = _follow(target, exchange)
        if exchange.aborted:
            # An answer without a length looks whole where it was cut.
            raise TimeoutError
        return page
    except (SourceError, OSError, http.client.HTTPException, ValueError, zlib.error) as error:
        if exchange.aborted or isinstance(error, TimeoutError):
            reason = f"no complete answer within {target.timeout:g} s"
        elif isinstance(error, SourceError):
            raise
        else:
            reason = _reason(error)
        raise SourceError(f"{target.shown}: {reason}") from error
    finally:
        answered.set()
        exchange.close()


def _watch(exchange: "_Exchange", answered: threading.Event, seconds: float) -> None:
    if not answered.wait(seconds):
        exchange.abort()


def _reason(error: Exception) -> str:
    if isinstance(error, http.client.IncompleteRead):
        return "the answer was cut short"
    if isinstance(error, http.client.RemoteDisconnected):
        return "the server closed the connection without an answer"
    if isinstance(error, zlib.error):
        return "the compressed answer is damaged"
    if isinstance(error, http.client.InvalidURL):
        return "the server redirects to an invalid address"
    text = str(getattr(error, "strerror", "") or error).splitlines() or [""]
    return text[0][:200] or type(error).__name__


def _follow(target: Target, exchange: "_Exchange") -> Page:
    url = target.url
    for _ in range(MAX_REDIRECTS + 1):
        answer = exchange.get(url, target)
        if answer.status not in {301, 302, 303, 307, 308}:
            break
        goal = urljoin(url, answer.getheader("Location", ""))
        if _server(urlsplit(goal)) != _server(urlsplit(url)):
            raise SourceError(
                f"{target.shown}: redirects to another server, {masked(goal)[:200]!r}"
            )
        url = goal
        exchange.close()
    if answer.status != 200:
        hint = ", check basic_auth" if answer.status in {401, 403} else ""
        raise SourceError(f"{target.shown}: answered {answer.status} {answer.reason[:80]}{hint}")
    data = _body(target, answer)
    kind = answer.getheader("Content-Type", "").split(";", 1)[0].strip().lower()
    return Page(data, kind == "application/openmetrics-text")


def _server(parts: SplitResult) -> tuple[str, str | None, int | None]:
    return parts.scheme, parts.hostname, parts.port


def _body(target: Target, answer: http.client.HTTPResponse) -> bytes:
    """The whole body, unpacked; never more than MAX_BYTES of it in memory."""
    encoding = answer.getheader("Content-Encoding", "identity").strip().lower()
    if encoding not in {"gzip", "identity", ""}:
        raise SourceError(f"{target.shown}: answered in the encoding {encoding[:40]!r}")
    stream = gzip.GzipFile(fileobj=answer) if encoding == "gzip" else answer
    body = io.BytesIO()  # its value is not copied, as parts that are joined would be
    while body.tell() <= MAX_BYTES:
        try:
            part = stream.read(_CHUNK)
        except EOFError:
            raise SourceError(f"{target.shown}: the compressed answer was cut short") from None
        if not part:
            if answer.length:
                raise SourceError(f"{target.shown}: the answer was cut short")
            return body.getvalue()
        body.write(part)
    raise SourceError(f"{target.shown}: the answer has more than {MAX_BYTES // 2**20} MiB")


class _Exchange:
    """The connection in use; `abort` ends it from another thread."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self._socket: socket.socket | None = None
        self._answer: http.client.HTTPResponse | None = None
        self.aborted = False

    def get(self, url: str, target: Target) -> http.client.HTTPResponse:
        """The answer to one request, its body not yet read."""
        parts = urlsplit(url)
        host = parts.hostname or ""
        secure = parts.scheme == "https"
        context = ssl.create_default_context(cafile=target.ca_file or None) if secure else None
        plain = self._open(
            lambda left: socket.create_connection(
                (host, parts.port or (443 if secure else 80)), left
            )
        )
        if context is not None:
            self._open(
                lambda _: context.wrap_socket(
                    plain, server_hostname=host, do_handshake_on_connect=False
                )
            )
            assert isinstance(self._socket, ssl.SSLSocket)
            self._socket.do_handshake()
        connection = http.client.HTTPConnection(host, parts.port)
        connection.sock = self._socket
        path = f"{parts.path or '/'}{'?' if parts.query else ''}{parts.query}"
        connection.request("GET", path, headers=_headers(parts, target))
        self._answer = connection.getresponse()
        return self._answer

    def _open(self, make: Callable[[float], socket.socket]) -> socket.socket:
        left = self._deadline - time.monotonic()
        if self.aborted or left <= 0:
            raise TimeoutError
        self._socket = make(left)
        if self.aborted:
            raise TimeoutError
        return self._socket

    def abort(self) -> None:
        """The time is over: wake the thread that waits for the server."""
        self.aborted = True
        if self._socket is not None:
            try:
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:
                return

    def close(self) -> None:
        if self._answer is not None:
            self._answer.close()
        if self._socket is not None:
            self._socket.close()


def _headers(parts: SplitResult, target: Target) -> dict[str, str]:
    host = parts.netloc
    headers = {
        "Host": host,
        "Accept": _ACCEPT,
        "Accept-Encoding": "gzip",
        "Connection": "close",
        "User-Agent": "esewatch",
    }
    if target.username:
        login = f"{target.username}:{_password(target)}".encode()
        headers["Authorization"] = f"Basic {base64.b64encode(login).decode()}"
    return headers


def _password(target: Target) -> str:
    """First line of the password file, read again each time: it may be changed."""
    try:
        with Path(target.password_file).open(encoding="utf-8") as file:
            return file.readline(MAX_PASSWORD).rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "is not text"
        raise SourceError(f"{target.password_file}: password cannot be read: {reason}") from error
