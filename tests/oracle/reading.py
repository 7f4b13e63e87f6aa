"""What must be said of every database of a history: the slow and obvious reading.

Nothing is kept from one call to the next: the records are sorted, grouped and walked.
"""

from collections.abc import Mapping
from functools import partial

from tests.oracle.advice import actions
from tests.oracle.blame import accuse, blame, impute
from tests.oracle.chronicle import Chronicle, Event, chronicle
from tests.oracle.facts import BEGINS_AGAIN, PAGE_AT, WRITES_FAIL, number
from tests.oracle.failovers import concerning, failovers
from tests.oracle.hearing import listen
from tests.oracle.history import DAY, Acknowledged, Answer, Answers, History, Logged, Scanned
from tests.oracle.identity import (
    Computers,
    database_label,
    database_name,
    entry_of,
    is_nameless_snapshot,
    is_temporary,
)
from tests.oracle.integrity import (
    Latched,
    Step,
    acknowledged,
    counted_some_day,
    created,
    named_pages,
    restored,
    scanned,
    step_of,
    streaming,
    summary,
    suspected,
    verifies,
)
from tests.oracle.judgement import findings, verdict
from tests.oracle.nights import length
from tests.oracle.passes import ACTIVE, STOPS, TASK, Completion, Order, derive, family, proves
from tests.oracle.presence import (
    COMES,
    SILENCE,
    detached,
    hour_end,
    in_replay,
    is_read,
    spans,
    without,
)
from tests.oracle.restores import Restore, restarts_of, restores
from tests.oracle.subject import Subject, is_corruption, is_ignored_path
from tests.oracle.whereabouts import move

Subjects = dict[tuple[str, str], Subject]


def read(history: History) -> Answers:
    """What must be said of each database."""
    subjects, told = judged(history)
    advised = actions(subjects, told.events, history.configuration, history.now)
    gone = dropped(subjects, history.now)
    return {
        key: answer(subject, history, advised[key])
        for key, subject in subjects.items()
        if key not in gone
    }


def judged(history: History) -> tuple[Subjects, Chronicle]:
    """All that is known of each database."""
    told = chronicle(history)
    subjects = gathered(history, told)
    lodge(subjects, history.now)
    join_copies(subjects)
    computers = Computers(history)
    moves = failovers(history, computers)
    for subject in subjects.values():
        moved = concerning(subject, moves, [*subjects.values()], computers)
        follow(subject, told, moved, history.now)
    move(subjects, history.now)
    for subject in subjects.values():
        accuse(subject, subjects, told.events)
    blame(subjects, told.events)
    impute(subjects, told.events)
    for subject in subjects.values():
        prove(subject, told.events)
    latch(subjects, history, told)
    policy = history.configuration.get("policy") or {}
    assert isinstance(policy, Mapping)
    listen(subjects, told, policy, computers)
    return subjects, told


def dropped(subjects: Subjects, now: float) -> set[tuple[str, str]]:
    """Those that are ignored, or observed and silent for 90 days (section 1, tier).

    What a database was before it was moved is known for as long as it.
    """
    silent = {
        key
        for key, each in subjects.items()
        if each.tier == "observed" and now - each.last_seen > 90 * DAY
    }
    former = [
        ((old.computer, old.label), key) for key, each in subjects.items() for _, old in each.moved
    ]
    while kept := silent & {old for old, key in former if key not in silent}:
        silent -= kept
    return silent | {key for key, each in subjects.items() if each.tier == "ignored"}


def answer(subject: Subject, history: History, action: str) -> Answer:
    """The answer for one database."""
    found = findings(subject, history.now, length(subject, history.configuration))
    return Answer(
        known_bad=frozenset(subject.known.pages),
        damage=frozenset(subject.known.damage),
        verified=dict(subject.verified),
        totals=dict(subject.copy.totals),
        role=subject.role,
        model=subject.model,
        tier=subject.tier,
        findings=found,
        action=action,
        verdict=verdict(subject, found, history.now),
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
        if event.database and (is_corruption(event) or is_kept(event.database)):
            subject(event.computer, event.database).named.append(event)
    for record in history.records:
        if isinstance(record, Scanned) and (record.bad or is_kept(database_label(record.database))):
            known = subject(computers.label(record.computer), database_label(record.database))
            known.scans.append(record)
    for each in subjects.values():
        keys = {event.instance for event in each.served}
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
        channels = {event.channel for event in [*each.life, *each.served]}
        each.gaps = [
            gap
            for gap in told.gaps
            if gap.computer == each.computer and (not channels or gap.channel in channels)
        ]
    return subjects


def lodge(subjects: Subjects, now: float) -> None:
    """Give bad pages of nameless snapshots to the database that they must be of.

    "where its tail fits one watched database it is that one's, as suspect; else it is kept under
    its own path for 30 days."
    """
    for key, shadow in [*subjects.items()]:
        if not is_nameless_snapshot(shadow.label):
            continue
        fitting = [
            each
            for each in subjects.values()
            if each.computer == shadow.computer
            and each.tier == "watched"
            and not is_nameless_snapshot(each.label)
            and shadow.label.lower().endswith(each.label.lower().partition(":")[2])
        ]
        if len(fitting) == 1:
            fitting[0].in_shadows += [event for event in shadow.named if is_corruption(event)]
        if len(fitting) == 1 or shadow.last_seen < now - 30 * DAY:
            del subjects[key]


def join_copies(subjects: Subjects) -> None:
    """The copies of each: the same `database_name` on other computers, same path or configured."""

    def name(subject: Subject) -> str:
        return database_name(subject.entry, subject.instances, subject.label)

    def is_copy(one: Subject, other: Subject) -> bool:
        """Both are called so by the configuration, or by an instance and at the same path."""
        if one.entry.get("copies") or other.entry.get("copies"):
            return True
        named = bool(one.entry.get("name"))
        return named == bool(other.entry.get("name")) and (named or one.label == other.label)

    def is_served(subject: Subject) -> bool:
        """By a program that has it, and not only read by a tool or a page scan."""
        if is_temporary(subject.label):
            return False
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
            and is_copy(one, other)
        ]


def follow(subject: Subject, told: Chronicle, moved: list[Event], now: float) -> None:
    """Its passes, roles, counts and time at work."""
    subject.leaves = [
        event
        for event in subject.owned
        if event.id == 327 and not event.in_snapshot and not in_replay(event, subject.life)
    ]
    mine = [event for event in subject.owned if event.id in TASK and event.time <= now + DAY]
    ahead = [family(event) for event in subject.owned if event.time > now + DAY]
    subject.role_ahead = next(filter(None, reversed(ahead)), "")
    new = [event for event in subject.owned if event.id == 325 and not event.in_snapshot]
    stops = [event for event in subject.life if event.id in STOPS and event.id != 327]
    subject.copy = derive(
        sorted(
            {*mine, *subject.leaves, *stops, *moved},
            # A stop comes after what is logged at its time.
            key=lambda each: (each.when, each.id in STOPS, each.order),
        )
    )
    subject.copy.created = new
    lived = [event for event in subject.life if event.id in BEGINS_AGAIN | COMES]
    own = sorted(event.when for event in [*mine, *subject.leaves, *stops, *lived])
    times = subject.times = sorted([*told.times.get(subject.computer, []), *own])
    # Nothing else tells since when and how far a log was read.
    begin, until = subject.first_seen, now
    if subject.computer in told.begins:
        begin = min([told.begins[subject.computer], *own[:1]])
    if subject.computer in told.ends:
        own_life = [event.time for event in subject.life if event.time <= now + DAY]
        last = max([told.ends[subject.computer], *own_life])
        until = min(now, hour_end(last) + SILENCE)
    first = subject.life[0].instance if subject.life else ""
    subject.away = detached(subject.owned, subject.life)
    reads = [each.when for each in subject.owned if is_read(each) and not each.in_snapshot]
    subject.spans = []
    for key in sorted(subject.instances):
        life = [event for event in subject.life if event.instance == key]
        heard = sorted([*times, *(event.when for event in life if not event.number)])
        since = begin if key == first else None
        subject.spans.append(spans(life, heard, own, reads, until, since=since))
    every = subject.spans or [[(begin, until)]]
    subject.spans = [without(each, subject.away) for each in every]


def prove(subject: Subject, events: list[Event]) -> None:
    """The scans that proved every page good (section 3)."""
    elsewhere = [event for other in subject.others for event in other.owned if event.id in ACTIVE]
    for completion in subject.copy.completions:
        if completion.task == "defrag":
            continue
        gaps = [gap for gap in subject.gaps if gap.end - gap.begin > subject.longest_gap]
        own = proves(completion, elsewhere) and not is_another_file(subject, completion)
        if verifies(completion, own, subject.against, subject.unplaced, gaps):
            subject.proofs.append(completion)


def is_another_file(subject: Subject, completion: Completion) -> bool:
    """Whether its file was created since the pass began."""
    begin = completion.begin
    return begin is not None and any(
        begin < event.order < completion.event.order for event in subject.copy.created
    )


def latch(subjects: Subjects, history: History, told: Chronicle) -> None:
    """What is known to be bad, or proven, when all has happened."""
    steps: list[tuple[Step, Subject]] = []
    done = restores(told.events)
    for subject in subjects.values():
        steps += [(step, subject) for step in steps_of(subject, history, told.events, done)]
    for subject in subjects.values():
        for event, old in subject.moved:
            takes = Step(event.order, partial(adopt, old, event.when))
            steps.append((takes, subject))
            # What a snapshot of before shows is of the file that was moved, whenever it is read.
            for scan in old.scans:
                if scan.time <= event.when < scan.read:
                    taken: Order = (scan.time, -1, -1)
                    found = [partial(Latched.latch, entry=bad, at=taken) for bad in scan.bad]
                    steps += [(Step(event.order, each), subject) for each in found]
            # What was shown at the old path, as the move was not read yet, is dealt with.
            for ack in history.records:
                if not isinstance(ack, Acknowledged) or ack.time <= event.when:
                    continue
                shown = as_shown(ack, old, history) if is_of(ack, old, history) else None
                if shown is not None and not shown.left:
                    steps.append((acknowledged(ack, shown.known), subject))
    for step, subject in sorted(steps, key=lambda each: each[0].order):
        step.change(subject.known)
    for subject in subjects.values():
        subject.verified = subject.known.verified
    share_dealt_with(subjects)


def adopt(old: Subject, at: float, known: Latched) -> None:
    """What was known of the old path is known of the new one. Of the page scans of a file only the
    last one is kept: behind a later one nothing is known of what it was before."""
    if any(scan.complete and not scan.bad and scan.time > at for scan in old.scans):
        old.known.verified.pop("page_scan", None)
    known.adopt(old.known)


def steps_of(
    subject: Subject, history: History, events: list[Event], done: list[Restore]
) -> list[Step]:
    """All that changes what is known of one database."""
    steps: list[Step] = []
    kinds = [(event.when, PAGE_AT[event.id][1]) for event in subject.against if event.id in PAGE_AT]
    for event in subject.against:
        step = step_of(event, suspect=event.place in subject.suspected, named=kinds)
        if step:
            steps.append(step)
    steps += [suspected(event) for event in subject.in_shadows]
    steps += [
        counted_some_day(history.now)
        for event in subject.owned
        if event.id in (721, 722)
        and event.time > history.now + DAY
        and (number(event.at(10)) or 0) > 0
    ]
    named = named_pages(subject.against, subject.scans)
    for restore in done:
        steps += [restored(restore.ended, used) for used in restarts_of(subject, restore, events)]
    steps += [created(event) for event in subject.copy.created]
    steps += [
        summary(completion, completion in subject.proofs, named)
        for completion in subject.copy.completions
        if completion.task != "defrag"
    ]
    for scan in subject.scans:
        steps += scanned(scan)
    # "Of an ignored database nothing but damage is kept."
    for key in () if is_ignored(subject) else subject.instances:
        mine = [event for event in subject.life if event.instance == key]
        bad = [*subject.against, *subject.unplaced]
        done_by = streaming(mine, bad, subject.copy.created)
        for event in done_by.get(subject.label, []):
            if event.time > history.now + DAY:
                continue
            steps.append(Step(event.order, partial(proven_by_backup, event.when)))
    for record in history.records:
        if isinstance(record, Acknowledged) and is_of(record, subject, history):
            shown = as_shown(record, subject, history)
            steps.append(acknowledged(record, shown.known))
            if not record.pages:
                deal(subject, shown)
    return steps


def is_ignored(subject: Subject) -> bool:
    """Whether nothing of it is kept but damage."""
    return is_ignored_path(subject.label) and not subject.entry


def proven_by_backup(time: float, known: Latched) -> None:
    """A streaming backup read every page."""
    known.prove("streaming_backup", time)


def seen_at(ack: Acknowledged, history: History) -> History:
    """What had been read when a person acknowledged."""
    seen = [
        each
        for each in history.records
        if (each.read if isinstance(each, Scanned) else each.time) <= ack.time
        and each is not ack
        and not (isinstance(each, Logged) and each.file in ack.unread)
    ]
    return history._replace(records=tuple(seen), now=ack.time)


def as_shown(ack: Acknowledged, subject: Subject, history: History) -> Subject:
    """What a person saw who acknowledged."""
    nothing = Subject(ack.computer, subject.label, subject.entry)
    return judged(seen_at(ack, history))[0].get((ack.computer, subject.label), nothing)


def deal(subject: Subject, shown: Subject) -> None:
    """Note what of its errors is dealt with: up to the last that was shown of each."""
    things = {
        "io": max([each.when for each in (*shown.io_errors, *shown.unplaced)], default=0.0),
        "unexplained": shown.unexplained,
    }
    for event in shown.failing:
        things[str(event.id)] = max(event.when, things.get(str(event.id), 0.0))
    for thing, until in things.items():
        subject.dealt_with[thing] = max(until, subject.dealt_with.get(thing, 0.0))


def share_dealt_with(subjects: Subjects) -> None:
    """An error of an instance is dealt with where it was acknowledged of any of its databases."""
    own = {key: dict(subject.dealt_with) for key, subject in subjects.items()}
    for key, subject in subjects.items():
        beside = [
            own[other]
            for other, each in subjects.items()
            if other != key
            and each.computer == subject.computer
            and not each.instances.isdisjoint(subject.instances)
        ]
        for thing in map(str, WRITES_FAIL):
            until = max([found.get(thing, 0.0) for found in [own[key], *beside]])
            subject.dealt_with[thing] = until


def is_of(ack: Acknowledged, subject: Subject, history: History) -> bool:
    """Whether a person means this database, which was known then."""
    times = [*(event.time for event in subject.named), *(scan.read for scan in subject.scans)]
    if ack.database != subject.label or min(times) > ack.time:
        return False
    if not ack.unread:
        return ack.computer == subject.computer
    # What is read later may be older, and of another computer, which keeps the short name then.
    seen, now = seen_at(ack, history), Computers(history)
    mine = {each.computer for each in seen.records if now.label(each.computer) == subject.computer}
    return ack.computer in map(Computers(seen).label, mine)
