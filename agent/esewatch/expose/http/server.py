"""The HTTP server: Hypercorn in a thread of its own.

A slow, broken or hostile client costs one connection for some seconds and nothing else.
"""

import asyncio
import contextlib
import logging
import socket
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec
from hypercorn.asyncio import serve
from hypercorn.config import Config, Sockets

from esewatch import crash
from esewatch.expose.http import DEFAULT_ADDRESS
from esewatch.expose.http.connections import AHEAD, ConnectionLimits, GuardedLoop, Secure
from esewatch.model import EsewatchError
from esewatch.names import reason_of

log = logging.getLogger(__name__)


WATCH_SECONDS = 0.5
"""Interval of the checks of connections."""

_START_SECONDS = 10.0
"""The thread that serves has to listen within this time."""

THREADS = 6
"""Threads that make answers: more than pages are made at once, so that a scrape never waits."""

Application = Callable[[Any, Any, Any], Awaitable[None]]


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on the cost of a client. Times in seconds."""

    connections: int = 256
    head_seconds: float = 10.0
    """For the head of a request, from the opening of the connection or the last answer."""
    request_seconds: float = 30.0
    """For a whole request: sending the body, making the answer, reading it."""
    head_bytes: int = 16 * 1024
    """Request line and headers together."""


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


class _BoundConfig(Config):
    """Hypercorn's settings, with a socket that is already bound."""

    def __init__(self, bound: socket.socket, limits: Limits) -> None:
        super().__init__()
        self._bound = bound
        self.errorlog = None
        self.accesslog = None
        self.include_server_header = False
        self.graceful_timeout = 1.0
        self.keep_alive_timeout = limits.head_seconds
        self.h11_max_incomplete_size = limits.head_bytes
        self.h2_max_concurrent_streams = 8
        self.max_app_queue_size = 1  # what of a body waits to be read

    def create_sockets(self) -> Sockets:
        """The bound socket."""
        return Sockets([], [self._bound], [])


class HttpServer:
    """Serves `app` (ASGI 3) at `address` from `start` until `stop`.

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
        self._open = ConnectionLimits(self._limits.connections)
        self._secure = secure
        self._address = address
        self._thread: threading.Thread | None = None
        self._listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    @property
    def address(self) -> str:
        """The listening address: the port is the real one also when 0 was asked for."""
        return self._address

    @property
    def connections(self) -> int:
        """The number of open connections."""
        return len(self._open)

    def start(self) -> None:
        """Listen and serve. Raises EsewatchError when the address is not available."""
        bound = _listen(self._address)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, AHEAD)  # of each connection
        self._address = format_address(*bound.getsockname()[:2])
        self._thread = threading.Thread(target=self._run, args=(bound,), daemon=True)
        self._thread.start()
        if not self._listening.wait(_START_SECONDS):
            self.stop()
            raise EsewatchError(f"the HTTP server did not start on {self._address}")

    def is_alive(self) -> bool:
        """False when the thread that serves has ended."""
        return self._thread is not None and self._thread.is_alive()

    def stop(self) -> None:
        """Answer open requests, for at most two seconds, then release the address."""
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
        def loop_factory() -> asyncio.AbstractEventLoop:
            return GuardedLoop(
                self._open, self._listening.set, self._secure, self._limits.head_seconds
            )

        try:
            with asyncio.Runner(loop_factory=loop_factory) as runner:
                runner.run(self._serve(bound))
        except asyncio.CancelledError:
            log.debug("requests were cut off at the end")
        finally:
            bound.close()

    async def _serve(self, bound: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_quietly)
        loop.set_default_executor(ThreadPoolExecutor(THREADS))
        self._loop, self._stop = loop, asyncio.Event()
        watch = asyncio.create_task(self._watch(self._stop))
        try:
            config = _BoundConfig(bound, self._limits)
            await serve(self._marked, config, shutdown_trigger=self._stop.wait, mode="asgi")
        finally:
            watch.cancel()
            self._open.tidy(0.0)  # they would stay open where the loop ends by an error

    async def _marked(self, scope: Any, receive: Any, send: Any) -> None:
        """The application, with the beginning and end of each request noted."""
        peer = scope.get("client") or ()
        self._open.begin(peer)
        try:
            await self._app(scope, receive, send)
        except Exception as error:
            crash.if_short(error)
            raise
        finally:
            self._open.end(peer)

    async def _watch(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), WATCH_SECONDS)
            self._open.tidy(self._limits.request_seconds)
        await asyncio.sleep(1.0)
        self._open.tidy(0.0)


def _quietly(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Drop log messages that a hostile client provokes in the server: they would fill the log."""
    crash.if_short(context.get("exception"))
    log.debug("%s", context.get("message"), exc_info=context.get("exception"))
