"""The HTTP server: addresses, and the thread that serves them."""

import asyncio
import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Sequence
from typing import Any

from esefiles.base import crash
from esefiles.base.names import reason_of
from esewatch.expose.http import DEFAULT_ADDRESS
from esewatch.expose.http.connection import AHEAD, Application, Connection, Door, Limits, Secure
from esewatch.model import EsewatchError

log = logging.getLogger(__name__)


WATCH_SECONDS = 0.5
"""Interval of the checks of connections."""

_START_SECONDS = 10.0
"""The thread that serves has to listen within this time."""

END_SECONDS = 1.0
"""Requests that are being answered at the end may take so long."""

ACCEPTED = 16
"""Connections that are accepted before others go on: a flood of them holds up nobody."""
PAUSE_SECONDS = 1.0
"""No connection is accepted for so long, after the system had no descriptor or memory for one."""
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


def systemd_sockets() -> list[socket.socket]:
    """The sockets that systemd listens on for this process (sd_listen_fds(3)), which are taken from
    the environment. Raises EsewatchError where there are none, or others than of TCP."""
    passed, meant = (os.environ.pop(name, "") for name in ("LISTEN_FDS", "LISTEN_PID"))
    os.environ.pop("LISTEN_FDNAMES", None)
    count = int(passed) if passed.isascii() and passed.isdecimal() else 0
    if meant != str(os.getpid()) or not count:
        raise EsewatchError("--web.systemd-socket: systemd passed no socket: see systemd.socket(5)")
    found = [socket.socket(fileno=number) for number in range(3, 3 + count)]
    for each in found:
        each.set_inheritable(False)
        if each.family not in (socket.AF_INET, socket.AF_INET6) or each.type != socket.SOCK_STREAM:
            raise EsewatchError("--web.systemd-socket: a socket is not ListenStream= of an address")
    return found


class HttpServer:
    """Serves `app` at `addresses`, or at `sockets` that listen, from `start` until `stop`.

    Both are called by the owner, not from a request. `secure` gives the TLS of each new connection,
    None for plain HTTP.
    """

    def __init__(
        self,
        app: Application,
        *addresses: str,
        limits: Limits | None = None,
        secure: Secure | None = None,
        sockets: Sequence[socket.socket] = (),
    ) -> None:
        self._app = app
        self._limits = limits or Limits()
        self._secure = secure
        self._addresses = list(addresses or [DEFAULT_ADDRESS])
        self._sockets = sockets
        self._thread: threading.Thread | None = None
        self._listening = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._door: Door | None = None

    @property
    def addresses(self) -> list[str]:
        """The listening addresses: the port is the real one also when 0 was asked for."""
        return self._addresses

    @property
    def address(self) -> str:
        return self._addresses[0]

    @property
    def connections(self) -> int:
        return len(self._door) if self._door is not None else 0

    def start(self) -> None:
        """Listen and serve. Raises EsewatchError when an address is not available."""
        bound = list(self._sockets)
        try:
            while len(bound) < len(self._sockets or self._addresses):
                bound.append(_listen(self._addresses[len(bound)]))
        except EsewatchError:
            for each in bound:
                each.close()
            raise
        for each in bound:
            # Those of each connection. Nagle's algorithm would hold an answer up for 40 ms.
            each.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, AHEAD)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._addresses = [format_address(*each.getsockname()[:2]) for each in bound]
        self._listening.clear()
        self._thread = threading.Thread(target=self._run, args=(bound,), daemon=True)
        self._thread.start()
        if not self._listening.wait(_START_SECONDS):
            self.stop()
            raise EsewatchError(f"the HTTP server did not start on {self.address}")

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

    def _run(self, bound: list[socket.socket]) -> None:
        # The selector loop on every system: it takes any socket that is already bound.
        try:
            with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
                runner.run(self._serve(bound))
        finally:
            for each in bound:
                each.close()

    async def _serve(self, bound: list[socket.socket]) -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_quietly)
        self._app.begin()
        door = Door(self._app, self._limits, self._secure)
        self._loop, self._stop, self._door = loop, asyncio.Event(), door
        for each in bound:
            each.setblocking(False)
            each.listen(WAITING)
            _accepting(loop, door, each)
        self._listening.set()
        try:
            while not self._stop.is_set():
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(WATCH_SECONDS):
                        await self._stop.wait()
                door.close_overdue(time.monotonic())
            door.close_idle()
            for each in bound:
                loop.remove_reader(each)
            end = time.monotonic() + END_SECONDS
            while door.answering and time.monotonic() < end:
                await asyncio.sleep(0.02)
        finally:
            door.close_overdue(float("inf"))  # they would stay open where the loop ends by an error


def _accepting(loop: asyncio.AbstractEventLoop, door: Door, listening: socket.socket) -> None:
    """Accept connections, unless there is an end. In the place of asyncio's server: where accept
    fails, that one tries it ACCEPTED times more and makes a timer each time (Python 3.11)."""

    def accept() -> None:
        for _ in range(ACCEPTED):
            try:
                client, _address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.debug("no connection is accepted for a moment: %s", error)
                loop.remove_reader(listening)
                loop.call_later(PAUSE_SECONDS, _accepting, loop, door, listening)
                return
            client.setblocking(False)
            made = loop.connect_accepted_socket(lambda: Connection(door), client)
            loop.create_task(made)

    if not door.closing:
        loop.add_reader(listening, accept)


def _quietly(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Drop log messages that a hostile client provokes in the server: they would fill the log."""
    crash.if_short(context.get("exception"))
    log.debug("%s", context.get("message"), exc_info=context.get("exception"))
