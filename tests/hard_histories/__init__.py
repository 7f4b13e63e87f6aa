"""Hard histories: what real logs hold that simple ones do not, and what must be said of them.

Each module states sentences about one theme, and asks the product by its command line only. What
`advise` says of each, `report` says too.
"""

import html
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, NamedTuple
from unittest import mock

import yaml

from esewatch.advice.base.finding import DAMAGE_FINDINGS
from esewatch.cli import main
from esewatch.expose.pages.report.database_pages import MAX_IN_FULL
from tests.oracle.files import write_json
from tests.oracle.history import DAY, HOUR, Logged
from tests.support import in_process
from tests.support.daemon_reading import Key, read_by_daemon, shown_by
from tests.support.verdict_tables import verdicts

Level = Literal["critical", "error", "warning", "information"]
COUNTED = {"investigate", *DAMAGE_FINDINGS}
"""Findings in place of which a page has the number of pages and of damage."""
SILENT = "computer_silent"
"""The problem of a computer of which nothing is heard."""
MINUTE = 60.0
MONDAY = datetime(2024, 1, 15, tzinfo=UTC).timestamp()
"""Where most histories begin; its day cannot be a month."""
PAGES = 200_000


def date(time: float) -> str:
    """The short date as an American server writes it."""
    moment = datetime.fromtimestamp(time, UTC)
    return f"{moment.month}/{moment.day}/{moment.year}"


def date_time(time: float) -> str:
    """Date and time as an American server writes them in the events of a pass."""
    return f"{date(time)} {datetime.fromtimestamp(time, UTC):%H:%M:%S}"


def number(value: int) -> str:
    """A page number as the engine prints it."""
    return f"{value} (0x{value:X})"


@dataclass(frozen=True)
class Copy:
    """A database on a computer, and the words in which its engine logs."""

    computer: str = "EX01.corp.example"
    database: str = r"E:\DB01\DB01.edb"
    instance: str = "DB01"
    process: str = "Information Store - DB01"
    provider: str = "ESE"
    channel: str = "Application"
    brief: bool = False
    """The second string is a bare process id, as engines up to 2007 wrote it."""

    @property
    def label(self) -> str:
        """The computer as the product calls it."""
        return self.computer.split(".")[0].lower()

    @property
    def database_label(self) -> str:
        """The database as the product calls it."""
        return self.database.removeprefix("\\\\.\\").lower()

    def log(
        self,
        time: float,
        event_id: int,
        *strings: str,
        level: Level = "information",
        state: str = "D",
    ) -> Logged:
        """Any event, with its strings from `%4`."""
        who = "3392" if self.brief else f"5960,{state},50"
        name = f"{self.instance}: " if self.instance else ""
        return Logged(
            time,
            self.computer,
            self.channel,
            self.provider,
            event_id,
            None,
            (self.process, who, name, *strings),
            level,
        )

    def maintenance_start(self, time: float) -> Logged:
        """736: a pass of an active copy begins."""
        return self.log(time, 736, self.database)

    def maintenance_resume(self, time: float, start: float, page: int = 1000) -> Logged:
        """738: a pass of an active copy goes on."""
        return self.log(time, 738, self.database, number(page), date(start), "1")

    def maintenance_end(
        self, time: float, start: float, *, run: int = PAGES, bad: int = 0
    ) -> Logged:
        """737: a pass of an active copy is complete; `run` pages were read by its last run."""
        return self.log(
            time,
            737,
            self.database,
            date_time(start),
            f"{time - start:.0f}",
            str(PAGES),
            f"{run}, {bad}",
            *("0",) * 4,
        )

    def maintenance_late_end(self, time: float, start: float, threshold: int = 7) -> Logged:
        """735: a pass of an active copy is complete, later than the engine aims at."""
        days = max(1, int((time - start) // DAY))
        return self.log(
            time,
            735,
            self.database,
            date_time(start),
            f"{time - start:.0f}",
            str(days),
            str(threshold),
            str(PAGES),
            f"{PAGES}, 0",
            *("0",) * 4,
            level="warning",
        )

    def maintenance_running(self, time: float, start: float, seen: int = 5000) -> Logged:
        """744: a pass of an active copy is at work."""
        hours = f"{(time - start) / HOUR:.0f}"
        return self.log(time, 744, self.database, date(start), hours, str(seen))

    def scan_start(self, time: float) -> Logged:
        """717: a scan begins, of a passive copy or on Exchange 2007."""
        return self.log(time, 717, self.database)

    def scan_resume(self, time: float, start: float) -> Logged:
        """719: a scan goes on, of a passive copy or on Exchange 2007."""
        return self.log(time, 719, self.database, date(start), "1")

    def scan_skipped(self, time: float, pages: int = 300) -> Logged:
        """747: a scan that goes on has left pages out."""
        strings = (str(pages), f" / {PAGES} = 0.15%", number(700), number(1000))
        return self.log(time, 747, self.database, *strings)

    def passive_end(self, time: float, start: float, *, run: int = PAGES) -> Logged:
        """732: a scan of a passive copy is complete."""
        return self.log(
            time,
            732,
            self.database,
            date_time(start),
            f"{time - start:.0f}",
            str(max(1, int((time - start) // DAY))),
            str(PAGES),
            f"{run}, 0",
        )

    def passive_abort(self, time: float) -> Logged:
        """745: a scan of a passive copy is aborted."""
        return self.log(time, 745, self.database, number(5000), "-", "4000, 0")

    def checksum_end(
        self, time: float, start: float, *, bad: int = 0, days: int | None = None, day: str = ""
    ) -> Logged:
        """721: the checksum pass of Exchange 2007 is complete."""
        elapsed = days or max(1, int((time - start) // DAY))
        strings = (day or date(start), "7200", "2", str(elapsed), str(PAGES), str(bad), "120")
        return self.log(time, 721, self.database, *strings)

    def zeroing_end(self, time: float, start: float, *, bad: int = 0) -> Logged:
        """722: the zeroing pass of Exchange 2007 is complete."""
        strings = (date(start), "7200", "1", "1", str(PAGES), str(bad), "120")
        return self.log(time, 722, self.database, *strings, "900", "80", "99000", "5", "0")

    def bad_page(self, time: float, page: int) -> Logged:
        """474: a page whose checksum is wrong."""
        size = 8192 if self.brief else 32768
        return self.log(
            time,
            474,
            self.database,
            f"{(page + 1) * size} (0x{(page + 1) * size:016x})",
            f"{size} (0x{size:08x})",
            "-1018 (0xfffffc06)",
            "[0123456789abcdef]",
            "[0123456789abcdee]",
            number(page),
            level="error",
        )

    def patched(self, time: float, page: int) -> Logged:
        """905: a page of the active copy was repaired."""
        return self.log(time, 905, number(page), self.database, level="warning")

    def patched_passive(self, time: float, first: int, last: int) -> Logged:
        """911: pages of the passive copy were repaired."""
        strings = (number(first), number(last), self.database)
        return self.log(time, 911, *strings, level="warning")

    def defrag_start(self, time: float) -> Logged:
        """700: a pass of online defragmentation begins."""
        return self.log(time, 700, self.database)

    def defrag_resume(self, time: float, start: float) -> Logged:
        """702: a pass of online defragmentation goes on."""
        return self.log(time, 702, self.database, date(start), "1")

    def defrag_end(self, time: float, start: float, *, resumed: bool = False) -> Logged:
        """701 or 703: a pass of online defragmentation is complete."""
        strings = ("40", date(start), f"{time - start:.0f}", "1", "1", "14")
        return self.log(time, 703 if resumed else 701, self.database, *strings)

    def defrag_stop(self, time: float) -> Logged:
        """704: online defragmentation stops before its pass is complete."""
        return self.log(time, 704, self.database)

    def instance_start(self, time: float) -> tuple[Logged, ...]:
        """102, 300, 302, 105 and 326: the instance starts, replays first, and is at work."""
        return (
            self.log(time, 102, "0", "10", "00", "14393", "0000", state="P"),
            self.log(time + 1, 300, state="R"),
            self.log(time + 2, 302, state="U"),
            self.log(time + 3, 105, "0", "3", "[1] 0.1", "0", state="D"),
            self.log(time + 4, 326, "1", self.database, "0", "[1] 0.1", "0 0", "x", state="D"),
        )

    def instance_stop(self, time: float) -> Logged:
        """103: the instance stops."""
        return self.log(time, 103, "0", "[1] 0.1", "0", state="T")


def old_store(**changes: str) -> Copy:
    """A database of Exchange 2007."""
    words = {
        "database": r"F:\SG01\priv01.edb",
        "instance": "SG01",
        "process": "MSExchangeIS",
        **changes,
    }
    return Copy(**words, brief=True)


def domain_controller(computer: str = "DC01.corp.example") -> Copy:
    """The directory of a domain controller."""
    return Copy(
        computer,
        r"C:\Windows\NTDS\ntds.dit",
        "NTDSA",
        "NTDS",
        "NTDS ISAM",
        "Directory Service",
        brief=True,
    )


def numbered(events: Iterable[Logged], first: int = 1) -> list[Logged]:
    """The events in the order of their times, numbered for each channel of each computer."""
    last: dict[tuple[str, str], int] = {}
    records = []
    for event in sorted(events, key=lambda event: event.time):
        channel = (event.computer, event.channel)
        last[channel] = last.get(channel, first - 1) + 1
        records.append(event._replace(record_id=last[channel]))
    return records


def run(*words: str | Path) -> in_process.Said:
    """The command line, in this process."""
    return in_process.run(main, *words)


class Said(NamedTuple):
    """What a user can see of one database."""

    verified: Mapping[str, float] = {}
    findings: frozenset[str] = frozenset()
    model: str = ""
    tier: str = ""
    action: str = ""
    deadline: float | None = None
    windows: int = 0
    ratio: float | None = None
    bad: int = 0
    damage: frozenset[str] = frozenset()
    verdict: str = ""


class Metrics(NamedTuple):
    """The samples that a replay wrote: (name, labels, time, value), in their order."""

    samples: Sequence[tuple[str, Mapping[str, str], float, float]]

    def last(self, name: str, **labels: str) -> dict[frozenset[tuple[str, str]], float]:
        """The last value of each series of that name that has these labels."""
        return {
            frozenset(found.items()): value
            for given, found, _, value in self.samples
            if given == name and labels.items() <= found.items()
        }

    def total(self, name: str, **labels: str) -> float:
        """The sum of the last values of these series; nothing is zero."""
        return sum(self.last(name, **labels).values())


@dataclass(frozen=True)
class Judged:
    """Everything that was said of a history."""

    databases: Mapping[tuple[str, str], Said]
    metrics: Metrics
    advice: in_process.Said = field(repr=False)

    def of(self, copy: Copy, computer: str = "") -> Said:
        """What was said of this copy; nothing known is an empty answer."""
        return self.databases.get((computer or copy.label, copy.database_label), Said())


_MATCH = (
    "ese_known_bad_pages|ese_known_damage|ese_last_full_verification_timestamp_seconds"
    "|ese_events_total|ese_passes_.*_total|ese_database_info"
    "|ese_backup_last_completion_timestamp_seconds"
)


def judged(
    folder: Path, events: Sequence[Logged], configuration: str = "", more: Sequence[Path] = ()
) -> Judged:
    """What is said of these events, written as one file of JSON lines."""
    path = write_json(folder / "events.jsonl", events)
    return judged_files(folder, [path, *more], configuration)


def judged_files(folder: Path, files: Sequence[Path], configuration: str = "") -> Judged:
    """What is said of these files, given in this order."""
    words: list[str | Path] = []
    if configuration:
        settings = folder / "esewatch.yml"
        settings.write_text(configuration)
        words = ["--config.file", settings]
    advice = run("advise", "--format", "json", *words, *files)
    metrics = replayed(folder, files, words)
    report = run("report", *words, "-o", folder / "report.html", *files)
    assert report.status == advice.status, (report, advice)
    written = folder / "report.html"
    page = html.unescape(written.read_text()) if written.exists() else ""
    shown = {(computer, verdict) for computer, _, verdict in verdicts(page)}
    databases, told = {}, {}
    lines = advice.out.splitlines()
    for line in lines:
        one = json.loads(line)
        if "database" in one:
            key = (one["computer"], one["database"])
            databases[key], told[key] = _said(one, metrics), one
            assert (one["computer"], one["verdict"]) in shown
            for found in one["findings"]:
                if found["finding"] not in COUNTED and len(lines) <= MAX_IN_FULL:
                    assert found["sentence"] in page, found
    if told:
        check_daemon(folder, files, configuration, told)
    return Judged(databases, metrics, advice)


def check_daemon(
    folder: Path, files: Sequence[Path], configuration: str, told: Mapping[Key, Any]
) -> None:
    """An agent that read the same files says on its page, in its JSON and in its metrics what
    `advise` says, `told`, and `doctor` of which computer nothing is heard: where that judges all as
    of one time, and no two share a short name, which is that of the one that an agent meets first.
    """
    moments = {one["as_of"] for one in told.values()}
    names = {computer for computer, _ in told}
    if len(moments) > 1 or any(name.partition(".")[0] in names - {name} for name in names):
        return
    kinds = {".evtx": "evtx", ".csv": "perfmon_csv"}
    sources = [
        {"type": kinds.get(file.suffix, "event_stream"), "path": str(file), "name": str(number)}
        for number, file in enumerate(files)
    ]
    place = folder / "agent.yml"
    plain = {**(yaml.safe_load(configuration) or {}), "sources": sources}
    with TemporaryDirectory() as journal:
        place.write_text(yaml.safe_dump({**plain, "journal": f"{journal}/journal.db"}))
        now = _epoch(moments.pop())
        shown = shown_by(read_by_daemon(place, now))
        with mock.patch("time.time", lambda: now):
            doctor = run("doctor", "--config.file", place, "--format", "json")
    problems = [json.loads(line) for line in doctor.out.splitlines()]
    silent = {each["computer"]: each["sentence"] for each in problems if each["problem"] == SILENT}
    assert silent.keys() == {key[0] for key, one in told.items() if _unheard(one)}
    for key, one in told.items():
        assert all(found["sentence"] == silent[key[0]] for found in _unheard(one))
        # What was read first is "found in history" for an agent.
        details = [each["finding"] for each in one.get("details", ())]
        mine = shown.advice[key]
        assert [each["finding"] for each in mine.get("details", ())] == details
        differing = {name for name in {*mine, *one} if mine.get(name) != one.get(name)}
        assert differing <= {"details"}, [(mine.get(name), one.get(name)) for name in differing]
        if one["tier"] == "watched":
            [(labels, _)] = shown.samples("ese_database_verdict", key)
            assert labels["verdict"] == one["verdict"]
            found = {labels["finding"] for labels, _ in shown.samples("ese_finding", key)}
            assert found == {*details, *(each["finding"] for each in one["findings"])}
            assert one["verdict"] in {
                verdict for computer, _, verdict in verdicts(shown.page) if computer == key[0]
            }


def _unheard(one: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [found for found in one["findings"] if found["finding"] == "not_heard"]


def replayed(
    folder: Path, files: Sequence[Path], words: Sequence[str | Path] = (), step: str = "1d"
) -> Metrics:
    """The samples that a replay of these files writes."""
    place = folder / "replay"
    place.mkdir(exist_ok=True)
    for stale in place.iterdir():
        stale.unlink()
    run("replay", *words, "--match", _MATCH, "--step", step, "-o", place / "out.om", *files)
    samples = []
    for path in sorted(place.iterdir()):
        samples += [_sample(line) for line in path.read_text().splitlines() if line[0] != "#"]
    return Metrics(samples)


_LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def _sample(line: str) -> tuple[str, Mapping[str, str], float, float]:
    series, value, time = line.rsplit(" ", 2)
    name, _, labels = series.partition("{")
    pairs = {key: text.replace("\\\\", "\\") for key, text in _LABEL.findall(labels)}
    return name, pairs, float(time), float(value)


def _said(one: Mapping[str, Any], metrics: Metrics) -> Said:
    where = {"computer": one["computer"], "database": one["database"]}
    damage = metrics.last("ese_known_damage", **where)
    deadline = one.get("forecast", {}).get("deadline")
    return Said(
        verified={by: _epoch(time) for by, time in one.get("verified", {}).items()},
        findings=frozenset(finding["finding"] for finding in one["findings"]),
        model=one.get("model", ""),
        tier=one["tier"],
        action=one["action"],
        deadline=_epoch(deadline) if deadline else None,
        windows=one.get("evidence", {}).get("windows", 0),
        ratio=one.get("evidence", {}).get("ratio"),
        bad=int(metrics.total("ese_known_bad_pages", **where)),
        damage=frozenset(dict(labels)["kind"] for labels, value in damage.items() if value),
        verdict=one.get("verdict", ""),
    )


def _epoch(text: str) -> float:
    return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
