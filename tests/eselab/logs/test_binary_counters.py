"""The binary counter log of the engine: what the agent makes of it, and that it is one."""

from pathlib import Path

import msgspec
import pytest

from eselab.base.clock import VirtualClock
from eselab.base.plan import DAY, CopyPlan, DatabasePlan, MailPlan, Plan
from eselab.machine.machine import Machine
from esewatch.config import Settings
from esewatch.expose.metrics.families import families
from esewatch.fold.folder import Folder
from esewatch.fold.state.state import State
from esewatch.sources.counters.blg.perfmon_blg import perfmon_blg_source
from tests.eselab.running import START
from tests.support.blg import read_log
from tests.support.engine_truth import CACHE, agent_families, differences

MAIL = DatabasePlan(name="a", pages=200, cache_pages=40, mail=MailPlan(kept=6.0))


def run(folder: Path, database: DatabasePlan, days: float) -> float:
    plan = Plan(databases=[database], sample=300.0)
    clock = VirtualClock(START)
    running = Machine(folder, plan, clock=clock, seed=1, computer="EX01", binary=True)
    running.open()
    running.run(running.now() + days * DAY)
    running.close()
    return running.now()


def of_others(lines: list[str]) -> list[str]:
    """Without the size of the cache: as ESE does, the binary log has it in whole megabytes."""
    return [line for line in lines if not line.startswith(CACHE)]


@pytest.mark.slow
@pytest.mark.parametrize("generation", ["2007", "current"])
def test_text_and_binary_log_of_a_run_lead_to_what_the_truth_says(
    tmp_path: Path, generation: str
) -> None:
    database = msgspec.convert(msgspec.to_builtins(MAIL) | {"generation": generation}, DatabasePlan)
    now = run(tmp_path, database, 2.0)

    truth = tmp_path / "truth.json"
    assert differences(truth, agent_families(tmp_path, now)) == []
    assert of_others(differences(truth, agent_families(tmp_path, now, binary=True))) == []


@pytest.mark.slow
def test_the_totals_of_the_binary_log_are_exact(tmp_path: Path) -> None:
    run(tmp_path, MAIL, 2.0)
    agent = Folder(State(), Settings())
    source = perfmon_blg_source("counters", [str(tmp_path / "counters.blg")])
    agent.open_source(source.name, 0.0)
    for batch in source.poll(final=True):
        assert batch.unreadable == []
        agent.fold(source.name, batch)
    source.close()
    (told,) = msgspec.json.decode((tmp_path / "truth.json").read_bytes())["instances"].values()
    found = {
        sample.name: sample.value
        for family in families(agent.state, Settings(), 0.0)
        for sample in family.samples
        if sample.labels.get("ese_instance")
    }

    for metric in ("ese_defrag_pages_read_total", "ese_maintenance_pages_read_total"):
        assert found[metric] == sum(told[metric].values())
        assert found[metric] > 0


def test_a_run_that_goes_on_and_a_passive_copy_have_logs_of_their_own(tmp_path: Path) -> None:
    copied = msgspec.structs.replace(MAIL, copies=[CopyPlan(computer="EX02", cache="drop")])
    run(tmp_path, copied, 0.2)
    run(tmp_path, copied, 0.2)

    # Their totals have the requests of the opening of a process, which the truth leaves out.
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.glob("**/*.blg")} == {
        "counters.blg", "counters-2.blg", "EX02/counters.blg", "EX02/counters-2.blg",
    }  # fmt: skip
    readings, unreadable = read_log(tmp_path / "EX02" / "counters.blg")
    assert unreadable == []
    assert any("(Recovery)" in each.counter for each in readings)
