"""esewatch(1): well-formed, the same each time, and with all that `--help` names."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import eselab.__main__
import eselab.demo.__main__
import eselab.lab.__main__
from esewatch import cli
from tests.support.tools import skip

ROOT = Path(__file__).resolve().parents[2]
WRITER = ROOT / "deploy" / "debian" / "manpage.py"
SECTIONS = [
    "NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "COMMANDS",
    "EXIT STATUS", "ENVIRONMENT", "FILES", "EXAMPLES", "SEE ALSO",
]  # fmt: skip
DATE = 1_767_323_045
OPTION = re.compile(r"(?<![\w.-])--?[a-z][\w.-]*")


def written(folder: Path = ROOT, **environment: str) -> str:
    """The page, as of a fixed date."""
    variables = {**os.environ, "SOURCE_DATE_EPOCH": str(DATE), **environment}
    ended = subprocess.run(
        [sys.executable, WRITER],
        cwd=folder, env=variables, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return ended.stdout


def plain(text: str) -> str:
    """Without what troff reads."""
    for written, meant in ((r"\-", "-"), (r"\(aq", "'"), (r"\(ga", "`"), (r"\(ha", "^")):
        text = text.replace(written, meant)
    return re.sub(r"\\f.|\\[,/]", "", text.replace(r"\(ti", "~")).replace(r"\e", "\\")


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """What `esewatch COMMAND --help` prints."""
    words = [*command.split()[1:], "--help"]
    bundled = {
        "demo": eselab.demo.__main__.main,
        "engine": eselab.__main__.main,
        "lab": eselab.lab.__main__.main,
    }
    with pytest.raises(SystemExit):
        bundled[words[0]](words[1:]) if words[0] in bundled else cli.main(words)
    return capsys.readouterr().out


def commands_in(text: str) -> list[tuple[str, str]]:
    """(command, its line) of those that a page of help lists."""
    listed = text.partition("\ncommands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^    (\S+)(?: +|\n {8,})(\S.*)$", listed, re.MULTILINE)


def helps(capsys: pytest.CaptureFixture[str]) -> dict[str, tuple[str, str]]:
    """Command -> (its line, its help), of all commands and the commands of these."""
    found = {}
    waiting = [("esewatch", "")]
    while waiting:
        command, line = waiting.pop()
        text = help_of(command, capsys)
        found[command] = (line, text)
        waiting += [(f"{command} {name}", line) for name, line in commands_in(text)]
    return found


@pytest.fixture(scope="module")
def page() -> str:
    return written()


def test_troff_has_nothing_to_say_of_the_manual_page(page: str, tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        skip("groff is not installed (apt-get install groff-base)", {"debian"})
    file = tmp_path / "esewatch.1"
    file.write_text(page, encoding="ascii")

    ended = subprocess.run(
        ["groff", "-ww", "-man", "-Tutf8", file], capture_output=True, text=True, check=True
    )

    assert ended.stderr == ""
    assert "monitoring of ESE databases" in ended.stdout


def test_the_manual_page_has_its_sections_in_the_order_of_man_pages(page: str) -> None:
    assert re.findall(r"^\.SH\s+(.*)$", page, re.MULTILINE) == SECTIONS
    assert page.startswith(r'.TH ESEWATCH "1" "2026\-01\-02" "esewatch ')


def test_the_manual_page_has_each_command_with_its_line_options_and_example(
    page: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    sections = {
        plain(title): plain(text)
        for title, text in re.findall(r"^\.SS (\S.*)\n((?s:.*?))(?=^\.S[SH])", page, re.MULTILINE)
    }
    examples = plain(page.partition(".SH EXAMPLES")[2]).splitlines()
    known = helps(capsys)
    general = known.pop("esewatch")

    assert set(sections) == set(known)
    assert len(known) > 20
    for command, (line, text) in known.items():
        lines = sections[command].splitlines()
        assert lines[0] == line
        assert text.partition("\n")[0] in lines
        shown = {name for each in lines if each.startswith("-") for name in OPTION.findall(each)}
        assert set(OPTION.findall(text.partition("\n")[0])) - shown == {"-h"}, command
        assert set(examples) >= set(re.findall(r"^example: (.*)$", text, re.MULTILINE))
    assert set(OPTION.findall(general[1])) <= set(OPTION.findall(plain(page)))


def test_the_same_sources_give_the_same_manual_page_wherever_it_is_made(
    page: str, tmp_path: Path
) -> None:
    elsewhere = written(
        tmp_path, COLUMNS="40", HOME=str(tmp_path), TZ="Asia/Tokyo", XDG_STATE_HOME=str(tmp_path)
    )

    assert elsewhere == page
