"""What kind of input a file is."""

import gzip
from datetime import UTC, datetime
from pathlib import Path

import pytest

from esewatch.model import Event, Source, SourceError
from esewatch.sources.detect_input import expand, kind_of, open_inputs
from tests.esefiles.base.test_globs import as_anybody
from tests.sources.followed import open_input
from tests.sources.logs.formats.reading import TEXT_703, json_line
from tests.support.eseutil_text import check, header
from tests.support.evtx_writer import EvtxWriter
from tests.support.samples import sample


def write(path: Path, data: bytes) -> str:
    path.write_bytes(data)
    return str(path)


def count(source: Source) -> int:
    records = sum(len(batch.records) for batch in source.poll(final=True))
    source.close()
    return records


def test_the_content_decides_and_not_the_name(tmp_path: Path) -> None:
    assert kind_of(write(tmp_path / "a.txt", b"ElfFile\0" + bytes(4088))) == "evtx"
    assert (
        kind_of(write(tmp_path / "b.evtx", b'"(PDH-CSV 4.0) (x)(0)","\\\\a\\b(c)\\d"\n'))
        == "perfmon_csv"
    )
    assert kind_of(write(tmp_path / "c.csv", json_line().encode())) == "event_stream"


def test_an_empty_file_is_an_event_stream_without_events(tmp_path: Path) -> None:
    assert count(open_input(write(tmp_path / "empty", b""))) == 0


def test_plain_text_without_events_in_its_first_block_is_not_refused(tmp_path: Path) -> None:
    text = b"2020-01-01 00:00:00 nothing of interest\n" * 5000
    path = write(tmp_path / "a.log", text + f"2020-01-02 00:00:00 ESE 703 {TEXT_703}\n".encode())
    assert count(open_input(path)) == 1


def test_utf_16_and_compressed_text_are_event_streams(tmp_path: Path) -> None:
    text = f"2020-01-02 00:00:00 ESE 703 {TEXT_703}\n"
    paths = [
        write(tmp_path / "a", text.encode("utf-16")),
        write(tmp_path / "b", gzip.compress(text.encode())),
    ]
    sources, errors, _ = open_inputs(paths)
    assert errors == []
    assert [source.name for source in sources] == ["event_stream"]
    assert sum(map(count, sources)) == 2


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\0\0\0\0\xef\xcd\xab\x89" + bytes(5000), "an ESE database"),
        (b"PK\x03\x04" + bytes(100), "a zip archive: .*unzip"),
        (b"logs/".ljust(257, b"\0") + b"ustar  " + bytes(248), "a tar archive: .*tar -xf"),
        (gzip.compress(b"logs/".ljust(257, b"\0") + b"ustar\x0000", mtime=0), "tar -xf"),
        (b"0\0\0\0LfLe" + bytes(100), "wevtutil epl .*/lf:true"),
        (gzip.compress(b"PK\x03\x04" + bytes(100), mtime=0), "a zip archive"),
        (bytes(range(32)) * 200, "neither text nor an event log"),
        (b'"(PDH-BIN 4.0)' + bytes(100), "relog"),
        (b'"(x)(1)","\\\\A\\B\\C"\r\n"1","2"\r\n', "without its tag"),
    ],
)
def test_what_is_not_supported_is_named(tmp_path: Path, data: bytes, words: str) -> None:
    path = write(tmp_path / "x", data)
    with pytest.raises(SourceError, match=words) as error:
        open_input(path)
    assert str(error.value).startswith(f"{path}: ")


def test_a_compressed_event_log_is_read(tmp_path: Path) -> None:
    with EvtxWriter(tmp_path / "a.evtx") as writer:
        writer.write(704, ["svc", "1", "SG06: ", "e:\\x.edb"], time=datetime.now(UTC))
    packed = write(tmp_path / "b", gzip.compress((tmp_path / "a.evtx").read_bytes()))
    records = [record for batch in open_input(packed).poll(final=True) for record in batch.records]
    assert [record.event_id for record in records if isinstance(record, Event)] == [704]


def test_a_file_that_is_not_there_is_an_error_and_the_others_are_opened(tmp_path: Path) -> None:
    good = write(tmp_path / "good", json_line().encode() + b"\n")
    sources, errors, _ = open_inputs([str(tmp_path / "none"), good])
    assert [source.name for source in sources] == [good]
    assert len(errors) == 1
    assert "none" in str(errors[0])


def test_a_name_with_brackets_is_no_pattern(tmp_path: Path) -> None:
    path = write(tmp_path / "a[1].json", json_line().encode() + b"\n")
    source = open_input(path)
    assert source.name == path
    assert count(source) == 1


def test_folders_and_globs_are_expanded_without_repetition(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    first, second = write(tmp_path / "a.log", b""), write(tmp_path / "sub" / "b.log", b"")
    assert expand([str(tmp_path)]) == [first, second]
    assert expand([str(tmp_path / "*.log"), first]) == [first]
    assert expand([str(tmp_path / "none*")]) == [str(tmp_path / "none*")]


@pytest.mark.parametrize(
    ("named", "barred"),
    [(".", "sub"), ("sub", "sub"), ("*/*.log", "sub"), ("sub/*.log", "sub"), ("sub/b.log", "")],
)
def test_a_folder_that_may_not_be_read_is_an_error_and_the_others_are_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, named: str, barred: str
) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.log", "sub/b.log"):
        write(tmp_path / name, TEXT_703.encode() + b"\n")
    open_input(str(tmp_path / "a.log")).close()  # what it imports, nobody may read
    tmp_path.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").chmod(0)
    try:
        with as_anybody():
            opened = open_inputs(expand(["a.log", named]))
    finally:
        (tmp_path / "sub").chmod(0o755)
    assert opened.files == [["a.log"]]
    assert [str(error) for error in opened.errors] == [f"{barred or named}: Permission denied"]


def test_samples_are_recognised() -> None:
    assert kind_of(str(sample("evtx/Application_no_crc32.evtx"))) == "evtx"
    assert kind_of(str(sample("perf/pdh-csv-process-edt-1.csv"))) == "perfmon_csv"
    assert kind_of(str(sample("json/otrf-ntdsutil.jsonl"))) == "event_stream"
    with pytest.raises(SourceError, match="an ESE database"):
        kind_of(str(sample("db/dissect-basic-4k.edb.gz")))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_output_of_eseutil_is_known_by_its_words(tmp_path: Path, encoding: str) -> None:
    path = write(tmp_path / "check.txt", check().replace("\n", "\r\n").encode(encoding))
    assert kind_of(path) == "eseutil_log"
    assert count(open_input(path, computer="ex01")) == 1
    assert kind_of(write(tmp_path / "mh", gzip.compress(header().encode()))) == "eseutil_log"
    assert kind_of(str(sample("other/eseutil-mh-exchange2013.txt"))) == "eseutil_log"


def test_output_of_eseutil_needs_the_name_of_the_computer(tmp_path: Path) -> None:
    path = write(tmp_path / "check.txt", check().encode())
    with pytest.raises(SourceError, match="--computer") as error:
        open_input(path)
    assert str(error.value).startswith(f"{path}: ")
    errors = open_inputs([path, write(tmp_path / "b.txt", header().encode())]).errors
    assert str(errors[0]).startswith(f"eseutil_log: {path}: ")
