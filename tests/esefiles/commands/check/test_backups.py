"""The five backups of docs/check.md, made here, and the command that the page has for each."""

import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from esewatch.cli import main
from tests.support import ese_database
from tests.support.edb import Value, log_position, write_edb
from tests.support.logs import RANDOM, SEGMENT, Log, checkpoint, created

PAGE = Path(__file__).resolve().parents[4] / "docs" / "check.md"
COMMANDS = [
    shlex.split(command)[1:]
    for command in re.findall(
        r"^    (esewatch check .*)$",
        PAGE.read_text(encoding="utf-8").partition("## Five backups")[2].partition("\n## ")[0],
        re.MULTILINE,
    )
]


def dirty(path: Path, *, series: int = RANDOM) -> None:
    """A database that needs logs 10 to 12 of the series."""
    header: dict[str, Value] = {
        "state": 2,
        "required_first": 10,
        "required_last": 12,
        "committed_last": 13,
        "max_required_created": created(12),
        "attach_position": log_position(8, 2, 0),
        "log_signature_random": series,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    write_edb(path, pages=20, header=header)


def logs(folder: Path, base: str, *, series: int = RANDOM, checkpoint_ending: str = "chk") -> None:
    """Logs 9 to 14 with all that stands beside them: checkpoint, reserve, the log in the making."""
    folder.mkdir(parents=True, exist_ok=True)
    before = 0
    for number in range(9, 15):
        log = Log(number, previous_checksum=before, series=series, version=(8, 4000, 90, 200))
        name = f"{base}.log" if number == 14 else f"{base}{number:08X}.log"
        (folder / name).write_bytes(log.data())
        before = log.checksum()
    (folder / f"{base}.{checkpoint_ending}").write_bytes(checkpoint(9, series=series))
    (folder / f"{base}res00001.jrs").write_bytes(bytes(16 * SEGMENT))
    (folder / f"{base}res00002.jrs").write_bytes(bytes(16 * SEGMENT))
    (folder / f"{base}tmp.log").write_bytes(bytes(16 * SEGMENT))


def snapshot(root: Path) -> None:
    """Of a running server: two databases with a stream of logs each, in one folder."""
    dirty(root / "snapshot" / "priv01.edb")
    dirty(root / "snapshot" / "priv02.edb", series=5)
    logs(root / "snapshot", "E00")
    logs(root / "snapshot", "E01", series=5)
    (root / "snapshot" / "edb.log").write_bytes(Log(3, series=9).data())


def two_volumes(root: Path) -> None:
    dirty(root / "databases" / "DB01" / "DB01.edb")
    logs(root / "logs" / "DB01", "E00")


def controller(root: Path) -> None:
    dirty(root / "NTDS" / "ntds.dit")
    logs(root / "NTDS", "edb")
    write_edb(root / "NTDS" / "temp.edb", header={"state": 1}).flip(7, 999, 1001)


def install_from_media(root: Path) -> None:
    (root / "ifm" / "Active Directory").mkdir(parents=True)
    (root / "ifm" / "registry").mkdir()
    ese_database.database().write(root / "ifm" / "Active Directory" / "ntds.dit")
    for hive in ("SYSTEM", "SECURITY"):
        (root / "ifm" / "registry" / hive).write_bytes(b"regf" + bytes(8192))


def many(root: Path) -> None:
    """Of a database group, one of them copied in part."""
    for number in (4, 6):
        dirty(root / "server" / f"DB0{number}" / f"DB0{number}.edb", series=number)
        logs(root / "server" / f"DB0{number}", f"E0{number}", series=number)
    (root / "server" / "DB05").mkdir()
    (root / "server" / "DB05" / "DB05.edb").write_bytes(bytes(1 << 20))
    logs(root / "server" / "DB05", "E05", series=5)


BACKUPS: Sequence[tuple[Callable[[Path], None], int, str]] = (
    (snapshot, 0, "All 2 databases would mount."),
    (two_volumes, 0, "DB01.edb would mount."),
    (controller, 0, "ntds.dit would mount."),
    (install_from_media, 0, "ntds.dit would mount."),
    (many, 1, "1 of 3 databases would not mount: DB05.edb."),
)


def test_the_page_has_a_command_for_each() -> None:
    assert len(COMMANDS) == len(BACKUPS) == 5


@pytest.mark.parametrize("number", range(5), ids=[make.__name__ for make, *_ in BACKUPS])
def test_a_backup_has_the_first_line_that_the_page_says(
    number: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    make, status, first = BACKUPS[number]
    make(tmp_path)
    words = [word.replace("/backup", str(tmp_path)) for word in COMMANDS[number]]
    assert main(words) == status
    told = capsys.readouterr()
    assert told.out.splitlines()[0] == first
    assert first in PAGE.read_text(encoding="utf-8")
    temporary = [line for line in told.err.splitlines() if "temp.edb" in line]
    assert len(temporary) == (make is controller)
