"""Logs of the bundled engine get window advice as they are: without a configuration."""

from pathlib import Path

import pytest

from eselab.base.profiles import PROFILES
from esewatch.advice.advise import advise
from esewatch.advice.judgement import Judgement
from esewatch.config import Settings
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.sources.counters.perfmon_csv import perfmon_csv_source
from esewatch.sources.logs.event_stream import event_stream_source
from tests.eselab.running import run


def advised(folder: Path, now: float) -> Judgement:
    """What the agent advises of both logs, without a configuration."""
    agent = Folder(State(), Settings())
    for source in (
        event_stream_source("events", [str(folder / "events.jsonl")]),
        perfmon_csv_source("counters", [str(folder / "counters.csv")]),
    ):
        agent.open_source(source.name, 0.0)
        for batch in source.poll(final=True):
            assert batch.unreadable == []
            agent.fold(source.name, batch)
        source.close()
    (found,) = advise(agent.state, agent.settings, now)
    return found


@pytest.mark.slow
def test_its_process_is_that_of_a_mailbox_server_whose_databases_have_a_window(
    tmp_path: Path,
) -> None:
    now = run(tmp_path, PROFILES["quiet"](), 1.0)
    found = advised(tmp_path, now)
    assert (found.model, found.tier, found.ese_instance) == ("window", "watched", "quiet")
    assert found.window.action == "insufficient_evidence"


@pytest.mark.slow
def test_the_profile_of_a_server_gets_advice_after_a_month(tmp_path: Path) -> None:
    now = run(tmp_path, PROFILES["server"](), 30.0)
    found = advised(tmp_path, now)
    assert (found.model, found.name) == ("window", "SG1")
    assert (found.window.action, found.window.rule) == ("shrink", "ratio_high")
