"""Every command that the guide shows is run: here, or by a test that docs_commands.yml names.

A command that cannot be run here stands on a page that says so. What is new in a block of code
of the guide fails until it is in that file.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from esewatch.cli import main
from esewatch.journal import Journal
from tests.support import ese_database
from tests.support.blg import NOON, READ, counted, write_log
from tests.support.certificates import self_signed
from tests.support.edb import write_edb
from tests.support.farm import build
from tests.support.flush_maps import map_header
from tests.support.logs import Log, checkpoint
from tests.support.records import event, folder_of
from tests.support.shown_commands import Block, blocks, command_lines
from tests.support.tools import require, skip

pytestmark = pytest.mark.lint
ROOT = Path(__file__).resolve().parents[1]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *(ROOT / folder / "README.md" for folder in ("alerts", "dashboards")),
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
]
DATA = {"ini", "json", "nginx", "promql", "python", "text", "toml", "yaml"}
"""Languages of fences in which there are no commands."""
TABLE: dict[str, Any] = yaml.safe_load((ROOT / "tests" / "docs_commands.yml").read_text("utf-8"))
SHOWN = tuple(TABLE["shown"])
SAYS_SO = re.compile(r"\b(?:not|not been|None of this was|What was) run\b")
CONFIGURATION = """\
windows: {nightly: {start: "01:00", duration: 4h}}
databases: [{match: "*priv*.edb", window: nightly}]
"""
WEB = "tls_server_config: {cert_file: server.pem, key_file: server.key}\n"


def commands() -> dict[str, list[Path]]:
    """Each command of the guide, and the pages that it stands on."""
    found: dict[str, list[Path]] = {}
    for page in PAGES:
        for block in blocks(page.read_text(encoding="utf-8")):
            for command in () if block.language in DATA else command_lines(block.lines, SHOWN):
                found.setdefault(command, []).append(page)
    return found


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder as the profile of a month leaves it, of one day and one small database."""
    folder = tmp_path_factory.mktemp("engine")
    (folder / "plan.json").write_text('{"databases": [{"name": "busy", "pages": 100}]}')
    assert status_of("esewatch engine run --dir month --plan plan.json --days 1", folder) == 0
    return folder / "month"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the commands of the guide are about; below `etc` what they have in /etc/esewatch."""
    folder = tmp_path_factory.mktemp("server")
    events, counters, _ = build(folder / "here" / "logs", datetime(2007, 6, 21, 12, tzinfo=UTC))
    here = folder / "here"
    for name in ("here/perf", "here/snapshots", "etc"):
        (folder / name).mkdir()
    for file in (here / "logs").iterdir():
        shutil.copy(file, here)
    for name in ("ex01.evtx", "Application.evtx"):
        shutil.copy(events, here / name)
    for name in ("counters.csv", "perf/ex01.csv"):
        shutil.copy(counters, here / name)
    (here / "esewatch.yml").write_text(CONFIGURATION)
    shutil.copy(ROOT / "tests/config/exchange/remote-2010.json", here / "databases.json")
    examples = re.findall(r"```json\n(.*?)```", (ROOT / "docs/engine.md").read_text(), re.S)
    (here / "load.json").write_text(next(text for text in examples if '"workloads"' in text))
    write_log(here / "ex01.blg", [READ], [(NOON, [counted(NOON, 1)])])
    write_edb(here / "snapshots" / "priv06.edb")
    (here / "snapshots" / "edb.log").write_bytes(Log(5).data())
    (here / "snapshots" / "edb.chk").write_bytes(checkpoint(5))
    (here / "snapshots" / "priv06.jfm").write_bytes(map_header())
    (here / "snapshots" / "ex01").mkdir()
    ese_database.database().write(here / "snapshots" / "ex01" / "priv06.edb")
    write_edb(here / "SRUDB.dat").path.write_bytes(damaged(here / "SRUDB.dat"))
    configure(folder / "etc")
    return folder


@pytest.fixture
def site(server: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it, and the folder in which one is."""
    shutil.copytree(server / "here", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "positions"))
    return tmp_path


def damaged(path: Path) -> bytes:
    """The content of a database with another byte in its fifth page."""
    content = bytearray(path.read_bytes())
    content[6 * 4096 + 100] ^= 0xFF
    return bytes(content)


def configure(folder: Path) -> None:
    """What is below /etc/esewatch: a configuration, whose journal knows a bad page, and TLS."""
    (folder / "esewatch.yml").write_text(f"journal: {folder}/journal.db\n{CONFIGURATION}")
    (folder / "web.yml").write_text(WEB)
    self_signed("agent").put(folder, "server")
    journal = Journal(folder / "journal.db")
    known = folder_of([event(474, 0, 1, fields={"page_number": 17})])
    journal.commit(known.state, known.changed, {})
    journal.close()


def mapped(command: str, places: Mapping[str, Path]) -> str:
    """The command with the folders of this test in the place of those of the guide."""
    for place, folder in places.items():
        command = command.replace(place, str(folder))
    return command


def status_of(command: str, folder: Path) -> int:
    """The exit status of a command that is run in `folder`: a plain one of ours in here.

    `engine` and `lab` put another program in the place of their process.
    """
    words = shlex.split(command)
    if words[0] == "esewatch" and not {"|", ">", "engine", "lab"} & set(words):
        return main(words[1:])
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-c", command],
        input="secret\n", text=True, env=environment, cwd=folder, check=False,
        capture_output=True, timeout=1000, start_new_session=True,
    )  # fmt: skip
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    return done.returncode


@pytest.mark.parametrize("command", TABLE["run"])
def test_a_command_of_the_guide_ends_as_documented(
    command: str,
    server: Path,
    site: Path,
    capfd: pytest.CaptureFixture[str],
    request: pytest.FixtureRequest,
) -> None:
    places = {"/etc/esewatch": server / "etc", "/snapshots": site / "snapshots"}
    if "/tmp/month" in command:
        places["/tmp/month"] = request.getfixturevalue("month")
    program = command.split(maxsplit=1)[0]
    folder = {"amtool": ROOT / "alerts" / "alertmanager", "python": ROOT}.get(program, site)
    if program in ("amtool", "promtool"):
        require(program)
    if program == "promtool":
        assert main(["replay", "Application.evtx", "-o", "history.om"]) == 1
        (site / "history-2007-06.om").rename(site / "history-2026-01.om")

    status = status_of(mapped(command.removeprefix(".venv/bin/"), places), folder)

    said = capfd.readouterr()
    assert status == TABLE["run"][command], said.out + said.err
    assert "Traceback" not in said.err
    for written in re.findall(r"(?:-o|>) (\w+\.(?:html|yml))$", command):
        assert (site / written).stat().st_size


@pytest.mark.slow
def test_the_first_answer_can_be_had_from_a_fresh_environment(
    site: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(site / "home"))
    ignore = shutil.ignore_patterns("*.so", "*.egg-info", "__pycache__")
    for name in ("agent", "docs"):
        shutil.copytree(ROOT / name, site / "sources" / name, ignore=ignore)
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, site / "sources")
    lines = [each for each in TABLE["slowly"] if "~/esewatch" in each]

    made = [status_of(each, site / "sources") for each in lines]
    if made == [0, 1]:
        skip(f"pip cannot install: {capfd.readouterr().err[-200:]}", {"pipx"})
    told = status_of("~/esewatch/bin/esewatch report ex01.evtx perf/*.csv -o report.html", site)

    assert (made, told) == ([0, 0], 1), capfd.readouterr()
    assert "priv06.edb" in (site / "report.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("command", [each for each in TABLE["slowly"] if "~/" not in each])
def test_a_long_command_of_the_guide_ends_as_documented(command: str, site: Path) -> None:
    status = status_of(mapped(command, {"/tmp/month": site / "month"}), site)

    assert status == TABLE["slowly"][command]


def test_every_command_of_the_guide_is_run_or_said_not_to_be() -> None:
    known = {each for kind in ("run", "slowly", "elsewhere", "not_run") for each in TABLE[kind]}

    assert set(commands()) - known == set(), "a new command: put it into tests/docs_commands.yml"
    assert known - set(commands()) == set(), "no page has it any more"


def test_no_command_of_the_guide_has_two_ways_to_be_tested() -> None:
    kinds = [set(TABLE[kind]) for kind in ("run", "slowly", "elsewhere", "not_run")]

    assert sum(map(len, kinds)) == len(set.union(*kinds))


def test_what_the_guide_shows_and_is_no_command_is_still_there() -> None:
    lines = [
        line.strip().removeprefix("$ ")
        for page in PAGES
        for block in blocks(page.read_text(encoding="utf-8"))
        for line in block.lines
    ]

    assert [each for each in SHOWN if not any(line.startswith(each) for line in lines)] == []


@pytest.mark.parametrize("name", sorted(set(TABLE["elsewhere"].values())))
def test_a_test_that_runs_a_command_of_the_guide_exists(name: str) -> None:
    file, _, function = name.partition("::")

    assert f"\ndef {function}(" in (ROOT / file).read_text(encoding="utf-8")


def test_a_page_with_a_command_that_was_not_run_says_so() -> None:
    silent = [
        (page.name, command)
        for command, pages in commands().items()
        for page in pages
        if command in TABLE["not_run"] and not SAYS_SO.search(page.read_text(encoding="utf-8"))
    ]

    assert silent == []


def test_blocks_are_found_in_fences_in_indentation_and_in_items_of_lists() -> None:
    text = (
        "Text\n    goes on\n\n    one\n      two\n\n    three\n\nText\n```yaml\nkey: 1\n\n```\n\n"
        "- item\n  more\n\n  still more\n\n      four\n- last\n\n1. item\n\n       five\n"
    )

    assert list(blocks(text)) == [
        Block("", ("one", "  two", "", "three", "")),
        Block("yaml", ("key: 1", "")),
        Block("", ("four",)),
        Block("", ("five",)),
    ]


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (("make test   # all", "make"), ["make test", "make"]),
        (("$ esewatch scan x", "x", "  2 pages"), ["esewatch scan x"]),
        (("tool --a \\", "    --b", "printed: 1", "more"), ["tool --a --b"]),
        (("# only a remark", "printed"), []),
    ],
)
def test_commands_are_told_from_what_they_print(lines: tuple[str, ...], found: list[str]) -> None:
    assert list(command_lines(lines, ("printed",))) == found
