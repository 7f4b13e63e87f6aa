"""Long stories: what programs log in weeks of their lives."""

from random import Random

from tests.oracle.history import DAY, HOUR
from tests.oracle.script import Move, Place, Script, date, page, stamp

NIGHT = HOUR
"""One in the morning, when windows begin."""


def exchange_2007(script: Script, places: list[Place], begin: float, lasts: int) -> None:
    """A storage group: defragmentation and scans in a nightly window, backups, restarts."""
    rng = script.rng
    group = places[0]
    up = rng.random() < 0.8
    if up:
        script.start(group, begin)
    backup = rng.choice(["none", "none", "evening", "in the window"])
    kind = rng.choice(["good", "good", "good", "incremental", "shadow"])
    for place in places:
        night_work(script, place, begin, lasts, backup == "in the window")
    for night in range(lasts):
        time = begin + night * DAY
        if backup != "none" and (backup != "evening" or rng.random() < 0.6):
            hour = 2 * HOUR if backup == "in the window" else 20 * HOUR
            bad = rng.choice(["early", "error", "open", "stopped"])
            script.backup(group, time + hour, kind if rng.random() < 0.85 else bad)
        if rng.random() < 0.03:
            script.stop(group, time + 12 * HOUR)
            script.start(group, time + 12 * HOUR + rng.choice([600, 7200]))
        elif rng.random() < 0.01:
            script.start(group, time + 14 * HOUR)


def night_work(script: Script, place: Place, begin: float, lasts: int, cut: bool) -> None:
    """Defragmentation and a scan, a part of each a night."""
    rng = script.rng
    nights = rng.choice([1, 1, 1, 2, 3, 5])
    scan_nights = rng.choice([0, 0, 1, 2, 3, 7])
    zeroing = rng.random() < 0.3
    announced = rng.random() < 0.8
    open_since = scan_since = 0.0
    done = scan_done = 0
    for night in range(lasts):
        time = begin + night * DAY + NIGHT + rng.randint(0, 300)
        if rng.random() < 0.04:
            continue
        stop = begin + night * DAY + 5 * HOUR
        script.on(place, time, 702, date(open_since), "1") if done else script.on(place, time, 700)
        open_since = open_since if done else time
        done += 1
        if cut and rng.random() < 0.8:
            script.on(place, begin + night * DAY + 2 * HOUR + 5, 704)
        elif done >= nights:
            script.defrag_done(place, time + rng.randint(900, 7000), open_since, done > 1)
            done = 0
        elif rng.random() < 0.05:
            script.on(place, stop - 900, 705, "-1022")
        else:
            script.on(place, stop, 704)
        if scan_nights:
            time += 7600
            if scan_done:
                script.on(place, time, 720 if zeroing else 719, date(scan_since), "1")
            else:
                script.on(place, time, 718 if zeroing else 717 if announced else 719)
                scan_since = time
            scan_done += 1
            if scan_done >= scan_nights:
                bad = summary_of(script, place, time)
                script.scan_done(place, time + 2400, scan_since, bad, zeroing)
                scan_done = 0
            elif rng.random() < 0.05:
                script.on(place, time + 900, 724 if zeroing else 723, "-1022", "900")
            else:
                script.on(place, stop + 1, 726 if zeroing else 725)


def summary_of(script: Script, place: Place, time: float) -> int:
    """How many bad pages a scan counts; mostly they are named before, not always all."""
    rng = script.rng
    if rng.random() < 0.94:
        return 0
    bad = rng.randint(1, 3)
    for each in range(rng.choice([bad, bad, bad - 1, bad + 1, 0])):
        number = rng.randint(20, 40)
        script.bad_page(place, time + 60 + each, rng.choice([474, 475, 727, 399]), number)
    return bad


def background(script: Script, copies: list[Place], begin: float, lasts: int) -> None:
    """The scans of a database and its copies since Exchange 2010, with restarts and failovers."""
    rng = script.rng
    end = begin + lasts * DAY
    active = 0
    pass_start: float | None = None
    time = begin
    for place in copies:
        if rng.random() < 0.8:
            script.start(place, begin + rng.randint(0, 60))
    passive_scans = [rng.random() < 0.75 for _ in copies]
    while time < end:
        until = min(end, time + rng.uniform(2, 40) * DAY)
        pass_start = active_scans(script, copies[active], time, until, pass_start)
        for place, scans in zip(copies, passive_scans, strict=True):
            if place is not copies[active] and scans:
                passive_stretch(script, place, time, until)
        time = until
        if len(copies) > 1 and time < end:
            before, active = active, rng.randrange(len(copies))
            if before != active:
                script.moves.append(Move(time, copies[before], copies[active]))
            if before != active and rng.random() < 0.5:
                script.stop(copies[before], time - 30)
                script.start(copies[before], time + 40)


def active_scans(
    script: Script, place: Place, begin: float, end: float, open_since: float | None
) -> float | None:
    """Passes of an active copy from `begin` to `end`; the start of the one that is left open."""
    rng = script.rng
    time = begin + 60
    length = rng.uniform(0.3, 12)
    chatty = rng.random() < 0.5
    stands = rng.random() < 0.2
    whole = True
    while time < end:
        if open_since is None:
            script.on(place, time, 736)
            open_since, whole = time, True
        elif rng.random() < 0.95:
            if rng.random() < 0.05:
                script.skipped(place, time - 1)
            script.on(place, time, 738, str(rng.randint(256, 9000)), date(open_since), "1")
            whole = False
        last = min(end, time + length * DAY * rng.uniform(0.8, 1.2))
        told = time
        pages = 1000
        while chatty and told + 6 * HOUR < min(last, time + 6 * DAY):
            told += 6 * HOUR
            pages += 0 if stands else rng.randint(1, 9000)
            elapsed = str(int((told - open_since) // HOUR))
            script.on(place, told, 744, date(open_since), elapsed, str(pages))
        if last >= end:
            return open_since
        if rng.random() < 0.2:
            if rng.random() < 0.7:
                script.stop(place, last)
            script.start(place, last + rng.choice([90, 900, 40 * HOUR]))
            time = last + 41 * HOUR
            continue
        if rng.random() < 0.06:
            script.bad_page(place, last - 900, rng.choice([474, 476, 475]), rng.randint(20, 30))
        run: int | None = 100 if whole else rng.choice([40, 60, 100])
        run = None if rng.random() < 0.03 else run
        bad = 1 if rng.random() < 0.03 else 0
        script.active_done(place, last, open_since, run, bad)
        open_since = None
        time = last + rng.uniform(0.0, 3) * DAY + 60
        if rng.random() < 0.03:
            script.on(place, time - 30, 734, "-1011")
    return open_since


def passive_stretch(script: Script, place: Place, begin: float, end: float) -> None:
    """Passes of a passive copy from `begin` to `end`."""
    rng = script.rng
    time = begin + 600 + rng.randint(0, 7200)
    resumed = rng.random() < 0.3
    while time < end:
        start = time
        run = 100
        if resumed:
            script.on(place, time, 719, date(time - 2 * DAY), "1")
            start, run = time - 2 * DAY, rng.choice([50, 100])
        else:
            script.on(place, time, 717)
        resumed = False
        last = time + rng.uniform(0.5, 9) * DAY
        skipped = False
        while rng.random() < 0.25 and last < end:
            script.on(place, last - 900, 745, "4096", stamp(begin), "4000, 0")
            skipped = skipped or rng.random() < 0.4
            if skipped and rng.random() < 0.8:
                script.skipped(place, last - 601)
            script.on(place, last - 600, 719, date(start), "1")
            last += rng.uniform(0.1, 2) * DAY
            run = rng.choice([30, 70, 100])
        if last >= end:
            return
        if last - start > 7 * DAY and rng.random() < 0.8:
            script.on(place, last - HOUR, 733, date(start), str(int(last - start)), "8")
        if skipped and rng.random() < 0.5:
            script.on(place, last, 746, stamp(begin))
        elif rng.random() < 0.95:
            script.passive_done(place, last, start, None if rng.random() < 0.03 else run)
        time = last + rng.uniform(0.01, 3) * DAY


def garbage(script: Script, place: Place, begin: float, lasts: int) -> None:
    """A directory: 700 and 701 every twelve hours with nothing freed, or not so."""
    rng = script.rng
    if rng.random() < 0.7:
        script.start(place, begin)
    step = 12 * HOUR if lasts < 50 else 24 * HOUR
    trouble = rng.choice(["none", "none", "interrupted", "silent", "off"])
    turn = begin + lasts * DAY * rng.uniform(0.4, 1.0)
    time, since = begin + 2 * HOUR, 0.0
    while time < begin + lasts * DAY:
        if time > turn and trouble == "silent":
            return
        if time > turn and trouble == "off":
            script.stop(place, time)
            return
        bad = trouble == "interrupted" and time > turn
        script.on(place, time, 702, date(since), "1") if since else script.on(place, time, 700)
        if (bad and rng.random() < 0.8) or rng.random() < 0.02:
            since = since or time
            script.on(place, time + 3600, 704)
        else:
            script.defrag_done(place, time + 1, since or time, bool(since))
            since = 0.0
        if rng.random() < 0.02:
            if rng.random() < 0.7:
                script.stop(place, time + 2 * HOUR)
            time += rng.choice([12, 60]) * HOUR
            script.start(place, time - HOUR)
        time += step


def modest(script: Script, place: Place, begin: float, lasts: int) -> None:
    """A small database of Windows: starts, stops, backups, now and then defragmentation."""
    rng: Random = script.rng
    nightly = rng.random() < 0.4 and place.process != "MSExchangeRepl"
    unlucky = rng.random() < 0.3
    for night in range(0, lasts, rng.choice([1, 2, 7])):
        time = begin + night * DAY + rng.randint(0, 9000)
        if rng.random() < 0.2:
            script.start(place, time)
        if nightly:
            script.on(place, time + 600, 700)
            script.defrag_done(place, time + 900, time + 600, False)
        if rng.random() < 0.2:
            script.backup(place, time + 7200, "good" if rng.random() < 0.8 else "open")
        if unlucky and rng.random() < 0.1:
            script.on(place, time + 60, 507, page(9), "8192 (0x00002000)", "17")
        if rng.random() < 0.1:
            script.stop(place, time + 20_000)
