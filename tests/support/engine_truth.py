"""What the agent makes of an engine's logs against what the engine says of them (contract.md)."""

import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from prometheus_client.core import Metric

from esewatch.config import Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.sources.counters.blg.perfmon_blg import perfmon_blg_source
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.logs.event_stream import event_stream_source

INTEGRATED = frozenset(
    {
        "ese_defrag_pages_read_total",
        "ese_defrag_pages_freed_total",
        "ese_defrag_log_bytes_total",
        "ese_database_io_total",
        "ese_log_io_total",
    }
)
"""Totals that the agent adds up from rates."""
INSTANCES = INTEGRATED | {
    "ese_maintenance_pages_read_total",
    "ese_maintenance_pages_zeroed_total",
    "ese_log_generations_total",
    "ese_checkpoint_depth_logs",
}
DATABASES = frozenset(
    {
        "ese_passes_started_total",
        "ese_passes_completed_total",
        "ese_passes_interrupted_total",
        "ese_passes_failed_total",
        "ese_pass_last_start_timestamp_seconds",
        "ese_pass_last_completion_timestamp_seconds",
        "ese_pass_last_work_seconds",
        "ese_pass_last_wall_seconds",
        "ese_pass_last_late_timestamp_seconds",
        "ese_pass_last_invocations",
        "ese_pass_last_bad_checksums",
        "ese_pass_pages_seen_total",
        "ese_pass_bad_checksums_total",
        "ese_zeroing_pages_total",
        "ese_index_defrag_pages_visited_total",
        "ese_index_defrag_pages_freed_total",
        "ese_database_free_bytes",
        "ese_defrag_reported_pages_freed_total",
        "ese_page_error_events_total",
        "ese_page_error_last_timestamp_seconds",
        "ese_known_bad_pages",
        "ese_last_full_verification_timestamp_seconds",
        "ese_slow_io_reports_total",
        "ese_slow_io_last_seconds",
    }
)
EVENTS = "ese_events_total"
CACHE = "ese_cache_size_bytes"
RELATIVE = 1e-4
CLOCK_SECONDS = 1e-5
"""Epoch seconds as floats are no finer."""

_OWNERS = {
    "ese_instance": INSTANCES,
    "database": DATABASES,
    "process": frozenset({CACHE}),
}
_PARTS = {"ese_instance": "instances", "database": "databases", "process": "processes"}


class Series(NamedTuple):
    """One series: metric, whose (instance, path, process or empty), further labels."""

    metric: str
    owner: str
    labels: str


def agent_families(
    folder: Path,
    now: float,
    settings: Settings | None = None,
    *,
    binary: bool = False,
    evtx: bool = False,
) -> list[Metric]:
    """What the agent exposes at `now` of the two logs in `folder`, read to their ends.

    `binary`: of the counters the binary logs and not the text. `evtx`: of the events the log of
    Windows and not the lines.
    """
    settings = settings or Settings()
    agent = Folder(State(), settings)
    for source in (
        EvtxSource("events", [str(folder / "*.evtx")])
        if evtx
        else event_stream_source("events", [str(folder / "events.jsonl")]),
        perfmon_blg_source("counters", [str(folder / "counters*.blg")])
        if binary
        else perfmon_csv_source("counters", [str(folder / "counters.csv")]),
    ):
        agent.open_source(source.name, 0.0)
        for batch in source.poll(final=True):
            assert batch.unreadable == []
            agent.fold(source.name, batch)
        source.close()
    return families(agent.state, settings, now)


def differences(truth: Path, metrics: Iterable[Metric], *, binary: bool = False) -> list[str]:
    """A line for each series of which `truth.json` and the agent say something else.

    `binary`: it read binary logs. They have running totals, which begin with an opening and not
    with its first sample, and the cache in whole megabytes.
    """
    told: dict[str, Any] = msgspec.json.decode(truth.read_bytes())
    if binary:
        _as_in_binary_logs(told)
    computer = told["computer"].lower().split(".")[0]
    expected = dict(_told(told))
    found = dict(_found(metrics, computer))
    return [
        f"{series.metric}{{{series.owner}|{series.labels}}}: the agent says "
        f"{found.get(series)} and the truth {expected.get(series)}"
        for series in sorted({*expected, *found})
        if not _agree(series.metric, expected.get(series), found.get(series))
    ]


def _as_in_binary_logs(told: dict[str, Any]) -> None:
    for name, metrics in told["openings"].items():
        for metric, values in metrics.items():
            for labels, value in values.items():
                told["instances"][name][metric][labels] += value
    for metrics in told["processes"].values():
        metrics[CACHE] = {labels: size >> 20 << 20 for labels, size in metrics[CACHE].items()}


def _told(told: dict[str, Any]) -> Iterator[tuple[Series, float]]:
    for labels, value in told["events"].items():
        yield Series(EVENTS, "", labels), value
    for owner, names in _OWNERS.items():
        for name, metrics in told[_PARTS[owner]].items():
            for metric, values in metrics.items():
                # Of which database an event was, the agent counts nowhere.
                if metric == EVENTS:
                    continue
                assert metric in names, f"{metric} is compared with nothing"
                for labels, value in values.items():
                    yield Series(metric, name, labels), value


def _found(metrics: Iterable[Metric], computer: str) -> Iterator[tuple[Series, float]]:
    for sample in (sample for family in metrics for sample in family.samples):
        labels = dict(sample.labels)
        if labels.pop("computer", "") != computer:
            continue
        owner = ""
        for label, names in _OWNERS.items():
            if sample.name in names:
                owner = labels.pop(label)
                break
        else:
            if sample.name != EVENTS:
                continue
        rest = ",".join(f'{name}="{value}"' for name, value in sorted(labels.items()))
        yield Series(sample.name, owner, rest), sample.value


def _agree(metric: str, expected: float | None, found: float | None) -> bool:
    if expected is None or found is None:
        # Zero-born on one side, and nothing happened on the other.
        return not (expected or found)
    if metric in INTEGRATED:
        return math.isclose(expected, found, rel_tol=RELATIVE, abs_tol=1e-3)
    if metric.endswith("_timestamp_seconds"):
        return math.isclose(expected, found, rel_tol=0.0, abs_tol=CLOCK_SECONDS)
    return expected == found
