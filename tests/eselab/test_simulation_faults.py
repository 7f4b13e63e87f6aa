"""Every injected fault is found, by the engine's scan and by `scan`; none is invented."""

import random
from pathlib import Path
from typing import Literal, get_args

import msgspec
import pytest

from esefiles.pages.layout import LARGEST_SMALL
from eselab.base.plan import DAY, DatabasePlan, FaultKind, MailPlan, Plan, WindowPlan
from eselab.base.trouble import ERRORS, Kind
from eselab.machine.faults import Fault
from eselab.machine.instance import Instance
from eselab.machine.machine import Machine
from esewatch.cli import main
from tests.eselab.page_sizes import each_page_size
from tests.eselab.running import HARMS, START, machine
from tests.support.campaign import some

HOUR = 3600.0
MIDDLE = 3.0 * HOUR
"""Of the window of each day: where the scan begins."""
WINDOW = WindowPlan(offset=1.0 * HOUR, length=4 * HOUR)

Part = Literal["damaged", "doubtful", "victim", "stale", "corrected"]
PARTS: tuple[Part, ...] = get_args(Part)
"""A page's in a fault. Of several of one page the engine meets the first of these."""
OF_KIND: dict[FaultKind, Part] = {
    "flip_one": "corrected",
    "flip_two": "damaged",
    "tear": "damaged",
    "lose": "stale",
    "misdirect": "stale",
}
OF_SCAN: dict[Part, set[str]] = {
    "damaged": {"checksum"},
    "doubtful": {"checksum", "wrong_page"},
    "victim": {"wrong_page"},
    "corrected": {"correctable"},
}
"""What `scan` may call it. A stale page verifies: only the flush map of the engine tells."""
EVENTS: dict[int, Kind] = {
    399: "corrected",
    474: "checksum",
    475: "wrong_page",
    530: "lost_flush",
}


class Rig:
    """A machine with one database, all of whose faults are kept with their parts."""

    def __init__(self, folder: Path, page_size: int, seed: int) -> None:
        self.size = page_size
        self.machine: Machine = machine(folder, _plan(page_size), seed=seed)
        self.instance: Instance = self.machine.instances["a"]
        self.path = folder / "a" / "a.edb"
        self.chance = random.Random(seed)
        self._ledger = folder / "truth.jsonl"

    def run(self, hours: float) -> None:
        self.machine.run(self.machine.now() + hours * HOUR)

    def told(self) -> list[Fault]:
        """The faults of the truth's ledger, as it lies on the disk."""
        lines = map(msgspec.json.decode, self._ledger.read_bytes().splitlines())
        return [
            Fault(time=line["time"], database="a.edb", page_number=page, kind=line["kind"])
            for line in lines
            if line["type"] == "fault" and (page := line["page_number"])
        ]

    def parts(self) -> dict[int, set[Part]]:
        """Of the pages that are bad now, by what was done and not by looking at them."""
        parts: dict[int, set[Part]] = {}
        standing = self.instance.faults.standing()
        astray = 0
        for fault in self.told():
            part = OF_KIND[fault.kind]
            # Of a write that went astray the page itself is reported first, then its victim.
            if fault.kind == "misdirect" and astray:
                part, astray = self._victim(fault.page_number ^ astray), 0
            elif fault.kind == "misdirect":
                astray = fault.page_number
            if fault in standing:
                parts.setdefault(fault.page_number, set()).add(part)
        return parts

    def _victim(self, difference: int) -> Part:
        """By the bits in which the two numbers differ: just one may be a flipped bit.

        `scan` judges that by what stands in the other place. A large page has its number in
        it, so that there is no doubt.
        """
        is_sure = self.size > LARGEST_SMALL or difference.bit_count() > 1
        return "victim" if is_sure else "doubtful"

    def expected(self) -> dict[int, Kind]:
        """As the engine calls them. A small page has no number in it that could be a wrong one."""
        victim: Kind = "wrong_page" if self.size > LARGEST_SMALL else "checksum"
        kinds: dict[Part, Kind] = {
            "damaged": "checksum",
            "doubtful": "checksum",
            "victim": victim,
            "stale": "lost_flush",
            "corrected": "corrected",
        }
        return {page: kinds[min(parts, key=PARTS.index)] for page, parts in self.parts().items()}

    def expected_of_scan(self) -> dict[int, set[str]]:
        """As `scan` may call them."""
        seen = {page: parts & OF_SCAN.keys() for page, parts in self.parts().items()}
        return {page: OF_SCAN[min(parts, key=PARTS.index)] for page, parts in seen.items() if parts}

    def found(self) -> dict[int, Kind]:
        """What a reading of all pages by the engine tells."""
        store = self.instance.database.store
        troubles = store.check_pages(1, store.pages).troubles
        assert len({trouble.number for trouble in troubles}) == len(troubles)
        return {trouble.number: trouble.kind for trouble in troubles}

    def harm_anywhere(self, kind: FaultKind) -> None:
        """A fault of any page, but seldom of those that the engine cannot do without."""
        pages = self.instance.database.store.pages
        page = self.chance.randrange(15, pages + 1) if self.chance.random() < 0.9 else None
        self.instance.harm(kind, page)

    def until_bad(self, kind: FaultKind, pages: int) -> None:
        """Ask for a fault until it stands on so many pages: a later write may heal one."""
        for _ in range(20):
            told = len(self.told())
            self.instance.harm(kind, None)
            for _ in range(48 * 60):
                if len(self.told()) > told:
                    break
                self.run(1 / 60)
            if len(self.instance.faults.standing()) == pages:
                return
        raise AssertionError(f"{kind} does not stand")


def _plan(page_size: int) -> Plan:
    database = DatabasePlan(
        name="a",
        page_size=page_size,
        pages=120,
        cache_pages=8,
        checkpoint_depth=1 << 17,
        window=WINDOW,
        mail=MailPlan(mailboxes=6, kept=15.0),
        defrag_pause=20.0,
        scan_throttle=0.0,
    )
    return Plan(databases=[database], sample=300.0)


@pytest.fixture(autouse=True)
def _positions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def scanned(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[int, str]:
    """What `scan` finds in a file, by page."""
    capsys.readouterr()
    status = main(["scan", "--format", "json", str(path)])
    told, complaint = capsys.readouterr()
    assert told, complaint
    row = msgspec.json.decode(told)
    found = {bad["page_number"]: bad["kind"] for bad in row["bad_pages"]}
    assert status == (1 if found else 0)
    return found


def expect_scan_to_find(rig: Rig, capsys: pytest.CaptureFixture[str]) -> None:
    """All that a checksum can tell, and nothing else."""
    found, expected = scanned(rig.path, capsys), rig.expected_of_scan()
    assert found.keys() == expected.keys()
    assert [page for page, kind in found.items() if kind not in expected[page]] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", HARMS)
@each_page_size
def test_each_fault_is_found_as_what_it_is_and_a_lost_write_by_the_flush_map_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], page_size: int, kind: FaultKind
) -> None:
    rig = Rig(tmp_path / "run", page_size, seed=page_size + HARMS.index(kind))
    rig.run(6.0)
    pages = 2 if kind == "misdirect" else 1
    rig.until_bad(kind, pages)
    expected = rig.expected()
    assert len(expected) == pages
    assert rig.found() == expected
    expect_scan_to_find(rig, capsys)
    rig.machine.close()


def met_by_the_scan(events: Path, since: int) -> tuple[dict[int, Kind], int] | int:
    """What the scan in the log behind byte `since` reported, by page, and how many it counted.

    A number: that of the error with which it failed, where the log has no end.
    """
    log = events.read_bytes()[since:]
    lines = [msgspec.json.decode(line)["Event"] for line in log.splitlines()]
    ids = [line["System"]["EventID"] for line in lines]
    if 721 not in ids:
        assert 723 in ids, "neither an end of the scan nor its failure"
        return int(lines[ids.index(723)]["EventData"]["Data"]["#text"][4])
    found: dict[int, Kind] = {}
    for line in lines[ids.index(717) + 1 : ids.index(721)]:
        values = line["EventData"]["Data"]["#text"]
        offset, size = (int(value.split()[0]) for value in values[4:6])
        page = offset // size - 1
        # The saving of the scan's state may meet a page, too.
        assert found.setdefault(page, kind := EVENTS[line["System"]["EventID"]]) == kind
    return found, int(lines[ids.index(721)]["EventData"]["Data"]["#text"][9])


def expect_all_found(rig: Rig, capsys: pytest.CaptureFixture[str]) -> int:
    """Just what is bad is found; how many pages that are."""
    expected = rig.expected()
    assert rig.found() == expected
    expect_scan_to_find(rig, capsys)
    return len(expected)


def expect_the_nightly_scan_to_find_all(rig: Rig, events: Path) -> bool:
    """From now, shortly before the scan, to its end; whether there was one.

    One that failed met a page that is bad in that way: it keeps its state there.
    """
    rig.machine.flush()
    since, before = events.stat().st_size, rig.expected()
    rig.run(0.2)
    rig.machine.flush()
    met = met_by_the_scan(events, since)
    # What was asked for may have happened to a page that was written in the meantime.
    after = rig.expected()
    if isinstance(met, int):
        standing = {ERRORS[kind] for kind in (*before.values(), *after.values())}
        # A corrected page fails nothing.
        assert met in standing - {ERRORS["corrected"]}
        return False
    found, counted = met
    assert before.items() & after.items() <= found.items() <= before.items() | after.items()
    assert counted == sum(kind in ("checksum", "wrong_page") for kind in found.values())
    return True


def check_history(
    folder: Path, page_size: int, seed: int, nights: int, capsys: pytest.CaptureFixture[str]
) -> int:
    """Faults of all kinds come at any time: at any time just those are found that stand.

    In how many nights a scan came to its end: none does where a fault took the page with its
    state, and the night's 723 says so.
    """
    rig = Rig(folder, page_size, seed)
    most, scans = 0, 0
    for night in range(nights):
        for _ in range(4):
            kinds = rig.chance.choices(HARMS, k=rig.chance.randint(0, 2))
            for kind in kinds:
                rig.harm_anywhere(kind)
            left = START + night * DAY + MIDDLE + 23.9 * HOUR - rig.machine.now()
            rig.machine.run(rig.machine.now() + rig.chance.uniform(0.0, left / 3))
            most = max(most, expect_all_found(rig, capsys))
        rig.machine.run(START + (night + 1) * DAY + MIDDLE - 0.1 * HOUR)
        scans += expect_the_nightly_scan_to_find_all(rig, folder / "events.jsonl")
    rig.machine.close()
    assert most > 1
    return scans


@each_page_size
def test_all_faults_of_some_nights_are_found_and_none_is_invented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], page_size: int
) -> None:
    assert check_history(tmp_path / "run", page_size, 0, 3, capsys) > 0


@pytest.mark.slow
@pytest.mark.parametrize("seed", some(range(100, 125), 3))
@each_page_size
def test_all_faults_of_many_nights_are_found_and_none_is_invented(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], page_size: int, seed: int
) -> None:
    check_history(tmp_path / "run", page_size, seed, 10, capsys)
