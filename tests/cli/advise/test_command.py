"""`advise` on a made-up farm: the object of the contract, the table, and the exit status."""

import json
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from esewatch.cli import main
from esewatch.cli.advise.command import journaled
from esewatch.config import Settings
from esewatch.journal import Journal
from esewatch.model import EsewatchError
from tests.support.evtx_writer import EvtxWriter
from tests.support.records import event, folder_of
from tests.support.samples import sample

NOW = datetime(2007, 6, 21, 12, tzinfo=UTC)
DAY = 86400.0


def told(farm: Path, *options: str) -> list[str]:
    return ["advise", "--config.file", str(farm / "esewatch.yml"), *options, str(farm / "logs")]


def objects(text: str) -> dict[str, dict[str, Any]]:
    return {found["ese_instance"]: found for found in map(json.loads, text.splitlines())}


def test_advice_is_the_object_of_the_contract(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(told(farm, "--format", "json")) == 1
    found = objects(capsys.readouterr().out)

    assert list(found) == ["NTDSA", "SG06", "SG07", "SG08"]
    one = found["SG06"]
    assert list(one["forecast"]) == ["task", "p50", "p90", "deadline"]
    del one["forecast"], one["reasons"]
    assert one == {
        "computer": "ex01",
        "ese_instance": "SG06",
        "database": "e:\\mdb06\\priv06.edb",
        "tier": "watched",
        "model": "window",
        "action": "shrink",
        "configured_seconds": 14400,
        "recommended_seconds": 9900,
        "confidence": 1.0,
        "evidence": {
            "ratio": 161280000 / 1128960,
            "pages_read": 161_280_000,
            "pages_freed": 1_128_960,
            "windows": 28,
            "passes": 14,
            "counter_coverage": 1.0,
        },
        "as_of": "2007-06-20T23:55:00.000Z",
        "verdict": "ok",
        "findings": [],
        "verified": {"online_scan": "2007-06-20T03:21:00.000Z"},
    }


def test_the_farm_gets_the_advice_its_stories_ask_for(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(told(farm, "--format", "json"))
    found = objects(capsys.readouterr().out)

    actions = {name: each["action"] for name, each in found.items()}
    assert actions == {
        "NTDSA": "not_applicable",
        "SG06": "shrink",
        "SG07": "grow",
        "SG08": "keep",
    }
    assert found["SG07"]["recommended_seconds"] > 14400
    assert found["SG08"]["findings"] == [
        {
            "finding": "investigate",
            "sentence": "page 117234 of priv08.edb is bad (checksum, not correctable), first seen"
            " 20 June 2007 03:09 UTC; last clean online scan 19 June 2007 03:21 UTC",
            "severity": "critical",
            "since": "2007-06-20T03:09:00.000Z",
        }
    ]


def test_what_is_unknown_has_no_key(farm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(told(farm, "--format", "json"))
    controller = objects(capsys.readouterr().out)["NTDSA"]

    assert controller.keys() == {
        "computer", "ese_instance", "database", "tier", "model", "action", "confidence",
        "reasons", "as_of", "verdict", "findings", "forecast",
    }  # fmt: skip
    assert controller["forecast"] == {"task": "defrag", "deadline": "2007-06-22T07:30:00.000Z"}


def test_people_get_a_table_and_the_reasons(farm: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(told(farm)) == 1
    out, err = capsys.readouterr()
    head, *rows = out.split("\n\n")[0].splitlines()

    assert head.split() == [
        "DATABASE", "COMPUTER", "MODEL", "ACTION", "WINDOW", "CONFIDENCE",
        "VERIFIED", "FORECAST", "DEADLINE",
    ]  # fmt: skip
    cells = " ".join(rows[1].split())
    assert cells.startswith("SG06 ex01 window shrink 4 h → 2 h 45 min 100% 2007-06-20 online scan")
    assert "2007-06-19 online scan, 1 bad since" in " ".join(rows[3].split())
    assert "\n  Online defragmentation read 142.9 pages for each one freed" in out
    assert "\n  ! investigate: page 117234 of priv08.edb is bad (checksum, not correctable)" in out
    assert "expected to complete" not in out
    assert "rule:" not in out
    when, once = err.splitlines()
    said = "esewatch: dc01 and ex01 as of their last record, 2007-06-20 23:55 UTC, "
    assert re.fullmatch(re.escape(said) + r"\d+ years( \d+ months?)? ago", when)
    assert once.startswith(
        "esewatch: not verified: no verification is known for 1 directory (c:\\windows"
    )


def test_explained_every_figure_and_the_rule_is_shown(
    farm: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(told(farm, "--explain")) == 1
    out = capsys.readouterr().out

    for line in (
        "    rule: ratio_high\n",
        "    evidence: ratio 142.9, pages read 161,280,000, freed 1,128,960, windows 28, passes 14,"
        " days 28, counters cover 100%\n",
        "    rule: cycles\n",
        "    verified: 2007-06-20 03:21 UTC by the online scan\n",
        "    verification due 2007-06-27 03:21 UTC\n",
        "    state: verified; since the last verification 1 bad and 0 corrected pages\n",
    ):
        assert line in out


def journal_of(path: Path, *ids: int) -> Path:
    """A configuration whose journal has what these events say of one database."""
    folder = folder_of([event(each, place) for place, each in enumerate(ids)])
    journal = Journal(path / "journal.db")
    journal.commit(folder.state, folder.changed, {})
    journal.close()
    configuration = path / "esewatch.yml"
    configuration.write_text("journal: journal.db\n")
    return configuration


def test_without_inputs_the_journal_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = journal_of(tmp_path, 700)

    assert main(["advise", "--config.file", str(configuration), "--format", "json"]) == 1
    (found,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (found["database"], found["action"]) == (
        "e:\\mdb06\\priv06.edb",
        "insufficient_evidence",
    )
    findings = [each["finding"] for each in found["findings"]]
    assert findings == ["never_verified", "not_heard"]


def test_the_journal_is_read_while_a_daemon_has_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = journal_of(tmp_path, 700)
    running = Journal(tmp_path / "journal.db")
    more = folder_of([event(700, 0), event(700, 1, database="E:\\second.edb")])
    running.commit(more.state, more.changed, {})
    try:
        assert main(["advise", "--config.file", str(configuration), "--format", "json"]) == 1
    finally:
        running.close()
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_without_a_journal_one_line_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = tmp_path / "esewatch.yml"
    configuration.write_text("journal: none.db\n")

    assert main(["advise", "--config.file", str(configuration)]) == 2
    assert capsys.readouterr().err == (
        f"esewatch: {tmp_path / 'none.db'}: there is no journal: no agent has run with this"
        f" configuration yet; name inputs, or start esewatch run --config.file {configuration}\n"
    )
    with pytest.raises(EsewatchError) as told:
        journaled(Settings(journal="none.db"))
    named = "name inputs, or the configuration with --config.file F"
    assert str(told.value) == f"none.db: there is no journal; {named}"


def test_a_damaged_journal_is_named_and_not_touched(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configuration = tmp_path / "esewatch.yml"
    configuration.write_text("journal: journal.db\n")
    path = tmp_path / "journal.db"
    path.write_bytes(b"no journal at all" * 512)

    assert main(["advise", "--config.file", str(configuration)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"esewatch: {path}: the journal ")
    assert error.count("\n") == 1
    assert path.read_bytes() == b"no journal at all" * 512


def test_what_no_database_is_in_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    configuration = tmp_path / "esewatch.yml"
    configuration.write_text("journal: journal.db\n")
    Journal(tmp_path / "journal.db").close()

    assert main(["advise", "--config.file", str(configuration)]) == 2
    out, err = capsys.readouterr()
    assert out == "No database is known, so there is no advice.\n"
    assert "esewatch: not judged: no source of events or counters is configured." in err
    assert err.endswith("esewatch doctor\n")


def test_an_input_that_is_missing_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["advise", "/nowhere/Application.evtx"]) == 2
    assert "/nowhere/Application.evtx" in capsys.readouterr().err


def test_control_characters_do_not_reach_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = "E:\\\x1b[31mred.edb"
    folder = folder_of([event(700, 0, database=path)], settings=Settings())
    journal = Journal(tmp_path / "journal.db")
    journal.commit(folder.state, folder.changed, {})
    journal.close()
    (tmp_path / "esewatch.yml").write_text("journal: journal.db\n")

    main(["advise", "--explain", "--config.file", str(tmp_path / "esewatch.yml")])
    assert "\x1b" not in capsys.readouterr().out


def test_domain_controllers_of_the_samples_have_no_window(
    capsys: pytest.CaptureFixture[str],
) -> None:
    main(["advise", "--format", "json", str(sample("evtx"))])
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    assert len(found) > 3
    assert {each["action"] for each in found} == {"not_applicable"}
    assert all("evidence" not in each for each in found)


def test_a_directory_that_nothing_ever_verified_has_no_deadline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log, settings = tmp_path / "dc01.evtx", tmp_path / "esewatch.yml"
    directory = ["NTDS", "612", "NTDSA: ", "c:\\windows\\ntds\\ntds.dit"]
    with EvtxWriter(log) as written:
        for hours in range(240, 0, -12):
            written.write(700, directory, provider="NTDS ISAM", time=NOW - timedelta(hours=hours))
    main(["advise", "--explain", str(log)])
    assert "verification deadline: none" in capsys.readouterr().out
    settings.write_text("policy: {verify_within: 35d}\n")
    main(["advise", "--explain", "--config.file", str(settings), str(log)])
    assert "verification deadline: 35 days, configured" in capsys.readouterr().out


@pytest.mark.parametrize("after", [2 * 3600, 8 * DAY])
def test_an_error_is_open_however_long_before_the_last_record_it_was_logged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], after: float
) -> None:
    of = ["MSExchangeIS", "3392", "SG06: "]
    halted = NOW.timestamp() - after
    with EvtxWriter(tmp_path / "ex01.evtx") as log:
        opened = datetime.fromtimestamp(halted - 3600, UTC)
        log.write(700, [*of, "e:\\MDB06\\priv06.edb"], time=opened)
        log.write(492, [*of, "e:\\MDB06\\"], time=datetime.fromtimestamp(halted, UTC), level=2)
        log.write(916, ["svchost", "1", "", "beta"], time=NOW)

    assert main(["advise", "--format", "json", str(tmp_path / "ex01.evtx")]) == 1
    (one,) = map(json.loads, capsys.readouterr().out.splitlines())
    names = [each["finding"] for each in one["findings"]]
    assert "writes_at_risk" in names


def test_a_bad_page_of_an_ignored_database_is_wrong_data_as_in_a_report(tmp_path: Path) -> None:
    of = ["MSExchangeIS", "3392", "SG06: "]
    with EvtxWriter(tmp_path / "ex01.evtx") as log:
        log.write(700, [*of, "e:\\MDB06\\priv06.edb"], time=NOW)
        bad = ("8192", "8192", "-1018 (0xfffffc06)", "[1]", "[2]", "7 (0x7)")
        log.write(474, [*of, "e:\\MDB06\\old.edb", *bad], time=NOW, level=2)
    settings = tmp_path / "esewatch.yml"
    settings.write_text("databases: [{match: '*old.edb', tier: ignored}]\n")
    given = ["--config.file", str(settings), str(tmp_path / "ex01.evtx")]

    assert main(["report", *given, "-o", str(tmp_path / "report.html")]) == 1
    assert main(["advise", *given]) == 1
