"""Background maintenance of a current engine, day and night."""

from eselab.base.clock import Clock
from eselab.base.plan import DatabasePlan
from eselab.logs.counters import Counters
from eselab.logs.reports_current import CurrentReports
from eselab.maintenance.background_scan import BackgroundScan, PassiveScan
from eselab.maintenance.schedule import Task
from eselab.maintenance.tree_defrag import TreeDefrag
from eselab.storage.database import Database


class Background:
    """The scan and the defragmentation of one database."""

    def __init__(
        self, clock: Clock, day: float, *, scan: BackgroundScan | None, defrag: TreeDefrag | None
    ) -> None:
        """`day`: seconds of what counts as one. None: that is not done."""
        self._clock = clock
        self._day = day
        self._closing = False
        self._scan = scan
        self.tasks: list[Task] = []
        if scan is not None:
            self.tasks.append(self._scan_always(scan))
        if defrag is not None:
            self.tasks.append(self._defrag_always(defrag))

    @property
    def duration(self) -> int:
        """The present value of the counter "Database Maintenance Duration"."""
        return 0 if self._scan is None else self._scan.duration

    def close(self) -> None:
        """Stop at once; open passes are saved."""
        self._closing = True
        for task in self.tasks:
            for _ in task:
                pass

    def _limit(self) -> float:
        return 0.0 if self._closing else float("inf")

    def _scan_always(self, scan: BackgroundScan) -> Task:
        """A day lies between the end of a pass and the next, and after what failed."""
        due = scan.due()
        while not self._closing:
            yield from self._until(due)
            yield from scan.invocation(self._limit)
            due = self._clock.now() + self._day

    def _defrag_always(self, defrag: TreeDefrag) -> Task:
        """A round a day; one that takes longer is followed by the next."""
        due = defrag.due(self._day)
        while not self._closing:
            yield from self._until(due)
            due = self._clock.now() + self._day
            yield from defrag.invocation(self._limit)

    def _until(self, due: float) -> Task:
        if not self._closing and (left := due - self._clock.now()) > 0:
            yield left


def background_of(
    plan: DatabasePlan,
    database: Database,
    reports: CurrentReports,
    counters: Counters,
    clock: Clock,
) -> Background:
    """That of a database of a plan. A day is the period of its window."""
    day = plan.window.period
    kind = BackgroundScan if plan.role == "active" else PassiveScan
    scan = kind(database, reports, counters, clock, pace=plan.scan_pace, day=day)
    defrag = TreeDefrag(database, reports, counters, clock, pause=plan.defrag_pause)
    return Background(
        clock,
        day,
        scan=scan if plan.scan else None,
        # A passive copy has from the logs what the active one did.
        defrag=defrag if plan.role == "active" else None,
    )
