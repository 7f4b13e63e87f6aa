"""Connections that hold nobody: how many may be open, and how long one may take.

Hypercorn ends a connection whose request does not arrive in time, but keeps one whose
client does not read, or changes to HTTP/2 and falls silent, lets one linger that its
client has left, and knows no upper number. All of that is held here, below the server.
"""

import asyncio
import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any

Peer = tuple[Any, ...]
"""Host and port of a client, as `scope["client"]` has them."""

LEFT_SECONDS = 0.5
"""What a client that sends no more may still wait for its request to begin."""


class Connection(asyncio.Protocol):
    """One connection: hands everything to the server's own protocol and keeps its transport."""

    def __init__(self, inner: Any, limits: "ConnectionLimits") -> None:
        self._inner = inner
        self._limits = limits
        self._transport: asyncio.BaseTransport | None = None
        self.peer: Peer = ()
        self.active = time.monotonic()
        """When it was opened, or a request last began or ended on it."""
        self.requests = 0
        """Requests that have begun and not ended."""
        self.left: float | None = None
        """When the client said that it sends no more."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take note of the connection and let the server begin."""
        self._transport = transport
        _send_at_once(transport)
        self.peer = tuple(transport.get_extra_info("peername") or ())[:2]
        self._limits.opened(self)
        self._inner.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Bytes of the client."""
        self._inner.data_received(data)

    def eof_received(self) -> bool | None:
        """The client will send no more."""
        self.left = time.monotonic()
        keep: bool | None = self._inner.eof_received()
        return keep

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self._limits.closed(self)
        self._inner.connection_lost(exc)

    def pause_writing(self) -> None:
        """More waits to be sent than the transport likes."""
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Most of it is sent."""
        self._inner.resume_writing()

    def is_abandoned(self, now: float) -> bool:
        """Whether its client sends no more and nothing is being answered."""
        return (
            self.left is not None
            and self.requests == 0
            and max(self.left, self.active) <= now - LEFT_SECONDS
        )

    def close(self) -> None:
        """End it when all is sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End it now; what was not sent is dropped."""
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.abort()


def _send_at_once(transport: asyncio.BaseTransport) -> None:
    """No waiting for more to send: an answer is several writes, and waiting costs it 40 ms.

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
        """Add one; the oldest gives way when there are too many."""
        if len(self._open) >= self._most:
            oldest = next(iter(self._open.values()))
            self.closed(oldest)
            oldest.abort()
        self._open[connection.peer] = connection

    def closed(self, connection: Connection) -> None:
        """Forget one."""
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
        """End connections on which no request began or ended for so long, and abandoned ones."""
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

    def __init__(self, limits: ConnectionLimits, listening: Callable[[], None]) -> None:
        super().__init__()
        self._limits = limits
        self._listening = listening

    async def create_server(
        self, protocol_factory: Callable[[], asyncio.BaseProtocol], *args: Any, **kwargs: Any
    ) -> asyncio.Server:
        """As asyncio's, with each connection wrapped; says when it listens."""

        def guarded() -> asyncio.BaseProtocol:
            return Connection(protocol_factory(), self._limits)

        server: asyncio.Server = await super().create_server(guarded, *args, **kwargs)
        self._listening()
        return server
