"""The truth in the form of `truth.json`: the agent's metric names and labels, and the values.

Labels stand as Prometheus writes them, sorted by name; those of the computer, database,
instance and process are left out: they are where the value stands.
"""

from collections.abc import Mapping

import msgspec

from esewatch.engine.truth_entries import Fault
from esewatch.engine.truth_state import UNCORRECTABLE, DatabaseTruth, State

Metrics = dict[str, dict[str, float]]
"""By metric name and label string."""


class Document(msgspec.Struct, frozen=True):
    """`truth.json`. `events` by label string, `processes` beside what the contract has."""

    computer: str
    events: dict[str, int]
    databases: dict[str, Metrics]
    instances: dict[str, Metrics]
    processes: dict[str, Metrics]
    faults: list[dict[str, float | str | None]]


def document(state: State) -> Document:
    """All that is known so far."""
    instances: dict[str, Metrics] = {}
    for name, entry in state.instances.items():
        metrics = instances[name] = {"ese_checkpoint_depth_logs": {"": entry.depth}}
        for series, value in entry.totals.items():
            metric, _, labels = series.partition("{")
            metrics.setdefault(metric, {})[labels.rstrip("}")] = value
    return Document(
        computer=state.computer,
        events={
            _event(event_id, state.provider): count for event_id, count in state.events.items()
        },
        databases={path: _database(entry) for path, entry in state.databases.items()},
        instances=instances,
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
