"""History as metrics: takes records in order of time, gives the changes of every series.

The fold and the views are the daemon's own. After each moment only the entities that the fold
changed are computed again, and between records those whose values depend on time alone: an open
pass that falls silent, a level that grows stale, an observed database that expires. Advice is
judged again from time to time where that is asked for. The file is pure: no clock, no I/O.
"""

import heapq
import math
import re
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

import msgspec
from prometheus_client.samples import Sample

from esewatch.advice.advise import advise
from esewatch.advice.checkdb import judged_checks
from esewatch.advice.findings.details import of_instances
from esewatch.advice.history.derived import derived
from esewatch.advice.statements import restate
from esewatch.config import Settings
from esewatch.expose.metrics.advice_families import add_advice, add_checks, add_statements
from esewatch.expose.metrics.families import (
    add_backup_jobs,
    add_databases,
    add_devices,
    add_hosts,
    add_instances,
    add_sql_databases,
)
from esewatch.expose.metrics.metric_catalogue import ADVICE, BACKUPS, CATALOGUE, SQLSERVER
from esewatch.expose.metrics.metric_row import D, I, S, V
from esewatch.expose.metrics.samples import Samples
from esewatch.expose.replay.judging_times import REMEMBERED, JudgingTimes, ends
from esewatch.fold.folder import Folder
from esewatch.fold.identity.entities import Entity
from esewatch.fold.identity.owners import instance_key, process_key, stays
from esewatch.fold.instances.counters import volume_levels
from esewatch.fold.readings import current
from esewatch.fold.state.state import Database, Instance, Metered, State
from esewatch.model import Batch, CountersSeen, Coverage, EsewatchError, Event, SetBackedUp

PREFIXES = ("ese_", "exchange_", "sqlserver_")
"""Metrics with a past in the records. Those of the agent and its sources have none."""

OF_NOW = frozenset({"ese_computer_last_record_timestamp_seconds"})
"""In a replay it would be the time of each record that is read."""

JUDGED = frozenset(row.name for row in ADVICE)
"""Metrics of advice, which are judged of all databases together."""


def replayed_metrics(patterns: Sequence[str]) -> frozenset[str]:
    """Names of the metrics that match one of the anchored regular expressions; all without any.

    Raises EsewatchError for an expression that is invalid or matches nothing.
    """
    known = [
        name
        for name, row in CATALOGUE.items()
        if name.startswith(PREFIXES) and row.labels != S and name not in OF_NOW
    ]
    if not patterns:
        return frozenset(known)
    found: set[str] = set()
    for pattern in patterns:
        try:
            matches = {name for name in known if re.fullmatch(pattern, name)}
        except re.error as error:
            raise EsewatchError(f"--match {pattern}: not a regular expression: {error}") from error
        if not matches:
            raise EsewatchError(
                f"--match {pattern}: no metric that can be replayed"
                " has a name that this matches as a whole"
                " (docs/reference/metrics.md has the names)"
            )
        found |= matches
    return frozenset(found)


GONE = math.nan
"""Value of a change with which a series ends."""

TIMELESS = (Coverage, CountersSeen)
"""Records that feed no replayed metric. A range of record ids has no one place in time:
folded before a record of its own, it would make that one a duplicate."""

ADVISED: Entity = ("advice", "", "")

_SOURCE = "replay"
_TABLES: dict[tuple[str, ...], str] = {D: "database", I: "instance", V: "device"}
_OF_SQL_SERVER = {row.name for row in SQLSERVER}
_OF_JOBS = {row.name for row in BACKUPS if row.labels == ("computer",)}
_HEARD = (Event, SetBackedUp)
"""Records that may change series of more than their own entity."""
_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class Series(NamedTuple):
    """One series: metric name, and the name with its labels as OpenMetrics writes them."""

    name: str
    text: str


class SeriesChange(NamedTuple):
    """From `time` (milliseconds) on, series number `series` has this value, or is GONE."""

    time: int
    series: int
    value: float


def milliseconds(time: float) -> int:
    """Epoch seconds as whole milliseconds, the resolution of Prometheus."""
    return round(time * 1000)


class Replay:
    """Folds records in order of time and says which series changed when.

    `first` is the time of the first record in milliseconds, `step` the distance of
    samples in milliseconds, `names` the metrics wanted, `shown_from` the first time wanted in
    milliseconds: what is judged long before it is not seen.
    """

    def __init__(
        self, settings: Settings, first: int, step: int, names: Set[str], shown_from: int = 0
    ) -> None:
        self.folder = Folder(State(), settings)
        # As old as its first record: nothing in a replay is history to it.
        self.folder.open_source(_SOURCE, first / 1000)
        self.series: list[Series] = []
        self._step = step
        self._names = names
        self._tables = {_TABLES.get(CATALOGUE[name].labels[:2], "host") for name in names - JUDGED}
        if not _OF_SQL_SERVER.isdisjoint(names):
            self._tables.add("sql_database")
        if not _OF_JOBS.isdisjoint(names):
            self._tables.add("backup_jobs")
        self._numbers: dict[tuple[str, ...], int] = {}
        self._shown: dict[Entity, dict[int, float]] = {}
        self._due: dict[Entity, int] = {}
        self._schedule: list[tuple[int, Entity]] = []
        self._values: dict[Entity, tuple[float | None, ...]] = {}
        self._volumes: dict[str, dict[str, str]] = {}
        self._free: dict[str, dict[str, float]] = {}
        """By computer: free bytes of its volumes, as the instances show them."""
        self._instance: dict[tuple[str, str], Entity] = {}
        self._copied: dict[tuple[str, str], set[tuple[str, str]]] = {}
        self._judging = (
            None if JUDGED.isdisjoint(names) else JudgingTimes(max(first, shown_from - REMEMBERED))
        )
        if self._judging is not None:
            self._wake(ADVISED, self._judging.begin)

    def changes(self, moments: Iterable[tuple[int, Batch]]) -> Iterator[SeriesChange]:
        """The changes of all series in order of time. `moments`: a time in milliseconds and all
        records of that time, times ascending. At most one change for a series and a time."""
        for time, batch in moments:
            while self._schedule and self._schedule[0][0] < time:
                step = self._schedule[0][0]
                yield from self._show(step, self._fallen_due(step))
            self.folder.fold(_SOURCE, batch)
            events = any(isinstance(record, _HEARD) for record in batch.records)
            news = self._judging is not None and self._judging.is_news(
                self.folder, batch.records, time
            )
            dirty = self._dirty(time, events=events)
            fallen_due = self._fallen_due(time)
            judged = self._judged_now(time) if news else set()
            yield from self._show(time, dirty | fallen_due | judged)
        if self._judging is not None and self._judging.waits:
            yield from self._show(time, {ADVISED})

    def _judged_now(self, time: int) -> set[Entity]:
        """The advice, where the news of `time` is not to wait for what follows it at once."""
        assert self._judging is not None
        later = self._judging.put_off(time)
        if later is None:
            return {ADVISED}
        self._wake(ADVISED, min(later, self._due.get(ADVISED, later)))
        return set()

    def _fallen_due(self, time: int) -> set[Entity]:
        """Entities that may have changed by time alone; expired databases are dropped."""
        found = set()
        while self._schedule and self._schedule[0][0] <= time:
            step, entity = heapq.heappop(self._schedule)
            if self._due.get(entity) == step:
                del self._due[entity]
                self._values.pop(entity, None)
                if entity[0] == "instance":
                    self._free.pop(entity[1], None)
                found.add(entity)
        if any(entity[0] in {"advice", "database", "sql_database"} for entity in found):
            self.folder.expire(time / 1000)
        found |= self._instances_of(entity[1:] for entity in found if entity[0] == "database")
        return found | self._sharing_sets(found)

    def _dirty(self, time: int, *, events: bool) -> set[Entity]:
        """Entities that the fold changed, and the databases whose series depend on them."""
        changed, self.folder.changed = self.folder.changed, set()
        dirty = {entity for entity in changed if entity[0] in self._tables}
        dirty |= self._instances_of(entity[1:] for entity in changed if entity[0] == "database")
        # The values are noted whether they decide or not.
        dirty = {entity for entity in dirty if self._moved(entity, time) or events}
        if events and "backup_jobs" in self._tables:
            dirty |= {("backup_jobs", each[1], "") for each in changed if each[0] == "instance"}
        if "instance" in self._tables:
            dirty |= self._with_free_space({entity[1] for entity in changed if entity[0] == "host"})
        if "database" not in self._tables:
            return dirty
        dirty |= self._sharing_sets(dirty)
        for table, first, second in changed:
            if table == "database" and events:
                # The series of copies depend on each other: which is active, and which damage is
                # known.
                dirty |= {("database", *key) for key in self._copies(first, second)}
            elif table == "instance" and events:
                # Readings change its counters only, of which databases show nothing.
                dirty |= self._databases_of(first, second)
            elif table == "host":
                volumes = self.folder.state.hosts[first].volumes
                if volumes != self._volumes.get(first, {}):
                    self._volumes[first] = volumes
                    databases = self.folder.state.databases
                    dirty |= {("database", *key) for key in databases if key[0] == first}
        return dirty

    def _with_free_space(self, computers: Iterable[str]) -> set[Entity]:
        moved = set()
        for computer in computers:
            levels = volume_levels(self.folder.state.hosts[computer])
            free = {volume: level.value for volume, level in levels.items()}
            if free != self._free.get(computer, {}):
                self._free[computer] = free
                moved.add(computer)
        return {entity for entity in self._instance.values() if entity[1] in moved}

    def _moved(self, entity: Entity, time: int) -> bool:
        """True if the readings since the last moment changed a value; most of a day none does."""
        metered = self._metered(entity)
        if metered is None:
            return True
        levels = (current(level, time / 1000) for level in metered.levels.values())
        values = (*metered.totals.values(), metered.gap_seconds, *levels)
        if self._values.get(entity) == values:
            # The same value again holds for another time, and for a shorter one when the samples
            # follow each other faster.
            self._plan(entity, time)
            return False
        self._values[entity] = values
        return True

    def _metered(self, entity: Entity) -> Metered | None:
        table, first, second = entity
        state = self.folder.state
        if table == "host":
            return state.hosts[first]
        if table == "instance":
            return state.instances.get((first, second))
        if table == "device":
            return state.devices[first, second]
        return None

    def _instances_of(self, databases: Iterable[tuple[str, str]]) -> set[Entity]:
        """Instances that these databases are in or were in: their series depend on them. Those
        without a name, which the state may not hold, are included."""
        found: set[Entity] = set()
        if "instance" not in self._tables:
            return found
        for key in databases:
            before = self._instance.pop(key, None)
            database = self.folder.state.databases.get(key)
            if database is not None:
                now = ("instance", *instance_key(database))
                self._instance[key] = now
                found |= {now, ("instance", *process_key(database))}
            if before is not None:
                found.add(before)
        return found

    def _sharing_sets(self, entities: Iterable[Entity]) -> set[Entity]:
        """Databases of those instances whose backups are of the one database that they have: sets,
        and shadow copies."""
        known = self.folder.state.instances
        found: set[Entity] = set()
        for table, computer, name in entities:
            instance = known.get((computer, name)) if table == "instance" else None
            if instance is not None and _names_no_database(instance):
                found |= self._databases_of(computer, name)
        return found

    def _databases_of(self, computer: str, name: str) -> set[Entity]:
        state = self.folder.state
        instance = state.instances[computer, name]
        files = {event.file for event in instance.backup_events} | instance.backup_totals.keys()
        for file in files:
            self._copied.setdefault((computer, file), set()).add((computer, name))
        return {
            ("database", *key)
            for key, database in state.databases.items()
            if key[0] == computer
            and (name in {instance_key(database)[1], process_key(database)[1]} or key[1] in files)
        }

    def _show(self, time: int, entities: set[Entity]) -> Iterator[SeriesChange]:
        for entity in sorted(entities):
            shown = self._shown.get(entity, {})
            fresh: dict[int, float] = {}
            for sample in self._samples(entity, time / 1000):
                if sample.name in self._names:
                    number = self._number(sample)
                    fresh[number] = sample.value
                    if shown.get(number) != sample.value:
                        yield SeriesChange(time, number, sample.value)
            for number in shown.keys() - fresh.keys():
                yield SeriesChange(time, number, GONE)
            self._shown[entity] = fresh
            self._plan(entity, time)

    def _number(self, sample: Sample) -> int:
        key = (sample.name, *sample.labels.values())
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.series)
            labels = ",".join(
                f'{name}="{value.translate(_ESCAPES)}"' for name, value in sample.labels.items()
            )
            self.series.append(Series(sample.name, f"{sample.name}{{{labels}}}"))
        return number

    def _samples(self, entity: Entity, now: float) -> Samples:
        """The samples of one entity: views of a state that holds only what they need."""
        out = Samples()
        table, first, second = entity
        state = self.folder.state
        if table == "host":
            add_hosts(out, State(hosts={first: state.hosts[first]}), now)
        elif table == "instance":
            add_instances(out, self._instance_alone(first, second), self.folder.settings, now)
        elif table == "device":
            add_devices(out, State(devices={(first, second): state.devices[first, second]}), now)
        elif entity == ADVISED:
            # As of then no source is behind.
            seen = msgspec.structs.replace(state, sources={})
            judged = advise(seen, self.folder.settings, now)
            assert self._judging is not None
            passed = self._judging.judged(self.folder, judged, now)
            details = of_instances(state, self.folder.settings, now)
            checks = judged_checks(seen, self.folder.settings, now)
            changed = restate(state, self.folder.settings, judged, details, passed, checks=checks)
            self.folder.changed.update(changed)
            add_statements(out, state)
            add_advice(out, judged, details, state)
            add_checks(out, checks)
        elif table == "backup_jobs":
            instances = {key: each for key, each in state.instances.items() if key[0] == first}
            hosts = {first: state.hosts[first]}
            add_backup_jobs(out, State(hosts=hosts, instances=instances))
        elif table == "sql_database":
            if (sql := state.sql_databases.get((first, second))) is not None:
                add_sql_databases(
                    out, State(sql_databases={(first, second): sql}), self.folder.settings
                )
        elif (first, second) in state.databases:
            key = (first, second)
            around, settings = self._around(*key), self.folder.settings
            add_databases(out, around, settings, now, derived(around, settings, only=[key]))
        return out

    def _instance_alone(self, computer: str, name: str) -> State:
        state = self.folder.state
        databases = {
            key: database
            for key, database in state.databases.items()
            if instance_key(database) == (computer, name)
        }
        instance = state.instances.get((computer, name))
        instances = {(computer, name): instance} if instance is not None else {}
        hosts = {computer: state.hosts[computer]}
        return State(instances=instances, databases=databases, hosts=hosts)

    def _around(self, computer: str, label: str) -> State:
        state = self.folder.state
        database = state.databases[computer, label]
        shared = {instance_key(database), process_key(database)}
        needed = shared | {stay.key for stay in stays(database)}
        needed |= self._copied.get((computer, label), set())
        instances = {key: value for key, value in state.instances.items() if key in needed}
        hosts = {computer: state.hosts[computer]}
        databases = {(computer, label): database}
        if any(map(_names_no_database, instances.values())):
            databases |= {
                key: each
                for key, each in state.databases.items()
                if not shared.isdisjoint({instance_key(each), process_key(each)})
            }
        databases |= self._copies(computer, label)
        channels = {key: each for key, each in state.channels.items() if key[0] == computer}
        return State(databases=databases, instances=instances, hosts=hosts, channels=channels)

    def _copies(self, computer: str, label: str) -> dict[tuple[str, str], Database]:
        rules = self.folder.settings.databases
        joined = any(rule.name or rule.copies for rule in rules)
        return {
            key: each
            for key, each in self.folder.state.databases.items()
            if key[0] != computer and (joined or key[1] == label)
        }

    def _plan(self, entity: Entity, time: int) -> None:
        """Note the first step at which time alone changes the entity."""
        now = time / 1000
        if entity == ADVISED and self._judging is not None:
            own = self._judging.ends(self.folder, now)
        else:
            own = ends(self.folder, entity, self._metered(entity), now)
        later = [end for end in own if end >= now]
        if not later:
            self._due.pop(entity, None)
            return
        # A step within a millisecond of the end may lie on either side of it.
        after = max(time, math.floor(min(later) * 1000) - 1)
        self._wake(entity, (after // self._step + 1) * self._step)

    def _wake(self, entity: Entity, step: int) -> None:
        """Compute the entity again at that time (milliseconds)."""
        if self._due.get(entity) != step:
            self._due[entity] = step
            heapq.heappush(self._schedule, (step, entity))


def _names_no_database(instance: Instance) -> bool:
    """True if it may have backups that do not name the databases that they are of."""
    return bool(instance.backup_sets or instance.backup_events or instance.backup_totals)
