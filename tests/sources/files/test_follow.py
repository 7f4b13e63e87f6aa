"""Following text files: growth, ends, encodings, damage."""

import errno
import gzip
import os
import subprocess
import sys
import tracemalloc
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esewatch.model import SourceError, Unreadable
from esewatch.sources.files import (
    file_search,
    file_set,
    follow,
    raw_file,
)
from esewatch.sources.files.decoder import Fed
from esewatch.sources.files.encodings import Transcoder, detect
from esewatch.sources.files.follow import sniff
from tests.sources.followed import Clock, Journal, LineDecoder, close_sources, line_source, named
from tests.support.figures import record


@pytest.fixture(autouse=True)
def _closing() -> Iterator[None]:
    yield
    close_sources()


def write(path: Path, data: bytes, *, mtime: float | None = None) -> Path:
    path.write_bytes(data)
    if mtime is not None:
        os.utime(path, (mtime, mtime))
    return path


def append(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


def read_final(*paths: Path | str) -> Journal:
    journal = Journal()
    journal.take(line_source(*paths).poll(final=True))
    return journal


class GroupDecoder(LineDecoder):
    """A record is a group of lines up to the next line that begins with `*`."""

    def feed(self, data: bytes, *, final: bool) -> Fed:
        fed = Fed()
        while fed.consumed < len(data):
            end = data.find(b"\n*", fed.consumed) + 1
            if not end:
                if not final:
                    break
                end = len(data)
            fed.records.append(named(data[fed.consumed : end].decode().replace("\n", "|")))
            fed.consumed = end
        return fed


class HungryDecoder(LineDecoder):
    """Never has enough, unless the data begins with `ok`."""

    def feed(self, data: bytes, *, final: bool) -> Fed:
        fed = Fed()
        while data.startswith(b"ok", fed.consumed):
            end = data.find(b"\n", fed.consumed) + 1 or len(data)
            fed.records.append(named(data[fed.consumed : end].decode().strip()))
            fed.consumed = end
        return fed


def test_a_growing_file_gives_each_whole_line_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"one\ntwo\nthr")
    source, journal = line_source(path), Journal()
    assert journal.take(source.poll()) == ["one", "two"]
    assert journal.take(source.poll()) == []
    append(path, b"ee\nfour\n")
    assert journal.take(source.poll()) == ["three", "four"]


@pytest.mark.fault(
    "a line is read while it is half written",
    provoked="a line without its end",
    lost="nothing",
    again="the poll after its end is written",
)
def test_half_a_line_waits_for_its_newline_until_the_poll_is_final(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"whole\nhalf")
    clock, journal = Clock(), Journal()
    source = line_source(path, clock=clock)
    journal.take(source.poll())
    clock.now += 60
    assert journal.take(source.poll()) == []
    assert journal.take(source.poll(final=True)) == ["half"]
    assert journal.take(source.poll(final=True)) == []


def test_a_record_without_successor_is_complete_when_the_file_has_settled(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"*a\nb\n*c\nd\n")
    clock, journal = Clock(), Journal()
    source = line_source(path, clock=clock, decoder=GroupDecoder)
    assert journal.take(source.poll()) == ["*a|b|"]
    clock.now += 4
    assert journal.take(source.poll()) == []
    clock.now += 2
    assert journal.take(source.poll()) == ["*c|d|"]


def test_a_record_that_ends_in_half_a_line_is_not_complete(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"*a\nb\n*c\nhalf")
    clock, journal = Clock(), Journal()
    source = line_source(path, clock=clock, decoder=GroupDecoder)
    journal.take(source.poll())
    clock.now += 60
    assert journal.take(source.poll()) == []
    append(path, b" done\n")
    journal.take(source.poll())
    clock.now += 60
    assert journal.take(source.poll()) == ["*c|half done|"]


def test_the_last_batch_says_caught_up_and_backlog_falls_to_nothing(tmp_path: Path) -> None:
    write(tmp_path / "a.log", b"line\n" * 50_000)
    batches = list(line_source(tmp_path / "a.log").poll())
    assert [batch.caught_up for batch in batches] == [False] * (len(batches) - 1) + [True]
    assert max(len(batch.records) for batch in batches) < 20_000
    backlogs = [batch.backlog_bytes for batch in batches]
    assert backlogs == sorted(backlogs, reverse=True)
    assert backlogs[-1] == 0


@pytest.mark.parametrize("line_end", [b"\n", b"\r\n"])
def test_line_ends_of_both_kinds_are_read(tmp_path: Path, line_end: bytes) -> None:
    path = write(tmp_path / "a.log", line_end.join([b"a", b"", b"b", b""]))
    assert read_final(path).names == ["a", "", "b"]


@pytest.mark.parametrize("mark", [True, False])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be"])
def test_every_encoding_is_followed_through_growth_and_restart(
    tmp_path: Path, encoding: str, mark: bool
) -> None:
    bom = "\ufeff".encode(encoding) if mark else b""
    first = "Größe ਊ😀 and some plain text\nਅ second line of it\n".encode(encoding)
    path = write(tmp_path / "a.log", bom + first + "half".encode(encoding)[:-1])
    journal = Journal()
    source = line_source(path)
    assert journal.take(source.poll()) == ["Größe ਊ😀 and some plain text", "ਅ second line of it"]
    source.close()
    write(path, bom + first + "half done\nlast\n".encode(encoding))
    again = line_source(path)
    again.restore(journal.positions)
    assert journal.take(again.poll()) == ["half done", "last"]
    assert journal.told == []


@given(st.text(st.characters(codec="utf-16-le", exclude_characters="\0"), min_size=0), st.data())
def test_transcoding_in_pieces_keeps_text_and_lengths(text: str, data: st.DataObject) -> None:
    raw = text.encode("utf-16-le")
    coder, out, at = Transcoder("utf-16-le"), b"", 0
    while at < len(raw):
        step = data.draw(st.integers(1, 7))
        out += coder.feed(raw[at : at + step])
        at += step
    assert out.decode() == text
    assert coder.raw_length(out) == len(raw)


@given(st.binary(max_size=64))
def test_lengths_convert_back_for_broken_utf_16_too(raw: bytes) -> None:
    coder = Transcoder("utf-16-le")
    length = coder.raw_length(coder.feed(raw + b"\n\0"))
    assert length <= len(raw) + 2
    assert len(raw) + 2 - length <= 3


@given(st.binary(max_size=200))
def test_an_encoding_is_told_for_any_bytes(head: bytes) -> None:
    encoding, mark = detect(head)
    assert encoding in ("utf-8", "utf-16-le", "utf-16-be")
    assert mark in (0, 2, 3)


def test_bytes_of_a_code_page_pass_as_they_are(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"Gr\xf6\xdfe\n")
    assert [name.encode("utf-8", "surrogateescape") for name in read_final(path).names] == [
        b"Gr\xf6\xdfe"
    ]


def test_zeros_at_the_end_are_space_set_aside_not_data(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"one\ntw" + bytes(3 << 20))
    source, journal = line_source(path), Journal()
    assert journal.take(source.poll()) == ["one"]
    with path.open("r+b") as file:
        file.seek(6)
        file.write(b"o\nthree\n")
    assert journal.take(source.poll()) == ["two", "three"]
    assert journal.told == []


def test_zeros_that_a_crash_left_between_lines_cost_no_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"one\n" + bytes(2 << 20) + b"two\nthree\n")
    journal = read_final(path)
    assert journal.names == ["one", "two", "three"]
    assert journal.told == ["a.log: line 2: 2097152 zero bytes"]


def test_a_compressed_file_of_zeros_alone_is_told_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gz", gzip.compress(bytes(80 << 20)))
    clock, journal = Clock(), Journal()
    source = line_source(path, clock=clock)
    for _ in range(3):
        assert journal.take(source.poll()) == []
        clock.now += 60
    assert journal.told == ["a.gz: line 1: nothing but zeros in 83886080 bytes"]
    again = line_source(path, clock=clock)
    again.restore(journal.positions)
    journal.take(again.poll(final=True))
    assert len(journal.told) == 1


def test_zeros_alone_are_told_whole_behind_a_restart_in_their_midst(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gz", gzip.compress(bytes(80 << 20)))
    journal = Journal()
    journal.take(islice(line_source(path).poll(final=True), 1))
    assert journal.told == []
    again = line_source(path)
    again.restore(journal.positions)
    journal.take(again.poll(final=True))
    assert journal.told == ["a.gz: line 1: nothing but zeros in 83886080 bytes"]


def test_zeros_that_end_a_compressed_log_are_space_set_aside_too(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gz", gzip.compress(b"one\n" + bytes(3 << 20)))
    journal = read_final(path)
    assert (journal.names, journal.told) == (["one"], [])


def test_a_line_of_more_than_8_mib_is_skipped_and_the_next_ones_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"one\n" + b"x" * (20 << 20) + b"\nthree\n")
    journal = read_final(path)
    assert journal.names == ["one", "three"]
    assert journal.told == ["a.log: line 2: line longer than 8 MiB"]


def test_skipping_an_overlong_line_goes_on_after_a_restart(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"one\n" + b"x" * (9 << 20))
    journal = Journal()
    journal.take(line_source(path).poll())
    append(path, b"xxx\nthree\n")
    again = line_source(path)
    again.restore(journal.positions)
    journal.take(again.poll())
    assert journal.names == ["one", "three"]
    assert len(journal.told) == 1


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (400 << 20, 400 << 20))
from tests.sources.followed import Journal, line_source
journal = Journal()
journal.take(line_source(sys.argv[1]).poll(final=True))
print(journal.names, journal.told)
"""


def limited(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[3],
    )
    return done.stdout.strip()


def sparse(path: Path, size: int) -> Path:
    with path.open("wb") as file:
        file.write(b"one\nx")
        file.seek(size)
        file.write(b"\nlast\n")
    return path


@pytest.mark.fault(
    "a text has a line of 1 GB",
    provoked="a real file, 400 MB of address space",
    lost="that line; it is reported and counted as unreadable",
    again="the next line",
)
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="address space limits are of Linux")
def test_a_line_of_1_gb_is_skipped_within_400_mb_of_address_space(tmp_path: Path) -> None:
    path = sparse(tmp_path / "a.log", 1 << 30)
    assert limited(path) == "['one', 'last'] ['a.log: line 2: line longer than 8 MiB']"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="address space limits are of Linux")
def test_a_line_of_10_gb_is_skipped_within_400_mb_of_address_space(tmp_path: Path) -> None:
    path = sparse(tmp_path / "a.log", 10 << 30)
    assert limited(path) == "['one', 'last'] ['a.log: line 2: line longer than 8 MiB']"
    record("one line of 10 GB", "skipped and reported, within 400 MB of address space")


def test_a_record_that_never_ends_gives_way_line_by_line(tmp_path: Path) -> None:
    lines = b"open" + b"." * (1 << 20) + b"\n"
    path = write(tmp_path / "a.log", lines + b"ok 1\n" + b"x" * 100 + b"\n" + b"ok 2\n")
    journal = Journal()
    journal.take(line_source(path, decoder=HungryDecoder).poll(final=True))
    assert journal.names == ["ok 1", "ok 2"]
    assert journal.told == [
        "a.log: line 1: record does not end",
        "a.log: line 3: record does not end",
    ]


def test_a_record_of_more_than_8_mib_is_given_up_while_the_file_grows(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"open\n" + b"ok\n" * (3 << 20))
    journal = Journal()
    names = journal.take(line_source(path, decoder=HungryDecoder).poll())
    assert journal.told == ["a.log: line 1: record does not end within 8 MiB"]
    assert len(names) == 3 << 20


def test_line_numbers_of_unreadable_lines_count_from_the_start_of_the_file(tmp_path: Path) -> None:
    class Picky(LineDecoder):
        def feed(self, data: bytes, *, final: bool) -> Fed:
            fed, at = Fed(consumed=len(data)), 0
            for line in data.splitlines(keepends=True):
                if line.startswith(b"bad"):
                    fed.unreadable.append((at, "bad line"))
                at += len(line)
            return fed

    path = write(tmp_path / "a.log", b"1\n2\nbad\n4\nbad\n")
    source, journal = line_source(path, decoder=Picky), Journal()
    journal.take(source.poll())
    append(path, b"6\nbad\n")
    journal.take(source.poll())
    assert [item.place for item in journal.unreadable] == ["line 3", "line 5", "line 7"]


def test_gzip_is_known_by_content_and_members_follow_each_other(tmp_path: Path) -> None:
    data = gzip.compress(b"one\ntw") + gzip.compress(b"o\nthree") + bytes(512)
    journal = read_final(write(tmp_path / "a.log", data))
    assert journal.names == ["one", "two", "three"]
    assert journal.told == []


@pytest.mark.parametrize("cut", [12, 200, 1])
def test_a_cut_gzip_file_is_reported_once_and_its_good_part_counts(
    tmp_path: Path, cut: int
) -> None:
    lines = [os.urandom(30).hex() for _ in range(500)]
    path = write(tmp_path / "a.gz", gzip.compress("\n".join(lines).encode())[:-cut])
    clock, journal = Clock(), Journal()
    source = line_source(path, clock=clock)
    for _ in range(4):
        journal.take(source.poll())
        clock.now += 10
    again = line_source(path)
    again.restore(journal.positions)
    journal.take(again.poll(final=True))
    assert journal.names == lines[: len(journal.names)]
    assert len(journal.names) > 480
    assert [item.reason for item in journal.unreadable] == ["compressed data ends early"]


def test_damage_inside_a_gzip_file_keeps_what_stands_before_it(tmp_path: Path) -> None:
    lines = [os.urandom(30).hex() for _ in range(5000)]
    data = bytearray(gzip.compress("\n".join(lines).encode(), compresslevel=0))
    data[len(data) // 2 :] = b"\xff" * (len(data) - len(data) // 2)
    journal = read_final(write(tmp_path / "a.gz", bytes(data)))
    assert journal.names == lines[: len(journal.names)]
    assert len(journal.names) > 2400
    assert len(journal.told) == 1
    assert "compressed data is damaged" in journal.told[0]


@pytest.mark.slow
def test_a_compressed_bomb_takes_little_memory(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gz", gzip.compress(b"one\n" + b"x" * (300 << 20) + b"\nlast\n"))
    tracemalloc.start()
    try:
        journal = read_final(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert journal.names == ["one", "last"]
    assert peak < 40 << 20


def test_new_files_are_read_oldest_first(tmp_path: Path) -> None:
    write(tmp_path / "b.log", b"first\n", mtime=1000)
    write(tmp_path / "a.log", b"second\n", mtime=2000)
    assert read_final(tmp_path / "*.log").names == ["first", "second"]


def test_the_order_of_first_records_goes_before_that_of_file_times(tmp_path: Path) -> None:
    write(tmp_path / "b.log", b"20\n", mtime=1000)
    write(tmp_path / "a.log", b"10\n", mtime=2000)
    source = line_source(tmp_path / "*.log", order=lambda path, head: float(head.split()[0]))
    assert Journal().take(source.poll(final=True)) == ["10", "20"]


def test_a_glob_without_files_is_fine_and_new_files_are_found_later(tmp_path: Path) -> None:
    source, journal = line_source(tmp_path / "*" / "*.log"), Journal()
    assert journal.take(source.poll()) == []
    (tmp_path / "sub").mkdir()
    write(tmp_path / "sub" / "a.log", b"hello\n")
    assert journal.take(source.poll()) == ["hello"]


def test_a_named_file_that_does_not_exist_is_an_error_behind_the_others(tmp_path: Path) -> None:
    there = write(tmp_path / "a.log", b"hello\n")
    journal = Journal()
    source = line_source(tmp_path / "no.log", there)
    with pytest.raises(SourceError, match=r"no\.log: no such file"):
        journal.take(source.poll())
    assert journal.names == ["hello"]


def test_a_folder_is_no_text_file(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not a regular file"):
        list(line_source(tmp_path).poll())


def test_a_name_with_brackets_is_a_name_where_it_exists(tmp_path: Path) -> None:
    path = write(tmp_path / "a[1].log", b"hello\n")
    assert read_final(path).names == ["hello"]


def test_one_file_under_two_names_is_read_once(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"hello\n")
    (tmp_path / "b.log").symlink_to(path)
    (tmp_path / "c.log").hardlink_to(path)
    assert read_final(tmp_path / "*.log", path).names == ["hello"]


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.log")
    assert read_final(tmp_path / "*.log").names == []


def test_a_file_without_permission_is_reported_once_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.log", b"hello\n")
    write(tmp_path / "b.log", b"other\n")
    source, journal = line_source(tmp_path / "*.log"), Journal()

    def refuse(opener: Callable[[str], object]) -> Callable[[str], object]:
        def opened(path: str) -> object:
            if path.endswith("a.log"):
                raise PermissionError(errno.EACCES, "Permission denied")
            return opener(path)

        return opened

    with monkeypatch.context() as patch:
        patch.setattr(file_search, "open_raw", refuse(raw_file.open_raw))
        assert journal.take(source.poll()) == ["other"]
        assert journal.take(source.poll()) == []
    assert journal.unreadable == [
        Unreadable(path=str(tmp_path / "a.log"), place="", reason="Permission denied")
    ]
    assert journal.take(source.poll()) == ["hello"]


def test_a_refused_format_is_an_error_for_a_named_file_and_a_report_for_a_found_one(
    tmp_path: Path,
) -> None:
    class Refusing(LineDecoder):
        def __init__(self, path: str, head: bytes, saved: bytes) -> None:
            raise SourceError(f"{path}: not my format")

    path = write(tmp_path / "a.log", b"hello\n")
    with pytest.raises(SourceError, match="not my format"):
        list(line_source(path, decoder=Refusing).poll())
    source, journal = line_source(tmp_path / "*.log", decoder=Refusing), Journal()
    journal.take(source.poll())
    journal.take(source.poll())
    assert len(journal.unreadable) == 1


def test_a_position_that_is_not_understood_is_dropped_and_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"hello\n")
    source, journal = line_source(path), Journal()
    journal.positions = {"1:2": b"\xc1nonsense"}
    source.restore(journal.positions)
    assert journal.take(source.poll()) == ["hello"]
    assert "1:2" not in journal.positions
    assert len(journal.told) == 1


def test_the_decoder_gets_its_saved_context_and_the_head_of_the_file_again(tmp_path: Path) -> None:
    made: list[tuple[bytes, bytes]] = []

    class Saving(LineDecoder):
        def __init__(self, path: str, head: bytes, saved: bytes) -> None:
            super().__init__(path, head, saved)
            made.append((head, saved))
            self.saved = b"context"

    path = write(tmp_path / "a.log", b"\xef\xbb\xbfheader\none\n")
    journal = Journal()
    journal.take(line_source(path, decoder=Saving).poll())
    append(path, b"two\n")
    again = line_source(path, decoder=Saving)
    again.restore(journal.positions)
    journal.take(again.poll())
    assert made == [(b"header\none\n", b""), (b"header\none\ntwo\n", b"context")]


def test_many_files_are_followed_with_few_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(file_set, "MAX_OPEN", 3)
    for number in range(20):
        write(tmp_path / f"{number:02}.log", f"a{number}\n".encode(), mtime=number + 1)
    source, journal = line_source(tmp_path / "*.log", clock=(clock := Clock())), Journal()
    journal.take(source.poll())
    clock.now += 10
    journal.take(source.poll())
    for number in range(20):
        append(tmp_path / f"{number:02}.log", f"b{number}\n".encode())
    journal.take(source.poll())
    source.close()
    assert sorted(journal.names) == sorted(f"{c}{n}" for c in "ab" for n in range(20))


def test_sniffing_gives_text_and_stored_bytes(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gz", gzip.compress("\ufeffhé\n".encode("utf-16")))
    head, stored = sniff(str(path))
    assert head.decode().endswith("hé\n")
    assert stored[:2] == b"\x1f\x8b"
    with pytest.raises(SourceError, match="nothing"):
        sniff(str(tmp_path / "nothing"))


def test_batches_are_of_a_few_thousand_records(tmp_path: Path) -> None:
    path = write(tmp_path / "a.log", b"x\n" * 200_000)
    sizes = [len(batch.records) for batch in line_source(path).poll()]
    assert sum(sizes) == 200_000
    assert sorted(sizes)[len(sizes) // 2] <= 2 * follow.BATCH_RECORDS
