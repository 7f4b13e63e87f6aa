"""Short stories, each about one rule: few events, everything that the rule depends on varied."""

from collections.abc import Callable

from tests.oracle.history import DAY, HOUR
from tests.oracle.mishaps import DAMAGE, MORE_DAMAGE, PAGES, unexplained
from tests.oracle.script import Place, Script, date, page, stamp

Vignette = Callable[[Script, list[Place], float], None]


def old_scan(script: Script, places: list[Place], begin: float) -> None:
    """2007: a scan whose start may be unseen, with bad pages before and within it."""
    rng, place = script.rng, places[0]
    zeroing = rng.random() < 0.4
    start = begin + 4 * DAY
    for each in range(rng.choice([0, 1, 2])):
        script.bad_page(place, begin + rng.uniform(0, 4.2) * DAY, rng.choice(PAGES), 20 + each)
    if rng.random() < 0.6:
        script.on(place, start, 718 if zeroing else 717)
    if rng.random() < 0.5:
        script.on(place, start + 3 * HOUR, 726 if zeroing else 725)
        script.on(place, start + DAY, 720 if zeroing else 719, date(start), "1")
    if rng.random() < 0.2:
        script.on(place, start + DAY + 60, 724 if zeroing else 723, "-1022", "60")
    bad = rng.choice([0, 0, 1, 2])
    for each in range(rng.choice([0, bad, bad + 1])):
        script.bad_page(
            place, start + DAY + 2 * HOUR + each, rng.choice([474, 475, 399]), 30 + each
        )
    script.scan_done(place, start + DAY + 4 * HOUR, start, bad, zeroing)
    if rng.random() < 0.4:
        script.on(place, start + 2 * DAY, 718 if zeroing else 717)
        script.scan_done(place, start + 2 * DAY + 900, start + 2 * DAY, 0, zeroing)


def active_scan(script: Script, places: list[Place], begin: float) -> None:
    """A pass of an active copy: start seen or not, resumed, another start in it, bad pages."""
    rng, place = script.rng, places[0]
    start = begin + 2 * DAY
    if rng.random() < 0.5:
        script.bad_page(place, begin + rng.uniform(0, 4) * DAY, rng.choice(PAGES), 25)
    if rng.random() < 0.7:
        script.on(place, start, 736)
    if rng.random() < 0.4:
        script.stop(place, start + 5 * HOUR)
        script.start(place, start + 6 * HOUR)
        if rng.random() < 0.3:
            script.skipped(place, start + 6 * HOUR + rng.choice([9, 9.5, 2]))
        script.on(place, start + 6 * HOUR + 10, 738, "5001", date(start), "1")
    if rng.random() < 0.2:
        script.on(place, start + 9 * HOUR, 736)
    if len(places) > 1 and rng.random() < 0.5:
        script.on(places[1], start + 10 * HOUR, 738, "7001", date(start), "1")
    if rng.random() < 0.2:
        event_id = rng.choice([474, 516, 481, 540])
        if event_id == 474:
            script.bad_page(place, start + 12 * HOUR, 474, 26)
        elif event_id == 481:
            script.io_error(place, start + 12 * HOUR, 481)
        else:
            script.damage(place, start + 12 * HOUR, event_id)
    wall = rng.choice([1.2, 3, 9])
    run = rng.choice([100, 100, 50, None])
    script.active_done(place, start + wall * DAY, start, run, rng.choice([0, 0, 0, 1]))


def passive_scan(script: Script, places: list[Place], begin: float) -> None:
    """Passes of a passive copy: 717, 719, 745, 746, 747 and 732 in many orders."""
    rng, place = script.rng, places[0]
    if rng.random() < 0.5:
        script.bad_page(place, begin + rng.uniform(0, 6) * DAY, rng.choice(PAGES), 25)
    time = begin
    for _ in range(rng.randint(1, 3)):
        time += rng.uniform(0.1, 2) * DAY
        start = time
        if rng.random() < 0.7:
            script.on(place, time, 717)
        for _ in range(rng.choice([0, 0, 1, 2])):
            time += rng.uniform(0.1, 1) * DAY
            if rng.random() < 0.6:
                script.on(place, time, 745, "4096", "-", "4000, 0")
            if rng.random() < 0.2:
                script.skipped(place, time + 599.5)
            script.on(place, time + 600, 719, date(start), "1")
        if rng.random() < 0.1:
            script.on(place, time + 700, 738, "300", date(start), "1")
        time += rng.uniform(0.1, 2) * DAY
        if rng.random() < 0.15:
            script.on(place, time - 1, 746, stamp(begin))
        if rng.random() < 0.85:
            script.passive_done(place, time, start, rng.choice([100, 60, None]))


def defrag(script: Script, places: list[Place], begin: float) -> None:
    """Defragmentation: any order of its events and of stops."""
    rng, place = script.rng, places[0]
    time = begin
    for _ in range(rng.randint(3, 16)):
        time += rng.uniform(0.02, 1.2) * DAY
        event_id = rng.choice([700, 700, 702, 701, 703, 704, 704, 705, 103, 102])
        if event_id in (701, 703):
            script.defrag_done(place, time, time - DAY, event_id == 703)
        elif event_id == 103:
            script.stop(place, time)
        elif event_id == 102:
            script.start(place, time)
        else:
            rest = (date(begin), "1") if event_id == 702 else ()
            script.on(place, time, event_id, *rest)


def damages(script: Script, places: list[Place], begin: float) -> None:
    """Damage on a copy whose role may be known, and what may repair it."""
    rng = script.rng
    for place in places:
        told = rng.choice(["active", "passive", "nothing"])
        if told == "active":
            script.on(place, begin + rng.uniform(0, 1) * DAY, 736)
        elif told == "passive":
            script.on(place, begin + rng.uniform(0, 1) * DAY, 717)
    for _ in range(rng.randint(1, 3)):
        place = rng.choice(places)
        event_id = rng.choice([*DAMAGE, *MORE_DAMAGE, 538, 540, 545, 447])
        script.damage(place, begin + rng.uniform(0.5, 3) * DAY, event_id)
    mended = rng.choice(["no", "no", "restore", "index", "patch"])
    place = rng.choice(places)
    if mended == "restore":
        script.log(place, begin + 2 * DAY, 205)
    elif mended == "index":
        script.on(place, begin + 2 * DAY, 612)
    elif mended == "patch":
        script.bad_page(place, begin + 2 * DAY, 474, 30)
        script.log(place, begin + 2 * DAY + 60, 905, page(30), place.path)


def io_errors(script: Script, places: list[Place], begin: float) -> None:
    """I/O errors and errors that nothing explains."""
    rng, place = script.rng, places[0]
    script.start(place, begin)
    for _ in range(rng.randint(1, 3)):
        time = begin + rng.uniform(0, 9) * DAY
        if rng.random() < 0.5:
            script.io_error(place, time, rng.choice([481, 482, 551]))
        else:
            unexplained(script, rng.choice(places), time)
    if place.process != "MSExchangeRepl" and rng.random() < 0.5:
        script.on(place, begin + 9 * DAY, 701)


def backups(script: Script, places: list[Place], begin: float) -> None:
    """Streaming backups, whole and not."""
    rng, place = script.rng, places[0]
    kinds = ["good", "early", "error", "open", "incremental", "stopped", "shadow"]
    for each in range(rng.randint(1, 2)):
        time = begin + each * DAY
        script.backup(place, time, "good" if rng.random() < 0.4 else rng.choice(kinds))
        if rng.random() < 0.2:
            script.bad_page(place, time + 400, 474, 20)


def long_absence(script: Script, places: list[Place], begin: float) -> None:
    """A start, or nothing, then little for weeks; at work or not."""
    rng, place = script.rng, places[0]
    script.start(place, begin)
    lasts = rng.choice([3, 8, 16, 30, 50, 60])
    if place.generation == "ese" and rng.random() < 0.5:
        if rng.random() < 0.5:
            script.active_done(place, begin + DAY, begin + HOUR, 100)
        else:
            script.on(place, begin + HOUR, 736)
            script.active_done(place, begin + DAY, begin + HOUR, 100)
    if rng.random() < 0.3:
        script.stop(place, begin + rng.uniform(1, lasts) * DAY)
    if rng.random() < 0.3:
        script.log(place, begin + 0.3 * lasts * DAY, 302)
        script.start(place, begin + 0.8 * lasts * DAY)
    script.log(place, begin + lasts * DAY, 302)


def standing_still(script: Script, places: list[Place], begin: float) -> None:
    """An active scan that tells its progress, or that it has none."""
    rng, place = script.rng, places[0]
    start = begin + rng.choice([0, 13, 20]) * DAY
    script.start(place, begin)
    script.on(place, start, 736)
    pages = 5000
    for each in range(1, rng.randint(4, 14)):
        pages += 256 if rng.random() < 0.15 else 0
        elapsed = str(6 * each)
        script.on(place, start + 6 * HOUR * each, 744, date(start), elapsed, str(pages))
    if rng.random() < 0.2:
        script.active_done(place, start + 4 * DAY, start, 100)


def window_nights(script: Script, places: list[Place], begin: float) -> None:
    """Nights in a window: passes that are quick, slow, cut by a backup, or never end."""
    rng, place = script.rng, places[0]
    story = rng.choice(["quick", "quick", "never", "cut", "few"])
    nights = {"few": 5, "never": 17}.get(story, 8)
    for night in range(nights):
        time = begin + night * DAY + HOUR + 60
        first = night == 0 or story in ("quick", "few")
        script.on(place, time, 700) if first else script.on(place, time, 702, date(begin), "1")
        if story in ("quick", "few"):
            script.defrag_done(place, time + 1900, time, False)
        else:
            end = time + (HOUR if story == "cut" else 3 * HOUR)
            if story == "cut":
                script.log(place, end - 5, 210)
            script.on(place, end, 704)


def directory(script: Script, places: list[Place], begin: float) -> None:
    """A directory whose passes are no longer what they were."""
    rng, place = script.rng, places[0]
    for each in range(rng.randint(2, 6)):
        time = begin + each * 12 * HOUR
        script.on(place, time, 700)
        script.defrag_done(place, time + 1, time, False)
    time = begin + 15 * DAY
    for each in range(rng.randint(1, 4)):
        at = time + each * 12 * HOUR
        script.on(place, at, 702, date(begin), "1") if each else script.on(place, at, 700)
        if rng.random() < 0.8:
            script.on(place, at + 600, 704)
        else:
            script.defrag_done(place, at + 600, at, bool(each))


def one_side(script: Script, places: list[Place], begin: float) -> None:
    """Copies of which one is verified, or both."""
    rng = script.rng
    for each, place in enumerate(places):
        script.start(place, begin)
        proven = rng.random() < 0.5
        time = begin + rng.uniform(1, 3) * DAY
        if each == 0:
            script.on(place, time, 736)
            if proven:
                script.active_done(place, time + DAY, time, 100)
        else:
            script.on(place, time, 717)
            if proven:
                script.passive_done(place, time + DAY, time, 100)
        script.log(place, begin + rng.choice([9, 20]) * DAY, 302)


OLD: tuple[Vignette, ...] = (old_scan, old_scan, defrag, backups, window_nights, window_nights)
CURRENT: tuple[Vignette, ...] = (
    active_scan,
    active_scan,
    passive_scan,
    passive_scan,
    damages,
    standing_still,
    long_absence,
    one_side,
    one_side,
    io_errors,
)
SMALL: tuple[Vignette, ...] = (defrag, backups, damages, io_errors, long_absence)
REPLICA: tuple[Vignette, ...] = (io_errors, long_absence)
DIRECTORY: tuple[Vignette, ...] = (directory, directory, defrag, io_errors, long_absence)
