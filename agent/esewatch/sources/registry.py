"""The kinds of sources: how each is set, opened, and recognised by its content.

A kind of source is imported where one is asked for: a daemon has few kinds, and all of them
are 4 MB.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import msgspec

from esewatch.config import (
    Disks,
    EseutilLogs,
    Exporter,
    Kafka,
    LogFiles,
    NtbackupLogs,
    PageScan,
    Settings,
    SourceSettings,
    SqlserverLogs,
    WindowsCounters,
    WindowsLog,
)
from esewatch.model import Source, SourceError
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.files.globs import fits

_EVENT_LOG = b"ElfFile\0"


class RecordSelection(NamedTuple):
    """Selection of the records that a source hands out."""

    companions: bool = True
    """The events of semantics.md 4 too."""
    ese_only: bool = True
    """Of counters only those that feed a metric."""


class SourceKind(NamedTuple):
    """One `type` of `sources:`."""

    settings: type[msgspec.Struct]
    open: Callable[[Any, Settings, RecordSelection], Source]
    """The source of an entry of these settings. Raises SourceError."""
    recognise: Callable[[bytes, bytes], bool] | None = None
    """Is a file that begins so (decompressed, as UTF-8; as stored) of this kind?

    None: the kind is not told by the content of a file.
    """
    runs_programs: bool = False
    """It works by programs of its own, for longer than a look."""


def build_sources(settings: Settings) -> list[Source]:
    """One source for each entry of `sources:`, in that order. Raises SourceError."""
    sources = [build_source(entry, settings) for entry in settings.sources]
    share_files(sources, settings)
    return sources


def share_files(sources: Sequence[Source], settings: Settings) -> None:
    """Let a file that the patterns of several entries find be read by the one whose kind it is.

    All that follow files share the number of files that the process may have open.
    """
    patterns = _patterns(settings)
    kinds = {entry.name: entry.type for entry in settings.sources}
    followers = sum(KINDS[kind].recognise is not None for kind in kinds.values())
    for source in sources:
        if isinstance(source, FollowedFiles):
            source.share_open_files(followers)
            source.is_of_another = partial(_is_of_another, kinds[source.name], patterns)


def _patterns(settings: Settings) -> dict[str, list[str]]:
    """Kind -> the paths and patterns of its entries."""
    found: dict[str, list[str]] = {}
    for entry in settings.sources:
        if KINDS[entry.type].recognise is not None:
            found.setdefault(entry.type, []).extend(getattr(entry, "paths", ()))
    return found


def _is_of_another(own: str, patterns: Mapping[str, Sequence[str]], path: str, head: bytes) -> bool:
    rivals = {kind for kind, each in patterns.items() if any(fits(path, one) for one in each)}
    if rivals <= {own}:
        return False
    for name, kind in KINDS.items():
        if name in rivals | {own} and kind.recognise and kind.recognise(head, head[:16]):
            return name != own
    return False


def build_source(entry: SourceSettings, settings: Settings) -> Source:
    """The source of one entry, without `share_files`. Raises SourceError when it cannot be made."""
    return KINDS[entry.type].open(entry, settings, RecordSelection())


def kind_by_content(head: bytes, stored: bytes) -> str | None:
    """The kind of a file that begins so (see `SourceKind.recognise`); None when it is none."""
    for name, kind in KINDS.items():
        if kind.recognise is not None and kind.recognise(head, stored):
            return name
    return None


def _evtx(entry: LogFiles, settings: Settings, wanted: RecordSelection) -> Source:
    from esewatch.sources.evtx.evtx_source import EvtxSource

    return EvtxSource(
        entry.name,
        entry.paths,
        providers=settings.providers,
        companions=wanted.companions,
        date_order=entry.date_order,
        computer=entry.computer or "",
    )


def _is_evtx(head: bytes, stored: bytes) -> bool:
    return head.startswith(_EVENT_LOG) or stored.startswith(_EVENT_LOG)


def _perfmon_csv(entry: LogFiles, _settings: Settings, wanted: RecordSelection) -> Source:
    from esewatch.sources.counters.perfmon_csv import perfmon_csv_source

    return perfmon_csv_source(
        entry.name,
        entry.paths,
        computer=entry.computer or "",
        timezone=entry.timezone,
        ese_only=wanted.ese_only,
    )


def _is_perfmon_csv(head: bytes, _stored: bytes) -> bool:
    from esewatch.sources.counters.perfmon_csv import is_perfmon_text

    return is_perfmon_text(head)


def _perfmon_blg(entry: LogFiles, _settings: Settings, wanted: RecordSelection) -> Source:
    from esewatch.sources.counters.blg.perfmon_blg import perfmon_blg_source

    return perfmon_blg_source(
        entry.name,
        entry.paths,
        computer=entry.computer or "",
        timezone=entry.timezone,
        ese_only=wanted.ese_only,
    )


def _is_perfmon_blg(head: bytes, _stored: bytes) -> bool:
    from esewatch.sources.counters.blg.perfmon_blg import is_binary_log

    return is_binary_log(head)


def _eseutil_log(entry: EseutilLogs, _settings: Settings, _wanted: RecordSelection) -> Source:
    from esewatch.sources.logs.eseutil_log import EseutilLogSource

    return EseutilLogSource(
        entry.name, entry.paths, computer=entry.computer, database=entry.database or ""
    )


def _is_eseutil_log(head: bytes, _stored: bytes) -> bool:
    from esewatch.sources.logs.eseutil_log import is_eseutil_text

    return is_eseutil_text(head)


def _sqlserver_errorlog(
    entry: SqlserverLogs, _settings: Settings, wanted: RecordSelection
) -> Source:
    from esewatch.sources.logs.sqlserver_errorlog import sqlserver_errorlog_source

    return sqlserver_errorlog_source(
        entry.name,
        entry.paths,
        computer=entry.computer,
        instance=entry.instance or "",
        timezone=entry.timezone,
        date_order=entry.date_order,
        companions=wanted.companions,
    )


def _is_sqlserver_errorlog(head: bytes, _stored: bytes) -> bool:
    from esewatch.sources.logs.sqlserver_errorlog import is_errorlog

    return is_errorlog(head)


def _ntbackup_log(entry: NtbackupLogs, _settings: Settings, _wanted: RecordSelection) -> Source:
    from esewatch.sources.logs.ntbackup_log import ntbackup_log_source

    return ntbackup_log_source(
        entry.name,
        entry.paths,
        computer=entry.computer or "",
        timezone=entry.timezone,
        date_order=entry.date_order,
        encoding=entry.encoding,
    )


def _is_ntbackup_log(head: bytes, _stored: bytes) -> bool:
    from esewatch.sources.logs.ntbackup_log import is_ntbackup_log

    return is_ntbackup_log(head)


def _event_stream(entry: LogFiles, settings: Settings, wanted: RecordSelection) -> Source:
    from esewatch.sources.logs.event_stream import event_stream_source

    return event_stream_source(
        entry.name,
        entry.paths,
        providers=settings.providers,
        computer=entry.computer or "",
        timezone=entry.timezone,
        date_order=entry.date_order,
        companions=wanted.companions,
    )


def _is_event_stream(head: bytes, _stored: bytes) -> bool:
    from esewatch.sources.logs.event_stream import recognise

    return recognise(head) is not None


def _exporter(entry: Exporter, _settings: Settings, _wanted: RecordSelection) -> Source:
    from esewatch.sources.counters.exporter import MAX_TIMEOUT, ExporterSource
    from esewatch.sources.counters.scrape import Target

    target = Target(
        url=entry.url,
        timeout=min(entry.interval, MAX_TIMEOUT),
        username=entry.basic_auth.username if entry.basic_auth else "",
        password_file=entry.basic_auth.password_file if entry.basic_auth else "",
        ca_file=entry.ca_file or "",
    )
    try:
        return ExporterSource(
            entry.name,
            target,
            interval=entry.interval,
            computer=entry.computer or "",
            entries=entry.map,
        )
    except SourceError as error:
        raise SourceError(f"{entry.name}: {error}") from error


def _disks(entry: Disks, _settings: Settings, _wanted: RecordSelection) -> Source:
    from esewatch.sources.counters.disks import DisksSource

    return DisksSource(entry.name, interval=entry.interval, computer=entry.computer or "")


def _windows_log(entry: WindowsLog, settings: Settings, wanted: RecordSelection) -> Source:
    from esewatch.sources.logs.formats.event_builder import EventOptions
    from esewatch.sources.windows.windows_log import WindowsLogSource

    options = EventOptions(
        providers=tuple(settings.providers),
        computer=entry.computer or "",
        companions=wanted.companions,
    )
    return WindowsLogSource(entry.name, entry.channels, options, interval=entry.interval)


def _windows_counters(
    entry: WindowsCounters, _settings: Settings, _wanted: RecordSelection
) -> Source:
    from esewatch.sources.windows.windows_counters import WindowsCountersSource

    return WindowsCountersSource(
        entry.name, entry.counters, interval=entry.interval, computer=entry.computer or ""
    )


def _page_scan(entry: PageScan, settings: Settings, _wanted: RecordSelection) -> Source:
    from esewatch.sources.page_scan.page_scan_source import PageScanSource

    return PageScanSource(entry, settings)


def _kafka(entry: Kafka, settings: Settings, wanted: RecordSelection) -> Source:
    from esewatch.sources.kafka.kafka_source import KafkaSource
    from esewatch.sources.kafka.messages import MessageDecoder
    from esewatch.sources.logs.formats.event_builder import EventOptions

    options = EventOptions(
        providers=tuple(settings.providers),
        computer=entry.computer or "",
        timezone=entry.timezone,
        date_order=entry.date_order,
        companions=wanted.companions,
    )
    return KafkaSource(entry, settings, MessageDecoder(options))


KINDS: Mapping[str, SourceKind] = {
    "evtx": SourceKind(LogFiles, _evtx, _is_evtx),
    "perfmon_csv": SourceKind(LogFiles, _perfmon_csv, _is_perfmon_csv),
    "perfmon_blg": SourceKind(LogFiles, _perfmon_blg, _is_perfmon_blg),
    "eseutil_log": SourceKind(EseutilLogs, _eseutil_log, _is_eseutil_log),
    "sqlserver_errorlog": SourceKind(SqlserverLogs, _sqlserver_errorlog, _is_sqlserver_errorlog),
    "ntbackup_log": SourceKind(NtbackupLogs, _ntbackup_log, _is_ntbackup_log),
    "event_stream": SourceKind(LogFiles, _event_stream, _is_event_stream),
    "prometheus": SourceKind(Exporter, _exporter),
    "disks": SourceKind(Disks, _disks),
    "windows_log": SourceKind(WindowsLog, _windows_log, runs_programs=True),
    "windows_counters": SourceKind(WindowsCounters, _windows_counters, runs_programs=True),
    "page_scan": SourceKind(PageScan, _page_scan, runs_programs=True),
    "kafka": SourceKind(Kafka, _kafka, runs_programs=True),
}
"""By `type`. Recognised in this order: an event stream is any text."""
