"""Every event log of a large collection, where a person has one: ESEWATCH_EVTX=FOLDER."""

import os
from pathlib import Path

import pytest

from esewatch.ese.providers import is_ese_provider
from esewatch.model import Event, SourceError
from esewatch.sources.evtx.evtx_source import EvtxSource
from esewatch.sources.kind import EventOptions
from tests.support.evtx_records import by_evtx, harvest
from tests.support.figures import record


def _files() -> list[Path]:
    """The logs of the collection."""
    folder = os.environ.get("ESEWATCH_EVTX")
    if not folder:
        pytest.skip("no collection of event logs: set ESEWATCH_EVTX=FOLDER")
    files = sorted(path for path in Path(folder).rglob("*") if path.suffix.lower() == ".evtx")
    assert files
    return files


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_log_of_a_collection_is_read_as_the_bare_parser_reads_it() -> None:
    files = _files()
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


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_every_provider_of_a_whole_log_is_found_as_the_bare_parser_finds_it() -> None:
    searches = events = logs = 0
    for path in _files():
        seen = by_evtx(path)
        providers = sorted({one.provider for one in seen if one.provider})
        for provider in providers:
            source = EvtxSource("log", [str(path)], EventOptions(providers=(provider,)))
            found = harvest(source.poll(final=True))
            if found.unreadable:
                break
            # A record without an id of its own counts as 0 in what the bare parser tells.
            ours = {(e.record_id or 0, e.event_id) for e in found.events}
            theirs = {(s.record_id, s.event_id) for s in seen if s.provider == provider}
            assert theirs <= ours, (path, provider)
            searches += 1
            events += len(theirs)
        else:
            logs += 1
    record(
        "every provider in the whole logs of that collection, looked for by its name",
        f"{searches:,} searches in {logs} files, {events:,} events, none missed",
        "ESEWATCH_EVTX=FOLDER make test-slow",
    )
