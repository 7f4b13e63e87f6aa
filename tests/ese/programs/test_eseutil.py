import json
from typing import Any

import pytest

from esewatch.ese.programs.eseutil import (
    MAX_NAMED,
    ChecksumRun,
    EseutilRun,
    HeaderDump,
    is_output,
    runs,
)
from tests.support.eseutil_text import (
    BANNER,
    check,
    check_begin,
    ended,
    header,
    summary,
    terminated,
)
from tests.support.samples import sample


def only(text: str) -> EseutilRun:
    (run,) = runs(text)
    return run


def checked(text: str) -> ChecksumRun:
    result = only(text).result
    assert isinstance(result, ChecksumRun)
    return result


def dumped(text: str) -> HeaderDump:
    result = only(text).result
    assert isinstance(result, HeaderDump)
    return result


def test_a_clean_check_is_complete_and_counts_pages_without_the_two_headers() -> None:
    run = only(check())
    assert (run.outcome, run.database, run.seconds) == ("success", "e:\\MDB06\\priv06.edb", 12.345)
    assert checked(check()) == ChecksumRun(
        complete=True, pages_seen=1024, uninitialized=7, counted={}, named=(), unread=0
    )


def test_milliseconds_are_printed_without_leading_zeros() -> None:
    assert only(check(seconds=4.007)).seconds == 4.007
    assert "in 4.7 seconds" in check(seconds=4.007)


def test_named_bad_and_correctable_pages_are_told_apart() -> None:
    found = checked(check(bad=[17, 99], correctable=[5]))
    assert found.named == ((17, "uncorrectable"), (99, "uncorrectable"), (5, "corrected"))
    assert found.counted == {"uncorrectable": 2, "corrected": 1}
    assert not found.complete


def test_a_correctable_page_is_found_in_a_run_that_ends_well() -> None:
    found = checked(check(correctable=[5]))
    assert found.complete
    assert found.counted == {"corrected": 1}


def test_pages_whose_lines_went_to_another_stream_are_counted() -> None:
    found = checked(check(bad=[17, 99], wrong=3, named=False))
    assert found.named == ()
    assert found.counted == {"uncorrectable": 2, "wrong_page": 3}


def test_a_bad_header_is_counted_and_has_no_page_number() -> None:
    lines = "ERROR: page -1 (header) checksum failed\n...ERROR: page 0 (header) checksum failed\n"
    found = checked(check_begin() + lines + summary(bad=2) + terminated())
    assert found.named == ()
    assert found.counted == {"uncorrectable": 2}


def test_a_line_behind_progress_dots_or_an_error_prefix_of_powershell_is_found() -> None:
    text = check_begin() + "....ERROR: page 17 checksum failed\r\neseutil : ERROR: page 18 "
    text += "checksum failed\r\n" + summary(bad=2) + terminated()
    assert [page for page, _ in checked(text).named] == [17, 18]


@pytest.mark.parametrize(
    "text",
    [
        check_begin() + summary() + terminated(-1018, "JET_errReadVerifyFailure"),
        check_begin() + summary() + "\nOperation terminated unsuccessfully after 3.1 seconds.\n",
        check_begin() + summary() + "\nOperation terminated with error -501 (words)\n",
        check_begin()
        + summary()
        + "\nOperation completed successfully with 5 (words) after 1.2 s\n",
        check_begin() + summary(),
        check_begin() + summary() + "\nOperation completed successfully in 12.3",
        check_begin() + ended(),
        check_begin() + summary().replace("0 bad checksums", "0 bad things") + ended(),
        check_begin() + summary().replace("0 wrong page numbers", "") + ended(),
        check_begin() + summary(pages=0) + ended(),
        check_begin() + summary(pages=2) + ended(),
        check_begin()
        + "Read at offset 0x0000000000026000 for 65536 bytes failed with error -1022 (words).\n"
        + summary()
        + ended(),
        check_begin() + summary() + BANNER + ended(),
        check_begin() + summary() * 3 + ended(),
    ],
)
def test_what_is_not_a_whole_successful_run_is_not_complete(text: str) -> None:
    assert not checked(text).complete


def test_a_failed_read_is_counted() -> None:
    line = "Read at offset 0x0000000000026000 for 65536 bytes failed with error -1022 (words).\n"
    assert checked(check_begin() + line * 3 + summary() + ended()).unread == 3


def test_counts_beyond_31_bits_are_printed_negative() -> None:
    found = checked(check_begin() + summary(pages=-2147483640) + ended())
    assert found.pages_seen == 2147483656 - 2
    assert found.complete
    assert checked(check_begin() + summary(bad=-1) + ended()).counted != {}


def test_the_run_of_a_streaming_file_alone_is_no_check_of_the_database() -> None:
    begin = check_begin("c:\\mdb\\priv1.edb").replace(
        "  Temp. Database", "  Streaming File: c:\\mdb\\priv1.STM\n  Temp. Database"
    )
    alone = begin.replace("File: c:\\mdb\\priv1.edb", "File: c:\\mdb\\priv1.STM")
    assert not checked(alone + summary() + ended()).complete
    assert checked(begin + summary() + ended()).complete


def test_both_files_of_a_run_count() -> None:
    begin = check_begin("c:\\mdb\\priv1.edb").replace(
        "  Temp. Database", "  Streaming File: c:\\mdb\\priv1.STM\n  Temp. Database"
    )
    text = begin + summary(pages=102) + "File: c:\\mdb\\priv1.STM\n"
    text += "ERROR: page 17 checksum failed\n" + summary(pages=5002, bad=1) + terminated()
    found = checked(text)
    assert (found.pages_seen, found.counted) == (100, {"uncorrectable": 1})
    assert checked(begin + summary() + "File: x\n" + summary() + ended()).complete


@pytest.mark.parametrize(
    "text",
    [
        "Initiating CHECKSUM mode...\n      Log File: e:\\logs\\E0000012.log\n" + ended(),
        "Initiating CHECKSUM mode...\n Checkpoint File: e:\\logs\\E00.chk\n" + summary() + ended(),
        "Initiating INTEGRITY mode...\n        Database: e:\\a.edb\n" + summary() + ended(),
        "Initiating DEFRAGMENTATION mode...\n            Database: e:\\a.edb\n" + ended(),
        "Initiating FILE DUMP mode...\n         Database: e:\\a.edb\nspace dump\n" + ended(),
        "Initiating FILE DUMP mode...\n      Checkpoint file: e:\\E00.chk\n" + ended(),
    ],
)
def test_other_modes_and_other_files_are_runs_without_a_result(text: str) -> None:
    run = only(text)
    assert run.result is None
    assert run.outcome == "success"


def test_a_header_dump_tells_size_state_and_the_present_counters() -> None:
    text = header(bad="found (3)", corrected="found (12)")
    assert dumped(text) == HeaderDump(
        page_size=32768,
        state="dirty shutdown",
        bad_checksums=3,
        corrected=12,
        correction_failed=0,
    )


@pytest.mark.parametrize(
    ("printed", "count"), [("none", 0), ("found (7)", 7), ("7", 7), ("?", None)]
)
def test_a_counter_of_the_header(printed: str, count: int | None) -> None:
    assert dumped(header(failed=printed)).correction_failed == count


def test_a_page_size_that_cannot_be_is_unknown() -> None:
    for size in ("0", "-1", "4097", "99999999999", "x"):
        assert dumped(header().replace("cbDbPage: 32768", f"cbDbPage: {size}")).page_size is None


def test_the_start_of_a_real_dump_is_read() -> None:
    text = sample("other/eseutil-mh-exchange2013.txt").read_text(encoding="utf-8")
    assert is_output(text)
    run = only(text)
    assert run.database == "D:\\Databases\\Database 10\\database 10.edb"
    assert run.outcome == "open"
    assert run.result == HeaderDump(
        page_size=32768,
        state="dirty shutdown",
        bad_checksums=None,
        corrected=None,
        correction_failed=None,
    )


def test_runs_of_one_text_are_cut_at_the_next_one() -> None:
    text = check_begin() + "...." + header() + check() + check_begin("e:\\b.edb")
    assert [(run.outcome, type(run.result).__name__) for run in runs(text)] == [
        ("cut", "ChecksumRun"),
        ("success", "HeaderDump"),
        ("success", "ChecksumRun"),
        ("open", "ChecksumRun"),
    ]
    first = next(iter(runs(text)))
    assert list(runs(text, first.end)) == list(runs(text))[1:]


def test_a_program_that_could_not_begin_does_not_end_the_run_before_it() -> None:
    text = check_begin() + summary() + BANNER + "Access failed.\n" + terminated()
    assert [run.outcome for run in runs(text)] == ["cut"]


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r\r\n", "\r"])
def test_line_ends_of_consoles_and_redirections_do_not_matter(line_end: str) -> None:
    text = (check(bad=[17]) + header()).replace("\n", line_end)
    first, second = runs(text)
    assert isinstance(first.result, ChecksumRun)
    assert first.result.named == ((17, "uncorrectable"),)
    assert isinstance(second.result, HeaderDump)
    assert text[second.start :].startswith("Initiating FILE DUMP")


def test_text_in_another_language_is_no_output_unless_the_temporary_file_tells() -> None:
    assert not is_output("PRÜFSUMMEN-Modus wird gestartet...\n0 fehlerhafte Prüfsummen\n")
    assert is_output("PRÜFSUMMEN-Modus...\n  Temp. Datenbank: TEMPCHKSUM4711.EDB\n")
    assert list(runs("PRÜFSUMMEN-Modus...\n  Temp. Datenbank: TEMPCHKSUM4711.EDB\n")) == []
    assert is_output("PRÜFSUMMEN-Modus...\r  Temp. Datenbank: TEMPCHKSUM4711.EDB\r\r")


def test_an_event_of_its_temporary_database_is_no_output_of_it() -> None:
    path = "E:\\MDB06\\TEMPCHKSUM4711.EDB"
    for text in (
        json.dumps({"EventID": 474, "Data": ["eseutil", "7788", "", path, "4096"]}),
        f"eseutil (7788) The database page read from the file {path}\nfailed verification",
        f'eseutil (7788) The database page read from the file "{path}" failed verification',
    ):
        assert not is_output(text)


def test_more_bad_pages_than_are_named_are_counted() -> None:
    found = checked(check(bad=range(1, MAX_NAMED + 11)))
    assert len(found.named) == MAX_NAMED
    assert found.counted == {"uncorrectable": MAX_NAMED + 10}


@pytest.mark.parametrize(
    "text",
    [
        " " * 300_000 + "x",
        "." * 300_000,
        check_begin(" " * 300_000 + "x"),
        check_begin() + (" " * 200_000 + "x\n") * 2 + summary(),
        check_begin() + "1" * 300_000 + " pages seen\n",
        "Initiating CHECKSUM mode...\n" * 5_000,
        header("Database: " * 20_000),
        check_begin() + "Operation terminated" + " after" * 50_000,
    ],
)
def test_strange_text_is_read_in_a_time_that_grows_with_its_length(text: str) -> None:
    found: list[Any] = [run.result for run in runs(text)]
    assert not any(isinstance(each, ChecksumRun) and each.complete for each in found)
