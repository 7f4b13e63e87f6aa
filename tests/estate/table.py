"""The sections of docs/reliability.md about estates: where a report was not as it must be."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from tests.estate.alerting.alarms import wanted
from tests.estate.alerting.messages import Message, by_day
from tests.estate.comparison import ORDINARY, PARTS, Difference
from tests.estate.month import DAYS
from tests.estate.script import Month
from tests.estate.watching import Watched
from tests.support import figures
from tests.support.campaign import COMMAND

TOLD, ALERTS = "A month of an estate", "Alerts in a month of an estate"
"""Headings of the page."""


def write_told(all_watched: Sequence[Watched]) -> None:
    """The section about verdicts and findings."""
    databases = sum(len(each.month.homes) for each in all_watched)
    moments = sum(each.moments for each in all_watched)
    records = sum(len(each.month.deliveries) for each in all_watched)
    seconds = sum(each.seconds for each in all_watched)
    took_place = Counter(kind for each in all_watched for kind in each.month.kinds)
    differences = [it for each in all_watched for it in each.differences]
    text = f"""\
{len(all_watched)} estates with {databases} databases (Exchange 2007 with windows, current active
and passive copies, domain controllers, AD LDS, Windows Search; two sites with equal computer names)
live {DAYS} days of virtual time. A script says of each incident what must be reported, from when to
when. The daemon reads event logs and forwarded events; it is killed three times a month, and loses
its journal in every second month. Verdicts, findings and counts are compared at {moments:,}
moments.
{records:,} records; {seconds / len(all_watched):.0f} s of a processor for each estate.

{_table(took_place, differences)}"""
    figures.record_section(TOLD, text, COMMAND)


class Raised(NamedTuple):
    """The alerts of one month."""

    month: Month
    differences: list[Difference]
    messages: list[Message]


def write_alerts(rows: Sequence[Raised]) -> None:
    """The section about alerts and messages."""
    alarms = Counter(it.kind for each in rows for it in wanted(each.month))
    differences = [it for each in rows for it in each.differences]
    days = "; ".join(
        f"{'an estate with incidents' if each.month.kinds else 'a healthy estate'}:"
        f" {by_day(each.messages):.2f}, {by_day([it for it in each.messages if it.news]):.2f} of"
        " them with news"
        for each in rows
    )
    text = f"""\
Of {len(rows)} estates Prometheus evaluates all rules every five minutes over the month, on metrics
that the daemon served. "Incidents" are the alerts that the script asks for, with begin and end.

{_table(alarms, differences)}
Messages a day to people, by the routes, groups and inhibitions of `alerts/alertmanager`; what
stands is repeated every 4 hours (critical) or each day until it is over: {days}.
"""
    figures.record_section(ALERTS, text, COMMAND)


def _table(kinds: Counter[str], differences: Sequence[Difference]) -> str:
    lines = [
        f"| incident | incidents | {' | '.join(PARTS)} |",
        f"| --- | --- |{' --- |' * len(PARTS)}",
    ]
    count = Counter((each.kind, each.part) for each in differences)
    for kind in [*sorted(kinds), ORDINARY]:
        cells = [str(count[kind, part]) for part in PARTS]
        lines.append(f"| {kind} | {kinds[kind] or '–'} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
