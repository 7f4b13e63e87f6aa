"""`doctor`: each problem provoked by real files, through the real sources."""

import errno
import json
import os
import socket
import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

import bcrypt
import msgspec
import pytest

from eselab.logs.binary.binary_log import SINGLE, Entry
from esewatch.cli import main
from esewatch.cli.doctor import command as doctor
from esewatch.cli.doctor.known_state import Looks, look_all, within
from esewatch.config import default_settings
from esewatch.expose.http.web import WebConfiguration
from tests.cli.doctor_site import DATABASES, DAY, HOUR, SOURCES, Site
from tests.expose.serving import serving
from tests.support.blg import NOON, READ, counted, write_log
from tests.support.certificates import authority, self_signed
from tests.support.ports import free_address


@pytest.fixture
def site(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Site:
    return Site(tmp_path, capsys)


def nobody_reads(pipe: Path) -> bool:
    """Whether no thread is left that opens the pipe: it would wait for a writer without end."""
    try:
        os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
    except OSError as error:
        return error.errno == errno.ENXIO
    return False


def tree(folder: Path) -> dict[str, tuple[int, int]]:
    return {
        str(path): (path.stat().st_size, path.stat().st_mtime_ns)
        for path in folder.rglob("*")
        if not path.is_dir() and path.suffix not in (".db-wal", ".db-shm")
    }


def test_an_agent_below_a_prefix_is_found_and_where_it_is_told(site: Site) -> None:
    with serving(prefix="/a") as server:
        known = {each["problem"] for each in site.doctor("--web.address", f"{server.address}/a")[1]}
        assert "daemon_silent" not in known
        said = site.named("daemon_silent", "--web.address", server.address)["sentence"]
    assert "it is at /a/: --web.address HOST:PORT/a/" in said


def test_where_all_is_well_it_says_what_it_looked_at_and_changes_nothing(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.write()
    with site.running() as address:
        before = tree(site.folder)
        status, found = site.doctor("--web.address", address)
        # Nothing asks for the counters of the disk that the configuration names.
        assert (status, [each["problem"] for each in found]) == (0, ["disk_counters_missing"])
        where = ["--config.file", str(site.config), "--web.address", address]
        assert main(["doctor", *where]) == 0
        note, line = capsys.readouterr().out.splitlines()
        assert note.startswith("note  disk_counters_missing  ex01 e:\\mdb06\\priv06.edb: ")
        assert line.startswith(f"checked the journal {site.journal}, 2 sources, 1 database, ")
        assert line.endswith(": nothing to do")
        assert tree(site.folder) == before


def test_without_a_daemon_and_a_journal_it_looks_at_the_inputs_and_begins_no_journal(
    site: Site,
) -> None:
    site.write()
    status, found = site.doctor()
    assert status == 1
    urgent = [each["problem"] for each in found if each["needs_person"]]
    assert urgent == ["daemon_silent", "journal_missing"]
    command = found[1]["command"]
    given = f"--config.file {site.config} --web.listen-address 127.0.0.1:1"
    assert command == f"esewatch run {given}"
    assert not site.journal.parent.exists()


def test_printed_commands_have_the_options_that_were_given(site: Site) -> None:
    unused = "  - {match: nothing}\n"
    site.configure(SOURCES, DATABASES + unused)
    site.write()
    web = site.folder / "web file.yml"
    web.write_text("{}\n")
    where = ("--storage.path", str(site.folder / "st"), "--web.config.file", str(web))
    found = {each["problem"]: each for each in site.doctor("--web.address", "[::1]:1", *where)[1]}
    started = (
        f"esewatch run --config.file {site.config} --storage.path {site.folder / 'st'}"
        f" --web.listen-address '[::1]:1' --web.config.file '{web}'"
    )
    assert found["journal_missing"]["command"] == found["daemon_silent"]["command"] == started
    asked = "curl -s 'http://[::1]:1/api/v1/databases'"
    assert found["rule_unused"]["command"] == asked


def test_a_daemon_that_does_not_answer_comes_with_the_command_that_starts_it(site: Site) -> None:
    site.write()
    site.ran()
    status, found = site.doctor()
    assert status == 1
    (one,) = [each for each in found if each["needs_person"]]
    assert one["problem"] == "daemon_silent"
    assert "127.0.0.1:1: Connection refused. " in one["sentence"]
    assert one["command"].startswith("esewatch run")


def test_something_else_at_the_address_is_no_daemon(site: Site) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-OpenSSH_9\r\n")

        thread = threading.Thread(target=answer)
        thread.start()
        address = f"127.0.0.1:{listener.getsockname()[1]}"
        assert "SSH-2.0" in site.named("daemon_silent", "--web.address", address)["sentence"]
        thread.join()


TLS = "tls_server_config: {cert_file: server.pem, key_file: server.key%s}\n"
OF_CLIENTS = ", client_ca_file: ca.pem, client_auth_type: RequireAndVerifyClientCert"


@pytest.mark.parametrize("more", ["", OF_CLIENTS])
def test_a_daemon_behind_tls_answers_where_its_web_configuration_is_named(
    site: Site, more: str
) -> None:
    self_signed("one").put(site.folder, "server")
    authority().put(site.folder, "ca")
    web = site.folder / "web.yml"
    web.write_text(TLS % more)
    with serving(web=WebConfiguration(web)) as server:
        where = ["--web.address", server.address]
        problems = [each["problem"] for each in site.doctor(*where)[1]]
        assert "daemon_silent" in problems
        told = site.doctor(*where, "--web.config.file", str(web))[1]
        assert "daemon_silent" not in [each["problem"] for each in told]


def test_commands_ask_behind_tls_and_as_a_user(site: Site) -> None:
    site.configure(SOURCES, DATABASES + "  - {match: nothing}\n")
    site.write()
    self_signed("one").put(site.folder, "server")
    hashed = bcrypt.hashpw(b"right", bcrypt.gensalt(4)).decode()
    web = site.folder / "web.yml"
    web.write_text(TLS % "" + f"basic_auth_users: {{'an admin': '{hashed}'}}\n")
    where = ("--web.address", "127.0.0.1:1", "--web.config.file", str(web))
    found = site.named("rule_unused", *where)
    asked = "curl -s -k -u 'an admin' https://127.0.0.1:1/api/v1/databases"
    assert found["command"] == asked


def test_an_address_that_is_none_could_not_be_asked(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["doctor", "--config.file", str(site.config), "--web.address", "x"]) == 2
    assert "listen address" in capsys.readouterr().err


def test_a_wrong_configuration_is_a_problem_for_each_of_its_lines(site: Site) -> None:
    site.configure("polcy: {}\n", "windows: {n: {start: 25}}\n")
    status, found = site.doctor()
    assert status == 1
    assert {each["problem"] for each in found} == {"configuration_wrong"}
    assert len(found) > 1
    assert any('did you mean "policy"' in each["sentence"] for each in found)
    assert found[0]["command"] == f"esewatch config check --config.file {site.config}"


@pytest.mark.parametrize("kind", ["missing", "pipe", "folder", "barred"])
def test_a_configuration_that_cannot_be_read_is_status_2_at_once(
    kind: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "esewatch.yml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "barred":
        path.write_text("")
        monkeypatch.setattr(os, "access", lambda *_: False)
    assert main(["doctor", "--config.file", str(path)]) == 2
    assert kind != "pipe" or nobody_reads(path)
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.parametrize(
    ("path", "what"),
    [("gone.evtx", "nothing is there"), ("*.evt", "nothing is there"), ("logs", "is a folder")],
)
def test_a_path_that_leads_to_no_file_is_named_once(site: Site, path: str, what: str) -> None:
    site.configure(f"sources: [{{name: logs, type: evtx, path: '{path}'}}]\n")
    for _ in range(2):
        assert site.names() == ["path_matches_nothing"]
        found = site.named("path_matches_nothing")
        assert found["source"] == "logs"
        assert what in found["sentence"]
        site.ran()


def test_a_folder_that_is_not_there_is_told_beside_one_that_is(site: Site) -> None:
    site.write()
    paths = "['logs/*.evtx', 'none/*.evtx', 'gone/*/x.evtx', 'logs/*.none']"
    site.configure(f"sources: [{{name: logs, type: evtx, path: {paths}}}]\n")
    found = [each for each in site.doctor()[1] if each["problem"] == "path_matches_nothing"]
    assert [each["sentence"].split(":")[0] for each in found] == [
        f"{site.folder}/none/*.evtx",
    ]
    assert {each["command"] for each in found} == {f"ls -l {site.folder}"}


def test_a_pipe_in_the_place_of_a_log_is_not_opened(site: Site) -> None:
    os.mkfifo(site.logs / "x.csv")
    for kind in ("perfmon_csv", "event_stream", "evtx"):
        path = site.logs / "x.csv"
        site.configure(f"sources: [{{name: logs, type: {kind}, path: '{path}'}}]\n")
        assert "not a regular file" in site.named("path_matches_nothing")["sentence"]
        assert nobody_reads(path)


def test_a_window_and_counters_that_are_missing_come_with_what_mends_them(site: Site) -> None:
    site.configure("sources: [{name: logs, type: evtx, path: 'logs/*.evtx'}]\n")
    site.write()
    site.ran()
    assert site.names() == ["counters_missing", "window_unknown"]
    assert not site.named("device_unknown")["needs_person"]
    assert site.named("window_unknown")["database"] == "e:\\mdb06\\priv06.edb"
    assert site.named("counters_missing")["command"].startswith("logman create counter")


def test_hidden_counters_are_told_with_the_registry_command(site: Site) -> None:
    site.write_events()
    site.write_counters(
        columns=["\\\\EX01\\MSExchange Database ==> Instances(IS/SG06)\\Log Writes/sec"]
    )
    found = site.named("counters_hidden")
    assert found["computer"] == "ex01"
    assert found["command"].startswith("reg add")
    assert "Show Advanced Counters" in found["command"]


def test_counters_in_a_language_that_is_not_known_name_their_objects(site: Site) -> None:
    site.write_events()
    columns = ["\\\\EX01\\Base de données ==> Instances(IS/SG06)\\Pages lues/s"]
    site.write_counters(columns=columns)
    found = site.named("counters_foreign")
    assert found["source"] == "counters"
    assert "Base de données ==> Instances" in found["sentence"]
    assert "type: prometheus" in found["setting"]
    site.ran()
    assert site.named("counters_foreign")["source"] == "counters"


def test_a_counter_log_without_ese_comes_with_the_command_that_logs_it(site: Site) -> None:
    site.write_events()
    site.write_counters(columns=["\\\\EX01\\Memory\\Available Bytes"])
    found = site.named("counters_foreign")
    assert "(Memory)" in found["sentence"]
    assert found["command"].startswith("logman create counter")


@pytest.mark.parametrize(
    ("entry", "told"), [(READ, False), (Entry("EX01", "Memory", "", "Pages/sec", 0x10410400), True)]
)
def test_a_binary_counter_log_without_ese_comes_with_that_command_too(
    site: Site, entry: Entry, told: bool
) -> None:
    row = (NOON, [counted(NOON, 1)])
    write_log(site.folder / "perf.blg", [entry._replace(kind=SINGLE)], [row])
    site.configure("sources: [{name: counters, type: perfmon_blg, paths: ['perf.blg']}]\n")
    assert ("counters_foreign" in site.names()) == told
    if told:
        assert site.named("counters_foreign")["command"].startswith("logman create counter")


NTBACKUP = """\
Backup of "EX01\\Microsoft Information Store\\SG06"
Backup Type: Normal
Backup started on 6/21/2026 at 1:00 AM.
Backup completed on 6/21/2026 at 3:25 AM.
Bytes: 88,464,866,402
Time:  2 hours, 25 minutes, and  11 seconds
"""
CSV = 'TimeCreated,Id,ProviderName,MachineName,Message\n{},700,ESE,EX01,"{}"\n'
MESSAGE = (
    "Information Store (1234) SG06: Online defragmentation is beginning a full pass on "
    "database 'e:\\MDB06\\priv06.edb'."
)


@pytest.mark.parametrize(
    ("kind", "text", "naive"),
    [
        ("ntbackup_log", NTBACKUP, True),
        ("event_stream", CSV.format("2026-06-21 03:14:15", MESSAGE), True),
        ("event_stream", CSV.format("2026-06-21T03:14:15Z", MESSAGE), False),
        ("event_stream", CSV.format("2026-06-21T03:14:15+02:00", MESSAGE), False),
        ("sqlserver_errorlog", "2026-06-21 03:14:15.10 Server  Microsoft SQL Server 2019\n", True),
        (
            "sqlserver_errorlog",
            "2026-06-21 03:14:15.10 Server  UTC adjustment: 2:00\n",
            False,
        ),
        ("sqlserver_errorlog", "2026-06-21 03:14:15.10 Server  UTC-Anpassung: 2:00\n", False),
    ],
)
def test_local_times_without_a_zone_are_said_to_be_taken_for_utc(
    site: Site, kind: str, text: str, naive: bool
) -> None:
    (site.logs / "x.log").write_text(text)
    entry = f"name: local, type: {kind}, path: 'logs/x.log', computer: ex01"
    site.configure(f"sources: [{{{entry}}}]\n")
    found = [each for each in site.doctor()[1] if each["problem"] == "time_zone_assumed"]
    assert len(found) == int(naive)
    for each in found:
        assert each["source"] == "local"
        assert each["setting"].startswith("timezone: ")
    site.configure(f"sources: [{{{entry}, timezone: UTC}}]\n")
    assert "time_zone_assumed" not in site.names()


@pytest.mark.parametrize(
    ("date", "assumed"),
    [("5/1/2026", "month"), ("05-01-2026", "day"), ("5/13/2026", ""), ("05.01.2026", "")],
)
def test_dates_that_can_be_read_in_two_ways_are_said_to_be_assumed(
    site: Site, date: str, assumed: str
) -> None:
    (site.logs / "x.log").write_text(CSV.format(f"{date} 03:14:15Z", MESSAGE))
    entry = "name: local, type: event_stream, path: 'logs/x.log', computer: ex01"
    site.configure(f"sources: [{{{entry}}}]\n")
    found = [each for each in site.doctor()[1] if each["problem"] == "date_order_assumed"]
    assert [f"the {assumed} first" in each["sentence"] for each in found] == [True] * bool(assumed)
    for order in ("mdy", "dmy"):
        site.configure(f"sources: [{{{entry}, date_order: {order}}}]\n")
        assert "date_order_assumed" not in site.names()


@pytest.mark.parametrize("zone", ["", "(W. Europe Daylight Time)(-120)"])
def test_a_counter_log_tells_its_zone_or_is_taken_for_utc(site: Site, zone: str) -> None:
    site.write_counters(zone=zone)
    assert ("time_zone_assumed" in site.names()) == (not zone)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/New_York"])
def test_a_configured_zone_that_a_counter_log_contradicts_is_told(site: Site, zone: str) -> None:
    site.write_counters(zone="(W. Europe Daylight Time)(-120)")
    entry = "name: counters, type: perfmon_csv, path: 'logs/*.csv'"
    site.configure(f"sources: [{{{entry}, timezone: {zone}}}]\n")
    assert ("time_zone_contradicted" in site.names()) == (zone == "America/New_York")


def test_a_snapshot_that_was_never_there_is_told(site: Site) -> None:
    site.configure("sources: [{name: snap, type: page_scan, paths: ['snap/*.edb']}]\n")
    found = site.named("snapshot_never")
    assert str(site.folder / "snap") in found["sentence"]


@pytest.mark.parametrize(
    ("kind", "data", "what"),
    [
        ("perfmon_csv", b'"(PDH-BIN 4.0)' + bytes(4000), "relog"),
        ("event_stream", b"PK\x03\x04" + bytes(range(32)) * 100, "no text"),
        ("evtx", b"LfLe" + bytes(5000), "not a Windows event log"),
        ("sqlserver_errorlog", b"\xff\xfe" + bytes(range(256)) * 20, "no record"),
        ("ntbackup_log", b"\x1f\x8b\x08damaged", "damaged"),
    ],
)
def test_files_of_another_kind_are_told_and_stop_nothing(
    site: Site, kind: str, data: bytes, what: str
) -> None:
    (site.logs / "x.bin").write_bytes(data)
    entry = f"{{name: logs, type: {kind}, path: 'logs/x.bin', computer: ex01}}"
    site.configure(f"sources: [{entry}]\n")
    about = [each for each in site.doctor()[1] if each.get("source") == "logs"]
    assert any(what in each["sentence"] for each in about)
    site.ran()
    assert site.doctor()[0] == 1


def test_a_server_clock_ahead_is_told(site: Site) -> None:
    site.write_events(datetime.now(UTC) + 3 * HOUR)
    site.write_counters()
    assert site.named("clock_skew")["source"] == "logs"


def test_old_logs_are_a_silent_computer(site: Site) -> None:
    """Of ESE events alone after two weeks."""
    site.write_events(datetime.now(UTC) - 15 * DAY)
    site.write_counters()
    silent = site.named("computer_silent")
    assert (silent["computer"], silent["needs_person"]) == ("ex01", True)


def test_two_machines_of_one_short_name_are_told(site: Site) -> None:
    site.write()
    text = CSV.format("2026-06-21T03:14:15Z", MESSAGE).replace("EX01", "EX01.other.example")
    (site.logs / "other.txt").write_text(text)
    more = "  - {name: more, type: event_stream, path: 'logs/other.txt'}\n"
    site.configure(SOURCES + more, DATABASES)
    found = site.named("computer_ambiguous")
    assert found["computer"] == "ex01"
    assert "ex01.other.example and ex01.corp.example have one short name" in found["sentence"]


def test_an_endpoint_that_refuses_says_why(site: Site) -> None:
    url = f"http://{free_address()}/metrics"
    site.configure(f"sources: [{{name: ex01, type: prometheus, url: '{url}'}}]\n")
    for _ in range(2):
        found = site.named("source_down")
        assert found["sentence"] == f"{url}: Connection refused"
        assert found["command"] == "Start-Service windows_exporter"
        site.ran()


def test_a_source_that_the_daemon_has_not_taken_up_is_told(site: Site) -> None:
    site.write()
    with site.running() as address:
        changed = SOURCES.replace("logs/*.csv", "logs/c.csv")
        more = "  - {name: more, type: evtx, path: 'logs/*.evtx'}\n"
        site.configure(changed, more, DATABASES)
        found = [
            each
            for each in site.doctor("--web.address", address)[1]
            if each["problem"] == "source_not_taken_up"
        ]
    assert [each["source"] for each in found] == ["counters", "more"]
    assert "other settings" in found[0]["sentence"]
    reload = f"curl -X POST http://{address}/-/reload"
    assert {each["command"] for each in found} == {reload}


def test_a_journal_that_takes_too_long_is_not_called_damaged(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    site.write()
    site.ran()

    def slow(_: Path) -> None:
        raise TimeoutError("no answer within 20 s")

    monkeypatch.setattr(doctor, "journaled", slow)
    assert site.names() == ["path_hangs"]
    assert "no answer within 20 s" in site.named("path_hangs")["sentence"]


def test_where_no_daemon_runs_it_leaves_no_file_beside_the_journal(site: Site) -> None:
    site.write()
    site.ran()
    before = sorted(site.journal.parent.iterdir())
    assert [path.name for path in before] == ["journal.db", "journal.db.lock"]
    assert site.names() == []
    assert sorted(site.journal.parent.iterdir()) == before


def test_without_a_configuration_it_says_that_there_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = default_settings()
    nowhere = msgspec.structs.replace(settings, journal=str(tmp_path / "journal.db"))
    monkeypatch.setattr(doctor, "load_settings", lambda _: nowhere)
    assert main(["doctor", "--web.address", "127.0.0.1:1"]) == 1
    told = capsys.readouterr().out
    assert "nothing_configured" in told
    assert "checked no configuration (--config.file), the inputs" in told


def test_a_damaged_journal_is_told_and_left_as_it_is(site: Site) -> None:
    site.write()
    site.journal.parent.mkdir()
    site.journal.write_bytes(b"SQLite format 3\0" + bytes(5000))
    before = site.journal.read_bytes()
    assert site.names() == ["journal_damaged"]
    assert site.journal.read_bytes() == before


@pytest.mark.parametrize("kind", ["pipe", "folder"])
def test_a_journal_that_is_no_file_is_not_opened(site: Site, kind: str) -> None:
    site.write()
    site.journal.parent.mkdir()
    if kind == "pipe":
        os.mkfifo(site.journal)
    else:
        site.journal.mkdir()
    assert site.names() == ["journal_damaged"]
    assert kind != "pipe" or nobody_reads(site.journal)


def test_text_has_one_line_a_problem_and_no_control_characters(
    site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    site.configure("sources: [{name: logs, type: perfmon_csv, path: 'logs/*.csv'}]\n")
    site.write_counters(zone="", name="\x1b[31m\n.csv")
    status = main(["doctor", "--config.file", str(site.config), "--web.address", "127.0.0.1:1"])
    assert status == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [
        ["action", "daemon_silent"],
        ["action", "journal_missing"],
        ["action", "time_zone_assumed"],
    ]
    assert lines[-1].endswith(": 3 problems to fix")
    assert all(line.isprintable() for line in lines)


def test_every_object_has_the_keys_of_the_contract(site: Site) -> None:
    site.configure("sources: [{name: logs, type: evtx, path: 'logs/*.evtx'}]\n")
    site.write()
    _, found = site.doctor()
    assert len(found) > 3
    optional = {"source", "computer", "database", "command", "setting"}
    for each in found:
        assert set(each) - optional == {"problem", "sentence", "needs_person"}
        assert all(each[key] for key in set(each) & optional)
        json.dumps(each)


def test_a_look_that_hangs_is_left_behind() -> None:
    never = threading.Event()
    # Would it be waited for, it would have ended.
    found = look_all({"dead": lambda: never.wait(30), "good": lambda: 7}, 1.0)
    assert found.hanging == ["dead"]
    assert found.ended == {"good": 7}
    with pytest.raises(TimeoutError):
        within(0.05, never.wait)
    with pytest.raises(FileNotFoundError):
        within(5, Path("/no/such").stat)
    never.set()


def test_a_share_that_does_not_answer_is_named(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr("esewatch.cli.doctor.command.of_files", lambda *_: never.wait() and [])

    def look_soon(looks: Mapping[str, Callable[[], object]], seconds: float) -> Looks:
        return look_all(looks, 0.2 if "counters" in looks else seconds)

    monkeypatch.setattr("esewatch.cli.doctor.command.look_all", look_soon)
    site.write()
    found = [each for each in site.doctor()[1] if each["problem"] == "path_hangs"]
    never.set()
    assert sorted(each["source"] for each in found) == ["counters", "logs"]
