"""Faults of disk, journal and clock under a real agent: what was lost is nothing, or what
docs/operation.md says."""

import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import psutil
import pytest
import yaml

from tests.e2e.harness import Agent, answers, get, wait_for
from tests.reliability.server import Server
from tests.reliability.test_kill import Samples, figures, samples, settings, truth
from tests.support.ese_text import render
from tests.support.figures import until_right_again
from tests.support.patience import PATIENCE, at_most
from tests.support.ports import free_address

pytestmark = pytest.mark.e2e

STOP_SECONDS = 5.0
UNREBUILT = "esewatch_source_unrebuilt_from_timestamp_seconds"
FAILURES = ("esewatch_journal_commit_failures_total", frozenset[tuple[str, str]]())


@pytest.fixture(name="disk")
def _disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 8 MiB: SQLite writes back what waits at 4."""
    path = tmp_path / "disk"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(path)]
    if shutil.which("mount") is None or subprocess.run(command, check=False).returncode:
        pytest.skip("a disk of its own cannot be mounted here: needs root on Linux")
    yield path
    subprocess.run(["umount", "-l", str(path)], check=True)


@pytest.fixture(name="failing_disk")
def _failing_disk(tmp_path: Path) -> Iterator[tuple[Path, Path]]:
    """The folder and the file of an ext4 file system of 16 MiB, which can fail as a disk does."""
    path, image = tmp_path / "disk", tmp_path / "disk.img"
    path.mkdir()
    image.touch()
    os.truncate(image, 16 << 20)
    if None in map(shutil.which, ("mount", "mkfs.ext4", "e2fsck")) or mount_image(
        image, path, True
    ):
        pytest.skip("a file system in a file cannot be mounted here: needs root on Linux")
    yield path, image
    subprocess.run(["umount", "-l", str(path)], check=True)


def mount_image(image: Path, path: Path, new: bool = False) -> int:
    """Make or check the file system in the file and mount it: what `mount` returns."""
    check = ["mkfs.ext4", "-q", "-F"] if new else ["e2fsck", "-p"]
    subprocess.run([*check, str(image)], check=False, capture_output=True)
    return subprocess.run(["mount", "-o", "loop", str(image), str(path)], check=False).returncode


def move_journal(agent: Agent, journal: Path) -> None:
    content = yaml.safe_load(agent.config.read_text())
    agent.config.write_text(yaml.safe_dump({**content, "journal": str(journal)}))


def fill(disk: Path) -> Path:
    """Not a byte more fits on the disk. Again: nothing of it is free meanwhile."""
    ballast = disk / "ballast"
    with ballast.open("ab", buffering=0) as file:
        for size in (4096, 1):
            try:
                while file.write(bytes(size)) == size:
                    pass
            except OSError:
                continue
    return ballast


def run_ticks(server: Server, count: int = 200) -> None:
    for _ in range(count):
        server.tick()


def wait_for_failure(agent: Agent, server: Server, disk: Path) -> None:
    """The server writes on, on a disk that stays full, until a commit has failed."""

    def failed() -> bool:
        fill(disk)
        run_ticks(server, 20)
        return bool(samples(agent)[FAILURES])

    wait_for("the metric", failed, every=0.2)


def assert_truth(agent: Agent, server: Server) -> None:
    expected = truth(server)
    assert len(expected) > 20
    wait_for("the true figures", lambda: figures(samples(agent)) == expected)


def sample(found: Samples, name: str, source: str) -> float | None:
    return found.get((name, frozenset({("source", source)})))


def assert_ends_in_time(agent: Agent) -> None:
    """SIGTERM, and the process has ended well in less than five seconds."""
    begin = time.monotonic()
    agent.stop()
    assert time.monotonic() - begin < at_most(STOP_SECONDS)
    assert "Traceback" not in agent.log()


@pytest.mark.fault(
    "the disk of the journal is full",
    provoked="a disk of 8 MiB filled to the last byte, `kill -9` meanwhile",
    lost="nothing",
)
def test_a_full_disk_is_told_and_loses_nothing_not_even_with_a_kill(
    tmp_path: Path, disk: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, seed=1)
    agent = Agent(tmp_path / "agent", settings(logs))
    move_journal(agent, disk / "journal.db")
    try:
        run_ticks(server)
        agent.start()
        ballast = fill(disk)
        wait_for_failure(agent, server, disk)
        assert agent.log().count("cannot write the journal") == 1
        agent.kill()
        ballast.unlink()
        run_ticks(server)
        agent.start()
        ballast = fill(disk)
        wait_for_failure(agent, server, disk)
        server.finish()
        ballast.unlink()
        with until_right_again():
            assert_truth(agent, server)
        assert agent.log().count("the journal can be written again") == 1
        assert_ends_in_time(agent)
    finally:
        agent.close()


@pytest.mark.fault(
    "the disk of the journal becomes read-only under the agent",
    provoked="the kernel shuts down that file system, as after an error of its disk; `SIGTERM`,"
    " `e2fsck`, mounted again",
    lost="nothing",
    again="the next start, on the file system that was checked",
)
def test_a_disk_that_becomes_read_only_is_told_and_loses_nothing(
    tmp_path: Path, failing_disk: tuple[Path, Path]
) -> None:
    disk, image = failing_disk
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, seed=2)
    agent = Agent(tmp_path / "agent", settings(logs))
    move_journal(agent, disk / "journal.db")
    try:
        run_ticks(server)
        agent.start()
        wait_for("its first figures", lambda: figures(samples(agent)))
        subprocess.run(["mount", "-o", "remount,abort", str(disk)], check=True)
        with pytest.raises(OSError, match="Read-only file system"):
            (disk / "other").touch()

        def failed() -> bool:
            run_ticks(server, 20)
            return bool(samples(agent)[FAILURES])

        wait_for("the metric", failed, every=0.2)
        assert agent.log().count("cannot write the journal") == 1
        server.finish()
        assert_ends_in_time(agent)

        subprocess.run(["umount", str(disk)], check=True)
        assert mount_image(image, disk) == 0
        agent.start()
        assert_truth(agent, server)
    finally:
        agent.close()


@pytest.mark.timed
@pytest.mark.fault(
    "the agent is stopped while the disk is full",
    provoked="the same disk, `SIGTERM`",
    lost="nothing: what was not stored is read again",
)
def test_a_stop_on_a_full_disk_is_in_time_and_what_was_not_stored_is_read_again(
    tmp_path: Path, disk: Path
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, seed=2)
    agent = Agent(tmp_path / "agent", settings(logs))
    move_journal(agent, disk / "journal.db")
    try:
        run_ticks(server)
        agent.start()
        ballast = fill(disk)
        wait_for_failure(agent, server, disk)
        assert_ends_in_time(agent)
        ballast.unlink()
        server.finish()
        with until_right_again():
            agent.start()
            assert_truth(agent, server)
        assert_ends_in_time(agent)
    finally:
        agent.close()


@pytest.mark.fault(
    "the journal is on a read-only disk at the start",
    provoked="the disk remounted read-only",
    lost="nothing: it does not start, one line gives the reason",
    again="the next start",
)
def test_a_start_without_leave_to_write_is_one_line_and_exit_2(tmp_path: Path, disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    agent = Agent(tmp_path / "agent", {"sources": []})
    move_journal(agent, disk / "journal.db")
    done = agent.command("run", "--config.file", str(agent.config))
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert f"{disk / 'journal.db'}: cannot open the journal: Read-only file system" in line


@pytest.mark.fault(
    "the disk of the journal is full at the start",
    provoked="the same disk, filled before the start",
    lost="nothing: it does not start, one line gives the reason",
    again="the next start",
)
def test_a_start_on_a_full_disk_is_one_line_and_exit_2(tmp_path: Path, disk: Path) -> None:
    fill(disk)
    agent = Agent(tmp_path / "agent", {"sources": []})
    move_journal(agent, disk / "journal.db")
    done = agent.command("run", "--config.file", str(agent.config))
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert f"{disk / 'journal.db'}: cannot open the journal: " in line


@pytest.mark.fault(
    "the journal is deleted under the agent",
    provoked="`rm` of all its files while the logs grow",
    lost="what is no longer in the logs",
)
def test_a_journal_removed_under_the_agent_is_built_again_at_the_next_start(
    tmp_path: Path,
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, seed=3)
    agent = Agent(tmp_path / "agent", settings(logs))
    try:
        run_ticks(server)
        agent.start()
        # All at once: what it writes anew must not be taken for a part of the old.
        process = psutil.Process(agent.pid)
        process.suspend()
        for path in agent.folder.glob("journal.db*"):
            path.unlink()
        process.resume()
        run_ticks(server)
        server.finish()
        wait_for("its end", lambda: agent.ended)
        (line,) = [each for each in agent.log().splitlines() if "exit status 70" in each]
        assert "the journal was removed or replaced" in line
        with until_right_again():
            agent.start()
            assert_truth(agent, server)
        assert_ends_in_time(agent)
    finally:
        agent.close()


def damage(journal: Path, seed: int) -> None:
    """Random bytes over every page but the first."""
    rng = random.Random(seed)
    data = bytearray(journal.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start + 8 : start + 1000] = rng.randbytes(992)
    journal.write_bytes(data)


@pytest.mark.fault(
    "the journal is damaged, the logs are there",
    provoked="random bytes in every page of it",
    lost="acknowledgements; nothing that is in the logs",
)
def test_after_a_damaged_journal_the_figures_are_those_of_a_fresh_reading(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    server = Server(logs, seed=4)
    agent = Agent(tmp_path / "agent", settings(logs))
    try:
        run_ticks(server, 400)
        agent.start()
        agent.stop()
        damage(agent.folder / "journal.db", 4)
        run_ticks(server)
        server.finish()
        with until_right_again():
            agent.start()
            assert_truth(agent, server)
        assert_ends_in_time(agent)
    finally:
        agent.close()
    assert "journal.db.damaged-1" in agent.log()


@pytest.mark.fault(
    "the journal is damaged, older logs are gone",
    provoked="one byte of it damaged, one of two logs deleted",
    lost="records that are no longer in the logs; their time range is reported and a metric",
    again="the next start; the range stays",
)
def test_what_a_damaged_journal_knew_and_nobody_has_any_more_is_told_also_after_a_restart(
    tmp_path: Path,
) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "old.log").write_text(line("2026-01-02T00:00:00Z", 700))
    (logs / "new.log").write_text(line("2026-02-03T00:00:00Z", 704) * 2)
    source = {"type": "event_stream", "name": "text", "path": f"{logs}/*.log"}
    agent = Agent(tmp_path / "agent", {"sources": [source]})
    sentence = (
        "text: not rebuilt: records from 2026-01-02T00:00:00.000Z to 2026-02-03T00:00:00.000Z "
        "are no longer there"
    )
    try:
        agent.start()
        wait_for_records(agent, 3)
        agent.stop()
        (logs / "old.log").unlink()
        damage_a_row(agent.folder / "journal.db")
        agent.start()
        wait_for("the line", lambda: sentence in agent.log())
        wait_for("its metric", lambda: sample(samples(agent), UNREBUILT, "text"))
        for _ in range(2):
            found = samples(agent)
            since = sample(found, UNREBUILT, "text")
            until = sample(found, "esewatch_source_unrebuilt_until_timestamp_seconds", "text")
            assert since == datetime(2026, 1, 2, tzinfo=UTC).timestamp()
            assert until == datetime(2026, 2, 3, tzinfo=UTC).timestamp()
            agent.stop()
            agent.start()
        assert_ends_in_time(agent)
    finally:
        agent.close()
    assert agent.log().count(sentence) == 1


def wait_for_records(agent: Agent, count: int) -> None:
    """The last record of a text is taken in when nothing was written behind it for a while."""
    name = "esewatch_source_records_total"
    wait_for(f"{count} records", lambda: sample(samples(agent), name, "text") == count)


def damage_a_row(journal: Path) -> None:
    """One byte of the computer's row."""
    data = bytearray(journal.read_bytes())
    at = data.index(b"EX03")
    data[at] ^= 1
    journal.write_bytes(data)


def line(stamp: str, event_id: int) -> str:
    strings = ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"]
    return f"{stamp} EX03 Information ESE {event_id} {render(event_id, strings)}\n"


@pytest.mark.fault(
    "a server's clock is far ahead",
    provoked="a record of the year 2100 between two of 2026",
    lost="only its time; the record is counted",
    again="at once",
)
def test_a_record_of_the_year_2100_is_counted_and_settles_nothing(tmp_path: Path) -> None:
    log = tmp_path / "app.log"
    log.write_text(
        line("2026-01-02T00:00:00Z", 700)
        + line("2100-01-01T00:00:00Z", 703)
        + line("2026-01-02T04:00:00Z", 704)
    )
    source = {"type": "event_stream", "name": "text", "path": str(log)}
    agent = Agent(tmp_path / "agent", {"sources": [source]})
    try:
        agent.start()
        wait_for_records(agent, 3)
        found = samples(agent)
        assert_ends_in_time(agent)
    finally:
        agent.close()
    assert sample(found, "esewatch_source_implausible_times_total", "text") == 1
    assert sample(found, "esewatch_source_records_total", "text") == 3
    last = sample(found, "esewatch_source_last_record_timestamp_seconds", "text")
    assert last == datetime(2026, 1, 2, 4, tzinfo=UTC).timestamp()
    counted = {dict(labels)["event_id"] for name, labels in found if name == "ese_events_total"}
    assert counted == {"700", "703", "704"}
    assert not any(
        value > datetime(2027, 1, 1, tzinfo=UTC).timestamp()
        for (name, _), value in found.items()
        if name.startswith("ese_") and name.endswith("_timestamp_seconds")
    )


@pytest.mark.slow
@pytest.mark.timed
@pytest.mark.fault(
    "the agent is stopped in a storm of events",
    provoked="`SIGTERM` during 60,000 events; the agent ends within 5 s",
    lost="nothing",
)
def test_a_stop_in_the_middle_of_a_storm_is_in_time_and_loses_nothing(tmp_path: Path) -> None:
    events = 60_000
    block = line("2026-01-02T00:00:00Z", 704) * (events // 100)
    log = tmp_path / "app.log"
    source = {"type": "event_stream", "name": "text", "path": str(log)}
    agent = Agent(tmp_path / "agent", {"sources": [source]})
    try:
        with log.open("a") as file:
            for number in range(100):
                file.write(block)
                file.flush()
                if number == 50:
                    agent.start(wait=False)
                    wait_for("an answer", lambda: answering(agent))
                    assert_ends_in_time(agent)
        with until_right_again():
            agent.start()
            wait_for_records(agent, events)
        assert_ends_in_time(agent)
    finally:
        agent.close()


def answering(agent: Agent) -> bool:
    try:
        return bool(get(f"{agent.url}/-/healthy"))
    except OSError:
        return False


@pytest.mark.timed
@pytest.mark.fault(
    "clients do not read when the agent stops",
    provoked="silence, half a request, answers that are not read; the agent ends within 5 s",
    lost="only their answers",
    again="at once",
)
def test_a_stop_does_not_wait_for_clients_that_do_not_read(tmp_path: Path) -> None:
    agent = Agent(tmp_path / "agent", {"sources": []})
    host, port = agent.address.split(":")
    clients: list[socket.socket] = []
    try:
        agent.start()
        for sent in (b"GET /metrics HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nHost: a\r\n\r\n" * 200, b""):
            client = socket.create_connection((host, int(port)))
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            client.sendall(sent)
            clients.append(client)
        assert_ends_in_time(agent)
    finally:
        for client in clients:
            client.close()
        agent.close()


HANGING = """
import sys, threading
import esewatch.cli.run.process as run
from esewatch.cli import main
from esewatch.model import Batch
from esewatch.sources.registry import build_sources

class Hanging:
    name = "hanging"
    def restore(self, positions): pass
    def poll(self, *, final=False):
        yield Batch()
        open("hangs", "x").close()
        threading.Event().wait()
    def close(self): threading.Event().wait()

run.build_sources = lambda settings: [*build_sources(settings), Hanging()]
sys.exit(main(sys.argv[1:]))
"""


def run_script(folder: Path, code: str) -> tuple["subprocess.Popen[bytes]", str, Path]:
    """The agent in a process that `code` prepares, with one text: (process, URL, its log)."""
    log = folder / "app.log"
    log.write_text(line("2026-01-02T00:00:00Z", 704) * 2)
    config = {
        "sources": [{"type": "event_stream", "name": "text", "path": str(log)}],
        "journal": str(folder / "journal.db"),
    }
    (folder / "esewatch.yml").write_text(json.dumps(config))
    address = free_address()
    words = ["run", "--config.file", "esewatch.yml", "--web.listen-address", address]
    with (folder / "agent.log").open("wb") as said:
        process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=said, cwd=folder)
    return process, f"http://{address}", folder / "agent.log"


@pytest.mark.timed
@pytest.mark.fault(
    "a source does not answer when the agent stops",
    provoked="a source that never returns, in `poll` and `close`; the agent ends within 5 s",
    lost="nothing: its remaining records are read at the next start",
    again="the next start",
)
def test_a_stop_does_not_wait_for_a_source_that_does_not_answer(tmp_path: Path) -> None:
    for _ in range(2):
        process, _, said = run_script(tmp_path, HANGING)
        try:
            wait_for("the hanging", (tmp_path / "hangs").exists)
            (tmp_path / "hangs").unlink()
            # A reload waits for the source that hangs; the end does not wait for the reload.
            process.send_signal(signal.SIGHUP)
            begin = time.monotonic()
            process.send_signal(signal.SIGTERM)
            process.wait(PATIENCE)
        finally:
            process.kill()
            process.wait(PATIENCE)
        assert time.monotonic() - begin < at_most(STOP_SECONDS)
        assert process.returncode == 0
        assert "hanging: does not answer and is not waited for" in said.read_text()
        assert "Traceback" not in said.read_text()


JUMPING = """
import pathlib, sys, time
real, offset = time.time, pathlib.Path("offset")
time.time = lambda: real() + float(offset.read_text())
from esewatch.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.fault(
    "the clock of the agent jumps",
    provoked="by 5 hours, 80 years, back by 120 years, then to the correct time",
    lost="nothing",
)
def test_a_clock_that_jumps_by_years_and_back_changes_no_figure(tmp_path: Path) -> None:
    def set_clock(offset: float) -> None:
        (tmp_path / "new").write_text(str(offset))
        (tmp_path / "new").replace(tmp_path / "offset")

    def exposed() -> list[str]:
        lines = get(f"{url}/metrics").splitlines()
        return [line for line in lines if line.startswith("ese_")]

    set_clock(0)
    process, url, said = run_script(tmp_path, JUMPING)
    year = 365 * 86400
    try:
        wait_for("both events", lambda: answers(f"{url}/-/ready") and "704" in str(exposed()))
        wait_for("both events", lambda: any(text.endswith(" 2.0") for text in exposed()))
        before = exposed()
        for number, offset in enumerate((5 * 3600, 80 * year, -40 * year), 1):
            set_clock(offset)
            wait_for("the jump", lambda n=number: said.read_text().count("jumped by") == n)  # type: ignore[misc]
        with until_right_again():
            set_clock(0)
            wait_for("the jump", lambda: said.read_text().count("jumped by") == 4)
            wait_for("the figures", lambda: exposed() == before)
        process.send_signal(signal.SIGTERM)
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait(PATIENCE)
    assert "Traceback" not in said.read_text()
