"""Whose an error is: of which copy, of which database of an instance (section 3)."""

from collections.abc import Mapping, Sequence

from esewatch.ese.events.message_table import is_unexplained as is_unexplained_id
from tests.oracle.chronicle import Event
from tests.oracle.facts import (
    DIVERGENCE_OF_ACTIVE,
    HUNG,
    IO_ERRORS,
    LOGICALLY_CORRUPT,
    NOT_A_DATABASE,
    PAGE_AT,
    REVERT,
    SUSPECT_OF_BOTH,
    WRITES_FAIL,
)
from tests.oracle.history import DAY
from tests.oracle.identity import database_label, is_nameless_snapshot, is_temporary
from tests.oracle.subject import Subject, is_ignored_path

Subjects = Mapping[tuple[str, str], Subject]


def accuse(subject: Subject, subjects: Subjects, events: Sequence[Event]) -> None:
    """What each of its events speaks against: this copy, the active one, or the group.

    "539, 541, 557, 559, 560, 516 -> the copy that logs it; 538, 545 -> the copy that was *active*
    in the whole 14 days before it ...; else every other known copy, as `copy_suspect`; alone in its
    group: itself, as `copy_suspect`; 540 -> both, as suspect."
    """
    group = [subject, *subject.others]
    for event in subject.named:
        if event.id not in DIVERGENCE_OF_ACTIVE | SUSPECT_OF_BOTH:
            subject.against.append(event)
            continue
        active = [each for each in group if was_active(each, event.when - 14 * DAY, event)]
        certain = len(active) == 1 and event.id in DIVERGENCE_OF_ACTIVE
        accused = active if len(active) == 1 else subject.others or [subject]
        if event.id in SUSPECT_OF_BOTH:
            accused = [subject, *(each for each in accused if each is not subject)]
        for each in accused:
            each.against.append(event)
            if not certain:
                each.suspected.add(event.place)
    nameless = is_nameless_snapshot(subject.label)
    for event in events:
        # 569 names no database: all of its instance
        if event.id in REVERT and not event.database and event in subject.life and not nameless:
            subject.against.append(event)
    for other in subjects.values():
        other.against.sort(key=lambda each: each.order)


def was_active(subject: Subject, begin: float, event: Event) -> bool:
    """Whether a copy was the active one from `begin` up to an event."""
    changed = any(begin < change.when <= event.when for change in subject.copy.changes)
    told = subject.copy.role_at((begin, 1 << 62, 0))
    if not told and not subject.copy.roles:
        told = str(subject.entry.get("role", ""))
    return told == "active" and not changed


def impute(subjects: Subjects, events: Sequence[Event]) -> None:
    """Whose the errors are that report a bad page and name no database, and failed reads.

    "No database named: the only database known of that instance (attached, or named by it since its
    last start but one; none is attached in recovery), else the instance (an object without
    `database`, finding `investigate`)". "A page event without its file is a failed read of the
    instance".
    """
    for event in events:
        home = [
            each
            for each in subjects.values()
            if each.computer == event.computer
            and event.instance in each.instances
            and not event.tool
            and not (is_nameless_snapshot(each.label) or is_temporary(each.label))
        ]
        if event.of_another_file and event.io_error:
            for each in home:
                each.io_errors.append(event)
        if event.database or event.of_another_file:
            continue
        if event.id in PAGE_AT and event.id != 399:
            for each in home:
                each.unplaced.append(event)
        if not (event.page_error or event.io_error or event.error == LOGICALLY_CORRUPT):
            continue
        # Where nothing was named before, what is named later is known.
        known = [each for each in home if is_known_then(each, event)] or [
            each for each in home if all(event < named for named in each.owned)
        ]
        if event.io_error:
            # As that of a log file it is of all of its instance.
            for each in home:
                each.io_errors.append(event)
        elif len(known) == 1:
            known[0].against.append(event)
            known[0].against.sort(key=lambda each: each.order)


def is_known_then(subject: Subject, event: Event) -> bool:
    """Whether its instance named it since its last start but one, or before that and later on: it
    was there."""
    starts = [
        each
        for each in subject.life
        if each.id == 102 and each.instance == event.instance and each < event
    ]
    since = starts[-2] if len(starts) > 1 else None
    named = sorted(each.order for each in subject.owned if each.instance == event.instance)
    return bool(named) and named[0] < event.order and (since is None or since.order < named[-1])


def is_unexplained(event: Event) -> bool:
    """Whether it is an error that the table of all messages calls unexplained."""
    return event.level in ("error", "critical") and is_unexplained_id(
        event.id, "error", event.provider
    )


def blame(subjects: Subjects, events: Sequence[Event]) -> None:
    """Whose errors are those that name no database, and those that nothing explains (section 3).

    "an error- or critical-level ESE event that no rule, metric or finding of ours uses raises the
    finding `unexplained_error` on its database or computer": the database that a string names, else
    those of the instance, else those of the computer. An I/O error of a log file is its instance's.
    Whose instance an ignored database is of is not kept until it is damaged.
    """
    for subject in subjects.values():
        subject.io_errors = [
            event for event in subject.named if event.id in IO_ERRORS or event.io_error
        ]
        subject.failing = [
            event
            for event in {*subject.life, *subject.named}
            if event.id in WRITES_FAIL or (event.id in HUNG and event in subject.named)
        ]
    shown = [each for each in subjects.values() if each.tier != "ignored"]
    for event in events:
        here = [each for each in shown if each.computer == event.computer]
        home = [
            each
            for each in here
            if event.instance in each.instances
            and not (is_nameless_snapshot(each.label) or is_temporary(each.label))
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
