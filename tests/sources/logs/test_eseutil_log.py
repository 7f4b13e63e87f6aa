import gzip
import os
from pathlib import Path

import pytest

from esewatch.config import EseutilLogs, Settings
from esewatch.ese.programs.eseutil import INTEGRITY
from esewatch.model import Batch, CopyChecked, HeaderSeen, Record, SourceError, Unreadable
from esewatch.sources.files import file_search
from esewatch.sources.logs import eseutil_log
from esewatch.sources.logs.eseutil_log import ABANDONED_SECONDS, MAX_BYTES, EseutilLogSource
from esewatch.sources.registry import build_source
from tests.support.eseutil_text import (
    check,
    check_begin,
    ended,
    header,
    summary,
    terminated,
)
from tests.support.samples import sample

NOW = 1_700_000_000.0
HOUR = 3600.0


def known(batches: list[Batch]) -> list[CopyChecked | HeaderSeen]:
    """The records of the batches; there are no others than these two."""
    records = [record for batch in batches for record in batch.records]
    found = [record for record in records if isinstance(record, CopyChecked | HeaderSeen)]
    assert len(found) == len(records)
    return found


class Log:
    """A file that eseutil writes to, a clock, and a source that reads it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.now = NOW
        self.positions: dict[str, bytes] = {}
        self.unreadable: list[Unreadable] = []
        self.source = self.start()

    def start(self, **options: str) -> EseutilLogSource:
        """The source, as it begins after a restart of the agent."""
        self.source = EseutilLogSource(
            "checks",
            [str(self.path.parent / "*.log*")],
            computer="EX01",
            clock=lambda: self.now,
            **options,
        )
        self.source.restore(self.positions)
        return self.source

    def write(self, text: str | bytes, *, path: Path | None = None) -> None:
        """Replace the content; it was last written now."""
        data = text if isinstance(text, bytes) else text.encode()
        (path or self.path).write_bytes(data)
        os.utime(path or self.path, (self.now, self.now))

    def append(self, text: str) -> None:
        self.write(self.path.read_bytes() + text.encode())

    def poll(self, *, final: bool = False) -> list[CopyChecked | HeaderSeen]:
        batches: list[Batch] = list(self.source.poll(final=final))
        assert batches[-1].caught_up
        for batch in batches:
            for key, value in batch.positions.items():
                if value is None:
                    self.positions.pop(key, None)
                else:
                    self.positions[key] = value
        self.unreadable = [piece for batch in batches for piece in batch.unreadable]
        return known(batches)

    def reasons(self) -> list[str]:
        return [piece.reason for piece in self.unreadable]


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "check.log")


def test_a_clean_check_has_the_time_of_its_start_and_the_computer_of_the_source(log: Log) -> None:
    log.write(check(seconds=2 * HOUR))
    assert log.poll() == [
        CopyChecked(
            time=NOW - 2 * HOUR,
            computer="EX01",
            database="e:\\MDB06\\priv06.edb",
            by="external",
            complete=True,
            pages_seen=1024,
            bad=0,
            uninitialized=7,
        )
    ]
    assert log.unreadable == []
    assert log.poll() == []


def test_bad_pages_come_with_their_numbers_and_those_not_named_are_counted(log: Log) -> None:
    log.write(check(bad=[17], correctable=[5], wrong=2))
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert not record.complete
    assert record.bad == 4
    assert record.bad_pages == ((17, "uncorrectable"), (5, "corrected"))
    assert record.unnamed == {"wrong_page": 2}
    assert log.unreadable == []


def test_a_correctable_page_alone_is_complete_and_not_clean(log: Log) -> None:
    log.write(check(correctable=[5]))
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert (record.complete, record.bad, record.bad_pages) == (True, 1, ((5, "corrected"),))


def test_a_header_dump_has_the_time_of_the_file(log: Log) -> None:
    log.write(header(bad="found (3)"))
    assert log.poll() == [
        HeaderSeen(
            time=NOW,
            computer="EX01",
            database="e:\\MDB06\\priv06.edb",
            page_size=32768,
            state="dirty shutdown",
            bad_checksums=3,
            corrected=0,
            correction_failed=0,
        )
    ]


def test_a_running_check_is_waited_for_and_handed_out_when_it_has_ended(log: Log) -> None:
    log.write(check_begin())
    assert log.poll() == []
    for piece in ("....", ".....", summary(), "\nOperation completed successfully in 12."):
        log.now += HOUR
        log.append(piece)
        assert log.poll() == []
    log.append("345 seconds.\n")
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert record.complete
    assert log.unreadable == []


def test_bad_pages_of_a_running_check_are_told_at_once_and_once(log: Log) -> None:
    log.write(check_begin() + "ERROR: page 17 checksum failed\n..")
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert (record.complete, record.bad_pages) == (False, ((17, "uncorrectable"),))
    log.append("...")
    assert log.poll() == []
    log.start()
    assert log.poll() == []
    log.append(summary(bad=1) + terminated())
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert record.pages_seen == 1024


def test_a_check_that_was_stopped_is_one_line_and_never_complete(log: Log) -> None:
    log.write(check_begin() + "....")
    assert log.poll() == []
    log.now += ABANDONED_SECONDS
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert not record.complete
    assert [str(piece) for piece in log.unreadable] == [
        f"{log.path}: line 4: this run of eseutil does not end"
    ]
    assert log.poll() == []
    assert log.unreadable == []
    log.append(summary() + ended())
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert record.complete


def test_on_the_command_line_a_run_without_end_is_told_at_once(log: Log) -> None:
    log.write(check_begin() + summary())
    (record,) = log.poll(final=True)
    assert isinstance(record, CopyChecked)
    assert not record.complete
    assert log.reasons() == ["this run of eseutil does not end"]


def test_a_failed_check_without_a_bad_page_says_why(log: Log) -> None:
    log.write(check_begin() + terminated(-1022, "JET_errDiskIO"))
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert not record.complete
    assert "-1022 (JET_errDiskIO" in log.reasons()[0]


def test_reads_that_failed_are_told(log: Log) -> None:
    line = "Read at offset 0x0000000000026000 for 65536 bytes failed with error -1022 (words).\n"
    log.write(check_begin() + line + summary() + terminated())
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert not record.complete
    assert log.reasons()[0].startswith("1 reads failed: Operation terminated")


def test_a_header_dump_that_failed_says_why(log: Log) -> None:
    log.write("Initiating FILE DUMP mode...\n         Database: e:\\a.edb\n" + terminated())
    assert log.poll() == []
    assert "JET_errDatabaseCorrupted" in log.reasons()[0]
    log.now += HOUR
    assert log.poll() == []
    assert log.unreadable == []


def test_runs_of_one_file_are_put_back_to_back_before_its_last_writing(log: Log) -> None:
    log.write(check(seconds=100.0) + header() + check("e:\\b.edb", seconds=50.0))
    first, second, third = log.poll()
    assert third.time == NOW - 50.0
    assert second.time == NOW - 50.0
    assert first.time == pytest.approx(NOW - 50.0 - 0.047 - 100.0)


def test_appended_runs_count_once_each_and_have_their_own_times(log: Log) -> None:
    log.write(check(seconds=100.0))
    assert len(log.poll()) == 1
    log.now += 7 * 86400.0
    log.append(check(seconds=200.0))
    (record,) = log.poll()
    assert record.time == log.now - 200.0
    log.start()
    assert log.poll() == []


def test_a_file_that_is_written_anew_is_read_anew(log: Log) -> None:
    log.write(check(seconds=100.0))
    log.poll()
    log.now += 7 * 86400.0
    log.write(check(seconds=101.0))
    (record,) = log.poll()
    assert record.time == log.now - 101.0


def test_a_renamed_compressed_or_copied_log_is_not_read_again(log: Log) -> None:
    log.write(check(bad=[17]))
    assert len(log.poll()) == 1
    renamed = log.path.with_name("old.log")
    log.path.rename(renamed)
    assert log.poll() == []
    log.now += HOUR
    log.write(gzip.compress(renamed.read_bytes()), path=log.path.with_name("old.log.gz"))
    renamed.unlink()
    assert log.poll() == []
    log.now += HOUR
    log.write(check(bad=[17]), path=log.path.with_name("copy.log"))
    assert log.poll() == []
    assert log.unreadable == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-8-sig", "cp850"])
def test_what_powershell_and_the_console_write_is_read(log: Log, encoding: str) -> None:
    text = check("e:\\Büro\\priv06.edb").replace("\n", "\r\n")
    log.write(text.encode(encoding))
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert record.complete
    if encoding != "cp850":
        assert record.database == "e:\\Büro\\priv06.edb"


def test_a_snapshot_needs_the_name_of_what_it_stands_for(log: Log) -> None:
    copy = "\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy3\\mdb\\priv06.edb"
    log.write(check(copy))
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert record.database == copy
    assert "name that with `as` in the configuration" in log.reasons()[0]


def test_as_names_the_database_that_a_copy_stands_for(log: Log) -> None:
    log.write(check("\\\\?\\GLOBALROOT\\Device\\HarddiskVolumeShadowCopy3\\mdb\\priv06.edb"))
    log.start(database="e:\\mdb06\\{name}")
    (record,) = log.poll()
    assert isinstance(record, CopyChecked)
    assert record.database == "e:\\mdb06\\priv06.edb"
    assert log.unreadable == []


@pytest.mark.parametrize(
    "text",
    [
        "PRÜFSUMMEN-Modus wird gestartet...\n  Temp. Datenbank: TEMPCHKSUM4711.EDB\n0 Fehler\n",
        "Initiating CHECKSUM mode...\n      Log File: e:\\logs\\E0000012.log\n" + ended(),
        "\0\1\2\3" * 1000,
    ],
)
def test_what_holds_no_check_and_no_header_is_one_line_and_no_record(log: Log, text: str) -> None:
    log.write(text)
    assert log.poll() == []
    log.now += HOUR
    assert log.poll() == []
    assert log.reasons() == ["it has no output of eseutil /k or /mh"]
    assert log.poll() == []
    log.start()
    assert log.poll() == []
    assert log.unreadable == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Initiating INTEGRITY mode...\n  Database: e:\\a.edb\n" + ended(), INTEGRITY),
        ("***** Integrity check of database 'a.edb' started [ESENT version 10.00]\n\n", INTEGRITY),
        (
            "Initiating FILE DUMP mode...\n      Log file: E0000012.log - OK\n"
            "      Log file: E0000013.log - ERROR: Log damaged (unusable). Last Lgpos: (0x13,1,0). "
            "Error -501.\n" + ended(),
            "Log file: E0000013.log - ERROR: Log damaged",
        ),
    ],
)
def test_what_other_modes_say_of_damage_or_do_not_prove_is_reported(
    log: Log, text: str, words: str
) -> None:
    log.write(text)
    assert log.poll(final=True) == []
    assert [words in reason for reason in log.reasons()] == [True]


def test_a_check_below_a_temporary_folder_says_what_it_lacks(log: Log) -> None:
    log.write(sample("reports/eseutil-k-of-snapshot-below-temp.log").read_text())
    (record,) = log.poll(final=True)
    assert isinstance(record, CopyChecked)
    assert (record.complete, record.pages_seen, record.bad) == (True, 4352, 0)
    assert "below a temporary folder" in log.reasons()[0]
    assert "`as`" in log.reasons()[0]


def test_checks_of_log_files_beside_those_of_databases_need_no_word(log: Log) -> None:
    log.write("Initiating CHECKSUM mode...\n      Log File: e:\\E00.log\n" + ended() + check())
    assert len(log.poll(final=True)) == 1
    assert log.unreadable == []


def test_an_empty_file_is_waited_for(log: Log) -> None:
    log.write("")
    assert log.poll(final=True) == []
    assert log.unreadable == []


@pytest.mark.parametrize("compressed", [False, True])
def test_a_file_too_large_for_output_of_eseutil_is_one_line(log: Log, compressed: bool) -> None:
    data = bytes(MAX_BYTES + 1)
    log.write(gzip.compress(data) if compressed else data)
    assert log.poll() == []
    assert log.reasons() == ["larger than 16 MiB: no output of eseutil"]
    assert log.poll() == []
    assert log.unreadable == []


def test_a_damaged_compressed_file_is_read_as_far_as_it_goes(log: Log) -> None:
    packed = gzip.compress(check().encode() + os.urandom(5000))
    log.write(packed[:-4000])
    assert len(log.poll(final=True)) == 1
    assert "compressed data ends early" in log.reasons()


def test_a_time_in_the_future_is_not_believed(log: Log) -> None:
    log.write(check(seconds=10.0))
    os.utime(log.path, (NOW + 1e9, NOW + 1e9))
    (record,) = log.poll()
    assert record.time == NOW - 10.0


def test_a_run_longer_than_the_calendar_does_not_go_below_it(log: Log) -> None:
    log.write(check().replace("in 12.345 seconds", "in 999999999.9 seconds") * 9)
    times = [record.time for record in log.poll()]
    assert times[-1] == pytest.approx(NOW - 999999999.009)
    assert set(times[:-1]) == {0.0}


def test_a_source_without_computer_is_refused_with_the_remedy() -> None:
    with pytest.raises(SourceError, match=r"x\.log: .* --computer"):
        EseutilLogSource("x.log", ["x.log"], computer="")


def test_a_path_that_does_not_exist_is_an_error_behind_the_others(log: Log) -> None:
    log.write(check())
    source = EseutilLogSource("x", [str(log.path), "/nowhere/x.log"], computer="EX01")
    found: list[Record] = []
    with pytest.raises(SourceError, match=r"/nowhere/x\.log: no such file"):
        for batch in source.poll():
            assert not batch.caught_up
            found += batch.records
    assert len(found) == 1


@pytest.mark.parametrize("restart", [False, True])
@pytest.mark.parametrize("listed", [True, False], ids=["empty", "not listed"])
def test_of_files_that_vanish_together_and_come_back_none_is_read_again(
    log: Log, monkeypatch: pytest.MonkeyPatch, *, listed: bool, restart: bool
) -> None:
    monkeypatch.setattr(eseutil_log, "REMEMBERED", 2)
    log.path = log.path.parent / "checks" / log.path.name
    log.path.parent.mkdir()
    names = [log.path.with_name(f"{number}.log") for number in range(9)]
    for name in names:
        log.write(check(f"e:\\{name.stem}.edb"), path=name)
    log.start()
    assert len(log.poll()) == 9
    away = log.path.parent.with_name("away")
    log.path.parent.rename(away)
    if listed:
        log.path.parent.mkdir()
    for _ in range(2):
        if restart:
            log.start()
        if listed:
            assert log.poll() == []
        else:
            with pytest.raises(SourceError, match="No such file"):
                log.poll()
    if listed:
        log.path.parent.rmdir()
    away.rename(log.path.parent)
    assert log.poll() == []
    assert len(log.positions) == 9


def test_of_files_that_go_one_by_one_the_last_are_remembered(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eseutil_log, "REMEMBERED", 2)
    log.start()
    texts = [check(f"e:\\{number}.edb") for number in range(5)]
    written: list[float] = []
    for text in texts:
        log.now += 10.0
        written.append(log.now)
        log.write(text)
        assert len(log.poll()) == 1
        log.path.unlink()
        assert log.poll() == []
    assert len(log.positions) == 2
    log.start()
    for number, count in ((4, 0), (3, 0), (0, 1)):
        path = log.path.with_name(f"{number}.log")
        path.write_text(texts[number])
        os.utime(path, (written[number], written[number]))
        assert len(log.poll()) == count, number


def test_a_check_that_ends_with_the_same_words_after_its_log_was_deleted_counts(log: Log) -> None:
    for _ in range(3):
        log.write(check(seconds=0.203))
        assert len(log.poll()) == 1
        log.path.unlink()
        assert log.poll() == []
        log.now += 86400.0


def test_copies_put_back_in_the_place_of_others_are_not_read_again(log: Log) -> None:
    """The numbers (inodes) of files that are gone go to new ones, in another order."""
    paths = [log.path.with_name(f"{number}.log") for number in range(20)]
    for path in paths:
        log.write(check(f"e:\\{path.stem}.edb"), path=path)
    assert len(log.poll()) == 20
    for path in paths:
        path.unlink()
    assert log.poll() == []
    for path in reversed(paths):
        log.write(check(f"e:\\{path.stem}.edb"), path=path)
    assert log.poll() == []
    assert len(log.positions) == 20


def test_a_new_file_in_the_place_of_one_that_is_gone_is_told_of_its_own(log: Log) -> None:
    log.write("no output")
    log.now += 100.0
    log.poll()
    assert log.reasons() == ["it has no output of eseutil /k or /mh"]
    log.path.rename(log.path.with_name("gone"))
    log.poll()
    log.path.with_name("gone").rename(log.path)
    log.write("no output, and more of it")
    log.now += 100.0
    log.poll()
    assert log.reasons() == ["it has no output of eseutil /k or /mh"]


def test_files_that_are_gone_take_no_room_of_others(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_search, "MAX_FILES", 3)
    for turn in range(3):
        paths = [log.path.with_name(f"{turn}-{number}.log") for number in range(3)]
        for path in paths:
            log.write(check(f"e:\\{path.stem}.edb"), path=path)
        assert len(log.poll()) == 3
        for path in paths:
            path.rename(path.with_suffix(".old"))
        assert log.poll() == []
    assert log.unreadable == []


def test_a_position_that_is_not_understood_begins_anew(log: Log) -> None:
    log.write(check())
    log.poll()
    log.positions = dict.fromkeys(log.positions, b"\xff\x00nonsense")
    log.start()
    assert len(log.poll()) == 1


def test_many_runs_come_in_batches_that_a_restart_continues(
    log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eseutil_log, "BATCH_RECORDS", 10)
    log.write("".join(check(f"e:\\{number}.edb", seconds=1.0) for number in range(35)))
    batches = list(log.source.poll())
    assert [len(batch.records) for batch in batches] == [10, 10, 10, 5]
    for batch in batches[:2]:
        log.positions.update({key: value for key, value in batch.positions.items() if value})
    log.start()
    rest = log.poll()
    assert known(batches[2:]) == rest
    times = [record.time for record in known(batches)]
    assert times == sorted(times)


def test_the_start_of_a_real_dump_gives_page_size_and_state(tmp_path: Path) -> None:
    path = sample("other/eseutil-mh-exchange2013.txt")
    source = EseutilLogSource("mh", [str(path)], computer="EX01")
    (batch,) = source.poll(final=True)
    (record,) = batch.records
    assert isinstance(record, HeaderSeen)
    assert (record.page_size, record.state) == (32768, "dirty shutdown")
    assert record.database == "D:\\Databases\\Database 10\\database 10.edb"
    assert [piece.reason for piece in batch.unreadable] == ["this run of eseutil does not end"]


def test_the_configuration_makes_the_source(tmp_path: Path) -> None:
    path = tmp_path / "check.log"
    path.write_text(check("x:\\copy\\priv06.edb"), encoding="utf-8")
    entry = EseutilLogs(
        type="eseutil_log",
        name="checks",
        computer="EX01",
        paths=[str(tmp_path / "*.log")],
        database="e:\\mdb06\\{name}",
    )
    source = build_source(entry, Settings())
    (batch,) = source.poll()
    (record,) = batch.records
    assert isinstance(record, CopyChecked)
    assert (source.name, record.database) == ("checks", "e:\\mdb06\\priv06.edb")
