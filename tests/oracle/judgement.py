"""What is found wrong with one database, or missing (semantics, sections 3, 5 and 7)."""

from itertools import pairwise
from statistics import median

from tests.oracle.chronicle import Event
from tests.oracle.facts import HUNG, NOT_AT_WORK, number, seconds
from tests.oracle.history import DAY, HOUR
from tests.oracle.passes import PAGES_SEEN
from tests.oracle.subject import Subject

SCANS = frozenset({*range(717, 728), *range(732, 739), *range(744, 748)})
WINDOW = 84 * HOUR
"""From one window to the next and its end; half a week where none is configured."""


def unknown_since(subject: Subject, window: float, now: float) -> float | None:
    """The end of the last gap that nothing proved since; None where no gap stands. It may hide when
    a database came that only records of an impossible time name.

    "After a gap of more than one window: ledger and cadence are "unknown since", absence alerts are
    held, advice is `insufficient_evidence`."
    """
    came = subject.first_seen if subject.first_seen <= now + DAY else 0.0
    ends = [
        gap.end
        for gap in subject.gaps
        if gap.end - gap.begin > window and gap.end > max(came, subject.copy.born)
    ]
    if not ends or any(each >= max(ends) for each in subject.verified.values()):
        return None
    return max(ends)


SEVERE = frozenset({"never_verified", "verification_overdue"})
UNSEEN = frozenset({"not_heard", "unknown_since"})
"""What is missing may be the record of a bad page: it is not heard either."""
INFO = frozenset({"unexplained_error"})


def deadline(subject: Subject, now: float) -> float:
    """How old a verification may become.

    "configured; else the largest of 7 days, 735's own threshold and 1.5 x the median time *from
    completion to completion* of the copy's last eight, at most 45 days".
    """
    configured = seconds(subject.entry.get("verify_within", ""))
    if configured is not None:
        return configured
    told = [
        number(event.at(8))
        for event in subject.owned
        if event.id == 735 and event.time <= now + DAY
    ]
    late = [each for each in told if each is not None]
    ends = [
        each.event.when
        for each in subject.copy.completions
        if each.task != "defrag" and not each.partial and each.event.when > subject.copy.born
    ][-8:]
    between = [later - earlier for earlier, later in pairwise(ends)]
    usual = 1.5 * median(between) if between else 0.0
    first = 0.0 if subject.verified else first_scan(subject)
    return min(45 * DAY, max(7 * DAY, (late or [0])[-1] * DAY, usual, first))


def first_scan(subject: Subject) -> float:
    """Seconds allowed for a first background scan where no scan reported a size.

    "2 TB takes 23 days on a healthy server": one that goes on for n days takes n days at least.
    """
    told = [
        each.event
        for each in subject.copy.completions
        if each.task != "defrag" and number(each.event.at(PAGES_SEEN[each.event.id]))
    ]
    opened = subject.copy.open.get("checksum")
    if subject.model != "background" or told or not (opened and opened.start and opened.last):
        return 0.0
    return 1.5 * (opened.last.when - opened.start.when)


def damaged(subject: Subject, now: float) -> set[str]:
    """What pages, damage and I/O errors give, in every model and tier.

    "Any latched page or damage gives the finding `investigate` in every model, beside others; so
    does an I/O error (481, 482, 551) for 7 days. Damage has its own finding besides".
    """
    found: set[str] = set()
    damage = set(subject.known.damage)
    if subject.known.restored:
        found.add("restored_unproven")
    if (
        subject.known.pages
        or damage
        or any(event.time > now - 7 * DAY for event in subject.standing_io_errors)
    ):
        found.add("investigate")
    if "divergence" in damage:
        found.add("copy_divergence")
    if "suspect" in damage:
        found.add("copy_suspect")
    if damage & {"logical", "logical_nonfatal"}:
        found.add("logical_damage")
    if subject.unexplained > subject.dealt_with.get("unexplained", 0.0):
        found.add("unexplained_error")
    return found


def is_asked_for(subject: Subject) -> bool:
    """Whether its pages are to be verified at all, or were before.

    "garbage_collection: never_verified is information, told once per estate ..., a warning only
    where a deadline is configured or somebody verified it before." `application` is judged by page
    errors and slow I/O.
    """
    if subject.entry.get("verify_within"):
        return True
    if subject.model == "garbage_collection":
        return bool(subject.verified)
    return subject.model != "application" or bool(subject.entry.get("copies"))


def standing(subject: Subject, now: float) -> str:
    """Verified in time, certainly not, or not known."""
    lost = unknown_since(subject, WINDOW, now)
    limit = deadline(subject, now)
    proofs = [*subject.verified.values()]
    if proofs and subject.worked(max(proofs), now) <= limit:
        return "verified"
    if unread(subject):
        # "Its deadline runs on as if it had verified".
        proofs.append(unread(subject))
        if subject.worked(unread(subject), now) <= limit:
            return "unknown"
    # "known for 14 days (or never-verified: 7)": behind a gap it is not said to be never.
    least = 14 * DAY if proofs or lost is not None else 7 * DAY
    if now - max(subject.first_seen, subject.copy.born) < least:
        return "unknown"
    patience = limit if proofs else max(limit, 7 * DAY)
    since = max([lost or 0.0, subject.copy.born, *(proofs or [subject.first_seen])])
    return "unverified" if subject.worked(since, now) > patience else "unknown"


def unread(subject: Subject) -> float:
    """When a scan completed in words that cannot be read, if nothing verified it since; else 0.

    Where something else keeps it from verifying, that is known.

    "neither verifies nor makes the copy `never_verified`: finding `verification_unreadable`".
    """
    ends = [
        each.event.when
        for each in subject.copy.completions
        if each.task != "defrag" and not each.is_read and each.event.when > subject.copy.born
        if not each.partial and subject.is_clear(each.begin or each.event.order, each.event)
    ]
    last = max(ends, default=0.0)
    return last if last > max(subject.verified.values(), default=0.0) else 0.0


def one_sided(subject: Subject, now: float, moment: float) -> str:
    """Whether this copy is not verified in time, and only copies of the other role are.

    "Cross-copy rules are skipped when a role is unknown"; one database is active once, and
    once on a computer; a path that it left is no copy.
    """
    others = [each for each in subject.others if not each.left]
    group = [subject, *others]
    beside = [each for one in others for each in one.others if not each.left]
    if any(each is not subject and each.computer == subject.computer for each in beside):
        return ""
    roles = [each.role for each in group]
    if len(group) < 2 or not all(roles) or roles.count("active") > 1:
        return ""
    if standing(subject, now) != "unverified":
        return ""
    proven = {
        each.role
        for each in others
        # "nothing about it is `ok`, "verified" or "up to date""
        if standing(each, moment) == "verified" and not each.blind(moment)
    }
    if not proven or subject.role in proven:
        return ""
    return "only_passive_verified" if subject.role == "active" else "only_active_verified"


def stalled(subject: Subject) -> bool:
    """Whether a running pass was seen standing still for 48 h at work.

    "progress standing still for 48 h": the pages that 744 told did not change.
    """
    opened = subject.copy.open.get("checksum")
    if opened is None or not opened.running:
        return False
    reports: list[Event] = []
    for event in subject.owned:
        if event.id in (736, 717, 737, 735, 732, 738):
            reports = []
        elif event.id == 744:
            if reports and number(reports[-1].at(7)) != number(event.at(7)):
                reports = []
            reports.append(event)
    if not reports or number(reports[-1].at(7)) is None:
        return False
    # Behind a day without a record it has two days again: the computer may have slept.
    awake = [two for one, two in pairwise(subject.times) if two - one > DAY]
    since = max([reports[0].when, *(time for time in awake if time <= reports[-1].when)])
    return subject.worked(since, reports[-1].when) >= 48 * HOUR


def defrag_overdue(subject: Subject, now: float) -> bool:
    """Whether online defragmentation of a garbage collected database does not come to its end.

    "no completion for 36 h at work (3 cycles), three cycles in a row interrupted or resumed".
    "DFSR spaces its passes: its own history decides, not 36 h": three of its own intervals,
    at work as all absence is.
    """
    mine = [e for e in subject.owned if 700 <= e.id <= 705 and e.time <= now + DAY]
    if not mine and not any(event.id == 102 for event in subject.life):
        # Nothing shows that its log would have a completion.
        return False
    ends = [event.when for event in mine if event.id in (701, 703)]
    limit = 36 * HOUR
    if subject.is_dfsr:
        between = [subject.worked(a, b) for a, b in pairwise(ends)][-8:]
        limit = max(limit, 3 * median(between)) if len(between) >= 2 else float("inf")
    # What is missing counts anew where records are missing: a completion may be among them.
    gaps = [gap.end for gap in subject.gaps if gap.begin < now]
    since = max([ends[-1] if ends else subject.first_seen, *gaps])
    known = now - subject.first_seen >= 14 * DAY
    if known and subject.worked(since, now) > limit:
        return True
    last = cycles(subject)[-3:]
    return len(last) == 3 and all(last)


def cycles(subject: Subject) -> list[bool]:
    """Of each run of online defragmentation that ended: whether it was interrupted or resumed."""
    stops = [event for event in subject.life if event.id in (103, 104)]
    mine = [event for event in subject.owned if event.id in range(700, 706)] + subject.leaves
    found: list[bool] = []
    begun: int | None = None
    started = False
    for event in sorted({*stops, *mine}, key=lambda each: each.order):
        whole = started
        started = event.id == 700 or (started and event.id not in (701, 703))
        if event.id in (700, 702):
            if begun is not None:
                found.append(begun == 702)
            begun = event.id
        elif event.id in (701, 703, 704, 705):
            runs = number(event.at(8)) if event.id == 703 and not whole else None
            if runs and runs > 1:
                # Its start was not seen: the completion tells how often it was resumed.
                found += [True] * (runs - 1)
            found.append(begun == 702 or event.id != 701)
            begun = None
        elif begun is not None:
            found.append(True)
            begun = None
    return found


def absent(subject: Subject, now: float, moment: float) -> set[str]:
    """What a watched database lacks, counted in time at work.

    "Every absence or age alert also requires ... the database known for 14 days (or never-verified:
    7)." `application` is judged by page errors and slow I/O only.
    """
    found: set[str] = set()
    model = subject.model
    if model == "garbage_collection" and defrag_overdue(subject, now):
        found.add("defrag_overdue")
    known = now - subject.first_seen >= 14 * DAY
    hidden = bool(unread(subject))
    if hidden and is_asked_for(subject):
        found.add("verification_unreadable")
    if standing(subject, now) == "unverified" and is_asked_for(subject):
        # "(this finding stands instead of `verification_overdue`)": while the deadline runs.
        found.add("verification_overdue" if subject.verified or hidden else "never_verified")
    sided = one_sided(subject, now, moment)
    if sided:
        found.add(sided)
    if not known:
        return found
    if model == "background" and stalled(subject):
        found.add("scan_stalled")
    if model == "background" or subject.worker:
        seen = [
            event.when
            for event in subject.owned
            if event.id in SCANS and event.time <= moment + DAY
        ]
        gaps = [gap.end for gap in subject.gaps if gap.begin < now]
        if subject.worked(max([subject.first_seen, *seen, *gaps]), now) >= 45 * DAY:
            found.add("scan_off")
    return found


def findings(subject: Subject, now: float, window: float) -> frozenset[str]:
    """All findings of one database.

    Where nothing is heard "its findings of absence are held as they were".
    """
    found = damaged(subject, now)
    moment = now
    if subject.blind(now):
        found.add("not_heard")
        now = subject.silent_from
    if subject.tier == "watched" and not subject.left:
        found |= missing(subject, now, window, moment)
    return frozenset(found)


def missing(subject: Subject, now: float, window: float, moment: float) -> set[str]:
    """What it lacks, and whether records are missing that would tell; its copies as of `moment`."""
    lost = unknown_since(subject, window, now)
    if lost is None:
        return absent(subject, now, moment)
    patience = max(deadline(subject, now), 0.0 if subject.verified else 7 * DAY)
    known = now - max(subject.first_seen, subject.copy.born)
    if subject.worked(lost, now) <= patience or known < 14 * DAY:
        # What is not in its log is counted from the last gap on; what is in it is said.
        said = {"defrag_overdue", "scan_off", "verification_unreadable"}
        return {"unknown_since"} | (said & absent(subject, now, moment))
    # Whatever was missed, nothing has verified it for too long since.
    found = absent(subject, now, moment)
    told = standing(subject, now)
    if told == "unverified" and is_asked_for(subject):
        found = (found | {"verification_overdue"}) - {"never_verified"}
    # A scan that cannot be read keeps its deadline from being over, and fills no gap.
    return found if told == "unverified" else found | {"unknown_since"}


def verdict(subject: Subject, found: frozenset[str], now: float) -> str:
    """The one word for it: "Verdicts, worst first".

    "`bad_pages` (an entry that is not `corrected` or restored, or fatal damage: divergence,
    logical) `writes_at_risk` (413, 429, 492, 454, 465, hung I/O, not ended) `blind` (above)
    `unverified` (never verified where asked, overdue) `look` (any other finding of warning or more)
    `unproven` `ok` (nothing, or info)". "Never verified and nobody asks for it (a domain
    controller) is the verdict `unproven`"; so is one for which that is not due yet.
    """
    fatal = {"divergence", "logical"} & subject.known.damage.keys()
    if fatal or any(kind != "corrected" for _, kind in subject.known.pages):
        return "bad_pages"
    if at_risk(subject, now):
        return "writes_at_risk"
    if found & UNSEEN:
        return "blind"
    if found & SEVERE:
        return "unverified"
    if found - INFO:
        return "look"
    return "ok" if subject.verified else "unproven"


def at_risk(subject: Subject, now: float) -> bool:
    """Whether what it writes is at risk.

    An event alert ends "on what ended it (mount, recovery, success, I/O that completed, `ack`)".
    Hung I/O: "until 507-510, 481 or 482 of that file and offset, started no later; the instance
    came up; `ack`; or a day without another in which the instance logged something an hour after".
    """
    if subject.tier != "watched":
        # "state and page errors only, at most a warning"
        return False
    for event in subject.failing:
        if event.when <= subject.dealt_with.get(str(event.id), 0.0):
            continue
        later = [each for each in subject.life if event < each and each.when <= now]
        up = any(each.id in (105, 302, 304) for each in later)
        if event.id in HUNG:
            done = any(is_its_end(each, event) for each in later)
            # A stop or a detach does not show that it works again.
            working = [each for each in later if each.id not in NOT_AT_WORK]
            after = [each for each in working if each.when >= event.when + HOUR]
            if not (up or done or (after and now > event.when + DAY)):
                return True
        elif not (up or any(is_attached(each) for each in later)):
            return True
    return False


def is_attached(event: Event) -> bool:
    """Whether an instance attached a database of its own: it writes its logs again."""
    return event.id == 326 and not (event.replays or event.tool or event.in_snapshot)


def is_its_end(event: Event, hung: Event) -> bool:
    """Whether it is the end of an I/O that hung: of that file and offset, started no later."""
    taken = {481: 10, 482: 10, **dict.fromkeys(range(507, 511), 7)}
    if event.id not in taken or event.strings[3:5] != hung.strings[3:5]:
        return False
    begun = event.when - (number(event.at(taken[event.id])) or 0)
    return begun <= hung.when - (number(hung.at(7)) or 0) + 1
