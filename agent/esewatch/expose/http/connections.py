"""Connection limits: how many may be open, and how long one may take.

Hypercorn ends a connection whose request does not arrive in time, but keeps one whose client does
not read, or changes to HTTP/2 and falls silent, keeps one that its client has left, and has no
upper limit. All of these limits are enforced here, below the server.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what few have costs the others no memory
    from esewatch.expose.http.tls import Tls

Peer = tuple[Any, ...]
"""Host and port of a client, as `scope["client"]` has them."""

Secure = Callable[[], "Tls | None"]
"""The TLS of new connections; None: plain."""

LEFT_SECONDS = 0.5
"""Seconds that a client which sends no more may wait for its request to begin."""

GOODBYE_SECONDS = 2.0
"""Seconds that a client may take to answer the end of TLS."""

UNSENT = 64 << 10
"""Bytes that wait for a client that does not read, as without TLS; asyncio's own are 512 KiB."""

AHEAD = 8 << 10
"""Bytes that are taken of a client before they are asked for: in the kernel, and again here.
asyncio's own are 256 KiB in one piece and 128 KiB more: 96 MB where all connections are taken.
"""

_NOT_IMPLEMENTED, _BAD_REQUEST = b"HTTP/1.1 501 ", b"HTTP/1.1 400 "
_SWITCHING = b"HTTP/1.1 101 "
_REFUSED = (
    b"HTTP/1.1 400 Bad Request\r\ncontent-type: text/plain; charset=utf-8\r\n"
    b"content-length: 46\r\nconnection: close\r\n\r\n"
    b"400 Bad Request: This server speaks HTTP/1.1.\n"
)


class Connection(asyncio.Protocol):
    """One connection: passes everything to the server's own protocol and keeps its transport.

    With `tls` the handshake comes first, within `handshake_seconds`; the connection is counted and
    may have to give way from its very beginning.
    """

    def __init__(
        self,
        inner: Any,
        limits: "ConnectionLimits",
        tls: "Tls | None" = None,
        handshake_seconds: float = 0.0,
    ) -> None:
        self._inner = inner
        self._limits = limits
        self._tls = tls
        self._handshake_seconds = handshake_seconds
        self._handshake: asyncio.Task[None] | None = None
        self._begun = False
        """True if the server's protocol knows of the connection."""
        self._early = bytearray()
        """Bytes received after the handshake, before the server's protocol knows of it."""
        self._transport: asyncio.BaseTransport | None = None
        self.peer: Peer = ()
        self.active = time.monotonic()
        """Time at which it was opened, or a request last began or ended on it."""
        self.requests = 0
        """Requests that have begun and not ended."""
        self.left: float | None = None
        """Time at which the client said that it sends no more."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note the connection and let the server begin."""
        self._transport = transport
        _send_at_once(transport)
        self.peer = tuple(transport.get_extra_info("peername") or ())[:2]
        self._limits.opened(self)
        if self._tls is None:
            self._begin(transport, transport)
        elif isinstance(transport, asyncio.Transport):
            self._handshake = asyncio.create_task(self._secure(transport, self._tls))

    async def _secure(self, plain: asyncio.Transport, tls: "Tls") -> None:
        """The handshake; a client that fails it or is not allowed in is disconnected."""
        transport = None
        # Asyncio's when it is lost meanwhile, and of a certificate whose names are no text.
        with contextlib.suppress(OSError, RuntimeError, ValueError):
            transport = await asyncio.get_running_loop().start_tls(
                plain,
                self,
                tls.context,
                server_side=True,
                ssl_handshake_timeout=self._handshake_seconds,
                ssl_shutdown_timeout=GOODBYE_SECONDS,
            )
        admitted = transport is not None and tls.admits(transport.get_extra_info("peercert"))
        if transport is None or not admitted or plain.is_closing():
            self._limits.closed(self)
            plain.abort()
            return
        transport.set_write_buffer_limits(UNSENT)
        transport.set_read_buffer_limits(AHEAD)  # type: ignore[attr-defined]
        self._begin(transport, plain)
        if self._early:
            self._inner.data_received(bytes(self._early))
            self._early.clear()
        if self.left is not None:
            self._inner.eof_received()

    def _begin(self, transport: asyncio.BaseTransport, plain: asyncio.BaseTransport) -> None:
        self._transport, self._begun = transport, True
        self._inner.connection_made(_Answers(transport, plain))

    def data_received(self, data: bytes) -> None:
        """Bytes of the client."""
        if self._begun:
            self._inner.data_received(data)
        else:
            self._early += data

    def eof_received(self) -> bool | None:
        """The client will send no more."""
        self.left = time.monotonic()
        keep: bool | None = self._inner.eof_received() if self._begun else None
        return keep

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone. The error is dropped: keeping it would keep all that it refers
        to.
        """
        self._limits.closed(self)
        if self._begun:
            self._inner.connection_lost(None)

    def pause_writing(self) -> None:
        """More bytes wait to be sent than the transport likes."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Most of the waiting bytes are sent."""
        self._inner.resume_writing()

    def is_abandoned(self, now: float) -> bool:
        """True if its client sends no more and nothing is being answered."""
        return (
            self.left is not None
            and self.requests == 0
            and max(self.left, self.active) <= now - LEFT_SECONDS
        )

    def close(self) -> None:
        """Close it when everything is sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close it now; unsent bytes are dropped."""
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.abort()


class _Answers:
    """A transport whose answers end with the connection and blame the client for what it sent.

    asyncio warns of each write to a client that is gone: a client could fill the log. h11 answers
    an unknown Transfer-Encoding with 501, as RFC 9112, 6.1 proposes; an alert on server errors
    would fire for any malformed request. Nothing else here says 501. Hypercorn agrees to change to
    HTTP/2 before it asks this code, which refuses that.
    """

    def __init__(self, transport: asyncio.BaseTransport, plain: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._plain = plain
        """The underlying transport: a lost connection is known here before TLS hears of it."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send an answer, or a part of one, unless nobody is there to take it."""
        if self._transport.is_closing() or self._plain.is_closing():
            return
        if data.startswith(_NOT_IMPLEMENTED):
            data = _BAD_REQUEST + data[len(_NOT_IMPLEMENTED) :]
        if data.startswith(_SWITCHING):
            self._transport.write(_REFUSED)
            self._transport.close()
            return
        self._transport.write(data)


def _send_at_once(transport: asyncio.BaseTransport) -> None:
    """Disable Nagle's algorithm: an answer is several writes, and waiting costs it 40 ms.

    asyncio does this only for sockets made with an explicit protocol number.
    """
    if (found := transport.get_extra_info("socket")) is not None:
        with contextlib.suppress(OSError):
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


class ConnectionLimits:
    """All open connections of a server, oldest first.

    At `most` connections the oldest gives way to a new one: answers take
    milliseconds, so the oldest is one that idles or stalls.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._open: dict[Peer, Connection] = {}

    def __len__(self) -> int:
        return len(self._open)

    def opened(self, connection: Connection) -> None:
        """Add a connection; the oldest gives way when there are too many."""
        if len(self._open) >= self._most:
            oldest = next(iter(self._open.values()))
            self.closed(oldest)
            oldest.abort()
        self._open[connection.peer] = connection

    def closed(self, connection: Connection) -> None:
        """Remove a connection."""
        if self._open.get(connection.peer) is connection:
            del self._open[connection.peer]

    def begin(self, peer: Peer) -> None:
        """A request of this client begins."""
        self._mark(peer, 1)

    def end(self, peer: Peer) -> None:
        """A request of this client has ended."""
        self._mark(peer, -1)

    def _mark(self, peer: Peer, change: int) -> None:
        if (connection := self._open.get(tuple(peer))) is not None:
            connection.active = time.monotonic()
            connection.requests += change

    def tidy(self, seconds: float) -> None:
        """Close connections that were idle for so long, and abandoned ones."""
        now = time.monotonic()
        for connection in list(self._open.values()):
            if connection.active <= now - seconds:
                connection.abort()
            elif connection.is_abandoned(now):
                connection.close()


class GuardedLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers keep to `limits`.

    The selector loop on every system: it takes any socket that is already bound.
    """

    def __init__(
        self,
        limits: ConnectionLimits,
        listening: Callable[[], None],
        secure: Secure | None,
        handshake_seconds: float,
    ) -> None:
        super().__init__()
        self._limits = limits
        self._listening = listening
        self._secure = secure or (lambda: None)
        self._handshake_seconds = handshake_seconds
        self._pool: ThreadPoolExecutor | None = None

    def set_default_executor(self, executor: ThreadPoolExecutor) -> None:  # type: ignore[override]
        """Take the threads for calls that wait."""
        super().set_default_executor(executor)
        self._pool = executor

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:
        """End the threads, without waiting for one that makes a page."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)

    async def create_server(
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], *args: Any, **kwargs: Any
    ) -> asyncio.Server:
        """As asyncio's, with each connection wrapped; says when it listens."""

        def guarded() -> asyncio.BaseProtocol:
            seconds = self._handshake_seconds
            inner: Any = protocol_factory()
            # Hypercorn has no setting for it. Twice as many bytes may wait in the reader.
            inner._stream_reader._limit = AHEAD // 2
            return Connection(inner, self._limits, self._secure(), seconds)

        server: asyncio.Server = await super().create_server(guarded, *args, **kwargs)
        self._listening()
        return server
