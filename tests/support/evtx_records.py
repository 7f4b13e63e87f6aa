"""What independent readers find in an event log, in one shape for comparing."""

import html
import re
import subprocess
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import evtx
import msgspec
from Evtx.Evtx import Evtx

from esewatch.model import Batch, Coverage, Event, Unreadable
from tests.support.tools import require

START = datetime(2024, 3, 1, 2, 0, tzinfo=UTC)
DATABASE = "e:\\MDB06\\priv06.edb"
COMPLETED = ["lsass", "548", "SG06: ", DATABASE, "12", "3/1/2024", "345", "3", "4", "5"]


class Seen(NamedTuple):
    """One record as a reader tells it."""

    record_id: int
    event_id: int
    provider: str
    time: str
    strings: tuple[str, ...]


def by_evtx(path: Path) -> list[Seen]:
    """All records by the XML of the PyPI package `evtx`; unreadable ones are left out."""
    found: list[Seen] = []
    records = evtx.PyEvtxParser(str(path)).records()
    while True:
        try:
            record = next(records)
        except StopIteration:
            return found
        except RuntimeError:
            continue
        if record is not None:
            found.append(_seen(record["data"]))


def by_python_evtx(path: Path) -> list[tuple[int, int, str]]:
    """Record id, event id and provider by the PyPI package `python-evtx`.

    Not times and strings: it rounds times and moves an empty first string.
    """
    with Evtx(str(path)) as log:
        return [_seen(record.xml())[:3] for record in log.records()]


def by_libevtx(path: Path) -> list[Seen]:
    """All records by libevtx, with the id and the time of the record's frame."""
    command = [require("evtxexport"), str(path)]
    text = subprocess.run(command, capture_output=True, check=True, timeout=600).stdout.decode()
    found = []
    for block in text.split("Event number\t\t\t: ")[1:]:
        pattern = r"^String: \d+\t*: (.*?)(?=\nString: \d+\t|\n\n?\Z)"
        strings = re.findall(pattern, block, re.M | re.S)
        written = datetime.strptime(_line(block, "Written time")[:-7], "%b %d, %Y %H:%M:%S.%f")
        found.append(
            Seen(
                record_id=int(block.split("\n", 1)[0]),
                event_id=int(_line(block, "Event identifier").split("(")[1].rstrip(")")) & 0xFFFF,
                provider=_line(block, "Source name"),
                time=written.isoformat(timespec="microseconds"),
                strings=tuple(strings[: int(_line(block, "Number of strings"))]),
            )
        )
    return found


def _line(block: str, name: str) -> str:
    """The value behind `name` in the text of one record."""
    match = re.search(rf"^{name}\s*: (.*)$", block, re.M)
    assert match, f"libevtx tells no {name}"
    return match[1]


def _seen(xml: str) -> Seen:
    def first(pattern: str) -> str:
        match = re.search(pattern, xml)
        return match[1] if match else ""

    body = xml[xml.index("</System>") :]
    items = re.findall(r"<Data(?: [^>]*)?(?:/>|>(.*?)</Data>)", body, re.S)
    strings = ["" if not item.strip() else html.unescape(item) for item in items]
    return Seen(
        record_id=int(first(r"<EventRecordID>(\d+)<") or 0),
        event_id=int(first(r"<EventID[^>]*>(\d+)<") or 0),
        provider=html.unescape(first(r'<Provider Name="([^"]*)"')),
        time=first(r'SystemTime="([^"]*)"')
        .replace(" ", "T")
        .removesuffix("Z")
        .removesuffix("+00:00"),
        strings=tuple(strings),
    )


class Harvest(msgspec.Struct):
    """Everything a poll handed out."""

    events: list[Event] = []
    coverage: list[Coverage] = []
    unreadable: list[Unreadable] = []
    batches: list[Batch] = []

    @property
    def ids(self) -> list[int | None]:
        """Record ids in the order they came."""
        return [event.record_id for event in self.events]


def harvest(batches: Iterable[Batch]) -> Harvest:
    """Sort what the batches hold."""
    found = Harvest()
    for batch in batches:
        found.batches.append(batch)
        found.unreadable += batch.unreadable
        found.events += [record for record in batch.records if isinstance(record, Event)]
        found.coverage += [record for record in batch.records if isinstance(record, Coverage)]
    return found
