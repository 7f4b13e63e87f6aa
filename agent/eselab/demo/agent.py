"""The agent of the demo: its folder, configuration and address, and what it says of databases."""

import html
import os
import re
import socket
import tempfile
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import msgspec

from eselab.demo.servers import DEVICE, PAIR, TOGETHER, WINDOWS, DemoWindow

DEFAULT_ADDRESS = "127.0.0.1:19703"
"""That of the agent."""
_ADDRESS = re.compile(r"(\[[^]]*\]|[^:]*):([0-9]{1,5})")
_LAST_PORT = 65535

CONFIGURATION = """\
# What the servers write: their event logs and counter logs. Nothing else is read.
sources:
  - {{name: events, type: event_stream, paths: ["*/events.jsonl", "*/*/events.jsonl"]}}
  - {{name: counters, type: perfmon_csv, paths: ["*/counters.csv", "*/*/counters.csv"]}}
windows:
{windows}
databases:
{databases}
# The databases are small: on a real server the default of min_pages_read is 100000. Only the
# database `backup` is backed up here; on a real server leave backup_within at its 36 hours.
policy: {{min_pages_read: 2000, backup_within: never}}
journal: journal.db
"""


class DemoError(Exception):
    """The demo cannot be started: says why."""


def configuration(live: float) -> str:
    """The agent's configuration file (YAML), for the folder of the demo. `live`: see servers."""
    windows = [f"  {name}: {_window(window, live)}" for name, window in WINDOWS.items()]
    rules = []
    for name in WINDOWS:
        device = f", device: {DEVICE}" if name in TOGETHER else ""
        match = f"match: '*{name}.edb', name: {name}, tier: watched, window: {name}"
        rules.append(f"  - {{{match}{device}}}")
    # A first scan may take weeks: this site wants each copy verified within two.
    rules.append(f"  - {{match: '*{PAIR}.edb', policy: {{verify_within: 14d}}}}")
    return CONFIGURATION.format(windows="\n".join(windows), databases="\n".join(rules))


def _window(window: DemoWindow, live: float) -> str:
    minutes = int(window.begin(live)) // 60
    start = f"{minutes // 60:02}:{minutes % 60:02}"
    return f'{{start: "{start}", duration: {int(window.length) // 3600}h, timezone: UTC}}'


def make_folder(wanted: str | None) -> Path:
    """The folder of the demo, empty: `wanted`, or a fresh one under the temporary folder. Raises
    DemoError when `wanted` has something in it, OSError when it cannot be made."""
    if wanted is None:
        return Path(tempfile.mkdtemp(prefix="esewatch-demo-"))
    folder = Path(wanted).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise DemoError(f"{folder} is not empty: name a new folder with --dir")
    return folder


def choose_address(given: str | None, default: str = DEFAULT_ADDRESS) -> str:
    """An address that is free: the one that was given, else `default` or another port. Raises
    DemoError when the one that was given is taken or is none."""
    found = _ADDRESS.fullmatch(given or default)
    if found is None or int(found[2]) > _LAST_PORT:
        raise DemoError(
            f"listen address {given!r} is not host:port, :port or [address]:port (port to 65535)"
        )
    host = found[1]
    try:
        return _free_address(host, int(found[2]))
    except (OSError, UnicodeError) as error:
        if given is not None:
            code = error.errno if isinstance(error, OSError) else None
            reason = os.strerror(code) if code is not None and code > 0 else error
            raise DemoError(f"cannot listen on {given}: {reason}") from None
    return _free_address(host, 0)


def _free_address(host: str, port: int) -> str:
    bare = host.strip("[]") or "0.0.0.0"
    found = socket.getaddrinfo(bare, port, type=socket.SOCK_STREAM)
    family, _, _, _, name = min(found, key=lambda info: info[0] != socket.AF_INET)
    with socket.create_server((str(name[0]), port), family=family) as probe:
        return f"{host}:{probe.getsockname()[1]}"


def local_url(address: str) -> str:
    """`http://host:port` by which this machine reaches `address`."""
    host, _, port = address.rpartition(":")
    nowhere = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "[::]": "[::1]"}
    return f"http://{nowhere.get(host, host)}:{port}"


_SECONDS = 10.0
_UNPROXIED = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""The agent is on this machine, whatever the environment says of proxies."""
_SENTENCE = re.compile(r'<p class="sentence">(.*?)</p>', re.DOTALL)

Key = tuple[str, str]
"""(computer in lower case, name of the database)."""


class ShownForecast(msgspec.Struct):
    """End of a running pass as the agent forecasts it: ISO 8601, UTC, empty: not known."""

    task: str
    p90: str = ""


class _Finding(msgspec.Struct):
    finding: str


class _Advice(msgspec.Struct):
    computer: str
    database: str
    action: str
    evidence: dict[str, float] = {}
    findings: list[_Finding] = []
    forecast: ShownForecast | None = None


class _Row(msgspec.Struct):
    computer: str
    database: str
    name: str
    model: str
    running: list[str] = []
    known_bad_pages: dict[str, int] = {}
    verified: dict[str, str] = {}
    last_checksum_completed: str = ""


class Figures(msgspec.Struct, kw_only=True):
    model: str = ""
    sentence: str = ""
    """The first one of its page."""
    action: str = ""
    ratio: float | None = None
    findings: frozenset[str] = frozenset()
    forecast: ShownForecast | None = None
    running: list[str] = []
    bad_pages: dict[str, int] = {}
    """By kind, those that stand."""
    verified: bool = False
    scanned: str = ""
    """Completion of its last scan, ISO 8601, UTC."""
    page: str = ""
    """The address of its page, without that of the agent."""


def look(url: str) -> dict[Key, Figures]:
    """The databases of the agent at `url`. Raises OSError when it does not answer, or not as the
    agent does."""
    try:
        rows = _ask(f"{url}/api/v1/databases", "databases", list[_Row])
        advice = _ask(f"{url}/api/v1/advice", "advice", list[_Advice])
        found = put_together(rows, advice)
        for each in found.values():
            text = _get(f"{url}{each.page}").decode()
            told = _SENTENCE.search(text)
            each.sentence = html.unescape(told[1]).strip() if told else ""
    except (HTTPException, LookupError, TypeError, ValueError) as error:
        raise OSError(f"{url} is not the agent: {error}") from None
    return found


def put_together(rows: list[_Row], advice: list[_Advice]) -> dict[Key, Figures]:
    """Figures of `/api/v1/databases` and `/api/v1/advice`; the sentences are on the pages."""
    advised = {(each.computer, each.database): each for each in advice}
    found = {}
    for row in rows:
        mine = advised.get((row.computer, row.database))
        where = urlencode({"computer": row.computer, "database": row.database})
        found[row.computer.lower(), row.name] = Figures(
            model=row.model,
            action=mine.action if mine else "",
            ratio=mine.evidence.get("ratio") if mine else None,
            findings=frozenset(each.finding for each in mine.findings) if mine else frozenset(),
            forecast=mine.forecast if mine else None,
            running=row.running,
            bad_pages=row.known_bad_pages,
            verified=bool(row.verified),
            scanned=row.last_checksum_completed,
            page=f"/database?{where}",
        )
    return found


def _ask(url: str, key: str, kind: Any) -> Any:
    return msgspec.convert(msgspec.json.decode(_get(url))[key], kind)


def _get(url: str) -> bytes:
    with _UNPROXIED.open(url, timeout=_SECONDS) as answer:
        body: bytes = answer.read()
    return body
