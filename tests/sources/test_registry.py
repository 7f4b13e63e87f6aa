"""The kinds of sources are one table, and a daemon imports those that it has."""

import subprocess
import sys
from typing import get_args, get_type_hints

import pytest

from esewatch.config import SourceSettings
from esewatch.sources.registry import KINDS, kind_by_content

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
    "numpy",
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
    types = {
        name: struct
        for struct in get_args(SourceSettings)
        for name in get_args(get_type_hints(struct)["type"])
    }
    assert {name: kind.settings for name, kind in KINDS.items()} == types


def test_an_event_stream_is_what_no_other_kind_recognises() -> None:
    recognised = [name for name, kind in KINDS.items() if kind.recognise is not None]
    assert recognised[-1] == "event_stream"
    assert kind_by_content(b"a line\n", b"a line\n") == "event_stream"
    assert kind_by_content(bytes(64), bytes(16)) is None
