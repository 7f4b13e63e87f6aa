"""What must be said of every database of a history: the slow and obvious reading.

Nothing is kept from one call to the next: the records are sorted, grouped and walked.
"""

from esewatch.ese.events.message_table import is_unexplained as is_unexplained_id
from tests.oracle.advice import actions
from tests.oracle.chronicle import Chronicle, Event, chronicle
from tests.oracle.facts import (
    CORRUPTION,
    DIVERGENCE_OF_ACTIVE,
    IO_ERRORS,
    NOT_A_DATABASE,
    REVERT,
    SUSPECT_OF_BOTH,
)
from tests.oracle.failovers import concerning, failovers
from tests.oracle.history import DAY, Acknowledged, Answer, Answers, History, Scanned
from tests.oracle.identity import (
    Computers,
    database_label,
    database_name,
    entry_of,
    is_nameless_snapshot,
)
from tests.oracle.integrity import (
    Step,
    acknowledged,
    known_at_the_end,
    named_pages,
    restored,
    scanned,
    step_of,
    streaming,
    summary,
    verifies,
)
from tests.oracle.judgement import findings
from tests.oracle.nights import length
from tests.oracle.passes import ACTIVE, STOPS, TASK, derive, proves
from tests.oracle.presence import SILENCE, hour_end, spans
from tests.oracle.subject import Subject, is_ignored_path

Subjects = dict[tuple[str, str], Subject]


def read(history: History) -> Answers:
    """What must be said of each database."""
    told = chronicle(history)
    subjects = gathered(history, told)
    join_copies(subjects)
    computers = Computers(history)
    moves = failovers(history, computers)
    for subject in subjects.values():
        moved = concerning(subject, moves, [*subjects.values()], computers)
        follow(subject, told, moved, history.now)
    for subject in subjects.values():
        accuse(subject, told.events, subjects)
    for subject in subjects.values():
        prove(subject, told.events)
    for subject in subjects.values():
        latch(subject, history)
    blame(subjects, told.events)
    advised = actions(subjects, told.events, history.configuration, history.now)
    return {
        key: answer(subject, history, advised[key])
        for key, subject in subjects.items()
        if not dropped(subject, history.now)
    }


def dropped(subject: Subject, now: float) -> bool:
    """Ignored, or observed and silent for 90 days (section 1, tier)."""
    tier = subject.tier
    return tier == "ignored" or (tier == "observed" and now - subject.last_seen > 90 * DAY)


def answer(subject: Subject, history: History, action: str) -> Answer:
    """The answer for one database."""
    return Answer(
        known_bad=frozenset(subject.known.pages),
        damage=frozenset(subject.known.damage),
        verified=dict(subject.verified),
        totals=dict(subject.copy.totals),
        role=subject.role,
        model=subject.model,
        tier=subject.tier,
        findings=findings(subject, history.now, length(subject, history.configuration)),
        action=action,
    )


def gathered(history: History, told: Chronicle) -> Subjects:
    """Every database that an event or a page scan names, with its instances (section 1)."""
    computers = Computers(history)
    subjects: Subjects = {}

    def subject(computer: str, label: str) -> Subject:
        entry = entry_of(history.configuration, label)
        return subjects.setdefault((computer, label), Subject(computer, label, entry))

    def is_kept(label: str) -> bool:
        """Or nothing of it but that it is damaged: somebody's snapshot, an ignored database."""
        ignored = is_ignored_path(label) and not entry_of(history.configuration, label)
        return not ignored and not is_nameless_snapshot(label)

    for event in told.events:
        if event.database and (event.id in CORRUPTION or is_kept(event.database)):
            subject(event.computer, event.database).named.append(event)
    for record in history.records:
        if isinstance(record, Scanned) and (record.bad or is_kept(database_label(record.database))):
            known = subject(computers.label(record.computer), database_label(record.database))
            known.scans.append(record)
    for each in subjects.values():
        # What is done at a snapshot says nothing of its origin but that it is damaged.
        served = [event for event in each.owned if not event.in_snapshot]
        keys = {event.instance for event in served}
        named = {key for key in keys if not key.startswith("process ")}
        each.instances = frozenset(named or keys)
        each.life = [
            event
            for event in told.events
            if event.computer == each.computer
            and event.instance in each.instances
            and not event.tool
        ]
        # Where nothing tells which log its instance writes to, each may be it.
        channels = {event.channel for event in [*each.life, *served]}
        each.gaps = [
            gap
            for gap in told.gaps
            if gap.computer == each.computer and (not channels or gap.channel in channels)
        ]
    return subjects


def join_copies(subjects: Subjects) -> None:
    """The copies of each: the same `database_name` on other computers, same path or configured."""

    def name(subject: Subject) -> str:
        return database_name(subject.entry, subject.instances, subject.label)

    def is_configured(subject: Subject) -> bool:
        return bool(subject.entry.get("name") or subject.entry.get("copies"))

    def is_served(subject: Subject) -> bool:
        """By a program that has it, and not only read by a tool or a page scan."""
        return bool(subject.instances or subject.entry.get("copies"))

    for one in subjects.values():
        one.others = [
            other
            for other in subjects.values()
            if other.computer != one.computer
            and not is_nameless_snapshot(one.label)
            and not is_nameless_snapshot(other.label)
            and is_served(one)
            and is_served(other)
            and name(other) == name(one)
            and (other.label == one.label or is_configured(one) or is_configured(other))
        ]


def follow(subject: Subject, told: Chronicle, moved: list[Event], now: float) -> None:
    """Its passes, roles, counts and time at work."""
    mine = [event for event in subject.owned if event.id in TASK or event.id == 327]
    stops = [event for event in subject.life if event.id in STOPS and event.id != 327]
    subject.copy = derive(sorted({*mine, *stops, *moved}, key=lambda each: each.order))
    own = sorted(event.when for event in [*mine, *stops])
    times = sorted([*told.times.get(subject.computer, []), *own])
    # Without record numbers nothing tells since when and how far a log was read.
    begin, until = subject.first_seen, now
    if times and told.numbered(subject.computer):
        begin, until = times[0], min(now, hour_end(times[-1]) + SILENCE)
    first = subject.life[0].instance if subject.life else ""
    subject.spans = []
    for key in sorted(subject.instances):
        life = [event for event in subject.life if event.instance == key]
        heard = sorted([*times, *(event.when for event in life if not event.number)])
        subject.spans.append(spans(life, heard, own, until, begin if key == first else None))
    subject.spans = subject.spans or [[(begin, until)]]


def accuse(subject: Subject, events: list[Event], subjects: Subjects) -> None:
    """What each of its events speaks against: this copy, the active one, or the group.

    "539, 541, 557, 559, 560, 516 -> the copy that logs it; 538, 545 -> the *active* copy (logged by
    the passive; active unknown: the group); 540 -> both, as suspect."
    """
    group = [subject, *subject.others]
    for event in subject.named:
        if event.id not in DIVERGENCE_OF_ACTIVE | SUSPECT_OF_BOTH:
            subject.against.append(event)
            continue
        active = [each for each in group if role_then(each, event) == "active"]
        if len(active) != 1:
            accused = group
        elif event.id in SUSPECT_OF_BOTH and active[0] is not subject:
            accused = [subject, active[0]]
        else:
            accused = active
        for each in accused:
            each.against.append(event)
    nameless = is_nameless_snapshot(subject.label)
    for event in events:
        # 569 names no database: all of its instance
        if event.id in REVERT and not event.database and event in subject.life and not nameless:
            subject.against.append(event)
    for other in subjects.values():
        other.against.sort(key=lambda each: each.order)


def role_then(subject: Subject, event: Event) -> str:
    """The role of a copy when an event was logged."""
    told = subject.copy.role_at((event.when, 1 << 62, 0))
    return told or str(subject.entry.get("role", ""))


def prove(subject: Subject, events: list[Event]) -> None:
    """When each verifier last proved every page good (section 3)."""
    elsewhere = [event for other in subject.others for event in other.owned if event.id in ACTIVE]
    for completion in subject.copy.completions:
        gaps = [gap for gap in subject.gaps if gap.end - gap.begin > subject.longest_gap]
        if verifies(completion, proves(completion, elsewhere), subject.against, gaps):
            subject.proofs.append(completion)
            keep_last(subject, "online_scan", completion.event.time)
    for scan in subject.scans:
        if scan.complete and not scan.bad:
            keep_last(subject, "page_scan", scan.time)
    for key in subject.instances:
        mine = [event for event in subject.life if event.instance == key]
        proven = streaming(mine)
        if subject.label in proven:
            keep_last(subject, "streaming_backup", proven[subject.label])


def keep_last(subject: Subject, verifier: str, time: float) -> None:
    """Note a proof where it is the latest."""
    subject.verified[verifier] = max(time, subject.verified.get(verifier, time))


def latch(subject: Subject, history: History) -> None:
    """What is known to be bad when all has happened."""
    steps: list[Step] = []
    for event in subject.against:
        step = step_of(event)
        if step:
            steps.append(step)
    named = named_pages(subject.against, subject.scans)
    for event in subject.life:
        steps += restored(event, subject.life) if event.id == 205 else []
    steps += [
        summary(completion, completion in subject.proofs, named)
        for completion in subject.copy.completions
        if completion.task != "defrag"
    ]
    for scan in subject.scans:
        steps += scanned(scan)
    for record in history.records:
        if isinstance(record, Acknowledged) and is_of(record, subject):
            steps.append(acknowledged(record))
            subject.dealt_with = max(subject.dealt_with, 0.0 if record.pages else record.time)
    subject.known = known_at_the_end(steps)


def is_of(ack: Acknowledged, subject: Subject) -> bool:
    """Whether a person means this database, which was known then."""
    times = [*(event.time for event in subject.named), *(scan.read for scan in subject.scans)]
    meant = (ack.computer, ack.database) == (subject.computer, subject.label)
    return meant and min(times) <= ack.time


def is_unexplained(event: Event) -> bool:
    """Whether it is an error that the table of all messages calls unexplained."""
    return event.level in ("error", "critical") and is_unexplained_id(
        event.id, "error", event.provider
    )


def blame(subjects: Subjects, events: list[Event]) -> None:
    """Whose errors are those that name no database, and those that nothing explains (section 3).

    "an error- or critical-level ESE event that no rule, metric or finding of ours uses raises the
    finding `unexplained_error` on its database or computer": the database that a string names, else
    those of the instance, else those of the computer. An I/O error of a log file is its instance's.
    Whose instance an ignored database is of is not kept until it is damaged.
    """
    for subject in subjects.values():
        subject.io_errors = [event for event in subject.named if event.id in IO_ERRORS]
    shown = [each for each in subjects.values() if each.tier != "ignored"]
    for event in events:
        here = [each for each in shown if each.computer == event.computer]
        home = [
            each
            for each in here
            if event.instance in each.instances
            and not is_nameless_snapshot(each.label)
            and not is_ignored_path(each.label)
        ]
        if event.id in IO_ERRORS and event.at(4).lower().endswith(NOT_A_DATABASE):
            for subject in home:
                subject.io_errors.append(event)
        if is_unexplained(event):
            paths = {database_label(text) for text in event.strings[3:]}
            named = [each for each in here if each.label in paths]
            for subject in named or home or here:
                subject.unexplained = max(subject.unexplained, event.when)
