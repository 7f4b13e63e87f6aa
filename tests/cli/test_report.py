"""`report` on a made-up farm: the advice of `advise`, as of the same moment."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import unquote

import pytest

from esewatch.cli import main
from esewatch.cli.inputs import report
from tests.expose.html import Page, assert_self_contained
from tests.support.edb import write_edb
from tests.support.evtx_writer import EvtxWriter
from tests.support.farm import build

NOW = datetime(2007, 6, 21, 12, tzinfo=UTC)


def test_the_page_shows_the_advice_as_of_the_last_record(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(tmp_path / "logs", NOW)
    config = tmp_path / "esewatch.yml"
    config.write_text(
        'windows: {nightly: {start: "01:00", duration: 4h}}\n'
        'databases: [{match: "*priv*.edb", window: nightly}]\n'
    )
    inputs = ["--config.file", str(config), str(tmp_path / "logs")]
    main(["advise", *inputs])
    out, err = capsys.readouterr()
    assert "SG06" in out
    moment = err.partition("ex01 as of its last record, ")[2].partition(" UTC")[0]

    main(["report", *inputs, "-o", str(tmp_path / "report.html")])
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"))

    assert_self_contained(page)
    for section, line in (("SG06", "shrink 4 h → 2 h 45 min"), ("SG07", "grow 4 h → 6 h 30 min")):
        _, _, rest = page.text.partition(f"{section} on ex01")
        facts, _, _ = rest.partition(f"Judged as of {moment}")
        assert f"Window advice {line}" in facts
        assert "it should have ended since the last record" in facts
        assert "done by" not in facts
    assert page.text.count("shrink 4 h → 2 h 45 min") == 2
    assert page.text.count("keep 4 h") == 2


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "ex01.evtx"
    with EvtxWriter(path) as writer:
        writer.write(700, ["MSExchangeIS", "3392", "SG06: ", "e:\\MDB06\\priv06.edb"], time=NOW)
    return path


def test_the_last_line_of_the_output_is_the_result(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["report", str(log), "-o", str(tmp_path / "report.html")])
    assert capsys.readouterr().out == "1 database: 1 not verified\n"
    main(["report", str(log), str(tmp_path / "x.evtx"), "-o", str(tmp_path / "report.html")])
    assert capsys.readouterr().out.endswith("; 1 input could not be read\n")


def test_a_file_that_no_report_wrote_is_not_replaced(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = log.read_bytes()
    for output in (log, Path(__file__)):
        assert main(["report", str(log), "-o", str(output)]) == 2
        said = f"esewatch: {output}: exists and is not from an earlier report: "
        assert capsys.readouterr().err.startswith(said)
    assert log.read_bytes() == before
    (tmp_path / "new.html").touch()
    for _ in range(2):
        assert main(["report", str(log), "-o", str(tmp_path / "new.html")]) == 0


def test_names_beyond_the_limit_are_told_by_report_and_advise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build(tmp_path / "logs", NOW)
    (tmp_path / "few.yml").write_text("max_databases: 1\n")
    inputs = ["--config.file", str(tmp_path / "few.yml"), str(tmp_path / "logs")]
    page = tmp_path / "report.html"
    for command in (["report", *inputs, "-o", str(page)], ["advise", *inputs]):
        assert main(command) == 1
        out, err = capsys.readouterr()
        assert "not taken in, as max_databases is reached" in err
        assert "there are only counters" not in err
        if command[0] == "report":
            assert out.endswith("; names beyond max_databases were not taken in\n")
    assert "not taken in, as max_databases is reached" in page.read_text(encoding="utf-8")


def test_databases_with_a_path_that_is_too_long_are_told_by_report_and_advise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strings = ["MSExchangeIS", "3392", "SG06: ", "e:\\" + "x" * 1100, "147456", "8192", "-1018"]
    found = {
        "TimeCreated": "2007-06-21T03:14:15Z",
        "MachineName": "EX01",
        "ProviderName": "ESE",
        "Id": 474,
        "Properties": [{"Value": each} for each in strings],
    }
    (tmp_path / "events.ndjson").write_text(json.dumps(found) + "\n")
    page = tmp_path / "report.html"
    inputs = [str(tmp_path / "events.ndjson")]
    for command in (["report", *inputs, "-o", str(page)], ["advise", *inputs]):
        assert main(command) == 1
        assert "as the path has more than 1,024 characters" in capsys.readouterr().err
    assert "as the path has more than 1,024 characters" in page.read_text(encoding="utf-8")


ONE_CLOSED, ALL_CLOSED = (">&-", "2>&-", "<&-"), ">&- 2>&- <&-"
OTHERS = ("config check", "scan EDB", "header EDB", "lab list")


@pytest.mark.parametrize(
    ("command", "closed"),
    [
        *(("events LOG", closed) for closed in (*ONE_CLOSED, ALL_CLOSED)),
        *((command, ALL_CLOSED) for command in OTHERS),
        *(
            pytest.param(command, closed, marks=pytest.mark.slow)
            for command in OTHERS
            for closed in ONE_CLOSED
        ),
    ],
)
def test_a_closed_stream_changes_no_exit_status_but_that_of_data_nobody_gets(
    command: str, closed: str, log: Path, tmp_path: Path
) -> None:
    edb = write_edb(tmp_path / "a.edb").path
    words = command.replace("LOG", str(log)).replace("EDB", str(edb))
    shell = f"{sys.executable} -m esewatch {words} {closed}"
    done = subprocess.run(shell, shell=True, capture_output=True, text=True, check=False)
    unwritten = ">&-" in closed.split()
    assert done.returncode == (2 if unwritten else 0)
    lost = "esewatch: standard output: Bad file descriptor\n"
    assert done.stderr == (lost if unwritten and "2>&-" not in closed else "")


@pytest.mark.parametrize("mistyped", ["none.evtx", "none/*.evtx", "empty"])
def test_a_mistyped_path_leaves_the_page_of_yesterday(
    mistyped: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    page = tmp_path / "report.html"
    page.write_text("of yesterday")
    assert main(["report", str(tmp_path / mistyped), "-o", str(page)]) == 2
    said = capsys.readouterr()
    assert (said.out, said.err.count("\n")) == ("", 1)
    assert page.read_text() == "of yesterday"


def test_logs_without_an_ese_record_are_no_good_news(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes.txt").write_text("nothing of a database\n")
    page = tmp_path / "report.html"
    assert main(["report", str(tmp_path / "notes.txt"), "-o", str(page)]) == 2
    out, err = capsys.readouterr()
    assert out == "not judged: no ESE database in 1 input (no ESE record)\n"
    assert "not judged: no ESE event is in what was read" in err
    assert "●" not in Page(page.read_text()).text


def test_an_output_that_cannot_be_written_is_said_before_anything_is_read(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for output in (tmp_path, tmp_path / "none" / "report.html"):
        assert main(["report", str(log), "-o", str(output)]) == 2
        said = capsys.readouterr().err
        assert "folder" in said
        assert "Errno" not in said
    assert sorted(tmp_path.iterdir()) == [log]


def test_details_are_a_page_for_each_database_that_the_report_leads_to(tmp_path: Path) -> None:
    build(tmp_path / "logs", NOW)
    folder = tmp_path / "the details"
    command = ["report", str(tmp_path / "logs"), "-o", str(tmp_path / "report.html")]
    for _ in range(2):  # the second replaces those of the first
        main([*command, "--details", str(folder)])
    page = Page((tmp_path / "report.html").read_text(encoding="utf-8"), at="")
    named = {unquote(url) for url in page.urls if url.startswith("the%20details/")}
    assert named == {f"the details/{each.name}" for each in folder.iterdir()}
    assert len(named) >= 2
    for name in named:
        detail = Page((tmp_path / name).read_text(encoding="utf-8"), at="")
        assert "../report.html" in detail.urls
        assert "Records" in detail.text
        assert {"script", "iframe", "form"}.isdisjoint(detail.names())


@pytest.mark.parametrize("name", ["20240131.evtx", "20240131.json", "2024.html"])
def test_details_delete_no_file_that_a_report_did_not_write(
    name: str, log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "of the user"
    folder.mkdir()
    (folder / name).write_text("<title>mine</title>")
    page = tmp_path / "report.html"
    assert main(["report", str(log), "-o", str(page), "--details", str(folder)]) == 2
    assert f"holds other files, such as {name}" in capsys.readouterr().err
    assert (folder / name).read_text() == "<title>mine</title>"


def test_a_report_through_a_link_is_made_beside_the_file_it_leads_to(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The link may lead to another file system, and a file cannot be moved over that border."""
    other = tmp_path / "other"
    other.mkdir()
    link = tmp_path / "report.html"
    link.symlink_to(other / "real.html")
    moved = list[Path]()
    replace = Path.replace

    def noted(made: Path, to: Path) -> Path:
        moved.append(made.parent.parent)
        return replace(made, to)

    monkeypatch.setattr(Path, "replace", noted)
    main(["report", str(log), "-o", str(link)])
    assert moved == [other]
    assert link.is_symlink()
    assert "<!doctype html>" in (other / "real.html").read_text(encoding="utf-8")


def test_a_link_to_a_folder_that_is_missing_is_refused_before_the_reading(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    link, missing = tmp_path / "report.html", tmp_path / "missing"
    link.symlink_to(missing / "real.html")
    monkeypatch.setattr(report, "state_of", lambda *_: pytest.fail("the logs are read"))
    assert main(["report", str(log), "-o", str(link)]) == 2
    said = capsys.readouterr().err
    assert said == f"esewatch: {link}: there is no folder {missing}: create it first\n"


def test_a_link_to_itself_is_replaced_by_the_report(log: Path, tmp_path: Path) -> None:
    link = tmp_path / "report.html"
    link.symlink_to(link)
    main(["report", str(log), "-o", str(link)])
    assert "<!doctype html>" in link.read_text(encoding="utf-8")


def test_details_never_take_the_place_of_other_files(
    log: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "report.html"
    assert main(["report", str(log), "-o", str(page), "--details", str(tmp_path)]) == 2
    assert "holds other files, such as ex01.evtx" in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == [log]


VERIFIED = [
    (717, ["e:\\MDB06\\priv06.edb"]),
    (721, ["e:\\MDB06\\priv06.edb", "06/21/2007", "208", "1", "1", "5850768", "0", "72682"]),
]
IO_ERROR = [
    "e:\\MDB06\\priv06.edb",
    "65536",
    "4096",
    "-1022",
    "21",
    "The device is not ready. ",
    "5",
]


@pytest.mark.parametrize(
    ("error", "strings", "result"),
    [
        (454, ["-501"], "1 refusing writes, or about to"),
        (482, IO_ERROR, "1 with other findings that need a person"),
    ],
)
def test_a_finding_that_needs_a_person_is_status_1_as_for_advise(
    error: int,
    strings: Sequence[str],
    result: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, page = tmp_path / "ex01.evtx", tmp_path / "report.html"
    for events, status in ((VERIFIED, 0), ([*VERIFIED, (error, strings)], 1)):
        with EvtxWriter(path) as writer:
            for hour, (event_id, of_event) in enumerate(events):
                told = ["MSExchangeIS", "3392", "SG06: ", *of_event]
                writer.write(event_id, told, time=NOW + timedelta(hours=hour))
        assert main(["advise", str(path)]) == status
        capsys.readouterr()
        assert main(["report", str(path), "-o", str(page)]) == status
    assert capsys.readouterr().out.splitlines()[-1] == f"1 database: {result}"


def test_errors_that_checkdb_left_are_the_result(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, page = tmp_path / "ERRORLOG", tmp_path / "report.html"
    log.write_text(
        "2026-06-21 02:00:00.00 spid52      DBCC CHECKDB (sales) executed by CONTOSO\\sql found 3"
        " errors and repaired 0 errors. Elapsed time: 0 hours 2 minutes 5 seconds.\n"
        "2026-06-21 03:00:00.00 spid52      DBCC CHECKDB (hr) executed by CONTOSO\\sql found 0"
        " errors and repaired 0 errors. Elapsed time: 0 hours 2 minutes 5 seconds.\n"
    )
    assert main(["report", "--computer", "sql01", str(log), "-o", str(page)]) == 1
    assert capsys.readouterr().out == (
        "2 databases of SQL Server: 1 with errors that CHECKDB left\n"
    )
    assert (
        "CHECKDB left errors in 1 of 2 databases of SQL Server: sales on sql01."
        in Page(page.read_text()).text
    )


def test_a_pass_that_ran_at_the_last_record_runs(log: Path, tmp_path: Path) -> None:
    main(["report", str(log), "-o", str(tmp_path / "report.html")])
    text = Page((tmp_path / "report.html").read_text()).text

    assert "no event since" not in text
    assert "running" in text


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_is_one_line_that_names_the_output(log: Path) -> None:
    command = [sys.executable, "-m", "esewatch"]
    full = Path("/dev/full")
    for words, named in (
        (["report", str(log), "-o", str(full)], "/dev/full"),
        (["events", str(log)], "standard output"),
        (["--version"], "standard output"),
        (["header", "--help"], "standard output"),
        (["lab", "list"], "standard output"),
        (["lab", "--help"], "standard output"),
    ):
        with full.open("w") as output:
            done = subprocess.run(
                [*command, *words], stdout=output, stderr=subprocess.PIPE, text=True, check=False
            )
        assert (done.returncode, done.stderr) == (
            2, f"esewatch: {named}: No space left on device\n",
        )  # fmt: skip


@pytest.mark.skipif(sys.platform == "win32", reason="others delete no folder in use")
def test_a_working_folder_that_is_gone_is_named(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    try:
        assert main(["report", str(log), "-o", "report.html"]) == 2
    finally:
        monkeypatch.undo()
    said = capsys.readouterr().err
    assert said == "esewatch: the working folder: No such file or directory\n"


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="this system has no /proc")
@pytest.mark.parametrize(("command", "name"), [("report", "x.html"), ("replay", "x.om")])
def test_a_folder_that_takes_no_file_is_told_with_the_name_of_the_output(
    log: Path, capsys: pytest.CaptureFixture[str], command: str, name: str
) -> None:
    assert main([command, str(log), "-o", f"/proc/{name}"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == f"esewatch: /proc/{name}: No such file or directory"


@pytest.mark.skipif(sys.platform == "win32", reason="other systems allow no such file names")
def test_details_in_a_folder_whose_name_is_no_text(log: Path, tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"d\xff")
    folder.mkdir()
    page = folder / "report.html"
    command = [
        "report",
        str(log),
        "-o",
        str(page),
        "--details",
        str(folder / os.fsdecode(b"e\xfe")),
    ]

    assert main(command) in {0, 1}
    assert "e%FE/0001.html" in page.read_text()


DIRECTORY = ("NTDS ISAM", ["NTDS", "612", "NTDSA: ", "1", "c:\\windows\\ntds\\ntds.dit"])
SEARCH = ("ESENT", ["svchost", "9", "Inst: ", "1", "c:\\ProgramData\\App\\app.edb"])
TEMPORARY = ("ESENT", ["svchost", "9", "W: ", "1", "c:\\Users\\a\\WebCache\\WebCacheV01.dat"])
OTHER = ("MSExchangeIS", ["nothing", "of", "ours"])


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (OTHER, (2, "not judged: no ESE event is in what was read. Export the log")),
        (SEARCH, (0, "not judged: the only database is of a kind that is not watched")),
        (TEMPORARY, (2, "(temporary and system ones are left out)")),
        (DIRECTORY, (0, "not verified: no verification of 1 watched database is known.")),
    ],
    ids=["none", "observed", "ignored", "unproven"],
)
@pytest.mark.parametrize("command", ["report", "advise"])
def test_nothing_judged_is_not_zero(
    command: str,
    of: tuple[str, list[str]],
    expected: tuple[int, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """semantics.md 5a: the exit status over no database, only observed and only unproven ones."""
    log, page = tmp_path / "a.evtx", tmp_path / "report.html"
    with EvtxWriter(log) as writer:
        writer.write(326, of[1], provider=of[0], time=NOW)
    output = ["-o", str(page)] if command == "report" else []
    assert main([command, str(log), *output]) == expected[0]
    out, err = capsys.readouterr()
    assert expected[1] in err
    assert "every watched one is verified" not in out
    if command == "report":
        text = Page(page.read_text(encoding="utf-8")).text
        assert "not judged – copies with bad pages or damage" in text
        assert "0 ● copies with bad pages" not in text
