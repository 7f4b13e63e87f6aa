from esewatch.daemon.agent_health import AgentHealth, rebuilt_sentence
from esewatch.fold.state.state import SourceState


def values(figures: AgentHealth) -> dict[str, float]:
    return {
        sample.name.removeprefix("esewatch_"): sample.value
        for family in figures.families(7.0)
        for sample in family.samples
    }


def test_a_reload_that_failed_keeps_the_time_of_the_one_that_did_not() -> None:
    figures = AgentHealth(100.0)
    figures.commit_failures += 2
    assert values(figures) == {
        "config_last_reload_successful": 1,
        "config_last_reload_success_timestamp_seconds": 100,
        "journal_commit_failures_total": 2,
        "snapshot_timestamp_seconds": 7,
        "internal_errors_total": 0,
    }
    aside = {sample.value for family in figures.families(7.0, 50.0) for sample in family.samples}
    assert 50.0 in aside
    figures.reload_failed()
    assert values(figures)["config_last_reload_successful"] == 0
    assert values(figures)["config_last_reload_success_timestamp_seconds"] == 100
    figures.reloaded(300.0)
    assert values(figures)["config_last_reload_successful"] == 1
    assert values(figures)["config_last_reload_success_timestamp_seconds"] == 300


def test_what_could_not_be_rebuilt_is_one_sentence() -> None:
    whole = SourceState(name="a", oldest=100.0, rebuilt=(100.0, 200.0))
    known = SourceState(name="a", oldest=3600.0, rebuilt=(60.0, 7200.0))
    unknown = SourceState(name="a", oldest=3600.0, rebuilt=(0.0, 0.0))
    assert rebuilt_sentence(whole) == "all sources were read again, nothing is missing"
    assert rebuilt_sentence(known) == (
        "not rebuilt: records from 1970-01-01T00:01:00.000Z to 1970-01-01T01:00:00.000Z "
        "are no longer there"
    )
    assert "from an unknown time to 1970-01-01T01:00" in rebuilt_sentence(unknown)
