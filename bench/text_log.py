"""A text log as a log host of a mail site keeps it: many programs, some lines of ESE.

Everything comes from one seed: the same sizes give the same bytes on every machine.
"""

import random
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from tests.support.ese_text import render

SEED = 703
ESE_SHARE = 0.05
_BEGIN = datetime(2026, 1, 2)
_SECONDS_A_LINE = 7
_CHUNK_LINES = 1_000


class Store(NamedTuple):
    """One database, with the strings that all its events begin with."""

    computer: str
    provider: str
    head: tuple[str, str, str]
    path: str


def stores() -> tuple[Store, ...]:
    """The databases of the site."""
    found = [
        Store(
            computer,
            "ESE",
            ("MSExchangeIS", str(3392 + 8 * number), f"SG{group:02}: "),
            f"e:\\MDB{group:02}\\{name}{group:02}.edb",
        )
        for number, computer in enumerate(("EX01", "EX02", "EX03"))
        for group, name in ((1, "priv"), (2, "priv"), (3, "priv"), (4, "pub"))
    ]
    service, path = ("svchost", "1204", "DHCPServer: "), "C:\\Windows\\System32\\dhcp\\dhcp.mdb"
    found += [Store(computer, "ESENT", service, path) for computer in ("DC01", "DC02")]
    return tuple(found)


_Random = random.Random


def _day(rng: _Random) -> str:
    return f"{rng.randint(1, 12)}/{rng.randint(1, 28)}/2026"


def _run(rng: _Random) -> list[str]:
    """Date, seconds, invocations and days of a pass that is done."""
    seconds = str(rng.randint(600, 180_000))
    return [_day(rng), seconds, str(rng.randint(1, 14)), str(rng.randint(1, 20))]


def _place(rng: _Random) -> list[str]:
    """Offset and size of a read, with their hexadecimal forms."""
    offset = 8192 * rng.randint(2, 5_850_768)
    return [f"{offset} (0x{offset:016x})", "8192 (0x00002000)"]


def _slow(rng: _Random) -> list[str]:
    return [*_place(rng), str(rng.randint(15, 180))]


def _slow_again(rng: _Random) -> list[str]:
    return [*_slow(rng), str(rng.randint(1, 400)), str(rng.randint(60, 90_000))]


def _summary(rng: _Random) -> list[str]:
    return [*_run(rng), str(rng.randint(10**5, 10**7)), str(rng.choice((0,) * 50 + (1,))), "72682"]


def _freed(rng: _Random) -> list[str]:
    freed, passes = str(rng.randint(0, 90_000)), str(rng.randint(1, 400))
    return [freed, *_run(rng), passes, str(rng.randint(400, 900))]


def _bad(rng: _Random) -> list[str]:
    page = rng.randint(1, 200)
    place = [f"{8192 * (page + 1)} (0x{8192 * (page + 1):016x})", "8192 (0x00002000)"]
    sums = [f"[{rng.getrandbits(64):016x}]", f"[{rng.getrandbits(64):016x}]"]
    return [*place, "-1018 (0xfffffc06)", *sums, f"{page} (0x{page:X})"]


def _scanned(rng: _Random) -> list[str]:
    """737: date, seconds, pages, runtime stats, then mean free bytes and pages twice."""
    pages = rng.randint(10**5, 10**7)
    return [_day(rng), str(rng.randint(600, 180_000)), str(pages), f"{pages}, 0", "1210",
            str(pages // 2), "340", str(pages // 9)]  # fmt: skip


def _late(rng: _Random) -> list[str]:
    return [_day(rng), str(rng.randint(10**6, 10**7)), str(rng.randint(14, 90))]


_EVENTS: dict[int, tuple[int, Callable[[_Random], list[str]]]] = {
    700: (8, lambda _: []),
    701: (5, _freed),
    702: (8, lambda rng: [_day(rng), str(rng.randint(1, 20))]),
    703: (5, _freed),
    704: (7, lambda _: []),
    717: (5, lambda _: []),
    718: (1, lambda _: []),
    719: (4, lambda rng: [_day(rng), str(rng.randint(1, 20))]),
    720: (1, lambda rng: [_day(rng), str(rng.randint(1, 20))]),
    721: (5, _summary),
    722: (1, lambda rng: [*_summary(rng), "5100000", "18211", "40211", "1822", "12"]),
    733: (1, _late),
    737: (3, _scanned),
    474: (1, _bad),
    507: (4, _slow),
    508: (5, _slow),
    509: (4, _slow_again),
    510: (5, _slow_again),
}
"""Event id -> how often, and its strings behind the path."""

_BACKUP: dict[int, tuple[int, str]] = {
    210: (2, "A full backup is starting."),
    220: (3, "Starting the copy or backup of the file {path} (size {size} Mb)."),
    221: (3, "Ending the copy or backup of the file {path}."),
    223: (2, "Starting the backup of log files (range {log} - {last})."),
    224: (2, "Deleting log files {log} to {last}."),
    213: (2, "The backup procedure has been successfully completed."),
}
"""Event id -> how often, and its text behind the instance."""

_IDS = (*_EVENTS, *_BACKUP)
_WEIGHTS = [
    *(weight for weight, _ in _EVENTS.values()),
    *(weight for weight, _ in _BACKUP.values()),
]


def with_strings(store: Store, rng: _Random) -> tuple[int, list[str]]:
    """An event of the store that is logged with strings: its id, and these."""
    (event_id,) = rng.choices(list(_EVENTS), [weight for weight, _ in _EVENTS.values()])
    return event_id, [*store.head, store.path, *_EVENTS[event_id][1](rng)]


def _backup_text(event_id: int, store: Store, rng: _Random) -> str:
    first = rng.randint(0x100, 0xFFFFF)
    folder = store.path.rpartition("\\")[0]
    text = _BACKUP[event_id][1].format(
        path=store.path,
        size=rng.randint(100, 99_000),
        log=f"{folder}\\E00{first:08X}.log",
        last=f"{folder}\\E00{first + rng.randint(1, 400):08X}.log",
    )
    return f"{store.head[0]} ({store.head[1]}) {store.head[2]}{text}"


def _ese_line(time: datetime, store: Store, event_id: int, rng: _Random) -> str:
    if event_id in _BACKUP:
        text = _backup_text(event_id, store, rng)
    else:
        text = render(event_id, [*store.head, store.path, *_EVENTS[event_id][1](rng)])
    # A collector that writes one line an event puts blanks for the line ends of a message.
    flat = " ".join(text.split())
    return f"{time} {store.computer} {store.provider} {event_id} {flat}\n"


_USERS = ("anna", "b.meier", "svc-backup", "chen", "olga.p", "d.okafor", "administrator", "j.doe")
_PATHS = (
    "/owa/auth/logon.aspx", "/Microsoft-Server-ActiveSync", "/ews/exchange.asmx",
    "/rpc/rpcproxy.dll", "/autodiscover/autodiscover.xml", "/owa/?ae=Folder&t=IPF.Note",
    "/healthcheck.htm",
)  # fmt: skip
_AGENTS = (
    "Mozilla/5.0+(Windows+NT+6.0)+AppleWebKit/537.36", "Apple-iPhone/702.367", "MSRPC",
    "Microsoft+Office/12.0+(Windows+NT+5.1;+Microsoft+Outlook+12.0.4518)",
)  # fmt: skip


def _web(rng: _Random) -> str:
    return (
        f"W3SVC1 10.1.0.{rng.randint(1, 40)} POST {rng.choice(_PATHS)} cmd=Sync&DeviceId="
        f"{rng.getrandbits(48):x} 443 CORP\\{rng.choice(_USERS)} 10.9.{rng.randint(0, 99)}."
        f"{rng.randint(1, 254)} {rng.choice(_AGENTS)} {rng.choice((200, 200, 200, 304, 401, 500))}"
        f" 0 0 {rng.randint(100, 90_000)} {rng.randint(0, 9_000)}"
    )


def _mail(rng: _Random) -> str:
    sender, to = rng.choice(_USERS), rng.choice(_USERS)
    return (
        f"MSExchangeTransport SMTPRECEIVE <{rng.getrandbits(96):X}@mail.corp.example> from="
        f"{sender}@corp.example to={to}@partner.example size={rng.randint(900, 9_000_000)} "
        f"relay=10.1.0.{rng.randint(1, 40)}:25 delay={rng.randint(0, 99)} status=sent "
        "(250 2.6.0 Ok)"
    )


def _sshd(rng: _Random) -> str:
    return (
        f"sshd[{rng.randint(200, 60_000)}]: Accepted publickey for {rng.choice(_USERS)} from "
        f"10.9.{rng.randint(0, 99)}.{rng.randint(1, 254)} port {rng.randint(1024, 65_535)} ssh2"
    )


def _java(rng: _Random) -> str:
    return (
        f"INFO [http-nio-8080-exec-{rng.randint(1, 200)}] com.example.billing.InvoiceService - "
        f"Invoice {rng.randint(10**6, 10**7)} PRESENTED to {rng.choice(_USERS)} in "
        f"{rng.randint(1, 900)} ms, {rng.randint(1, 60)} positions, correlation "
        f"{rng.getrandbits(128):032x}"
    )


def _services(rng: _Random) -> str:
    return (
        f"Service Control Manager 7036 The {rng.choice(('WinHTTP', 'VSS', 'Search', 'Spooler'))} "
        f"service (process {rng.randint(200, 9_000)}) entered the running state."
    )


def _json(rng: _Random) -> str:
    return (
        f'api {{"level":"info","msg":"request done","route":"{rng.choice(_PATHS)}","status":200,'
        f'"ms":{rng.randint(1, 900)},"user":"{rng.choice(_USERS)}","trace":"'
        f'{rng.getrandbits(128):032x}"}}'
    )


def _kernel(rng: _Random) -> str:
    return (
        f"kernel: [{rng.randint(10**3, 10**7)}.{rng.randint(0, 999_999):06}] TCP: request_sock_TCP:"
        f" Possible SYN flooding on port {rng.randint(1, 65_535)}. RESET sent, {rng.randint(1, 99)}"
        " requests DEFERRED"
    )


def _firewall(rng: _Random) -> str:
    return (
        f"fw01 ACCEPT IN=eth0 OUT=eth1 SRC=10.9.{rng.randint(0, 99)}.{rng.randint(1, 254)} "
        f"DST=10.1.0.{rng.randint(1, 40)} LEN={rng.randint(40, 1500)} TTL=127 ID="
        f"{rng.randint(1, 65_535)} PROTO=TCP SPT={rng.randint(1024, 65_535)} DPT=443 WINDOW=64240 "
        f"RES=0x00 SYN URGP=0 rule={rng.randint(1, 400)}"
    )


_OTHERS = (
    _web,
    _web,
    _web,
    _mail,
    _mail,
    _sshd,
    _java,
    _java,
    _services,
    _json,
    _kernel,
    _firewall,
)
_HOSTS = ("EX01", "EX02", "EX03", "DC01", "web03", "app17", "gw-2.corp.example")


def _lines(rng: _Random, ese_share: float) -> Iterator[str]:
    """Lines without end, each a few seconds younger than the one before."""
    known, time = stores(), _BEGIN
    while True:
        time += timedelta(seconds=rng.randrange(2 * _SECONDS_A_LINE))
        if rng.random() < ese_share:
            event_id = rng.choices(_IDS, _WEIGHTS)[0]
            yield _ese_line(time, rng.choice(known), event_id, rng)
        else:
            yield f"{time} {rng.choice(_HOSTS)} {rng.choice(_OTHERS)(rng)}\n"


def write(path: Path, size: int, ese_share: float) -> int:
    """Write a log of at least `size` bytes to `path`; returns how many lines it has."""
    lines = _lines(random.Random(SEED), ese_share)
    written = count = 0
    with path.open("wb") as file:
        while written < size:
            block = "".join(islice(lines, _CHUNK_LINES))
            written += file.write(block.encode())
            count += block.count("\n")
    return count
