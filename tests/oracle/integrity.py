"""Bad pages, damage and proof of one copy (semantics, section 3)."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from tests.oracle.chronicle import Event, Gap
from tests.oracle.facts import (
    DIVERGENCE_OF_ACTIVE,
    DIVERGENCE_OF_LOGGER,
    INDEX,
    INDEX_REBUILT,
    LOGICAL,
    LOGICALLY_CORRUPT,
    PAGE_AT,
    REVERT,
    SPOILS,
    SUSPECT_OF_BOTH,
    number,
)
from tests.oracle.history import HOUR, Acknowledged, Scanned
from tests.oracle.passes import Completion, Order

UNLOCATED = (-1, "uncorrectable")
COUNTED = ("uncorrectable", "wrong_page")
"""What a scan counts as a bad checksum: -1018 and -1118."""
BLIND_TO = ("no_data", "lost_flush")
"""What no scan sees: "both take a blank page and a stale page with a right checksum for good"."""

Entry = tuple[int, str]


class Latched:
    """What is known of one database at one moment."""

    def __init__(self) -> None:
        self.pages: dict[Entry, Order] = {}
        self.damage: dict[str, Order] = {}
        self.restored: dict[Entry, Order] = {}
        """The bad pages that a restore may have ended, and since when that is unproven."""
        self.reported: dict[Entry, Order] = {}
        """When those were reported."""
        self.verified: dict[str, float] = {}
        """By verifier, when it last proved every page good."""

    def forget(self, condition: Callable[[Entry, Order], bool]) -> None:
        """Take the bad pages of which the condition holds as resolved."""
        self.pages = {each: at for each, at in self.pages.items() if not condition(each, at)}
        self.restored = {each: at for each, at in self.restored.items() if not condition(each, at)}

    def latch(self, entry: Entry, at: Order) -> None:
        """A page is bad, whatever was restored before."""
        self.pages[entry] = at
        self.restored.pop(entry, None)

    def prove_restored(self, begin: Order) -> None:
        """A pass that began then, after the restore, found every page good."""
        self.restored = {each: at for each, at in self.restored.items() if at >= begin}

    def prove(self, verifier: str, time: float) -> None:
        """Note a proof where it is the latest."""
        self.verified[verifier] = max(time, self.verified.get(verifier, time))

    def clear(self) -> None:
        """Nothing is known any more."""
        self.pages, self.damage, self.restored, self.verified = {}, {}, {}, {}

    def adopt(self, other: "Latched") -> None:
        """What is known of the same database at another path is of this one from now on.

        "A database that its instance attaches elsewhere under the same file name takes its entries,
        damage and verifications along".
        """
        self.pages = {**other.pages, **self.pages}
        self.damage = {**other.damage, **self.damage}
        self.restored = {**other.restored, **self.restored}
        self.reported = {**other.reported, **self.reported}
        for verifier, time in other.verified.items():
            self.prove(verifier, time)
        other.clear()


class Step(NamedTuple):
    """One thing that changes what is known of a database, at its place in time."""

    order: Order
    change: Callable[[Latched], None]


def damage_of(event: Event) -> str:
    """The kind of damage that has no page checksum error.

    "`divergence`: 539, 541, 557, 559, 560, 516 ...; 538, 545 ...; 540 ... as suspect. `logical`:
    447 (`%12` = 0 is not fatal), 448, 467, 542. Revert snapshots 568-570: a kind of their own.
    613, 614, 643: index out of date". "-1206 is `logical_damage`".
    """
    if event.id in DIVERGENCE_OF_LOGGER | DIVERGENCE_OF_ACTIVE:
        return "divergence"
    if event.id in SUSPECT_OF_BOTH:
        return "suspect"
    if event.error == LOGICALLY_CORRUPT and not event.of_another_file:
        return "logical"
    if event.id in LOGICAL:
        mild = event.id == 447 and number(event.at(12)) == 0
        return "logical_nonfatal" if mild else "logical"
    if event.id in INDEX:
        return "index"
    return "revert_snapshot" if event.id in REVERT else ""


def step_of(event: Event, *, suspect: bool, named: list[tuple[float, str]]) -> Step | None:
    """What an event that speaks of this copy does to what is known of it.

    `suspect`: it only may be this one. `named` are the page events of the copy, with their kinds.
    """
    order = event.order
    if event.id in PAGE_AT:
        position, kind = PAGE_AT[event.id]
        page = number(event.at(position))
        entry = (-1 if page is None else page, kind)
        return Step(order, lambda known: known.latch(entry, order))
    if event.page_error:
        # "unless an unlocated one stands or a page event of that database and kind lies within an
        # hour before or after"
        kind = event.page_error
        if any(each == kind and abs(when - event.when) <= HOUR for when, each in named):
            return None
        unlocated: Entry = (-1, kind)
        return Step(order, lambda known: known.latch(unlocated, order))
    kind = "suspect" if suspect else damage_of(event)
    if kind:
        return Step(order, lambda known: known.damage.update({kind: order}))
    if event.id in (905, 911):
        first = number(event.at(4))
        last = number(event.at(5)) if event.id == 911 else first
        if first is None or last is None:
            return None
        patched = range(first, last + 1)
        return Step(order, lambda known: known.forget(lambda entry, _: entry[0] in patched))
    if event.id == INDEX_REBUILT:
        return Step(order, lambda known: known.damage.pop("index", None) and None)
    return None


def suspected(event: Event) -> Step:
    """A bad page in a snapshot that may be of this database."""
    return Step(event.order, lambda known: known.damage.update({"suspect": event.order}))


def created(event: Event) -> Step:
    """325: "All of them end with their file ... verification starts anew"."""
    return Step(event.order, Latched.clear)


def restored(ended: Event, used: Event) -> Step:
    """What a restore that ended, proven by the start of its instance, makes of what was known.

    It "turns the entries into finding `restored_unproven` (warning, verdict `look`) until a pass
    that began after it"; what ends an entry ends that, too. Damage is "cleared by `ack`, a restore
    or a newer seeding". What was logged since it ended is of the restored file.
    """

    def change(known: Latched) -> None:
        before = {each: at for each, at in known.pages.items() if at < ended.order}
        known.pages = {each: at for each, at in known.pages.items() if each not in before}
        known.restored = dict.fromkeys([*known.restored, *before], used.order)
        known.reported.update(before)
        known.damage = {kind: at for kind, at in known.damage.items() if at >= ended.order}

    return Step(used.order, change)


def scanned(scan: Scanned) -> list[Step]:
    """A page scan: latches its bad pages, clears those it read good; a whole good one clears all.

    "a later good read of it, a later complete scan with 0 bad". "`no_data` also by our re-read, of
    a later snapshot, that finds the page not blank". A page is good as of the snapshot; it is known
    to be bad from the reading on, so that an old copy hides nothing.
    """
    taken: Order = (scan.time, -1, -1)
    read: Order = (max(scan.time, scan.read), -1, -1)
    whole = scan.complete and not scan.bad

    def clear(known: Latched) -> None:
        known.forget(
            lambda entry, at: (
                at < taken
                and (
                    (whole and entry[1] not in BLIND_TO)
                    or (entry[0] in scan.good and entry[1] != "lost_flush")
                )
            )
        )
        if whole:
            known.prove("page_scan", scan.time)
            known.prove_restored(taken)

    return [
        Step(taken, clear),
        *(Step(read, partial(Latched.latch, entry=entry, at=read)) for entry in scan.bad),
    ]


def acknowledged(ack: Acknowledged, last: Latched) -> Step:
    """A person's word; all pages and all damage where none is named.

    "`ack` takes each thing that it names up to the last time that was *shown* for it, never a
    watermark over all: what was logged before and is read later stands"; `last` has what was shown.
    """

    def is_shown(at: Order, until: Order | None) -> bool:
        return until is not None and at[0] <= until[0]

    def change(known: Latched) -> None:
        meant = {page for page, _ in known.pages if page in ack.pages}
        known.pages = {
            entry: at
            for entry, at in known.pages.items()
            if (ack.pages and entry[0] not in ack.pages) or not is_shown(at, last.pages.get(entry))
        }
        if ack.pages:
            # What a restore left of a page that is bad again was of that page, too.
            known.restored = {e: at for e, at in known.restored.items() if e[0] not in meant}
            return
        known.damage = {
            kind: at for kind, at in known.damage.items() if not is_shown(at, last.damage.get(kind))
        }
        known.restored = {
            each: at
            for each, at in known.restored.items()
            if not is_shown(at, last.restored.get(each))
            if not is_shown(known.reported[each], last.pages.get(each))
        }

    return Step((ack.time, 1 << 62, 0), change)


def named_pages(events: Iterable[Event], scans: Iterable[Scanned]) -> list[tuple[Order, int]]:
    """The pages that were reported bad, in the way that a scan counts them, and when."""
    found: list[tuple[Order, int]] = []
    for event in events:
        position, kind = PAGE_AT.get(event.id, (0, ""))
        page = number(event.at(position)) if position else None
        if kind in COUNTED and page is not None:
            found.append((event.order, page))
    for scan in scans:
        read: Order = (max(scan.time, scan.read), -1, -1)
        pages = [page for page, kind in scan.bad if kind in COUNTED]
        found += [(read, page) for page in pages]
        if scan.complete:
            # A scan that is done tells how the snapshot was when it was taken.
            found += [((scan.time, -1, -1), page) for page in pages]
    return found


def summary(completion: Completion, verifies: bool, named: list[tuple[Order, int]]) -> Step:
    """A completed scan: what it clears, and the bad pages that it counted and nobody named.

    "a later complete scan with 0 bad *of that copy's own pages*". "A pass with N bad clears all but
    N of the entries that fell within it, never the last ones." "by 721/722 with bad > 0 without
    page numbers (one entry "unlocated")".
    """
    order, begin, bad = completion.event.order, completion.begin, completion.bad
    counts_whole_pass = completion.event.id in (721, 722)
    # Of 735 and 737 only that more were counted than named: that is no less known.

    def change(known: Latched) -> None:
        if verifies and begin is not None:
            known.forget(lambda entry, at: at < begin and entry[1] not in BLIND_TO)
            known.prove("online_scan", completion.event.time)
            known.prove_restored(begin)
        elif bad and bad > 0:
            within = [
                (at, entry)
                for entry, at in known.pages.items()
                if begin is not None and begin <= at <= order
                if entry[1] in COUNTED and entry[0] >= 0
            ]
            told = {page for at, page in named if begin is not None and begin <= at <= order}
            if len(told) < bad:
                known.latch(UNLOCATED, order)
            if not counts_whole_pass or completion.partial:
                return
            last = {entry[0]: at for at, entry in sorted(within)}
            healed = sorted(last, key=lambda page: (last[page], page))[: max(0, len(last) - bad)]
            for _, entry in within:
                if entry[0] in healed:
                    del known.pages[entry]

    return Step(order, change)


def counted_some_day(read: float) -> Step:
    """A scan of an impossible time that counted bad pages: it proves nothing, and they are bad."""
    order: Order = (read, -1, -1)
    return Step(order, lambda known: known.latch(UNLOCATED, order))


def verifies(
    completion: Completion,
    own_pages: bool,
    against: Iterable[Event],
    unread: Iterable[Event],
    gaps: list[Gap],
) -> bool:
    """Whether a completed scan proves every page of the copy good.

    "A count that is negative, cannot be read, or 0 pages seen is no proof. So **any** pass verifies
    a copy only if no 398, 474-476, 481, 516, 530, 538-541, 544, 545, 557, 559, 560 against that
    copy falls within it"; `online_scan`: complete, 0 bad. 721 and 722 must say how many; of the
    others, which may not say it (`-, -`), the events decide. "A page event without its file is a
    failed read of the instance: no scan of that instance in which it falls verifies" (`unread`).
    What was logged in a gap of more than a day is not known.
    """
    begin = completion.begin
    counts = completion.event.id in (721, 722)
    if not own_pages or begin is None or completion.bad not in ((0,) if counts else (0, None)):
        return False
    if completion.is_hopeless:
        return False
    return is_clear(begin, completion.event, against, unread, gaps)


def is_clear(
    begin: Order, end: Event, against: Iterable[Event], unread: Iterable[Event], gaps: list[Gap]
) -> bool:
    """Whether nothing from `begin` to `end` contradicts that every page is good, or may."""
    if any(gap.begin < end.when and gap.end > begin[0] for gap in gaps):
        return False
    spoilt = [*(event for event in against if is_spoiling(event)), *unread]
    return not falls_within(spoilt, begin[0], end.when)


def is_spoiling(event: Event) -> bool:
    """Whether it forbids what it falls within to verify: of the list, or an error that is one."""
    return event.id in SPOILS or bool(event.page_error)


def falls_within(spoilt: Iterable[Event], begin: float, end: float) -> bool:
    """Whether one does; also of the moment of the begin or the end, in whatever order."""
    return any(begin <= event.when <= end for event in spoilt)


def streaming(
    events: Iterable[Event], against: Iterable[Event], created: Sequence[Event]
) -> dict[str, list[Event]]:
    """The databases that streaming backups of one instance verified, and when.

    "210 ... 213 with 220 + 221 for every file and none of 214/215/217/218/222; not incremental 211;
    a VSS completion 2006/224 proves nothing". A start or stop of the instance ends a backup too.
    "A streaming backup in whose time an event of section 2's list (399 is none), or an error that
    is a page error, of its database falls verifies nothing" (`against`), nor does one in which its
    file was `created`.
    """
    found: dict[str, list[Event]] = {}
    begin: Event | None = None
    copying: set[str] = set()
    copied: set[str] = set()
    spoilt = [event for event in against if is_spoiling(event)]
    for event in events:
        if event.id == 210:
            begin, copying, copied = event, set(), set()
        elif event.id in (211, 212, 214, 215, 217, 218, 222, 226, 102, 103, 104):
            begin = None
        elif event.id == 220 and begin:
            copying.add(event.database or event.at(4).lower())
        elif event.id == 221 and begin:
            copied.add(event.database or event.at(4).lower())
        elif event.id == 213 and begin:
            anew = any(begin < each < event for each in created)
            if copying == copied and not anew and not falls_within(spoilt, begin.when, event.when):
                for label in copying:
                    found.setdefault(label, []).append(event)
            begin = None
    return found
