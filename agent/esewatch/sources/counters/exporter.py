"""A windows_exporter, or another endpoint with metrics in the Prometheus format.

A thread scrapes, so that a dead exporter delays nothing; `poll` returns the results. Rates of
perfmon come as the running counts behind them, levels as levels.
"""

import contextlib
import math
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Set
from typing import NamedTuple
from urllib.parse import urlsplit

import msgspec

from esefiles.base import crash
from esewatch.config import Exporter, Settings
from esewatch.ese.counters.counter_feeds import OwnInstances, present
from esewatch.fold.readings import grown
from esewatch.model import (
    Batch,
    CountersSeen,
    Reading,
    Record,
    SourceError,
    Unreadable,
    VolumesSeen,
)
from esewatch.sources.counters.exporter_map import VOLUME_INFO, Shown, is_instances, read_map
from esewatch.sources.counters.exposition import BadLine, Sample, samples
from esewatch.sources.counters.poll_timer import PollTimer, SampleClock
from esewatch.sources.counters.scrape import Page, Target, scrape
from esewatch.sources.kind import RecordSelection

MAX_TIMEOUT = 10.0
GRACE = 5.0
"""Seconds beyond the timeout before a scrape that does not end is reported."""
MAX_READINGS = 20_000
BATCH = 2000
MAX_TOLD = 1000
MAX_FAULTS = 20
MAX_INSTANCE = 256
MAX_AHEAD = 300.0
"""Seconds that the clock of the exporter may be ahead of this one."""
_SHORT = 60
_COUNTED = "counted"
"""Position beside that of the clock: the series whose running total was above 0."""
_SAVED_SECONDS = 3600.0
"""A value of an hour ago shows as well that a total began again."""

_DRIVE = re.compile(r"[A-Za-z]:(?:\\|$)")


class Scraped(NamedTuple):
    """The result of one scrape, or the reason why it has none."""

    batches: list[Batch]
    failure: str = ""


def open(entry: Exporter, _settings: Settings, _wanted: RecordSelection) -> "ExporterSource":
    login, interval = entry.basic_auth, entry.interval
    target = Target(
        url=entry.url,
        timeout=min(interval, MAX_TIMEOUT),
        username=login.username if login else "",
        password_file=login.password_file if login else "",
        ca_file=entry.ca_file or "",
    )
    computer = entry.computer or ""
    try:
        return ExporterSource(
            entry.name, target, interval=interval, computer=computer, entries=entry.map
        )
    except SourceError as error:
        raise SourceError(f"{entry.name}: {error}") from error


class ExporterSource:
    """Scrapes `target` every `interval` seconds.

    `computer`: default the host of the address. `entries`: metric -> `object\\counter`, over the
    shipped map.
    """

    def __init__(
        self,
        name: str,
        target: Target,
        *,
        interval: float,
        computer: str = "",
        entries: Mapping[str, str] | None = None,
        pace: PollTimer | None = None,
        clock: SampleClock | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name = name
        self._target = target
        self._computer = computer or urlsplit(target.url).hostname or ""
        self._reader = _Reader(self._computer, target.shown, read_map(entries or {}))
        self._pace = pace or PollTimer(interval)
        self._clock = clock or SampleClock()
        self._monotonic = monotonic
        self._thread: threading.Thread | None = None
        self._began = 0.0
        self._result: Scraped | None = None
        self._failure = ""
        self._heard = False

    def restore(self, positions: Mapping[str, bytes]) -> None:
        """Continue the times after the last sample, and know which running totals were above 0."""
        self._clock.restore(positions)
        self._reader.restore(positions.get(_COUNTED, b""))

    def poll(self, *, final: bool = False) -> Iterator[Batch]:
        """Return the result of the last scrape; start the next one when it is due.

        Raises SourceError while the last scrape failed; the next one then starts at once. Before
        the first one has ended the source is not caught up.
        """
        batches: list[Batch] = []
        if (result := self._finished()) is not None:
            self._heard = True
            batches, self._failure = result
            if self._failure:
                self._pace.again()
        if self._thread is None:
            if self._pace.due():
                self._start()
        elif self._monotonic() - self._began > self._target.timeout + GRACE:
            self._failure = f"{self._target.shown}: no answer, not even from the name service"
        if self._failure:
            raise SourceError(self._failure)
        if not batches:
            yield Batch(caught_up=self._heard)
            return
        counted = self._reader.positions(self._monotonic())
        batches[-1].positions = {**self._clock.positions(), **counted}
        batches[-1].caught_up = True
        yield from batches

    def _start(self) -> None:
        self._began = self._monotonic()
        began = self._clock.next()
        self._thread = threading.Thread(target=self._scrape, args=(began,), daemon=True)
        self._thread.start()

    def _scrape(self, began: float) -> None:
        try:
            self._result = Scraped(self._reader.read(began, scrape(self._target)))
        except SourceError as error:
            self._result = Scraped([], str(error))
        except Exception as error:  # a defect must not end in silence
            crash.if_short(error)
            reason = f"unexpected {type(error).__name__}: {error}"
            self._result = Scraped([], f"{self._target.shown}: {reason}")

    def _finished(self) -> Scraped | None:
        """The result of a scrape that has ended since the last look."""
        if self._thread is None or self._thread.is_alive():
            return None
        self._thread = None
        result, self._result = self._result, None
        return result

    def close(self) -> None:
        """Close; a scrape in progress ends by its own time limit and is not awaited."""


class _Reader:
    """Pages into records. Remembers its complaints, so that each is logged once."""

    def __init__(self, computer: str, url: str, shown: Mapping[str, Shown]) -> None:
        self._computer = computer
        self._url = url
        self._shown = shown
        self._told: set[str] = set()
        self._counted: dict[tuple[str, str], float] = {}
        """Running totals (metric, instance) that were above 0, and what they were."""
        self._saved: Set[tuple[str, str]] = frozenset()
        self._saved_at = 0.0
        """Those that the journal has, with values of that time."""
        self._restarted: set[str] = set()
        self._held: list[tuple[str, str]] = []
        """Of one page: instances that began again, and zeros that were not handed on."""
        self._present: dict[str, bool] = {}
        self._volumes: dict[str, str] | None = None

    def restore(self, saved: bytes) -> None:
        """Restore the running totals that were above 0; what cannot be read is left out."""
        with contextlib.suppress(msgspec.MsgspecError):
            rows = msgspec.msgpack.decode(saved, type=list[tuple[str, str, float]])
            self._counted = {(metric, instance): value for metric, instance, value in rows}
            self._saved = frozenset(self._counted)

    def positions(self, now: float) -> dict[str, bytes | None]:
        """The position for `restore`, where its series are not those handed out last, or its values
        are an hour old (`now`: monotonic seconds)."""
        if self._counted.keys() == self._saved and now < self._saved_at + _SAVED_SECONDS:
            return {}
        self._saved, self._saved_at = frozenset(self._counted), now
        rows = [(*series, value) for series, value in sorted(self._counted.items())]
        return {_COUNTED: msgspec.msgpack.encode(rows)}

    def read(self, time: float, page: Page) -> list[Batch]:
        """The records of one page in batches. Raises SourceError when it is no such text."""
        found: list[Reading] = []
        unreadable: list[Unreadable] = []
        seen: set[tuple[str, str]] = set()
        disks: dict[str, set[str]] = {}
        read = bad = 0
        for item in samples(page, lambda name: name in self._shown or name == VOLUME_INFO):
            if isinstance(item, BadLine):
                bad += 1
                self._tell(unreadable, item.text[:_SHORT], f"line {item.number}", item.reason)
                continue
            read += 1
            if item is None:
                continue
            if item.name == VOLUME_INFO:
                self._volume(item, disks)
            elif reading := self._reading(item, time, unreadable):
                if is_instances(self._shown[item.name]):
                    seen.add((reading.object, reading.counter))
                if len(found) == MAX_READINGS:
                    reason = f"more than {MAX_READINGS} counters, the rest is not read"
                    self._tell(unreadable, reason, "", reason)
                    break
                found.append(reading)
        for series in self._held:
            if series[1] in self._restarted:
                self._counted.pop(series, None)
        self._held.clear()
        self._restarted.clear()
        if not read and bad:
            raise SourceError(f"{self._url}: its answer is not in the Prometheus text format")
        own = OwnInstances()
        for each in found:
            own.add(each.computer, each.instance)
        found = [each for each in found if not own.replace(each.computer, each.instance, each.feed)]
        records: list[Record] = [
            *self._seen(time, seen),
            *self._changed_volumes(time, disks),
            *found,
        ]
        batches = [Batch(records=records[at : at + BATCH]) for at in range(0, len(records), BATCH)]
        batches = batches or [Batch()]
        batches[0].unreadable = unreadable
        return batches

    def _tell(self, unreadable: list[Unreadable], key: str, place: str, reason: str) -> None:
        """Complain once for each key, a few times for each page: most faults come with every
        scrape."""
        if key not in self._told and len(self._told) < MAX_TOLD and len(unreadable) < MAX_FAULTS:
            self._told.add(key)
            unreadable.append(Unreadable(path=self._url, place=place, reason=reason))

    def _reading(self, sample: Sample, time: float, unreadable: list[Unreadable]) -> Reading | None:
        shown = self._shown[sample.name]
        feed = shown.feed(sample.labels)
        if feed is None or len(feed.name) > MAX_INSTANCE:
            return None
        if reason := _unfit(shown, sample, time):
            self._tell(unreadable, sample.name, sample.name, reason)
            return None
        instance = shown.instance(sample.labels)
        if shown.kind == "total":
            # The exporter writes 0 for a counter that Windows did not give it this time. Held
            # back, a true restart is seen as well: at the next sample, which is below the last.
            # Then what else of the instance is 0 did begin there.
            series = (sample.name, instance)
            before = self._counted.get(series)
            if sample.value > 0 and (before is not None or len(self._counted) < MAX_READINGS):
                self._counted[series] = sample.value
                if before is not None and grown(before, sample.value) == sample.value:
                    self._restarted.add(instance)
            elif sample.value == 0 and before is not None:
                self._held.append(series)
                return None
        return Reading(
            time=time if sample.time is None else sample.time,
            computer=self._computer,
            object=shown.object,
            counter=shown.counter,
            instance=instance,
            value=sample.value,
            kind=shown.kind,
            feed=feed,
        )

    def _volume(self, sample: Sample, disks: dict[str, set[str]]) -> None:
        """Note the disks of a volume with a drive letter; several are separated by semicolons."""
        volume = sample.labels.get("volume", "")
        if _DRIVE.match(volume):
            below = sample.labels.get("disk", "").split(";")
            disks.setdefault(volume.lower().rstrip("\\"), set()).update(below)

    def _changed_volumes(self, time: float, disks: dict[str, set[str]]) -> Iterator[VolumesSeen]:
        # A volume over several disks is on none of them alone.
        devices = {
            volume: next(iter(below))
            for volume, below in disks.items()
            if len(below) == 1 and "" not in below
        }
        if disks and devices != self._volumes:
            self._volumes = devices
            yield VolumesSeen(time=time, computer=self._computer, devices=devices)

    def _seen(self, time: float, seen: set[tuple[str, str]]) -> Iterator[CountersSeen]:
        groups = present(seen)
        if groups and groups != self._present:
            self._present = groups
            yield CountersSeen(time=time, computer=self._computer, present=groups)


def _unfit(shown: Shown, sample: Sample, time: float) -> str:
    """Reason why the value of a sample cannot be taken, empty when it can."""
    if not math.isfinite(sample.value):
        return "is not a number"
    if sample.time is not None and not 0 <= sample.time <= time + MAX_AHEAD:
        return "its time is in the future or is not valid"
    if shown.counts and sample.type != "counter":
        return (
            "a running count is expected; this may be a formatted rate: "
            "set `type: counter` for it in windows_exporter, with `type: raw` of its object"
        )
    if shown.kind == "total" and sample.value < 0:
        return "a running count is below 0"
    return ""
