"""Logs as servers write them, for the end-to-end tests. The figures are those of the examples
that Microsoft published for events 703 and 721, and made-up pages for 474."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.support.evtx_writer import EvtxWriter

DATABASE = r"e:\MDB06\priv06.edb"
LABEL = r"e:\mdb06\priv06.edb"
STORE = ("MSExchangeIS", "4104", "SG06: ", DATABASE)
DIRECTORY = ("NTDS", "612", "NTDSA: ", r"C:\Windows\NTDS\ntds.dit")
READ = "Online Defrag Pages Read/sec"
FREED = "Online Defrag Pages Freed/sec"
SAMPLE_SECONDS = 15


def utc_now() -> datetime:
    """Now, in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


def write_defrag_pass(log: EvtxWriter, end: datetime) -> None:
    """The published 703: 42,794 pages freed in 124,919 s, 7 invocations over 4 days."""
    begin = end - timedelta(days=4)
    log.write(700, STORE, time=begin)
    figures = ("42794", f"{begin:%-m/%-d/%Y}", "124919", "7", "4", "14", "73")
    log.write(703, (*STORE, *figures), time=end)


def write_checksum_pass(log: EvtxWriter, end: datetime) -> None:
    """The published 721: 5,850,768 pages in 208 s, 2 invocations, none bad."""
    begin = end - timedelta(days=1)
    log.write(719, STORE, time=begin)
    figures = (f"{begin:%-m/%-d/%Y}", "208", "2", "1", "5850768", "0", "72682")
    log.write(721, (*STORE, *figures), time=end)


def write_bad_page(log: EvtxWriter, time: datetime, page: int) -> None:
    """A 474: the checksum of `page` (of 8 KiB) is wrong."""
    figures = (str((page + 1) * 8192), "8192", "-1018", "0x4e2c", "0x4e2d", str(page))
    log.write(474, (*STORE, *figures), time=time, level=2, task=12)


def write_garbage_collection(log: EvtxWriter, end: datetime, count: int) -> None:
    """A domain controller: 700 and 701 twice a day, nothing freed, in no time."""
    for back in reversed(range(count)):
        time = end - timedelta(hours=12 * back)
        log.write(700, DIRECTORY, provider="NTDS ISAM", time=time)
        figures = ("0", f"{time:%-m/%-d/%Y}", "0", "1", "1", str(count - back), "400")
        log.write(701, (*DIRECTORY, *figures), provider="NTDS ISAM", time=time)


class CounterLog:
    """A counter log of the two defragmentation counters, one sample each 15 s."""

    def __init__(self, path: Path, instance: str, begin: datetime, computer: str = "EX01") -> None:
        self.path = path
        self._next = begin
        columns = [
            rf"\\{computer}\MSExchange Database ==> Instances({instance})\{c}"
            for c in (READ, FREED)
        ]
        self._append(["(PDH-CSV 4.0) (UTC)(0)", *columns])

    def sample(self, read: float, freed: float, count: int = 1) -> None:
        """Append `count` samples of these rates in pages a second."""
        for _ in range(count):
            self._append([f"{self._next:%m/%d/%Y %H:%M:%S}.000", f"{read}", f"{freed}"])
            self._next += timedelta(seconds=SAMPLE_SECONDS)

    def _append(self, cells: Sequence[str]) -> None:
        with self.path.open("a", newline="") as file:
            file.write(",".join(f'"{cell}"' for cell in cells) + "\r\n")
