"""What an experiment works with."""

from pathlib import Path

import pytest

from eselab.lab.agent import LabError
from eselab.lab.bench import Bench

DATABASE = {"name": "a", "pages": 60, "mail": {"mailboxes": 3}}
SMALL = {"databases": [DATABASE], "sample": 300.0}


def bench(folder: Path) -> Bench:
    return Bench(folder, 1, lambda: None)


def test_a_run_of_the_engine_leaves_events_and_counters(tmp_path: Path) -> None:
    told: list[str] = []
    found = Bench(tmp_path / "x", 1, lambda: told.append("part")).engine("run", SMALL, 3600.0)

    assert {102, 103} <= {event.event_id for event in found.events()}
    assert {reading.instance for reading in found.readings()} >= {"Information Store/a"}
    assert told == ["part"]


@pytest.mark.slow
def test_a_passive_copy_leaves_counters_of_its_own(tmp_path: Path) -> None:
    plan = {**SMALL, "databases": [{**DATABASE, "copies": [{"computer": "EX02"}]}]}
    found = bench(tmp_path).engine("run", plan, 3600.0)

    assert {reading.computer for reading in found.of("EX02").readings()} == {"EX02"}
    assert {reading.computer for reading in found.readings()} != {"EX02"}


def test_workloads_on_modelled_drives_are_told_by_their_names(tmp_path: Path) -> None:
    told: list[str] = []
    made = Bench(tmp_path / "x", 1, lambda: told.append("part"))
    streams = [
        {"name": name, "bytes": 8192, "count": count} for name, count in (("a", 3), ("b", 5))
    ]
    found = made.disks("load", {"workloads": streams})

    assert {name: each.requests for name, each in found.items()} == {"a": 3, "b": 5}
    assert all(0 < each.latency_mean <= each.seconds for each in found.values())
    assert told == ["part"]


def test_workloads_that_make_no_sense_say_why(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"the engine could not run: .*length >= 1"):
        bench(tmp_path).disks("load", {"workloads": []})


def test_a_plan_that_makes_no_sense_says_why(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"the engine could not run: .*page_size is 5"):
        bench(tmp_path).engine("run", {"databases": [{"name": "a", "page_size": 5}]}, 60.0)


def test_an_experiment_begins_in_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "left").write_text("")

    with pytest.raises(LabError, match="is not empty"):
        bench(tmp_path)


def test_more_than_the_file_system_has_is_not_begun(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="MiB are needed"):
        bench(tmp_path).need(1 << 60)


@pytest.mark.slow
def test_a_log_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    found = bench(tmp_path).engine("run", SMALL, 600.0)
    with (tmp_path / "run" / "events.jsonl").open("a") as file:
        file.write('{"Event": broken\n')

    with pytest.raises(LabError, match=r"cannot be read: .*events\.jsonl"):
        found.events()
    with pytest.raises(LabError, match=r"cannot be read: .*events\.jsonl"):
        found.advice({})


def test_a_log_that_is_not_there_is_told(tmp_path: Path) -> None:
    found = bench(tmp_path).engine("run", SMALL, 600.0)
    (tmp_path / "run" / "counters.csv").unlink()

    with pytest.raises(LabError, match=r"esewatch counters could not .*counters\.csv"):
        found.readings()


@pytest.mark.slow
def test_a_configuration_that_makes_no_sense_is_told(tmp_path: Path) -> None:
    found = bench(tmp_path).engine("run", SMALL, 600.0)

    with pytest.raises(LabError, match=r"esewatch advise could not .*policies"):
        found.advice({"policies": {}})
