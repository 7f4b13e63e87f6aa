"""Real event logs: what the source finds is what independent readers find."""

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest

from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.kind import EventOptions
from tests.support.evtx_records import Harvest, by_evtx, by_libevtx, by_python_evtx, harvest
from tests.support.samples import sample

TABLE = [
    (
        "Application_no_crc32.evtx",
        {102: 1, 105: 1, 326: 1},
        "2021-03-31T23:54:04.668533",
        "2021-03-31T23:54:06.887401",
    ),
    (
        "dc_applog_ntdsutil_dfir_325_326_327.evtx",
        {325: 1, 326: 1, 327: 2},
        "2019-11-26T23:55:00.000000",
        "2019-11-26T23:55:02.000000",
    ),
    (
        "deepbluecli-many-events-application.evtx",
        {
            102: 36,
            103: 2,
            210: 1,
            213: 1,
            220: 1,
            221: 1,
            223: 1,
            225: 1,
            300: 31,
            301: 39,
            302: 31,
            609: 3,
            612: 3,
        },
        "2013-10-23T16:22:55.000000",
        "2016-09-20T13:08:04.000000",
    ),
    (
        "lab-ec2-dc-application-1.evtx",
        {102: 5, 105: 5, 300: 4, 301: 6, 302: 4, 325: 1, 326: 4},
        "2023-05-29T00:53:37.170692",
        "2023-06-05T23:08:13.839671",
    ),
]
NAMES = [row[0] for row in TABLE]


def read(name: str) -> Harvest:
    path = sample(f"evtx/{name}")
    return harvest(EvtxSource("log", [str(path)]).poll(final=True))


def stamp(time: float | None) -> str:
    assert time is not None
    return datetime.fromtimestamp(time, UTC).replace(tzinfo=None).isoformat(timespec="microseconds")


@pytest.mark.parametrize(("name", "counts", "first", "last"), TABLE, ids=NAMES)
def test_counts_and_times_are_those_of_the_table(
    name: str, counts: dict[int, int], first: str, last: str
) -> None:
    found = read(name)
    assert Counter(event.event_id for event in found.events) == counts
    times = sorted(stamp(event.time) for event in found.events)
    assert (times[0], times[-1]) == (first, last)
    assert found.unreadable == []


@pytest.mark.parametrize("name", NAMES)
def test_every_event_is_as_the_rust_parser_shows_it_in_xml(name: str) -> None:
    seen = [record for record in by_evtx(sample(f"evtx/{name}")) if record.provider == "ESENT"]
    assert seen
    events = read(name).events
    assert [(e.record_id, e.event_id, stamp(e.time)) for e in events] == [
        (record.record_id, record.event_id, record.time) for record in seen
    ]
    # Both readers' XML escapes line ends their own way.
    assert [tuple(" ".join(text.split()) for text in e.strings) for e in events] == [
        tuple(" ".join(text.split()) for text in record.strings) for record in seen
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_event_is_as_libevtx_shows_it(name: str) -> None:
    seen = [record for record in by_libevtx(sample(f"evtx/{name}")) if record.provider == "ESENT"]
    found = Counter((e.event_id, e.strings) for e in read(name).events)
    assert found == Counter((record.event_id, record.strings) for record in seen)


@pytest.mark.parametrize("name", NAMES)
def test_every_provider_is_found_by_its_name(name: str) -> None:
    path = sample(f"evtx/{name}")
    seen = by_evtx(path)
    assert seen
    for provider in sorted({record.provider for record in seen}):
        events = harvest(
            EvtxSource("log", [str(path)], EventOptions(providers=(provider,))).poll(final=True)
        ).events
        assert [e.record_id for e in events if e.provider == provider] == [
            record.record_id for record in seen if record.provider == provider
        ]


def test_every_event_of_a_controller_is_as_python_evtx_shows_it() -> None:
    name = "dc_applog_ntdsutil_dfir_325_326_327.evtx"
    found = [(e.record_id, e.event_id, e.provider) for e in read(name).events]
    assert found == by_python_evtx(sample(f"evtx/{name}"))


def test_a_renamed_machine_leaves_no_claim_over_its_chunk() -> None:
    coverage = read("deepbluecli-many-events-application.evtx").coverage
    assert len(coverage) == 18
    assert {covered.computer for covered in coverage} == {"IE8Win7", "IE9Win7", "IE10Win7"} & {
        covered.computer for covered in coverage
    }
    assert coverage[-1].last == 2216


def test_a_damaged_log_is_read_and_told_once() -> None:
    path = sample("evtx/bad-chunk-magic.evtx")
    source = EvtxSource(
        "log", [str(path)], EventOptions(providers=("Microsoft-Windows-Security-Auditing",))
    )
    found = harvest(source.poll(final=True))
    assert {complaint.place for complaint in found.unreadable} == {
        *("chunk 0", "chunk 1", "chunk 6", "chunk 7", "chunk 9", "chunk 10")
    }
    ids = {event.record_id for event in found.events}
    assert ids >= {seen.record_id for seen in by_evtx(path) if "Security" in seen.provider}
    assert harvest(source.poll(final=True)).unreadable == []


@pytest.mark.parametrize(
    ("name", "chunk", "first", "end"),
    [
        ("lab-ec2-dc-application-1.evtx", 1, 861, 1373),
        ("deepbluecli-many-events-application.evtx", 11, 1556, 2068),
    ],
)
def test_records_of_a_damaged_template_are_told_and_not_gutted(
    name: str, chunk: int, first: int, end: int, tmp_path: Path
) -> None:
    """The template lost its Computer, or its EventID and TimeCreated, and goes on behind them."""
    data = bytearray(sample(f"evtx/{name}").read_bytes())
    at = 4096 + (chunk << 16)
    data[at + first : at + end] = bytes(end - first)
    (tmp_path / "damaged.evtx").write_bytes(data)
    found = harvest(EvtxSource("log", [str(tmp_path / "damaged.evtx")]).poll(final=True))
    assert any("records cannot be decoded" in each.reason for each in found.unreadable)
    assert found.events
    assert all(e.event_id and e.time and e.computer for e in found.events)
