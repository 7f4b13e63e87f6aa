"""Draws the values as SVG and HTML: no script, no id, no style attribute, nothing from elsewhere.

Bars stretch with the width, text does not: both can be read on a phone and on a wall. Kinds
differ by their place, their pattern and their colour, and all figures are there as text too.
"""

import datetime
import math
import zoneinfo
from collections.abc import Iterable, Sequence
from itertools import groupby

from markupsafe import Markup

from esewatch.advice.base.finding import counted, day_text, listed
from esewatch.advice.forecast.forecast import HORIZON, Forecast
from esewatch.config import Policy
from esewatch.config.calendar import CALENDAR
from esewatch.expose.formatting import count, duration, time_tag
from esewatch.expose.pages.pictures.nights import (
    NOON,
    Kind,
    Night,
    Nights,
    RatioDay,
    Span,
    Stop,
    WindowUse,
)

WIDE = 1000
LEAST = 5
"""Shorter work is drawn this long, to be visible."""


def thousandths(share: float) -> int:
    """0 to 1000 of a share of the width; 0 for what is no number."""
    return round(WIDE * min(1.0, max(0.0, share))) if math.isfinite(share) else 0


def bar(start: float, end: float, y: int) -> str:
    """The part of a path that draws one bar between two shares of the width, never too short."""
    left, right = thousandths(start), thousandths(end)
    if right - left < LEAST:
        left = min(left, WIDE - LEAST)
        right = left + LEAST
    return f"M{left} {y}H{right}"


def box(start: float, end: float, y: int, height: int) -> str:
    """The part of a path that draws one rectangle; `y` is its upper edge."""
    left, right = thousandths(start), thousandths(end)
    return f"M{left} {y}H{max(right, left + 1)}v{height}H{left}z"


def tick(share: float, y: int, height: int) -> str:
    return f"M{thousandths(share)} {y}v{height}"


def path(kind: str, parts: Iterable[str]) -> Markup:
    """All of one kind as one path; nothing if there is none."""
    drawn = "".join(parts)
    return Markup('<path class="p-{}" d="{}"/>').format(kind, drawn) if drawn else Markup("")


def axis(words: Sequence[str]) -> Markup:
    """Words above the bars, evenly over the width."""
    last = len(words) - 1
    return Markup('<g class="p-axis">{}</g>').format(
        Markup("").join(
            Markup('<text x="{}%" y="12">{}</text>').format(round(100 * at / last), word)
            for at, word in enumerate(words)
        )
    )


def labels(lines: Iterable[tuple[int, str]]) -> Markup:
    return Markup('<g class="p-labels">{}</g>').format(
        Markup("").join(Markup('<text y="{}">{}</text>').format(y, word) for y, word in lines)
    )


def picture(kind: str, title: str, height: int, texts: Iterable[Markup], drawn: Markup) -> Markup:
    """An image: `texts` at their own size, over all its width what is `drawn`."""
    return Markup(
        '<svg class="p-svg p-{}" role="img" width="100%" height="{}"><title>{}</title>{}'
        '<svg viewBox="0 0 1000 {}" preserveAspectRatio="none" width="100%" height="{}">{}</svg>'
        "</svg>"
    ).format(kind, height, title, Markup("").join(texts), height, height, drawn)


def key(entries: Iterable[tuple[str, str]]) -> Markup:
    return Markup('<ul class="p-key">{}</ul>').format(
        Markup("").join(_swatch(kind, word) for kind, word in entries)
    )


def _swatch(kind: str, text: str) -> Markup:
    shape = "M1 1H23V11H1z" if kind == "window" else "M12 1v10" if kind in UPRIGHT else "M0 6H24"
    return Markup('<li><svg class="p-swatch" aria-hidden="true">{}</svg> {}</li>').format(
        path(kind, [shape]), text
    )


UPRIGHT = frozenset({"stop", "failed", "now", "due"})


def figure(caption: str, *content: Markup) -> Markup:
    """A picture under its caption, with its legend and its text."""
    return Markup('<figure class="picture"><figcaption>{}</figcaption>{}</figure>').format(
        caption, Markup("").join(content)
    )


WORDS: dict[Kind, str] = {
    "window": "window",
    "defrag": "defragmentation",
    "scan": "scan",
    "backup": "backup",
    "unknown": "no record",
}
TASKS = {"defrag": "Defragmentation", "checksum": "Scan"}
TOP = 18
ROW = 26
LINE = 13
LANES: dict[Kind, int] = {"defrag": 8, "scan": 14, "backup": 20, "unknown": 14}
"""Pixels from the top of a row to the middle of a bar."""
DAY = 86400.0
MOST_STOPS = 6
"""Drawn of a night, the last ones."""
MOST_LISTED = 2
"""In a cell of the table."""
MOST_RATIO = 1e6
LEAST_RATIO = 0.1
CURVE = 90
"""Pixels, the height of the curve."""


def timeline(found: Nights) -> Markup:
    zone = zoneinfo.ZoneInfo(found.zone)
    rows = list(enumerate(found.nights))
    names = ((TOP + ROW * at + 17, _night(night, zone, short=True)) for at, night in rows)
    texts = [axis(_hours(NOON)), labels(names)]
    used = [kind for kind in WORDS if found.any_of(kind)]
    drawn = [path("grid", _grid(found.nights, zone))]
    if "window" in used:
        bands = ((night, at, span) for at, night in rows for span in night.spans["window"])
        drawn.append(
            path("window", (box(*_shares(n, s), TOP + ROW * at + 2, 22) for n, at, s in bands))
        )
    for kind in sorted(set(used) - {"window"}, reverse=True):
        drawn.append(
            path(
                kind,
                (
                    bar(*_shares(night, span), TOP + ROW * at + LANES[kind])
                    for at, night in rows
                    for span in night.spans[kind]
                ),
            )
        )
    for name, failed in (("stop", False), ("failed", True)):
        drawn.append(
            path(
                name,
                (
                    tick(night.share(stop.time), TOP + ROW * at + LANES[stop.kind] - 5, 10)
                    for at, night in rows
                    for stop in night.stops[-MOST_STOPS:]
                    if stop.failed == failed
                ),
            )
        )
    last = found.nights[-1]
    drawn.append(path("now", [tick(last.share(found.now), TOP + ROW * (len(rows) - 1), ROW)]))
    title = f"The {len(rows)} nights to {day_text(found.now)}, noon to noon, times in {found.zone}"
    height = TOP + ROW * len(rows)
    image = picture("nights", title, height, texts, Markup("").join(drawn))
    return figure(title, image, _key(found, used), _table(found, used, zone))


def window_bar(found: WindowUse) -> Markup:
    """The window on a day of 24 hours, the recommended one and the usage of the median opening."""
    begin = found.after / DAY
    rows: list[tuple[str, str, float, float]] = [
        ("window", "configured", begin, found.configured / DAY)
    ]
    if found.recommended is not None and found.recommended != found.configured:
        rows.append(("advised", "recommended", begin, found.recommended / DAY))
    for use in found.used:
        rows.append((use.kind, WORDS[use.kind], begin + use.after / DAY, use.seconds / DAY))
    names = ((TOP + ROW * at + 17, row[1]) for at, row in enumerate(rows))
    texts = [axis(_hours(found.axis)), labels(names)]
    drawn = [path("grid", (tick(at / 4, TOP, ROW * len(rows)) for at in range(5)))]
    for at, (kind, _, start, share) in enumerate(rows):
        y = TOP + ROW * at
        boxed = kind in ("window", "advised")
        shape = box(start, start + share, y + 5, 16) if boxed else bar(start, start + share, y + 13)
        drawn.append(path(kind, [shape]))
    words = [f"Configured {duration(found.configured)} from {found.start:%H:%M}"]
    if found.recommended is not None:
        words.append(f"recommended {duration(found.recommended)}")
    text = ", ".join(words)
    if found.openings:
        used = [f"{WORDS[use.kind]} {duration(use.seconds)}" for use in found.used]
        of = counted(found.openings, "window")
        text += f". Median use of the last {of}: {listed(used) or 'nothing ran'}"
    image = picture("window-bar", text, TOP + ROW * len(rows), texts, Markup("").join(drawn))
    caption = f"The window and its use, times in {found.zone}"
    return figure(caption, image, Markup("<p>{}.</p>").format(text))


def ratio_sparkline(days: Sequence[RatioDay], policy: Policy) -> Markup:
    """The 7-day ratio, on a log scale with the band of the policy; at least one of `days` has a
    ratio."""
    low, high = sorted((_fit(policy.ratio_low), _fit(policy.ratio_high)))
    known = [(at, day, day.ratio) for at, day in enumerate(days) if day.ratio is not None]
    shown = [_fit(ratio) for _, _, ratio in known if math.isfinite(ratio)]
    bottom, top = min([low, *shown]) / 1.5, max([high, *shown]) * 1.5
    scale = math.log(top / bottom)

    def height(ratio: float) -> int:
        share = math.log(_fit(ratio) / bottom) / scale if math.isfinite(ratio) else 1.0
        return round(4 + (CURVE - 8) * (1.0 - min(1.0, max(0.0, share))))

    points = [(thousandths(at / max(1, len(days) - 1)), height(r)) for at, _, r in known]
    band = box(0.0, 1.0, height(high), max(1, height(low) - height(high)))
    joined = [at > 0 and days[at - 1].ratio is not None for at, _, _ in known]
    curve = (f"{'L' if on else 'M'}{x} {y}" for (x, y), on in zip(points, joined, strict=True))
    drawn = path("band", [band]) + path("curve", curve)
    drawn += path("point", [f"M{points[-1][0]} {points[-1][1]}h0"])
    edges = [(height(edge) + 4, f"{edge:g}") for edge in (high, low)]
    if edges[1][0] - edges[0][0] < LINE:
        edges = [(edges[0][0], f"{low:g}–{high:g}")]
    last = known[-1][1]
    which = "last 7 days" if last is days[-1] else f"7 days to {day_text(last.end)}"
    title = f"Pages read for each one freed: {_ratio_text(last)} (in the {which})"
    image = picture("ratio", title, CURVE, [labels(edges)], drawn)
    few = last.read < policy.min_pages_read
    remark = f", too few to be judged ({count(policy.min_pages_read)} are needed)" if few else ""
    details = Markup(
        "<p>{} pages read and {} freed in these 7 days{}. Each point is of 7 days; the "
        "shaded band is {:g} to {:g}.</p>"
        "<details><summary>Day by day</summary><p>{}</p></details>"
    ).format(
        count(last.read),
        count(last.freed),
        remark,
        policy.ratio_low,
        policy.ratio_high,
        ", ".join(f"{_day(day.end)}: {_ratio_text(day)}" for _, day, _ in known),
    )
    return figure(title, image, details)


def forecast_bar(found: Iterable[Forecast], now: float) -> Markup:
    """Forecast end of each running pass, on one axis of days; at least one has a forecast."""
    found = list(found)
    told = [each for each in found if is_told(each)]
    dates = [now, *(time for each in told for time in (each.p90, _due(each)) if time is not None)]
    begin = max(min(dates), now - HORIZON)
    end = min(max(dates), now + HORIZON)
    end = max(end, begin + DAY)

    def share(time: float) -> float:
        return (time - begin) / (end - begin)

    content = []
    for each in told:
        p50, p90 = each.p50 or now, each.p90 or now
        drawn = path("grid", [tick(at / 4, 2, 20) for at in range(5)])
        drawn += path("likely", [bar(share(now), share(p50), 12)])
        drawn += path("late", [bar(share(p50), share(p90), 12)])
        drawn += path("now", [tick(share(now), 2, 20)])
        due = _due(each)
        if due is not None:
            drawn += path("due", [tick(share(due), 0, ROW)])
        word, text = _done_by(each, now)
        title = f"{word}, on an axis of {duration(end - begin)}"
        content.append(Markup("<p>{}</p>").format(text))
        content.append(picture("done", title, ROW, [], drawn))
    content.append(
        Markup('<p class="p-ends">{} <span>{}</span></p>').format(time_tag(begin), time_tag(end))
    )
    keys = [
        ("now", "judged as of"),
        ("likely", "until done, 50 %"),
        ("late", "90 %"),
        ("due", "deadline"),
    ]
    content.append(key(keys))
    content += [
        Markup("<p><strong>{}</strong>: {}.</p>").format(*untold(each))
        for each in found
        if each not in told
    ]
    return figure("When the running passes will be done, in UTC", *content)


def is_told(each: Forecast) -> bool:
    return _is_date(each.p50) and _is_date(each.p90)


def untold(each: Forecast) -> tuple[str, str]:
    return TASKS.get(each.task, each.task), each.reason or "no forecast"


def _due(each: Forecast) -> float | None:
    return each.deadline if _is_date(each.deadline) else None


def _is_date(time: float | None) -> bool:
    return time is not None and CALENDAR[0] <= time <= CALENDAR[1]


def _done_by(each: Forecast, now: float) -> tuple[str, Markup]:
    task, p50, p90 = TASKS.get(each.task, each.task), each.p50 or now, each.p90 or now
    done = ""
    if each.progress is not None and math.isfinite(each.progress):
        done = f", {100 * min(1.0, max(0.0, each.progress)):.0f} % done now"
    text = Markup("<strong>{}</strong>: done by {} (50 %) or {} (90 %){}").format(
        task, time_tag(p50), time_tag(p90), done
    )
    due = _due(each)
    if due is None:
        return f"{task}: no deadline", text
    if due < now:
        judged = "the deadline has passed"
    elif p90 <= due:
        judged = "in time"
    else:
        judged = "late" if p50 > due else "may be late"
    sign = "" if judged == "in time" else "▲ "
    deadline = Markup("; deadline {}: {}{}").format(time_tag(due), sign, judged)
    return f"{task}: {judged}", text + deadline


def _shares(night: Night, span: Span) -> tuple[float, float]:
    return night.share(span.start), night.share(span.end)


def _hours(first: datetime.time) -> list[str]:
    """Of the axis of a day: every six hours from its begin."""
    return [f"{(first.hour + 6 * at) % 24:02d}:{first.minute:02d}" for at in range(5)]


def _local(time: float, zone: zoneinfo.ZoneInfo) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(time, zone)


def _night(night: Night, zone: zoneinfo.ZoneInfo, *, short: bool = False) -> str:
    """`Tue 19/20 Jun`, with its hours when they are not 24; if `short`, in the weekday's place."""
    begin, end = _local(night.start, zone), _local(night.end, zone)
    date = f"{begin.day}/{end.day} {end:%b}"
    hours = round((night.end - night.start) / 3600, 1)
    if hours == 24:
        return f"{begin:%a} {date}"
    return f"{hours:g} h, {date}" if short else f"{begin:%a} {date} ({hours:g} h)"


def _day(noon: float) -> str:
    day = _local(noon, zoneinfo.ZoneInfo("UTC"))
    return f"{day.day} {day:%b}"


def _grid(nights: Sequence[Night], zone: zoneinfo.ZoneInfo) -> list[str]:
    """Every six hours of local time, as long lines over nights of the same length."""
    parts, y = [], TOP
    hours = [(0, 12), (0, 18), (1, 0), (1, 6), (1, 12)]

    def places(night: Night) -> tuple[float, ...]:
        first = _local(night.start, zone).date()
        return tuple(
            night.share(
                datetime.datetime.combine(
                    first + datetime.timedelta(days=day), datetime.time(hour), zone
                ).timestamp()
            )
            for day, hour in hours
        )

    for shares, same in groupby(nights, key=places):
        height = ROW * len(list(same))
        parts += [tick(share, y, height) for share in shares]
        y += height
    return parts


def _key(found: Nights, used: Sequence[Kind]) -> Markup:
    words: list[tuple[str, str]] = [(kind, WORDS[kind]) for kind in used]
    stops = [stop for night in found.nights for stop in night.stops]
    if any(not stop.failed for stop in stops):
        words.append(("stop", "stopped before its end"))
    if any(stop.failed for stop in stops):
        words.append(("failed", "failed"))
    words.append(("now", "judged as of"))
    return key(words)


def _table(found: Nights, used: Sequence[Kind], zone: zoneinfo.ZoneInfo) -> Markup:
    stopped = any(night.stops for night in found.nights)
    heads = ["Night", *(WORDS[kind].capitalize() for kind in used), *(["Stopped"] * stopped)]
    rows = []
    for night in found.nights:
        cells = [_spans_text(night.spans[kind], zone) for kind in used]
        if stopped:
            cells.append(_stops_text(night.stops, zone))
        rows.append(
            Markup('<tr><th scope="row">{}</th>{}</tr>').format(
                _night(night, zone), Markup("").join(map(Markup("<td>{}</td>").format, cells))
            )
        )
    return Markup(
        "<details><summary>The nights as a table</summary>"
        '<div class="scroll" tabindex="0" role="group" aria-label="The nights as a table">'
        "<table><caption>{}</caption><thead><tr>{}</tr></thead><tbody>{}</tbody></table>"
        "</div></details>"
    ).format(
        f"Times in {found.zone}",
        Markup("").join(map(Markup('<th scope="col">{}</th>').format, heads)),
        Markup("").join(rows),
    )


def _stops_text(stops: Sequence[Stop], zone: zoneinfo.ZoneInfo) -> str:
    """`04:59`, `04:59 failed`, `5 times, last 04:59`."""
    texts = [f"{_local(each.time, zone):%H:%M}{' failed' * each.failed}" for each in stops]
    if len(texts) > MOST_LISTED:
        return f"{len(texts)} times, last {texts[-1]}"
    return ", ".join(texts)


def _spans_text(spans: Sequence[Span], zone: zoneinfo.ZoneInfo) -> str:
    """Each by its times, more than two runs together."""
    runs = sum(each.runs for each in spans)
    if runs > MOST_LISTED:
        seconds = sum(each.seconds for each in spans)
        spans = [Span(spans[0].start, spans[-1].end, seconds, runs)]
    return ", ".join(
        f"{_local(span.start, zone):%H:%M}–{_local(span.end, zone):%H:%M}"
        + (f" ({span.runs} runs, {duration(span.seconds)})" if span.runs > 1 else "")
        for span in spans
    )


def _fit(ratio: float) -> float:
    return min(MOST_RATIO, max(LEAST_RATIO, ratio))


def _ratio_text(day: RatioDay) -> str:
    ratio = day.ratio
    if ratio is None:
        return "none read"
    if not math.isfinite(ratio):
        return "none freed"
    return f"{ratio:,.1f}" if ratio <= MOST_RATIO else f"over {MOST_RATIO:,.0f}"
