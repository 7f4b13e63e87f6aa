"""Inputs that a command reads: what a terminal shows of it, and as of when logs are judged."""

import contextlib
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

from esewatch.cli.inputs.reading import as_of
from esewatch.fold.state.database_state import Untimed
from esewatch.fold.state.state import BackupSet, CounterState, Database, Host, Instance, State
from tests.support.ese_text import render

DAY = 86400.0


def test_computers_whose_logs_end_together_are_judged_together() -> None:
    ends = {"a": 100 * DAY, "b": 100.5 * DAY, "c": 300 * DAY, "d": 900 * DAY}
    state = State(
        databases={
            (name, "x"): Database(computer=name, database="x", last_seen=end)
            for name, end in ends.items()
        }
    )
    groups = list(as_of(state, 800 * DAY))

    assert [(each.computers, each.time / DAY) for each in groups] == [
        (("a", "b"), 100.5),
        (("c",), 300),
        (("d",), 800),
    ]
    assert [sorted(each.state.databases) for each in groups] == [
        [("a", "x"), ("b", "x")],
        [("c", "x")],
        [("d", "x")],
    ]


def test_logs_collected_over_several_days_are_not_all_judged_as_of_the_last() -> None:
    """No computer is judged more than a day after its last record."""
    ends = {"a": 100.0, "b": 100.8, "c": 101.6, "d": 102.4, "e": 103.2}
    state = State(
        databases={
            (name, "x"): Database(computer=name, database="x", last_seen=end * DAY)
            for name, end in ends.items()
        }
    )
    groups = list(as_of(state, 800 * DAY))

    assert [(each.computers, each.time / DAY) for each in groups] == [
        (("a", "b"), 100.8),
        (("c", "d"), 102.4),
        (("e",), 103.2),
    ]


def test_samples_within_a_day_of_the_last_event_move_the_moment() -> None:
    def ended(days: float) -> float:
        column = CounterState(last_time=days * DAY, last_value=0.0)
        instance = Instance(computer="a", ese_instance="x", counters={"column": column})
        entry = Database(computer="a", database="x", last_seen=100 * DAY)
        state = State(databases={("a", "x"): entry}, instances={("a", "x"): instance})
        (group,) = as_of(state, 800 * DAY)
        return group.time / DAY

    assert [ended(days) for days in (90, 100.5, 101, 130)] == [100, 100.5, 101, 100]


def test_an_event_that_names_no_database_is_the_last_record_too() -> None:
    """The end of a streaming backup (213) comes after the last file, and proves it."""
    entry = Database(computer="a", database="x", last_seen=100 * DAY)
    state = State(
        databases={("a", "x"): entry}, hosts={"a": Host(computer="a", last_heard=101 * DAY)}
    )
    (group,) = as_of(state, 800 * DAY)
    assert group.time == 101 * DAY


def test_what_has_no_time_is_judged_as_of_now() -> None:
    dated = Database(computer="b", database="x", last_seen=100 * DAY)
    undated = Database(
        computer="a", database="x", last_seen=800 * DAY, untimed=Untimed(events={703: 1})
    )
    state = State(databases={("a", "x"): undated, ("b", "x"): dated})
    groups = list(as_of(state, 800 * DAY))

    assert [(each.computers, each.time / DAY, each.dated) for each in groups] == [
        (("b",), 100, True),
        (("a",), 800, False),
    ]


def test_a_computer_of_which_only_backups_are_known_ends_with_the_last() -> None:
    done = BackupSet(100 * DAY, 99 * DAY, "sg", "ntbackup", 1.0, DAY)
    state = State(hosts={"a": Host(computer="a", backup_sets=[done])})
    (group,) = as_of(state, 800 * DAY)
    assert (group.computers, group.time / DAY) == (("a",), 100)


def test_a_terminal_shows_bytes_of_all_bytes_and_the_time_left(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    text = render(704, ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"])
    line = f"2007-06-21T03:14:15.123Z EX01 Information ESE 704 {text}\n"
    log.write_text(line * (6_000_000 // len(line)))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("4H", 24, 200, 0, 0))
    program = [sys.executable, "-m", "esewatch", "report", str(log), "-o", str(tmp_path / "r.html")]
    process = subprocess.Popen(program, stdout=subprocess.DEVNULL, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a terminal by one
        while piece := os.read(ours, 4096):
            shown += piece
    os.close(ours)

    assert process.wait(600) == 0
    bars = re.findall(r"(\d+)%\|.*?\| ([\d.]+)M/6.00M \[\d\d:\d\d<(\S+),", shown.decode())
    percents = [int(percent) for percent, _, _ in bars]
    assert percents == sorted(percents)
    assert any(0 < percent < 100 for percent in percents)
    assert any(re.fullmatch(r"\d\d:\d\d", left) for _, _, left in bars)
