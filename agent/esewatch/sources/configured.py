"""Sources from the configuration."""

from esewatch.config import (
    Disks,
    EseutilLogs,
    Exporter,
    LogFiles,
    Settings,
    SourceSettings,
    WindowsCounters,
    WindowsLog,
)
from esewatch.model import Source, UnsupportedError
from esewatch.sources.event_stream import event_stream_source
from esewatch.sources.evtx import EvtxSource
from esewatch.sources.perfmon_csv import perfmon_csv_source


def build_sources(settings: Settings) -> list[Source]:
    """One source for each entry of `sources:`, in that order. Raises SourceError."""
    return [build_source(entry, settings) for entry in settings.sources]


def build_source(entry: SourceSettings, settings: Settings) -> Source:
    """The source of one entry. Raises SourceError when it cannot be made here."""
    match entry:
        case LogFiles():
            return _log_files(entry, settings)
        case EseutilLogs() | Exporter() | Disks() | WindowsLog() | WindowsCounters():
            raise UnsupportedError(f"{entry.name}: {entry.type} is not available in this version")


def _log_files(entry: LogFiles, settings: Settings) -> Source:
    computer = entry.computer or ""
    if entry.type == "evtx":
        return EvtxSource(
            entry.name,
            entry.paths,
            providers=settings.providers,
            companions=True,
            date_order=entry.date_order,
            computer=computer,
        )
    if entry.type == "perfmon_csv":
        return perfmon_csv_source(
            entry.name, entry.paths, computer=computer, timezone=entry.timezone, ese_only=True
        )
    return event_stream_source(
        entry.name,
        entry.paths,
        providers=settings.providers,
        computer=computer,
        timezone=entry.timezone,
        date_order=entry.date_order,
        companions=True,
    )
