import gzip
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest

from esewatch.config import NtbackupLogs, Settings
from esewatch.fold.folder import Folder
from esewatch.fold.instances.backups import latest_jobs, slow_jobs
from esewatch.fold.state.state import State
from esewatch.model import Batch, SetBackedUp, Source, SourceError, Unreadable
from esewatch.sources.detect_input import kind_of
from esewatch.sources.registry import build_source
from tests.sources.followed import open_input
from tests.support.ntbackup_text import (
    AFTER,
    BEFORE,
    ENGLISH,
    EX01,
    FRENCH,
    GERMAN,
    PORTUGUESE,
    RULE,
    Words,
    head,
    job,
    one_set,
)

BEGIN = datetime(2007, 6, 21, 1, 0, tzinfo=UTC)
AT = BEGIN.timestamp()
HOUR = 3600.0
ONE = one_set(
    "SG1",
    "6/21/2007 at 1:00 AM",
    "6/21/2007 at 2:00 AM",
    "1,000",
    "1 hour, 0 minutes, and  0 seconds",
)
TWO = (
    ONE.replace("SG1", "SG2")
    .replace("2:00 AM", "3:00 AM")
    .replace("on 6/21/2007 at 1:", "on 6/21/2007 at 2:")
)


def write(path: Path, text: str, encoding: str = "utf-16") -> Path:
    path.write_bytes(text.replace("\n", "\r\n").encode(encoding))
    return path


_made: list[Source] = []


@pytest.fixture(autouse=True)
def _close_sources() -> Iterator[None]:
    yield
    while _made:
        _made.pop().close()


def source(*paths: Path, **changes: Any) -> Source:
    entry = NtbackupLogs(type="ntbackup_log", name="log", paths=list(map(str, paths)), **changes)
    made = build_source(entry, Settings())
    _made.append(made)
    return made


def batches(of: Source, *, final: bool = True) -> list[Batch]:
    return list(of.poll(final=final))


def sets(found: list[Batch]) -> list[SetBackedUp]:
    records = [record for batch in found for record in batch.records]
    assert all(isinstance(record, SetBackedUp) for record in records)
    return [record for record in records if isinstance(record, SetBackedUp)]


def complaints(found: list[Batch]) -> list[Unreadable]:
    return [each for batch in found for each in batch.unreadable]


def read(path: Path, **changes: Any) -> tuple[list[SetBackedUp], list[str]]:
    found = batches(source(path, **changes))
    return sets(found), [each.reason for each in complaints(found)]


def test_the_published_job_is_read_to_the_byte_and_second(tmp_path: Path) -> None:
    path = write(
        tmp_path / "backup01.log", job(BEFORE, BEGIN) + job(AFTER, BEGIN + timedelta(days=1))
    )

    found, wrong = read(path)

    assert wrong == []
    assert [(each.ese_instance, each.bytes, each.seconds) for each in found] == [
        ("First Storage Group", 88464866402, 8711),
        ("Second Storage Group", 65702308386, 9193),
        ("Third Storage Group", 72598333186, 14600),
        ("Fourth Storage Group", 56771193418, 14970),
        ("First Storage Group", 93574712642, 6323),
        ("Second Storage Group", 69180499674, 4327),
        ("Third Storage Group", 79813847146, 5072),
        ("Fourth Storage Group", 58777312674, 3175),
    ]
    assert {(each.computer, each.kind) for each in found} == {("EX01", "ntbackup")}
    assert (found[0].started, found[0].time) == (AT, AT + 8700)


def test_the_published_job_slows_before_and_not_after(tmp_path: Path) -> None:
    path = write(
        tmp_path / "backup01.log", job(BEFORE, BEGIN) + job(AFTER, BEGIN + timedelta(days=1))
    )
    folder = Folder(State(), Settings())
    folder.open_source("log", AT)
    for batch in batches(source(path)):
        folder.fold("log", batch)

    before, after = latest_jobs(folder.state.hosts["ex01"].backup_sets, ())

    assert [round(rate / 1e6, 1) for rate in before.rates] == [10.2, 7.1, 5.0, 3.8]
    assert [round(rate / 1e6, 1) for rate in after.rates] == [14.8, 16.0, 15.7, 18.5]
    assert (round(before.ratio, 3), round(after.ratio, 3)) == (0.373, 1.251)
    assert slow_jobs([before, after]) == 1


@pytest.mark.parametrize(
    ("words", "encoding", "size", "took_and_kind"),
    [
        (ENGLISH, "utf-16-le", "1,234,567", ("1 hour, 0 minutes, and  5 seconds", "Normal")),
        (PORTUGUESE, "utf-16", "1.234.567", ("1 hora, 0 minutos e  5 segundos", "Normal")),
        (PORTUGUESE, "cp1252", "1.234.567", ("1 hora, 0 minutos e  5 segundos", "Cópia")),
        (GERMAN, "cp1252", "1.234.567", ("1 Stunde, 0 Minuten und  5 Sekunden", "Normal")),
        (GERMAN, "utf-8", "1.234.567", ("1 Stunde, 0 Minuten und  5 Sekunden", "Kopie")),
        (FRENCH, "cp1252", "1\u00a0234\u00a0567", ("1 heure, 0 minutes et  5 secondes", "Normale")),
        (
            FRENCH,
            "utf-16-le",
            "1\u00a0234\u00a0567",
            ("1 heure, 0 minutes et  5 secondes", "Copie"),
        ),
    ],
)
def test_several_languages_and_encodings_say_the_same(
    tmp_path: Path, words: Words, encoding: str, size: str, took_and_kind: tuple[str, str]
) -> None:
    took, kind = took_and_kind
    started = BEGIN.strftime(words.clock)
    ended = (BEGIN + timedelta(hours=1)).strftime(words.clock)
    text = head(words) + one_set("SG1", started, ended, size, took, words=words, kind=kind)

    found, wrong = read(write(tmp_path / "a.log", text, encoding))

    assert wrong == []
    assert [(each.ese_instance, each.bytes, each.seconds) for each in found] == [
        ("SG1", 1234567, 3605)
    ]
    assert (found[0].started, found[0].time, found[0].kind) == (AT, AT + HOUR, "ntbackup")


def test_a_name_in_another_code_page_needs_the_encoding(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", head() + ONE.replace("SG1", "Größe"), "cp850")

    assert [each.ese_instance for each in read(path, encoding="cp850")[0]] == ["Größe"]
    assert [each.ese_instance for each in read(path)[0]] != ["Größe"]


def test_times_are_of_the_configured_zone(tmp_path: Path) -> None:
    (found,) = read(write(tmp_path / "a.log", head() + ONE), timezone="Europe/Lisbon")[0]

    assert (found.started, found.time) == (AT - HOUR, AT)


def test_a_clock_of_24_hours_has_the_day_first(tmp_path: Path) -> None:
    took = "1 hora, 0 minutos e  0 segundos"
    text = one_set("SG1", "05/06/2007 às 01:00", "05/06/2007 às 02:00", "5", took, words=PORTUGUESE)
    path = write(tmp_path / "a.log", text)
    june, may = (datetime(2007, *day, 1, tzinfo=UTC).timestamp() for day in ((6, 5), (5, 6)))

    assert [each.started for each in read(path)[0]] == [june]
    assert [each.started for each in read(path, date_order="mdy")[0]] == [may]


def test_twelve_hours_have_the_month_first_unless_it_is_told_or_proven(tmp_path: Path) -> None:
    text = ONE.replace("6/21/2007", "6/5/2007")
    path = write(tmp_path / "a.log", text)
    later = write(tmp_path / "b.log", text + TWO.replace("6/21/2007", "21/6/2007"))
    june, may = (datetime(2007, *day, 1, tzinfo=UTC).timestamp() for day in ((6, 5), (5, 6)))

    assert [each.started for each in read(path)[0]] == [june]
    assert [each.started for each in read(path, date_order="dmy")[0]] == [may]
    assert read(later)[0][0].started == may


def test_a_date_of_the_wrong_order_does_not_fit_the_time_taken(tmp_path: Path) -> None:
    text = ONE.replace("on 6/21/2007 at 1:00", "on 6/7/2007 at 1:00").replace(
        "6/21/2007", "7/7/2007"
    )

    found, wrong = read(write(tmp_path / "a.log", text))

    assert found == []
    assert wrong == [
        f"{EX01}SG1: from 6/7/2007 1:00 AM to 7/7/2007 2:00 AM is not the 3,600 s that it took: "
        "set date_order"
    ]


def test_an_incremental_backup_is_a_kind_of_its_own(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", ONE.replace("Normal", "Incremental") + TWO)

    assert [each.kind for each in read(path)[0]] == ["ntbackup_logs", "ntbackup"]


def test_a_backup_that_is_not_whole_does_not_count(tmp_path: Path) -> None:
    trouble = (
        'WARNING: Portions of "\\Log Files" cannot be read. The data is corrupt or incomplete.'
    )
    bad = one_set(
        "SG1",
        "6/21/2007 at 1:00 AM",
        "6/21/2007 at 1:10 AM",
        "5",
        "10 minutes and  0 seconds",
        trouble=trouble,
    )
    path = write(tmp_path / "a.log", head() + bad + TWO)

    found, wrong = read(path)

    assert [each.ese_instance for each in found] == ["SG2"]
    assert wrong == [f"the backup of {EX01}SG1 is incomplete: {trouble}"]


def test_files_verifications_and_restores_are_no_backups_of_storage_groups(tmp_path: Path) -> None:
    others = [
        ONE.replace(f"{EX01}SG1", name) for name in ("C: System", "System State", "\\\\fs\\a")
    ]
    verified = ONE.replace("Backup of", "Verify of").replace("Bytes", "Different: 0\nBytes")
    path = write(tmp_path / "a.log", head() + "".join(others) + RULE + verified + TWO)

    found, wrong = read(path)

    assert ([each.ese_instance for each in found], wrong) == (["SG2"], [])


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("Bytes: 1,000", f"the backup of {EX01}SG1 copied nothing"),
        (
            ": 1,000",
            f"the backup of {EX01}SG1 does not have its number of bytes in a form that can be read",
        ),
        ("Backup of", f"the backup of {EX01}SG1 is in a language that is not known"),
        ("Backup completed on", f"{EX01}SG1: start, end or duration of the backup cannot be read"),
        ("Time:  1 hour", f"{EX01}SG1: start, end or duration of the backup cannot be read"),
        ("6/21/2007 at 2:00", f"{EX01}SG1: the time '13/33/2007 2:00 AM' cannot be read"),
    ],
)
def test_what_is_damaged_is_told_in_one_line(tmp_path: Path, line: str, reason: str) -> None:
    other = {
        "Bytes: 1,000": "Bytes: 0",
        ": 1,000": ": 1,000.5",
        "Backup of": "Kuharu za",
        "Backup completed on": "99",
        "Time:  1 hour": "Time:  9999999 hours",
        "6/21/2007 at 2:00": "13/33/2007 at 2:00",
    }[line]
    assert line in ONE

    assert read(write(tmp_path / "a.log", ONE.replace(line, other))) == ([], [reason])


def test_a_set_that_does_not_end_is_told_when_the_next_begins(tmp_path: Path) -> None:
    half = ONE[: ONE.index("Directories")]
    path = write(tmp_path / "a.log", head() + half)
    reader = source(path)
    assert complaints(batches(reader)) == []

    write(path, head() + half + TWO)
    found = batches(reader)

    assert [each.ese_instance for each in sets(found)] == ["SG2"]
    assert [str(each) for each in complaints(found)] == [
        f"{path}: line 13: the backup of {EX01}SG1 does not end"
    ]


def test_a_log_that_grows_is_read_on_in_the_middle_of_a_set(tmp_path: Path) -> None:
    text = head() + ONE + TWO
    path = tmp_path / "a.log"
    whole = sets(batches(source(write(tmp_path / "whole", text))))
    found: list[SetBackedUp] = []
    positions: dict[str, bytes] = {}
    for size in range(0, len(text) + 40, 40):
        write(path, text[:size])
        reader = source(path)
        reader.restore(positions)
        for batch in batches(reader, final=False):
            found += sets([batch])
            for key, position in batch.positions.items():
                if position is None:
                    positions.pop(key, None)
                else:
                    positions[key] = position
        reader.close()

    assert found == whole
    assert len(found) == 2


def test_a_log_that_was_renamed_copied_and_written_over_counts_once(tmp_path: Path) -> None:
    first = write(tmp_path / "backup01.log", head() + ONE)
    folder = Folder(State(), Settings())
    folder.open_source("log", AT)
    reader = source(tmp_path / "backup*.log")

    def total() -> tuple[float, int]:
        for batch in batches(reader, final=False):
            folder.fold("log", batch)
        kept = [each.backup_sets for each in folder.state.instances.values()]
        return sum(each["ntbackup"].bytes_total for each in kept), folder.state.sources[
            "log"
        ].records

    assert total() == (1000, 1)
    first.rename(tmp_path / "backup02.log")
    write(first, head() + TWO)
    assert total() == (2000, 2)
    write(tmp_path / "backup03.log", head() + ONE + TWO)
    assert total()[0] == 2000
    assert folder.state.sources["log"].duplicates == 1  # what it begins with is not read again
    write(first, head() + ONE.replace("SG1", "SG3"))
    assert total()[0] == 3000


def test_jobs_are_told_apart_by_the_line_between_them_or_by_their_times(tmp_path: Path) -> None:
    later = TWO.replace("SG2", "SG3").replace("2:00 AM", "6:00 AM").replace("3:00 AM", "7:00 AM")

    def jobs(text: str) -> list[str]:
        return [each.job for each in read(write(tmp_path / "a.log", text))[0]]

    one, two = jobs(ONE + TWO)
    assert one == two
    assert len(set(jobs(ONE + RULE + TWO))) == 2
    assert len(set(jobs(ONE + later))) == 2
    between = TWO.replace(f"{EX01}SG2", "C: System").replace("2:00", "X").replace("X", "2:00")
    third = later.replace("6:00", "3:00").replace("7:00", "4:00")
    assert len(set(jobs(ONE + between + third))) == 1


def test_the_configured_computer_stands_in_for_the_one_in_the_log(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", head() + ONE)
    entry = NtbackupLogs(
        type="ntbackup_log", name="n", paths=[str(path)], computer="node1", encoding="cp1252"
    )
    reader = build_source(entry, Settings())
    _made.append(reader)

    assert [each.computer for each in sets(batches(reader))] == ["node1"]
    assert [each.computer for each in read(path)[0]] == ["EX01"]


def test_it_is_known_by_its_content_also_compressed(tmp_path: Path) -> None:
    text = head(GERMAN) + one_set(
        "SG1",
        "21.06.2007 um 01:00",
        "21.06.2007 um 02:00",
        "5",
        "1 Stunde, 0 Minuten und  0 Sekunden",
        words=GERMAN,
    )
    plain = write(tmp_path / "a", text, "cp1252")
    packed = tmp_path / "b"
    packed.write_bytes(gzip.compress(write(tmp_path / "c", text).read_bytes()))

    for path in (plain, packed):
        assert kind_of(str(path)) == "ntbackup_log"
        reader = open_input(str(path))
        _made.append(reader)
        assert [each.bytes for each in sets(batches(reader))] == [5]


def test_an_unknown_time_zone_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="time zone 'Mars' is not known here"):
        source(tmp_path, timezone="Mars")


def test_lines_without_an_end_and_noise_are_passed_over(tmp_path: Path) -> None:
    noise = "x" * 10_000 + "\n" + '"' * 500 + "\n"
    found, wrong = read(write(tmp_path / "a.log", head() + noise + ONE + noise + TWO))

    assert ([each.ese_instance for each in found], wrong) == (["SG1", "SG2"], [])


def test_a_saved_position_stays_small(tmp_path: Path) -> None:
    text = head() + "".join(ONE.replace("SG1", "S" * 250 + str(at)) for at in range(50))
    found = batches(source(write(tmp_path / "a.log", text[:-120])))

    kept = [position for batch in found for position in batch.positions.values() if position]
    assert max(map(len, kept)) < 4096
    assert msgspec.msgpack.decode(kept[-1])
