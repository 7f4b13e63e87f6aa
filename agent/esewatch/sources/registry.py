"""The kinds of sources: how each is set, opened, and recognised by its content.

A kind of source is imported where one is asked for: a daemon has few kinds, and all of them
are 4 MB.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple

import msgspec

from esefiles.base.globs import fits
from esewatch import config
from esewatch.config import Settings, SourceSettings
from esewatch.model import Source, SourceError
from esewatch.sources.files.follow import FollowedFiles

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
    """Is a file that begins so (decompressed, as UTF-8; as stored) of this kind? None: the kind is
    not told by the content of a file."""
    runs_programs: bool = False
    """It works by programs of its own, for longer than a look."""


def build_sources(settings: Settings) -> list[Source]:
    """One source for each entry of `sources:`, in that order. Raises SourceError."""
    sources = [build_source(entry, settings) for entry in settings.sources]
    share_files(sources, settings)
    return sources


def share_files(sources: Sequence[Source], settings: Settings) -> None:
    """Let a file that the patterns of several entries find be read by the one whose kind it is. All
    that follow files share the number of files that the process may have open."""
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


def _member(place: str) -> Any:
    """The `module:name` below this room, imported now."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"esewatch.sources.{module}"), name)


def _option(name: str, entry: Any, settings: Settings, wanted: RecordSelection) -> Any:
    if name == "providers":
        return tuple(settings.providers)
    if name in wanted._fields:
        return getattr(wanted, name)
    value = getattr(entry, name)
    return value or "" if name in ("computer", "instance", "database") else value


def _by(place: str, names: str) -> Callable[[Any, Settings, RecordSelection], Source]:
    """Opens by what is at `place`, which takes the options of these names."""

    def opened(entry: Any, settings: Settings, wanted: RecordSelection) -> Source:
        options = {each: _option(each, entry, settings, wanted) for each in names.split()}
        source: Source = _member(place)(entry.name, **options)
        return source

    return opened


def _if(place: str) -> Callable[[bytes, bytes], bool]:
    """Recognises by what is at `place`, which takes the beginning as UTF-8."""
    return lambda head, _stored: bool(_member(place)(head))


def _is_evtx(head: bytes, stored: bytes) -> bool:
    return head.startswith(_EVENT_LOG) or stored.startswith(_EVENT_LOG)


def _exporter(entry: config.Exporter, _settings: Settings, _wanted: RecordSelection) -> Source:
    from esewatch.sources.counters.exporter import MAX_TIMEOUT, ExporterSource
    from esewatch.sources.counters.scrape import Target

    target = Target(
        url=entry.url,
        timeout=min(entry.interval, MAX_TIMEOUT),
        username=entry.basic_auth.username if entry.basic_auth else "",
        password_file=entry.basic_auth.password_file if entry.basic_auth else "",
        ca_file=entry.ca_file or "",
    )
    computer, interval = entry.computer or "", entry.interval
    try:
        return ExporterSource(
            entry.name, target, interval=interval, computer=computer, entries=entry.map
        )
    except SourceError as error:
        raise SourceError(f"{entry.name}: {error}") from error


def _windows_log(entry: config.WindowsLog, settings: Settings, wanted: RecordSelection) -> Source:
    from esewatch.sources.logs.formats.event_builder import EventOptions
    from esewatch.sources.windows.windows_log import WindowsLogSource

    names = ("providers", "computer", "companions")
    options = EventOptions(**{each: _option(each, entry, settings, wanted) for each in names})
    return WindowsLogSource(entry.name, entry.channels, options, interval=entry.interval)


def _page_scan(entry: config.PageScan, settings: Settings, _wanted: RecordSelection) -> Source:
    from esewatch.sources.page_scan.page_scan_source import PageScanSource

    return PageScanSource(entry, settings)


def _kafka(entry: config.Kafka, settings: Settings, wanted: RecordSelection) -> Source:
    from esewatch.sources.kafka.kafka_source import KafkaSource
    from esewatch.sources.kafka.messages import MessageDecoder
    from esewatch.sources.logs.formats.event_builder import EventOptions

    names = EventOptions.__struct_fields__
    options = EventOptions(**{each: _option(each, entry, settings, wanted) for each in names})
    return KafkaSource(entry, settings, MessageDecoder(options))


KINDS: Mapping[str, SourceKind] = {
    "evtx": SourceKind(
        config.LogFiles,
        _by("evtx.evtx_source:EvtxSource", "paths providers companions date_order computer"),
        _is_evtx,
    ),
    "perfmon_csv": SourceKind(
        config.LogFiles,
        _by("counters.perfmon_csv:perfmon_csv_source", "paths computer timezone ese_only"),
        _if("counters.perfmon_csv:is_perfmon_text"),
    ),
    "perfmon_blg": SourceKind(
        config.LogFiles,
        _by("counters.blg.perfmon_blg:perfmon_blg_source", "paths computer timezone ese_only"),
        _if("counters.blg.perfmon_blg:is_binary_log"),
    ),
    "eseutil_log": SourceKind(
        config.EseutilLogs,
        _by("logs.eseutil_log:EseutilLogSource", "paths computer database"),
        _if("logs.eseutil_log:is_eseutil_text"),
    ),
    "sqlserver_errorlog": SourceKind(
        config.SqlserverLogs,
        _by(
            "logs.sqlserver_errorlog:sqlserver_errorlog_source",
            "paths computer instance timezone date_order companions",
        ),
        _if("logs.sqlserver_errorlog:is_errorlog"),
    ),
    "ntbackup_log": SourceKind(
        config.NtbackupLogs,
        _by("logs.ntbackup_log:ntbackup_log_source", "paths computer timezone date_order encoding"),
        _if("logs.ntbackup_log:is_ntbackup_log"),
    ),
    "event_stream": SourceKind(
        config.LogFiles,
        _by(
            "logs.event_stream:event_stream_source",
            "paths providers computer timezone date_order companions",
        ),
        _if("logs.event_stream:recognise"),
    ),
    "prometheus": SourceKind(config.Exporter, _exporter),
    "disks": SourceKind(config.Disks, _by("counters.disks:DisksSource", "interval computer")),
    "windows_log": SourceKind(config.WindowsLog, _windows_log, runs_programs=True),
    "windows_counters": SourceKind(
        config.WindowsCounters,
        _by("windows.windows_counters:WindowsCountersSource", "counters interval computer"),
        runs_programs=True,
    ),
    "page_scan": SourceKind(config.PageScan, _page_scan, runs_programs=True),
    "kafka": SourceKind(config.Kafka, _kafka, runs_programs=True),
}
"""By `type`. Recognised in this order: an event stream is any text."""
