"""Databases that are not judged or were never verified, computers with missing or stale data, the
reason, and the next command: nothing judged is not zero (semantics.md 5a)."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from esewatch.advice.base.finding import UNKNOWN, Finding, counted, listed, moment
from esewatch.advice.findings.details import LoneInstance
from esewatch.advice.judgement import UNREAD, Judgement, blind_computers
from esewatch.config import Settings
from esewatch.fold.state.database_state import DatabaseKey
from esewatch.fold.state.state import SourceState, State

_DOCTOR = ("To see what is missing, run", "esewatch doctor")
_EXPORT = (
    "Export the log of a server that has one, of a domain controller also its Directory Service",
    "wevtutil epl Application Application.evtx",
)
_WATCH = ("To watch one, configure it", r"databases: [{match: '*\NAME.edb', tier: watched}]")
_UNNAMED = "no event that was read names an ESE database (temporary and system ones are left out)"
_SCAN = ("Read all pages of a copy, such as a snapshot", "esewatch scan COPY")

NAMED = 3


class Basis(NamedTuple):
    """Numbers of watched databases that a zero stands for."""

    heard: int
    """With a verdict, and with current data."""
    proven: int
    """Those of them that were verified: of the others no number of bad pages is known."""
    unproven: int
    """Those of them that were never verified, and nobody asks for it."""
    reason: str = ""
    """The reason for a zero over nothing; empty where some are heard and proven."""
    fix: str = ""
    command: str = ""

    @property
    def sentence(self) -> str:
        """`not judged: WHY. FIX: COMMAND`; empty where something was judged and verified."""
        what = "not verified" if self.heard else "not judged"
        return f"{what}: {self.reason}. {self.fix}: {self.command}" if self.reason else ""


def basis(
    known: Iterable[tuple[str, Judgement | None]], state: State, settings: Settings, *, live: bool
) -> Basis:
    """The numbers of these databases, each by its tier and its judgement, where one is made yet.
    `live`: of an agent, not of files that were named."""
    shown = [(tier, each) for tier, each in known if tier != "ignored"]
    watched = [each for tier, each in shown if tier == "watched"]
    heard = [each for each in watched if each is not None and "blind" not in each.troubles]
    proven = sum(each.proven for each in heard)
    unproven = sum("unproven" in each.troubles for each in heard)
    why = ("", "", "")
    databases = counted(len(watched), "watched database")
    if not shown:
        why = _no_database(state, settings, live=live)
    elif not watched:
        found = f"none of the {len(shown):,} databases" if len(shown) > 1 else "the only database"
        why = (
            f"{found} is of a kind that is {'' if len(shown) > 1 else 'not '}watched: only page"
            " errors and slow input and output are noticed",
            *_WATCH,
        )
    elif not any(watched):
        are = "is" if len(watched) == 1 else "are"
        why = (f"{databases} {are} not judged yet", *_DOCTOR)
    elif not heard:
        why = (f"nothing current is known of {databases}", *_DOCTOR)
    elif not proven:
        databases = counted(len(heard), "watched database")
        why = (f"no verification of {databases} is known", *_SCAN)
    return Basis(len(heard), proven, unproven, *why)


def nothing_judged(state: State, lone: Iterable[LoneInstance]) -> bool:
    """True if no ESE database is known, and no instance that reported anything without one."""
    return not state.databases and not any(lone)


def _no_database(state: State, settings: Settings, *, live: bool) -> tuple[str, str, str]:
    sources = state.sources.values()
    if not live:
        if any(each.records for each in sources):
            return _UNNAMED, *_EXPORT
        return "no ESE event is in what was read", *_EXPORT
    if not settings.watches:
        return "no source of events or counters is configured", *_DOCTOR
    if not any(each.up for each in sources):
        return "no source can be read", *_DOCTOR
    if any(each.baseline for each in sources):
        return "the first reading is not done", *_DOCTOR
    return "nothing that was read names an ESE database", *_DOCTOR


def never_proven(advice: Iterable[Judgement]) -> list[DatabaseKey]:
    """The never verified directories among the databases with advice: reported once for all of
    them. Nothing that runs by itself reads every page of a domain controller's database, so a
    report for each would never end (semantics.md 5)."""
    return [
        (each.computer, each.database)
        for each in advice
        if each.model == "garbage_collection"
        and each.tier == "watched"
        and each.ledger.standing == "unverified"
        and not each.proven
        and "never_verified" not in each.names
    ]


def never_proven_text(keys: Sequence[DatabaseKey]) -> str:
    named = [f"{database} on {computer}" for computer, database in keys[:NAMED]]
    rest = len(keys) - NAMED
    more = [f"{rest:,} more"] if rest > 0 else []
    return (
        f"no verification is known for {counted(len(keys), 'directory', 'directories')}"
        f" ({listed([*named, *more])}): the maintenance of a directory does not read every page;"
        " run a page scan of a snapshot, or esentutl /k on a copy"
    )


MISSING = "events are missing"
"""Reason why data of a computer may be missing though its sources are read."""
NOT_HEARD = "nothing was read of it"


class Blind(NamedTuple):
    name: str
    """Of a computer, or of a source that is down and never had a record of one: it stands for the
    computers that it would report."""
    why: str


def blind_places(advice: Iterable[Judgement], sources: Iterable[SourceState]) -> tuple[Blind, ...]:
    """Everything with missing or stale data, by name."""
    judged, sources = list(advice), list(sources)
    whys = {
        computer: [f"{NOT_HEARD} since {moment(found.since)}" if found.since else NOT_HEARD]
        for computer, found in not_heard(judged).items()
    }
    whys |= {computer: [why] for computer, why in blind_computers(sources).items()}
    unknown = {each.computer for each in judged if UNKNOWN in each.names}
    for computer in unknown:
        whys.setdefault(computer, []).append(MISSING)
    found = [Blind(computer, ", ".join(why)) for computer, why in whys.items()]
    found += [
        Blind(source.name, f"{UNREAD}; its computers are not known")
        for source in sources
        if not source.up and not source.computers
    ]
    return tuple(sorted(found))


def not_heard(advice: Iterable[Judgement]) -> dict[str, Finding]:
    """By computer of which a log is silent, the finding of the one that was heard last."""
    silent = [
        (found.since or 0.0, each.computer, found)
        for each in advice
        for found in each.findings
        if found.finding == "not_heard"
    ]
    return {computer: found for _, computer, found in sorted(silent)}
