"""Bad pages, damage and proof of one copy (semantics, section 3)."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.oracle.chronicle import Event, Gap
from tests.oracle.facts import (
    DIVERGENCE_OF_ACTIVE,
    DIVERGENCE_OF_LOGGER,
    INDEX,
    INDEX_REBUILT,
    LOGICAL,
    PAGE_AT,
    RECOVERY_FAILED,
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


class Step(NamedTuple):
    """One thing that changes what is known, at its place in time."""

    order: Order
    change: Callable[["Latched"], None]


class Latched:
    """What is known to be bad at one moment."""

    def __init__(self) -> None:
        self.pages: dict[tuple[int, str], Order] = {}
        self.damage: dict[str, Order] = {}

    def forget(self, condition: Callable[[tuple[int, str], Order], bool]) -> None:
        """Take the bad pages of which the condition holds as resolved."""
        self.pages = {each: at for each, at in self.pages.items() if not condition(each, at)}


def damage_of(event: Event) -> str:
    """The kind of damage that has no page checksum error.

    "`divergence`: 539, 541, 557, 559, 560, 516 ...; 538, 545 ...; 540 ... as suspect. `logical`:
    447 (`%12` = 0 is not fatal), 448, 467, 542. Revert snapshots 568-570: a kind of their own.
    613, 614, 643: index out of date".
    """
    if event.id in DIVERGENCE_OF_LOGGER | DIVERGENCE_OF_ACTIVE:
        return "divergence"
    if event.id in SUSPECT_OF_BOTH:
        return "suspect"
    if event.id in LOGICAL:
        mild = event.id == 447 and number(event.at(12)) == 0
        return "logical_nonfatal" if mild else "logical"
    if event.id in INDEX:
        return "index"
    return "revert_snapshot" if event.id in REVERT else ""


def step_of(event: Event) -> Step | None:
    """What an event that names this copy does to what is known of it."""
    order = event.order
    if event.id in PAGE_AT:
        position, kind = PAGE_AT[event.id]
        page = number(event.at(position))
        entry = (-1 if page is None else page, kind)
        return Step(order, lambda known: known.pages.update({entry: order}))
    kind = damage_of(event)
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


def restored(event: Event, life: Iterable[Event]) -> list[Step]:
    """205: damage is of the file that was there before; what clears a page is another list.

    It is logged after a restore that failed, too: an error of recovery comes within an hour then.
    """
    failed = [each for each in life if each.id in RECOVERY_FAILED]
    if any(event.when - HOUR <= each.when <= event.when for each in failed):
        return []
    return [Step(event.order, lambda known: known.damage.clear())]


def scanned(scan: Scanned) -> list[Step]:
    """A page scan: latches its bad pages, clears those it read good; a whole good one clears all.

    "Cleared by ... a later good read of it, a later complete scan with 0 bad". A page is good as of
    the snapshot; it is known to be bad from the reading on, so that an old copy hides nothing. The
    checksum of a lost flush and of a page without data is right, so that reading it says nothing.
    """
    taken: Order = (scan.time, -1, -1)
    read: Order = (max(scan.time, scan.read), -1, -1)

    def clear(known: Latched) -> None:
        whole = scan.complete and not scan.bad
        known.forget(
            lambda entry, at: (
                at < taken
                and (whole or entry[0] in scan.good)
                and entry[1] not in ("lost_flush", "no_data")
            )
        )

    return [
        Step(taken, clear),
        Step(read, lambda known: known.pages.update(dict.fromkeys(scan.bad, read))),
    ]


def acknowledged(ack: Acknowledged) -> Step:
    """A person's word; all pages and all damage where none is named."""

    def change(known: Latched) -> None:
        known.forget(lambda entry, _: not ack.pages or entry[0] in ack.pages)
        if not ack.pages:
            known.damage.clear()

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
        if verifies:
            known.forget(lambda entry, at: begin is not None and at < begin)
        elif bad and bad > 0:
            within = [
                (at, entry)
                for entry, at in known.pages.items()
                if begin is not None and begin <= at <= order
                if entry[1] in COUNTED and entry != UNLOCATED
            ]
            told = {page for at, page in named if begin is not None and begin <= at <= order}
            if len(told) < bad:
                known.pages[UNLOCATED] = order
            if not counts_whole_pass or completion.partial:
                return
            last = {entry[0]: at for at, entry in sorted(within)}
            healed = sorted(last, key=lambda page: (last[page], page))[: max(0, len(last) - bad)]
            for _, entry in within:
                if entry[0] in healed:
                    del known.pages[entry]

    return Step(order, change)


def known_at_the_end(steps: Iterable[Step]) -> Latched:
    """What is still known to be bad when all has happened."""
    known = Latched()
    for step in sorted(steps, key=lambda each: each.order):
        step.change(known)
    return known


def verifies(
    completion: Completion, own_pages: bool, against: list[Event], gaps: list[Gap]
) -> bool:
    """Whether a completed scan proves every page of the copy good.

    "any pass verifies a copy only if no 398, 474-476, 481, 516, 530, 538-541, 544, 545, 557, 559,
    560 against that copy falls within it"; `online_scan`: complete, 0 bad. 721 and 722 must say how
    many; of the others, which may not say it (`-, -`), the events decide. What was logged in a gap
    of more than a window (a day where none is configured) is not known.
    """
    begin = completion.begin
    counts = completion.event.id in (721, 722)
    if not own_pages or begin is None or completion.bad not in ((0,) if counts else (0, None)):
        return False
    if any(gap.begin < completion.event.when and gap.end > begin[0] for gap in gaps):
        return False
    return not any(
        event.id in SPOILS and begin <= event.order <= completion.event.order for event in against
    )


def streaming(events: list[Event]) -> dict[str, float]:
    """The databases that streaming backups of one instance verified, and when last.

    "210 ... 213 with 220 + 221 for every file and none of 214/215/217/218/222; not incremental 211;
    a VSS completion 2006/224 proves nothing". A start or stop of the instance ends a backup too.
    """
    found: dict[str, float] = {}
    begin: Event | None = None
    copying: set[str] = set()
    copied: set[str] = set()
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
            if copying == copied:
                for label in copying:
                    found[label] = max(event.when, found.get(label, event.when))
            begin = None
    return found
