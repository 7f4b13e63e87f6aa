"""The process of the daemon: what it is made of, its start, its signals and its end."""

import argparse
import contextlib
import logging
import os
import queue
import re
import signal
import socket
import sys
import threading
import time
from collections.abc import Sequence
from itertools import filterfalse
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from esefiles import __version__
from esefiles.base import crash
from esewatch.cli.options import load_settings
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.app import App
from esewatch.expose.http.server import (
    HttpServer,
    format_address,
    parse_address,
    systemd_sockets,
)
from esewatch.journal import Journal
from esewatch.model import EsewatchError
from esewatch.sources.registry import build_sources

if TYPE_CHECKING:
    from esewatch.expose.http.web import WebConfiguration

log = logging.getLogger("esewatch")

Request = Literal["stop", "reload"]

WAIT_SECONDS = 1.0
"""A wait has a limit: on Windows no signal ends one without."""


class SignalRequests:
    """Requests in the order in which they came. To be made in the main thread, which takes signals.

    SIGTERM and SIGINT are `stop`, SIGHUP is `reload`: one of them waits, however many came. One
    that came before, and was held by `early`, is there at once.
    """

    def __init__(self) -> None:
        # A signal may come in the middle of anything, so of `put` too.
        self._queue: queue.SimpleQueue[Request] = queue.SimpleQueue()
        self._reload_waits = False
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: self._queue.put("stop"))
        if sys.platform != "win32":
            signal.signal(signal.SIGHUP, self._reload)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGHUP})

    def _reload(self, _signal: int, _frame: FrameType | None) -> None:
        if not self._reload_waits:
            self._reload_waits = True
            self._queue.put("reload")

    def next(self) -> Request | None:
        """The next one, None when none came within a second. For the main thread."""
        try:
            request = self._queue.get(timeout=WAIT_SECONDS)
        except queue.Empty:
            return None
        if request == "reload":
            self._reload_waits = False
        return request


class Reloads:
    """Takes the configuration up, one at a time, and once more when asked meanwhile. In a thread of
    its own: a reload may wait for a source, and a request to stop must not."""

    def __init__(self, daemon: Daemon) -> None:
        self._daemon = daemon
        self._asked = threading.Event()
        threading.Thread(target=self._work, daemon=True).start()

    def ask(self) -> None:
        self._asked.set()

    def _work(self) -> None:
        while True:
            # The daemon has said why. A defect must not be the end of all reloads to come.
            with contextlib.suppress(Exception):
                self._asked.wait()
                self._asked.clear()
                self._daemon.reload()


def tell_signals_taken() -> None:
    """Tell the service manager, where it wants to know: for it the start is done.

    It takes a reload before that for a part of the start and sends nothing (systemd 252), so
    what such a reload is for must be read after it. The protocol is that of sd_notify(3): a
    datagram to the socket that NOTIFY_SOCKET names.
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if sys.platform == "win32" or not address:
        return
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.connect(f"\0{address[1:]}" if address.startswith("@") else address)
            manager.send(b"READY=1")
    except OSError as error:
        log.warning("the service manager did not learn that the start is done: %s", error)


SWITCH_SECONDS = 0.001
"""The reading thread lets a scrape through so often: an answer takes dozens of turns."""

STOP_SECONDS = 3.0
"""The process ends after this time, also when a source does not answer."""


def run_daemon(options: argparse.Namespace) -> int:
    """Run until SIGTERM or SIGINT; SIGHUP reloads the configuration."""
    sys.setswitchinterval(SWITCH_SECONDS)
    _allow_open_files()
    requests = SignalRequests()
    tell_signals_taken()  # before the configuration is read: see there
    settings = load_settings(options, runs=True)
    web = _web_configuration(options.web_config) if options.web_config else None
    journal = Journal(Path(settings.journal))
    sources = build_sources(settings)
    daemon = Daemon(
        settings, journal, sources, load=lambda: load_settings(options, runs=True), web=web
    )
    prefix = _prefix(options.route_prefix, options.external_url)
    server = HttpServer(
        App(daemon.publisher, web=web, prefix=prefix),
        *(options.listen or ()),
        secure=web.tls if web else None,
        sockets=systemd_sockets() if options.systemd_socket else (),
    )
    reader: threading.Thread | None = None
    try:
        server.start()
        url = options.external_url or f"{_external_url(server.addresses, web)}{prefix}"
        daemon.publisher.external_url = url
        _say_where(server.addresses, prefix, web)
        log.info("the journal is %s", settings.journal)
        if not options.config:
            kinds = ", ".join(dict.fromkeys(source.type for source in settings.sources))
            log.info("no configuration: watching what this machine has (%s)", kinds)
        if not settings.sources:
            log.warning("no sources are configured, so nothing is watched: see `sources:`")
        reader = threading.Thread(target=daemon.run, daemon=True)
        reader.start()
        _wait(daemon, server, requests, reader)
    except Exception as error:
        crash.if_short(error)  # at once: its end would note that it was in good order
        raise
    finally:
        crash.ending()
        end = time.monotonic() + STOP_SECONDS
        daemon.stop()
        server.stop()
        if reader is not None:
            reader.join(max(0.0, end - time.monotonic()))
        daemon.close(running=reader is not None and reader.is_alive())
    log.info("stopped")
    return 0


def _allow_open_files() -> None:
    """Raise the limit of open files to what the system allows: each source keeps up to 200 open."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - Windows has none

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with contextlib.suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _web_configuration(file: str) -> "WebConfiguration":
    """Loaded on demand, so that rare parts cost no memory elsewhere."""
    from esewatch.expose.http.web import WebConfiguration  # noqa: PLC0415

    return WebConfiguration(file)


def _scheme(web: "WebConfiguration | None") -> str:
    return "https" if web is not None and web.secure else "http"


def _prefix(given: str | None, external_url: str | None) -> str:
    """The path below which everything is served, without a slash at its end. Raises EsewatchError
    for one that a link would have to write otherwise."""
    path = urlsplit(external_url or "").path if given is None else given
    prefix = f"/{path.strip('/')}".rstrip("/")
    if not re.fullmatch(r"(/(?!\.)[\w.~-]+)*", prefix, re.ASCII):
        raise EsewatchError(
            f"--web.route-prefix {path!r} is not a path such as /esewatch (letters, digits, _~-.)"
        )
    return prefix


def _external_url(addresses: Sequence[str], web: "WebConfiguration | None") -> str:
    """The first address that others reach, or the first; with the name of the machine where it is
    everywhere."""
    host, port = parse_address(next(filterfalse(_is_local, addresses), addresses[0]))
    host = socket.gethostname() if host in {"", "0.0.0.0", "::"} else host
    return f"{_scheme(web)}://{format_address(host, port)}"


def _is_local(address: str) -> bool:
    return address.startswith(("127.", "[::1]"))


def _say_where(addresses: Sequence[str], prefix: str, web: "WebConfiguration | None") -> None:
    for address in addresses:
        place = f"{_scheme(web)}://{address}{prefix}/metrics"
        log.info("esewatch %s serves %s", __version__, place)
    if all(map(_is_local, addresses)):
        log.info("only this machine can reach it; to open it: --web.listen-address :19703")
    elif web is not None and web.asks_for_passwords and not web.secure:
        log.warning("passwords go over the network as they are: set tls_server_config")


def _wait(
    daemon: Daemon, server: HttpServer, requests: SignalRequests, reader: threading.Thread
) -> None:
    reloads = Reloads(daemon)
    while (request := requests.next()) != "stop":
        if not (reader.is_alive() and server.is_alive()):
            crash.end()  # it found no memory to say so itself
        daemon.watch()
        if request == "reload":
            reloads.ask()
