"""Histories for the pictures, with the figures and the advice that belong to them."""

import datetime
from typing import Any

import msgspec

from esewatch.advice.advise import advise
from esewatch.advice.forecast.forecast import Forecast
from esewatch.advice.history.history import History, as_copy
from esewatch.advice.history.ledger import ledgers
from esewatch.advice.judgement import Judgement
from esewatch.advice.window.window import window_advice
from esewatch.config import Policy, Window, default_settings
from esewatch.config.calendar import next_opening
from esewatch.expose.pages.overview import DatabaseFigures, overview
from esewatch.fold.instances.backups import Backup
from esewatch.fold.passes.runs import Run
from esewatch.fold.state.state import Pass
from tests.advice.histories import DAY, HOUR, NOON, one_pass, opening, store
from tests.expose.examples import NOW, PRIV06, example

MORNING = NOON - 4 * HOUR
"""2007-07-01 08:00 UTC."""
BERLIN = Window(start=datetime.time(1), duration=4 * HOUR, timezone="Europe/Berlin")


def utc(*when: int) -> float:
    return datetime.datetime(*when, tzinfo=datetime.UTC).timestamp()  # type: ignore[misc,arg-type]


def backup(start: float, end: float) -> Backup:
    return Backup("full", start, end, {}, verifying=False)


def scan(start: float, end: float, pages: int | None = 5_850_768) -> Pass:
    return one_pass(
        start, end, task="checksum", work_seconds=end - start, pages_seen=pages, bad_checksums=0
    )


def exchange(**changes: Any) -> History:
    """Each night online defragmentation for 2 h, then the scan for 10 min, before them a backup."""
    starts = [opening(ago) for ago in reversed(range(30))]
    scans = [Run(start + 2 * HOUR, start + 2 * HOUR + 600) for start in starts]
    given: dict[str, Any] = {
        "read": 143_200,
        "defrag_runs": [Run(start, start + 2 * HOUR) for start in starts],
        "scan_runs": scans,
        "checksum_passes": [scan(*run) for run in scans if run.end],  # type: ignore[arg-type]
        "backups": [backup(start - 3 * HOUR, start - HOUR) for start in starts],
        "verified": {"online_scan": scans[-1].end},
        **changes,
    }
    return store(**given)


def openings(window: Window, now: float, count: int) -> list[tuple[float, float]]:
    """The last `count` that began before `now`."""
    found = []
    start = next_opening(window, now - (count + 3) * DAY)
    while start.start < now:
        found.append((start.start, start.end))
        start = next_opening(window, start.start)
    return found[-count:]


def garbage_collection(**changes: Any) -> History:
    runs = [Run(NOON - n * DAY / 2 - 600, NOON - n * DAY / 2 - 599) for n in reversed(range(60))]
    given: dict[str, Any] = {
        "computer": "dc01",
        "database": "c:\\windows\\ntds\\ntds.dit",
        "model": "garbage_collection",
        "defrag_runs": runs,
        "defrag_passes": [one_pass(run.start, run.end) for run in runs],
        "first_seen": NOON - 60 * DAY,
        "last_seen": NOON,
        **changes,
    }
    return History(**given)


def background(**changes: Any) -> History:
    """A scan of 22 days, and one that has been running for 9."""
    given: dict[str, Any] = {
        "computer": "ex19",
        "database": "d:\\db01\\db01.edb",
        "model": "background",
        "scan_runs": [Run(NOON - 31 * DAY, NOON - 9 * DAY), Run(NOON - 9 * DAY, None)],
        "checksum_passes": [
            one_pass(NOON - 31 * DAY, NOON - 9 * DAY, task="checksum", wall_seconds=22 * DAY),
            one_pass(NOON - 9 * DAY, None, task="checksum", last_event=MORNING - HOUR),
        ],
        "verified": {"online_scan": NOON - 9 * DAY},
        "first_seen": NOON - 60 * DAY,
        "last_seen": NOON,
        **changes,
    }
    return History(**given)


def advised(history: History, now: float, **changes: Any) -> Judgement:
    """What is advised of `history`."""
    policy = Policy()
    ledger = ledgers([as_copy(history, policy)], now)[0]
    base = next(
        each
        for each in advise(example(), default_settings(), NOW)
        if (each.computer, each.database) == PRIV06
    )
    given: dict[str, Any] = {
        "model": history.model,
        "window": window_advice(history, policy, now),
        "ledger": ledger,
        "findings": ledger.findings,
        "verdict": "ok",
        "stale": "",
        "forecasts": tuple(
            Forecast(task=task, reason="no pass is running") for task in ("defrag", "checksum")
        ),
        **changes,
    }
    return msgspec.structs.replace(base, **given)


def figured(history: History, **changes: Any) -> DatabaseFigures:
    """The figures of `history`."""
    view = overview(example(), default_settings(), NOW)
    base = next(each for each in view.databases if (each.computer, each.database) == PRIV06)
    given: dict[str, Any] = {
        "model": history.model,
        "verified": history.verified,
        "bad_pages": {},
        "verdict": "ok",
        "stale": "",
        **changes,
    }
    return msgspec.structs.replace(base, **given)
