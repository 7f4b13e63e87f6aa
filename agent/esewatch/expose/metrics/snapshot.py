"""The state as Prometheus metrics: families, and the snapshot that scrapes render.

`families` is a pure function of (state, settings, now). An absent series was not measured; a value
is never guessed to be 0 (`database_families.py` lists the series that start at 0).
"""

import gzip
import platform
import re
import threading
from collections.abc import Iterable

from prometheus_client import Histogram, ProcessCollector
from prometheus_client.core import Metric
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from esefiles import __version__
from esefiles.base.names import printable
from esefiles.pages import kernels
from esewatch.advice.base.left_out import LeftOut, leaving_out
from esewatch.advice.base.staleness import stale_seconds
from esewatch.advice.findings.silence import last_records
from esewatch.advice.history.derived import AllDerived, derived
from esewatch.config import Settings, rule_for, window_for
from esewatch.expose.metrics.collectors.backup_families import (
    add_backup_jobs,
    add_sets,
)
from esewatch.expose.metrics.collectors.database_families import Traits, add_database
from esewatch.expose.metrics.collectors.samples import Labels, Samples
from esewatch.expose.metrics.collectors.sqlserver_families import add_sql_databases
from esewatch.expose.metrics.rows.metric_catalogue import CATALOGUE
from esewatch.fold.identity.entities import OTHER_EVENT
from esewatch.fold.identity.identity import device_of, tier
from esewatch.fold.identity.owners import instance_key, instance_label
from esewatch.fold.instances.backups import at_work
from esewatch.fold.instances.counters import counters_present, log_disks
from esewatch.fold.instances.engine_errors import (
    OF_COMPUTER,
    acknowledgements,
    open_errors,
)
from esewatch.fold.readings import current
from esewatch.fold.state.state import SEPARATOR, Metered, SourceState, State

UNDIVIDED = SEPARATOR + "all"
"""Ends the key of a counter that counts all phases together."""


def add_metered(out: Samples, owner: Labels, metered: Metered, now: float) -> None:
    """Add the totals and the fresh levels of one owner; `owner` are its labels."""
    shown: dict[str, float | None] = {
        **metered.totals,
        **{key: current(level, now) for key, level in metered.levels.items()},
    }
    phases = (key for key in shown if SEPARATOR in key and not key.endswith(UNDIVIDED))
    divided = {key.rpartition(SEPARATOR)[0] + UNDIVIDED for key in phases}
    for key, value in sorted(shown.items()):
        if key in divided:
            # The same requests again, not separated by phase.
            continue
        metric, *labels = key.split(SEPARATOR)
        row = CATALOGUE.get(metric)
        if row is None:
            continue
        further = dict(zip(row.labels[len(owner) :], map(printable, labels), strict=True))
        out.add(metric, {**owner, **further}, value)


def add_engine_errors(out: Samples, state: State, settings: Settings) -> None:
    """Instances with a watched or observed database expose the kinds that they logged; others only
    damaged memory: that concerns all databases of the computer."""
    databases = state.databases.values()
    shown = {instance_key(each) for each in databases if tier(each, settings) != "ignored"}
    computers = {computer for computer, _ in shown}
    acknowledged = acknowledgements(databases)
    for key, instance in sorted(state.instances.items()):
        for kind, (count, last) in sorted(instance.errors.items()):
            if key not in shown and (kind != OF_COMPUTER or key[0] not in computers):
                continue
            still = open_errors(instance, acknowledged(key))
            labels = {
                "computer": printable(instance.computer),
                "ese_instance": printable(instance.ese_instance),
                "kind": kind,
            }
            out.add("ese_engine_errors_total", labels, count)
            out.add("ese_engine_error_last_timestamp_seconds", labels, last)
            out.add("ese_engine_errors_open", labels, still[kind])


COMMIT_DURATION = CATALOGUE["esewatch_journal_commit_duration_seconds"]
COMMIT_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

OPENMETRICS = "application/openmetrics-text"
TEXT = "text/plain"

GAP_SECONDS = "ese_unsampled_seconds_total"


def families(
    state: State,
    settings: Settings,
    now: float,
    known: AllDerived | None = None,
    *,
    left_out: LeftOut | None = None,
) -> list[Metric]:
    """All families of the state at `now` (epoch seconds), fresh; equal states in equal order.
    `known` is the result of `derived` for the same state, where it is at hand."""
    out = Samples()
    add_hosts(out, state, now)
    _add_sources(out, state)
    for computer, last in sorted(last_records(state).items()):
        labels = {"computer": printable(computer)}
        out.add("ese_computer_last_record_timestamp_seconds", labels, last)
    add_instances(out, state, settings, now)
    add_devices(out, state, now)
    add_databases(out, state, settings, now, known or derived(state, settings), left_out=left_out)
    add_backup_jobs(out, state)
    add_sql_databases(out, state, settings)
    out.add("esewatch_databases_dropped_total", {}, state.databases_dropped)
    return out.families()


def commit_histogram() -> Histogram:
    """The histogram of journal commit durations, in seconds; its owner observes each commit."""
    return Histogram(
        COMMIT_DURATION.name, COMMIT_DURATION.help, registry=None, buckets=COMMIT_BUCKETS
    )


def own_families(
    commits: Histogram,
    *,
    version: str = __version__,
    python_version: str = platform.python_version(),
    kernel: str = kernels.NAME,
    proc: str = "/proc",
) -> list[Metric]:
    """Families about the running program, fresh, sorted by name. Those of the process exist where
    the system has a `proc` file system."""
    out = Samples()
    build = {"version": version, "python_version": python_version, "kernel": kernel}
    out.add("esewatch_build_info", build, 1)
    for metric in (*commits.collect(), *ProcessCollector(proc=proc, registry=None).collect()):
        row = next(row for row in CATALOGUE.values() if row.family == metric.name)
        kept = [sample for sample in metric.samples if not sample.name.endswith("_created")]
        out.extend(row.name, kept)
    return out.families()


def add_hosts(out: Samples, state: State, now: float) -> None:
    present = counters_present(state)
    for key, host in sorted(state.hosts.items()):
        computer = printable(host.computer)
        add_metered(out, {"computer": computer}, host, now)
        for provider, events in sorted(host.events.items()):
            for event_id, count in sorted(events.items()):
                labels = {
                    "computer": computer,
                    "provider": printable(provider),
                    "event_id": "other" if event_id == OTHER_EVENT else str(event_id),
                }
                out.add("ese_events_total", labels, count)
        for name, there in sorted(present[key].items()):
            labels = {"computer": computer, "name": printable(name)}
            out.add("esewatch_perf_object_present", labels, int(there))


def _add_sources(out: Samples, state: State) -> None:
    up: dict[str, bool] = {}
    caught_up: dict[str, bool] = {}
    for _, source in sorted(state.sources.items()):
        _add_source(out, source)
        for computer in source.computers:
            up[computer] = up.get(computer, True) and source.up
            caught_up[computer] = caught_up.get(computer, True) and source.caught_up
    for computer in sorted(up):
        labels = {"computer": printable(computer)}
        out.add("esewatch_host_up", labels, int(up[computer]))
        out.add("esewatch_host_caught_up", labels, int(caught_up[computer]))


def _add_source(out: Samples, source: SourceState) -> None:
    labels = {"source": printable(source.name)}
    out.add("esewatch_source_up", labels, int(source.up))
    out.add("esewatch_source_caught_up", labels, int(source.caught_up))
    out.add("esewatch_source_computers", labels, len(source.computers))
    out.add("esewatch_source_records_total", labels, source.records)
    out.add("esewatch_source_unreadable_total", labels, source.unreadable)
    out.add("esewatch_source_missed_records_total", labels, source.missed)
    last = source.last_record or None
    out.add("esewatch_source_last_record_timestamp_seconds", labels, last)
    out.add("esewatch_source_backlog_bytes", labels, source.backlog_bytes)
    if source.partitions is not None:
        out.add("esewatch_source_partitions", labels, source.partitions[0])
        out.add("esewatch_source_partitions_owned", labels, source.partitions[1])
    out.add("esewatch_source_duplicates_total", labels, source.duplicates)
    out.add("esewatch_source_implausible_times_total", labels, source.implausible)
    out.add("esewatch_source_set_aside_total", labels, source.set_aside)
    if (lost := source.unrebuilt()) is not None:
        out.add("esewatch_source_unrebuilt_from_timestamp_seconds", labels, lost.since)
        out.add("esewatch_source_unrebuilt_until_timestamp_seconds", labels, lost.until)


def add_instances(out: Samples, state: State, settings: Settings, now: float) -> None:
    """Add the totals and levels of ESE instances, and the errors of those with a database. Of the
    hosts the free space of volumes is read."""
    for _, instance in sorted(state.instances.items()):
        labels = {
            "computer": printable(instance.computer),
            "ese_instance": printable(instance.ese_instance),
        }
        add_metered(out, labels, instance, now)
        add_sets(out, labels, instance)
        if instance.counters:
            out.add(GAP_SECONDS, labels, instance.gap_seconds or None)
    for (computer, name), free in sorted(log_disks(state, settings, now).items()):
        labels = {"computer": printable(computer), "ese_instance": printable(name)}
        out.add("ese_log_disk_free_bytes", labels, free)
    add_engine_errors(out, state, settings)


def add_devices(out: Samples, state: State, now: float) -> None:
    for _, device in sorted(state.devices.items()):
        labels = {"computer": printable(device.computer), "device": printable(device.device)}
        add_metered(out, labels, device, now)


def add_databases(
    out: Samples,
    state: State,
    settings: Settings,
    now: float,
    known: AllDerived,
    *,
    left_out: LeftOut | None = None,
) -> None:
    for key, facts in sorted(known.databases.items()):
        with leaving_out(key, left_out):
            database = state.databases[key]
            instance = state.instances.get(instance_key(database))
            host = state.hosts.get(database.computer)
            takes_part = bool(facts.member.role) and facts.tier == "watched"
            rule = rule_for(settings, *key)
            traits = Traits(
                copies_of=known.copies.keys[key] if takes_part else None,
                # The spelling of the counters, so that both sides join.
                ese_instance=instance.ese_instance if instance else instance_label(database),
                stale_seconds=stale_seconds(database, settings),
                window=window_for(settings, database.database, database.computer),
                backups=facts.backed_up.kinds,
                backup_running=at_work(instance, now) if instance else None,
                device=device_of(database, host.volumes if host else {}, settings),
                direct_attached=rule is not None and rule.storage == "das",
            )
            add_database(out, database, facts, traits, now)
    for computer, file in left_out or ():
        out.drop({"computer": printable(computer), "database": printable(file)})


class Snapshot(Collector):
    """Families at one moment and their expositions, each rendered once.

    Expositions that the previous snapshot was asked for are rendered with it, so that a scrape does
    not wait for them; others when first asked for. Safe to share between threads. Also a collector
    for a prometheus_client registry.
    """

    def __init__(self, metrics: tuple[Metric, ...]) -> None:
        self._families = metrics
        self._rendered: dict[tuple[str, str], bytes] = {}
        self._asked: set[tuple[str, str]] = set()
        self._lock = threading.Lock()

    @classmethod
    def of(cls, metrics: Iterable[Metric], before: "Snapshot | None" = None) -> "Snapshot":
        """The snapshot of these families, sorted by name; `before` is the one it replaces."""
        made = cls(tuple(sorted(metrics, key=lambda metric: metric.name)))
        for form in sorted(before._asked) if before is not None else ():
            made._body(*form)
        return made

    def collect(self) -> tuple[Metric, ...]:
        return self._families

    def render(self, accept: str = "", accept_encoding: str = "") -> tuple[bytes, str, str]:
        """(body, content type, content encoding) for the values of a request's headers. OpenMetrics
        1.0.0 where the client prefers it, else text 0.0.4; the encoding is `gzip` or empty."""
        media_type = OPENMETRICS if _prefers_openmetrics(accept) else TEXT
        encoding = "gzip" if _accepts_gzip(accept_encoding) else ""
        with self._lock:
            self._asked.add((media_type, encoding))
            return self._body(media_type, encoding), choose_encoder(media_type)[1], encoding

    def _body(self, media_type: str, encoding: str) -> bytes:
        body = self._rendered.get((media_type, encoding))
        if body is None:
            if encoding:
                body = gzip.compress(self._body(media_type, ""), compresslevel=1, mtime=0)
            else:
                body = choose_encoder(media_type)[0](self)
            self._rendered[media_type, encoding] = body
        return body


_QUALITY = re.compile(r"q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", re.IGNORECASE)


def _choices(header: str) -> Iterable[tuple[str, dict[str, str], float]]:
    """(value, parameters, quality) of each item of an Accept header; an ill-formed quality is 0."""
    for item in header.split(","):
        value, *parameters = (part.strip() for part in item.split(";"))
        named = dict(part.split("=", 1) for part in parameters if "=" in part)
        quality = _QUALITY.fullmatch(f"q={named.pop('q', '1')}")
        yield value.lower(), named, float(quality[1]) if quality else 0.0


def _prefers_openmetrics(accept: str) -> bool:
    openmetrics = text = 0.0
    for value, parameters, quality in _choices(accept):
        if value == OPENMETRICS:
            if parameters.get("version", "1.0.0") == "1.0.0":
                openmetrics = max(openmetrics, quality)
        elif value == TEXT and parameters.get("version", "0.0.4") == "0.0.4":
            text = max(text, quality)
    return openmetrics > 0 and openmetrics >= text


def _accepts_gzip(accept_encoding: str) -> bool:
    return any(
        value in ("gzip", "x-gzip") and quality > 0
        for value, _, quality in _choices(accept_encoding)
    )
