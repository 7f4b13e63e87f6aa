"""Which files share a lane, in which order they are read."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from esefiles.scans.devices.topology import Topology
from esefiles.scans.plan import Lane, ScanTarget, device_text, plan
from tests.sources.machine import FakeMachine


@pytest.fixture
def machine(tmp_path: Path) -> FakeMachine:
    """Disks sda to sdd with the identities a to d, mounted at /a to /d; sda has a second part."""
    made = FakeMachine(tmp_path / "machine")
    for letter in "abcd":
        made.disk(f"sd{letter}", device__wwid=f"naa.{letter}")
        made.mount(f"/dev/sd{letter}", f"/{letter}")
    made.partition("sda", "sda2")
    made.mount("/dev/sda2", "/a2")
    return made


def paths(lanes: Iterable[Lane]) -> list[list[str]]:
    return [[target.path for target in lane.targets] for lane in lanes]


def planned(
    machine: FakeMachine, *targets: str | ScanTarget, pools: Mapping[str, list[str]] | None = None
) -> list[Lane]:
    files = [ScanTarget(path=item) if isinstance(item, str) else item for item in targets]
    return plan(files, Topology(machine.root), pools or {})


def test_files_on_different_disks_are_in_different_lanes(machine: FakeMachine) -> None:
    lanes = planned(machine, "/b/x.edb", "/a/x.edb", "/a/y.edb")

    assert paths(lanes) == [["/a/x.edb", "/a/y.edb"], ["/b/x.edb"]]
    assert [(lane.device, lane.locks) for lane in lanes] == [
        ("naa.a", ("naa.a",)),
        ("naa.b", ("naa.b",)),
    ]


def test_partitions_of_one_disk_share_a_lane(machine: FakeMachine) -> None:
    assert paths(planned(machine, "/a/x.edb", "/a2/y.edb")) == [["/a/x.edb", "/a2/y.edb"]]


def test_what_spans_disks_joins_their_lanes(machine: FakeMachine) -> None:
    machine.on_top("md0", "sda2", "sdb")
    machine.mount("/dev/md0", "/array")

    lanes = planned(machine, "/a/1", "/b/2", "/c/3", "/array/4")

    assert paths(lanes) == [["/a/1", "/array/4", "/b/2"], ["/c/3"]]
    assert (lanes[0].device, lanes[0].locks) == ("naa.a, naa.b", ("naa.a", "naa.b"))


@pytest.mark.parametrize(
    "pool", [["naa.a", "naa.b"], ["sda", "sdb"], ["/dev/sda2", "sdb"], ["naa.b", "/dev/sda"]]
)
def test_a_pool_joins_lanes(machine: FakeMachine, pool: list[str]) -> None:
    lanes = planned(machine, "/a/1", "/b/2", "/c/3", pools={"array1": pool})

    assert paths(lanes) == [["/a/1", "/b/2"], ["/c/3"]]


def test_pools_that_share_a_device_are_one(machine: FakeMachine) -> None:
    pools = {"one": ["sda", "sdb"], "two": ["naa.b", "sdc"], "three": ["sdd"], "none": []}

    assert paths(planned(machine, "/a/1", "/c/3", "/d/4", pools=pools)) == [
        ["/a/1", "/c/3"],
        ["/d/4"],
    ]


def test_a_lane_locks_the_others_of_its_pools_too(machine: FakeMachine) -> None:
    lanes = planned(
        machine, "/a/1", "/d/4", pools={"array1": ["sda", "sdb", "nas1:"], "x": ["sdc"]}
    )

    assert [(lane.device, lane.locks) for lane in lanes] == [
        ("naa.a", ("naa.a", "naa.b", "nas1:")),
        ("naa.d", ("naa.d",)),
    ]


def test_unknown_devices_are_one_lane_and_the_last(machine: FakeMachine) -> None:
    machine.mount("overlay", "/one", "overlay")
    machine.mount("fuse", "/two", "fuse")

    lanes = planned(machine, "/two/x", "/one/x", "/d/x", "/elsewhere")

    assert paths(lanes) == [["/d/x"], ["/elsewhere", "/one/x", "/two/x"]]
    assert (lanes[1].device, lanes[1].locks) == ("", ("",))


def test_shares_of_one_server_are_one_lane(machine: FakeMachine) -> None:
    machine.mount("nas1:/a", "/n/a", "nfs4")
    machine.mount("//NAS1/b", "/n/b", "cifs")
    machine.mount("nas2:/c", "/n/c", "nfs4")

    assert paths(planned(machine, "/n/a/x", "/n/b/x", "/n/c/x")) == [
        ["/n/a/x", "/n/b/x"],
        ["/n/c/x"],
    ]


def test_the_configuration_says_on_which_device_a_file_lies(machine: FakeMachine) -> None:
    machine.mount("nas1:/a", "/n", "nfs4")
    lanes = planned(
        machine,
        ScanTarget(path="/n/1", device="lun7"),
        ScanTarget(path="/n/2", device="lun8"),
        ScanTarget(path="/n/3", device="/dev/sda"),
        ScanTarget(path="/n/4", device="lun9"),
        "/a/5",
        pools={"array1": ["lun7", "lun9"]},
    )

    assert [(lane.device, paths([lane])[0]) for lane in lanes] == [
        ("lun7, lun9", ["/n/1", "/n/4"]),
        ("lun8", ["/n/2"]),
        ("naa.a", ["/a/5", "/n/3"]),
    ]


def test_the_oldest_verified_comes_first_and_the_never_verified_before_it(
    machine: FakeMachine,
) -> None:
    lanes = planned(
        machine,
        ScanTarget(path="/a/new", verified=3e9, size=1),
        ScanTarget(path="/a/old", verified=1e9, size=2),
        ScanTarget(path="/a/epoch", verified=0.0),
        ScanTarget(path="/a/never2"),
        ScanTarget(path="/a/never1", size=5),
        ScanTarget(path="/a2/old", verified=1e9, size=9),
    )

    assert paths(lanes) == [["/a/never1", "/a/never2", "/a/epoch", "/a/old", "/a2/old", "/a/new"]]


def test_a_file_that_several_paths_reach_is_planned_once(
    machine: FakeMachine, tmp_path: Path
) -> None:
    file, other = tmp_path / "x.edb", tmp_path / "other.edb"
    file.write_bytes(b"1")
    other.write_bytes(b"1")
    (tmp_path / "hard.edb").hardlink_to(file)
    (tmp_path / "soft.edb").symlink_to("x.edb")
    (tmp_path / "folder").symlink_to(".")
    names = ["soft.edb", "x.edb", "hard.edb", "folder/other.edb", "other.edb", "./x.edb"]

    lanes = planned(machine, *(f"{tmp_path}/{name}" for name in names))

    assert [Path(path).name for lane in paths(lanes) for path in lane] == ["other.edb", "soft.edb"]


def test_a_path_given_twice_is_planned_once_though_nothing_is_there(machine: FakeMachine) -> None:
    assert paths(planned(machine, "/a/x", "/a/x", "bad\0name")) == [["/a/x"], ["bad\0name"]]


def test_nothing_to_scan_is_no_lane(machine: FakeMachine) -> None:
    assert planned(machine, pools={"array1": ["sda", "sdb"]}) == []


@pytest.mark.parametrize(
    ("devices", "text"),
    [
        ([], ""),
        ([""], ""),
        (["sda"], "sda"),
        (["sdb", "sda", ""], "sda, sdb"),
        (["c", "b", "a"], "a, b, c"),
        (["e", "d", "c", "b", "a"], "a, b, c and 2 more"),
    ],
)
def test_devices_are_told_in_few_words(devices: list[str], text: str) -> None:
    assert device_text(devices) == text


class _Said(Topology):
    """Devices as they are said."""

    def __init__(self, devices: Mapping[str, frozenset[str]]) -> None:
        self._devices_said = devices

    def devices_of(self, path: str) -> frozenset[str]:
        return self._devices_said[path]

    def named(self, name: str) -> frozenset[str]:
        return frozenset({name})


_DEVICES = st.frozensets(st.sampled_from("abcdefgh"), max_size=3)
_POOLS = st.dictionaries(st.sampled_from("PQR"), st.lists(st.sampled_from("abcdefgh"), max_size=3))


@given(st.dictionaries(st.integers(0, 30).map(lambda n: f"/none/{n}"), _DEVICES), _POOLS)
def test_lanes_share_no_device_and_are_as_small_as_can_be(
    devices: dict[str, frozenset[str]], pools: dict[str, list[str]]
) -> None:
    lanes = plan([ScanTarget(path=path) for path in devices], _Said(devices), pools)

    locks = [lock for lane in lanes for lock in lane.locks]
    assert len(locks) == len(set(locks))
    assert sorted(path for lane in paths(lanes) for path in lane) == sorted(devices)
    links = [*devices.values(), *(frozenset(pool) for pool in pools.values())]
    for lane in lanes:
        used = frozenset().union(*(devices[target.path] or {""} for target in lane.targets))
        assert used <= set(lane.locks)
        reached = frozenset({lane.locks[0]})
        while (wider := reached.union(*(link for link in links if link & reached))) != reached:
            reached = wider
        assert reached == set(lane.locks)


@given(st.permutations([ScanTarget(path=f"/{device}/{n}") for device in "abc" for n in range(3)]))
def test_the_order_of_the_question_changes_nothing(targets: list[ScanTarget]) -> None:
    devices = {target.path: frozenset({target.path[1]}) for target in targets}

    assert paths(plan(targets, _Said(devices))) == [
        [f"/{device}/{n}" for n in range(3)] for device in "abc"
    ]
