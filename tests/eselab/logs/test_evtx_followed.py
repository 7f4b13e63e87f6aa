"""An agent that reads the engine's logs of Windows while they grow, roll over and are cleared."""

from pathlib import Path

import pytest

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY, DatabasePlan, FaultPlan, MailPlan, Plan, WindowPlan
from eselab.logs.binary.evtx import evtx_log
from eselab.machine.machine import Machine
from esewatch.config import Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.sources.counters.blg.perfmon_blg import perfmon_blg_source
from esewatch.sources.evtx.evtx_source import EvtxSource
from tests.eselab.running import START
from tests.support.engine_truth import CACHE, agent_families, differences

HOUR = 3600.0
SIZE = 128 << 10
"""Bytes of the log, less than Windows allows: it rolls over in hours."""


def plan(faults: list[FaultPlan]) -> Plan:
    """Windows every half hour, of which each event tells."""
    databases = [
        DatabasePlan(
            name=name,
            pages=60,
            cache_pages=40,
            window=WindowPlan(period=HOUR / 2, offset=0.0, length=HOUR / 4),
            mail=MailPlan(mailboxes=3, kept=6.0),
        )
        for name in ("a", "b")
    ]
    return Plan(databases=databases, faults=faults, sample=300.0)


class Follower:
    """An agent beside the engine, which reads both logs again and again."""

    def __init__(self, folder: Path) -> None:
        self.settings = Settings()
        self.agent = Folder(State(), self.settings)
        self.sources = (
            EvtxSource("events", [str(folder / "*.evtx")]),
            perfmon_blg_source("counters", [str(folder / "counters*.blg")]),
        )
        for source in self.sources:
            self.agent.open_source(source.name, 0.0)

    def read(self, *, final: bool = False) -> None:
        for source in self.sources:
            for batch in source.poll(final=final):
                assert batch.unreadable == []
                self.agent.fold(source.name, batch)

    def close(self) -> None:
        for source in self.sources:
            source.close()

    def told(self, truth: Path, now: float) -> list[str]:
        """What it says otherwise than the truth; the binary log has the cache in whole MB."""
        found = differences(truth, families(self.agent.state, self.settings, now))
        return [line for line in found if not line.startswith(CACHE)]


def engine(folder: Path, faults: list[FaultPlan]) -> Machine:
    made = Machine(
        folder, plan(faults), clock=VirtualClock(START), seed=1, computer="EX01",
        binary=True, evtx=SIZE,
    )  # fmt: skip
    made.open()
    return made


@pytest.fixture(autouse=True)
def _small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evtx_log, "SMALLEST", SIZE)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [12, 24])
def test_who_follows_a_log_that_rolls_over_and_is_cleared_has_the_truth(
    tmp_path: Path, parts: int
) -> None:
    half = parts / 2 * DAY / 16
    # Between a reading and the beginning of the next windows.
    clear = FaultPlan(at=half - 0.5, database="a", kind="clear")
    bad = FaultPlan(at=half / 2, database="b", kind="flip_two")
    running, follower = engine(tmp_path, [clear, bad]), Follower(tmp_path)
    began = running.now()
    for part in range(1, parts + 1):
        # Read just before it is cleared: what nobody has read then is gone.
        running.run(began + part * DAY / 16 - 1.0)
        running.flush()
        follower.read()
    running.close()
    follower.read(final=True)

    log = tmp_path / "Application.evtx"
    assert log.stat().st_size <= SIZE + 4096
    assert follower.told(tmp_path / "truth.json", running.now()) == []
    follower.close()
    # Who comes late finds what is left, and less than happened.
    late = agent_families(tmp_path, running.now(), binary=True, evtx=True)
    assert any(
        line.startswith("ese_events_total") for line in differences(tmp_path / "truth.json", late)
    )
