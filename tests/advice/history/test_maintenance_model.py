import datetime
from typing import Any

import pytest

from esewatch.advice.history.copies import maintenance_model
from esewatch.config import DatabaseRule, Settings, Window
from esewatch.fold.passes.transitions import pack
from esewatch.fold.state.state import Database, Transition


def database(*events: int, **changes: Any) -> Database:
    given: dict[str, Any] = {
        "provider": "ESE",
        "process": "MSExchangeIS",
        "database": "e:\\priv06.edb",
        **changes,
    }
    transitions = [Transition(float(index), 0, event) for index, event in enumerate(events)]
    return Database(computer="ex01", transitions=pack(transitions), **given)


@pytest.mark.parametrize(
    ("entry", "model"),
    [
        (database(700, 704, 702, 703), "window"),
        (database(700, 717, 721, process="Information Store"), "window"),
        (database(717, 721), "window"),
        (database(717, 718, 722), "window"),
        (database(721), "window"),
        (database(717, 725, 719), "window"),
        (database(717, 719), "background"),
        (database(700, 704, process="eseutil"), "window"),
        (database(736, 737, process="eseutil"), "background"),
        (database(process="MSExchangeRepl"), "window"),
        (database(717, 732, process="MSExchangeRepl"), "background"),
        (database(717, 721, process="EdgeTransport"), "application"),
        (database(process="Microsoft.Exchange.Store.Worker"), "background"),
        (database(736, 744, 737), "background"),
        (database(717, 732), "background"),
        (database(700, process="Microsoft.Exchange.Store.Worker"), "background"),
        (database(700, 701, provider="NTDS ISAM", process="NTDS"), "garbage_collection"),
        (database(700, 701, provider="ESENT", ese_instance="NTDSA"), "garbage_collection"),
        (
            database(700, 701, provider="ADAM [partners] ISAM", process="DSAMAIN"),
            "garbage_collection",
        ),
        (
            database(process="esentutl", provider="ESENT", database="d:\\lds\\adamntds.dit"),
            "garbage_collection",
        ),
        (database(700, 701, process="DFSRs", database="c:\\dfsr.db"), "garbage_collection"),
        (database(700, 701, provider="ESENT", process="svchost"), "application"),
    ],
)
def test_the_model_follows_from_provider_process_and_events(entry: Database, model: str) -> None:
    assert maintenance_model(entry, Settings()) == model


def test_the_configuration_decides_first() -> None:
    rule = DatabaseRule(match="*priv06.edb", model="background")
    entry = database(700, 703)
    assert maintenance_model(entry, Settings(databases=[rule])) == "background"


def test_a_configured_window_makes_the_window_model_unless_a_scan_runs_beside_it() -> None:
    window = Window(start=datetime.time(1), duration=14400)
    rule = DatabaseRule(match="*priv06.edb", window="nightly")
    settings = Settings(databases=[rule], windows={"nightly": window})
    worker = "Microsoft.Exchange.Store.Worker"
    for entry, model in (
        (database(700, process=worker), "window"),
        (database(736, process=worker), "background"),
        (database(process=worker), "background"),
        (database(700, 736), "background"),
        (database(717), "window"),
        (database(717, generation="current"), "background"),
    ):
        assert maintenance_model(entry, settings) == model


def test_a_configured_window_decides_for_a_directory_too() -> None:
    window = Window(start=datetime.time(1), duration=14400)
    rule = DatabaseRule(match="*", window="nightly")
    settings = Settings(databases=[rule], windows={"nightly": window})
    directory = database(700, 701, provider="NTDS ISAM", process="NTDS")
    assert maintenance_model(directory, Settings()) == "garbage_collection"
    assert maintenance_model(directory, settings) == "window"
