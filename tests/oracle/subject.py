"""One database of one computer, with all that concerns it, and its tier, model and copies.

Semantics, sections 1 (tier, copies, role) and 5 (model).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from tests.oracle.chronicle import Event, Gap
from tests.oracle.facts import CORRUPTION, LOGICALLY_CORRUPT
from tests.oracle.history import DAY, Scanned
from tests.oracle.identity import is_nameless_snapshot, is_temporary
from tests.oracle.integrity import Latched, is_clear
from tests.oracle.passes import Completion, Copy, Order
from tests.oracle.presence import Spans, worked

EXCHANGE = frozenset({"msexchangeis", "store", "microsoft.exchange.store.worker", "msexchangerepl"})
REPLICATION = "msexchangerepl"
DIRECTORY = "ntds.dit"
"""A file of a directory is called so, or has words before it: `adamntds.dit`."""
WORKER = "microsoft.exchange.store.worker"


def is_ignored_path(label: str) -> bool:
    """Whether the path says that the database is ignored."""
    patterns = ("*\\temp\\*", "*\\tmp.edb", "*\\webcache\\*", "*\\srudb.dat", "*\\{s-1-5-*}.edb")
    return any(fnmatchcase(label.lower(), pattern) for pattern in patterns)


def is_corruption(event: Event) -> bool:
    """Whether it "makes such a database `observed`"."""
    return event.id in CORRUPTION or bool(event.page_error) or event.error == LOGICALLY_CORRUPT


@dataclass
class Subject:
    """A database of a computer."""

    computer: str
    label: str
    entry: Mapping[str, Any]
    named: list[Event] = field(default_factory=list)
    """Every event that names it."""
    scans: list[Scanned] = field(default_factory=list)
    instances: frozenset[str] = frozenset()
    """Those it belongs to; not those of tools."""
    life: list[Event] = field(default_factory=list)
    """What its instances logged, whatever it names."""
    others: list["Subject"] = field(default_factory=list)
    """Its copies."""
    against: list[Event] = field(default_factory=list)
    """What speaks against its pages, also where another copy logged it."""
    suspected: set[int] = field(default_factory=set)
    """The places of those of them that only may mean this copy."""
    in_shadows: list[Event] = field(default_factory=list)
    """Bad pages in snapshots that name no origin and have its path."""
    unplaced: list[Event] = field(default_factory=list)
    """Page events of its instances that name no file."""
    moved: list[tuple[Event, "Subject"]] = field(default_factory=list)
    """When its instance attached it here, and where it lay before."""
    left: float = 0.0
    """When it was attached elsewhere; 0 where it was not, or is back."""
    leaves: list[Event] = field(default_factory=list)
    """Each 327 that detached it."""
    away: Spans = field(default_factory=list)
    """When it was detached."""
    silent_from: float = float("inf")
    """From when on that is silence."""
    copy: Copy = field(default_factory=Copy)
    role_ahead: str = ""
    """The role that only events tell that are of an impossible time."""
    proofs: list[Completion] = field(default_factory=list)
    verified: dict[str, float] = field(default_factory=dict)
    known: Latched = field(default_factory=Latched)
    spans: list[Spans] = field(default_factory=list)
    gaps: list[Gap] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    """When anything was logged on its computer, in order."""
    unexplained: float = 0.0
    """When an unexplained error of it was logged last."""
    dealt_with: dict[str, float] = field(default_factory=dict)
    """Up to when what was logged of a thing ("io", "unexplained", an id) was acknowledged."""
    io_errors: list[Event] = field(default_factory=list)
    failing: list[Event] = field(default_factory=list)
    """Errors that put what it writes at risk."""

    @property
    def standing_io_errors(self) -> list[Event]:
        """Those that nobody acknowledged; bad pages of files that are not named, too."""
        errors = [*self.io_errors, *self.unplaced]
        return [event for event in errors if event.when > self.dealt_with.get("io", 0.0)]

    @property
    def dismounted(self) -> bool:
        """It is detached, and its instance goes on."""
        return bool(self.away) and self.away[-1][1] == float("inf")

    def blind(self, now: float) -> bool:
        """Nothing is heard of it any more."""
        return now > self.silent_from

    @property
    def longest_gap(self) -> float:
        """So long a gap in the log leaves a pass unproven."""
        return DAY

    def is_clear(self, begin: Order, end: Event) -> bool:
        """Whether nothing in a scan of that time contradicts that every page is good, or may."""
        gaps = [gap for gap in self.gaps if gap.end - gap.begin > self.longest_gap]
        return is_clear(begin, end, self.against, self.unplaced, gaps)

    @property
    def owned(self) -> list[Event]:
        """The events that name it and that no tool logged."""
        return [event for event in self.named if not event.tool]

    @property
    def served(self) -> list[Event]:
        """Those of them that are of the file itself: what is done at a snapshot says nothing of its
        origin but damage."""
        return [event for event in self.owned if not event.in_snapshot]

    @property
    def ids(self) -> frozenset[int]:
        """The ids of those."""
        return frozenset(event.id for event in self.owned)

    @property
    def first_seen(self) -> float:
        """When it was named for the first time."""
        return min([event.when for event in self.named] + [scan.time for scan in self.scans])

    @property
    def last_seen(self) -> float:
        """When it was named for the last time."""
        return max([event.when for event in self.named] + [scan.read for scan in self.scans])

    def worked(self, begin: float, end: float) -> float:
        """The seconds that it was at work."""
        return worked(self.spans, begin, end)

    def off(self, begin: float, end: float) -> list[tuple[float, float]]:
        """When it was not at work."""
        found: list[tuple[float, float]] = []
        for start, stop in sorted(span for each in self.spans for span in each):
            if begin < start:
                found.append((begin, min(start, end)))
            begin = max(begin, stop)
            if begin >= end:
                return found
        return [*found, (begin, end)]

    @property
    def role(self) -> str:
        """`active`, `passive`, or empty where nothing tells.

        "the family of the last maintenance event, MSExchangeRepl passive, else configuration, else
        unknown." The letter of `%2` "is a hint only": D, which no start logs, where all else is
        silent, of Exchange.
        """
        if is_nameless_snapshot(self.label):
            return ""
        if self.copy.roles or self.role_ahead:
            return self.copy.roles[-1][1] if self.copy.roles else self.role_ahead
        if [event.process for event in self.served or self.owned][-1:] == [REPLICATION]:
            return "passive"
        letters = [event for event in self.served if event.letter]
        # Of one moment it is the D: a start replays first.
        hint = any(
            each.time == letters[-1].time and each.letter == "D" and each.provider.upper() == "ESE"
            for each in letters
        )
        return str(self.entry.get("role", "")) or ("active" if hint else "")

    def kept_by(self, *programs: str) -> bool:
        """Whether a process or an instance of its owners begins with one of the names."""
        names = {event.process for event in self.owned} | self.instances
        return any(name.startswith(programs) for name in names)

    @property
    def tier(self) -> str:
        r"""`watched`, `observed` or `ignored`.

        "`watched` = configured, or Exchange, ntds.dit, adamntds.dit, CertSrv, DHCP, WINS, DFSR, or
        any that logged 700-757; `observed` = other ESENT; `ignored` = `*\Temp\*`, tmp.edb,
        WebCache, SRUDB, `*\{S-1-5-*}.edb`: ...; a corruption event makes such a database
        `observed`."
        """
        if self.entry:
            return str(self.entry.get("tier", "watched"))
        if is_temporary(self.label):
            return "ignored"
        if is_ignored_path(self.label):
            bad = any(is_corruption(event) for event in self.named)
            return "observed" if bad or any(scan.bad for scan in self.scans) else "ignored"
        file = self.label.lower().split("\\")[-1]
        exchange = any(
            event.process in EXCHANGE or event.provider.upper() == "ESE" for event in self.owned
        )
        # A page scan was configured for what it reads.
        if self.scans or exchange or file in ("dhcp.mdb", "wins.mdb"):
            return "watched"
        if file.endswith(DIRECTORY):
            return "watched"
        if self.is_dfsr or "\\certlog\\" in self.label or self.kept_by("certsrv", "dhcp", "wins"):
            return "watched"
        return "watched" if any(700 <= each <= 757 for each in self.ids) else "observed"

    @property
    def is_dfsr(self) -> bool:
        """A database of DFS Replication."""
        return self.kept_by("dfsr") or "\\dfsr\\" in self.label

    @property
    def model(self) -> str:
        """The maintenance model: the first row of the table of section 5 that fits."""
        if self.entry.get("model"):
            return str(self.entry["model"])
        ids = self.ids
        if self.entry.get("window"):
            # "Where both models fit (2013+ with a window configured) it is `background` unless
            # scanning is off."
            scans = {717, 719, 732, 733, *range(735, 739), *range(744, 748)}
            scanned = any(event.id in scans and event.current for event in self.owned)
            return "background" if scanned else "window"
        store = any(
            event.provider.upper() == "ESE" and event.process in ("msexchangeis", "store")
            for event in self.owned
        )
        # 719 may be the first that is seen (section 2), and a log may begin anywhere.
        scans_of_2007 = ids & {718, 720, *range(721, 728)}
        if store and (ids & {700, 701, 702, 703, 704} or scans_of_2007):
            return "window"
        providers = {event.provider.lower() for event in self.owned}
        if any(name == "ntds isam" or name.startswith("adam") for name in providers):
            return "garbage_collection"
        if "ntdsa" in self.instances or self.is_dfsr or self.label.lower().endswith(DIRECTORY):
            return "garbage_collection"
        current = ids & {*range(732, 739), *range(744, 748)}
        if [event.process for event in self.served][-1:] == [REPLICATION] and not current:
            # The copy of CCR and LCR: nothing maintains it, as little as it has a window.
            return "window"
        if self.worker or ids & {*range(732, 739), *range(744, 748)}:
            return "background"
        if ids & {717, 719} and not ids & {721, 722}:
            return "background"
        return "application"

    @property
    def worker(self) -> bool:
        """A database of the store worker of Exchange 2013 and later."""
        return any(event.process == WORKER for event in self.owned)
