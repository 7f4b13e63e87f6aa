"""Checks of the files of a source: existence, read access, time zone and language."""

import glob
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from esefiles.base.globs import matches
from esewatch.cli.doctor.rights import (
    Account,
    Right,
    folders_above,
    granting,
    missing_rights,
    shell_word,
)
from esewatch.config import (
    EseutilLogs,
    FileSource,
    LogFiles,
    NtbackupLogs,
    PageScan,
    SourceSettings,
    SqlserverLogs,
)
from esewatch.ese.counters.counter_feeds import object_kind
from esewatch.ese.dates import DateOrder
from esewatch.expose.pages.problems.database_problems import LOGMAN
from esewatch.expose.pages.problems.problem import Problem, listed_names, quoted
from esewatch.model import Event, SourceError
from esewatch.sources.counters.blg.perfmon_blg import Look, look
from esewatch.sources.counters.pdh_clock import contradicted, log_zone
from esewatch.sources.counters.perfmon_csv import PerfmonDecoder
from esewatch.sources.counters.perfmon_header import PerfmonHeader, is_header, read_header
from esewatch.sources.files.decoder import NO_ZONE, Decoder
from esewatch.sources.files.follow import sniff
from esewatch.sources.logs.event_stream import decoder_factory
from esewatch.sources.logs.formats.decoder_state import read_decoder_state
from esewatch.sources.logs.formats.event_builder import EventOptions
from esewatch.sources.logs.sqlserver_errorlog import tells_offset

MOST_FILES = 10_000
"""Files of a source that are counted."""
MOST_ASKED = 200
"""Files of which it is asked whether they may be read: the youngest."""
MOST_MENDED = 8
"""Rights that one command gives."""
BINARY = ("evtx", "perfmon_blg")
"""Sources whose files are no text; what is in them tells the time in UTC or its zone."""
_ZONE_COMMAND = "tzutil /g"


def matching(entry: FileSource) -> list[str]:
    """The regular files of a source, the oldest first. Never opens one."""
    found: dict[str, int] = {}
    for pattern in entry.paths:
        names = [pattern] if _is_there(pattern) else matches(pattern)[:MOST_FILES]
        for name in names:
            try:
                state = Path(name).stat()
            except OSError:
                continue
            if stat.S_ISREG(state.st_mode):
                found[name] = state.st_mtime_ns
    return sorted(found, key=lambda name: found[name])


def of_files(entry: FileSource, account: Account, records: int) -> list[Problem]:
    """Of a source that took `records` in so far. Raises OSError, subprocess.SubprocessError."""
    files = matching(entry)
    barred = _barred(entry, files, account)
    if barred:
        return [_no_permission(entry, barred, account)]
    found = [*_absent(entry, files, records)]
    head = _head(entry, files)
    return [
        *found,
        *_time_zone(entry, files, head),
        *_date_order(entry, files, head),
        *_language(entry, files, head),
    ]


def _head(entry: FileSource, files: Sequence[str]) -> bytes:
    """The beginning of the youngest file, as UTF-8; empty where it cannot be read or is no text."""
    if not files or isinstance(entry, PageScan | EseutilLogs) or entry.type in BINARY:
        return b""
    try:
        return sniff(files[-1])[0]
    except SourceError:
        return b""


def _absent(entry: FileSource, files: Sequence[str], records: int) -> Iterator[Problem]:
    if files and not isinstance(entry, PageScan):
        for path in entry.paths:
            folder = str(Path(path).parent)
            gone = not glob.has_magic(folder) and not _is_there(folder)
            if gone or (not glob.has_magic(path) and path not in files):
                yield _nothing_at(entry, [path])
    elif not files and isinstance(entry, PageScan):
        # A snapshot comes and goes; one that was read was there.
        if not records:
            yield Problem(
                problem="snapshot_never",
                source=entry.name,
                sentence=f"nothing is at {listed_names(entry.paths)}, and no page of it was ever "
                "read: take the snapshot, or correct the path",
                command=_listing(entry.paths[0]) if entry.paths else "",
            )
    elif not files:
        yield _nothing_at(entry, entry.paths)


def _nothing_at(entry: FileSource, paths: Sequence[str]) -> Problem:
    what = "nothing is there"
    if _is_there(paths[0]) and Path(paths[0]).is_dir():
        what = f"that is a folder: name the files in it, such as {Path(paths[0]) / '*'}"
    elif _is_there(paths[0]):
        what = "that is not a regular file"
    return Problem(
        problem="path_matches_nothing",
        source=entry.name,
        sentence=f"{listed_names(paths)}: {what}",
        command=_listing(paths[0]),
    )


def _listing(path: str) -> str:
    folder = Path(path).parent
    while folder != folder.parent and not _is_there(str(folder)):
        folder = folder.parent
    return f"{'dir' if os.name == 'nt' else 'ls -l'} {shell_word(str(folder))}"


def _barred(entry: FileSource, files: Sequence[str], account: Account) -> list[Right]:
    asked: dict[Right, None] = {}
    for pattern in entry.paths:
        fixed = _fixed(pattern)
        asked.update(dict.fromkeys(("x", folder) for folder in folders_above(fixed)))
        if fixed != pattern:
            listed = [fixed, *_folders_matched(pattern, fixed)]
            asked.update(dict.fromkeys((mode, path) for path in listed for mode in "rx"))
    asked.update(dict.fromkeys(("r", path) for path in files[-MOST_ASKED:]))
    there = [(mode, path) for mode, path in asked if _is_there(path)]
    return missing_rights(account, there)


def _fixed(pattern: str) -> str:
    """The folder that the search for a pattern begins in; a path that is none as it is."""
    while glob.has_magic(pattern) and not _is_there(pattern):
        pattern = str(Path(pattern).parent)
    return pattern


def _folders_matched(pattern: str, fixed: str) -> list[str]:
    """Folders below `fixed` that must be listed to find what matches, as far as they are seen."""
    found: list[str] = []
    above = Path(pattern).parent
    while str(above) != fixed and above != above.parent:
        # `**` alone is the files below; folders at any depth are what `**/*` gives.
        names = matches(str(above / "*" if above.name == "**" else above))
        found = [*(each for each in names if Path(each).is_dir()), *found]
        above = above.parent
    return found[:MOST_ASKED]


def _is_there(path: str) -> bool:
    """False also where this account may not look; a NUL is in no name of a file."""
    try:
        Path(path).stat()
    except (OSError, ValueError):
        return False
    return True


def _no_permission(entry: FileSource, barred: Sequence[Right], account: Account) -> Problem:
    paths = list(dict.fromkeys(path for _, path in barred))
    return Problem(
        problem="no_permission",
        source=entry.name,
        sentence=f"{account.name} may not read {listed_names(paths)}"
        + (". The command is for the first of them" if len(barred) > MOST_MENDED else ""),
        command=granting(account, barred[:MOST_MENDED]),
    )


def _time_zone(entry: FileSource, files: Sequence[str], head: bytes) -> Iterator[Problem]:
    """Local times that are taken for UTC because no zone is configured, or the wrong one."""
    remarks = _remarks(entry, files[-1], head) if head else []
    if NO_ZONE in remarks:
        yield Problem(
            problem="time_zone_assumed",
            source=entry.name,
            sentence=f"the times in {files[-1]} are local and are taken for UTC, because their "
            "zone is not known. The command prints the zone of the server that it runs on",
            command=_ZONE_COMMAND,
            setting=f"timezone: Europe/Berlin   # in the source {quoted(entry.name)}",
        )
    zone = getattr(entry, "timezone", None) or ""
    if contradicted(zone) in remarks:
        yield Problem(
            problem="time_zone_contradicted",
            source=entry.name,
            sentence=f"the times in {files[-1]} {contradicted(zone)}. The command prints the zone "
            "of the server that it runs on",
            command=_ZONE_COMMAND,
            setting=f"timezone: Europe/Berlin   # in the source {quoted(entry.name)}",
        )


def _date_order(entry: FileSource, files: Sequence[str], head: bytes) -> Iterator[Problem]:
    """Dates that can be read in two ways: none in the beginning of the file has a day above 12."""
    if not head or not isinstance(entry, LogFiles) or entry.type != "event_stream":
        return
    try:
        times, guessed = _times(entry, files[-1], head)
        month_first = _times(entry, files[-1], head, "mdy")[0]
    except SourceError:
        return  # it is not text: the source itself says what it is
    if guessed:
        first, other = ("month", "dmy") if times == month_first else ("day", "mdy")
        yield Problem(
            problem="date_order_assumed",
            source=entry.name,
            sentence=f"the dates in {files[-1]} can have the month or the day first, and none of "
            f"the first ones proves which. They are read with the {first} first",
            setting=f"date_order: {other}   # in the source {quoted(entry.name)}, if that is wrong",
        )


def _language(entry: FileSource, files: Sequence[str], head: bytes) -> Iterator[Problem]:
    """A counter log with columns of which none is a counter of ESE as it is known here."""
    logged = _logged(entry, files, head)
    if logged is None or logged.feeds:
        return
    objects = sorted({name for name, _ in logged.counters})
    foreign = [name for name in objects if "==>" in name and object_kind(name) is None]
    what = "none of its objects has an English name" if foreign else "no counter of ESE is in it"
    yield Problem(
        problem="counters_foreign",
        source=entry.name,
        sentence=f"{files[-1]}: {what} ({listed_names(foreign or objects)}). windows_exporter "
        "names them in English on every Windows"
        if foreign
        else f"{files[-1]}: {what} ({listed_names(objects)}): log those of ESE too",
        command="" if foreign else LOGMAN.format("MSExchange Database"),
        setting="sources: [{type: prometheus, url: 'http://ex01:9182/metrics', computer: ex01}]"
        if foreign
        else "",
    )


def _logged(entry: FileSource, files: Sequence[str], head: bytes) -> Look | None:
    """Counters of the youngest counter log; None where it has no counters, or is none."""
    if isinstance(entry, LogFiles) and entry.type == "perfmon_blg" and files:
        try:
            found = look(files[-1])
        except SourceError:
            return None  # the source itself says what it is
        return found if found.counters else None
    header = _perfmon_header(entry, head)
    if header is None:
        return None
    names = sorted({(column.object, column.counter) for column in header.columns})
    return Look(names, any(column.feed for column in header.columns), None)


def _perfmon_header(entry: FileSource, head: bytes) -> PerfmonHeader | None:
    if not isinstance(entry, LogFiles) or entry.type != "perfmon_csv":
        return None
    whole = [line for line in head.split(b"\n")[:-1] if is_header(line)]
    header = read_header(whole[0]) if whole else None
    return header if header is not None and header.columns else None


def _remarks(entry: SourceSettings, path: str, head: bytes) -> list[str]:
    """Remarks on the times in the beginning of a file (`Batch.remarks`)."""
    zone = getattr(entry, "timezone", None)
    if isinstance(entry, NtbackupLogs):
        return [] if zone else [NO_ZONE]
    if isinstance(entry, SqlserverLogs):
        return [] if zone or tells_offset(head) else [NO_ZONE]
    if not isinstance(entry, LogFiles) or entry.type in BINARY:
        return []
    try:
        return _decoder(entry, path, head, zone).feed(_lines(head), final=True).remarks
    except SourceError:
        return []  # it is not text: the source itself says what it is


def _decoder(
    entry: LogFiles, path: str, head: bytes, zone: str | None, order: DateOrder | None = None
) -> Decoder:
    if entry.type == "perfmon_csv":
        return PerfmonDecoder(b"", computer="", zone=log_zone(zone), ese_only=True)
    options = EventOptions(
        computer=entry.computer or "",
        timezone=zone,
        date_order=entry.date_order or order,
        companions=True,
    )
    return decoder_factory(options)(path, head, b"")


def _lines(head: bytes) -> bytes:
    return head[: head.rfind(b"\n") + 1]


def _times(
    entry: LogFiles, path: str, head: bytes, order: DateOrder | None = None
) -> tuple[list[float | None], bool]:
    """The times of the events in the beginning of a file. And whether day and month are in a usual
    order that nothing proves."""
    decoder = _decoder(entry, path, head, "UTC", order)
    fed = decoder.feed(_lines(head), final=True)
    state = read_decoder_state(decoder.save())
    guessed = state is not None and state.maker.times.guessed
    return [each.time for each in fed.records if isinstance(each, Event)], guessed
