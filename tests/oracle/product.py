"""What the product says of a history: its answers in the words that the oracle uses."""

import contextlib
import json
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from unittest import mock

from esewatch.advice.advise import advise
from esewatch.advice.history.history import histories
from esewatch.advice.history.surroundings import surroundings
from esewatch.config import Settings
from esewatch.config.files import load
from esewatch.fold.channels import clock_guard
from esewatch.fold.commands import acknowledge
from esewatch.fold.folder import Folder
from esewatch.fold.identity.identity import role_of, tier
from esewatch.fold.passes.passes import TASKS, views_in
from esewatch.fold.state.state import State
from esewatch.model import (
    Batch,
    CopyChecked,
    Coverage,
    EsewatchError,
    Event,
    Heard,
    PageFault,
    PagesScanned,
    Record,
)
from tests.oracle.history import (
    DAY,
    Acknowledged,
    Answer,
    Answers,
    History,
    Logged,
    Scanned,
    Totals,
)
from tests.oracle.identity import Computers
from tests.support.decoding import event_from_strings

SOURCE = "logs"


def settings_of(history: History, folder: Path) -> Settings:
    """Its configuration, read as a file is."""
    path = folder / "esewatch.yml"
    # JSON is YAML.
    path.write_text(json.dumps({"sources": [], **history.configuration}))
    return load(path)


@mock.patch.object(clock_guard, "EARLIEST_NOW", 0.0)
def told(history: History, settings: Settings, order: random.Random | None = None) -> Answers:
    """The answers of the fold and the advice to its records, in an `order` or as they stand.

    What came before an acknowledgement is read before it. The clock of a history is right.
    """
    folder = Folder(State(), settings)
    folder.open_source(SOURCE, history.now)
    read: list[Logged | Scanned] = []
    for records, acknowledged in _stages(history):
        pieces = list(_in_pieces(_records(records, settings), order))
        for number, piece in enumerate(pieces):
            is_last = number == len(pieces) - 1
            batch = Batch(
                records=[record for _, record in piece],
                inputs=_inputs(piece),
                heard=_heard(records, settings) if is_last else [],
                caught_up=is_last,
            )
            folder.fold(SOURCE, batch, history.now)
        read += records
        # A record of a clock that was ahead is read after an acknowledgement before its time, here:
        # until then its number is not lost.
        is_ahead = acknowledged is not None and any(
            _when(each) > history.now
            for each in history.records
            if not isinstance(each, Acknowledged)
        )
        if history.complete_channels and not is_ahead:
            folder.fold(
                SOURCE,
                Batch(records=list(_coverage(read, history)), caught_up=True),
                history.now,
            )
        folder.computers.settle()
        if acknowledged is not None:
            _acknowledge(folder, acknowledged)
    folder.expire(history.now)
    return answers(folder.state, settings, history.now)


def answers(state: State, settings: Settings, now: float) -> Answers:
    """What the state says of each database that is not ignored."""
    known = histories(state, settings)
    found = {}
    for each in advise(state, settings, now):
        key = (each.computer, each.database)
        entry = state.databases[key]
        views = views_in(state, entry)
        totals = {task: _totals(views[task]) for task in TASKS}
        found[key] = Answer(
            known_bad=frozenset((bad.page, bad.kind) for bad in known[key].bad_pages),
            damage=frozenset(known[key].damage),
            verified=dict(each.ledger.verified),
            totals={task: total for task, total in totals.items() if any(total)},
            role=role_of(entry, settings),
            model=each.model,
            tier=tier(entry, settings),
            findings=frozenset(found.finding for found in each.findings),
            action=each.window.action,
            verdict=each.verdict,
        )
    return found


def _totals(view: object) -> Totals:
    return Totals(*(getattr(view, name) for name in Totals._fields))


def _stages(
    history: History,
) -> Iterable[tuple[list[Logged | Scanned], Acknowledged | None]]:
    stage: list[Logged | Scanned] = []
    acknowledged = sorted(
        (each for each in history.records if isinstance(each, Acknowledged)),
        key=lambda each: each.time,
    )
    rest = [each for each in history.records if not isinstance(each, Acknowledged)]
    for ack in acknowledged:
        stage = [each for each in rest if _when(each) <= ack.time and not _is_late(each, ack)]
        rest = [each for each in rest if each not in stage]
        yield stage, ack
    yield rest, None


def _when(record: Logged | Scanned) -> float:
    return record.read if isinstance(record, Scanned) else record.time


def _is_late(record: Logged | Scanned, ack: Acknowledged) -> bool:
    return isinstance(record, Logged) and record.file in ack.unread


def _records(records: Iterable[Logged | Scanned], settings: Settings) -> list[tuple[int, Record]]:
    """Each with the input that holds it."""
    made: list[tuple[int, Record]] = []
    for each in records:
        if isinstance(each, Scanned):
            made += [(0, piece) for piece in _scan(each)]
        elif (event := decoded(each, settings)) is not None:
            made.append((each.file, event))
    return made


def _inputs(piece: Sequence[tuple[int, Record]]) -> list[tuple[int, int]]:
    """Where in a piece the records of another input begin."""
    return [
        (number, file)
        for number, (file, _) in enumerate(piece)
        if number == 0 or file != piece[number - 1][0]
    ]


def _heard(records: Iterable[Logged | Scanned], settings: Settings) -> list[Heard]:
    """What other programs logged."""
    times: dict[tuple[str, str], list[float]] = defaultdict(list)
    for each in records:
        if isinstance(each, Logged) and decoded(each, settings) is None:
            times[each.computer, each.channel].append(each.time)
    return [Heard(*key, tuple(sorted(found))) for key, found in times.items()]


def decoded(logged: Logged, settings: Settings) -> Event | None:
    """The event as the sources hand it out."""
    return event_from_strings(
        provider=logged.provider,
        event_id=logged.event_id,
        strings=logged.strings,
        time=logged.time,
        computer=logged.computer,
        channel=logged.channel,
        record_id=logged.record_id,
        level=logged.level,
        extra_providers=settings.providers,
    )


def _scan(scan: Scanned) -> list[Record]:
    """A page scan in two records: what it met, and that it is done."""
    bad: tuple[tuple[int, PageFault], ...] = scan.bad
    piece = PagesScanned(
        time=scan.time,
        read=scan.read,
        computer=scan.computer,
        database=scan.database,
        pages=scan.pages,
        bad=len({page for page, _ in bad}),
        found=bad,
        good=scan.good,
    )
    done = CopyChecked(
        time=scan.time,
        computer=scan.computer,
        database=scan.database,
        by="page_scan",
        complete=True,
        pages_seen=scan.pages,
        bad=len({page for page, _ in bad}),
        bad_pages=bad,
    )
    return [piece, done] if scan.complete else [piece]


def _in_pieces(
    records: list[tuple[int, Record]], order: random.Random | None
) -> Iterable[list[tuple[int, Record]]]:
    """In one piece as they stand, or shuffled, some of them twice, and cut."""
    if order is None:
        yield records
        return
    records = [*records]
    if records:
        # A record without a number is identified by its source's position only.
        numbered = [each for each in records if isinstance(each[1], Event) and each[1].record_id]
        records += order.sample(numbered, len(numbered) // 5)
    order.shuffle(records)
    size = max(1, len(records) // order.randint(1, 7))
    for start in range(0, max(1, len(records)), size):
        yield records[start : start + size]


def _coverage(records: Iterable[Logged | Scanned], of: History) -> Iterable[Coverage]:
    """The ranges of record numbers that were read whole, by computer and channel."""
    computers = Computers(of)
    logs: dict[tuple[str, str], list[Logged]] = defaultdict(list)
    for each in records:
        if isinstance(each, Logged) and each.record_id is not None:
            logs[computers.label(each.computer), each.channel].append(each)
    for (_, channel), rows in logs.items():
        known = {each.record_id: each.time for each in rows if each.time <= of.now + DAY}
        for part in _stretches(rows, of.now):
            first, last = part[0], part[-1]
            times = [each.time for each in part]
            if len(part) == 1 and first.time > of.now + DAY:
                # It stands beside others in its part of an event log.
                times.append(known.get((first.record_id or 0) - 1, first.time))
            yield Coverage(
                computer=first.computer,
                channel=channel,
                first=first.record_id or 0,
                last=last.record_id or 0,
                first_time=min(times),
                last_time=max(times),
            )


def _stretches(rows: Sequence[Logged], now: float) -> Iterable[list[Logged]]:
    """Records whose numbers follow each other, in the order in which they were written. One of the
    future is of a short range, as the parts of an event log are."""
    part: list[Logged] = []
    for each in rows:
        if part and each.record_id != (part[-1].record_id or 0) + 1:
            yield part
            part = []
        is_ahead = each.time > now
        if is_ahead and len(part) > 1:
            yield part[:-1]
            part = part[-1:]
        part.append(each)
        if len(part) == 2 and (is_ahead or part[0].time > now):
            yield part
            part = []
    if part:
        yield part


def _acknowledge(folder: Folder, ack: Acknowledged) -> None:
    """A person who names something unknown gets an error, and nothing changes."""
    beside = surroundings(folder.state, folder.settings)
    for pages in ([page] for page in ack.pages) if ack.pages else ([],):
        with contextlib.suppress(EsewatchError):
            acknowledge(folder, ack.computer, ack.database, pages, beside)
