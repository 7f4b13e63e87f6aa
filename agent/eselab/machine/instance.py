"""One database at work: made, opened, used, maintained in its window, closed."""

import math
import os
import random
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import msgspec

from eselab.base.clock import Clock
from eselab.base.plan import ROUNDING, DatabasePlan, FaultKind, opening
from eselab.disk.device import Storage
from eselab.disk.disk import RealDisk
from eselab.disk.metered import Meter, MeteredDisk
from eselab.logs.counter_log import Sample
from eselab.logs.counters import Counters
from eselab.logs.reports import Reports
from eselab.logs.reports_current import CurrentReports
from eselab.machine.faults import Fault, FaultyDisk
from eselab.machine.mail import Journal
from eselab.machine.workload import Mail
from eselab.maintenance.background import Background, background_of
from eselab.maintenance.backup import Backup
from eselab.maintenance.dbscan import DatabaseScan
from eselab.maintenance.defrag import Defrag
from eselab.maintenance.schedule import Task
from eselab.maintenance.zeroing import DatabaseZeroing
from eselab.storage.btree import TreeError
from eselab.storage.database import Database
from eselab.storage.pages import PageError

_AFTER_BACKUP: Final = 60.0
"""Seconds between two looks whether a backup is over."""
_TRIES: Final = 100
"""Pages that are tried for a flip: a blank or bad one cannot be flipped."""


class Setting(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of an instance. `folder` is its own; `slow`: seconds of a slow request.

    `harmed` is told of each fault that happened on request, `journal` of each transaction of the
    workload.
    """

    plan: DatabasePlan
    folder: Path
    clock: Clock
    device: Storage
    reports: Reports
    chance: random.Random
    durable: bool
    slow: float
    harmed: Callable[[Fault], None]
    journal: Journal | None = None
    hold: Callable[[], int] | None = None
    """See Store.open."""


class Instance:
    """A database with its log and its tasks. Open it before all else."""

    def __init__(self, setting: Setting) -> None:
        self.plan = setting.plan
        self.counters = Counters()
        self.meter = Meter()
        self._setting = setting
        self._clock = setting.clock
        self._reports = setting.reports
        self._file = setting.plan.file
        self.device = setting.device
        self.path = str(setting.folder / self._file)
        """Of the database file, as the logs name it."""
        self.faults = FaultyDisk(
            RealDisk(setting.folder, durable=setting.durable), setting.clock, setting.harmed
        )
        self._disk = MeteredDisk(
            self.faults,
            setting.clock,
            self.meter,
            device=self.device,
            slow=setting.slow,
            watcher=setting.reports,
            path=lambda name: str(setting.folder / name),
        )
        self._closing = False
        self._skipped = 0.0
        """Until when the window is closed, though it would be open."""
        self._background: Background | None = None
        self._maintenance = self._maintain()
        self._backups = self._back_up()

    def open(self) -> None:
        """Make the database where there is none, else open it. Raises the errors of
        Database.open.
        """
        began = self._clock.now()
        self._reports.instance_starting()
        new = not self._setting.folder.exists()
        if new:
            self._make()
        self.database = Database.open(
            self._disk,
            self._file,
            cache_pages=self.plan.cache_pages,
            now=began,
            watcher=self._reports,
            hold=self._setting.hold,
        )
        self.database.store.time = self._clock.now
        self.database.store.counts_deleted = self.plan.zero
        if self.database.store.recovered:
            self._reports.recovery_begun()
            self._reports.recovery_done()
        seconds = self._clock.now() - began
        self._reports.instance_started(seconds)
        if new:
            self._reports.database_created(seconds)
        else:
            self._reports.database_attached(seconds)
        self._mail = Mail(
            self.database,
            self.plan.mail,
            self.plan.window.period,
            self._clock,
            self._setting.chance,
            journal=self._setting.journal,
        )
        self._make_maintenance()

    def _make_maintenance(self) -> None:
        if self.plan.generation == "current":
            assert isinstance(self._reports, CurrentReports)
            self._background = background_of(
                self.plan, self.database, self._reports, self.counters, self._clock
            )
            return
        self._backup = Backup(
            self.database.store,
            self._reports,
            self._clock,
            pause=self.plan.backup.pause if self.plan.backup else 0.0,
        )
        self._defrag = Defrag(
            self.database, self._reports, self.counters, self._clock, pause=self.plan.defrag_pause
        )
        scan = DatabaseZeroing if self.plan.zero else DatabaseScan
        self._scan = scan(
            self.database, self._reports, self.counters, self._clock, pause=self.plan.scan_throttle
        )

    def tasks(self) -> list[Task]:
        if self._background is not None:
            return [self._mail.work(), *self._background.tasks]
        backups = [self._backups] if self.plan.backup is not None else []
        return [self._mail.work(), self._maintenance, *backups]

    def keep_depth(self) -> None:
        """Write pages where a recovery would have to read too much of the log."""
        store = self.database.store
        if store.checkpoint_depth > self.plan.checkpoint_depth:
            store.checkpoint(self.plan.checkpoint_depth // 2)

    def sample(self) -> Sample:
        """The counters as they are now."""
        store = self.database.store
        return Sample(
            instance=self.plan.name,
            counters=self.counters,
            meter=self.meter,
            cache_bytes=store.cache_bytes,
            checkpoint_depth=store.checkpoint_depth_logs,
            log_generation=store.log_generation,
            zeroes=self.plan.zero,
            duration=None if self._background is None else self._background.duration,
        )

    def skip(self) -> None:
        """Close the window that is open until it would open again."""
        found = opening(self.plan.window, self._clock.now(), scan=self.plan.scan)
        self._skipped = found.end if found.begin <= self._clock.now() else 0.0

    def harm(self, kind: FaultKind, page: int | None, *, ahead: bool = False) -> None:
        """Do a fault to a page, or to the next that is written; without one chance chooses.

        `ahead`: chance chooses from what the scan at work reads next. ValueError: a kind that
        is not done to a page.
        """
        size, chance = self.plan.page_size, self._setting.chance
        if kind == "tear":
            self.faults.tear(self._file, page, size)
        elif kind == "lose":
            self.faults.lose(self._file, page, size)
        elif kind == "misdirect":
            self.faults.misdirect(self._file, page, self._in_use(), size)
        elif kind in ("flip_one", "flip_two"):
            bits = 1 if kind == "flip_one" else 2
            for _ in range(_TRIES):
                chosen = self._in_use(ahead=ahead) if page is None else page
                if self.faults.flip(self._file, chosen, size, bits, chance) is not None:
                    break
        else:
            raise ValueError(f"{kind} is not done to a page")

    def _in_use(self, *, ahead: bool = False) -> int:
        """A page of a table, by chance, that is on the disk alone if there is one.

        `ahead`: one that the scan reads next, if there is one.

        A page of the cache may be written back and so heal what was done to it unseen.
        Any page where a fault before this one took the space of a tree.
        """
        space, store = self.database.space, self.database.store
        try:
            pages = list(space.used())
        except (PageError, TreeError):
            pages = list(range(1, store.pages + 1))
        alone = [number for number in pages if not store.is_cached(number)]
        if ahead and self._background is None:
            coming = self._scan.coming()
            alone = [number for number in alone if number in coming] or alone
        return self._setting.chance.choice(alone or pages)

    def close(self) -> None:
        """Stop maintenance, which says so, and close the database."""
        self._closing = True
        for task in (self._backups, self._maintenance):
            for _ in task:
                pass
        if self._background is not None:
            self._background.close()
        began = self._clock.now()
        self.database.close(began)
        self._reports.database_detached(self._clock.now() - began)
        self._reports.instance_stopped()

    def _make(self) -> None:
        """Beside its place until it is whole: a kill in between leaves nothing that is opened."""
        folder = self._setting.folder
        beside = folder.with_name(f"{folder.name}.new")
        shutil.rmtree(beside, ignore_errors=True)
        beside.mkdir(parents=True)
        self._fill(beside)
        if self._setting.durable:
            for path in (*beside.iterdir(), beside):
                _sync(path)
        beside.rename(folder)
        if self._setting.durable:
            _sync(folder.parent)

    def _fill(self, folder: Path) -> None:
        """A database with its past in this folder. Of `chance`, the time and the plan alone."""
        now = self._clock.now()
        database = Database.create(
            RealDisk(folder, durable=False),
            self._file,
            page_size=self.plan.page_size,
            cache_pages=max(self.plan.cache_pages, self.plan.pages),
            now=now,
            chance=self._setting.chance,
        )
        database.store.counts_deleted = self.plan.zero
        mail = Mail(
            database, self.plan.mail, self.plan.window.period, self._clock, self._setting.chance
        )
        mail.build(self.plan.pages)
        database.close(now)

    def _maintain(self) -> Task:
        while not self._closing:
            now = self._clock.now()
            found = opening(self.plan.window, now, scan=self.plan.scan)
            if now < found.begin:
                yield found.begin - now
                continue
            if now < found.middle - ROUNDING:
                yield from self._defrag_until(found.middle)
                yield from self._rest(found.middle)
            if self.plan.scan and not self._closing:
                yield from self._scan.invocation(partial(self._limit, found.end))
                yield from self._rest(found.end)

    def _defrag_until(self, end: float) -> Task:
        """Stops while a backup runs, and goes on behind it."""
        stopped = True

        def limit() -> float:
            nonlocal stopped
            stopped = self._backup.running
            return 0.0 if stopped else self._limit(end)

        while stopped and self._clock.now() < self._limit(end):
            if self._backup.running:
                yield _AFTER_BACKUP
            else:
                stopped = False
                yield from self._defrag.invocation(limit)

    def _limit(self, end: float) -> float:
        return 0.0 if self._closing or self._clock.now() < self._skipped else end

    def _rest(self, end: float) -> Task:
        if not self._closing and (left := end - self._clock.now()) > 0:
            yield left

    def _back_up(self) -> Task:
        plan = self.plan.backup
        while plan is not None and not self._closing:
            yield plan.period - (self._clock.now() - plan.offset) % plan.period
            if not self._closing:
                yield from self._backup.invocation(lambda: 0.0 if self._closing else math.inf)


def _sync(path: Path) -> None:
    """Let a file, or the names in a folder, outlive a crash of the machine."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
