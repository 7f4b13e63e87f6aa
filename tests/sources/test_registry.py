"""The kinds of sources are one table, and a daemon imports those that it has."""

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from esewatch.config import SETTINGS_OF, LogFiles, Settings, SourceSettings
from esewatch.model import SourceError
from esewatch.sources.registry import FILE_KINDS, KINDS, build_sources, kind_by_content

EVENTS = (
    '"Message","Id","ProviderName","LogName","MachineName","RecordId","TimeCreated"\n'
    '"NTDS (620) NTDSA: Online defragmentation is beginning a full pass on database '
    '\'C:\\Windows\\NTDS\\ntds.dit\'.","700","NTDS ISAM","Directory Service",'
    '"dc01.corp.example","17","11/8/2025 7:40:48 PM"\n'
)
COUNTERS = (
    '"(PDH-CSV 4.0) (UTC)(0)","\\\\DC01\\Database ==> Instances(lsass/NTDSA)\\'
    'Online Defrag Pages Read/sec"\n"11/08/2025 19:40:48.000","5"\n'
)

_LOADED = """\
import sys
from esewatch.cli import run
from esewatch.config import LogFiles, Settings
from esewatch.sources.registry import build_sources
build_sources(Settings(sources=[LogFiles(name="log", type={type!r}, paths=["log"])]))
print(*sys.modules)
"""
UNUSED = {
    "bcrypt",
    "esewatch.advice.what_if",
    "esewatch.cli.inputs",
    "esewatch.expose.pages.report.report_page",
    "jinja2",
    "prometheus_client.openmetrics.parser",
    "tqdm",
}
EVTX = {"esewatch.sources.evtx.binxml", "esewatch.sources.evtx"}
TEXT = {"esewatch.sources.logs.event_stream"}


@pytest.mark.parametrize(
    ("kind", "used", "others"), [("evtx", EVTX, TEXT), ("event_stream", TEXT, EVTX)]
)
def test_a_daemon_imports_the_kinds_of_sources_that_it_has(
    kind: str, used: set[str], others: set[str]
) -> None:
    program = _LOADED.format(type=kind)
    loaded = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    ).stdout.split()

    assert used <= set(loaded)
    assert others.isdisjoint(loaded)
    assert UNUSED.isdisjoint(loaded)
    kinds = {name for name in loaded if name.startswith("esewatch.sources.")}
    assert {"disks", "page_scan", "exporter", "windows_log"}.isdisjoint(
        name.rpartition(".")[2] for name in kinds
    )


def test_each_type_of_the_configuration_is_a_kind_with_its_settings() -> None:
    assert KINDS.keys() == SETTINGS_OF.keys()


def test_an_event_stream_is_what_no_other_kind_recognises() -> None:
    assert [*FILE_KINDS][-1] == "event_stream"
    assert kind_by_content(b"a line\n", b"a line\n") == "event_stream"
    assert kind_by_content(bytes(64), bytes(16)) is None


@pytest.mark.parametrize("pattern", ["*.csv", "**/*.csv", "events.csv counters.csv"])
def test_of_files_that_two_sources_find_each_reads_its_own(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "events.csv").write_text(EVENTS)
    (tmp_path / "counters.csv").write_text(COUNTERS)
    paths = [f"{tmp_path}/{each}" for each in pattern.split()]
    entries: list[SourceSettings] = [
        LogFiles(name="counters", type="perfmon_csv", paths=paths),
        LogFiles(name="events", type="event_stream", paths=paths),
    ]
    found = {}
    for source in build_sources(Settings(sources=entries)):
        batches = list(source.poll(final=True))
        assert [each for batch in batches for each in batch.unreadable] == []
        found[source.name] = [type(r).__name__ for batch in batches for r in batch.records]
        source.close()
    assert found == {"counters": ["CountersSeen", "Reading"], "events": ["Event"]}


def test_a_file_that_no_other_source_reads_is_told(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(EVENTS)
    entries: list[SourceSettings] = [
        LogFiles(name="counters", type="perfmon_csv", paths=[f"{tmp_path}/events.csv"]),
        LogFiles(name="events", type="event_stream", paths=[f"{tmp_path}/*.json"]),
    ]
    counters, _ = build_sources(Settings(sources=entries))
    with pytest.raises(SourceError, match=r"events\.csv: no perfmon log in CSV or TSV form"):
        list(counters.poll(final=True))
    counters.close()


@pytest.fixture
def _few_open_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (416, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("_few_open_files")
def test_all_sources_together_keep_as_many_files_open_as_the_process_may(tmp_path: Path) -> None:
    entries: list[SourceSettings] = []
    for name in "abcdefgh":
        folder = tmp_path / name
        folder.mkdir()
        for number in range(60):
            (folder / f"{number}.csv").write_text(EVENTS.replace('"17"', f'"{number}"'))
        entries.append(LogFiles(name=name, type="event_stream", paths=[str(folder / "*.csv")]))
    sources = build_sources(Settings(sources=entries))
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208

    for source in sources:
        records = [record for batch in source.poll() for record in batch.records]
        assert len(records) == 60
    opened = len(os.listdir("/proc/self/fd")) - before  # noqa: PTH208
    for source in sources:
        source.close()

    assert 8 * 10 <= opened <= 8 * 20
