"""Where a database lies: its instance may attach it elsewhere (sections 3 and 5)."""

from collections.abc import Mapping

from tests.oracle.chronicle import Event
from tests.oracle.history import DAY
from tests.oracle.identity import file_name
from tests.oracle.presence import detached
from tests.oracle.subject import Subject

Subjects = Mapping[tuple[str, str], Subject]


def move(subjects: Subjects, now: float) -> None:
    """Which databases lie elsewhere now: attached by their instance under the same file name.

    The old path was detached, or its instance started anew since it was last heard of.
    """
    for new in subjects.values():
        for event in new.owned:
            if event.id not in (325, 326) or event.in_snapshot:
                continue
            for old in subjects.values():
                if old is new or not is_elsewhere(old, new, event):
                    continue
                before = [each for each in old.owned if each < event]
                if before and is_left(old, before[-1], event):
                    if not is_gone(old, new, event):
                        new.moved.append((event, old))
                    back = any(each > event and each.time <= now + DAY for each in old.owned)
                    old.left = 0.0 if back else event.when


def is_elsewhere(old: Subject, new: Subject, event: Event) -> bool:
    """Whether the instance that attaches `new` had `old`, of the same file name."""
    return (
        old.computer == new.computer
        and event.instance in old.instances
        and file_name(old.label) == file_name(new.label)
    )


def is_gone(old: Subject, new: Subject, event: Event) -> bool:
    """Whether it was moved before and was not attached at its old path since."""
    lefts = [left for left, each in new.moved if each is old]
    return bool(lefts) and not any(
        lefts[-1] < each < event and each.id in (325, 326) for each in old.owned
    )


def is_left(old: Subject, last: Event, event: Event) -> bool:
    """Whether the database was not attached at its old path any more."""
    if any(
        low <= event.when <= high for low, high in detached(old.owned, old.life) if low < event.when
    ):
        return True
    if last.id == 327 and not last.replays:
        return True
    return any(each.id == 102 and last < each < event for each in old.life)
