"""Binary counter logs of Performance Monitor (.blg), as they grow and rotate.

Totals are taken as they are stored, not integrated from rates.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from esewatch.model import Reading, Source, SourceError
from esewatch.sources.counters.blg.blg_decoder import BlgDecoder
from esewatch.sources.counters.blg.buffer_file import BufferFile
from esewatch.sources.counters.blg.buffers import buffer_size
from esewatch.sources.counters.blg.trace_header import COMPRESSED
from esewatch.sources.counters.pdh_clock import log_zone
from esewatch.sources.files.decoder import Decoder
from esewatch.sources.files.follow import FollowedFiles
from esewatch.sources.files.raw_file import open_raw

NO_LOG: Final = "not a binary counter log of Performance Monitor (.blg)"


def perfmon_blg_source(
    name: str,
    paths: Sequence[str],
    *,
    computer: str = "",
    timezone: str | None = None,
    ese_only: bool = False,
) -> Source:
    """A source over binary counter logs named by `paths` (paths and globs).

    `computer`: for counters that name no machine. `timezone` (zoneinfo name): of a log in which no
    clock tells the time in UTC. `ese_only`: only the counters that feed a metric. Raises
    SourceError when the time zone is unknown.
    """
    zone = log_zone(timezone)

    def factory(path: str, head: bytes, saved: bytes) -> Decoder:
        if not is_binary_log(head):
            raise SourceError(f"{path}: {NO_LOG}")
        decoder = BlgDecoder(head, saved, computer=computer, zone=zone, ese_only=ese_only)
        if not saved:
            _refuse_others(path, head, decoder)
        return decoder

    def first_time(_path: str, head: bytes) -> float | None:
        if not is_binary_log(head):
            return None
        decoder = BlgDecoder(head, b"", computer=computer, zone=zone, ese_only=True)
        decoder.feed(head, final=True)
        return decoder.began

    return FollowedFiles(name, paths, factory, order=first_time, form=BufferFile)


class Look(NamedTuple):
    """Facts in the beginning of a log."""

    counters: list[tuple[str, str]]
    """Objects and counters."""
    feeds: bool
    """True if one of them feeds a metric."""
    zone: tuple[str, int] | None
    """Name of the time zone, empty where it is not known, and minutes west of UTC."""


def look(path: str) -> Look:
    """Look at a log up to its first sample. Raises SourceError."""
    try:
        raw = open_raw(path)
        try:
            head = BufferFile.beginning(raw)
        finally:
            raw.close()
    except OSError as error:
        raise SourceError(f"{path}: {error.strerror or error}") from error
    if not is_binary_log(head):
        raise SourceError(f"{path}: {NO_LOG}")
    decoder = BlgDecoder(head, b"", computer="", zone=None, ese_only=False)
    readings = [
        each for each in decoder.feed(head, final=True).records if isinstance(each, Reading)
    ]
    zone = None
    if decoder.west is not None:
        zone = (decoder.header.zone_name if decoder.header else "", decoder.west // 60)
    return Look(
        sorted({(entry.object, entry.counter) for entry in decoder.entries}),
        any(each.feed for each in readings),
        zone,
    )


def is_binary_log(head: bytes) -> bool:
    """Does a file that begins with `head` have the form of a binary counter log?

    Other event traces (.etl) have it too; what is in them is seen behind the first buffer.
    """
    return buffer_size(head) > 0


def _refuse_others(path: str, head: bytes, decoder: BlgDecoder) -> None:
    if decoder.header is not None and decoder.header.mode & COMPRESSED:
        raise SourceError(
            f"{path}: a compressed event trace, which is not read here; convert it on Windows: "
            f'relog "{path}" -f csv -o "{path}.csv"'
        )
    if len(head) >= 2 * buffer_size(head) and not decoder.is_counter_log:
        raise SourceError(f"{path}: an event trace (.etl) without counters")
