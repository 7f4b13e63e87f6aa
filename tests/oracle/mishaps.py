"""What may befall any database at any time, and what people do about it."""

from dataclasses import replace
from typing import Literal

from tests.oracle.history import DAY, HOUR, Scanned
from tests.oracle.script import Place, Script, page

Kind = Literal["uncorrectable", "corrected", "wrong_page", "no_data"]
KINDS: tuple[Kind, ...] = ("uncorrectable", "corrected", "wrong_page", "no_data")
PAGES = (474, 475, 476, 398, 399, 530, 544)
DAMAGE = (447, 447, 448, 467, 516, 537, 538, 539, 540, 541, 542, 545, 549, 550, 556, 557, 559)
MORE_DAMAGE = (560, 566, 568, 569, 570, 613, 614, 643)
UNEXPLAINED = (588, 699, 6123, 7777)


def mishap(script: Script, place: Place, time: float) -> None:
    """One thing that goes wrong, or is repaired."""
    rng = script.rng
    number = rng.randint(20, 40)
    kind = rng.randrange(13)
    exchange = place.provider == "ESE"
    if kind <= 2:
        for each in range(rng.choice([1, 1, 2, 4])):
            script.bad_page(place, time + each, rng.choice(PAGES), number + each)
    elif kind <= 4:
        event_id = rng.choice(DAMAGE + MORE_DAMAGE)
        if event_id in (538, 540, 545) and not exchange:
            event_id = 539
        script.damage(place, time, event_id)
    elif kind == 5:
        log = place.path.rsplit("\\", 1)[0] + "\\E00.log"
        script.io_error(place, time, rng.choice([481, 482, 551]), log if number == 40 else "")
    elif kind == 6:
        unexplained(script, place, time)
    elif kind == 7:
        patched(script, place, time, number)
    elif kind == 8:
        script.log(place, time, 204, "c:\\restore", "c:\\logs")
        script.log(place, time + 900, 205)
    elif kind == 9:
        tool = place.by(rng.choice(["eseutil", "esentutl"]))
        script.log(tool, time, 102, "0", "15", "02", "9", "9")
        script.log(tool, time + 1, 326, "1", place.path, "0", "[1] 0.0", "0 0")
        if rng.random() < 0.4:
            script.bad_page(tool, time + 2, 474, number)
        script.log(tool, time + 3, 103, "0", "[1] 0.0", "0")
    elif kind == 10:
        script.on(place, time, 612)
    elif kind == 11:
        snapshot(script, place, time, number)
    else:
        script.log(place, time, 907, level="error")


def unexplained(script: Script, place: Place, time: float) -> None:
    """An error that no rule knows; or one of no weight."""
    rng = script.rng
    level = rng.choice(["error", "error", "critical", "warning", "information"])
    rest = rng.choice([(), ("-1206",), (place.path, "-1206")])
    elsewhere = rng.random() < 0.3
    where = place.by("unheardof") if elsewhere else place
    script.log(where, time, rng.choice(UNEXPLAINED), *rest, level=level)


def patched(script: Script, place: Place, time: float, number: int) -> None:
    """A bad page that its copy repairs."""
    rng = script.rng
    if rng.random() < 0.8:
        script.bad_page(place, time, 474, number)
    if rng.random() < 0.5:
        script.log(place, time + 60, 905, page(number), place.path)
    else:
        last = number + rng.choice([0, 2])
        script.log(place, time + 60, 911, page(number - 1), page(last), place.path)


def snapshot(script: Script, place: Place, time: float, number: int) -> None:
    """A bad page in a mounted snapshot, whose path tells the origin or does not."""
    letter, _, rest = place.path.partition(":\\")
    mount = f"C:\\$SNAP_201912161234_VOLUME{letter}$\\{rest}"
    shadow = f"\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy7\\{rest}"
    path = mount if len(letter) == 1 and script.rng.random() < 0.6 else shadow
    script.bad_page(replace(place, path=path), time, 474, number)


def page_scan(script: Script, place: Place, computer: str, time: float) -> Scanned:
    """A page scan of a snapshot that was taken at `time`."""
    rng = script.rng
    bad = tuple(
        (rng.randint(20, 40), rng.choice(KINDS)) for _ in range(rng.choice([0, 0, 0, 1, 2]))
    )
    named = {number for number, _ in bad}
    good = tuple(number for number in range(20, 41) if number not in named)
    if rng.random() < 0.4:
        good = tuple(rng.sample(good, 6)) if rng.random() < 0.7 else ()
    read = time + rng.uniform(0.2, 9) * HOUR
    complete = rng.random() < 0.7
    return Scanned(time, read, computer, place.path, complete, 5_850_768, bad, good)


def spread(script: Script, places: list[Place], begin: float, lasts: int, times: int) -> None:
    """So many mishaps, anywhere and at any time."""
    for _ in range(times):
        time = begin + script.rng.uniform(0, lasts * DAY)
        mishap(script, script.rng.choice(places), time)
