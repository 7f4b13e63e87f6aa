"""Where the journal is: `--storage.path`, the configuration, the system, this account."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from esewatch.cli import main
from esewatch.cli.options import load_settings
from esewatch.config import default_settings


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine whose folder for the journal may be made, and the state folder of an account."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(sys, "platform", "linux")
    return tmp_path


def told(**known: str) -> argparse.Namespace:
    return argparse.Namespace(**{"config": None, "storage": None, **known})


def of_system(monkeypatch: pytest.MonkeyPatch, folder: Path, *, writable: bool) -> Path:
    """The journal of the system is in this folder; root may write everywhere, so it is said."""
    journal = folder / "journal.db"
    for module in ("esewatch.cli.options", "esewatch.config"):
        monkeypatch.setattr(f"{module}.default_journal", lambda: str(journal))
    changed = msgspec.structs.replace(default_settings(), journal=str(journal))
    monkeypatch.setattr("esewatch.cli.options.default_settings", lambda: changed)
    monkeypatch.setattr(os, "access", lambda *_: writable)
    return journal


def test_a_home_that_may_not_be_entered_has_no_journal(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = of_system(monkeypatch, machine / "var", writable=False)
    journal.parent.mkdir()

    known = os.stat

    def barred(path: Any, **more: Any) -> os.stat_result:
        if "state" in Path(path).parts:
            raise PermissionError(13, "Permission denied")
        return known(path, **more)

    monkeypatch.setattr(os, "stat", barred)
    assert load_settings(told()).journal == str(journal)


@pytest.mark.parametrize("runs", [True, False])
def test_the_folder_of_the_system_is_used_by_who_may_write_it(
    runs: bool, machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = of_system(monkeypatch, machine / "lib", writable=True)
    assert load_settings(told(), runs=runs).journal == str(journal)


def test_any_other_account_has_its_own_below_its_state(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_system(monkeypatch, machine / "lib", writable=False)
    own = machine / "state" / "esewatch" / "journal.db"
    assert load_settings(told(), runs=True).journal == str(own)
    assert load_settings(told()).journal == str(own)
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setenv("HOME", str(machine / "home"))
    below = machine / "home" / ".local" / "state" / "esewatch" / "journal.db"
    assert load_settings(told(), runs=True).journal == str(below)


def test_an_account_without_a_home_means_the_journal_of_the_system(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = of_system(monkeypatch, machine / "lib", writable=False)
    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(os.path, "expanduser", str)
    assert load_settings(told(), runs=True).journal == str(journal)


def test_a_command_that_only_reads_takes_the_journal_that_is_there(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine / "lib").mkdir()
    journal = of_system(monkeypatch, machine / "lib", writable=False)
    assert load_settings(told()).journal == str(journal)
    own = machine / "state" / "esewatch" / "journal.db"
    own.parent.mkdir(parents=True)
    own.touch()
    assert load_settings(told()).journal == str(own)


def test_a_configured_journal_stays_and_storage_path_names_another_folder(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_system(monkeypatch, machine / "lib", writable=False)
    config = machine / "esewatch.yml"
    config.write_text(f"journal: {machine}/kept/exchange.db\n")
    named = told(config=str(config))
    assert load_settings(named, runs=True).journal == f"{machine}/kept/exchange.db"
    for known in (told(storage=f"{machine}/s"), told(config=str(config), storage=f"{machine}/s")):
        folder, _, name = load_settings(known, runs=True).journal.rpartition("/")
        assert folder == f"{machine}/s"
        assert name == ("exchange.db" if known.config else "journal.db")


@pytest.mark.parametrize("option", ["--config.file", "--storage.path", "--web.config.file"])
@pytest.mark.parametrize("command", [["run"], ["doctor"], ["ack", "e:\\a.edb"]])
def test_an_empty_name_is_refused(
    command: list[str], option: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is that of a variable that is not set: the defaults are not meant."""
    with pytest.raises(SystemExit) as ended:
        main([*command, option, ""])
    assert ended.value.code == 2
    assert f"argument {option}: the name is empty" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("command", "zone", "hint"),
    [
        (["events", "a.log"], "Europe/Berln", "did you mean Europe/Berlin?"),
        (["counters", "a.csv"], "europe/berlin", "did you mean Europe/Berlin?"),
        (["report", "a.log", "-o", "r.html"], "Mars/Olympus", "a name is such as Europe/Berlin"),
        (["advise", "a.log"], "W. Europe Standard Time", "a name is such as Europe/Berlin"),
        (["replay", "a.log", "-o", "m.txt"], "Asia/Tokio", "did you mean Asia/Tokyo?"),
        (["config", "import-exchange", "a.json"], "Europe/Pariss", "did you mean Europe/Paris?"),
    ],
)
def test_a_zone_that_is_not_known_is_refused_with_the_one_that_may_be_meant(
    command: list[str], zone: str, hint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--timezone", zone])
    assert ended.value.code == 2
    assert f"time zone {zone!r} is not known here: {hint}" in capsys.readouterr().err
