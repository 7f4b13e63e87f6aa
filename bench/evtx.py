"""Reading event logs: the EVTX source beside a bare loop over the package `evtx`.

The logs are like the Application log of a mail server: 15 kinds of records of other
providers, classic and manifest-based, and the events of online maintenance in between.
The bare loop renders every record and counts them; ours finds the ESE events and decodes
them, and accounts for all records.
"""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, NamedTuple

import evtx

from bench.figure import Figure, paired
from esewatch.model import Coverage, Event
from esewatch.sources.evtx.evtx_source import EvtxSource
from tests.support.evtx_writer import EvtxWriter, Layout

_RECORDS: Final = 30_000
_ROUNDS: Final = 15
_START: Final = datetime(2024, 3, 1, tzinfo=UTC)
_DATABASE: Final = "e:\\MDB06\\priv06.edb"
_SKU: Final = "55c92734-d682-4d71-983e-d6ec3f16059f"
_AGENT: Final = "C:\\Program Files\\Agent\\agent.exe"


class _Kind(NamedTuple):
    """One kind of record; `#` in a string stands for a number, `*` for a longer text."""

    provider: str
    event_id: int
    layout: Layout
    strings: tuple[str, ...]
    weight: int = 4


_OTHERS: Final = (
    _Kind("MSExchangeTransport", 1035, "array", ("LogonDenied", "Default EX01", "Ntlm", "10.0.#")),
    _Kind("MSExchange ADAccess", 2080, "array", ("STORE.EXE", "#", "In-site:\r\n*"), 12),
    _Kind("MSExchangeIS Mailbox Store", 1016, "array", ("CORP\\user#", "user#", "First SG\\MB06")),
    _Kind("MSExchangeIS Mailbox Store", 9690, "array", ("priv06", "#", "*"), 8),
    _Kind("MsiInstaller", 1033, "array", ("Agent #", "4.2.#", "1033", "0", "Example Corp.", "")),
    _Kind("Windows Error Reporting", 1001, "array", ("#", "5", "AppCrash", "", "0", "*", "", "#")),
    _Kind("Application Error", 1000, "array", ("w3wp.exe", "7.5.#", "KERNELBASE.dll", "#", "*")),
    # The letters ESE stand in some of what others write: in 1 record of 72 in a public collection.
    _Kind(".NET Runtime", 1026, "array", ("w3wp.exe\r\n*\r\nPresentationFramework.dll",), 1),
    _Kind("Microsoft-Windows-CertificateServicesClient", 1, "named", (), 1),
    _Kind("VSS", 8224, "array", ("", "*")),
    _Kind("LoadPerf", 1000, "elements", ("WmiApRpl", "WmiApRpl", "#", "#")),
    _Kind("SceCli", 1704, "array", ()),
    _Kind("Microsoft-Windows-User Profiles Service", 1531, "named", (), 8),
    _Kind("Microsoft-Windows-Security-SPP", 903, "named", ("#", _SKU, "*", "#", "#"), 12),
    _Kind("Microsoft-Windows-RestartManager", 10010, "user", ("#", _AGENT, "Agent #", "0", "*"), 8),
)
# The second string is the number of the process: one for weeks.
_ESE: Final = (
    _Kind("ESE", 700, "array", ("store", "3392", "SG06: ", _DATABASE)),
    _Kind("ESE", 704, "array", ("store", "3392", "SG06: ", _DATABASE)),
    _Kind("ESE", 702, "array", ("store", "3392", "SG06: ", _DATABASE, "3/1/2024", "#")),
    _Kind(
        "ESE",
        703,
        "array",
        ("store", "3392", "SG06: ", _DATABASE, "#", "3/1/2024", "#", "#", "4", "5"),
    ),
    _Kind("ESE BACKUP", 210, "array", ("store", "3392", "SG06: ")),
    _Kind("ESENT", 102, "array", ("svchost", "1204", "", "0", "6", "01", "7601", "0")),
)
_Written = list[tuple[int, int, tuple[str, ...]]]
"""Record id, event id and strings of the ESE events of a log, in their order."""


def _texts(kind: _Kind, chance: random.Random) -> tuple[str, ...]:
    """The strings of one record; no two of a kind are of the same length."""
    longer = "The operation took longer than expected on server EX01. " * chance.randint(1, 8)
    return tuple(
        text.replace("#", str(chance.randrange(1_000_000))).replace("*", longer)
        for text in kind.strings
    )


def _write(path: Path, is_ese: Callable[[int], bool]) -> _Written:
    """A log whose records with the numbers `is_ese` picks are ESE events."""
    chance = random.Random(703)
    weights = [kind.weight for kind in _OTHERS]
    written: _Written = []
    with EvtxWriter(path) as log:
        for number in range(_RECORDS):
            ese = is_ese(number)
            kind = chance.choice(_ESE) if ese else chance.choices(_OTHERS, weights)[0]
            texts = _texts(kind, chance)
            record_id = log.write(
                kind.event_id,
                texts,
                provider=kind.provider,
                time=_START + timedelta(seconds=30 * number),
                layout=kind.layout,
            )
            if ese:
                written.append((record_id, kind.event_id, texts))
    return written


def _ours(path: Path) -> tuple[int, list[Event]]:
    """Records accounted for, and the ESE events."""
    records, events = 0, []
    for batch in EvtxSource("bench", [str(path)]).poll(final=True):
        for record in batch.records:
            if isinstance(record, Event):
                events.append(record)
            elif isinstance(record, Coverage):
                records += record.last - record.first + 1
    return records, events


def _by_json(path: Path) -> int:
    return sum(1 for _ in evtx.PyEvtxParser(str(path)).records_json())


def _by_xml(path: Path) -> int:
    return sum(1 for _ in evtx.PyEvtxParser(str(path)).records())


def _faster(path: Path) -> Callable[[Path], int]:
    """The faster one of the two bare loops."""

    def best(loop: Callable[[Path], int]) -> float:
        def seconds() -> Iterator[float]:
            for _ in range(5):
                begin = time.process_time()
                loop(path)
                yield time.process_time() - begin

        return min(seconds())

    return min((_by_json, _by_xml), key=best)


def _check(path: Path, written: _Written, bare: Callable[[Path], int]) -> None:
    """RuntimeError unless both sides see every record and ours every event as it was written."""
    records, events = _ours(path)
    theirs = bare(path)
    if not records == theirs == _RECORDS:
        raise RuntimeError(f"{path.name}: {_RECORDS} records, ours {records}, the peer {theirs}")
    if [(event.record_id, event.event_id, event.strings) for event in events] != written:
        raise RuntimeError(f"{path.name}: the ESE events are not those that were written")


def _figure(folder: Path, case: str, is_ese: Callable[[int], bool], limit: float = 0.0) -> Figure:
    """Our records/s as a multiple of those of the bare loop, in one case; a limit of 0 is none."""
    path = folder / f"{case}.evtx"
    written = _write(path, is_ese)
    bare = _faster(path)
    _check(path, written, bare)
    ours, theirs, ratio = paired(
        lambda: _ours(path), lambda: bare(path), _ROUNDS, time.process_time
    )
    name = "records" if bare is _by_xml else "records_json"
    return Figure(
        what=f"EVTX, {case}: records/s beside a bare loop over `evtx`",
        measured=ratio,
        unit="x",
        must_be="at least" if limit else "",
        limit=limit,
        details=(
            f"{_RECORDS:,} records, {len(written):,} of ESE, in {path.stat().st_size / 1e6:.0f} MB "
            f"of {len(_OTHERS)} other kinds; ours {_RECORDS / ours:,.0f}/s with every ESE event "
            f"decoded, `sum(1 for _ in PyEvtxParser(path).{name}())` {_RECORDS / theirs:,.0f}/s"
        ),
    )


def run() -> list[Figure]:
    """Four logs that differ in how many of their records are ESE events, and where."""
    part = _RECORDS // 20
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        return [
            _figure(folder, "5 % ESE evenly spread", lambda n: n % 20 == 0, 0.8),
            _figure(folder, "5 % ESE in one run", lambda n: n // part == 9, 0.8),
            _figure(folder, "no ESE", lambda n: False, 1.0),
            _figure(folder, "all ESE", lambda n: True),
        ]
