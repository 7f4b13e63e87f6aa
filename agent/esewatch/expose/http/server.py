"""The HTTP server: addresses, and the thread that serves them."""

import asyncio
import contextlib
import logging
import socket
import threading
import time
from typing import Any

from esewatch import crash
from esewatch.expose.http import DEFAULT_ADDRESS
from esewatch.expose.http.connection import (
    AHEAD,
    Application,
    Connection,
    Door,
    Limits,
    Secure,
)
from esewatch.model import EsewatchError
from esewatch.names import reason_of

log = logging.getLogger(__name__)


WATCH_SECONDS = 0.5
"""Interval of the checks of connections."""

_START_SECONDS = 10.0
"""The thread that serves has to listen within this time."""

END_SECONDS = 1.0
"""Requests that are being answered at the end may take so long."""

ACCEPTED = 16
"""Connections that are accepted before others go on: a flood of them holds up nobody."""
WAITING = 256
"""Connections that the system keeps until they are accepted."""


def parse_address(text: str) -> tuple[str, int]:
    """Host and port of `host:port`, `:port` (host "" = all interfaces) or `[::1]:port`.

    Raises EsewatchError for anything else.
    """
    host, colon, port = text.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    valid = colon and port.isascii() and port.isdigit() and int(port[:6]) <= 65535
    if not valid or (":" in host and not bracketed):
        raise EsewatchError(
            f"listen address {text!r} is not host:port, :port or [address]:port (port to 65535)"
        )
    return (host[1:-1] if bracketed else host), int(port)


def format_address(host: str, port: int) -> str:
    """`host:port`, with brackets round an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _listen(address: str) -> socket.socket:
    host, port = parse_address(address)
    try:
        if not host and socket.has_dualstack_ipv6():
            return socket.create_server(
                ("::", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=256
            )
        found = socket.getaddrinfo(host or "0.0.0.0", port, type=socket.SOCK_STREAM)
        # A name with both kinds of address means its IPv4 one, as in other servers.
        family, _, _, _, name = min(found, key=lambda info: info[0] != socket.AF_INET)
        return socket.create_server((str(name[0]), port), family=family, backlog=256)
    except (OSError, UnicodeError) as error:
        raise EsewatchError(f"cannot listen on {address}: {reason_of(error)}") from None


class HttpServer:
    """Serves `app` at `address` from `start` until `stop`.

    Both are called by the owner, not from a request. `secure` gives the TLS of each new connection,
    None for plain HTTP.
    """

    def __init__(
        self,
        app: Application,
        address: str = DEFAULT_ADDRESS,
        limits: Limits | None = None,
        secure: Secure | None = None,
    ) -> None:
        self._app = app
        self._limits = limits or Limits()
        self._secure = secure
        self._address = address
        self._thread: threading.Thread | None = None
        self._listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._door: Door | None = None

    @property
    def address(self) -> str:
        """The listening address: the port is the real one also when 0 was asked for."""
        return self._address

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._door) if self._door is not None else 0

    def start(self) -> None:
        """Listen and serve. Raises EsewatchError when the address is not available."""
        bound = _listen(self._address)
        # Those of each connection. Without Nagle's algorithm: it would hold an answer up for 40 ms.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, AHEAD)
        bound.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._address = format_address(*bound.getsockname()[:2])
        self._listening.clear()
        self._thread = threading.Thread(target=self._run, args=(bound,), daemon=True)
        self._thread.start()
        if not self._listening.wait(_START_SECONDS):
            self.stop()
            raise EsewatchError(f"the HTTP server did not start on {self._address}")

    def is_alive(self) -> bool:
        """False when the thread that serves has ended."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Answer open requests, for at most a second, then release the address."""
        thread, loop, stop = self._thread, self._loop, self._stop
        if thread is None:
            return
        if loop is not None and stop is not None:
            # The loop may have ended by itself just now.
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(stop.set)
        thread.join(4.5)
        if thread.is_alive():
            log.warning("the HTTP server on %s is still busy and is not waited for", self.address)
        self._thread = None

    def _run(self, bound: socket.socket) -> None:
        # The selector loop on every system: it takes any socket that is already bound.
        try:
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._serve(bound))
        finally:
            bound.close()

    async def _serve(self, bound: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_quietly)
        self._app.begin()
        door = Door(self._app, self._limits, self._secure)
        self._loop, self._stop, self._door = loop, asyncio.Event(), door
        server = await loop.create_server(lambda: Connection(door), sock=bound, backlog=ACCEPTED)
        bound.listen(WAITING)
        self._listening.set()
        try:
            while not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(WATCH_SECONDS):
                        await self._stop.wait()
                door.close_overdue(time.monotonic())
            server.close()
            door.close_idle()
            end = time.monotonic() + END_SECONDS
            while door.answering and time.monotonic() < end:
                await asyncio.sleep(0.02)
        finally:
            door.close_overdue(float("inf"))  # they would stay open where the loop ends by an error


def _quietly(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Drop log messages that a hostile client provokes in the server: they would fill the log."""
    crash.if_short(context.get("exception"))
    log.debug("%s", context.get("message"), exc_info=context.get("exception"))
