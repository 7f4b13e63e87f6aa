"""`counters --format csv`: samples as a perfmon log in text, with the values of `relog`.

Which columns there are shows at the end only, so rows wait in a file.
"""

import csv
import math
import os
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO

import msgspec

from esewatch.cli.output import naming
from esewatch.model import Reading, SourceError
from esewatch.sources.detect_input import zone_of

_BLANK = " "
# Standard output makes both of `\n` on Windows.
_END = "\n" if os.name == "nt" else "\r\n"
_START = datetime(1970, 1, 1)


class _Row(msgspec.Struct, array_like=True):
    """One row: the time, and the values by the number of their column."""

    time: float
    cells: dict[int, float] = {}


class CounterCsv:
    """Collects readings in the order in which they come; `write` prints the log."""

    def __init__(self, paths: Iterable[str]) -> None:
        """`paths` of the inputs: the times are local to the first that tells a zone."""
        self._zone, self._west = _first_zone(paths)
        self._columns: dict[str, int] = {}
        self._rows: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        self._row: _Row | None = None

    def add(self, reading: Reading) -> None:
        """One sample; those of one time that follow each other are a row."""
        number = self._columns.setdefault(counter_path(reading), len(self._columns))
        if self._row is None or self._row.time != reading.time:
            self._keep()
            self._row = _Row(reading.time)
        if math.isfinite(reading.value):
            self._row.cells[number] = reading.value

    def write(self) -> None:
        """Print header and rows. Without a sample nothing is printed."""
        self._keep()
        log = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL, lineterminator=_END)
        if self._columns:
            clock = f"(PDH-CSV 4.0) ({self._zone})({self._west})"
            log.writerow([clock, *self._columns])
        self._rows.seek(0)
        blanks = [_BLANK] * len(self._columns)
        for line in self._rows:
            row = msgspec.json.decode(line, type=_Row)
            cells = blanks.copy()
            for number, value in row.cells.items():
                cells[number] = f"{value:.17g}"
            log.writerow([self._shown(row.time), *cells])
        self._rows.close()

    def _keep(self) -> None:
        if self._row is not None:
            with naming(Path(tempfile.gettempdir())):
                self._rows.write(msgspec.json.encode(self._row) + b"\n")
            self._row = None

    def _shown(self, time: float) -> str:
        local = _START + timedelta(milliseconds=round(time * 1000) - self._west * 60_000)
        return f"{local:%m/%d/%Y %H:%M:%S}.{local.microsecond // 1000:03}"


def counter_path(reading: Reading) -> str:
    r"""`\\computer\object(instance)\counter`."""
    instance = f"({reading.instance})" if reading.instance else ""
    return f"\\\\{reading.computer}\\{reading.object}{instance}\\{reading.counter}"


def _first_zone(paths: Iterable[str]) -> tuple[str, int]:
    """Name of the time zone, and minutes that it is west of UTC."""
    for path in paths:
        try:
            found = zone_of(path)
        except SourceError:
            continue
        if found is not None:
            name, west = found
            sign = "-" if west > 0 else "+"
            hours, minutes = divmod(abs(west), 60)
            return name or f"UTC{sign}{hours:02}:{minutes:02}", west
    return "Coordinated Universal Time", 0
