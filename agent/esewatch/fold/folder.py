"""The fold: records in, state out. No clock, no I/O.

`Folder` changes its `State` in place and remembers which entities changed, so
that the journal can commit those and the source's position in one transaction.
"""

from collections.abc import Callable, Iterable, Mapping
from math import inf
from typing import Any, NamedTuple

from esefiles.base import crash
from esefiles.base.database_names import is_called_temporary
from esewatch.config import Settings
from esewatch.fold.channels import clock_guard, deduplication, hearing, overlaps, set_back
from esewatch.fold.channels.deduplication import Neighbours
from esewatch.fold.channels.overlaps import Names, Origin
from esewatch.fold.companions import fold_companion, note_power, refresh_failovers
from esewatch.fold.databases import bad_pages, databases, file_checks, page_errors
from esewatch.fold.databases.integrity import HISTORY_SECONDS, LOGICAL_EVENTS, PAGE_EVENTS
from esewatch.fold.identity import identity
from esewatch.fold.identity.entities import (
    MAX_ASIDE,
    Entities,
    Entity,
    NoRoomError,
    most_owners,
    shortened,
    shortened_name,
)
from esewatch.fold.identity.identity import moved, origins
from esewatch.fold.identity.owners import is_tool, note_process
from esewatch.fold.instances import counters, engine_errors, instances
from esewatch.fold.instances.instances import NO_SIGN, fold_log_file_event
from esewatch.fold.readings import fold_reading
from esewatch.fold.state import acknowledgements, checkdb_results, damage
from esewatch.fold.state.rollups import HOUR_SECONDS
from esewatch.fold.state.state import (
    Channel,
    Failure,
    Instance,
    Metered,
    Power,
    SourceState,
    State,
    series,
)
from esewatch.model import (
    Batch,
    CopyChecked,
    CountersSeen,
    Coverage,
    Event,
    Feed,
    FromInput,
    HeaderSeen,
    Heard,
    PagesScanned,
    Reading,
    Record,
    SetBackedUp,
    VolumesSeen,
)

MAX_VOLUMES = 1000
SHADOW_SECONDS = 30 * 86400.0
"""A snapshot of an unknown database is known for so long."""
MAX_SET_ASIDE = 100
"""The limit of rejected records held for logging; more are only counted."""

_DAMAGE = frozenset({*PAGE_EVENTS, *LOGICAL_EVENTS, *damage.CORRUPTION_EVENTS})


Place = tuple[str, str, str, str, int]
"""Computer, object, counter and instance as logged, and the identity of the feed."""


class Column(NamedTuple):
    """The owner of a place's samples, and its names, none of them too long."""

    feed: Feed
    computer: str
    owner: Metered
    entity: Entity


class Folder(Entities):
    def __init__(self, state: State, settings: Settings) -> None:
        super().__init__(state, settings)
        self._handlers: dict[type, Callable[[SourceState, Any], None]] = {
            Coverage: self._coverage,
            CountersSeen: self._counters_seen,
            VolumesSeen: self._volumes_seen,
            SetBackedUp: self._set_backed_up,
            **dict.fromkeys((HeaderSeen, CopyChecked, PagesScanned), self._copy),
        }
        self.set_aside: list[tuple[str, Record, Exception]] = []
        """Records that could not be folded, for logging; their owner empties it."""
        self._origins: dict[Names, Origin] = {}
        """Of the events of the batch that is folded."""
        self._neighbours: dict[int, Neighbours] = {}
        """Of the channels of the batch that is folded, by identity."""
        self._columns: dict[Place, Column] = {}
        """Of the batch that is folded."""
        self._now = 0.0
        """The agent's clock, when it folds the batch."""
        self._until = inf
        """The latest time that is possible, of the batch that is folded."""
        self._recent: tuple[str, int] | None = None
        """The computer and day of the last record, which are noted, of the batch that is folded."""
        self._input = 0
        """Of the record that is folded."""
        self._settled: set[tuple[str, str]] = set()
        """Channels without a new range since their gaps were counted."""

    def open_source(self, name: str, now: float) -> SourceState:
        """Make the source known. On its first reading, `now` decides which records are history."""
        source = self.state.sources.get(name)
        if source is None:
            source = self.state.sources[name] = SourceState(name=name, opened=now)
        elif source.baseline:
            source.opened = now
        source.up, source.caught_up = True, False
        self._touch("source", name)
        return source

    def end_first_reading(self) -> None:
        """Show the databases: what the sources had when the journal was new has been read."""
        for source in self.state.sources.values():
            if source.hides_databases:
                source.hides_databases = False
                self._touch("source", source.name)

    def settle_rebuilt(self) -> list[SourceState]:
        sources = self.state.sources.values()
        read = [each for each in sources if each.rebuilding and each.caught_up]
        for source in read:
            source.settle_rebuilt()
            self._touch("source", source.name)
        return read

    def reconfigure(self, settings: Settings) -> None:
        self.settings = settings
        self._failovers_told = True
        self.computers.reconfigure(settings)

    def source_failed(self, name: str) -> None:
        source = self.state.sources[name]
        source.up = source.caught_up = False
        self._touch("source", name)

    def nothing_read_on(self) -> None:
        """Note that no source is read on now, because a journal takes no commits. The next batch of
        each says again how far it is."""
        for source in self.state.sources.values():
            source.caught_up = False
            self._touch("source", source.name)

    def fold(
        self,
        name: str,
        batch: Batch,
        now: float = 0.0,
        each: Callable[[Iterable[FromInput]], Iterable[FromInput]] = iter,
    ) -> None:
        """Fold one batch of the source `name`.

        `now` is the agent's clock; times in its future are not accepted (0: all are). A record that
        cannot be folded is quarantined. `each` picks the records of the batch that are folded.
        """
        source = self.state.sources[name]
        until = self._until = clock_guard.latest(now)
        self._now = now
        if source.last_record > until:
            source.last_record = 0.0
        self._forget_batch()
        for self._input, record in each(overlaps.by_input(name, batch)):
            try:
                if isinstance(record, Event) and (
                    record.time is None or clock_guard.NEVER_SET < record.time <= until
                ):
                    self._event(source, record)
                elif (kept := clock_guard.admitted(source, record, until, now)) is not None:
                    self._record(source, kept)
            except NoRoomError:
                pass
            except Exception as error:
                crash.if_short(error)  # not the record's fault
                self.put_aside(source, record, error)
        for heard in batch.heard:
            self._others_heard(source, heard)
        self._forget_batch()
        if self._failovers_told:
            self._failovers_told = False
            self.changed |= refresh_failovers(self.state, self.settings)
        source.up = True
        source.unreadable += len(batch.unreadable)
        source.backlog_bytes = batch.backlog_bytes
        source.partitions = batch.partitions
        source.caught_up = batch.caught_up
        if batch.caught_up:
            claimed = deduplication.claim_gaps_of(source, self.state.channels, self._settled)
            self._settled.update(source.channels)
            self.changed |= {("channel", *key) for key in claimed}
            source.baseline = False
        self._touch("source", name)

    def _forget_batch(self) -> None:
        self._origins.clear()
        self._neighbours.clear()
        self._columns.clear()
        self._recent = None

    def _others_heard(self, source: SourceState, heard: Heard) -> None:
        """Note records of other providers. Of a computer without an event they are kept aside."""
        computer = self._known_or_full(shortened_name(heard.computer))
        log = self._log(computer, shortened_name(heard.channel))
        for time in heard.times:
            if 0.0 < time <= self._until:
                clock_guard.note(source, time)
                if log is not None:
                    hearing.note_other(log, time)

    def _is_foreign(self, source: SourceState, event: Event) -> bool:
        """Keep a shutdown of a computer without an event of ESE aside: each Windows has them."""
        computer = self._known_or_full(event.computer)
        if computer in self.state.hosts or event.time is None:
            return False
        clock_guard.note(source, event.time)
        if (log := self._log(computer, event.channel)) is not None:
            hearing.note_companion(log, event.time)
        power = self._aside_power.pop(computer, None) or Power()
        self._aside_power[computer] = note_power(power, event)
        if len(self._aside_power) > MAX_ASIDE:
            del self._aside_power[next(iter(self._aside_power))]
        return True

    def _record(self, source: SourceState, record: Record) -> None:
        if isinstance(record, Event):
            self._event(source, record)
        elif isinstance(record, Reading):
            self._reading(source, record)
        else:
            self._handlers[type(record)](source, shortened(record))

    def put_aside(self, source: SourceState, record: Record, error: Exception) -> None:
        """Quarantine a record, since an internal error must not stop the records behind it."""
        source.set_aside += 1
        if len(self.set_aside) < MAX_SET_ASIDE:
            self.set_aside.append((source.name, record, error))

    def acknowledge(
        self,
        computer: str,
        database: str,
        pages: Mapping[int, float],
        others: Mapping[str, float] | None = None,
    ) -> bool:
        """Acknowledge bad pages and other things (`acknowledgements`), each up to its time. False:
        no such database."""
        entry = self.state.databases.get((computer, database))
        if entry is None:
            return False
        for page, time in pages.items():
            bad_pages.mark_good(entry, page, page, time)
        acknowledgements.note(entry, others or {})
        self._touch("database", computer, database)
        return True

    def forget(self, computer: str, database: str) -> bool:
        """Drop a database; it returns with its next event. False: no such database."""
        key = (computer, database)
        if self.state.databases.pop(key, None) is not None:
            self._touch("database", *key)
            self.changed.update(engine_errors.forget_unexplained(self.state, *key))
        elif self.state.sql_databases.pop(key, None) is not None:
            self._touch("sql_database", *key)
        else:
            return False
        return True

    def expire(self, now: float) -> None:
        """Drop observed databases that have been silent for longer than the retention. When the
        limit of names is reached, computers with only a few old records are dropped too."""
        settings, sql = self.settings, self.state.sql_databases
        known = origins(self.state, settings)
        over = set[tuple[str, str]]()
        for key, entry in self.state.databases.items():
            # A bad page of an old copy is known since it was read.
            silent = now - max([entry.last_seen, *(bad.last for bad in entry.bad_pages)])
            is_shadow = identity.is_snapshot(entry.database) and key not in known
            watched = key in known or identity.tier(entry, settings) == "watched"
            if silent > (SHADOW_SECONDS if is_shadow else settings.retention) and (
                is_shadow or not watched
            ):
                over.add(key)
        # What a database was before it was moved is known for as long as it.
        former = [
            ((old.computer, old.database), key)
            for key, each in (moved(self.state) if over else {}).items()
            for _, old in each
        ]
        while kept := over & {old for old, key in former if key not in over}:
            over -= kept
        for key in sorted(over):
            self.forget(*key)
        for key in [key for key in sql if checkdb_results.expired(sql[key], settings, now)]:
            self.forget(*key)
        self.changed.update(self.computers.drop_passing(now))

    def _event(self, source: SourceState, event: Event) -> None:
        source.records += 1
        names = (
            event.computer,
            event.channel,
            event.provider,
            event.process,
            event.ese_instance,
            event.database,
        )
        origin = self._origins.get(names)
        if origin is None:
            short = shortened(event)
            if "power" in short.fields and self._is_foreign(source, short):
                return
            origin = Origin(self._computer(source, short.computer, event.time), short)
            if short is event:
                self._origins[names] = origin
            event = short
        time = event.time
        if time is not None:
            if time < origin.oldest:
                origin.oldest = time
                self.computers.note(origin.computer, time)
            clock_guard.note(source, time)
        admitted = self._admitted(origin, event)
        log = self._channel_of(origin, event) if event.companion else None
        if log is not None and time is not None:
            hearing.note_companion(log, time)  # where another log has it, too, both are read
        if admitted is None:
            source.duplicates += 1
        elif admitted.companion:
            self._companion_event(source, origin.computer, admitted)
        else:
            self._engine_event(source, origin, admitted)

    def _admitted(self, origin: Origin, event: Event) -> Event | None:
        """The event at its place in its log; None when it was taken in before."""
        channel = None
        if event.record_id is not None and event.channel:
            channel = self._channel_of(origin, event)
            if channel is not None and origin.neighbours is None:
                origin.neighbours = self._neighbours.setdefault(id(channel), Neighbours())
        if event.record_id is None or channel is None:
            return event if self._is_first(origin, event, numbered=False) else None
        if not deduplication.admit(channel, event.record_id, event.time, origin.neighbours):
            return None
        if not self._is_first(origin, event, numbered=True):
            return None
        if not set_back.has_turns(channel):
            return event
        placed, changed = set_back.in_order(self.state, channel, event)
        self.changed |= changed
        return placed

    def _channel_of(self, origin: Origin, event: Event) -> Channel | None:
        """The log of the event; None without room, which is counted where numbers need it."""
        crowded = len(self.state.channels) >= most_owners(self.settings)
        if origin.channel is None and (event.record_id is not None or not crowded):
            origin.channel = self._channel(origin.computer, event.channel)
        return origin.channel

    def _is_first(self, origin: Origin, event: Event, *, numbered: bool) -> bool:
        """False: another input had the same record; what this one shows besides is taken over."""
        days = self.state.recent.setdefault(origin.computer, {})
        admitted = overlaps.admit(days, event, origin.identity, self._input, numbered=numbered)
        for day in admitted.days:
            if (origin.computer, day) != self._recent:  # as most are not
                self._recent = origin.computer, day
                self._touch("recent", origin.computer, str(day))
        if admitted.is_richer and event.time is not None and event.database:
            label = identity.label_kept(event.database, bad=True) or ""
            entry = self.state.databases.get((origin.computer, label))
            if entry is not None and databases.enrich(self.state, entry, event, event.time):
                self._touch("database", entry.computer, entry.database)
        return admitted.is_new

    def _companion_event(self, source: SourceState, computer: str, event: Event) -> None:
        if event.time is None:
            source.untimed += 1
        elif event.event_id in checkdb_results.EVENTS:
            self._check(source, computer, event, event.time)
        else:
            self._failovers_told = True
            self.changed |= fold_companion(self.state, self.settings, computer, event, event.time)

    def _engine_event(self, source: SourceState, origin: Origin, event: Event) -> None:
        self._heard(origin, event)
        computer, time = origin.computer, event.time
        if time is None:
            # It has no place among passes, stops and backups, but a bad page is still one, and
            # known since it was read: no scan that began before proves it good.
            source.untimed += 1
            time = max(self._now, source.last_record) or source.opened
        history = source.baseline and time < source.opened - HISTORY_SECONDS
        if event.time is not None:
            instances.note_restore(self.state.hosts[computer], event, time)
        if origin.instance_name and event.time is not None:
            self._instance_event(origin, event, time)
        if event.event_id in engine_errors.MAY_REPORT and event.time is not None:
            for kind in engine_errors.kinds_of(computer, event, self.settings):
                if (instance := self._instance_of_error(computer, event)) is not None:
                    engine_errors.note(instance, kind, time)
        if event.database:
            self._database_event(origin, event, time, history=history)
        elif "file" in event.fields:
            self.changed.update(fold_log_file_event(self.state, computer, event, time))
        elif event.time is not None and engine_errors.is_failed_read(event):
            # Of a file that is not known: none of its instance's scans then verifies a database.
            if (instance := self._instance_of_error(computer, event)) is not None:
                engine_errors.note(instance, "io", time)
                bad_pages.note_io_error(instance, time)
                most = bad_pages.MAX_IO_ERRORS
                page_errors.add_time(instance.failed_reads, time, within=0.0, most=most)
        elif event.event_id in page_errors.REPORTS:
            self._failure(computer, event, time, history=history)
        # Most events are information, and none of them is an error.
        if event.level != "information" and engine_errors.counts_unexplained(
            event.event_id, event.level, event.provider, tuple(self.settings.providers)
        ):
            self.changed.add(engine_errors.fold_unexplained(self.state, computer, event, time))

    def _heard(self, origin: Origin, event: Event) -> None:
        host, time = origin.host, event.time
        if host is None:
            host = origin.host = self.state.hosts[origin.computer]
            self._touch("host", origin.computer)
        if event.event_id in origin.event_ids:
            origin.event_ids[event.event_id] += 1
        else:
            if not self.computers.event_ids.count(self.state, self.settings, host, event):
                self._touch("dropped", "")
            origin.event_ids = host.events.get(event.provider, origin.event_ids)
        if time is not None:
            # One with a number was noted with it.
            if event.record_id is None or not event.channel:
                channel = self._channel_of(origin, event)
                if channel is not None:
                    hearing.note(channel, time)
            if time > host.last_heard:
                host.last_heard = time
            if time < host.first_heard or not host.first_heard:
                host.first_heard = time

    def _instance_event(self, origin: Origin, event: Event, time: float) -> None:
        computer, name, instance = origin.computer, origin.instance_name, origin.instance
        if instance is None:
            instance = origin.instance = self._instance(computer, name, named_by_event=True)
        if instance is None:
            return
        heard = False
        hour = time // HOUR_SECONDS  # most are of that of the last one
        if hour != origin.hour and event.event_id not in NO_SIGN and not is_tool(event.process):
            origin.hour = hour
            heard = hearing.note_hour(instance.hours, time)
        heard |= instances.note_log_folder(instance, event)
        if instances.fold_event(instance, event, time) or heard:
            self._touch("instance", computer, name.lower())

    def _failure(self, computer: str, event: Event, time: float, *, history: bool) -> None:
        kind = page_errors.failure_of(event)
        instance = self._instance_of_error(computer, event) if kind is not None else None
        if kind is None or instance is None:
            return
        if kind == "io":
            bad_pages.note_io_error(instance, time)
        else:
            page_errors.keep(instance.failures, Failure(time, kind, event.event_id, history))

    def _instance_of_error(self, computer: str, event: Event) -> Instance | None:
        name = engine_errors.instance_of(self.state, computer, event)
        instance = self._instance(computer, name, named_by_event=True)
        if instance is not None:
            note_process(instance, event.process)
            self._touch("instance", computer, name.lower())
        return instance

    def _database_event(self, origin: Origin, event: Event, time: float, *, history: bool) -> None:
        bad = event.event_id in _DAMAGE or page_errors.failure_of(event) not in (None, "io")
        entry = origin.database
        if entry is None:
            if is_called_temporary(event.database):
                return
            entry = self._database(origin.computer, event.database, event.process, bad=bad)
            if entry is None:
                return
        if origin.is_snapshot:
            databases.meet(entry, time, dated=event.time is not None)
        elif databases.identify(entry, event, time):
            self._failovers_told = True
        # Mounting, detaching and reading a snapshot says nothing of its origin but damage.
        if bad or not origin.is_snapshot:
            databases.fold_event(self.state, entry, event, time, history=history)
        if origin.database is None:
            self._touch("database", entry.computer, entry.database)
            if not bad:  # a file that is ignored is known by its damage only
                origin.database = entry

    def _copy(self, source: SourceState, record: file_checks.OfCopy) -> None:
        source.records += 1
        time = record.time
        if isinstance(record, PagesScanned):  # the content of a copy is older than the reading
            time = max(time, record.read)
        clock_guard.note(source, time)
        computer = self._computer(source, record.computer, time)
        entry = self._database(computer, record.database, "", bad=file_checks.is_bad(record))
        if entry is not None:
            file_checks.fold(entry, record, source)
            self._touch("database", entry.computer, entry.database)

    def _check(self, source: SourceState, computer: str, event: Event, time: float) -> None:
        label, known = checkdb_results.label(event), self.state.sql_databases
        entry = known.get((computer, label or ""))
        if entry is None:
            if label is None or not self._fits(known, computer, label):
                return
            entry = known[computer, label] = checkdb_results.SqlDatabase(
                computer=computer, database=label
            )
        source.duplicates += not checkdb_results.fold_check(entry, event, time)
        self._touch("sql_database", computer, entry.database)

    def _reading(self, source: SourceState, reading: Reading) -> None:
        source.records += 1
        clock_guard.note(source, reading.time)
        it = reading
        place = it.computer, it.object, it.counter, it.instance, id(it.feed)
        column = self._columns.get(place)
        if column is not None:
            self.computers.note(column.computer, reading.time)
        else:
            reading = shortened(it)
            column = self._column(source, reading)
        if column is None:
            return
        if fold_reading(column.owner, reading, column.feed, self._until):
            self.changed.add(column.entity)
            if reading is it:  # a feed that is kept is no other one's identity
                self._columns[place] = column
        else:
            source.duplicates += 1

    def _column(self, source: SourceState, reading: Reading) -> Column | None:
        """The column of a sample; None: it feeds nothing, or its owner is beyond the limit."""
        computer = self._computer(source, reading.computer, reading.time)
        feed = reading.feed
        if feed is None or not counters.is_kept(feed, computer, self.settings):
            return None
        owner, entity = self._owner(computer, feed)
        return None if owner is None else Column(feed, computer, owner, entity)

    def _owner(self, computer: str, feed: Feed) -> tuple[Metered | None, Entity]:
        """The owner of a counter, None beyond the limit, and its row of the journal."""
        if feed.owner == "instance":
            entity = ("instance", computer, feed.name.lower())
            return self._instance(computer, feed.name, named_by_event=False), entity
        if feed.owner == "device":
            return self._device(computer, feed.name), ("device", computer, feed.name)
        host = self.state.hosts[computer]
        known = feed.labels == () or series(feed.metric, feed.labels) in host.levels
        fits = known or self._has_room(host.levels, computer, feed.labels[0])
        return host if fits else None, ("host", computer, "")

    def _set_backed_up(self, source: SourceState, record: SetBackedUp) -> None:
        source.records += 1
        clock_guard.note(source, record.time)
        computer = self._computer(source, record.computer, record.time)
        instance = self._instance(computer, record.ese_instance, named_by_event=False)
        if instance is not None:
            sets = self.state.hosts[computer].backup_sets
            source.duplicates += not instances.fold_set(instance, sets, record)
            self._touch("host", computer)
            self._touch("instance", computer, instance.ese_instance.lower())

    def _volumes_seen(self, source: SourceState, seen: VolumesSeen) -> None:
        computer = self._computer(source, seen.computer)
        host = self.state.hosts[computer]
        volumes = dict(sorted(seen.devices.items())[:MAX_VOLUMES])
        if volumes != host.volumes:
            host.volumes = volumes
            self._touch("host", computer)

    def _coverage(self, source: SourceState, coverage: Coverage) -> None:
        computer = self._computer(source, coverage.computer, coverage.first_time)
        channel = self._channel(computer, coverage.channel)
        if channel is None:
            return
        deduplication.cover(channel, coverage)
        if (neighbours := self._neighbours.get(id(channel))) is not None:
            neighbours.forget()
        key = (computer, channel.channel)
        self._settled.discard(key)
        self.computers.tells_of(source, key)

    def _counters_seen(self, source: SourceState, seen: CountersSeen) -> None:
        computer = self._computer(source, seen.computer)
        self.state.hosts[computer].counters_present.update(seen.present)
        self._touch("host", computer)
