"""What the programs of an estate log in a month without incident, as each database deviates."""

import math
from collections.abc import Callable

from tests.estate.month import DAYS, END, START, at
from tests.estate.servers import Home, Server
from tests.oracle.history import DAY, HOUR
from tests.oracle.script import Draft, Place, Script, date, days

HEARD_EVERY = 6 * HOUR
"""Something of another program is in each log so often."""
PAGES = 900_000
"""Of a database."""
CLOSES = 5.0
"""The hour at which the windows of 2007 close."""


def live(script: Script, servers: list[Server], homes: list[Home]) -> None:
    """Write what all of them log in the month, as each deviates."""
    for server in servers:
        _other_programs(script, server, [each.place for each in homes if each.server is server])
    for home in homes:
        LIVES[home.kind](script, home)


def _other_programs(script: Script, server: Server, places: list[Place]) -> None:
    for channel in sorted({each.channel for each in places}):
        time = START + 60.0 + server.number
        provider, strings = "Service Control Manager", ("x", "running")
        while time < END:
            script.drafts.append(
                Draft(time, server.number, channel, provider, 7036, strings, "information")
            )
            time += HEARD_EVERY * script.rng.uniform(0.8, 1.0)


def _starts(script: Script, home: Home, begin: float) -> None:
    script.start(home.place, begin)
    if home.down[0] < END:
        script.start(home.place, home.down[1])


def _is_down(home: Home, time: float) -> bool:
    return home.down[0] <= time < home.down[1]


def _live_2007(script: Script, home: Home) -> None:
    """Defragmentation of two nights and a scan of three in the window; a backup each evening."""
    _starts(script, home, START + 300.0 + script.rng.uniform(0, 600))
    _defragmentation(script, home)
    _scans_in_window(script, home)
    for night in range(DAYS):
        now, next_one = (_backs_up_in_window(home, each) for each in (night, night + 1))
        # Between the last one in the window and the next evening are more than 36 hours.
        hours = [2.0] * now + [20.0] * (not (now and next_one))
        for hour in hours:
            script.backup(home.place, at(night, hour), "good" if home.streaming else "shadow")
            if home.streaming:
                home.backups.append(at(night, hour) + 930)


def _backs_up_in_window(home: Home, night: int) -> bool:
    return home.backup_in_window[0] <= at(night, 1.0) < home.backup_in_window[1]


def _defragmentation(script: Script, home: Home) -> None:
    rng, place = script.rng, home.place
    opened, worked = math.inf, 0.0
    for night in range(DAYS):
        begin, close = at(night, 1.0) + rng.uniform(0, 300), at(night, CLOSES)
        cut = _backs_up_in_window(home, night)
        if opened == math.inf:
            opened, worked = begin, 0.0
            script.on(place, begin, 700)
        else:
            script.on(place, begin, 702, date(opened), "1")
        if opened < begin and not cut:
            left = rng.randint(3600, 7000)
            work = int(worked) + left
            script.defrag_done(place, begin + left, opened, resumed=True, work=work)
            opened = math.inf
            continue
        stopped = at(night, 2.0) + 5 if cut else close
        worked += stopped - begin
        script.on(place, stopped, 704)
        if cut:
            home.cut.append(stopped)


def _scans_in_window(script: Script, home: Home) -> None:
    rng, place = script.rng, home.place
    opened, nights = math.inf, 0
    for night in range(DAYS):
        begin, close = at(night, 1.0) + 7600 + rng.uniform(0, 300), at(night, CLOSES)
        if begin >= home.scans_until:
            return
        if nights == 0:
            opened = begin
            script.on(place, begin, 717)
        else:
            script.on(place, begin, 719, date(opened), "1")
        nights += 1
        if home.failing_pass < begin and home.failed == math.inf:
            home.failed, nights = begin + 900, 0
            script.on(place, home.failed, 723, "-1011", "900")
        elif nights < 3:
            script.on(place, close + 1, 725)
        else:
            end, nights = begin + 2400, 0
            bad = 2 if home.bad_pass < end and home.counted_bad == math.inf else 0
            work = 2 * int(CLOSES * HOUR - HOUR - 7600) + 2400
            script.scan_done(place, end, opened, bad, pages=PAGES, work=work)
            if bad:
                home.counted_bad = end
            else:
                home.passes.append((opened, end))
            home.completions.append(end)


def _live_active(script: Script, home: Home) -> None:
    """Passes of two to three days without an end. After a failover its partner goes on with it."""
    partner = home.partner
    assert partner
    until = home.failover
    time = START + 600.0 + script.rng.uniform(0, 6 * HOUR)
    for each in (home, partner):
        _starts(script, each, START + 300.0 + script.rng.uniform(0, 200))
        _snapshots(script, each)
    left_open = _active_scans(script, home, time, until)
    _passive_scans(script, partner, time + HOUR, min(until, END))
    if until < END:
        script.log(home.place, until - 30, 103, "0", "[1] 0.0", "0")
        script.start(home.place, until + 40)
        begun, length = left_open
        done = (until - begun) / length
        so_far = str(int(PAGES * done))
        script.on(partner.place, until + 300, 738, so_far, date(begun), days(begun, until))
        end = until + 300 + length * (1 - done)
        script.active_done(partner.place, end, begun, int(100 * (1 - done)), pages=PAGES)
        _active_scans(script, partner, end + 600, math.inf)
        _passive_scans(script, home, until + HOUR, END)


def _live_with_partner(_: Script, home: Home) -> None:
    """It is reported with the active one."""
    assert home.partner


def _active_scans(script: Script, home: Home, time: float, until: float) -> tuple[float, float]:
    """Up to `until`: the begin and the length of the pass that is open then."""
    place = home.place
    while True:
        length = script.rng.uniform(2.2, 2.8) * DAY
        if time >= min(home.scans_until, END):
            return time, length
        script.on(place, time, 736)
        end = time + length
        if time < home.failing_pass < end and home.failed == math.inf:
            home.failed = home.failing_pass
            script.on(place, home.failed, 734, "-1011")
            time = home.failed + HOUR
            continue
        mark = time + DAY
        while mark < min(end, until, END) - 60:
            if not _is_down(home, mark):
                pages = str(int(PAGES * (mark - time) / length))
                script.on(place, mark, 744, date(time), str(int((mark - time) / HOUR)), pages)
            mark += DAY
        resumed = time < home.down[1] < end
        if resumed:
            so_far = str(int(PAGES * (home.down[0] - time) / length))
            script.on(place, home.down[1] + 60, 738, so_far, date(time), days(time, home.down[1]))
        if end >= min(until, END):
            return time, length
        run = 60 if resumed else 100
        script.active_done(place, end, time, run, pages=PAGES)
        home.passes.append((time, end))
        home.completions.append(end)
        time = end + 600


def _passive_scans(script: Script, home: Home, time: float, until: float) -> None:
    while time < min(until, home.scans_until):
        end = time + script.rng.uniform(1.7, 2.3) * DAY
        script.on(home.place, time, 717)
        if end >= until:
            return
        script.passive_done(home.place, end, time, 100, pages=PAGES)
        home.passes.append((time, end))
        time = end + HOUR


def _snapshots(script: Script, home: Home) -> None:
    """Each evening a backup by a shadow copy, which verifies nothing."""
    for day in range(DAYS):
        script.backup(home.place, at(day, 20.0) + script.rng.uniform(0, 600), "shadow")


def _live_directory(script: Script, home: Home) -> None:
    """Garbage is collected twice a day; nothing verifies it, and nobody asks for it."""
    _starts(script, home, START + 300.0 + script.rng.uniform(0, 600))
    time = START + script.rng.uniform(1, 10) * HOUR
    while time < END:
        if not _is_down(home, time):
            script.on(home.place, time, 700)
            script.defrag_done(home.place, time + 1, time, resumed=False)
        time += DAY / 2


def _live_search(script: Script, home: Home) -> None:
    """It starts with its computer each week, and is defragmented at night."""
    for day in range(DAYS):
        if day % 7 == 0:
            script.start(home.place, at(day, 4.0))
        night = at(day, 5.0) + script.rng.uniform(0, 1800)
        script.on(home.place, night, 700)
        script.defrag_done(home.place, night + 40, night, resumed=False)


LIVES: dict[str, Callable[[Script, Home], None]] = {
    "2007": _live_2007,
    "active": _live_active,
    "passive": _live_with_partner,
    "directory": _live_directory,
    "search": _live_search,
}
