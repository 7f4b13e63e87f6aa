"""What goes wrong in an estate, and beside it what must be reported, by semantics.md alone."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from tests.estate.month import END, at
from tests.estate.ordinary_life import CLOSES, HEARD_EVERY
from tests.estate.servers import Home, Server
from tests.estate.truth import BY_TIME, Key, Told
from tests.oracle.history import DAY, HOUR
from tests.oracle.script import Script

Later = Callable[[], Sequence[Told]]
"""What must be reported, once the month is written: some of it ends by what is logged later."""
NONE: Sequence[Told] = ()
AGENT: Key = ("", "")
"""What is reported of the agent itself, and of no database."""


class Ack(NamedTuple):
    """A person takes what a database shows as resolved."""

    time: float
    key: Key


@dataclass
class Stage:
    """Where incidents take place."""

    rng: Random
    script: Script
    homes: list[Home]
    servers: list[Server]
    acks: list[Ack] = field(default_factory=list)
    journal_lost: float = math.inf

    def seen(self, home: Home, begin: float, days: float) -> float:
        """A person takes it as resolved so long after `begin`. A lost journal forgets that, and who
        is reported again does it again."""
        time = begin + self.rng.uniform(1, days) * DAY
        if begin < self.journal_lost < time:
            time = self.journal_lost + DAY
        self.acks.append(Ack(time, home.key))
        return time

    def again(self, told: Sequence[Told]) -> Sequence[Told]:
        """What was acknowledged before the journal was lost is reported from then on."""
        lost = self.journal_lost
        later = [each._replace(begin=lost, end=math.inf) for each in told if each.end < lost]
        return [*told, *later]

    def home(self, *kinds: str) -> Home | None:
        """A database that nothing else befalls, nor its copy, nor its server."""
        free = [
            each
            for each in self.homes
            if each.kind in kinds
            and not each.taken
            and not each.server.taken
            and not (each.partner and (each.partner.taken or each.partner.server.taken))
        ]
        if not free:
            return None
        home = self.rng.choice(free)
        home.taken = True
        return home

    def server(self, *sites: str) -> tuple[Server, list[Home]] | None:
        """A server that nothing else befalls, and its databases."""
        busy = {each.server.number for each in self.homes if each.taken}
        busy |= {each.number for each in self.servers if each.taken}
        free = [it for it in self.servers if it.number not in busy and it.site in sites]
        if not free:
            return None
        server = self.rng.choice(free)
        server.taken = True
        return server, [each for each in self.homes if each.server is server]

    def time(self, first: float = 9.0, last: float = 18.0) -> float:
        """A moment of working hours, on one of these days."""
        day = self.rng.randrange(int(first), int(last))
        return at(day, self.rng.uniform(9.0, 15.0))

    def page(self) -> int:
        return self.rng.randint(100, 900)


Incident = Callable[[Stage], Later | None]
"""None: the estate has no place for it."""


def bit_flip(stage: Stage) -> Later | None:
    """ "uncorrectable ...: 905/911 for that page ..., a later complete scan with 0 bad"; one
    that began before it may have read the page when it was good."""
    home = stage.home("active", "passive", "2007")
    if not home:
        return None
    time = stage.time()
    stage.script.bad_page(home.place, time, 474, stage.page())
    return lambda: _bad(home, "bit flip", time, home.scanned_after(time))


def flip_where_nobody_scans(stage: Stage) -> Later | None:
    """No scan ends it: it stands, and is `investigate` "in every model"."""
    home = stage.home("directory", "search")
    if not home:
        return None
    time = stage.time()
    stage.script.bad_page(home.place, time, 474, stage.page())
    return lambda: _bad(home, "flip where nobody scans", time, math.inf)


def corrected_flip(stage: Stage) -> Later | None:
    """`corrected` is no `bad_pages`; "any latched page" is to be investigated."""
    home = stage.home("active")
    if not home:
        return None
    time = stage.time()
    stage.script.bad_page(home.place, time, 399, stage.page())
    return lambda: [
        Told("corrected flip", home.key, "investigate", "look", time, home.scanned_after(time))
    ]


def lost_write(stage: Stage) -> Later | None:
    """ "`lost_flush` ...: 905/911 or `ack` only; no scan of the engine"."""
    home = stage.home("active", "2007", "directory")
    if not home:
        return None
    time = stage.time(8, 14)
    stage.script.bad_page(home.place, time, 530, stage.page())
    seen = stage.seen(home, time, 4)
    return lambda: stage.again(_bad(home, "lost write", time, seen))


def blank_page(stage: Stage) -> Later | None:
    """`no_data` is ended by 905, "no scan of the engine or of ours"; patched, it asks for hardware
    to be checked."""
    home = stage.home("active", "passive")
    if not home:
        return None
    time, number = stage.time(), stage.page()
    patched = time + stage.rng.uniform(1, 3) * DAY
    stage.script.bad_page(home.place, time, 476, number)
    stage.script.log(home.place, patched, 905, f"{number} (0x{number:X})", home.place.path)
    return lambda: _bad(home, "blank page", time, patched)


def bad_pass(stage: Stage) -> Later | None:
    """ "721/722 with bad > 0 without page numbers (one entry "unlocated")", until a later scan."""
    home = stage.home("2007")
    if not home:
        return None
    home.bad_pass = stage.time()
    home.streaming = False

    def told() -> Sequence[Told]:
        return _bad(home, "bad pass", home.counted_bad, home.scanned_after(home.counted_bad))

    return told


def failed_pass(stage: Stage) -> Later | None:
    """ "maintenance error 705, 723, 724, 734 | warning | until next success"."""
    home = stage.home("2007", "active")
    if not home:
        return None
    home.failing_pass = stage.time()

    def told() -> Sequence[Told]:
        end = min((each for each in home.completions if each > home.failed), default=math.inf)
        return [Told("failed pass", home.key, "", "look", home.failed, end)]

    return told


def logical_damage(stage: Stage) -> Later | None:
    """ "Damage ... latched per copy, cleared by `ack`"; 467 is fatal."""
    home = stage.home("active", "2007", "directory")
    if not home:
        return None
    time = stage.time(8, 14)
    stage.script.damage(home.place, time, 467)
    seen = stage.seen(home, time, 6)
    return lambda: stage.again(_damaged(home, "logical damage", "logical_damage", time, seen))


def divergence(stage: Stage) -> Later | None:
    """ "539 ... -> the copy that logs it"."""
    home = stage.home("passive")
    if not home:
        return None
    time = stage.time(8, 14)
    stage.script.damage(home.place, time, 539)
    seen = stage.seen(home, time, 6)
    return lambda: stage.again(_damaged(home, "divergence", "copy_divergence", time, seen))


def suspect_copies(stage: Stage) -> Later | None:
    """ "540 -> both, as suspect": a warning, and no fatal damage."""
    home = stage.home("passive")
    if not home or not home.partner:
        return None
    time = stage.time()
    stage.script.damage(home.place, time, 540)
    both = (home.key, home.partner.key)
    return lambda: [
        Told("suspect copies", key, finding, "look", time)
        for key in both
        for finding in ("copy_suspect", "investigate")
    ]


def failing_read(stage: Stage) -> Later | None:
    """ "so does an I/O error (481, 482, 551) for 7 days"."""
    home = stage.home("active", "directory", "2007")
    if not home:
        return None
    time = stage.time()
    stage.script.io_error(home.place, time, 481)
    return lambda: [
        Told("failing read", home.key, "investigate", "look", time, time + 7 * DAY, 0.0, BY_TIME)
    ]


def full_log_disk(stage: Stage) -> Later | None:
    """ "writes_at_risk (413, ... not ended)": "until what ended it: mount"."""
    home = stage.home("active", "2007", "directory")
    if not home:
        return None
    time = stage.time()
    log = home.place.path.rpartition("\\")[0] + "\\E00.log"
    stage.script.log(home.place, time, 413, log, "-1808", level="error")
    stage.script.log(home.place, time + 60, 103, "0", "[1] 0.0", "0")
    home.down = (time, time + stage.rng.uniform(1, 3) * HOUR)
    return lambda: _at_risk(home, "full log disk", time, home.down[1])


def failed_recovery(stage: Stage) -> Later | None:
    """ "454 ... until what ended it: mount, recovery"."""
    home = stage.home("active", "2007")
    if not home:
        return None
    time = stage.time()
    stage.script.log(home.place, time - 30, 103, "0", "[1] 0.0", "0")
    stage.script.log(home.place, time, 454, "-1216", level="error")
    home.down = (time - 30, time + stage.rng.uniform(1, 5) * HOUR)
    return lambda: _at_risk(home, "failed recovery", time, home.down[1])


def hung_write(stage: Stage) -> Later | None:
    """ "hung I/O 532/533 ... until 507-510 ... of that file and offset, started no later"."""
    home = stage.home("active", "2007")
    if not home:
        return None
    time = stage.time()
    done = time + stage.rng.uniform(0.5, 5) * HOUR
    where = (home.place.path, "81920 (0x0000000000014000)", "8192 (0x00002000)")
    stage.script.log(home.place, time, 533, *where, "60")
    stage.script.log(home.place, done, 508, *where, f"{done - time + 60:.0f}")
    return lambda: _at_risk(home, "hung write", time, done)


def late_scan(stage: Stage) -> Later | None:
    """ "verification overdue; only one copy verified": the largest of 7 days and 1.5 x the median
    of what its passes took, in time at work, after the last verification."""
    home = stage.home("active", "2007")
    if not home:
        return None
    home.scans_until = stage.time(10, 14)
    home.streaming = False

    def told() -> Sequence[Told]:
        # Passes follow each other within three days: 1.5 x of that is less than 7 days. Before it
        # is over a scan that will be late may be reported.
        begin, kind = home.verified()[-1] + 7 * DAY, "late scan"
        names = ["verification_overdue", *(["only_passive_verified"] if home.partner else [])]
        late = [Told(kind, home.key, each, "unverified", begin, by_time=True) for each in names]
        return [*late, Told(kind, home.key, "", "look", begin, begin, 7 * DAY, BY_TIME)]

    return told


def backup_in_window(stage: Stage) -> Later | None:
    """ "stops > 30 min before the window ends, 3 of 7 nights ... With a backup then: "backup
    overlaps maintenance" "."""
    home = stage.home("2007")
    if not home:
        return None
    first = stage.rng.randrange(9, 13)
    home.backup_in_window = (at(first), at(first + stage.rng.randrange(5, 9)))

    def told() -> Sequence[Told]:
        # A night is whole when its window has closed. With the fifth one behind the last of these
        # two of seven are left.
        closes = (CLOSES - 2) * HOUR
        begin, end = home.cut[2] + closes, home.cut[-1] + 5 * DAY - 2 * HOUR
        kind, what = "backup in window", "backup_overlaps"
        return [Told(kind, home.key, what, "look", begin, end, closes, DAY, by_time=True)]

    return told


def failover(stage: Stage) -> Later | None:
    """Nothing is wrong: the pass that is open ends, the next ones verify in time."""
    home = stage.home("active")
    if not home:
        return None
    home.failover = stage.time()
    return lambda: NONE


def search_rebuilt(stage: Stage) -> Later | None:
    """ "All of them end with their file: 325 of that computer at exactly that path"."""
    home = stage.home("search")
    if not home:
        return None
    time = stage.time()
    rebuilt = time + stage.rng.uniform(1, 3) * DAY
    stage.script.bad_page(home.place, time, 474, stage.page())
    stage.script.log(home.place, rebuilt, 325, "1", home.place.path, "0", "[1] 0.0")
    return lambda: _bad(home, "search rebuilt", time, rebuilt)


def silent_server(stage: Stage) -> Later | None:
    """ "the larger of 48 h and three times the longest gap": 48 h after the last record, until the
    rest is read. Of the time in between nothing else is wrong."""
    found = stage.server("north", "south")
    if not found:
        return None
    server, homes = found
    since = stage.time(8, 14)
    server.silent = (since, since + stage.rng.uniform(4, 8) * DAY)

    def told() -> Sequence[Told]:
        # Something is logged at least so often: its last record may be older than `since`.
        return [
            Told("silent server", home.key, "not_heard", "blind", since + 48 * HOUR,
                 server.silent[1], 6 * HOUR, by_time=True)
            for home in homes
        ]  # fmt: skip

    return told


def clock_set_back(stage: Stage) -> Later | None:
    """ "a clock may be set back: tolerated"."""
    found = stage.server("north", "south")
    if not found:
        return None
    found[0].clock = (stage.time(), stage.rng.choice([300.0, 3600.0]))
    return lambda: NONE


def cleared_log(stage: Stage) -> Later | None:
    """ "log cleared ...: not a gap, and nothing lost"."""
    # With the journal what was read of a log that is cleared would be lost, too.
    found = stage.server("north") if stage.journal_lost > END else None
    if not found:
        return None
    found[0].cleared = stage.time()
    return lambda: NONE


def lost_records(stage: Stage) -> Later | None:
    """ "After a gap of more than one window: ledger and cadence are "unknown since" ", in numbered
    logs; until all is proven good again."""
    found = stage.server("north") if stage.journal_lost > END else None
    if not found:
        return None
    server, homes = found
    since = stage.time()
    server.lost = (since, since + stage.rng.uniform(26, 36) * HOUR)

    def told() -> Sequence[Told]:
        # What comes behind it shows it, and that comes within so many hours. Where no window is
        # configured one lasts half a week: "two windows, or 7 days".
        kind, end = "lost records", server.lost[1]
        windowed = [each for each in homes if each.kind == "2007"]
        gone = [
            Told(kind, home.key, "unknown_since", "blind", end + HEARD_EVERY,
                 home.verified_after(end), HEARD_EVERY)
            for home in windowed
        ]  # fmt: skip
        # A pass of which a part is lost proves nothing: the next one may come too late.
        missed = ("verification_overdue", "only_active_verified", "only_passive_verified", "")
        late = [
            Told(kind, home.key, each, "unverified" if each else "look", end, end, 0.0, 10 * DAY)
            for home in homes
            if home.partner
            for each in missed
        ]
        # "source down, records missed or journal set aside | warning | 1h"; until when is not said.
        shown, over = end + HEARD_EVERY, end + DAY
        missing = Told("records missed", AGENT, "", "ok", shown, over, HEARD_EVERY, math.inf)
        return [*gone, *late, missing]

    return told


def overlapping_exports(stage: Stage) -> Later | None:
    """ "People export overlapping ranges, and copies of a log lie beside it": no record twice."""
    found = stage.server("north")
    if not found:
        return None
    time = stage.time()
    found[0].exported = (time, time - 6 * DAY, time - stage.rng.uniform(0, 3) * DAY)
    return lambda: NONE


INCIDENTS: tuple[Incident, ...] = (
    bit_flip,
    silent_server,
    failover,
    lost_write,
    backup_in_window,
    full_log_disk,
    flip_where_nobody_scans,
    late_scan,
    overlapping_exports,
    lost_records,
    corrected_flip,
    clock_set_back,
    blank_page,
    bad_pass,
    divergence,
    cleared_log,
    failed_pass,
    hung_write,
    logical_damage,
    suspect_copies,
    failing_read,
    failed_recovery,
    search_rebuilt,
)


def _bad(home: Home, kind: str, begin: float, end: float) -> Sequence[Told]:
    return [Told(kind, home.key, "investigate", "bad_pages", begin, end)]


def _damaged(home: Home, kind: str, finding: str, begin: float, end: float) -> Sequence[Told]:
    both = (finding, "investigate")
    return [Told(kind, home.key, each, "bad_pages", begin, end) for each in both]


def _at_risk(home: Home, kind: str, begin: float, end: float) -> Sequence[Told]:
    return [Told(kind, home.key, "", "writes_at_risk", begin, min(end, END))]
