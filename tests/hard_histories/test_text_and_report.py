"""Text and report: logs that people bring, in their own language and half complete."""

import html
import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.hard_histories import MONDAY, numbered, old_store, run
from tests.oracle.files import json_line, stamp, write_json
from tests.oracle.history import DAY

STORE = old_store()
DIRECTORY = r"C:\Windows\NTDS\ntds.dit"
GERMAN = {
    700: f"Die Onlinedefragmentierung beginnt mit einem vollständigen Durchlauf der Datenbank "
    f"'{DIRECTORY}'.",
    701: f"Die Onlinedefragmentierung hat einen vollständigen Durchlauf der Datenbank "
    f"'{DIRECTORY}' beendet und dabei 40 Seiten freigegeben. Dieser Durchlauf begann am "
    "15.01.2024 und dauerte insgesamt 5 Sekunden, mit 1 Aufrufen an 1 Tagen. Seit die Datenbank "
    "erstellt wurde, ist sie 14-mal vollständig defragmentiert worden.",
    447: "Eine ungültige Seitenverknüpfung (Fehler -338) wurde in einer B-Struktur "
    f"(Objekt-ID: 12, PgnoRoot: 34) der Datenbank {DIRECTORY} (123 => 456, 789) gefunden.",
    467: f"Datenbank {DIRECTORY}: Der Index PDNT_index der Tabelle datatable ist beschädigt (0).",
}


def message(event_id: int) -> str:
    """The text as the German console shows it."""
    return f"NTDS (500) NTDSA: {GERMAN[event_id]}"


DAMAGE = [(MONDAY + place, each, message(each)) for place, each in enumerate(GERMAN, start=1)]


def rendered(kind: str, told: Sequence[tuple[float, int, str]] = DAMAGE) -> str:
    """Events as text of this kind: time, id and text of each."""
    lines = []
    record: dict[str, object]
    if kind == "csv":
        lines.append("Ebene,Datum und Uhrzeit,Quelle,Ereignis-ID,Aufgabenkategorie")
    for place, (at, event_id, text) in enumerate(told, start=1):
        serious = event_id < 500
        moment = stamp(at)
        local = f"{datetime.fromtimestamp(at, UTC):%d.%m.%Y %H:%M:%S}"
        if kind == "csv":
            level = "Fehler" if serious else "Informationen"
            lines.append(f'{level},{local},NTDS ISAM,{event_id},Onlinedefragmentierung,"{text}"')
        elif kind == "list":
            lines += [
                f"TimeCreated  : {local}",
                "ProviderName : NTDS ISAM",
                f"Id           : {event_id}",
                f"Message      : {text}",
                "",
            ]
        elif kind == "beats":
            record = {
                "@timestamp": moment,
                "winlog": {
                    "channel": "Directory Service",
                    "computer_name": "DC01",
                    "event_id": event_id,
                    "record_id": place,
                    "provider_name": "NTDS ISAM",
                },
                "log": {"level": "error" if serious else "information"},
                "message": text,
            }
            lines.append(json.dumps(record))
        else:
            record = {
                "Id": event_id,
                "ProviderName": "NTDS ISAM",
                "LogName": "Directory Service",
                "RecordId": place,
                "MachineName": "DC01",
                "TimeCreated": moment,
                "Level": 2 if serious else 4,
                "Message": text,
            }
            lines.append(json.dumps(record))
    return "\n".join(lines) + "\n"


KINDS = ["csv", "list", "beats", "powershell"]


@pytest.mark.parametrize("kind", KINDS)
def test_german_text_names_its_database(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "events.txt"
    path.write_text(rendered(kind))
    told = run("events", "--format", "json", "--computer", "dc01", path)
    events = [json.loads(line) for line in told.out.splitlines()]
    assert [(event["event_id"], event.get("database")) for event in events] == [
        (event_id, DIRECTORY) for event_id in GERMAN
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_damage_told_in_german_is_known(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "events.txt"
    path.write_text(rendered(kind))
    told = run("advise", "--format", "json", "--computer", "dc01", "--date-order", "dmy", path)
    answers = [json.loads(line) for line in told.out.splitlines()]
    assert [(one["computer"], one["database"], one["model"]) for one in answers] == [
        ("dc01", DIRECTORY.lower(), "garbage_collection")
    ]
    findings = {finding["finding"] for finding in answers[0]["findings"]}
    assert findings >= {"investigate", "logical_damage"}
    assert told.status == 1


HIDDEN_SCANS = {
    717: "Onlinewartung: die Prüfsummen der Datenbank „{}“ werden nun gelesen.",
    718: "Onlinewartung: die Seiten der Datenbank „{}“ werden nun gelöscht.",
    736: "Die Wartung der Datenbank „{}“ beginnt.",
    721: "Onlinewartung: Datenbank „{}“ ist fertig. 5.850 Seiten gesehen, 0 falsche Prüfsummen.",
    722: "Onlinewartung: Datenbank „{}“ ist gelöscht. 5.850 Seiten gesehen, 0 falsche Prüfsummen.",
    732: "Die Datenbank „{}“ wurde gelesen: in 9.000 Sekunden 5.850 Seiten.",
    735: "Die Wartung der Datenbank „{}“ hat zu lange gedauert: 700.000 Sekunden.",
    737: "Die Wartung der Datenbank „{}“ ist fertig: 5.850 Seiten.",
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scan", [(717, 721), (718, 722), (717, 732), (736, 735), (736, 737)])
def test_a_scan_in_unknown_words_neither_verifies_nor_is_missing(
    tmp_path: Path, scan: tuple[int, int], kind: str
) -> None:
    def told(days: float, event_id: int, text: str) -> tuple[float, int, str]:
        return MONDAY + days * DAY, event_id, f"Informationsspeicher (50) SG1: {text}"

    words = HIDDEN_SCANS[scan[0]].format(DIRECTORY), HIDDEN_SCANS[scan[1]].format(DIRECTORY)
    other = GERMAN[700]
    events = [
        told(0, 700, other), told(20, scan[0], words[0]), told(20.5, scan[1], words[1]),
        told(22, 700, other),
    ]  # fmt: skip
    path = tmp_path / "events.txt"
    path.write_text(rendered(kind, events))
    said = run("advise", "--format", "json", "--computer", "dc01", path)
    (one,) = [json.loads(line) for line in said.out.splitlines()]
    findings = {each["finding"]: each["sentence"] for each in one["findings"]}
    assert "a scan completed on 2024-02-04 12:00" in findings["verification_unreadable"]
    assert not findings.keys() & {"never_verified", "verification_overdue", "investigate"}
    assert (one.get("verified"), said.status) == (None, 1)


def page(folder: Path, source: Path) -> tuple[int, str, str]:
    """The report of a file: status, its text, and what was said beside it but for the folder."""
    output = folder / "out.html"
    told = run("report", source, "-o", output)
    text = output.read_text() if output.exists() else ""
    text = re.sub(r"(?s)<(script|style).*?</\1>", "", text)
    text = html.unescape(re.sub(r"<[^>]+>", " ", text))
    return told.status, " ".join(text.split()), told.err.replace(str(folder), "")


START = (
    "MSExchangeIS (3392) SG01: Online defragmentation is beginning a full pass on database "
    r"'F:\SG01\priv01.edb'."
)


def timeless(kind: str) -> str:
    """An event of which nobody wrote down when it was."""
    if kind == "dump":
        record = json.loads(json_line(numbered([STORE.defrag_start(MONDAY)])[0]))
        del record["Event"]["System"]["TimeCreated"]
        return json.dumps(record) + "\n"
    if kind == "list":
        return f"ProviderName : ESE\nId           : 700\nMessage      : {START}\n\n"
    if kind == "csv":
        return (
            "Level,Date and Time,Source,Event ID,Task Category\n"
            f'Information,,ESE,700,Online Defragmentation,"{START}"\n'
        )
    return START + "\n"


@pytest.mark.parametrize("kind", ["dump", "list", "csv", "lines"])
def test_a_report_of_events_without_a_time_says_that_the_time_is_missing(
    tmp_path: Path, kind: str
) -> None:
    path = tmp_path / "events.log"
    path.write_text(timeless(kind))
    status, text, beside = page(tmp_path, path)
    assert "no ESE database" not in text
    assert re.search(r"\btimes?\b", beside)
    assert status != 0


def test_a_completion_that_stands_alone_is_an_end(tmp_path: Path) -> None:
    strings = ("42794", "1/10/2024", "124919", "7", "4", "14", "73")
    event = STORE.log(MONDAY, 703, STORE.database, *strings)
    path = write_json(tmp_path / "events.jsonl", numbered([event]))
    told = run("advise", "--format", "json", path)
    reasons = " ".join(json.loads(told.out)["reasons"])
    assert "no start or end" not in reasons.lower()
    _, text, _ = page(tmp_path, path)
    assert "no start or end" not in text.lower()
    assert "42,794" in text


SETS = [
    ("First", "88,464,866,402", "2 hours, 25 minutes, and 11 seconds", "8:00 PM", "10:25 PM"),
    ("Second", "65,702,308,386", "2 hours, 33 minutes, and 13 seconds", "10:26 PM", "12:59 AM"),
    ("Third", "72,598,333,186", "4 hours, 3 minutes, and 20 seconds", "1:00 AM", "5:03 AM"),
    ("Fourth", "56,771,193,418", "4 hours, 9 minutes, and 30 seconds", "5:04 AM", "9:14 AM"),
]


def backup_log(path: Path) -> Path:
    """A log of NTBACKUP whose sets become slower and slower."""
    lines = ["Backup Status", "Operation: Backup", "Active backup destination: File", ""]
    for place, (name, size, duration, start, end) in enumerate(SETS, start=1):
        begun = "1/13/2024" if place < 3 else "1/14/2024"
        ended = "1/13/2024" if place < 2 else "1/14/2024"
        lines += [
            f'Backup of "EX01\\Microsoft Information Store\\{name} Storage Group"',
            f"Backup set #{place} on media #1",
            'Backup description: "Set created 1/13/2024 at 8:00 PM"',
            'Media name: "Media created 1/13/2024 at 8:00 PM"',
            "",
            "Backup Type: Normal",
            "",
            f"Backup started on {begun} at {start}.",
            f"Backup completed on {ended} at {end}.",
            "Directories: 3",
            "Files: 2",
            f"Bytes: {size}",
            f"Time:  {duration}",
            "",
        ]
    path.write_text("\r\n".join(lines))
    return path


def test_a_report_of_a_log_of_ntbackup_shows_its_backups(tmp_path: Path) -> None:
    status, text, _ = page(tmp_path, backup_log(tmp_path / "backup01.log"))
    assert "no ESE database" not in text
    for name, *_ in SETS:
        assert f"{name} Storage Group" in text
    assert status != 2


def test_advice_on_a_log_of_ntbackup_tells_that_its_sets_become_slower(tmp_path: Path) -> None:
    path = backup_log(tmp_path / "backup01.log")
    told = run("advise", "--format", "json", path)
    findings = [
        finding["finding"]
        for line in told.out.splitlines()
        for finding in json.loads(line)["findings"]
    ]
    assert [name for name in findings if name.startswith("backup_slow")]


def test_the_slowdown_of_a_log_of_ntbackup_is_in_its_replay(tmp_path: Path) -> None:
    path = backup_log(tmp_path / "backup01.log")
    words = ("--match", "ese_backup.*", "--step", "1d", "-o", tmp_path / "out.om")
    assert run("replay", path, *words).status == 0
    lines = [line for file in tmp_path.glob("*.om") for line in file.read_text().splitlines()]
    sizes = {line.split(" ")[-2] for line in lines if line.startswith("ese_backup_set_bytes_total")}
    assert sizes == {size.replace(",", "") for _, size, *_ in SETS}


@pytest.mark.parametrize("kind", ["csv", "list"])
def test_times_that_are_taken_for_utc_are_told_once_by_every_command(
    tmp_path: Path, kind: str
) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    for name, year in (("a.txt", "2022"), ("b.txt", "2023"), ("c.txt", "2024")):
        (folder / name).write_text(rendered(kind).replace("2024", year))
    for words in (["events"], ["advise"], ["report", "-o", tmp_path / "out.html"]):
        asked = [*words, "--computer", "dc01", "--date-order", "dmy", folder]
        assert run(*asked).err.count("a.txt and 2 more files name no zone") == 1
        assert run(*asked, "--timezone", "UTC").err.count("name no zone") == 0
    assert "name no zone" in page(tmp_path, folder)[1]
