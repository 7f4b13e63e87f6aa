"""What a current engine does to a database in the background, day and night."""

from esewatch.engine.background_scan import BackgroundScan, PassiveScan
from esewatch.engine.clock import Clock
from esewatch.engine.counters import Counters
from esewatch.engine.database import Database
from esewatch.engine.plan import DatabasePlan
from esewatch.engine.reports_current import CurrentReports
from esewatch.engine.schedule import Task
from esewatch.engine.tree_defrag import TreeDefrag


class Background:
    """The scan and the defragmentation of one database. A day is the period of its window."""

    def __init__(
        self,
        plan: DatabasePlan,
        database: Database,
        reports: CurrentReports,
        counters: Counters,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._day = plan.window.period
        self._closing = False
        kind = BackgroundScan if plan.role == "active" else PassiveScan
        self._scan = kind(
            database, reports, counters, clock, pace=plan.scan_pace, day=plan.window.period
        )
        self._defrag = TreeDefrag(database, reports, counters, clock, pause=plan.defrag_pause)
        self.tasks: list[Task] = []
        """What the schedule is to run."""
        if plan.scan:
            self.tasks.append(self._scan_always())
        if plan.role == "active":
            # A passive copy has from the logs what the active one did.
            self.tasks.append(self._defrag_always())

    @property
    def duration(self) -> int:
        """What the counter "Database Maintenance Duration" says now."""
        return self._scan.duration

    def close(self) -> None:
        """Stop at once; what is open is saved."""
        self._closing = True
        for task in self.tasks:
            for _ in task:
                pass

    def _limit(self) -> float:
        return 0.0 if self._closing else float("inf")

    def _scan_always(self) -> Task:
        """A day lies between the end of a pass and the next, and after what failed."""
        due = self._scan.due()
        while not self._closing:
            yield from self._until(due)
            yield from self._scan.invocation(self._limit)
            due = self._clock.now() + self._day

    def _defrag_always(self) -> Task:
        """A round a day; one that takes longer is followed by the next."""
        due = self._defrag.due(self._day)
        while not self._closing:
            yield from self._until(due)
            due = self._clock.now() + self._day
            yield from self._defrag.invocation(self._limit)

    def _until(self, due: float) -> Task:
        if not self._closing and (left := due - self._clock.now()) > 0:
            yield left
