"""The result of a report in one sentence: the last line of `esewatch report`."""

from esewatch.advice.forecast.verdict import UNVERIFIED
from esewatch.expose.formatting import plural
from esewatch.expose.pages.overview import DatabaseFigures
from esewatch.expose.pages.report.report_page import Report


def result_sentence(report: Report) -> str:
    """`12 databases: 1 with bad pages, 2 unverified`, and what could not be read."""
    parts = [_databases(report)]
    if report.read.unread:
        parts.append(f"{plural(len(report.read.unread), 'input')} could not be read")
    if report.read.untimed:
        parts.append(f"{plural(report.read.untimed, 'event has', 'events have')} no time")
    return "; ".join(parts)


def _databases(report: Report) -> str:
    shown = report.databases
    if not shown:
        read = plural(len(report.read.inputs) - len(report.read.unread), "input")
        found = (
            plural(report.read.records, "ESE record") if report.read.records else "no ESE record"
        )
        return f"no ESE database in {read} ({found}): nothing is known of any database"
    told = {
        "with bad pages": sum(each.status == "bad" for each in shown),
        "unverified": report.fleet.unverified,
        "never verified": sum(map(_is_unproven, shown)),
        "refusing writes, or about to": report.fleet.writes_at_risk,
        "on computers with missing or stale data": _blind(report),
    }
    wrong = [f"{number:,} {what}" for what, number in told.items() if number]
    databases = plural(len(shown), "database")
    if wrong:
        return f"{databases}: {', '.join(wrong)}"
    watched = any(each.tier == "watched" for each in shown)
    verified = "every watched one is verified" if watched else "none is of a kind that is watched"
    return f"{databases}: no bad page is known, {verified}"


def _is_unproven(figures: DatabaseFigures) -> bool:
    """Watched, never proven good in these logs, and not counted as unverified for that."""
    advice = figures.advice
    findings = {said.finding for said in advice.findings} if advice is not None else set()
    proven = figures.last_verified is not None or not UNVERIFIED.isdisjoint(findings)
    return figures.tier == "watched" and not proven


def _blind(report: Report) -> int:
    names = {each.name for each in report.fleet.blind}
    return sum(each.computer in names for each in report.databases)
