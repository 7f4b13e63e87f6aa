import os
from pathlib import Path

import pytest

from esefiles.base.command import CommandError
from esefiles.scans.position import Positions, default_folder
from esefiles.scans.results import MAX_LISTED, Counts, Place, ScannedBadPage


def place(path: Path, offset: int = 8192, bad: int = 0) -> Place:
    listed = [
        ScannedBadPage(
            page_number=n, offset=n * 4096, kind="correctable", block=0, bit=7, bits=(7, 9)
        )
        for n in range(bad)
    ]
    return Place(
        path=str(path),
        offset=offset,
        size=1 << 30,
        signature="abc-2018-01-18T11:40:08.886000",
        page_size=4096,
        began=1000.0,
        taken=900.5,
        counts=Counts(pages_seen=5, seconds=1.25, listed=listed, unlisted=2),
    )


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def positions(tmp_path: Path, said: list[str]) -> Positions:
    return Positions(tmp_path / "state" / "scan", said.append)


def test_a_place_comes_back_as_it_was_kept(positions: Positions, tmp_path: Path) -> None:
    kept = place(tmp_path / "a.edb", bad=MAX_LISTED)
    positions.save(place(tmp_path / "a.edb"))
    positions.save(kept)
    positions.save(place(tmp_path / "b.edb", 12288))

    assert positions.load(str(tmp_path / "a.edb")) == kept
    assert [file.suffix for file in (tmp_path / "state" / "scan").iterdir()] == [".json", ".json"]


def test_a_file_has_one_position_however_it_is_named(
    positions: Positions, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "link").symlink_to(tmp_path)
    monkeypatch.chdir(tmp_path)
    positions.save(place(tmp_path / "a.edb"))

    for name in ("a.edb", "./a.edb", str(tmp_path / "link" / "a.edb")):
        found = positions.load(name)
        assert found is not None
        assert found.path == name


def test_a_name_that_is_no_utf_8_has_a_position_too(positions: Positions) -> None:
    name = os.fsdecode(b"/snap/\xff.edb")
    positions.save(place(Path(name)))
    positions.complete(name + "2", 5.0)

    found = positions.load(name)
    assert found is not None
    assert found.path == name
    assert positions.completed(name + "2") == 5.0


def test_what_was_dropped_or_never_kept_is_absent(
    positions: Positions, tmp_path: Path, said: list[str]
) -> None:
    path = str(tmp_path / "a.edb")
    positions.drop(path)
    assert positions.load(path) is None
    positions.save(place(tmp_path / "a.edb"))
    positions.drop(path)

    assert positions.load(path) is None
    assert said == []
    assert list((tmp_path / "state" / "scan").iterdir()) == []


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b'{"path": "',
        b"\xff\xfe",
        b"[]",
        b'{"path": 1}',
        b"9" * 5000,
        b"[" * 100_000,
    ],
)
def test_a_damaged_position_is_left_out_with_one_line(
    content: bytes, positions: Positions, tmp_path: Path, said: list[str]
) -> None:
    path = str(tmp_path / "a.edb")
    positions.save(place(tmp_path / "a.edb"))
    (file,) = (tmp_path / "state" / "scan").iterdir()
    file.write_bytes(content)

    assert positions.load(path) is None
    assert len(said) == 1
    assert str(file) in said[0]


@pytest.mark.parametrize("offset", [-4096, 4097])
def test_a_position_that_cannot_be_is_left_out(
    offset: int, positions: Positions, tmp_path: Path, said: list[str]
) -> None:
    positions.save(place(tmp_path / "a.edb", offset))

    assert positions.load(str(tmp_path / "a.edb")) is None
    assert len(said) == 1


def test_a_position_of_another_file_is_left_out(
    positions: Positions, tmp_path: Path, said: list[str]
) -> None:
    positions.save(place(tmp_path / "a.edb"))
    (file,) = (tmp_path / "state" / "scan").iterdir()
    positions.save(place(tmp_path / "b.edb"))
    (other,) = set((tmp_path / "state" / "scan").iterdir()) - {file}
    other.write_bytes(file.read_bytes())

    assert positions.load(str(tmp_path / "b.edb")) is None
    assert len(said) == 1


def test_a_complete_scan_leaves_its_time_and_no_position(
    positions: Positions, tmp_path: Path
) -> None:
    path = str(tmp_path / "a.edb")
    assert positions.completed(path) is None
    positions.save(place(tmp_path / "a.edb"))
    positions.complete(path, 12.5)

    assert positions.load(path) is None
    assert positions.completed(path) == 12.5
    (file,) = (tmp_path / "state" / "scan").iterdir()
    file.write_bytes(b"{")
    assert positions.completed(path) is None


def test_what_was_half_written_when_it_was_killed_does_no_harm(
    positions: Positions, tmp_path: Path, said: list[str]
) -> None:
    kept = place(tmp_path / "a.edb")
    positions.save(kept)
    (file,) = (tmp_path / "state" / "scan").iterdir()
    file.with_suffix(".new").write_bytes(b'{"path"')

    assert positions.load(str(tmp_path / "a.edb")) == kept
    positions.save(kept)
    assert list((tmp_path / "state" / "scan").iterdir()) == [file]
    assert said == []


def test_the_folder_is_that_of_the_systems_own_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ann")

    assert default_folder({"XDG_STATE_HOME": "/state"}, "linux") == Path("/state/esewatch/scan")
    assert default_folder({}, "linux") == Path("/home/ann/.local/state/esewatch/scan")
    assert default_folder({"XDG_STATE_HOME": "odd"}, "linux") == default_folder({}, "linux")
    assert default_folder({"LOCALAPPDATA": "/l"}, "win32") == Path("/l/esewatch/scan")


def test_an_account_without_a_home_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os.path, "expanduser", str)

    with pytest.raises(
        CommandError, match="no home folder for positions: name one in XDG_STATE_HOME"
    ):
        default_folder({}, "linux")
