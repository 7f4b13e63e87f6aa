"""A record that names an ESE provider and gives no event is reported, and nothing else is."""

import json
from pathlib import Path

import pytest

from esewatch.cli import main
from esewatch.sources.logs.formats.unread import named_provider, sentence
from tests.sources.logs.formats.reading import TEXT_703, read

RECORDS = [
    "Hændelseskilde:\tESE\nHændelses-id:\tx\n",
    "Tapahtuman lähde: NTDS ISAM\n",
    "2026-03-02 10:00:00 ex01 ESENT: svchost (1234,R,0) words of no known event\n",
    "<Event><System><Provider Name='ESENT'/><Computer>A</Computer></System></Event>\n",
    '{"who":"ESENT","what":"474"}\n',
    '{"a":{"b":{"c":["NTDS ISAM", 1]}}}\n',
    "2026-03-02\t10:00\tADAM [one] ISAM\tbroken\n",
    "<?xml version='1.0'?><list><source>ESE</source><id>474</id></list>\n",
]
OTHERS = [
    "2026-03-02 10:00:00 dc01 4663: Object: C:\\Windows\\NTDS\\ntds.dit Process: lsass (612)\n",
    "2026-03-02 10:00:00 host app: ese archivo (1234) No existe\n",
    "The Extensible Storage Engine (ESE) is used by Exchange; ESE events say so.\n",
    "Source: MSExchangeIS\nEvent ID: 1221\nLevel: Information\nDescription: the engine [ESE] ran\n",
    '{"EventID": 4663, "SourceName": "Security", "Message": "ntds.dit was read by \\"ESE\\"."}\n',
    "<Event><System><Provider Name='Other'/><EventID>1</EventID></System>"
    "<EventData><Data>ESENT</Data></EventData></Event>\n",
]


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_that_names_ese_and_gives_no_event_is_told(record: str) -> None:
    fed = read(record)

    assert fed.records == []
    assert len(fed.unreadable) == 1, fed.unreadable


@pytest.mark.parametrize("record", OTHERS)
def test_what_only_speaks_of_ese_is_not_told(record: str) -> None:
    fed = read(record)

    assert (fed.records, fed.unreadable) == ([], [])


def test_the_exit_status_is_2_alone_and_1_beside_an_event(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "a.log"
    for command in (["events", str(path)], ["report", str(path), "-o", str(tmp_path / "r.html")]):
        path.write_text(RECORDS[0], encoding="utf-8")
        assert main(command) == 2
        told = capsys.readouterr().err
        assert f"{path}: line 1: {sentence('ESE')}" in told
        path.write_text(
            RECORDS[0] + f"\n2026-03-02 10:00:00 ESE 703: {TEXT_703}\n", encoding="utf-8"
        )
        assert main(command) == 1
        assert sentence("ESE") in capsys.readouterr().err


def test_the_providers_of_the_operator_are_told_too() -> None:
    record = json.dumps({"who": "MYAPP"})

    assert named_provider(record) == ""
    assert named_provider(record, ["MYAPP"]) == "MYAPP"
