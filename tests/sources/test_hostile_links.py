"""A folder of logs in which somebody else may put links: what is no log is never repeated."""

import os
from pathlib import Path

import pytest

from esewatch.config.files import load
from esewatch.model import Batch, SourceError
from esewatch.sources.detect_input import expand, open_inputs
from esewatch.sources.registry import build_sources
from tests.sources.file_kinds import FILE_KINDS

SECRETS = {
    "shadow": "root:$6$planted$planted:19000:0:99999:7:::\ndaemon:planted:1:2:3::::\n",
    "key": "-----BEGIN PRIVATE KEY-----\nplanted/planted+planted\n-----END PRIVATE KEY-----\n",
    "yaml": "basic_auth_users:\n  alice: $2y$10$planted\n",
    "json": '{"password": "planted", "EventID": "planted", "TimeCreated": "planted"}\n',
    "csv": '"user","password","expires"\n"alice","planted","planted"\n',
    "xml": "<Events><Event><System><EventID>planted</EventID></System>planted</Event></Events>",
    "eseutil": "Initiating FILE DUMP mode...\n      Database: planted\nERROR: planted\n",
    "binary": "ElfFile\0planted" + "\0" * 200 + "planted" * 100,
    "line": "planted" * 50_000,
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Logs that are links: to secrets, to a pipe, to devices, to nothing, to themselves."""
    logs = tmp_path / "logs"
    logs.mkdir()
    for name, text in SECRETS.items():
        (tmp_path / name).write_text(text)
        (logs / f"{name}.log").symlink_to(tmp_path / name)
    os.mkfifo(tmp_path / "pipe")
    goals = ("/dev/zero", "/dev/tty", "/nowhere", str(tmp_path / "pipe"), "self.log", str(logs))
    for number, goal in enumerate(goals):
        (logs / f"{number}.log").symlink_to(goal)
    (logs / "self.log").symlink_to("self.log")
    return logs


def said(batches: list[Batch], error: str = "") -> str:
    """Everything of these batches that is shown to anybody."""
    return f"{error}{[batch.unreadable for batch in batches]}"


@pytest.mark.parametrize("kind", FILE_KINDS)
def test_a_link_among_the_logs_shows_nothing_of_what_it_leads_to(folder: Path, kind: str) -> None:
    file = folder.parent / "esewatch.yml"
    file.write_text(f'sources:\n  - type: {kind}\n    paths: "{folder}/*.log"\n{FILE_KINDS[kind]}')
    [source] = build_sources(load(file))
    batches, error = [], ""
    try:
        for batch in source.poll(final=True):
            batches.append(batch)
    except SourceError as caught:
        error = str(caught)
    finally:
        source.close()
    text = said(batches, error)
    assert "planted" not in text
    assert "/dev/" not in text


def test_nor_does_one_among_the_inputs_of_a_command(folder: Path) -> None:
    sources, errors, _ = open_inputs(expand([str(folder)]))
    batches = []
    for source in sources:
        batches += list(source.poll(final=True))
        source.close()
    text = said(batches, str(errors))
    assert "planted" not in text
    assert "pipe" not in text
    assert text.count("not a regular file") >= 2
