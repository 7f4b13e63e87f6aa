"""The kinds of sources: how each is opened, and recognised by its content.

A kind of source is imported where one is asked for: a daemon has few kinds, and all of them
are 4 MB.
"""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import cast

from esefiles.base.globs import fits
from esewatch.config import Settings, SourceSettings
from esewatch.model import Source
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.kind import Described, RecordSelection, SourceKind

FILE_KINDS: Mapping[str, str] = {
    "evtx": "evtx.evtx_source",
    "perfmon_csv": "counters.perfmon_csv",
    "perfmon_blg": "counters.blg.perfmon_blg",
    "eseutil_log": "logs.eseutil_log",
    "sqlserver_errorlog": "logs.sqlserver_errorlog",
    "ntbackup_log": "logs.ntbackup_log",
    "event_stream": "logs.event_stream",
}
"""By `type` the module. Recognised in this order: an event stream is any text."""
PROGRAMS: Mapping[str, str] = {
    "windows_log": "windows.windows_log",
    "windows_counters": "windows.windows_counters",
    "page_scan": "page_scan.page_scan_source",
    "kafka": "kafka.kafka_source",
}
"""Kinds that work by programs of their own, for longer than a look."""
KINDS: Mapping[str, str] = {
    **FILE_KINDS,
    "prometheus": "counters.exporter",
    "disks": "counters.disks",
    **PROGRAMS,
}
"""By `type` the module, a `SourceKind` below this room."""

_USUAL = RecordSelection()


def _kind(name: str) -> SourceKind:
    return cast(SourceKind, import_module(f"esewatch.sources.{KINDS[name]}"))


def build_source(
    entry: SourceSettings, settings: Settings, wanted: RecordSelection = _USUAL
) -> Source:
    """The source of one entry, without `share_files`. Raises SourceError when it cannot be made."""
    return _kind(entry.type).open(entry, settings, wanted)


def describe(entry: SourceSettings, path: str, head: bytes) -> Described:
    """Facts in the beginning of a file of the entry. Raises SourceError."""
    kind = _kind(entry.type)
    return kind.describe(entry, path, head) if hasattr(kind, "describe") else Described()


def beside(entry: SourceSettings, settings: Settings) -> object:
    """The settings that the source uses besides its own entry."""
    kind = _kind(entry.type)
    return kind.beside(entry, settings) if hasattr(kind, "beside") else settings.providers


def build_sources(settings: Settings) -> list[Source]:
    """One source for each entry of `sources:`, in that order. Raises SourceError."""
    sources = [build_source(entry, settings) for entry in settings.sources]
    share_files(sources, settings)
    return sources


def share_files(sources: Sequence[Source], settings: Settings) -> None:
    """Let a file that the patterns of several entries find be read by the one whose kind it is. All
    that follow files share the number of files that the process may have open."""
    patterns: dict[str, list[str]] = {}
    """Kind -> the paths and patterns of its entries."""
    for entry in settings.sources:
        if entry.type in FILE_KINDS:
            patterns.setdefault(entry.type, []).extend(getattr(entry, "paths", ()))
    kinds = {entry.name: entry.type for entry in settings.sources}
    followers = sum(kind in FILE_KINDS for kind in kinds.values())
    for source in sources:
        if isinstance(source, FollowedFiles):
            source.share_open_files(followers)
            source.is_of_another = partial(_is_of_another, kinds[source.name], patterns)


def _is_of_another(own: str, patterns: Mapping[str, Sequence[str]], path: str, head: bytes) -> bool:
    rivals = {kind for kind, each in patterns.items() if any(fits(path, one) for one in each)}
    if rivals <= {own}:
        return False
    return kind_by_content(head, head[:16], among=rivals | {own}) not in (own, None)


def kind_by_content(head: bytes, stored: bytes, among: Collection[str] = FILE_KINDS) -> str | None:
    """The kind of a file that begins so (see `SourceKind.recognise`); None when it is none."""
    asked = (name for name in FILE_KINDS if name in among)
    return next((name for name in asked if _kind(name).recognise(head, stored)), None)
