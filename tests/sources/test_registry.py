"""What a daemon imports, which is what most of its memory is."""

import subprocess
import sys

import pytest

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
EVTX = {"evtx", "esewatch.sources.evtx"}
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
