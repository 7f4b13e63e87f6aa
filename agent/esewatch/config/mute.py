"""Maintenance windows as time intervals of Alertmanager, exact to the minute.

Alertmanager compares the clock of a `location`; a window lasts for so many minutes whatever the
clocks do (see `calendar`). The two differ only in the openings that a change of the clocks falls
into or next to. Those are left out of the intervals in local time and written in UTC, as a rule
(sundays from the 25th to the 31st of march) where they follow one, else year by year.
"""

import calendar
import datetime
import itertools
import math
import zoneinfo
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from esewatch.config.settings import DAYS, Window

_DAY = datetime.timedelta(days=1)
_DAY_SECONDS = 86400
_DAY_MINUTES = 1440
_A_LEAP_YEAR = 2028
_YEARS = 28
"""Weekdays and dates repeat after this many years: a rule that holds in them holds until 2099."""
_YEARS_WITHOUT_A_RULE = 10
"""Dates that follow no rule, such as those of Ramadan, are written for this many years."""
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)

Interval = dict[str, Any]
"""One entry below `time_intervals` of a name, as Alertmanager writes it."""


class _Period(NamedTuple):
    """Epoch seconds between two changes of the clocks, and the offset of local time then."""

    start: float
    end: float
    offset: int


class _Dates(NamedTuple):
    """The `weekday`s of `month` from the day `first` to `last`: of one year, or (0) of each."""

    year: int
    month: int
    first: int
    last: int
    weekday: int


def time_intervals(windows: Mapping[str, Window], year: int) -> list[dict[str, Any]]:
    """The value of Alertmanager's key `time_intervals`; `year` is the first that must be right."""
    return [
        {"name": name, "time_intervals": _intervals(window, year)}
        for name, window in windows.items()
    ]


def _intervals(window: Window, year: int) -> list[Interval]:
    minutes = math.ceil(window.duration / 60)
    begin = _begin(window)
    odd = _odd_openings(window, minutes, year)
    found: list[Interval] = []
    for later, (start, end) in enumerate(_split(begin, begin + minutes)):
        days = {(DAYS.index(day) + later) % 7 for day in window.days}
        without = _as_rules({day + later * _DAY for day in odd}, year)
        found += (
            {"times": _times(start, end), **dates, "location": window.timezone}
            for dates in _all_but(days, without)
        )
    pieces: dict[tuple[int, int], set[datetime.date]] = defaultdict(set)
    for opened in odd.values():
        day = datetime.date(1970, 1, 1) + opened // _DAY_MINUTES * _DAY
        start = opened % _DAY_MINUTES
        for later, piece in enumerate(_split(start, start + minutes)):
            pieces[piece].add(day + later * _DAY)
    for (start, end), dates in sorted(pieces.items()):
        found += (
            {"times": _times(start, end), **_only(rules), "location": "UTC"}
            for rules in _by_weekday_and_days(_as_rules(dates, year))
        )
    return found


def _odd_openings(window: Window, minutes: int, year: int) -> dict[datetime.date, int]:
    """Local day -> minutes since the epoch: openings that local time cannot describe."""
    zone = zoneinfo.ZoneInfo(window.timezone)
    days = set(_days_of_changes(window, minutes, year))
    shifts = len(_split(_begin(window), _begin(window) + minutes))
    while not (more := set(_unreachable(days, shifts, zone, year))) <= days:
        days |= more
    return {
        day: int(datetime.datetime.combine(day, window.start, zone).timestamp() // 60)
        for day in days
    }


def _days_of_changes(window: Window, minutes: int, year: int) -> Iterator[datetime.date]:
    """Local days whose opening is another time than the local clock shows it."""
    zone = zoneinfo.ZoneInfo(window.timezone)
    for before, after in itertools.pairwise(_periods(window.timezone, year)):
        middle = datetime.datetime.fromtimestamp(after.start, zone).date()
        for day in (middle + shift * _DAY for shift in range(-2, 3)):
            if DAYS[day.weekday()] not in window.days:
                continue
            local = datetime.datetime.combine(day, window.start)
            wall = local.replace(tzinfo=datetime.UTC).timestamp()
            start = local.replace(tzinfo=zone).timestamp()
            if _seen(wall, minutes * 60, before, after) != [(start, start + minutes * 60)]:
                yield day


def _unreachable(
    odd: set[datetime.date], shifts: int, zone: zoneinfo.ZoneInfo, year: int
) -> Iterator[datetime.date]:
    """Openings on the last day of a month that Alertmanager takes for a day shorter.

    It counts the days of a month as whole days of 24 hours from midnight to midnight, local time.
    In a month that loses an hour no `days_of_month` reaches the last day, neither 31 nor -1
    (daysInMonth in timeinterval.go, 0.25 to 0.31).
    """
    for later in range(shifts):
        moved = [day + later * _DAY for day in odd]
        for month, weekday in {(day.month, day.weekday()) for day in moved}:
            for each in range(year, year + _YEARS):
                days = calendar.monthrange(each, month)[1]
                last = datetime.date(each, month, days)
                begin, end = (
                    datetime.datetime.combine(day, datetime.time(), zone).timestamp()
                    for day in (last.replace(day=1), last + _DAY)
                )
                if last.weekday() == weekday and end - begin < days * _DAY_SECONDS:
                    yield last - later * _DAY


def _seen(wall: float, seconds: int, *periods: _Period) -> list[tuple[float, float]]:
    """Times of a local clock in the `seconds` from `wall` on: epoch seconds, in order, joined."""
    found: list[tuple[float, float]] = []
    for period in periods:
        start = max(wall - period.offset, period.start)
        end = min(wall - period.offset + seconds, period.end)
        if start < end and found and found[-1][1] == start:
            found[-1] = (found[-1][0], end)
        elif start < end:
            found.append((start, end))
    return found


@lru_cache(maxsize=64)
def _periods(timezone: str, year: int) -> tuple[_Period, ...]:
    """The time from `year` on, cut where the clocks of `timezone` change."""
    zone = zoneinfo.ZoneInfo(timezone)

    def offset(moment: int) -> int:
        local = datetime.datetime.fromtimestamp(moment, zone)
        return int((local.utcoffset() or datetime.timedelta()).total_seconds())

    first, last = (
        int(datetime.datetime(each, 1, 1, tzinfo=datetime.UTC).timestamp())
        for each in (year, year + _YEARS)
    )
    found = [_Period(-math.inf, math.inf, offset(first))]
    for day in range(first, last, _DAY_SECONDS):
        before, after = day, day + _DAY_SECONDS
        if offset(before) == offset(after):
            continue
        while after - before > 1:
            middle = (before + after) // 2
            if offset(middle) == found[-1].offset:
                before = middle
            else:
                after = middle
        found[-1] = found[-1]._replace(end=after)
        found.append(_Period(after, math.inf, offset(after)))
    return tuple(found)


def _as_rules(dates: Iterable[datetime.date], year: int) -> list[_Dates]:
    """`dates` as rules of all years where they follow one, else one by one."""
    groups: dict[tuple[int, int], set[datetime.date]] = defaultdict(set)
    for date in dates:
        groups[date.month, date.weekday()].add(date)
    found = []
    for (month, weekday), members in sorted(groups.items()):
        for first, last in _runs(sorted({date.day for date in members})):
            if _each_year(year, month, first, last, weekday) <= members:
                found.append(_Dates(0, month, first, last, weekday))
                continue
            found += (
                _Dates(date.year, month, date.day, date.day, weekday)
                for date in sorted(members)
                if first <= date.day <= last and date.year < year + _YEARS_WITHOUT_A_RULE
            )
    return found


def _each_year(year: int, month: int, first: int, last: int, weekday: int) -> set[datetime.date]:
    """Every date of `_YEARS` years that the rule names; 29 February is in leap years only."""
    start, end = datetime.date(year, 1, 1), datetime.date(year + _YEARS, 1, 1)
    days = (start + number * _DAY for number in range((end - start).days))
    return {
        day
        for day in days
        if day.month == month and day.weekday() == weekday and first <= day.day <= last
    }


def _all_but(days: set[int], without: list[_Dates]) -> Iterator[Interval]:
    """The dates on weekdays `days` that are not in `without`."""
    groups: dict[tuple[tuple[int, int, int, int], ...], list[int]] = defaultdict(list)
    for day in sorted(days):
        groups[tuple(rule[:4] for rule in without if rule.weekday == day)].append(day)
    for rules, weekdays in groups.items():
        named = {"weekdays": [_WEEKDAYS[day] for day in weekdays]}
        for years, holes in _by_year(rules):
            full = [month for month in range(1, 13) if month not in holes]
            if len(full) < 12:
                yield {**named, **years, "months": _names(full)}
            else:
                yield {**named, **years}
            for days_left, months in _joined(holes):
                yield {**named, **years, "months": _names(months), "days_of_month": days_left}


def _by_year(
    rules: Iterable[tuple[int, int, int, int]],
) -> Iterator[tuple[Interval, dict[int, list[tuple[int, int]]]]]:
    """The key `years` and the holes of their months, by month: one for years that are alike."""
    rules = list(rules)
    alike: dict[tuple[tuple[int, int, int], ...], list[int]] = defaultdict(list)
    named = sorted({rule[0] for rule in rules} - {0})
    for year in named:
        alike[tuple(rule[1:] for rule in rules if rule[0] in {0, year})].append(year)
    always = tuple(rule[1:] for rule in rules if rule[0] == 0)
    others = {"years": _outside(named)} if named else {}
    for years, holes in [(others, always), *(({"years": _ranges(y)}, h) for h, y in alike.items())]:
        by_month: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for month, first, last in sorted(holes):
            by_month[month].append((first, last))
        yield years, by_month


def _joined(holes: Mapping[int, list[tuple[int, int]]]) -> list[tuple[list[str], list[int]]]:
    """(days that are left, months), months with the same holes together."""
    found: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for month, taken in holes.items():
        inside = {day for first, last in taken for day in range(first, last + 1)}
        days = range(1, calendar.monthrange(_A_LEAP_YEAR, month)[1] + 1)
        found[tuple(_ranges(day for day in days if day not in inside))].append(month)
    return [(list(left), months) for left, months in found.items()]


def _by_weekday_and_days(rules: Iterable[_Dates]) -> list[list[_Dates]]:
    """Rules that differ only in the month, or only in the year, together."""
    found: dict[tuple[int, ...], list[_Dates]] = defaultdict(list)
    for rule in rules:
        key = (0, rule.weekday, rule.first, rule.last) if rule.year == 0 else rule[1:]
        found[key].append(rule)
    return list(found.values())


def _only(rules: list[_Dates]) -> Interval:
    """The dates of `rules`, which differ in nothing but months, or but years."""
    one = rules[0]
    years = {"years": _ranges(rule.year for rule in rules)} if one.year else {}
    return {
        "weekdays": [_WEEKDAYS[one.weekday]],
        **years,
        "months": _names(dict.fromkeys(rule.month for rule in rules)),
        "days_of_month": [_range(one.first, one.last)],
    }


def _begin(window: Window) -> int:
    """Minutes of the day."""
    return window.start.hour * 60 + window.start.minute


def _split(start: int, end: int) -> list[tuple[int, int]]:
    """Minutes of a day from `start` to `end`, in two where they go over midnight."""
    if end <= _DAY_MINUTES:
        return [(start, end)]
    return [(start, _DAY_MINUTES), (0, end - _DAY_MINUTES)]


def _times(start: int, end: int) -> list[dict[str, str]]:
    return [{"start_time": _clock(start), "end_time": _clock(end)}]


def _clock(minutes: int) -> str:
    """`24:00` is the end of a day."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _names(months: Iterable[int]) -> list[str]:
    return [_MONTHS[month - 1] for month in months]


def _range(first: int, last: int) -> str:
    return str(first) if first == last else f"{first}:{last}"


def _ranges(numbers: Iterable[int]) -> list[str]:
    """`1:24`, `30` of sorted numbers."""
    return [_range(*run) for run in _runs(numbers)]


def _runs(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """First and last of the runs of sorted numbers without a gap."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found


def _outside(years: list[int]) -> list[str]:
    taken = set(years)
    between = [year for year in range(years[0], years[-1]) if year not in taken]
    return [f"1970:{years[0] - 1}", *_ranges(between), f"{years[-1] + 1}:9999"]
