"""What runs on the servers of the demo: plans that the engine takes, windows at whole minutes."""

from itertools import pairwise

import msgspec
import pytest

from eselab.base.plan import Plan, opening
from eselab.demo.servers import DAY, DEVICE, TOGETHER, WINDOWS, servers

LIVE = 1_795_348_800.0


@pytest.mark.parametrize("live", [LIVE, LIVE + 3600.0 * 7 + 60.0, LIVE + 3600.0 * 23 + 3540.0])
def test_the_engine_takes_the_plans_and_the_windows_are_open_when_it_goes_live(live: float) -> None:
    databases = {
        each.name: each
        for server in servers(live)
        for each in msgspec.convert(server.plan, Plan).databases
    }
    for name, window in WINDOWS.items():
        planned = databases[name].window
        found = opening(planned, live, scan=True)
        assert found.begin == live - window.before
        assert found.end == found.begin + window.length
        assert planned.offset % 60 == 0
        assert planned.period == DAY


def test_however_late_the_first_page_is_a_scan_ends_within_five_minutes() -> None:
    ends = []
    for server in servers(LIVE):
        for each in msgspec.convert(server.plan, Plan).databases:
            if each.name in WINDOWS and each.scan_throttle > 1.0:
                window = WINDOWS[each.name]
                # A block is 40 pages; the file is somewhat larger than what was planned.
                reads = each.pages / 40 + 2
                ends.append(window.length / 2 - window.before + reads * each.scan_throttle)
    gaps = [later - sooner for sooner, later in pairwise([0.0, *sorted(ends)])]
    assert max(gaps) < 300.0
    assert max(ends) > 900.0


def test_two_databases_share_a_device() -> None:
    (shared,) = (server for server in servers(LIVE) if server.computer == "MAIL02")
    plan = msgspec.convert(shared.plan, Plan)
    assert {each.name for each in plan.databases if each.device == DEVICE} == set(TOGETHER)
