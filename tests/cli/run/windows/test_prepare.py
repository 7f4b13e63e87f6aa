"""Rights of the service on a server, which are all taken back, as text and on a stand-in."""

import argparse
import errno
import json
import math
import shutil
from pathlib import Path

import pytest

from esewatch.cli.run.windows import command
from esewatch.cli.run.windows.prepare import (
    folder_descriptor,
    service_sid,
    with_entry,
    without_entries,
)
from esewatch.config import WindowsLog
from esewatch.config.files import load
from esewatch.model import EsewatchError
from tests.cli.run.windows.stand_in import (
    CHANNEL,
    ESENT,
    MANAGED,
    MANAGED_SID,
    MONITORS,
    PERFLIB,
    READERS,
    SID,
    WINDOWS,
    StandIn,
    change,
)


@pytest.fixture(name="data")
def _data(tmp_path: Path) -> Path:
    (tmp_path / "esewatch.yml").write_text("sources: []\n")
    return tmp_path / "data"


def test_on_a_server_it_is_in_two_groups_and_sees_the_hidden_counters(data: Path) -> None:
    server = StandIn()

    change(server, data, "prepare")

    assert server.members == {(READERS, SID), (MONITORS, SID)}
    assert server.numbers == {ESENT: 1}
    assert list(server.folders) == [data, data / "state", data / "logs"]
    assert (data / "esewatch.yml").read_text() == "sources: []\n"
    assert not [words for words in server.ran if "add" in words], "no port is opened unasked"
    assert "Show Advanced Counters = 1" in (data / "logs" / "install.log").read_text()


@pytest.mark.parametrize("before", [None, 0])
def test_what_was_changed_is_again_what_it_was_also_after_two_runs(
    data: Path, before: int | None
) -> None:
    server = StandIn()
    server.numbers = {ESENT: before}

    change(server, data, "prepare")
    change(server, data, "prepare", "--firewall", "10.0.0.5")
    assert json.loads((data / "install.json").read_text()) == {"ESENT": before}
    change(server, data, "restore")

    assert server.numbers == {ESENT: before}
    assert server.members == set()
    assert not (data / "install.json").exists()
    assert (data / "esewatch.yml").exists()


def test_without_its_account_the_rest_is_taken_back(data: Path) -> None:
    server = StandIn()
    change(server, data, "prepare")
    server.refuses = "sid"

    change(server, data, "restore")

    assert server.numbers == {ESENT: None}
    assert not (data / "install.json").exists()
    assert server.ran[-1][:2] == ("netsh", "advfirewall")
    assert "not done: no such account" in (data / "logs" / "install.log").read_text()


def test_a_value_that_is_refused_stays_noted(data: Path) -> None:
    server = StandIn()
    change(server, data, "prepare")
    server.refuses = "number"

    change(server, data, "restore")

    assert (data / "install.json").exists()
    assert server.ran[-1][:2] == ("netsh", "advfirewall")


def test_a_value_that_was_shown_before_is_not_hidden(data: Path) -> None:
    server = StandIn()
    server.numbers = {ESENT: 1}

    change(server, data, "prepare")
    change(server, data, "restore")

    assert server.numbers == {ESENT: 1}


def test_counters_are_left_alone_where_that_is_wished(data: Path) -> None:
    server = StandIn()

    change(server, data, "prepare", "--counters", "leave")

    assert server.numbers == {ESENT: None}


def test_a_domain_controller_lets_it_read_by_entries_of_its_own(data: Path) -> None:
    server = StandIn(controller=True)
    keys, channels = dict(server.keys), dict(server.channels)

    change(server, data, "prepare")

    assert server.members == set()
    assert server.keys == {PERFLIB: with_entry(keys[PERFLIB], SID, "KR")}
    assert set(server.channels.values()) == {with_entry(CHANNEL, SID, "0x1")}
    change(server, data, "restore")
    assert (server.keys, server.channels) == (keys, channels)


def test_a_managed_account_on_a_domain_controller_is_in_the_groups_of_the_domain(
    data: Path,
) -> None:
    server = StandIn(controller=True)

    change(server, data, "prepare", "--account", MANAGED)

    assert server.members == {(READERS, MANAGED_SID), (MONITORS, MANAGED_SID)}
    assert server.folders[data / "state"].endswith(f";{MANAGED_SID})")


def test_a_right_that_is_refused_is_told_and_the_rest_is_done(data: Path) -> None:
    server = StandIn(refuses="join")

    change(server, data, "prepare")

    said = (data / "logs" / "install.log").read_text()
    assert said.count("not done: no such group") == 2
    assert server.numbers == {ESENT: 1}


def test_a_configuration_that_is_there_stays(data: Path) -> None:
    data.mkdir()
    (data / "esewatch.yml").write_text("sources: [mine]\n")

    change(StandIn(), data, "prepare")

    assert (data / "esewatch.yml").read_text() == "sources: [mine]\n"


def test_the_logs_of_ad_lds_are_read_without_being_named(data: Path) -> None:
    template = WINDOWS / "esewatch.yml"
    (data.parent / "esewatch.yml").write_bytes(template.read_bytes())
    server = StandIn()
    server.logs += "ADAM (Address Book)\r\nADAM (lds-2)\r\nADAM (gr\ufffd\ufffde)\r\nADAM-Tools\r\n"

    change(server, data, "prepare")

    made, kept = load(data / "esewatch.yml").sources, load(template).sources
    assert isinstance(made[0], WindowsLog)
    assert isinstance(kept[0], WindowsLog)
    assert made[0].channels == [*kept[0].channels, "ADAM (Address Book)", "ADAM (lds-2)"]
    assert made[1:] == kept[1:]
    assert "ADAM (lds-2) are read" in (data / "logs" / "install.log").read_text(encoding="utf-8")


def test_a_server_without_ad_lds_has_the_template_as_it_is(data: Path) -> None:
    template = (WINDOWS / "esewatch.yml").read_bytes()
    (data.parent / "esewatch.yml").write_bytes(template)

    change(StandIn(), data, "prepare")

    assert (data / "esewatch.yml").read_bytes() == template


def test_the_port_is_opened_for_whom_it_is_asked_for(data: Path) -> None:
    server = StandIn()

    change(server, data, "prepare", "--listen-address", ":9999", "--firewall", "10.0.0.5")

    (rule,) = (words for words in server.ran if "add" in words)
    assert {"name=esewatch", "dir=in", "localport=9999", "remoteip=10.0.0.5"} < set(rule)


@pytest.mark.parametrize(
    ("made", "kept"),
    [
        (r"C:\Program Files\p.exe -P run", r'"C:\Program Files\p.exe" -P run'),
        (r'"C:\Program Files\p.exe" -P run', r'"C:\Program Files\p.exe" -P run'),
        (r"C:\esewatch\p.exe -P run", r"C:\esewatch\p.exe -P run"),
    ],
)
def test_no_other_program_is_started_in_the_place_of_the_service(
    data: Path, made: str, kept: str
) -> None:
    server = StandIn()
    server.command = made

    change(server, data, "prepare")

    assert server.command == kept


def test_what_python_compiled_goes_with_the_packages(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(command, "TEMPLATE", data.parent / "esewatch.yml")
    compiled = data.parent / "app" / "esewatch" / "__pycache__"
    compiled.mkdir(parents=True)
    (compiled / "model.cpython-313.pyc").touch()

    change(StandIn(), data, "prepare")
    assert compiled.exists()
    change(StandIn(), data, "restore")

    assert not compiled.exists()
    assert compiled.parent.exists()


def test_an_address_without_a_port_is_refused(data: Path) -> None:
    with pytest.raises(EsewatchError, match="not HOST:PORT"):
        change(StandIn(), data, "prepare", "--listen-address", "everywhere")


def test_purging_leaves_nothing(data: Path) -> None:
    server = StandIn()
    change(server, data, "prepare")

    change(server, data, "restore", "--purge")

    assert not data.exists()


def held(monkeypatch: pytest.MonkeyPatch, times: float) -> None:
    """So often Windows refuses to delete, as it does while a process has a file open."""
    delete, left = shutil.rmtree, [times]

    def rmtree(folder: Path, *, ignore_errors: bool = False) -> None:
        if left[0] <= 0:
            delete(folder)
        left[0] -= 1
        if left[0] >= 0 and not ignore_errors:
            raise PermissionError(errno.EACCES, "in use", str(folder / "journal.db"))

    monkeypatch.setattr(shutil, "rmtree", rmtree)
    monkeypatch.setattr(command, "PURGE_PAUSE", 0.001)


def test_purging_waits_for_a_service_that_still_has_files_open(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(StandIn(), data, "prepare")
    held(monkeypatch, 3)

    change(StandIn(), data, "restore", "--purge")

    assert not data.exists()


def test_what_cannot_be_purged_is_told(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(StandIn(), data, "prepare")
    held(monkeypatch, math.inf)
    monkeypatch.setattr(command, "PURGE_SECONDS", 0.01)

    with pytest.raises(EsewatchError, match=r"data.*was not deleted: in use"):
        change(StandIn(), data, "restore", "--purge")


def test_elsewhere_the_command_says_that_it_is_for_windows() -> None:
    with pytest.raises(EsewatchError, match="this works on Windows only"):
        command.run(argparse.Namespace(action="prepare"))


APPLICATION = (
    "O:BAG:SYD:(A;;0xf0007;;;SY)(A;;0x7;;;BA)(A;;0x7;;;SO)(A;;0x3;;;IU)(A;;0x1;;;S-1-5-32-573)"
)
OURS = "S-1-5-80-1-2-3-4-5"


def test_the_account_of_a_service_is_known_from_its_name_in_any_case() -> None:
    # Published by Microsoft: the identifier of NT SERVICE\TrustedInstaller.
    known = "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464"

    assert service_sid("TrustedInstaller") == service_sid("trustedinstaller") == known


def test_an_entry_is_added_once_and_taken_away_whole() -> None:
    once = with_entry(APPLICATION, OURS, "0x1")

    assert once == f"{APPLICATION}(A;;0x1;;;{OURS})"
    assert with_entry(once, OURS, "0x1") == once
    assert without_entries(once, OURS) == APPLICATION
    assert without_entries(APPLICATION, OURS) == APPLICATION


def test_what_is_said_of_audit_and_of_others_stays() -> None:
    descriptor = "O:SYG:SYD:PAI(A;CI;KA;;;BA)(A;CI;KR;;;S-1-5-80-11-2-3-4-5)S:AI(AU;SA;KA;;;WD)"

    changed = with_entry(descriptor, OURS, "KR")

    assert changed == descriptor.replace("S:AI", f"(A;;KR;;;{OURS})S:AI")
    assert without_entries(changed, OURS) == descriptor


@pytest.mark.parametrize("descriptor", ["", "O:BAG:SY", "access denied"])
def test_what_has_no_access_list_is_refused(descriptor: str) -> None:
    with pytest.raises(ValueError, match="no access list"):
        with_entry(descriptor, OURS, "0x1")


def test_a_folder_is_of_administrators_and_the_service_writes_only_where_it_must() -> None:
    reads, writes = (folder_descriptor(OURS, writes=writes) for writes in (False, True))

    assert reads.startswith("O:BAG:BAD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)")
    assert reads.endswith(f"(A;OICI;0x1200a9;;;{OURS})")
    assert writes.endswith(f"(A;OICI;0x1301bf;;;{OURS})")
