"""The process of the daemon: what it is made of, its start and its end."""

import argparse
import logging
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from esewatch import __version__
from esewatch.cli.options import load_settings
from esewatch.cli.run.signals import Reloads, SignalRequests, tell_signals_taken
from esewatch.daemon.loop import Daemon
from esewatch.expose.http.app import App
from esewatch.expose.http.server import HttpServer
from esewatch.journal import Journal
from esewatch.sources.registry import build_sources
from esewatch.threads import Worker

if TYPE_CHECKING:
    from esewatch.expose.http.web import WebConfiguration

log = logging.getLogger("esewatch")

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
    server = HttpServer(App(daemon, web=web), options.listen, secure=web.tls if web else None)
    reader: Worker | None = None
    try:
        server.start()
        _say_where(server.address, web)
        log.info("the journal is %s", settings.journal)
        if not options.config:
            kinds = ", ".join(dict.fromkeys(source.type for source in settings.sources))
            log.info("no configuration: watching what this machine has (%s)", kinds)
        if not settings.sources:
            log.warning("no sources are configured, so nothing is watched: see `sources:`")
        reader = Worker(partial(_read, daemon, requests))
        asked = _wait(daemon, server, requests, reader)
    finally:
        end = time.monotonic() + STOP_SECONDS
        daemon.stop()
        server.stop()
        if reader is not None:
            reader.join(max(0.0, end - time.monotonic()))
        daemon.close(running=reader is not None and reader.running)
    log.info("stopped")
    return 0 if asked else 2


def _allow_open_files() -> None:
    """Raise the limit of open files to what the system allows: each source keeps up to 200 open."""
    if sys.platform != "win32":
        import resource  # noqa: PLC0415 - Windows has none

        _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        with suppress(OSError, ValueError):  # some systems allow less than they say
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _web_configuration(file: str) -> "WebConfiguration":
    """Loaded on demand, so that rare parts cost no memory elsewhere."""
    from esewatch.expose.http.web import WebConfiguration  # noqa: PLC0415

    return WebConfiguration(file)


def _say_where(address: str, web: "WebConfiguration | None") -> None:
    secure = web is not None and web.secure
    scheme = "https" if secure else "http"
    log.info("esewatch %s serves %s://%s/metrics", __version__, scheme, address)
    if address.startswith(("127.", "[::1]")):
        log.info("only this machine can reach it; to open it: --web.listen-address :19703")
    elif web is not None and web.asks_for_passwords and not secure:
        log.warning("passwords go over the network as they are: set tls_server_config")


def _read(daemon: Daemon, requests: SignalRequests) -> None:
    try:
        daemon.run()
    finally:
        requests.ended()


def _wait(daemon: Daemon, server: HttpServer, requests: SignalRequests, reader: Worker) -> bool:
    """Wait until the end is requested; False when the reading thread has ended by itself."""
    reloads = Reloads(daemon)
    # One that found no memory to say so has ended too.
    while (request := requests.next()) == "reload" or (request is None and reader.running):
        daemon.watch()
        server.watch()
        if request is not None:
            reloads.ask()
    return request == "stop"
