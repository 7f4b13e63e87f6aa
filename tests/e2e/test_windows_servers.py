"""What a fresh installation watches on the servers where ESE lives, without any configuration.

`esewatch windows prepare` makes the configuration on a stand-in for the server; the daemon reads
stand-ins for Windows' programs (see `tests/sources/windows_programs.py`).
"""

import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from tests.cli.run.windows.stand_in import WINDOWS, StandIn, change
from tests.e2e.harness import Agent, get, wait_for
from tests.expose.html import Page
from tests.sources.windows_programs import TYPEPERF, WEVTUTIL, event, executable

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="programs with a #! line")


class Kind(NamedTuple):
    """A server: what ESE logs on it and where, and what it counts."""

    channel: str
    provider: str
    strings: tuple[str, ...]
    """`%1` to `%4` of the events."""
    counters: str
    """The object and instance of typeperf."""
    database: str
    model: str
    unseen: str
    """What the status page asks for first."""


DIRECTORY = "its disk is not known"
KINDS = {
    "Exchange": Kind(
        "Application", "ESE", ("MSExchangeIS", "3228", "SG06: ", r"e:\MDB06\priv06.edb"),
        "MSExchange Database ==> Instances(Information Store/SG06)",
        r"e:\mdb06\priv06.edb", "window", "its maintenance window is not known",
    ),
    "domain controller": Kind(
        "Directory Service", "NTDS ISAM", ("NTDS", "628", "NTDSA: ", r"C:\Windows\NTDS\ntds.dit"),
        "Database ==> Instances(lsass/NTDSA)",
        r"c:\windows\ntds\ntds.dit", "garbage_collection", DIRECTORY,
    ),
    "AD LDS": Kind(
        "ADAM (lds-2)", "ADAM [lds-2] ISAM",
        ("ADAM", "2044", "ADAM: ", r"C:\Program Files\Microsoft ADAM\lds-2\data\adamntds.dit"),
        "Database ==> Instances(dsamain/ADAM)",
        r"c:\program files\microsoft adam\lds-2\data\adamntds.dit", "garbage_collection", DIRECTORY,
    ),
    "plain server": Kind(
        "Application", "ESENT",
        ("svchost", "1320", "WU: ", r"C:\Windows\SoftwareDistribution\DataStore\DataStore.edb"),
        "Database ==> Instances(svchost/WU)",
        r"c:\windows\softwaredistribution\datastore\datastore.edb", "application",
        "its counters Database Maintenance and Online Defrag are hidden or not collected",
    ),
}  # fmt: skip


@pytest.fixture
def windows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the programs, which the daemon finds."""
    folder = tmp_path / "windows"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    executable("wevtutil", folder, WEVTUTIL)
    executable("typeperf", folder, TYPEPERF)
    return folder


@pytest.fixture
def agents() -> Iterator[list[Agent]]:
    made: list[Agent] = []
    yield made
    for agent in made:
        agent.close()


def samples(agent: Agent, name: str) -> list[tuple[dict[str, str], float]]:
    """Labels and value of each sample of that name."""
    return [
        (sample.labels, float(sample.value))
        for family in text_string_to_metric_families(get(f"{agent.url}/metrics"))
        for sample in family.samples
        if sample.name == name
    ]


def passes(agent: Agent) -> float:
    """Events 701 that were read."""
    found = samples(agent, "ese_events_total")
    return sum(value for labels, value in found if labels["event_id"] == "701")


def state_of(agent: Agent, source: str) -> str:
    """What the status page says of a source."""
    table = Page(get(agent.url)).text.partition("Unreadable Not read yet")[2]
    return table[table.index(source) :]


def logged(kind: Kind) -> list[str]:
    """A start, and two passes of online defragmentation, among events of others."""
    ids = (102, 700, 701, 700, 701)
    return [
        event(number, provider=provider, event_id=event_id, strings=strings, channel=kind.channel)
        for number, (provider, event_id, strings) in enumerate(
            [
                each
                for one in ids
                for each in ((kind.provider, one, kind.strings), ("Perflib", 1008, ("x",)))
            ],
            start=1,
        )
    ]


def rows(kind: Kind) -> str:
    """What typeperf prints: a counter that everybody sees, and one that is hidden at first."""
    names = ("Database Cache Size (MB)", "Online Defrag Pages Freed/sec")
    header = ",".join(["(PDH-CSV 4.0)", *(f"\\\\EX01\\{kind.counters}\\{name}" for name in names)])
    lines = [header, "06/21/2007 03:14:02.000,64,0", "06/21/2007 03:14:17.000,64,4"]
    return "\n".join(
        ["", *(f'"{line.replace(",", chr(34) + "," + chr(34))}"' for line in lines), "drip", ""]
    )


@pytest.mark.parametrize("name", KINDS)
def test_it_watches_what_is_there_and_says_what_it_cannot_see(
    tmp_path: Path, windows: Path, agents: list[Agent], name: str
) -> None:
    kind = KINDS[name]
    server = StandIn(controller=name == "domain controller")
    server.logs += f"{kind.channel}\r\n"
    # The records are of 03:14 that day: over a day old at any hour.
    day = f"{datetime.now(UTC) - timedelta(days=2):%Y-%m-%d}"
    other = event(1, provider="Perflib", event_id=1008)
    (windows / "Application.log").write_text(other.replace("2007-06-21", day) + "\n")
    (windows / f"{kind.channel}.log").write_text(
        "\n".join(logged(kind)).replace("2007-06-21", day) + "\n", encoding="utf-8"
    )
    month, date = day[5:7], f"{day[8:]}/{day[:4]}"
    (windows / "script").write_text(rows(kind).replace("06/21/2007", f"{month}/{date}"))
    data = tmp_path / "data"
    (tmp_path / "esewatch.yml").write_bytes((WINDOWS / "esewatch.yml").read_bytes())
    change(server, data, "prepare")

    made = yaml.safe_load((data / "esewatch.yml").read_text(encoding="utf-8"))
    agents.append(Agent(tmp_path / "agent", {"sources": made["sources"]}))
    agent = agents[0]
    agent.start(wait=False)
    wait_for("both passes", lambda: passes(agent) == 2)
    wait_for(
        "the counters", lambda: state_of(agent, "counters").startswith("counters ● up to date ex01")
    )

    (known,) = [labels for labels, _ in samples(agent, "ese_database_info")]
    assert known["database"] == kind.database
    assert (known["tier"], known["model"]) == ("watched", kind.model)
    assert [value for _, value in samples(agent, "esewatch_source_up")] == [1, 1, 1]
    page = Page(get(agent.url)).text
    unseen = page.partition("What esewatch cannot see")[2].partition("Sources Each source")[0]
    assert kind.unseen in unseen
    # A log that only other servers have is no piece of its input that cannot be read.
    assert "could not be read" not in unseen
    asked = urlencode({"computer": "ex01", "database": kind.database})
    assert kind.strings[3] in Page(get(f"{agent.url}/database?{asked}")).text
