"""Our reader of event logs beside an independent one, and its short way beside its careful one."""

from collections.abc import Sequence
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple

from esewatch.ese.raw_event import RawEvent
from esewatch.sources.evtx.chunks import chunk_offset
from esewatch.sources.evtx.evtx_records import RecordReader
from esewatch.sources.evtx.templates import FAILURES, Templates
from tests.fuzz.seeds import kept
from tests.fuzz.targets import event_log
from tests.support.campaign import EXAMPLES
from tests.support.evtx_peer import Told, by_ours, by_peer, chunks_of, offsets_of
from tests.support.evtx_records import START
from tests.support.evtx_writer import EvtxWriter, Layout, record_offsets
from tests.support.samples import sample

SAMPLES = [
    "Application_no_crc32.evtx",
    "dc_applog_ntdsutil_dfir_325_326_327.evtx",
    "deepbluecli-many-events-application.evtx",
    "lab-ec2-dc-application-1.evtx",
]
RECORD_ID = RawEvent.__struct_fields__.index("record_id")
DAMAGED = "bad-chunk-magic.evtx"
Row = tuple[str, int, Sequence[str], Layout, str, int]

texts = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=40
) | st.sampled_from(["", "e:\\MDB06\\priv06.edb", "-1018 (0xfffffc06)", "3/1/2024", "漢字😀"])
rows = st.tuples(
    st.sampled_from(["ESE", "ESENT", "NTDS ISAM", "Userenv", "MSExchangeIS", "ünï"]),
    st.integers(0, 65535),
    st.lists(texts, max_size=12),
    st.sampled_from(["array", "elements", "named", "user"]),
    st.sampled_from(["EX01.corp.example", "", "DC1"]),
    st.integers(0, 255),
)


def both_ways(path: Path) -> tuple[list[Told], list[Told]]:
    """All records read the careful way, and those of them that the short way reads."""
    templates = Templates(lambda provider: True)
    careful, quick = [], []
    for chunk in chunks_of(path):
        reader = RecordReader(chunk.data, templates)
        for at in offsets_of(chunk):
            try:
                careful.append(astuple(reader.careful(at)))
                found = reader.quick(at)
            except FAILURES:
                continue
            if found is not None:
                quick.append(astuple(found))
    return careful, quick


@pytest.mark.parametrize("name", SAMPLES)
def test_every_record_of_a_real_log_is_as_the_peer_tells_it(name: str) -> None:
    path = sample(f"evtx/{name}")
    assert by_ours(path) == by_peer(path)


@pytest.mark.parametrize("name", SAMPLES)
def test_every_record_of_a_real_log_takes_the_short_way_to_the_same_result(name: str) -> None:
    careful, quick = both_ways(sample(f"evtx/{name}"))
    assert careful
    assert quick == careful


def test_a_damaged_real_log_is_read_the_same_in_both_ways() -> None:
    path = sample(f"evtx/{DAMAGED}")
    careful, quick = both_ways(path)
    assert quick
    assert set(quick) <= set(careful)
    whole = {record for record in by_peer(path) if record[RECORD_ID] is not None}
    assert len(whole & set(careful)) > 200


@pytest.mark.slow
@given(st.lists(rows, min_size=1, max_size=60))
@settings(max_examples=3 * EXAMPLES // 2, deadline=None)
def test_every_record_of_a_made_up_log_is_as_the_peer_tells_it(
    tmp_path_factory: pytest.TempPathFactory, written: list[Row]
) -> None:
    path = tmp_path_factory.mktemp("made") / "a.evtx"
    with EvtxWriter(path) as log:
        for number, (provider, event_id, strings, layout, computer, level) in enumerate(written):
            log.write(
                event_id,
                strings,
                provider=provider,
                time=START + timedelta(microseconds=1_234_567 * number),
                layout=layout,
                computer=computer,
                level=level,
            )
    ours = by_ours(path)
    assert len(ours) == len(written)
    assert ours == by_peer(path)
    careful, quick = both_ways(path)
    assert careful == ours
    assert len(quick) == sum(
        1 for row in written if row[2] or row[3] in ("array", "elements", "named")
    )
    assert set(quick) <= set(careful)


def spared(whole: bytes, damaged: bytes) -> set[int]:
    """Ids of the records whose bytes, those of the templates and of the header are as they were."""
    start, end = chunk_offset(0), chunk_offset(1)
    offsets = [start + at for at in record_offsets(whole[start:end])]
    bounds = [*offsets, offsets[-1] + 400]
    same = [whole[at:to] == damaged[at:to] for at, to in pairwise(bounds)]
    readable = whole[start : bounds[1]] == damaged[start : bounds[1]]
    return {number for number, unchanged in enumerate(same, 1) if unchanged and readable}


def check_edited(path: Path, data: bytes) -> int:
    """Read the log with these edits in both ways; how many records must come out."""
    whole, damaged = event_log(b""), event_log(data)
    path.write_bytes(whole)
    expected = {record[RECORD_ID]: record for record in by_peer(path)}
    path.write_bytes(damaged)
    careful, quick = both_ways(path)
    assert set(quick) <= set(careful)
    kept_ids = spared(whole, damaged)
    assert {expected[number] for number in kept_ids} <= set(careful)
    return len(kept_ids)


def test_of_a_log_that_fuzzing_made_every_record_that_it_spared_comes_out(tmp_path: Path) -> None:
    logs = kept("evtx")
    assert sum(check_edited(tmp_path / "a.evtx", data) for data in logs) > 10 * len(logs)


@given(st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 255)), min_size=1, max_size=8))
@settings(max_examples=3 * EXAMPLES, deadline=None)
def test_of_any_edited_log_every_record_that_is_spared_comes_out(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, int]]
) -> None:
    data = b"".join(
        (chunk_offset(0) + at).to_bytes(3, "little") + bytes([value]) for at, value in edits
    )
    assert check_edited(tmp_path_factory.mktemp("edited") / "a.evtx", data) <= 40
