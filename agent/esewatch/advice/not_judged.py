"""Databases that are not judged, the reason, and the next command: nothing judged is not zero
(semantics.md 5a)."""

from collections.abc import Iterable
from typing import NamedTuple

from esewatch.advice.base.finding import counted
from esewatch.advice.findings.lone_instances import LoneInstance
from esewatch.advice.forecast.verdict import UNSEEN, UNVERIFIED, Verdict
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings
from esewatch.config.settings import Disks
from esewatch.fold.state.state import State

_DOCTOR = ("To see what is missing, run", "esewatch doctor")
_EXPORT = (
    "Export the log of a server that has one, of a domain controller also its Directory Service",
    "wevtutil epl Application Application.evtx",
)
_WATCH = ("To watch one, configure it", r"databases: [{match: '*\NAME.edb', tier: watched}]")
_UNNAMED = "no event that was read names an ESE database (temporary and system ones are left out)"
_SCAN = ("Read all pages of a copy, such as a snapshot", "esewatch scan COPY")


class Seen(NamedTuple):
    """One database."""

    tier: str
    verdict: Verdict | None
    """None: not judged yet."""
    proven: bool
    """A verification of it is known."""
    asked: bool = False
    """A finding asks for one."""
    behind: bool = False
    """Its data may be old, also beside a worse verdict than `blind`."""

    @property
    def unproven(self) -> bool:
        """Never verified and nobody asks for it, whatever else makes its verdict."""
        return not (self.proven or self.asked)


def seen(tier: str, advice: Judgement | None) -> Seen:
    if advice is None:
        return Seen(tier, None, proven=False)
    names = {each.finding for each in advice.findings}
    asked, proven = not UNVERIFIED.isdisjoint(names), advice.ledger.last is not None
    behind = bool(advice.stale) or not UNSEEN.isdisjoint(names)
    return Seen(tier, advice.verdict, proven, asked, behind)


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


def basis(known: Iterable[Seen], state: State, settings: Settings, *, live: bool) -> Basis:
    """The numbers of these databases. `live`: of an agent, not of files that were named."""
    shown = [each for each in known if each.tier != "ignored"]
    watched = [each for each in shown if each.tier == "watched"]
    heard = [each for each in watched if each.verdict not in (None, "blind") and not each.behind]
    proven = sum(each.proven for each in heard)
    unproven = sum(each.unproven for each in heard)
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
    elif not heard and all(each.verdict is None for each in watched):
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
    if all(isinstance(entry, Disks) for entry in settings.sources):
        return "no source of events or counters is configured", *_DOCTOR
    if not any(each.up for each in sources):
        return "no source can be read", *_DOCTOR
    if any(each.baseline for each in sources):
        return "the first reading is not done", *_DOCTOR
    return "nothing that was read names an ESE database", *_DOCTOR
