"""Presence: which absence counts, because the database was attached and its instance was at work.

Each row is a server of its own: a store is verified in its first day, something happens to it, and
nothing verifies it again in two months in which the log goes on. It is late where it was at work
for longer than its deadline, and nowhere else.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pytest

from tests.hard_histories import MONDAY, Copy, Said, numbered, run
from tests.oracle.files import json_line, stamp, write_evtx
from tests.oracle.history import DAY, HOUR, Logged
from tests.support.ese_text import render

END = MONDAY + 60 * DAY
AWAY = MONDAY + 3 * DAY
"""When something happens, two days after the verification: nothing is late yet."""
BACK = MONDAY + 20 * DAY
"""When it is over: from here on it is late at the end."""
PAST = MONDAY + 30 * DAY
"""When it was late already."""
ELSEWHERE = r"G:\Moved\DB01.edb"
SNAPSHOT = r"C:\$SNAP_201911262355_VOLUMEE$\DB01\DB01.edb"
Row = Callable[[Copy], Sequence[Logged]]


def other(copy: Copy, **changes: str) -> Copy:
    """The same computer, another program or path."""
    return replace(copy, **changes)  # type: ignore[arg-type]


def attached(copy: Copy, time: float, state: str = "D") -> Logged:
    return copy.log(time, 326, "1", copy.database, "0", "[1] 0.1", "0 0", "x", state=state)


def detached(copy: Copy, time: float, state: str = "D") -> Logged:
    return copy.log(time, 327, "1", copy.database, "0", "[1] 0.1", "0 0", "x", state=state)


def started(copy: Copy, time: float) -> Logged:
    return copy.instance_start(time)[0]


def recovering(copy: Copy, time: float) -> Logged:
    return copy.log(time, 300, state="R")


def up(copy: Copy, time: float) -> Logged:
    return copy.log(time, 105, "0", "3", "[1] 0.1", "0")


def slow(copy: Copy, time: float) -> Logged:
    return copy.log(time, 507, copy.database, "0 (0x0)", "32768 (0x8000)", "61", level="warning")


ONE: dict[int, Callable[[Copy, float], Logged]] = {
    102: started,
    105: up,
    210: lambda copy, time: copy.log(time, 210),
    213: lambda copy, time: copy.log(time, 213),
    300: recovering,
    301: lambda copy, time: copy.log(time, 301, r"E:\L\E0000000001.log", "[1] 9", "x", "1"),
    302: lambda copy, time: copy.log(time, 302, state="U"),
    304: lambda copy, time: copy.log(time, 304, state="U"),
    325: lambda copy, time: attached(copy, time)._replace(event_id=325),
    326: attached,
    328: lambda copy, time: copy.log(time, 328, copy.database, "1,2,3", "0", state="R"),
    474: lambda copy, time: copy.bad_page(time, 7),
    481: lambda copy, time: copy.log(
        time,
        481,
        copy.database,
        "0 (0x0)",
        "32768 (0x8000)",
        "-1022 (0xfffffc02)",
        "23",
        "x",
        "1.0",
        level="error",
    ),
    507: slow,
    701: lambda copy, time: copy.defrag_end(time, time - HOUR),
    717: Copy.scan_start,
    736: Copy.maintenance_start,
    744: lambda copy, time: copy.maintenance_running(time, time - HOUR),
    2005: lambda copy, time: copy.log(time, 2005, "1"),
}
LIFE = (102, 105, 300, 301, 302, 304)
OF_PATH = (325, 326, 328, 474, 701, 717, 736, 744)


def tool(copy: Copy) -> Copy:
    return other(copy, process="eseutil", instance="")


def ended_by(event_id: int) -> Row:
    return lambda copy: [detached(copy, AWAY), ONE[event_id](copy, BACK)]


def not_ended_by(after: Callable[[Copy], Logged]) -> Row:
    return lambda copy: [detached(copy, AWAY), after(copy)]


def stopped_and(event_id: int) -> Row:
    """103 with the detach before it, and one record after a start that was lost."""
    return lambda copy: [
        detached(copy, AWAY - 1),
        copy.instance_stop(AWAY),
        ONE[event_id](copy, BACK),
    ]


def set_back(
    first: Callable[[Copy, float], Logged], then: Callable[[Copy, float], Logged], back: float
) -> Row:
    return lambda copy: [first(copy, AWAY), then(copy, AWAY - back)]


LATE: dict[str, Row] = {
    "nothing happens": lambda copy: [],
    "a passive copy replays a detach (R)": lambda copy: [detached(copy, AWAY, "R")],
    "a passive copy replays a detach (U)": lambda copy: [detached(copy, AWAY, "U")],
    "between 102 and its 105": lambda copy: [
        copy.instance_stop(AWAY - 60),
        started(copy, AWAY),
        detached(copy, AWAY + 1),
        up(copy, AWAY + 2),
    ],
    "between 300 and its 105": lambda copy: [
        recovering(copy, AWAY),
        detached(copy, AWAY + 1),
        up(copy, AWAY + 2),
    ],
    "a replay that goes on": lambda copy: [
        copy.instance_stop(AWAY - 60),
        started(copy, AWAY),
        recovering(copy, AWAY + 1),
        detached(copy, AWAY + DAY),
    ],
    "a tool detaches the file": lambda copy: [
        attached(tool(copy), AWAY),
        detached(tool(copy), AWAY + 9),
    ],
    "another program detaches the file": lambda copy: [
        detached(other(copy, process="indexer9", instance="x"), AWAY)
    ],
    "a snapshot is detached": lambda copy: [
        detached(other(copy, process="NTDS", instance="", database=SNAPSHOT), AWAY)
    ],
    "a snapshot is detached by its own instance": lambda copy: [
        detached(other(copy, database=SNAPSHOT), AWAY)
    ],
    "another database is detached": lambda copy: [
        detached(other(copy, database=r"E:\DB02\DB02.edb"), AWAY)
    ],
    "a tool stops an instance of that name": lambda copy: [
        other(copy, process="esentutl").instance_stop(AWAY)
    ],
    "attached again at a path with a dot": lambda copy: [
        detached(copy, AWAY),
        attached(other(copy, database=r"E:\DB01\.\DB01.edb"), BACK),
    ],
    "detached when it was late already": lambda copy: [detached(copy, PAST)],
    "another one of its file name is first seen": lambda copy: [
        attached(other(copy, database=ELSEWHERE), BACK)
    ],
    "stopped, then the store beside it is attached": lambda copy: [
        copy.instance_stop(AWAY),
        attached(other(copy, database=r"E:\DB02\DB02.edb"), AWAY + 30),
    ],
    **{f"detached, then {each}": ended_by(each) for each in (*LIFE, *OF_PATH)},
    **{f"stopped, then {each}": stopped_and(each) for each in ONE},
}
PUNCTUAL: dict[str, Row] = {
    "detached": lambda copy: [detached(copy, AWAY)],
    "detached by a store that logs no letter": lambda copy: [detached(copy, AWAY, "-")],
    "detached after a whole start": lambda copy: [
        copy.instance_stop(AWAY - 60),
        *copy.instance_start(AWAY),
        detached(copy, AWAY + HOUR),
    ],
    "detached, then slow": not_ended_by(lambda copy: slow(copy, BACK)),
    "detached, then a read fails": not_ended_by(lambda copy: ONE[481](copy, BACK)),
    "detached, then detached": not_ended_by(lambda copy: detached(copy, BACK)),
    "detached, then a snapshot of the server": not_ended_by(lambda copy: ONE[2005](copy, BACK)),
    "detached, then attached by a tool": not_ended_by(lambda copy: attached(tool(copy), BACK)),
    "detached, then another one is attached": not_ended_by(
        lambda copy: attached(other(copy, database=r"E:\DB02\DB02.edb"), BACK)
    ),
    "detached, then a snapshot is attached": not_ended_by(
        lambda copy: attached(other(copy, database=SNAPSHOT), BACK)
    ),
    "moved": lambda copy: [detached(copy, AWAY), attached(other(copy, database=ELSEWHERE), BACK)],
    "moved when it was late already": lambda copy: [
        detached(copy, PAST),
        attached(other(copy, database=ELSEWHERE), PAST + HOUR),
    ],
    "moved while its instance was stopped": lambda copy: [
        detached(copy, PAST),
        copy.instance_stop(PAST + 1),
        *other(copy, database=ELSEWHERE).instance_start(PAST + HOUR),
    ],
    "moved there and back and there": lambda copy: [
        attached(other(copy, database=ELSEWHERE), MONDAY + HOUR),
        detached(other(copy, database=ELSEWHERE), MONDAY + 2 * HOUR),
        attached(copy, MONDAY + 3 * HOUR),
        detached(copy, PAST),
        attached(other(copy, database=ELSEWHERE), PAST + HOUR),
    ],
    "stopped": lambda copy: [detached(copy, AWAY - 1), copy.instance_stop(AWAY)],
    "stopped with an error": lambda copy: [copy.log(AWAY, 104, "0", "-1018", "[1] 0.1")],
    "stopped twice": lambda copy: [copy.instance_stop(AWAY), copy.instance_stop(BACK)],
    "stopped, then detached": lambda copy: [copy.instance_stop(AWAY), detached(copy, BACK)],
}
NUMBERED_LATE: dict[str, Row] = {
    f"{what} again when the clock was set back by {back:.0f} seconds": row
    for back in (1.0, 30.0, 600.0, 5400.0)
    for what, row in (
        ("started", set_back(Copy.instance_stop, started, back)),
        ("attached", set_back(detached, attached, back)),
    )
}
NUMBERED_PUNCTUAL: dict[str, Row] = {
    f"{what} when the clock was set back by {back:.0f} seconds": row
    for back in (1.0, 30.0, 600.0, 5400.0)
    for what, row in (
        ("stopped", set_back(started, Copy.instance_stop, back)),
        ("detached", set_back(attached, detached, back)),
    )
}
NUMBERED = {**NUMBERED_LATE, **NUMBERED_PUNCTUAL}
"""Of these the order is that of the records, not of their times."""
ROWS = {**LATE, **PUNCTUAL, **NUMBERED}
SCAN_STORE = Copy(process="Microsoft.Exchange.Store.Worker")


def store(place: int) -> Copy:
    return Copy(f"EX{place:03}.corp.example", process=SCAN_STORE.process)


def history(place: int, row: Row) -> list[Logged]:
    """The records of one server in the order of its log."""
    copy = store(place)
    beside = Copy(copy.computer, process="svchost", instance="", provider="ESENT")
    before = [
        *copy.instance_start(MONDAY),
        copy.maintenance_start(MONDAY + 4 * HOUR),
        copy.maintenance_end(MONDAY + DAY, MONDAY + 4 * HOUR),
    ]
    goes_on = [beside.log(MONDAY + day * DAY + HOUR / 2, 2006, "1") for day in range(61)]
    happens = list(row(copy))
    if row not in NUMBERED.values():
        return numbered([*before, *goes_on, *happens])
    split = happens[0].time
    first = [event for event in (*before, *goes_on, happens[0]) if event.time <= split]
    rest = [event for event in goes_on if event.time > split]
    ordered = [*sorted(first, key=lambda event: event.time), *happens[1:], *rest]
    return [event._replace(record_id=at) for at, event in enumerate(ordered, 1)]


TEXTS = {
    102: "The database engine (15.02.1544.0004) is starting a new instance (0).",
    103: "The database engine stopped the instance (0).",
    104: "The database engine stopped the instance (0) with error ({5}).",
    105: "The database engine started a new instance (0). (Time=3 seconds)",
    210: "A full backup is starting.",
    213: "The backup procedure has been successfully completed.",
    481: 'An attempt to read from the file "{4}" at offset {5} for {6} bytes failed after {10} '
    "seconds with system error {8}: {9}. The read operation will fail with error {7}.",
    300: "The database engine is initiating recovery steps.",
    301: "The database engine has finished replaying logfile {4}.",
    302: "The database engine has successfully completed recovery steps.",
    304: "The database engine has successfully completed replay steps.",
    325: "The database engine created a new database (1, {5}). (Time=0 seconds)",
    326: "The database engine attached a database (1, {5}). (Time=0 seconds)",
    327: "The database engine detached a database (1, {5}). (Time=0 seconds)",
    328: "The database engine fired callback for attach of database {4} during recovery at log "
    "position {5}. The callback returned {6}.",
    2005: "Shadow copy instance 1 starting. This will be a Full shadow copy.",
    2006: "Shadow copy instance 1 completed successfully.",
}
"""What `render` does not say, around the key phrases."""


def text_line(event: Logged) -> str:
    """The record without its number and its strings, as a forwarder of texts has it."""
    who, process, name, *_ = event.strings
    said = TEXTS.get(event.event_id)
    if said is None:
        message = render(event.event_id, event.strings)
    else:
        message = f"{who} ({process}) {name}" + said.format("", *event.strings)
    record = {
        "@timestamp": stamp(event.time),
        "winlog": {
            "channel": event.channel,
            "computer_name": event.computer,
            "provider_name": event.provider,
            "event_id": str(event.event_id),
        },
        "log": {"level": event.level},
        "message": message,
    }
    return json.dumps(record)


def written(folder: Path, kind: str) -> Iterator[Path]:
    """The files of all servers; the order of the lines is that of the times in text."""
    logs = [history(place, row) for place, row in enumerate(ROWS.values())]
    if kind == "evtx":
        for place, log in enumerate(logs):
            (folder / f"{place}").mkdir()
            yield from write_evtx(folder / f"{place}", log)
        return
    line = text_line if kind == "text" else json_line
    bare = kind == "without numbers"
    lines = [line(each._replace(record_id=None) if bare else each) for log in logs for each in log]
    if kind == "newest first":
        lines.reverse()
    path = folder / "events.jsonl"
    path.write_text("".join(f"{each}\n" for each in lines), encoding="utf-8")
    yield path


KINDS = ("evtx", "newest first", "without numbers", "text")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[tuple[str, str], Said]]:
    """By kind of file: what is said of each database of each server."""

    @lru_cache
    def ask(kind: str) -> dict[tuple[str, str], Said]:
        said = run("advise", "--format", "json", *written(tmp_path_factory.mktemp("logs"), kind))
        rows = [json.loads(line) for line in said.out.splitlines()]
        return {
            (row["computer"], row["database"]): Said(
                verified=row.get("verified", {}),
                findings=frozenset(each["finding"] for each in row["findings"]),
            )
            for row in rows
            if "database" in row
        }

    return ask


ASKED = [
    pytest.param(kind, name, id=f"{kind}: {name}")
    for kind in KINDS
    for name in ROWS
    if name not in NUMBERED or kind not in {"without numbers", "text"}
]


@pytest.mark.parametrize(("kind", "name"), ASKED)
def test_only_time_at_work_counts(
    found: Callable[[str], dict[tuple[str, str], Said]], kind: str, name: str
) -> None:
    copy = store(list(ROWS).index(name))
    said = found(kind)[copy.label, copy.database_label]

    is_moved, is_anew = name.startswith("moved"), name.endswith("then 325")
    assert said.verified.keys() == (set() if is_moved or is_anew else {"online_scan"})
    if is_moved:
        heir = found(kind)[copy.label, other(copy, database=ELSEWHERE).database_label]
        assert heir.verified.keys() == {"online_scan"}
    late = said.findings & {"verification_overdue", "scan_off", "never_verified"}
    assert bool(late) == (name in LATE or name in NUMBERED_LATE)
    assert ("never_verified" in late) == is_anew
