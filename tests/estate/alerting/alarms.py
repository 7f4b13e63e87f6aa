"""The alerts that an estate must raise, by the table of semantics.md 7, beside those that fire."""

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tests.estate.comparison import ORDINARY, Difference
from tests.estate.month import END
from tests.estate.script import Month
from tests.estate.servers import Home
from tests.estate.truth import Key, Told
from tests.oracle.history import HOUR
from tests.rules.quality.backfill import Fired

STARTS_WITHIN = 20 * 60.0
"""Rules are evaluated each five minutes here, recorded ones before those that ask for them."""
ENDS_WITHIN = 1.5 * HOUR
"""What does not latch is read over the last quarter of an hour, a verification over the last."""


class Row(NamedTuple):
    """A row of the table: the alert that an incident raises."""

    alert: str
    severity: str
    hold: float = 0.0
    until_ack: bool = False
    """It goes on when the database is no longer shown as wrong."""
    of_computer: bool = False


BAD_PAGE = Row("EseKnownBadPage", "critical")
ROWS = {
    "bit flip": BAD_PAGE,
    "flip where nobody scans": BAD_PAGE,
    "lost write": BAD_PAGE,
    "blank page": BAD_PAGE,
    "bad pass": BAD_PAGE,
    "search rebuilt": BAD_PAGE,
    "corrected flip": Row("EseCorrectedPage", "warning"),
    "failed pass": Row("EseMaintenanceError", "warning"),
    "logical damage": Row("EseLogicalCorruption", "critical"),
    "divergence": Row("EseCopyDivergence", "critical"),
    "suspect copies": Row("EseCopyDivergence", "warning"),
    # "a single I/O error is a warning", "until what ended it: ... `ack`".
    "failing read": Row("EseIoError", "warning", until_ack=True),
    "full log disk": Row("EseDiskFull", "critical"),
    "failed recovery": Row("EseRecoveryFailed", "critical"),
    "hung write": Row("EseHungIo", "warning"),
    "late scan": Row("EseVerificationOverdue", "warning", HOUR),
    "records missed": Row("EsewatchRecordsMissed", "warning", HOUR),
    "backup in window": Row("EseMaintenanceStopsEarly", "warning"),
    "silent server": Row("EsewatchComputerSilent", "warning", HOUR, of_computer=True),
}
"""By kind. An incident without a row asks nobody."""
BESIDE = {
    # "will miss its deadline (p90)": before it is over, and it may be reported earlier.
    "late scan": ("EseVerificationAtRisk",),
    # ""patched: check hardware" warning after 905/911".
    "blank page": ("EseCorrectedPage",),
    "lost records": ("EseVerificationOverdue", "EseVerificationAtRisk"),
    # A bad page that is older than a week where a new journal begins: "once as a warning".
    "flip where nobody scans": ("EseKnownBadPage",),
    # A backup is missing after 36 hours, a computer is silent after 48.
    "silent server": ("EseBackupMissing",),
}
"""What may fire, too."""


class Alarm(NamedTuple):
    """An alert that must fire."""

    kind: str
    row: Row
    key: Key
    begin: float
    latest: float
    """It fires by then."""
    severities: set[str]
    earliest: float
    """It does not end before that."""
    end: float


def wanted(month: Month) -> list[Alarm]:
    """One for each incident and database, of a computer one."""
    found: dict[tuple[str, Key, float], Alarm] = {}
    for told in month.truth.told:
        row = ROWS.get(told.kind)
        if row is None or told.due >= told.end:
            continue
        key = (told.key[0], "") if row.of_computer else told.key
        begin = told.begin - told.loose_begin + row.hold
        latest = told.due + row.hold + STARTS_WITHIN
        ends = (math.inf, math.inf) if row.until_ack else (told.end, told.over)
        # What a new journal finds in history, older than a week, is a warning.
        again = {"warning"} if told.begin == month.journal_lost else set()
        alarm = Alarm(told.kind, row, key, begin, latest, {row.severity} | again, *ends)
        found.setdefault((told.kind, key, told.begin), alarm)
    return list(found.values())


class Alarms:
    """Those that fired held against those that must."""

    def __init__(self, month: Month, all_fired: Sequence[Fired]) -> None:
        self._homes = month.homes
        self._told: dict[Key, list[Told]] = defaultdict(list)
        for told in month.truth.told:
            self._told[told.key].append(told)
        self._left = [each for each in all_fired if each.severity in ("warning", "critical")]
        self.wanted = wanted(month)

    def differences(self) -> list[Difference]:
        found = [each for alarm in self.wanted for each in self._of(alarm)]
        return found + [
            Difference(self._kind(each), "false", _key(each), _words(each), each.when.start)
            for each in self._left
            if not self._may(each)
        ]

    def _of(self, alarm: Alarm) -> list[Difference]:
        mine = [
            each
            for each in self._left
            if each.alert == alarm.row.alert
            and each.severity in alarm.severities
            and self._is_of(each, alarm.key)
            and each.when.start < alarm.end + ENDS_WITHIN
            and each.when.end >= alarm.begin
        ]
        self._left = [each for each in self._left if each not in mine]

        def differs(part: str, moment: float) -> Difference:
            return Difference(alarm.kind, part, alarm.key, alarm.row.alert, moment)

        if not mine:
            return [differs("missing", alarm.begin)] if alarm.latest < END else []
        first, last = mine[0].when, mine[-1].when
        found = []
        if first.start < alarm.begin:
            found.append(differs("false", first.start))
        if first.start > alarm.latest:
            found.append(differs("late", first.start))
        if len(mine) > 1:
            found.append(differs("twice", mine[1].when.start))
        if last.end < min(alarm.earliest, END) - STARTS_WITHIN:
            found.append(differs("early", last.end))
        if last.end > alarm.end + ENDS_WITHIN:
            found.append(differs("false", last.end))
        return found

    def _is_of(self, fired: Fired, key: Key) -> bool:
        labels = fired.labels
        if labels.get("computer", "") != key[0]:
            return False
        if "database" in labels or not key[1]:
            return labels.get("database", "") == key[1]
        homes: list[Home] = [each for each in self._homes if each.key == key]
        return labels.get("ese_instance") in {each.place.instance for each in homes}

    def _may(self, fired: Fired) -> bool:
        return any(
            fired.alert in BESIDE.get(told.kind, ()) and self._is_of(fired, key)
            for key, of in self._told.items()
            for told in of
        )

    def _kind(self, fired: Fired) -> str:
        for key, of in self._told.items():
            if self._is_of(fired, key):
                return of[0].kind
        return ORDINARY


def _key(fired: Fired) -> Key:
    return fired.labels.get("computer", ""), fired.labels.get("database", "")


def _words(fired: Fired) -> str:
    return f"{fired.alert} ({fired.severity})"
