"""The ledger behind `truth.json`: the meaning of each log line, noted before it is written.

A killed process leaves at most one incomplete entry. The next process drops it and goes on, so
the truth always matches the lines that exist.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from eselab.logs.lines import Lines, whole_length
from eselab.logs.truth_entries import Counted, Fault, Told
from eselab.logs.truth_state import UNCORRECTABLE, DatabaseTruth, State

Metrics = dict[str, dict[str, float]]
"""By metric name and label string."""


class Document(msgspec.Struct, frozen=True):
    """`truth.json`. `events` by label string, `processes` and `openings` beside the contract's.

    `openings` is what is added to `instances` where running totals were read, not rates.
    """

    computer: str
    events: dict[str, int]
    databases: dict[str, Metrics]
    instances: dict[str, Metrics]
    openings: dict[str, Metrics]
    processes: dict[str, Metrics]
    faults: list[dict[str, float | str | None]]


def document(state: State) -> Document:
    """All that is known so far."""
    instances: dict[str, Metrics] = {}
    for name, entry in state.instances.items():
        instances[name] = {"ese_checkpoint_depth_logs": {"": entry.depth}}
        instances[name] |= _by_metric(entry.totals)
    return Document(
        computer=state.computer,
        events={
            _event(event_id, state.provider): count for event_id, count in state.events.items()
        },
        databases={path: _database(entry) for path, entry in state.databases.items()},
        instances=instances,
        openings={name: _by_metric(entry.openings) for name, entry in state.instances.items()},
        processes={
            name: {"ese_cache_size_bytes": {"": size}} for name, size in state.cache_bytes.items()
        },
        faults=[
            {name: getattr(fault, name) for name in Fault.__struct_fields__}
            for fault in state.faults
        ],
    )


def encoded(state: State) -> bytes:
    """The bytes of `truth.json`: indented, keys sorted."""
    plain = msgspec.json.encode(document(state), order="sorted")
    return msgspec.json.format(plain) + b"\n"


def _by_metric(series: Mapping[str, float]) -> Metrics:
    found: Metrics = {}
    for name, value in series.items():
        metric, _, labels = name.partition("{")
        found.setdefault(metric, {})[labels.rstrip("}")] = value
    return found


def _event(event_id: int, provider: str) -> str:
    return f'event_id="{event_id}",provider="{provider}"'


def _by(label: str, values: Mapping[str, float]) -> dict[str, float]:
    return {f'{label}="{name}"': value for name, value in values.items()}


def _database(entry: DatabaseTruth) -> Metrics:
    metrics: Metrics = {
        "ese_defrag_reported_pages_freed_total": {"": entry.pages_freed},
        "ese_page_error_events_total": _by("kind", entry.errors),
        "ese_page_error_last_timestamp_seconds": _by("kind", entry.last_error),
        "ese_known_bad_pages": _by("kind", _known_bad(entry)),
        "ese_slow_io_reports_total": _by("operation", entry.slow),
        "ese_slow_io_last_seconds": _by("operation", entry.slow_seconds),
    }
    _passes(metrics, entry)
    if entry.trees is not msgspec.UNSET:
        metrics["ese_index_defrag_pages_visited_total"] = {"": entry.trees.pages_visited}
        metrics["ese_index_defrag_pages_freed_total"] = {"": entry.trees.pages_freed}
    if entry.free_bytes is not msgspec.UNSET:
        metrics["ese_database_free_bytes"] = {"": entry.free_bytes}
    if entry.zeroing is not msgspec.UNSET and entry.zeroing.pages:
        metrics["ese_zeroing_pages_total"] = _by("kind", entry.zeroing.pages)
    if entry.verified is not None:
        verified = {'by="online_scan"': entry.verified}
        metrics["ese_last_full_verification_timestamp_seconds"] = verified
    return metrics


def _known_bad(entry: DatabaseTruth) -> dict[str, int]:
    counts = {kind: len(pages) for kind, pages in entry.bad_pages.items()}
    if entry.unlocated:
        counts[UNCORRECTABLE] = counts.get(UNCORRECTABLE, 0) + 1
    return counts


def _passes(metrics: Metrics, entry: DatabaseTruth) -> None:
    for task, passes in entry.passes().items():
        values: dict[str, float | None] = {
            "ese_passes_started_total": passes.started,
            "ese_passes_completed_total": passes.completed,
            "ese_passes_interrupted_total": passes.interrupted,
            "ese_passes_failed_total": passes.failed,
            "ese_pass_last_start_timestamp_seconds": passes.last_start,
        }
        if passes.last_completion is not None:
            values["ese_pass_last_completion_timestamp_seconds"] = passes.last_completion
            if passes.last_wall is msgspec.UNSET:
                values["ese_pass_last_work_seconds"] = passes.last_work
                values["ese_pass_last_invocations"] = passes.last_invocations
            else:
                values["ese_pass_last_wall_seconds"] = passes.last_wall
            if task != "defrag":
                values["ese_pass_last_bad_checksums"] = passes.last_bad
        if passes.last_late is not msgspec.UNSET:
            values["ese_pass_last_late_timestamp_seconds"] = passes.last_late
        if task != "defrag":
            values["ese_pass_pages_seen_total"] = passes.pages_seen
            values["ese_pass_bad_checksums_total"] = passes.bad
        for metric, value in values.items():
            if value is not None:
                metrics.setdefault(metric, {})[f'task="{task}"'] = value


EVENTS: Final = "events.jsonl"
COUNTERS: Final = "counters.csv"
TRUTH: Final = "truth.json"
LEDGER: Final = "truth.jsonl"

_FILES: Final = {"events": EVENTS, "counters": COUNTERS}
_Entry = State | Told | Counted | Fault


class TruthError(Exception):
    """The logs in a folder are not those that its ledger describes."""


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
        """To be written before any line that it describes."""

    def tell(self, entry: Told | Counted) -> None:
        """Note the meaning of the next line of a log; `end` is where the line will end."""
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
        """Write the buffered part of the ledger. Raises OSError."""
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
