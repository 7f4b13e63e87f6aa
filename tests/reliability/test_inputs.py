"""What is read goes away, comes back, changes or hangs under a real agent."""

import ctypes
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import psutil
import pytest

from tests.e2e.harness import Agent, Prometheus, ended, start_prometheus, wait_for
from tests.e2e.test_reload import post_reload
from tests.reliability.test_kill import Samples, samples
from tests.support.ese_text import render
from tests.support.evtx_writer import EvtxWriter
from tests.support.figures import until_right_again

pytestmark = pytest.mark.e2e

STRINGS = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
BEGIN = datetime(2026, 1, 5, tzinfo=UTC)
UP = "esewatch_source_up"
UNREADABLE = "esewatch_source_unreadable_total"
MISSED = "esewatch_source_missed_records_total"
LOSES_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")


def append(path: Path, count: int, hour: int = 0) -> None:
    """So many events 704 of one hour, as lines of JSON."""
    record = {
        "SourceName": "ESE",
        "EventID": 704,
        "Channel": "Application",
        "Hostname": "EX02.corp.example",
        "TimeCreated": f"{BEGIN + timedelta(hours=hour):%Y-%m-%dT%H:%M:%SZ}",
        "Message": render(704, STRINGS),
    }
    with path.open("a") as file:
        file.write((json.dumps(record) + "\n") * count)


def total(found: Samples, name: str, **wanted: str) -> float:
    """Sum of the samples with this name and these labels."""
    return sum(
        value
        for (each, labels), value in found.items()
        if each == name and wanted.items() <= dict(labels).items()
    )


def events(agent: Agent, event_id: int = 704, **wanted: str) -> float:
    return total(samples(agent), "ese_events_total", event_id=str(event_id), **wanted)


def check_events(agent: Agent, count: int) -> None:
    """Until so many are counted, and not one more."""
    wait_for(f"{count} events", lambda: events(agent) >= count)
    assert events(agent) == count


@pytest.fixture(name="logs")
def _logs(tmp_path: Path) -> Path:
    logs = tmp_path / "logs"
    logs.mkdir()
    append(logs / "app.ndjson", 100)
    return logs


@contextmanager
def reading(folder: Path, *paths: str, count: int = 100) -> Iterator[Agent]:
    """An agent that has read the first events; it has to end well."""
    sources = [
        {"type": "event_stream", "name": f"text-{number}", "path": path}
        for number, path in enumerate(paths, 1)
    ]
    agent = Agent(folder / "agent", {"sources": sources})
    try:
        agent.start()
        check_events(agent, count)
        yield agent
        agent.stop()
        assert "Traceback" not in agent.log()
    finally:
        agent.close()


def check_after_a_kill(folder: Path, logs: Path, change: Callable[[Path], None], goal: int) -> None:
    """The agent is killed, the log changes, the agent starts and counts `goal` events."""
    with reading(folder, f"{logs}/*.ndjson") as agent:
        agent.kill()
        change(logs / "app.ndjson")
        with until_right_again():
            agent.start()
            check_events(agent, goal)


@pytest.mark.fault(
    "a text log is rotated while the agent is down",
    provoked="`kill -9`, 10 more lines, renamed, 20 lines in a new file",
    lost="nothing, if the glob finds the old file",
)
def test_a_log_that_is_rotated_while_the_agent_is_down_is_read_to_its_end(
    tmp_path: Path, logs: Path
) -> None:
    def rotate(log: Path) -> None:
        append(log, 10)
        log.rename(log.with_name("app-1.ndjson"))
        append(log, 20, hour=1)

    check_after_a_kill(tmp_path, logs, rotate, 130)


@pytest.mark.fault(
    "a text log is emptied in place while the agent is down",
    provoked="`kill -9`, 10 more lines, truncated, 20 lines",
    lost="the 10 lines that nobody had read: a text has no record ids, so they are not counted",
)
def test_of_a_log_that_is_emptied_while_the_agent_is_down_the_new_lines_are_read(
    tmp_path: Path, logs: Path
) -> None:
    def empty(log: Path) -> None:
        append(log, 10)
        os.truncate(log, 0)
        append(log, 20, hour=1)

    check_after_a_kill(tmp_path, logs, empty, 120)


@pytest.mark.fault(
    "a text log is replaced while the agent is down",
    provoked="`kill -9`, 10 more lines, deleted, 300 lines in a file of the same name",
    lost="the 10 lines that nobody had read",
)
def test_a_log_that_is_replaced_while_the_agent_is_down_is_read_from_its_begin(
    tmp_path: Path, logs: Path
) -> None:
    def replace(log: Path) -> None:
        append(log, 10)
        append(log.with_name("new"), 300, hour=1)
        log.with_name("new").replace(log)

    check_after_a_kill(tmp_path, logs, replace, 400)


def write(log: EvtxWriter, count: int, hour: int = 0) -> None:
    """A record a second."""
    for second in range(count):
        log.write(704, STRINGS, time=BEGIN + timedelta(hours=hour, seconds=second))
    log.flush()


@pytest.mark.fault(
    "an event log wraps while the agent is down",
    provoked="`kill -9`, 2,000 records written to a log that holds some hundreds",
    lost="the overwritten records; each is counted as missed",
)
def test_records_that_a_log_wrapped_over_while_the_agent_was_down_are_counted_as_missed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "app.evtx"
    log = EvtxWriter(path, max_chunks=4)
    write(log, 100)
    agent = Agent(tmp_path / "agent", {"sources": [{"type": "evtx", "path": str(path)}]})
    try:
        agent.start()
        check_events(agent, 100)
        agent.kill()
        write(log, 2000, hour=1)
        log.close()
        with until_right_again():
            agent.start()
            wait_for("the hole", lambda: total(samples(agent), MISSED))
        found = samples(agent)
        counted = total(found, "ese_events_total")
        assert 100 < counted < 2000
        assert counted + total(found, MISSED) == 2100
        agent.stop()
    finally:
        agent.close()
        log.close()


@pytest.mark.fault(
    "the agent restarts while a pass runs",
    provoked="the pass begins, `kill -9`, the pass ends, start",
    lost="nothing: the pass counts as one, with its figures",
)
def test_a_pass_during_which_the_agent_was_killed_is_counted_once(tmp_path: Path) -> None:
    path = tmp_path / "app.evtx"
    log = EvtxWriter(path)
    log.write(700, STRINGS, time=BEGIN)
    log.flush()
    agent = Agent(tmp_path / "agent", {"sources": [{"type": "evtx", "path": str(path)}]})
    try:
        agent.start()
        wait_for("the begin", lambda: events(agent, 700) == 1)
        agent.kill()
        figures = ("42794", "1/5/2026", "7200", "1", "4", "14", "73")
        log.write(703, (*STRINGS, *figures), time=BEGIN + timedelta(hours=2))
        log.close()
        with until_right_again():
            agent.start()
            wait_for("the pass", lambda: total(samples(agent), "ese_passes_completed_total") == 1)
        found = samples(agent)
        assert total(found, "ese_defrag_reported_pages_freed_total") == 42794
        assert total(found, "ese_pass_last_work_seconds", task="defrag") == 7200
        agent.stop()
    finally:
        agent.close()
        log.close()


def started_by(folder: Path, *words: str) -> str:
    """A Python that these words start; in the place of sys.executable."""
    path = folder / "python"
    path.write_text(f'#!/bin/sh\nexec {" ".join(words)} {sys.executable} "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture(name="without_rights")
def _without_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An agent of root obeys permissions as anybody else."""
    if os.geteuid() == 0:
        if shutil.which(LOSES_RIGHTS[0]) is None:
            pytest.skip("setpriv is missing: root may read everything")
        monkeypatch.setattr(sys, "executable", started_by(tmp_path, *LOSES_RIGHTS))


@pytest.mark.fault(
    "the folder of a source is no longer readable",
    provoked="`chmod 000`, 20 more lines, `chmod 700`",
    lost="nothing",
)
@pytest.mark.usefixtures("without_rights")
def test_a_folder_that_may_not_be_read_for_a_while_costs_no_line(
    tmp_path: Path, logs: Path
) -> None:
    with reading(tmp_path, f"{logs}/app.ndjson") as agent:
        logs.chmod(0)
        wait_for("down", lambda: not total(samples(agent), UP, source="text-1"))
        logs.chmod(0o700)
        append(logs / "app.ndjson", 20)
        with until_right_again():
            check_events(agent, 120)
            wait_for("up", lambda: total(samples(agent), UP, source="text-1"))
        assert agent.log().count("Permission denied") == 1


@pytest.mark.fault(
    "the folder of a source is gone",
    provoked="the folder before the `*` renamed, 20 more lines, renamed back",
    lost="nothing",
)
def test_a_folder_that_is_gone_for_a_while_is_told_and_costs_no_line(
    tmp_path: Path, logs: Path
) -> None:
    away = logs.with_name("away")
    with reading(tmp_path, f"{logs}/*.ndjson") as agent:
        logs.rename(away)
        wait_for("down", lambda: not total(samples(agent), UP, source="text-1"))
        append(away / "app.ndjson", 20)
        away.rename(logs)
        with until_right_again():
            check_events(agent, 120)
            wait_for("up", lambda: total(samples(agent), UP, source="text-1"))
        assert agent.log().count(f"{logs}: No such file or directory") == 1


@pytest.mark.fault(
    "a folder inside a pattern is no longer readable, then none of them",
    provoked="two folders matched by a `*`; `chmod 000` of one, of both; 20 more lines in each",
    lost="nothing",
)
@pytest.mark.usefixtures("without_rights")
def test_barred_folders_inside_a_pattern_are_told_and_cost_no_line(
    tmp_path: Path, logs: Path
) -> None:
    folders = [logs / "one", logs / "two"]
    for hour, folder in enumerate(folders):
        folder.mkdir()
        append(folder / "app.ndjson", 50, hour)
    with reading(tmp_path, f"{logs}/*/app.ndjson") as agent:
        for number, folder in enumerate(folders, 1):
            folder.chmod(0)
            wait_for("up", lambda up=2 - number: total(samples(agent), UP) == up)  # type: ignore[misc]
            # The second one is the reason why the source is down, and no piece of its input.
            wait_for("the first is counted", lambda: count_barred(agent) == 1)
        for hour, folder in enumerate(folders):
            folder.chmod(0o700)
            append(folder / "app.ndjson", 20, hour)
        with until_right_again():
            check_events(agent, 140)
            wait_for("up", lambda: total(samples(agent), UP))
        # The first one by itself, then both as the reason why nothing can be read.
        told = [agent.log().count(f"{folder}: Permission denied") for folder in folders]
        assert told == [2, 1]


def count_barred(agent: Agent) -> float:
    return total(samples(agent), UNREADABLE, source="text-1")


def mounted(*words: str) -> None:
    if shutil.which("mount") is None or subprocess.run(["mount", *words], check=False).returncode:
        pytest.skip("nothing can be mounted here: needs root on Linux")


@pytest.mark.fault(
    "a share goes away and comes back",
    provoked="an empty file system mounted over the folder for some seconds; 20 more lines",
    lost="nothing",
)
def test_a_share_that_is_away_for_a_while_costs_no_line_and_none_is_counted_twice(
    tmp_path: Path, logs: Path
) -> None:
    other = tmp_path / "other.ndjson"
    append(other, 1, hour=1)
    with reading(tmp_path, f"{logs}/*.ndjson", str(other), count=101) as agent:
        mounted("-t", "tmpfs", "tmpfs", str(logs))
        try:
            append(other, 1, hour=1)
            check_events(agent, 102)
        finally:
            subprocess.run(["umount", "-l", str(logs)], check=True)
        append(logs / "app.ndjson", 20)
        with until_right_again():
            check_events(agent, 122)


@contextmanager
def hanging(folder: Path) -> Iterator[None]:
    """A file system over `folder` whose server does not answer: who looks at it waits.

    FUSE, with a server that never reads a request.
    """
    with ExitStack() as stack:
        try:
            server = os.open("/dev/fuse", os.O_RDWR)
        except OSError:
            pytest.skip("no FUSE here")
        stack.callback(os.close, server)
        options = f"fd={server},rootmode=40000,user_id=0,group_id=0".encode()
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"hangs", os.fsencode(folder), b"fuse", 0, options):
            pytest.skip("FUSE cannot be mounted here: needs root on Linux")
        stack.callback(subprocess.run, ["umount", "-l", str(folder)], check=True)
        yield


def test_beside_a_share_that_hangs_others_are_read_and_reload_and_stop_do_not_wait(
    tmp_path: Path, logs: Path
) -> None:
    other = tmp_path / "other.ndjson"
    append(other, 1, hour=1)
    with reading(tmp_path, f"{logs}/*.ndjson", str(other), count=101) as agent, hanging(logs):
        for count in (102, 103):
            append(other, 1, hour=1)
            check_events(agent, count)
        assert post_reload(agent) == (200, "Reloaded.\n")
        agent.stop()
        assert "text-1: does not answer and is not waited for" in agent.log()


@pytest.mark.slow
@pytest.mark.fault(
    "a share hangs: opening a file does not return",
    provoked="a FUSE file system whose server does not answer, over the folder of one source",
    lost="nothing; other sources continue meanwhile",
)
def test_after_a_share_hung_for_a_while_its_lines_are_counted_once(
    tmp_path: Path, logs: Path
) -> None:
    other = tmp_path / "other.ndjson"
    append(other, 1, hour=1)
    with reading(tmp_path, f"{logs}/*.ndjson", str(other), count=101) as agent:
        with hanging(logs):
            append(other, 1, hour=1)
            check_events(agent, 102)
            down = "esewatch_source_up"
            wait_for("it is down", lambda: total(samples(agent), down) == 1)
            append(other, 1, hour=1)
            check_events(agent, 103)
        append(logs / "app.ndjson", 20)
        with until_right_again():
            check_events(agent, 123)
        wait_for("it is up", lambda: total(samples(agent), down) == 2)
        assert agent.log().count("text-1: does not answer") == 1


def dialled(stack: ExitStack, agent: Agent, most: int) -> int:
    """Connect until nobody takes it any more; how many did."""
    host, port = agent.address.split(":")
    for number in range(most):
        try:
            dial = socket.create_connection((host, int(port)), 1)
        except TimeoutError:
            return number
        stack.enter_context(closing(dial))
    return most


@pytest.mark.slow
@pytest.mark.fault(
    "the agent has no file descriptors left",
    provoked="10 more allowed than it has; then connections that stay open until no more are"
    " accepted",
    lost="only scrapes meanwhile",
)
def test_without_descriptors_nothing_is_lost_and_it_answers_again(
    tmp_path: Path, logs: Path
) -> None:
    with reading(tmp_path, f"{logs}/*.ndjson") as agent:
        process = psutil.Process(agent.pid)
        most = process.num_fds() + 10
        process.rlimit(psutil.RLIMIT_NOFILE, (most, most))
        with ExitStack() as stack:
            assert 10 < dialled(stack, agent, 1000) < 1000
            wait_for("all are taken", lambda: process.num_fds() >= most - 1)
            append(logs / "app.ndjson", 20)
            append(logs / "new.ndjson", 20, hour=1)
            wait_for("what it says", lambda: "Too many open files" in agent.log())
        with until_right_again():
            wait_for("an answer", lambda: answers_with(agent, 140))
        assert events(agent) == 140


def answers_with(agent: Agent, count: int) -> bool:
    try:
        return events(agent) >= count
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.fault(
    "the journal is locked by another program",
    provoked="`BEGIN IMMEDIATE` from outside until a commit has failed",
    lost="nothing, also with `kill -9` meanwhile",
)
def test_a_journal_locked_from_outside_is_told_and_loses_nothing(
    tmp_path: Path, logs: Path
) -> None:
    def failures() -> float:
        return total(samples(agent), "esewatch_journal_commit_failures_total")

    with reading(tmp_path, f"{logs}/*.ndjson") as agent:
        with locked(agent):
            append(logs / "app.ndjson", 20)
            wait_for("the metric", failures)
            agent.kill()
        agent.start()
        check_events(agent, 120)
        with locked(agent):
            append(logs / "app.ndjson", 20)
            wait_for("it waits for its next try", lambda: failures() == 2)
            append(logs / "app.ndjson", 20)
        with until_right_again():
            check_events(agent, 160)
        assert agent.log().count("cannot write the journal") == 2
        assert agent.log().count("the journal can be written again") == 1


@contextmanager
def locked(agent: Agent) -> Iterator[None]:
    """Another program writes into the journal and does not come to an end."""
    with closing(sqlite3.connect(agent.folder / "journal.db")) as other:
        other.execute("BEGIN IMMEDIATE")
        yield


@pytest.mark.slow
@pytest.mark.fault(
    "the journal is deleted while the agent is stopped",
    provoked="one of two logs deleted as well",
    lost="records that are no longer in the logs",
)
def test_without_a_journal_all_that_is_there_is_read_anew(tmp_path: Path, logs: Path) -> None:
    append(logs / "old.ndjson", 50, hour=1)
    with reading(tmp_path, f"{logs}/*.ndjson", count=150) as agent:
        agent.stop()
        (logs / "old.ndjson").unlink()
        for path in agent.folder.glob("journal.db*"):
            path.unlink()
        with until_right_again():
            agent.start()
            check_events(agent, 100)


@pytest.mark.slow
@pytest.mark.fault(
    "Prometheus is down",
    provoked="a real Prometheus is stopped, 20 events come, 30 s later it starts with its data",
    lost="its samples of that time, but no counts: its next scrape has them",
)
def test_what_happened_while_prometheus_was_down_is_in_its_next_scrape(
    tmp_path: Path, logs: Path
) -> None:
    counter = 'ese_events_total{event_id="704"}'
    with (
        reading(tmp_path, f"{logs}/*.ndjson") as agent,
        start_prometheus(tmp_path / "prometheus", [agent.address]) as prometheus,
    ):
        prometheus.wait_for_value(counter, 100)
        command = psutil.Process(prometheus.process.pid).cmdline()
        prometheus.stop()
        append(logs / "app.ndjson", 20)
        check_events(agent, 120)
        time.sleep(30)
        again = Prometheus(command, prometheus.url, prometheus.log)
        with until_right_again(), ended(again):
            again.wait_until_ready("/-/ready")
            again.wait_for_value(counter, 120)
            growth = again.value(f"sum(delta({counter}[2m]))")
            assert growth is not None
            assert growth > 15
