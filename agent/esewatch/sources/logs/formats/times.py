"""Reading the times of event texts: ISO, .NET, US, dotted, CIM, syslog and console forms.

Times without offset are taken in the configured zone, else as UTC. Of dates without a year the
last one of a file is of the latest year before that of the file. The order of day and month is
the configured one, else what dates with the same mark prove in this file, else month first with
slashes; no locale of Windows writes it so with dashes or dots.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from zoneinfo import ZoneInfo

import msgspec

from esewatch.ese.dates import DateOrder, iso_time
from esewatch.model import SourceError

_TIME = (
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})"
    r"(?:[:.](?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?"
)
_AM = r"(?:(?:am|de|fm|sa|πμ|ص|pd)\b(?![.-]\w)|a\.\s?m\.|de\.(?!\w)|π\.?μ\.|上午|午前|오전)"
_PM = r"(?:(?:pm|du|em|ch|μμ|م|md)\b(?![.-]\w)|p\.\s?m\.|du\.(?!\w)|μ\.?μ\.|下午|午後|오후)"
_HALF = rf"(?:(?P<am>{_AM})|(?P<pm>{_PM}))"
_ZONE = r"(?P<zone>Z|UTC|GMT|[+-]\d{2}:?\d{2})"
_CLOCK = rf"(?:{_HALF}\s*)?{_TIME}(?:\s*{_HALF.replace('<am>', '<am2>').replace('<pm>', '<pm2>')})?"
_TAIL = rf"{_CLOCK}(?:\s*{_ZONE}(?:\s+UTC)?)?"
_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_MONTH = rf"(?P<name>(?:{'|'.join(_MONTHS)})[a-z]{{0,6}})\.?"
_DAY = r"(?:[a-z]{3,9},?\s+)?"

_FORMS = [
    re.compile(form, re.IGNORECASE)
    for form in (
        rf"(?P<a>\d{{4}})(?P<mark>[-/.])(?P<b>\d{{1,2}})[-/.](?P<c>\d{{1,2}})\.?(?:T|,?\s+){_TAIL}",
        rf"(?P<a>\d{{1,2}})(?P<mark>[-/.])(?P<b>\d{{1,2}})[-/.](?P<c>\d{{4}}|\d{{2}}),?(?:T|\s+){_TAIL}",
        rf"{_DAY}(?P<day>\d{{1,2}})[\s/-]{_MONTH}[\s,/-]+(?P<year>\d{{4}}|\d{{2}})[\s,:]+{_TAIL}",
        rf"{_DAY}{_MONTH}\s+(?P<day>\d{{1,2}}),?\s+(?P<year>\d{{4}})\s+{_TAIL}",
        rf"{_DAY}{_MONTH}\s+(?P<day>\d{{1,2}})\s+{_TIME}\s+(?P<year>\d{{4}})(?![:\d])",
        rf"{_DAY}{_MONTH}\s+(?P<day>\d{{1,2}})\s+{_TIME}",
    )
]
_ISO = re.compile(r"(?!00)[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}")
_WHOLE = re.compile(_ISO.pattern + r"(?:\.[0-9]{1,9})?(?:Z| ?[+-](?:[01][0-9]):?[0-5][0-9])?")
_BARE = re.compile(_ISO.pattern + r"(?= [^\W_aAgGpPuUzZ]|\Z)", re.ASCII)
"""An ISO time behind which no fraction, half of the day or zone can stand."""
_DOTNET = re.compile(r"\\?/Date\((-?\d{1,17})(?:[+-]\d{4})?\)\\?/")
_STAMP = re.compile(r"(\d{10}|\d{13}|\d{19})(?:\.\d{1,9})?", re.ASCII)
"""Seconds, milliseconds or nanoseconds since the epoch, as text."""
_CLOCK_FIRST = re.compile(r"(\d{1,2}:\d\d:\d\d(?: [AP]M)?),? (\S+\d{4}) ?(Z|UTC|GMT)?")
_CIM = re.compile(r"(\d{14})\.(\d{6})([+-]\d{3})")
_YEARS = range(1970, 2101)
"""A year outside is one of another calendar, or of a clock that was never set."""
# The look behind stands behind the first digit, so that the search is for a digit.
_NUMERIC = re.compile(r"(\d(?<![\d/.-]\d)\d?)([/.-])(\d{1,2})\2(\d{4})(?=[\s,]+\d{1,2}[:.]\d{2})")
_HOUR = re.compile(r"[12][0-9]{3}-[0-9]{2}-[0-9]{2}[ T](?:[01][0-9]|2[0-3]):")
_ZONE_OFFSET = re.compile(r" ?([+-])([01][0-9]):?([0-5][0-9])")
_WITHIN = {f"{each // 60:02}:{each % 60:02}": each for each in range(3600)}
"""Minutes and seconds -> seconds of the hour."""
_HALF_A_YEAR = 6
"""Months; a step over more of them from one line to the next is one into another year."""
_MARKS = {ord(mark): None for mark in "\u200e\u200f\u202a\u202c\ufeff"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_NAIVE_EPOCH = datetime(1970, 1, 1)


class UnknownTimeError(ValueError):
    """A time is written there and cannot be read. The text says why."""


class TimesState(msgspec.Struct):
    """Facts learnt from the file so far; belongs to the saved position."""

    order: DateOrder | None = None
    mark: str = "/"
    """Between the parts of the dates that proved the order."""
    guessed: bool = False
    """Dates were read in a usual order without proof."""
    last: str = ""
    """Last local time read, ISO; only kept while a zone is configured."""
    falling: bool = False
    second_fold: bool | None = None
    year: int | None = None
    """Of the last date that has none; None before any."""
    month: int = 0
    """Of that date."""
    day: int = 0


class Times:
    """Reads the times of one file. `notes` collects remarks for the user."""

    def __init__(self, timezone: str | None = None, date_order: DateOrder | None = None) -> None:
        """`timezone` is a name of zoneinfo. Raises SourceError where it is not known."""
        try:
            self._zone = ZoneInfo(timezone) if timezone else None
        except (KeyError, ValueError, OSError) as error:
            raise SourceError(f"time zone {timezone!r} is not known here: {error}") from None
        self._configured = date_order
        self._state = TimesState()
        self._told = ""
        """Text that may have dates, of which nobody has asked what they prove."""
        self.notes: list[str] = []
        self.assumed = False
        """The last time read was taken for UTC without naming a zone."""
        self.first_year: Callable[[], int | None] = lambda: None
        """Tells the year of the first date of the file that has none."""
        self.yearless = False
        """The last time read has no year."""

    def learn(self, head: str) -> None:
        """Take the order of day and month from dates in the first block that prove it."""
        self._told += f"\n{head}"

    @property
    def state(self) -> TimesState:
        told, self._told = self._told, ""
        if self._configured is None and self._state.order is None:
            for first, mark, second, _ in _NUMERIC.findall(told):
                if order := _proof(int(first), int(second)):
                    self._state.order, self._state.mark = order, mark
                    break
        return self._state

    @state.setter
    def state(self, state: TimesState) -> None:
        self._state, self._told = state, ""

    def read(self, value: object) -> float:
        """Seconds since the epoch of a time as found. Raises UnknownTimeError."""
        if (seconds := self.quick(value)) is not None:
            return seconds
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise UnknownTimeError(f"the time {value!r} cannot be read")
        if not isinstance(value, str):
            return _from_number(value)
        if _WHOLE.fullmatch(value):
            whole = value if value[-1] == "Z" else value.replace(" +", "+").replace(" -", "-")
            try:
                return self._seconds(iso_time(whole))
            except ValueError:
                raise UnknownTimeError(f"the time '{whole}' cannot be read") from None
        text = value.translate(_MARKS).strip()
        if found := _STAMP.fullmatch(text):
            return _from_number(float(text) / 10 ** (9 if len(found[1]) == 19 else 0))
        if found := _CLOCK_FIRST.fullmatch(text):
            text = f"{found[2]} {found[1]} {found[3] or ''}".strip()
        if found := _DOTNET.fullmatch(text):
            if abs(milliseconds := int(found[1])) > 10**14:
                raise UnknownTimeError(f"the time /Date({milliseconds})/ cannot be read")
            return milliseconds / 1000
        if found := _CIM.fullmatch(text):
            return _from_cim(found[1], found[2], found[3])
        return self._seconds(self._parse(text))

    def quick(self, value: object) -> float | None:
        """The same of an ISO time, as most logs have it, where it teaches nothing of the file. None
        where `read` must decide."""
        self.assumed = self.yearless = False
        if type(value) is not str:
            return None
        begin, within, tail = _hour(value[:14]), _WITHIN.get(value[14:19]), value[19:]
        if begin is None or within is None:
            return None
        if tail[-1:] != "Z":
            self.assumed = not tail and self._zone is None
            offset = 0 if self.assumed else _offset(tail)
            return None if offset is None else float(begin + within - offset)
        fraction = tail[1:-1]
        if not fraction:
            return float(begin + within) if tail == "Z" else None
        if tail[0] != "." or not (fraction.isascii() and fraction.isdigit()):
            return None
        if len(fraction) != 6:
            if len(fraction) > 9:
                return None
            fraction = fraction[:6].ljust(6, "0")
        return ((begin + within) * 1_000_000 + int(fraction)) / 1_000_000

    def _parse(self, text: str) -> datetime:
        for index, form in enumerate(_FORMS):
            found = form.fullmatch(text)
            if found is None:
                continue
            # The year 0001 of .NET's smallest date means no date; it is not the year 2001.
            parts = found.groupdict()
            if any(re.fullmatch(r"00\d\d", parts.get(name) or "") for name in ("a", "c", "year")):
                break
            try:
                if index == len(_FORMS) - 1:
                    return self._without_year(found)
                if index < 2:
                    year, month, day = self._numeric(found)
                else:
                    year, month, day = int(found["year"]), _month(found), int(found["day"])
                century = 0 if year >= 100 else 1900 if year >= 70 else 2000
                return _build(found, century + year, month, day)
            except UnknownTimeError:
                raise
            except (ValueError, OverflowError):
                break
        raise UnknownTimeError(f"the time '{text[:40]}' cannot be read")

    def _without_year(self, found: re.Match[str]) -> datetime:
        """The year is that in which the month is next to the one before. Raises UnknownTimeError
        where the file does not tell it."""
        state = self._state
        state.year = self.first_year() if state.year is None else state.year
        if state.year is None:
            raise UnknownTimeError(f"the date '{found[0][:40]}' has no year")
        month = _month(found)
        apart = month - (state.month or month)
        state.year += (apart < -_HALF_A_YEAR) - (apart > _HALF_A_YEAR)
        state.month, state.day = month, int(found["day"])
        self.yearless = True
        return _build(found, state.year, month, state.day)

    def _numeric(self, found: re.Match[str]) -> tuple[int, int, int]:
        first, second, third = int(found["a"]), int(found["b"]), int(found["c"])
        if len(found["a"]) == 4:
            return first, second, third
        order = self._configured or self._order(first, second, found)
        if order == "ymd":
            return first, second, third
        return (third, first, second) if order == "mdy" else (third, second, first)

    def _order(self, first: int, second: int, found: re.Match[str]) -> DateOrder:
        state, mark = self.state, found["mark"]
        usual: DateOrder = "mdy" if mark == "/" else "dmy"
        if proof := _proof(first, second):
            if state.guessed and proof != usual:
                self.notes.append(
                    f"the date '{found[0][:40]}' has the {_first(proof)} first, dates before it "
                    f"were read {_first(usual)} first: set date_order"
                )
            state.order, state.mark, state.guessed = proof, mark, False
        known = state.order if mark == state.mark else None
        if known is None and mark != "." and first != second and not state.guessed:
            state.guessed = True
        return known or usual

    def _seconds(self, moment: datetime) -> float:
        if moment.tzinfo is not None:
            return moment.timestamp()
        if self._zone is None:
            self.assumed = True
            return (moment - _NAIVE_EPOCH).total_seconds()
        return self._local(moment, self._zone).timestamp()

    def _local(self, moment: datetime, zone: ZoneInfo) -> datetime:
        """The local time in its zone; an hour that comes twice is resolved by the order of the
        file. It is entered from below or from above. A step against that direction by more than
        half of the hour begins the other one; a smaller one is a line out of order."""
        state = self._state
        last = datetime.fromisoformat(state.last) if state.last else None
        early, late = (moment.replace(tzinfo=zone, fold=fold) for fold in (0, 1))
        offsets = (early.utcoffset(), late.utcoffset())
        if offsets[0] is None or offsets[1] is None or offsets[0] <= offsets[1]:
            state.second_fold = None
        elif state.second_fold is None:
            state.falling = last is not None and moment < last
            state.second_fold = state.falling
        elif last is not None:
            against = moment - last if state.falling else last - moment
            if against > (offsets[0] - offsets[1]) / 2:
                state.second_fold = not state.falling
        state.last = moment.isoformat()
        return late if state.second_fold else early


@lru_cache(maxsize=1024)
def _hour(text: str) -> int | None:
    """Epoch seconds of the begin of an hour in UTC (`2026-01-02T03:`); None if it is none."""
    try:
        begin = datetime.fromisoformat(f"{text}00:00Z") if _HOUR.fullmatch(text) else None
    except ValueError:
        return None
    return None if begin is None else int(begin.timestamp())


@lru_cache(maxsize=1024)
def _offset(text: str) -> int | None:
    """Seconds of an offset from UTC (` +0200`, `-05:30`); None if it is none."""
    found = _ZONE_OFFSET.fullmatch(text)
    if found is None:
        return None
    seconds = 3600 * int(found[2]) + 60 * int(found[3])
    return -seconds if found[1] == "-" else seconds


def leading_time(text: str) -> tuple[str, str]:
    """The date and time at the start of a line and what stands behind; ("", text) if none."""
    if found := _BARE.match(text):
        return found[0], text[found.end() :]
    for form in _FORMS:
        if found := form.match(text):
            return found[0], text[found.end() :]
    return "", text


def looks_dated(text: str) -> bool:
    return any(form.match(text.translate(_MARKS).lstrip()) for form in _FORMS)


def _month(found: re.Match[str]) -> int:
    return _MONTHS.index(found["name"][:3].lower()) + 1


def _first(order: DateOrder) -> str:
    return "month" if order == "mdy" else "day"


def _proof(first: int, second: int) -> DateOrder | None:
    if first > 12 and second <= 12:
        return "dmy"
    if second > 12 and first <= 12:
        return "mdy"
    return None


def _build(found: re.Match[str], year: int, month: int, day: int) -> datetime:
    if year not in _YEARS:
        raise ValueError(year)
    parts = found.groupdict()
    hour = int(parts["hour"])
    if parts.get("am") or parts.get("am2"):
        hour %= 12
    elif parts.get("pm") or parts.get("pm2"):
        hour = hour % 12 + 12
    fraction = (parts["fraction"] or "")[:6].ljust(6, "0")
    return datetime(
        year, month, day, hour, int(parts["minute"]), int(parts["second"] or 0), int(fraction),
        tzinfo=_zone(parts.get("zone")),
    )  # fmt: skip


def _zone(text: str | None) -> timezone | None:
    if not text:
        return None
    if text.upper() in ("Z", "UTC", "GMT"):
        return UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return timezone(timedelta(minutes=-minutes if text[0] == "-" else minutes))


def _from_number(value: float) -> float:
    if not 1e8 < value < 1e14:
        raise UnknownTimeError(f"the time {value!r} cannot be read")
    return value / 1000 if value > 1e11 else float(value)


def _from_cim(digits: str, micro: str, offset: str) -> float:
    """`20251113074040.123456+060`: local time and minutes of offset (WMI)."""
    try:
        local = datetime.strptime(digits + micro, "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
    except ValueError:
        raise UnknownTimeError(f"the time '{digits}' cannot be read") from None
    return (local - _EPOCH).total_seconds() - int(offset) * 60
