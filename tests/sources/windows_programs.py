"""Stand-ins for `wevtutil` and `typeperf`: small programs that answer as the real ones do.

Shapes and texts are those of the published help (`wevtutil qe /?`: /bm, /sbm, /c, /rd,
/f, /uni), of the reference pages of both programs (learn.microsoft.com, Windows commands),
and of outputs that people have put into bug reports: `Failed to open event query.` with
the text of the error before it and the error code as exit status, a typeperf header without
time zone, `-1` for a counter without a value, `Exiting, please wait...` and `The command
completed successfully.` behind the rows, `Error: No valid counters.`
"""

import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from esewatch.model import Batch, Coverage, Event, Reading, Record, Source, SourceError, Unreadable
from tests.support.patience import PATIENCE

WEVTUTIL = r"""
import re, sys, time
from pathlib import Path

home, verb, channel, *options = sys.argv[1:]
home = Path(home)
given = dict(option.lstrip("/").split(":", 1) for option in options)
with (home / "runs").open("a") as runs:
    runs.write(" ".join([channel, *sorted(given)]) + "\n")
mode = (home / "mode").read_text() if (home / "mode").exists() else ""


def fail(status, *lines):
    sys.stderr.write("\r\n".join(lines) + "\r\n")
    sys.stderr.flush()
    sys.exit(status)


if mode == "hang":
    time.sleep(600)
if mode == "denied":
    fail(5, "Access is denied.", "", "Failed to open event query.", "Access is denied.")
if mode == "stopped":
    fail(1722 % 256, "The RPC server is unavailable.", "", "Failed to open event query.")
log = home / f"{channel}.log"
if verb != "qe" or not log.exists():
    fail(
        15007 % 256,
        "The specified channel could not be found. Check channel configuration.",
        "",
        "Failed to open event query.",
    )
events = log.read_text(encoding="utf-8").splitlines()
number = lambda event: int(re.search("<EventRecordID>([0-9]+)<", event)[1])
if "bm" in given:
    if mode == "refuse":
        fail(15012 % 256, "The query result is not positioned on a valid event.")
    start = Path(given["bm"]).read_bytes().decode("utf-16")
    start = int(re.search("RecordId='([0-9]+)'", start)[1])
    events = [event for event in events if number(event) >= start + ("inclusive" not in mode)]
newest = events[-1:]
if given.get("rd") == "true":
    events.reverse()
if "stuck" in mode and given.get("rd") != "true":
    events = events[:-1]
events = events[: int(given.get("c", len(events)))]
text = "".join(event + "\r\n" for event in events)
if mode == "cut" and "sbm" in given:
    text = text[: len(text) - 30]
encoding = "utf-16-le" if given.get("uni") == "true" else "cp850"
sys.stdout.buffer.write(text.encode(encoding, "replace"))
sys.stdout.flush()
if mode == "drip" and "sbm" in given:
    time.sleep(600)
if mode == "corrupt" and "sbm" in given:
    fail(1500 % 256, "Failed to read events. The event log file is corrupted.")
if "sbm" in given and events and mode != "unsaved":
    saved = number((newest if mode == "ahead" else events)[-1])
    Path(given["sbm"]).write_bytes(
        f"<BookmarkList>\r\n  <Bookmark Channel='{channel}' RecordId='{saved}' IsCurrent='true'/>"
        "\r\n</BookmarkList>".encode("utf-16")
    )
"""

TYPEPERF = r"""
import sys, time
from pathlib import Path

home = Path(sys.argv[1])
arguments = sys.argv[2:]
with (home / "runs").open("a") as runs:
    runs.write("\t".join(arguments) + "\n")
script = (home / "script").read_text(encoding="utf-8")
for line in script.splitlines():
    if line == "wait":
        time.sleep(600)
    elif line == "drip":
        while True:
            sys.stdout.buffer.write(b"\r\n")
            sys.stdout.buffer.flush()
            time.sleep(0.1)
    elif line.startswith("exit "):
        sys.exit(int(line[5:]))
    else:
        sys.stdout.buffer.write(line.encode() + b"\r\n")
        sys.stdout.buffer.flush()
"""

CLOSING = "Exiting, please wait...\nThe command completed successfully.\n"


class Clock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def executable(name: str, folder: Path, text: str) -> Path:
    """Write a stand-in that is found as `name` below `folder`, where its files are too."""
    path = folder / name
    path.write_text(
        f"#!{sys.executable} -S\nimport sys\nsys.argv.insert(1, {str(folder)!r})\n{text}",
        encoding="utf-8",
    )
    path.chmod(0o755)
    return path


def program(folder: Path, text: str) -> list[str]:
    """Write a stand-in below `folder`; how it is called."""
    path = folder / "program.py"
    path.write_text(text, encoding="utf-8")
    return [sys.executable, "-S", str(path), str(folder)]


def event(
    record_id: int,
    *,
    provider: str = "ESE",
    event_id: int = 703,
    strings: Iterable[str] = ("MSExchangeIS", "3228", "SG06: ", "e:\\MDB06\\priv06.edb"),
    channel: str = "Application",
    computer: str = "EX01.corp.example",
    second: int | None = None,
) -> str:
    """One event as `wevtutil qe /f:XML` writes it; a record a second from 2007-06-21 03:00."""
    since = record_id if second is None else second
    clock = f"{3 + since // 3600:02}:{since // 60 % 60:02}:{since % 60:02}"
    data = "".join(f"<Data>{text}</Data>" for text in strings)
    return (
        "<Event xmlns='http://schemas.microsoft.com/win/2004/08/events/event'><System>"
        f"<Provider Name='{provider}'/><EventID Qualifiers='0'>{event_id}</EventID>"
        "<Level>4</Level><Task>10</Task><Keywords>0x80000000000000</Keywords>"
        f"<TimeCreated SystemTime='2007-06-21T{clock}.123000000Z'/>"
        f"<EventRecordID>{record_id}</EventRecordID><Channel>{channel}</Channel>"
        f"<Computer>{computer}</Computer><Security/></System><EventData>{data}</EventData></Event>"
    )


class Keeper:
    """What the daemon keeps: records and positions, committed together."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.unreadable: list[Unreadable] = []
        self.positions: dict[str, bytes] = {}
        self.errors: list[str] = []
        self.caught_up = False

    def take(self, source: Source) -> None:
        """One poll, committed batch by batch; a failure is kept as its text."""
        try:
            for batch in source.poll():
                self.commit(batch)
        except SourceError as error:
            self.errors.append(str(error))

    def commit(self, batch: Batch) -> None:
        self.records += batch.records
        self.unreadable += batch.unreadable
        self.caught_up = batch.caught_up
        for key, value in batch.positions.items():
            assert value is not None
            self.positions[key] = value

    def until(self, source: Source, done: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Poll until `done`."""
        deadline = time.monotonic() + seconds
        while not done():
            assert time.monotonic() < deadline, (self.errors[-1:], self.unreadable[-3:])
            self.take(source)
            time.sleep(0.005)

    @property
    def ids(self) -> list[int | None]:
        return [record.record_id for record in self.records if isinstance(record, Event)]

    @property
    def covered(self) -> list[tuple[str, int, int]]:
        return [
            (record.channel, record.first, record.last)
            for record in self.records
            if isinstance(record, Coverage)
        ]

    @property
    def values(self) -> list[tuple[str, str, float]]:
        return [
            (record.instance, record.counter, record.value)
            for record in self.records
            if isinstance(record, Reading)
        ]

    @property
    def told(self) -> list[str]:
        return [str(item) for item in self.unreadable]
