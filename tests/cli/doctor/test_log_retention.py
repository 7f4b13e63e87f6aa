"""Event logs that wrapped before they held two of the longest passes."""

import gzip
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.cli.doctor_site import DAY, HOUR, Site
from tests.support.evtx_writer import EvtxWriter

HEAD = ["MSExchangeIS", "840,D,0", "SG06: ", "e:\\MDB06\\priv06.edb"]


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Site:
    made = Site(tmp_path, capsys)
    made.write_counters()
    return made


def write_log(
    site: Site,
    *,
    days: int,
    first: int = 90_000,
    name: str = "ex01.evtx",
    until: int = 0,
    channel: str = "Application",
) -> None:
    """A log of `days` up to `until` days ago with a pass of two days in it, and other events."""
    end = datetime.now(UTC) - HOUR - until * DAY
    day = f"{end.month}/{end.day}/{end.year}"
    events: dict[datetime, tuple[int, list[str]]] = {
        end - days * DAY + number * HOUR / 6: (100, [*HEAD, "x" * 400])
        for number in range(days * 144)
    }
    if not until:
        events[end - 2 * DAY - HOUR / 9] = (717, HEAD)
        summary = [day, "9000", "1", "1", "5850768", "0", "72"]
        events[end - HOUR / 9] = (721, [*HEAD, *summary])
    with EvtxWriter(site.logs / name, channel=channel, first_record_id=first) as writer:
        for time, (event_id, strings) in sorted(events.items()):
            writer.write(event_id, strings, time=time)


def test_a_log_that_wrapped_within_two_passes_comes_with_the_size_it_needs(site: Site) -> None:
    write_log(site, days=3)
    found = site.named("log_short")
    assert (found["source"], found["computer"]) == ("logs", "ex01")
    assert found["needs_person"]
    told = re.fullmatch(r'wevtutil sl "Application" /ms:(\d+) /rt:false', found["command"])
    assert told is not None
    needed = int(told[1])
    assert needed % 65536 == 0
    held = (site.logs / "ex01.evtx").stat().st_size
    # Three days are there, four are asked for; the file has its header and a last chunk beside.
    assert 1.2 < needed / held < 1.5


@pytest.mark.parametrize(
    "channel", ['A" & calc & "', "$(calc)", "`calc`", "%PATH%", "a\u201d; calc"]
)
def test_a_name_that_could_run_something_is_in_no_command(site: Site, channel: str) -> None:
    write_log(site, days=3, channel=channel)
    assert "command" not in site.named("log_short")


@pytest.mark.parametrize(("days", "first"), [(5, 90_000), (3, 1)])
def test_a_log_that_is_long_enough_or_began_lately_is_no_problem(
    site: Site, days: int, first: int
) -> None:
    write_log(site, days=days, first=first)
    assert "log_short" not in site.names()


def test_archived_files_of_a_log_count_together(site: Site) -> None:
    write_log(site, days=3)
    write_log(site, days=3, first=50_000, name="archive.evtx", until=3)
    assert "log_short" not in site.names()


def test_what_was_read_before_it_wrapped_makes_it_a_note(site: Site) -> None:
    write_log(site, days=5)
    site.ran()
    (site.logs / "ex01.evtx").unlink()
    write_log(site, days=3, first=90_000 + 2 * 144)
    found = site.named("log_short")
    assert not found["needs_person"]
    assert found["sentence"].endswith("what was read before it wrapped is kept")


def test_damaged_and_compressed_files_are_left_out(site: Site) -> None:
    write_log(site, days=3)
    whole = (site.logs / "ex01.evtx").read_bytes()
    (site.logs / "ex01.evtx").unlink()
    (site.logs / "a.evtx").write_bytes(gzip.compress(whole))
    (site.logs / "b.evtx").write_bytes(whole[:4096] + bytes(70_000))
    (site.logs / "c.evtx").write_bytes(b"ElfFile\0" + b"\xff" * 200_000)
    damaged = bytearray(whole)
    for at in range(4096, len(whole), 65536):
        damaged[at + 24 : at + 40] = b"\xff" * 16
    (site.logs / "d.evtx").write_bytes(damaged)
    assert "log_short" not in site.names()
