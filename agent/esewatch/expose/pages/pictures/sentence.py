"""Known facts about a database in two sentences: the health of its pages, and its window."""

from collections.abc import Iterable
from datetime import UTC, datetime

from esewatch.advice.base.finding import VERIFIERS, Proof, day_text, latest_proof
from esewatch.advice.history.history import History
from esewatch.advice.judgement import Judgement
from esewatch.advice.window.window import WindowAdvice
from esewatch.expose.formatting import count, duration, tidy
from esewatch.expose.pages.overview import DatabaseFigures

NO_WINDOW = {
    "garbage_collection": (
        "garbage collection is meant to defragment it, on a domain controller every 12 hours"
    ),
    "background": "its engine is meant to scan in the background, day and night",
    "application": "its application decides when it is maintained",
}
"""Model -> why there is no window. Whether it does what it is meant to do is said by findings."""
BEHIND = "the data may be old: a source of its computer is behind"
NONE_KNOWN = "no bad page is known"
"""In place of `0 bad` where unknown data may hide some."""
_ALONE = frozenset({"bad_pages", "quiet"})
"""Rules whose reason is no cause of the action but a precondition of it."""
_MOST_PAGES = 2**40


def sentence(
    figures: DatabaseFigures, advice: Judgement | None, history: History, now: float
) -> str:
    """Plain text, a sentence about the pages and one about the window; dates are in UTC. The number
    of verified pages is what the verifying scan itself counted, else it is not said."""
    parts = (
        "; ".join(_pages(figures, advice, history, now)),
        _window(figures, advice, history),
        _moved(advice),
    )
    told = (tidy(part).removesuffix(".") for part in parts if part)
    return " ".join(f"{part[0].upper()}{part[1:]}." for part in told)


def no_window(model: str) -> str:
    """`No window on this model: …`, without a full stop."""
    return f"No window on this model: {NO_WINDOW[model]}"


def _pages(
    figures: DatabaseFigures, advice: Judgement | None, history: History, now: float
) -> list[str]:
    """The known facts about its pages, the worst first."""
    # What is wrong with its pages is the first reason of its verdict.
    parts = [*figures.reasons[:1]] if figures.bad_pages or history.damage else []
    said = advice.findings if advice is not None else ()
    findings = {each.finding: each.sentence for each in said}
    if "writes_at_risk" in findings:
        parts.append(f"writes at risk: {findings['writes_at_risk']}")
    if figures.behind:
        parts.append(BEHIND)
    if figures.bad_pages:
        return parts
    proof = latest_proof(figures.verified)
    unheard = advice is not None and "blind" in advice.troubles
    blind = unheard or figures.behind or figures.verdict == "blind"
    parts.append(_verified(proof, advice, history, now, blind=blind))
    if proof is not None:
        parts.append(NONE_KNOWN if blind else "0 bad")
    return parts


def _verified(
    proof: Proof | None,
    advice: Judgement | None,
    history: History,
    now: float,
    *,
    blind: bool,
) -> str:
    """The last verification: its date stays where it is `blind`, the word does not (semantics.md
    5a)."""
    findings = {each.finding for each in advice.findings} if advice is not None else ()
    lost = advice.ledger.unknown_since if advice is not None else None
    unknown = f"unknown since {day_text(lost)}: events are missing; " if lost else ""
    if proof is None:
        return f"{unknown}no verification is known: nothing shows that its pages are good"
    what = f"{day_text(proof.time)} by {VERIFIERS.get(proof.by, proof.by)}"
    seen = _pages_seen(proof, history)
    late = ""
    if "verification_overdue" in findings and advice is not None:
        deadline = advice.ledger.deadline.seconds
        late = f", {duration(now - proof.time)} ago: overdue, the deadline is {duration(deadline)}"
    every = "all pages" if seen is None else f"all {count(seen)} pages"
    if blind:
        return f"{unknown}the last verification of {every} was {what}{late}"
    return f"{unknown}{every} {'last verified' if late else 'verified'} {what}{late}"


def _pages_seen(proof: Proof, history: History) -> int | None:
    if proof.by != "online_scan":
        return None
    seen: Iterable[int | None] = (
        done.pages_seen for done in history.checksum_passes if done.ended == proof.time
    )
    return next((pages for pages in seen if pages and 0 < pages <= _MOST_PAGES), None)


def _window(figures: DatabaseFigures, advice: Judgement | None, history: History) -> str:
    if figures.model != "window":
        return f"no window: {NO_WINDOW.get(figures.model, figures.model)}"
    configured = history.window.duration if history.window is not None else None
    window = "no window configured" if configured is None else f"window {duration(configured)}"
    if advice is None:
        return f"{window}, no advice yet"
    return f"{window}, {_advised(advice.window)}"


def _moved(advice: Judgement | None) -> str:
    """A better time for its scan, where the scan collides with another one on the same disks."""
    if advice is None or advice.slot is None:
        return ""
    if not any(each.finding == "scans_collide" for each in advice.findings):
        return ""
    of = advice.slot
    start, end = (f"{datetime.fromtimestamp(each, UTC):%H:%M}" for each in (of.start, of.end))
    return (
        f"its scan meets another one on the same disks: scan it from {start} to {end} UTC instead"
    )


def _advised(window: WindowAdvice) -> str:
    because = window.reasons[0].removesuffix(".") if window.reasons else ""
    if because[1:2].islower() or because[1:2] == " ":
        because = because[0].lower() + because[1:]
    if window.action == "insufficient_evidence":
        return f"no advice yet: {because}" if because else "no advice yet"
    said = f"advice {window.action}"
    changed = window.recommended_seconds not in (None, window.configured_seconds)
    if changed:
        said += f" to {duration(window.recommended_seconds)}"
    if not because:
        return said
    return f"{said}: {because}" if window.rule in _ALONE else f"{said}, because {because}"
