"""A small made-up farm: five weeks of logs of three databases and a domain controller.

- `priv06` finishes its passes early and frees little: its window can shrink.
- `priv07` never finishes in its window and frees much: its window must grow.
- `priv08` has a page that failed its checksum last night.
- `ntds.dit` defragments twice a day, as every domain controller does: no window.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from tests.support.evtx_writer import EvtxWriter

NIGHTS = 35
WINDOW = timedelta(hours=4)
SAMPLE = timedelta(minutes=5)


class Store(NamedTuple):
    """One Exchange 2007 database. Rates are pages a second while it defragments."""

    name: str
    instance: str
    passes_every: int
    read_rate: float
    freed_rate: float

    @property
    def path(self) -> str:
        return f"e:\\MDB{self.instance[2:]}\\{self.name}.edb"


STORES = (
    Store("priv06", "SG06", passes_every=2, read_rate=800.0, freed_rate=5.6),
    Store("priv07", "SG07", passes_every=12, read_rate=300.0, freed_rate=9.4),
    Store("priv08", "SG08", passes_every=4, read_rate=500.0, freed_rate=6.5),
)
BAD_PAGE = 117_234
INSTANCES = "\\\\EX01\\MSExchange Database ==> Instances"


class Entry(NamedTuple):
    """One event before it is written."""

    time: datetime
    event_id: int
    strings: Sequence[str]
    level: int = 4


def build(folder: Path, now: datetime) -> list[Path]:
    """Write the farm's logs into `folder`, the last night before `now`; returns the files."""
    folder.mkdir(parents=True, exist_ok=True)
    midnight = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    nights = [midnight - timedelta(days=back) for back in range(NIGHTS, 0, -1)]
    files = [folder / "EX01-Application.evtx", folder / "EX01-counters.csv"]
    files.append(folder / "DC01-Directory-Service.evtx")
    for path in files:
        path.unlink(missing_ok=True)
    entries = [entry for store in STORES for entry in _store_events(store, nights)]
    _write(files[0], "EX01.corp.example", "Application", "ESE", entries)
    _write_counters(files[1], nights)
    controller = "DC01.corp.example"
    _write(files[2], controller, "Directory Service", "NTDS ISAM", _controller_events(nights))
    return files


def _write(path: Path, computer: str, channel: str, provider: str, entries: list[Entry]) -> None:
    with EvtxWriter(path, computer, channel) as writer:
        for entry in sorted(entries):
            writer.write(
                entry.event_id,
                entry.strings,
                provider=provider,
                time=entry.time,
                level=entry.level,
            )


def _day(time: datetime) -> str:
    return f"{time.month}/{time.day}/{time.year}"


def _store_events(store: Store, nights: list[datetime]) -> list[Entry]:
    head = ["MSExchangeIS", "3392", f"{store.instance}: ", store.path]
    entries: list[Entry] = []
    passes, invocations, begun = 0, 0, nights[0]
    for number, night in enumerate(nights):
        start = night + timedelta(hours=1)
        invocations += 1
        place = number % store.passes_every
        if place == 0:
            begun, invocations = start, 1
            entries.append(Entry(start, 700, head))
        else:
            days = str(max(1, (start - begun).days))
            entries.append(Entry(start, 702, [*head, _day(begun), days]))
        if place == store.passes_every - 1:
            passes += 1
            seconds = int(invocations * WINDOW.total_seconds() / 2)
            freed = int(seconds * store.freed_rate)
            summary = [str(freed), _day(begun), str(seconds), str(invocations)]
            summary += [str(max(1, (start - begun).days)), str(passes), str(number + 1)]
            identifier = 701 if invocations == 1 else 703
            entries.append(Entry(start + WINDOW / 2, identifier, [*head, *summary]))
        else:
            entries.append(Entry(start + WINDOW / 2, 704, head))
        entries += _scan_events(store, head, start + WINDOW / 2, last=night == nights[-1])
    return entries


def _scan_events(store: Store, head: list[str], start: datetime, *, last: bool) -> Iterator[Entry]:
    yield Entry(start + timedelta(seconds=5), 717, head)
    bad = store.name == "priv08" and last
    if bad:
        offset = (BAD_PAGE + 1) * 8192
        place = [f"{offset} (0x{offset:016x})", "8192 (0x00002000)", "-1018 (0xfffffc06)"]
        sums = ["[00d50e7c2a1f3b44]", "[00d50e7c2a1f3b45]", f"{BAD_PAGE} (0x{BAD_PAGE:X})"]
        yield Entry(start + timedelta(minutes=9), 474, [*head, *place, *sums], level=2)
    summary = [_day(start), "1260", "1", "1", "5850768", "1" if bad else "0", "72682"]
    yield Entry(start + timedelta(minutes=21), 721, [*head, *summary])


def _controller_events(nights: list[datetime]) -> list[Entry]:
    database = "C:\\Windows\\NTDS\\ntds.dit"
    head = ["NTDS", "840,D,0", "NTDSA: ", database]
    entries: list[Entry] = []
    for number, night in enumerate(nights):
        for half in range(2):
            time = night + timedelta(hours=7.5 + 12 * half)
            summary = ["0", _day(time), "0", "1", "1", str(2 * number + half + 1)]
            entries += [Entry(time, 700, head), Entry(time, 701, [*head, *summary])]
    return entries


def _write_counters(path: Path, nights: list[datetime]) -> None:
    columns = [
        f"{INSTANCES}(Information Store/{store.instance})\\{name}/sec"
        for store in STORES
        for name in ("Online Defrag Pages Read", "Online Defrag Pages Freed")
    ]
    rows = ['"' + '","'.join(["(PDH-CSV 4.0) (Coordinated Universal Time)(0)", *columns]) + '"']
    time, end = nights[0], nights[-1] + timedelta(days=1)
    while time < end:
        since = time - nights[(time - nights[0]).days] - timedelta(hours=1)
        at_work = timedelta() < since <= WINDOW / 2
        cells = [
            f"{rate if at_work else 0.0:.6f}"
            for store in STORES
            for rate in (store.read_rate, store.freed_rate)
        ]
        rows.append('"' + '","'.join([time.strftime("%m/%d/%Y %H:%M:%S.000"), *cells]) + '"')
        time += SAMPLE
    path.write_text("\r\n".join(rows) + "\r\n", encoding="utf-8")
