"""Latency of users while a database is verified, by the online scan and by eseutil."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from eselab.lab.bench import Bench, Load
from eselab.lab.experiments.checksum_parallel import DRIVES, PAGE
from eselab.lab.frame import Comparison, Experiment, Findings, Kind, ResultRow, Signal, told

SECONDS: Final = 20.0
"""Of each case."""
OUTSTANDING: Final = 4
"""Reads of users that are under way at once."""
ALONE: Final = "alone"
SCAN: Final = "online scan"
ESEUTIL: Final = "eseutil"

_ONLINE: Final[dict[str, Any]] = {"bytes": 327_680}
_CHECKER: Final[dict[str, Any]] = {"bytes": 65_536, "outstanding": 1024}
CASES: Final[dict[str, dict[str, Any] | None]] = {
    ALONE: None,
    SCAN: {**_ONLINE, "pause": 0.02},
    "online scan without pauses": _ONLINE,
    ESEUTIL: _CHECKER,
    "eseutil throttled": {**_CHECKER, "pause": 1.0, "batch": 20},
}
"""Readers beside the users, in words of `engine disks`."""

_USERS: Final = "users"
_BESIDE: Final = "beside"
_KIND: Final[Kind] = "modelled disk"


def plan(beside: Mapping[str, Any] | None, seconds: float) -> dict[str, Any]:
    """Users that read here and there on a LUN, and one who reads it from its begin on."""
    users = {"bytes": PAGE, "pattern": "random", "outstanding": OUTSTANDING}
    streams = {_USERS: users} if beside is None else {_USERS: users, _BESIDE: beside}
    return {
        "lun": DRIVES,
        "workloads": [
            {"name": name, "seconds": seconds, **stream} for name, stream in streams.items()
        ],
    }


def run(bench: Bench, seconds: float = SECONDS) -> Findings:
    """See EXPERIMENT. `seconds`: of virtual time, for each case."""
    found = {
        case: bench.disks(case.replace(" ", "-"), plan(beside, seconds))
        for case, beside in CASES.items()
    }
    rows = [row for case, loads in found.items() for row in _rows(case, loads)]
    users = {case: loads[_USERS] for case, loads in found.items()}
    return Findings(rows=rows, comparisons=[_kinder(users)])


def _rows(case: str, loads: Mapping[str, Load]) -> list[ResultRow]:
    users, beside = loads[_USERS], loads.get(_BESIDE)
    figures: Sequence[tuple[str, str, float | None]] = (
        ("users' reads", "1/s", users.requests / users.seconds),
        ("users' read latency", "ms", users.latency_mean * 1e3),
        ("users' read latency, 99 % within", "ms", users.latency_p99 * 1e3),
        ("verified", "MB/s", beside.bytes_per_second / 1e6 if beside else None),
    )
    return [
        ResultRow(quantity=quantity, case=case, unit=unit, kind=_KIND, ours=ours)
        for quantity, unit, ours in figures
        if ours is not None
    ]


def _kinder(users: Mapping[str, Load]) -> Comparison:
    """The article says so in words; it has no figures."""
    return told(
        f"kinder to the disk: {SCAN} or {ESEUTIL}",
        _KIND,
        SCAN,
        min((SCAN, ESEUTIL), key=lambda case: users[case].latency_mean),
        why="the modelled drives give the users their turn",
    )


EXPERIMENT: Final = Experiment(
    name="scan-kindness",
    article="P1",
    question="What do users wait for while a database is verified?",
    setup=[
        f"Users have {OUTSTANDING} outstanding random reads of 8 KB on a LUN of 8 modelled"
        f" drives of 10,000 rpm; each case lasts {SECONDS:g} s.",
        "At the same time the LUN is read from its start: by the online scan, 320 KB at a time,"
        " with pauses of 20 ms after each read or without; or by eseutil /k, with 1,024 reads of"
        " 64 KB at once, or throttled as by /p20, which is a pause of a second after every 20"
        " reads.",
        "The article calls one of them kinder and has no figures. Here it is the one during"
        " which users wait less. MB are millions of bytes.",
    ],
    steps=len(CASES),
    run=run,
    signals=[
        Signal(side="good", case=ALONE),
        Signal(side="good", case=SCAN),
        Signal(side="bad", case=ESEUTIL, alerts=("EseLatencyHigh",)),
        Signal(side="good", case="eseutil throttled"),
    ],
)
