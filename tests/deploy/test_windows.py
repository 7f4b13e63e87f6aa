"""The scripts for Windows, read: what they name is what the program and Windows know.

They are not run here: there is no PowerShell and no Windows.
"""

import argparse
import os
import re
import shlex
from pathlib import Path

import pytest

from esewatch.cli import command_line
from esewatch.cli.run import command as run
from esewatch.cli.run.windows.prepare import VIRTUAL_ACCOUNT
from esewatch.config.files import load
from esewatch.ese.counters.counter_feeds import paths

ROOT = Path(__file__).resolve().parents[2]
WINDOWS = ROOT / "deploy" / "windows"
SCRIPTS = ("install.ps1", "uninstall.ps1")
CHANGES = re.compile(
    r"\b((?:New|Set|Add|Remove|Rename|Copy|Start|Stop)-(?!StrictMode\b|Checked\b|Server\b)\w+"
    r"|Invoke-Program|Invoke-CimMethod|sc\.exe delete)"
)


def script(name: str) -> str:
    return (WINDOWS / name).read_text(encoding="ascii")


def code(name: str) -> str:
    """The script without comments."""
    return re.sub(r"^\s*#.*\n", "", re.sub(r"<#.*?#>", "", script(name), flags=re.S), flags=re.M)


def value(name: str, variable: str) -> str:
    (found,) = re.findall(rf"^\${variable} = (.*)$", code(name), re.MULTILINE)
    return str(found)


def test_the_list_of_counters_golden_is_what_feeds_a_metric() -> None:
    file = WINDOWS / "counters.txt"
    expected = "".join(f"{path}\r\n" for path in paths()).encode("ascii")
    if os.environ.get("ESEWATCH_REWRITE_GOLDEN"):
        file.write_bytes(expected)

    assert file.read_bytes() == expected


def test_both_scripts_mean_the_same_service_account_and_folders() -> None:
    for variable in ("Name", "Account", "Program", "Data", "Events"):
        assert value("install.ps1", variable) == value("uninstall.ps1", variable)
    assert value("install.ps1", "Account") == f'"{VIRTUAL_ACCOUNT.replace("esewatch", "$Name")}"'


def test_rights_and_counters_are_set_and_taken_back_by_the_command_of_the_agent() -> None:
    done, undone = code("install.ps1"), code("uninstall.ps1")
    (call,) = re.findall(r"Invoke-Esewatch @\(('windows'.*?)\)\)", done, re.DOTALL)
    quoted = re.findall(r"'([^']*)'|\$\w+", call)
    words = [word or "x" for word in quoted[: quoted.index("--template") + 1]]
    words[words.index("--counters") + 1] = "leave"
    prepare = command_line("windows").parse_args([*words, "y"])
    restore = command_line("windows").parse_args(["windows", "restore"])
    shown = re.search(
        r"\$shown = if \(\$KeepCountersHidden\) \{ '(\w+)' \} else \{ '(\w+)' \}", done
    )

    assert (prepare.action, prepare.listen_address, prepare.firewall) == ("prepare", "x", "x")
    assert (prepare.account, prepare.template) == (VIRTUAL_ACCOUNT, Path("y"))
    assert restore.account == VIRTUAL_ACCOUNT
    assert shown is not None
    assert shown.groups() == ("leave", "show")
    assert "& $Command windows restore" in undone
    for word in ("icacls", "LocalGroupMember", "Show Advanced Counters"):
        assert word not in done + undone


def test_the_service_is_started_with_options_that_the_agent_knows() -> None:
    (command,) = re.findall(r"^\$command = '(.*)' -f$", code("install.ps1"), re.MULTILINE)
    (secure,) = re.findall(r"\$command \+= '(.*)' -f", code("install.ps1"))
    filled = command.format("C:/python.exe", "C:/esewatch.yml", "C:/esewatch.log", ":19703")
    interpreter, *words = shlex.split(filled + secure.format("C:/web.yml"))
    parser = argparse.ArgumentParser()
    run.add_commands(parser.add_subparsers())

    options = parser.parse_args(words[words.index("esewatch") + 1 :])

    assert interpreter == "C:/python.exe"
    assert words[:3] == ["-P", "-m", "esewatch"]
    assert options.service is True
    assert (options.config, options.log_file) == ("C:/esewatch.yml", "C:/esewatch.log")
    assert (options.listen, options.web_config) == ([":19703"], "C:/web.yml")


def test_nothing_is_installed_or_built_with_but_what_the_locks_have_the_hashes_of() -> None:
    text = code("install.ps1")
    calls = [line for line in text.splitlines() if "Invoke-Program" in line and "$pip" in line]
    assert len(calls) == 3
    for call in calls:
        built = "'--no-index', '--no-build-isolation', '--no-deps'" in call
        assert built or ("+ $locked +" in call and re.search(r"'(build|runtime)\.lock'", call))
    assert "$locked = '--only-binary', ':all:', '--require-hashes', '--requirement'" in text
    backend = (ROOT / "requirements" / "build.lock").read_text(encoding="utf-8")
    assert re.search(r"^setuptools==\S+ \\\n\s+--hash=sha256:", backend, re.MULTILINE)


def test_people_get_a_command_with_what_the_service_has_in_its_environment() -> None:
    """Packages lie beside the interpreter of all users: without PYTHONPATH it has no esewatch."""
    text = code("install.ps1")
    made = text[text.index("function Write-Launcher") : text.index("function Install-Service")]
    service = text[text.index("function Install-Service") : text.index("function Invoke-Esewatch")]
    of_service = re.findall(r"""['"](PYTHON\w+=.*?)['"](?=[,)])""", service)
    of_people = re.findall(r"""['"]set (PYTHON\w+=.*?)['"](?=[,)]|$)""", made, re.MULTILINE)
    assert len(of_service) == 3
    assert of_people == of_service
    assert "'\"{0}\" -P -m esewatch %*' -f $Interpreter" in made
    assert "    Write-Launcher $interpreter" in text
    launcher = "Join-Path $installed 'esewatch.cmd'"
    assert launcher in code("scan-shadow.ps1")


def test_the_service_is_called_what_the_agent_calls_itself() -> None:
    manager = ROOT / "agent" / "esewatch" / "cli" / "run" / "service_manager.py"
    (name,) = re.findall(r'^NAME = "(.*)"$', manager.read_text(encoding="utf-8"), re.MULTILINE)

    assert value("install.ps1", "Name") == f"'{name}'"


@pytest.mark.parametrize("name", SCRIPTS)
def test_nothing_is_changed_without_being_asked_for(name: str) -> None:
    """Outside of functions each change stands behind ShouldProcess, so -WhatIf changes nothing."""
    text = code(name)
    body = re.sub(r"^function .*?^}\n", "", text, flags=re.MULTILINE | re.DOTALL)
    depth = 0
    guarded: list[int] = []
    loose = []
    for line in body.splitlines():
        while guarded and depth <= guarded[-1] and not line.lstrip().startswith("}"):
            guarded.pop()
        asks = "ShouldProcess(" in line
        if CHANGES.search(line) and not (asks or guarded):
            loose.append(line)
        if asks:
            guarded.append(depth)
        depth += line.count("{") - line.count("}")

    assert "[CmdletBinding(SupportsShouldProcess)]" in text
    assert body.count("ShouldProcess(") >= 4
    assert loose == []


def test_uninstalling_takes_back_each_thing_that_installing_did() -> None:
    done, undone = code("install.ps1"), code("uninstall.ps1")
    pairs = {
        "New-Service": "sc.exe delete",
        "'windows', 'prepare'": "windows restore",
        "New-Item $Program": "Remove-Item $Program",
        "New-Item $Events": "Remove-Item $Events",
    }

    assert [made for made in pairs if made not in done] == []
    assert [gone for gone in pairs.values() if gone not in undone] == []
    # While the service is there its account has a name, and the command is there too.
    assert undone.index("windows restore") < undone.index("sc.exe delete")
    assert undone.index("windows restore") < undone.index("Remove-Item $Program")


def test_the_service_may_write_where_its_journal_and_its_log_are_and_nowhere_else() -> None:
    settings = load(WINDOWS / "esewatch.yml")

    assert Path(settings.journal) == WINDOWS / "state" / "journal.db"
    assert value("install.ps1", "Log") == "Join-Path $Data 'logs\\esewatch.log'"
    assert [source.type for source in settings.sources] == [
        "windows_log",
        "windows_counters",
        "disks",
    ]
