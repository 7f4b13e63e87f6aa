"""Sources from the configuration.

A kind of source is imported only where one is configured: a daemon has few kinds, and all of them
together take 4 MB.
"""

from esewatch.config import (
    Disks,
    EseutilLogs,
    Exporter,
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


def build_sources(settings: Settings) -> list[Source]:
    """One source for each entry of `sources:`, in that order. Raises SourceError."""
    return [build_source(entry, settings) for entry in settings.sources]


def build_source(entry: SourceSettings, settings: Settings) -> Source:
    """The source of one entry. Raises SourceError when it cannot be made here."""
    match entry:
        case LogFiles():
            return _log_files(entry, settings)
        case Exporter():
            return _exporter(entry)
        case Disks():
            return _disks(entry)
        case EseutilLogs():
            return _eseutil_logs(entry)
        case SqlserverLogs():
            return _sqlserver_logs(entry)
        case NtbackupLogs():
            return _ntbackup_logs(entry)
        case PageScan():
            return _page_scan(entry, settings)
        case WindowsLog():
            return _windows_log(entry, settings)
        case WindowsCounters():
            return _windows_counters(entry)


def _disks(entry: Disks) -> Source:
    from esewatch.sources.counters.disks import DisksSource

    return DisksSource(entry.name, interval=entry.interval, computer=entry.computer or "")


def _eseutil_logs(entry: EseutilLogs) -> Source:
    from esewatch.sources.logs.eseutil_log import EseutilLogSource

    return EseutilLogSource(
        entry.name, entry.paths, computer=entry.computer, database=entry.database or ""
    )


def _page_scan(entry: PageScan, settings: Settings) -> Source:
    from esewatch.sources.page_scan.page_scan_source import PageScanSource

    return PageScanSource(entry, settings)


def _windows_counters(entry: WindowsCounters) -> Source:
    from esewatch.sources.windows.windows_counters import WindowsCountersSource

    return WindowsCountersSource(
        entry.name, entry.counters, interval=entry.interval, computer=entry.computer or ""
    )


def _windows_log(entry: WindowsLog, settings: Settings) -> Source:
    from esewatch.sources.logs.formats.event_builder import Options
    from esewatch.sources.windows.windows_log import WindowsLogSource

    options = Options(
        providers=tuple(settings.providers), computer=entry.computer or "", companions=True
    )
    return WindowsLogSource(entry.name, entry.channels, options, interval=entry.interval)


def _log_files(entry: LogFiles, settings: Settings) -> Source:
    computer = entry.computer or ""
    if entry.type == "evtx":
        from esewatch.sources.evtx.evtx_source import EvtxSource

        return EvtxSource(
            entry.name,
            entry.paths,
            providers=settings.providers,
            companions=True,
            date_order=entry.date_order,
            computer=computer,
        )
    if entry.type == "perfmon_csv":
        from esewatch.sources.counters.perfmon_csv import perfmon_csv_source

        return perfmon_csv_source(
            entry.name, entry.paths, computer=computer, timezone=entry.timezone, ese_only=True
        )
    from esewatch.sources.logs.event_stream import event_stream_source

    return event_stream_source(
        entry.name,
        entry.paths,
        providers=settings.providers,
        computer=computer,
        timezone=entry.timezone,
        date_order=entry.date_order,
        companions=True,
    )


def _sqlserver_logs(entry: SqlserverLogs) -> Source:
    from esewatch.sources.logs.sqlserver_errorlog import sqlserver_errorlog_source

    return sqlserver_errorlog_source(
        entry.name,
        entry.paths,
        computer=entry.computer,
        instance=entry.instance or "",
        timezone=entry.timezone,
        date_order=entry.date_order,
    )


def _ntbackup_logs(entry: NtbackupLogs) -> Source:
    from esewatch.sources.logs.ntbackup_log import ntbackup_log_source

    return ntbackup_log_source(
        entry.name,
        entry.paths,
        computer=entry.computer or "",
        timezone=entry.timezone,
        date_order=entry.date_order,
        encoding=entry.encoding,
    )


def _exporter(entry: Exporter) -> Source:
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
