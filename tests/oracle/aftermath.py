"""What befalls the logs of a history that is written already: silence, restores, moves, exports.

It draws from a random stream of its own, so that the history of a seed is what it was but for what
is added here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from random import Random

from tests.oracle.history import DAY, HOUR, Acknowledged, History, Logged, Scanned
from tests.oracle.identity import Computers, database_label
from tests.oracle.script import Draft, Place, Script

Logs = Mapping[tuple[int, str], Sequence[Logged]]
"""By server and channel: the records in the order in which they were written."""
ERRORS = (-1018, -1018, -1118, -1019, -1119, -1022, -1206)
OTHERS = ("Service Control Manager", "MSExchangeTransport", "Microsoft-Windows-Winlogon")
MOST = 250


@dataclass
class Line:
    """A record of a log as it was, and as it is now; None where it is new, or gone."""

    was: Logged | None
    now: Logged | None
    bare: bool = False
    """It has no number, whatever the others have."""


def with_aftermath(
    made: History, seed: int, logs: Logs, groups: Sequence[Sequence[Place]]
) -> History:
    """The history after up to three more things have happened to it."""
    rng = Random(f"aftermath of {seed}")
    found = Aftermath(rng, made, logs, [place for group in groups for place in group])
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        rng.choice(HAPPENINGS)(found)
    return found.history()


def with_one(
    made: History,
    seed: int,
    logs: Logs,
    groups: Sequence[Sequence[Place]],
    happening: "Happening",
) -> History:
    """The history after this one thing has happened to it."""
    rng = Random(f"one of {seed}")
    found = Aftermath(rng, made, logs, [place for group in groups for place in group])
    happening(found)
    return found.history()


def in_one_order(
    records: Iterable[Logged | Scanned | Acknowledged],
) -> Iterator[Logged | Scanned | Acknowledged]:
    """An input that was not read at one acknowledgement was not at those before it."""
    records = list(records)
    acknowledged = [each for each in records if isinstance(each, Acknowledged)]
    for each in records:
        if isinstance(each, Acknowledged):
            later = [ack.unread for ack in acknowledged if ack.time >= each.time]
            each = each._replace(unread=frozenset().union(*later))
        yield each


class Aftermath:
    """The logs while things happen to them."""

    def __init__(self, rng: Random, made: History, logs: Logs, places: list[Place]) -> None:
        self.rng, self.made = rng, made
        self.script = Script(rng)
        self.logs = {
            key: [Line(each, each) for each in log]
            for key, log in logs.items()
            # By the clock alone nothing can be put in its place where that was set back.
            if log and all(one.time <= other.time for one, other in pairwise(log))
        }
        self.places = [place for place in places if (place.server, place.channel) in self.logs]
        self.more: list[Logged | Acknowledged] = []
        self.exports: list[Place] = []
        self.gone: dict[Place, tuple[float, str]] = {}
        """What was dismounted or moved: when, and where it is then."""
        self.settings: dict[str, object] = {}

    def place(self, *kinds: str) -> Place | None:
        """One of the databases, of an engine of one of the kinds."""
        fitting = [each for each in self.places if not kinds or each.generation in kinds]
        return self.rng.choice(fitting) if fitting else None

    def log(self, place: Place) -> list[Line]:
        """The log that the events of the database are in."""
        return self.logs[place.server, place.channel]

    def moment(self, place: Place) -> float:
        """Some time between its first and its last record."""
        times = [line.now.time for line in self.log(place) if line.now]
        return self.rng.uniform(min(times) + 60, max(times) + 60) if times else self.made.now - DAY

    def change(self, place: Place, change: Callable[[Logged], Logged | None]) -> None:
        """Change each record of its log, or take it away."""
        for line in self.log(place):
            if line.now:
                line.now = change(line.now)

    def history(self) -> History:
        """What is recorded now."""
        for draft in sorted(self.script.drafts, key=lambda each: each.time):
            self.put(self.moved(draft))
        for place in self.exports:
            self.export(place)
        became: dict[Logged, Logged | None] = {}
        new: list[Logged | Acknowledged | Scanned] = [*self.more]
        for log in self.logs.values():
            for line in numbered(log):
                if line.was is None and line.now:
                    new.append(line.now)
                elif line.was:
                    became[line.was] = line.now
        records: list[Logged | Scanned | Acknowledged] = []
        for each in self.made.records:
            changed = became.get(each, each) if isinstance(each, Logged) else self.read_where(each)
            if isinstance(each, Logged) and isinstance(changed, Logged) and changed.file in (7, 8):
                # An export has what was read twice once.
                became[each] = None
            if changed:
                records.append(changed)
        for each in new:
            records.insert(self.rng.randint(0, len(records)), each)
        settings = {**self.made.configuration, **self.settings}
        return self.made._replace(records=tuple(in_one_order(records)), configuration=settings)

    def read_where(self, read: Scanned | Acknowledged) -> Scanned | Acknowledged:
        """A file that was moved is read where it is then."""
        computers = Computers(self.made)
        for place, (time, path) in self.gone.items():
            names = {computers.label(line.was.computer) for line in self.log(place) if line.was}
            is_later = isinstance(read, Scanned) and read.time > time
            if is_later and computers.label(read.computer) in names:
                read = read._replace(database=renamed((read.database,), place.path, path)[0])
        return read

    def moved(self, draft: Draft) -> Draft:
        """What is logged of a database that was moved names where it is then."""
        for place, (time, path) in self.gone.items():
            if (draft.server, draft.channel) == (place.server, place.channel) and draft.time > time:
                draft = draft._replace(strings=renamed(draft.strings, place.path, path))
        return draft

    def put(self, draft: Draft) -> None:
        """Write a record into its log, where its time is."""
        log = self.logs[draft.server, draft.channel]
        kept = [line.now for line in log if line.now]
        if draft.time > self.made.now - 30 or not kept or draft.time <= kept[0].time:
            return
        names = [each.computer for each in kept]
        before = [each for each in kept if each.time <= draft.time][-1]
        record = Logged(
            round(draft.time, 3),
            names[len(names) // 2],
            draft.channel,
            draft.provider,
            draft.event_id,
            None,
            draft.strings,
            draft.level,
            before.file,
        )
        # Behind a record of a clock that was ahead the log goes on.
        place = max(n for n, line in enumerate(log) if line.now and line.now.time <= record.time)
        log.insert(place + 1, Line(None, record))

    def export(self, place: Place) -> None:
        """The log is kept as two exports that overlap."""
        low, high = sorted([self.moment(place), self.moment(place)])
        for line in self.log(place):
            line.bare = True
            if line.now and line.now.time > low:
                line.now = line.now._replace(record_id=None, file=8)
                if line.now.time <= high:
                    self.more.append(line.now._replace(file=7))
            elif line.now:
                line.now = line.now._replace(record_id=None, file=7)

    def other(self, place: Place, time: float, channel: str = "", event_id: int = 7036) -> None:
        """A record of another program."""
        provider = self.rng.choice(OTHERS)
        channel = channel or place.channel
        draft = Draft(time, place.server, channel, provider, event_id, (), "information")
        self.script.drafts.append(draft)


def numbered(log: list[Line]) -> list[Line]:
    """The lines with the numbers that their records have now that others were put between."""
    first = next(line.was for line in log if line.was)
    if first.record_id is None:
        return log
    last, moved, before = first.record_id - 1, 0, 0
    for line in log:
        if line.was:
            number = line.was.record_id or 0
            if number < before:
                # The log was cleared.
                moved = 0
            before = number
            last = number + moved
        else:
            moved += 1
            last += 1
        if line.now and not line.bare:
            line.now = line.now._replace(record_id=last)
    return log


def falls_silent(found: Aftermath) -> None:
    """A computer stops to report; others may go on."""
    place = found.place()
    if not place:
        return
    if found.rng.random() < 0.6:
        goes_on(found, place)
    end = found.moment(place)
    for (server, _), log in found.logs.items():
        for line in log if server == place.server else ():
            if line.now and line.now.time > end:
                line.now = None
    found.script.drafts = [
        each for each in found.script.drafts if each.server != place.server or each.time <= end
    ]
    if found.rng.random() < 0.2:
        word = found.rng.choice(["shutdown", "power off", "restart"])
        strings = ("x", "y", "Other", "0x0", word, "", "admin")
        name = next(line.was.computer for line in found.log(place) if line.was)
        off = Logged(round(end, 3), name, "System", "USER32", 1074, None, strings)
        found.more.append(off)
    elif found.rng.random() < 0.1:
        found.settings["policy"] = {"silent_after": found.rng.choice(["12h", "5d", "30d"])}


def goes_on(found: Aftermath, place: Place | None = None) -> None:
    """Other programs log in the same log, up to the end or to some time before."""
    rng = found.rng
    place = place or found.place()
    if not place:
        return
    times = [line.now.time for line in found.log(place) if line.now]
    if not times:
        return
    every = rng.choice([3 * HOUR, 12 * HOUR, DAY, 3 * DAY])
    time, end = times[0] + 90, found.made.now - rng.choice([0, 0, 0, 1, 3, 9]) * DAY
    every = max(every, (end - time) / MOST)
    while time < end:
        found.other(place, time)
        time += every * rng.uniform(0.7, 1.3)


def goes_away(found: Aftermath) -> None:
    """A database is dismounted, or lies elsewhere from then on."""
    rng, place = found.rng, found.place()
    if not place or place.path[1:2] != ":" or place in found.gone:
        return
    time = found.moment(place)
    found.gone[place] = time, place.path
    kind = rng.choice(["dismounted", "moved", "moved", "renamed", "replayed", "another's"])
    if kind == "replayed":
        if place.generation == "old":
            return
        letter = "," + rng.choice("RU") + ","
        found.script.log(place, time, 327, "1", place.path, "0", "[1] 0.0", "0 0")
        last = found.script.drafts[-1]
        strings = (last.strings[0], last.strings[1].replace(",D,", letter), *last.strings[2:])
        found.script.drafts[-1] = last._replace(strings=strings)
        return
    if kind == "another's":
        tool = place.by("esentutl")
        found.script.log(tool, time, 327, "1", place.path, "0", "[1] 0.0", "0 0")
        return
    folder, _, name = place.path.rpartition("\\")
    path = f"{folder}\\moved\\{name}" if kind == "moved" else f"{folder}\\other{name}"
    found.script.log(place, time, 327, "1", place.path, "0", "[1] 0.0", "0 0")
    if kind != "dismounted":
        found.script.log(place, time + 60, 326, "1", path, "0", "[1] 0.0", "0 0")
        found.gone[place] = time, path

    def elsewhere(record: Logged) -> Logged | None:
        strings = renamed(record.strings, place.path, path)
        if record.time <= time or strings == record.strings:
            return record
        return None if kind == "dismounted" else record._replace(strings=strings)

    found.change(place, elsewhere)


def renamed(strings: tuple[str, ...], old: str, new: str) -> tuple[str, ...]:
    """The words of a record with another path for that of a database."""
    label = database_label(old)
    return tuple(new if database_label(each) == label else each for each in strings)


def is_created(found: Aftermath) -> None:
    """Its file is created anew, some time after a bad page."""
    place = found.place()
    if place:
        time = found.moment(place)
        if found.rng.random() < 0.6:
            found.script.bad_page(place, time - HOUR, found.rng.choice([474, 476, 530]), 33)
        found.script.log(place, time, 325, "1", place.path, "0", "[1] 0.0", "0 0")


def is_restored(found: Aftermath) -> None:
    """A restore, which may fail, before the instance starts."""
    rng, place = found.rng, found.place()
    if not place:
        return
    time = found.moment(place)
    if rng.random() < 0.7:
        found.script.bad_page(place, time - HOUR, rng.choice([474, 475, 476, 399]), 34)
    folder = place.path.rpartition("\\")[0]
    if rng.random() < 0.5:
        found.script.log(place, time - 90, 301, folder + "\\E0000000042.log")
    found.script.log(place, time, 204, "c:\\restore", rng.choice([folder, "c:\\logs"]))
    if rng.random() < 0.3:
        found.script.log(place, time + 30, 454, "-501", level="error")
    found.script.log(place, time + 60, 205)
    if rng.random() < 0.8:
        found.script.start(place, time + 120)


def ends_with_an_error(found: Aftermath) -> None:
    """The error of a task, a backup or a recovery is a page error; it may be named before."""
    rng, place = found.rng, found.place()
    if not place:
        return
    for _ in range(rng.choice([1, 1, 2])):
        time, error = found.moment(place), rng.choice(ERRORS)
        code = str(error) if rng.random() < 0.5 else f"{error} (0x{error & 0xFFFFFFFF:08x})"
        log = place.path.rpartition("\\")[0] + "\\E0000000042.log"
        own = {"old": [705, 723, 724], "ese": [734], "esent": [705]}[place.generation]
        event_id = rng.choice([104, 214, 454, 217, 218, 244, 494, 495, 2002, *own])
        rest: dict[int, tuple[str, ...]] = {
            104: ("0", code, "[1]"),
            217: (code, place.path),
            218: (code, rng.choice([place.path, log])),
            494: (code, place.path),
            495: (code, place.path),
            705: (place.path, code),
            723: (place.path, code, "9"),
            724: (place.path, code, "9"),
            734: (place.path, code),
            2002: ("3", code),
        }
        if rng.random() < 0.3:
            minutes = rng.choice([-59, -61, 59, 61])
            found.script.bad_page(place, time + 60 * minutes, rng.choice([474, 475, 476]), 35)
        found.script.log(place, time, event_id, *rest.get(event_id, (code,)), level="error")


def is_misread(found: Aftermath) -> None:
    """A bad page whose file is not named, or one in a streaming backup."""
    rng, place = found.rng, found.place()
    if not place:
        return
    time = found.moment(place)
    if rng.random() < 0.5:
        found.script.bad_page(replace(place, path=""), time, rng.choice([474, 475, 476, 399]), 36)
    else:
        found.script.backup(place, time)
        found.script.bad_page(place, time + 500, rng.choice([474, 399, 476, 530]), 36)


def is_acknowledged(found: Aftermath) -> None:
    """A person acknowledges before the newest records were read."""
    rng, place = found.rng, found.place()
    if not place:
        return
    time = found.moment(place)
    kept = [line.now for line in found.log(place) if line.now and line.now.time <= time]
    if not any(place.path in record.strings for record in kept):
        return
    found.script.bad_page(place, time - 2 * HOUR, rng.choice([474, 476]), rng.choice([20, 37]))
    if rng.random() < 0.5:
        found.script.damage(place, time - 2 * HOUR, rng.choice([542, 539]))
    if rng.random() < 0.5:
        found.script.io_error(place, time - 2 * HOUR, 482)
    if rng.random() < 0.5:
        found.script.log(place, time - 2 * HOUR, rng.choice([413, 454, 492]), "x", level="error")
    late = kept[-1].time - rng.choice([0.0, HOUR, 3 * HOUR, 3 * DAY])
    unread: frozenset[int] = frozenset()
    if rng.random() < 0.7:
        unread = frozenset({9})
        found.change(place, lambda each: each._replace(file=9) if each.time > late else each)
    label = Computers(found.made).label(kept[-1].computer)
    found.more.append(Acknowledged(time, label, database_label(place.path), (), unread))


def is_exported(found: Aftermath) -> None:
    """Two exports of its log, without numbers, overlap."""
    place = found.place()
    if place and not found.made.complete_channels:
        found.exports.append(place)


def loses_records(found: Aftermath) -> None:
    """Starts and stops are not in the log any more."""
    rng, place = found.rng, found.place()
    if place:
        gone = rng.choice([{102}, {102, 105, 326}, {103}, {105, 326}])
        found.change(place, lambda each: None if each.event_id in gone else each)


def clock_goes_back(found: Aftermath) -> None:
    """It was set back by less than a minute while the instance started anew."""
    place = found.place()
    if place:
        time = found.moment(place)
        found.script.stop(place, time)
        found.script.start(place, time + rng_seconds(found))


def rng_seconds(found: Aftermath) -> float:
    """How long a restart seems to take."""
    return found.rng.uniform(-50, 20)


def is_unreadable(found: Aftermath) -> None:
    """Completions in words that nobody can read, or with numbers that cannot be."""
    rng, place = found.rng, found.place("old", "ese")
    if not place:
        return
    kind = rng.choice(["words", "words", "none seen", "negative"])

    def spoilt(record: Logged) -> Logged:
        if record.event_id not in (721, 722, 732, 735, 737) or rng.random() < 0.5:
            return record
        words = list(record.strings)
        if len(words) == 4:
            return record
        if kind == "words":
            words = words[:4]
        elif kind == "none seen":
            words[{721: 8, 722: 8, 732: 7, 735: 8, 737: 6}[record.event_id]] = "0"
        elif record.event_id in (721, 722):
            words[9] = "-5"
        return record._replace(strings=tuple(words))

    found.change(place, spoilt)


def is_ahead(found: Aftermath) -> None:
    """The last record of a scan bears a time to come: nobody knows what the clock showed."""
    rng, place = found.rng, found.place("old", "ese")
    if not place:
        return
    ids = {717, 718, 721, 722, 732, 735, 736, 737}
    lines = [line for line in found.log(place) if line.now and line.now.event_id in ids]
    if lines and lines[-1].now:
        time = found.made.now + rng.choice([0.5, 2, 40]) * DAY
        lines[-1].now = lines[-1].now._replace(time=round(time, 3))


def cannot_write(found: Aftermath) -> None:
    """The log disk is full, the log sequence halted, an I/O hangs; it may end."""
    rng, place = found.rng, found.place()
    if not place:
        return
    time, event_id = found.moment(place), rng.choice([413, 429, 492, 454, 465, 532, 533])
    where = (place.path, "81920 (0x0000000000014000)", "8192 (0x00002000)")
    rest = (*where, "36") if event_id > 500 else ("x",)
    found.script.log(place, time, event_id, *rest, level="error" if event_id < 500 else "warning")
    if rng.random() < 0.4:
        found.script.start(place, time + 900)
    elif event_id > 500 and rng.random() < 0.7:
        lasted = rng.choice(["30", "99"])
        found.script.log(place, time + 60, 507, *where, lasted, level="warning")


def is_temporary(found: Aftermath) -> None:
    """A temporary database is bad; a path has a component that says nothing."""
    rng, place = found.rng, found.place()
    if not place or place.path[1:2] != ":":
        return
    folder, _, name = place.path.rpartition("\\")
    if rng.random() < 0.5:
        temporary = replace(place, path=f"{folder}\\{rng.choice(['temp.edb', 'TEMPCHKSUM1.EDB'])}")
        found.script.bad_page(temporary, found.moment(place), 474, 38)
    else:
        found.script.bad_page(
            replace(place, path=f"{folder}\\.\\{name}"), found.moment(place), 474, 38
        )


Happening = Callable[[Aftermath], None]
HAPPENINGS: tuple[Happening, ...] = (
    falls_silent,
    falls_silent,
    goes_on,
    goes_away,
    goes_away,
    is_created,
    is_restored,
    ends_with_an_error,
    ends_with_an_error,
    is_misread,
    is_acknowledged,
    is_exported,
    loses_records,
    clock_goes_back,
    is_unreadable,
    is_ahead,
    cannot_write,
    is_temporary,
)
