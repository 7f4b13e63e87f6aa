"""Every event log of a large collection, where a person has one: ESEWATCH_EVTX=FOLDER."""

import os
from pathlib import Path

import pytest

from esewatch.ese.events import is_ese_provider
from esewatch.model import Event, SourceError
from esewatch.sources.evtx import EvtxSource
from tests.support.evtx_records import by_evtx
from tests.support.figures import record


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_log_of_a_collection_is_read_as_the_bare_parser_reads_it() -> None:
    folder = os.environ.get("ESEWATCH_EVTX")
    if not folder:
        pytest.skip("no collection of event logs: set ESEWATCH_EVTX=FOLDER")
    files = sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() == ".evtx")
    assert files
    records = events = refused = 0
    for path in files:
        try:
            batches = list(EvtxSource("collection", [str(path)]).poll(final=True))
        except SourceError:
            refused += 1
            continue
        ours = {
            (found.record_id, found.event_id, found.strings)
            for batch in batches
            for found in batch.records
            if isinstance(found, Event)
        }
        seen = by_evtx(path)
        theirs = {(s.record_id, s.event_id, s.strings) for s in seen if is_ese_provider(s.provider)}
        # More than the bare parser finds is right: it gives a damaged chunk up.
        assert theirs <= ours, path
        records += len(seen)
        events += len(ours)
    record(
        "a public collection of event logs, damaged ones among them",
        f"{len(files)} files, {records:,} records, {events} ESE events, none lost or different, "
        f"{refused} refused",
        "ESEWATCH_EVTX=FOLDER make test-slow",
    )
