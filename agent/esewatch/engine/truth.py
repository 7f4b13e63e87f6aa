"""The ledger behind `truth.json`: what each line of the logs tells, noted before it is written.

A process that is killed leaves at most one entry whose line is not whole. The next one
drops it and goes on, so the truth is always that of the lines that are there.
"""

import os
from pathlib import Path
from typing import Final

import msgspec

from esewatch.engine.lines import Lines, whole_length
from esewatch.engine.truth_entries import Counted, Fault, Told
from esewatch.engine.truth_json import encoded
from esewatch.engine.truth_state import State

EVENTS: Final = "events.jsonl"
COUNTERS: Final = "counters.csv"
TRUTH: Final = "truth.json"
LEDGER: Final = "truth.jsonl"

_FILES: Final = {"events": EVENTS, "counters": COUNTERS}
_Entry = State | Told | Counted | Fault


class TruthError(Exception):
    """The logs in a folder are not those that its ledger tells of."""


class Truth:
    """The truth of the logs in `folder`. Make it before the logs are opened.

    With `buffered` entries are held back until a log, or `flush`, is written.
    """

    def __init__(self, folder: Path, *, computer: str, provider: str, buffered: bool) -> None:
        """Raises TruthError and OSError."""
        self._folder = folder
        self._encoder = msgspec.json.Encoder()
        self.state = _replayed(folder, computer, provider)
        # What was dropped must not count when the file has grown beyond its end.
        line = self._encoder.encode(self.state) + b"\n"
        _replace(folder / LEDGER, line)
        self.ledger = Lines(folder / LEDGER, buffered=buffered)
        """To be written before any line that it tells of."""

    def tell(self, entry: Told | Counted) -> None:
        """Note what the next line of a log says; `end` is where the line will end."""
        self.ledger.append(self._encoder.encode(entry) + b"\n")
        self.state.take(entry)

    def fault(self, time: float, database: str, page_number: int | None, kind: str) -> None:
        """Note, and write at once, a fault that was made on request at `time` (epoch seconds).

        Raises OSError.
        """
        entry = Fault(time=time, database=database, page_number=page_number, kind=kind)
        self.ledger.append(self._encoder.encode(entry) + b"\n")
        self.ledger.flush()
        self.state.take(entry)

    def write(self) -> None:
        """Write `truth.json`, at once and whole. Raises OSError."""
        _replace(self._folder / TRUTH, encoded(self.state))

    def flush(self) -> None:
        """Write what of the ledger is held back. Raises OSError."""
        self.ledger.flush()

    def close(self) -> None:
        """Write `truth.json` and let go of the ledger. Close the logs first. Raises OSError."""
        self.write()
        self.ledger.close()


def _replayed(folder: Path, computer: str, provider: str) -> State:
    state = State(computer, provider)
    if not (folder / LEDGER).exists():
        # It is there before the logs: what has no ledger is not to be cut off as a torn line.
        for path in (folder / file for file in _FILES.values()):
            if path.exists() and path.stat().st_size:
                raise TruthError(f"{path} is of no engine: begin in an empty folder")
    lengths = {name: whole_length(folder / file) for name, file in _FILES.items()}
    decoder = msgspec.json.Decoder(_Entry)
    for entry in _entries(folder / LEDGER, decoder):
        if isinstance(entry, State):
            state = entry
        elif isinstance(entry, Fault) or entry.end <= lengths[_name(entry)]:
            state.take(entry)
    for name, length in lengths.items():
        if state.ends.get(name, 0) != length:
            raise TruthError(
                f"{folder / _FILES[name]} has {length} bytes of whole lines, and {LEDGER} tells of"
                f" {state.ends.get(name, 0)}: begin in an empty folder"
            )
    state.computer = computer
    return state


def _name(entry: Told | Counted) -> str:
    return "events" if isinstance(entry, Told) else "counters"


def _entries(path: Path, decoder: msgspec.json.Decoder[_Entry]) -> list[_Entry]:
    """The entries of a ledger; one that a kill tore off has no line yet."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    whole = data[: data.rfind(b"\n") + 1]
    try:
        return decoder.decode_lines(whole)
    except msgspec.DecodeError as error:
        raise TruthError(f"{path}: {error}") from error


def _replace(path: Path, data: bytes) -> None:
    beside = path.with_name(f"{path.name}.new")
    beside.write_bytes(data)
    os.replace(beside, path)  # noqa: PTH105
