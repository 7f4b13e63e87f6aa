"""One passive copy at work: logs are shipped to it and replayed in batches, until it is closed.

With the cache dropped after each batch it is that of Exchange 2007, whose recovery ended then;
with the cache kept it is that of SP1, whose instance is paused (published-facts P1). That of a
current engine may be scanned meanwhile.
"""

import shutil
from pathlib import Path
from typing import Final

import msgspec

from eselab.base.clock import Clock
from eselab.base.plan import CopyPlan, DatabasePlan
from eselab.disk.device import Storage
from eselab.disk.disk import Disk, RealDisk
from eselab.disk.metered import Meter, MeteredDisk
from eselab.logs.counter_log import Sample
from eselab.logs.counters import Counters
from eselab.logs.reports import Reports
from eselab.logs.reports_current import PassiveReports
from eselab.maintenance.background import Background
from eselab.maintenance.background_scan import PassiveScan
from eselab.maintenance.copy_scan import ScannedCopy
from eselab.maintenance.schedule import Task
from eselab.storage.database_header import DatabaseHeader
from eselab.storage.store import Store
from eselab.storage.transaction_log.log import LogError, begin_of, kept, log_name
from eselab.storage.transaction_log.log_replay import Horizon, LogReplay, seed, ship

_NONE: Final = 1 << 40
"""A generation that no log comes to."""


class CopySetting(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of a copy. `folder` is its own, `source` that of the active copy.

    `device` is where it lies, `source_device` where the active one does; `slow`: seconds of a slow
    request.
    """

    plan: CopyPlan
    database: DatabasePlan
    folder: Path
    source: Path
    clock: Clock
    device: Storage
    source_device: Storage
    reports: Reports
    durable: bool
    slow: float


class PassiveCopy:
    """A copy of a database that another computer has active. Open it before all else."""

    def __init__(self, setting: CopySetting) -> None:
        self.meter = Meter()
        self.path = str(setting.folder / setting.database.file)
        """Of the database file, as the logs name it."""
        self._setting = setting
        self._clock = setting.clock
        self._reports = setting.reports
        self._drops = setting.plan.cache == "drop"
        self._depth = 0 if self._drops else setting.database.checkpoint_depth
        self._counters = Counters()
        self._source = RealDisk(setting.source, durable=setting.durable)
        self._replay: LogReplay | None = None
        self._horizon = Horizon()
        self._closing = False
        self._background: Background | None = None
        self._shipping = self._work()

    def hold(self) -> int:
        """The first generation that the active copy must keep for it."""
        if self._replay is not None:
            return self._replay.shipped + 1
        folder = self._setting.folder
        # The last one that is there may have been cut off.
        return max(kept(self._disk()), default=0) if folder.exists() else _NONE

    def open(self, active: Store) -> None:
        """Go on with the file that is there, else with one that is seeded from `active`.

        A file that the logs of `active` do not lead on from is seeded anew. `active` was opened
        just now: all its pages are on disk. Raises what Replay.open does, OSError.
        """
        began = self._clock.now()
        self._reports.instance_starting()
        if not self._setting.folder.exists():
            self._seed(active)
        self._replay = self._opened()
        if not self._leads_on(active):
            self._give_up_scan(self._replay.header)
            self._replay.close()
            self._seed(active)
            self._replay = self._opened()
        self._active = active
        self._horizon.note(*active.log_positions)
        seconds = self._clock.now() - began
        self._reports.instance_started(seconds)
        self._reports.database_attached(seconds)
        if not self._drops:
            self._reports.recovery_begun()
        if self._setting.plan.scan:
            # What a crash tore is not to be taken for bad: the logs have it (see check_pages).
            for _ in self._batch(least=1, depth=0):
                pass
            self._background = self._scanned(self._replay)

    def tasks(self) -> list[Task]:
        """The tasks for the schedule, once it is open."""
        scan = [] if self._background is None else self._background.tasks
        return [self._shipping, *scan]

    def sample(self) -> Sample:
        """The counters as they are now: all requests are those of a recovery."""
        replay = self._opened_replay()
        return Sample(
            instance=self._setting.database.name,
            counters=self._counters,
            meter=self.meter,
            cache_bytes=replay.cache_bytes,
            checkpoint_depth=replay.checkpoint_depth,
            log_generation=replay.shipped,
            duration=self._duration(),
            recovers=True,
        )

    def close(self) -> None:
        """Ship and replay all closed logs, and let go of the file. Close the active copy first."""
        self._closing = True
        for _ in self._shipping:
            pass
        if self._background is not None:
            self._background.close()
        for _ in self._named(self._batch(least=1, depth=self._depth)):
            pass
        began = self._clock.now()
        self._opened_replay().close()
        if not self._drops:
            self._reports.recovery_done()
        self._reports.database_detached(self._clock.now() - began)
        self._reports.instance_stopped()

    def _scanned(self, replay: LogReplay) -> Background:
        setting, day = self._setting, self._setting.database.window.period
        assert isinstance(self._reports, PassiveReports)
        scan = PassiveScan(
            ScannedCopy(replay, setting.clock, day=day),
            self._reports,
            self._counters,
            setting.clock,
            pace=setting.plan.scan_pace or setting.database.scan_pace,
            day=day,
        )
        return Background(setting.clock, day, scan=scan, defrag=None)

    def _give_up_scan(self, header: DatabaseHeader) -> None:
        """The file is to be seeded anew, and the pass that is open is of the old one."""
        if header.scan_started and isinstance(self._reports, PassiveReports):
            self._reports.checksum_given_up(header.scan_finished)

    def _duration(self) -> int | None:
        """Value of the counter of the scan's duration; None: an engine of 2007 has none."""
        if self._setting.database.generation != "current":
            return None
        return 0 if self._background is None else self._background.duration

    def _opened_replay(self) -> LogReplay:
        assert self._replay is not None
        return self._replay

    def _disk(self) -> Disk:
        return RealDisk(self._setting.folder, durable=self._setting.durable)

    def _opened(self) -> LogReplay:
        setting = self._setting
        disk = MeteredDisk(
            self._disk(),
            setting.clock,
            self.meter,
            device=setting.device,
            slow=setting.slow,
            watcher=setting.reports,
            path=lambda name: str(setting.folder / name),
        )
        return LogReplay.open(
            disk,
            setting.database.file,
            cache_pages=setting.plan.cache_pages or setting.database.cache_pages,
            watcher=setting.reports,
            time=setting.clock.now,
        )

    def _leads_on(self, active: Store) -> bool:
        """True if the logs of the active copy, shipped or to come, go on from this file."""
        replay = self._opened_replay()
        if replay.header.signature != active.header.signature:
            return False
        return min(kept(self._source)) <= replay.shipped + 1 <= active.log_generation

    def _seed(self, active: Store) -> None:
        """Beside its place until it is whole: a kill in between leaves nothing that is opened."""
        folder, durable = self._setting.folder, self._setting.durable
        beside = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(beside, ignore_errors=True)
        if folder.exists():
            folder.rename(beside)
            shutil.rmtree(beside)
        beside.mkdir(parents=True)
        seed(
            self._source,
            RealDisk(beside, durable=durable),
            self._setting.database.file,
            active.header,
            active.log_positions[1],
        )
        beside.rename(folder)
        RealDisk(folder.parent, durable=durable).sync()

    def _work(self) -> Task:
        while not self._closing:
            yield self._setting.plan.batch
            if not self._closing:
                batch = self._batch(least=self._setting.plan.batch_logs, depth=self._depth)
                yield from self._named(batch)

    def _named(self, batch: Task) -> Task:
        """A batch whose failure names the copy. Raises LogError."""
        try:
            yield from batch
        except LogError as error:
            raise LogError(f"{self.path}: {error}") from error

    def _batch(self, *, least: int, depth: int) -> Task:
        """Ship the logs that are closed, and replay all where at least so many wait.

        For `depth` see Replay.rest.
        """
        replay = self._opened_replay()
        if replay.waiting + self._active.log_generation - 1 - replay.shipped < least:
            return
        self._horizon.note(*self._active.log_positions)
        while replay.shipped < self._active.log_generation - 1:
            self._ship(replay)
            yield 0.0
        if self._drops:
            self._reports.recovery_begun()
        yield from self._replay_all(replay, depth)
        if self._drops:
            replay.drop_cache()
            self._reports.recovery_done()

    def _replay_all(self, replay: LogReplay, depth: int) -> Task:
        replay.begin()
        while replay.waiting:
            generation = replay.log()
            self._reports.log_replayed(str(self._setting.folder / log_name(generation)))
            yield 0.0
        replay.rest(depth=depth, limit=self._horizon.limit(begin_of(replay.next)))

    def _ship(self, replay: LogReplay) -> None:
        """The next log, read and written as a file: no engine counts that."""
        name, setting = log_name(replay.shipped + 1), self._setting
        shipped = ship(self._source, self._disk(), replay.shipped + 1)
        replay.arrived(shipped)
        setting.source_device.use(str(setting.source / name), 0, shipped.bytes)
        setting.device.use(str(setting.folder / name), 0, shipped.bytes, write=True)
